//! The bounding boxes of folders, which follow the geometries that belong to them.

use super::{LayerTx, layer_stats};
use crate::{
    Result,
    actor::AuthorizedActor,
    records::{ApplyChange, Change, Command, ReservedReferences},
    webhooks::WebhookContext,
};
use groma_domain::{Kind, RecordId, Timestamp, WorkspaceId, reference::Key};
use groma_geo::Bbox;
use std::sync::Arc;

/// Updates the bounding boxes of folders: grown by what was added, or recomputed (`None`).
pub(super) async fn update_folder_boxes<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    actor: AuthorizedActor,
    now: Timestamp,
    webhooks: &Arc<WebhookContext>,
    folders: impl IntoIterator<Item = (RecordId, Option<Bbox>), IntoIter: Send>,
) -> Result<()> {
    let mut commands = Vec::new();
    for (folder, grown) in folders {
        let stored = tx.find(workspace, Kind::Folder, &Key::Id(folder)).await?;
        let Some(stored) = stored else { continue };
        let before = stored.record.into_folder().and_then(|folder| folder.bbox);
        let bbox = match grown {
            Some(grown) => Some(before.map_or(grown, |before| before.union(grown))),
            None => {
                let geometries = tx.geometries_of_folder(workspace, folder).await?;
                layer_stats::bounds(geometries.iter().map(Vec::as_slice))?
            }
        };
        if bbox != before {
            commands.push(Command::SetFolderBbox { folder, bbox });
        }
    }
    if commands.is_empty() {
        return Ok(());
    }
    let change = Change { workspace, actor: actor.actor, now, commands };
    let (reserved, webhooks) = (ReservedReferences::default(), webhooks.clone());
    ApplyChange { change, reserved, job: None, webhooks }.run(tx).await.map(drop)
}
