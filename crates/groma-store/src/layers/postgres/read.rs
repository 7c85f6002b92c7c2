//! Reads of layers, features and tiles.

use super::{
    sql,
    transaction::{range_arrays, read_feature, read_feature_with_layer, read_layer},
};
use crate::{
    Error, Result,
    engine::{
        blocking_pool::run_blocking,
        int,
        postgres::{Postgres, unsigned},
    },
    layers::{
        Link, StoredFeature, StoredLayer, morton_code,
        property_filter::FeatureAttributes,
        tile_index::TierRanges,
        tiles::{
            self, Encoded, LayerCache, LonePolygon, MAX_INLINE_BLOCKS, MaxGap, Missing, Pace,
            SeparateFeatures, Tile, TileContents, TilePlan,
        },
        value_index::KeyRange,
    },
};
use deadpool_postgres::Client;
use groma_domain::{GeometryId, LayerId, RecordId, Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::grid::{GridBox, TileId};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tokio_postgres::{Row, types::ToSql};

/// The number of rows deleted in one step.
const DELETE_BATCH: i64 = 2_000;

/// One more range costs as much as skipping some hundred blocks.
const MAX_GAP: MaxGap = MaxGap(8);

pub(in crate::layers) async fn layers(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
) -> Result<Vec<StoredLayer>> {
    let client = engine.client().await?;
    let statement = client.prepare_cached(sql::LAYERS).await?;
    let rows = client.query(&statement, &[&workspace.0]).await?;
    rows.iter().map(read_layer).collect()
}

pub(in crate::layers) async fn layer(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    key: &LayerKey,
) -> Result<Option<StoredLayer>> {
    let client = engine.client().await?;
    let row = match key {
        LayerKey::Id(id) => {
            let statement = client.prepare_cached(sql::LAYER_BY_ID).await?;
            client.query_opt(&statement, &[&workspace.0, &id.0]).await?
        }
        LayerKey::Slug(slug) => {
            let statement = client.prepare_cached(sql::LAYER_BY_SLUG).await?;
            client.query_opt(&statement, &[&workspace.0, slug]).await?
        }
    };
    row.as_ref().map(read_layer).transpose()
}

pub(in crate::layers) async fn revision(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: LayerId,
) -> Result<Option<u64>> {
    let revision = async { read_revision(&*engine.pipelined().await?, workspace, layer).await };
    engine.while_alive(revision).await
}

pub(in crate::layers) async fn tile(
    engine: &Arc<Postgres>,
    cache: &Arc<LayerCache>,
    workspace: WorkspaceId,
    id: LayerId,
    tile: TileId,
) -> Result<Option<Tile>> {
    let read = async {
        if tiles::is_usually_small(tile.z()) {
            let client = engine.pipelined().await?;
            let encoded =
                read_tile(engine, cache, &client, Pace::Inline, workspace, id, tile).await?;
            if let Encoded::Tile(tile) = encoded {
                return Ok(tile);
            }
        }
        let client = engine.client().await?;
        match read_tile(engine, cache, &client, Pace::Blocking, workspace, id, tile).await? {
            Encoded::Tile(tile) => Ok(tile),
            // No tile is too large for the blocking pool.
            Encoded::TooLarge => Err(Error::Closed),
        }
    };
    engine.while_alive(read).await
}

/// Encodes a tile, unless it is too large for the pace.
async fn read_tile(
    engine: &Arc<Postgres>,
    cache: &LayerCache,
    client: &Client,
    pace: Pace,
    workspace: WorkspaceId,
    id: LayerId,
    tile: TileId,
) -> Result<Encoded> {
    // Each query returns the revision that it read. If it is not that of the layer the plan was made for,
    // start over with the current layer.
    let mut cached = cache.get(workspace, id);
    loop {
        let stored = match cached.take() {
            Some(stored) => stored,
            None => match current_layer(cache, client, workspace, id).await? {
                Some(stored) => stored,
                None => return Ok(Encoded::Tile(None)),
            },
        };
        let encoded = encode_tile(engine, client, pace, workspace, stored, tile).await?;
        if let Some(encoded) = encoded {
            return Ok(encoded);
        }
    }
}

/// Encodes a tile of a cached layer; `None` when the layer has changed since.
async fn encode_tile(
    engine: &Arc<Postgres>,
    client: &Client,
    pace: Pace,
    workspace: WorkspaceId,
    stored: Arc<StoredLayer>,
    tile: TileId,
) -> Result<Option<Encoded>> {
    let (no, revision) = (int(stored.no), stored.layer.revision);
    let Some(plan) = TilePlan::new(&stored.layer, tile, MAX_GAP) else {
        let now = read_revision(client, workspace, stored.layer.id).await?;
        let is_current = now == Some(revision);
        return Ok(is_current.then(|| Encoded::tile(revision, Vec::new())));
    };
    let max_blocks = (pace == Pace::Inline).then_some(MAX_INLINE_BLOCKS);
    let limit = max_blocks.map(|max| max + 1);
    let rows = tile_rows(client, workspace, no, &plan.ranges, plan.area(), limit).await?;
    if !is_of(revision, &rows)? {
        return Ok(None);
    }
    if max_blocks.is_some_and(|max| rows.len() > max) {
        return Ok(Some(Encoded::TooLarge));
    }
    let blocks = BlockRows::new(rows)?;
    let source = Arc::new(TileSource { plan, stored, blocks, tile });
    let encoded = if source.blocks.is_small() {
        source.encode_if_complete()
    } else {
        let source = source.clone();
        run_blocking(move || source.encode_if_complete()).await?
    };
    let missing = match encoded {
        Ok(bytes) => return Ok(Some(Encoded::tile(revision, bytes))),
        Err(missing) => missing,
    };
    // These may take long to read.
    let own = if pace == Pace::Inline { Some(engine.client().await?) } else { None };
    let client = own.as_ref().unwrap_or(client);
    let (stored, zoom) = (&source.stored, tile.z());
    let Some(large) = large_features(client, workspace, stored, missing.large, zoom).await? else {
        return Ok(None);
    };
    let Some(lone) = lone_polygons(client, workspace, stored, missing.lone, zoom).await? else {
        return Ok(None);
    };
    let separate = SeparateFeatures { large, lone };
    let bytes = run_blocking(move || source.encode(source.contents(), &separate)).await?;
    Ok(Some(Encoded::tile(revision, bytes)))
}

/// Reads the current layer into the cache.
async fn current_layer(
    cache: &LayerCache,
    client: &Client,
    workspace: WorkspaceId,
    id: LayerId,
) -> Result<Option<Arc<StoredLayer>>> {
    let statement = client.prepare_cached(sql::LAYER_BY_ID).await?;
    let row = client.query_opt(&statement, &[&workspace.0, &id.0]).await?;
    let stored = row.as_ref().map(read_layer).transpose()?;
    Ok(stored.map(|stored| cache.put(workspace, stored)))
}

pub(in crate::layers) async fn features(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredFeature>> {
    let client = engine.client().await?;
    let statement = client.prepare_cached(sql::FEATURES_BETWEEN).await?;
    let params: [&(dyn ToSql + Sync); 5] =
        [&workspace.0, &int(layer), &int(after + 1), &i64::MAX, &i64::from(limit)];
    client.query(&statement, &params).await?.iter().map(read_feature).collect()
}

/// Up to `limit` features after a position; less if they have more than `max_bytes`, but at least one.
pub(in crate::layers) async fn feature_chunk(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    after: u64,
    limit: u32,
    max_bytes: usize,
) -> Result<Vec<StoredFeature>> {
    let max_bytes = int(max_bytes as u64);
    let params: [&(dyn ToSql + Sync); 5] =
        [&workspace.0, &int(layer), &int(after), &i64::from(limit), &max_bytes];
    engine.rows(sql::FEATURE_CHUNK, &params).await?.iter().map(read_feature).collect()
}

/// The features at these positions, which are in order; less if they have more than `max_bytes`, but at least
/// one.
pub(in crate::layers) async fn feature_chunk_at(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    positions: &[u64],
    max_bytes: usize,
) -> Result<Vec<StoredFeature>> {
    let positions: Vec<i64> = positions.iter().map(|position| int(*position)).collect();
    let max_bytes = int(max_bytes as u64);
    let params: [&(dyn ToSql + Sync); 4] = [&workspace.0, &int(layer), &positions, &max_bytes];
    engine.rows(sql::FEATURE_CHUNK_AT, &params).await?.iter().map(read_feature).collect()
}

/// The positions of features with a value in one of these ranges, in any order; `None` if there are more than
/// `limit`.
pub(in crate::layers) async fn positions_of_values(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    ranges: Vec<KeyRange>,
    limit: usize,
) -> Result<Option<Vec<u64>>> {
    let fields: Vec<i64> = ranges.iter().map(|range| int(range.field)).collect();
    let first: Vec<&[u8]> = ranges.iter().map(|range| range.first.as_slice()).collect();
    let last: Vec<&[u8]> = ranges.iter().map(|range| range.last.as_slice()).collect();
    let most = int(limit as u64 + 1);
    let params: [&(dyn ToSql + Sync); 6] =
        [&workspace.0, &int(layer), &fields, &first, &last, &most];
    let rows = engine.rows(sql::POSITIONS_OF_VALUES, &params).await?;
    if rows.len() > limit {
        return Ok(None);
    }
    rows.iter().map(|row| unsigned(row, 0)).collect::<Result<_>>().map(Some)
}

pub(in crate::layers) async fn feature_attributes(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    after: u64,
    limit: u32,
) -> Result<Vec<FeatureAttributes>> {
    let params: [&(dyn ToSql + Sync); 4] =
        [&workspace.0, &int(layer), &int(after), &i64::from(limit)];
    let rows = engine.rows(sql::FEATURE_ATTRIBUTES, &params).await?;
    let read = |row: &Row| {
        Ok(FeatureAttributes {
            position: unsigned(row, 0)?,
            id: GeometryId(row.try_get(1)?),
            external_id: row.try_get(2)?,
            properties: row.try_get(3)?,
            updated_at: Timestamp::from_millis(row.try_get(4)?),
        })
    };
    rows.iter().map(read).collect()
}

pub(in crate::layers) async fn linked_features(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    link: Link,
    after: u64,
    limit: u32,
) -> Result<Vec<StoredFeature>> {
    let (statement, record) = match link {
        Link::Folder(record) => (sql::FEATURES_BY_FOLDER, record),
        Link::Assignment(record) => (sql::FEATURES_BY_ASSIGNMENT, record),
    };
    let params: [&(dyn ToSql + Sync); 5] =
        [&workspace.0, &int(layer), &int(after), &i64::from(limit), &record.0];
    engine.rows(statement, &params).await?.iter().map(read_feature).collect()
}

pub(in crate::layers) async fn features_at(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    positions: &[u64],
) -> Result<Vec<StoredFeature>> {
    let positions: Vec<i64> = positions.iter().map(|position| int(*position)).collect();
    let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &int(layer), &positions];
    engine.rows(sql::FEATURES_BY_POSITION, &params).await?.iter().map(read_feature).collect()
}

pub(in crate::layers) async fn positions_in_area(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
    ranges: TierRanges,
    area: GridBox,
) -> Result<Vec<u64>> {
    let client = engine.client().await?;
    let rows = tile_rows(&client, workspace, int(layer), &ranges, area, None).await?;
    run_blocking(move || {
        let blocks = BlockRows::new(rows)?;
        let found = blocks.iter().flat_map(|(_, _, block)| tiles::positions_in_area(block, area));
        Ok(found.collect())
    })
    .await?
}

pub(in crate::layers) async fn feature(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    id: GeometryId,
) -> Result<Option<(StoredLayer, StoredFeature)>> {
    let rows = engine.rows(sql::FEATURE, &[&workspace.0, &id.0]).await?;
    rows.first().map(read_feature_with_layer).transpose()
}

pub(in crate::layers) async fn features_of_folder(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    folder: RecordId,
    limit: u32,
) -> Result<Vec<(LayerId, StoredFeature)>> {
    let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &folder.0, &i64::from(limit)];
    let rows = engine.rows(sql::FEATURES_OF_FOLDER, &params).await?;
    rows.iter().map(|row| Ok((LayerId(row.try_get(10)?), read_feature(row)?))).collect()
}

