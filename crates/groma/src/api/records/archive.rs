//! Archiving and restoring folders.

use super::request::{JsonRequest, Written, execute, precondition, receive_nothing, require_role};
use crate::{
    api::{ApiState, params::KeyPath},
    clock,
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Request, State},
    response::Response,
};
use groma_domain::{
    FieldErrors, Kind, Scope, Timestamp,
    input::Field,
    record::{Folder, FolderInput, RecordInput},
    reference::Key,
};
use groma_store::{Command, Operation, SaveTarget};
use serde_json::Map;

/// A command that archives a folder, or restores it.
pub(in crate::api) fn command(
    key: Key,
    version: Option<u64>,
    archived_at: Option<Timestamp>,
) -> Command {
    let input = FolderInput { archived_at: Field::Set(archived_at), ..FolderInput::default() };
    let target = SaveTarget::Existing { key, version };
    Command::Save { target, draft: Box::new(RecordInput::Folder(input)) }
}

async fn set_archived(
    api: ApiState,
    caller: Caller,
    path: KeyPath,
    request: Request,
    archived_at: Option<Timestamp>,
) -> Result<Written, HttpError> {
    let scope = Scope::WriteFolder;
    require_role(&caller, scope)?;
    let (parts, body) = request.into_parts();
    let idempotent = receive_nothing(&api, &caller, &parts, body).await?;
    let key = path.key.ok_or_else(|| HttpError::not_found(Kind::Folder.name(), &path.text))?;
    let precondition = precondition(&parts.headers);
    let operation = Operation { command: command(key, None, archived_at), scope, precondition };
    let request = JsonRequest { fields: Map::new(), idempotent };
    execute(&api, &caller, operation, request, FieldErrors::default()).await
}

/// Archive a folder.
#[utoipa::path(post, path = "/api/public/v1/folders/{key}/archive", tag = "Folders",
    responses((status = 200, description = "The folder", body = Folder)))]
pub(in crate::api) async fn archive_folder(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let archived_at = Some(clock::now());
    Ok(set_archived(api, caller, path, request, archived_at).await?.response(options))
}

/// Restore an archived folder.
#[utoipa::path(post, path = "/api/public/v1/folders/{key}/unarchive", tag = "Folders",
    responses((status = 200, description = "The folder", body = Folder)))]
pub(in crate::api) async fn unarchive_folder(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    Ok(set_archived(api, caller, path, request, None).await?.response(options))
}
