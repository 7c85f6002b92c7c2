//! Roles: what a member of a workspace may do. The one place that says so.

use crate::Refusal;
use std::{fmt, str::FromStr};

/// A member's role; each may all that the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Changes records and geometries.
    Editor,
    /// Also statuses, layers, members, webhooks and the workspace's settings.
    Admin,
    /// Also deletes the workspace and names owners.
    Owner,
}

/// Something that takes a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Read records, layers, geometries.
    Read,
    /// Create, change, archive and delete folders, assignments, expenses, budgets; post geometries.
    ChangeRecords,
    /// Statuses, layers, members below owner, webhooks, workspace settings.
    Administer,
    /// Delete the workspace, name owners.
    Own,
}

impl Role {
    /// Every role, the least first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Editor, Self::Admin, Self::Owner];

    /// Whether this role is enough for `permission`.
    #[must_use]
    pub fn may(self, permission: Permission) -> bool {
        self >= permission.least_role()
    }

    /// Refuses when this role is not enough for `permission`.
    pub fn require(self, permission: Permission) -> Result<(), Refusal> {
        if self.may(permission) {
            Ok(())
        } else {
            Err(Refusal::Forbidden { needs: permission.least_role() })
        }
    }

    /// Its name in commands and pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

impl Permission {
    fn least_role(self) -> Role {
        match self {
            Self::Read => Role::Viewer,
            Self::ChangeRecords => Role::Editor,
            Self::Administer => Role::Admin,
            Self::Own => Role::Owner,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| format!("unknown role `{text}`; known are viewer, editor, admin, owner"))
    }
}
