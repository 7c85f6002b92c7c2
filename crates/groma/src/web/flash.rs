//! The message that the next page shows about the last action, with Undo where possible. It travels in a
//! cookie that is signed with the session's secret.

use super::{form::encode, secrets_match};
use groma_domain::secret::Secret;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

/// A message for the next page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flash {
    pub(crate) text: String,
    /// Where the Undo form goes.
    pub(crate) undo: Option<String>,
    #[serde(default)]
    pub(crate) is_error: bool,
    /// Whether the action succeeded, but needs attention.
    #[serde(default)]
    pub(crate) is_warning: bool,
    /// A new secret, for the one page that shows it.
    #[serde(default)]
    pub(crate) secret: Option<String>,
}

impl Flash {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), undo: None, is_error: false, is_warning: false, secret: None }
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::new(text) }
    }

    pub(crate) fn with_undo(mut self, path: String) -> Self {
        self.undo = Some(path);
        self
    }

    pub(crate) fn with_secret(mut self, secret: &str) -> Self {
        self.secret = Some(secret.to_owned());
        self
    }

    /// The value of the cookie: a signature and the message.
    pub(crate) fn sign(&self, secret: &Secret) -> String {
        // Plain texts always serialise.
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{}.{}", secret.mac("flash", text.as_bytes()), encode(&text))
    }

    /// Reads the value of a cookie that this session has signed.
    pub(crate) fn verify(signed: &str, secret: &Secret) -> Option<Self> {
        let (signature, text) = signed.split_once('.')?;
        let text = percent_decode_str(text).decode_utf8().ok()?;
        let is_valid = secrets_match(signature, &secret.mac("flash", text.as_bytes()));
        is_valid.then(|| serde_json::from_str(&text).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_signed_by_another_session_is_ignored() {
        let (mine, other) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let signed = Flash::new("F-000001 archived").with_undo("/x".to_owned()).sign(&mine);
        assert_eq!(Flash::verify(&signed, &mine).unwrap().undo.as_deref(), Some("/x"));
        assert!(Flash::verify(&signed, &other).is_none());
        assert!(Flash::verify(&signed.replace("archived", "deleted"), &mine).is_none());
        assert!(Flash::verify("x", &mine).is_none());
    }
}
