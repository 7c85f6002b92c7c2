//! Passwords: asked for or read from standard input, hashed with Argon2id.

use crate::commands::Failure;
use argon2::{Argon2, PasswordHasher};
use groma_domain::password::Password;
use std::io::{BufRead, IsTerminal};

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
