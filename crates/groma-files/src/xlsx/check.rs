//! Checks the parts of a workbook before calamine opens it, which keeps most of them in memory and believes what
//! they tell about themselves. Sheets are read cell by cell.

use super::unreadable;
use crate::{FileError, archive::Archive, error::Result};
use groma_geo::{Message, message};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use std::{
    cell::Cell,
    fs::File,
    io::{self, BufReader, Read},
    rc::Rc,
};

/// The most bytes of the parts that are kept in memory.
const MAX_PART_BYTES: u64 = if cfg!(test) { 8 << 20 } else { 256 << 20 };
/// What a shared text takes besides its bytes.
const TEXT_OVERHEAD: u64 = 40;
/// The most shared texts that a part can announce: memory is taken for them at once.
const MAX_TEXTS: u64 = 5_000_000;
/// The most bytes of a cell, a shared text, or a tag. Excel has at most 32,767 characters, which can have formats.
const MAX_CELL_BYTES: u64 = 4 << 20;

/// Rejects a workbook whose parts would not fit into memory, and document type definitions.
pub(super) fn check_parts(file: File) -> Result<()> {
    let mut archive = Archive::new(file)?;
    for name in archive.names()? {
        let name_folded = name.to_ascii_lowercase();
        if name_folded.ends_with(".xml") || name_folded.ends_with(".rels") {
            let is_sheet = name_folded.contains("/worksheets/");
            let part = Part { name: &name, is_sheet, ..Part::default() };
            archive.read(&name, |content| part.check(content))?;
        }
    }
    Ok(())
}

/// A part while it is checked.
#[derive(Default)]
struct Part<'n> {
    name: &'n str,
    is_sheet: bool,
    /// The number of shared texts so far.
    texts: u64,
    /// Where the current cell begins.
    cell: Option<u64>,
}

impl Part<'_> {
    fn check(mut self, content: &mut dyn Read) -> Result<()> {
        let left = Rc::new(Cell::new(0));
        let limited = Limited { content, left: left.clone() };
        let mut reader = Reader::from_reader(BufReader::with_capacity(1 << 16, limited));
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            left.set(MAX_CELL_BYTES);
            match reader.read_event_into(&mut buffer).map_err(not_xml)? {
                Event::Start(start) if start.local_name().as_ref() == "c" => {
                    self.cell = Some(reader.buffer_position());
                }
                Event::End(end) if end.local_name().as_ref() == "c" => self.cell = None,
                Event::Start(start) | Event::Empty(start) => self.enter(&start)?,
                Event::DocType(_) => {
                    return Err(self.invalid(message!("has a document type definition")));
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
            let position = reader.buffer_position();
            let size = position.saturating_add(self.texts.saturating_mul(TEXT_OVERHEAD));
            if size > MAX_PART_BYTES && !self.is_sheet {
                return Err(self.invalid(message!("has too many bytes")));
            }
            if self.cell.is_some_and(|start| position - start > MAX_CELL_BYTES) {
                return Err(self.invalid(message!("has a cell of too many bytes")));
            }
        }
    }

    fn enter(&mut self, start: &BytesStart<'_>) -> Result<()> {
        let attribute = |name: &str| {
            let mut attributes = start.attributes();
            let found = attributes.with_checks(false).flatten().find(|one| one.key.0 == name);
            found.map(|one| one.value)
        };
        match start.local_name().as_ref() {
            "si" => self.texts += 1,
            "sst" => {
                self.is_sheet = false;
                let count = attribute("uniqueCount").and_then(|count| count.trim().parse().ok());
                if count.is_some_and(|count: u64| count > MAX_TEXTS) {
                    return Err(self.invalid(message!("announces too many texts")));
                }
            }
            "styleSheet" | "workbook" => self.is_sheet = false,
            "Relationship" => {
                let is_sheet = attribute("Type").is_some_and(|kind| kind.ends_with("/worksheet"));
                let is_xml = |target: &str| target.to_ascii_lowercase().ends_with(".xml");
                if is_sheet && attribute("Target").is_some_and(|target| !is_xml(&target)) {
                    return Err(self.invalid(message!("names a sheet that is not XML")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn invalid(&self, problem: Message) -> FileError {
        unreadable(message!("`{name}` {problem}", name = self.name, problem = problem))
    }
}

fn not_xml(error: quick_xml::Error) -> FileError {
    unreadable(match error {
        quick_xml::Error::Io(error) => {
            message!("I/O error: {error}", error = Message::from(&*error))
        }
        error => Message::untranslated(error),
    })
}

/// Fails when as many bytes were read since the limit was set: then a single event has them.
struct Limited<'p> {
    content: &'p mut dyn Read,
    left: Rc<Cell<u64>>,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        let too_large = || io::Error::other(message!("a text or a tag has too many bytes"));
        self.left.set(self.left.get().checked_sub(count as u64).ok_or_else(too_large)?);
        Ok(count)
    }
}
