//! Files of records in CSV, XLSX, JSON or NDJSON, read row by row.

use super::CommandError;
use crate::cli::RecordFormat;
use groma_files::{csv_cell, xlsx};
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

/// One row: its values, or why it cannot be read.
pub(super) struct Row {
    /// Its index among the rows of the file.
    pub(super) index: u64,
    /// The line on which it starts.
    pub(super) line: u64,
    pub(super) values: Result<Map<String, Value>, String>,
}

/// Receives the line and the values of each row.
type OnRow<'t> =
    dyn FnMut(u64, Result<Map<String, Value>, String>) -> Result<(), CommandError> + 't;

/// The format of a file: the given one, or else that of its extension.
pub(super) fn file_format(
    path: &Path,
    format: Option<RecordFormat>,
) -> Result<RecordFormat, CommandError> {
    let extension =
        path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    match (format, extension.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("csv")) => Ok(RecordFormat::Csv),
        (None, Some("json")) => Ok(RecordFormat::Json),
        (None, Some("ndjson" | "jsonl")) => Ok(RecordFormat::Ndjson),
        (None, Some("xlsx")) => Ok(RecordFormat::Xlsx),
        _ => Err(CommandError::new(format!(
            "{}: unknown format; set --format to csv, xlsx, json or ndjson",
            path.display()
        ))),
    }
}

/// A file that can be read more than once.
pub(super) struct RecordFile {
    path: PathBuf,
    format: RecordFormat,
    file: File,
}

impl RecordFile {
    /// Opens a file, or standard input if the path is `-`.
    pub(super) fn open(path: &Path, format: Option<RecordFormat>) -> Result<Self, CommandError> {
        let format = file_format(path, format)?;
        let file = open_rereadable(path).map_err(|error| with_path(path, &error))?;
        Ok(Self { path: path.to_owned(), format, file })
    }

    /// The columns in the header of a CSV or XLSX file; `None` for other formats.
    pub(super) fn columns(&self) -> Result<Option<Vec<String>>, CommandError> {
        match self.format {
            RecordFormat::Csv => {}
            RecordFormat::Xlsx => return self.sheet_columns().map(Some),
            RecordFormat::Json | RecordFormat::Ndjson => return Ok(None),
        }
        let mut file = self.reader()?;
        let delimiter = detect_delimiter(&mut file)?;
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(file);
        header(&mut reader).map(Some).map_err(|error| with_path(&self.path, &error))
    }

    /// Passes every row to `on_row` until it fails.
    pub(super) fn read(
        &self,
        on_row: &mut dyn FnMut(Row) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let mut indexes = 0..;
        let on_row: &mut OnRow<'_> = &mut |line, values| {
            on_row(Row { index: indexes.next().unwrap_or(u64::MAX), line, values })
        };
        let result = match self.format {
            RecordFormat::Csv => read_csv(self.reader()?, on_row),
            RecordFormat::Ndjson => read_ndjson(self.reader()?, on_row),
            RecordFormat::Json => read_json_array(self.reader()?, on_row),
            RecordFormat::Xlsx => read_sheet(&self.file, on_row),
        };
        result.map_err(|error| with_path(&self.path, &error))
    }

    fn sheet_columns(&self) -> Result<Vec<String>, CommandError> {
        let mut columns = Ok(Vec::new());
        let on_header = |_, row| {
            columns = sheet_header(row);
            false
        };
        xlsx::read(&self.file, on_header).map_err(|error| with_path(&self.path, &error))?;
        columns.map_err(|error| with_path(&self.path, &error))
    }

    /// A reader at the start of the file, after the byte order mark.
    fn reader(&self) -> Result<BufReader<&File>, CommandError> {
        let open = || {
            let mut reader = BufReader::with_capacity(1 << 16, &self.file);
            reader.rewind()?;
            if reader.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
                reader.consume(3);
            }
            Ok(reader)
        };
        open().map_err(|error: std::io::Error| with_path(&self.path, &error))
    }
}

/// Opens a file, or standard input if the path is `-`, so that it can be read more than once: a
/// pipe is copied to a temporary file.
pub(super) fn open_rereadable(path: &Path) -> io::Result<File> {
    let mut pipe: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Box::new(file)
    };
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut pipe, &mut copy)?;
    Ok(copy)
}

/// A file that can be opened by its path, more than once.
pub(super) enum StoredInput {
    Path(PathBuf),
    /// A copy of a pipe.
    Copy(tempfile::TempPath),
}

impl StoredInput {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Copy(path) => path,
        }
    }
}

/// The file or folder at a path, or a copy of standard input if it is `-`, or of another pipe.
pub(super) fn stored_input(path: &Path) -> io::Result<StoredInput> {
    let mut pipe: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let metadata = path.metadata()?;
        if metadata.is_file() || metadata.is_dir() {
            return Ok(StoredInput::Path(path.to_owned()));
        }
        Box::new(File::open(path)?)
    };
    let mut copy = tempfile::NamedTempFile::new()?;
    io::copy(&mut pipe, &mut copy)?;
    Ok(StoredInput::Copy(copy.into_temp_path()))
}

fn with_path(path: &Path, error: &dyn fmt::Display) -> CommandError {
    CommandError::new(format!("{}: {error}", path.display()))
}

