//! Operations of the API: commands with a scope and a precondition, whose outcomes show the records, and
//! whose response is kept for a repetition of the request.

use super::{
    RecordTx,
    change::{Change, Command, CommandOutcome, ReservedReferences, SaveTarget, StatusTarget},
    change_set::{ChangeSet, Effect},
};
use crate::{
    Actor, Error, Precondition, Result,
    engine::impl_work,
    idempotency::{self, IdempotentRequest},
    webhooks::WebhookContext,
};
use groma_domain::{
    DomainError, Kind, Reference, Scope, Timestamp, WorkspaceId, input::StatusRef, reference::Key,
};
use std::sync::Arc;
use uuid::Uuid;

/// Operations that are executed in one transaction.
#[derive(Clone)]
pub struct OperationBatch {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the changes.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// What to do, in this order.
    pub operations: Vec<Operation>,
    /// Whether nothing is written if one of them fails.
    pub is_atomic: bool,
    /// Whether the outcomes have documents.
    pub with_documents: bool,
    /// The request, if it carried an idempotency key.
    pub request: Option<IdempotentRequest>,
    /// Renders the response.
    pub respond: Responder,
}

/// Renders the response to operations. It runs in the transaction, which keeps the response if the request
/// carried an idempotency key.
pub type Responder = Arc<dyn Fn(&[OperationResult]) -> Vec<u8> + Send + Sync>;

/// What an operation did, or why it was rejected.
pub type OperationResult = Result<OperationOutcome, DomainError>;

/// A command with the conditions of its execution.
#[derive(Clone)]
pub struct Operation {
    /// The command.
    pub command: Command,
    /// The scope that a token needs for it.
    pub scope: Scope,
    /// What the resource must be before.
    pub precondition: Option<Precondition>,
}

/// What an operation did.
#[derive(Clone, Debug)]
pub struct OperationOutcome {
    /// The effect.
    pub effect: OperationEffect,
    /// The resource.
    pub id: Uuid,
    /// Its reference, if it is a record.
    pub reference: Option<Reference>,
    /// Its version after the operations, or when it was deleted.
    pub version: Option<u64>,
    /// Its public document; empty if it was deleted or documents were not requested.
    pub document: Vec<u8>,
}

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationEffect {
    /// The resource was created.
    Created,
    /// The resource was updated.
    Updated,
    /// The resource has these values already.
    Unchanged,
    /// The resource was deleted.
    Deleted,
}

impl OperationEffect {
    fn new(created: bool, changed: bool) -> Self {
        match (created, changed) {
            (true, _) => Self::Created,
            (false, true) => Self::Updated,
            (false, false) => Self::Unchanged,
        }
    }
}

/// The outcome of a batch.
#[derive(Debug)]
pub enum BatchOutcome {
    /// The operations were executed; some may have failed if the batch is not atomic.
    Executed {
        /// The outcome of each operation.
        results: Vec<OperationResult>,
        /// The response.
        response: Vec<u8>,
    },
    /// These operations failed and nothing was written.
    Rejected(Vec<(usize, DomainError)>),
    /// The same request was handled before; this was the response.
    Replayed(Vec<u8>),
}

impl_work! {
    ExecuteBatch => BatchOutcome;
}

/// Executes a batch.
#[derive(Clone)]
pub(super) struct ExecuteBatch {
    pub(super) batch: OperationBatch,
    pub(super) webhooks: Arc<WebhookContext>,
}

impl ExecuteBatch {
    async fn run<T: RecordTx>(self, tx: &mut T) -> Result<BatchOutcome> {
        let Self { batch, webhooks } = self;
        let OperationBatch { workspace, actor, now, operations, .. } = batch;
        let guards: Vec<_> =
            operations.iter().map(|op| (op.scope, op.precondition.clone())).collect();
        let commands = operations.into_iter().map(|operation| operation.command).collect();
        let change = Change { workspace, actor, now, commands };
        let mut set = ChangeSet::begin(&mut *tx, &change, ReservedReferences::default()).await?;
        if let Some(response) = set.replay(batch.request.as_ref(), &webhooks).await? {
            return Ok(BatchOutcome::Replayed(response));
        }
        let mut effects = Vec::with_capacity(guards.len());
        for (command, (scope, precondition)) in change.commands.into_iter().zip(guards) {
            let checkpoint = set.checkpoint();
            match set.execute_guarded(command, scope, precondition.as_ref()).await {
                Ok(effect) => effects.push(Ok(effect)),
                Err(Error::Domain { error, .. }) => {
                    set.roll_back(checkpoint);
                    effects.push(Err(error));
                }
                Err(error) => return Err(error),
            }
        }
        if let Err(Error::Domain { error, .. }) = set.check_default_statuses()
            && let Some(last) = effects.last_mut()
            && last.is_ok()
        {
            *last = Err(error);
        }
        let is_rejected = effects.iter().any(Result::is_err) && batch.is_atomic;
        if is_rejected {
            let errors = effects.into_iter().enumerate();
            return Ok(BatchOutcome::Rejected(
                errors.filter_map(|(index, effect)| Some((index, effect.err()?))).collect(),
            ));
        }
        set.update_budgets().await?;
        set.increment_versions();
        let mut results = Vec::with_capacity(effects.len());
        for effect in effects {
            results.push(match effect {
                Ok(effect) => Ok(set.operation_outcome(effect, batch.with_documents).await?),
                Err(error) => Err(error),
            });
        }
        let response = (batch.respond)(&results);
        set.write(&webhooks).await?;
        if let Some(request) = batch.request {
            tx.save_response(workspace, request, response.clone(), now).await?;
        }
        Ok(BatchOutcome::Executed { results, response })
    }
}

