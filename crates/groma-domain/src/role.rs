//! Roles of workspace members, and the permissions that each role includes.

use std::{fmt, str::FromStr};

/// A member's role. Each role includes the permissions of the roles before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads everything.
    Viewer,
    /// Changes records and geometries.
    Editor,
    /// Manages statuses, layers, members, webhooks and the workspace's settings.
    Admin,
    /// Deletes the workspace and appoints owners.
    Owner,
}

/// A group of actions that requires a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Read records, layers and geometries.
    Read,
    /// Create, change, archive and delete records; upload geometries.
    ChangeRecords,
    /// Manage statuses, layers, members below owner, webhooks and workspace settings.
    Administer,
    /// Delete the workspace and appoint owners.
    Own,
}

impl Role {
    /// Every role, the lowest first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Editor, Self::Admin, Self::Owner];

    /// Whether this role includes `permission`.
    #[must_use]
    pub fn can(self, permission: Permission) -> bool {
        self >= permission.required_role()
    }

    /// The name used in commands and the database.
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
    pub(crate) fn required_role(self) -> Role {
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
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| {
            format!("unknown role `{text}`; must be one of viewer, editor, admin, owner")
        })
    }
}
