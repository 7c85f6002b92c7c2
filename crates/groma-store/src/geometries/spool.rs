//! Features that were read and checked, waiting to be written. All of a body must be read before
//! the first of it is written, and none of it may fill the memory: beyond a few megabytes they wait
//! in a file that has no name.

use super::tally::Sort;
use groma_geo::{
    Geometry, attributes,
    geojson::Feature,
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

/// How much waits in memory.
const IN_MEMORY: usize = 8 << 20;

/// Features waiting to be written.
#[derive(Clone)]
pub struct Spool {
    file: Arc<Mutex<SpooledTempFile>>,
    count: u64,
    /// The names of their properties; the place here is the number in their attributes.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    buffer: Vec<u8>,
}

/// A feature, ready to be written.
#[derive(Serialize, Deserialize)]
pub(super) struct Prepared {
    pub(super) external_id: Option<String>,
    pub(super) geometry: Option<PreparedGeometry>,
    /// As JSON.
    pub(super) properties: String,
    /// As tiles have them, by the spool's numbers.
    pub(super) attributes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PreparedGeometry {
    /// Its place in [`KINDS`].
    kind: u8,
    pub(super) wkb: Vec<u8>,
    pub(super) has_heights: bool,
    /// Without a position there is neither a box nor a drawing.
    pub(super) bbox: Option<[f64; 4]>,
    drawing: Option<PreparedDrawing>,
}

#[derive(Serialize, Deserialize)]
struct PreparedDrawing {
    centre: u64,
    class: u8,
    bytes: Vec<u8>,
    levels: Vec<(u8, Vec<u8>)>,
}

impl Prepared {
    /// What is drawn of it.
    pub(super) fn drawing(&mut self) -> Option<TileShape> {
        let PreparedDrawing { centre, class, bytes, levels } =
            self.geometry.as_mut()?.drawing.take()?;
        let level = |(max_zoom, bytes)| DetailLevel { max_zoom, bytes };
        Some(TileShape {
            centre,
            size_class: class,
            bytes,
            levels: levels.into_iter().map(level).collect(),
        })
    }
}

/// The kinds of geometry, and what a layer counts each as.
const KINDS: [(&str, Sort); 7] = [
    ("Point", Sort::Point),
    ("MultiPoint", Sort::Point),
    ("LineString", Sort::Line),
    ("MultiLineString", Sort::Line),
    ("Polygon", Sort::Polygon),
    ("MultiPolygon", Sort::Polygon),
    ("GeometryCollection", Sort::Mixed),
];

impl PreparedGeometry {
    pub(super) fn kind(&self) -> (&'static str, Sort) {
        KINDS[usize::from(self.kind) % KINDS.len()]
    }

    fn of(geometry: &Geometry) -> Self {
        let mut has_heights = false;
        geometry.each_position(&mut |position| has_heights |= position.z.is_some());
        let kind = KINDS.iter().position(|(name, _)| *name == geometry.type_name());
        let drawing = TileShape::from_geometry(geometry).map(|drawing| PreparedDrawing {
            centre: drawing.centre,
            class: drawing.size_class,
            bytes: drawing.bytes,
            levels: drawing.levels.into_iter().map(|level| (level.max_zoom, level.bytes)).collect(),
        });
        Self {
            kind: kind.unwrap_or_default() as u8,
            wkb: wkb::to_wkb(geometry),
            has_heights,
            bbox: geometry.bbox().map(|bbox| bbox.0),
            drawing,
        }
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self {
            file: Arc::new(Mutex::new(SpooledTempFile::new(IN_MEMORY))),
            count: 0,
            names: Vec::new(),
            numbers: HashMap::new(),
            buffer: Vec::new(),
        }
    }
}

impl Spool {
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
        let prepared = Prepared {
            external_id: feature.external_id.clone(),
            geometry: feature.geometry.as_ref().map(PreparedGeometry::of),
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
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Hands them over in their order.
    pub(super) fn read(self) -> (Vec<String>, Reader) {
        let from_start = FromStart { file: self.file, at: 0 };
        let file = io::BufReader::with_capacity(1 << 18, from_start);
        (self.names, Reader { file, left: self.count, buffer: self.buffer })
    }
}

/// Reads features back in parts.
pub(super) struct Reader {
    file: io::BufReader<FromStart>,
    left: u64,
    buffer: Vec<u8>,
}

/// Has a place of its own in a file that others may read too.
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

impl Reader {
    /// The next features: as many as there are, or as are worth writing together.
    pub(super) fn next_part(&mut self) -> io::Result<Vec<Prepared>> {
        const FEATURES: usize = 10_000;
        const BYTES: usize = 8 << 20;
        let mut part = Vec::new();
        let mut bytes = 0;
        while self.left > 0 && part.len() < FEATURES && bytes < BYTES {
            let mut length = [0; 8];
            self.file.read_exact(&mut length)?;
            let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
            self.buffer.resize(length, 0);
            self.file.read_exact(&mut self.buffer)?;
            part.push(postcard::from_bytes(&self.buffer).map_err(io::Error::other)?);
            bytes += length;
            self.left -= 1;
        }
        Ok(part)
    }
}
