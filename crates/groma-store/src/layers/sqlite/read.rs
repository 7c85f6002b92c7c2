//! Reads of layers, features and tiles.

use super::sql;
use crate::{
    Error, Result,
    engine::{
        int,
        sqlite::{Snapshot, Sqlite, damaged, owner_of, position_of, row_key},
    },
    layers::{
        Link, StoredFeature, StoredLayer, morton_code,
        property_filter::FeatureAttributes,
        sortable,
        tile_index::TierRanges,
        tiles::{
            self, BlockBuffer, Encoded, LayerCache, LonePolygon, MaxGap, Pace, SeparateFeatures,
            Tile, TilePlan,
        },
        value_index::KeyRange,
    },
};
use groma_domain::{GeometryId, LayerId, RecordId, Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::{
    grid::{GridBox, TileId},
    tile_block::TierKey,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use uuid::Uuid;

/// The number of rows deleted in one step.
const DELETE_BATCH: u32 = 2_000;

/// One more range costs as much as skipping some thirty blocks.
const MAX_GAP: MaxGap = MaxGap(2);

pub(in crate::layers) async fn layers(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
) -> Result<Vec<StoredLayer>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(Vec::new()) };
        let mut statement = connection.prepare_cached(sql::LAYERS)?;
        let layers = statement.query_map([ws], read_layer)?;
        Ok(layers.collect::<rusqlite::Result<_>>()?)
    })
}

pub(in crate::layers) async fn layer(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    key: &LayerKey,
) -> Result<Option<StoredLayer>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(None) };
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

pub(in crate::layers) async fn revision(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    layer: LayerId,
) -> Result<Option<u64>> {
    engine.read(|connection| match connection.workspace_number(workspace)? {
        Some(ws) => read_revision(connection, ws, layer),
        None => Ok(None),
    })
}

pub(in crate::layers) async fn tile(
    engine: &Arc<Sqlite>,
    cache: &Arc<LayerCache>,
    workspace: WorkspaceId,
    layer: LayerId,
    tile: TileId,
) -> Result<Option<Tile>> {
    if tiles::is_usually_small(tile.z()) {
        let encoded = engine
            .read(|snapshot| read_tile(snapshot, cache, workspace, layer, tile, Pace::Inline))?;
        if let Encoded::Tile(tile) = encoded {
            return Ok(tile);
        }
    }
    let cache = cache.clone();
    let encoded = engine.read_blocking(move |snapshot| {
        read_tile(snapshot, &cache, workspace, layer, tile, Pace::Blocking)
    });
    match encoded.await? {
        Encoded::Tile(tile) => Ok(tile),
        // No tile is too large for the blocking pool.
        Encoded::TooLarge => Err(Error::Closed),
    }
}

/// Encodes a tile, unless it is too large for the pace.
fn read_tile(
    snapshot: &Snapshot<'_>,
    cache: &LayerCache,
    workspace: WorkspaceId,
    layer: LayerId,
    tile: TileId,
    pace: Pace,
) -> Result<Encoded> {
    let Some(stored) = current_layer(snapshot, cache, workspace, layer)? else {
        return Ok(Encoded::Tile(None));
    };
    let (no, layer) = (int(stored.no), &stored.layer);
    let revision = layer.revision;
    let Some(plan) = TilePlan::new(layer, tile, MAX_GAP) else {
        return Ok(Encoded::tile(revision, Vec::new()));
    };
    let is_allowed = |buffer: &BlockBuffer| pace == Pace::Blocking || buffer.is_small();
    let bytes = BlockBuffer::with(|buffer| {
        each_block_while(snapshot, no, &plan.ranges, plan.area(), |tier, (code, _), block| {
            buffer.add(tier, code, block);
            is_allowed(buffer)
        })?;
        if !is_allowed(buffer) {
            return Ok(None);
        }
        let contents = buffer.contents(&plan);
        let missing = plan.missing(&contents);
        if pace == Pace::Inline && !missing.is_empty() {
            return Ok(None);
        }
        let separate = SeparateFeatures {
            large: large_features(snapshot, no, missing.large, tile.z())?,
            lone: lone_polygons(snapshot, &stored, missing.lone, tile.z())?,
        };
        Ok::<_, Error>(Some(tiles::encode(layer, tile, contents, &separate)))
    })?;
    Ok(match bytes {
        Some(bytes) => Encoded::tile(revision, bytes),
        None => Encoded::TooLarge,
    })
}

