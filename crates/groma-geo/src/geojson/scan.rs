//! JSON as a stream of tokens over a buffer of fixed size. It knows the grammar and its bounds
//! (depth, length of numbers and names), and nothing of GeoJSON.
//!
//! Written here and not taken from `serde_json`, because a reader of geometries needs what a
//! deserializer hides: the place of a fault, the way on after one, keys that come twice, and a bound
//! on every token.

use super::{
    MAX_KEYS,
    fault::{Fault, Mark, Read, excerpt},
    number::number,
};
use std::{borrow::Cow, collections::HashSet, io, ops::Range, str};
use twox_hash::XxHash3_128;

/// How deep arrays and objects may nest.
const MAX_DEPTH: u32 = 32;
/// The longest number, in characters: any double written out in full that makes sense is shorter.
const MAX_NUMBER: usize = 512;
/// The longest name of a member, in bytes.
pub(super) const MAX_NAME: usize = 16 * 1024;
/// How much of the input is held at a time.
const BUFFER: usize = 64 * 1024;

/// What stands before each text of a sequence (RFC 8142).
const RECORD_SEPARATOR: u8 = 0x1e;

/// The names that the open objects of a value have, by depth.
#[derive(Default)]
struct Names(Vec<HashSet<u128>>);

impl Names {
    fn begin(&mut self, depth: u32) {
        self.0.truncate(depth as usize);
        self.0.resize_with(depth as usize + 1, HashSet::new);
    }

    /// Adds a name to the object that is open where `depth` are.
    fn add(&mut self, depth: u32, name: &str) -> Result<(), String> {
        let Some(names) = self.0.get_mut((depth as usize).saturating_sub(1)) else { return Ok(()) };
        if !names.insert(XxHash3_128::oneshot(name.as_bytes())) {
            return Err(format!("has the name `{}` twice", excerpt(name)));
        }
        match names.len() > MAX_KEYS {
            true => Err(format!("has an object of more than {MAX_KEYS} members")),
            false => Ok(()),
        }
    }
}

/// A stream of JSON tokens.
pub(super) struct Scanner<'a> {
    input: &'a mut dyn io::Read,
    buffer: Box<[u8]>,
    /// The part of the buffer that is not read yet.
    rest: Range<usize>,
    /// The input gave its last byte.
    ended: bool,
    due: Due,
    /// How many arrays and objects are open.
    depth: u32,
    /// For each open one, innermost in the lowest bit: is it an array?
    arrays: u64,
    /// The byte at which a text ends, in a sequence of texts.
    separator: Option<u8>,
    line: u64,
    /// A string that does not lie in the buffer as it is meant.
    text: String,
    /// What is wrong with the string that was read last, its grammar aside.
    flaw: Option<&'static str>,
}

/// What the grammar wants next.
#[derive(Clone, Copy, PartialEq)]
enum Due {
    /// A value.
    Value,
    /// The first item or member of what was just opened, or its end.
    First,
    /// A comma, or the end of what is open.
    Next,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// Where a string is: in the buffer as it stands, or put together in `text`.
enum Place {
    Buffer(Range<usize>),
    Text,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(input: &'a mut dyn io::Read) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            rest: 0..0,
            ended: false,
            due: Due::Value,
            depth: 0,
            arrays: 0,
            separator: None,
            line: 1,
            text: String::new(),
            flaw: None,
        }
    }

    /// The line that is being read, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// How many arrays and objects are open.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// A fault here that leaves the rest readable.
    #[cold]
    pub(super) fn wrong(&self, message: impl Into<Cow<'static, str>>) -> Box<Fault> {
        Box::new(Fault::Wrong(Mark::new(self.line, message)))
    }

    /// A fault here that ends the text.
    #[cold]
    pub(super) fn broken(&self, message: impl Into<Cow<'static, str>>) -> Box<Fault> {
        Box::new(Fault::Broken(Mark::new(self.line, message)))
    }

    // Whole texts

