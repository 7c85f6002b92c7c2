//! What follows from posted features: the layer with its statistics, the boxes of folders, events, the audit entry,
//! and the response that a repeated request gets.

use super::{PostOutcome, Posting};
use crate::{
    Result,
    actor::AuthorizedActor,
    audit_log::NewAuditEntry,
    idempotency::IdempotentRequest,
    layers::{LayerTx, LayerWrite, feature_events::EventWriter, folder_boxes::update_folder_boxes},
};
use groma_domain::{event::EventAction, geometry::UploadResult};

impl<T: LayerTx> Posting<'_, T> {
    /// Completes a request whose features were written.
    pub(in crate::layers) async fn finish(
        mut self,
        actor: AuthorizedActor,
        request: Option<IdempotentRequest>,
    ) -> Result<PostOutcome> {
        let has_changed = !self.changes.is_empty();
        self.finish_layer(actor).await?;
        if self.is_new_layer || has_changed {
            let UploadResult { received, created, updated, unchanged, .. } = self.result;
            let after = serde_json::json!({ "received": received, "created": created,
                "updated": updated, "unchanged": unchanged });
            let entry = NewAuditEntry {
                at: self.now,
                actor: actor.into(),
                action: "geometries.posted",
                subject: self.result.layer_id.0,
                before: None,
                after: Some(after.to_string()),
            };
            self.tx.log(self.workspace, entry).await?;
        }
        if let Some(request) = request {
            let response = serde_json::to_vec(&self.result)?;
            self.tx.save_response(self.workspace, request, response, self.now).await?;
        }
        Ok(PostOutcome::Posted(self.result))
    }

    /// Writes what follows from the changed features: the layer with its statistics, the boxes of folders, and
    /// the events.
    pub(in crate::layers) async fn finish_layer(&mut self, actor: AuthorizedActor) -> Result<()> {
        let changes = std::mem::take(&mut self.changes);
        if !changes.is_empty() {
            self.stats.shrink(self.tx, self.workspace, self.layer).await?;
            self.update_folder_boxes(actor).await?;
            let layer = &mut self.stats.layer;
            layer.revision += 1;
            layer.updated_at = self.now;
            let update = LayerWrite::Update(layer.clone());
            self.tx.write_layers(self.workspace, vec![update]).await?;
        }
        let (locked, now, webhooks) = (&self.locked, self.now, &self.webhooks);
        let events = EventWriter { locked, actor, now, webhooks };
        if self.is_new_layer {
            events.layer(self.tx, EventAction::Created, &self.stats.layer).await?;
        }
        events.features(self.tx, self.layer, &self.stats.layer, changes).await
    }

    /// Updates the bounding boxes of the folders that were affected.
    async fn update_folder_boxes(&mut self, actor: AuthorizedActor) -> Result<()> {
        let folders = std::mem::take(&mut self.folders);
        let (workspace, now) = (self.workspace, self.now);
        update_folder_boxes(self.tx, workspace, actor, now, &self.webhooks, folders).await
    }
}
