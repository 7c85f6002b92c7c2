//! Polygons that are invalid, or become invalid by rounding, simplification or clipping. The decoder checks
//! that those in the tile are valid; these tests check that they still cover the same area.

use super::{
    super::{make_valid::make_valid, rings, transform::TilePoint, validity::ValidityCheck},
    *,
};
use proptest::prelude::*;

type Ring = Vec<(i64, i64)>;

/// The area between two sets of rings, by scanlines: where one covers a place and the other one does not.
/// Each set is a list of polygons: an outer ring and holes.
fn difference(a: &[Vec<Ring>], b: &[Vec<Ring>]) -> f64 {
    let mut area = 0.0;
    let all = || a.iter().chain(b).flatten().flatten();
    let (Some(top), Some(bottom)) = (all().map(|at| at.1).min(), all().map(|at| at.1).max()) else {
        return 0.0;
    };
    for row in top..bottom {
        let y = row as f64 + 0.5;
        let mut crossings: Vec<(f64, usize, bool, i32)> = Vec::new();
        for (polygon, rings) in a.iter().chain(b).enumerate() {
            for (index, ring) in rings.iter().enumerate() {
                for (from, to) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                    let [(x0, y0), (x1, y1)] = [from, to].map(|at| (at.0 as f64, at.1 as f64));
                    if (y0 < y) != (y1 < y) {
                        let x = x0 + (x1 - x0) * (y - y0) / (y1 - y0);
                        crossings.push((x, polygon, index > 0, if y0 < y { 1 } else { -1 }));
                    }
                }
            }
        }
        crossings.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut winding = vec![[0, 0]; a.len() + b.len()];
        for pair in crossings.windows(2) {
            let (x, polygon, is_hole, step) = pair[0];
            winding[polygon][usize::from(is_hole)] += step;
            let is_covered = |polygons: &[[i32; 2]]| {
                polygons.iter().any(|[outer, holes]| *outer != 0 && *holes == 0)
            };
            if is_covered(&winding[..a.len()]) != is_covered(&winding[a.len()..]) {
                area += pair[1].0 - x;
            }
        }
    }
    area
}

fn length(polygons: &[Vec<Ring>]) -> f64 {
    let edges = polygons.iter().flatten().flat_map(|ring| {
        ring.iter().zip(ring.iter().cycle().skip(1)).map(|(a, b)| (a.0 - b.0, a.1 - b.1))
    });
    edges.map(|(x, y)| (x as f64).hypot(y as f64)).sum()
}

/// Rings as polygons: an outer ring has a positive area, and its holes follow.
fn to_polygons(rings: &[Ring]) -> Vec<Vec<Ring>> {
    let polygons = rings.chunk_by(|_, next| decode::doubled_area(next) < 0);
    polygons.map(<[Ring]>::to_vec).collect()
}

/// The result of [`make_valid`], and whether the input counts as valid.
fn made_valid(polygons: &[Vec<Ring>]) -> (bool, Vec<Ring>) {
    let mut input = rings::Rings::default();
    for polygon in polygons {
        for (index, ring) in polygon.iter().enumerate() {
            let points: Vec<_> = ring.iter().map(|&(x, y)| TilePoint { x, y }).collect();
            input.push(rings::Ring::new(index > 0, &points));
        }
    }
    let is_valid = ValidityCheck::default().is_valid(&input);
    let output = make_valid(&input).unwrap();
    let oriented = output.iter().map(|ring| {
        let points = ring.points.iter().map(|point| (point.x, point.y));
        if (ring.area < 0) == ring.is_hole { points.collect() } else { points.rev().collect() }
    });
    (is_valid, oriented.collect())
}

#[test]
fn polygon_that_crosses_itself_too_often_is_drawn_as_it_is() {
    let place = |step: i64, factor: i64| step * factor % 4_001;
    let corners = (0..2_000).map(|step| (place(step * step, 1_237), place(step * step, 2_311) ^ 5));
    let corners: Vec<_> = corners.collect();
    let points: Vec<_> = corners.iter().map(|&(x, y)| TilePoint { x, y }).collect();
    let mut input = rings::Rings::default();
    input.push(rings::Ring::new(false, &points));
    assert!(make_valid(&input).is_none());
    let corners: Vec<_> = corners.iter().map(|&(x, y)| (x as i32, y as i32)).collect();
    let shape = TileShape::from_geometry(&polygon_in_tile(&[&corners])).unwrap();
    let candidates = vec![candidate(8, bytes_for_zoom(&shape, test_tile().z()), &[])];
    // Two bytes for most points.
    assert!(encode(test_tile(), "layer", &[""; 0], candidates, None).len() > 4_000);
}

/// A ring without consecutive duplicates. Near 0, many points coincide or are in line.
fn any_ring(count: std::ops::Range<usize>) -> impl Strategy<Value = Ring> {
    let size = prop_oneof![Just(5_i64), Just(12), Just(60), Just(400)];
    let points = prop::collection::vec((0..1_000_i64, 0..1_000_i64), count);
    (size, points, 0..20_i64, 0..20_i64).prop_map(|(size, points, x, y)| {
        let place = |at: &(i64, i64)| (x + at.0 * size / 1_000, y + at.1 * size / 1_000);
        let mut ring: Ring = points.iter().map(place).collect();
        ring.dedup();
        while ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
        ring
    })
}

