//! Map tiles for clients that display maps: the tiles of the API, at shorter addresses, with Basic
//! authentication and a rate limit of their own.

use super::{ApiState, layers, params::MapPath, tiles};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::{Access, Authenticated, Caller},
};
use axum::{Extension, Router, extract::State, response::Response, routing::get};

pub(super) fn router() -> Router<ApiState> {
    let tile = Authenticated { scope: None, access: Access::Map, handler: tiles::get_tile };
    let tilejson = Authenticated { scope: None, access: Access::Map, handler: get_tilejson };
    Router::new().route("/maps/{layer}/{z}/{x}/{y}", get(tile)).route("/maps/{file}", get(tilejson))
}

/// `/maps/{layer}.json`
async fn get_tilejson(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    MapPath(path): MapPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    layers::tilejson(&api, &caller, &path, options).await
}
