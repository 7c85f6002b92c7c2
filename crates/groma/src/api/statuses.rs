//! The statuses of a workspace.

use super::{
    ApiState,
    auth::Caller,
    envelope::{Envelope, envelope},
    params::ListQuery,
};
use crate::http::{HttpError, ResponseOptions};
use axum::{Extension, extract::State, response::Response};
use groma_domain::Status;

/// List statuses.
#[utoipa::path(get, path = "/api/public/v1/statuses", tag = "Statuses",
    responses((status = 200, description = "A page of statuses, oldest first", body = Envelope<Status>)))]
pub(super) async fn list_statuses(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let page = api.store.statuses(caller.token.workspace, &params).await?;
    Ok(options.json(envelope(&page, &params)))
}
