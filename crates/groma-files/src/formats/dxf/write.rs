//! Writes DXF in the version of AutoCAD R12, which every program reads. Heights are kept; properties are not, except
//! `layer`, which names the layer of an entity.

use super::groups::escape;
use crate::{
    error::Result,
    output::{OutputLayer, Spool},
};
use groma_geo::{Geometry, Line, Position};
use serde_json::Value;
use std::io::{BufWriter, Write};

/// Writes a layer as DXF.
pub(in crate::formats) fn write(
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    let mut out = BufWriter::new(out);
    out.write_all(
        b"0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1009\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n",
    )?;
    let mut empty = 0_u64;
    features.each(layer.schema.count, |_, geometry, properties| {
        let name = match properties.get("layer") {
            Some(Value::String(name)) if !name.trim().is_empty() => name,
            _ => &layer.name,
        };
        match geometry {
            Some(geometry) => write_geometry(&geometry, &layer_name(name), &mut out)?,
            None => empty += 1,
        }
        Ok(())
    })?;
    out.write_all(b"0\nENDSEC\n0\nEOF\n")?;
    out.flush()?;
    let mut notices = Vec::new();
    if !layer.schema.columns.is_empty() {
        notices.push("DXF has no place for properties; only geometries were written".to_owned());
    }
    if empty > 0 {
        notices.push(format!("{empty} features without geometry were left out"));
    }
    Ok(notices)
}

/// A name without the characters that DXF forbids.
fn layer_name(name: &str) -> String {
    escape(&name.replace(['<', '>', '/', '"', ':', ';', '?', '*', '|', ',', '=', '`'], "_"))
}

fn write_geometry(geometry: &Geometry, layer: &str, out: &mut impl Write) -> Result<()> {
    match geometry {
        Geometry::Point(at) => write_point(*at, layer, out),
        Geometry::MultiPoint(points) => {
            points.iter().try_for_each(|at| write_point(*at, layer, out))
        }
        Geometry::LineString(line) => write_line(line, false, layer, out),
        Geometry::MultiLineString(lines) => {
            lines.iter().try_for_each(|line| write_line(line, false, layer, out))
        }
        Geometry::Polygon(rings) => {
            rings.iter().try_for_each(|ring| write_line(ring, true, layer, out))
        }
        Geometry::MultiPolygon(polygons) => {
            polygons.iter().flatten().try_for_each(|ring| write_line(ring, true, layer, out))
        }
        Geometry::Collection(parts) => {
            parts.iter().try_for_each(|part| write_geometry(part, layer, out))
        }
    }
}

fn write_point(at: Position, layer: &str, out: &mut impl Write) -> Result<()> {
    write!(out, "0\nPOINT\n8\n{layer}\n")?;
    write_position(at, out)
}

fn write_line(line: &Line, is_closed: bool, layer: &str, out: &mut impl Write) -> Result<()> {
    let has_heights = line.iter().any(|at| at.z.is_some());
    let flags = i32::from(is_closed) | if has_heights { 8 } else { 0 };
    write!(out, "0\nPOLYLINE\n8\n{layer}\n66\n1\n70\n{flags}\n10\n0\n20\n0\n30\n0\n")?;
    // The flag closes the ring.
    let end = if is_closed { line.len().saturating_sub(1) } else { line.len() };
    for at in &line[..end] {
        write!(out, "0\nVERTEX\n8\n{layer}\n70\n{}\n", if has_heights { 32 } else { 0 })?;
        write_position(*at, out)?;
    }
    Ok(write!(out, "0\nSEQEND\n8\n{layer}\n")?)
}

fn write_position(at: Position, out: &mut impl Write) -> Result<()> {
    Ok(write!(out, "10\n{}\n20\n{}\n30\n{}\n", at.x, at.y, at.z.unwrap_or_default())?)
}
