//! A change: commands that are executed in one transaction. There is no other way to change records.

use crate::Actor;
use groma_domain::{
    Kind, RecordId, Reference, Timestamp, WorkspaceId, input::StatusRef, record::RecordInput,
    reference::Key, status::StatusInput,
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
        /// Which status.
        target: StatusTarget,
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
    /// The record with the draft's external ID, or a new one.
    ByExternalId,
}

/// The status that an input is for.
#[derive(Clone, Debug)]
pub enum StatusTarget {
    /// A new status.
    New,
    /// An existing status.
    Existing(StatusRef),
    /// The status of the input's kind and name, or a new one.
    ByName,
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
