//! Files of records: CSV, JSON, NDJSON, read row by row.

use super::Failure;
use crate::cli::Format;
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

/// One row: where it stands, and its values or why it cannot be read.
pub(super) struct Row {
    /// Its place among the rows of the file, from 0.
    pub(super) index: u64,
    /// The line of the file where it begins.
    pub(super) line: u64,
    pub(super) values: Result<Map<String, Value>, String>,
}

/// Takes the rows of a file: line and values of each.
type Take<'t> = dyn FnMut(u64, Result<Map<String, Value>, String>) -> Result<(), Failure> + 't;

/// The format of a file, by its ending unless it is given.
pub(super) fn format_of(path: &Path, given: Option<Format>) -> Result<Format, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    match (given, ending.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("csv")) => Ok(Format::Csv),
        (None, Some("json")) => Ok(Format::Json),
        (None, Some("ndjson" | "jsonl")) => Ok(Format::Ndjson),
        _ => Err(Failure::new(format!(
            "{}: name the format with --format csv|json|ndjson",
            path.display()
        ))),
    }
}

/// A file that can be read as often as needed.
pub(super) struct Source {
    /// As the user named it.
    name: PathBuf,
    format: Format,
    file: File,
}

impl Source {
    /// Opens a file, or standard input when it is `-`.
    pub(super) fn open(name: &Path, format: Option<Format>) -> Result<Self, Failure> {
        let format = format_of(name, format)?;
        let file = rereadable(name).map_err(|error| named(name, &error))?;
        Ok(Self { name: name.to_owned(), format, file })
    }

    /// The columns that the heading of a table names.
    pub(super) fn columns(&self) -> Result<Option<Vec<String>>, Failure> {
        if self.format != Format::Csv {
            return Ok(None);
        }
        let mut file = self.reader()?;
        let separator = separator(&mut file)?;
        let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(file);
        heading(&mut reader).map(Some).map_err(|failure| named(&self.name, &failure))
    }

    /// Reads every row and hands it over; stops when `take` fails.
    pub(super) fn read(
        &self,
        take: &mut dyn FnMut(Row) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let file = self.reader()?;
        let mut rows = 0..;
        let take: &mut Take<'_> =
            &mut |line, values| take(Row { index: rows.next().unwrap_or(u64::MAX), line, values });
        let outcome = match self.format {
            Format::Csv => read_csv(file, take),
            Format::Ndjson => read_lines(file, take),
            Format::Json => read_array(file, take),
        };
        outcome.map_err(|failure| named(&self.name, &failure))
    }

    /// The file from its beginning, behind its byte order mark.
    fn reader(&self) -> Result<BufReader<&File>, Failure> {
        let open = || {
            let mut reader = BufReader::with_capacity(1 << 16, &self.file);
            reader.rewind()?;
            if reader.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
                reader.consume(3);
            }
            Ok(reader)
        };
        open().map_err(|error: std::io::Error| named(&self.name, &error))
    }
}

/// Opens a file, or standard input when it is `-`, so that it can be read more than once: what
/// cannot be is copied to a file without a name.
pub(super) fn rereadable(name: &Path) -> io::Result<File> {
    let mut pipe: Box<dyn Read> = if name.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(name)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Box::new(file)
    };
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut pipe, &mut copy)?;
    Ok(copy)
}

fn named(name: &Path, error: &dyn fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", name.display()))
}

fn read_csv(mut file: impl BufRead, take: &mut Take<'_>) -> Result<(), Failure> {
    let separator = separator(&mut file)?;
    let lines = RefCell::default();
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .delimiter(separator)
        .from_reader(WatchingLines { reader: file, lines: &lines });
    let names = heading(&mut reader)?;
    let mut record = csv::StringRecord::new();
    loop {
        let begin = reader.position().byte();
        let read = reader.read_record(&mut record);
        let line = lines.borrow_mut().at(begin);
        let values = match read {
            Ok(false) => return Ok(()),
            Ok(true) if record.len() != names.len() => {
                Err(format!("has {} cells where the heading has {}", record.len(), names.len()))
            }
            Ok(true) => {
                let cell = |text: &str| match text {
                    "" => Value::Null,
                    text => Value::String(text.to_owned()),
                };
                let cells = names.iter().zip(&record);
                Ok(cells.map(|(name, text)| (name.clone(), cell(text))).collect())
            }
            Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
                Err("is not UTF-8".to_owned())
            }
            Err(error) => return Err(Failure::new(error)),
        };
        take(line, values)?;
    }
}

/// What stands between the cells: a semicolon where the heading has more of them than of commas.
fn separator(file: &mut impl BufRead) -> Result<u8, Failure> {
    let (mut commas, mut semicolons, mut quoted, mut begun) = (0, 0, false, false);
    for byte in file.fill_buf()? {
        match byte {
            b'\r' | b'\n' if begun && !quoted => break,
            b'"' => quoted = !quoted,
            b',' if !quoted => commas += 1,
            b';' if !quoted => semicolons += 1,
            _ => {}
        }
        begun |= !matches!(byte, b'\r' | b'\n');
    }
    Ok(if semicolons > commas { b';' } else { b',' })
}

