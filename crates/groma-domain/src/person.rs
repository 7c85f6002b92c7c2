//! People of a workspace: its members, and people that an import mentions.

use crate::{Email, PersonId, Violation, text::parse_line};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A person in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Person {
    /// Identifier of the person in this workspace.
    pub id: PersonId,
    /// Current name.
    pub name: String,
    /// Email address.
    pub email: Email,
}

/// The domain of the addresses of erased people. No mail reaches it.
const ERASED_DOMAIN: &str = "@erased.invalid";

impl Person {
    /// What is left of a person whose name and address were erased.
    pub fn erased(id: PersonId) -> Result<Self, Violation> {
        let email = Email::parse(&format!("{}{ERASED_DOMAIN}", id.0.simple()))?;
        Ok(Self { id, name: "Former member".to_owned(), email })
    }

    /// Whether the name and address were erased.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        is_erased_address(self.email.as_str())
    }
}

/// Whether this is the address of an erased person.
#[must_use]
pub fn is_erased_address(address: &str) -> bool {
    address.ends_with(ERASED_DOMAIN)
}

/// A reference to a person in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonRef {
    /// By ID. The person must exist.
    Id(PersonId),
    /// By address. An unknown address creates a person who cannot log in.
    Email(Email),
}

/// Parses a person's name: one line of 1 to 200 characters.
pub fn parse_name(text: &str) -> Result<String, Violation> {
    parse_line(text, 200)
}

/// Derives a name from an address: `field.crew@example.test` becomes "Field crew".
#[must_use]
pub fn name_from_email(email: &Email) -> String {
    let local = email.as_str().split('@').next().unwrap_or_default();
    let words = local.replace(['.', '_', '-', '+'], " ");
    let mut letters = words.trim().chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => email.to_string(),
    }
}
