//! What the next page tells about what was just done, with Undo where there is one. It waits in a cookie
//! that only this session can have written.

use super::form::encode;
use groma_domain::session::{Secret, same};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

/// A message for the next page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flash {
    /// What happened.
    pub(crate) text: String,
    /// Where a form goes that takes it back.
    pub(crate) undo: Option<String>,
    /// Whether it is bad news.
    #[serde(default)]
    pub(crate) is_bad: bool,
    /// A secret that was just made, for the one page that shows it.
    #[serde(default)]
    pub(crate) secret: Option<String>,
}

impl Flash {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), undo: None, is_bad: false, secret: None }
    }

    pub(crate) fn with_undo(mut self, path: String) -> Self {
        self.undo = Some(path);
        self
    }

    pub(crate) fn with_secret(mut self, secret: &str) -> Self {
        self.secret = Some(secret.to_owned());
        self
    }

    /// As the value of a cookie.
    pub(crate) fn sealed(&self, secret: &Secret) -> String {
        // Plain texts always serialise.
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{}.{}", secret.mark("flash", text.as_bytes()), encode(&text))
    }

    /// Reads the value of a cookie that this session has written.
    pub(crate) fn opened(sealed: &str, secret: &Secret) -> Option<Self> {
        let (mark, text) = sealed.split_once('.')?;
        let text = percent_decode_str(text).decode_utf8().ok()?;
        same(mark, &secret.mark("flash", text.as_bytes())).then_some(())?;
        serde_json::from_str(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_session_wrote_is_told() {
        let (mine, other) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let sealed = Flash::new("F-000001 archived").with_undo("/x".to_owned()).sealed(&mine);
        assert_eq!(Flash::opened(&sealed, &mine).unwrap().undo.as_deref(), Some("/x"));
        assert!(Flash::opened(&sealed, &other).is_none());
        assert!(Flash::opened(&sealed.replace("archived", "deleted"), &mine).is_none());
        assert!(Flash::opened("x", &mine).is_none());
    }
}
