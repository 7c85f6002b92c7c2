//! Reads the entities of a drawing. The contents of blocks are not drawn: an INSERT is a point.

use super::{
    entity::Entity,
    groups::{Group, Groups},
};
use crate::{
    FileError,
    error::Result,
    source::{OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
};
use groma_geo::message;
use std::path::{Path, PathBuf};

/// The most pairs of an entity, and the most bytes of its values.
const MAX_GROUPS: usize = 4_000_000;
const MAX_BYTES: usize = 64 << 20;

/// A drawing.
pub(in crate::formats) struct Drawing {
    path: PathBuf,
    layers: Vec<SourceLayer>,
}

impl Drawing {
    pub(in crate::formats) fn open(path: &Path) -> Result<Self> {
        let mut groups = Groups::open(path)?;
        let first = loop {
            match groups.next()? {
                // Comments.
                Some(group) if group.code == 999 => {}
                other => break other,
            }
        };
        if !first.is_some_and(|group| group.is(0, "SECTION")) {
            return Err(FileError::invalid(message!("the file is not DXF")));
        }
        let layer = SourceLayer {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            fields: Vec::new(),
            feature_count: None,
            crs: SourceCrs::Missing,
            geometry_type: String::new(),
            key: None,
        };
        Ok(Self { path: path.to_owned(), layers: vec![layer] })
    }
}

impl Source for Drawing {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, _layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let mut groups = Groups::open(&self.path)?;
        if !find_entities(&mut groups)? {
            return Ok(());
        }
        let mut entities = Entities { groups, count: 0, bytes: 0 };
        let mut number = 0;
        let mut kind = entities.skip_to_start()?;
        while let Some(name) = kind {
            let (entity, next) = entities.entity(&name)?;
            kind = next;
            let feature = match entity.geometry() {
                Ok(None) => continue,
                Ok(geometry) => Ok(SourceFeature {
                    geometry,
                    properties: entity.properties(),
                    ..SourceFeature::default()
                }),
                Err(message) => Err(message),
            };
            number += 1;
            if !on_feature(number, feature) {
                break;
            }
        }
        Ok(())
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

struct Entities {
    groups: Groups,
    /// The pairs of the current entity, and the bytes of their values.
    count: usize,
    bytes: usize,
}

impl Entities {
    /// The name of the next entity; `None` at the end of the section.
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

fn start_of(group: &Group) -> Option<String> {
    (group.value.trim() != "ENDSEC").then(|| group.value.trim().to_owned())
}
