//! GPX: waypoints, routes and tracks, each a layer of its own.

use super::xml::{Element, Node, XmlReader};
use crate::{
    FileError,
    error::Result,
    source::{Field, FieldType, OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
};
use groma_geo::{Crs, Geometry, Line, Message, Position, message};
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
            return Err(FileError::invalid(message!("the file is not GPX")));
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
                    if !on_feature(number, feature(&mut reader, start)?) {
                        return Ok(());
                    }
                }
                Node::Eof => return Ok(()),
                _ => {}
            }
        }
    }
}

/// The feature of an element whose start was read; or why it is not valid.
fn feature(
    reader: &mut XmlReader,
    start: Element,
) -> Result<std::result::Result<SourceFeature, Message>> {
    if start.name == "wpt" {
        let content = reader.content(start)?;
        let mut properties = Map::new();
        content.children.iter().for_each(|child| add_property(&mut properties, child));
        let feature = |at| SourceFeature {
            geometry: Some(Geometry::Point(at)),
            properties,
            ..SourceFeature::default()
        };
        return Ok(position(&content).map(feature));
    }
    let is_track = start.name == "trk";
    let (lines, properties) = match lines(reader)? {
        Ok(found) => found,
        Err(message) => return Ok(Err(message)),
    };
    // Too few points for a line.
    let mut lines: Vec<Line> = lines.into_iter().filter(|line| line.len() > 1).collect();
    let geometry = match (is_track, lines.is_empty()) {
        (_, true) => None,
        (true, false) => Some(Geometry::MultiLineString(lines)),
        (false, false) => Some(Geometry::LineString(lines.swap_remove(0))),
    };
    Ok(Ok(SourceFeature { geometry, properties, ..SourceFeature::default() }))
}

type Lines = (Vec<Line>, Map<String, Value>);

/// Reads a route or a track point by point: the line of the route or those of the segments, and the properties.
fn lines(reader: &mut XmlReader) -> Result<std::result::Result<Lines, Message>> {
    let (mut lines, mut properties) = (vec![Line::new()], Map::new());
    let mut invalid = None;
    let mut is_in_segment = false;
    loop {
        match reader.next()? {
            Node::Start(start) if start.name == "trkseg" && !is_in_segment => {
                is_in_segment = true;
                lines.push(Line::new());
            }
            Node::Start(start) => {
                let content = reader.content(start)?;
                match (content.name.as_str(), lines.last_mut()) {
                    ("trkpt" | "rtept", Some(line)) => match position(&content) {
                        Ok(at) => line.push(at),
                        Err(message) => invalid = invalid.or(Some(message)),
                    },
                    _ if is_in_segment => {}
                    _ => add_property(&mut properties, &content),
                }
            }
            Node::End if is_in_segment => is_in_segment = false,
            Node::End => return Ok(invalid.map_or(Ok((lines, properties)), Err)),
            Node::Text(_) => {}
            Node::Eof => return Err(FileError::invalid(message!("the file is truncated"))),
        }
    }
}

/// The first element of each name counts.
fn add_property(properties: &mut Map<String, Value>, element: &Element) {
    let text = element.text.trim();
    if let Some(name) = FIELDS.iter().find(|name| **name == element.name)
        && !text.is_empty()
        && !properties.contains_key(*name)
    {
        properties.insert((*name).to_owned(), Value::String(text.to_owned()));
    }
}

fn position(element: &Element) -> std::result::Result<Position, Message> {
    let degrees = |name: &str| {
        let text = element
            .attribute(name)
            .ok_or_else(|| message!("a point lacks `{name}`", name = name))?;
        text.trim()
            .parse::<f64>()
            .map_err(|_| message!("`{name}` of a point is not a number", name = name))
    };
    let z = element.text_of("ele").and_then(|text| text.parse().ok());
    Ok(Position { x: degrees("lon")?, y: degrees("lat")?, z })
}
