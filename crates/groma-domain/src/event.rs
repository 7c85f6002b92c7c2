//! Events: the names of changes to records.

use crate::{Kind, Record};
use std::fmt;

/// One of the thirteen events of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The kind of record.
    pub kind: Kind,
    /// What happened to the record.
    pub action: EventAction,
}

/// A change to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventAction {
    /// The record was created.
    Created,
    /// A public field has changed.
    Updated,
    /// The record was deleted.
    Deleted,
    /// A folder was archived. Replaces `Updated`.
    Archived,
}

impl Event {
    /// Every event, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(|kind| {
            [
                EventAction::Created,
                EventAction::Updated,
                EventAction::Deleted,
                EventAction::Archived,
            ]
            .into_iter()
            .filter(move |action| kind == Kind::Folder || *action != EventAction::Archived)
            .map(move |action| Self { kind, action })
        })
    }

    /// The event for a change of a record, or `None` if nothing changed.
    #[must_use]
    pub fn from_change(before: Option<&Record>, after: Option<&Record>) -> Option<Self> {
        let action = match (before, after) {
            (None, None) => return None,
            (None, Some(_)) => EventAction::Created,
            (Some(_), None) => EventAction::Deleted,
            (Some(before), Some(after)) if before == after => return None,
            (Some(Record::Folder(before)), Some(Record::Folder(after)))
                if before.archived_at.is_none() && after.archived_at.is_some() =>
            {
                EventAction::Archived
            }
            (Some(_), Some(_)) => EventAction::Updated,
        };
        let kind = before.or(after)?.kind();
        Some(Self { kind, action })
    }

    /// Looks up an event by name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|event| event.name() == name)
    }

    /// The name, for example `folder.created`.
    #[must_use]
    pub fn name(self) -> &'static str {
        use EventAction::{Archived, Created, Deleted, Updated};
        match (self.kind, self.action) {
            (Kind::Folder, Created) => "folder.created",
            (Kind::Folder, Updated) => "folder.updated",
            (Kind::Folder, Deleted) => "folder.deleted",
            (Kind::Folder, Archived) => "folder.archived",
            (Kind::Assignment, Created) => "assignment.created",
            (Kind::Assignment, Updated | Archived) => "assignment.updated",
            (Kind::Assignment, Deleted) => "assignment.deleted",
            (Kind::Expense, Created) => "expense.created",
            (Kind::Expense, Updated | Archived) => "expense.updated",
            (Kind::Expense, Deleted) => "expense.deleted",
            (Kind::Budget, Created) => "budget.created",
            (Kind::Budget, Updated | Archived) => "budget.updated",
            (Kind::Budget, Deleted) => "budget.deleted",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_thirteen_documented_events_exist() {
        let names: Vec<_> = Event::all().map(Event::name).collect();
        assert_eq!(
            names.join(" "),
            "folder.created folder.updated folder.deleted folder.archived \
             assignment.created assignment.updated assignment.deleted \
             expense.created expense.updated expense.deleted \
             budget.created budget.updated budget.deleted"
        );
    }
}
