//! A geometry taken apart into points, lines and rings on the grid.

use super::simplify;
use crate::{
    Geometry, Position, Rings,
    grid::{GridBox, morton, project},
};

/// A place on the grid.
pub(crate) type Place = (u32, u32);

/// What a geometry draws, by kind. Each kind becomes a feature of its own in a tile.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// In Morton order, so that those which fall together in a tile follow each other.
    pub points: Vec<Place>,
    pub lines: Vec<Vec<Place>>,
    pub rings: Vec<Ring>,
}

/// A ring, without its first place repeated at the end.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Whether it is a hole in the last ring before it that is none.
    pub hole: bool,
    pub places: Vec<Place>,
}

impl Parts {
    pub(super) fn of(geometry: &Geometry) -> Self {
        let mut parts = Self::default();
        parts.add(geometry);
        parts.points.sort_unstable_by_key(|place| morton(place.0, place.1));
        parts.points.dedup();
        parts
    }

    fn add(&mut self, geometry: &Geometry) {
        match geometry {
            Geometry::Point(position) => self.points.push(place(position)),
            Geometry::MultiPoint(positions) => self.points.extend(positions.iter().map(place)),
            Geometry::LineString(line) => self.add_line(line),
            Geometry::MultiLineString(lines) => lines.iter().for_each(|line| self.add_line(line)),
            Geometry::Polygon(rings) => self.add_polygon(rings),
            Geometry::MultiPolygon(polygons) => {
                polygons.iter().for_each(|rings| self.add_polygon(rings));
            }
            Geometry::Collection(members) => members.iter().for_each(|member| self.add(member)),
        }
    }

    fn add_line(&mut self, line: &[Position]) {
        if !line.is_empty() {
            self.lines.push(places(line));
        }
    }

    /// An outer ring stays whatever has become of it on the grid, so that something is drawn; a
    /// hole that has closed does not.
    fn add_polygon(&mut self, rings: &Rings) {
        for (index, line) in rings.iter().enumerate() {
            let hole = index > 0;
            let mut places = places(line);
            if places.len() > 1 && places.first() == places.last() {
                places.pop();
            }
            let area = doubled_area(&places);
            match (hole, places.is_empty()) {
                (false, true) => return,
                (true, _) if area == 0 => continue,
                _ => {}
            }
            if area != 0 && (area < 0) != hole {
                places.reverse();
            }
            self.rings.push(Ring { hole, places });
        }
    }

    /// All its places.
    fn places(&self) -> impl Iterator<Item = Place> {
        let lines = self.lines.iter().flatten();
        let rings = self.rings.iter().flat_map(|ring| &ring.places);
        self.points.iter().chain(lines).chain(rings).copied()
    }

    /// The box around it; `None` when it is empty.
    pub(super) fn bounds(&self) -> Option<GridBox> {
        let mut places = self.places();
        let (x, y) = places.next()?;
        let corners = places.fold((x, y, x, y), |(west, north, east, south), (x, y)| {
            (west.min(x), north.min(y), east.max(x), south.max(y))
        });
        Some(GridBox {
            min_x: corners.0.into(),
            min_y: corners.1.into(),
            max_x: corners.2.into(),
            max_y: corners.3.into(),
        })
    }

    pub(super) fn vertices(&self) -> usize {
        self.points.len()
            + self.lines.iter().map(Vec::len).sum::<usize>()
            + self.rings.iter().map(|ring| ring.places.len()).sum::<usize>()
    }

    /// What a tile whose unit is 2^`scale` steps can still show of it, in such units. A kind that
    /// was there stays, with the largest of its shapes.
    pub(super) fn simplified(&self, scale: u32) -> Self {
        Self {
            points: simplify::points(&self.points, scale),
            lines: simplify::lines(&self.lines, scale),
            rings: simplify::rings(&self.rings, scale),
        }
    }
}

fn place(position: &Position) -> Place {
    project(position.x, position.y)
}

/// The line on the grid, each place once in a row.
fn places(line: &[Position]) -> Vec<Place> {
    let mut places: Vec<Place> = line.iter().map(place).collect();
    places.dedup();
    places
}

/// Twice the area of a ring by the surveyor's formula: positive when it runs clockwise on a screen.
pub(super) fn doubled_area(ring: &[Place]) -> i128 {
    let Some(&last) = ring.last() else { return 0 };
    let mut area = 0;
    let mut from = last;
    for &to in ring {
        let cross = |a: u32, b: u32| i128::from(u64::from(a) * u64::from(b));
        area += cross(from.0, to.1) - cross(to.0, from.1);
        from = to;
    }
    area
}
