//! XML from strangers, element by element. Document type definitions are rejected, and with them entities.

use crate::{FileError, error::Result};
use groma_geo::message;
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use std::{
    cell::Cell,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    rc::Rc,
};

/// The most bytes of an element that is read as a whole, such as a placemark.
const MAX_ELEMENT_BYTES: u64 = 64 << 20;
/// How deep elements can be nested.
const MAX_DEPTH: usize = 100;
/// The most elements and attributes of an element that is read as a whole: each takes far more memory than bytes of
/// the file.
const MAX_NODES: usize = 200_000;

/// An element with its content.
#[derive(Default)]
pub(super) struct Element {
    /// Its name without the prefix.
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    pub(super) text: String,
}

impl Element {
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of a child.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What the reader is at.
pub(super) enum Node {
    /// The start of an element, whose name and attributes are read.
    Start(Element),
    End,
    Text(String),
    Eof,
}

/// Reads a file.
pub(super) struct XmlReader {
    reader: Reader<Limited>,
    left: Rc<Cell<u64>>,
    buffer: Vec<u8>,
    depth: usize,
}

impl XmlReader {
    pub(super) fn new(file: File) -> Self {
        let left = Rc::new(Cell::new(MAX_ELEMENT_BYTES));
        let input = BufReader::with_capacity(1 << 16, file);
        let mut reader = Reader::from_reader(Limited { input, left: left.clone() });
        reader.config_mut().expand_empty_elements = true;
        Self { reader, left, buffer: Vec::new(), depth: 0 }
    }

    /// Allows as many bytes as an element may have for what is read next.
    pub(super) fn begin_element(&mut self) {
        self.left.set(MAX_ELEMENT_BYTES);
    }

    pub(super) fn next(&mut self) -> Result<Node> {
        loop {
            self.buffer.clear();
            let position = self.reader.buffer_position();
            let event =
                self.reader.read_event_into(&mut self.buffer).map_err(|error| match error {
                    quick_xml::Error::Io(error) => FileError::invalid((&*error).into()),
                    error => FileError::invalid(message!(
                        "invalid XML at byte {position}: {error}",
                        position = position,
                        error = error.to_string()
                    )),
                })?;
            return Ok(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(FileError::invalid(message!(
                            "elements are nested more than {limit} levels deep",
                            limit = MAX_DEPTH
                        )));
                    }
                    Node::Start(element(&start)?)
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::End
                }
                Event::Text(text) => Node::Text(text.to_string()),
                Event::CData(text) => Node::Text(text.to_string()),
                Event::GeneralRef(reference) => {
                    let found = match reference.resolve_char_ref() {
                        Ok(Some(letter)) => Some(letter),
                        Ok(None) => match &*reference {
                            "amp" => Some('&'),
                            "lt" => Some('<'),
                            "gt" => Some('>'),
                            "quot" => Some('"'),
                            "apos" => Some('\''),
                            _ => None,
                        },
                        Err(_) => None,
                    };
                    let unknown = || {
                        FileError::invalid(message!(
                            "the entity `{name}` is unknown",
                            name = format!("&{:.40};", &*reference)
                        ))
                    };
                    Node::Text(found.ok_or_else(unknown)?.to_string())
                }
                Event::DocType(_) => {
                    return Err(FileError::invalid(message!(
                        "document type definitions and entities are not accepted"
                    )));
                }
                Event::Eof if self.depth > 0 => {
                    return Err(FileError::invalid(message!("the file is truncated")));
                }
                Event::Eof => Node::Eof,
                _ => continue,
            });
        }
    }

    /// Reads the content of an element whose start was read.
    pub(super) fn content(&mut self, mut element: Element) -> Result<Element> {
        let mut open: Vec<Element> = Vec::new();
        let mut nodes = element.attributes.len();
        loop {
            let current = open.last_mut().unwrap_or(&mut element);
            match self.next()? {
                Node::Text(text) => current.text.push_str(&text),
                Node::Start(start) => {
                    nodes += 1 + start.attributes.len();
                    if nodes > MAX_NODES {
                        return Err(too_many_nodes());
                    }
                    open.push(start);
                }
                Node::End => {
                    let Some(done) = open.pop() else { return Ok(element) };
                    open.last_mut().unwrap_or(&mut element).children.push(done);
                }
                Node::Eof => return Err(FileError::invalid(message!("the file is truncated"))),
            }
        }
    }
}

fn too_many_nodes() -> FileError {
    FileError::invalid(message!(
        "an element has more than {limit} elements and attributes",
        limit = MAX_NODES
    ))
}

fn invalid(error: impl std::fmt::Display) -> FileError {
    FileError::invalid(message!("invalid XML: {error}", error = error.to_string()))
}

fn element(start: &BytesStart<'_>) -> Result<Element> {
    let mut attributes = Vec::new();
    // The check for duplicates compares each with all others.
    for attribute in start.attributes().with_checks(false) {
        if attributes.len() == MAX_NODES {
            return Err(too_many_nodes());
        }
        let attribute = attribute.map_err(invalid)?;
        let value = quick_xml::escape::unescape(&attribute.value).map_err(invalid)?;
        attributes.push((local(attribute.key.0).to_owned(), value.into_owned()));
    }
    Ok(Element { name: local(start.name().0).to_owned(), attributes, ..Element::default() })
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Text as the content of an element or an attribute. Control characters, which XML cannot contain, are left out.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' | '\n' => escaped.push(letter),
            '\u{FFFE}' | '\u{FFFF}' => {}
            letter if letter.is_control() && (letter as u32) < 0x20 => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}

struct Limited {
    input: BufReader<File>,
    left: Rc<Cell<u64>>,
}

impl Limited {
    fn spend(&self, count: usize) -> io::Result<()> {
        let too_large = || {
            let limit = MAX_ELEMENT_BYTES >> 20;
            io::Error::other(message!("an element has more than {limit} MiB", limit = limit))
        };
        self.left.set(self.left.get().checked_sub(count as u64).ok_or_else(too_large)?);
        Ok(())
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.spend(count)?;
        Ok(count)
    }
}

impl BufRead for Limited {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left.get() == 0 {
            self.spend(1)?;
        }
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.input.consume(count);
        self.left.set(self.left.get().saturating_sub(count as u64));
    }
}
