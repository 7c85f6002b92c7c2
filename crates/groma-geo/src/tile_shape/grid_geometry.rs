//! A geometry projected to the grid and sorted by type: points, lines and rings.

use crate::{
    Geometry, Position, Rings,
    grid::{GridBox, morton, project},
};

/// A point on the grid.
pub(crate) type GridPoint = (u32, u32);

/// A geometry on the grid, by type. In a tile, each type becomes a feature of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct GridGeometry {
    /// In Morton order, so that points that coincide in a tile follow each other.
    pub points: Vec<GridPoint>,
    pub lines: Vec<Vec<GridPoint>>,
    pub rings: Vec<Ring>,
}

/// A ring. Its first point is not repeated at the end.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Whether it is a hole in the last outer ring before it.
    pub is_hole: bool,
    pub points: Vec<GridPoint>,
}

impl GridGeometry {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let mut result = Self::default();
        result.add(geometry);
        result.points.sort_unstable_by_key(|point| morton(point.0, point.1));
        result.points.dedup();
        result
    }

    fn add(&mut self, geometry: &Geometry) {
        match geometry {
            Geometry::Point(position) => self.points.push(to_grid(position)),
            Geometry::MultiPoint(positions) => self.points.extend(positions.iter().map(to_grid)),
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
            self.lines.push(line_to_grid(line));
        }
    }

    /// Keeps an outer ring even if it has no area on the grid, so that the polygon stays visible.
    /// Drops holes without an area.
    fn add_polygon(&mut self, rings: &Rings) {
        for (index, line) in rings.iter().enumerate() {
            let is_hole = index > 0;
            let mut points = line_to_grid(line);
            if points.len() > 1 && points.first() == points.last() {
                points.pop();
            }
            let area = doubled_area(&points);
            match (is_hole, points.is_empty()) {
                (false, true) => return,
                (true, _) if area == 0 => continue,
                _ => {}
            }
            if area != 0 && (area < 0) != is_hole {
                points.reverse();
            }
            self.rings.push(Ring { is_hole, points });
        }
    }

    fn all_points(&self) -> impl Iterator<Item = GridPoint> {
        let lines = self.lines.iter().flatten();
        let rings = self.rings.iter().flat_map(|ring| &ring.points);
        self.points.iter().chain(lines).chain(rings).copied()
    }

    /// The bounding box; `None` if the geometry is empty.
    pub(super) fn bounds(&self) -> Option<GridBox> {
        let mut points = self.all_points();
        let (x, y) = points.next()?;
        let corners = points.fold((x, y, x, y), |(west, north, east, south), (x, y)| {
            (west.min(x), north.min(y), east.max(x), south.max(y))
        });
        Some(GridBox {
            min_x: corners.0.into(),
            min_y: corners.1.into(),
            max_x: corners.2.into(),
            max_y: corners.3.into(),
        })
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.points.len()
            + self.lines.iter().map(Vec::len).sum::<usize>()
            + self.rings.iter().map(|ring| ring.points.len()).sum::<usize>()
    }
}

fn to_grid(position: &Position) -> GridPoint {
    project(position.x, position.y)
}

/// The line on the grid, without consecutive duplicates.
fn line_to_grid(line: &[Position]) -> Vec<GridPoint> {
    let mut points: Vec<GridPoint> = line.iter().map(to_grid).collect();
    points.dedup();
    points
}

/// Twice the area of a ring by the shoelace formula: positive if it runs clockwise on a screen.
pub(super) fn doubled_area(ring: &[GridPoint]) -> i128 {
    let Some(&last) = ring.last() else { return 0 };
    let mut area = 0;
    let mut from = last;
    for &to in ring {
        let product = |a: u32, b: u32| i128::from(u64::from(a) * u64::from(b));
        area += product(from.0, to.1) - product(to.0, from.1);
        from = to;
    }
    area
}
