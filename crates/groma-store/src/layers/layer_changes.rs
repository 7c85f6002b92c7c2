//! Creating, changing, ordering and deleting layers.

use super::{
    LayerTx, LayerWrite, NewLayer, StoredLayer, feature_events::EventWriter,
    folder_boxes::update_folder_boxes, value_index,
};
use crate::{
    Actor, Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    engine::{impl_work, random},
    webhooks::WebhookContext,
    workspaces::{self, LockedWorkspace},
};
use groma_domain::{
    DomainError, Layer, LayerId, Permission, Timestamp, WorkspaceId,
    event::{EventAction, LayerChange},
    layer::{LayerEdit, LayerKey, LayerSetup, sort_for_map},
};
use std::sync::Arc;

impl_work! {
    CreateLayer => Layer;
    ChangeLayer => Layer;
    PlaceLayer => Vec<Layer>;
    DeleteLayer => (u64, Layer);
}

#[derive(Clone)]
pub(super) struct CreateLayer {
    pub(super) workspace: WorkspaceId,
    pub(super) actor: Actor,
    pub(super) layer: NewLayer,
    pub(super) now: Timestamp,
    pub(super) webhooks: Arc<WebhookContext>,
}

impl CreateLayer {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Layer> {
        let Self { workspace, actor, layer, now, webhooks } = self;
        let (locked, actor) = authorize(tx, workspace, actor, now).await?;
        let layer = new_layer(tx, workspace, layer, now).await?;
        let entry = entry(actor, now, "layer.created", layer.id, None, Some(&layer))?;
        tx.write_layers(workspace, vec![LayerWrite::Insert(layer.clone())]).await?;
        tx.log(workspace, entry).await?;
        let events = EventWriter { locked: &locked, actor, now, webhooks: &webhooks };
        events.layer(tx, EventAction::Created, &layer).await?;
        Ok(layer)
    }
}

#[derive(Clone)]
pub(super) struct ChangeLayer {
    pub(super) workspace: WorkspaceId,
    pub(super) actor: Actor,
    pub(super) key: LayerKey,
    pub(super) command: LayerCommand,
    pub(super) now: Timestamp,
    pub(super) webhooks: Arc<WebhookContext>,
}

#[derive(Clone)]
pub(super) enum LayerCommand {
    Edit(LayerEdit),
    SetUp(LayerSetup),
}

impl ChangeLayer {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Layer> {
        let Self { workspace, actor, key, command, now, webhooks } = self;
        let (locked, actor) = authorize(tx, workspace, actor, now).await?;
        let stored = find(tx, workspace, &key).await?;
        let mut layer = stored.layer.clone();
        match command {
            LayerCommand::Edit(edit) => layer.edit(&edit)?,
            LayerCommand::SetUp(setup) => layer.set_up(setup)?,
        }
        if layer == stored.layer {
            return Ok(layer);
        }
        layer.revision += 1;
        layer.updated_at = now;
        let before = Some(&stored.layer);
        let entry = entry(actor, now, "layer.updated", layer.id, before, Some(&layer))?;
        tx.write_layers(workspace, vec![LayerWrite::Update(layer.clone())]).await?;
        value_index::rebuild(tx, workspace, stored.no, (&stored.layer, &layer)).await?;
        tx.log(workspace, entry).await?;
        let events = EventWriter { locked: &locked, actor, now, webhooks: &webhooks };
        let change = LayerChange {
            id: layer.id,
            revision: layer.revision,
            created: 0,
            updated: 0,
            deleted: 0,
            bbox: None,
        };
        events.layer_changed(tx, &change).await?;
        Ok(layer)
    }
}

#[derive(Clone)]
pub(super) struct PlaceLayer {
    pub(super) workspace: WorkspaceId,
    pub(super) actor: Actor,
    pub(super) key: LayerKey,
    pub(super) position: usize,
    pub(super) now: Timestamp,
}

