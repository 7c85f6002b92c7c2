//! Goes through a layer by regions of some thousand polygons, each with a margin that contains whatever is needed
//! to find overlaps and gaps in it.

use super::{
    Findings, MAX_GAP_LENGTH, gaps,
    grid::Coarse,
    overlaps,
    polygons::Polygon,
    region::{Budget, ComparedLayer, Region},
};

/// A region with more polygons is split, unless the margin is most of it.
const MANY_POLYGONS: usize = 2_000;
/// In a region with more vertices, gaps are not looked for: that would take more than about a gigabyte of memory.
const MAX_VERTICES: usize = 2_000_000;

impl ComparedLayer<'_> {
    /// Returns whether the search was complete.
    pub(super) fn find_problems(
        &self,
        findings: &mut Findings,
        is_cancelled: &dyn Fn() -> bool,
    ) -> bool {
        let all: Vec<u32> =
            (0..self.polygons.len()).filter_map(|index| index.try_into().ok()).collect();
        let Some(region) = self.bounds(&all) else { return true };
        let margin = self.margin(&all);
        let mut budget = Budget::new(self.polygons, is_cancelled);
        self.visit(region, &all, margin, &mut budget, findings)
    }

    fn visit(
        &self,
        region: Region,
        polygons: &[u32],
        margin: [i64; 2],
        budget: &mut Budget<'_>,
        findings: &mut Findings,
    ) -> bool {
        if polygons.is_empty() {
            return true;
        }
        if !budget.compare_boxes(polygons.len()) || budget.is_cancelled() {
            return false;
        }
        let sides = [0, 1].map(|axis| region.max[axis] - region.min[axis]);
        let axis = usize::from(sides[1] / margin[1].max(1) > sides[0] / margin[0].max(1));
        if polygons.len() > MANY_POLYGONS && sides[axis] > 2 * margin[axis].max(1) {
            let mut is_complete = true;
            for half in region.halves(axis) {
                let expanded = half.expanded(margin);
                let near = polygons.iter().copied();
                let near = near.filter(|index| expanded.meets(self.polygons.bounds(*index)));
                let near: Vec<u32> = near.collect();
                is_complete &= self.visit(half, &near, margin, budget, findings);
            }
            return is_complete;
        }
        let vertices = polygons.iter().map(|index| self.polygons.vertices_of(*index)).sum();
        if !budget.visit(vertices) {
            return false;
        }
        let polygons: Vec<Polygon> =
            polygons.iter().map(|index| self.polygons.get(*index)).collect();
        let has_all_overlaps = overlaps::find(self, region, &polygons, budget, findings);
        let has_all_gaps =
            vertices <= MAX_VERTICES && gaps::find(self, region, &polygons, budget, findings);
        has_all_overlaps && has_all_gaps
    }

    fn bounds(&self, polygons: &[u32]) -> Option<Region> {
        let boxes = polygons.iter().map(|index| self.polygons.bounds(*index));
        let regions = boxes.map(|(min, max)| Region {
            min: [min.x, min.y].map(i64::from),
            max: [max.x, max.y].map(|value| i64::from(value) + 1),
        });
        regions.reduce(|a, b| Region {
            min: [a.min[0].min(b.min[0]), a.min[1].min(b.min[1])],
            max: [a.max[0].max(b.max[0]), a.max[1].max(b.max[1])],
        })
    }

    /// The length of the longest gap, in coarse steps of x and y. Twice of what it is in the middle of the layer:
    /// farther north, a degree is shorter.
    fn margin(&self, polygons: &[u32]) -> [i64; 2] {
        let mut corners: Vec<Coarse> =
            polygons.iter().map(|index| self.polygons.bounds(*index).0).collect();
        let half = corners.len() / 2;
        let middle = *corners.select_nth_unstable_by_key(half, |at| at.y).1;
        let meters = self.grid.meters_per_coarse_step(middle);
        meters.map(|meters| (2.0 * MAX_GAP_LENGTH / meters) as i64)
    }
}
