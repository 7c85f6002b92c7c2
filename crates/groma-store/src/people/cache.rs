//! Names and addresses of the people of each workspace, cached by the generation that the workspace
//! increments with every change of them.

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
    /// The book, if it is of this generation or newer. A newer one will do: a changed name shows at once.
    pub(crate) fn get(
        &self,
        workspace: WorkspaceId,
        generation: u64,
    ) -> Option<Arc<PersonDirectory>> {
        let books = self.books.read();
        let (known, book) = books.get(&workspace)?;
        (*known >= generation).then(|| book.clone())
    }

    /// Caches a book that was read at this generation.
    pub(crate) fn put(
        &self,
        workspace: WorkspaceId,
        generation: u64,
        book: PersonDirectory,
    ) -> Arc<PersonDirectory> {
        let book = Arc::new(book);
        let mut books = self.books.write();
        let cached = books.entry(workspace).or_insert_with(|| (generation, book.clone()));
        if cached.0 < generation {
            *cached = (generation, book.clone());
        }
        book
    }
}