/// A polygon whose outer ring is clockwise and whose holes are not, as shapes are stored.
fn any_polygon() -> impl Strategy<Value = Vec<Ring>> {
    (any_ring(3..30), prop::collection::vec(any_ring(3..8), 0..3)).prop_map(|(outer, holes)| {
        let holes = holes.into_iter().filter(|hole| decode::doubled_area(hole) != 0);
        let mut rings: Vec<Ring> = std::iter::once(outer).chain(holes).collect();
        for (index, ring) in rings.iter_mut().enumerate() {
            if (decode::doubled_area(ring) < 0) != (index > 0) {
                ring.reverse();
            }
        }
        rings
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_rings_become_valid_polygons_of_the_same_area(
        polygons in prop::collection::vec(any_polygon(), 1..4)
    ) {
        let (is_valid, made) = made_valid(&polygons);
        if is_valid {
            let rings: Vec<Ring> = polygons.iter().flatten().cloned().collect();
            ogc::assert_valid(&rings);
        }
        if !made.is_empty() {
            ogc::assert_valid(&made);
        }
        // Intersections are rounded, so edges move by up to a unit or so.
        let (difference, tolerance) = (difference(&polygons, &to_polygons(&made)), length(&polygons));
        prop_assert!(difference <= tolerance, "{difference} {tolerance} {made:?}");
    }
}

/// Encodes a polygon given in units of the test tile.
fn drawn(rings: &[&[(i32, i32)]]) -> Vec<Ring> {
    rings_of(&encode_single(&polygon_in_tile(rings), test_tile()))
}

fn areas(rings: &[Ring]) -> Vec<i64> {
    let mut areas: Vec<i64> = rings.iter().map(|ring| decode::doubled_area(ring)).collect();
    areas.sort_unstable();
    areas
}

#[test]
fn bow_tie_keeps_both_wings() {
    assert_eq!(areas(&drawn(&[&[(0, 0), (100, 100), (100, 0), (0, 100)]])), [5_000, 5_000]);
    // The wings have different sizes, so the ring has an area.
    assert_eq!(areas(&drawn(&[&[(0, 0), (200, 200), (200, 0), (0, 200), (0, 100)]])).len(), 2);
}

#[test]
fn ring_that_runs_twice_around_a_place_covers_it() {
    let twice = [(0, 0), (100, 0), (100, 100), (0, 100), (0, 0), (50, 0), (50, 50), (0, 50)];
    assert_eq!(areas(&drawn(&[&twice])), [20_000]);
}

#[test]
fn hole_outside_its_polygon_is_not_painted() {
    let hole = [(400, 400), (500, 400), (500, 500)];
    assert_eq!(areas(&drawn(&[&SQUARE, &hole])), [80_000]);
    let half_outside = [(200, 150), (400, 150), (400, 250), (200, 250)];
    assert_eq!(areas(&drawn(&[&SQUARE, &half_outside])), [60_000]);
}

#[test]
fn spike_is_removed() {
    let spike =
        [(100, 100), (300, 100), (300, 300), (200, 300), (200, 900), (200, 300), (100, 300)];
    assert_eq!(areas(&drawn(&[&spike])), [80_000]);
}

#[test]
fn overlapping_parts_are_united() {
    let parts = [&[SQUARE.as_slice()][..], &[&[(200, 100), (400, 100), (400, 300), (200, 300)]]];
    let parts = parts.map(rings_in_tile).to_vec();
    let rings = rings_of(&encode_single(&Geometry::MultiPolygon(parts), test_tile()));
    assert_eq!(areas(&rings), [120_000]);
}

#[test]
fn comb_that_leaves_the_tile_becomes_its_teeth() {
    let comb: &[(i32, i32)] =
        &[(-200, 0), (100, 0), (100, 10), (-100, 10), (-100, 20), (100, 20), (100, 30), (-200, 30)];
    let teeth = 2 * 164 * 10;
    assert_eq!(areas(&drawn(&[comb])), [teeth, teeth]);
}

/// A ring with many points, where the hierarchy of boxes is deep.
#[test]
fn long_ring_that_touches_itself_is_found() {
    let circle: Ring = (0..600)
        .map(|step| {
            let angle = f64::from(step) / 600.0 * std::f64::consts::TAU;
            ((2_000.0 + 1_900.0 * angle.cos()) as i64, (2_000.0 + 1_900.0 * angle.sin()) as i64)
        })
        .collect();
    let is_valid = |rings: &[Ring]| made_valid(&[rings.to_vec()]).0;
    assert!(is_valid(std::slice::from_ref(&circle)));
    let small: Ring = circle.iter().rev().map(|at| (at.0 / 2 + 1_000, at.1 / 2 + 1_000)).collect();
    assert!(is_valid(&[circle.clone(), small.clone()]));
    assert!(!is_valid(&[
        small.into_iter().rev().collect(),
        circle.iter().rev().copied().collect()
    ]));
    for at in [0, 100, 299, 450] {
        let mut touching = circle.clone();
        touching[at] = circle[(at + 300) % 600];
        assert!(!is_valid(&[touching]), "{at}");
    }
}
