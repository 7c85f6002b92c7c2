//! Writes FlatGeobuf.

use super::{MAGIC, PROPERTY};
use crate::{
    FileError,
    error::Result,
    output::{OutputLayer, Spool},
    prj,
    schema::{Column as Field, ColumnType as FieldType},
    source::ID_COLUMN,
    value,
};
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use flatgeobuf::{
    Column, ColumnArgs, ColumnType, Crs, CrsArgs, Feature, FeatureArgs, Geometry as Shape,
    GeometryArgs, GeometryType, Header, HeaderArgs,
    packed_r_tree::{NodeItem, PackedRTree, calc_extent, hilbert_sort},
};
use groma_geo::{Geometry, Line, Message, Position};
use serde_json::Value;
use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write},
};

const NODE_SIZE: u16 = 16;

/// Writes a layer as FlatGeobuf.
pub(in crate::formats) fn write(
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    let schema = &layer.schema;
    let layer_type = match (schema.geometry_types.len(), schema.geometry_types.first()) {
        (1, Some(name)) => type_of(name),
        _ => GeometryType::Unknown,
    };
    let mut body = Body {
        file: BufWriter::new(tempfile::tempfile()?),
        length: 0,
        nodes: Vec::new(),
        places: Vec::new(),
        has_all_boxes: true,
    };
    let mut builder = FlatBufferBuilder::new();
    features.each(schema.count, |id, geometry, mut properties| {
        let mut bytes = Vec::new();
        write_value(0, FieldType::Text, &Value::String(id.to_owned()), &mut bytes);
        for (index, field) in (1_u16..).zip(&schema.columns) {
            if let Some(value) = properties.remove(&field.property) {
                write_value(index, field.kind(), &value, &mut bytes);
            }
        }
        builder.reset();
        let shape = geometry
            .as_ref()
            .map(|geometry| shape(&mut builder, geometry, layer_type, schema.has_heights));
        let properties = Some(builder.create_vector(&bytes));
        let feature = Feature::create(
            &mut builder,
            &FeatureArgs { geometry: shape, properties, columns: None },
        );
        builder.finish_size_prefixed(feature, None);
        body.push(builder.finished_data(), geometry.as_ref())
    })?;
    out.write_all(&MAGIC)?;
    let has_index = body.has_all_boxes && !body.nodes.is_empty();
    out.write_all(&header(layer, layer_type, has_index))?;
    body.write(has_index, out)?;
    Ok(Vec::new())
}

/// The features, in a temporary file until their order is known.
struct Body {
    file: BufWriter<File>,
    length: u64,
    nodes: Vec<NodeItem>,
    /// Where each feature is, and its size.
    places: Vec<(u64, u64)>,
    /// An index has no place for a feature without a geometry.
    has_all_boxes: bool,
}

impl Body {
    fn push(&mut self, bytes: &[u8], geometry: Option<&Geometry>) -> Result<()> {
        let size = bytes.len() as u64;
        match geometry.and_then(Geometry::bbox) {
            Some(bbox) => {
                let [min_x, min_y, max_x, max_y] = bbox.0;
                let mut node = NodeItem::bounds(min_x, min_y, max_x, max_y);
                node.offset = self.places.len() as u64;
                self.nodes.push(node);
            }
            None => self.has_all_boxes = false,
        }
        self.places.push((self.length, size));
        self.length += size;
        Ok(self.file.write_all(bytes)?)
    }

