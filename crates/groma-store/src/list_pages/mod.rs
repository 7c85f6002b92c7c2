//! Pages of lists, and the cursors that lead from one to the next.

mod cursor;

pub(crate) use cursor::{Cursor, ListCursors, SortKey, SortValue};

use crate::Result;
use groma_domain::{ListParams, WorkspaceId};

/// Documents of a page of a list.
pub struct Page {
    /// The public documents.
    pub documents: Vec<Vec<u8>>,
    /// How many items the whole list has.
    pub total: u64,
    /// Where the pages around it are, if it was found by a cursor.
    pub cursors: Option<PageCursors>,
}

/// The cursors of the pages around a page.
pub struct PageCursors {
    /// The page before, if there may be one.
    pub previous: Option<String>,
    /// The next page, if there may be one.
    pub next: Option<String>,
    /// The last page.
    pub last: String,
}

impl Page {
    pub(crate) fn new(documents: Vec<Vec<u8>>, total: u64) -> Self {
        Self { documents, total, cursors: None }
    }

    /// The page of a list that was read whole. Each item has a number, by which the list is sorted, and
    /// `document` renders it. `list` names the list.
    pub fn of<T>(
        workspace: WorkspaceId,
        list: &str,
        items: &[(u64, T)],
        params: &ListParams,
        document: impl Fn(&T) -> Vec<u8>,
    ) -> Result<Self> {
        let render = |(_, item): &(u64, T)| document(item);
        let (limit, total) = (params.limit as usize, items.len() as u64);
        let Some(cursor) = &params.cursor else {
            let skip = usize::try_from(params.offset()).unwrap_or(usize::MAX);
            return Ok(Self::new(items.iter().skip(skip).take(limit).map(render).collect(), total));
        };
        let cursors = ListCursors::new(workspace, list);
        let cursor = cursors.decode(cursor, |value| value.is_none())?;
        let beside = cursor.beside.as_ref().map(|key| key.position);
        let found: Vec<_> = match cursor.is_backward {
            true => {
                let before = |(number, _): &&(u64, T)| beside.is_none_or(|key| *number < key);
                items.iter().rev().filter(before).take(limit + 1).collect()
            }
            false => {
                let after = |(number, _): &&(u64, T)| beside.is_none_or(|key| *number > key);
                items.iter().filter(after).take(limit + 1).collect()
            }
        };
        let keys = found.iter().map(|(position, _)| SortKey { value: None, position: *position });
        let documents = found.iter().map(|item| render(item)).collect();
        Ok(cursors.page(&cursor, params.limit, total, keys.collect(), documents))
    }
}

impl ListCursors {
    /// The page at a cursor, from the items read in its direction: up to one more than `limit`.
    pub(crate) fn page(
        &self,
        cursor: &Cursor,
        limit: u32,
        total: u64,
        mut keys: Vec<SortKey>,
        mut documents: Vec<Vec<u8>>,
    ) -> Page {
        let has_more = keys.len() > limit as usize;
        keys.truncate(limit as usize);
        documents.truncate(limit as usize);
        if cursor.is_backward {
            keys.reverse();
            documents.reverse();
        }
        let encode = |beside, is_backward| self.encode(&Cursor { beside, is_backward });
        // What lies behind a cursor beside a record is that record, at least.
        let is_beside = cursor.beside.is_some();
        let (has_previous, has_next) = match cursor.is_backward {
            true => (has_more, is_beside),
            false => (is_beside, has_more),
        };
        let mut keys = keys.into_iter();
        let (first, last) = (keys.next(), keys.next_back());
        let last = last.or_else(|| first.clone());
        let cursors = PageCursors {
            previous: has_previous.then(|| encode(first, true)),
            next: has_next.then(|| match last {
                Some(last) => encode(Some(last), false),
                None => String::new(),
            }),
            last: encode(None, true),
        };
        Page { documents, total, cursors: Some(cursors) }
    }
}
