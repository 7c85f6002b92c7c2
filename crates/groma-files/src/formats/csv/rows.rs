//! Opens a CSV file of features.

use crate::{csv_encoding::reject_utf_16, csv_rows::CsvRows, error::Result};
use std::{
    fs::File,
    io::{BufRead, BufReader, Seek},
    path::Path,
};

/// The most bytes of a row: a geometry can be long.
const MAX_ROW_BYTES: usize = 64 << 20;

pub(super) struct Rows {
    pub(super) rows: CsvRows<BufReader<File>>,
    pub(super) delimiter: u8,
}

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        reject_utf_16(file.fill_buf()?)?;
        let has_mark = file.fill_buf()?.starts_with(b"\xEF\xBB\xBF");
        let delimiter = delimiter(file.fill_buf()?);
        file.rewind()?;
        if has_mark {
            file.fill_buf()?;
            file.consume(3);
        }
        Ok(Self { rows: CsvRows::new(file, delimiter, MAX_ROW_BYTES), delimiter })
    }
}

/// The one of the usual delimiters that is most frequent in the first line.
fn delimiter(start: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut is_quoted = false;
    for byte in start {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            _ if is_quoted => {}
            byte => {
                counts.iter_mut().filter(|(one, _)| one == byte).for_each(|(_, count)| *count += 1);
            }
        }
    }
    // The first one wins a tie.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(byte, _)| *byte)
}
