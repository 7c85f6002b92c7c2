//! Removing the links of features on SQLite.

use super::sql;
use crate::{
    Error, Result,
    audit_log::sqlite::hex_array,
    engine::{int, sqlite::SqliteTransaction},
    records::unlinked_features::{DeletedLinks, LinkedFeature, UnlinkedFeatures},
};
use groma_domain::{GeometryId, LayerId, RecordId, Timestamp, event::MAX_FEATURE_EVENTS};
use groma_geo::wkb;
use rusqlite::{Row, params};
use std::collections::HashSet;
use uuid::Uuid;

pub(super) fn unlink_features(
    tx: &SqliteTransaction<'_>,
    ws: i64,
    deleted: &DeletedLinks,
    now: Timestamp,
) -> Result<Vec<UnlinkedFeatures>> {
    let hex = |ids: &[RecordId]| hex_array(&ids.iter().map(|id| id.0).collect::<Vec<_>>());
    let (folders, assignments) = (hex(&deleted.folders), hex(&deleted.assignments));
    let mut layers = find(tx, deleted, &folders, &assignments, now)?;
    if !layers.is_empty() {
        tx.execute(sql::UNLINK_FOLDERS, params![folders, now.as_millis()])?;
        tx.execute(sql::UNLINK_ASSIGNMENTS, params![assignments, now.as_millis()])?;
    }
    for layer in &mut layers {
        let id = layer.layer.0;
        let before: String =
            tx.prepare(sql::LAYER_STATE)?.query_row(params![ws, id], |row| row.get(0))?;
        let state = layer.change_layer(&before, now)?;
        tx.execute(sql::SAVE_LAYER_STATE, params![ws, id, int(layer.revision), state])?;
    }
    Ok(layers)
}

fn find(
    tx: &SqliteTransaction<'_>,
    deleted: &DeletedLinks,
    folders: &str,
    assignments: &str,
    now: Timestamp,
) -> Result<Vec<UnlinkedFeatures>> {
    let mut layers: Vec<UnlinkedFeatures> = Vec::new();
    let mut count = 0;
    let mut statement = tx.prepare(sql::LINKED_FEATURES)?;
    let mut rows = statement.query([folders, assignments])?;
    while let Some(row) = rows.next()? {
        let layer = LayerId(row.get(0)?);
        if layers.last().is_none_or(|last| last.layer != layer) {
            layers.push(UnlinkedFeatures {
                layer,
                revision: 0,
                count: 0,
                bbox: None,
                folders: HashSet::new(),
                features: Vec::new(),
            });
        }
        let Some(layer) = layers.last_mut() else { continue };
        let feature = read_feature(row)?;
        layer.count += 1;
        layer.folders.extend(feature.folder);
        count += 1;
        if count <= MAX_FEATURE_EVENTS {
            layer.push(&feature, deleted, now)?;
        }
        let damaged = |error: wkb::WkbError| Error::Damaged(error.to_string());
        let geometry = feature.geometry.as_deref().map(wkb::from_wkb).transpose();
        if let Some(bbox) = geometry.map_err(damaged)?.and_then(|geometry| geometry.bbox()) {
            layer.bbox = Some(layer.bbox.map_or(bbox, |all| all.union(bbox)));
        }
    }
    if count > MAX_FEATURE_EVENTS {
        layers.iter_mut().for_each(|layer| layer.features.clear());
    }
    Ok(layers)
}

fn read_feature(row: &Row<'_>) -> rusqlite::Result<LinkedFeature> {
    Ok(LinkedFeature {
        id: GeometryId(row.get(1)?),
        external_id: row.get(2)?,
        folder: row.get::<_, Option<Uuid>>(3)?.map(RecordId),
        geometry: row.get(4)?,
        properties: row.get(5)?,
        created_at: Timestamp::from_millis(row.get(6)?),
    })
}
