//! The four kinds of records.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// A kind of record.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A project folder.
    Folder,
    /// Work to be done in a folder.
    Assignment,
    /// Money spent in a folder.
    Expense,
    /// Money planned for a folder.
    Budget,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Folder, Self::Assignment, Self::Expense, Self::Budget];

    /// The kinds with their names in the API.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("folder", Self::Folder),
        ("assignment", Self::Assignment),
        ("expense", Self::Expense),
        ("budget", Self::Budget),
    ];

    /// The name, for example `folder`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The plural name, for example `folders`.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Folder => "folders",
            Self::Assignment => "assignments",
            Self::Expense => "expenses",
            Self::Budget => "budgets",
        }
    }

    pub(crate) fn letter(self) -> char {
        match self {
            Self::Folder => 'F',
            Self::Assignment => 'A',
            Self::Expense => 'E',
            Self::Budget => 'B',
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
