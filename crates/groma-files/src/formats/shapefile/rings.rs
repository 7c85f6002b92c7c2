//! The rings of a Shapefile's polygon come in any order: outer rings run clockwise, holes counter-clockwise.

use super::box_tree::{Bounds, BoxTree, bounds, contains, sorted_by_place};
use groma_geo::{Line, Message, Position, Rings, message};
use std::{cmp::Reverse, collections::BinaryHeap};

/// The most steps of the search for the rings around holes, per position. Rings side by side need about 20.
const MAX_STEPS: usize = 200;

/// The polygons that rings form.
pub(super) fn polygons(rings: Vec<Line>) -> Result<Vec<Rings>, Message> {
    polygons_within(rings, MAX_STEPS)
}

fn polygons_within(rings: Vec<Line>, max_steps: usize) -> Result<Vec<Rings>, Message> {
    if rings.len() < 2 {
        return Ok(rings.into_iter().map(|ring| vec![ring]).collect());
    }
    let steps_left = max_steps * rings.iter().map(Vec::len).sum::<usize>();
    let (outer, holes): (Vec<Line>, Vec<Line>) =
        rings.into_iter().partition(|ring| area(ring) <= 0.0);
    let mut search = Search::new(outer, steps_left);
    let mut orphans = Vec::new();
    for hole in holes {
        match search.smallest_around(&hole)? {
            Some(index) => search.polygons[index].rings.push(hole),
            // Some programs write outer rings counter-clockwise.
            None => orphans.push(vec![hole]),
        }
    }
    search.polygons.sort_by_key(|polygon| polygon.number);
    Ok(search.polygons.into_iter().map(|polygon| polygon.rings).chain(orphans).collect())
}

/// The outer rings among which those around holes are searched.
struct Search {
    /// By the size of their outer rings, the smallest first.
    polygons: Vec<Polygon>,
    /// The polygon of each item of the tree.
    order: Vec<usize>,
    tree: BoxTree,
    steps_left: usize,
}

struct Polygon {
    rings: Rings,
    /// Its place in the file.
    number: usize,
    size: f64,
    bounds: Bounds,
    /// The edges of the outer ring, once a hole is compared with them.
    edges: Option<BoxTree>,
}

impl Search {
    fn new(outer: Vec<Line>, steps_left: usize) -> Self {
        let polygon = |(number, ring): (usize, Line)| Polygon {
            number,
            size: area(&ring).abs(),
            bounds: bounds(&ring),
            rings: vec![ring],
            edges: None,
        };
        let mut polygons: Vec<Polygon> = outer.into_iter().enumerate().map(polygon).collect();
        polygons.sort_by(|a, b| a.size.total_cmp(&b.size));
        let boxes: Vec<Bounds> = polygons.iter().map(|polygon| polygon.bounds).collect();
        let order = sorted_by_place(&boxes);
        let tree = BoxTree::new(order.iter().map(|index| boxes[*index]));
        Self { polygons, order, tree, steps_left }
    }

