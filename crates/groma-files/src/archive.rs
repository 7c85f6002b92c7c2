//! Zip archives from strangers. Entries are unpacked to temporary files without names, so a name in an archive
//! never becomes a path.

use crate::{FileError, error::Result};
use groma_geo::{Message, message};
use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, Write},
    path::Path,
};
use zip::{ZipArchive, read::Config, unstable::read::ZipIterable};

/// The most entries of an archive.
const MAX_ENTRIES: usize = 10_000;
/// An entry may unpack to this many bytes, plus so many times the size of the archive.
const FREE_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 256 << 20 };
const MAX_RATIO: u64 = 200;

/// An open archive.
pub(crate) struct Archive {
    zip: ZipArchive<BufReader<File>>,
    /// How many bytes may still be unpacked.
    budget: u64,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::new(File::open(path)?)
    }

    pub(crate) fn new(file: File) -> Result<Self> {
        let budget = FREE_BYTES + MAX_RATIO.saturating_mul(file.metadata()?.len());
        let mut file = BufReader::new(file);
        // `ZipArchive` takes memory for as many entries as an archive announces, and cannot be asked for their
        // number before.
        let entries = ZipIterable::try_new(&mut file, Config::default()).map_err(invalid)?;
        if entries.len() > MAX_ENTRIES {
            return Err(FileError::invalid(message!(
                "the archive has more than {limit} files",
                limit = MAX_ENTRIES
            )));
        }
        Ok(Self { zip: ZipArchive::new(file).map_err(invalid)?, budget })
    }

    /// Whether a file begins as an archive does.
    pub(crate) fn is_archive(path: &Path) -> io::Result<bool> {
        let mut start = [0; 4];
        Ok(File::open(path)?.read(&mut start)? == 4
            && matches!(&start, b"PK\x03\x04" | b"PK\x05\x06"))
    }

    /// The names of its files.
    pub(crate) fn names(&mut self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for index in 0..self.zip.len() {
            let entry = self.zip.by_index_raw(index).map_err(invalid)?;
            if entry.enclosed_name().is_none() {
                return Err(FileError::invalid(message!(
                    "the archive contains a path that leads outside of it"
                )));
            }
            if entry.is_file() {
                names.push(entry.name().map_err(invalid)?.into_owned());
            }
        }
        Ok(names)
    }

    /// Unpacks a file, which can then be read from its start.
    pub(crate) fn unpack(&mut self, name: &str) -> Result<File> {
        let entry = self.zip.by_name(name).map_err(invalid)?;
        let mut file = tempfile::tempfile()?;
        let copied = io::copy(&mut entry.take(self.budget + 1), &mut file);
        let length = copied.map_err(|error| {
            FileError::invalid(message!("the archive: {error}", error = Message::from(&error)))
        })?;
        if length > self.budget {
            return Err(FileError::invalid(too_large()));
        }
        self.budget -= length;
        file.flush()?;
        file.rewind()?;
        Ok(file)
    }
}

impl Archive {
    /// Passes a file on to `read` while it is unpacked.
    pub(crate) fn read(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read) -> Result<()>,
    ) -> Result<()> {
        let entry = self.zip.by_name(name).map_err(invalid)?;
        read(&mut Budgeted { entry, budget: &mut self.budget })
    }
}

/// Fails once an archive has unpacked to too many bytes.
struct Budgeted<'a, R> {
    entry: R,
    budget: &'a mut u64,
}

impl<R: Read> Read for Budgeted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.entry.read(buffer)?;
        let left = self.budget.checked_sub(length as u64);
        let left = left.ok_or_else(|| io::Error::other(too_large()))?;
        *self.budget = left;
        Ok(length)
    }
}

fn too_large() -> Message {
    message!("the archive unpacks to more than {limit} times its size", limit = MAX_RATIO)
}

fn invalid(error: impl std::fmt::Display) -> FileError {
    FileError::invalid(message!("the archive cannot be read: {error}", error = error.to_string()))
}
