//! What all requests that write have in common: the JSON body, the preconditions, and the response.

use super::rejection;
use crate::{
    api::Api,
    clock,
    http::{ErrorDetail, HttpError, IfMatch, ResponseOptions, body},
    idempotency::{KeyHeader, REPLAYED},
    token_auth::Caller,
};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, header, request::Parts},
    response::Response,
};
use groma_domain::{
    FieldErrors, Scope, Violation,
    json::{self, JsonError, pointer_segment},
};
use groma_store::{
    BatchOutcome, Change, IdempotentRequest, Operation, OperationBatch, OperationEffect,
    OperationResult, Precondition,
};
use serde_json::{Map, Value};
use std::{io::Read, sync::Arc};

/// Far above the size of any valid record.
pub(in crate::api) const MAX_BODY_BYTES: u64 = 1 << 20;

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A request with a JSON object.
pub(in crate::api) struct JsonRequest {
    pub(in crate::api) fields: Map<String, Value>,
    pub(in crate::api) idempotent: Option<IdempotentRequest>,
}

impl JsonRequest {
    /// Receives the body of a POST or PATCH.
    pub(in crate::api) async fn receive(
        api: &Api,
        caller: &Caller,
        request: Request,
    ) -> Result<Self, HttpError> {
        let (parts, body) = request.into_parts();
        let is_patch = parts.method == Method::PATCH;
        let media_types: &[&str] = if is_patch { &[MERGE_PATCH, JSON] } else { &[JSON] };
        body::require_media_type(&parts.headers, media_types)?;
        if !is_patch {
            reject_if_match(&parts.headers)?;
        }
        let Received { parsed, idempotent } =
            receive(api, caller, &parts, body, MAX_BODY_BYTES, json::parse).await?;
        match parsed {
            Ok(Value::Object(fields)) => Ok(Self { fields, idempotent }),
            Ok(_) => Err(invalid_body(vec![JsonError {
                pointer: String::new(),
                message: "must be a JSON object".to_owned(),
            }])),
            Err(errors) => Err(invalid_body(errors)),
        }
    }
}

/// A body that was received.
pub(in crate::api) struct Received<R> {
    pub(in crate::api) parsed: R,
    /// The request, if it carried an idempotency key.
    pub(in crate::api) idempotent: Option<IdempotentRequest>,
}

/// Receives a body and parses it on a blocking thread. A POST can have an idempotency key.
pub(in crate::api) async fn receive<R: Send + 'static>(
    api: &Api,
    caller: &Caller,
    parts: &Parts,
    body: Body,
    limit: u64,
    parse: impl Fn(&[u8]) -> R + Clone + Send + 'static,
) -> Result<Received<R>, HttpError> {
    let key = match parts.method == Method::POST {
        true => Some(KeyHeader::parse(&parts.headers)?),
        false => None,
    };
    let read = move |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map(|_| parse(&bytes))
    };
    let (parsed, hash) = api.read_body(&parts.headers, body, limit, caller, read).await?;
    let parsed = parsed.map_err(|error| body::read_error(&error, limit))?;
    let idempotent = key.and_then(|key| key.with_body(parts, caller, hash));
    Ok(Received { parsed, idempotent })
}

/// Receives a POST that has nothing to send: its body can be empty or `{}`.
pub(in crate::api) async fn receive_nothing(
    api: &Api,
    caller: &Caller,
    parts: &Parts,
    body: Body,
) -> Result<Option<IdempotentRequest>, HttpError> {
    let received = receive(api, caller, parts, body, MAX_BODY_BYTES, parse_nothing).await?;
    received.parsed.map_err(invalid_body)?;
    Ok(received.idempotent)
}

