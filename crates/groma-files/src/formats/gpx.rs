//! GPX: waypoints, routes and tracks, each a layer of its own.

use super::xml::{Element, Node, XmlReader};
use crate::{
    FileError,
    error::Result,
    source::{Field, FieldType, OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
};
use groma_geo::{Crs, Geometry, Line, Position};
use serde_json::{Map, Value};
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// The elements and the layers that they are in.
const KINDS: [(&str, &str, &str); 3] = [
    ("wpt", "waypoints", "Point"),
    ("rte", "routes", "LineString"),
    ("trk", "tracks", "MultiLineString"),
];
const FIELDS: [&str; 7] = ["name", "desc", "cmt", "type", "sym", "src", "time"];

/// An open file.
pub(super) struct Gpx {
    path: PathBuf,
    layers: Vec<SourceLayer>,
    /// The element of each layer.
    elements: Vec<&'static str>,
}

impl Gpx {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut counts = [0_u64; KINDS.len()];
        let mut is_gpx = false;
        let mut reader = XmlReader::new(File::open(path)?);
        loop {
            reader.begin_element();
            match reader.next()? {
                Node::Start(start) if start.name == "gpx" => is_gpx = true,
                Node::Start(start) => {
                    for ((name, ..), count) in KINDS.iter().zip(&mut counts) {
                        *count += u64::from(*name == start.name);
                    }
                }
                Node::Eof => break,
                _ => {}
            }
        }
        if !is_gpx {
            return Err(FileError::invalid("the file is not GPX"));
        }
        let mut found = Self { path: path.to_owned(), layers: Vec::new(), elements: Vec::new() };
        for ((element, name, geometry_type), count) in KINDS.into_iter().zip(counts) {
            if count > 0 {
                let field = |name: &&str| Field { name: (*name).to_owned(), kind: FieldType::Text };
                found.elements.push(element);
                found.layers.push(SourceLayer {
                    name: name.to_owned(),
                    fields: FIELDS.iter().map(field).collect(),
                    feature_count: Some(count),
                    crs: SourceCrs::Known(Crs::WGS84),
                    geometry_type: geometry_type.to_owned(),
                    key: None,
                });
            }
        }
        Ok(found)
    }
}

impl Source for Gpx {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let element = self.elements[layer];
        let mut reader = XmlReader::new(File::open(&self.path)?);
        let mut number = 0;
        loop {
            reader.begin_element();
            match reader.next()? {
                Node::Start(start) if start.name == element => {
                    number += 1;
                    let content = reader.content(start)?;
                    if !on_feature(number, feature(&content)) {
                        return Ok(());
                    }
                }
                Node::Eof => return Ok(()),
                _ => {}
            }
        }
    }
}

fn feature(element: &Element) -> std::result::Result<SourceFeature, String> {
    let mut properties = Map::new();
    for name in FIELDS {
        if let Some(text) = element.text_of(name) {
            properties.insert(name.to_owned(), Value::String(text.to_owned()));
        }
    }
    let geometry = match element.name.as_str() {
        "wpt" => Some(Geometry::Point(position(element)?)),
        "rte" => line(element, "rtept")?.map(Geometry::LineString),
        _ => {
            let mut lines = Vec::new();
            for segment in element.children("trkseg") {
                lines.extend(line(segment, "trkpt")?);
            }
            (!lines.is_empty()).then_some(Geometry::MultiLineString(lines))
        }
    };
    Ok(SourceFeature { geometry, properties, ..SourceFeature::default() })
}

/// The points of a route or a segment; `None` if there are too few for a line.
fn line(element: &Element, name: &str) -> std::result::Result<Option<Line>, String> {
    let line: std::result::Result<Line, String> = element.children(name).map(position).collect();
    line.map(|line| (line.len() > 1).then_some(line))
}

fn position(element: &Element) -> std::result::Result<Position, String> {
    let degrees = |name: &str| {
        let text = element.attribute(name).ok_or_else(|| format!("a point lacks `{name}`"))?;
        text.trim().parse::<f64>().map_err(|_| format!("`{name}` of a point is not a number"))
    };
    let z = element.text_of("ele").and_then(|text| text.parse().ok());
    Ok(Position { x: degrees("lon")?, y: degrees("lat")?, z })
}
