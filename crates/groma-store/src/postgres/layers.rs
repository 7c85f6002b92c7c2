//! Layers and tiles, read from PostgreSQL.

use super::{
    Postgres,
    rows::{read_feature, read_feature_with_layer, read_layer},
    sql,
    statements::{int, range_arrays},
};
use crate::{
    Error, Result,
    geometries::ShelfRanges,
    long::long,
    tiles::{self, Drawn, LITTLE_BLOCKS, Pace, Plan, Stride, Tile},
    tx::{StoredFeature, StoredLayer},
    vicinity::{MOST_APART, MOST_BLOCKS, Vicinity, VicinityId},
};
use deadpool_postgres::Client;
use groma_domain::{GeometryId, Layer, LayerId, RecordId, WorkspaceId, layer::LayerKey};
use groma_geo::{
    grid::{GridBox, TileId},
    tile::Candidate,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tokio_postgres::types::ToSql;

/// How many rows go in one step when a layer is deleted.
const PURGE: i64 = 2_000;

/// Looking in one more place costs as much as passing over some hundred blocks.
const STRIDE: Stride = Stride(8);

impl Postgres {
    pub(crate) async fn layers(&self, workspace: WorkspaceId) -> Result<Vec<Layer>> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql::LAYERS).await?;
        let rows = client.query(&statement, &[&workspace.0]).await?;
        rows.iter().map(|row| read_layer(row).map(|row| row.layer)).collect()
    }

    pub(crate) async fn layer(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<StoredLayer>> {
        let client = self.client().await?;
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

    pub(crate) async fn layer_revision(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
    ) -> Result<Option<u64>> {
        let asked = async { revision_now(&*self.shared().await?, workspace, layer).await };
        self.within_reach(asked).await
    }

    pub(crate) fn last_revision(&self, workspace: WorkspaceId, layer: LayerId) -> Option<u64> {
        self.layers.last(workspace, layer).map(|stored| stored.layer.revision)
    }

    pub(crate) async fn tile(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        id: LayerId,
        tile: TileId,
    ) -> Result<Option<Tile>> {
        let read = async {
            if tiles::shows_little(tile.z()) {
                let shared = self.shared().await?;
                let drawn = self.read_tile(&shared, Pace::Brief, workspace, id, tile).await?;
                if let Drawn::As(tile) = drawn {
                    return Ok(tile);
                }
            }
            let own = self.client().await?;
            match self.read_tile(&own, Pace::Long, workspace, id, tile).await? {
                Drawn::As(tile) => Ok(tile),
                // Nothing is, when it may take long.
                Drawn::TooMuch => Err(Error::Closed),
            }
        };
        self.within_reach(read).await
    }

    /// Draws a tile, unless that takes longer than it may.
    async fn read_tile(
        &self,
        client: &Client,
        pace: Pace,
        workspace: WorkspaceId,
        id: LayerId,
        tile: TileId,
    ) -> Result<Drawn> {
        // Each statement tells the revision it was of: when that is another than the layer's that
        // the plan was made for, begin again with what the layer is now.
        let mut known = self.layers.last(workspace, id);
        loop {
            let stored = match known.take() {
                Some(stored) => stored,
                None => match self.current_layer(client, workspace, id).await? {
                    Some(stored) => stored,
                    None => return Ok(Drawn::As(None)),
                },
            };
            if let Some(drawn) = self.draw_tile(client, pace, workspace, stored, tile).await? {
                return Ok(drawn);
            }
        }
    }

    /// A tile of a layer as it was known; `None` when it has changed since.
    async fn draw_tile(
        &self,
        client: &Client,
        pace: Pace,
        workspace: WorkspaceId,
        stored: Arc<StoredLayer>,
        tile: TileId,
    ) -> Result<Option<Drawn>> {
        let (no, revision) = (int(stored.no), stored.layer.revision);
        let Some(plan) = Plan::new(&stored.layer, tile, STRIDE) else {
            let now = revision_now(client, workspace, stored.layer.id).await?;
            let is_current = now == Some(revision);
            return Ok(is_current.then(|| Drawn::tile(revision, Vec::new())));
        };
        let most = (pace == Pace::Brief).then_some(LITTLE_BLOCKS);
        let mut read = Rows::default();
        let (mut to_read, mut is_ahead_read) = (plan.ranges.clone(), plan.reads_at_once());
        if is_ahead_read {
            to_read.extend_from_slice(&plan.further);
        }
        loop {
            let limit = most.map(|most| most + 1);
            let rows = tile_rows(client, workspace, no, &to_read, plan.area(), limit).await?;
            if !is_of(revision, &rows)? {
                return Ok(None);
            }
            if most.is_some_and(|most| rows.len() > most) {
                return Ok(Some(Drawn::TooMuch));
            }
            read.keep(&plan, rows)?;
            if is_ahead_read || !plan.goes_further(plan.candidates(read.near()).len()) {
                break;
            }
            to_read.clone_from(&plan.further);
            is_ahead_read = true;
        }
        let sheet = Arc::new(Sheet { plan, stored, read });
        let drawn = if sheet.read.is_little() {
            // Drawn in no time, and not worth another thread.
            sheet.draw_unless_long(tile)
        } else {
            let first = sheet.clone();
            long(move || first.draw_unless_long(tile)).await?
        };
        let lacking = match drawn {
            Ok(bytes) => return Ok(Some(Drawn::tile(revision, bytes))),
            Err(lacking) => lacking,
        };
        // Nobody knows how long they are.
        let own = if pace == Pace::Brief { Some(self.client().await?) } else { None };
        let client = own.as_ref().unwrap_or(client);
        let apart = long_drawings(client, workspace, &sheet.stored, lacking, tile.z()).await?;
        let Some(apart) = apart else { return Ok(None) };
        let bytes = long(move || sheet.draw(tile, sheet.candidates(), &apart)).await?;
        Ok(Some(Drawn::tile(revision, bytes)))
    }

    pub(crate) async fn vicinity(
        &self,
        workspace: WorkspaceId,
        layer: LayerId,
        id: VicinityId,
    ) -> Result<Option<Vicinity>> {
        let client = self.client().await?;
        let Some(stored) = self.current_layer(&client, workspace, layer).await? else {
            return Ok(None);
        };
        let Some(plan) = Plan::over(&stored.layer, id.zoom(), id.area(), STRIDE) else {
            return Ok(None);
        };
        let ranges = [&plan.ranges[..], &plan.further].concat();
        let limit = Some(MOST_BLOCKS + 1);
        let rows =
            tile_rows(&client, workspace, int(stored.no), &ranges, plan.area(), limit).await?;
        if rows.len() > MOST_BLOCKS || !is_of(stored.layer.revision, &rows)? {
            return Ok(None);
        }
        let mut read = Rows::default();
        read.keep(&plan, rows)?;
        let sheet = Arc::new(Sheet { plan, stored, read });
        let first = sheet.clone();
        let lacking = long(move || Lacking(first.plan.long(&first.everything()))).await?;
        if lacking.0.len() > MOST_APART {
            return Ok(None);
        }
        let apart = long_drawings(&client, workspace, &sheet.stored, lacking, id.zoom()).await?;
        let Some(apart) = apart else { return Ok(None) };
        let stored = sheet.stored.clone();
        long(move || Vicinity::of(id, stored, sheet.everything(), &apart)).await
    }

    /// The layer as it is now.
    async fn current_layer(
        &self,
        client: &Client,
        workspace: WorkspaceId,
        id: LayerId,
    ) -> Result<Option<Arc<StoredLayer>>> {
        let statement = client.prepare_cached(sql::LAYER_BY_ID).await?;
        let row = client.query_opt(&statement, &[&workspace.0, &id.0]).await?;
        let stored = row.as_ref().map(read_layer).transpose()?;
        Ok(stored.map(|stored| self.layers.put(workspace, stored)))
    }

    pub(crate) async fn features(
        &self,
        workspace: WorkspaceId,
        layer: u64,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredFeature>> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql::FEATURES_BETWEEN).await?;
        let params: [&(dyn ToSql + Sync); 5] =
            [&workspace.0, &int(layer), &int(after + 1), &i64::MAX, &i64::from(limit)];
        client.query(&statement, &params).await?.iter().map(read_feature).collect()
    }

    pub(crate) async fn feature(
        &self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(StoredLayer, StoredFeature)>> {
        let rows = self.rows(sql::FEATURE, &[&workspace.0, &id.0]).await?;
        rows.first().map(read_feature_with_layer).transpose()
    }

    pub(crate) async fn features_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
        limit: u32,
    ) -> Result<Vec<(LayerId, StoredFeature)>> {
        let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &folder.0, &i64::from(limit)];
        let rows = self.rows(sql::FEATURES_OF_FOLDER, &params).await?;
        rows.iter().map(|row| Ok((LayerId(row.try_get(9)?), read_feature(row)?))).collect()
    }

    pub(crate) async fn count_features_of_folder(
        &self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<u64> {
        let params: [&(dyn ToSql + Sync); 2] = [&workspace.0, &folder.0];
        let rows = self.rows(sql::COUNT_FEATURES_OF_FOLDER, &params).await?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Deletes what a layer held, in small steps. The layer itself is gone by now.
    pub(crate) async fn purge_layer(&self, workspace: WorkspaceId, layer: u64) -> Result<()> {
        let client = self.client().await?;
        for statement in [
            sql::DELETE_SOME_FEATURES,
            sql::DELETE_SOME_EXTENTS,
            sql::DELETE_SOME_DRAWINGS,
            sql::DELETE_SOME_LONG_DRAWINGS,
        ] {
            let statement = client.prepare_cached(statement).await?;
            while client.execute(&statement, &[&workspace.0, &int(layer), &PURGE]).await? > 0 {}
        }
        Ok(())
    }
}

/// All that a tile is drawn from.
struct Sheet {
    plan: Plan,
    stored: Arc<StoredLayer>,
    read: Rows,
}

/// The numbers of shapes that are kept apart and have not been read.
struct Lacking(Vec<u64>);

impl Sheet {
    /// What a tile shows of it.
    fn candidates(&self) -> Vec<Candidate<'_>> {
        let mut candidates = self.plan.candidates(self.read.near());
        if self.plan.goes_further(candidates.len()) {
            candidates.extend(self.plan.candidates(self.read.ahead()));
        }
        candidates
    }

    /// What the tiles of a vicinity may show of it: each decides for itself how far it goes.
    fn everything(&self) -> Vec<Candidate<'_>> {
        let mut candidates = self.plan.candidates(self.read.near());
        candidates.extend(self.plan.candidates(self.read.ahead()));
        candidates
    }

    fn draw<'s>(
        &'s self,
        tile: TileId,
        candidates: Vec<Candidate<'s>>,
        long: &'s FxHashMap<u64, Vec<u8>>,
    ) -> Vec<u8> {
        tiles::draw(&self.stored.layer, tile, candidates, long)
    }

    fn draw_unless_long(&self, tile: TileId) -> Result<Vec<u8>, Lacking> {
        let candidates = self.candidates();
        let long = self.plan.long(&candidates);
        match long.is_empty() {
            true => Ok(self.draw(tile, candidates, &FxHashMap::default())),
            false => Err(Lacking(long)),
        }
    }
}

