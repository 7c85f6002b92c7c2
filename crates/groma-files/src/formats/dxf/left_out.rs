//! The entities of a drawing that do not become features. They are reported by kind and count.

use super::{
    entities::Entities,
    entity::{Entity, Shape},
};
use groma_geo::{Message, message};
use std::{collections::BTreeMap, path::Path};

/// Names of kinds are from the file.
const MAX_KINDS: usize = 20;
const MAX_KIND_BYTES: usize = 40;

/// The entities that are left out.
#[derive(Default)]
pub(super) struct LeftOut {
    unsupported: Kinds,
    tilted: Kinds,
}

/// How many entities of each kind there are.
#[derive(Default)]
struct Kinds(BTreeMap<String, u64>);

impl LeftOut {
    /// Counts those of a drawing. What is wrong with the file, reading its features finds.
    pub(super) fn count(path: &Path) -> Self {
        let mut left_out = Self::default();
        if let Ok(mut entities) = Entities::open(path) {
            while let Ok(Some(entity)) = entities.next_entity() {
                left_out.add(&entity);
            }
        }
        left_out
    }

    fn add(&mut self, entity: &Entity) {
        match entity.shape() {
            // A window of the layout, which has no content of its own.
            Ok(Shape::Unsupported) if entity.kind == "VIEWPORT" => {}
            Ok(Shape::Unsupported) => self.unsupported.add(&entity.kind),
            Ok(Shape::Tilted) => self.tilted.add(&entity.kind),
            Ok(Shape::Geometry(_)) | Err(_) => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unsupported.0.is_empty() && self.tilted.0.is_empty()
    }

    /// What to say about them.
    pub(super) fn notices(&self) -> Vec<Message> {
        let mut notices = Vec::new();
        if !self.unsupported.0.is_empty() {
            notices.push(message!(
                "entities that cannot be read as features were left out: {kinds}",
                kinds = self.unsupported.names()
            ));
        }
        if !self.tilted.0.is_empty() {
            notices.push(message!(
                "entities that are not drawn in a horizontal plane were left out: {kinds}",
                kinds = self.tilted.names()
            ));
        }
        notices
    }

    /// The kinds and their counts.
    pub(super) fn names(&self) -> String {
        let both = [&self.unsupported, &self.tilted].map(Kinds::names);
        both.into_iter().filter(|names| !names.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

impl Kinds {
    fn add(&mut self, kind: &str) {
        let is_listed = self.0.contains_key(kind) || self.0.len() < MAX_KINDS;
        let name = if is_listed && kind.len() <= MAX_KIND_BYTES { kind } else { "…" };
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    fn names(&self) -> String {
        let names = self.0.iter().map(|(kind, count)| format!("{kind} ({count})"));
        names.collect::<Vec<_>>().join(", ")
    }
}
