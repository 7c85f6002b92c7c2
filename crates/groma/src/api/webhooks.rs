//! Webhook endpoints and their deliveries. Only the responses that create an endpoint or rotate its secret
//! contain the secret.

pub(super) mod deliveries;
pub(super) mod manage;

use super::{ApiState, params::KeyPath};
use crate::{
    clock,
    http::{ErrorDetail, HttpError, NO_STORE, ResponseOptions, body},
    idempotency::{KeyHeader, first_response, replayed_response},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::{
    DomainError, EndpointId, FieldError, Permission, Violation,
    webhook::{Endpoint, EndpointInput},
};
use groma_store::{Actor, EndpointOutcome, NewEndpoint, endpoint_with_secret};
use groma_webhooks::EndpointPolicy;
use serde_json::Value;
use std::io::Read;

/// Far above the size of any valid body.
const MAX_BODY_BYTES: u64 = 64 * 1024;

/// Create a webhook endpoint.
#[utoipa::path(post, path = "/api/public/v1/webhooks/endpoints", tag = "Webhooks",
    request_body(content((serde_json::Value = "application/json"))),
    responses((status = 200, description = "The endpoint, with its secret", body = Endpoint)))]
pub(super) async fn create_webhook_endpoint(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    options: ResponseOptions,
    request: Request,
) -> Response {
    options.compress(create(api, caller, request).await.into_response()).await
}

async fn create(api: ApiState, caller: Caller, request: Request) -> Result<Response, HttpError> {
    let actor = administrator(&caller)?;
    let (parts, body) = request.into_parts();
    body::require_media_type(&parts.headers, &["application/json"])?;
    let key = KeyHeader::parse(&parts.headers)?;
    let read = |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map(|_| bytes)
    };
    let (bytes, hash) = api.read_body(&parts.headers, body, MAX_BODY_BYTES, &caller, read).await?;
    let bytes = bytes.map_err(|error| body::read_error(&error, MAX_BODY_BYTES))?;
    let outcome = api.store.create_endpoint(NewEndpoint {
        workspace: caller.token.workspace,
        actor,
        now: clock::now(),
        draft: parse_draft(&bytes, &api.endpoint_policy)?,
        request: key.with_body(&parts, &caller, hash),
    });
    let mut response = match outcome.await.map_err(store_error)? {
        EndpointOutcome::Created(endpoint, secret) => {
            first_response(serde_json::to_vec(&endpoint_with_secret(&endpoint, &secret)))?
        }
        EndpointOutcome::Replayed(response) => replayed_response(response)?,
    };
    // It contains the secret.
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}

/// Delete a webhook endpoint.
#[utoipa::path(delete, path = "/api/public/v1/webhooks/endpoints/{key}", tag = "Webhooks",
    responses((status = 204, description = "The endpoint and its pending deliveries are deleted")))]
pub(super) async fn delete_webhook_endpoint(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
) -> Result<Response, HttpError> {
    let actor = administrator(&caller)?;
    let endpoint = endpoint_id(&path)?;
    api.store.delete_endpoint(caller.token.workspace, actor, endpoint, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The caller, if the token's owner may manage webhooks.
fn administrator(caller: &Caller) -> Result<Actor, HttpError> {
    let token = &caller.token;
    token.role.require(Permission::Administer).map_err(|_| {
        HttpError::forbidden(format!(
            "Managing webhooks requires the role admin; the owner of this token has the role {}",
            token.role
        ))
    })?;
    Ok(caller.actor())
}

fn parse_draft(body: &[u8], policy: &EndpointPolicy) -> Result<EndpointInput, HttpError> {
    let invalid_body = |message: String| {
        HttpError::bad_body(vec![ErrorDetail { pointer: String::new(), message }])
    };
    let values = match serde_json::from_slice(body) {
        Ok(Value::Object(values)) => values,
        Ok(_) => return Err(invalid_body("The body must be a JSON object".to_owned())),
        Err(error) => return Err(invalid_body(format!("The body must be valid JSON: {error}"))),
    };
    EndpointInput::read(&values, |url| policy.parse_url(url)).map_err(rejection)
}

fn endpoint_id(path: &KeyPath) -> Result<EndpointId, HttpError> {
    path.text.parse().map_err(|_| HttpError::not_found("webhook endpoint", &path.text))
}

/// The response to a body with invalid values: pointers to them.
fn rejection(error: DomainError) -> HttpError {
    let DomainError::Invalid(problems) = error else {
        return groma_store::Error::from(error).into();
    };
    let details = problems.into_iter().take(20);
    let details = details.map(|FieldError { field, violation }| ErrorDetail {
        pointer: format!("/{field}"),
        message: violation.to_string(),
    });
    HttpError::bad_body(details.collect())
}

/// The response to an error of the store.
fn store_error(error: groma_store::Error) -> HttpError {
    match error.domain_error() {
        Some(DomainError::Invalid(problems)) => match &problems[..] {
            [
                FieldError {
                    violation: Violation::EndpointDisabled | Violation::EventErased, ..
                },
            ] => HttpError::conflict(error.to_string()),
            [FieldError { field, .. }, ..] if field.starts_with("filter/") => {
                rejection(DomainError::Invalid(problems.clone()))
            }
            _ => error.into(),
        },
        _ => error.into(),
    }
}
