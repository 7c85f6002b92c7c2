//! Strings: escapes, UTF-8, and text that cannot be stored.

use super::{Expected, Scanner};
use crate::{Message, geojson::parse_error::ParseResult, message};
use std::{ops::Range, str};

/// Why the text of a string cannot be used.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum StringError {
    TooLong,
    NullCharacter,
    UnpairedSurrogate,
}

impl StringError {
    fn message(self) -> Message {
        match self {
            Self::TooLong => message!("is too long"),
            Self::NullCharacter => {
                message!("contains the character \\u0000, which cannot be stored")
            }
            Self::UnpairedSurrogate => message!("contains an unpaired surrogate"),
        }
    }
}

/// Where the text of a string is.
pub(super) enum StringLocation {
    /// In the buffer, unchanged.
    Buffer(Range<usize>),
    /// In [`Scanner::decoded`].
    Decoded,
}

impl Scanner<'_> {
    /// Reads a string of at most `max` bytes. Text that cannot be used is not a syntax error: the
    /// reason is left in [`Scanner::string_error`], and reading can continue after the string.
    pub(super) fn scan_string(&mut self, max: usize) -> ParseResult<StringLocation> {
        self.string_error = None;
        self.unread.start += 1;
        let start = self.unread.start;
        let plain = plain_length(&self.buffer[self.unread.clone()]);
        if self.buffer[self.unread.clone()].get(plain) == Some(&b'"') {
            self.unread.start += plain + 1;
            if plain > max {
                self.string_error.get_or_insert(StringError::TooLong);
            }
            return Ok(StringLocation::Buffer(start..start + plain));
        }
        self.decoded.clear();
        loop {
            self.decode_plain(max)?;
            match self.peek_byte()? {
                Some(b'"') => {
                    self.unread.start += 1;
                    return Ok(StringLocation::Decoded);
                }
                Some(b'\\') => {
                    self.unread.start += 1;
                    let char = self.decode_escape()?;
                    self.push_decoded(max, char.encode_utf8(&mut [0; 4]));
                }
                Some(0..0x20) => {
                    return Err(self.syntax_error(message!(
                        "contains a control character that is not escaped"
                    )));
                }
                Some(_) => {}
                None => return Err(self.unexpected_end()),
            }
        }
    }

    /// Skips a string of any length whose text must be usable.
    pub(super) fn skip_valid_string(&mut self) -> ParseResult<()> {
        let text = self.scan_string(0)?;
        self.expected = Expected::CommaOrEnd;
        self.string_at(text)?;
        self.string_error = self.string_error.filter(|error| *error != StringError::TooLong);
        self.check_string()
    }

    /// Rejects the last string if its text cannot be used.
    pub(super) fn check_string(&mut self) -> ParseResult<()> {
        match self.string_error.take() {
            None => Ok(()),
            Some(error) => Err(self.invalid(error.message())),
        }
    }

    pub(super) fn string_at(&self, location: StringLocation) -> ParseResult<&str> {
        match location {
            StringLocation::Decoded => Ok(&self.decoded),
            StringLocation::Buffer(range) => {
                str::from_utf8(&self.buffer[range]).map_err(|_| self.not_utf8())
            }
        }
    }

    /// Moves text without escapes from the buffer to `decoded`, up to the end of the buffer.
    fn decode_plain(&mut self, max: usize) -> ParseResult<()> {
        let mut length = plain_length(&self.buffer[self.unread.clone()]);
        let range = self.unread.start..self.unread.start + length;
        if let Err(error) = str::from_utf8(&self.buffer[range.clone()]) {
            length = error.valid_up_to();
            let is_cut_off = error.error_len().is_none() && range.end == self.unread.end;
            if !is_cut_off || (length == 0 && !self.fill()?) {
                return Err(self.not_utf8());
            }
        }
        let range = self.unread.start..self.unread.start + length;
        self.unread.start = range.end;
        if self.decoded.len() + length > max {
            self.string_error.get_or_insert(StringError::TooLong);
        } else if let Ok(text) = str::from_utf8(&self.buffer[range]) {
            self.decoded.push_str(text);
        }
        Ok(())
    }

    fn push_decoded(&mut self, max: usize, text: &str) {
        if self.decoded.len() + text.len() > max {
            self.string_error.get_or_insert(StringError::TooLong);
        } else {
            self.decoded.push_str(text);
        }
    }

    /// The character of an escape sequence whose backslash has been read.
    fn decode_escape(&mut self) -> ParseResult<char> {
        let Some(byte) = self.peek_byte()? else { return Err(self.unexpected_end()) };
        self.unread.start += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.decode_unicode_escape(),
            _ => return Err(self.syntax_error(message!("contains an invalid escape sequence"))),
        })
    }

    fn decode_unicode_escape(&mut self) -> ParseResult<char> {
        let code = self.four_hex_digits()?;
        let code = match code {
            0xd800..0xdc00 => match self.low_surrogate()? {
                Some(low) => 0x1_0000 + ((code - 0xd800) << 10 | (low - 0xdc00)),
                None => code,
            },
            _ => code,
        };
        if code == 0 {
            self.string_error = Some(StringError::NullCharacter);
        }
        Ok(char::from_u32(code).unwrap_or_else(|| {
            self.string_error = Some(StringError::UnpairedSurrogate);
            char::REPLACEMENT_CHARACTER
        }))
    }

    /// The second half of a surrogate pair if it follows. Any other escape stays unread.
    fn low_surrogate(&mut self) -> ParseResult<Option<u32>> {
        const ESCAPE_LENGTH: usize = "\\uXXXX".len();
        while self.unread.len() < ESCAPE_LENGTH && self.fill()? {}
        let ahead = &self.buffer[self.unread.clone()];
        let low = ahead
            .strip_prefix(b"\\u")
            .and_then(|digits| digits.get(..4))
            .and_then(parse_hex)
            .filter(|low| (0xdc00..0xe000).contains(low));
        if low.is_some() {
            self.unread.start += ESCAPE_LENGTH;
        }
        Ok(low)
    }

    fn four_hex_digits(&mut self) -> ParseResult<u32> {
        while self.unread.len() < 4 && self.fill()? {}
        let ahead = &self.buffer[self.unread.clone()];
        let Some(digits) = ahead.get(..4) else { return Err(self.unexpected_end()) };
        let Some(code) = parse_hex(digits) else {
            return Err(self
                .syntax_error(message!("contains a \\u escape without four hexadecimal digits")));
        };
        self.unread.start += 4;
        Ok(code)
    }
}

/// How many bytes at the front belong to a string and are neither escapes nor control characters.
fn plain_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}
