use super::*;
use proptest::prelude::*;

fn line(positions: &[(f64, f64)]) -> Line {
    positions.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect()
}

fn square(x: f64, y: f64, size: f64) -> Line {
    line(&[(x, y), (x + size, y), (x + size, y + size), (x, y + size), (x, y)])
}

fn notices(geometry: &Geometry) -> Vec<(String, String)> {
    check_geometry(geometry)
        .into_iter()
        .map(|notice| (notice.pointer, notice.message.to_string()))
        .collect()
}

fn polygon_notices(rings: Vec<Line>) -> Vec<(String, String)> {
    notices(&Geometry::Polygon(rings))
}

fn expected(pointer: &str, message: &str) -> Vec<(String, String)> {
    vec![(pointer.to_owned(), message.to_owned())]
}

const CROSSES: &str = "crosses or touches itself here";

#[test]
fn valid_geometries_have_no_notices() {
    let hole_at_corner = line(&[(0.0, 0.0), (2.0, 1.0), (1.0, 2.0), (0.0, 0.0)]);
    let crossing_line = line(&[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)]);
    for geometry in [
        Geometry::Polygon(vec![square(0.0, 0.0, 4.0), square(1.0, 1.0, 1.0)]),
        Geometry::Polygon(vec![square(0.0, 0.0, 4.0), hole_at_corner]),
        Geometry::Polygon(vec![line(&[(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])]),
        Geometry::LineString(crossing_line),
        Geometry::MultiPoint(line(&[(1.0, 1.0), (1.0, 1.0)])),
        Geometry::Polygon(Vec::new()),
        Geometry::MultiLineString(Vec::new()),
    ] {
        assert_eq!(notices(&geometry), Vec::new());
    }
}

#[test]
fn self_intersections_are_reported_with_their_segment() {
    let bow_tie = line(&[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0), (0.0, 0.0)]);
    assert_eq!(polygon_notices(vec![bow_tie]), expected("/coordinates/0/2", CROSSES));
    // A vertex on an edge of the same ring.
    let touching = line(&[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (2.0, 0.0), (0.0, 4.0), (0.0, 0.0)]);
    assert_eq!(polygon_notices(vec![touching]), expected("/coordinates/0/2", CROSSES));
    // A spike: out and back on the same line.
    let spike =
        line(&[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (4.0, 9.0), (4.0, 4.0), (0.0, 4.0), (0.0, 0.0)]);
    assert_eq!(polygon_notices(vec![spike]), expected("/coordinates/0/3", CROSSES));
    let crossing_hole = vec![square(0.0, 0.0, 4.0), square(3.0, 1.0, 2.0)];
    assert_eq!(polygon_notices(crossing_hole), expected("/coordinates/1/0", CROSSES));
    // A hole that shares an edge with the outer ring.
    let shared_edge = vec![square(0.0, 0.0, 4.0), square(0.0, 1.0, 1.0)];
    assert_eq!(polygon_notices(shared_edge), expected("/coordinates/1/3", CROSSES));
}

#[test]
fn missing_area_and_length_are_reported() {
    let flat = line(&[(0.0, 0.0), (2.0, 2.0), (1.0, 1.0), (0.0, 0.0)]);
    assert_eq!(polygon_notices(vec![flat]), expected("/coordinates/0", "has no area"));
    let dot = Geometry::LineString(line(&[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]));
    let repeats = "repeats the previous position (2 repeated positions in this line)";
    let expected = [("/coordinates/1", repeats), ("/coordinates", "has no length")];
    let expected = expected.map(|(pointer, message)| (pointer.to_owned(), message.to_owned()));
    assert_eq!(notices(&dot), expected);
}

#[test]
fn holes_outside_the_polygon_are_reported() {
    let rings = vec![square(0.0, 0.0, 4.0), square(1.0, 1.0, 1.0), square(9.0, 9.0, 1.0)];
    let multi = Geometry::MultiPolygon(vec![vec![square(20.0, 0.0, 1.0)], rings]);
    assert_eq!(notices(&multi), expected("/coordinates/1/2", "is a hole outside its polygon"));
}