    fn write(mut self, has_index: bool, out: &mut dyn Write) -> Result<()> {
        let mut file = self.file.into_inner().map_err(|error| FileError::Io(error.into_error()))?;
        file.rewind()?;
        let mut file = BufReader::new(file);
        if !has_index {
            std::io::copy(&mut file, out)?;
            return Ok(());
        }
        let extent = calc_extent(&self.nodes);
        hilbert_sort(&mut self.nodes, &extent);
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut offset = 0;
        for node in &mut self.nodes {
            let place = self.places[node.offset as usize];
            order.push(place);
            node.offset = offset;
            offset += place.1;
        }
        let tree = PackedRTree::build(&self.nodes, &extent, NODE_SIZE)
            .map_err(|error| FileError::invalid(Message::untranslated(error)))?;
        let mut index = Vec::new();
        tree.stream_write(&mut index)
            .map_err(|error| FileError::invalid(Message::untranslated(error)))?;
        out.write_all(&index)?;
        let mut buffer = Vec::new();
        for (start, size) in order {
            file.seek(SeekFrom::Start(start))?;
            buffer.clear();
            file.by_ref().take(size).read_to_end(&mut buffer)?;
            out.write_all(&buffer)?;
        }
        Ok(())
    }
}

fn header(layer: &OutputLayer, geometry_type: GeometryType, has_index: bool) -> Vec<u8> {
    let schema = &layer.schema;
    let mut builder = FlatBufferBuilder::new();
    let names = schema.names(&[ID_COLUMN], usize::MAX);
    let mut columns = vec![column(&mut builder, ID_COLUMN, ColumnType::String, None)];
    for (name, field) in names.iter().zip(&schema.columns) {
        let title = (*name != field.property).then_some(field);
        columns.push(column(&mut builder, name, column_type(field.kind()), title));
    }
    let columns = Some(builder.create_vector(&columns));
    let org = Some(builder.create_string("EPSG"));
    let name = Some(builder.create_string(layer.crs.info().name));
    let wkt = prj::write(&layer.crs).map(|wkt| builder.create_string(&wkt));
    let code = layer.crs.code().unwrap_or(4326) as i32;
    let crs = CrsArgs { org, code, name, wkt, ..CrsArgs::default() };
    let crs = Some(Crs::create(&mut builder, &crs));
    let name = Some(builder.create_string(&layer.name));
    let envelope = schema.bbox.map(|bbox| builder.create_vector(&bbox.0));
    let header = HeaderArgs {
        name,
        envelope,
        geometry_type,
        has_z: schema.has_heights,
        columns,
        features_count: schema.count,
        index_node_size: if has_index { NODE_SIZE } else { 0 },
        crs,
        ..HeaderArgs::default()
    };
    let header = Header::create(&mut builder, &header);
    builder.finish_size_prefixed(header, None);
    builder.finished_data().to_vec()
}

fn column<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    name: &str,
    type_: ColumnType,
    renamed: Option<&Field>,
) -> WIPOffset<Column<'b>> {
    let title = renamed.map(|field| builder.create_string(&field.property));
    let description = renamed.map(|_| builder.create_string(PROPERTY));
    let name = Some(builder.create_string(name));
    Column::create(
        builder,
        &ColumnArgs { name, type_, title, description, ..ColumnArgs::default() },
    )
}

fn column_type(kind: FieldType) -> ColumnType {
    match kind {
        FieldType::Integer => ColumnType::Long,
        FieldType::Real => ColumnType::Double,
        FieldType::Bool => ColumnType::Bool,
        FieldType::Text => ColumnType::String,
        FieldType::Json => ColumnType::Json,
    }
}

