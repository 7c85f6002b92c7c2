//! Removing the links of features on PostgreSQL.

use super::sql;
use crate::{
    Result,
    engine::{
        int,
        postgres::{PostgresTransaction, params, unsigned},
    },
    records::unlinked_features::{DeletedLinks, LinkedFeature, UnlinkedFeatures},
};
use groma_domain::{
    GeometryId, LayerId, RecordId, Timestamp, WorkspaceId, event::MAX_FEATURE_EVENTS,
};
use groma_geo::Bbox;
use tokio_postgres::Row;
use uuid::Uuid;

pub(super) async fn unlink_features(
    tx: &mut PostgresTransaction<'_>,
    workspace: WorkspaceId,
    deleted: &DeletedLinks,
    now: Timestamp,
) -> Result<Vec<UnlinkedFeatures>> {
    let ids = |ids: &[RecordId]| ids.iter().map(|id| id.0).collect::<Vec<Uuid>>();
    let (ws, folders, assignments) =
        (workspace.0, ids(&deleted.folders), ids(&deleted.assignments));
    let rows = tx.rows(sql::LAYERS_OF_LINKED_FEATURES, &[&ws, &folders, &assignments]).await?;
    let mut layers = Vec::new();
    let mut changes = Vec::new();
    for row in &rows {
        let mut layer = read_layer(row)?;
        let state = layer.change_layer(row.try_get(1)?, now)?;
        let params = params![ws, layer.layer.0, int(layer.revision), state];
        changes.push((sql::SAVE_LAYER_STATE, params));
        layers.push(layer);
    }
    if layers.is_empty() {
        return Ok(layers);
    }
    let count: u64 = layers.iter().map(|layer| layer.count).sum();
    if count <= MAX_FEATURE_EVENTS as u64 {
        let rows = tx.rows(sql::LINKED_FEATURES, &[&ws, &folders, &assignments]).await?;
        for row in &rows {
            let id = LayerId(row.try_get(0)?);
            if let Some(layer) = layers.iter_mut().find(|layer| layer.layer == id) {
                layer.push(&read_feature(row)?, deleted, now)?;
            }
        }
    }
    changes.push((sql::UNLINK_FOLDERS, params![ws, folders, now.as_millis()]));
    changes.push((sql::UNLINK_ASSIGNMENTS, params![ws, assignments, now.as_millis()]));
    tx.send(changes).await?;
    Ok(layers)
}

fn read_layer(row: &Row) -> Result<UnlinkedFeatures> {
    let side = |column: usize| row.try_get::<_, Option<f64>>(column);
    let sides = (side(3)?, side(4)?, side(5)?, side(6)?);
    let bbox = match sides {
        (Some(west), Some(south), Some(east), Some(north)) => {
            Some(Bbox([west, south, east, north]))
        }
        _ => None,
    };
    Ok(UnlinkedFeatures {
        layer: LayerId(row.try_get(0)?),
        revision: 0,
        count: unsigned(row, 2)?,
        bbox,
        folders: row.try_get::<_, Vec<Uuid>>(7)?.into_iter().map(RecordId).collect(),
        features: Vec::new(),
    })
}

fn read_feature(row: &Row) -> Result<LinkedFeature> {
    Ok(LinkedFeature {
        id: GeometryId(row.try_get(1)?),
        external_id: row.try_get(2)?,
        folder: row.try_get::<_, Option<Uuid>>(3)?.map(RecordId),
        geometry: row.try_get(4)?,
        properties: row.try_get(5)?,
        created_at: Timestamp::from_millis(row.try_get(6)?),
    })
}
