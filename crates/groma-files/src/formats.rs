//! One module per format.

pub(crate) mod csv;
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
use csv::GeometryColumns;
use groma_geo::{Message, message};
use std::{io::Write, path::Path};

/// Opens a file in a format other than GeoJSON. `geometry` is for CSV.
pub(crate) fn open(
    path: &Path,
    format: LayerFormat,
    geometry: Option<&GeometryColumns>,
) -> Result<Box<dyn Source>> {
    if geometry.is_some() && format != LayerFormat::Csv {
        return Err(no_columns());
    }
    Ok(match format {
        LayerFormat::GeoPackage => Box::new(geopackage::GeoPackage::open(path)?),
        LayerFormat::Shapefile => Box::new(shapefile::Shapefile::open(path)?),
        LayerFormat::FlatGeobuf => Box::new(flatgeobuf::FlatGeobuf::open(path)?),
        LayerFormat::Csv => Box::new(csv::Table::open(path, geometry)?),
        LayerFormat::Kml => Box::new(kml::Kml::open(path)?),
        LayerFormat::Gpx => Box::new(gpx::Gpx::open(path)?),
        LayerFormat::Dxf => Box::new(dxf::Drawing::open(path)?),
        LayerFormat::GeoJson | LayerFormat::GeoJsonSeq => {
            return Err(FileError::invalid(Message::untranslated("GeoJSON is read as a document")));
        }
    })
}

/// The error for columns of another format than CSV.
pub(crate) fn no_columns() -> FileError {
    FileError::invalid(message!("only a CSV file has columns with coordinates or WKT"))
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
            Err(FileError::invalid(Message::untranslated(
                "this format is not written by this function",
            )))
        }
    }
}
