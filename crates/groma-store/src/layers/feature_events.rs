//! Events about the features of a layer: one for each feature that a request changes, or one about the layer
//! if they are many; and events about layers.

use super::{LayerFeature, LayerTx, StoredFeature};
use crate::{
    Error, Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    webhooks::{WebhookContext, WebhookTargets},
    workspaces::LockedWorkspace,
};
use groma_domain::{
    Event, GeometryId, Layer, LayerId, RecordId, Timestamp,
    event::{EventAction, EventScope, LayerChange, MAX_FEATURE_EVENTS, Topic},
};
use groma_geo::Bbox;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use uuid::Uuid;

/// The number of features that are read and written at a time.
const CHUNK: usize = 100;

/// The features of a layer that a request has changed.
#[derive(Default)]
pub(super) struct FeatureChanges {
    created: u64,
    updated: u64,
    deleted: u64,
    /// A box around them, before and after.
    bbox: Option<Bbox>,
    /// Their folders, before and after.
    folders: HashSet<RecordId>,
    /// The first of them: all, if they are few enough for an event each.
    changes: Vec<FeatureChange>,
}

/// A feature that was created, changed or deleted.
pub(super) struct FeatureChange {
    pub(super) id: GeometryId,
    pub(super) action: EventAction,
    /// Its folder before and after.
    pub(super) folders: [Option<RecordId>; 2],
    /// Its bounding box before and after.
    pub(super) boxes: [Option<Bbox>; 2],
    /// The document of a deleted feature. That of others is read when the event is written.
    pub(super) deleted: Option<String>,
}

impl FeatureChanges {
    pub(super) fn add(&mut self, change: FeatureChange) {
        *match change.action {
            EventAction::Created => &mut self.created,
            EventAction::Updated | EventAction::Archived => &mut self.updated,
            EventAction::Deleted => &mut self.deleted,
        } += 1;
        for bbox in change.boxes.into_iter().flatten() {
            self.bbox = Some(self.bbox.map_or(bbox, |all| all.union(bbox)));
        }
        self.folders.extend(change.folders.into_iter().flatten());
        if self.changes.len() < MAX_FEATURE_EVENTS {
            self.changes.push(change);
        }
    }

    /// The features of a new layer, too many for an event each.
    pub(super) fn of_large_layer(layer: &Layer, folder: Option<RecordId>) -> Self {
        let folders = folder.into_iter().collect();
        Self { created: layer.counts.total(), bbox: layer.bounds, folders, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> u64 {
        self.created + self.updated + self.deleted
    }

    /// What changed in the layer.
    fn summary(&self, layer: &Layer) -> LayerChange {
        LayerChange {
            id: layer.id,
            revision: layer.revision,
            created: self.created,
            updated: self.updated,
            deleted: self.deleted,
            bbox: self.bbox,
        }
    }
}

/// The document of a feature for an event.
pub(super) fn document(feature: StoredFeature, layer: LayerId) -> Result<String> {
    let mut json = Vec::new();
    let written = LayerFeature::from(feature).document(layer).write(&mut json);
    written.map_err(|error| Error::Damaged(error.to_string()))?;
    String::from_utf8(json).map_err(|error| Error::Damaged(error.to_string()))
}

/// The audit entry of a deleted feature.
pub(super) fn deletion(
    actor: AuthorizedActor,
    at: Timestamp,
    layer: LayerId,
    old: &StoredFeature,
) -> NewAuditEntry {
    let before = serde_json::json!({
        "id": old.id, "externalId": old.external_id, "folderId": old.folder,
    });
    NewAuditEntry {
        at,
        actor: actor.into(),
        action: "geometries.deleted",
        subject: layer.0,
        before: Some(before.to_string()),
        after: None,
    }
}

/// Writes the events of one request.
pub(super) struct EventWriter<'a> {
    pub(super) locked: &'a LockedWorkspace,
    pub(super) actor: AuthorizedActor,
    pub(super) now: Timestamp,
    pub(super) webhooks: &'a Arc<WebhookContext>,
}

impl EventWriter<'_> {
    /// Writes the events about changed features, whose layer is stored as `no`.
    pub(super) async fn features<T: LayerTx>(
        &self,
        tx: &mut T,
        no: u64,
        layer: &Layer,
        changes: FeatureChanges,
    ) -> Result<()> {
        if changes.count() > MAX_FEATURE_EVENTS as u64 {
            let folders: Vec<RecordId> = changes.folders.iter().copied().collect();
            let boxes = Some([changes.bbox, None]);
            let scope = EventScope { folders: &folders, layer: Some(layer.id), boxes };
            return self.layer_updated(tx, &changes.summary(layer), &scope).await;
        }
        let mut changes = changes.changes;
        let targets = self.targets(tx).await?;
        while !changes.is_empty() {
            let chunk: Vec<_> = changes.drain(..changes.len().min(CHUNK)).collect();
            self.chunk(tx, no, layer.id, chunk, &targets).await?;
        }
        Ok(())
    }

