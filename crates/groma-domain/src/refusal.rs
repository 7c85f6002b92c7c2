//! What a rule answers when it does not let something through.

use crate::Role;
use std::fmt;
use thiserror::Error;

/// Why a command was not carried out. It knows no HTTP and tells nothing of the inside: every
/// message may be read by the one who asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// Values that break a rule, each beside its field.
    #[error("{}", join(.0))]
    Invalid(Vec<Problem>),
    /// The thing named is not in this workspace.
    #[error("{what} `{key}` not found")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// How it was named.
        key: String,
    },
    /// The record changed since the version that the writer had seen.
    #[error("{what} `{key}` is at version {current} now, not {expected}")]
    Conflict {
        /// The kind of thing.
        what: &'static str,
        /// How it was named.
        key: String,
        /// The version that the writer had seen.
        expected: u64,
        /// The version that is stored.
        current: u64,
    },
    /// The role is not enough.
    #[error("needs the role {needs}")]
    Forbidden {
        /// The least role that would do.
        needs: Role,
    },
}

impl Refusal {
    /// One value that breaks a rule.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Problem::new(field, message)])
    }
}

/// One value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field's name in the API.
    pub field: String,
    /// What is wrong, without the field's name.
    pub message: String,
}

impl Problem {
    /// A problem of this field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.message)
    }
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
