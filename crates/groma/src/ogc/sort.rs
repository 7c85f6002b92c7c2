//! The parameter `sortby`.

use super::{cursor::Cursor, fields::Fields, parameters::invalid};
use crate::http::HttpError;
use groma_domain::cql2::{Property, Value, sort_key};
use std::vec;

/// The most fields to sort by.
pub(super) const MAX_KEYS: usize = 4;

/// The order of items: by these properties, and by creation where they are equal.
#[derive(Clone)]
pub(super) struct SortOrder(Vec<(Property, bool)>);

impl SortOrder {
    /// Parses names separated by commas. A minus before a name reverses its order; a plus does nothing.
    pub(super) fn parse(text: &str, fields: &Fields) -> Result<Self, HttpError> {
        let key = |part: &str| {
            // A plus that is not encoded is a space.
            let part = part.trim();
            let is_descending = part.starts_with('-');
            let name = part.strip_prefix(['-', '+']).unwrap_or(part);
            let unknown = || invalid("sortby", format!("names the unknown property `{name}`"));
            let property = fields.sortable(name).ok_or_else(unknown)?;
            Ok((property.clone(), is_descending))
        };
        let keys = text.split(',').map(key).collect::<Result<Vec<_>, HttpError>>()?;
        if keys.len() > MAX_KEYS {
            return Err(invalid("sortby", format!("must name at most {MAX_KEYS} properties")));
        }
        Ok(Self(keys))
    }

    /// The key that an item is sorted by.
    pub(super) fn key<'v>(&self, value: &dyn Fn(&str) -> Value<'v>) -> Vec<u8> {
        let mut key = Vec::new();
        for (property, is_descending) in &self.0 {
            sort_key(&value(&property.name), *is_descending, &mut key);
        }
        key
    }
}

/// Keeps the first items of an order after a cursor.
pub(super) struct Sorter<T> {
    after: Option<(Vec<u8>, u64)>,
    wanted: usize,
    /// How many items were added.
    count: u64,
    found: Vec<SortedItem<T>>,
}

/// An item in an order.
pub(super) struct SortedItem<T> {
    pub(super) key: Vec<u8>,
    pub(super) position: u64,
    pub(super) item: T,
}

/// The items of a page in their order.
pub(super) struct Sorted<T> {
    /// One more than the page has if there are more.
    pub(super) items: vec::IntoIter<SortedItem<T>>,
    pub(super) has_more: bool,
    /// How many items were added.
    pub(super) count: u64,
}

impl<T> SortedItem<T> {
    fn order(&self) -> (&[u8], u64) {
        (&self.key, self.position)
    }
}

impl<T> Sorter<T> {
    pub(super) fn new(cursor: &Cursor, limit: u32) -> Self {
        let after = cursor.key.clone().map(|key| (key, cursor.after));
        // One more shows whether there is another page.
        Self { after, wanted: limit as usize + 1, count: 0, found: Vec::new() }
    }

    pub(super) fn add(&mut self, item: SortedItem<T>) {
        self.count += 1;
        let is_after =
            |(key, position): &(Vec<u8>, u64)| item.order() > (key.as_slice(), *position);
        if !self.after.as_ref().is_none_or(is_after) {
            return;
        }
        self.found.push(item);
        if self.found.len() >= self.wanted * 2 + 1_000 {
            self.discard_last();
        }
    }

    fn discard_last(&mut self) {
        if self.wanted < self.found.len() {
            self.found
                .select_nth_unstable_by(self.wanted, |one, two| one.order().cmp(&two.order()));
            self.found.truncate(self.wanted);
        }
    }

    /// The first items in their order.
    pub(super) fn finish(mut self) -> Sorted<T> {
        self.discard_last();
        self.found.sort_unstable_by(|one, two| one.order().cmp(&two.order()));
        let has_more = self.found.len() == self.wanted;
        Sorted { items: self.found.into_iter(), has_more, count: self.count }
    }
}
