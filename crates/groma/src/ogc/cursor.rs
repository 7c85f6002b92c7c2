//! The parameter `cursor`: where a page begins.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::fmt;

/// Up to this number, the matches of a filter are counted.
pub(super) const COUNT_LIMIT: u64 = 10_000;

/// Where a page begins, and what the first page found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cursor {
    /// The position of the last item of the page before.
    pub(super) after: u64,
    /// The number of all matches, if it is known; more than [`COUNT_LIMIT`] are not counted.
    pub(super) matched: Option<u64>,
    /// The key that the last item of the page before was sorted by.
    pub(super) key: Option<Vec<u8>>,
}

impl Cursor {
    /// Parses a cursor; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let after = parts.next()?.parse().ok()?;
        let matched: Option<u64> = match parts.next() {
            None | Some("") => None,
            Some(text) => Some(text.parse().ok()?),
        };
        let key = match parts.next() {
            None => None,
            Some(text) => Some(URL_SAFE_NO_PAD.decode(text).ok()?),
        };
        let matched = matched.map(|matched| matched.min(COUNT_LIMIT + 1));
        parts.next().is_none().then_some(Self { after, matched, key })
    }

    /// Whether the page is the first one.
    pub(super) fn is_start(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.after)?;
        if self.matched.is_some() || self.key.is_some() {
            f.write_str(".")?;
        }
        if let Some(matched) = self.matched {
            write!(f, "{matched}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ".{}", URL_SAFE_NO_PAD.encode(key))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_parsed_as_written() {
        for cursor in [
            Cursor { after: 7, ..Cursor::default() },
            Cursor { after: 7, matched: Some(12), key: None },
            Cursor { after: 7, matched: None, key: Some(vec![1, 255, 0]) },
            Cursor { after: 0, matched: Some(10_001), key: Some(Vec::new()) },
        ] {
            assert_eq!(Cursor::parse(&cursor.to_string()).unwrap(), cursor);
        }
        for text in ["", "x", "-1", "1.x", "1.2.*", "1.2.AA.3"] {
            assert!(Cursor::parse(text).is_none(), "{text}");
        }
    }
}
