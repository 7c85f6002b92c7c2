//! Scopes of personal access tokens.

use crate::{Kind, Permission};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use utoipa::ToSchema;

/// A permission of a token.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Scope {
    /// Read folders.
    ReadFolder,
    /// Read assignments.
    ReadAssignment,
    /// Read expenses.
    ReadExpense,
    /// Read budgets.
    ReadBudget,
    /// Create and delete webhook endpoints.
    ManageWebhook,
    /// Create, change, archive and delete folders.
    WriteFolder,
    /// Create, change and delete assignments.
    WriteAssignment,
    /// Create, change and delete expenses.
    WriteExpense,
    /// Create, change and delete budgets.
    WriteBudget,
    /// Create, change and delete statuses.
    ManageStatus,
    /// Read the members of the workspace.
    ReadMember,
}

impl Scope {
    /// Every scope, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::ReadFolder,
        Self::ReadAssignment,
        Self::ReadExpense,
        Self::ReadBudget,
        Self::ReadMember,
        Self::WriteFolder,
        Self::WriteAssignment,
        Self::WriteExpense,
        Self::WriteBudget,
        Self::ManageStatus,
        Self::ManageWebhook,
    ];

    /// The scope to read records of a kind.
    #[must_use]
    pub fn read(kind: Kind) -> Self {
        match kind {
            Kind::Folder => Self::ReadFolder,
            Kind::Assignment => Self::ReadAssignment,
            Kind::Expense => Self::ReadExpense,
            Kind::Budget => Self::ReadBudget,
        }
    }

    /// The scope to change records of a kind.
    #[must_use]
    pub fn write(kind: Kind) -> Self {
        match kind {
            Kind::Folder => Self::WriteFolder,
            Kind::Assignment => Self::WriteAssignment,
            Kind::Expense => Self::WriteExpense,
            Kind::Budget => Self::WriteBudget,
        }
    }

    /// What its owner must be allowed to do to grant the scope, and to use it.
    #[must_use]
    pub fn permission(self) -> Permission {
        match self {
            Self::ReadFolder
            | Self::ReadAssignment
            | Self::ReadExpense
            | Self::ReadBudget
            | Self::ReadMember => Permission::Read,
            Self::WriteFolder | Self::WriteAssignment | Self::WriteExpense | Self::WriteBudget => {
                Permission::ChangeRecords
            }
            Self::ManageStatus | Self::ManageWebhook => Permission::Administer,
        }
    }

    /// The name used by the API and in error messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadFolder => "READ_FOLDER",
            Self::ReadAssignment => "READ_ASSIGNMENT",
            Self::ReadExpense => "READ_EXPENSE",
            Self::ReadBudget => "READ_BUDGET",
            Self::ManageWebhook => "MANAGE_WEBHOOK",
            Self::WriteFolder => "WRITE_FOLDER",
            Self::WriteAssignment => "WRITE_ASSIGNMENT",
            Self::WriteExpense => "WRITE_EXPENSE",
            Self::WriteBudget => "WRITE_BUDGET",
            Self::ManageStatus => "MANAGE_STATUS",
            Self::ReadMember => "READ_MEMBER",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scope| scope.name() == text.trim()).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|scope| scope.name()).collect();
            format!("unknown scope `{text}`; must be one of {}", names.join(", "))
        })
    }
}

/// The set of scopes of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u16);

impl Scopes {
    /// Whether the set contains `scope`.
    #[must_use]
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    /// The scopes in the order of the documentation.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }

    /// Parses comma-separated names, the format of the database and the command line.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split(',').filter(|name| !name.trim().is_empty()).map(str::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | 1 << scope as u8))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Scope::name).collect();
        f.write_str(&names.join(","))
    }
}
