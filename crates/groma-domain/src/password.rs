//! The rule for new passwords. Hashing is left to the program.

use crate::Violation;
use std::fmt;

const MIN_LENGTH: usize = 8;
const MAX_LENGTH: usize = 1_024;

/// A password in plain text. `Debug` does not print it.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Accepts a new password of 8 to 1,024 characters.
    pub fn new(text: &str) -> Result<Self, Violation> {
        match text.chars().count() {
            length if length < MIN_LENGTH => Err(Violation::TooShort { min: MIN_LENGTH }),
            length if length > MAX_LENGTH => Err(Violation::TooLong { max: MAX_LENGTH }),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The bytes to hash.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
