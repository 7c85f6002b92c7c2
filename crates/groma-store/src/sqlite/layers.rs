//! Layers and tiles, read from SQLite.

use super::{
    Sqlite,
    readers::State,
    sql,
    tx::{find_feature, int, place, read_feature, read_layer},
};
use crate::{
    Error, Result,
    geometries::ShelfRanges,
    tiles::{self, Drawn, Gathered, Pace, Plan, Stride, Tile},
    tx::{StoredFeature, StoredLayer, centre, sortable},
    vicinity::{self, Vicinity, VicinityId},
};
use groma_domain::{GeometryId, Layer, LayerId, RecordId, WorkspaceId, layer::LayerKey};
use groma_geo::{
    grid::{GridBox, TileId},
    tile_block::TierKey,
};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// How many rows go in one step when a layer is deleted.
const PURGE: u32 = 2_000;

/// Looking in one more place costs as much as passing over some thirty blocks.
const STRIDE: Stride = Stride(2);

impl Sqlite {
    pub(crate) async fn layers(&self, workspace: WorkspaceId) -> Result<Vec<Layer>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(sql::LAYERS)?;
            let layers = statement.query_map([ws], |row| read_layer(row).map(|row| row.layer))?;
            Ok(layers.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) async fn layer(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<StoredLayer>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(None) };
            let found = match key {
                LayerKey::Id(id) => connection
                    .prepare_cached(sql::LAYER_BY_ID)?
                    .query_row(params![ws, id.0], read_layer),
                LayerKey::Slug(slug) => connection
                    .prepare_cached(sql::LAYER_BY_SLUG)?
                    .query_row(params![ws, slug], read_layer),
            };
            Ok(found.optional()?)
        })
    }

    pub(crate) async fn layer_revision(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
    ) -> Result<Option<u64>> {
        self.read(|connection| match self.number(connection, workspace)? {
            Some(ws) => connection.layer_revision(ws, layer),
            None => Ok(None),
        })
    }

    pub(crate) async fn tile(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
    ) -> Result<Option<Tile>> {
        if tiles::shows_little(tile.z()) {
            // Most of these are drawn in no time, and are not worth another thread.
            let drawn = self.read(|connection| {
                self.read_tile(connection, workspace, layer, tile, Pace::Brief)
            })?;
            if let Drawn::As(tile) = drawn {
                return Ok(tile);
            }
        }
        let drawn = self.read_long(move |store| {
            store.read(|connection| store.read_tile(connection, workspace, layer, tile, Pace::Long))
        });
        match drawn.await? {
            Drawn::As(tile) => Ok(tile),
            // Nothing is, when it may take long.
            Drawn::TooMuch => Err(Error::Closed),
        }
    }

    /// Draws a tile, unless that takes longer than it may.
    fn read_tile(
        &self,
        connection: &State,
        workspace: WorkspaceId,
        layer: LayerId,
        tile: TileId,
        pace: Pace,
    ) -> Result<Drawn> {
        let Some(stored) = self.layer_now(connection, workspace, layer)? else {
            return Ok(Drawn::As(None));
        };
        let (no, layer) = (int(stored.no), &stored.layer);
        let revision = layer.revision;
        let Some(plan) = Plan::new(layer, tile, STRIDE) else {
            return Ok(Drawn::tile(revision, Vec::new()));
        };
        let area = plan.area();
        let goes_on = |gathered: &Gathered| pace == Pace::Long || gathered.is_little();
        let bytes = Gathered::with(|gathered| {
            let mut read = |ranges| {
                each_block_while(connection, no, ranges, area, |_, _, block| {
                    gathered.take(&plan, block);
                    goes_on(gathered)
                })?;
                Ok::<_, Error>(gathered.len())
            };
            if plan.goes_further(read(&plan.ranges)?) {
                read(&plan.further)?;
            }
            let candidates = gathered.candidates();
            let apart = plan.long(&candidates);
            if !goes_on(gathered) || (pace == Pace::Brief && !apart.is_empty()) {
                return Ok(None);
            }
            let long = long_drawings(connection, no, apart, tile.z())?;
            Ok::<_, Error>(Some(tiles::draw(layer, tile, candidates, &long)))
        })?;
        Ok(match bytes {
            Some(bytes) => Drawn::tile(revision, bytes),
            None => Drawn::TooMuch,
        })
    }

    pub(crate) async fn vicinity(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        layer: LayerId,
        id: VicinityId,
    ) -> Result<Option<Vicinity>> {
        self.read_long(move |store| {
            store.read(|connection| store.read_vicinity(connection, workspace, layer, id))
        })
        .await
    }

    fn read_vicinity(
        &self,
        connection: &State,
        workspace: WorkspaceId,
        layer: LayerId,
        id: VicinityId,
    ) -> Result<Option<Vicinity>> {
        let Some(stored) = self.layer_now(connection, workspace, layer)? else { return Ok(None) };
        let Some(plan) = Plan::over(&stored.layer, id.zoom(), id.area(), STRIDE) else {
            return Ok(None);
        };
        let no = int(stored.no);
        Gathered::with(|gathered| {
            for ranges in [&plan.ranges, &plan.further] {
                each_block_while(connection, no, ranges, plan.area(), |_, _, block| {
                    gathered.take(&plan, block);
                    gathered.blocks() <= vicinity::MOST_BLOCKS
                })?;
            }
            if gathered.blocks() > vicinity::MOST_BLOCKS {
                return Ok(None);
            }
            let candidates = gathered.candidates();
            let apart = plan.long(&candidates);
            if apart.len() > vicinity::MOST_APART {
                return Ok(None);
            }
            let long = long_drawings(connection, no, apart, id.zoom())?;
            Ok(Vicinity::of(id, stored, candidates, &long))
        })
    }

    /// The layer as it is now.
    fn layer_now(
        &self,
        connection: &State,
        workspace: WorkspaceId,
        layer: LayerId,
    ) -> Result<Option<Arc<StoredLayer>>> {
        let Some(ws) = self.number(connection, workspace)? else { return Ok(None) };
        let Some(revision) = connection.layer_revision(ws, layer)? else { return Ok(None) };
        let known = self.layers.last(workspace, layer);
        if let Some(stored) = known.filter(|stored| stored.layer.revision == revision) {
            return Ok(Some(stored));
        }
        let mut statement = connection.prepare_cached(sql::LAYER_BY_ID)?;
        let stored = statement.query_row(params![ws, layer.0], read_layer)?;
        Ok(Some(self.layers.put(workspace, stored)))
    }

    pub(crate) async fn features(
        self: &Arc<Self>,
        _: WorkspaceId,
        layer: u64,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredFeature>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let mut statement = connection.prepare_cached(sql::FEATURES_BETWEEN)?;
                let (first, last) = (place(int(layer), after + 1), place(int(layer) + 1, 0) - 1);
                let rows = statement.query_map(params![first, last, limit], read_feature)?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
        .await
    }

    pub(crate) async fn feature(
        &self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(StoredLayer, StoredFeature)>> {
        self.read(|connection| match self.number(connection, workspace)? {
            Some(ws) => find_feature(connection, ws, id),
            None => Ok(None),
        })
    }

    pub(crate) async fn features_of_folder(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        folder: RecordId,
        limit: u32,
    ) -> Result<Vec<(LayerId, StoredFeature)>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(Vec::new()) };
                let mut statement = connection.prepare_cached(sql::FEATURES_OF_FOLDER)?;
                let rows = statement.query_map(params![ws, folder.0, limit], |row| {
                    Ok((LayerId(row.get(9)?), read_feature(row)?))
                })?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
        .await
    }

    pub(crate) async fn count_features_of_folder(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<u64> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(0) };
                let mut statement = connection.prepare_cached(sql::COUNT_FEATURES_OF_FOLDER)?;
                let count: i64 = statement.query_row(params![ws, folder.0], |row| row.get(0))?;
                Ok(count.unsigned_abs())
            })
        })
        .await
    }

    /// Deletes what a layer held, in small steps. The layer itself is gone by now.
    pub(crate) async fn purge_layer(&self, _: WorkspaceId, layer: u64) -> Result<()> {
        let (first, last) = (place(int(layer), 0), place(int(layer) + 1, 0) - 1);
        let features = move |connection: &mut Connection| {
            let mut statement = connection.prepare_cached(sql::DELETE_SOME_FEATURES)?;
            Ok(statement.execute(params![first, last, PURGE])?)
        };
        while self.writer.write(features).await? > 0 {}
        for statement in [
            sql::DELETE_SOME_FEATURE_KEYS,
            sql::DELETE_SOME_EXTENTS,
            sql::DELETE_SOME_DRAWINGS,
            sql::DELETE_SOME_LONG_DRAWINGS,
        ] {
            let purge = move |connection: &mut Connection| {
                Ok(connection.prepare_cached(statement)?.execute(params![int(layer), PURGE])?)
            };
            while self.writer.write(purge).await? > 0 {}
        }
        Ok(())
    }
}

