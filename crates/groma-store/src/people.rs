//! The people of each workspace as documents show them, kept in memory by the generation that the
//! workspace counts with every change of a name or address.

use groma_domain::{WorkspaceId, record::PersonDirectory};
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Books by workspace.
#[derive(Default)]
pub(crate) struct PeopleCache {
    books: RwLock<FxHashMap<WorkspaceId, (u64, Arc<PersonDirectory>)>>,
}

impl PeopleCache {
    /// The book, if it is at least of this generation. A newer one is as good: a changed name shows
    /// at once.
    pub(crate) fn get(
        &self,
        workspace: WorkspaceId,
        generation: u64,
    ) -> Option<Arc<PersonDirectory>> {
        let books = self.books.read();
        let (known, book) = books.get(&workspace)?;
        (*known >= generation).then(|| book.clone())
    }

    /// Keeps a book that was read at this generation.
    pub(crate) fn put(
        &self,
        workspace: WorkspaceId,
        generation: u64,
        book: PersonDirectory,
    ) -> Arc<PersonDirectory> {
        let book = Arc::new(book);
        let mut books = self.books.write();
        let kept = books.entry(workspace).or_insert_with(|| (generation, book.clone()));
        if kept.0 < generation {
            *kept = (generation, book.clone());
        }
        book
    }
}
