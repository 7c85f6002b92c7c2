//! The outermost layer of a listener: request ids, CORS, panics, and the log of what went wrong.

use super::{
    error::{ApiError, Cause},
    linger::Rest,
};
use crate::{
    forwarded::Client,
    tally::{Class, Tally},
    web::Finished,
};
use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use std::{panic::AssertUnwindSafe, time::Instant};
use tower::Service;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers a client's request to a listener. It stands around the whole router and not inside, so that
/// it sees what the framework itself answers too, at the price of a call.
pub(crate) async fn answer(
    mut router: Router,
    client: Client,
    tally: &Tally,
    mut request: Request,
) -> Response {
    let (begun, class) = (Instant::now(), Class::of(request.uri().path()));
    let _counted = tally.working();
    let request_id = request_id(&request);
    let is_public = request.uri().path().starts_with("/api/public/");
    let address = client.address;
    // Only pages ask who is there; the API goes by tokens.
    if !is_public {
        request.extensions_mut().insert(client);
    }
    let asks_options = is_public && request.method() == Method::OPTIONS;
    let log = (request.method().clone(), request.uri().clone());
    let (request, rest) = Rest::of(request);
    let answer = Service::call(&mut router, request);
    let mut response = AssertUnwindSafe(answer)
        .catch_unwind()
        .await
        .map(|answer| answer.unwrap_or_else(|never| match never {}))
        .unwrap_or_else(|panic| ApiError::internal(panic_message(&*panic)).into_response());
    if asks_options && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        // No route handles OPTIONS, so this says that there is such a route.
        response = preflight();
    } else if is_foreign_error(&response) {
        response = ApiError::of_status(response.status()).into_response();
    }
    if let Some(Cause(cause)) = response.extensions_mut().remove::<Cause>() {
        let (method, path) = (log.0, log.1.path());
        let request_id = request_id.to_str().unwrap_or("-");
        tracing::error!(request_id, client = %address, %method, path, %cause, "a request failed");
    }
    if let Some(rest) = rest {
        rest.settle(&mut response).await;
    }
    let is_refused = response.status().is_client_error();
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, request_id);
    if is_refused {
        // Set by the framework for a wrong method, which is an unknown route here.
        headers.remove(header::ALLOW);
    }
    if is_public {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
    tally.answered(class, response.status(), begun.elapsed());
    response
}

/// Whether the framework answered with an error of its own form.
fn is_foreign_error(response: &Response) -> bool {
    let status = response.status();
    let is_ours = || {
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
    };
    let is_page = || response.extensions().get::<Finished>().is_some();
    (status.is_client_error() || status.is_server_error()) && !is_ours() && !is_page()
}

/// What scripts of other origins may read.
const EXPOSED: &str = "ETag, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, \
                       RateLimit, RateLimit-Policy, Retry-After, Idempotent-Replayed";

/// The answer to a browser that asks what it may send. It needs no token and counts for nothing.
fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let allowed = "Authorization, Content-Type, If-None-Match, Idempotency-Key";
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, DELETE, OPTIONS"),
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// The client's own id when it is a sane one, else a new one.
fn request_id(request: &Request) -> HeaderValue {
    let is_sane = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=128).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte))
    };
    match request.headers().get(REQUEST_ID).filter(is_sane) {
        Some(sent) => sent.clone(),
        None => {
            let mut text = [0; 36];
            let id = uuid::Uuid::now_v7();
            let id = id.hyphenated().encode_lower(&mut text);
            // Hexadecimal digits and hyphens are a header value.
            HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("-"))
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_else(|| "unknown".to_owned()))
}
