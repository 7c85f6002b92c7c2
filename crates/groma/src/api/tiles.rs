//! Vector tiles: drawn when first asked for, kept compressed until the layer changes.

use super::{
    Shared,
    admit::Caller,
    answer::{Encoding, Made, Wishes},
    error::ApiError,
    params::TilePath,
    vicinities::Vicinities,
};
use axum::{
    Extension,
    extract::{FromRequestParts, State},
    http::{HeaderValue, header, request::Parts},
    response::Response,
};
use groma_domain::{LayerId, WorkspaceId};
use groma_geo::grid::TileId;
use groma_store::Store;
use quick_cache::{Weighter, sync::Cache};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";

/// What a tile takes in memory as a rule.
const USUAL_WEIGHT: u64 = 16 << 10;

/// Get a vector tile.
#[utoipa::path(get, path = "/api/public/v1/layers/{id}/mvt/{z}/{x}/{y}", tag = "Layers",
    responses((status = 200, description = "The tile (MVT 2.1); an empty body when there is nothing in it",
        body = Vec<u8>, content_type = "application/vnd.mapbox-vector-tile")))]
pub(super) async fn get_tile(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    path: TilePath,
    wishes: Wishes,
) -> Result<Response, ApiError> {
    let (workspace, layer) = (caller.0.workspace, path.layer.id()?);
    let revision = api.store.layer_revision(workspace, layer).await?;
    let revision = revision.ok_or_else(|| path.layer.not_found())?;
    let key = TileKey { layer, revision, tile: path.tile, encoding: wishes.encoding() };
    match api.tiles.get(&api.store, workspace, key).await? {
        Some(made) => Ok(wishes.made(MEDIA_TYPE, &made)),
        None => Err(path.layer.not_found()),
    }
}

/// A tile for the application's own map, over a session. The one of the revision that was `asked` for
/// never changes.
pub(crate) async fn tile_answer(
    api: &super::Api,
    workspace: WorkspaceId,
    layer: LayerId,
    tile: TileId,
    asked: Option<u64>,
    mut parts: Parts,
) -> Result<Response, ApiError> {
    let Ok(wishes) = Wishes::from_request_parts(&mut parts, &()).await;
    let not_found = || ApiError::not_found("layer", &layer.to_string());
    let revision = api.store.layer_revision(workspace, layer).await?.ok_or_else(not_found)?;
    let key = TileKey { layer, revision, tile, encoding: wishes.encoding() };
    let made = api.tiles.get(&api.store, workspace, key).await?.ok_or_else(not_found)?;
    let mut response = wishes.made(MEDIA_TYPE, &made);
    if asked == Some(revision) {
        let kept = HeaderValue::from_static("private, max-age=86400, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, kept);
    }
    Ok(response)
}

/// A tile of one state of a layer, in one encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TileKey {
    layer: LayerId,
    revision: u64,
    tile: TileId,
    encoding: Encoding,
}

/// Tiles that were made, up to so many bytes.
pub(crate) struct TileCache {
    made: Cache<TileKey, Option<Arc<Made>>, Weight>,
    vicinities: Vicinities,
    found: AtomicU64,
    drawn: AtomicU64,
}

#[derive(Clone)]
struct Weight;

impl Weighter<TileKey, Option<Arc<Made>>> for Weight {
    fn weight(&self, _: &TileKey, made: &Option<Arc<Made>>) -> u64 {
        made.as_ref().map_or(64, |made| made.weight() as u64)
    }
}

/// How the cache fares.
pub(crate) struct TileFigures {
    /// Tiles that were there.
    pub(crate) found: u64,
    /// Tiles that had to be drawn.
    pub(crate) drawn: u64,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    /// What the features around them take.
    pub(crate) feature_bytes: u64,
}

impl TileCache {
    pub(crate) fn new(bytes: u64, feature_bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL_WEIGHT).unwrap_or_default();
        Self {
            made: Cache::with_weighter(usual, bytes, Weight),
            vicinities: Vicinities::new(feature_bytes),
            found: AtomicU64::new(0),
            drawn: AtomicU64::new(0),
        }
    }

    pub(crate) fn figures(&self) -> TileFigures {
        TileFigures {
            found: self.found.load(Relaxed),
            drawn: self.drawn.load(Relaxed),
            entries: self.made.len() as u64,
            bytes: self.made.weight(),
            feature_bytes: self.vicinities.bytes(),
        }
    }

    /// The tile; of those who ask for it at the same time one makes it.
    async fn get(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        key: TileKey,
    ) -> Result<Option<Arc<Made>>, ApiError> {
        if let Some(made) = self.made.get(&key) {
            self.found.fetch_add(1, Relaxed);
            return Ok(made);
        }
        let make = async {
            self.drawn.fetch_add(1, Relaxed);
            let layer = (key.layer, key.revision);
            let tile = self.vicinities.tile(store, workspace, layer, key.tile).await?;
            Ok::<_, ApiError>(tile.map(|tile| Arc::new(Made::new(tile.bytes, key.encoding))))
        };
        self.made.get_or_insert_async(&key, make).await
    }
}
