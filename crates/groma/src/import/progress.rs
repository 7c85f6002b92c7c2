//! How far an import is.

use serde::{Deserialize, Serialize};

/// What an import does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Reading the file to check it.
    Checking,
    /// Comparing it with what is stored.
    Comparing,
    /// Reading it before one transaction writes all of it.
    Reading,
    /// Reading it and writing it in parts.
    Writing,
    /// Making visible what was written.
    Publishing,
}

/// What progress is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    /// Bytes of the file.
    Bytes,
    /// Features.
    Features,
    /// Rows.
    Rows,
}

/// Follows an import.
pub(crate) trait Progress: Send + Sync {
    /// A step begins; its total is `None` if it is unknown.
    fn begin(&self, step: Step, total: Option<u64>, unit: Unit);

    /// This much more of the step is done.
    fn advance(&self, amount: u64);

    /// The step is done.
    fn end(&self);

    /// Whether the import is to stop.
    fn is_cancelled(&self) -> bool {
        false
    }
}