/// The revision of a layer, if there is one.
async fn revision_now(
    client: &Client,
    workspace: WorkspaceId,
    layer: LayerId,
) -> Result<Option<u64>> {
    let statement = client.prepare_cached(sql::LAYER_NOW).await?;
    let row = client.query_opt(&statement, &[&workspace.0, &layer.0]).await?;
    Ok(row.map(|row| row.try_get::<_, i64>(1)).transpose()?.map(i64::unsigned_abs))
}

/// Shapes that are kept apart, as a zoom shows them; `None` when the layer has changed since.
async fn long_drawings(
    client: &Client,
    workspace: WorkspaceId,
    stored: &StoredLayer,
    Lacking(lacking): Lacking,
    zoom: u8,
) -> Result<Option<FxHashMap<u64, Vec<u8>>>> {
    let mut long = FxHashMap::default();
    if lacking.is_empty() {
        return Ok(Some(long));
    }
    let lacking: Vec<i64> = lacking.into_iter().map(int).collect();
    let statement = client.prepare_cached(sql::LONG_DRAWINGS).await?;
    let params: [&(dyn ToSql + Sync); 4] =
        [&workspace.0, &int(stored.no), &lacking, &i16::from(zoom)];
    let rows = client.query(&statement, &params).await?;
    if !is_of(stored.layer.revision, &rows)? {
        return Ok(None);
    }
    for row in rows {
        if let Some(seq) = row.try_get::<_, Option<i64>>(1)? {
            long.insert(seq.unsigned_abs(), row.try_get(2)?);
        }
    }
    Ok(Some(long))
}