fn heading(reader: &mut csv::Reader<impl Read>) -> Result<Vec<String>, Failure> {
    let headers = reader.headers().map_err(Failure::new)?;
    let names: Vec<_> = headers.iter().map(|name| name.trim().to_owned()).collect();
    let mut repeated = names.iter().enumerate().filter(|(i, name)| names[..*i].contains(name));
    match repeated.next() {
        Some((_, name)) => Err(Failure::new(format!("the column `{name}` stands there twice"))),
        None => Ok(names),
    }
}

/// Notes where the lines of a text begin while it is read.
struct WatchingLines<'l, R> {
    reader: R,
    lines: &'l RefCell<Lines>,
}

impl<R: Read> Read for WatchingLines<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.lines.borrow_mut().watch(&buffer[..count]);
        Ok(count)
    }
}

/// Where the lines of a text begin that have something on them. A line ends with LF, CRLF or CR.
#[derive(Default)]
struct Lines {
    /// Place in bytes and number, from 0; those that were asked for are forgotten.
    begins: VecDeque<(u64, u64)>,
    passed: u64,
    breaks: u64,
    within: bool,
    after_cr: bool,
}

impl Lines {
    fn watch(&mut self, bytes: &[u8]) {
        for (place, byte) in (self.passed..).zip(bytes) {
            match byte {
                b'\n' if self.after_cr => {}
                b'\r' | b'\n' => {
                    self.breaks += 1;
                    self.within = false;
                }
                _ if !self.within => {
                    self.begins.push_back((place, self.breaks));
                    self.within = true;
                }
                _ => {}
            }
            self.after_cr = *byte == b'\r';
        }
        self.passed += bytes.len() as u64;
    }

    /// The number, from 1, of the first line with something on it at or behind `place`.
    fn at(&mut self, place: u64) -> u64 {
        while self.begins.front().is_some_and(|(begin, _)| *begin < place) {
            self.begins.pop_front();
        }
        self.begins.front().map_or(self.breaks, |(_, number)| *number) + 1
    }
}

fn read_lines(reader: impl BufRead, take: &mut Take<'_>) -> Result<(), Failure> {
    for (line, text) in (1..).zip(reader.split(b'\n')) {
        let text = text?;
        if !text.trim_ascii().is_empty() {
            let values = serde_json::from_slice(&text).map_err(|error| not_an_object(&error));
            take(line, values)?;
        }
    }
    Ok(())
}

/// What is wrong with a line. The parser took it for a whole text, so of the place that it tells
/// only the column means something.
fn not_an_object(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let reason = text.split(" at line ").next().unwrap_or_default();
    format!("is not a JSON object: {reason} at column {column}")
}

/// Reads an array item by item, so that a large file needs little memory.
fn read_array(reader: impl Read, take: &mut Take<'_>) -> Result<(), Failure> {
    struct Items<'t, 'k> {
        place: &'t Place,
        take: &'t mut Take<'k>,
        failure: &'t mut Option<Failure>,
    }

    impl<'de> Visitor<'de> for Items<'_, '_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
            self.place.begin.set(None);
            while let Some(item) = items.next_element::<Value>()? {
                let line = self.place.begin.take().unwrap_or(self.place.line.get());
                let values = match item {
                    Value::Object(values) => Ok(values),
                    _ => Err("is not an object".to_owned()),
                };
                if let Err(failure) = (self.take)(line, values) {
                    *self.failure = Some(failure);
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

    let mut failure = None;
    let place = Place { line: Cell::new(1), begin: Cell::new(None) };
    let watching = WatchingItems { reader, place: &place };
    let mut deserializer = serde_json::Deserializer::from_reader(watching);
    let items = Items { place: &place, take, failure: &mut failure };
    let outcome = items.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (outcome, failure) {
        (_, Some(failure)) => Err(failure),
        (Err(error), None) => Err(Failure::new(error)),
        (Ok(()), None) => Ok(()),
    }
}

/// How far an array was read.
struct Place {
    line: Cell<u64>,
    /// The line where the present item begins, once it has.
    begin: Cell<Option<u64>>,
}

/// Follows the parser, which takes one byte at a time and looks no further than it must.
struct WatchingItems<'p, R> {
    reader: R,
    place: &'p Place,
}

impl<R: Read> Read for WatchingItems<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let Place { line, begin } = self.place;
        for byte in &buffer[..count] {
            match byte {
                b'\n' => line.set(line.get() + 1),
                b' ' | b'\t' | b'\r' | b',' => {}
                _ => begin.set(begin.get().or(Some(line.get()))),
            }
        }
        Ok(count)
    }
}
