//! Vector tiles for the API and for the map of the web application, cached in memory until their layer
//! changes.

use crate::{
    http::{EncodedBody, Encoding, ResponseOptions},
    metrics,
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, header, request::Parts},
    response::Response,
};
use groma_domain::{LayerId, WorkspaceId};
use groma_geo::grid::TileId;
use groma_store::Store;
use quick_cache::{Weighter, sync::Cache};
use std::sync::Arc;

pub(crate) const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";

/// Estimates the number of cached tiles, for the initial size of the cache's hash table.
const TYPICAL_TILE_BYTES: u64 = 16 << 10;

/// An encoded tile and the layer revision that it shows.
pub(crate) struct Tile {
    pub(crate) revision: u64,
    pub(crate) body: Arc<EncodedBody>,
}

/// Encoded tiles by layer revision, up to a number of bytes.
pub(crate) struct TileCache {
    tiles: Cache<TileKey, Option<Arc<EncodedBody>>, TileWeight>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TileKey {
    layer: LayerId,
    revision: u64,
    tile: TileId,
    encoding: Encoding,
}

#[derive(Clone)]
struct TileWeight;

impl Weighter<TileKey, Option<Arc<EncodedBody>>> for TileWeight {
    fn weight(&self, _: &TileKey, body: &Option<Arc<EncodedBody>>) -> u64 {
        body.as_ref().map_or(64, |body| body.weight() as u64)
    }
}

impl TileCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let tiles = usize::try_from(bytes / TYPICAL_TILE_BYTES).unwrap_or_default();
        Self { tiles: Cache::with_weighter(tiles, bytes, TileWeight) }
    }

    /// The number of cached tiles.
    pub(crate) fn len(&self) -> usize {
        self.tiles.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.tiles.weight()
    }

    /// The tile at the layer's current revision; `None` if the layer does not exist. If several requests
    /// need the same tile, one encodes it and the others wait.
    pub(crate) async fn get(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
        encoding: Encoding,
    ) -> groma_store::Result<Option<Tile>> {
        let Some(revision) = store.layer_revision(workspace, layer).await? else {
            return Ok(None);
        };
        let key = TileKey { layer, revision, tile, encoding };
        let body = match self.tiles.get(&key) {
            Some(body) => {
                metrics::tile_from_cache();
                body
            }
            None => {
                let encode = async {
                    metrics::tile_from_database();
                    let tile = store.tile(workspace, layer, tile).await?;
                    let body = tile.map(|tile| Arc::new(EncodedBody::new(tile.bytes, encoding)));
                    Ok::<_, groma_store::Error>(body)
                };
                self.tiles.get_or_insert_async(&key, encode).await?
            }
        };
        Ok(body.map(|body| Tile { revision, body }))
    }

    /// A tile for the map of the web application; `None` if the layer does not exist. Browsers may keep
    /// the tile if it shows the revision that the map requested.
    pub(crate) async fn map_response(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
        requested_revision: Option<u64>,
        mut parts: Parts,
    ) -> groma_store::Result<Option<Response>> {
        let Ok(options) = ResponseOptions::from_request_parts(&mut parts, &()).await;
        let tile = self.get(store, workspace, layer, tile, options.encoding()).await?;
        Ok(tile.map(|tile| {
            let mut response = options.encoded(MEDIA_TYPE, &tile.body);
            if requested_revision == Some(tile.revision) {
                let immutable = HeaderValue::from_static("private, max-age=86400, immutable");
                response.headers_mut().insert(header::CACHE_CONTROL, immutable);
            }
            response
        }))
    }
}
