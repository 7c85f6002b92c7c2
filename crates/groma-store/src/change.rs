//! The one way to change records: a list of commands, carried out in one transaction.
//!
//! The commands work on a set of records held in memory, each with how it was and how it is to be.
//! When all are through, what follows from them (the budgets of changed expenses) is settled, and
//! each record that differs gets its next version, its document, its search text, its event and its
//! line in the audit trail: once, however many commands touched it.

mod execute;
mod working;

use crate::{
    Result,
    tx::{Tx, Work},
};
use groma_domain::{
    DomainError, Kind, PersonId, RecordId, Reference, Role, Timestamp, WorkspaceId,
    input::StatusRef, record::RecordInput, reference::Key, status::StatusInput,
};
use groma_geo::Bbox;
use std::{collections::HashSet, sync::Arc};

/// Who changes something.
#[derive(Clone, Copy, Debug)]
pub enum Actor {
    /// Someone with a shell on the server.
    Operator,
    /// A member of the workspace, with their role at this moment.
    Member {
        /// Who.
        person: PersonId,
        /// What they may.
        role: Role,
    },
}

impl Actor {
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Operator => Role::Owner,
            Self::Member { role, .. } => role,
        }
    }

    pub(crate) fn person(self) -> Option<PersonId> {
        match self {
            Self::Operator => None,
            Self::Member { person, .. } => Some(person),
        }
    }
}

/// Commands that happen together or not at all.
#[derive(Clone, Debug)]
pub struct Change {
    /// Where.
    pub workspace: WorkspaceId,
    /// Who.
    pub actor: Actor,
    /// When.
    pub now: Timestamp,
    /// What.
    pub commands: Vec<Command>,
}

/// One thing to be done.
#[derive(Clone, Debug)]
pub enum Command {
    /// Create or change a record.
    Save {
        /// Which.
        target: Target,
        /// What it is to be.
        draft: Box<RecordInput>,
    },
    /// Delete a record and what it holds.
    Delete {
        /// Its kind.
        kind: Kind,
        /// Its key.
        key: Key,
        /// Refuse when it has another version.
        version: Option<u64>,
    },
    /// Give a folder the box of its geometries.
    Place {
        /// Which.
        folder: RecordId,
        /// The box.
        bbox: Option<Bbox>,
    },
    /// Create a status, or change the one of this name or id.
    SaveStatus {
        /// Which; `None` for the one of the input's kind and name, or a new one.
        target: Option<StatusRef>,
        /// What it is to be.
        input: StatusInput,
    },
    /// Delete a status.
    DeleteStatus {
        /// The kind it is for.
        kind: Kind,
        /// Which.
        status: StatusRef,
        /// The status that its records then have; needed when there are any.
        replacement: Option<StatusRef>,
    },
}

impl Command {
    /// The reference it asks for, if it is one that could also be made.
    pub fn like_made(&self) -> Option<&Reference> {
        match self {
            Self::Save { draft, .. } => {
                draft.reference().filter(|asked| asked.has_generated_format(draft.kind()))
            }
            _ => None,
        }
    }
}

/// Which record a draft is for.
#[derive(Clone, Debug)]
pub enum Target {
    /// A new one.
    New,
    /// One that there must be; `version` refuses when it has another.
    Existing {
        /// Its key.
        key: Key,
        /// The version that the writer has seen.
        version: Option<u64>,
    },
    /// The one with the draft's reference, or a new one.
    ByReference,
}

/// What came of a change, command by command.
pub type Applied = Vec<Done>;

/// What would come of a change, command by command.
pub type Checked = Vec<Result<Done, DomainError>>;

/// References that are kept for others. Never one of them is made for a record that names none.
pub type Reserved = Arc<HashSet<Reference>>;

/// What came of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// A new record.
    Created(RecordId, Reference),
    /// A changed record.
    Updated(RecordId, Reference),
    /// Nothing to do.
    Unchanged(RecordId, Reference),
    /// A record is gone, and so many others with it.
    Deleted {
        /// How many others.
        with: usize,
    },
    /// A status was made, changed or deleted.
    Status {
        /// Whether anything differs.
        changed: bool,
        /// Whether it is new.
        created: bool,
    },
}

/// Carries a change out.
#[derive(Clone)]
pub(crate) struct Apply(pub(crate) Change);

impl Work for Apply {
    type Output = Applied;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Applied> {
        ApplyPart { change: self.0, reserved: Reserved::default() }.run(tx).await
    }
}

/// Carries out a part of something larger, whose other parts ask for the references in `reserved`.
#[derive(Clone)]
pub(crate) struct ApplyPart {
    pub(crate) change: Change,
    pub(crate) reserved: Reserved,
}

impl Work for ApplyPart {
    type Output = Applied;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Applied> {
        let mut working = working::Working::begin(tx, &self.change, self.reserved).await?;
        let mut touched = Vec::with_capacity(self.change.commands.len());
        for (index, command) in self.change.commands.into_iter().enumerate() {
            let done = working.execute(command).await.map_err(|error| at_index(error, index))?;
            touched.push(done);
        }
        let last = touched.len().saturating_sub(1);
        working.check_defaults().map_err(|error| at_index(error, last))?;
        working.settle_budgets().await?;
        let applied = touched.into_iter().map(|touched| working.done(touched)).collect();
        working.write().await?;
        Ok(applied)
    }
}

/// Tries a change and tells what would come of each command, without writing anything.
#[derive(Clone)]
pub(crate) struct Check(pub(crate) Change);

impl Work for Check {
    type Output = Checked;

    async fn run<T: Tx>(self, tx: &mut T) -> Result<Checked> {
        let mut working = working::Working::begin(tx, &self.0, Reserved::default()).await?;
        let mut outcomes = Vec::with_capacity(self.0.commands.len());
        for command in self.0.commands {
            match working.execute(command).await {
                Ok(touched) => outcomes.push(Ok(touched)),
                Err(crate::Error::Domain { error, .. }) => outcomes.push(Err(error)),
                Err(error) => return Err(error),
            }
        }
        if let Err(crate::Error::Domain { error, .. }) = working.check_defaults()
            && let Some(last) = outcomes.last_mut()
            && last.is_ok()
        {
            *last = Err(error);
        }
        working.settle_budgets().await?;
        let done = |outcome: Result<_, _>| outcome.map(|touched| working.done(touched));
        Ok(outcomes.into_iter().map(done).collect())
    }
}

fn at_index(error: crate::Error, index: usize) -> crate::Error {
    match error {
        crate::Error::Domain { error, .. } => crate::Error::Domain { error, index },
        other => other,
    }
}
