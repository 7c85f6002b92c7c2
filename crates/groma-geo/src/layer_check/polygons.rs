//! The polygons of a layer in a compact form.

use super::grid::{Coarse, Grid, Point, coarse};
use crate::{
    Geometry, Rings,
    edge_tree::{cross, ring_edges},
    varint,
};

/// The polygons of a layer: each vertex as the difference to the previous one.
#[derive(Default)]
pub(super) struct Polygons {
    bytes: Vec<u8>,
    stored: Vec<StoredPolygon>,
}

struct StoredPolygon {
    start: usize,
    feature: u32,
    vertices: u32,
    min: Coarse,
    max: Coarse,
}

/// A polygon on the grid. The outer ring runs counter-clockwise, holes clockwise; none repeats its first point.
pub(super) struct Polygon {
    /// The index of its feature.
    pub(super) feature: u32,
    pub(super) rings: Vec<Vec<Point>>,
    pub(super) min: Point,
    pub(super) max: Point,
}

impl Polygon {
    /// The edges of all its rings.
    pub(super) fn edges(&self) -> impl Iterator<Item = (&Point, &Point)> {
        self.rings.iter().flat_map(|ring| ring_edges(ring))
    }

    pub(super) fn vertices(&self) -> usize {
        self.rings.iter().map(Vec::len).sum()
    }
}

impl Polygons {
    /// Adds the polygons of a feature.
    pub(super) fn add(&mut self, feature: u32, grid: &Grid, geometry: &Geometry) {
        match geometry {
            Geometry::Polygon(rings) => self.add_polygon(feature, grid, rings),
            Geometry::MultiPolygon(polygons) => {
                polygons.iter().for_each(|rings| self.add_polygon(feature, grid, rings));
            }
            Geometry::Collection(parts) => {
                parts.iter().for_each(|part| self.add(feature, grid, part));
            }
            _ => {}
        }
    }

    fn add_polygon(&mut self, feature: u32, grid: &Grid, rings: &Rings) {
        let Some(outer) = rings.first().filter(|ring| ring.len() > 3) else { return };
        let start = self.bytes.len();
        let (mut min, mut max) = (Point::new(i64::MAX, i64::MAX), Point::new(i64::MIN, i64::MIN));
        for at in outer {
            let at = grid.point(*at);
            min = Point::new(min.x.min(at.x), min.y.min(at.y));
            max = Point::new(max.x.max(at.x), max.y.max(at.y));
        }
        let mut last = Point::new(0, 0);
        varint::put(&mut self.bytes, rings.len() as u64);
        for ring in rings {
            let open = ring.split_last().map_or(&[][..], |(_, open)| open);
            varint::put(&mut self.bytes, open.len() as u64);
            for at in open {
                let at = grid.point(*at);
                varint::put(&mut self.bytes, varint::zigzag(at.x - last.x));
                varint::put(&mut self.bytes, varint::zigzag(at.y - last.y));
                last = at;
            }
        }
        let vertices = rings.iter().map(Vec::len).sum::<usize>();
        let vertices = vertices.try_into().unwrap_or(u32::MAX);
        let (min, max) = (coarse(min), coarse(max));
        self.stored.push(StoredPolygon { start, feature, vertices, min, max });
    }

    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    /// The number of vertices of all polygons.
    pub(super) fn vertices(&self) -> u64 {
        self.stored.iter().map(|stored| u64::from(stored.vertices)).sum()
    }

    /// The number of vertices of a polygon.
    pub(super) fn vertices_of(&self, index: u32) -> usize {
        self.stored[index as usize].vertices as usize
    }

    /// The corners of the box around a polygon.
    pub(super) fn bounds(&self, index: u32) -> (Coarse, Coarse) {
        let stored = &self.stored[index as usize];
        (stored.min, stored.max)
    }

    pub(super) fn get(&self, index: u32) -> Polygon {
        let stored = &self.stored[index as usize];
        let mut bytes = &self.bytes[stored.start..];
        // The bytes were written by `add_polygon`.
        let mut take = || varint::take(&mut bytes).unwrap_or_default();
        let mut last = Point::new(0, 0);
        let mut rings = Vec::new();
        for number in 0..take() {
            let mut ring: Vec<Point> = Vec::new();
            for _ in 0..take() {
                last.x += varint::unzigzag(take());
                last.y += varint::unzigzag(take());
                if ring.last() != Some(&last) {
                    ring.push(last);
                }
            }
            if (doubled_area(&ring) < 0) == (number == 0) {
                ring.reverse();
            }
            rings.push(ring);
        }
        let outer = rings.first().map_or(&[][..], Vec::as_slice);
        let corner = |pick: fn(i64, i64) -> i64| {
            outer.iter().copied().reduce(|a, b| Point::new(pick(a.x, b.x), pick(a.y, b.y)))
        };
        let nowhere = Point::new(0, 0);
        Polygon {
            feature: stored.feature,
            min: corner(i64::min).unwrap_or(nowhere),
            max: corner(i64::max).unwrap_or(nowhere),
            rings,
        }
    }
}

/// Positive if the ring runs counter-clockwise.
fn doubled_area(ring: &[Point]) -> i128 {
    let Some(origin) = ring.first() else { return 0 };
    let term = |pair: &[Point]| cross(*origin, pair[0], pair[1]);
    ring.windows(2).map(term).sum()
}
