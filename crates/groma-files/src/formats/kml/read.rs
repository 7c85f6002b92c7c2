//! Reads the placemarks of KML. Styles and overlays are left out.

use crate::{
    FileError,
    archive::Archive,
    error::Result,
    formats::xml::{Element, Node, XmlReader},
    source::{OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
    value,
};
use groma_geo::{Crs, Geometry, Line, Message, Position, message};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::Seek,
    path::{Path, PathBuf},
};

/// How deep MultiGeometries can be nested.
const MAX_DEPTH: usize = 4;
/// The most documents of an archive. Each is an open file.
const MAX_DOCUMENTS: usize = 100;

/// An open file.
pub(in crate::formats) struct Kml {
    /// The documents: an archive can have several, which link to each other.
    documents: Vec<Content>,
    layers: Vec<SourceLayer>,
}

enum Content {
    Path(PathBuf),
    Unpacked(File),
}

impl Kml {
    pub(in crate::formats) fn open(path: &Path) -> Result<Self> {
        let documents = match Archive::is_archive(path)? {
            false => vec![Content::Path(path.to_owned())],
            true => unpack(path)?,
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let layer = SourceLayer {
            name,
            fields: Vec::new(),
            feature_count: None,
            crs: SourceCrs::Known(Crs::WGS84),
            geometry_type: String::new(),
            key: None,
        };
        Ok(Self { documents, layers: vec![layer] })
    }
}

/// The documents of an archive, the main one first.
fn unpack(path: &Path) -> Result<Vec<Content>> {
    let mut archive = Archive::open(path)?;
    let mut names = archive.names()?;
    names.retain(|name| name.to_ascii_lowercase().ends_with(".kml"));
    names.sort_by_key(|name| name.matches('/').count());
    match names.len() {
        0 => Err(FileError::invalid(message!("the archive contains no KML document"))),
        1..=MAX_DOCUMENTS => {
            names.iter().map(|name| archive.unpack(name).map(Content::Unpacked)).collect()
        }
        _ => Err(FileError::invalid(message!(
            "the archive contains more than {limit} KML documents",
            limit = MAX_DOCUMENTS
        ))),
    }
}

impl Content {
    fn open(&self) -> Result<File> {
        Ok(match self {
            Self::Path(path) => File::open(path)?,
            Self::Unpacked(file) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                file
            }
        })
    }
}

impl Source for Kml {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, _layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let mut number = 0;
        for document in &self.documents {
            if !read_document(document.open()?, &mut number, on_feature)? {
                break;
            }
        }
        Ok(())
    }
}

/// Passes on the placemarks of a document; `number` counts them. Returns false when told to stop.
fn read_document(file: File, number: &mut u64, on_feature: &mut OnFeature<'_>) -> Result<bool> {
    let mut reader = XmlReader::new(file);
    let mut is_kml = false;
    // The elements that are open, and the names of those that are folders.
    let mut open: Vec<(String, String)> = Vec::new();
    let mut types = FxHashMap::default();
    loop {
        reader.begin_element();
        match reader.next()? {
            Node::Start(start) => match start.name.as_str() {
                "Placemark" => {
                    *number += 1;
                    let placemark = reader.content(start)?;
                    if !on_feature(*number, feature(&placemark, &open, &types)) {
                        return Ok(false);
                    }
                }
                "Schema" => read_types(&reader.content(start)?, &mut types),
                "name" => {
                    let name = reader.content(start)?;
                    if let Some((_, folder)) = open.last_mut() {
                        *folder = name.text.trim().to_owned();
                    }
                }
                _ => {
                    is_kml |= start.name == "kml" || start.name == "Document";
                    open.push((start.name, String::new()));
                }
            },
            Node::End => {
                open.pop();
            }
            Node::Text(_) => {}
            Node::Eof if is_kml => return Ok(true),
            Node::Eof => return Err(FileError::invalid(message!("the file is not KML"))),
        }
    }
}

/// The types of fields, by name.
type Types = FxHashMap<String, String>;

fn read_types(schema: &Element, types: &mut Types) {
    for field in schema.children("SimpleField") {
        if let (Some(name), Some(kind)) = (field.attribute("name"), field.attribute("type")) {
            types.insert(name.to_owned(), kind.to_owned());
        }
    }
}

fn feature(
    placemark: &Element,
    open: &[(String, String)],
    types: &Types,
) -> std::result::Result<SourceFeature, Message> {
    let mut properties = Map::new();
    for name in ["name", "description"] {
        if let Some(text) = placemark.text_of(name) {
            properties.insert(name.to_owned(), Value::String(text.to_owned()));
        }
    }
    let folders = open.iter().filter(|(element, name)| element == "Folder" && !name.is_empty());
    let folders: Vec<_> = folders.map(|(_, name)| name.as_str()).collect();
    if !folders.is_empty() {
        properties.insert("folder".to_owned(), Value::String(folders.join("/")));
    }
    let times = [("TimeStamp", "when"), ("TimeSpan", "begin"), ("TimeSpan", "end")];
    for (parent, name) in times {
        if let Some(time) = placemark.child(parent).and_then(|parent| parent.text_of(name)) {
            properties.insert(name.to_owned(), Value::String(time.to_owned()));
        }
    }
    for data in placemark.children("ExtendedData").flat_map(|data| &data.children) {
        read_data(data, types, &mut properties);
    }
    let geometry = placemark.children.iter().find_map(|child| geometry(child, 0).transpose());
    Ok(SourceFeature { geometry: geometry.transpose()?, properties, ..SourceFeature::default() })
}

