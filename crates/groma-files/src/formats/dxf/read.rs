//! Reads the entities of a drawing. The contents of blocks are not drawn: an INSERT is a point.

use super::{entities::Entities, entity::Shape, groups::Groups, left_out::LeftOut};
use crate::{
    FileError,
    error::Result,
    source::{OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
};
use groma_geo::message;
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// A drawing.
pub(in crate::formats) struct Drawing {
    path: PathBuf,
    layers: Vec<SourceLayer>,
    left_out: OnceLock<LeftOut>,
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
        Ok(Self { path: path.to_owned(), layers: vec![layer], left_out: OnceLock::new() })
    }
}

impl Source for Drawing {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, _layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        // The first feature tells what is left out, because only the first notices are listed.
        let left_out = self.left_out.get_or_init(|| LeftOut::count(&self.path));
        let mut notices = left_out.notices();
        let mut entities = Entities::open(&self.path)?;
        let mut number = 0;
        while let Some(entity) = entities.next_entity()? {
            let feature = match entity.shape() {
                Ok(Shape::Unsupported | Shape::Tilted) => continue,
                Ok(Shape::Geometry(geometry)) => Ok(SourceFeature {
                    geometry: Some(geometry),
                    properties: entity.properties(),
                    file_notices: std::mem::take(&mut notices),
                    ..SourceFeature::default()
                }),
                Err(message) => Err(message),
            };
            number += 1;
            if !on_feature(number, feature) {
                return Ok(());
            }
        }
        if number == 0 && !left_out.is_empty() {
            return Err(FileError::invalid(message!(
                "the drawing has no entity that can be read as a feature, only {kinds}",
                kinds = left_out.names()
            )));
        }
        Ok(())
    }
}