impl<T: RecordTx> ChangeSet<'_, T> {
    /// The response to the same request, if there was one.
    async fn replay(
        &mut self,
        request: Option<&IdempotentRequest>,
        webhooks: &WebhookContext,
    ) -> Result<Option<Vec<u8>>> {
        let (workspace, now) = (self.workspace().id, self.now);
        idempotency::find(self.tx(), workspace, request, webhooks.cipher(), now).await
    }

    async fn execute_guarded(
        &mut self,
        command: Command,
        scope: Scope,
        precondition: Option<&Precondition>,
    ) -> Result<Effect> {
        self.actor.require_scope(scope)?;
        self.actor.require(scope.permission())?;
        if let Some(precondition) = precondition {
            self.check_precondition(&command, precondition).await?;
        }
        self.execute(command).await
    }

    /// Rejects a command on a resource that does not meet a condition. If there is no such resource, the
    /// command says so.
    async fn check_precondition(
        &mut self,
        command: &Command,
        precondition: &Precondition,
    ) -> Result<()> {
        let (resource, key, document) = match command {
            Command::Save { target: SaveTarget::Existing { key, .. }, draft } => {
                (draft.kind().name(), key.to_string(), self.stored(draft.kind(), key).await?)
            }
            Command::Delete { kind, key, .. } => {
                (kind.name(), key.to_string(), self.stored(*kind, key).await?)
            }
            Command::SaveStatus { target: StatusTarget::Existing(status), .. }
            | Command::DeleteStatus { status, .. } => {
                ("status", status.to_string(), self.status_document(status).await?)
            }
            _ => return Ok(()),
        };
        match document {
            Some(document) if !precondition.is_met(document.as_bytes()) => {
                Err(DomainError::PreconditionFailed { resource, key }.into())
            }
            _ => Ok(()),
        }
    }

    async fn stored(&mut self, kind: Kind, key: &Key) -> Result<Option<String>> {
        match self.find(kind, key).await? {
            Some(record) => self.document(&record).await.map(Some),
            None => Ok(None),
        }
    }

    async fn status_document(&mut self, status: &StatusRef) -> Result<Option<String>> {
        let found = self.statuses().await?.iter().find(|known| known.matches(status));
        Ok(found.map(groma_domain::Status::document))
    }

    async fn operation_outcome(
        &mut self,
        effect: Effect,
        with_document: bool,
    ) -> Result<OperationOutcome> {
        let (id, effect) = match effect {
            Effect::Status { id, changed, created } => {
                let effect = OperationEffect::new(created, changed);
                let document = self.status_document(&StatusRef::Id(id)).await?.unwrap_or_default();
                let (id, document) = (id.0, document.into_bytes());
                return Ok(OperationOutcome {
                    effect,
                    id,
                    reference: None,
                    version: None,
                    document,
                });
            }
            Effect::Record { id, changed, created } => {
                // Operations that revert each other change nothing.
                let is_kept = matches!(self.outcome(effect), CommandOutcome::Unchanged(..));
                (id, OperationEffect::new(created, changed && !is_kept))
            }
            Effect::Deleted { id, .. } => (id, OperationEffect::Deleted),
        };
        let record = self.record(id).cloned();
        let document = match &record {
            Some(record) if with_document && effect != OperationEffect::Deleted => {
                self.document(record).await?.into_bytes()
            }
            _ => Vec::new(),
        };
        Ok(OperationOutcome {
            effect,
            id: id.0,
            reference: record.as_ref().map(|record| record.reference().clone()),
            version: record.as_ref().map(groma_domain::Record::version),
            document,
        })
    }
}
