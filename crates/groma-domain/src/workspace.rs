//! Workspaces.

use crate::{Currency, Problem, Refusal, Timestamp, WorkspaceId, text::fold};

/// A workspace: one office with its records, people and tokens.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Its id, the `workspaceKey` of records and events.
    pub id: WorkspaceId,
    /// Its name, unique without regard to case and accents.
    pub name: WorkspaceName,
    /// The currency of folders that name none.
    pub currency: Currency,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A workspace's name: 1–100 characters, not shaped like a UUID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceName(String);

impl WorkspaceName {
    /// Reads a name, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        let wrong = match text.chars().count() {
            0 => "must not be empty",
            101.. => "must have at most 100 characters",
            _ if text.chars().any(char::is_control) => "must not contain control characters",
            _ if uuid::Uuid::try_parse(text).is_ok() => "must not have the shape of a UUID",
            _ => return Ok(Self(text.to_owned())),
        };
        Err(Refusal::Invalid(vec![Problem::new("name", wrong)]))
    }

    /// The form that is compared and unique.
    #[must_use]
    pub fn key(&self) -> String {
        fold(&self.0)
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
