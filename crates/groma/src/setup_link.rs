//! The file with the setup link. It is used when standard output is not a terminal: what a service prints
//! ends up in a journal, which others can read.

use groma_store::DatabaseUrl;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Where the setup link is written.
pub(crate) struct SetupLinkFile {
    path: PathBuf,
}

impl SetupLinkFile {
    /// Beside a SQLite database; otherwise in the folder that systemd gives to the service, or in the
    /// working directory.
    pub(crate) fn of(database: &DatabaseUrl) -> Self {
        let path = match database {
            DatabaseUrl::Sqlite(database) => database.with_added_extension("setup-link"),
            DatabaseUrl::Postgres(_) => {
                let folder = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
                folder.unwrap_or_default().join("groma.setup-link")
            }
        };
        Self { path: std::path::absolute(&path).unwrap_or(path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a link that only the owner of the file can read.
    pub(crate) fn write(&self, link: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // Temporary files have the mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{link}")?;
        file.persist(&self.path)?;
        Ok(())
    }

    /// The link; `None` if there is no file.
    pub(crate) fn read(&self) -> io::Result<Option<String>> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text.trim_end().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes the file: the link is no longer valid.
    pub(crate) fn remove(&self) {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let path = self.path.display();
                tracing::warn!(%error, %path, "cannot delete the file of the setup link");
            }
            _ => {}
        }
    }
}
