//! Zip archives from strangers. Entries are unpacked to temporary files without names, so a name in an archive
//! never becomes a path.

use crate::{FileError, error::Result};
use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, Write},
    path::Path,
};
use zip::ZipArchive;

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
        let zip = ZipArchive::new(BufReader::new(file)).map_err(invalid)?;
        if zip.len() > MAX_ENTRIES {
            return Err(FileError::invalid(format!(
                "the archive has more than {MAX_ENTRIES} files"
            )));
        }
        Ok(Self { zip, budget })
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
                return Err(FileError::invalid(
                    "the archive contains a path that leads outside of it",
                ));
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
        let length = copied.map_err(|error| FileError::invalid(format!("the archive: {error}")))?;
        if length > self.budget {
            return Err(FileError::invalid(format!(
                "the archive unpacks to more than {MAX_RATIO} times its size"
            )));
        }
        self.budget -= length;
        file.flush()?;
        file.rewind()?;
        Ok(file)
    }
}

impl Archive {
    /// Unpacks a file to nowhere, to learn whether it has at most `max_bytes`.
    pub(crate) fn measure(&mut self, name: &str, max_bytes: u64) -> Result<()> {
        let entry = self.zip.by_name(name).map_err(invalid)?;
        let limit = self.budget.min(max_bytes);
        let copied = io::copy(&mut entry.take(limit.saturating_add(1)), &mut io::sink());
        let length = copied.map_err(|error| FileError::invalid(format!("the archive: {error}")))?;
        if length > limit {
            return Err(FileError::invalid(format!(
                "`{name}` in the archive unpacks to too many bytes"
            )));
        }
        self.budget -= length;
        Ok(())
    }
}

fn invalid(error: impl std::fmt::Display) -> FileError {
    FileError::invalid(format!("the archive cannot be read: {error}"))
}
