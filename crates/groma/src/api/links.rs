//! The `Link` header of a list (RFC 8288): the pages around a page.

use crate::http::HttpError;
use axum::http::HeaderValue;
use groma_domain::ListParams;
use groma_store::Page;

/// The longest header. Proxies reject longer ones.
const MAX_BYTES: usize = 8 * 1024;

/// The links from a page of the list at `url`. They keep the other parameters of the query. If those are very
/// long, only the link to the next page is left, or none.
pub(super) fn header(
    url: &str,
    query: &str,
    params: &ListParams,
    page: &Page,
) -> Result<Option<HeaderValue>, HttpError> {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let others = form_urlencoded::parse(query.as_bytes());
    pairs.extend_pairs(others.filter(|(name, _)| name != "page" && name != "cursor"));
    let mut base = format!("{url}?{}", pairs.finish());
    if !base.ends_with('?') {
        base.push('&');
    }
    let link = |(relation, place): &(&str, Option<String>)| {
        Some(format!("<{base}{}>; rel=\"{relation}\"", place.as_deref()?))
    };
    let relations = relations(params, page);
    let all = relations.iter().filter_map(link).collect::<Vec<_>>().join(", ");
    let next = || relations.iter().filter(|(relation, _)| *relation == "next").find_map(link);
    let links = if all.len() <= MAX_BYTES { Some(all) } else { next() };
    let Some(links) = links.filter(|links| links.len() <= MAX_BYTES) else { return Ok(None) };
    let header = HeaderValue::try_from(links);
    header.map(Some).map_err(|error| HttpError::internal(error.to_string()))
}

/// The relations to other pages, with the parameter that finds each.
fn relations(params: &ListParams, page: &Page) -> [(&'static str, Option<String>); 4] {
    let at = |cursor: &str| format!("cursor={cursor}");
    if let Some(cursors) = &page.cursors {
        return [
            ("first", Some(at(""))),
            ("prev", cursors.previous.as_deref().map(at)),
            ("next", cursors.next.as_deref().map(at)),
            ("last", Some(at(&cursors.last))),
        ];
    }
    let number = |number: u64| format!("page={number}");
    let current = u64::from(params.page);
    let last = page.total.div_ceil(u64::from(params.limit)).max(1);
    [
        ("first", Some(number(1))),
        // From a page past the end, the previous one is the last.
        ("prev", (current > 1).then(|| number((current - 1).min(last)))),
        ("next", (current < last).then(|| number(current + 1))),
        ("last", Some(number(last))),
    ]
}
