//! Reads FlatGeobuf. Every buffer is verified before it is used.

use super::{MAGIC, PROPERTY};
use crate::{
    FileError,
    error::Result,
    format_limits::MAX_COLUMNS,
    prj,
    source::{
        Field, FieldType, ID_COLUMN, ID_PROPERTY, MAX_VERTICES, OnFeature, Source, SourceCrs,
        SourceFeature, SourceLayer, too_many_vertices,
    },
    value,
};
use flatbuffers::{
    Follow, InvalidFlatbuffer, Verifiable, VerifierOptions, size_prefixed_root_with_opts,
};
use flatgeobuf::{
    ColumnType, Feature, Geometry as Shape, GeometryType, Header, packed_r_tree::PackedRTree,
};
use groma_geo::{Geometry, Line, Message, Position, message};
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

const MAX_HEADER_BYTES: usize = 16 << 20;
const MAX_FEATURE_BYTES: usize = 256 << 20;
/// How deep collections can be nested.
const MAX_DEPTH: usize = 8;
/// How many times its size a buffer can refer to. Only the lists of fields are shared in files of other programs.
const MAX_EXPANSION: usize = 8;

/// An open file.
pub(in crate::formats) struct FlatGeobuf {
    path: PathBuf,
    layers: Vec<SourceLayer>,
    columns: Vec<ColumnType>,
    /// The property of each column.
    properties: Vec<String>,
    geometry_type: GeometryType,
    /// Where the features start.
    start: u64,
}

impl FlatGeobuf {
    pub(in crate::formats) fn open(path: &Path) -> Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let mut magic = [0; 8];
        file.read_exact(&mut magic).map_err(|_| not_valid())?;
        if magic[..7] != MAGIC[..7] {
            return Err(not_valid());
        }
        let buffer = read_buffer(&mut file, MAX_HEADER_BYTES)?.ok_or_else(not_valid)?;
        let header = verified::<Header<'_>>(&buffer).map_err(|_| not_valid())?;
        let (fields, columns) = columns(&header)?;
        let property = |field: &Field, name: &str| match name {
            ID_COLUMN => ID_PROPERTY.to_owned(),
            _ => field.name.clone(),
        };
        let names = header.columns().into_iter().flatten();
        let properties = fields
            .iter()
            .zip(names)
            .map(|(field, column)| property(field, column.name()))
            .collect();
        let count = header.features_count();
        let index = match (usize::try_from(count), header.index_node_size()) {
            (Ok(1..), 1) => return Err(not_valid()),
            // A larger number would overflow the size, and no file has it.
            (Ok(count @ 1..0x1_0000_0000), size @ 2..) => {
                PackedRTree::index_size(count, size) as u64
            }
            (Ok(0), _) | (_, 0) => 0,
            _ => return Err(not_valid()),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let layer = SourceLayer {
            name: header.name().filter(|name| !name.is_empty()).map_or(name, str::to_owned),
            fields,
            feature_count: (count > 0).then_some(count),
            crs: declared_crs(&header),
            geometry_type: header.geometry_type().variant_name().unwrap_or_default().to_owned(),
            key: None,
        };
        Ok(Self {
            path: path.to_owned(),
            layers: vec![layer],
            columns,
            properties,
            geometry_type: header.geometry_type(),
            start: (MAGIC.len() + buffer.len()) as u64 + index,
        })
    }
}

fn not_valid() -> FileError {
    FileError::invalid(message!("the file is not a valid FlatGeobuf file"))
}

/// The next buffer with its size; `None` at the end of the file. Memory is only taken for bytes that are there.
fn read_buffer(file: &mut impl Read, max_bytes: usize) -> Result<Option<Vec<u8>>> {
    let mut buffer = Vec::new();
    if file.by_ref().take(4).read_to_end(&mut buffer)? == 0 {
        return Ok(None);
    }
    let prefix = buffer.as_slice().try_into().map_err(|_| truncated())?;
    let size = u32::from_le_bytes(prefix) as usize;
    if size > max_bytes {
        return Err(FileError::invalid(message!(
            "a part of {size} bytes exceeds the limit of {limit}",
            size = size,
            limit = max_bytes
        )));
    }
    // Smaller ones would be read beyond their end.
    if size < 8 || file.by_ref().take(size as u64).read_to_end(&mut buffer)? < size {
        return Err(truncated());
    }
    Ok(Some(buffer))
}

/// The root of a buffer. Parts of a hostile one can be in many places at once, so that they take far more memory than
/// the buffer.
fn verified<'b, T: Follow<'b> + Verifiable + 'b>(
    buffer: &'b [u8],
) -> std::result::Result<T::Inner, InvalidFlatbuffer> {
    let max_apparent_size = MAX_EXPANSION.saturating_mul(buffer.len());
    let options = VerifierOptions { max_apparent_size, ..VerifierOptions::default() };
    size_prefixed_root_with_opts::<T>(&options, buffer)
}

