//! Values, how they are compared, and keys that sort like them.

use crate::{Timestamp, text::fold, time::Date};
use serde_json::value::RawValue;
use std::{borrow::Cow, cmp::Ordering};

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// A date or a time.
    Instant(Instant),
    /// A list or an object, which is not equal to any value.
    Other,
}

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A time, or a date with all its times in UTC. Milliseconds since 1970, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Instant {
    /// Parses a date such as `2026-11-15` or a time such as `2026-11-15T12:00:00Z`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_date(text).or_else(|| Self::parse_time(text))
    }

    pub(super) fn parse_date(text: &str) -> Option<Self> {
        let date: Date = text.parse().ok().filter(|_| text.len() == 10 && has_date(text))?;
        let first = Timestamp::parse(&format!("{date}T00:00:00Z")).ok()?.as_millis();
        Some(Self { first, last: first + MILLIS_PER_DAY - 1 })
    }

    pub(super) fn parse_time(text: &str) -> Option<Self> {
        let time = Timestamp::parse(text).ok().filter(|_| has_date(text))?.as_millis();
        Some(Self { first: time, last: time })
    }

    /// A date and a time of that day are equal.
    pub(super) fn compare(self, other: Self) -> Ordering {
        if self.last < other.first {
            Ordering::Less
        } else if self.first > other.last {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }
}

impl From<Timestamp> for Instant {
    fn from(time: Timestamp) -> Self {
        Self { first: time.as_millis(), last: time.as_millis() }
    }
}

/// Whether a text begins with four digits, a hyphen, two digits and a hyphen. Other forms of ISO 8601 do not
/// sort by time.
fn has_date(text: &str) -> bool {
    let is_digit = |index: &usize| text.as_bytes().get(*index).is_some_and(u8::is_ascii_digit);
    let hyphens = [4, 7].map(|index| text.as_bytes().get(index));
    hyphens == [Some(&b'-'); 2] && [0, 1, 2, 3, 5, 6, 8, 9].iter().all(is_digit)
}

impl<'a> Value<'a> {
    /// Reads a JSON value.
    #[must_use]
    pub fn read(raw: &'a RawValue) -> Self {
        let json = raw.get();
        match json.as_bytes().first() {
            Some(b'"') => {
                let inner = json.get(1..json.len() - 1).unwrap_or_default();
                match inner.contains('\\') {
                    false => Self::Text(Cow::Borrowed(inner)),
                    true => serde_json::from_str(json)
                        .map_or(Self::Other, |text: String| Self::Text(text.into())),
                }
            }
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'-' | b'0'..=b'9') => json.parse().map_or(Self::Other, Self::Number),
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Other,
        }
    }

    /// The same value, with a text read as a date or a time; null if it is none.
    pub(super) fn into_instant(self) -> Self {
        match self {
            Self::Text(text) => Instant::parse(&text).map_or(Self::Null, Self::Instant),
            Self::Instant(instant) => Self::Instant(instant),
            _ => Self::Null,
        }
    }

    /// The order of two values of the same type; `None` if it is unknown.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(one), Self::Boolean(two)) => Some(one.cmp(two)),
            (Self::Number(one), Self::Number(two)) => one.partial_cmp(two),
            (Self::Text(one), Self::Text(two)) => Some(one.cmp(two)),
            (Self::Instant(one), Self::Instant(two)) => Some(one.compare(*two)),
            (Self::Instant(one), Self::Text(two)) => Some(one.compare(Instant::parse(two)?)),
            (Self::Text(one), Self::Instant(two)) => Some(Instant::parse(one)?.compare(*two)),
            _ => None,
        }
    }
}

/// How much of a text is in a key, in bytes.
pub(super) const MAX_KEY_TEXT: usize = 48;
/// The first byte of the keys of a type.
pub(super) const NUMBER: u8 = 1;
pub(super) const TEXT: u8 = 2;
pub(super) const BOOLEAN: u8 = 3;

/// A key that sorts like the values of a type; `None` if the value cannot be looked up. Long texts with the
/// same beginning have the same key.
#[must_use]
pub fn value_key(value: &Value<'_>) -> Option<Vec<u8>> {
    match value {
        Value::Number(number) => Some(number_key(*number)),
        Value::Text(text) => Some(text_key(text)),
        Value::Boolean(boolean) => Some(vec![BOOLEAN, u8::from(*boolean)]),
        Value::Null | Value::Instant(_) | Value::Other => None,
    }
}

pub(super) fn number_key(number: f64) -> Vec<u8> {
    let mut key = vec![NUMBER];
    key.extend_from_slice(&sortable_number(number));
    key
}

pub(super) fn text_key(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut key = vec![TEXT];
    key.extend_from_slice(&bytes[..bytes.len().min(MAX_KEY_TEXT)]);
    key
}

fn sortable_number(number: f64) -> [u8; 8] {
    // Zero and negative zero are equal.
    let bits = (number + 0.0).to_bits();
    let is_negative = bits >> 63 == 1;
    (if is_negative { !bits } else { bits | 1 << 63 }).to_be_bytes()
}

/// How many characters of a text decide about the order of items.
const MAX_SORT_TEXT: usize = 200;
const MISSING: u8 = 0xff;

/// Appends a key that sorts like a value in this direction: numbers, then texts without regard to case and
/// accents, then booleans. A missing value comes last in both directions.
pub fn sort_key(value: &Value<'_>, is_descending: bool, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Value::Number(number) => out.extend_from_slice(&number_key(*number)),
        Value::Text(text) => {
            out.push(TEXT);
            let folded = fold(text);
            let characters = folded.chars().take(MAX_SORT_TEXT).filter(|c| *c != '\0');
            out.extend_from_slice(characters.collect::<String>().as_bytes());
            out.push(0);
        }
        Value::Boolean(boolean) => out.extend_from_slice(&[BOOLEAN, u8::from(*boolean)]),
        Value::Instant(instant) => out.extend_from_slice(&number_key(instant.first as f64)),
        Value::Null | Value::Other => return out.push(MISSING),
    }
    if is_descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}
