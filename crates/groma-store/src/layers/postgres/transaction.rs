//! Operations of a transaction on layers.

use super::sql;
use crate::{
    Result,
    engine::{
        int,
        postgres::{Param, PostgresTransaction, Statement, params, unsigned},
    },
    layers::{
        FeatureRow, LayerTx, LayerWrite, StagedLayer, StoredBlock, StoredFeature, StoredLayer,
        morton_code, sortable, tile_index::TierRanges, value_index::IndexedValue,
    },
};
use groma_domain::{GeometryId, Layer, LayerId, RecordId, Timestamp, WorkspaceId, layer::LayerKey};
use groma_geo::{Bbox, grid::GridBox, tile_block::TileBlock};
use tokio_postgres::{
    Row,
    types::{IsNull, ToSql, Type},
};
use uuid::Uuid;

impl LayerTx for PostgresTransaction<'_> {
    async fn layer(
        &mut self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<StoredLayer>> {
        let row = match key {
            LayerKey::Id(id) => self.row(sql::LAYER_BY_ID, &[&workspace.0, &id.0]).await?,
            LayerKey::Slug(slug) => self.row(sql::LAYER_BY_SLUG, &[&workspace.0, slug]).await?,
        };
        row.as_ref().map(read_layer).transpose()
    }

    async fn layers(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredLayer>> {
        self.rows(sql::LAYERS, &[&workspace.0]).await?.iter().map(read_layer).collect()
    }

    async fn staged_layer(
        &mut self,
        workspace: WorkspaceId,
        id: LayerId,
    ) -> Result<Option<StagedLayer>> {
        let row = self.row(sql::STAGED_LAYER, &[&workspace.0, &id.0]).await?;
        let read = |row: &Row| {
            let lease_until = Timestamp::from_millis(row.try_get(2)?);
            Ok(StagedLayer { stored: read_layer(row)?, lease_until })
        };
        row.as_ref().map(read).transpose()
    }

    async fn features_by_external_id(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ids: &[&str],
    ) -> Result<Vec<StoredFeature>> {
        let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &int(layer), &ids];
        let rows = self.rows(sql::FEATURES_BY_EXTERNAL_ID, &params).await?;
        rows.iter().map(read_feature).collect()
    }

    async fn features_by_id(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ids: &[GeometryId],
    ) -> Result<Vec<StoredFeature>> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &int(layer), &ids];
        self.rows(sql::FEATURES_BY_ID, &params).await?.iter().map(read_feature).collect()
    }

    async fn features_between(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        first: u64,
        last: u64,
    ) -> Result<Vec<StoredFeature>> {
        let params: [&(dyn ToSql + Sync); 5] =
            [&workspace.0, &int(layer), &int(first), &int(last), &i64::MAX];
        self.rows(sql::FEATURES_BETWEEN, &params).await?.iter().map(read_feature).collect()
    }

    async fn feature(
        &mut self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(StoredLayer, StoredFeature)>> {
        let row = self.row(sql::FEATURE, &[&workspace.0, &id.0]).await?;
        row.as_ref().map(read_feature_with_layer).transpose()
    }

    async fn folders_of_layer(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
    ) -> Result<Vec<RecordId>> {
        let rows = self.rows(sql::FOLDERS_OF_LAYER, &[&workspace.0, &int(layer)]).await?;
        rows.iter().map(|row| Ok(RecordId(row.try_get(0)?))).collect()
    }

    async fn geometries_of_folder(
        &mut self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<Vec<Vec<u8>>> {
        let rows = self.rows(sql::GEOMETRIES_OF_FOLDER, &[&workspace.0, &folder.0]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn extents(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        runs: Option<&[u64]>,
    ) -> Result<Vec<(u64, Bbox)>> {
        let runs: Option<Vec<i64>> = runs.map(|runs| runs.iter().map(|n| int(*n)).collect());
        let rows = self.rows(sql::EXTENTS, &[&workspace.0, &int(layer), &runs]).await?;
        let read = |row: &Row| {
            let bounds = Bbox([row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?]);
            Ok((row.try_get::<_, i64>(0)?.unsigned_abs(), bounds))
        };
        rows.iter().map(read).collect()
    }

    async fn tile_blocks(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ranges: &TierRanges,
    ) -> Result<Vec<StoredBlock>> {
        let (tiers, first, last) = range_arrays(ranges);
        let params: [&(dyn ToSql + Sync); 5] = [&workspace.0, &int(layer), &tiers, &first, &last];
        self.rows(sql::TILE_BLOCKS, &params).await?.iter().map(read_block).collect()
    }

    async fn write_layers(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<LayerWrite>,
    ) -> Result<()> {
        let is_new =
            |write: &LayerWrite| matches!(write, LayerWrite::SaveFeature(row) if row.is_new);
        let (inserts, others): (Vec<_>, Vec<_>) = writes.into_iter().partition(is_new);
        let mut statements = insert_statements(workspace.0, inserts);
        statements.extend(others.into_iter().map(|write| statement(workspace.0, write)));
        self.send(statements).await
    }
}

/// The most features that one statement inserts.
const MAX_INSERTED: usize = 1_000;

/// The insertion of features that are all of one layer.
fn insert_statements(ws: Uuid, inserts: Vec<LayerWrite>) -> Vec<Statement> {
    let rows = inserts.into_iter().filter_map(|write| match write {
        LayerWrite::SaveFeature(row) => Some(row),
        _ => None,
    });
    let mut rows = rows.peekable();
    let mut statements = Vec::new();
    while let Some(layer) = rows.peek().map(|row| row.layer) {
        let mut lists = FeatureLists::default();
        rows.by_ref().take(MAX_INSERTED).for_each(|row| lists.push(row));
        statements.push((sql::INSERT_FEATURES, lists.params(ws, layer)));
    }
    statements
}

/// Features as parallel lists.
#[derive(Default)]
struct FeatureLists {
    positions: Vec<i64>,
    ids: Vec<Uuid>,
    external_ids: Vec<Option<String>>,
    folders: Vec<Option<Uuid>>,
    assignments: Vec<Option<Uuid>>,
    geoms: Vec<Option<Vec<u8>>>,
    heights: Vec<Option<Vec<u8>>>,
    originals: Vec<Option<Vec<u8>>>,
    properties: Vec<String>,
    created_at: Vec<i64>,
    updated_at: Vec<i64>,
}

impl FeatureLists {
    fn push(&mut self, FeatureRow { has_heights, feature, .. }: FeatureRow) {
        self.positions.push(int(feature.position));
        self.ids.push(feature.id.0);
        self.external_ids.push(feature.external_id);
        self.folders.push(feature.folder.map(|id| id.0));
        self.assignments.push(feature.assignment.map(|id| id.0));
        self.geoms.push(feature.geometry.as_deref().map(|wkb| Ewkb::of(wkb).0));
        self.heights.push(feature.geometry.filter(|_| has_heights));
        self.originals.push(feature.original);
        self.properties.push(feature.properties);
        self.created_at.push(feature.created_at.as_millis());
        self.updated_at.push(feature.updated_at.as_millis());
    }

    fn params(self, ws: Uuid, layer: u64) -> Vec<Param> {
        params![
            ws,
            int(layer),
            self.positions,
            self.ids,
            self.external_ids,
            self.folders,
            self.assignments,
            self.geoms,
            self.heights,
            self.originals,
            self.properties,
            self.created_at,
            self.updated_at
        ]
    }
}

fn statement(ws: Uuid, write: LayerWrite) -> Statement {
    // Plain data always serializes.
    let state = |layer: &Layer| serde_json::to_string(layer).unwrap_or_default();
    let layer_params = |layer: &Layer| {
        let slug = layer.slug.as_str().to_owned();
        params![ws, layer.id.0, slug, int(layer.revision), state(layer)]
    };
    match write {
        LayerWrite::Insert(layer) => (sql::INSERT_LAYER, layer_params(&layer)),
        LayerWrite::Update(layer) => (sql::UPDATE_LAYER, layer_params(&layer)),
        LayerWrite::Delete { layer } => (sql::DELETE_LAYER, params![ws, int(layer)]),
        LayerWrite::Stage { layer, lease_until } => {
            (sql::STAGE_LAYER, params![ws, layer.id.0, state(&layer), lease_until.as_millis()])
        }
        LayerWrite::SaveStaged { layer, lease_until } => {
            let params = params![ws, layer.id.0, state(&layer), lease_until.as_millis()];
            (sql::SAVE_STAGED_LAYER, params)
        }
        LayerWrite::DeleteStaged { layer } => (sql::DELETE_STAGED_LAYER, params![ws, int(layer)]),
        LayerWrite::InsertStaged { no, layer } => {
            let mut params = layer_params(&layer);
            params.extend(params![int(no)]);
            (sql::PUBLISH_LAYER, params)
        }
        LayerWrite::SaveFeature(row) => update_statement(ws, row),
        LayerWrite::DeleteFeature { layer, position, .. } => {
            (sql::DELETE_FEATURE, params![ws, int(layer), int(position)])
        }
        LayerWrite::GrowExtent { layer, run, bounds: Bbox([w, s, e, n]) } => {
            (sql::GROW_EXTENT, params![ws, int(layer), int(run), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, run, bounds: Some(Bbox([w, s, e, n])) } => {
            (sql::SET_EXTENT, params![ws, int(layer), int(run), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, run, bounds: None } => {
            (sql::DELETE_EXTENT, params![ws, int(layer), int(run)])
        }
        LayerWrite::SaveBlock { layer, tier, is_new, block } => {
            let TileBlock {
                key: (centre, position),
                bounds: GridBox { min_x, min_y, max_x, max_y },
                bytes,
            } = block;
            (
                if is_new { sql::INSERT_TILE_BLOCK } else { sql::UPDATE_TILE_BLOCK },
                params![
                    ws,
                    int(layer),
                    i16::from(tier),
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
        LayerWrite::DeleteBlock { layer, tier, key } => (
            sql::DELETE_TILE_BLOCK,
            params![ws, int(layer), i16::from(tier), sortable(key.0), int(key.1)],
        ),
        LayerWrite::SaveLargeFeature { layer, position, max_zoom, shape } => (
            sql::SAVE_LARGE_FEATURE,
            params![ws, int(layer), int(position), i16::from(max_zoom), shape],
        ),
        LayerWrite::SaveValues { layer, position, values } => {
            let (fields, values) = value_arrays(values);
            (sql::SAVE_VALUES, params![ws, int(layer), int(position), fields, values])
        }
        LayerWrite::DeleteValues { layer, position, values } => {
            let (fields, values) = value_arrays(values);
            (sql::DELETE_VALUES, params![ws, int(layer), int(position), fields, values])
        }
        LayerWrite::DeleteFieldValues { layer, field } => {
            (sql::DELETE_FIELD_VALUES, params![ws, int(layer), int(field)])
        }
        LayerWrite::DeleteLargeFeature { layer, position } => {
            (sql::DELETE_LARGE_FEATURE, params![ws, int(layer), int(position)])
        }
    }
}

/// The update of a feature. New ones are inserted by [`insert_statements`].
fn update_statement(ws: Uuid, row: FeatureRow) -> Statement {
    let FeatureRow { layer, has_heights, feature, .. } = row;
    let (folder, assignment) = (feature.folder.map(|id| id.0), feature.assignment.map(|id| id.0));
    let geom = feature.geometry.as_deref().map(Ewkb::of);
    let heights = feature.geometry.filter(|_| has_heights);
    let params = params![
        ws,
        int(layer),
        int(feature.position),
        folder,
        assignment,
        geom,
        heights,
        feature.original,
        feature.properties,
        feature.updated_at.as_millis()
    ];
    (sql::UPDATE_FEATURE, params)
}

/// A geometry as PostGIS takes it: WKB with the id of WGS 84.
#[derive(Debug)]
struct Ewkb(Vec<u8>);

impl Ewkb {
    fn of(wkb: &[u8]) -> Self {
        const HAS_SRID: u8 = 0x20;
        let mut bytes = Vec::with_capacity(wkb.len() + 4);
        if let [order, a, b, c, flags, rest @ ..] = wkb {
            bytes.extend_from_slice(&[*order, *a, *b, *c, flags | HAS_SRID]);
            bytes.extend_from_slice(&4326_u32.to_le_bytes());
            bytes.extend_from_slice(rest);
        }
        Self(bytes)
    }
}

impl ToSql for Ewkb {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "geometry"
    }

    tokio_postgres::types::to_sql_checked!();
}

/// Indexed values as parallel arrays.
fn value_arrays(values: Vec<IndexedValue>) -> (Vec<i64>, Vec<Vec<u8>>) {
    values.into_iter().map(|(field, value)| (int(field), value)).unzip()
}

/// Ranges as parallel arrays.
pub(super) fn range_arrays(ranges: &TierRanges) -> (Vec<i16>, Vec<i64>, Vec<i64>) {
    let tiers = ranges.iter().map(|(tier, _)| i16::from(*tier)).collect();
    let first = ranges.iter().map(|(_, (first, _))| sortable(*first)).collect();
    let last = ranges.iter().map(|(_, (_, last))| sortable(*last)).collect();
    (tiers, first, last)
}

pub(super) fn read_layer(row: &Row) -> Result<StoredLayer> {
    let layer = serde_json::from_str(row.try_get(1)?)?;
    Ok(StoredLayer { no: unsigned(row, 0)?, layer })
}

pub(super) fn read_feature(row: &Row) -> Result<StoredFeature> {
    let record = |column: usize| row.try_get::<_, Option<Uuid>>(column).map(|id| id.map(RecordId));
    Ok(StoredFeature {
        position: unsigned(row, 0)?,
        id: GeometryId(row.try_get(1)?),
        external_id: row.try_get(2)?,
        folder: record(3)?,
        assignment: record(4)?,
        geometry: row.try_get(5)?,
        original: row.try_get(6)?,
        properties: row.try_get(7)?,
        created_at: Timestamp::from_millis(row.try_get(8)?),
        updated_at: Timestamp::from_millis(row.try_get(9)?),
    })
}

/// A row of [`sql::FEATURE`].
pub(super) fn read_feature_with_layer(row: &Row) -> Result<(StoredLayer, StoredFeature)> {
    let layer = serde_json::from_str(row.try_get(11)?)?;
    let layer = StoredLayer { no: unsigned(row, 10)?, layer };
    Ok((layer, read_feature(row)?))
}

fn read_block(row: &Row) -> Result<StoredBlock> {
    Ok(StoredBlock {
        tier: u8::try_from(row.try_get::<_, i16>(0)?).unwrap_or_default(),
        key: (morton_code(row.try_get(1)?), row.try_get::<_, i64>(2)?.unsigned_abs()),
        block: row.try_get(3)?,
    })
}
