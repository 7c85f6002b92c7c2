//! What every change to webhooks comes with.

use crate::{Actor, idempotency::IdempotentRequest};
use groma_domain::{Timestamp, WorkspaceId};

/// Who changes the webhooks of a workspace, and when.
#[derive(Clone, Debug)]
pub struct WebhookRequest {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the change.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// The request, if it carried an idempotency key.
    pub idempotent: Option<IdempotentRequest>,
}

impl WebhookRequest {
    /// A change that is not repeated.
    #[must_use]
    pub fn new(workspace: WorkspaceId, actor: Actor, now: Timestamp) -> Self {
        Self { workspace, actor, now, idempotent: None }
    }
}
