//! What happened in the office, noted in any order and then put in that of time.
//!
//! A folder's life is told from beginning to end, even where it goes on behind today; what has not
//! happened yet is struck out here. So each record stands where its age says, without a rule for it.

use super::{office::Colleague, survey_map::Fieldwork};
use groma_domain::{Kind, Reference, Refusal, Timestamp, record::Draft, reference::Key};
use groma_store::{Command, Target};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// A record of the story, before it has a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thing {
    kind: Kind,
    number: usize,
}

/// All that happened.
#[derive(Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    things: usize,
}

struct Note {
    at: Timestamp,
    who: Colleague,
    thing: Thing,
    is_new: bool,
    links: Vec<(&'static str, Thing)>,
    values: Map<String, Value>,
    fieldwork: Option<Fieldwork>,
}

/// What one colleague wrote up in one sitting.
#[derive(Debug, PartialEq)]
pub(super) struct Chapter {
    pub(super) at: Timestamp,
    pub(super) who: Colleague,
    pub(super) steps: Vec<Step>,
}

/// One record made or changed.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) kind: Kind,
    /// The reference that it has, or that the store will make for it.
    pub(super) reference: Reference,
    pub(super) is_new: bool,
    /// Its fields, named as in the API.
    pub(super) values: Map<String, Value>,
    /// What was measured for it, which goes to the map with this step.
    pub(super) fieldwork: Option<Fieldwork>,
}

impl Step {
    pub(super) fn command(&self) -> Result<Command, Refusal> {
        let target = if self.is_new {
            Target::New
        } else {
            Target::Existing { key: Key::Reference(self.reference.clone()), version: None }
        };
        Ok(Command::Save { target, draft: Box::new(Draft::read(self.kind, &self.values)?) })
    }
}

impl Notes {
    /// A record that will be made; when, [`Notes::make`] tells.
    pub(super) fn thing(&mut self, kind: Kind) -> Thing {
        self.things += 1;
        Thing { kind, number: self.things }
    }

    /// Someone made a record that belongs to others, all made before.
    pub(super) fn make(
        &mut self,
        thing: Thing,
        (at, who): (Timestamp, Colleague),
        links: &[(&'static str, Thing)],
        values: Value,
    ) {
        let (links, values) = (links.to_vec(), object(values));
        self.notes.push(Note { at, who, thing, is_new: true, links, values, fieldwork: None });
    }

    /// Someone changed a record.
    pub(super) fn change(
        &mut self,
        thing: Thing,
        (at, who): (Timestamp, Colleague),
        values: Value,
    ) {
        self.bring_in(thing, (at, who), values, None);
    }

    /// Someone changed a record and brought in what was measured for it.
    pub(super) fn bring_in(
        &mut self,
        thing: Thing,
        (at, who): (Timestamp, Colleague),
        values: Value,
        fieldwork: Option<Fieldwork>,
    ) {
        let (links, values) = (Vec::new(), object(values));
        self.notes.push(Note { at, who, thing, is_new: false, links, values, fieldwork });
    }

    /// What has happened by `now`, a chapter for each sitting, oldest first.
    pub(super) fn told_by(mut self, now: Timestamp) -> Vec<Chapter> {
        self.notes.retain(|note| note.at <= now);
        // Stable: what was noted first for the same sitting stays first.
        self.notes.sort_by_key(|note| note.at);
        let mut references: HashMap<Thing, Reference> = HashMap::new();
        let mut made: BTreeMap<Kind, u64> = BTreeMap::new();
        let mut chapters: Vec<Chapter> = Vec::new();
        for Note { at, who, thing, is_new, links, mut values, fieldwork } in self.notes {
            if is_new {
                // Counts as the store does when it makes the references of a new workspace.
                let number = made.entry(thing.kind).or_default();
                *number += 1;
                references.insert(thing, Reference::made(thing.kind, *number));
            }
            for (name, link) in links {
                if let Some(reference) = references.get(&link) {
                    values.insert(name.to_owned(), reference.as_str().into());
                }
            }
            let Some(reference) = references.get(&thing).cloned() else { continue };
            let step = Step { kind: thing.kind, reference, is_new, values, fieldwork };
            match chapters.last_mut() {
                Some(chapter) if chapter.at == at => chapter.steps.push(step),
                _ => chapters.push(Chapter { at, who, steps: vec![step] }),
            }
        }
        chapters
    }
}

fn object(values: Value) -> Map<String, Value> {
    match values {
        Value::Object(values) => values,
        _ => Map::new(),
    }
}
