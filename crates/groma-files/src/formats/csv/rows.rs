//! The rows of a CSV file, with bounds on what one row takes.

use crate::{FileError, error::Result};
use csv::ByteRecord;
use std::{
    cell::Cell,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    path::Path,
    rc::Rc,
};

/// The most bytes of a row. A quotation mark without its pair would otherwise make the rest of a file one row.
const MAX_ROW_BYTES: u64 = 64 << 20;
const MAX_COLUMNS: usize = 1_000;

pub(super) struct Rows {
    reader: csv::Reader<Limited>,
    left: Rc<Cell<u64>>,
    pub(super) delimiter: u8,
}

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        let has_mark = file.fill_buf()?.starts_with(b"\xEF\xBB\xBF");
        let delimiter = delimiter(file.fill_buf()?);
        file.rewind()?;
        if has_mark {
            file.fill_buf()?;
            file.consume(3);
        }
        let left = Rc::new(Cell::new(MAX_ROW_BYTES));
        let limited = Limited { file, left: left.clone() };
        let mut builder = csv::ReaderBuilder::new();
        let reader =
            builder.flexible(true).has_headers(false).delimiter(delimiter).from_reader(limited);
        Ok(Self { reader, left, delimiter })
    }

    /// Reads the next row; false at the end.
    pub(super) fn next(&mut self, row: &mut ByteRecord) -> Result<bool> {
        self.left.set(MAX_ROW_BYTES);
        match self.reader.read_byte_record(row) {
            Ok(found) if row.len() <= MAX_COLUMNS => Ok(found),
            Ok(_) => Err(FileError::invalid(format!("a row has more than {MAX_COLUMNS} cells"))),
            Err(error) => Err(FileError::invalid(error.to_string())),
        }
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

struct Limited {
    file: BufReader<File>,
    left: Rc<Cell<u64>>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        match self.left.get().checked_sub(count as u64) {
            Some(left) => self.left.set(left),
            None => {
                let message = format!("a row has more than {} MiB", MAX_ROW_BYTES >> 20);
                return Err(io::Error::other(message));
            }
        }
        Ok(count)
    }
}
