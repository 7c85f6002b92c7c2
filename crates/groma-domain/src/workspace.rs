//! Workspaces.

use crate::{
    Currency, DomainError, Timestamp, Violation, WorkspaceId,
    text::{fold, parse_line},
};

/// A workspace: an organisation with its records, people and tokens.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Identifier, the `workspaceKey` of records and events.
    pub id: WorkspaceId,
    /// Name, unique without regard to case and accents.
    pub name: WorkspaceName,
    /// Default currency of new folders.
    pub currency: Currency,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A workspace's name: 1 to 100 characters, not a UUID, because commands accept a name or an ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceName(String);

impl WorkspaceName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let invalid = |violation| DomainError::invalid("name", violation);
        let text = parse_line(text, 100).map_err(invalid)?;
        match uuid::Uuid::try_parse(&text) {
            Ok(_) => Err(invalid(Violation::LooksLikeUuid)),
            Err(_) => Ok(Self(text)),
        }
    }

    /// The normalized name, used for comparison and uniqueness.
    #[must_use]
    pub fn key(&self) -> String {
        fold(&self.0)
    }

    /// The name as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
