//! A spool for features that were parsed and validated. A request is parsed to its end before its first
//! feature is written, in bounded memory: beyond a few megabytes the spool is an unnamed temporary file.

use super::layer_stats::GeometryClass;
use groma_domain::{DomainError, geometry::MAX_LISTED_NOTICES, layer::GeometryType};
use groma_geo::{
    Geometry, Notice, attributes,
    geojson::{Feature, OriginalGeometry},
    message,
    tile_shape::{DetailLevel, TileShape},
    wkb,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    io::{self, Read, Seek, SeekFrom, Write},
    sync::Arc,
};
use tempfile::SpooledTempFile;

/// How many bytes stay in memory.
const MAX_MEMORY: usize = 8 << 20;

/// The most features that are written together; the one that exceeds the number of bytes is the last.
const MAX_BATCH: usize = 10_000;
const MAX_BATCH_BYTES: u64 = 8 << 20;

/// Features to be written.
#[derive(Clone)]
pub struct FeatureSpool {
    file: Arc<Mutex<SpooledTempFile>>,
    count: u64,
    /// Their size.
    bytes: u64,
    /// The names of their properties; the index is the field number in their attributes.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// The first notices, and the number of all.
    notices: Vec<Notice>,
    notice_count: u64,
    /// Whether all features have the same fields. See [`FeatureSpool::with_columns`].
    has_columns: bool,
    /// The features that are left out when it is read, by their order.
    skipped: Arc<Vec<bool>>,
    buffer: Vec<u8>,
}

/// A feature that is ready to be written.
#[derive(Serialize, Deserialize)]
pub(super) struct PreparedFeature {
    /// Its index in a FeatureCollection.
    pub(super) index: Option<usize>,
    pub(super) external_id: Option<String>,
    pub(super) geometry: Option<PreparedGeometry>,
    /// JSON.
    pub(super) properties: String,
    /// As tiles have them, by the spool's field numbers.
    pub(super) attributes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PreparedGeometry {
    /// Its index in [`KINDS`].
    kind: u8,
    pub(super) wkb: Vec<u8>,
    /// The EPSG code of another reference system, and the geometry in it.
    pub(super) original: Option<(u32, Vec<u8>)>,
    pub(super) has_heights: bool,
    /// An empty geometry has neither a bounding box nor a tile shape.
    pub(super) bbox: Option<[f64; 4]>,
    tile_shape: Option<PreparedShape>,
}

#[derive(Serialize, Deserialize)]
struct PreparedShape {
    centre: u64,
    size_class: u8,
    bytes: Vec<u8>,
    levels: Vec<(u8, Vec<u8>)>,
}

impl PreparedFeature {
    /// Takes its shape for tiles.
    pub(super) fn tile_shape(&mut self) -> Option<TileShape> {
        let PreparedShape { centre, size_class, bytes, levels } =
            self.geometry.as_mut()?.tile_shape.take()?;
        let level = |(max_zoom, bytes)| DetailLevel { max_zoom, bytes };
        Some(TileShape {
            centre,
            size_class,
            bytes,
            levels: levels.into_iter().map(level).collect(),
        })
    }
}

/// The kinds of geometry, and the class that a layer counts each in.
const KINDS: [(&str, GeometryClass); 7] = [
    ("Point", GeometryClass::Point),
    ("MultiPoint", GeometryClass::Point),
    ("LineString", GeometryClass::Line),
    ("MultiLineString", GeometryClass::Line),
    ("Polygon", GeometryClass::Polygon),
    ("MultiPolygon", GeometryClass::Polygon),
    ("GeometryCollection", GeometryClass::Mixed),
];

impl PreparedGeometry {
    pub(super) fn kind(&self) -> (&'static str, GeometryClass) {
        KINDS[usize::from(self.kind) % KINDS.len()]
    }

    /// Rejects a geometry that is not of the type of a layer's geometries.
    pub(super) fn require_type(&self, layer: GeometryType) -> Result<(), DomainError> {
        let (kind, class) = self.kind();
        let name = match layer {
            GeometryType::Point if class != GeometryClass::Point => "Point",
            GeometryType::LineString if class != GeometryClass::Line => "LineString",
            GeometryType::Polygon if class != GeometryClass::Polygon => "Polygon",
            _ => return Ok(()),
        };
        let message = message!(
            "must be a {name} or Multi{name}, the geometry type of the layer; it is a {kind}",
            name = name,
            kind = kind
        );
        Err(DomainError::invalid("geometry", message))
    }

    /// The same with other positions.
    pub(super) fn with_positions(self, geometry: &Geometry) -> Self {
        Self { original: self.original, ..Self::new(geometry, None) }
    }

