//! Signatures: HMAC-SHA256 over the very bytes that are sent.
//!
//! The service's own header is keyed with the secret as it is shown. A secret of the form `whsec_…`
//! also signs as Standard Webhooks does, keyed with what its base64 holds. While a secret is being
//! replaced, the one before signs beside it there, where several signatures are allowed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use groma_domain::{DeliveryId, Timestamp, webhook::Secret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The value of the service's own header: `sha256=` and lowercase hexadecimal.
#[must_use]
pub fn own(secret: &Secret, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(hmac(secret.reveal().as_bytes(), &[body])))
}

/// The headers of Standard Webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standard {
    /// `webhook-id`: the delivery.
    pub id: String,
    /// `webhook-timestamp`: seconds since 1970 of this attempt.
    pub timestamp: String,
    /// `webhook-signature`: a signature for each secret, with spaces between them.
    pub signature: String,
}

/// Signs as Standard Webhooks does; `None` when no secret has its form.
#[must_use]
pub fn standard<'s>(
    secrets: impl IntoIterator<Item = &'s Secret>,
    delivery: DeliveryId,
    at: Timestamp,
    body: &[u8],
) -> Option<Standard> {
    let id = delivery.to_string();
    let timestamp = at.as_millis().div_euclid(1_000).to_string();
    let keys = secrets.into_iter().filter_map(Secret::standard_key);
    let signatures: Vec<String> = keys
        .map(|key| {
            let parts = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
            format!("v1,{}", STANDARD.encode(hmac(&key, &parts)))
        })
        .collect();
    let signature = signatures.join(" ");
    (!signatures.is_empty()).then_some(Standard { id, timestamp, signature })
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_signature_is_that_of_the_published_example() {
        // From the documentation of the scheme that the header follows.
        let secret = Secret::parse("It's a Secret to Everybody").unwrap();
        assert_eq!(
            own(&secret, b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }

    #[test]
    fn the_standard_signature_is_that_of_its_specification() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let key = secret.standard_key().unwrap();
        let parts: [&[u8]; 5] =
            [b"msg_p5jXN8AQM9LWM0D4loKWxJek", b".", b"1614265330", b".", b"{\"test\": 2432232314}"];
        assert_eq!(
            STANDARD.encode(hmac(&key, &parts)),
            "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn while_a_secret_is_replaced_both_sign_the_new_one_first() {
        let (new, old) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let plain = Secret::parse("sixteen letters or more").unwrap();
        let (id, at) = (DeliveryId(uuid::Uuid::nil()), Timestamp::from_millis(5_999));
        let sign = |secrets: &[&Secret]| standard(secrets.iter().copied(), id, at, b"{}");
        let [alone, other, both] = [&[&new][..], &[&old], &[&new, &old]].map(|s| sign(s).unwrap());
        assert_eq!(both.signature, format!("{} {}", alone.signature, other.signature));
        assert_eq!(both.timestamp, "5");
        assert_eq!(sign(&[&plain]), None);
        assert_eq!(sign(&[&plain, &old]).unwrap(), other);
    }
}
