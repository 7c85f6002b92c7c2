//! Signatures: HMAC-SHA256 over the exact bytes of the request body.
//!
//! The service's own header uses the secret as it is shown. A secret with the prefix `whsec_` also signs
//! the headers of [Standard Webhooks](https://www.standardwebhooks.com), with the bytes that its base64
//! decodes to. While a secret is being replaced, the previous secret also signs the Standard Webhooks
//! header, which allows several signatures.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use groma_domain::{DeliveryId, Timestamp, webhook::SigningSecret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The value of the service's own header: `sha256=` and lowercase hexadecimal.
#[must_use]
pub fn service_signature(secret: &SigningSecret, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(hmac(secret.reveal().as_bytes(), &[body])))
}

/// The values of the Standard Webhooks headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandardHeaders {
    /// `webhook-id`: the ID of the delivery.
    pub id: String,
    /// `webhook-timestamp`: the time of the attempt, in seconds since the Unix epoch.
    pub timestamp: String,
    /// `webhook-signature`: one signature per secret, separated by spaces.
    pub signature: String,
}

/// Signs for Standard Webhooks; `None` if no secret has its format.
#[must_use]
pub fn standard_headers<'s>(
    secrets: impl IntoIterator<Item = &'s SigningSecret>,
    delivery: DeliveryId,
    now: Timestamp,
    body: &[u8],
) -> Option<StandardHeaders> {
    let id = delivery.to_string();
    let timestamp = now.as_millis().div_euclid(1_000).to_string();
    let keys = secrets.into_iter().filter_map(SigningSecret::standard_key);
    let signatures: Vec<String> = keys
        .map(|key| {
            let parts = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
            format!("v1,{}", STANDARD.encode(hmac(&key, &parts)))
        })
        .collect();
    let signature = signatures.join(" ");
    (!signatures.is_empty()).then_some(StandardHeaders { id, timestamp, signature })
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC accepts keys of any length, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_signature_matches_the_published_example() {
        // GitHub's documentation of webhook signatures, whose scheme the header follows.
        let secret = SigningSecret::parse("It's a Secret to Everybody").unwrap();
        assert_eq!(
            service_signature(&secret, b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }

    #[test]
    fn standard_signature_matches_the_specification() {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let key = secret.standard_key().unwrap();
        let parts: [&[u8]; 5] =
            [b"msg_p5jXN8AQM9LWM0D4loKWxJek", b".", b"1614265330", b".", b"{\"test\": 2432232314}"];
        assert_eq!(
            STANDARD.encode(hmac(&key, &parts)),
            "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn both_secrets_sign_during_a_rotation_the_new_one_first() {
        let (new, old) = (SigningSecret::new([1; 32]), SigningSecret::new([2; 32]));
        let plain = SigningSecret::parse("sixteen letters or more").unwrap();
        let (id, at) = (DeliveryId(uuid::Uuid::nil()), Timestamp::from_millis(5_999));
        let sign =
            |secrets: &[&SigningSecret]| standard_headers(secrets.iter().copied(), id, at, b"{}");
        let [alone, other, both] = [&[&new][..], &[&old], &[&new, &old]].map(|s| sign(s).unwrap());
        assert_eq!(both.signature, format!("{} {}", alone.signature, other.signature));
        assert_eq!(both.timestamp, "5");
        assert_eq!(sign(&[&plain]), None);
        assert_eq!(sign(&[&plain, &old]).unwrap(), other);
    }
}
