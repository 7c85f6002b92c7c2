//! Repairs geometries where only one meaning is possible: longitudes beyond ±180 are wrapped, shapes
//! across the antimeridian are split, and the winding order of rings is corrected.
//!
//! Nothing is guessed. A line from 179 to −179 goes around the world, as RFC 7946 defines it, and a
//! polygon that crosses itself keeps its shape.

mod antimeridian;

use crate::{Geometry, Line, Position, Rings};

/// Longitudes up to this value, east and west, are wrapped.
pub(crate) const MAX_LONGITUDE: f64 = 540.0;

/// Returns the geometry within ±180 degrees, split where it crosses the antimeridian, with outer
/// rings counter-clockwise and holes clockwise. Longitudes must be within ±[`MAX_LONGITUDE`].
pub(crate) fn repair_geometry(geometry: Geometry) -> Geometry {
    match geometry {
        Geometry::Point(mut position) => {
            wrap(&mut position);
            Geometry::Point(position)
        }
        Geometry::MultiPoint(mut positions) => {
            positions.iter_mut().for_each(wrap);
            Geometry::MultiPoint(positions)
        }
        Geometry::LineString(line) => {
            let lines = antimeridian::split_lines(vec![line]);
            single_or_multi(lines, Geometry::LineString, Geometry::MultiLineString)
        }
        Geometry::MultiLineString(lines) => {
            Geometry::MultiLineString(antimeridian::split_lines(lines))
        }
        Geometry::Polygon(rings) => {
            let polygons = repair_polygons(vec![rings]);
            single_or_multi(polygons, Geometry::Polygon, Geometry::MultiPolygon)
        }
        Geometry::MultiPolygon(polygons) => Geometry::MultiPolygon(repair_polygons(polygons)),
        Geometry::Collection(parts) => {
            Geometry::Collection(parts.into_iter().map(repair_geometry).collect())
        }
    }
}

fn single_or_multi<T>(
    mut parts: Vec<T>,
    single: fn(T) -> Geometry,
    multi: fn(Vec<T>) -> Geometry,
) -> Geometry {
    match parts.pop() {
        Some(part) if parts.is_empty() => single(part),
        last => {
            parts.extend(last);
            multi(parts)
        }
    }
}

fn wrap(position: &mut Position) {
    position.x = wrap_longitude(position.x);
}

/// A longitude within ±180 degrees, if it was within ±[`MAX_LONGITUDE`].
pub(crate) fn wrap_longitude(longitude: f64) -> f64 {
    if longitude > 180.0 {
        longitude - 360.0
    } else if longitude < -180.0 {
        longitude + 360.0
    } else {
        longitude
    }
}

fn repair_polygons(polygons: Vec<Rings>) -> Vec<Rings> {
    let mut polygons = antimeridian::split_polygons(polygons);
    polygons.iter_mut().for_each(fix_winding);
    polygons
}

/// Turns the outer ring counter-clockwise and the holes clockwise. Leaves rings without area as they
/// are.
fn fix_winding(rings: &mut Rings) {
    for (index, ring) in rings.iter_mut().enumerate() {
        let area = doubled_area(ring);
        if (index == 0 && area < 0.0) || (index > 0 && area > 0.0) {
            ring.reverse();
        }
    }
}

/// Twice the area of a ring, positive if it runs counter-clockwise. Computed relative to its first
/// position, because the area of a small ring far from 0° would be lost in rounding.
fn doubled_area(ring: &Line) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    ring.windows(2)
        .map(|edge| {
            let (a, b) = (edge[0], edge[1]);
            (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y)
        })
        .sum()
}

#[cfg(test)]
mod tests;
