//! Vector tiles of a layer.

use super::{ApiState, layers, params::TilePath};
use crate::{
    http::{HttpError, ResponseOptions},
    tiles::MEDIA_TYPE,
    token_auth::Caller,
};
use axum::{Extension, extract::State, response::Response};
use groma_domain::layer::LayerKey;

/// Get a vector tile.
#[utoipa::path(get, path = "/api/public/v1/layers/{id}/mvt/{z}/{x}/{y}", tag = "Layers",
    responses((status = 200, description = "The tile (MVT 2.1); the body is empty if the tile has no features",
        body = Vec<u8>, content_type = "application/vnd.mapbox-vector-tile")))]
pub(super) async fn get_tile(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: TilePath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let layer = match &path.layer.key {
        LayerKey::Id(id) => *id,
        LayerKey::Slug(_) => layers::find(&api, &caller, &path.layer).await?.id,
    };
    let tile = api.tiles.get(&api.store, workspace, layer, path.tile, options.encoding()).await?;
    let tile = tile.ok_or_else(|| path.layer.not_found())?;
    Ok(options.encoded(MEDIA_TYPE, &tile.body))
}
