//! Files of records in CSV, XLSX, JSON or NDJSON, read row by row.

use super::ImportError;
use crate::cli::RecordFormat;
use groma_files::{
    FileError, csv_cell,
    csv_encoding::{CsvEncoding, EncodingScan, reject_utf_16},
    csv_rows::{CsvRow, CsvRows, MAX_COLUMNS, unique_names},
    xlsx,
};
use groma_geo::{Message, message};
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    fs::File,
    io::{BufRead, BufReader, Read, Seek},
    sync::OnceLock,
};

/// The most bytes of a row. A file without line breaks, or with a quotation mark that lacks its pair, would
/// otherwise be one row.
const MAX_ROW_BYTES: usize = 1 << 20;

/// The byte order mark of UTF-8.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One row: its values, or why it cannot be read.
pub(crate) struct Row {
    /// Its index among the rows of the file.
    pub(crate) index: u64,
    /// The line on which it starts.
    pub(crate) line: u64,
    pub(crate) values: Result<Map<String, Value>, Message>,
}

/// Receives the line and the values of each row.
type OnRow<'t> =
    dyn FnMut(u64, Result<Map<String, Value>, Message>) -> Result<(), ImportError> + 't;

/// A file that can be read more than once.
pub(crate) struct RecordFile {
    format: RecordFormat,
    file: File,
    /// The sheet of a workbook; `None` for the first one.
    sheet: Option<String>,
    /// That of a CSV file, once it is known.
    encoding: OnceLock<CsvEncoding>,
}

impl RecordFile {
    pub(crate) fn new(file: File, format: RecordFormat, sheet: Option<String>) -> Self {
        Self { format, file, sheet, encoding: OnceLock::new() }
    }

    /// The sheets of a workbook; none for other formats.
    pub(crate) fn sheets(&self) -> Result<Vec<String>, ImportError> {
        match self.format {
            RecordFormat::Xlsx => Ok(xlsx::sheet_names(&self.file)?),
            RecordFormat::Csv | RecordFormat::Json | RecordFormat::Ndjson => Ok(Vec::new()),
        }
    }

    /// The columns in the header of a CSV or XLSX file; `None` for other formats.
    pub(crate) fn columns(&self) -> Result<Option<Vec<String>>, ImportError> {
        match self.format {
            RecordFormat::Csv => {}
            RecordFormat::Xlsx => return self.sheet_columns().map(Some),
            RecordFormat::Json | RecordFormat::Ndjson => return Ok(None),
        }
        let encoding = self.csv_encoding()?;
        let mut file = self.reader()?;
        let delimiter = detect_delimiter(&mut file)?;
        header(&mut CsvRows::new(file, delimiter, MAX_ROW_BYTES), encoding).map(Some)
    }

    /// Passes every row to `on_row` until it fails.
    pub(crate) fn read(
        &self,
        on_row: &mut dyn FnMut(Row) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let mut indexes = 0..;
        let on_row: &mut OnRow<'_> = &mut |line, values| {
            on_row(Row { index: indexes.next().unwrap_or(u64::MAX), line, values })
        };
        match self.format {
            RecordFormat::Csv => {
                let encoding = self.csv_encoding()?;
                read_csv(self.reader()?, encoding, on_row)
            }
            RecordFormat::Ndjson => read_ndjson(self.reader()?, on_row),
            RecordFormat::Json => read_json_array(self.reader()?, on_row),
            RecordFormat::Xlsx => read_sheet(&self.file, self.sheet.as_deref(), on_row),
        }
    }

    fn sheet_columns(&self) -> Result<Vec<String>, ImportError> {
        let mut columns = Ok(Vec::new());
        let on_header = |_, row| {
            columns = sheet_header(row);
            false
        };
        xlsx::read(&self.file, self.sheet.as_deref(), on_header)?;
        columns
    }

    /// The encoding of a CSV file. Its first row decides as well: it can be the only one with accents.
    fn csv_encoding(&self) -> Result<CsvEncoding, ImportError> {
        if let Some(encoding) = self.encoding.get() {
            return Ok(*encoding);
        }
        let mut file = BufReader::with_capacity(1 << 16, &self.file);
        file.rewind()?;
        let start = file.fill_buf()?;
        reject_utf_16(start)?;
        let encoding = match start.starts_with(UTF8_MARK) {
            true => CsvEncoding::Utf8,
            false => {
                let delimiter = detect_delimiter(&mut file)?;
                let mut rows = CsvRows::new(file, delimiter, MAX_ROW_BYTES);
                let mut scan = EncodingScan::default();
                // What is wrong with the rows, reading them finds.
                while let Ok(Some(row)) = rows.next_row() {
                    scan.add(row);
                }
                scan.encoding()
            }
        };
        Ok(*self.encoding.get_or_init(|| encoding))
    }

    /// A reader at the start of the file, after the byte order mark.
    fn reader(&self) -> Result<BufReader<&File>, ImportError> {
        let mut reader = BufReader::with_capacity(1 << 16, &self.file);
        reader.rewind()?;
        if reader.fill_buf()?.starts_with(UTF8_MARK) {
            reader.consume(UTF8_MARK.len());
        }
        Ok(reader)
    }
}

