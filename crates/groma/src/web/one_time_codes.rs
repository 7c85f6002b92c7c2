//! One-time codes: those of authenticator apps (TOTP), and recovery codes.

use super::WebError;
use groma_domain::{Timestamp, UserId, secret::SecretHash};
use groma_store::{SecondFactors, Store};
use qrcodegen::{QrCode, QrCodeEcc};
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Secret, Totp};

/// The length of the shared secret in bytes, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// How many recovery codes a user gets.
const RECOVERY_CODES: usize = 10;
/// The characters of a recovery code, of 5 bits each, without those that are easily confused.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
const RECOVERY_CODE_LENGTH: usize = 16;

/// The shared secret of a new authenticator app.
pub(super) struct AppSecret(Vec<u8>);

impl AppSecret {
    pub(super) fn generate() -> Result<Self, WebError> {
        Ok(Self(random::<SECRET_BYTES>()?.to_vec()))
    }

    /// Reads the secret from a form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let secret = Secret::try_from_base32(text).ok()?;
        let bytes = secret.as_bytes().to_vec();
        (bytes.len() == SECRET_BYTES).then_some(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret as the user types it.
    pub(super) fn to_base32(&self) -> String {
        Secret::from(self.0.clone()).to_base32()
    }

    /// The address that an app scans.
    pub(super) fn url(&self, service: &str, email: &str) -> Option<String> {
        // A colon separates the service from the account.
        let (service, email) = (service.replace(':', " "), email.replace(':', " "));
        let totp = Builder::new()
            .with_secret(self.0.clone())
            .with_issuer(Some(service))
            .with_account_name(email)
            .build();
        totp.ok()?.to_url().ok()
    }

    /// The time step of a code; `None` if it is wrong.
    pub(super) fn step(&self, code: &str, now: Timestamp) -> Option<u64> {
        step(&self.0, code, now)
    }
}

fn step(secret: &[u8], code: &str, now: Timestamp) -> Option<u64> {
    let totp: Totp = Builder::new().with_secret(secret.to_vec()).build().ok()?;
    totp.check(code, now.as_millis().unsigned_abs() / 1_000)
}

/// The kind of code that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptedCode {
    App,
    Recovery,
}

/// Uses up a code of the authenticator app or a recovery code.
pub(super) async fn accept(
    store: &Store,
    user: UserId,
    factors: &SecondFactors,
    typed: &str,
    now: Timestamp,
) -> Result<Option<AcceptedCode>, WebError> {
    let typed: String = typed.chars().filter(|c| c.is_alphanumeric()).collect();
    if let Some(app) = &factors.authenticator_app
        && let Some(step) = step(&app.secret, &typed, now)
    {
        let is_new = store.use_authenticator_code(user, step).await?;
        return Ok(is_new.then_some(AcceptedCode::App));
    }
    if typed.len() != RECOVERY_CODE_LENGTH {
        return Ok(None);
    }
    let is_valid = store.use_recovery_code(user, &hash(&typed)).await?;
    Ok(is_valid.then_some(AcceptedCode::Recovery))
}

/// New recovery codes, in groups of four characters.
pub(super) fn new_recovery_codes() -> Result<Vec<String>, WebError> {
    (0..RECOVERY_CODES).map(|_| recovery_code()).collect()
}

fn recovery_code() -> Result<String, WebError> {
    let mut code = String::new();
    for (index, byte) in random::<RECOVERY_CODE_LENGTH>()?.into_iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            code.push('-');
        }
        code.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    Ok(code)
}

/// The hash of a recovery code, which is what is stored.
pub(super) fn hash(code: &str) -> SecretHash {
    let plain = code.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    SecretHash(Sha256::digest(plain.to_lowercase()).into())
}

fn random<const N: usize>() -> Result<[u8; N], WebError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| WebError::internal(error.to_string()))?;
    Ok(bytes)
}

/// The path of an SVG that draws a QR code, and the length of its side in modules.
pub(super) fn qr_path(text: &str) -> Option<(String, i32)> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        for x in 0..code.size() {
            if code.get_module(x, y) {
                path.push_str(&format!("M{x} {y}h1v1h-1z"));
            }
        }
    }
    Some((path, code.size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238, appendix B, with six digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = b"12345678901234567890";
        for (seconds, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (2_000_000_000, "279037")]
        {
            let now = Timestamp::from_millis(seconds * 1_000);
            assert_eq!(step(secret, code, now), Some(seconds.unsigned_abs() / 30));
            let next = Timestamp::from_millis((seconds + 30) * 1_000);
            assert!(step(secret, code, next).is_some(), "one step late");
            let later = Timestamp::from_millis((seconds + 90) * 1_000);
            assert_eq!(step(secret, code, later), None);
        }
    }

    #[test]
    fn recovery_code_is_recognised_however_it_is_typed() {
        let code = recovery_code().unwrap();
        assert_eq!(code.len(), RECOVERY_CODE_LENGTH + 3);
        assert_eq!(hash(&code).0, hash(&code.to_uppercase().replace('-', " ")).0);
        assert_ne!(hash(&code).0, hash(&recovery_code().unwrap()).0);
    }

    #[test]
    fn secret_of_an_app_survives_the_form() {
        let secret = AppSecret::generate().unwrap();
        assert_eq!(AppSecret::parse(&secret.to_base32()).unwrap().bytes(), secret.bytes());
        let url = secret.url("Office: North", "lead@office.test").unwrap();
        assert!(url.starts_with("otpauth://totp/"), "{url}");
        assert!(AppSecret::parse("AAAA").is_none());
    }
}
