//! Finds the records that parameters name.

use super::ApiState;
use crate::http::HttpError;
use groma_domain::{FieldError, Kind, RecordId, WorkspaceId, reference::Key};
use serde::Deserialize;

/// The part of a record's document that a filter needs.
#[derive(Deserialize)]
struct Document {
    id: RecordId,
}

/// The id of a record that a parameter names.
pub(super) async fn find_record(
    api: &ApiState,
    workspace: WorkspaceId,
    kind: Kind,
    key: Option<&str>,
) -> Result<Option<RecordId>, HttpError> {
    let Some(text) = key else { return Ok(None) };
    let found = match Key::parse(text) {
        Some(key) => api.store.get(workspace, kind, &key).await?,
        None => None,
    };
    let not_found = || {
        let message = "does not exist in this workspace";
        HttpError::bad_parameter(&FieldError::new(kind.name(), message))
    };
    let document = serde_json::from_slice(&found.ok_or_else(not_found)?);
    let Document { id } = document.map_err(|error| HttpError::internal(error.to_string()))?;
    Ok(Some(id))
}
