//! Pages of the OGC API for people: a browser gets the documents as HTML, in the look of the application.
//!
//! The pages are drawn from the JSON documents of the API, so they show what programs read.

mod content;
mod sketch;

use super::{Shared, i18n::Localizer, page::html};
use crate::http::{DocumentOfPage, Encoding, HttpError, compress, security_headers};
use askama::Template;
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use content::{Content, Resource, Table};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;
use sketch::Sketch;
use std::borrow::Cow;

/// The largest document that becomes a page, the most items of a page, and the largest geometry on its map. So
/// many geometries fit into a document; it is larger only because of the properties.
const MAX_DOCUMENT_BYTES: usize = 32 << 20;
const MAX_ITEMS: u64 = 100;
const MAX_GEOMETRY_BYTES: usize = 64 << 10;

#[derive(Template)]
#[template(path = "ogc_page.html")]
struct Page {
    t: Localizer,
    service: String,
    /// The address of the document that the page shows.
    json_url: String,
    title: String,
    description: String,
    /// The resources above this one: names and addresses.
    ancestors: Vec<(String, String)>,
    count: Option<u64>,
    map: Option<Sketch>,
    /// Why something is missing on the page.
    notice: Option<String>,
    facts: Vec<(String, String)>,
    table: Option<Table>,
    next: Option<String>,
    links: Vec<(String, String)>,
}

/// Adds pages to the routes of the OGC API.
pub(crate) fn with_pages(web: &Shared, router: Router) -> Router {
    router.layer(middleware::from_fn_with_state(web.clone(), respond))
}

async fn respond(State(web): State<Shared>, mut request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let resource = Resource::parse(request.uri().path()).filter(|_| is_read);
    let Some(resource) = resource else { return next.run(request).await };
    if !wants_html(&request) {
        let mut response = next.run(request).await;
        response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept"));
        return response;
    }
    let t = Localizer::for_request(request.headers());
    let encoding = Encoding::preferred(request.headers());
    let json_url = with_format(request.uri(), "json");
    if let Ok(uri) = document_of_page(request.uri(), &resource).parse() {
        *request.uri_mut() = uri;
    }
    request.extensions_mut().insert(DocumentOfPage { max_geometry_bytes: MAX_GEOMETRY_BYTES });
    *request.method_mut() = Method::GET;
    for name in [header::ACCEPT_ENCODING, header::IF_NONE_MATCH] {
        request.headers_mut().remove(name);
    }
    let response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    match page(&web, t, json_url, &resource, response).await {
        Ok(response) => {
            let mut response = compress(encoding, response).await;
            security_headers::secure(&mut response, web.is_secure, &[]);
            response
        }
        Err(error) => error.into_response(),
    }
}

/// Draws the page of a document.
async fn page(
    web: &Shared,
    t: Localizer,
    json_url: String,
    resource: &Resource,
    response: Response,
) -> Result<Response, HttpError> {
    let (mut parts, body) = response.into_parts();
    let crs = parts.headers.get("content-crs").and_then(|crs| crs.to_str().ok());
    let content = match Limited::new(body, MAX_DOCUMENT_BYTES).collect().await {
        Ok(document) => {
            let document: Value = serde_json::from_slice(&document.to_bytes())
                .map_err(|error| HttpError::internal(error.to_string()))?;
            Content::new(&t, resource, &document, crs)
        }
        Err(error) if error.is::<LengthLimitError>() => Content::too_large(&t, resource),
        Err(error) => return Err(HttpError::internal(error.to_string())),
    };
    let Content { title, description, ancestors, count, map, notice, facts, table, next, links } =
        content;
    let service = web.title.clone();
    let page = Page {
        t,
        service,
        json_url,
        title,
        description,
        ancestors,
        count,
        map,
        notice,
        facts,
        table,
        next,
        links,
    };
    let rendered = page.render().map_err(|error| HttpError::internal(error.to_string()))?;
    let mut response = html(StatusCode::OK, rendered);
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::ETAG, header::CACHE_CONTROL]
    {
        parts.headers.remove(name);
    }
    parts.headers.insert(header::VARY, HeaderValue::from_static("Accept, Accept-Language"));
    response.headers_mut().extend(parts.headers);
    Ok(response)
}

/// Whether a request prefers a page: by the parameter `f`, or else by `Accept`.
fn wants_html(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    match form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "f") {
        Some((_, format)) => format == "html",
        None => accepts_html(request.headers()),
    }
}

/// Whether `Accept` names HTML and nothing that it prefers.
fn accepts_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let quality = |names: &[&str]| {
        let types = accept.unwrap_or_default().split(',');
        let quality = |item: &str| {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            let is_named = names.iter().any(|one| name.trim().eq_ignore_ascii_case(one));
            let quality = parameters.split(';').find_map(|one| one.trim().strip_prefix("q="));
            is_named.then(|| quality.and_then(|text| text.parse().ok()).unwrap_or(1.0))
        };
        types.filter_map(quality).fold(0.0_f64, f64::max)
    };
    let html = quality(&["text/html", "application/xhtml+xml"]);
    html > 0.0 && html >= quality(&["application/json", "application/geo+json"])
}

/// A path and query with another `f`.
fn with_format(uri: &Uri, format: &str) -> String {
    let pairs = query_pairs(uri).filter(|(name, _)| name != "f");
    with_query(uri, pairs.chain([("f".into(), format.into())]))
}

/// The path and query of the document of a page: without `f`, and with fewer items than a program can get.
fn document_of_page(uri: &Uri, resource: &Resource) -> String {
    let has_items = matches!(resource, Resource::Items { .. });
    let pairs = query_pairs(uri).filter(|(name, _)| name != "f").map(|(name, value)| {
        let is_more = name == "limit" && is_more_than(&value, MAX_ITEMS);
        match has_items && is_more {
            true => (name, MAX_ITEMS.to_string().into()),
            false => (name, value),
        }
    });
    with_query(uri, pairs)
}

/// Whether a text is a whole number above this one, of any length.
fn is_more_than(text: &str, number: u64) -> bool {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number && text.parse::<u64>().map_or(true, |parsed| parsed > number)
}

fn query_pairs(uri: &Uri) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
}

/// A path with another query.
fn with_query<'a>(uri: &Uri, pairs: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    match query.extend_pairs(pairs).finish() {
        query if query.is_empty() => uri.path().to_owned(),
        query => format!("{}?{query}", uri.path()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_pages_and_programs_do_not() {
        let accepts = |value: &'static str| {
            let headers = [(header::ACCEPT, HeaderValue::from_static(value))];
            accepts_html(&headers.into_iter().collect())
        };
        for browser in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html",
            "application/json;q=0.5, text/html;q=0.6",
        ] {
            assert!(accepts(browser), "{browser}");
        }
        for program in [
            "*/*",
            "application/geo+json, application/json",
            "application/json, text/html;q=0.9",
            "text/html;q=0",
            "",
        ] {
            assert!(!accepts(program), "{program}");
        }
    }
}
