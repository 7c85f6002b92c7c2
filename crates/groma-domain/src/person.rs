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
