//! Files that commands read, standard input among them.

use super::CommandError;
use crate::import::ImportError;
use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

pub(super) fn with_path(path: &Path, error: &dyn fmt::Display) -> CommandError {
    CommandError::new(format!("{}: {error}", path.display()))
}

/// Why an import fails. What the store rejects is about the data, not about the file.
pub(super) fn import_error(path: &Path, error: &ImportError) -> CommandError {
    match error {
        ImportError::Store(error) => CommandError::new(error),
        error => with_path(path, error),
    }
}

/// Opens a file, or standard input if the path is `-`, so that it can be read more than once: a
/// pipe is copied to a temporary file.
pub(super) fn open_rereadable(path: &Path) -> io::Result<File> {
    let mut pipe: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Box::new(file)
    };
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut pipe, &mut copy)?;
    Ok(copy)
}

/// A file that can be opened by its path, more than once.
pub(super) enum StoredInput {
    Path(PathBuf),
    /// A copy of a pipe.
    Copy(tempfile::TempPath),
}

impl StoredInput {
    /// The file or folder at a path, or a copy of standard input if it is `-`, or of another pipe.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut pipe: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(io::stdin().lock())
        } else {
            let metadata = path.metadata()?;
            if metadata.is_file() || metadata.is_dir() {
                return Ok(Self::Path(path.to_owned()));
            }
            Box::new(File::open(path)?)
        };
        let mut copy = tempfile::NamedTempFile::new()?;
        io::copy(&mut pipe, &mut copy)?;
        Ok(Self::Copy(copy.into_temp_path()))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Copy(path) => path,
        }
    }
}
