//! Features of deleted folders and assignments. They keep their shapes and lose the link, which is an event
//! for each of them, or one for their layer if they are many.

use super::RecordTx;
use crate::{
    Error, Result,
    actor::LoggedActor,
    audit_log::NewAuditEntry,
    webhooks::{NewEvent, WebhookContext, WebhookTargets},
};
use groma_domain::{
    Event, GeometryId, Layer, LayerId, RecordId, Timestamp, WorkspaceId,
    event::{EventAction, EventScope, LayerChange, Topic},
    geometry::FeatureDocument,
};
use groma_geo::{Bbox, wkb};
use std::collections::HashSet;

/// The folders and assignments that a change deletes.
#[derive(Default)]
pub(crate) struct DeletedLinks {
    pub(super) folders: Vec<RecordId>,
    pub(super) assignments: Vec<RecordId>,
}

/// The features of a layer that lose their link.
pub(crate) struct UnlinkedFeatures {
    pub(super) layer: LayerId,
    /// The revision of the layer after.
    pub(super) revision: u64,
    pub(super) count: u64,
    pub(super) bbox: Option<Bbox>,
    /// Their folders before.
    pub(super) folders: HashSet<RecordId>,
    /// Empty if all layers together have more features than events are written for.
    pub(super) features: Vec<UnlinkedFeature>,
}

/// A feature that loses its link.
pub(super) struct UnlinkedFeature {
    id: GeometryId,
    /// Its folder before.
    folder: Option<RecordId>,
    bbox: Option<Bbox>,
    /// Its document after.
    document: String,
}

/// A feature as the database has it.
pub(super) struct LinkedFeature {
    pub(super) id: GeometryId,
    pub(super) external_id: Option<String>,
    pub(super) folder: Option<RecordId>,
    pub(super) geometry: Option<Vec<u8>>,
    pub(super) properties: String,
    pub(super) created_at: Timestamp,
}

impl DeletedLinks {
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.assignments.is_empty()
    }
}

impl UnlinkedFeatures {
    /// The layer after the change of its features; `state` is the layer before, as JSON.
    pub(super) fn change_layer(&mut self, state: &str, now: Timestamp) -> Result<String> {
        let mut layer: Layer = serde_json::from_str(state)?;
        layer.revision += 1;
        layer.updated_at = now;
        self.revision = layer.revision;
        Ok(serde_json::to_string(&layer)?)
    }

    /// Adds a feature, without the links to deleted records.
    pub(super) fn push(
        &mut self,
        feature: &LinkedFeature,
        deleted: &DeletedLinks,
        now: Timestamp,
    ) -> Result<()> {
        let damaged = |error: wkb::WkbError| Error::Damaged(error.to_string());
        let bbox = feature.geometry.as_deref().map(wkb::from_wkb).transpose().map_err(damaged)?;
        let mut document = Vec::new();
        FeatureDocument {
            id: feature.id,
            layer: self.layer,
            external_id: feature.external_id.as_deref(),
            folder: feature.folder.filter(|folder| !deleted.folders.contains(folder)),
            assignment: None,
            geometry: feature.geometry.as_deref(),
            properties: &feature.properties,
            created_at: feature.created_at,
            updated_at: now,
        }
        .write(&mut document)
        .map_err(damaged)?;
        self.features.push(UnlinkedFeature {
            id: feature.id,
            folder: feature.folder,
            bbox: bbox.and_then(|geometry| geometry.bbox()),
            document: String::from_utf8(document).unwrap_or_default(),
        });
        Ok(())
    }

    /// The events about them.
    fn events(
        self,
        actor: LoggedActor,
        at: Timestamp,
        webhooks: &WebhookContext,
        targets: &WebhookTargets,
    ) -> Result<Vec<NewEvent>> {
        let layer = Some(self.layer);
        let entry = |event: Event, subject, document| NewAuditEntry {
            at,
            actor,
            action: event.name(),
            subject,
            before: None,
            after: Some(document),
        };
        if self.features.is_empty() {
            let event = Event { topic: Topic::Layer, action: EventAction::Updated };
            let change = LayerChange {
                id: self.layer,
                revision: self.revision,
                created: 0,
                updated: self.count,
                deleted: 0,
                bbox: self.bbox,
            };
            let folders: Vec<RecordId> = self.folders.into_iter().collect();
            let scope = EventScope { folders: &folders, layer, boxes: Some([self.bbox, None]) };
            let entry = entry(event, self.layer.0, serde_json::to_string(&change)?);
            return Ok(vec![webhooks.event(entry, event, &scope, targets)]);
        }
        let event = Event { topic: Topic::Geometry, action: EventAction::Updated };
        let features = self.features.into_iter();
        Ok(features
            .map(|UnlinkedFeature { id, folder, bbox, document }| {
                let folders: Vec<RecordId> = folder.into_iter().collect();
                let scope = EventScope { folders: &folders, layer, boxes: Some([bbox, None]) };
                webhooks.event(entry(event, id.0, document), event, &scope, targets)
            })
            .collect())
    }
}

/// Removes the links of features to deleted records; returns the events about them.
pub(super) async fn unlink_features<T: RecordTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    deleted: &DeletedLinks,
    actor: LoggedActor,
    now: Timestamp,
    webhooks: &WebhookContext,
    targets: &WebhookTargets,
) -> Result<Vec<NewEvent>> {
    let mut events = Vec::new();
    if !deleted.is_empty() {
        for layer in tx.unlink_features(workspace, deleted, now).await? {
            events.extend(layer.events(actor, now, webhooks, targets)?);
        }
    }
    Ok(events)
}
