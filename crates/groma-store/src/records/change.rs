//! The one way to change records: a list of commands, executed in one transaction.
//!
//! The commands work on a [change set](super::change_set): records in memory, each with its state before
//! and after. After the last command the budgets of changed expenses are updated, and each record that
//! differs gets its next version, its document, its search text, its event and its audit entry: once,
//! however many commands touched it.

use super::{RecordTx, change_set::ChangeSet};
use crate::{Actor, Error, Result, engine::impl_work, webhooks::WebhookContext};
use groma_domain::{
    DomainError, Kind, RecordId, Reference, Timestamp, WorkspaceId, input::StatusRef,
    record::RecordInput, reference::Key, status::StatusInput,
};
use groma_geo::Bbox;
use std::{collections::HashSet, sync::Arc};

/// Commands that are executed together or not at all.
#[derive(Clone, Debug)]
pub struct Change {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the change.
    pub actor: Actor,
    /// The current time.
    pub now: Timestamp,
    /// What to do, in this order.
    pub commands: Vec<Command>,
}

/// A command of a change.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates or updates a record.
    Save {
        /// Which record.
        target: SaveTarget,
        /// Its new values.
        draft: Box<RecordInput>,
    },
    /// Deletes a record and what it contains.
    Delete {
        /// Its kind.
        kind: Kind,
        /// Its key.
        key: Key,
        /// Rejects the command if the record has another version.
        version: Option<u64>,
    },
    /// Sets the bounding box of a folder's geometries.
    SetFolderBbox {
        /// The folder.
        folder: RecordId,
        /// The bounding box.
        bbox: Option<Bbox>,
    },
    /// Creates or updates a status.
    SaveStatus {
        /// Which status; `None` for the one of the input's kind and name, or a new one.
        target: Option<StatusRef>,
        /// Its new values.
        input: StatusInput,
    },
    /// Deletes a status.
    DeleteStatus {
        /// The kind of record it applies to.
        kind: Kind,
        /// Which status.
        status: StatusRef,
        /// The status that its records get; required when there are any.
        replacement: Option<StatusRef>,
    },
}

impl Command {
    /// The reference it sets, if that is one that could also be generated.
    pub fn generated_reference(&self) -> Option<&Reference> {
        match self {
            Self::Save { draft, .. } => {
                draft.reference().filter(|reference| reference.has_generated_format(draft.kind()))
            }
            _ => None,
        }
    }
}

/// The record that a draft is for.
#[derive(Clone, Debug)]
pub enum SaveTarget {
    /// A new record.
    New,
    /// An existing record.
    Existing {
        /// Its key.
        key: Key,
        /// The version that the writer has seen; the command is rejected if it has another.
        version: Option<u64>,
    },
    /// The record with the draft's reference, or a new one.
    ByReference,
}

/// References that other parts of a large change will set. None of them is generated.
pub type ReservedReferences = Arc<HashSet<Reference>>;

/// The outcome of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// A record was created.
    Created(RecordId, Reference),
    /// A record was updated.
    Updated(RecordId, Reference),
    /// The record has these values already.
    Unchanged(RecordId, Reference),
    /// A record was deleted.
    Deleted {
        /// How many records it contained, which were deleted too.
        with: usize,
    },
    /// A status was created, updated or deleted.
    Status {
        /// Whether anything changed.
        changed: bool,
        /// Whether it was created.
        created: bool,
    },
}

impl_work! {
    ApplyChange => Vec<CommandOutcome>;
    CheckChange => Vec<Result<CommandOutcome, DomainError>>;
}

/// Executes a change.
#[derive(Clone)]
pub(crate) struct ApplyChange {
    pub(crate) change: Change,
    pub(crate) reserved: ReservedReferences,
    pub(crate) webhooks: Arc<WebhookContext>,
}

impl ApplyChange {
    pub(crate) async fn run<T: RecordTx>(self, tx: &mut T) -> Result<Vec<CommandOutcome>> {
        let Self { change, reserved, webhooks } = self;
        let mut set = ChangeSet::begin(tx, &change, reserved).await?;
        let mut effects = Vec::with_capacity(change.commands.len());
        for (index, command) in change.commands.into_iter().enumerate() {
            let effect = set.execute(command).await.map_err(|error| at_index(error, index))?;
            effects.push(effect);
        }
        let last = effects.len().saturating_sub(1);
        set.check_default_statuses().map_err(|error| at_index(error, last))?;
        set.update_budgets().await?;
        let outcomes = effects.into_iter().map(|effect| set.outcome(effect)).collect();
        set.write(&webhooks).await?;
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

fn at_index(error: Error, index: usize) -> Error {
    match error {
        Error::Domain { error, .. } => Error::Domain { error, index },
        other => other,
    }
}