    fn new(geometry: &Geometry, original: Option<&OriginalGeometry>) -> Self {
        let mut has_heights = false;
        geometry.each_position(&mut |position| has_heights |= position.z.is_some());
        let kind = KINDS.iter().position(|(name, _)| *name == geometry.type_name());
        let tile_shape = TileShape::from_geometry(geometry).map(|shape| PreparedShape {
            centre: shape.centre,
            size_class: shape.size_class,
            bytes: shape.bytes,
            levels: shape.levels.into_iter().map(|level| (level.max_zoom, level.bytes)).collect(),
        });
        Self {
            kind: kind.unwrap_or_default() as u8,
            wkb: wkb::to_wkb(geometry),
            original: original.and_then(|one| Some((one.crs.code()?, wkb::to_wkb(&one.geometry)))),
            has_heights,
            bbox: geometry.bbox().map(|bbox| bbox.0),
            tile_shape,
        }
    }
}

impl Default for FeatureSpool {
    fn default() -> Self {
        Self {
            file: Arc::new(Mutex::new(SpooledTempFile::new(MAX_MEMORY))),
            count: 0,
            bytes: 0,
            names: Vec::new(),
            numbers: HashMap::new(),
            notices: Vec::new(),
            notice_count: 0,
            has_columns: false,
            skipped: Arc::default(),
            buffer: Vec::new(),
        }
    }
}

impl FeatureSpool {
    /// A spool of features from a table, in which a null can stand for a property that a feature lacks, and the
    /// order and the spelling of numbers say nothing.
    #[must_use]
    pub fn with_columns() -> Self {
        Self { has_columns: true, ..Self::default() }
    }

    /// Whether the features are from a table.
    pub(super) fn has_columns(&self) -> bool {
        self.has_columns
    }

    /// Adds a feature.
    pub fn push(&mut self, feature: &Feature) -> io::Result<()> {
        let mut numbered = Vec::with_capacity(feature.properties.len());
        for (name, value) in &feature.properties {
            let number = match self.numbers.get(name) {
                Some(number) => *number,
                None => {
                    let number = self.names.len() as u32;
                    self.names.push(name.clone());
                    self.numbers.insert(name.clone(), number);
                    number
                }
            };
            numbered.push((number, value));
        }
        let geometry = feature.geometry.as_ref();
        let prepared = PreparedFeature {
            index: feature.index,
            external_id: feature.external_id.clone(),
            geometry: geometry.map(|it| PreparedGeometry::new(it, feature.original.as_ref())),
            properties: serde_json::to_string(&feature.properties)?,
            attributes: attributes::encode(numbered.into_iter()),
        };
        self.buffer.clear();
        self.buffer = postcard::to_extend(&prepared, std::mem::take(&mut self.buffer))
            .map_err(io::Error::other)?;
        let mut file = self.file.lock();
        file.write_all(&(self.buffer.len() as u64).to_le_bytes())?;
        file.write_all(&self.buffer)?;
        self.count += 1;
        self.bytes += self.buffer.len() as u64;
        self.notice_count += feature.notices.len() as u64;
        let room = MAX_LISTED_NOTICES - self.notices.len();
        self.notices.extend(feature.notices.iter().take(room).cloned());
        Ok(())
    }

    /// The first notices about its features, and the number of all.
    #[must_use]
    pub fn notices(&self) -> (&[Notice], u64) {
        (&self.notices, self.notice_count)
    }

    /// The number of features.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are no features.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether it has as many features as are written together.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count >= MAX_BATCH as u64 || self.bytes >= MAX_BATCH_BYTES
    }

    /// Leaves out these features, by their order.
    pub(super) fn skip(self, skipped: Arc<Vec<bool>>) -> Self {
        Self { skipped, ..self }
    }

    /// The names of the fields, and a reader of the features in their order.
    pub(super) fn read(self) -> (Vec<String>, SpoolReader) {
        let from_start = FromStart { file: self.file, at: 0 };
        let file = io::BufReader::with_capacity(1 << 18, from_start);
        let (number, count, skipped) = (0, self.count, self.skipped);
        (self.names, SpoolReader { file, number, count, skipped, buffer: self.buffer })
    }
}

/// Reads features back in batches.
pub(super) struct SpoolReader {
    file: io::BufReader<FromStart>,
    /// The number of the next feature.
    number: u64,
    count: u64,
    skipped: Arc<Vec<bool>>,
    buffer: Vec<u8>,
}

/// Reads from a position of its own in a file that others may read too.
struct FromStart {
    file: Arc<Mutex<SpooledTempFile>>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(self.at))?;
        let length = file.read(buffer)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl SpoolReader {
    /// The next batch of features; empty at the end.
    pub(super) fn next_batch(&mut self) -> io::Result<Vec<PreparedFeature>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while self.number < self.count && batch.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
            let mut length = [0; 8];
            self.file.read_exact(&mut length)?;
            let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
            self.buffer.resize(length, 0);
            self.file.read_exact(&mut self.buffer)?;
            let number = usize::try_from(self.number).map_err(io::Error::other)?;
            self.number += 1;
            if self.skipped.get(number) != Some(&true) {
                batch.push(postcard::from_bytes(&self.buffer).map_err(io::Error::other)?);
                bytes += length as u64;
            }
        }
        Ok(batch)
    }
}
