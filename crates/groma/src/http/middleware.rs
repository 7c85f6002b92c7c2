//! The outermost layer of every listener: request ids, CORS, panics, error bodies, and the log of
//! failed requests.

use super::{
    client_address::Client,
    drain_body::UnreadBody,
    error::{ErrorCause, HttpError},
    problem,
};
use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use tower::Service;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Marks an error response whose body must reach the client unchanged, such as a page.
#[derive(Clone)]
pub(crate) struct FinalResponse;

/// The id of a request, for error pages.
#[derive(Clone)]
pub(crate) struct RequestId(pub(crate) HeaderValue);

/// Responds to one request. This wraps the whole router instead of being a layer inside it, because it
/// must also see the responses of the framework itself.
pub(crate) async fn respond(mut router: Router, client: Client, mut request: Request) -> Response {
    let request_id = request_id(&request);
    let path = request.uri().path();
    let is_ogc = path == "/ogc" || path.starts_with("/ogc/");
    let is_api = is_ogc || path.starts_with("/api/public/") || path.starts_with("/maps/");
    let address = client.address;
    request.extensions_mut().insert(client);
    if !is_api {
        request.extensions_mut().insert(RequestId(request_id.clone()));
    }
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (request, unread_body) = UnreadBody::split(request);
    // Not by tower-http, whose panic layer would wrap every response body in a second box.
    let mut response = AssertUnwindSafe(Service::call(&mut router, request))
        .catch_unwind()
        .await
        .map(|response| response.unwrap_or_else(|never| match never {}))
        .unwrap_or_else(|panic| HttpError::internal(panic_message(&*panic)).into_response());
    let is_options = is_api && method == Method::OPTIONS;
    if is_options && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        // Few routes handle OPTIONS: for others, "method not allowed" means that the route exists.
        response = if is_ogc { ogc_options(&response) } else { preflight(METHODS, HEADERS) };
    } else if is_framework_error(&response) {
        let has_wrong_method = is_ogc && response.status() == StatusCode::METHOD_NOT_ALLOWED;
        response = match has_wrong_method {
            true => method_not_allowed(&response),
            false => HttpError::from_status(response.status()).into_response(),
        };
    }
    if is_ogc {
        response = problem::with_problem_details(response);
    }
    if let Some(ErrorCause(cause)) = response.extensions_mut().remove::<ErrorCause>() {
        let (request_id, path) = (request_id.to_str().unwrap_or("-"), loggable_path(uri.path()));
        tracing::error!(request_id, client = %address, %method, path, %cause, "request failed");
    }
    if let Some(unread_body) = unread_body {
        let is_too_slow = matches!(
            response.status(),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        );
        if is_too_slow && !is_api {
            // A form that did not arrive in time. Waiting longer would take memory.
            unread_body.abandon(&mut response);
        } else {
            unread_body.drain(&mut response).await;
        }
    }
    let is_client_error = response.status().is_client_error();
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, request_id);
    // Stored texts and files must not become pages.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if is_client_error && !is_ogc {
        // The framework sets it for a wrong method, which the API reports as an unknown route.
        headers.remove(header::ALLOW);
    }
    if is_api {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(EXPOSED_HEADERS),
        );
    }
    response
}

/// The error for a method that a route of the OGC API does not have.
fn method_not_allowed(response: &Response) -> Response {
    let allowed = response.headers().get(header::ALLOW).cloned();
    let mut response = HttpError::method_not_allowed().into_response();
    response.headers_mut().extend(allowed.map(|allowed| (header::ALLOW, allowed)));
    response
}

/// Whether the framework produced this error, so that its body is not ours.
fn is_framework_error(response: &Response) -> bool {
    let status = response.status();
    let is_json = || {
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
    };
    let is_final = || response.extensions().get::<FinalResponse>().is_some();
    (status.is_client_error() || status.is_server_error()) && !is_json() && !is_final()
}

/// The headers that scripts of other origins may read.
const EXPOSED_HEADERS: &str = "ETag, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, \
                               X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After, \
                               Idempotent-Replayed, Link, Location, X-Groma-Result, Content-Crs, Allow, \
                               Accept-Post, Accept-Patch, Preference-Applied";

/// What scripts of other origins may send to the API.
const METHODS: &str = "GET, HEAD, POST, PATCH, DELETE, OPTIONS";
const HEADERS: &str =
    "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID";
/// The same for the OGC API.
const OGC_METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const OGC_HEADERS: &str = "Authorization, Content-Type, Content-Crs, If-Match, If-None-Match, \
                           Idempotency-Key, Prefer";

/// Whether a browser asks on behalf of a script of another origin which requests it may send.
pub(crate) fn is_preflight(request: &Request) -> bool {
    request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a CORS preflight request to the OGC API.
pub(crate) fn ogc_preflight() -> Response {
    preflight(OGC_METHODS, OGC_HEADERS)
}

/// The response to OPTIONS of a route of the OGC API that only reads.
fn ogc_options(response: &Response) -> Response {
    let mut options = ogc_preflight();
    let allowed = response.headers().contains_key(header::ALLOW);
    let reading = HeaderValue::from_static("GET, HEAD, OPTIONS");
    options.headers_mut().extend(allowed.then_some((header::ALLOW, reading)));
    options
}

/// The response to a CORS preflight request. Not by tower-http, whose CORS layer accepts OPTIONS on
/// unknown routes as well; the contract asks for a 404 there.
fn preflight(methods: &'static str, allowed_headers: &'static str) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed_headers));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// The client's own request id if it is valid, otherwise a new one. Not by tower-http, which keeps
/// whatever the client sent.
fn request_id(request: &Request) -> HeaderValue {
    let is_valid = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=128).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte))
    };
    if let Some(value) = request.headers().get(REQUEST_ID).filter(is_valid) {
        return value.clone();
    }
    let id = uuid::Uuid::now_v7().to_string();
    // A UUID is always a valid header value.
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("-"))
}

/// The path without secrets, such as that of an invitation link: a segment that is longer than an ID
/// is left out.
fn loggable_path(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.len() > 36 { "…" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_else(|| "unknown".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_in_a_path_is_not_logged() {
        let join = format!("/join/{}", "0a".repeat(32));
        assert_eq!(loggable_path(&join), "/join/…");
        let folder = "/folders/019a8b7c-0000-7000-8000-000000000000/edit";
        assert_eq!(loggable_path(folder), folder);
    }
}
