//! Operations of a transaction on layers.

use super::{
    read::{each_block, find_feature, read_feature, read_layer},
    sql,
};
use crate::{
    Result,
    engine::{
        int,
        sqlite::{SqliteTransaction, key_range, owner_of, row_key},
    },
    layers::{
        FeatureRow, LayerTx, LayerWrite, StagedLayer, StoredBlock, StoredFeature, StoredLayer,
        sortable, tile_index::TierRanges,
    },
};
use groma_domain::{GeometryId, Layer, LayerId, RecordId, Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::{Bbox, grid::GridBox, tile_block::TileBlock};
use rusqlite::{OptionalExtension, Row, params};

impl LayerTx for SqliteTransaction<'_> {
    async fn layer(
        &mut self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<StoredLayer>> {
        let ws = self.workspace_number(workspace)?;
        let found = match key {
            LayerKey::Id(id) => {
                self.prepare(sql::LAYER_BY_ID)?.query_row(params![ws, id.0], read_layer)
            }
            LayerKey::Slug(slug) => {
                self.prepare(sql::LAYER_BY_SLUG)?.query_row(params![ws, slug], read_layer)
            }
        };
        Ok(found.optional()?)
    }

    async fn layers(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredLayer>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(sql::LAYERS)?;
        Ok(statement.query_map([ws], read_layer)?.collect::<rusqlite::Result<_>>()?)
    }

    async fn staged_layer(
        &mut self,
        workspace: WorkspaceId,
        id: LayerId,
    ) -> Result<Option<StagedLayer>> {
        let ws = self.workspace_number(workspace)?;
        let staged = self.prepare(sql::STAGED_LAYER)?.query_row(params![ws, id.0], |row| {
            let lease_until = Timestamp::from_millis(row.get(2)?);
            Ok(StagedLayer { stored: read_layer(row)?, lease_until })
        });
        Ok(staged.optional()?)
    }

    async fn features_by_external_id(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        ids: &[&str],
    ) -> Result<Vec<StoredFeature>> {
        let mut keys = self.prepare(sql::FEATURE_KEY)?;
        let mut features = self.prepare(sql::FEATURES_BETWEEN)?;
        let mut found = Vec::new();
        for id in ids {
            let position: Option<i64> =
                keys.query_row(params![int(layer), id], |row| row.get(0)).optional()?;
            if let Some(position) = position {
                let key = row_key(int(layer), position.unsigned_abs());
                found.extend(features.query_row([key, key, 1], read_feature).optional()?);
            }
        }
        Ok(found)
    }

    async fn features_by_id(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        ids: &[GeometryId],
    ) -> Result<Vec<StoredFeature>> {
        let mut statement = self.prepare(sql::FEATURE)?;
        let mut found = Vec::new();
        for id in ids {
            let with_key = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, read_feature(row)?));
            let feature = statement.query_row([id.0], with_key).optional()?;
            found.extend(feature.filter(|(key, _)| owner_of(*key) == int(layer)).map(|(_, f)| f));
        }
        Ok(found)
    }

    async fn features_between(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        first: u64,
        last: u64,
    ) -> Result<Vec<StoredFeature>> {
        let mut statement = self.prepare(sql::FEATURES_BETWEEN)?;
        let (first, last) = (row_key(int(layer), first), row_key(int(layer), last));
        let rows = statement.query_map([first, last, -1], read_feature)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn feature(
        &mut self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(StoredLayer, StoredFeature)>> {
        let ws = self.workspace_number(workspace)?;
        find_feature(self.connection(), ws, id)
    }

    async fn folders_of_layer(&mut self, _: WorkspaceId, layer: u64) -> Result<Vec<RecordId>> {
        let mut statement = self.prepare(sql::FOLDERS_OF_LAYER)?;
        let (first, last) = key_range(int(layer));
        let rows = statement.query_map([first, last], |row| row.get(0).map(RecordId))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn geometries_of_folder(
        &mut self,
        _: WorkspaceId,
        folder: RecordId,
    ) -> Result<Vec<Vec<u8>>> {
        let mut statement = self.prepare(sql::GEOMETRIES_OF_FOLDER)?;
        let rows = statement.query_map([folder.0], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn extents(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        runs: Option<&[u64]>,
    ) -> Result<Vec<(u64, Bbox)>> {
        let read = |row: &Row<'_>| {
            let bounds = Bbox([row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]);
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), bounds))
        };
        let Some(runs) = runs else {
            let mut statement = self.prepare(sql::EXTENTS)?;
            let rows = statement.query_map([int(layer)], read)?;
            return Ok(rows.collect::<rusqlite::Result<_>>()?);
        };
        let mut statement = self.prepare(sql::EXTENT)?;
        let mut extents = Vec::new();
        for run in runs {
            extents.extend(statement.query_row([int(layer), int(*run)], read).optional()?);
        }
        Ok(extents)
    }

    async fn tile_blocks(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        ranges: &TierRanges,
    ) -> Result<Vec<StoredBlock>> {
        let mut blocks = Vec::new();
        each_block(self.connection(), int(layer), ranges, |tier, key, block| {
            blocks.push(StoredBlock { tier, key, block: block.to_vec() });
        })?;
        Ok(blocks)
    }

    async fn write_layers(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<LayerWrite>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        writes.into_iter().try_for_each(|write| execute(self, ws, write))
    }
}

