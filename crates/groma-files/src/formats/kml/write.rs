//! Writes KML 2.2.

use crate::{
    FormatLimit,
    error::Result,
    formats::xml::escape,
    output::{OutputLayer, Spool},
    schema::{ColumnType, Schema},
    source::ID_COLUMN,
    value,
};
use groma_geo::{Geometry, Line, Position};
use serde_json::{Map, Value};
use std::{
    fmt::Write as _,
    io::{BufWriter, Write},
};

/// Writes a layer as KML.
pub(in crate::formats) fn write(
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    if !layer.crs.is_wgs84() {
        return Err(FormatLimit::KmlCrs.into());
    }
    let mut out = BufWriter::new(out);
    let name = escape(&layer.name);
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<kml xmlns=\"http://www.opengis.net/kml/2.2\">\n\
         <Document id=\"root\">\n<name>{name}</name>\n{}",
        schema(&layer.schema)
    )?;
    features.each(layer.schema.count, |id, geometry, properties| {
        let text = placemark(&layer.schema, id, geometry.as_ref(), &properties);
        Ok(out.write_all(text.as_bytes())?)
    })?;
    out.write_all(b"</Document>\n</kml>\n")?;
    out.flush()?;
    Ok(Vec::new())
}

fn schema(schema: &Schema) -> String {
    let mut text = format!(
        "<Schema name=\"layer\" id=\"layer\">\n<SimpleField name=\"{ID_COLUMN}\" type=\"string\"/>\n"
    );
    for column in &schema.columns {
        let kind = match column.kind() {
            // An int has 32 bits. The width includes two more letters.
            ColumnType::Integer if column.width <= 11 => "int",
            ColumnType::Integer => "string",
            ColumnType::Real => "double",
            ColumnType::Bool => "bool",
            ColumnType::Text | ColumnType::Json => "string",
        };
        // Writing to a String cannot fail.
        _ = writeln!(text, "<SimpleField name=\"{}\" type=\"{kind}\"/>", escape(&column.property));
    }
    text + "</Schema>\n"
}

fn placemark(
    schema: &Schema,
    id: &str,
    geometry: Option<&Geometry>,
    properties: &Map<String, Value>,
) -> String {
    let mut text = "<Placemark>\n".to_owned();
    if let Some(Value::String(name)) = properties.get("name") {
        _ = writeln!(text, "<name>{}</name>", escape(name));
    }
    text.push_str("<ExtendedData><SchemaData schemaUrl=\"#layer\">\n");
    let mut data = |name: &str, value: &str| {
        _ = writeln!(text, "<SimpleData name=\"{}\">{}</SimpleData>", escape(name), escape(value));
    };
    data(ID_COLUMN, id);
    for column in schema.columns.iter().filter(|column| column.property != ID_COLUMN) {
        let content = match (column.kind(), properties.get(&column.property)) {
            // GDAL reads `true` as 0.
            (ColumnType::Bool, Some(Value::Bool(is_true))) => Some(u8::from(*is_true).to_string()),
            (_, property) => property.and_then(value::text),
        };
        if let Some(content) = content {
            data(&column.property, &content);
        }
    }
    text.push_str("</SchemaData></ExtendedData>\n");
    if let Some(geometry) = geometry {
        write_geometry(geometry, &mut text);
    }
    text + "</Placemark>\n"
}

fn write_geometry(geometry: &Geometry, text: &mut String) {
    match geometry {
        Geometry::Point(position) => {
            write_element("Point", std::slice::from_ref(position), text);
        }
        Geometry::LineString(line) => write_element("LineString", line, text),
        Geometry::Polygon(rings) => write_polygon(rings, text),
        Geometry::MultiPoint(points) => write_multi(points, text, |point, text| {
            write_element("Point", std::slice::from_ref(point), text);
        }),
        Geometry::MultiLineString(lines) => {
            write_multi(lines, text, |line, text| write_element("LineString", line, text));
        }
        Geometry::MultiPolygon(polygons) => {
            write_multi(polygons, text, |rings, text| write_polygon(rings, text));
        }
        Geometry::Collection(parts) => write_multi(parts, text, write_geometry),
    }
}

fn write_multi<T>(parts: &[T], text: &mut String, write: impl Fn(&T, &mut String)) {
    text.push_str("<MultiGeometry>\n");
    parts.iter().for_each(|part| write(part, text));
    text.push_str("</MultiGeometry>\n");
}

fn write_polygon(rings: &[Line], text: &mut String) {
    text.push_str("<Polygon>");
    write_altitude_mode(&rings.concat(), text);
    text.push('\n');
    for (index, ring) in rings.iter().enumerate() {
        let name = if index == 0 { "outerBoundaryIs" } else { "innerBoundaryIs" };
        _ = write!(text, "<{name}><LinearRing>");
        write_coordinates(ring, text);
        _ = writeln!(text, "</LinearRing></{name}>");
    }
    text.push_str("</Polygon>\n");
}

fn write_element(name: &str, line: &[Position], text: &mut String) {
    _ = write!(text, "<{name}>");
    write_altitude_mode(line, text);
    write_coordinates(line, text);
    _ = writeln!(text, "</{name}>");
}

/// Without it, viewers ignore heights.
fn write_altitude_mode(line: &[Position], text: &mut String) {
    if line.iter().any(|at| at.z.is_some()) {
        text.push_str("<altitudeMode>absolute</altitudeMode>");
    }
}

fn write_coordinates(line: &[Position], text: &mut String) {
    text.push_str("<coordinates>");
    for (index, at) in line.iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        _ = write!(text, "{space}{},{}", at.x, at.y);
        if let Some(z) = at.z {
            _ = write!(text, ",{z}");
        }
    }
    text.push_str("</coordinates>");
}
