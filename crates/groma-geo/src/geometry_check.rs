//! Finds what looks wrong in a geometry that is accepted nevertheless: polygons that cross themselves, rings
//! without area, holes outside their polygon, repeated positions and, if asked, spikes.
//!
//! The check works on the coordinates as they were sent, with exact arithmetic.

mod segments;
mod spikes;
#[cfg(test)]
mod tests;

pub(crate) use spikes::{SpikeLimit, without_repeated_positions};

use crate::{Geometry, Line, Message, Position, ProblemKind, Rings, message};
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
    #[schema(value_type = String)]
    pub message: Message,
}

/// Finds what looks wrong in a geometry: at most one notice of each kind per line or polygon. Pointers are
/// relative to the geometry.
#[must_use]
pub fn check_geometry(geometry: &Geometry) -> Vec<Notice> {
    find_flaws(geometry, None).into_iter().map(|flaw| flaw.notice).collect()
}

/// A problem of one geometry.
pub(crate) struct Flaw {
    pub(crate) kind: ProblemKind,
    /// Where it is, in the coordinates of the geometry.
    pub(crate) position: Position,
    notice: Notice,
}

/// Like [`check_geometry`], with the kind and the position of each problem. With a limit for spikes, they are
/// reported too, and not as self-intersections; the pointers of other problems of their polygon are then
/// approximate.
pub(crate) fn find_flaws(geometry: &Geometry, spike_limit: Option<SpikeLimit>) -> Vec<Flaw> {
    // Most surveyed polygons are convex.
    if let Geometry::Polygon(rings) = geometry
        && let [ring] = rings.as_slice()
        && segments::is_convex(ring)
    {
        return Vec::new();
    }
    let mut check = Check { flaws: Vec::new(), pointer: String::new(), spike_limit };
    check.geometry(geometry);
    check.flaws
}

struct Check {
    flaws: Vec<Flaw>,
    /// The current location.
    pointer: String,
    spike_limit: Option<SpikeLimit>,
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
            self.report(ProblemKind::NoExtent, *first, message!("has no length"));
        }
    }

    fn polygon(&mut self, rings: &Rings) {
        let mut has_area = Vec::with_capacity(rings.len());
        self.each(rings, |check, ring| {
            check.repeated_positions(ring);
            let ring_has_area = segments::has_area(ring);
            if let (false, Some(first)) = (ring_has_area, ring.first()) {
                check.report(ProblemKind::NoExtent, *first, message!("has no area"));
            }
            has_area.push(ring_has_area);
        });
        let without_spikes = self.spikes(rings);
        let rings = without_spikes.as_ref().unwrap_or(rings);
        let with_area = rings.iter().enumerate().filter(|(index, _)| has_area[*index]);
        let segments = Segments::of_rings(with_area);
        if let Some(found) = segments.find_intersection() {
            let message = message!("crosses or touches itself here");
            self.at(found.ring, |check| {
                check.at(found.index, |check| {
                    check.report(ProblemKind::SelfIntersection, found.position, message);
                });
            });
        } else if has_area.first() == Some(&true) {
            let mut left = segments.max_comparisons();
            for (index, hole) in rings.iter().enumerate().skip(1) {
                let mut positions = hole.iter().filter(|_| has_area[index]);
                if let Some(position) = positions.find(|at| segments.is_outside(at, &mut left)) {
                    let message = message!("is a hole outside its polygon");
                    self.at(index, |check| {
                        check.report(ProblemKind::HoleOutside, *position, message);
                    });
                }
            }
        }
    }

    /// Reports spikes. Returns the rings without them if there are any.
    fn spikes(&mut self, rings: &Rings) -> Option<Rings> {
        let limit = self.spike_limit?;
        let mut cleaned = None;
        for (index, ring) in rings.iter().enumerate() {
            let Some(found) = limit.remove_spikes(ring) else { continue };
            self.at(index, |check| {
                check.report(ProblemKind::Spike, found.first_tip, message!("has a spike"));
            });
            cleaned.get_or_insert_with(|| rings.clone())[index] = found.ring;
        }
        cleaned
    }

    fn repeated_positions(&mut self, line: &Line) {
        let mut pairs = line.windows(2).enumerate();
        let is_repeated = |(_, pair): &(usize, &[Position])| pair[0] == pair[1];
        let Some((index, _)) = pairs.find(is_repeated) else { return };
        let message = match pairs.filter(is_repeated).count() {
            0 => message!("repeats the previous position"),
            more => message!(
                "repeats the previous position ({count} repeated positions in this line)",
                count = more + 1
            ),
        };
        let position = line[index];
        self.at(index + 1, |check| check.report(ProblemKind::RepeatedPosition, position, message));
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

    fn report(&mut self, kind: ProblemKind, position: Position, message: Message) {
        let notice = Notice { pointer: self.pointer.clone(), message };
        self.flaws.push(Flaw { kind, position, notice });
    }
}