    /// Passes over a byte order mark.
    pub(super) fn skip_mark(&mut self) -> Read<()> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        while self.rest.len() < MARK.len() && self.fill()? {}
        if self.buffer[self.rest.clone()].starts_with(MARK) {
            self.rest.start += MARK.len();
        }
        Ok(())
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Read<()> {
        match self.peek()? {
            None => Ok(()),
            Some(b'{') => Err(self.broken(
                "only one JSON text is allowed here, and a second follows; \
                 several features belong in a FeatureCollection",
            )),
            Some(_) => Err(self.broken("there is more after the end of the JSON text")),
        }
    }

    /// Takes what follows for a sequence of texts, parted as its first byte tells: by record
    /// separators (RFC 8142), within which line breaks mean nothing, or else by line breaks.
    pub(super) fn expect_sequence(&mut self) -> Read<()> {
        self.separator = match self.byte()? {
            Some(RECORD_SEPARATOR) => Some(RECORD_SEPARATOR),
            _ => Some(b'\n'),
        };
        Ok(())
    }

    /// Goes to the next text of a sequence; false at the end. Whatever of the present one was not
    /// read is passed over if `abandon`, and has to be nothing otherwise.
    pub(super) fn next_text(&mut self, abandon: bool) -> Read<bool> {
        if abandon {
            while let Some(byte) = self.byte()?
                && Some(byte) != self.separator
            {
                self.pass(byte);
            }
            (self.depth, self.arrays) = (0, 0);
        }
        self.due = Due::Value;
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n' | RECORD_SEPARATOR)) = self.byte()? {
            self.pass(byte);
        }
        Ok(!(self.ended && self.rest.is_empty()))
    }

    // Values

    /// The kind of the value that comes.
    pub(super) fn kind(&mut self) -> Read<Kind> {
        match self.peek()? {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(b'N' | b'I') => Err(self.broken("NaN and Infinity are no JSON")),
            other => Err(self.unexpected(other, "a value")),
        }
    }

    /// Enters the object that comes.
    pub(super) fn open_object(&mut self) -> Read<()> {
        self.open(0)
    }

    /// Enters the array that comes.
    pub(super) fn open_array(&mut self) -> Read<()> {
        self.open(1)
    }

    fn open(&mut self, array: u64) -> Read<()> {
        if self.depth == MAX_DEPTH {
            return Err(self.broken(format!("is nested deeper than {MAX_DEPTH}")));
        }
        self.rest.start += 1;
        self.depth += 1;
        self.arrays = self.arrays << 1 | array;
        self.due = Due::First;
        Ok(())
    }

    fn close(&mut self) {
        self.rest.start += 1;
        self.depth -= 1;
        self.arrays >>= 1;
        self.due = Due::Next;
    }

    /// Goes to the next item of the array that is open; false at its end.
    #[inline]
    pub(super) fn next_item(&mut self) -> Read<bool> {
        match (self.due, self.peek()?) {
            (Due::First | Due::Next, Some(b']')) => {
                self.close();
                return Ok(false);
            }
            (Due::Next, Some(b',')) => self.rest.start += 1,
            (Due::Next, other) => return Err(self.unexpected(other, "`,` or `]`")),
            (Due::First | Due::Value, _) => {}
        }
        self.due = Due::Value;
        Ok(true)
    }

    /// Goes to the next member of the object that is open and reads its name; `None` at its end.
    pub(super) fn next_key(&mut self) -> Read<Option<&str>> {
        match (self.due, self.peek()?) {
            (Due::First | Due::Next, Some(b'}')) => {
                self.close();
                return Ok(None);
            }
            (Due::Next, Some(b',')) => self.rest.start += 1,
            (Due::Next, other) => return Err(self.unexpected(other, "`,` or `}`")),
            (Due::First | Due::Value, _) => {}
        }
        match self.peek()? {
            Some(b'"') => {}
            other => return Err(self.unexpected(other, "a name in double quotes")),
        }
        let mut name = self.quoted(MAX_NAME)?;
        if self.buffer[self.rest.clone()].first() != Some(&b':') {
            // Looking for the colon may move the buffer: the name goes to safety first.
            if let Place::Buffer(range) = name {
                let Ok(text) = str::from_utf8(&self.buffer[range]) else {
                    return Err(self.not_utf8());
                };
                self.text.clear();
                self.text.push_str(text);
                name = Place::Text;
            }
            match self.peek()? {
                Some(b':') => {}
                other => return Err(self.unexpected(other, "`:`")),
            }
        }
        self.rest.start += 1;
        self.due = Due::Value;
        self.flawless()?;
        self.text_at(name).map(Some)
    }

    /// Reads the string that comes, of at most `max` bytes.
    pub(super) fn string(&mut self, max: usize) -> Read<&str> {
        let text = self.quoted(max)?;
        self.due = Due::Next;
        self.flawless()?;
        self.text_at(text)
    }

    /// Reads the number that comes, as it is written.
    pub(super) fn number(&mut self) -> Read<&str> {
        let mut length = 0;
        loop {
            length += self.buffer[self.rest.start + length..self.rest.end]
                .iter()
                .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'))
                .count();
            if length > MAX_NUMBER {
                return Err(self.broken(format!("has more than {MAX_NUMBER} characters")));
            }
            if length < self.rest.len() || !self.fill()? {
                break;
            }
        }
        let start = self.rest.start;
        if !is_number(&self.buffer[start..start + length]) {
            return Err(self.broken("is no number as JSON writes it"));
        }
        self.rest.start += length;
        self.due = Due::Next;
        self.text_at(Place::Buffer(start..start + length))
    }

    /// Reads the `true` or `false` that comes.
    pub(super) fn bool(&mut self) -> Read<bool> {
        let is_true = self.byte()? == Some(b't');
        self.word(if is_true { b"true" } else { b"false" })?;
        Ok(is_true)
    }

    /// Reads the `null` that comes.
    pub(super) fn null(&mut self) -> Read<()> {
        self.word(b"null")
    }

    fn word(&mut self, word: &[u8]) -> Read<()> {
        for expected in word {
            if self.byte()? != Some(*expected) {
                return Err(self.broken("is no value that JSON knows"));
            }
            self.rest.start += 1;
        }
        self.due = Due::Next;
        Ok(())
    }

    /// Passes over the value that comes, which must be as sound as what is kept.
    pub(super) fn skip(&mut self) -> Read<()> {
        let outside = self.depth;
        let mut names = Names::default();
        while self.depth > outside || self.due == Due::Value {
            let depth = self.depth - outside;
            match self.due {
                Due::Value => match self.kind()? {
                    Kind::Object => {
                        names.begin(depth);
                        self.open_object()?;
                    }
                    Kind::Number => {
                        number(self)?;
                    }
                    Kind::String => {
                        let text = self.quoted(0)?;
                        self.due = Due::Next;
                        self.text_at(text)?;
                        self.flaw = self.flaw.filter(|flaw| *flaw != TOO_LONG);
                        self.flawless()?;
                    }
                    _ => self.step()?,
                },
                Due::First | Due::Next if self.arrays & 1 == 1 => {
                    self.next_item()?;
                }
                Due::First | Due::Next => {
                    if let Some(name) = self.next_key()?
                        && let Err(problem) = names.add(depth, name)
                    {
                        return Err(self.wrong(problem));
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes over everything up to the end of the value that was begun where `depth` were open,
    /// wherever in it reading stands, whatever else is wrong with it.
    pub(super) fn leave(&mut self, depth: u32) -> Read<()> {
        while self.depth > depth || self.due == Due::Value {
            match self.due {
                Due::Value => self.step()?,
                Due::First | Due::Next if self.arrays & 1 == 1 => {
                    self.next_item()?;
                }
                Due::First | Due::Next => match self.next_key() {
                    Err(fault) if matches!(*fault, Fault::Wrong(_)) => {}
                    other => {
                        other?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Passes over a value, or enters it.
    fn step(&mut self) -> Read<()> {
        match self.kind()? {
            Kind::Object => self.open_object(),
            Kind::Array => self.open_array(),
            Kind::Number => self.number().map(drop),
            Kind::Bool => self.bool().map(drop),
            Kind::Null => self.null(),
            Kind::String => {
                let text = self.quoted(0)?;
                self.due = Due::Next;
                self.flaw = None;
                self.text_at(text).map(drop)
            }
        }
    }

    // Strings

    /// Passes over a string and says where its text is. What makes the text unfit, its grammar
    /// aside, is left in `flaw`: reading goes on behind such a string.
    fn quoted(&mut self, max: usize) -> Read<Place> {
        self.flaw = None;
        self.rest.start += 1;
        let start = self.rest.start;
        let plain = plain(&self.buffer[self.rest.clone()]);
        if self.buffer[self.rest.clone()].get(plain) == Some(&b'"') {
            self.rest.start += plain + 1;
            if plain > max {
                self.flaw.get_or_insert(TOO_LONG);
            }
            return Ok(Place::Buffer(start..start + plain));
        }
        self.text.clear();
        loop {
            self.keep_plain(max)?;
            match self.byte()? {
                Some(b'"') => {
                    self.rest.start += 1;
                    return Ok(Place::Text);
                }
                Some(b'\\') => {
                    self.rest.start += 1;
                    let char = self.escaped()?;
                    self.keep(max, char.encode_utf8(&mut [0; 4]));
                }
                Some(0..0x20) => {
                    return Err(self.broken("has a control character that is not escaped"));
                }
                Some(_) => {}
                None => return Err(self.early_end()),
            }
        }
    }

    /// Moves text that stands for itself from the buffer to `text`, up to the end of the buffer at
    /// most.
    fn keep_plain(&mut self, max: usize) -> Read<()> {
        let mut length = plain(&self.buffer[self.rest.clone()]);
        let range = self.rest.start..self.rest.start + length;
        if let Err(error) = str::from_utf8(&self.buffer[range.clone()]) {
            length = error.valid_up_to();
            let cut_off = error.error_len().is_none() && range.end == self.rest.end;
            if !cut_off || (length == 0 && !self.fill()?) {
                return Err(self.not_utf8());
            }
        }
        let range = self.rest.start..self.rest.start + length;
        self.rest.start = range.end;
        if self.text.len() + length > max {
            self.flaw.get_or_insert(TOO_LONG);
        } else if let Ok(text) = str::from_utf8(&self.buffer[range]) {
            self.text.push_str(text);
        }
        Ok(())
    }

    fn keep(&mut self, max: usize, text: &str) {
        if self.text.len() + text.len() > max {
            self.flaw.get_or_insert(TOO_LONG);
        } else {
            self.text.push_str(text);
        }
    }

    /// The character that an escape stands for; its backslash is read.
    fn escaped(&mut self) -> Read<char> {
        let Some(byte) = self.byte()? else { return Err(self.early_end()) };
        self.rest.start += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.escaped_code(),
            _ => return Err(self.broken("has an escape that JSON does not know")),
        })
    }

    fn escaped_code(&mut self) -> Read<char> {
        let code = self.four_digits()?;
        let code = match code {
            0xd800..0xdc00 => match self.low_surrogate()? {
                Some(low) => 0x1_0000 + ((code - 0xd800) << 10 | (low - 0xdc00)),
                None => code,
            },
            _ => code,
        };
        if code == 0 {
            self.flaw = Some("has the character \\u0000, which cannot be kept");
        }
        Ok(char::from_u32(code).unwrap_or_else(|| {
            self.flaw = Some("has half of a surrogate pair");
            char::REPLACEMENT_CHARACTER
        }))
    }

    /// The second half of a surrogate pair, if it follows. Another escape stays unread.
    fn low_surrogate(&mut self) -> Read<Option<u32>> {
        const ESCAPE: usize = "\\uXXXX".len();
        while self.rest.len() < ESCAPE && self.fill()? {}
        let ahead = &self.buffer[self.rest.clone()];
        let low = ahead
            .strip_prefix(b"\\u")
            .and_then(|digits| digits.get(..4))
            .and_then(hex)
            .filter(|low| (0xdc00..0xe000).contains(low));
        if low.is_some() {
            self.rest.start += ESCAPE;
        }
        Ok(low)
    }

    fn four_digits(&mut self) -> Read<u32> {
        while self.rest.len() < 4 && self.fill()? {}
        let ahead = &self.buffer[self.rest.clone()];
        let Some(digits) = ahead.get(..4) else { return Err(self.early_end()) };
        let Some(code) = hex(digits) else {
            return Err(self.broken("has an escape without four hexadecimal digits"));
        };
        self.rest.start += 4;
        Ok(code)
    }

    fn flawless(&mut self) -> Read<()> {
        match self.flaw.take() {
            None => Ok(()),
            Some(flaw) => Err(self.wrong(flaw)),
        }
    }

    fn text_at(&self, place: Place) -> Read<&str> {
        match place {
            Place::Text => Ok(&self.text),
            Place::Buffer(range) => {
                str::from_utf8(&self.buffer[range]).map_err(|_| self.not_utf8())
            }
        }
    }

    // Bytes

    /// The next byte that is no white space; `None` at the end of the text.
    #[inline]
    fn peek(&mut self) -> Read<Option<u8>> {
        loop {
            match self.byte()? {
                Some(byte @ (b' ' | b'\n' | b'\r' | b'\t')) if Some(byte) != self.separator => {
                    self.pass(byte);
                }
                Some(byte) if Some(byte) == self.separator => return Ok(None),
                other => return Ok(other),
            }
        }
    }

    /// The next byte; `None` at the end of the input.
    #[inline]
    fn byte(&mut self) -> Read<Option<u8>> {
        if self.rest.is_empty() && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.rest.start]))
    }

    #[inline]
    fn pass(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.rest.start += 1;
    }

    /// Reads more behind what is not read yet; false at the end of the input. No token that has to
    /// lie in one piece is as long as the buffer, so there is always room.
    #[cold]
    fn fill(&mut self) -> Read<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.rest.clone(), 0);
        self.rest = 0..self.rest.len();
        let read = loop {
            match self.input.read(&mut self.buffer[self.rest.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| Box::new(Fault::Input(error)))?,
            }
        };
        self.rest.end += read;
        self.ended = read == 0;
        Ok(!self.ended)
    }

    // Faults

    #[cold]
    fn unexpected(&self, found: Option<u8>, expected: &str) -> Box<Fault> {
        match found {
            None => self.early_end(),
            Some(byte @ 0x21..0x7f) => {
                self.broken(format!("`{}` stands where {expected} belongs", char::from(byte)))
            }
            Some(byte) => {
                self.broken(format!("the byte 0x{byte:02x} stands where {expected} belongs"))
            }
        }
    }

    #[cold]
    fn early_end(&self) -> Box<Fault> {
        self.broken("the text ends in the middle of this")
    }

    #[cold]
    fn not_utf8(&self) -> Box<Fault> {
        self.broken("is not UTF-8")
    }
}

const TOO_LONG: &str = "is too long";

/// How many bytes at the start of this are text that stands for itself within a string.
fn plain(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}

/// Whether this is a number in the grammar of JSON.
fn is_number(text: &[u8]) -> bool {
    fn digits(text: &[u8]) -> Option<&[u8]> {
        let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then(|| &text[count..])
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let rest = match text {
        [b'0', rest @ ..] => Some(rest),
        _ => digits(text),
    };
    let rest = rest.and_then(|rest| match rest {
        [b'.', fraction @ ..] => digits(fraction),
        _ => Some(rest),
    });
    let rest = rest.and_then(|rest| match rest {
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            digits(exponent)
        }
        _ => Some(rest),
    });
    rest.is_some_and(<[u8]>::is_empty)
}
