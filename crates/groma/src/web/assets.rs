//! Style sheets, scripts, fonts, icons and the base map. The program embeds them from `web/dist` (see
//! `build.rs`). Their names contain a hash of the content.

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

/// A file, plain and compressed at build time.
struct File {
    name: &'static str,
    content_type: &'static str,
    plain: &'static [u8],
    br: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// The path of `app.css`, `map.js`, …
pub(crate) fn url(logical: &str) -> String {
    let name = NAMES.binary_search_by_key(&logical, |(name, _)| *name).map(|at| NAMES[at].1);
    // An unknown name is kept, so that the 404 in the browser shows it.
    format!("/assets/{}", name.unwrap_or(logical))
}

/// The route of the assets.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/{file}", get(file))
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Ok(at) = FILES.binary_search_by_key(&name.as_str(), |file| file.name) else {
        return (StatusCode::NOT_FOUND, "file not found\n").into_response();
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
    // The name changes with the content.
    let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, immutable);
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

    async fn request(path: &str, accepted: &'static str) -> Response {
        let request = Request::get(path).header(header::ACCEPT_ENCODING, accepted);
        let request = request.body(Body::empty()).expect("the request is valid");
        router::<()>().oneshot(request).await.expect("the router is infallible")
    }

    #[tokio::test]
    async fn every_asset_is_served_with_immutable_caching() {
        for (logical, _) in NAMES {
            let response = request(&url(logical), "identity").await;
            assert_eq!(response.status(), StatusCode::OK, "{logical}");
            let headers = response.headers();
            assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
            assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
        assert_eq!(request("/assets/app.css", "br").await.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn browser_gets_the_smallest_encoding_that_it_accepts() {
        let path = url("app.js");
        let mut sizes = Vec::new();
        for (accepted, named) in
            [("gzip, deflate, br, zstd", Some("br")), ("gzip, br;q=0", Some("gzip")), ("", None)]
        {
            let response = request(&path, accepted).await;
            let encoding = response.headers().get(header::CONTENT_ENCODING).cloned();
            assert_eq!(encoding.as_ref().map(HeaderValue::as_bytes), named.map(str::as_bytes));
            assert_eq!(response.headers()[header::VARY], "Accept-Encoding");
            sizes.push(
                to_bytes(response.into_body(), usize::MAX)
                    .await
                    .expect("the body is readable")
                    .len(),
            );
        }
        assert!(sizes.is_sorted_by(|one, next| one < next), "{sizes:?}");
    }

    #[tokio::test]
    async fn assets_of_a_page_without_a_map_are_smaller_than_120_kb() {
        let mut total = 0;
        for logical in ["app.css", "app.js", "inter.woff2", "icons.svg", "icon.svg"] {
            let response = request(&url(logical), "br").await;
            total += to_bytes(response.into_body(), usize::MAX)
                .await
                .expect("the body is readable")
                .len();
        }
        assert!(total < 120_000, "{total} bytes");
    }
}
