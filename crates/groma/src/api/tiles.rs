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
use parking_lot::Mutex;
use quick_cache::{
    Weighter,
    sync::{Cache, GuardResult},
};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";

const NO_WAIT: Duration = Duration::ZERO;

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
    let wanted = Wanted { layer: path.layer.id()?, tile: path.tile, encoding: wishes.encoding() };
    match api.tiles.get(&api.store, caller.0.workspace, wanted).await? {
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
    let wanted = Wanted { layer, tile, encoding: wishes.encoding() };
    let found = api.tiles.get(&api.store, workspace, wanted).await?;
    let (revision, made) = found.ok_or_else(|| ApiError::not_found("layer", &layer.to_string()))?;
    let mut response = wishes.made(MEDIA_TYPE, &made);
    if asked == Some(revision) {
        let kept = HeaderValue::from_static("private, max-age=86400, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, kept);
    }
    Ok(response)
}

/// A tile in one encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Wanted {
    layer: LayerId,
    tile: TileId,
    encoding: Encoding,
}

/// The same of one state of its layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TileKey {
    wanted: Wanted,
    revision: u64,
}

/// Tiles that were made, up to so many bytes.
pub(crate) struct TileCache {
    made: Cache<TileKey, Option<Arc<Made>>, Weight>,
    vicinities: Vicinities,
    /// Those that are being drawn of whatever revision their layer has.
    at_once: Mutex<HashSet<Wanted>>,
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
            at_once: Mutex::default(),
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

    /// The tile as its layer is now, and the revision of that; `None` when there is no such layer.
    async fn get(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        wanted: Wanted,
    ) -> Result<Option<(u64, Arc<Made>)>, ApiError> {
        if let Some(_alone) = self.draws_at_once(store, workspace, wanted) {
            self.drawn.fetch_add(1, Relaxed);
            let Some(tile) = store.tile(workspace, wanted.layer, wanted.tile).await? else {
                return Ok(None);
            };
            let made = Arc::new(Made::new(tile.bytes, wanted.encoding));
            let key = TileKey { wanted, revision: tile.revision };
            // Whoever is making the same by now has others waiting for it, and goes on.
            if let GuardResult::Guard(guard) = self.made.get_value_or_guard(&key, Some(NO_WAIT)) {
                let _ = guard.insert(Some(made.clone()));
            }
            return Ok(Some((tile.revision, made)));
        }
        let Some(revision) = store.layer_revision(workspace, wanted.layer).await? else {
            return Ok(None);
        };
        let made = self.of_revision(store, workspace, TileKey { wanted, revision }).await?;
        Ok(made.map(|made| (revision, made)))
    }

    /// Whether the tile is drawn without a question for the revision before: what it is drawn from tells
    /// that too. Not when it may be there, so that there would be nothing to draw; and not when another is
    /// drawing it, who may have begun before a change that this one has to show.
    fn draws_at_once(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        wanted: Wanted,
    ) -> Option<AtOnce<'_>> {
        let revision = store.last_revision(workspace, wanted.layer)?;
        let is_made = self.made.get(&TileKey { wanted, revision }).is_some();
        let layer = (wanted.layer, revision);
        if is_made || self.vicinities.of(store, workspace, layer, wanted.tile).is_some() {
            return None;
        }
        let is_first = self.at_once.lock().insert(wanted);
        is_first.then(|| AtOnce { of: &self.at_once, wanted })
    }

    /// The tile of a revision that was just read; of those who ask for it at the same time one makes it.
    async fn of_revision(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        key: TileKey,
    ) -> Result<Option<Arc<Made>>, ApiError> {
        if let Some(made) = self.made.get(&key) {
            self.found.fetch_add(1, Relaxed);
            return Ok(made);
        }
        let TileKey { wanted: Wanted { layer, tile, encoding }, revision } = key;
        let make = async {
            self.drawn.fetch_add(1, Relaxed);
            let tile = match self.vicinities.of(store, workspace, (layer, revision), tile) {
                Some(vicinity) => Some(vicinity.tile(tile).await?),
                None => store.tile(workspace, layer, tile).await?,
            };
            Ok::<_, ApiError>(tile.map(|tile| Arc::new(Made::new(tile.bytes, encoding))))
        };
        self.made.get_or_insert_async(&key, make).await
    }
}

/// A tile that is being drawn of whatever revision its layer has.
struct AtOnce<'c> {
    of: &'c Mutex<HashSet<Wanted>>,
    wanted: Wanted,
}

impl Drop for AtOnce<'_> {
    fn drop(&mut self) {
        self.of.lock().remove(&self.wanted);
    }
}