/// Shapes that are kept apart, as a zoom shows them, by the numbers of their features.
fn long_drawings(
    connection: &Connection,
    layer: i64,
    apart: Vec<u64>,
    zoom: u8,
) -> Result<FxHashMap<u64, Vec<u8>>> {
    let mut long = FxHashMap::default();
    for seq in apart {
        let mut statement = connection.prepare_cached(sql::LONG_DRAWING)?;
        let shape = statement.query_row(params![layer, int(seq), zoom], |row| row.get(0));
        long.extend(shape.optional()?.map(|shape| (seq, shape)));
    }
    Ok(long)
}

/// Hands over the blocks that hold something in one of these ranges, which are in order, or might:
/// those that begin in one, and the one before it. Each comes once.
pub(super) fn each_block(
    connection: &Connection,
    layer: i64,
    ranges: &ShelfRanges,
    mut take: impl FnMut(u8, TierKey, &[u8]),
) -> Result<()> {
    let everywhere = GridBox { min_x: i64::MIN, min_y: i64::MIN, max_x: i64::MAX, max_y: i64::MAX };
    each_block_while(connection, layer, ranges, everywhere, |shelf, key, block| {
        take(shelf, key, block);
        true
    })
}

/// The same for those whose box meets an area, as long as `take` goes on.
fn each_block_while(
    connection: &Connection,
    layer: i64,
    ranges: &ShelfRanges,
    GridBox { min_x, min_y, max_x, max_y }: GridBox,
    mut take: impl FnMut(u8, TierKey, &[u8]) -> bool,
) -> Result<()> {
    let mut up_to = connection.prepare_cached(sql::DRAWINGS_UP_TO)?;
    let mut last_met = None;
    for (shelf, (first, last)) in ranges.iter().rev() {
        let (first, last) = (sortable(*first), sortable(*last));
        let mut rows =
            up_to.query(params![layer, shelf, last, min_x, min_y, max_x, max_y, first])?;
        while let Some(row) = rows.next()? {
            let key = (*shelf, row.get::<_, i64>(0)?, row.get::<_, i64>(1)?);
            if last_met.is_none_or(|last_met| key < last_met) {
                last_met = Some(key);
                let block = row.get_ref(2)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
                if let Some(block) = block
                    && !take(*shelf, (centre(key.1), key.2.unsigned_abs()), block)
                {
                    return Ok(());
                }
            }
            if key.1 < first {
                break;
            }
        }
    }
    Ok(())
}
