//! The statuses of a workspace.

use super::{
    ApiState,
    envelope::Envelope,
    params::{KeyPath, ListQuery, parse_query},
    records::{JsonRequest, execute, precondition, require_role},
};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{RawQuery, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use groma_domain::{
    FieldErrors, ListParams, Scope, Status, StatusId,
    input::{ParsedInput, StatusRef},
    status::StatusInput,
};
use groma_store::{Command, Operation, StatusTarget};
use serde_json::Map;

/// List statuses.
#[utoipa::path(get, path = "/api/public/v1/statuses", tag = "Statuses",
    responses((status = 200, description = "A page of statuses, oldest first", body = Envelope<Status>)))]
pub(super) async fn list_statuses(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let page = api.store.statuses(caller.token.workspace, &list.params).await?;
    list.respond(&api.public_url, &page, options)
}

/// Get one status by id.
#[utoipa::path(get, path = "/api/public/v1/statuses/{key}", tag = "Statuses",
    responses((status = 200, description = "The status", body = Status)))]
pub(super) async fn get_status(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Ok(options.json(find(&api, &caller, &path).await?.document()))
}

/// Create a status.
#[utoipa::path(post, path = "/api/public/v1/statuses", tag = "Statuses",
    request_body(content((serde_json::Value = "application/json"))),
    responses((status = 200, description = "The status", body = Status)))]
pub(super) async fn create_status(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let scope = Scope::ManageStatus;
    require_role(&caller, scope)?;
    let request = JsonRequest::receive(&api, &caller, request).await?;
    let ParsedInput { input, errors } = StatusInput::read_json(&request.fields);
    let command = Command::SaveStatus { target: StatusTarget::New, input };
    let operation = Operation { command, scope, precondition: None };
    Ok(execute(&api, &caller, operation, request, errors).await?.response(options))
}

/// Change a status.
#[utoipa::path(patch, path = "/api/public/v1/statuses/{key}", tag = "Statuses",
    request_body(content((serde_json::Value = "application/merge-patch+json"),
        (serde_json::Value = "application/json"))),
    responses((status = 200, description = "The status", body = Status)))]
pub(super) async fn update_status(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let scope = Scope::ManageStatus;
    require_role(&caller, scope)?;
    let precondition = precondition(request.headers());
    let request = JsonRequest::receive(&api, &caller, request).await?;
    let ParsedInput { input, errors } = StatusInput::read_json(&request.fields);
    let target = StatusTarget::Existing(StatusRef::Id(parse_id(&path)?));
    let operation =
        Operation { command: Command::SaveStatus { target, input }, scope, precondition };
    Ok(execute(&api, &caller, operation, request, errors).await?.response(options))
}

/// Delete a status.
#[utoipa::path(delete, path = "/api/public/v1/statuses/{key}", tag = "Statuses",
    responses((status = 204, description = "The status is deleted")))]
pub(super) async fn delete_status(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let scope = Scope::ManageStatus;
    require_role(&caller, scope)?;
    let [replacement] = parse_query(&query.unwrap_or_default(), ["replacement"])
        .map_err(|problem| HttpError::bad_parameter(&problem))?;
    let replacement = replacement.map(|text| match text.parse() {
        Ok(id) => StatusRef::Id(id),
        Err(_) => StatusRef::Name(text),
    });
    let status = find(&api, &caller, &path).await?;
    let (kind, status) = (status.applies_to, StatusRef::Id(status.id));
    let command = Command::DeleteStatus { kind, status, replacement };
    let operation = Operation { command, scope, precondition: precondition(&headers) };
    let request = JsonRequest { fields: Map::new(), idempotent: None };
    execute(&api, &caller, operation, request, FieldErrors::default()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn parse_id(path: &KeyPath) -> Result<StatusId, HttpError> {
    path.text.parse().map_err(|_| HttpError::not_found("status", &path.text))
}

async fn find(api: &ApiState, caller: &Caller, path: &KeyPath) -> Result<Status, HttpError> {
    let id = parse_id(path)?;
    let all = ListParams { limit: u32::MAX, ..ListParams::default() };
    for document in api.store.statuses(caller.token.workspace, &all).await?.documents {
        let status: Status = serde_json::from_slice(&document)
            .map_err(|error| HttpError::internal(error.to_string()))?;
        if status.id == id {
            return Ok(status);
        }
    }
    Err(HttpError::not_found("status", &path.text))
}