pub(in crate::layers) async fn count_features_of_folder(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    folder: RecordId,
) -> Result<u64> {
    let params: [&(dyn ToSql + Sync); 2] = [&workspace.0, &folder.0];
    let rows = engine.rows(sql::COUNT_FEATURES_OF_FOLDER, &params).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row, 0))
}

pub(in crate::layers) async fn layers_of_folder(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    folder: RecordId,
) -> Result<Vec<LayerId>> {
    let rows = engine.rows(sql::LAYERS_OF_FOLDER, &[&workspace.0, &folder.0]).await?;
    rows.iter().map(|row| Ok(LayerId(row.try_get(0)?))).collect()
}

/// The layers that are being loaded and whose lease ends before a time, with their workspaces.
pub(in crate::layers) async fn staged_layers(
    engine: &Arc<Postgres>,
    before: Timestamp,
) -> Result<Vec<(WorkspaceId, LayerId)>> {
    let rows = engine.rows(sql::STAGED_LAYERS, &[&before.as_millis()]).await?;
    rows.iter().map(|row| Ok((WorkspaceId(row.try_get(0)?), LayerId(row.try_get(1)?)))).collect()
}

/// Deletes the features of a deleted layer, in small steps.
pub(in crate::layers) async fn delete_features(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    layer: u64,
) -> Result<()> {
    let client = engine.client().await?;
    for statement in [
        sql::DELETE_SOME_FEATURES,
        sql::DELETE_SOME_VALUES,
        sql::DELETE_SOME_EXTENTS,
        sql::DELETE_SOME_TILE_BLOCKS,
        sql::DELETE_SOME_LARGE_FEATURES,
    ] {
        let statement = client.prepare_cached(statement).await?;
        while client.execute(&statement, &[&workspace.0, &int(layer), &DELETE_BATCH]).await? > 0 {}
    }
    Ok(())
}