fn read_data(data: &Element, types: &Types, properties: &mut Map<String, Value>) {
    if data.name == "Data" {
        if let Some(name) = data.attribute("name") {
            let text = data.child("value").map(|value| value.text.clone());
            properties.insert(name.to_owned(), text.map_or(Value::Null, Value::String));
        }
        return;
    }
    for field in data.children("SimpleData") {
        if let Some(name) = field.attribute("name") {
            let value = typed(field.text.clone(), types.get(name).map(String::as_str));
            properties.insert(name.to_owned(), value);
        }
    }
}

fn typed(text: String, kind: Option<&str>) -> Value {
    let trimmed = text.trim();
    match kind {
        Some("int" | "uint" | "short" | "ushort") => {
            trimmed.parse::<i64>().map_or(Value::Null, Value::from)
        }
        Some("float" | "double") => trimmed.parse().map_or(Value::Null, value::real),
        Some("bool") => Value::Bool(matches!(trimmed, "1" | "true")),
        _ => Value::String(text),
    }
}

/// The geometry of an element; `None` if it is none.
fn geometry(element: &Element, depth: usize) -> std::result::Result<Option<Geometry>, Message> {
    Ok(match element.name.as_str() {
        "Point" => coordinates(element)?.first().copied().map(Geometry::Point),
        "LineString" | "LinearRing" => {
            Some(coordinates(element)?).filter(|line| !line.is_empty()).map(Geometry::LineString)
        }
        "Track" => {
            let line: std::result::Result<Line, Message> = element
                .children("coord")
                .map(|coord| position(coord.text.split_whitespace()))
                .collect();
            Some(line?).filter(|line| !line.is_empty()).map(Geometry::LineString)
        }
        "Polygon" => {
            let mut rings = Vec::new();
            for name in ["outerBoundaryIs", "innerBoundaryIs"] {
                for ring in
                    element.children(name).flat_map(|boundary| boundary.children("LinearRing"))
                {
                    rings.push(closed(coordinates(ring)?));
                }
            }
            (!rings.is_empty()).then_some(Geometry::Polygon(rings))
        }
        "MultiGeometry" | "MultiTrack" if depth < MAX_DEPTH => {
            let mut parts = Vec::new();
            for child in &element.children {
                parts.extend(geometry(child, depth + 1)?);
            }
            combine(parts)
        }
        "MultiGeometry" => return Err(message!("geometries are nested too deeply")),
        _ => None,
    })
}

/// One geometry of several parts: a Multi geometry if all are of one type.
fn combine(parts: Vec<Geometry>) -> Option<Geometry> {
    let name = parts.first()?.type_name();
    let is_plain = matches!(name, "Point" | "LineString" | "Polygon");
    if !is_plain || parts.iter().any(|part| part.type_name() != name) {
        return Some(Geometry::Collection(parts));
    }
    let (mut points, mut lines, mut polygons) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Geometry::Point(point) => points.push(point),
            Geometry::LineString(line) => lines.push(line),
            Geometry::Polygon(rings) => polygons.push(rings),
            _ => {}
        }
    }
    Some(match name {
        "Point" => Geometry::MultiPoint(points),
        "LineString" => Geometry::MultiLineString(lines),
        _ => Geometry::MultiPolygon(polygons),
    })
}

fn closed(mut ring: Line) -> Line {
    if let (Some(first), Some(last)) = (ring.first().copied(), ring.last())
        && (first.x, first.y) != (last.x, last.y)
    {
        ring.push(first);
    }
    ring
}

fn coordinates(element: &Element) -> std::result::Result<Line, Message> {
    let text = element.child("coordinates").map(|child| child.text.as_str()).unwrap_or_default();
    text.split_whitespace().map(|tuple| position(tuple.split(','))).collect()
}

fn position<'a>(numbers: impl Iterator<Item = &'a str>) -> std::result::Result<Position, Message> {
    let numbers: std::result::Result<Vec<f64>, _> =
        numbers.filter(|number| !number.is_empty()).map(str::parse).collect();
    match numbers.as_deref() {
        Ok([x, y]) => Ok(Position { x: *x, y: *y, z: None }),
        Ok([x, y, z, ..]) => Ok(Position { x: *x, y: *y, z: Some(*z) }),
        _ => Err(message!("the coordinates are not valid")),
    }
}