fn truncated() -> FileError {
    FileError::invalid(message!("the file is truncated"))
}

fn columns(header: &Header<'_>) -> Result<(Vec<Field>, Vec<ColumnType>)> {
    let (mut fields, mut types) = (Vec::new(), Vec::new());
    for column in header.columns().into_iter().flatten() {
        let name = match (column.description(), column.title()) {
            (Some(PROPERTY), Some(title)) => title,
            _ => column.name(),
        };
        if fields.len() == MAX_COLUMNS {
            return Err(FileError::invalid(message!(
                "the file has more than {limit} columns",
                limit = MAX_COLUMNS
            )));
        }
        fields.push(Field { name: name.to_owned(), kind: field_type(column.type_()) });
        types.push(column.type_());
    }
    Ok((fields, types))
}

fn field_type(kind: ColumnType) -> FieldType {
    match kind {
        ColumnType::Bool => FieldType::Bool,
        ColumnType::Float | ColumnType::Double => FieldType::Real,
        ColumnType::Json => FieldType::Json,
        ColumnType::DateTime => FieldType::DateTime,
        ColumnType::Binary => FieldType::Binary,
        ColumnType::String => FieldType::Text,
        _ => FieldType::Integer,
    }
}

fn declared_crs(header: &Header<'_>) -> SourceCrs {
    let Some(crs) = header.crs() else { return SourceCrs::Missing };
    let is_epsg = crs.org().is_none_or(|org| org.eq_ignore_ascii_case("EPSG"));
    match (crs.code(), crs.wkt()) {
        (code @ 1.., _) if is_epsg => prj::by_code(&code.to_string()),
        (_, Some(wkt)) => prj::read(wkt),
        _ => SourceCrs::Missing,
    }
}

impl Source for FlatGeobuf {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, _layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let file = File::open(&self.path)?;
        if file.metadata()?.len() < self.start {
            return Err(truncated());
        }
        let mut file = BufReader::with_capacity(1 << 18, file);
        file.seek(SeekFrom::Start(self.start))?;
        let mut count = 0;
        while let Some(buffer) = read_buffer(&mut file, MAX_FEATURE_BYTES)? {
            count += 1;
            let feature = match verified::<Feature<'_>>(&buffer) {
                Ok(feature) => self.feature(&feature),
                Err(_) => Err(message!("the feature is not valid FlatGeobuf")),
            };
            if !on_feature(count, feature) {
                return Ok(());
            }
        }
        match self.layers[0].feature_count {
            Some(expected) if expected > count => Err(FileError::invalid(message!(
                "the file is truncated: it has {count} of {expected} features",
                count = count,
                expected = expected
            ))),
            _ => Ok(()),
        }
    }
}

impl FlatGeobuf {
    fn feature(&self, feature: &Feature<'_>) -> std::result::Result<SourceFeature, Message> {
        let mut found = SourceFeature::default();
        if let Some(shape) = feature.geometry() {
            found.has_measures = shape.m().is_some_and(|m| !m.is_empty());
            found.geometry = geometry(&shape, self.geometry_type, 0, &mut 0)?;
        }
        let fields = &self.layers[0].fields;
        // A feature has no value for a field that is null.
        found.properties = fields
            .iter()
            .zip(&self.properties)
            .filter(|(field, _)| field.kind != FieldType::Binary)
            .map(|(_, property)| (property.clone(), Value::Null))
            .collect();
        let bytes = feature.properties().map(|bytes| bytes.bytes()).unwrap_or_default();
        found.has_binary =
            read_properties(bytes, &self.properties, &self.columns, &mut found.properties)
                .ok_or_else(|| message!("the properties are not valid FlatGeobuf"))?;
        Ok(found)
    }
}