/// Everything that a tile is encoded from.
struct TileSource {
    plan: TilePlan,
    stored: Arc<StoredLayer>,
    blocks: BlockRows,
    tile: TileId,
}

impl TileSource {
    fn contents(&self) -> TileContents<'_> {
        let mut contents = TileContents::new(self.tile);
        for (tier, code, block) in self.blocks.iter() {
            self.plan.read_block(tier, code, block, &mut contents);
        }
        contents
    }

    fn encode<'s>(&'s self, contents: TileContents<'s>, separate: &'s SeparateFeatures) -> Vec<u8> {
        tiles::encode(&self.stored.layer, self.tile, contents, separate)
    }

    /// Encodes the tile, unless some of its features are stored separately.
    fn encode_if_complete(&self) -> Result<Vec<u8>, Missing> {
        let contents = self.contents();
        let missing = self.plan.missing(&contents);
        match missing.is_empty() {
            true => Ok(self.encode(contents, &SeparateFeatures::default())),
            false => Err(missing),
        }
    }
}

/// The revision of a layer, if it exists.
async fn read_revision(
    client: &Client,
    workspace: WorkspaceId,
    layer: LayerId,
) -> Result<Option<u64>> {
    let statement = client.prepare_cached(sql::LAYER_REVISION).await?;
    let row = client.query_opt(&statement, &[&workspace.0, &layer.0]).await?;
    Ok(row.map(|row| row.try_get::<_, i64>(1)).transpose()?.map(i64::unsigned_abs))
}

