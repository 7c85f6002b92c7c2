//! Documents that were asked for lately. Each is of one state of the database and good for as long as
//! that lasts: whatever is committed, by this program or by a command beside it, ends it.

use bytes::Bytes;
use groma_domain::{Kind, WorkspaceId, reference::Key};
use quick_cache::{Weighter, sync::Cache};

/// What they may take in memory, nearly.
const BYTES: u64 = 16 << 20;
/// What one takes beside its text.
const OVERHEAD: u64 = 160;
/// What one takes as a rule.
const USUAL: u64 = 1_024;

pub(super) struct Documents(Cache<DocumentKey, Document, Weight>);

pub(super) type DocumentKey = (WorkspaceId, Kind, Key);

/// A document, and the number of the state that it was read in.
#[derive(Clone)]
struct Document {
    state: u64,
    text: Bytes,
}

#[derive(Clone)]
struct Weight;

impl Weighter<DocumentKey, Document> for Weight {
    fn weight(&self, _: &DocumentKey, document: &Document) -> u64 {
        document.text.len() as u64 + OVERHEAD
    }
}

impl Default for Documents {
    fn default() -> Self {
        Self(Cache::with_weighter((BYTES / USUAL) as usize, BYTES, Weight))
    }
}

impl Documents {
    /// The document, if it was read in this state.
    pub(super) fn get(&self, key: &DocumentKey, state: u64) -> Option<Bytes> {
        self.0.get(key).filter(|document| document.state == state).map(|document| document.text)
    }

    /// Keeps a document of a state.
    pub(super) fn put(&self, key: DocumentKey, state: u64, text: Bytes) {
        self.0.insert(key, Document { state, text });
    }
}
