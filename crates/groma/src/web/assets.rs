//! What browsers load besides pages: style sheets, scripts, fonts, icons, the base map. All of it is in
//! the program, made by `web/` (see `build.rs`), under names that hold a hash of the content.

use crate::http::Encoding;
use axum::{
    Router,
    body::Body,
    extract::Path,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// A file in the forms that were made of it at build time.
struct File {
    name: &'static str,
    content_type: &'static str,
    plain: &'static [u8],
    br: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// The address of what pages call `app.css`, `map.js`, …
pub(crate) fn url(logical: &str) -> String {
    let name = NAMES.binary_search_by_key(&logical, |(name, _)| *name).map(|at| NAMES[at].1);
    // A name that does not exist stays as it is: the browser's 404 then says which one.
    format!("/assets/{}", name.unwrap_or(logical))
}

/// The route of all of them.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/{file}", get(file))
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Ok(at) = FILES.binary_search_by_key(&name.as_str(), |file| file.name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let file = &FILES[at];
    let (encoding, content) =
        match Encoding::preferred_of(&headers, &[Encoding::Brotli, Encoding::Gzip]) {
            encoding @ Encoding::Brotli => (encoding, file.br),
            encoding => (encoding, file.gzip.filter(|_| encoding == Encoding::Gzip)),
        };
    let mut response = Response::new(Body::from(Bytes::from_static(content.unwrap_or(file.plain))));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Another content has another name.
    let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, for_ever);
    if file.br.is_some() {
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    if let (Some(_), Some(name)) = (content, encoding.name()) {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::to_bytes, http::Request};
    use tower::ServiceExt;

    async fn ask(path: &str, accepted: &'static str) -> Response {
        let request = Request::get(path).header(header::ACCEPT_ENCODING, accepted);
        let request = request.body(Body::empty()).expect("a request");
        router::<()>().oneshot(request).await.expect("an answer")
    }

    #[tokio::test]
    async fn every_name_that_pages_use_leads_to_a_file_kept_for_ever() {
        for (logical, _) in NAMES {
            let answer = ask(&url(logical), "identity").await;
            assert_eq!(answer.status(), StatusCode::OK, "{logical}");
            let headers = answer.headers();
            assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
            assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
        assert_eq!(ask("/assets/app.css", "br").await.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_browser_gets_the_densest_form_it_reads() {
        let path = url("app.js");
        let mut sizes = Vec::new();
        for (accepted, named) in
            [("gzip, deflate, br, zstd", Some("br")), ("gzip, br;q=0", Some("gzip")), ("", None)]
        {
            let answer = ask(&path, accepted).await;
            let encoding = answer.headers().get(header::CONTENT_ENCODING).cloned();
            assert_eq!(encoding.as_ref().map(HeaderValue::as_bytes), named.map(str::as_bytes));
            assert_eq!(answer.headers()[header::VARY], "Accept-Encoding");
            sizes.push(to_bytes(answer.into_body(), usize::MAX).await.expect("a body").len());
        }
        assert!(sizes.is_sorted_by(|one, next| one < next), "{sizes:?}");
    }

    #[tokio::test]
    async fn a_first_page_without_a_map_weighs_less_than_150_kb() {
        let mut total = 0;
        for logical in ["app.css", "app.js", "inter.woff2", "icons.svg", "icon.svg"] {
            let answer = ask(&url(logical), "br").await;
            total += to_bytes(answer.into_body(), usize::MAX).await.expect("a body").len();
        }
        assert!(total < 120_000, "{total} bytes leave too little for the page itself");
    }
}