/// The layer in this snapshot.
fn current_layer(
    snapshot: &Snapshot<'_>,
    cache: &LayerCache,
    workspace: WorkspaceId,
    layer: LayerId,
) -> Result<Option<Arc<StoredLayer>>> {
    let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(None) };
    let Some(revision) = read_revision(snapshot, ws, layer)? else { return Ok(None) };
    let cached = cache.get(workspace, layer);
    if let Some(stored) = cached.filter(|stored| stored.layer.revision == revision) {
        return Ok(Some(stored));
    }
    let mut statement = snapshot.prepare_cached(sql::LAYER_BY_ID)?;
    let stored = statement.query_row(params![ws, layer.0], read_layer)?;
    Ok(Some(cache.put(workspace, stored)))
}

fn read_revision(connection: &Connection, ws: i64, layer: LayerId) -> Result<Option<u64>> {
    let mut statement = connection.prepare_cached(sql::LAYER_REVISION)?;
    let found: Option<i64> = statement.query_row((ws, layer.0), |row| row.get(0)).optional()?;
    Ok(found.map(i64::unsigned_abs))
}

pub(in crate::layers) async fn features(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredFeature>> {
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(sql::FEATURES_BETWEEN)?;
            let (first, last) = (row_key(int(layer), after + 1), row_key(int(layer) + 1, 0) - 1);
            let rows = statement.query_map(params![first, last, limit], read_feature)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

/// Up to `limit` features after a position; less if they have more than `max_bytes`, but at least one.
pub(in crate::layers) async fn feature_chunk(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    after: u64,
    limit: u32,
    max_bytes: usize,
) -> Result<Vec<StoredFeature>> {
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(sql::FEATURES_BETWEEN)?;
            let (first, last) = (row_key(int(layer), after + 1), row_key(int(layer) + 1, 0) - 1);
            let rows = statement.query_map(params![first, last, limit], read_feature)?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            for row in rows {
                let feature = row?;
                bytes += feature.size();
                found.push(feature);
                if bytes >= max_bytes {
                    break;
                }
            }
            Ok(found)
        })
        .await
}

/// The features at these positions, which are in order; less if they have more than `max_bytes`, but at least
/// one.
pub(in crate::layers) async fn feature_chunk_at(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    positions: &[u64],
    max_bytes: usize,
) -> Result<Vec<StoredFeature>> {
    let positions = positions.to_vec();
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(sql::FEATURES_BETWEEN)?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            for position in positions {
                let key = row_key(int(layer), position);
                let feature = statement.query_row([key, key, 1], read_feature).optional()?;
                bytes += feature.as_ref().map_or(0, StoredFeature::size);
                found.extend(feature);
                if bytes >= max_bytes {
                    break;
                }
            }
            Ok(found)
        })
        .await
}

/// The positions of features with a value in one of these ranges, in any order; `None` if there are more than
/// `limit`.
pub(in crate::layers) async fn positions_of_values(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    ranges: Vec<KeyRange>,
    limit: usize,
) -> Result<Option<Vec<u64>>> {
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(sql::POSITIONS_OF_VALUES)?;
            let mut found: Vec<u64> = Vec::new();
            for KeyRange { field, first, last } in ranges {
                let rest = int((limit + 1 - found.len()) as u64);
                let params = params![int(layer), int(field), first, last, rest];
                let mut rows = statement.query(params)?;
                while let Some(row) = rows.next()? {
                    found.push(row.get::<_, i64>(0)?.unsigned_abs());
                }
                if found.len() > limit {
                    return Ok(None);
                }
            }
            Ok(Some(found))
        })
        .await
}

