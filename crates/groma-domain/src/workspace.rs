//! Workspaces.

use crate::{
    Currency, Problem, Refusal, Timestamp, WorkspaceId,
    text::{fold, line},
};

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
        let invalid = |wrong| Refusal::Invalid(vec![Problem::new("name", wrong)]);
        let text = line(text, 100).map_err(invalid)?;
        match uuid::Uuid::try_parse(&text) {
            Ok(_) => Err(invalid("must not have the shape of a UUID".to_owned())),
            Err(_) => Ok(Self(text)),
        }
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