impl PlaceLayer {
    /// The revisions stay, because neither tiles nor documents contain the order.
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Vec<Layer>> {
        let Self { workspace, actor, key, position, now } = self;
        let (_, actor) = authorize(tx, workspace, actor, now).await?;
        let placed = find(tx, workspace, &key).await?.layer;
        let mut layers: Vec<Layer> =
            tx.layers(workspace).await?.into_iter().map(|stored| stored.layer).collect();
        sort_for_map(&mut layers);
        layers.retain(|layer| layer.id != placed.id);
        layers.insert(position.min(layers.len()), placed.clone());
        let mut writes = Vec::new();
        for (layer, order) in layers.iter_mut().zip(0..) {
            if layer.order != order {
                layer.order = order;
                writes.push(LayerWrite::Update(layer.clone()));
            }
        }
        let moved = layers.iter().find(|layer| layer.id == placed.id);
        if moved.is_some_and(|moved| moved.order != placed.order) {
            let entry = entry(actor, now, "layer.updated", placed.id, Some(&placed), moved)?;
            tx.log(workspace, entry).await?;
        }
        tx.write_layers(workspace, writes).await?;
        Ok(layers)
    }
}

#[derive(Clone)]
pub(super) struct DeleteLayer {
    pub(super) workspace: WorkspaceId,
    pub(super) actor: Actor,
    pub(super) key: LayerKey,
    pub(super) now: Timestamp,
    pub(super) webhooks: Arc<WebhookContext>,
}

impl DeleteLayer {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<(u64, Layer)> {
        let Self { workspace, actor, key, now, webhooks } = self;
        let (locked, actor) = authorize(tx, workspace, actor, now).await?;
        let stored = find(tx, workspace, &key).await?;
        stored.layer.require_unlocked()?;
        let before = Some(&stored.layer);
        let entry = entry(actor, now, "layer.deleted", stored.layer.id, before, None)?;
        let folders = tx.folders_of_layer(workspace, stored.no).await?;
        tx.write_layers(workspace, vec![LayerWrite::Delete { layer: stored.no }]).await?;
        tx.log(workspace, entry).await?;
        let events = EventWriter { locked: &locked, actor, now, webhooks: &webhooks };
        events.layer(tx, EventAction::Deleted, &stored.layer).await?;
        let folders = folders.into_iter().map(|folder| (folder, None));
        update_folder_boxes(tx, workspace, actor, now, &webhooks, folders).await?;
        Ok((stored.no, stored.layer))
    }
}

/// A new layer, which comes last.
pub(super) async fn new_layer<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    NewLayer { name, crs }: NewLayer,
    now: Timestamp,
) -> Result<Layer> {
    let others = tx.layers(workspace).await?;
    let mut layer = Layer::new(LayerId::new(now, random()), &name, crs, others.len(), now)?;
    append(&mut layer, &others)?;
    Ok(layer)
}

/// Places a new layer after the others, which must not have its slug.
pub(super) fn append(layer: &mut Layer, others: &[StoredLayer]) -> Result<()> {
    if others.iter().any(|other| other.layer.slug == layer.slug) {
        let taken = format!("gives the slug `{}`, which is already in use", layer.slug.as_str());
        return Err(DomainError::invalid("name", taken).into());
    }
    layer.order = last_order(others);
    Ok(())
}

/// The order with which a new layer comes last.
pub(super) fn last_order(layers: &[StoredLayer]) -> u32 {
    layers.iter().map(|stored| stored.layer.order).max().unwrap_or_default()
}

async fn find<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    key: &LayerKey,
) -> Result<StoredLayer> {
    let name = match key {
        LayerKey::Id(id) => id.to_string(),
        LayerKey::Slug(slug) => slug.clone(),
    };
    let not_found = || DomainError::NotFound { resource: "layer", key: name };
    Ok(tx.layer(workspace, key).await?.ok_or_else(not_found)?)
}

/// Locks the workspace and checks that the actor may change its layers.
pub(super) async fn authorize<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: Actor,
    now: Timestamp,
) -> Result<(LockedWorkspace, AuthorizedActor)> {
    let (locked, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
    actor.require(Permission::Administer)?;
    Ok((locked, actor))
}

/// The audit entry of a changed layer.
pub(super) fn entry(
    actor: AuthorizedActor,
    at: Timestamp,
    action: &'static str,
    layer: LayerId,
    before: Option<&Layer>,
    after: Option<&Layer>,
) -> Result<NewAuditEntry> {
    let json = |layer: Option<&Layer>| layer.map(serde_json::to_string).transpose();
    Ok(NewAuditEntry {
        at,
        actor: actor.into(),
        action,
        subject: layer.0,
        before: json(before)?,
        after: json(after)?,
    })
}
