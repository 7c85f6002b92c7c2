//! A part of a layer whose polygons are compared, and the layer.

use super::{
    Feature, LayerCheckOptions,
    grid::{Coarse, Grid, Point, coarse},
    polygons::{Polygon, Polygons},
};

/// The most pairs of boxes that are compared, per polygon.
const MAX_BOX_COMPARISONS: u64 = 10_000;
/// The most pairs of polygons that are intersected, per polygon.
const MAX_INTERSECTIONS: u64 = 50;
/// How often each vertex is read or intersected on average, at most.
const MAX_VISITS: u64 = 100;
/// So many vertices are always read, in a small layer with a large polygon around the others.
const MIN_VERTICES: u64 = 100_000_000;

/// A layer whose polygons are compared.
pub(super) struct ComparedLayer<'a> {
    pub(super) options: &'a LayerCheckOptions,
    pub(super) grid: &'a Grid,
    pub(super) features: &'a [Feature],
    pub(super) polygons: &'a Polygons,
}

/// A rectangle in coarse steps, without its upper edges.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) min: [i64; 2],
    pub(super) max: [i64; 2],
}

/// How much work is left, so that a layer of polygons that lie upon each other does not take forever.
pub(super) struct Budget<'c> {
    box_comparisons: u64,
    intersections: u64,
    /// The vertices of polygons that are read or intersected.
    vertices: u64,
    is_cancelled: &'c dyn Fn() -> bool,
}

impl<'c> Budget<'c> {
    pub(super) fn new(polygons: &Polygons, is_cancelled: &'c dyn Fn() -> bool) -> Self {
        let count = polygons.len() as u64;
        Self {
            box_comparisons: count * MAX_BOX_COMPARISONS,
            intersections: count * MAX_INTERSECTIONS,
            vertices: polygons.vertices() * MAX_VISITS + MIN_VERTICES,
            is_cancelled,
        }
    }

    /// Takes comparisons of boxes from the budget. Returns whether they may be done.
    pub(super) fn compare_boxes(&mut self, count: usize) -> bool {
        self.box_comparisons = self.box_comparisons.saturating_sub(count as u64);
        self.box_comparisons > 0
    }

    /// Takes an intersection of polygons with so many vertices from the budget. Returns whether it may be done.
    pub(super) fn intersect(&mut self, vertices: usize) -> bool {
        self.intersections = self.intersections.saturating_sub(1);
        self.intersections > 0 && self.visit(vertices)
    }

    /// Takes so many vertices from the budget. Returns whether they may be read.
    pub(super) fn visit(&mut self, vertices: usize) -> bool {
        self.vertices = self.vertices.saturating_sub(vertices as u64);
        self.vertices > 0 && !self.is_cancelled()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }
}

impl ComparedLayer<'_> {
    pub(super) fn number(&self, polygon: &Polygon) -> u64 {
        self.features[polygon.feature as usize].number
    }

    /// Whether two polygons belong to one feature, or to features with the same geometry.
    pub(super) fn are_same(&self, one: &Polygon, other: &Polygon) -> bool {
        let fingerprint = |polygon: &Polygon| self.features[polygon.feature as usize].fingerprint;
        one.feature == other.feature || fingerprint(one) == fingerprint(other)
    }
}

impl Region {
    pub(super) fn halves(self, axis: usize) -> [Self; 2] {
        let middle = i64::midpoint(self.min[axis], self.max[axis]);
        let (mut low, mut high) = (self, self);
        low.max[axis] = middle;
        high.min[axis] = middle;
        [low, high]
    }

    pub(super) fn expanded(self, margin: [i64; 2]) -> Self {
        Self {
            min: [self.min[0] - margin[0], self.min[1] - margin[1]],
            max: [self.max[0] + margin[0], self.max[1] + margin[1]],
        }
    }

    pub(super) fn meets(&self, (min, max): (Coarse, Coarse)) -> bool {
        i64::from(max.x) >= self.min[0]
            && i64::from(min.x) <= self.max[0]
            && i64::from(max.y) >= self.min[1]
            && i64::from(min.y) <= self.max[1]
    }

    /// Whether a point lies in this region. Each point of the layer lies in one.
    pub(super) fn contains(&self, at: Point) -> bool {
        let at = coarse(at);
        (self.min[0]..self.max[0]).contains(&at.x.into())
            && (self.min[1]..self.max[1]).contains(&at.y.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_counts_the_vertices_of_intersected_polygons() {
        let mut polygons = Polygons::default();
        let grid = Grid::new(crate::Crs::parse("EPSG:2154").unwrap());
        let at = |x, y| crate::Position { x, y, z: None };
        let ring = vec![at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(0.0, 0.0)];
        polygons.add(0, &grid, &crate::Geometry::Polygon(vec![ring]));
        let mut budget = Budget::new(&polygons, &|| false);
        assert!(budget.intersect(60_000_000));
        assert!(!budget.intersect(60_000_000));
    }
}
