//! Errors as problem details (RFC 9457), which the OGC API uses instead of the body of the API.

use super::error::{ErrorBody, ErrorDetail};
use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use serde::Serialize;

/// The media type of problem details.
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

#[derive(Serialize)]
struct Problem<'a> {
    /// The title says it all.
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ProblemDetail<'a>>,
}

/// What is wrong at one place of the body.
#[derive(Serialize)]
struct ProblemDetail<'a> {
    detail: &'a str,
    /// A JSON pointer.
    pointer: &'a str,
}

/// The same response, with problem details if it is an error with the body of the API.
pub(super) fn with_problem_details(mut response: Response) -> Response {
    let Some(document) = response.extensions_mut().remove::<ErrorBody>() else { return response };
    let errors = document.details.iter();
    let errors =
        errors.map(|ErrorDetail { pointer, message }| ProblemDetail { detail: message, pointer });
    let problem = Problem {
        kind: "about:blank",
        title: document.error,
        status: document.status_code,
        detail: &document.message,
        errors: errors.collect(),
    };
    // Plain data always serializes.
    *response.body_mut() = Body::from(serde_json::to_vec(&problem).unwrap_or_default());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, PROBLEM);
    // That of the other body.
    headers.remove(header::CONTENT_LENGTH);
    response
}
