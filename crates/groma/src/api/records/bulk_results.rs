//! The results of bulk operations.

use super::{problems::rejection, request::effect_name};
use crate::http::{ErrorDetail, HttpError};
use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use groma_domain::DomainError;
use groma_store::{OperationEffect, OperationOutcome, OperationResult};
use serde_json::{Map, Value, json};

pub(super) const JSON: &str = "application/json";
pub(in crate::api) const NDJSON: &str = "application/x-ndjson";

/// The data of an operation, to which problems point; or its problems.
pub(super) type Entry = Result<Map<String, Value>, Vec<ErrorDetail>>;

/// The error of an operation that cannot be read.
pub(super) fn invalid_operation(index: usize, problems: &[ErrorDetail]) -> HttpError {
    HttpError::bad_body(problems.to_vec()).within(&format!("/{index}"))
}

/// The error of an operation, with pointers into the body.
pub(super) fn operation_error(
    index: usize,
    error: DomainError,
    data: &Map<String, Value>,
) -> HttpError {
    let place = match &error {
        DomainError::Invalid(_) => "/data",
        DomainError::NotFound { .. } => "/key",
        DomainError::Conflict { .. } => "/ifVersion",
        _ => "",
    };
    rejection(error, data).within(&format!("/{index}{place}"))
}

/// The response to an atomic request of which operations failed. All of them were readable.
pub(super) fn all_errors(entries: &[Entry], errors: Vec<(usize, DomainError)>) -> HttpError {
    let empty = Map::new();
    let errors = errors.into_iter().map(|(index, error)| {
        let data = entries.get(index).and_then(|entry| entry.as_ref().ok()).unwrap_or(&empty);
        operation_error(index, error, data)
    });
    let first = errors.reduce(HttpError::and);
    first.unwrap_or_else(|| HttpError::internal("rejected without an error"))
}

/// The result of an operation as a line of JSON.
pub(super) fn line(index: usize, result: Result<&OperationOutcome, HttpError>) -> Vec<u8> {
    let line = match result {
        Ok(outcome) => json!({
            "index": index,
            "status": effect_name(outcome.effect),
            "id": outcome.id,
            "reference": outcome.reference,
            "version": match outcome.effect {
                OperationEffect::Deleted => None,
                _ => outcome.version,
            },
        }),
        Err(error) => json!({ "index": index, "status": "failed", "id": null, "reference": null,
            "version": null, "error": error.into_body() }),
    };
    let mut line = line.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The results as they are kept for a repeated request: the counts, then a line for each.
pub(super) fn render(entries: &[Entry], results: &[OperationResult]) -> Vec<u8> {
    let mut results = results.iter();
    let (mut applied, mut failed) = (0, 0);
    let mut lines = Vec::with_capacity(entries.len() * 160);
    for (index, entry) in entries.iter().enumerate() {
        let result = match entry {
            Ok(data) => match results.next() {
                Some(Ok(outcome)) => Ok(outcome),
                Some(Err(error)) => Err(operation_error(index, error.clone(), data)),
                None => break,
            },
            Err(problems) => Err(invalid_operation(index, problems)),
        };
        match result.is_ok() {
            true => applied += 1,
            false => failed += 1,
        }
        lines.append(&mut line(index, result));
    }
    with_counts(applied, failed, &lines)
}

/// The lines of results after their counts.
pub(super) fn with_counts(applied: usize, failed: usize, lines: &[u8]) -> Vec<u8> {
    let counts = format!("\"applied\":{applied},\"failed\":{failed}\n");
    [counts.as_bytes(), lines].concat()
}

/// The results as lines, or as one JSON document.
pub(super) fn response(kept: &[u8], wants_lines: bool) -> Response {
    let end = kept.iter().position(|byte| *byte == b'\n').unwrap_or(kept.len());
    let (counts, lines) = kept.split_at(end);
    let lines = lines.get(1..).unwrap_or_default();
    if wants_lines {
        return with_type(NDJSON, lines.to_vec());
    }
    let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).collect();
    let body = [b"{", counts, b",\"results\":[", &lines.join(&b','), b"]}"].concat();
    with_type(JSON, body)
}

fn with_type(media_type: &'static str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}
