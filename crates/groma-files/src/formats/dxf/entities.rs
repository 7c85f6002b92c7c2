//! The entities of a drawing, one after the other. The contents of blocks are not among them.

use super::{
    entity::Entity,
    groups::{Group, Groups},
};
use crate::{FileError, error::Result};
use groma_geo::message;
use std::path::Path;

/// The most pairs of an entity, and the most bytes of its values.
const MAX_GROUPS: usize = 4_000_000;
const MAX_BYTES: usize = 64 << 20;

/// Reads the entities of a drawing.
pub(super) struct Entities {
    groups: Groups,
    /// The name of the next entity; `None` at the end of the section.
    next: Option<String>,
    /// The pairs of the current entity, and the bytes of their values.
    count: usize,
    bytes: usize,
}

impl Entities {
    /// The entities; none if the drawing has no section of them.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut groups = Groups::open(path)?;
        let has_entities = find_entities(&mut groups)?;
        let mut entities = Self { groups, next: None, count: 0, bytes: 0 };
        if has_entities {
            entities.next = entities.skip_to_start()?;
        }
        Ok(entities)
    }

    /// The next entity with its parts; `None` after the last one.
    pub(super) fn next_entity(&mut self) -> Result<Option<Entity>> {
        let Some(kind) = self.next.take() else { return Ok(None) };
        let (entity, next) = self.entity(&kind)?;
        self.next = next;
        Ok(Some(entity))
    }

    /// The name of the first entity; `None` if the section is empty.
    fn skip_to_start(&mut self) -> Result<Option<String>> {
        loop {
            match self.groups.next()? {
                Some(group) if group.code == 0 => return Ok(start_of(&group)),
                Some(_) => {}
                None => return Err(FileError::invalid(message!("the file is truncated"))),
            }
        }
    }

    /// An entity with its parts, and the name of the next one.
    fn entity(&mut self, kind: &str) -> Result<(Entity, Option<String>)> {
        (self.count, self.bytes) = (0, 0);
        let mut entity = Entity::new(kind);
        let mut next = self.fill(&mut entity)?;
        let part_kind = match kind {
            "POLYLINE" => "VERTEX",
            "INSERT" => "ATTRIB",
            _ => return Ok((entity, next)),
        };
        while next.as_deref() == Some(part_kind) {
            let mut part = Entity::new(part_kind);
            next = self.fill(&mut part)?;
            entity.parts.push(part);
        }
        if next.as_deref() == Some("SEQEND") {
            next = self.fill(&mut Entity::new("SEQEND"))?;
        }
        Ok((entity, next))
    }

    /// Reads the pairs of an entity; returns the name of the next one.
    fn fill(&mut self, entity: &mut Entity) -> Result<Option<String>> {
        loop {
            let group = self
                .groups
                .next()?
                .ok_or_else(|| FileError::invalid(message!("the file is truncated")))?;
            if group.code == 0 {
                return Ok(start_of(&group));
            }
            self.count += 1;
            self.bytes += group.value.len();
            if self.count > MAX_GROUPS || self.bytes > MAX_BYTES {
                return Err(FileError::invalid(message!("an entity is too large")));
            }
            entity.groups.push(group);
        }
    }
}

/// Reads up to the entities; false if the drawing has none.
fn find_entities(groups: &mut Groups) -> Result<bool> {
    let (mut last, mut is_code_page) = (None::<Group>, false);
    while let Some(group) = groups.next()? {
        if group.is(2, "ENTITIES") && last.as_ref().is_some_and(|last| last.is(0, "SECTION")) {
            return Ok(true);
        }
        if is_code_page && group.code == 3 {
            groups.set_code_page(group.value.trim());
        }
        is_code_page = group.is(9, "$DWGCODEPAGE");
        last = Some(group);
    }
    match last {
        Some(last) if last.is(0, "EOF") => Ok(false),
        _ => Err(FileError::invalid(message!("the file is truncated"))),
    }
}

fn start_of(group: &Group) -> Option<String> {
    (group.value.trim() != "ENDSEC").then(|| group.value.trim().to_owned())
}
