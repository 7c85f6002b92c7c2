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
    /// Current page number.
    #[schema(minimum = 1)]
    page: u32,
    /// Page size.
    #[schema(minimum = 1, maximum = 100)]
    size: u32,
    /// Total number of pages.
    #[schema(minimum = 0)]
    pages: u64,
}

/// The start of an envelope, to which the store appends the items.
pub(super) fn start() -> Vec<u8> {
    let mut body = Vec::with_capacity(48 * 1024);
    body.extend_from_slice(b"{\"content\":[");
    body
}

/// Completes the envelope of a page.
pub(super) fn finish(page: Page, params: &ListParams) -> Vec<u8> {
    let Page { mut body, total, .. } = page;
    let ListParams { page, limit, .. } = params;
    let pages = total.div_ceil(u64::from(*limit));
    let end = format!("],\"total\":{total},\"page\":{page},\"size\":{limit},\"pages\":{pages}}}");
    body.extend_from_slice(end.as_bytes());
    body
}
