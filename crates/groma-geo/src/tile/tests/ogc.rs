//! Checks polygons by the rules of OGC, directly and slowly: each edge against each other one.

use super::decode::{Path, doubled_area};

type Point = (i64, i64);
type Edge = (Point, Point);

/// Panics unless the rings are valid polygons. Outer rings have a positive area, and their holes follow.
pub(super) fn assert_valid(rings: &[Path]) {
    for ring in rings {
        assert!(ring.len() >= 3 && doubled_area(ring) != 0, "ring without area: {ring:?}");
        assert_simple(ring);
    }
    assert!(doubled_area(&rings[0]) > 0, "first ring is a hole");
    let inside: Vec<Vec<bool>> = rings
        .iter()
        .enumerate()
        .map(|(a, ring)| {
            let others = rings.iter().enumerate();
            others.map(|(b, other)| a != b && is_inside(ring, other)).collect()
        })
        .collect();
    let polygons = polygons(rings);
    for (outer, holes) in &polygons {
        for hole in holes {
            assert!(inside[*hole][*outer], "hole {hole} is outside its polygon: {rings:?}");
            let nested = holes.iter().find(|other| inside[*hole][**other]);
            assert_eq!(nested, None, "hole {hole} is in another one: {rings:?}");
        }
        for (other, other_holes) in polygons.iter().filter(|(other, _)| inside[*outer][*other]) {
            let is_in_hole = other_holes.iter().any(|hole| inside[*outer][*hole]);
            assert!(is_in_hole, "polygon {outer} covers polygon {other}: {rings:?}");
        }
        let own: Vec<&Path> = std::iter::once(outer).chain(holes).map(|at| &rings[*at]).collect();
        assert_connected(&own);
    }
}

/// The indexes of outer rings and of their holes.
fn polygons(rings: &[Path]) -> Vec<(usize, Vec<usize>)> {
    let mut polygons: Vec<(usize, Vec<usize>)> = Vec::new();
    for (index, ring) in rings.iter().enumerate() {
        match polygons.last_mut() {
            Some((_, holes)) if doubled_area(ring) < 0 => holes.push(index),
            _ => polygons.push((index, Vec::new())),
        }
    }
    polygons
}

fn edges(ring: &[Point]) -> Vec<Edge> {
    (0..ring.len()).map(|at| (ring[at], ring[(at + 1) % ring.len()])).collect()
}

fn turn(a: Point, b: Point, c: Point) -> i64 {
    ((b.0 - a.0) * (c.1 - b.1) - (b.1 - a.1) * (c.0 - b.0)).signum()
}

fn is_on_edge(point: Point, (a, b): Edge) -> bool {
    turn(a, b, point) == 0
        && (a.0.min(b.0)..=a.0.max(b.0)).contains(&point.0)
        && (a.1.min(b.1)..=a.1.max(b.1)).contains(&point.1)
}

/// Whether two edges cross at a point inside both.
fn cross(a: Edge, b: Edge) -> bool {
    turn(a.0, a.1, b.0) * turn(a.0, a.1, b.1) < 0 && turn(b.0, b.1, a.0) * turn(b.0, b.1, a.1) < 0
}

/// No point of the ring is on an edge other than its own two, and no edges cross.
fn assert_simple(ring: &[Point]) {
    let edges = edges(ring);
    for (index, point) in ring.iter().enumerate() {
        for (at, edge) in edges.iter().enumerate() {
            let is_own = at == index || (at + 1) % ring.len() == index;
            assert!(is_own || !is_on_edge(*point, *edge), "{point:?} touches its ring: {ring:?}");
            assert!(!cross(edges[index], *edge), "ring crosses itself at {edge:?}: {ring:?}");
        }
    }
}