/// Reads the values; returns whether there are binary ones.
fn read_properties(
    mut bytes: &[u8],
    names: &[String],
    columns: &[ColumnType],
    properties: &mut Map<String, Value>,
) -> Option<bool> {
    let mut has_binary = false;
    while !bytes.is_empty() {
        let index = usize::from(u16::from_le_bytes(take(&mut bytes)?));
        let value = match *columns.get(index)? {
            ColumnType::Byte => Value::from(i8::from_le_bytes(take(&mut bytes)?)),
            ColumnType::UByte => Value::from(u8::from_le_bytes(take(&mut bytes)?)),
            ColumnType::Bool => Value::Bool(take::<1>(&mut bytes)? != [0]),
            ColumnType::Short => Value::from(i16::from_le_bytes(take(&mut bytes)?)),
            ColumnType::UShort => Value::from(u16::from_le_bytes(take(&mut bytes)?)),
            ColumnType::Int => Value::from(i32::from_le_bytes(take(&mut bytes)?)),
            ColumnType::UInt => Value::from(u32::from_le_bytes(take(&mut bytes)?)),
            ColumnType::Long => Value::from(i64::from_le_bytes(take(&mut bytes)?)),
            ColumnType::ULong => Value::from(u64::from_le_bytes(take(&mut bytes)?)),
            ColumnType::Float => value::real(f32::from_le_bytes(take(&mut bytes)?).into()),
            ColumnType::Double => value::real(f64::from_le_bytes(take(&mut bytes)?)),
            kind => {
                let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
                let (content, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                match kind {
                    ColumnType::Binary => {
                        has_binary = true;
                        continue;
                    }
                    ColumnType::Json => value::json(std::str::from_utf8(content).ok()?.to_owned()),
                    _ => Value::String(std::str::from_utf8(content).ok()?.to_owned()),
                }
            }
        };
        properties.insert(names.get(index)?.clone(), value);
    }
    Some(has_binary)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// The geometry of a table; `None` if it is empty. `vertices` counts the positions of the feature.
fn geometry(
    shape: &Shape<'_>,
    layer_type: GeometryType,
    depth: usize,
    vertices: &mut usize,
) -> std::result::Result<Option<Geometry>, Message> {
    let own = shape.type_();
    let kind = if own == GeometryType::Unknown { layer_type } else { own };
    if depth > MAX_DEPTH {
        return Err(message!("collections are nested too deeply"));
    }
    if matches!(kind, GeometryType::GeometryCollection | GeometryType::MultiPolygon) {
        let part_type = match kind {
            GeometryType::MultiPolygon => GeometryType::Polygon,
            _ => GeometryType::Unknown,
        };
        let mut parts = Vec::new();
        for part in shape.parts().into_iter().flatten() {
            parts.extend(geometry(&part, part_type, depth + 1, vertices)?);
        }
        if kind == GeometryType::GeometryCollection {
            return Ok(Some(Geometry::Collection(parts)));
        }
        let rings = parts.into_iter().filter_map(|part| match part {
            Geometry::Polygon(rings) => Some(rings),
            _ => None,
        });
        return Ok(Some(Geometry::MultiPolygon(rings.collect())));
    }
    let positions = positions(shape, vertices)?;
    if positions.is_empty() {
        return Ok(None);
    }
    Ok(Some(match kind {
        GeometryType::Point => Geometry::Point(positions[0]),
        GeometryType::MultiPoint => Geometry::MultiPoint(positions),
        GeometryType::LineString => Geometry::LineString(positions),
        GeometryType::MultiLineString => Geometry::MultiLineString(lines(shape, &positions)?),
        GeometryType::Polygon => Geometry::Polygon(lines(shape, &positions)?),
        other => {
            let name = other.variant_name().unwrap_or("unknown");
            return Err(message!(
                "geometries of the type {name} are not supported; convert the file with `ogr2ogr -nlt CONVERT_TO_LINEAR`",
                name = name
            ));
        }
    }))
}

/// The positions of a part; `vertices` counts those of all parts.
fn positions(shape: &Shape<'_>, vertices: &mut usize) -> std::result::Result<Line, Message> {
    let Some(xy) = shape.xy() else { return Ok(Line::new()) };
    *vertices += xy.len() / 2;
    if *vertices > MAX_VERTICES {
        return Err(too_many_vertices());
    }
    let z = shape.z().filter(|z| !z.is_empty());
    if xy.len() % 2 != 0 || z.is_some_and(|z| z.len() != xy.len() / 2) {
        return Err(invalid_geometry());
    }
    let position = |index: usize| Position {
        x: xy.get(2 * index),
        y: xy.get(2 * index + 1),
        z: z.map(|z| z.get(index)).filter(|z| !z.is_nan()),
    };
    Ok((0..xy.len() / 2).map(position).collect())
}

fn invalid_geometry() -> Message {
    message!("the geometry is not valid FlatGeobuf")
}

/// The parts of a line or a polygon, whose ends are listed unless there is only one.
fn lines(shape: &Shape<'_>, positions: &[Position]) -> std::result::Result<Vec<Line>, Message> {
    let Some(ends) = shape.ends().filter(|ends| !ends.is_empty()) else {
        return Ok(vec![positions.to_vec()]);
    };
    let mut start = 0;
    let mut lines = Vec::new();
    for end in ends {
        let end = end as usize;
        let line = positions.get(start..end).ok_or_else(invalid_geometry)?;
        lines.push(line.to_vec());
        start = end;
    }
    Ok(lines)
}
