//! A page of items, written while they are read.

use super::cursor::{COUNT_LIMIT, Cursor};
use bytes::Bytes;
use std::mem;

/// The features of a page as far as they are written.
pub(super) struct PageWriter {
    /// The page begins after this position.
    pub(super) after: u64,
    limit: u32,
    is_filtered: bool,
    /// The number of matches, which the first page found out; more than [`COUNT_LIMIT`] if there are more.
    known_matches: Option<u64>,
    /// The matching items that were read.
    matched: u64,
    pub(super) returned: u32,
    /// The position of the last item of the page.
    last: u64,
    /// The key that it was sorted by.
    last_key: Option<Vec<u8>>,
    /// Whether there are items after the page.
    pub(super) has_more: bool,
    out: Vec<u8>,
}

impl PageWriter {
    pub(super) fn new(cursor: &Cursor, limit: u32, is_filtered: bool) -> Self {
        let out = b"{\"type\":\"FeatureCollection\",\"features\":[".to_vec();
        Self {
            after: cursor.after,
            limit,
            is_filtered,
            known_matches: cursor.matched.filter(|_| is_filtered),
            matched: 0,
            returned: 0,
            last: cursor.after,
            last_key: cursor.key.clone(),
            has_more: false,
            out,
        }
    }

    /// The position after which to read. For the first page, a filtered collection is read to its end, to
    /// count the matches.
    pub(super) fn start(&self) -> u64 {
        if self.is_filtered && self.known_matches.is_none() { 0 } else { self.after }
    }

    /// How many items to read next, at most `chunk`.
    pub(super) fn wanted(&self, chunk: u32) -> u32 {
        match self.is_filtered {
            true => chunk,
            // One more shows whether there is another page.
            false => (self.limit - self.returned + 1).min(chunk),
        }
    }

    /// Adds the next item that matches.
    pub(super) fn add<E>(
        &mut self,
        position: u64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.matched += 1;
        if position <= self.after {
            return Ok(());
        }
        self.add_next(position, write)
    }

    /// Adds the next item of a page in another order.
    pub(super) fn add_sorted<E>(
        &mut self,
        position: u64,
        key: Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.returned < self.limit {
            self.last_key = Some(key);
        }
        self.add_next(position, write)
    }

    fn add_next<E>(
        &mut self,
        position: u64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.returned == self.limit {
            self.has_more = true;
            return Ok(());
        }
        if self.returned > 0 {
            self.out.push(b',');
        }
        write(&mut self.out)?;
        self.returned += 1;
        self.last = position;
        Ok(())
    }

    /// Sets the number of matches, if it is not known from the first page.
    pub(super) fn set_matches(&mut self, matches: u64) {
        self.known_matches.get_or_insert(matches);
    }

    /// Whether the items before the page need not be read any more.
    pub(super) fn has_counted(&self) -> bool {
        self.known_matches.is_some() || self.matched > COUNT_LIMIT
    }

    fn matches(&self) -> u64 {
        self.known_matches.unwrap_or(self.matched)
    }

    /// Where the next page begins. Only at the end of this page.
    pub(super) fn next_cursor(&self) -> Cursor {
        let matched = self.is_filtered.then(|| self.matches().min(COUNT_LIMIT + 1));
        Cursor { after: self.last, matched, key: self.last_key.clone() }
    }

    /// Whether the items that were not read do not matter.
    pub(super) fn is_complete(&self) -> bool {
        self.has_more && (!self.is_filtered || self.has_counted())
    }

    /// The number of all matches, if it is known at the end; `total` is the number of all items.
    pub(super) fn number_matched(&self, total: u64) -> Option<u64> {
        match self.is_filtered {
            true => Some(self.matches()).filter(|matches| *matches <= COUNT_LIMIT),
            false => Some(total.max(self.returned.into())),
        }
    }

    /// Appends bytes that are not an item.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// What was written since the last call.
    pub(super) fn take(&mut self) -> Bytes {
        mem::take(&mut self.out).into()
    }
}
