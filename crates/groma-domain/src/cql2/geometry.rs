//! The geometries of filters: what is accepted, and GeoJSON.

use groma_geo::{Geometry, Line, Position, Rings, Shape};
use serde_json::{Map, Value};

type Result<T> = std::result::Result<T, String>;

/// How deep geometry collections can be nested.
pub(super) const MAX_COLLECTIONS: usize = 8;
/// Larger coordinates make no sense in any reference system.
const MAX_COORDINATE: f64 = 1e9;

/// Checks a geometry whose positions have the easting first.
pub(super) fn check(geometry: &Geometry, is_in_degrees: bool) -> Result<()> {
    let mut is_inside = true;
    geometry.each_position(&mut |Position { x, y, .. }| is_inside &= is_valid(x, y, is_in_degrees));
    if !is_inside {
        return Err(outside(is_in_degrees));
    }
    check_parts(geometry)?;
    Shape::from(geometry).check().map_err(|reason| format!("the geometry is invalid: {reason}"))
}

fn is_valid(x: f64, y: f64, is_in_degrees: bool) -> bool {
    let (max_x, max_y) =
        if is_in_degrees { (180.0, 90.0) } else { (MAX_COORDINATE, MAX_COORDINATE) };
    x.abs() <= max_x && y.abs() <= max_y
}

fn outside(is_in_degrees: bool) -> String {
    match is_in_degrees {
        true => {
            "a coordinate is not in degrees, in the axis order of the reference system".to_owned()
        }
        false => "a coordinate is too large".to_owned(),
    }
}

fn check_parts(geometry: &Geometry) -> Result<()> {
    let line = |line: &Line| match line.len() {
        0 | 1 => Err("a line has at least two positions".to_owned()),
        _ => Ok(()),
    };
    let ring = |ring: &Line| match ring.first() == ring.last() && ring.len() >= 4 {
        true => Ok(()),
        false => Err("a ring has at least four positions, and ends where it begins".to_owned()),
    };
    let polygon = |rings: &Rings| match rings.is_empty() {
        true => Err("a polygon has at least one ring".to_owned()),
        false => rings.iter().try_for_each(ring),
    };
    let is_empty = match geometry {
        Geometry::Point(_) => return Ok(()),
        Geometry::LineString(one) => return line(one),
        Geometry::Polygon(rings) => return polygon(rings),
        Geometry::MultiPoint(positions) => positions.is_empty(),
        Geometry::MultiLineString(lines) => {
            lines.iter().try_for_each(line)?;
            lines.is_empty()
        }
        Geometry::MultiPolygon(polygons) => {
            polygons.iter().try_for_each(polygon)?;
            polygons.is_empty()
        }
        Geometry::Collection(parts) => {
            parts.iter().try_for_each(check_parts)?;
            parts.is_empty()
        }
    };
    if is_empty { Err("the geometry is empty".to_owned()) } else { Ok(()) }
}

/// The polygon of a box with the easting first. In degrees, west can be greater than east.
pub(super) fn of_box(
    [west, south, east, north]: [f64; 4],
    is_in_degrees: bool,
) -> Result<Geometry> {
    let is_inside =
        [(west, south), (east, north)].iter().all(|(x, y)| is_valid(*x, *y, is_in_degrees));
    if !is_inside {
        return Err(outside(is_in_degrees));
    }
    if south > north || (west > east && !is_in_degrees) {
        return Err("a box has the lower corner first".to_owned());
    }
    if west > east {
        let parts =
            [rectangle([west, south, 180.0, north]), rectangle([-180.0, south, east, north])];
        return Ok(Geometry::Collection(parts.to_vec()));
    }
    Ok(rectangle([west, south, east, north]))
}

/// A rectangle; a line or a point if it has no area.
fn rectangle([west, south, east, north]: [f64; 4]) -> Geometry {
    let at = |x: f64, y: f64| Position { x, y, z: None };
    match (west == east, south == north) {
        (true, true) => Geometry::Point(at(west, south)),
        (false, false) => Geometry::Polygon(vec![vec![
            at(west, south),
            at(east, south),
            at(east, north),
            at(west, north),
            at(west, south),
        ]]),
        _ => Geometry::LineString(vec![at(west, south), at(east, north)]),
    }
}

/// Parses a geometry in GeoJSON.
pub(super) fn from_geojson(object: &Map<String, Value>, depth: usize) -> Result<Geometry> {
    if depth > MAX_COLLECTIONS {
        return Err("the geometry collections are nested too deeply".to_owned());
    }
    let list = |member: &str| {
        let list = object.get(member).and_then(Value::as_array);
        list.ok_or_else(|| format!("`{member}` must be a list"))
    };
    Ok(match object.get("type").and_then(Value::as_str).unwrap_or_default() {
        "Point" => Geometry::Point(position(object.get("coordinates").unwrap_or(&Value::Null))?),
        "MultiPoint" => Geometry::MultiPoint(each(list("coordinates")?, position)?),
        "LineString" => Geometry::LineString(each(list("coordinates")?, position)?),
        "MultiLineString" => Geometry::MultiLineString(each(list("coordinates")?, line)?),
        "Polygon" => Geometry::Polygon(each(list("coordinates")?, line)?),
        "MultiPolygon" => Geometry::MultiPolygon(each(list("coordinates")?, polygon)?),
        "GeometryCollection" => Geometry::Collection(each(list("geometries")?, |part| {
            let part = part.as_object().ok_or("a geometry must be an object")?;
            from_geojson(part, depth + 1)
        })?),
        _ => return Err("`type` must be the type of a geometry".to_owned()),
    })
}

fn each<T>(list: &[Value], parse: impl Fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    list.iter().map(parse).collect()
}

fn as_list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().ok_or_else(|| "coordinates must be a list".to_owned())
}

fn position(value: &Value) -> Result<Position> {
    let numbers = each(as_list(value)?, |number| {
        let number = number.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| "a coordinate must be a number".to_owned())
    })?;
    from_numbers(&numbers)
}

pub(super) fn from_numbers(numbers: &[f64]) -> Result<Position> {
    match *numbers {
        [x, y] => Ok(Position { x, y, z: None }),
        [x, y, z] => Ok(Position { x, y, z: Some(z) }),
        _ => Err("a position has two or three numbers".to_owned()),
    }
}

fn line(value: &Value) -> Result<Line> {
    each(as_list(value)?, position)
}

fn polygon(value: &Value) -> Result<Rings> {
    each(as_list(value)?, line)
}