/// Whether a ring is inside another one. Panics if they cross or have more than points in common.
fn is_inside(ring: &[Point], other: &[Point]) -> bool {
    let mut sides = Vec::new();
    for (from, to) in edges(ring) {
        assert!(!edges(other).iter().any(|edge| cross((from, to), *edge)), "{ring:?} {other:?}");
        // The parts of the edge between the points of the other ring.
        let on_edge = other.iter().copied().filter(|point| is_on_edge(*point, (from, to)));
        let mut stops: Vec<Point> = on_edge.chain([from, to]).collect();
        stops.sort_unstable();
        stops.dedup();
        sides.extend(stops.windows(2).map(|part| {
            let middle = (part[0].0 + part[1].0, part[0].1 + part[1].1);
            let doubled: Path = other.iter().map(|point| (2 * point.0, 2 * point.1)).collect();
            let edges = edges(&doubled);
            assert!(!edges.iter().any(|edge| is_on_edge(middle, *edge)), "{ring:?} {other:?}");
            let is_left_of = |(a, b): &&Edge| {
                (a.1 > middle.1) != (b.1 > middle.1) && (turn(*a, *b, middle) > 0) == (b.1 > a.1)
            };
            edges.iter().filter(is_left_of).count() % 2 == 1
        }));
    }
    sides.dedup();
    assert_eq!(sides.len(), 1, "rings cross: {ring:?} {other:?}");
    sides[0]
}

/// Panics if the rings of a polygon touch so often that they divide it: if there is a cycle from ring to
/// ring.
fn assert_connected(rings: &[&Path]) {
    let mut groups: Vec<usize> = (0..rings.len()).collect();
    let mut points: Vec<Point> = rings.iter().flat_map(|ring| ring.iter().copied()).collect();
    points.sort_unstable();
    points.dedup();
    for point in points {
        let touches = |ring: &Path| edges(ring).iter().any(|edge| is_on_edge(point, *edge));
        let mut touching = (0..rings.len()).filter(|at| touches(rings[*at]));
        let first = touching.next().unwrap();
        for other in touching {
            assert_ne!(groups[first], groups[other], "{point:?} divides a polygon: {rings:?}");
            let (from, to) = (groups[other], groups[first]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
}

#[test]
fn invalid_polygons_are_found() {
    let square = |at: i64, side: i64| {
        vec![(at, at), (at + side, at), (at + side, at + side), (at, at + side)]
    };
    let hole = |at: i64, side: i64| square(at, side).into_iter().rev().collect::<Path>();
    let invalid: &[(&str, Vec<Path>)] = &[
        ("bow tie", vec![vec![(0, 0), (10, 12), (10, 0), (0, 10)]]),
        ("spike", vec![vec![(0, 0), (10, 0), (20, 0), (10, 0), (10, 10)]]),
        ("touches itself", vec![vec![(0, 0), (10, 0), (5, 5), (10, 10), (0, 10), (5, 5)]]),
        ("hole at an edge", vec![square(0, 10), vec![(0, 2), (0, 8), (5, 5)]]),
        ("hole outside", vec![square(0, 10), hole(20, 5)]),
        ("hole in a hole", vec![square(0, 10), hole(1, 8), hole(3, 2)]),
        ("hole across", vec![square(0, 10), hole(5, 10)]),
        ("hole from corner to corner", vec![square(0, 10), vec![(0, 0), (4, 6), (10, 10), (6, 4)]]),
        (
            "two polygons with a common edge",
            vec![square(0, 10), vec![(10, 0), (20, 0), (20, 10), (10, 10)]],
        ),
        ("polygon in a polygon", vec![square(0, 10), square(2, 2)]),
    ];
    for (name, rings) in invalid {
        assert!(std::panic::catch_unwind(|| assert_valid(rings)).is_err(), "{name}");
    }
    let valid = [
        vec![square(0, 10), vec![(0, 5), (5, 8), (5, 2)]],
        vec![
            square(0, 10),
            hole(1, 8),
            square(1, 8).into_iter().map(|(x, y)| ((x + 5) / 2, (y + 5) / 2)).collect(),
        ],
        vec![square(0, 10), square(10, 10)],
        vec![square(0, 10), vec![(2, 2), (2, 4), (4, 4)], vec![(4, 4), (4, 6), (6, 6)]],
    ];
    for rings in valid {
        assert_valid(&rings);
    }
}
