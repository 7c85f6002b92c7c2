//! Passkeys (WebAuthn): the ceremonies of registering one and of logging in with one.

use super::WebError;
use groma_domain::UserId;
use groma_store::StoredPasskey;
use serde::Serialize;
use serde_json::Value;
use url::{Host, Url};
use webauthn_rs::prelude::{
    AuthenticationResult, DiscoverableAuthentication, DiscoverableKey, Passkey,
    PasskeyAuthentication, PasskeyRegistration, PublicKeyCredential, RegisterPublicKeyCredential,
    Webauthn, WebauthnBuilder, WebauthnError,
};

/// The ceremonies for this address.
pub(crate) struct Passkeys(Webauthn);

/// A ceremony that asks for a passkey.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) enum PasskeyRequest {
    /// Any passkey of anyone.
    Any(DiscoverableAuthentication),
    /// One of the passkeys of a known user.
    OfUser(PasskeyAuthentication),
}

impl Passkeys {
    /// `None` where browsers offer no passkeys: the address must be a name.
    pub(crate) fn new(public_url: &str, service: &str) -> Option<Self> {
        let url = Url::parse(public_url).ok()?;
        let Some(Host::Domain(name)) = url.host() else { return None };
        if url.scheme() != "https" && name != "localhost" {
            return None;
        }
        let webauthn = WebauthnBuilder::new(name, &url).ok()?.rp_name(service).build();
        webauthn.map(Self).map_err(|error| tracing::warn!(%error, "passkeys are off")).ok()
    }

    /// Begins to register a passkey. The browser is asked to keep it where it is found without a user name.
    pub(super) fn begin_registration(
        &self,
        user: UserId,
        email: &str,
        name: &str,
        known: &[StoredPasskey],
    ) -> Result<(Value, PasskeyRegistration), WebError> {
        let known = known.iter().map(|passkey| passkey.credential_id.clone()).collect();
        let begun = self.0.start_passkey_registration(user.0, email, name, Some(known));
        let (challenge, state) = begun.map_err(|error| internal(&error))?;
        let mut challenge = to_json(&challenge)?;
        challenge["publicKey"]["authenticatorSelection"]["residentKey"] = "preferred".into();
        Ok((challenge, state))
    }

    /// The registered passkey; `None` if the answer is not valid.
    pub(super) fn finish_registration(
        &self,
        answer: &RegisterPublicKeyCredential,
        state: &PasskeyRegistration,
    ) -> Option<Passkey> {
        let passkey = self.0.finish_passkey_registration(answer, state);
        passkey.inspect_err(|error| tracing::warn!(%error, "a passkey was rejected")).ok()
    }

    /// Begins to ask for a passkey.
    pub(super) fn begin(
        &self,
        passkeys: Option<&[StoredPasskey]>,
    ) -> Result<(Value, PasskeyRequest), WebError> {
        let (mut challenge, state) = match passkeys {
            None => {
                let begun = self.0.start_discoverable_authentication();
                let (challenge, state) = begun.map_err(|error| internal(&error))?;
                (challenge, PasskeyRequest::Any(state))
            }
            Some(passkeys) => {
                let passkeys: Vec<_> = passkeys.iter().filter_map(credential).collect();
                let begun = self.0.start_passkey_authentication(&passkeys);
                let (challenge, state) = begun.map_err(|error| internal(&error))?;
                (challenge, PasskeyRequest::OfUser(state))
            }
        };
        // A button asks for the passkey, not the field of the email address.
        challenge.mediation = None;
        Ok((to_json(&challenge)?, state))
    }

    /// The user that an answer names; only `finish` proves it.
    pub(super) fn named_user(&self, answer: &PublicKeyCredential) -> Option<UserId> {
        let (user, _) = self.0.identify_discoverable_authentication(answer).ok()?;
        Some(UserId(user))
    }

    /// The passkey that answered, with its new counter; `None` if the answer is not valid.
    pub(super) fn finish(
        &self,
        answer: &PublicKeyCredential,
        request: PasskeyRequest,
        passkeys: &[StoredPasskey],
    ) -> Option<(StoredPasskey, String)> {
        let (stored, mut passkey) = passkeys.iter().find_map(|stored| {
            let passkey = credential(stored)?;
            let id: &[u8] = passkey.cred_id().as_ref();
            (id == answer.get_credential_id()).then_some((stored, passkey))
        })?;
        let result = self.verify(answer, request, &passkey);
        let result = result.inspect_err(|error| tracing::warn!(%error, "a passkey was rejected"));
        passkey.update_credential(&result.ok()?);
        Some((stored.clone(), serde_json::to_string(&passkey).ok()?))
    }

    fn verify(
        &self,
        answer: &PublicKeyCredential,
        request: PasskeyRequest,
        passkey: &Passkey,
    ) -> Result<AuthenticationResult, WebauthnError> {
        match request {
            PasskeyRequest::Any(state) => {
                let key = DiscoverableKey::from(passkey);
                self.0.finish_discoverable_authentication_v2(answer, state, &key)
            }
            PasskeyRequest::OfUser(state) => self.0.finish_passkey_authentication(answer, &state),
        }
    }
}

fn credential(stored: &StoredPasskey) -> Option<Passkey> {
    serde_json::from_str(&stored.credential).ok()
}

fn to_json(challenge: &impl Serialize) -> Result<Value, WebError> {
    serde_json::to_value(challenge).map_err(|error| WebError::internal(error.to_string()))
}

fn internal(error: &WebauthnError) -> WebError {
    WebError::internal(error.to_string())
}
