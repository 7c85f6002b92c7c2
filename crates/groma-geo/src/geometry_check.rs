//! Finds what looks wrong in a geometry that is accepted nevertheless: polygons that cross themselves, rings
//! without area, holes outside their polygon, and repeated positions.
//!
//! The check works on the coordinates as they were sent, with exact arithmetic.

mod segments;
#[cfg(test)]
mod tests;

use crate::{Geometry, Line, Position, Rings};
use segments::Segments;
use serde::Serialize;
use std::fmt::Write;
use utoipa::ToSchema;

/// Something that looks wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Notice {
    /// Location as a JSON pointer.
    #[schema(example = "/features/3/geometry/coordinates/0/2")]
    pub pointer: String,
    /// What looks wrong.
    pub message: String,
}

/// Finds what looks wrong in a geometry: at most one notice of each kind per line or polygon. Pointers are
/// relative to the geometry.
#[must_use]
pub fn check_geometry(geometry: &Geometry) -> Vec<Notice> {
    // Most surveyed polygons are convex.
    if let Geometry::Polygon(rings) = geometry
        && let [ring] = rings.as_slice()
        && segments::is_convex(ring)
    {
        return Vec::new();
    }
    let mut check = Check::default();
    check.geometry(geometry);
    check.notices
}

#[derive(Default)]
struct Check {
    notices: Vec<Notice>,
    /// The current location.
    pointer: String,
}

impl Check {
    fn geometry(&mut self, geometry: &Geometry) {
        match geometry {
            Geometry::Point(_) | Geometry::MultiPoint(_) => {}
            Geometry::LineString(line) => self.at("coordinates", |check| check.line(line)),
            Geometry::MultiLineString(lines) => {
                self.at("coordinates", |check| check.each(lines, Self::line));
            }
            Geometry::Polygon(rings) => self.at("coordinates", |check| check.polygon(rings)),
            Geometry::MultiPolygon(polygons) => {
                self.at("coordinates", |check| check.each(polygons, Self::polygon));
            }
            Geometry::Collection(parts) => {
                self.at("geometries", |check| check.each(parts, Self::geometry));
            }
        }
    }

    fn line(&mut self, line: &Line) {
        self.repeated_positions(line);
        if let Some((first, rest)) = line.split_first()
            && rest.iter().all(|position| position == first)
        {
            self.report("has no length");
        }
    }

    fn polygon(&mut self, rings: &Rings) {
        let mut has_area = Vec::with_capacity(rings.len());
        self.each(rings, |check, ring| {
            check.repeated_positions(ring);
            has_area.push(segments::has_area(ring));
            if has_area.last() == Some(&false) {
                check.report("has no area");
            }
        });
        let with_area = rings.iter().enumerate().filter(|(index, _)| has_area[*index]);
        let segments = Segments::of_rings(with_area);
        if let Some((ring, index)) = segments.find_intersection() {
            self.at(ring, |check| {
                check.at(index, |check| check.report("crosses or touches itself here"));
            });
        } else if has_area.first() == Some(&true) {
            let is_outside = |position: &Position| segments.is_outside(position);
            for (index, hole) in rings.iter().enumerate().skip(1) {
                if has_area[index] && hole.iter().any(is_outside) {
                    self.at(index, |check| check.report("is a hole outside its polygon"));
                }
            }
        }
    }

    fn repeated_positions(&mut self, line: &Line) {
        let mut pairs = line.windows(2).enumerate();
        let is_repeated = |(_, pair): &(usize, &[Position])| pair[0] == pair[1];
        let Some((index, _)) = pairs.find(is_repeated) else { return };
        let message = match pairs.filter(is_repeated).count() {
            0 => "repeats the previous position".to_owned(),
            more => {
                let count = more + 1;
                format!("repeats the previous position ({count} repeated positions in this line)")
            }
        };
        self.at(index + 1, |check| check.report(&message));
    }

    fn each<T>(&mut self, items: &[T], mut check_item: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            self.at(index, |check| check_item(check, item));
        }
    }

    fn at(&mut self, step: impl std::fmt::Display, check: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        // Writing to a string cannot fail.
        _ = write!(self.pointer, "/{step}");
        check(self);
        self.pointer.truncate(length);
    }

    fn report(&mut self, message: &str) {
        let pointer = self.pointer.clone();
        self.notices.push(Notice { pointer, message: message.to_owned() });
    }
}
