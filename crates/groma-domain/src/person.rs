//! People as a workspace knows them: members, and those whom an import named.

use crate::{Email, PersonId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A person in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Person {
    /// Identifier of the person in this workspace.
    pub id: PersonId,
    /// Name, as it is now.
    pub name: String,
    /// E-mail address.
    pub email: Email,
}

/// How an input names a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonRef {
    /// By id; must exist.
    Id(PersonId),
    /// By address; an unknown one becomes a person without login.
    Email(Email),
}

/// A person's name: one line of 1–200 characters.
pub fn parse_name(text: &str) -> Result<String, String> {
    crate::text::line(text, 200)
}

/// The name given to someone known by address alone: `field.crew@example.test` is «Field crew».
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
