//! Numbers: their grammar and their range.

use super::{Expected, Scanner, ValueKind, strings::StringLocation};
use crate::{
    geojson::parse_error::{ParseError, ParseResult},
    message,
};

/// The most characters of a number. No double needs that many, even written without an exponent.
const MAX_NUMBER_LENGTH: usize = 512;

impl Scanner<'_> {
    /// Reads the next value, which must be a number, as a finite double.
    pub(in crate::geojson) fn double(&mut self) -> ParseResult<f64> {
        if self.kind()? != ValueKind::Number {
            return Err(self.invalid(message!("must be a number")));
        }
        match self.number_text()?.parse() {
            Ok(number) if f64::is_finite(number) => Ok(number),
            _ => Err(self.out_of_range()),
        }
    }

    /// Reads the next value, which is a number, with all its digits and converts its text. Databases
    /// store more digits than a double has, but not every exponent.
    pub(in crate::geojson) fn number<T>(
        &mut self,
        from_text: impl FnOnce(&str) -> Option<T>,
    ) -> ParseResult<T> {
        let text = self.number_text()?;
        let exponent = text.split_once(['e', 'E']).map_or("", |(_, exponent)| exponent);
        let digits = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
        let is_in_range = digits.len() <= 3 && text.parse().is_ok_and(f64::is_finite);
        match if is_in_range { from_text(text) } else { None } {
            Some(number) => Ok(number),
            None => Err(self.out_of_range()),
        }
    }

    #[cold]
    fn out_of_range(&self) -> Box<ParseError> {
        self.invalid(message!("is a number outside the supported range"))
    }

    /// Reads the next value, which is a number, and returns its text.
    pub(super) fn number_text(&mut self) -> ParseResult<&str> {
        let mut length = 0;
        loop {
            length += self.buffer[self.unread.start + length..self.unread.end]
                .iter()
                .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'))
                .count();
            if length > MAX_NUMBER_LENGTH {
                return Err(self.syntax_error(message!(
                    "a number must have at most {max} characters",
                    max = MAX_NUMBER_LENGTH
                )));
            }
            if length < self.unread.len() || !self.fill()? {
                break;
            }
        }
        let start = self.unread.start;
        if !is_json_number(&self.buffer[start..start + length]) {
            return Err(self.syntax_error(message!("is not a valid JSON number")));
        }
        self.unread.start += length;
        self.expected = Expected::CommaOrEnd;
        self.string_at(StringLocation::Buffer(start..start + length))
    }
}

/// Whether the text matches the JSON grammar of numbers.
fn is_json_number(text: &[u8]) -> bool {
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