fn read_csv(
    mut file: impl BufRead,
    encoding: CsvEncoding,
    on_row: &mut OnRow<'_>,
) -> Result<(), ImportError> {
    let delimiter = detect_delimiter(&mut file)?;
    let lines = RefCell::default();
    let counter = BufReader::new(LineCounter { reader: file, lines: &lines });
    let mut rows = CsvRows::new(counter, delimiter, MAX_ROW_BYTES);
    let columns = header(&mut rows, encoding)?;
    loop {
        let start = rows.offset();
        let row = rows.next_row();
        let line = lines.borrow_mut().at(start);
        match row.map_err(|error| at_line(line, error))? {
            Some(row) => on_row(line, csv_values(&columns, row, encoding))?,
            None => return Ok(()),
        }
    }
}

/// The names in the first row; none if there is no row.
fn header(
    rows: &mut CsvRows<impl BufRead>,
    encoding: CsvEncoding,
) -> Result<Vec<String>, ImportError> {
    let Some(row) = rows.next_row().map_err(|error| at_line(1, error))? else {
        return Ok(Vec::new());
    };
    let names = csv_cells(row, encoding)
        .map_err(|reason| ImportError::File(message!("the header {reason}", reason = reason)))?;
    Ok(unique_names(names.into_iter())?)
}

fn csv_values(
    columns: &[String],
    row: CsvRow<'_>,
    encoding: CsvEncoding,
) -> Result<Map<String, Value>, Message> {
    let cells = csv_cells(row, encoding)?;
    if cells.len() != columns.len() {
        return Err(wrong_width(cells.len(), columns.len()));
    }
    let value = |text: Cow<'_, str>| match &*text {
        "" => Value::Null,
        text => Value::String(csv_cell::unescape(text).into_owned()),
    };
    Ok(columns.iter().cloned().zip(cells.into_iter().map(value)).collect())
}

fn wrong_width(count: usize, expected: usize) -> Message {
    message!("has {count} cells, but the header has {expected}", count = count, expected = expected)
}

fn csv_cells(row: CsvRow<'_>, encoding: CsvEncoding) -> Result<Vec<Cow<'_, str>>, Message> {
    row.cells().map(|cell| encoding.decode(cell)).collect()
}

fn at_line(line: u64, error: FileError) -> ImportError {
    match error {
        FileError::Invalid(reason) => {
            ImportError::File(message!("line {line}: {reason}", line = line, reason = reason))
        }
        error => error.into(),
    }
}

/// A semicolon if the header has more semicolons than commas, a tab if it has tabs and neither of them, otherwise a
/// comma.
fn detect_delimiter(file: &mut impl BufRead) -> Result<u8, ImportError> {
    let (mut commas, mut semicolons, mut tabs) = (0, 0, 0);
    let (mut is_quoted, mut has_started) = (false, false);
    for byte in file.fill_buf()? {
        match byte {
            b'\r' | b'\n' if has_started && !is_quoted => break,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => commas += 1,
            b';' if !is_quoted => semicolons += 1,
            b'\t' if !is_quoted => tabs += 1,
            _ => {}
        }
        has_started |= !matches!(byte, b'\r' | b'\n');
    }
    Ok(match (commas, semicolons, tabs) {
        (0, 0, 1..) => b'\t',
        _ if semicolons > commas => b';',
        _ => b',',
    })
}

fn read_sheet(file: &File, sheet: Option<&str>, on_row: &mut OnRow<'_>) -> Result<(), ImportError> {
    let mut columns: Option<Vec<String>> = None;
    let mut result = Ok(());
    let read = xlsx::read(file, sheet, |line, row| {
        result = match &columns {
            None => sheet_header(row).map(|names| columns = Some(names)),
            Some(columns) => on_row(line, row.and_then(|cells| sheet_values(columns, cells))),
        };
        result.is_ok()
    });
    result.and(read.map_err(ImportError::from))
}

fn sheet_header(row: xlsx::SheetRow) -> Result<Vec<String>, ImportError> {
    let cells = row.map_err(ImportError::File)?;
    Ok(unique_names(cells.into_iter().map(Option::unwrap_or_default))?)
}

fn sheet_values(
    columns: &[String],
    cells: Vec<Option<String>>,
) -> Result<Map<String, Value>, Message> {
    if cells.len() > columns.len() {
        return Err(wrong_width(cells.len(), columns.len()));
    }
    let missing = std::iter::repeat_n(None, columns.len() - cells.len());
    let cells = cells.into_iter().chain(missing);
    let value = |cell: Option<String>| cell.map_or(Value::Null, Value::String);
    Ok(columns.iter().cloned().zip(cells.map(value)).collect())
}

/// Records where lines start while a file is read.
struct LineCounter<'l, R> {
    reader: R,
    lines: &'l RefCell<Lines>,
}

