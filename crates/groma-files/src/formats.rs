//! One module per format.

mod csv;
mod dxf;
mod flatgeobuf;
pub(crate) mod geopackage;
mod gpx;
mod kml;
mod shapefile;
mod wkt;
mod xml;

use crate::{
    FileError, LayerFormat,
    error::Result,
    output::{OutputLayer, Spool},
    source::Source,
};
use std::{io::Write, path::Path};

/// Opens a file in a format other than GeoJSON.
pub(crate) fn open(path: &Path, format: LayerFormat) -> Result<Box<dyn Source>> {
    Ok(match format {
        LayerFormat::GeoPackage => Box::new(geopackage::GeoPackage::open(path)?),
        LayerFormat::Shapefile => Box::new(shapefile::Shapefile::open(path)?),
        LayerFormat::FlatGeobuf => Box::new(flatgeobuf::FlatGeobuf::open(path)?),
        LayerFormat::Csv => Box::new(csv::Table::open(path)?),
        LayerFormat::Kml => Box::new(kml::Kml::open(path)?),
        LayerFormat::Gpx => Box::new(gpx::Gpx::open(path)?),
        LayerFormat::Dxf => Box::new(dxf::Drawing::open(path)?),
        LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => {
            return Err(FileError::invalid("GeoJSON is read as a document"));
        }
    })
}

/// Writes a layer. Returns what the format could not hold.
pub(crate) fn write(
    format: LayerFormat,
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    match format {
        LayerFormat::GeoPackage => geopackage::write(layer, features, out),
        LayerFormat::Shapefile => shapefile::write(layer, features, out),
        LayerFormat::FlatGeobuf => flatgeobuf::write(layer, features, out),
        LayerFormat::Csv => csv::write(layer, features, out),
        LayerFormat::Kml => kml::write(layer, features, out),
        LayerFormat::Dxf => dxf::write(layer, features, out),
        LayerFormat::Gpx | LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => {
            Err(FileError::invalid("this format is not written by this function"))
        }
    }
}
