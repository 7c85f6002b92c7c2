//! Files of records: CSV, JSON, NDJSON, read row by row.

use super::Failure;
use crate::cli::Format;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{
    cell::Cell,
    fmt,
    fs::File,
    io::{BufRead, BufReader, Bytes, Read},
    iter::Peekable,
    path::Path,
};

/// One row: where it stands, and its values or why it cannot be read.
pub(super) struct Row {
    /// The line of the file where it stands; of a JSON object over several lines, the last.
    pub(super) line: u64,
    pub(super) values: Result<Map<String, Value>, String>,
}

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

/// Reads every row of a file and hands it over; stops when `take` fails.
pub(super) fn read(
    path: &Path,
    format: Format,
    take: &mut dyn FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let named = |error: &dyn fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| named(&error))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    skip_bom(&mut reader)?;
    match format {
        Format::Csv => read_csv(reader, take).map_err(|failure| named(&failure)),
        Format::Ndjson => read_lines(reader, take),
        Format::Json => read_array(reader, take).map_err(|failure| named(&failure)),
    }
}

fn skip_bom(reader: &mut impl BufRead) -> Result<(), Failure> {
    if reader.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
        reader.consume(3);
    }
    Ok(())
}

fn read_csv(
    file: impl BufRead,
    take: &mut dyn FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let lines = PlainLines { bytes: file.bytes().peekable(), last: None };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(lines);
    let headers = reader.headers().map_err(Failure::new)?.clone();
    let names: Vec<&str> = headers.iter().map(str::trim).collect();
    let mut repeated = names.iter().enumerate().filter(|(i, name)| names[..*i].contains(name));
    if let Some((_, name)) = repeated.next() {
        return Err(Failure::new(format!("the column `{name}` stands there twice")));
    }
    let mut record = csv::StringRecord::new();
    loop {
        let read = reader.read_record(&mut record);
        // The reader stands behind the record and its break; blank lines before it were passed over.
        let breaks: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
        let line = reader.position().line().saturating_sub(breaks as u64 + 1);
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
                Ok(cells.map(|(name, text)| ((*name).to_owned(), cell(text))).collect())
            }
            Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
                Err("is not UTF-8".to_owned())
            }
            Err(error) => return Err(Failure::new(error)),
        };
        take(Row { line, values })?;
    }
}

/// A text whose every line ends with `\n` and nothing else, so that lines can be counted.
struct PlainLines<R: BufRead> {
    bytes: Peekable<Bytes<R>>,
    last: Option<u8>,
}

impl<R: BufRead> PlainLines<R> {
    fn next(&mut self) -> std::io::Result<Option<u8>> {
        let byte = match self.bytes.next().transpose()? {
            Some(b'\r') if matches!(self.bytes.peek(), Some(Ok(b'\n'))) => {
                self.bytes.next().transpose()?
            }
            None if self.last.is_some_and(|last| last != b'\n') => Some(b'\n'),
            byte => byte,
        };
        self.last = byte.or(self.last);
        Ok(byte)
    }
}

impl<R: BufRead> Read for PlainLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        for place in buffer {
            let Some(byte) = self.next()? else { break };
            *place = byte;
            filled += 1;
        }
        Ok(filled)
    }
}

fn read_lines(
    reader: impl BufRead,
    take: &mut dyn FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (line, text) in (1..).zip(reader.split(b'\n')) {
        let text = text?;
        let text = text.trim_ascii();
        if !text.is_empty() {
            let values = serde_json::from_slice(text)
                .map_err(|error| format!("is not a JSON object: {error}"));
            take(Row { line, values })?;
        }
    }
    Ok(())
}

/// Reads an array item by item, so that a large file needs little memory.
fn read_array(
    reader: impl Read,
    take: &mut dyn FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    struct Items<'t> {
        lines: &'t Cell<u64>,
        take: &'t mut dyn FnMut(Row) -> Result<(), Failure>,
        failure: &'t mut Option<Failure>,
    }

    impl<'de> Visitor<'de> for Items<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
            while let Some(item) = items.next_element::<Value>()? {
                let line = self.lines.get();
                let values = match item {
                    Value::Object(values) => Ok(values),
                    _ => Err("is not an object".to_owned()),
                };
                if let Err(failure) = (self.take)(Row { line, values }) {
                    *self.failure = Some(failure);
                    return Err(serde::de::Error::custom("stopped"));
                }
            }
            Ok(())
        }
    }

    impl<'de> DeserializeSeed<'de> for Items<'_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_seq(self)
        }
    }

    let mut failure = None;
    let lines = Cell::new(1);
    let counting = CountingLines { reader, lines: &lines };
    let mut deserializer = serde_json::Deserializer::from_reader(counting);
    let items = Items { lines: &lines, take, failure: &mut failure };
    let outcome = items.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (outcome, failure) {
        (_, Some(failure)) => Err(failure),
        (Err(error), None) => Err(Failure::new(error)),
        (Ok(()), None) => Ok(()),
    }
}

/// Counts the lines that pass. The parser takes one byte at a time and looks no further than it must.
struct CountingLines<'l, R> {
    reader: R,
    lines: &'l Cell<u64>,
}

impl<R: Read> Read for CountingLines<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let breaks = buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        self.lines.set(self.lines.get() + breaks as u64);
        Ok(count)
    }
}
