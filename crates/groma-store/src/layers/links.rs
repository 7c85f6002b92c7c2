//! The records that geometries are posted to.

use super::LayerTx;
use crate::Result;
use groma_domain::{DomainError, Kind, Record, RecordId, Violation, WorkspaceId, reference::Key};
use groma_geo::message;

/// The folder and assignment of the geometries; a replaced geometry keeps what is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) folder: Option<RecordId>,
    pub(super) assignment: Option<RecordId>,
}

impl Links {
    pub(super) async fn find<T: LayerTx>(
        tx: &mut T,
        workspace: WorkspaceId,
        folder: Option<String>,
        assignment: Option<String>,
    ) -> Result<Self> {
        let folder = match folder {
            Some(key) => Some(find_record(tx, workspace, Kind::Folder, &key).await?.id()),
            None => None,
        };
        let Some(key) = assignment else { return Ok(Self { folder, assignment: None }) };
        let assignment = find_record(tx, workspace, Kind::Assignment, &key).await?;
        if folder.is_some() && folder != assignment.folder() {
            return Err(DomainError::invalid("assignment", Violation::AnotherFolder).into());
        }
        Ok(Self { folder: assignment.folder(), assignment: Some(assignment.id()) })
    }
}

async fn find_record<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    kind: Kind,
    key: &str,
) -> Result<Record> {
    let found = match Key::parse(key) {
        Some(key) => tx.find(workspace, kind, &key).await?,
        None => None,
    };
    let not_found =
        || DomainError::invalid(kind.name(), message!("does not exist in this workspace"));
    Ok(found.ok_or_else(not_found)?.record)
}
