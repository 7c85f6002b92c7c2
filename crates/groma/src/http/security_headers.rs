//! Security headers of the web application and of the API documentation, on error pages too.

use super::FinalResponse;
use axum::{
    http::{HeaderName, HeaderValue, header},
    response::Response,
};

/// Only files of this application: no inline scripts, no inline styles, no frames.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; connect-src 'self'; worker-src 'self' blob:; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

/// Marks a response of the web application, so that the middleware keeps its body.
pub(crate) fn mark(response: &mut Response) {
    response.extensions_mut().insert(FinalResponse);
}

/// Tells browsers to use https for this host. Pages have this header already.
pub(crate) fn require_https(response: &mut Response) {
    let headers = response.headers_mut();
    headers
        .entry(header::STRICT_TRANSPORT_SECURITY)
        .or_insert(HeaderValue::from_static("max-age=63072000"));
}

/// Sets the headers of a page. Its map may load from the origins in `hosts` as well.
pub(crate) fn secure(response: &mut Response, is_https: bool, hosts: &[String]) {
    mark(response);
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    // The origin check of forms needs the referrer; other sites must not see it. Map servers do: the usage
    // policy of OpenStreetMap requires it, and others restrict keys by it. They see no more than the origin.
    let referrer = if hosts.is_empty() { "same-origin" } else { "strict-origin-when-cross-origin" };
    set(header::X_FRAME_OPTIONS, "DENY");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), payment=(), usb=(), geolocation=(self)",
    );
    if is_https {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=63072000; includeSubDomains");
    }
    if !headers.contains_key(header::REFERRER_POLICY) {
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    let policy = HeaderValue::try_from(content_policy(hosts));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        policy.unwrap_or(HeaderValue::from_static(CONTENT_POLICY)),
    );
}

fn content_policy(hosts: &[String]) -> String {
    if hosts.is_empty() {
        return CONTENT_POLICY.to_owned();
    }
    let hosts = hosts.join(" ");
    CONTENT_POLICY
        .replace("img-src 'self'", &format!("img-src 'self' {hosts}"))
        .replace("connect-src 'self'", &format!("connect-src 'self' {hosts}"))
}

/// The scheme, host and port of a URL.
pub(crate) fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find('/').map_or(url.len(), |at| host + at);
    &url[..end]
}
