//! Layers and tiles, read from PostgreSQL.

use super::{
    Postgres, sql,
    tx::{int, range_arrays, read_feature, read_feature_with_layer, read_layer},
};
use crate::{
    Error, Result,
    tiles::{Blocks, Plan, Tile},
    tx::{StoredFeature, StoredLayer},
};
use groma_domain::{GeometryId, Layer, LayerId, RecordId, WorkspaceId, layer::LayerKey};
use groma_geo::grid::TileId;
use std::{collections::HashMap, sync::Arc};
use tokio_postgres::types::ToSql;

/// How many rows go in one step when a layer is deleted.
const PURGE: i64 = 2_000;

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
        let client = self.client().await?;
        let statement = client.prepare_cached(sql::LAYER_NOW).await?;
        let row = client.query_opt(&statement, &[&workspace.0, &layer.0]).await?;
        Ok(row.map(|row| row.try_get::<_, i64>(1)).transpose()?.map(i64::unsigned_abs))
    }

    pub(crate) async fn tile(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        id: LayerId,
        tile: TileId,
    ) -> Result<Option<Tile>> {
        let client = self.client().await?;
        let drawings = client.prepare_cached(sql::TILE).await?;
        loop {
            let Some((no, layer)) = self.current_layer(&client, workspace, id).await? else {
                return Ok(None);
            };
            let revision = layer.revision;
            let Some(plan) = Plan::new(&layer, tile) else {
                return Ok(Some(Tile { revision, bytes: Vec::new() }));
            };
            // Each statement tells the revision it was of: when that has moved on, begin again.
            let mut blocks = Blocks::default();
            let mut ranges = &plan.ranges;
            let is_read = loop {
                let (shelves, first, last) = range_arrays(ranges);
                let params: [&(dyn ToSql + Sync); 5] = [&workspace.0, &no, &shelves, &first, &last];
                let rows = client.query(&drawings, &params).await?;
                if !is_of(revision, &rows)? {
                    break false;
                }
                keep_blocks(&plan, &rows, &mut blocks)?;
                if std::ptr::eq(ranges, &plan.further)
                    || !plan.goes_further(plan.candidates(&blocks).len())
                {
                    break true;
                }
                ranges = &plan.further;
            };
            if !is_read {
                continue;
            }
            let long_numbers: Vec<i64> =
                plan.long(&plan.candidates(&blocks)).into_iter().map(int).collect();
            let mut long = HashMap::new();
            if !long_numbers.is_empty() {
                let shapes = client.prepare_cached(sql::LONG_DRAWINGS).await?;
                let params: [&(dyn ToSql + Sync); 4] =
                    [&workspace.0, &no, &long_numbers, &i16::from(tile.z())];
                let rows = client.query(&shapes, &params).await?;
                if !is_of(revision, &rows)? {
                    continue;
                }
                for row in rows {
                    if let Some(seq) = row.try_get::<_, Option<i64>>(1)? {
                        long.insert(seq.unsigned_abs(), row.try_get(2)?);
                    }
                }
            }
            drop(client);
            let draw = move || plan.draw(&layer, plan.candidates(&blocks), &long);
            let bytes = tokio::task::spawn_blocking(draw).await.map_err(|_| Error::Closed)?;
            return Ok(Some(Tile { revision, bytes }));
        }
    }

    /// The number of a layer and the layer as it is now.
    async fn current_layer(
        &self,
        client: &deadpool_postgres::Client,
        workspace: WorkspaceId,
        id: LayerId,
    ) -> Result<Option<(i64, Arc<Layer>)>> {
        let statement = client.prepare_cached(sql::LAYER_NOW).await?;
        let Some(row) = client.query_opt(&statement, &[&workspace.0, &id.0]).await? else {
            return Ok(None);
        };
        if let Some(layer) = self.layers.get(id, row.try_get::<_, i64>(1)?.unsigned_abs()) {
            return Ok(Some((row.try_get(0)?, layer)));
        }
        let statement = client.prepare_cached(sql::LAYER_BY_ID).await?;
        let row = client.query_opt(&statement, &[&workspace.0, &id.0]).await?;
        let stored = row.as_ref().map(read_layer).transpose()?;
        Ok(stored.map(|stored| (int(stored.no), self.layers.put(stored.layer))))
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

/// Takes the blocks out of rows of [`sql::TILE`].
fn keep_blocks(plan: &Plan, rows: &[tokio_postgres::Row], blocks: &mut Blocks) -> Result<()> {
    for row in rows {
        if let Some(block) = row.try_get::<_, Option<&[u8]>>(1)?.filter(|block| plan.wants(block)) {
            blocks.push(block);
        }
    }
    Ok(())
}

/// Whether what was read is of this revision of the layer.
fn is_of(revision: u64, rows: &[tokio_postgres::Row]) -> Result<bool> {
    match rows.first() {
        Some(row) => Ok(row.try_get::<_, i64>(0)?.unsigned_abs() == revision),
        None => Ok(false),
    }
}
