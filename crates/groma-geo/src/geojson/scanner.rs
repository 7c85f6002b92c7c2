//! A JSON tokenizer over a buffer of fixed size. It enforces the grammar of JSON and limits on depth
//! and token length. It knows nothing of GeoJSON.
//!
//! `serde_json` is not used because a reader of geometries needs what a deserializer hides: the
//! location of an error, a way to continue after it, duplicate keys, and a limit on every token.

mod numbers;
mod skip;
mod strings;

use super::parse_error::{ErrorDetail, ParseError, ParseResult, Place};
use crate::{Message, MessageValue, message};
use std::{io, ops::Range, str};
use strings::{StringError, StringLocation};

/// How deep arrays and objects can be nested.
const MAX_DEPTH: u32 = 32;
/// The most bytes of an object key.
pub(super) const MAX_KEY_BYTES: usize = 16 * 1024;
/// How much of the input is held in memory.
const BUFFER_SIZE: usize = 64 * 1024;
/// Precedes each text of a sequence (RFC 8142).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Reads JSON tokens from a stream.
pub(super) struct Scanner<'a> {
    input: &'a mut dyn io::Read,
    buffer: Box<[u8]>,
    /// The part of the buffer that has not been read yet.
    unread: Range<usize>,
    /// Whether the input has no more bytes.
    input_ended: bool,
    expected: Expected,
    /// How many arrays and objects are open.
    depth: u32,
    /// For each open array or object, innermost in the lowest bit: 1 if it is an array.
    array_bits: u64,
    /// The byte that ends a text in a sequence of texts.
    separator: Option<u8>,
    line: u64,
    /// The last string that had to be decoded because of escapes or because it did not lie in the
    /// buffer as a whole.
    decoded: String,
    /// Why the last string cannot be used although its syntax is valid.
    string_error: Option<StringError>,
}

