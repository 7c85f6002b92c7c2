//! Writes geometries as GeoJSON.

use crate::{Geometry, Line, Position};

/// Appends the geometry as a GeoJSON object. Each coordinate has the fewest digits that read back as
/// the same number.
pub fn write_geometry(geometry: &Geometry, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(geometry.type_name().as_bytes());
    let member: &[u8] = match geometry {
        Geometry::Collection(_) => b"\",\"geometries\":",
        _ => b"\",\"coordinates\":",
    };
    out.extend_from_slice(member);
    match geometry {
        Geometry::Point(position) => write_position(position, out),
        Geometry::MultiPoint(positions) | Geometry::LineString(positions) => {
            write_line(positions, out);
        }
        Geometry::MultiLineString(lines) | Geometry::Polygon(lines) => {
            write_array(lines, out, write_line);
        }
        Geometry::MultiPolygon(polygons) => {
            write_array(polygons, out, |rings, out| write_array(rings, out, write_line));
        }
        Geometry::Collection(parts) => write_array(parts, out, write_geometry),
    }
    out.push(b'}');
}

fn write_array<T>(items: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn write_line(line: &Line, out: &mut Vec<u8>) {
    write_array(line, out, write_position);
}

fn write_position(position: &Position, out: &mut Vec<u8>) {
    let ordinates = [position.x, position.y, position.z.unwrap_or_default()];
    let count = if position.z.is_some() { 3 } else { 2 };
    write_array(&ordinates[..count], out, |ordinate, out| {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format(*ordinate);
        out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
    });
}