/// The shapes of large features in the detail of a zoom; `None` when the layer has changed since.
async fn large_features(
    client: &Client,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    positions: Vec<u64>,
    zoom: u8,
) -> Result<Option<FxHashMap<u64, Vec<u8>>>> {
    let mut large = FxHashMap::default();
    if positions.is_empty() {
        return Ok(Some(large));
    }
    let positions: Vec<i64> = positions.into_iter().map(int).collect();
    let statement = client.prepare_cached(sql::LARGE_FEATURES).await?;
    let params: [&(dyn ToSql + Sync); 4] =
        [&workspace.0, &int(stored.no), &positions, &i16::from(zoom)];
    let rows = client.query(&statement, &params).await?;
    if !is_of(stored.layer.revision, &rows)? {
        return Ok(None);
    }
    for row in rows {
        if let Some(position) = row.try_get::<_, Option<i64>>(1)? {
            large.insert(position.unsigned_abs(), row.try_get(2)?);
        }
    }
    Ok(Some(large))
}

/// Polygons that may be drawn alone; `None` when the layer has changed since.
async fn lone_polygons(
    client: &Client,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    positions: Vec<u64>,
    zoom: u8,
) -> Result<Option<Vec<LonePolygon>>> {
    let mut polygons = Vec::with_capacity(positions.len());
    if positions.is_empty() {
        return Ok(Some(polygons));
    }
    let positions: Vec<i64> = positions.into_iter().map(int).collect();
    let statement = client.prepare_cached(sql::FEATURES_AT).await?;
    let rows = client.query(&statement, &[&workspace.0, &int(stored.no), &positions]).await?;
    if !is_of(stored.layer.revision, &rows)? {
        return Ok(None);
    }
    for row in rows {
        if let Some(position) = row.try_get::<_, Option<i64>>(1)? {
            let (wkb, properties) = (row.try_get(2)?, row.try_get(3)?);
            let position = position.unsigned_abs();
            polygons.extend(LonePolygon::read(&stored.layer, zoom, position, wkb, properties)?);
        }
    }
    Ok(Some(polygons))
}

