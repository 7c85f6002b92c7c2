//! The rows of a CSV file, with limits on what one row takes.

use crate::{FileError, error::Result, format_limits};
use csv_core::ReadRecordResult;
use groma_geo::message;
use std::{collections::HashSet, io::BufRead};

/// The most columns of a file.
pub const MAX_COLUMNS: usize = format_limits::MAX_COLUMNS;

/// The size of the buffer for a row, which grows with the rows.
const MIN_BUFFER: usize = 1 << 12;

/// Reads a file row by row. Empty lines are left out.
pub struct CsvRows<R> {
    file: R,
    parser: csv_core::Reader,
    max_bytes: usize,
    /// How many bytes of the file were parsed.
    offset: u64,
    /// The content of the current row, and where each of its cells ends in it.
    content: Vec<u8>,
    ends: Vec<usize>,
}

/// A row.
#[derive(Clone, Copy)]
pub struct CsvRow<'r> {
    content: &'r [u8],
    ends: &'r [usize],
}

impl<R: BufRead> CsvRows<R> {
    /// A quotation mark without its pair makes the rest of a file one row, so a row has at most `max_bytes`.
    pub fn new(file: R, delimiter: u8, max_bytes: usize) -> Self {
        Self {
            file,
            parser: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            max_bytes,
            offset: 0,
            content: vec![0; MIN_BUFFER.min(max_bytes)],
            // One more, so that a row with too many cells is noticed.
            ends: vec![0; MAX_COLUMNS + 1],
        }
    }

    /// Where the next row starts, or empty lines before it.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next row; `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<CsvRow<'_>>> {
        let (mut length, mut cells) = (0, 0);
        loop {
            let input = self.file.fill_buf()?;
            let (result, read, written, ended) = self.parser.read_record(
                input,
                &mut self.content[length..],
                &mut self.ends[cells..],
            );
            self.file.consume(read);
            self.offset += read as u64;
            length += written;
            cells += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if length < self.max_bytes => {
                    let size = (self.content.len() * 2).min(self.max_bytes);
                    self.content.resize(size, 0);
                }
                ReadRecordResult::OutputFull => return Err(too_many_bytes(self.max_bytes)),
                ReadRecordResult::Record if cells <= MAX_COLUMNS => {
                    let (content, ends) = (&self.content[..length], &self.ends[..cells]);
                    return Ok(Some(CsvRow { content, ends }));
                }
                ReadRecordResult::Record | ReadRecordResult::OutputEndsFull => {
                    let message =
                        message!("a row has more than {limit} cells", limit = MAX_COLUMNS);
                    return Err(FileError::invalid(message));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}

fn too_many_bytes(max_bytes: usize) -> FileError {
    FileError::invalid(message!("a row has more than {limit} MiB", limit = max_bytes >> 20))
}

impl<'r> CsvRow<'r> {
    /// The number of cells.
    #[expect(clippy::len_without_is_empty, reason = "a row has at least one cell")]
    pub fn len(self) -> usize {
        self.ends.len()
    }

    /// All cells together.
    pub fn content(self) -> &'r [u8] {
        self.content
    }

    /// A cell.
    pub fn get(self, index: usize) -> Option<&'r [u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        Some(&self.content[start..end])
    }

    /// The cells.
    pub fn cells(self) -> impl Iterator<Item = &'r [u8]> {
        (0..self.len()).filter_map(move |index| self.get(index))
    }
}

/// The names of columns, without surrounding spaces, unless one appears twice.
pub fn unique_names(names: impl Iterator<Item = impl AsRef<str>>) -> Result<Vec<String>> {
    let names: Vec<String> = names.map(|name| name.as_ref().trim().to_owned()).collect();
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => {
            Err(FileError::invalid(message!("column `{name}` appears twice", name = name.as_str())))
        }
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, BufReader, Read};

    fn rows(content: impl Read) -> CsvRows<impl BufRead> {
        CsvRows::new(BufReader::new(content), b',', 1 << 20)
    }

    #[test]
    fn cells_can_have_quotation_marks_delimiters_and_line_breaks() {
        let text = "a,\"b, \"\"c\"\"\nd\",\r\n\n\"\",e,f\n".as_bytes();
        let mut rows = rows(text);
        let row = rows.next_row().unwrap().unwrap();
        assert_eq!(row.cells().collect::<Vec<_>>(), [&b"a"[..], b"b, \"c\"\nd", b""]);
        assert_eq!(row.len(), 3);
        assert_eq!([row.get(0), row.get(2), row.get(3)], [Some(&b"a"[..]), Some(b""), None]);
        let row = rows.next_row().unwrap().unwrap();
        assert_eq!(row.cells().collect::<Vec<_>>(), [&b""[..], b"e", b"f"]);
        assert_eq!(rows.offset(), text.len() as u64);
        assert!(rows.next_row().unwrap().is_none());
    }

    #[test]
    fn rows_can_have_as_many_bytes_and_cells_as_the_limits_allow() {
        let (wide, long) = ("a,".repeat(MAX_COLUMNS - 1), "x".repeat((1 << 20) - 1));
        let text = format!("{wide}a\n{long}\n{wide}a,a\n");
        let mut rows = rows(text.as_bytes());
        assert_eq!(rows.next_row().unwrap().unwrap().len(), MAX_COLUMNS);
        assert_eq!(rows.next_row().unwrap().unwrap().content(), long.as_bytes());
        assert!(rows.next_row().is_err_and(|error| error.to_string().contains("1950 cells")));
    }

    #[test]
    fn rows_without_end_are_rejected() {
        for (content, message) in [
            (io::repeat(b','), "a row has more than 1950 cells"),
            (io::repeat(b'x'), "a row has more than 1 MiB"),
            (io::repeat(b'"'), "a row has more than 1 MiB"),
        ] {
            let error = rows(content).next_row().err().unwrap();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn repeated_names_are_rejected() {
        assert_eq!(unique_names([" a", "b "].iter()).unwrap(), ["a", "b"]);
        let error = unique_names(["a", "b", "a "].iter()).unwrap_err();
        assert_eq!(error.to_string(), "column `a` appears twice");
    }
}