fn read_csv(mut file: impl BufRead, on_row: &mut OnRow<'_>) -> Result<(), CommandError> {
    let delimiter = detect_delimiter(&mut file)?;
    let lines = RefCell::default();
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(LineCounter { reader: file, lines: &lines });
    let columns = header(&mut reader)?;
    let mut record = csv::StringRecord::new();
    loop {
        let start = reader.position().byte();
        let result = reader.read_record(&mut record);
        let line = lines.borrow_mut().at(start);
        let values = match result {
            Ok(false) => return Ok(()),
            Ok(true) if record.len() != columns.len() => {
                Err(format!("has {} cells, but the header has {}", record.len(), columns.len()))
            }
            Ok(true) => {
                let cell = |text: &str| match text {
                    "" => Value::Null,
                    text => Value::String(csv_cell::unescape(text).into_owned()),
                };
                let cells = columns.iter().zip(&record);
                Ok(cells.map(|(name, text)| (name.clone(), cell(text))).collect())
            }
            Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
                Err("is not UTF-8".to_owned())
            }
            Err(error) => return Err(CommandError::new(error)),
        };
        on_row(line, values)?;
    }
}

/// A semicolon if the header has more semicolons than commas, otherwise a comma.
fn detect_delimiter(file: &mut impl BufRead) -> Result<u8, CommandError> {
    let (mut commas, mut semicolons, mut is_quoted, mut has_started) = (0, 0, false, false);
    for byte in file.fill_buf()? {
        match byte {
            b'\r' | b'\n' if has_started && !is_quoted => break,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => commas += 1,
            b';' if !is_quoted => semicolons += 1,
            _ => {}
        }
        has_started |= !matches!(byte, b'\r' | b'\n');
    }
    Ok(if semicolons > commas { b';' } else { b',' })
}

/// Reads the first sheet of a workbook.
fn read_sheet(file: &File, on_row: &mut OnRow<'_>) -> Result<(), CommandError> {
    let mut columns: Option<Vec<String>> = None;
    let mut result = Ok(());
    let read = xlsx::read(file, |line, row| {
        result = match &columns {
            None => sheet_header(row).map(|names| columns = Some(names)),
            Some(columns) => on_row(line, row.and_then(|cells| sheet_values(columns, cells))),
        };
        result.is_ok()
    });
    result.and(read.map_err(CommandError::new))
}

fn sheet_header(row: xlsx::SheetRow) -> Result<Vec<String>, CommandError> {
    let cells = row.map_err(CommandError::new)?;
    unique_names(cells.into_iter().map(Option::unwrap_or_default))
}

fn sheet_values(
    columns: &[String],
    cells: Vec<Option<String>>,
) -> Result<Map<String, Value>, String> {
    if cells.len() > columns.len() {
        return Err(format!("has {} cells, but the header has {}", cells.len(), columns.len()));
    }
    let missing = std::iter::repeat_n(None, columns.len() - cells.len());
    let cells = cells.into_iter().chain(missing);
    let value = |cell: Option<String>| cell.map_or(Value::Null, Value::String);
    Ok(columns.iter().cloned().zip(cells.map(value)).collect())
}

fn header(reader: &mut csv::Reader<impl Read>) -> Result<Vec<String>, CommandError> {
    unique_names(reader.headers().map_err(CommandError::new)?.iter())
}

fn unique_names(names: impl Iterator<Item = impl AsRef<str>>) -> Result<Vec<String>, CommandError> {
    let names: Vec<_> = names.map(|name| name.as_ref().trim().to_owned()).collect();
    let mut repeated = names.iter().enumerate().filter(|(i, name)| names[..*i].contains(name));
    match repeated.next() {
        Some((_, name)) => Err(CommandError::new(format!("column `{name}` appears twice"))),
        None => Ok(names),
    }
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

fn read_ndjson(reader: impl BufRead, on_row: &mut OnRow<'_>) -> Result<(), CommandError> {
    for (line, text) in (1..).zip(reader.split(b'\n')) {
        let text = text?;
        if !text.trim_ascii().is_empty() {
            let values = serde_json::from_slice(&text).map_err(|error| not_an_object(&error));
            on_row(line, values)?;
        }
    }
    Ok(())
}

/// The parser saw only this line, so of its position only the column is right.
fn not_an_object(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let reason = text.split(" at line ").next().unwrap_or_default();
    format!("is not a JSON object: {reason} at column {column}")
}

/// Reads an array item by item, so that a large file needs little memory.
fn read_json_array(reader: impl Read, on_row: &mut OnRow<'_>) -> Result<(), CommandError> {
    struct Items<'t, 'k> {
        position: &'t ArrayPosition,
        on_row: &'t mut OnRow<'k>,
        error: &'t mut Option<CommandError>,
    }

    impl<'de> Visitor<'de> for Items<'_, '_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
            self.position.item_start.set(None);
            while let Some(item) = items.next_element::<Value>()? {
                let line = self.position.item_start.take().unwrap_or(self.position.line.get());
                let values = match item {
                    Value::Object(values) => Ok(values),
                    _ => Err("is not an object".to_owned()),
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
    let position = ArrayPosition { line: Cell::new(1), item_start: Cell::new(None) };
    let tracker = PositionTracker { reader, position: &position };
    let mut deserializer = serde_json::Deserializer::from_reader(tracker);
    let items = Items { position: &position, on_row, error: &mut error };
    let result = items.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (result, error) {
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(CommandError::new(error)),
        (Ok(()), None) => Ok(()),
    }
}

/// How far an array was read.
struct ArrayPosition {
    line: Cell<u64>,
    /// The line on which the current item starts, once it has started.
    item_start: Cell<Option<u64>>,
}

/// Tracks the position of the parser, which reads byte by byte without reading ahead.
struct PositionTracker<'p, R> {
    reader: R,
    position: &'p ArrayPosition,
}

impl<R: Read> Read for PositionTracker<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let ArrayPosition { line, item_start } = self.position;
        for byte in &buffer[..count] {
            match byte {
                b'\n' => line.set(line.get() + 1),
                b' ' | b'\t' | b'\r' | b',' => {}
                _ => item_start.set(item_start.get().or(Some(line.get()))),
            }
        }
        Ok(count)
    }
}