/// The blocks of some ranges that meet an area, so many at most.
async fn tile_rows(
    client: &Client,
    workspace: WorkspaceId,
    layer: i64,
    ranges: &ShelfRanges,
    area: GridBox,
    limit: Option<usize>,
) -> Result<Vec<tokio_postgres::Row>> {
    let (shelves, first, last) = range_arrays(ranges);
    let GridBox { min_x, min_y, max_x, max_y } = area;
    let params: [&(dyn ToSql + Sync); 9] =
        [&workspace.0, &layer, &shelves, &first, &last, &min_x, &min_y, &max_x, &max_y];
    let Some(limit) = limit else {
        let statement = client.prepare_cached(sql::TILE).await?;
        return Ok(client.query(&statement, &params).await?);
    };
    let limit = int(limit as u64);
    let limited: Vec<_> = params.into_iter().chain([&limit as _]).collect();
    let statement = client.prepare_cached(sql::TILE_UP_TO).await?;
    Ok(client.query(&statement, &limited).await?)
}

/// Rows of [`sql::TILE`], and where in them each block is that a tile is drawn from.
#[derive(Default)]
struct Rows {
    rows: Vec<tokio_postgres::Row>,
    near: Vec<usize>,
    ahead: Vec<usize>,
}

impl Rows {
    fn keep(&mut self, plan: &Plan, rows: Vec<tokio_postgres::Row>) -> Result<()> {
        let mut keys = Vec::with_capacity(rows.len());
        for (at, row) in (self.rows.len()..).zip(&rows) {
            // The one row of a layer without any has the revision alone.
            let Some(shelf) = row.try_get::<_, Option<i16>>(1)? else { continue };
            let place = (row.try_get::<_, i64>(2)?, row.try_get::<_, i64>(3)?);
            keys.push((shelf, place, at));
        }
        self.rows.extend(rows);
        // A block that two ranges meet comes twice.
        keys.sort_unstable();
        keys.dedup_by_key(|(shelf, place, _)| (*shelf, *place));
        for (shelf, _, at) in keys {
            let is_ahead = plan.is_ahead(u8::try_from(shelf).unwrap_or_default());
            let places = if is_ahead { &mut self.ahead } else { &mut self.near };
            places.push(at);
        }
        Ok(())
    }

    /// Whether the tile is drawn in no time.
    fn is_little(&self) -> bool {
        let bytes: usize = self.near().chain(self.ahead()).map(<[u8]>::len).sum();
        // No more than half of what is read is shown, but for a tile in the middle of a crowd.
        tiles::is_little(bytes / 2, self.rows.len())
    }

    fn near(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.blocks(&self.near)
    }

    fn ahead(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.blocks(&self.ahead)
    }

    fn blocks<'r>(&'r self, at: &'r [usize]) -> impl ExactSizeIterator<Item = &'r [u8]> {
        // A column of bytes is readable as such; were it not, there would be nothing to draw.
        at.iter().map(|at| self.rows[*at].try_get(4).unwrap_or_default())
    }
}

/// Whether what was read is of this revision of the layer.
fn is_of(revision: u64, rows: &[tokio_postgres::Row]) -> Result<bool> {
    match rows.first() {
        Some(row) => Ok(row.try_get::<_, i64>(0)?.unsigned_abs() == revision),
        None => Ok(false),
    }
}