pub(in crate::layers) async fn feature_attributes(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    after: u64,
    limit: u32,
) -> Result<Vec<FeatureAttributes>> {
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(sql::FEATURE_ATTRIBUTES)?;
            let (first, last) = (row_key(int(layer), after + 1), row_key(int(layer) + 1, 0) - 1);
            let rows = statement.query_map(params![first, last, limit], |row| {
                Ok(FeatureAttributes {
                    position: position_of(row.get(0)?),
                    id: GeometryId(row.get(1)?),
                    external_id: row.get(2)?,
                    properties: row.get(3)?,
                    updated_at: Timestamp::from_millis(row.get(4)?),
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

pub(in crate::layers) async fn linked_features(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    link: Link,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredFeature>> {
    let (statement, record) = match link {
        Link::Folder(record) => (sql::FEATURES_BY_FOLDER, record),
        Link::Assignment(record) => (sql::FEATURES_BY_ASSIGNMENT, record),
    };
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(statement)?;
            let (first, last) = (row_key(int(layer), after + 1), row_key(int(layer) + 1, 0) - 1);
            let rows = statement.query_map(params![first, last, limit, record.0], read_feature)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

pub(in crate::layers) async fn features_at(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    positions: &[u64],
) -> Result<Vec<StoredFeature>> {
    let positions = positions.to_vec();
    engine
        .read_blocking(move |connection| {
            let mut statement = connection.prepare_cached(sql::FEATURES_BETWEEN)?;
            let mut found = Vec::with_capacity(positions.len());
            for position in positions {
                let key = row_key(int(layer), position);
                found.extend(statement.query_row([key, key, 1], read_feature).optional()?);
            }
            Ok(found)
        })
        .await
}

pub(in crate::layers) async fn positions_in_area(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
    ranges: TierRanges,
    area: GridBox,
) -> Result<Vec<u64>> {
    engine
        .read_blocking(move |snapshot| {
            let mut found = Vec::new();
            each_block_while(snapshot, int(layer), &ranges, area, |_, _, block| {
                found.extend(tiles::positions_in_area(block, area));
                true
            })?;
            Ok(found)
        })
        .await
}

pub(in crate::layers) async fn feature(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    id: GeometryId,
) -> Result<Option<(StoredLayer, StoredFeature)>> {
    engine.read(|connection| match connection.workspace_number(workspace)? {
        Some(ws) => find_feature(connection, ws, id),
        None => Ok(None),
    })
}

pub(in crate::layers) async fn features_of_folder(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    folder: RecordId,
    limit: u32,
) -> Result<Vec<(LayerId, StoredFeature)>> {
    engine
        .read_blocking(move |connection| {
            let Some(ws) = connection.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(sql::FEATURES_OF_FOLDER)?;
            let rows = statement.query_map(params![ws, folder.0, limit], |row| {
                Ok((LayerId(row.get(10)?), read_feature(row)?))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

pub(in crate::layers) async fn count_features_of_folder(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    folder: RecordId,
) -> Result<u64> {
    engine
        .read_blocking(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(0) };
            let mut statement = snapshot.prepare_cached(sql::COUNT_FEATURES_OF_FOLDER)?;
            let count: i64 = statement.query_row(params![ws, folder.0], |row| row.get(0))?;
            Ok(count.unsigned_abs())
        })
        .await
}

pub(in crate::layers) async fn layers_of_folder(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    folder: RecordId,
) -> Result<Vec<LayerId>> {
    engine
        .read_blocking(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let mut statement = snapshot.prepare_cached(sql::LAYERS_OF_FOLDER)?;
            let rows =
                statement.query_map(params![ws, folder.0], |row| Ok(LayerId(row.get(0)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

/// Deletes the features of a deleted layer, in small steps.
pub(in crate::layers) async fn delete_features(
    engine: &Arc<Sqlite>,
    _: WorkspaceId,
    layer: u64,
) -> Result<()> {
    let (first, last) = (row_key(int(layer), 0), row_key(int(layer) + 1, 0) - 1);
    let features = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(sql::DELETE_SOME_FEATURES)?;
        Ok(statement.execute(params![first, last, DELETE_BATCH])?)
    };
    while engine.write(features).await? > 0 {}
    for statement in [
        sql::DELETE_SOME_FEATURE_KEYS,
        sql::DELETE_SOME_VALUES,
        sql::DELETE_SOME_EXTENTS,
        sql::DELETE_SOME_TILE_BLOCKS,
        sql::DELETE_SOME_LARGE_FEATURES,
    ] {
        let delete = move |connection: &Connection| {
            Ok(connection.prepare_cached(statement)?.execute(params![int(layer), DELETE_BATCH])?)
        };
        while engine.write(delete).await? > 0 {}
    }
    Ok(())
}

/// The layers that are being loaded and whose lease ends before a time, with their workspaces.
pub(in crate::layers) async fn staged_layers(
    engine: &Arc<Sqlite>,
    before: Timestamp,
) -> Result<Vec<(WorkspaceId, LayerId)>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::STAGED_LAYERS)?;
        let rows = statement.query_map([before.as_millis()], |row| {
            Ok((WorkspaceId(row.get(0)?), LayerId(row.get(1)?)))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

/// Shapes that are stored separately, in the detail of a zoom, by the positions of their features.
fn large_features(
    connection: &Connection,
    layer: i64,
    positions: Vec<u64>,
    zoom: u8,
) -> Result<FxHashMap<u64, Vec<u8>>> {
    let mut large = FxHashMap::default();
    for position in positions {
        let mut statement = connection.prepare_cached(sql::LARGE_FEATURE)?;
        let shape = statement.query_row(params![layer, int(position), zoom], |row| row.get(0));
        large.extend(shape.optional()?.map(|shape| (position, shape)));
    }
    Ok(large)
}

/// Polygons that may be drawn alone.
fn lone_polygons(
    connection: &Connection,
    stored: &StoredLayer,
    positions: Vec<u64>,
    zoom: u8,
) -> Result<Vec<LonePolygon>> {
    let mut polygons = Vec::with_capacity(positions.len());
    let mut statement = connection.prepare_cached(sql::FEATURE_AT)?;
    for position in positions {
        let mut rows = statement.query([row_key(int(stored.no), position)])?;
        if let Some(row) = rows.next()? {
            let wkb = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            let properties = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            polygons.extend(LonePolygon::read(&stored.layer, zoom, position, wkb, properties)?);
        }
    }
    Ok(polygons)
}

/// Calls `take` for the blocks that may have entries in one of these ranges, which are in order: those that
/// begin in a range, and the one before it. Each block comes once.
pub(super) fn each_block(
    connection: &Connection,
    layer: i64,
    ranges: &TierRanges,
    mut take: impl FnMut(u8, TierKey, &[u8]),
) -> Result<()> {
    let everywhere = GridBox { min_x: i64::MIN, min_y: i64::MIN, max_x: i64::MAX, max_y: i64::MAX };
    each_block_while(connection, layer, ranges, everywhere, |tier, key, block| {
        take(tier, key, block);
        true
    })
}

/// The same for blocks whose box meets an area, while `take` returns true.
fn each_block_while(
    connection: &Connection,
    layer: i64,
    ranges: &TierRanges,
    GridBox { min_x, min_y, max_x, max_y }: GridBox,
    mut take: impl FnMut(u8, TierKey, &[u8]) -> bool,
) -> Result<()> {
    let mut up_to = connection.prepare_cached(sql::TILE_BLOCKS_UP_TO)?;
    let mut last_seen = None;
    for (tier, (first, last)) in ranges.iter().rev() {
        let (first, last) = (sortable(*first), sortable(*last));
        let mut rows =
            up_to.query(params![layer, tier, last, min_x, min_y, max_x, max_y, first])?;
        while let Some(row) = rows.next()? {
            let key = (*tier, row.get::<_, i64>(0)?, row.get::<_, i64>(1)?);
            if last_seen.is_none_or(|last_seen| key < last_seen) {
                last_seen = Some(key);
                let block = row.get_ref(2)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
                if let Some(block) = block
                    && !take(*tier, (morton_code(key.1), key.2.unsigned_abs()), block)
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

/// A feature by its id, with its layer.
pub(super) fn find_feature(
    connection: &Connection,
    ws: i64,
    id: GeometryId,
) -> Result<Option<(StoredLayer, StoredFeature)>> {
    let mut statement = connection.prepare_cached(sql::FEATURE)?;
    let found = statement.query_row([id.0], |row| Ok((row.get::<_, i64>(0)?, read_feature(row)?)));
    let Some((key, feature)) = found.optional()? else { return Ok(None) };
    let mut statement = connection.prepare_cached(sql::LAYER_BY_NUMBER)?;
    let layer = statement.query_row([ws, owner_of(key)], read_layer).optional()?;
    Ok(layer.map(|layer| (layer, feature)))
}

pub(super) fn read_layer(row: &Row<'_>) -> rusqlite::Result<StoredLayer> {
    let state = row.get_ref(1)?.as_str()?;
    let layer = serde_json::from_str(state).map_err(|error| damaged(1, error))?;
    Ok(StoredLayer { no: row.get::<_, i64>(0)?.unsigned_abs(), layer })
}

pub(super) fn read_feature(row: &Row<'_>) -> rusqlite::Result<StoredFeature> {
    let record = |column| row.get::<_, Option<Uuid>>(column).map(|id| id.map(RecordId));
    Ok(StoredFeature {
        position: position_of(row.get(0)?),
        id: GeometryId(row.get(1)?),
        external_id: row.get(2)?,
        folder: record(3)?,
        assignment: record(4)?,
        geometry: row.get(5)?,
        original: row.get(6)?,
        properties: row.get(7)?,
        created_at: Timestamp::from_millis(row.get(8)?),
        updated_at: Timestamp::from_millis(row.get(9)?),
    })
}
