//! Events: what a change to a record is called.

use crate::{Kind, Record};
use std::fmt;

/// One of the thirteen events of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The kind of record.
    pub kind: Kind,
    /// What happened to it.
    pub change: Change,
}

/// What happened to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It is new.
    Created,
    /// Some public field is another.
    Updated,
    /// It is gone.
    Deleted,
    /// A folder was archived (instead of updated).
    Archived,
}

impl Event {
    /// Every event, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(|kind| {
            [Change::Created, Change::Updated, Change::Deleted, Change::Archived]
                .into_iter()
                .filter(move |change| kind == Kind::Folder || *change != Change::Archived)
                .map(move |change| Self { kind, change })
        })
    }

    /// The event of a record that was `before` and is `after`; none when nothing changed.
    #[must_use]
    pub fn between(before: Option<&Record>, after: Option<&Record>) -> Option<Self> {
        let change = match (before, after) {
            (None, None) => return None,
            (None, Some(_)) => Change::Created,
            (Some(_), None) => Change::Deleted,
            (Some(before), Some(after)) if before == after => return None,
            (Some(Record::Folder(before)), Some(Record::Folder(after)))
                if before.archived_at.is_none() && after.archived_at.is_some() =>
            {
                Change::Archived
            }
            (Some(_), Some(_)) => Change::Updated,
        };
        let kind = before.or(after)?.kind();
        Some(Self { kind, change })
    }

    /// The event of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|event| event.name() == name)
    }

    /// Its name: `folder.created`.
    #[must_use]
    pub fn name(self) -> &'static str {
        use Change::{Archived, Created, Deleted, Updated};
        match (self.kind, self.change) {
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
    fn there_are_the_thirteen_of_the_documentation() {
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