/// What the grammar requires next.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Value,
    /// The first item or member of the array or object that was just opened, or its end.
    FirstOrEnd,
    /// A comma, or the end of the open array or object.
    CommaOrEnd,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ValueKind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(input: &'a mut dyn io::Read) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_SIZE].into_boxed_slice(),
            unread: 0..0,
            input_ended: false,
            expected: Expected::Value,
            depth: 0,
            array_bits: 0,
            separator: None,
            line: 1,
            decoded: String::new(),
            string_error: None,
        }
    }

    /// The current line, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// How many arrays and objects are open.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    // Texts

    pub(super) fn skip_byte_order_mark(&mut self) -> ParseResult<()> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        while self.unread.len() < BYTE_ORDER_MARK.len() && self.fill()? {}
        if self.buffer[self.unread.clone()].starts_with(BYTE_ORDER_MARK) {
            self.unread.start += BYTE_ORDER_MARK.len();
        }
        Ok(())
    }

    /// Checks that only whitespace follows.
    pub(super) fn expect_end(&mut self) -> ParseResult<()> {
        match self.peek()? {
            None => Ok(()),
            Some(b'{') => Err(self.syntax_error(message!(
                "a second JSON text follows the first; put several features into a \
                 FeatureCollection"
            ))),
            Some(_) => {
                Err(self
                    .syntax_error(message!("unexpected content after the end of the JSON text")))
            }
        }
    }

    /// Reads the rest of the input as a sequence of texts. If the first byte is a record separator
    /// (RFC 8142), record separators delimit the texts; otherwise line breaks do.
    pub(super) fn begin_sequence(&mut self) -> ParseResult<()> {
        self.separator = match self.peek_byte()? {
            Some(RECORD_SEPARATOR) => Some(RECORD_SEPARATOR),
            _ => Some(b'\n'),
        };
        Ok(())
    }

    /// Moves to the next text of a sequence; false at the end. With `discard_rest`, skips what is
    /// left of the current text. Otherwise the current text must have been read to its end.
    pub(super) fn next_text(&mut self, discard_rest: bool) -> ParseResult<bool> {
        if discard_rest {
            while let Some(byte) = self.peek_byte()?
                && Some(byte) != self.separator
            {
                self.advance(byte);
            }
            (self.depth, self.array_bits) = (0, 0);
        }
        self.expected = Expected::Value;
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n' | RECORD_SEPARATOR)) =
            self.peek_byte()?
        {
            self.advance(byte);
        }
        Ok(!(self.input_ended && self.unread.is_empty()))
    }

    // Values

    /// The kind of the next value.
    pub(super) fn kind(&mut self) -> ParseResult<ValueKind> {
        match self.peek()? {
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            Some(b'"') => Ok(ValueKind::String),
            Some(b'-' | b'0'..=b'9') => Ok(ValueKind::Number),
            Some(b't' | b'f') => Ok(ValueKind::Bool),
            Some(b'n') => Ok(ValueKind::Null),
            Some(b'N' | b'I') => {
                Err(self.syntax_error(message!("NaN and Infinity are not valid JSON")))
            }
            other => Err(self.unexpected(other, message!("a value"))),
        }
    }

    /// Enters the next value, which is an object.
    pub(super) fn open_object(&mut self) -> ParseResult<()> {
        self.open(0)
    }

    /// Enters the next value, which is an array.
    pub(super) fn open_array(&mut self) -> ParseResult<()> {
        self.open(1)
    }

    /// Enters the next value, which must be an array.
    pub(super) fn require_array(&mut self) -> ParseResult<()> {
        match self.kind()? {
            ValueKind::Array => self.open_array(),
            _ => Err(self.invalid(message!("must be an array"))),
        }
    }

    fn open(&mut self, array_bit: u64) -> ParseResult<()> {
        if self.depth == MAX_DEPTH {
            return Err(self.syntax_error(message!(
                "is nested more than {limit} levels deep",
                limit = MAX_DEPTH
            )));
        }
        self.unread.start += 1;
        self.depth += 1;
        self.array_bits = self.array_bits << 1 | array_bit;
        self.expected = Expected::FirstOrEnd;
        Ok(())
    }

    fn close(&mut self) {
        self.unread.start += 1;
        self.depth -= 1;
        self.array_bits >>= 1;
        self.expected = Expected::CommaOrEnd;
    }

    /// Moves to the next item of the open array; false at its end.
    #[inline]
    pub(super) fn next_item(&mut self) -> ParseResult<bool> {
        match (self.expected, self.peek()?) {
            (Expected::FirstOrEnd | Expected::CommaOrEnd, Some(b']')) => {
                self.close();
                return Ok(false);
            }
            (Expected::CommaOrEnd, Some(b',')) => self.unread.start += 1,
            (Expected::CommaOrEnd, other) => return Err(self.no_comma(other, "`]`")),
            (Expected::FirstOrEnd | Expected::Value, _) => {}
        }
        self.expected = Expected::Value;
        Ok(true)
    }

    /// Moves to the next member of the open object and reads its key; `None` at its end.
    pub(super) fn next_key(&mut self) -> ParseResult<Option<&str>> {
        match (self.expected, self.peek()?) {
            (Expected::FirstOrEnd | Expected::CommaOrEnd, Some(b'}')) => {
                self.close();
                return Ok(None);
            }
            (Expected::CommaOrEnd, Some(b',')) => self.unread.start += 1,
            (Expected::CommaOrEnd, other) => return Err(self.no_comma(other, "`}`")),
            (Expected::FirstOrEnd | Expected::Value, _) => {}
        }
        match self.peek()? {
            Some(b'"') => {}
            other => return Err(self.unexpected(other, message!("a key in double quotes"))),
        }
        let mut key = self.scan_string(MAX_KEY_BYTES)?;
        if self.buffer[self.unread.clone()].first() != Some(&b':') {
            // The search for the colon can move the buffer, so copy the key out of it.
            if let StringLocation::Buffer(range) = key {
                let Ok(text) = str::from_utf8(&self.buffer[range]) else {
                    return Err(self.not_utf8());
                };
                self.decoded.clear();
                self.decoded.push_str(text);
                key = StringLocation::Decoded;
            }
            match self.peek()? {
                Some(b':') => {}
                other => return Err(self.unexpected(other, "`:`")),
            }
        }
        self.unread.start += 1;
        self.expected = Expected::Value;
        self.check_string()?;
        self.string_at(key).map(Some)
    }

    /// Reads the next value, which is a string, of at most `max` bytes.
    pub(super) fn string(&mut self, max: usize) -> ParseResult<&str> {
        let text = self.scan_string(max)?;
        self.expected = Expected::CommaOrEnd;
        self.check_string()?;
        self.string_at(text)
    }

    /// Reads the next value, which is `true` or `false`.
    pub(super) fn bool(&mut self) -> ParseResult<bool> {
        let is_true = self.peek_byte()? == Some(b't');
        self.literal(if is_true { b"true" } else { b"false" })?;
        Ok(is_true)
    }

    /// Reads the next value, which is `null`.
    pub(super) fn null(&mut self) -> ParseResult<()> {
        self.literal(b"null")
    }

    fn literal(&mut self, literal: &[u8]) -> ParseResult<()> {
        for expected in literal {
            if self.peek_byte()? != Some(*expected) {
                return Err(self.syntax_error(message!("is not a valid JSON value")));
            }
            self.unread.start += 1;
        }
        self.expected = Expected::CommaOrEnd;
        Ok(())
    }

    // Bytes

    /// The next byte that is not whitespace; `None` at the end of the text.
    #[inline]
    fn peek(&mut self) -> ParseResult<Option<u8>> {
        loop {
            match self.peek_byte()? {
                Some(byte @ (b' ' | b'\n' | b'\r' | b'\t')) if Some(byte) != self.separator => {
                    self.advance(byte);
                }
                Some(byte) if Some(byte) == self.separator => return Ok(None),
                other => return Ok(other),
            }
        }
    }

    /// The next byte; `None` at the end of the input.
    #[inline]
    fn peek_byte(&mut self) -> ParseResult<Option<u8>> {
        if self.unread.is_empty() && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.unread.start]))
    }

    #[inline]
    fn advance(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.unread.start += 1;
    }

    /// Reads more input into the buffer, after the unread bytes; false at the end of the input. There
    /// is always room: no token that must lie in the buffer as a whole is as long as the buffer.
    #[cold]
    fn fill(&mut self) -> ParseResult<bool> {
        if self.input_ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let read = loop {
            match self.input.read(&mut self.buffer[self.unread.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| Box::new(ParseError::Input(error)))?,
            }
        };
        self.unread.end += read;
        self.input_ended = read == 0;
        Ok(!self.input_ended)
    }

    // Errors

    /// An error at the current position. The rest of the text can still be read.
    #[cold]
    pub(super) fn invalid(&self, message: Message) -> Box<ParseError> {
        self.place().invalid(message)
    }

    /// The current position.
    pub(super) fn place(&self) -> Place {
        Place { line: self.line }
    }

    /// An error at the current position after which the text cannot be read on.
    #[cold]
    fn syntax_error(&self, message: Message) -> Box<ParseError> {
        Box::new(ParseError::Syntax(ErrorDetail::new(self.line, message)))
    }

    #[cold]
    fn unexpected(&self, found: Option<u8>, expected: impl Into<MessageValue>) -> Box<ParseError> {
        self.syntax_error(match found {
            None => return self.unexpected_end(),
            Some(byte @ 0x21..0x7f) => message!(
                "expected {expected}, found `{found}`",
                expected = expected,
                found = char::from(byte).to_string()
            ),
            Some(byte) => message!(
                "expected {expected}, found the byte {found}",
                expected = expected,
                found = format!("0x{byte:02x}")
            ),
        })
    }

    #[cold]
    fn no_comma(&self, found: Option<u8>, end: &str) -> Box<ParseError> {
        self.unexpected(found, message!("{one} or {other}", one = "`,`", other = end))
    }

    #[cold]
    fn unexpected_end(&self) -> Box<ParseError> {
        self.syntax_error(message!("the text ends unexpectedly"))
    }

    #[cold]
    fn not_utf8(&self) -> Box<ParseError> {
        self.syntax_error(message!("is not valid UTF-8"))
    }
}
