//! Files that only their owner can read.

use super::CommandError;
use crate::export::ExportError;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Creates a file with mode 0600. A file that exists is replaced, because its mode may be another.
pub(super) fn create(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Exports to a file with mode 0600, which appears under its name once it is complete. `write` gets the path that it
/// has until then, and the empty file.
pub(super) async fn export<T>(
    path: &Path,
    write: impl AsyncFnOnce(&Path, File) -> Result<T, ExportError>,
) -> Result<T, CommandError> {
    let with_path = |error: io::Error| CommandError::new(format!("{}: {error}", path.display()));
    let part = path.with_added_extension("part");
    let file = create(&part).map_err(with_path)?;
    match write(&part, file).await {
        Ok(written) => {
            std::fs::rename(&part, path).map_err(with_path)?;
            Ok(written)
        }
        Err(error) => {
            // What is left of it is of no use.
            let _ = std::fs::remove_file(&part);
            Err(match error {
                ExportError::Io(error) => with_path(error),
                error => error.into(),
            })
        }
    }
}