/// Appends a value unless it is null.
fn write_value(index: u16, kind: FieldType, value: &Value, bytes: &mut Vec<u8>) {
    if value.is_null() {
        return;
    }
    bytes.extend_from_slice(&index.to_le_bytes());
    match kind {
        FieldType::Integer => bytes.extend(value.as_i64().unwrap_or_default().to_le_bytes()),
        FieldType::Real => bytes.extend(value.as_f64().unwrap_or_default().to_le_bytes()),
        FieldType::Bool => bytes.push(u8::from(value.as_bool().unwrap_or_default())),
        FieldType::Text | FieldType::Json => {
            let text = match kind {
                FieldType::Json => value.to_string(),
                _ => value::text(value).unwrap_or_default(),
            };
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

fn type_of(name: &str) -> GeometryType {
    match name {
        "Point" => GeometryType::Point,
        "MultiPoint" => GeometryType::MultiPoint,
        "LineString" => GeometryType::LineString,
        "MultiLineString" => GeometryType::MultiLineString,
        "Polygon" => GeometryType::Polygon,
        "MultiPolygon" => GeometryType::MultiPolygon,
        _ => GeometryType::GeometryCollection,
    }
}

fn shape<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    geometry: &Geometry,
    outer_type: GeometryType,
    has_heights: bool,
) -> WIPOffset<Shape<'b>> {
    let own = type_of(geometry.type_name());
    // A type is only written where that of the layer does not say it.
    let type_ = if own == outer_type { GeometryType::Unknown } else { own };
    let parts: Vec<_> = match geometry {
        Geometry::MultiPolygon(polygons) => polygons
            .iter()
            .map(|rings| lines(builder, rings, GeometryType::Polygon, has_heights))
            .collect(),
        Geometry::Collection(parts) => parts
            .iter()
            .map(|part| shape(builder, part, GeometryType::Unknown, has_heights))
            .collect(),
        Geometry::Point(position) => {
            let line = std::slice::from_ref(position);
            return positions(builder, line, None, type_, has_heights);
        }
        Geometry::MultiPoint(line) | Geometry::LineString(line) => {
            return positions(builder, line, None, type_, has_heights);
        }
        Geometry::Polygon(rings) | Geometry::MultiLineString(rings) => {
            return lines(builder, rings, type_, has_heights);
        }
    };
    let parts = Some(builder.create_vector(&parts));
    Shape::create(builder, &GeometryArgs { parts, type_, ..GeometryArgs::default() })
}

fn lines<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    lines: &[Line],
    type_: GeometryType,
    has_heights: bool,
) -> WIPOffset<Shape<'b>> {
    let mut end = 0;
    let ends: Vec<u32> = lines
        .iter()
        .map(|line| {
            end += line.len() as u32;
            end
        })
        .collect();
    positions(builder, &lines.concat(), (lines.len() > 1).then_some(&ends), type_, has_heights)
}

/// `has_heights` is that of the layer: GDAL expects as many heights as positions if the header says that there are any.
fn positions<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    positions: &[Position],
    ends: Option<&Vec<u32>>,
    type_: GeometryType,
    has_heights: bool,
) -> WIPOffset<Shape<'b>> {
    let xy: Vec<f64> = positions.iter().flat_map(|at| [at.x, at.y]).collect();
    let xy = Some(builder.create_vector(&xy));
    let z = has_heights.then(|| {
        let heights: Vec<f64> = positions.iter().map(|at| at.z.unwrap_or(f64::NAN)).collect();
        builder.create_vector(&heights)
    });
    let ends = ends.map(|ends| builder.create_vector(ends));
    Shape::create(builder, &GeometryArgs { ends, xy, z, type_, ..GeometryArgs::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_geometries_of_a_layer_with_heights_have_them() {
        let ring: Line = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)]
            .map(|(x, y)| Position { x, y, z: None })
            .to_vec();
        let polygon = Geometry::MultiPolygon(vec![vec![ring.clone()]]);
        let geometry = Geometry::Collection(vec![polygon, Geometry::Point(ring[0])]);
        for (has_heights, expected) in [(true, Some(4)), (false, None)] {
            let mut builder = FlatBufferBuilder::new();
            let written = shape(&mut builder, &geometry, GeometryType::Unknown, has_heights);
            builder.finish(written, None);
            let collection = flatbuffers::root::<Shape<'_>>(builder.finished_data()).unwrap();
            let multi_polygon = collection.parts().unwrap().get(0);
            let polygon = multi_polygon.parts().unwrap().get(0);
            assert_eq!(polygon.z().map(|z| z.len()), expected);
            assert!(polygon.z().is_none_or(|z| z.iter().all(f64::is_nan)));
            let point = collection.parts().unwrap().get(1);
            assert_eq!(point.z().map(|z| z.len()), expected.map(|_| 1));
        }
    }
}