impl<R: Read> Read for LineCounter<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.lines.borrow_mut().record(&buffer[..count]);
        Ok(count)
    }
}

/// Where non-empty lines start. A line ends with LF, CRLF or CR.
#[derive(Default)]
struct Lines {
    /// Byte offset and number (from 0) of the lines that were not queried yet.
    starts: VecDeque<(u64, u64)>,
    offset: u64,
    line_breaks: u64,
    is_in_line: bool,
    is_after_cr: bool,
}

impl Lines {
    fn record(&mut self, bytes: &[u8]) {
        for (offset, byte) in (self.offset..).zip(bytes) {
            match byte {
                b'\n' if self.is_after_cr => {}
                b'\r' | b'\n' => {
                    self.line_breaks += 1;
                    self.is_in_line = false;
                }
                _ if !self.is_in_line => {
                    self.starts.push_back((offset, self.line_breaks));
                    self.is_in_line = true;
                }
                _ => {}
            }
            self.is_after_cr = *byte == b'\r';
        }
        self.offset += bytes.len() as u64;
    }

    /// The number (from 1) of the first non-empty line at or after `offset`.
    fn at(&mut self, offset: u64) -> u64 {
        while self.starts.front().is_some_and(|(start, _)| *start < offset) {
            self.starts.pop_front();
        }
        self.starts.front().map_or(self.line_breaks, |(_, number)| *number) + 1
    }
}

fn read_ndjson(mut reader: impl BufRead, on_row: &mut OnRow<'_>) -> Result<(), ImportError> {
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let limit = MAX_ROW_BYTES as u64 + 1;
        if reader.by_ref().take(limit).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        if text.len() > MAX_ROW_BYTES {
            return Err(ImportError::File(too_many_bytes(line)));
        }
        if !text.trim_ascii().is_empty() {
            let values = serde_json::from_slice(text).map_err(|error| not_an_object(&error));
            on_row(line, values.and_then(with_few_fields))?;
        }
    }
    Ok(())
}

fn with_few_fields(values: Map<String, Value>) -> Result<Map<String, Value>, Message> {
    match values.len() > MAX_COLUMNS {
        true => Err(message!("has more than {limit} fields", limit = MAX_COLUMNS)),
        false => Ok(values),
    }
}

fn too_many_bytes(line: u64) -> Message {
    let reason = message!("a row has more than {limit} MiB", limit = MAX_ROW_BYTES >> 20);
    message!("line {line}: {reason}", line = line, reason = reason)
}

/// The parser saw only this line, so of its position only the column is right.
fn not_an_object(error: &serde_json::Error) -> Message {
    let (text, column) = (error.to_string(), error.column());
    let reason = text.split(" at line ").next().unwrap_or_default();
    message!("is not a JSON object: {reason} at column {column}", reason = reason, column = column)
}

/// Reads an array item by item, so that a large file needs little memory.
fn read_json_array(reader: impl Read, on_row: &mut OnRow<'_>) -> Result<(), ImportError> {
    struct Items<'t, 'k> {
        position: &'t ArrayPosition,
        on_row: &'t mut OnRow<'k>,
        error: &'t mut Option<ImportError>,
    }

    impl<'de> Visitor<'de> for Items<'_, '_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
            self.position.begin_item();
            while let Some(item) = items.next_element::<Value>()? {
                let line = self.position.item_line();
                self.position.begin_item();
                let values = match item {
                    Value::Object(values) => with_few_fields(values),
                    _ => Err(message!("is not an object")),
                };
                if let Err(error) = (self.on_row)(line, values) {
                    *self.error = Some(error);
                    return Err(serde::de::Error::custom("stopped"));
                }
            }
            Ok(())
        }
    }

    impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_seq(self)
        }
    }

    let mut error = None;
    let position = ArrayPosition::default();
    let tracker = PositionTracker { reader, position: &position };
    let mut deserializer = serde_json::Deserializer::from_reader(tracker);
    let items = Items { position: &position, on_row, error: &mut error };
    let result = items.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (result, error) {
        (_, Some(error)) => Err(error),
        // Without the position that the parser adds.
        (Err(error), None) if error.is_io() => Err(std::io::Error::from(error).into()),
        (Err(error), None) => Err(ImportError::File(Message::untranslated(error))),
        (Ok(()), None) => Ok(()),
    }
}

