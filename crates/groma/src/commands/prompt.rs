//! Reads secrets from a prompt or from standard input, never from an argument: other users of the
//! machine can read the arguments of a process.

use super::CommandError;
use groma_domain::password::Password;
use std::io::{BufRead, IsTerminal};

/// Reads a new password: twice from a prompt on a terminal, otherwise the first line of standard
/// input. `None` if it is empty. It must not be easy to guess from `context`.
pub(super) fn read_new_password(context: &[&str]) -> Result<Option<Password>, CommandError> {
    let text = if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ")?;
        if rpassword::prompt_password("Repeat password: ")? != first {
            return Err(CommandError::new("the passwords do not match; try again"));
        }
        first
    } else {
        read_line()?
    };
    if text.is_empty() {
        return Ok(None);
    }
    Password::new(&text, context)
        .map(Some)
        .map_err(|reason| CommandError::new(format!("the password {reason}")))
}

/// The first line of standard input.
pub(super) fn read_line() -> Result<String, CommandError> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
