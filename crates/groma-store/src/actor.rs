//! Who makes a change.

use groma_domain::{PersonId, Role};

/// Who makes a change.
#[derive(Clone, Copy, Debug)]
pub enum Actor {
    /// The operator, with a shell on the server.
    Operator,
    /// A member of the workspace, with their current role.
    Member {
        /// The member.
        person: PersonId,
        /// The member's role.
        role: Role,
    },
}

impl Actor {
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Operator => Role::Owner,
            Self::Member { role, .. } => role,
        }
    }

    pub(crate) fn person(self) -> Option<PersonId> {
        match self {
            Self::Operator => None,
            Self::Member { person, .. } => Some(person),
        }
    }
}