/// How far an array was read.
#[derive(Default)]
struct ArrayPosition {
    line_breaks: Cell<u64>,
    /// The line on which the current item starts, once it has started.
    item_start: Cell<Option<u64>>,
    /// How many bytes of the item were read.
    item_bytes: Cell<usize>,
}

impl ArrayPosition {
    fn begin_item(&self) {
        self.item_start.set(None);
        self.item_bytes.set(0);
    }

    /// The line on which the current item starts.
    fn item_line(&self) -> u64 {
        self.item_start.get().unwrap_or(self.line_breaks.get() + 1)
    }

    fn advance(&self, byte: u8) {
        match byte {
            b'\n' => self.line_breaks.set(self.line_breaks.get() + 1),
            b' ' | b'\t' | b'\r' | b',' => {}
            _ => self.item_start.set(Some(self.item_line())),
        }
        if self.item_start.get().is_some() {
            self.item_bytes.set(self.item_bytes.get() + 1);
        }
    }
}

/// Tracks the position of the parser, which reads byte by byte without reading ahead.
struct PositionTracker<'p, R> {
    reader: R,
    position: &'p ArrayPosition,
}

impl<R: Read> Read for PositionTracker<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        buffer[..count].iter().for_each(|byte| self.position.advance(*byte));
        match self.position.item_bytes.get() > MAX_ROW_BYTES {
            true => Err(std::io::Error::other(too_many_bytes(self.position.item_line()))),
            false => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Why a file with this start, and then this byte again and again, is rejected.
    fn endless(
        read: impl FnOnce(&mut dyn BufRead, &mut OnRow<'_>) -> Result<(), ImportError>,
        start: &str,
        byte: u8,
    ) -> String {
        let mut file = BufReader::new(start.as_bytes().chain(io::repeat(byte)));
        read(&mut file, &mut |_, _| Ok(())).unwrap_err().to_string()
    }

    #[test]
    fn rows_without_end_are_rejected() {
        let csv = |start, byte| {
            endless(|file, on_row| read_csv(file, CsvEncoding::Utf8, on_row), start, byte)
        };
        assert_eq!(csv("", b','), "line 1: a row has more than 1950 cells");
        assert_eq!(csv("name\none\n", b','), "line 3: a row has more than 1950 cells");
        assert_eq!(csv("name\none\n\ntwo\n", b'x'), "line 5: a row has more than 1 MiB");
        assert_eq!(csv("name\n\"one", b'\n'), "line 2: a row has more than 1 MiB");
        let ndjson = |start, byte| endless(|file, on_row| read_ndjson(file, on_row), start, byte);
        assert_eq!(ndjson("{}\n\n", b'{'), "line 3: a row has more than 1 MiB");
        let json = |start, byte| endless(|file, on_row| read_json_array(file, on_row), start, byte);
        assert_eq!(json("[{},\n{\"name\":\"", b'x'), "line 2: a row has more than 1 MiB");
        assert_eq!(json("\"", b'x'), "line 1: a row has more than 1 MiB");
    }

    #[test]
    fn rows_of_one_mebibyte_are_read() {
        let long = "x".repeat(MAX_ROW_BYTES - 11);
        let row = format!("{{\"name\":\"{long}\"}}");
        assert_eq!(row.len(), MAX_ROW_BYTES);
        let mut count = 0;
        let mut on_row = |_, values: Result<Map<String, Value>, Message>| {
            assert_eq!(values.unwrap()["name"].as_str().unwrap().len(), long.len());
            count += 1;
            Ok(())
        };
        read_ndjson(format!("{row}\n{row}").as_bytes(), &mut on_row).unwrap();
        read_json_array(format!("[\n{row} ,\n  {row}]").as_bytes(), &mut on_row).unwrap();
        assert_eq!(count, 4);
    }

    #[test]
    fn objects_have_a_limited_number_of_fields() {
        let object: Map<String, Value> =
            (0..=MAX_COLUMNS).map(|n| (format!("field {n}"), Value::Null)).collect();
        let object = Value::Object(object).to_string();
        let mut on_row = |_, values: Result<Map<String, Value>, Message>| {
            assert_eq!(values.unwrap_err().to_string(), "has more than 1950 fields");
            Ok(())
        };
        read_ndjson(object.as_bytes(), &mut on_row).unwrap();
        read_json_array(format!("[{object}]").as_bytes(), &mut on_row).unwrap();
    }
}
