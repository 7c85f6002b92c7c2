//! The parameter `datetime`.

use super::parameters::invalid;
use crate::http::HttpError;
use groma_domain::{Timestamp, time::Date};

/// A time, or an interval that can be open on one side or both. Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeRange {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

const MILLIS_PER_DAY: i64 = 86_400_000;

impl TimeRange {
    /// Parses a time such as `2026-01-31T12:00:00Z`, a date, or an interval of two of them, where `..` or
    /// nothing is an open end.
    pub(super) fn parse(text: &str) -> Result<Self, HttpError> {
        let error = || {
            let message = "must be a time such as 2026-01-31T12:00:00Z, or an interval of two times \
                           separated by `/`, where `..` is an open end";
            invalid("datetime", message)
        };
        let side = |text: &str| match text {
            "" | ".." => Some((None, None)),
            text => instant(text).map(|(start, end)| (Some(start), Some(end))),
        };
        let Some((start, end)) = text.split_once('/') else {
            let (start, end) = instant(text).ok_or_else(error)?;
            return Ok(Self { start: Some(start), end: Some(end) });
        };
        let ((start, _), (_, end)) = (side(start).ok_or_else(error)?, side(end).ok_or_else(error)?);
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            return Err(invalid("datetime", "must have the earlier time first"));
        }
        Ok(Self { start, end })
    }

    pub(super) fn contains(&self, time: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time <= end)
    }
}

/// The first and the last millisecond of a time or a date.
fn instant(text: &str) -> Option<(Timestamp, Timestamp)> {
    if let Ok(time) = Timestamp::parse(text) {
        return Some((time, time));
    }
    let date: Date = text.parse().ok().filter(|_| text.len() == 10)?;
    let start = Timestamp::parse(&format!("{date}T00:00:00Z")).ok()?;
    Some((start, start.plus_millis(MILLIS_PER_DAY - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(range: &str, time: &str) -> bool {
        TimeRange::parse(range).unwrap().contains(Timestamp::parse(time).unwrap())
    }

    #[test]
    fn intervals_include_their_ends_and_can_be_open() {
        let time = "2026-01-31T12:00:00Z";
        for range in [time, "2026-01-31T13:00:00+01:00", "2026-01-31", "../..", "/"] {
            assert!(contains(range, time), "{range}");
        }
        for range in ["2026-01-31T12:00:00Z/..", "../2026-01-31T12:00:00Z", "2026-01-01/2026-01-31"]
        {
            assert!(contains(range, time), "{range}");
        }
        for range in ["2026-01-30", "2026-02-01/", "/2026-01-30", "2026-01-31T12:00:00.001Z"] {
            assert!(!contains(range, time), "{range}");
        }
    }

    #[test]
    fn invalid_intervals_are_rejected() {
        for range in ["", "x", "2026", "2026-02-30", "2026-01-02/2026-01-01", "a/..", "1/2/3"] {
            assert!(TimeRange::parse(range).is_err(), "{range}");
        }
    }
}