    /// The polygon with the smallest outer ring around a hole.
    fn smallest_around(&mut self, hole: &Line) -> Result<Option<usize>, Message> {
        let hole_bounds = bounds(hole);
        let is_around = |outer: &Bounds| contains(outer, &hole_bounds);
        let mut found = BinaryHeap::new();
        let steps = self.tree.search(is_around, |item| {
            let index = self.order[item];
            if is_around(&self.polygons[index].bounds) {
                found.push(Reverse(index));
            }
        });
        spend(&mut self.steps_left, steps)?;
        while let Some(Reverse(index)) = found.pop() {
            if self.is_inside(hole, index)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Whether a hole is inside an outer ring, which it may touch: decided by its first corner that is not on the
    /// ring.
    fn is_inside(&mut self, hole: &Line, index: usize) -> Result<bool, Message> {
        let Polygon { rings, edges, .. } = &mut self.polygons[index];
        let ring = &rings[0];
        let edges = edges.get_or_insert_with(|| BoxTree::new(ring.windows(2).map(bounds)));
        for at in hole {
            let (is_inside, steps) = position(*at, ring, edges);
            spend(&mut self.steps_left, steps)?;
            if let Some(is_inside) = is_inside {
                return Ok(is_inside);
            }
        }
        Ok(true)
    }
}

fn spend(steps_left: &mut usize, steps: usize) -> Result<(), Message> {
    *steps_left = steps_left.checked_sub(steps).ok_or_else(|| {
        message!("too many rings overlap; repair the polygon, or split it into several features")
    })?;
    Ok(())
}

/// Twice the area, positive if the ring runs counter-clockwise.
pub(super) fn area(ring: &Line) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    let edge = |edge: &[Position]| {
        let (a, b) = (edge[0], edge[1]);
        (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y)
    };
    ring.windows(2).map(edge).sum()
}

/// Whether a position is inside a ring, `None` if it is on it; and the number of steps that this took.
fn position(at: Position, ring: &Line, edges: &BoxTree) -> (Option<bool>, usize) {
    let (mut is_inside, mut is_on_ring) = (false, false);
    // Edges further west do not count.
    let is_searched =
        |[_, south, east, north]: &Bounds| at.x <= *east && (*south..=*north).contains(&at.y);
    let steps = edges.search(is_searched, |index| {
        let (a, b) = (ring[index], ring[index + 1]);
        let side = (b.x - a.x) * (at.y - a.y) - (at.x - a.x) * (b.y - a.y);
        let is_between = (a.x.min(b.x)..=a.x.max(b.x)).contains(&at.x)
            && (a.y.min(b.y)..=a.y.max(b.y)).contains(&at.y);
        is_on_ring |= side == 0.0 && is_between;
        if (a.y > at.y) != (b.y > at.y) && (side > 0.0) == (b.y > a.y) {
            is_inside = !is_inside;
        }
    });
    ((!is_on_ring).then_some(is_inside), steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(x: f64, y: f64, size: f64, clockwise: bool) -> Line {
        let corners = [(x, y), (x, y + size), (x + size, y + size), (x + size, y), (x, y)];
        let mut ring: Line =
            corners.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect();
        if !clockwise {
            ring.reverse();
        }
        ring
    }

    #[test]
    fn holes_find_the_smallest_ring_around_them() {
        let (land, lake) = (square(0.0, 0.0, 100.0, true), square(10.0, 10.0, 50.0, false));
        let (island, pond) = (square(20.0, 20.0, 20.0, true), square(20.0, 25.0, 5.0, false));
        let other = square(200.0, 0.0, 10.0, true);
        let rings = vec![pond.clone(), lake.clone(), land.clone(), island.clone(), other.clone()];
        let expected = vec![vec![land, lake], vec![island, pond], vec![other]];
        assert_eq!(polygons(rings), Ok(expected));
    }

    #[test]
    fn hole_without_a_ring_becomes_a_polygon() {
        let (a, b) = (square(0.0, 0.0, 1.0, false), square(5.0, 0.0, 1.0, false));
        assert_eq!(polygons(vec![a.clone(), b.clone()]), Ok(vec![vec![a], vec![b]]));
    }

    /// The most steps per position in these tests.
    const FEW_STEPS: usize = 40;

    #[test]
    fn many_rings_with_holes_take_few_steps() {
        let place = |n: u32| (f64::from(n % 50) * 10.0, f64::from(n / 50) * 10.0);
        let outer = (0..2_500).map(|n| square(place(n).0, place(n).1, 9.0, true));
        let holes =
            (0..2_500).rev().map(|n| square(place(n).0 + 2.0, place(n).1 + 2.0, 5.0, false));
        let rings = holes.chain(outer.clone()).collect();
        let found = polygons_within(rings, FEW_STEPS).unwrap();
        let is_pair = |rings: &Rings| rings.len() == 2 && rings[1][0].x == rings[0][0].x + 2.0;
        assert!(found.iter().all(is_pair));
        assert!(found.into_iter().map(|mut rings| rings.remove(0)).eq(outer));
    }

    #[test]
    fn one_ring_with_many_corners_and_holes_takes_few_steps() {
        let corners = 20_000;
        let corner = |n: i32| {
            // Clockwise.
            let angle = -f64::from(n % corners) / f64::from(corners) * std::f64::consts::TAU;
            Position { x: 1_000.0 * angle.cos(), y: 1_000.0 * angle.sin(), z: None }
        };
        let land: Line = (0..=corners).map(corner).collect();
        let holes = (0..10_000).map(|n| {
            square(f64::from(n % 100) * 10.0 - 500.0, f64::from(n / 100) * 10.0 - 500.0, 5.0, false)
        });
        let rings = holes.chain([land.clone()]).collect();
        let found = polygons_within(rings, FEW_STEPS).unwrap();
        assert_eq!((found.len(), found[0].len(), &found[0][0]), (1, 10_001, &land));
    }

    #[test]
    fn polygon_whose_rings_all_overlap_is_rejected() {
        // Each ring is an angle, whose box is around all holes although none is inside.
        let corners = [(0, 0), (0, 100), (1, 100), (1, 1), (100, 1), (100, 0), (0, 0)];
        let angle = corners.map(|(x, y)| Position { x: x.into(), y: y.into(), z: None }).to_vec();
        let rings = |count: usize| {
            [vec![angle.clone(); count], vec![square(50.0, 50.0, 1.0, false); count]].concat()
        };
        let message = polygons_within(rings(200), FEW_STEPS).unwrap_err();
        assert!(message.to_string().contains("too many rings overlap"), "{message}");
        assert_eq!(polygons(rings(200)).unwrap().len(), 400);
    }

    #[test]
    fn rings_are_combined_as_if_each_hole_were_compared_with_all_rings() {
        let mut state = 1_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from((state >> 8) % below)
        };
        for _ in 0..50 {
            let mut rings: Vec<Line> = Vec::new();
            for _ in 0..60 {
                let (x, y, size) = (random(40), random(40), random(20) + 1.0);
                rings.push(square(x, y, size, random(2) == 0.0));
            }
            assert_eq!(polygons(rings.clone()), Ok(compared_with_all(rings)));
        }
    }

    fn compared_with_all(rings: Vec<Line>) -> Vec<Rings> {
        let (outer, holes): (Vec<Line>, Vec<Line>) =
            rings.into_iter().partition(|ring| area(ring) <= 0.0);
        let mut polygons: Vec<Rings> = outer.into_iter().map(|ring| vec![ring]).collect();
        let mut orphans = Vec::new();
        for hole in holes {
            let is_around = |rings: &&mut Rings| {
                let ring = &rings[0];
                let edges = BoxTree::new(ring.windows(2).map(bounds));
                let mut corners = hole.iter().map(|at| position(*at, ring, &edges).0);
                contains(&bounds(ring), &bounds(&hole))
                    && corners.find_map(|is_inside| is_inside).unwrap_or(true)
            };
            let around = polygons
                .iter_mut()
                .filter(is_around)
                .min_by(|a, b| area(&a[0]).abs().total_cmp(&area(&b[0]).abs()));
            match around {
                Some(rings) => rings.push(hole),
                None => orphans.push(vec![hole]),
            }
        }
        polygons.into_iter().chain(orphans).collect()
    }
}
