//! Why the check of a file has no result.

use crate::import::ImportError;
use groma_files::FileError;

/// Why the check of a file has no result.
pub(super) enum CheckError {
    /// The file cannot be read, whatever a member chooses.
    Unreadable(ImportError),
    /// With other options, the file may be imported.
    Other(ImportError),
}

impl CheckError {
    /// An error of reading a file. It is final unless the member has a choice of what is read, or as what.
    pub(super) fn of_file(error: impl Into<ImportError>, has_choice: bool) -> Self {
        match error.into() {
            error @ ImportError::File(_) if !has_choice => Self::Unreadable(error),
            error => Self::Other(error),
        }
    }
}

impl From<ImportError> for CheckError {
    fn from(error: ImportError) -> Self {
        Self::Other(error)
    }
}

impl From<FileError> for CheckError {
    fn from(error: FileError) -> Self {
        Self::Other(error.into())
    }
}