    async fn chunk<T: LayerTx>(
        &self,
        tx: &mut T,
        no: u64,
        layer: LayerId,
        chunk: Vec<FeatureChange>,
        targets: &WebhookTargets,
    ) -> Result<()> {
        let workspace = self.locked.workspace.id;
        let left = chunk.iter().filter(|change| change.deleted.is_none());
        let ids: Vec<GeometryId> = left.map(|change| change.id).collect();
        let features = tx.features_by_id(workspace, no, &ids).await?.into_iter();
        let mut features: HashMap<_, _> = features.map(|feature| (feature.id, feature)).collect();
        let mut events = Vec::with_capacity(chunk.len());
        for FeatureChange { id, action, folders, boxes, deleted } in chunk {
            let event = Event { topic: Topic::Geometry, action };
            let (before, after) = match (deleted, features.remove(&id)) {
                (Some(deleted), _) => (Some(deleted), None),
                (None, Some(feature)) => (None, Some(document(feature, layer)?)),
                (None, None) => continue,
            };
            let folders: Vec<RecordId> = folders.into_iter().flatten().collect();
            let scope = EventScope { folders: &folders, layer: Some(layer), boxes: Some(boxes) };
            let entry = self.entry(event, id.0, before, after);
            events.push(self.webhooks.event(entry, event, &scope, targets));
        }
        tx.log_events(workspace, events, self.webhooks).await
    }

    /// Writes the event about a layer that was created or deleted.
    pub(super) async fn layer<T: LayerTx>(
        &self,
        tx: &mut T,
        action: EventAction,
        layer: &Layer,
    ) -> Result<()> {
        let document = serde_json::to_string(&layer.document(&self.webhooks.geo_url()))?;
        let (before, after) = match action {
            EventAction::Deleted => (Some(document), None),
            _ => (None, Some(document)),
        };
        let scope = EventScope { layer: Some(layer.id), ..EventScope::default() };
        self.layer_event(tx, action, layer.id, [before, after], &scope).await
    }

    /// Writes the event about a layer that has changed, but not its features.
    pub(super) async fn layer_changed<T: LayerTx>(
        &self,
        tx: &mut T,
        change: &LayerChange,
    ) -> Result<()> {
        let scope = EventScope { layer: Some(change.id), ..EventScope::default() };
        self.layer_updated(tx, change, &scope).await
    }

    async fn layer_updated<T: LayerTx>(
        &self,
        tx: &mut T,
        change: &LayerChange,
        scope: &EventScope<'_>,
    ) -> Result<()> {
        let document = serde_json::to_string(change)?;
        self.layer_event(tx, EventAction::Updated, change.id, [None, Some(document)], scope).await
    }

    async fn layer_event<T: LayerTx>(
        &self,
        tx: &mut T,
        action: EventAction,
        layer: LayerId,
        [before, after]: [Option<String>; 2],
        scope: &EventScope<'_>,
    ) -> Result<()> {
        let event = Event { topic: Topic::Layer, action };
        let entry = self.entry(event, layer.0, before, after);
        let event = self.webhooks.event(entry, event, scope, &self.targets(tx).await?);
        tx.log_events(self.locked.workspace.id, vec![event], self.webhooks).await
    }

    async fn targets<T: LayerTx>(&self, tx: &mut T) -> Result<WebhookTargets> {
        let (workspace, version) = (self.locked.workspace.id, self.locked.endpoints_version);
        self.webhooks.targets(tx, workspace, version).await
    }

    fn entry(
        &self,
        event: Event,
        subject: Uuid,
        before: Option<String>,
        after: Option<String>,
    ) -> NewAuditEntry {
        let (at, actor, action) = (self.now, self.actor.into(), event.name());
        NewAuditEntry { at, actor, action, subject, before, after }
    }
}
