//! Executes a change, or checks it without writing anything.
//!
//! The commands work on a [change set](super::change_set): records in memory, each with its state before
//! and after. After the last command the budgets of changed expenses are updated, and each record that
//! differs gets its next version, its document, its search text, its event and its audit entry: once,
//! however many commands touched it.

use super::{
    RecordTx,
    change::{Change, CommandOutcome, ReservedReferences},
    change_set::ChangeSet,
};
use crate::{
    Error, ImportResult, Result, engine::impl_work, import_jobs, webhooks::WebhookContext,
};
use groma_domain::{DomainError, ImportJobId};
use std::sync::Arc;

impl_work! {
    ApplyChange => Vec<CommandOutcome>;
    CheckChange => Vec<Result<CommandOutcome, DomainError>>;
}

/// Executes a change.
#[derive(Clone)]
pub(crate) struct ApplyChange {
    pub(crate) change: Change,
    pub(crate) reserved: ReservedReferences,
    /// The import that ends with the change.
    pub(crate) job: Option<ImportJobId>,
    pub(crate) webhooks: Arc<WebhookContext>,
}

impl ApplyChange {
    pub(crate) async fn run<T: RecordTx>(self, tx: &mut T) -> Result<Vec<CommandOutcome>> {
        let Self { change, reserved, job, webhooks } = self;
        let (workspace, now) = (change.workspace, change.now);
        let mut set = ChangeSet::begin(tx, &change, reserved).await?;
        let job = import_jobs::lock_running(set.tx(), workspace, job).await?;
        let mut effects = Vec::with_capacity(change.commands.len());
        for (index, command) in change.commands.into_iter().enumerate() {
            let effect = set.execute(command).await.map_err(|error| at_index(error, index))?;
            effects.push(effect);
        }
        let last = effects.len().saturating_sub(1);
        set.check_default_statuses().map_err(|error| at_index(error, last))?;
        set.update_budgets().await?;
        set.increment_versions();
        let outcomes: Vec<_> = effects.into_iter().map(|effect| set.outcome(effect)).collect();
        set.write(&webhooks).await?;
        let mut result = ImportResult::default();
        outcomes.iter().for_each(|outcome| result.count(outcome));
        import_jobs::finish(tx, workspace, job, result, now).await?;
        Ok(outcomes)
    }
}

/// Reports the outcome that each command of a change would have, without writing anything.
#[derive(Clone)]
pub(crate) struct CheckChange(pub(crate) Change);

impl CheckChange {
    async fn run<T: RecordTx>(
        self,
        tx: &mut T,
    ) -> Result<Vec<Result<CommandOutcome, DomainError>>> {
        let mut set = ChangeSet::begin(tx, &self.0, ReservedReferences::default()).await?;
        let mut effects = Vec::with_capacity(self.0.commands.len());
        for command in self.0.commands {
            match set.execute(command).await {
                Ok(effect) => effects.push(Ok(effect)),
                Err(Error::Domain { error, .. }) => effects.push(Err(error)),
                Err(error) => return Err(error),
            }
        }
        if let Err(Error::Domain { error, .. }) = set.check_default_statuses()
            && let Some(last) = effects.last_mut()
            && last.is_ok()
        {
            *last = Err(error);
        }
        set.update_budgets().await?;
        let outcome = |effect: Result<_, _>| effect.map(|effect| set.outcome(effect));
        Ok(effects.into_iter().map(outcome).collect())
    }
}

impl ImportResult {
    /// Counts what a command did.
    pub fn count(&mut self, outcome: &CommandOutcome) {
        *match outcome {
            CommandOutcome::Created(..) | CommandOutcome::Status { created: true, .. } => {
                &mut self.created
            }
            CommandOutcome::Unchanged(..) | CommandOutcome::Status { changed: false, .. } => {
                &mut self.unchanged
            }
            CommandOutcome::Updated(..) | CommandOutcome::Status { .. } => &mut self.updated,
            CommandOutcome::Deleted { .. } => &mut self.deleted,
        } += 1;
    }
}

fn at_index(error: Error, index: usize) -> Error {
    match error {
        Error::Domain { error, .. } => Error::Domain { error, index },
        other => other,
    }
}