/// The blocks of some ranges that meet an area, up to a limit.
async fn tile_rows(
    client: &Client,
    workspace: WorkspaceId,
    layer: i64,
    ranges: &TierRanges,
    area: GridBox,
    limit: Option<usize>,
) -> Result<Vec<Row>> {
    let (tiers, first, last) = range_arrays(ranges);
    let GridBox { min_x, min_y, max_x, max_y } = area;
    let params: [&(dyn ToSql + Sync); 9] =
        [&workspace.0, &layer, &tiers, &first, &last, &min_x, &min_y, &max_x, &max_y];
    let Some(limit) = limit else {
        let statement = client.prepare_cached(sql::TILE).await?;
        return Ok(client.query(&statement, &params).await?);
    };
    let limit = int(limit as u64);
    let limited: Vec<_> = params.into_iter().chain([&limit as _]).collect();
    let statement = client.prepare_cached(sql::TILE_UP_TO).await?;
    Ok(client.query(&statement, &limited).await?)
}

/// Rows of [`sql::TILE`], and the distinct blocks in them.
struct BlockRows {
    rows: Vec<Row>,
    /// Tier, Morton code and index of the row.
    blocks: Vec<(u8, u64, usize)>,
}

impl BlockRows {
    fn new(rows: Vec<Row>) -> Result<Self> {
        let mut keys = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            // A layer without blocks has one row, with only the revision.
            let Some(tier) = row.try_get::<_, Option<i16>>(1)? else { continue };
            let key = (row.try_get::<_, i64>(2)?, row.try_get::<_, i64>(3)?);
            keys.push((tier, key, at));
        }
        // A block that two ranges meet is returned twice.
        keys.sort_unstable();
        keys.dedup_by_key(|(tier, key, _)| (*tier, *key));
        let block = |(tier, (code, _), at): (i16, (i64, i64), usize)| {
            (u8::try_from(tier).unwrap_or_default(), morton_code(code), at)
        };
        Ok(Self { rows, blocks: keys.into_iter().map(block).collect() })
    }

    /// Whether the tile can be encoded on the calling thread.
    fn is_small(&self) -> bool {
        let bytes: usize = self.iter().map(|(_, _, block)| block.len()).sum();
        // At most half of what is read is visible, except in very dense areas.
        tiles::is_small(bytes / 2, self.rows.len())
    }

    fn iter(&self) -> impl Iterator<Item = (u8, u64, &[u8])> {
        // The column has this type; if it had not, the block would be empty.
        let block = |at: usize| self.rows[at].try_get(4).unwrap_or_default();
        self.blocks.iter().map(move |(tier, code, at)| (*tier, *code, block(*at)))
    }
}

/// Whether the rows are of this revision of the layer.
fn is_of(revision: u64, rows: &[Row]) -> Result<bool> {
    match rows.first() {
        Some(row) => Ok(row.try_get::<_, i64>(0)?.unsigned_abs() == revision),
        None => Ok(false),
    }
}