#[test]
fn search_for_holes_outside_ends_where_it_would_take_too_long() {
    let rings = [square(0.0, 0.0, 4.0), square(9.0, 9.0, 1.0)];
    let segments = Segments::of_rings(rings.iter().enumerate());
    let mut left = segments.max_comparisons();
    assert!(segments.is_outside(&rings[1][0], &mut left));
    assert!(left < segments.max_comparisons());
    assert!(!segments.is_outside(&rings[1][0], &mut 1));
}

#[test]
fn repeated_positions_are_reported_but_different_heights_are_not() {
    let mut ring = square(0.0, 0.0, 4.0);
    ring.insert(2, ring[1]);
    let collection = Geometry::Collection(vec![Geometry::Polygon(vec![ring.clone()])]);
    let pointer = "/geometries/0/coordinates/0/2";
    assert_eq!(notices(&collection), expected(pointer, "repeats the previous position"));
    ring[2].z = Some(3.0);
    assert_eq!(polygon_notices(vec![ring]), Vec::new());
}

#[test]
fn large_ring_is_checked_with_few_comparisons() {
    let mut ring: Line = (0..200_000)
        .map(|step| {
            let angle = f64::from(step) * std::f64::consts::TAU / 200_000.0;
            let radius = 10.0 + (angle * 5_000.0).sin();
            Position { x: radius * angle.cos(), y: radius * angle.sin(), z: None }
        })
        .collect();
    ring.push(ring[0]);
    assert_eq!(polygon_notices(vec![ring.clone()]), Vec::new());
    ring.swap(70_000, 120_000);
    assert_eq!(polygon_notices(vec![ring]).len(), 1);
}

/// Whether two segments of a ring meet where they must not, in integers.
fn is_simple(ring: &[(i64, i64)]) -> bool {
    let cross = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| {
        ((b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)).signum()
    };
    let within = |a: (i64, i64), b: (i64, i64), c: (i64, i64)| {
        (a.0.min(b.0)..=a.0.max(b.0)).contains(&c.0) && (a.1.min(b.1)..=a.1.max(b.1)).contains(&c.1)
    };
    let on = |a, b, c| cross(a, b, c) == 0 && within(a, b, c);
    let count = ring.len() - 1;
    (0..count).all(|i| {
        (i + 1..count).all(|j| {
            let (a, b, c, d) = (ring[i], ring[i + 1], ring[j], ring[j + 1]);
            let is_next = j == i + 1;
            let is_closing = i == 0 && j == count - 1;
            if is_next {
                return !on(a, b, d) && !on(c, d, a) || (is_closing && count == 2);
            }
            if is_closing {
                return !on(a, b, c) && !on(c, d, b);
            }
            let is_crossing =
                cross(a, b, c) * cross(a, b, d) < 0 && cross(c, d, a) * cross(c, d, b) < 0;
            !is_crossing && !on(a, b, c) && !on(a, b, d) && !on(c, d, a) && !on(c, d, b)
        })
    })
}

proptest! {
    #[test]
    fn check_agrees_with_comparing_all_segments(
        points in prop::collection::vec((0_i64..12, 0_i64..12), 3..24),
    ) {
        let mut ring = points;
        ring.dedup();
        if ring.last() == ring.first() {
            ring.pop();
        }
        prop_assume!(ring.len() >= 3);
        ring.push(ring[0]);
        #[expect(clippy::cast_precision_loss, reason = "small integers")]
        let positions: Vec<_> = ring.iter().map(|(x, y)| (*x as f64, *y as f64)).collect();
        let found = polygon_notices(vec![line(&positions)]);
        prop_assert_eq!(found.is_empty(), is_simple(&ring), "{:?}", ring);
    }
}

#[test]
fn star_that_turns_one_way_is_not_convex() {
    let star: Vec<_> = (0..=5)
        .map(|n| {
            let angle = f64::from(n % 5 * 2) * std::f64::consts::TAU / 5.0;
            (angle.cos(), angle.sin())
        })
        .collect();
    assert_eq!(polygon_notices(vec![line(&star)]).len(), 1);
}
