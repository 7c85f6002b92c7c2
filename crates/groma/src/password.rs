//! Password hashing with Argon2id.

use argon2::{Argon2, PasswordHash, PasswordHasher, PasswordVerifier};
use groma_domain::password::Password;
use std::sync::OnceLock;

/// Why a password could not be generated, hashed or verified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the system's random number generator failed: {0}")]
    Random(#[from] getrandom::Error),
    #[error("the password could not be hashed: {0}")]
    Hash(argon2::password_hash::Error),
    #[error("password hashing was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A random password that is easy to read aloud: 54 bits in nine syllables.
pub(crate) fn generate() -> Result<String, Error> {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let mut random = [0_u8; 9];
    getrandom::fill(&mut random)?;
    let mut password = String::new();
    for (index, byte) in random.into_iter().enumerate() {
        if index > 0 && index % 3 == 0 {
            password.push('-');
        }
        password.push(CONSONANTS[usize::from(byte % 16)].into());
        password.push(VOWELS[usize::from(byte / 16 % 4)].into());
    }
    Ok(password)
}

pub(crate) async fn hash(password: Password) -> Result<String, Error> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    // Hashing takes tens of milliseconds, too long for a thread that serves requests.
    let hashed = tokio::task::spawn_blocking(move || {
        Argon2::default()
            .hash_password_with_salt(password.reveal(), &salt)
            .map(|hash| hash.to_string())
    });
    hashed.await?.map_err(Error::Hash)
}

/// Whether a password matches a hash. A user without a hash never matches, after the same time as
/// a wrong password, so that the response time does not reveal which users exist.
pub(crate) async fn verify(hash: Option<String>, password: String) -> Result<bool, Error> {
    static DUMMY_HASH: OnceLock<String> = OnceLock::new();
    let verified = tokio::task::spawn_blocking(move || {
        let dummy_hash = || {
            let hash = Argon2::default().hash_password_with_salt(b"dummy", b"salt of no user.");
            hash.map(|hash| hash.to_string()).unwrap_or_default()
        };
        let expected = hash.as_deref().unwrap_or_else(|| DUMMY_HASH.get_or_init(dummy_hash));
        let Ok(expected) = PasswordHash::new(expected) else { return false };
        Argon2::default().verify_password(password.as_bytes(), &expected).is_ok() && hash.is_some()
    });
    Ok(verified.await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_passwords_are_pronounceable_and_unique() {
        let (first, second) = (generate().unwrap(), generate().unwrap());
        assert_ne!(first, second);
        assert!(first.split('-').all(|word| word.len() == 6), "{first}");
        assert!(Password::new(&first, &[]).is_ok());
    }
}
