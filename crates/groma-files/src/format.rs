//! The formats of layers, and which one a file has.

use groma_geo::{Message, message};
use std::path::Path;

/// The format of a file of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerFormat {
    /// One object, usually a FeatureCollection.
    GeoJson,
    /// One object per line, or each after a record separator.
    GeoJsonSeq,
    /// An SQLite database (OGC 12-128).
    GeoPackage,
    /// A folder or a zip archive with `.shp`, `.dbf`, `.prj` and `.cpg`, or its `.shp`.
    Shapefile,
    /// A stream of features with an index.
    FlatGeobuf,
    /// A table with coordinates, WKT or WKB.
    Csv,
    /// KML, or KMZ, which is a zip archive of it.
    Kml,
    /// Waypoints, routes and tracks.
    Gpx,
    /// A drawing.
    Dxf,
}

/// Each format: its name in commands, its extensions, and whether it is written, too.
const FORMATS: [(LayerFormat, &str, &[&str], bool); 9] = [
    (LayerFormat::GeoJson, "geojson", &["geojson", "json"], true),
    (
        LayerFormat::GeoJsonSeq,
        "geojsonseq",
        &["geojsonl", "geojsons", "geojsonseq", "ndjson", "jsonl"],
        true,
    ),
    (LayerFormat::GeoPackage, "gpkg", &["gpkg"], true),
    (LayerFormat::Shapefile, "shapefile", &["shp", "zip", "shz"], true),
    (LayerFormat::FlatGeobuf, "flatgeobuf", &["fgb"], true),
    (LayerFormat::Csv, "csv", &["csv", "tsv"], true),
    (LayerFormat::Kml, "kml", &["kml", "kmz"], true),
    (LayerFormat::Gpx, "gpx", &["gpx"], false),
    (LayerFormat::Dxf, "dxf", &["dxf"], true),
];

impl LayerFormat {
    /// The format that the extension of a path stands for. A folder is a Shapefile.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return Some(Self::Shapefile);
        }
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let mut formats = FORMATS.iter();
        formats.find(|(_, _, known, _)| known.contains(&extension.as_str())).map(|row| row.0)
    }

    /// The format of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        FORMATS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The names of the formats that can be read, or of those that can be written.
    #[must_use]
    pub fn names(to_write: bool) -> String {
        let names = FORMATS.iter().filter(|row| row.3 || !to_write).map(|row| row.1);
        names.collect::<Vec<_>>().join(", ")
    }

    /// The formats that can be written.
    pub fn writable() -> impl Iterator<Item = Self> {
        FORMATS.iter().filter(|row| row.3).map(|row| row.0)
    }

    /// Its name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The extension of a file that is written in this format.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            // Its files are in an archive.
            Self::Shapefile => "zip",
            _ => FORMATS.iter().find(|row| row.0 == self).map_or("", |row| row.2[0]),
        }
    }

    /// Whether features can be written in this format.
    #[must_use]
    pub fn can_be_written(self) -> bool {
        FORMATS.iter().any(|row| row.0 == self && row.3)
    }

    /// Whether all features of a file have the same fields, so that a null can stand for a property that a
    /// feature lacks.
    #[must_use]
    pub fn has_columns(self) -> bool {
        !matches!(self, Self::GeoJson | Self::GeoJsonSeq)
    }
}

/// What to do about a file in an unknown format.
pub(crate) fn conversion_hint(path: &Path) -> Message {
    message!(
        "supported are {names}; convert the file with `ogr2ogr -f GPKG out.gpkg {file}`",
        names = LayerFormat::names(false),
        file = path.display().to_string()
    )
}

impl LayerFormat {
    /// The message for a file whose format is unknown.
    #[must_use]
    pub fn unknown(path: &Path, to_write: bool) -> Message {
        match to_write || path.as_os_str() == "-" {
            true => message!(
                "unknown format; set --format to one of {names}",
                names = Self::names(to_write)
            ),
            false => message!("unknown format; {hint}", hint = conversion_hint(path)),
        }
    }
}
