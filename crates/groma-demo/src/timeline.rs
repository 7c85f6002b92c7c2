//! Everything that happens in the office, recorded in any order and then sorted by time.
//!
//! A folder's history is written from start to end, even if it continues into the future. Entries
//! later than now are dropped here, so that every record is in the state that its age implies.

use super::{office::Staff, survey_map::Fieldwork};
use groma_domain::{DomainError, Kind, Reference, Timestamp, record::RecordInput, reference::Key};
use groma_store::{Command, SaveTarget};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// Identifies a record before it has a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RecordHandle {
    kind: Kind,
    number: usize,
}

#[derive(Default)]
pub(super) struct Timeline {
    entries: Vec<Entry>,
    record_count: usize,
}

struct Entry {
    at: Timestamp,
    author: Staff,
    record: RecordHandle,
    is_new: bool,
    links: Vec<(&'static str, RecordHandle)>,
    values: Map<String, Value>,
    fieldwork: Option<Fieldwork>,
}

/// What one author entered at one time.
#[derive(Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) at: Timestamp,
    pub(super) author: Staff,
    pub(super) steps: Vec<Step>,
}

/// One record created or updated.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) kind: Kind,
    /// The record's reference; for a new record, the one that the store will assign.
    pub(super) reference: Reference,
    pub(super) is_new: bool,
    /// The fields, named as in the API.
    pub(super) values: Map<String, Value>,
    /// The survey whose features are uploaded with this step.
    pub(super) fieldwork: Option<Fieldwork>,
}

impl Step {
    pub(super) fn command(&self) -> Result<Command, DomainError> {
        let target = if self.is_new {
            SaveTarget::New
        } else {
            SaveTarget::Existing { key: Key::Reference(self.reference.clone()), version: None }
        };
        Ok(Command::Save { target, draft: Box::new(RecordInput::read(self.kind, &self.values)?) })
    }
}

impl Timeline {
    /// Reserves a record, which [`Timeline::create`] then creates.
    pub(super) fn new_record(&mut self, kind: Kind) -> RecordHandle {
        self.record_count += 1;
        RecordHandle { kind, number: self.record_count }
    }

    /// An author creates a record that links to records created earlier.
    pub(super) fn create(
        &mut self,
        record: RecordHandle,
        (at, author): (Timestamp, Staff),
        links: &[(&'static str, RecordHandle)],
        values: Value,
    ) {
        let (links, values) = (links.to_vec(), object(values));
        let entry = Entry { at, author, record, is_new: true, links, values, fieldwork: None };
        self.entries.push(entry);
    }

    /// An author updates a record.
    pub(super) fn update(
        &mut self,
        record: RecordHandle,
        (at, author): (Timestamp, Staff),
        values: Value,
    ) {
        self.update_with_fieldwork(record, (at, author), values, None);
    }

    /// An author updates a record and uploads what was surveyed for it.
    pub(super) fn update_with_fieldwork(
        &mut self,
        record: RecordHandle,
        (at, author): (Timestamp, Staff),
        values: Value,
        fieldwork: Option<Fieldwork>,
    ) {
        let (links, values) = (Vec::new(), object(values));
        self.entries.push(Entry { at, author, record, is_new: false, links, values, fieldwork });
    }

    /// The entries up to `now`, oldest first, grouped by time.
    pub(super) fn batches_until(mut self, now: Timestamp) -> Vec<Batch> {
        self.entries.retain(|entry| entry.at <= now);
        // A stable sort: entries of one time keep their order.
        self.entries.sort_by_key(|entry| entry.at);
        let mut references: HashMap<RecordHandle, Reference> = HashMap::new();
        let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
        let mut batches: Vec<Batch> = Vec::new();
        for Entry { at, author, record, is_new, links, mut values, fieldwork } in self.entries {
            if is_new {
                // The store numbers the references of a new workspace in the same way.
                let count = counts.entry(record.kind).or_default();
                *count += 1;
                references.insert(record, Reference::generated(record.kind, *count));
            }
            for (name, link) in links {
                if let Some(reference) = references.get(&link) {
                    values.insert(name.to_owned(), reference.as_str().into());
                }
            }
            let Some(reference) = references.get(&record).cloned() else { continue };
            let step = Step { kind: record.kind, reference, is_new, values, fieldwork };
            match batches.last_mut() {
                Some(batch) if batch.at == at => batch.steps.push(step),
                _ => batches.push(Batch { at, author, steps: vec![step] }),
            }
        }
        batches
    }
}

fn object(values: Value) -> Map<String, Value> {
    match values {
        Value::Object(values) => values,
        _ => Map::new(),
    }
}
