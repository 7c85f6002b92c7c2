//! The headers that every page has, those that say what went wrong included.

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::Response,
};

/// Nothing but what this application serves itself: no inline script, no inline style, no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; connect-src 'self'; worker-src 'self' blob:; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

/// For the documentation of the API, which is someone else's page: it styles itself, and calls both
/// addresses.
const DOCUMENTATION: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; connect-src 'self'";

/// On an answer that the web application made: it is not to be replaced at the edge.
#[derive(Clone)]
pub(crate) struct Finished;

/// Says that this answer is one of the web application.
pub(crate) fn mark(response: &mut Response) {
    response.extensions_mut().insert(Finished);
}

/// Puts the headers on. `hosts` are those that the map may load from besides.
pub(crate) fn secure(response: &mut Response, is_https: bool, hosts: &[String]) {
    mark(response);
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    // A form of our own tells where it came from, and nobody else learns where someone was.
    set(header::REFERRER_POLICY, "same-origin");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), payment=(), usb=(), geolocation=(self)",
    );
    if is_https {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=63072000; includeSubDomains");
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    let policy = HeaderValue::from_str(&policy(hosts));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        policy.unwrap_or(HeaderValue::from_static(POLICY)),
    );
}

/// The same for the documentation of the API, from where `origins` are called. Errors are left to the
/// edge, which answers them as the API does.
pub(crate) fn secure_documentation(response: &mut Response, is_https: bool, origins: &[&str]) {
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        return;
    }
    secure(response, is_https, &[]);
    let policy = format!("{DOCUMENTATION} {}", origins.join(" "));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

fn policy(hosts: &[String]) -> String {
    if hosts.is_empty() {
        return POLICY.to_owned();
    }
    let hosts = hosts.join(" ");
    POLICY
        .replace("img-src 'self'", &format!("img-src 'self' {hosts}"))
        .replace("connect-src 'self'", &format!("connect-src 'self' {hosts}"))
}