fn parse_nothing(bytes: &[u8]) -> Result<(), Vec<JsonError>> {
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    let unknown = |name: &String| JsonError {
        pointer: format!("/{}", pointer_segment(name)),
        message: Violation::UnknownField.to_string(),
    };
    let errors: Vec<_> = match json::parse(bytes)? {
        Value::Object(fields) => fields.keys().map(unknown).collect(),
        _ => {
            let message = "must be empty or an empty JSON object".to_owned();
            vec![JsonError { pointer: String::new(), message }]
        }
    };
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The response to a body that is not the JSON that it should be.
pub(in crate::api) fn invalid_body(errors: Vec<JsonError>) -> HttpError {
    let detail = |JsonError { pointer, message }: JsonError| {
        let message = if pointer.is_empty() { format!("The body {message}") } else { message };
        ErrorDetail { pointer, message }
    };
    HttpError::bad_body(errors.into_iter().map(detail).collect())
}

/// Rejects a caller whose role does not include what a scope allows.
pub(in crate::api) fn require_role(caller: &Caller, scope: Scope) -> Result<(), HttpError> {
    let role = caller.token.role;
    role.require(scope.permission()).map_err(|error| {
        HttpError::forbidden(format!("{error}; the owner of this token has the role {role}"))
    })
}

/// Rejects an `If-Match` header on a route that cannot honour it.
pub(in crate::api) fn reject_if_match(headers: &HeaderMap) -> Result<(), HttpError> {
    match headers.contains_key(header::IF_MATCH) {
        true => Err(HttpError::bad_request("If-Match is not possible here")),
        false => Ok(()),
    }
}

/// The condition of an `If-Match` header.
pub(in crate::api) fn precondition(headers: &HeaderMap) -> Option<Precondition> {
    let if_match = IfMatch::parse(headers)?;
    Some(Precondition::new(move |document| if_match.matches(document)))
}

/// The resource that a request wrote.
pub(in crate::api) struct Written {
    effect: String,
    document: Vec<u8>,
    is_replayed: bool,
}

const RESULT: HeaderName = HeaderName::from_static("x-groma-result");

impl Written {
    /// The response with the resource.
    pub(in crate::api) fn response(self, options: ResponseOptions) -> Response {
        let mut response = options.written(self.document);
        if self.is_replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }

    /// The response to an upsert, which also says what it did.
    pub(in crate::api) fn upsert_response(self, options: ResponseOptions) -> Response {
        let effect = HeaderValue::try_from(&self.effect);
        let mut response = self.response(options);
        if let Ok(effect) = effect {
            response.headers_mut().insert(RESULT, effect);
        }
        response
    }
}

/// The name of an effect in responses.
pub(in crate::api) fn effect_name(effect: OperationEffect) -> &'static str {
    match effect {
        OperationEffect::Created => "created",
        OperationEffect::Updated => "updated",
        OperationEffect::Unchanged => "unchanged",
        OperationEffect::Deleted => "deleted",
    }
}

/// Executes one operation. `errors` are those of the body: with errors the operation is only checked, so
/// that the client learns of all problems at once.
pub(in crate::api) async fn execute(
    api: &Api,
    caller: &Caller,
    operation: Operation,
    request: JsonRequest,
    errors: FieldErrors,
) -> Result<Written, HttpError> {
    let (workspace, actor, now) = (caller.token.workspace, caller.actor(), clock::now());
    let JsonRequest { fields, idempotent } = request;
    if !errors.is_empty() {
        let change = Change { workspace, actor, now, commands: vec![operation.command] };
        let mut errors = errors;
        let checked = api.store.check(change).await?.pop();
        let error = errors.merge(checked.unwrap_or(Err(groma_domain::DomainError::AccessEnded)));
        return Err(match error {
            Err(error @ groma_domain::DomainError::Invalid(_)) => rejection(error, &fields),
            _ => rejection(groma_domain::DomainError::Invalid(errors.into_vec()), &fields),
        });
    }
    let batch = OperationBatch {
        workspace,
        actor,
        now,
        operations: vec![operation],
        is_atomic: true,
        with_documents: true,
        request: idempotent,
        respond: Arc::new(kept_response),
    };
    let (response, is_replayed) = match api.store.execute(batch).await? {
        BatchOutcome::Executed { response, .. } => (response, false),
        BatchOutcome::Replayed(response) => (response, true),
        BatchOutcome::Rejected(errors) => {
            let error = errors.into_iter().next().map(|(_, error)| error);
            let error = error.ok_or_else(|| HttpError::internal("rejected without an error"))?;
            return Err(rejection(error, &fields));
        }
    };
    let end = response.iter().position(|byte| *byte == b'\n').unwrap_or(response.len());
    let (effect, document) = response.split_at(end);
    let document = document.get(1..).unwrap_or_default().to_vec();
    Ok(Written { effect: String::from_utf8_lossy(effect).into_owned(), document, is_replayed })
}

/// The effect and the document of the only operation, as an idempotency key keeps them.
fn kept_response(results: &[OperationResult]) -> Vec<u8> {
    match results {
        [Ok(outcome)] => {
            [effect_name(outcome.effect).as_bytes(), b"\n", &outcome.document].concat()
        }
        _ => Vec::new(),
    }
}
