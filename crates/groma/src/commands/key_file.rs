//! The keys of webhook secrets: the settings, or else, on SQLite, a file beside the database.
//!
//! A new key is first written beside the old one (`….key.new`), and renamed once every secret is encrypted
//! with it. While both files exist, both keys are accepted, so that a crash in between loses nothing.

use super::CommandError;
use crate::settings::{Settings, parse_encryption_key};
use groma_store::{DatabaseUrl, EncryptionKey, EncryptionKeys};
use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
};

/// The key file of a SQLite database.
pub(super) struct KeyFile {
    database: PathBuf,
    pub(super) path: PathBuf,
    /// The key that a change of the key introduces.
    pub(super) next: PathBuf,
}

impl KeyFile {
    /// The key file of the database; `None` if the settings have the key, or for PostgreSQL.
    pub(super) fn in_use(settings: &Settings) -> Option<Self> {
        match settings.webhooks.encryption_key {
            Some(_) => None,
            None => Self::of(&settings.database),
        }
    }

    /// The key file beside a SQLite database, whether it is used or not.
    pub(super) fn of(database: &DatabaseUrl) -> Option<Self> {
        let DatabaseUrl::Sqlite(database) = database else { return None };
        Some(Self {
            path: database.with_added_extension("key"),
            next: database.with_added_extension("key.new"),
            database: database.clone(),
        })
    }

    /// The key in the file; a new one if there is no file.
    fn read_or_create(&self) -> Result<EncryptionKey, CommandError> {
        match read(&self.path)? {
            Some(key) => Ok(key),
            None => self.create(&self.path),
        }
    }

    /// The key that the next change of the key introduces.
    pub(super) fn read_or_create_next(&self) -> Result<EncryptionKey, CommandError> {
        match read(&self.next)? {
            Some(key) => Ok(key),
            None => self.create(&self.next),
        }
    }

    /// Makes the next key the only one. Every secret must be encrypted with it.
    pub(super) fn replace(&self) -> Result<(), CommandError> {
        let replaced = std::fs::rename(&self.next, &self.path).and_then(|()| self.sync_folder());
        replaced.map_err(|error| failed(&self.path, &error))
    }

    /// Writes a new key. If another process does so at the same time, its key is used.
    fn create(&self, path: &Path) -> Result<EncryptionKey, CommandError> {
        let written = self.write_new(path);
        written.map_err(|error| failed(path, &error))?;
        read(path)?.ok_or_else(|| failed(path, &io::ErrorKind::NotFound.into()))
    }

    fn write_new(&self, path: &Path) -> io::Result<()> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        // Temporary files have the mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(self.folder())?;
        writeln!(file, "{}", hex::encode(key))?;
        file.as_file().sync_all()?;
        // A command of root must not lock out the server, which runs as another user.
        let (own, database) = (file.as_file().metadata()?, std::fs::metadata(&self.database)?);
        if own.uid() != database.uid() {
            chown(file.path(), Some(database.uid()), Some(database.gid()))?;
        }
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => self.sync_folder(),
        }
    }

    fn folder(&self) -> &Path {
        let folder = self.database.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(self.folder())?.sync_all()
    }
}

/// The keys of webhook secrets. On SQLite, a missing key file is created if `can_create`.
pub(super) fn load(settings: &Settings, can_create: bool) -> Result<EncryptionKeys, CommandError> {
    let webhooks = &settings.webhooks;
    let mut keys = EncryptionKeys {
        current: webhooks.encryption_key.clone(),
        previous: webhooks.previous_encryption_key.iter().cloned().collect(),
    };
    let Some(file) = KeyFile::of(&settings.database) else { return Ok(keys) };
    if keys.current.is_some() {
        // The secrets may still be encrypted with the key of the file.
        keys.previous.extend(read(&file.path)?);
    } else if can_create {
        keys.current = Some(file.read_or_create()?);
    } else {
        keys.current = read(&file.path)?;
    }
    keys.previous.extend(read(&file.next)?);
    Ok(keys)
}

fn read(path: &Path) -> Result<Option<EncryptionKey>, CommandError> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| failed(path, &error))?,
    };
    let key = parse_encryption_key(text.trim());
    let invalid = || CommandError::new(format!("{}: is not a key file", path.display()));
    key.ok_or_else(invalid).map(Some)
}

fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::new(format!("{}: {error}", path.display()))
}
