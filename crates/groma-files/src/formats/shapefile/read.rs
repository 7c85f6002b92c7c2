//! Reads Shapefiles.

use super::{
    dbf::Dbf,
    files::{self, ShapeFiles},
    shp::{Shapes, geometry_type},
};
use crate::{
    FileError,
    error::Result,
    prj,
    source::{OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
};
use groma_geo::message;
use std::path::Path;

/// The Shapefiles of a folder or an archive.
pub(in crate::formats) struct Shapefile {
    layers: Vec<SourceLayer>,
    tables: Vec<(ShapeFiles, Option<Dbf>)>,
}

impl Shapefile {
    pub(in crate::formats) fn open(path: &Path) -> Result<Self> {
        let mut found = Self { layers: Vec::new(), tables: Vec::new() };
        for files in files::find(path)? {
            let geometry_type = geometry_type(&mut files.shp.open()?)?.to_owned();
            let dbf = match &files.dbf {
                Some(dbf) => Some(Dbf::open(&mut dbf.open()?, files.cpg.as_deref())?),
                None => None,
            };
            found.layers.push(SourceLayer {
                name: files.name.clone(),
                fields: dbf.as_ref().map(|dbf| dbf.fields.clone()).unwrap_or_default(),
                feature_count: dbf.as_ref().map(|dbf| dbf.count),
                crs: files.prj.as_deref().map_or(SourceCrs::Missing, prj::read),
                geometry_type,
                key: None,
            });
            found.tables.push((files, dbf));
        }
        match found.layers.is_empty() {
            true => Err(FileError::invalid(message!("the folder contains no Shapefile (.shp)"))),
            false => Ok(found),
        }
    }
}

impl Source for Shapefile {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let (files, dbf) = &self.tables[layer];
        let mut shapes = Shapes::open(files.shp.open()?)?;
        let mut rows = match (dbf, &files.dbf) {
            (Some(dbf), Some(file)) => Some(dbf.rows(file.open()?)?),
            _ => None,
        };
        let mut number = 0;
        while let Some(shape) = shapes.next()? {
            number += 1;
            let (properties, has_binary) =
                match rows.as_mut().map(super::dbf::Rows::next).transpose()? {
                    None => (Ok(Default::default()), false),
                    Some(None) => continue,
                    Some(Some(Ok((properties, has_binary)))) => (Ok(properties), has_binary),
                    Some(Some(Err(message))) => (Err(message), false),
                };
            let feature = shape.and_then(|(geometry, has_measures)| {
                let properties = properties?;
                Ok(SourceFeature {
                    geometry,
                    properties,
                    has_measures,
                    has_binary,
                    ..SourceFeature::default()
                })
            });
            if !on_feature(number, feature) {
                return Ok(());
            }
        }
        match rows.map_or(0, |rows| rows.left()) {
            0 => Ok(()),
            left => Err(FileError::invalid(message!(
                "the .shp is truncated: the .dbf has {count} rows more",
                count = left
            ))),
        }
    }
}
