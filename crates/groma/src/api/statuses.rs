//! Statuses: the words a workspace uses for where its records stand.

use super::{
    Shared,
    admit::Caller,
    answer::Wishes,
    error::ApiError,
    params::ListQuery,
    records::{Envelope, envelope, envelope_start},
};
use axum::{Extension, extract::State, response::Response};
use groma_domain::Status;

/// List statuses.
#[utoipa::path(get, path = "/api/public/v1/statuses", tag = "Statuses",
    responses((status = 200, description = "A page of statuses, oldest first", body = Envelope<Status>)))]
pub(super) async fn list_statuses(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    let page = api.store.statuses(caller.0.workspace, &params, envelope_start()).await?;
    Ok(wishes.json(envelope(page, &params)))
}
