//! The envelope around one page of a list.

use groma_domain::ListParams;
use groma_store::Page;
use serde::Serialize;
use utoipa::ToSchema;

/// One page of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct Envelope<T: ToSchema> {
    /// Items of the requested page.
    content: Vec<T>,
    /// Total number of items.
    #[schema(minimum = 0)]
    total: u64,
    /// Current page number; 0 if the page was requested with `cursor`.
    #[schema(minimum = 0)]
    page: u32,
    /// Page size.
    #[schema(minimum = 1, maximum = 100)]
    size: u32,
    /// Total number of pages.
    #[schema(minimum = 0)]
    pages: u64,
}

/// The envelope of a page, around documents that are JSON already.
pub(super) fn envelope(page: &Page, params: &ListParams) -> Vec<u8> {
    let Page { documents, total, cursors } = page;
    let ListParams { page, limit, .. } = params;
    let page = if cursors.is_some() { 0 } else { *page };
    let pages = total.div_ceil(u64::from(*limit));
    let end = format!("],\"total\":{total},\"page\":{page},\"size\":{limit},\"pages\":{pages}}}");
    let mut body = b"{\"content\":[".to_vec();
    body.reserve(documents.iter().map(|document| document.len() + 1).sum::<usize>() + end.len());
    for (index, document) in documents.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(document);
    }
    body.extend_from_slice(end.as_bytes());
    body
}
