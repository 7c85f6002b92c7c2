//! The encoding of CSV files, which do not name it: their rows show it.

use crate::{FileError, csv_rows::CsvRow, error};
use encoding_rs::WINDOWS_1252;
use groma_geo::{Message, message};
use std::borrow::Cow;

/// How the texts of a file are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvEncoding {
    /// UTF-8.
    Utf8,
    /// The encoding in which Excel saves CSV in western Europe.
    Windows1252,
}

impl CsvEncoding {
    /// The text of a cell.
    pub fn decode(self, cell: &[u8]) -> Result<Cow<'_, str>, Message> {
        match std::str::from_utf8(cell) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) if self == Self::Windows1252 => {
                Ok(WINDOWS_1252.decode_without_bom_handling(cell).0)
            }
            Err(_) => Err(message!("is not UTF-8, as other rows are: the file mixes encodings")),
        }
    }
}

/// Finds the encoding of a file in its rows.
#[derive(Debug, Default)]
pub struct EncodingScan {
    /// Whether a row is UTF-8 beyond ASCII, and whether a row is not UTF-8.
    has_utf8: bool,
    has_other: bool,
}

impl EncodingScan {
    /// Looks at a row.
    pub fn add(&mut self, row: CsvRow<'_>) {
        if !row.content().is_ascii() {
            let is_utf8 = row.cells().all(|cell| std::str::from_utf8(cell).is_ok());
            *(if is_utf8 { &mut self.has_utf8 } else { &mut self.has_other }) = true;
        }
    }

    /// Windows-1252 if no row is UTF-8 beyond ASCII. In a file that mixes encodings, the other rows are rejected.
    #[must_use]
    pub fn encoding(&self) -> CsvEncoding {
        match self.has_other && !self.has_utf8 {
            true => CsvEncoding::Windows1252,
            false => CsvEncoding::Utf8,
        }
    }
}

/// Rejects a file that starts with the byte order mark of UTF-16.
pub fn reject_utf_16(start: &[u8]) -> error::Result<()> {
    match start {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            Err(FileError::invalid(message!("the file is UTF-16; save it as CSV UTF-8")))
        }
        _ => Ok(()),
    }
}
