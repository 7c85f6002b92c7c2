//! Passwords: asked for or read from standard input, hashed with Argon2id.

use crate::commands::Failure;
use argon2::{Argon2, PasswordHash, PasswordHasher, PasswordVerifier};
use groma_domain::password::Password;
use std::{
    io::{BufRead, IsTerminal},
    sync::OnceLock,
};

/// A new password: asked for twice on a terminal, otherwise the first line of standard input.
/// `None` when that line is empty.
pub(crate) fn read_new() -> Result<Option<Password>, Failure> {
    let text = if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ")?;
        if rpassword::prompt_password("Once more: ")? != first {
            return Err(Failure::new("the two passwords differ"));
        }
        first
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    if text.is_empty() {
        return Ok(None);
    }
    Password::new(&text).map(Some).map_err(|reason| Failure::new(format!("the password {reason}")))
}

/// A random password that is easy to read aloud: 54 bits in nine syllables.
pub(crate) fn generate() -> Result<String, Failure> {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let mut random = [0_u8; 9];
    getrandom::fill(&mut random).map_err(Failure::new)?;
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

/// The hash to be stored.
pub(crate) async fn hash(password: Password) -> Result<String, Failure> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(Failure::new)?;
    // Tens of milliseconds of work: not on a thread that serves.
    let hashed = tokio::task::spawn_blocking(move || {
        Argon2::default()
            .hash_password_with_salt(password.reveal(), &salt)
            .map(|hash| hash.to_string())
    });
    hashed.await.map_err(Failure::new)?.map_err(Failure::new)
}

/// Whether a typed password is the one of this hash. Without a hash it never is, which takes just as
/// long to find out.
pub(crate) async fn is_right(hash: Option<String>, typed: String) -> Result<bool, Failure> {
    static NOBODYS: OnceLock<String> = OnceLock::new();
    let checked = tokio::task::spawn_blocking(move || {
        let nobodys = || {
            let hash = Argon2::default().hash_password_with_salt(b"nobody", b"nobody has this.");
            hash.map(|hash| hash.to_string()).unwrap_or_default()
        };
        let compared = hash.as_deref().unwrap_or_else(|| NOBODYS.get_or_init(nobodys));
        let Ok(compared) = PasswordHash::new(compared) else { return false };
        Argon2::default().verify_password(typed.as_bytes(), &compared).is_ok() && hash.is_some()
    });
    checked.await.map_err(Failure::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_passwords_are_pronounceable_and_unique() {
        let (first, second) = (generate().unwrap(), generate().unwrap());
        assert_ne!(first, second);
        assert!(first.split('-').all(|word| word.len() == 6), "{first}");
        assert!(Password::new(&first).is_ok());
    }
}
