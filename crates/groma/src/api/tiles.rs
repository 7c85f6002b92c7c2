//! Vector tiles: drawn when first asked for, kept compressed until the layer changes.

use super::{
    Shared,
    admit::Caller,
    answer::{Encoding, Made, Wishes},
    error::ApiError,
    params::TilePath,
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

/// For the initial size of the cache's hash table.
const TYPICAL_TILE_BYTES: u64 = 16 << 10;

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
    let (layer, encoding) = (path.layer.id()?, wishes.encoding());
    match api.tiles.get(&api.store, caller.0.workspace, layer, path.tile, encoding).await? {
        Some((_, made)) => Ok(wishes.made(MEDIA_TYPE, &made)),
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
    let found = api.tiles.get(&api.store, workspace, layer, tile, wishes.encoding()).await?;
    let (revision, made) = found.ok_or_else(|| ApiError::not_found("layer", &layer.to_string()))?;
    let mut response = wishes.made(MEDIA_TYPE, &made);
    if asked == Some(revision) {
        let kept = HeaderValue::from_static("private, max-age=86400, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, kept);
    }
    Ok(response)
}

/// Identifies a cached tile: one tile of one layer revision in one encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TileKey {
    layer: LayerId,
    revision: u64,
    tile: TileId,
    encoding: Encoding,
}

/// Encoded tiles by layer revision, up to a number of bytes.
pub(crate) struct TileCache {
    tiles: Cache<TileKey, Option<Arc<Made>>, Weight>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Clone)]
struct Weight;

impl Weighter<TileKey, Option<Arc<Made>>> for Weight {
    fn weight(&self, _: &TileKey, tile: &Option<Arc<Made>>) -> u64 {
        tile.as_ref().map_or(64, |tile| tile.weight() as u64)
    }
}

/// Statistics of the cache.
pub(crate) struct TileCacheStats {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl TileCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let entries = usize::try_from(bytes / TYPICAL_TILE_BYTES).unwrap_or_default();
        Self {
            tiles: Cache::with_weighter(entries, bytes, Weight),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub(crate) fn stats(&self) -> TileCacheStats {
        TileCacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            entries: self.tiles.len() as u64,
            bytes: self.tiles.weight(),
        }
    }

    /// The tile at the layer's current revision, with that revision; `None` if the layer does not exist.
    /// Concurrent requests for the same tile wait for one of them to encode it.
    async fn get(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
        encoding: Encoding,
    ) -> Result<Option<(u64, Arc<Made>)>, ApiError> {
        let Some(revision) = store.layer_revision(workspace, layer).await? else {
            return Ok(None);
        };
        let key = TileKey { layer, revision, tile, encoding };
        if let Some(tile) = self.tiles.get(&key) {
            self.hits.fetch_add(1, Relaxed);
            return Ok(tile.map(|tile| (revision, tile)));
        }
        let encode = async {
            self.misses.fetch_add(1, Relaxed);
            let tile = store.tile(workspace, layer, tile).await?;
            Ok::<_, ApiError>(tile.map(|tile| Arc::new(Made::new(tile.bytes, encoding))))
        };
        let tile = self.tiles.get_or_insert_async(&key, encode).await?;
        Ok(tile.map(|tile| (revision, tile)))
    }
}
