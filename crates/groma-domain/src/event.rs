//! Events: the names of changes that webhooks and the change feed report.

use crate::{Kind, LayerId, Record, RecordId};
use groma_geo::Bbox;
use serde::Serialize;
use std::fmt;

/// A request that changes more features than this is one event about their layer.
pub const MAX_FEATURE_EVENTS: usize = 1_000;

/// An event of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// What it is about.
    pub topic: Topic,
    /// What happened.
    pub action: EventAction,
}

/// What events are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A record. Its thirteen events are what `*` subscribes to.
    Record(Kind),
    /// A feature of a layer.
    Geometry,
    /// A layer. `Updated` also stands for many changed features.
    Layer,
}

/// What happened to the subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventAction {
    /// It was created.
    Created,
    /// A public field has changed.
    Updated,
    /// It was deleted.
    Deleted,
    /// A folder was archived. Replaces `Updated`.
    Archived,
}

/// What an event touches, which endpoints can filter by.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventScope<'a> {
    /// The folders that the records or features belong to, before and after the change.
    pub folders: &'a [RecordId],
    /// The layer.
    pub layer: Option<LayerId>,
    /// The bounding boxes of the features, before and after the change. `None` if the event is not about
    /// features.
    pub boxes: Option<[Option<Bbox>; 2]>,
}

/// The data of `layer.updated`: a change of the layer, or of many of its features at once.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LayerChange {
    /// The layer.
    pub id: LayerId,
    /// Its revision after the change.
    pub revision: u64,
    /// How many features were created.
    pub created: u64,
    /// How many features have changed.
    pub updated: u64,
    /// How many features were deleted.
    pub deleted: u64,
    /// A box around the changed features, before and after the change.
    pub bbox: Option<Bbox>,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Self; 6] = [
        Self::Record(Kind::Folder),
        Self::Record(Kind::Assignment),
        Self::Record(Kind::Expense),
        Self::Record(Kind::Budget),
        Self::Geometry,
        Self::Layer,
    ];

    /// The name, for example `folder`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Record(kind) => kind.name(),
            Self::Geometry => "geometry",
            Self::Layer => "layer",
        }
    }

    /// The events about it, in the order of the documentation.
    pub fn events(self) -> impl Iterator<Item = Event> {
        use EventAction::{Archived, Created, Deleted, Updated};
        [Created, Updated, Deleted, Archived]
            .into_iter()
            .filter(move |action| self == Self::Record(Kind::Folder) || *action != Archived)
            .map(move |action| Event { topic: self, action })
    }
}

impl Event {
    /// Every event, in the order of the documentation. The database refers to them by their number in
    /// this order, so new ones are added at the end.
    pub fn all() -> impl Iterator<Item = Self> {
        Topic::ALL.into_iter().flat_map(Topic::events)
    }

    /// An event about a record.
    #[must_use]
    pub fn of_record(kind: Kind, action: EventAction) -> Self {
        Self { topic: Topic::Record(kind), action }
    }

    /// Whether it is about a record.
    #[must_use]
    pub fn is_of_record(self) -> bool {
        matches!(self.topic, Topic::Record(_))
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
        Some(Self::of_record(kind, action))
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
        match (self.topic, self.action) {
            (Topic::Record(Kind::Folder), Created) => "folder.created",
            (Topic::Record(Kind::Folder), Updated) => "folder.updated",
            (Topic::Record(Kind::Folder), Deleted) => "folder.deleted",
            (Topic::Record(Kind::Folder), Archived) => "folder.archived",
            (Topic::Record(Kind::Assignment), Created) => "assignment.created",
            (Topic::Record(Kind::Assignment), Updated | Archived) => "assignment.updated",
            (Topic::Record(Kind::Assignment), Deleted) => "assignment.deleted",
            (Topic::Record(Kind::Expense), Created) => "expense.created",
            (Topic::Record(Kind::Expense), Updated | Archived) => "expense.updated",
            (Topic::Record(Kind::Expense), Deleted) => "expense.deleted",
            (Topic::Record(Kind::Budget), Created) => "budget.created",
            (Topic::Record(Kind::Budget), Updated | Archived) => "budget.updated",
            (Topic::Record(Kind::Budget), Deleted) => "budget.deleted",
            (Topic::Geometry, Created) => "geometry.created",
            (Topic::Geometry, Updated | Archived) => "geometry.updated",
            (Topic::Geometry, Deleted) => "geometry.deleted",
            (Topic::Layer, Created) => "layer.created",
            (Topic::Layer, Updated | Archived) => "layer.updated",
            (Topic::Layer, Deleted) => "layer.deleted",
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
    fn all_documented_events_exist_in_their_order() {
        let names: Vec<_> = Event::all().map(Event::name).collect();
        assert_eq!(
            names.join(" "),
            "folder.created folder.updated folder.deleted folder.archived \
             assignment.created assignment.updated assignment.deleted \
             expense.created expense.updated expense.deleted \
             budget.created budget.updated budget.deleted \
             geometry.created geometry.updated geometry.deleted \
             layer.created layer.updated layer.deleted"
        );
    }
}
