//! Timestamps and dates in the format of the API.

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use utoipa::ToSchema;

/// A date without a time, `YYYY-MM-DD`.
pub type Date = jiff::civil::Date;

/// A UTC time with millisecond precision, written as `2026-11-15T04:01:10.000Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = "date-time", example = "2026-11-15T04:01:10.000Z")]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch, clamped to the years 0 to 9999.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(-62_167_219_200_000, 253_402_207_200_000 - 1))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Adds milliseconds; negative values go back in time.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Parses RFC 3339 with any offset, truncated to milliseconds.
    pub fn parse(text: &str) -> Result<Self, jiff::Error> {
        text.parse::<jiff::Timestamp>().map(Into::into)
    }

    /// The UTC date.
    #[must_use]
    pub fn date(self) -> Date {
        self.jiff().to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    fn jiff(self) -> jiff::Timestamp {
        // `from_millis` keeps the value inside jiff's range.
        jiff::Timestamp::from_millisecond(self.0).unwrap_or_default()
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(timestamp: jiff::Timestamp) -> Self {
        Self::from_millis(timestamp.as_millisecond())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
        f.write_str(&PRINTER.timestamp_to_string(&self.jiff()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_formatted_with_milliseconds_in_utc() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        let parsed = Timestamp::parse("2026-11-15T05:01:10.1239+01:00").unwrap();
        assert_eq!(parsed.to_string(), "2026-11-15T04:01:10.123Z");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-30T21:59:59.999Z");
    }
}
