//! Conditions that a resource must meet before a request changes it.

use std::{fmt, sync::Arc};

/// Decides whether the current document of a resource passes.
type DocumentCheck = dyn Fn(&[u8]) -> bool + Send + Sync;

/// A condition on the document of a resource, such as that it has a certain ETag.
#[derive(Clone)]
pub struct Precondition(Arc<DocumentCheck>);

impl Precondition {
    /// A condition from a test of the document.
    pub fn new(test: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(test))
    }

    /// Whether this document passes.
    pub(crate) fn is_met(&self, document: &[u8]) -> bool {
        (self.0)(document)
    }
}

impl fmt::Debug for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Precondition(…)")
    }
}
