//! The rule for new passwords. Hashing is left to the program.
//!
//! Passwords that were set under an earlier rule remain valid: only new ones are checked.

use crate::Violation;
use std::fmt;
use zxcvbn::{Score, zxcvbn};

const MIN_LENGTH: usize = 10;
const MAX_LENGTH: usize = 1_024;

/// A password in plain text. `Debug` does not print it.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Accepts a new password of 10 to 1,024 characters that is not easy to guess, also not by one who knows
    /// `context`, such as the user's address and the name of the service.
    pub fn new(text: &str, context: &[&str]) -> Result<Self, Violation> {
        match text.chars().count() {
            length if length < MIN_LENGTH => Err(Violation::TooShort { min: MIN_LENGTH }),
            length if length > MAX_LENGTH => Err(Violation::TooLong { max: MAX_LENGTH }),
            _ if is_common(text, context) => Err(Violation::CommonPassword),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The bytes to hash.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Whether a password can be guessed in fewer than 10^8 attempts by one who tries common passwords, words,
/// names, dates and keyboard patterns first.
fn is_common(text: &str, context: &[&str]) -> bool {
    let words = context.iter().flat_map(|known| known.split(|c: char| !c.is_alphanumeric()));
    let names = context.iter().flat_map(|known| known.split(['@', '.', ' ']));
    let parts = words.chain(names);
    // Short parts, such as the `org` of an address, are in many good passwords.
    let parts = parts.filter(|part| part.len() > 3);
    let known: Vec<&str> = parts.chain(context.iter().copied()).collect();
    zxcvbn(text, &known).score() < Score::Three
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), Violation> {
        Password::new(text, &["owner@north-office.example", "Terra Cadastre"]).map(drop)
    }

    #[test]
    fn common_passwords_are_rejected() {
        for common in [
            "password123",
            "Password2026!",
            "qwertyuiop",
            "1234567890",
            "aaaaaaaaaaaaaaaa",
            "iloveyou2024",
            "owner@north-office.example",
            "north-office1",
            "terracadastre",
            "motdepasse1",
        ] {
            assert_eq!(check(common), Err(Violation::CommonPassword), "{common}");
        }
    }

    #[test]
    fn other_passwords_are_accepted() {
        for good in [
            "levels and rods 24",
            "bofigu-ravito-mulida",
            "un mot de passe long",
            "théodolite et jalon",
            "x7#Kq92mPv",
            "測量士の三脚とレベル棒",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn length_is_limited() {
        assert_eq!(check("x7#Kq92mP"), Err(Violation::TooShort { min: 10 }));
        assert_eq!(check(&"x7#Kq92mPv".repeat(103)), Err(Violation::TooLong { max: 1_024 }));
    }
}