fn execute(tx: &SqliteTransaction<'_>, ws: i64, write: LayerWrite) -> Result<()> {
    match write {
        LayerWrite::Insert(layer) => save_layer(tx, sql::INSERT_LAYER, ws, &layer),
        LayerWrite::Update(layer) => save_layer(tx, sql::UPDATE_LAYER, ws, &layer),
        LayerWrite::Delete { layer } => tx.execute(sql::DELETE_LAYER, params![ws, int(layer)]),
        LayerWrite::Stage { layer, lease_until } => {
            save_layer(tx, sql::INSERT_LAYER, ws, &layer)?;
            let no = tx.connection().last_insert_rowid();
            tx.execute(sql::DELETE_LAYER, params![ws, no])?;
            let (state, lease_until) = (serde_json::to_string(&layer)?, lease_until.as_millis());
            tx.execute(sql::STAGE_LAYER, params![no, ws, layer.id.0, state, lease_until])
        }
        LayerWrite::SaveStaged { layer, lease_until } => {
            let (state, lease_until) = (serde_json::to_string(&layer)?, lease_until.as_millis());
            tx.execute(sql::SAVE_STAGED_LAYER, params![ws, layer.id.0, state, lease_until])
        }
        LayerWrite::DeleteStaged { layer } => {
            tx.execute(sql::DELETE_STAGED_LAYER, params![ws, int(layer)])
        }
        LayerWrite::InsertStaged { no, layer } => {
            let state = serde_json::to_string(&layer)?;
            let (slug, revision) = (layer.slug.as_str(), int(layer.revision));
            let params = params![ws, layer.id.0, slug, revision, state, int(no)];
            tx.execute(sql::PUBLISH_LAYER, params)
        }
        LayerWrite::SaveFeature(row) => save_feature(tx, &row),
        LayerWrite::DeleteFeature { layer, position, external_id } => {
            if let Some(id) = external_id {
                tx.execute(sql::DELETE_FEATURE_KEY, params![int(layer), id])?;
            }
            tx.execute(sql::DELETE_FEATURE, params![row_key(int(layer), position)])
        }
        LayerWrite::GrowExtent { layer, run, bounds: Bbox([w, s, e, n]) } => {
            tx.execute(sql::GROW_EXTENT, params![int(layer), int(run), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, run, bounds: Some(Bbox([w, s, e, n])) } => {
            tx.execute(sql::SET_EXTENT, params![int(layer), int(run), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, run, bounds: None } => {
            tx.execute(sql::DELETE_EXTENT, params![int(layer), int(run)])
        }
        LayerWrite::SaveBlock { layer, tier, is_new, block } => {
            let TileBlock {
                key: (centre, position),
                bounds: GridBox { min_x, min_y, max_x, max_y },
                bytes,
            } = block;
            tx.execute(
                if is_new { sql::INSERT_TILE_BLOCK } else { sql::UPDATE_TILE_BLOCK },
                params![
                    int(layer),
                    tier,
                    sortable(centre),
                    int(position),
                    min_x,
                    min_y,
                    max_x,
                    max_y,
                    bytes
                ],
            )
        }
        LayerWrite::DeleteBlock { layer, tier, key } => tx.execute(
            sql::DELETE_TILE_BLOCK,
            params![int(layer), tier, sortable(key.0), int(key.1)],
        ),
        LayerWrite::SaveLargeFeature { layer, position, max_zoom, shape } => {
            tx.execute(sql::SAVE_LARGE_FEATURE, params![int(layer), int(position), max_zoom, shape])
        }
        LayerWrite::SaveValues { layer, position, values } => {
            values.into_iter().try_for_each(|(field, value)| {
                let params = params![int(layer), int(field), value, int(position)];
                tx.execute(sql::SAVE_VALUE, params)
            })
        }
        LayerWrite::DeleteValues { layer, position, values } => {
            values.into_iter().try_for_each(|(field, value)| {
                let params = params![int(layer), int(field), value, int(position)];
                tx.execute(sql::DELETE_VALUE, params)
            })
        }
        LayerWrite::DeleteFieldValues { layer, field } => {
            tx.execute(sql::DELETE_FIELD_VALUES, params![int(layer), int(field)])
        }
        LayerWrite::DeleteLargeFeature { layer, position } => {
            tx.execute(sql::DELETE_LARGE_FEATURE, params![int(layer), int(position)])
        }
    }
}

fn save_layer(tx: &SqliteTransaction<'_>, sql: &str, ws: i64, layer: &Layer) -> Result<()> {
    let state = serde_json::to_string(layer)?;
    let (slug, revision) = (layer.slug.as_str(), int(layer.revision));
    tx.execute(sql, params![ws, layer.id.0, slug, revision, state])
}

fn save_feature(tx: &SqliteTransaction<'_>, row: &FeatureRow) -> Result<()> {
    let feature = &row.feature;
    let key = row_key(int(row.layer), feature.position);
    let (folder, assignment) = (feature.folder.map(|id| id.0), feature.assignment.map(|id| id.0));
    if !row.is_new {
        return tx.execute(
            sql::UPDATE_FEATURE,
            params![
                key,
                folder,
                assignment,
                feature.geometry,
                feature.original,
                feature.properties,
                feature.updated_at.as_millis()
            ],
        );
    }
    tx.execute(
        sql::INSERT_FEATURE,
        params![
            key,
            feature.id.0,
            feature.external_id,
            folder,
            assignment,
            feature.geometry,
            feature.original,
            feature.properties,
            feature.created_at.as_millis(),
            feature.updated_at.as_millis()
        ],
    )?;
    match &feature.external_id {
        Some(id) => {
            tx.execute(sql::SAVE_FEATURE_KEY, params![int(row.layer), id, int(feature.position)])
        }
        None => Ok(()),
    }
}
