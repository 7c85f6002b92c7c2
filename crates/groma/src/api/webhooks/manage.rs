//! Reading and changing endpoints, rotating their secrets, and testing them.

use super::{administrator, endpoint_id, rejection, store_error};
use crate::{
    api::{
        ApiState,
        envelope::Envelope,
        params::{KeyPath, ListQuery},
        records::{JsonRequest, precondition, receive_nothing},
    },
    clock,
    http::{ErrorDetail, HttpError, NO_STORE, ResponseOptions},
    idempotency::{first_response, replayed_response},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::header,
    response::{IntoResponse, Response},
};
use groma_domain::{
    DomainError, FieldErrors, Violation,
    input::ParsedInput,
    json::pointer_segment,
    text::fold,
    webhook::{DeliveryDocument, Endpoint, EndpointInput},
};
use groma_store::{
    EndpointChange, EndpointHealth, IdempotentRequest, Outcome, Page, WebhookRequest,
    endpoint_with_secret,
};
use serde_json::{Map, Value};

const HOUR_MILLIS: i64 = 60 * 60 * 1_000;
/// How long the previous secret can stay valid, in hours.
pub(in crate::api) const MAX_OVERLAP_HOURS: u32 = 7 * 24;

/// List webhook endpoints.
#[utoipa::path(get, path = "/api/public/v1/webhooks/endpoints", tag = "Webhooks",
    responses((status = 200, description = "A page of webhook endpoints, oldest first", body = Envelope<Endpoint>)))]
pub(in crate::api) async fn list_webhook_endpoints(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let workspace = caller.token.workspace;
    let mut endpoints = Vec::new();
    for EndpointHealth { endpoint, .. } in api.store.endpoints(workspace).await? {
        let description = endpoint.description.as_deref().unwrap_or_default();
        let text = fold(&format!("{}\n{description}", endpoint.url.as_str()));
        if list.params.term.as_ref().is_none_or(|term| text.contains(term.as_str())) {
            // Ids rise with time.
            let number = endpoint.id.0.as_u64_pair().0;
            endpoints.push((number, serde_json::to_vec(&endpoint).map_err(not_json)?));
        }
    }
    endpoints.sort();
    let page = Page::of(workspace, "endpoints", &endpoints, &list.params, Clone::clone)?;
    list.respond(&api.public_url, &page, options)
}

/// Get one webhook endpoint.
#[utoipa::path(get, path = "/api/public/v1/webhooks/endpoints/{key}", tag = "Webhooks",
    responses((status = 200, description = "The endpoint", body = Endpoint)))]
pub(in crate::api) async fn get_webhook_endpoint(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let health = api.store.endpoint(caller.token.workspace, endpoint_id(&path)?).await?;
    Ok(options.json(serde_json::to_vec(&health.endpoint).map_err(not_json)?))
}

/// Change a webhook endpoint.
#[utoipa::path(patch, path = "/api/public/v1/webhooks/endpoints/{key}", tag = "Webhooks",
    request_body(content((serde_json::Value = "application/merge-patch+json"),
        (serde_json::Value = "application/json"))),
    responses((status = 200, description = "The endpoint", body = Endpoint)))]
pub(in crate::api) async fn update_webhook_endpoint(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let (actor, workspace) = (administrator(&caller)?, caller.token.workspace);
    let precondition = precondition(request.headers());
    let request = JsonRequest::receive(&api, &caller, request).await?;
    let policy = &api.endpoint_policy;
    let input = EndpointInput::read_patch(&request.fields, |url| policy.parse_url(url));
    let input = input.map_err(rejection)?;
    let id = endpoint_id(&path)?;
    if input.enabled == Some(true) && input.url.is_none() {
        let url = api.store.endpoint(workspace, id).await?.endpoint.url;
        if !policy.allows_scheme(&url) {
            let message = Violation::HttpNotAllowed.to_string();
            let detail = ErrorDetail { pointer: "/enabled".to_owned(), message };
            return Err(HttpError::conflict_in_body(vec![detail]));
        }
    }
    let change = EndpointChange::Edit { input: Box::new(input), precondition };
    let changed = api.store.change_endpoint(workspace, actor, id, change, clock::now()).await;
    let endpoint = changed.map_err(store_error)?;
    Ok(options.written(serde_json::to_vec(&endpoint).map_err(not_json)?))
}

/// Replace the secret of a webhook endpoint.
#[utoipa::path(post, path = "/api/public/v1/webhooks/endpoints/{key}/rotate", tag = "Webhooks",
    request_body(content((serde_json::Value = "application/json"))),
    responses((status = 200, description = "The endpoint, with its new secret", body = Endpoint)))]
pub(in crate::api) async fn rotate_webhook_secret(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
    request: Request,
) -> Response {
    let response = rotate(api, caller, path, request).await.into_response();
    options.compress(response).await
}

async fn rotate(
    api: ApiState,
    caller: Caller,
    path: KeyPath,
    request: Request,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let JsonRequest { fields, idempotent } = JsonRequest::receive(&api, &caller, request).await?;
    let overlap = parse_overlap(&fields).map_err(rejection)?;
    let (id, request) = (endpoint_id(&path)?, webhook_request(&caller, idempotent));
    let rotated = api.store.rotate_secret(request, id, None, HOUR_MILLIS * i64::from(overlap));
    let mut response = match rotated.await.map_err(store_error)? {
        Outcome::First(rotated) => {
            let body = endpoint_with_secret(&rotated.endpoint, &rotated.secret);
            first_response(serde_json::to_vec(&body))?
        }
        Outcome::Replayed(response) => replayed_response(response)?,
    };
    // It contains the secret.
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}

/// How long the previous secret stays valid, in hours.
fn parse_overlap(fields: &Map<String, Value>) -> Result<u32, DomainError> {
    let mut errors = FieldErrors::default();
    for name in fields.keys().filter(|name| *name != "overlapHours") {
        errors.add(&pointer_segment(name), Violation::UnknownField);
    }
    let not_hours = || Violation::NotInteger { min: 0, max: MAX_OVERLAP_HOURS };
    let hours = fields.get("overlapHours").ok_or(Violation::Required).and_then(|value| {
        let hours = value.as_u64().and_then(|hours| u32::try_from(hours).ok());
        hours.filter(|hours| *hours <= MAX_OVERLAP_HOURS).ok_or_else(not_hours)
    });
    let input = errors.check("overlapHours", hours).unwrap_or_default();
    ParsedInput { input, errors }.into_result()
}

/// Send a test event to a webhook endpoint.
#[utoipa::path(post, path = "/api/public/v1/webhooks/endpoints/{key}/test", tag = "Webhooks",
    responses((status = 200, description = "The delivery", body = DeliveryDocument)))]
pub(in crate::api) async fn test_webhook_endpoint(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    request: Request,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let (parts, body) = request.into_parts();
    let idempotent = receive_nothing(&api, &caller, &parts, body).await?;
    let (id, request) = (endpoint_id(&path)?, webhook_request(&caller, idempotent));
    match api.store.test_endpoint(request, id).await.map_err(store_error)? {
        Outcome::First(delivery) => first_response(serde_json::to_vec(&delivery)),
        Outcome::Replayed(response) => replayed_response(response),
    }
}

pub(super) fn webhook_request(
    caller: &Caller,
    idempotent: Option<IdempotentRequest>,
) -> WebhookRequest {
    let request = WebhookRequest::new(caller.token.workspace, caller.actor(), clock::now());
    WebhookRequest { idempotent, ..request }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
pub(super) fn not_json(error: serde_json::Error) -> HttpError {
    HttpError::internal(error.to_string())
}
