//! Cutting lines and rings to the frame of a tile. Where an edge crosses the border is rounded to a
//! unit, the same whichever way the edge runs, so that neighbours stay neighbours.

use super::view::{FRAME, Point};
use crate::grid::GridBox;

/// Cuts a ring, whose box is `bounds`, to the frame. What is left may be nothing, or have no area.
pub(super) fn ring(path: &mut Vec<Point>, spare: &mut Vec<Point>, bounds: GridBox) {
    if bounds.min_x < FRAME.min_x {
        side(path, spare, |p| p.x >= FRAME.min_x, |a, b| at_x(a, b, FRAME.min_x));
    }
    if bounds.max_x > FRAME.max_x {
        side(path, spare, |p| p.x <= FRAME.max_x, |a, b| at_x(a, b, FRAME.max_x));
    }
    if bounds.min_y < FRAME.min_y {
        side(path, spare, |p| p.y >= FRAME.min_y, |a, b| at_y(a, b, FRAME.min_y));
    }
    if bounds.max_y > FRAME.max_y {
        side(path, spare, |p| p.y <= FRAME.max_y, |a, b| at_y(a, b, FRAME.max_y));
    }
    tidy(path, spare);
}

/// Cuts a ring at one side of the frame.
fn side(
    path: &mut Vec<Point>,
    spare: &mut Vec<Point>,
    within: impl Fn(Point) -> bool,
    crossing: impl Fn(Point, Point) -> Point,
) {
    let Some(&last) = path.last() else { return };
    spare.clear();
    let mut from = last;
    for &to in path.iter() {
        if within(from) != within(to) {
            spare.push(crossing(from, to));
        }
        if within(to) {
            spare.push(to);
        }
        from = to;
    }
    std::mem::swap(path, spare);
}

/// Drops repeats, and the points between others along a border: those say nothing, or lead along it
/// and back.
fn tidy(path: &mut Vec<Point>, spare: &mut Vec<Point>) {
    spare.clear();
    for &point in path.iter() {
        while let [.., before, last] = spare[..]
            && says_nothing(before, last, point)
        {
            spare.pop();
        }
        if spare.last() != Some(&point) {
            spare.push(point);
        }
    }
    // The same where the end meets the beginning.
    let mut start = 0;
    while let [first, second, .., before, last] = spare[start..] {
        if last == first || says_nothing(before, last, first) {
            spare.pop();
        } else if says_nothing(last, first, second) {
            start += 1;
        } else {
            break;
        }
    }
    path.clear();
    path.extend_from_slice(&spare[start..]);
}

fn says_nothing(before: Point, point: Point, after: Point) -> bool {
    let border = |value: i64, min: i64, max: i64| value == min || value == max;
    let along_x =
        before.x == point.x && point.x == after.x && border(point.x, FRAME.min_x, FRAME.max_x);
    let along_y =
        before.y == point.y && point.y == after.y && border(point.y, FRAME.min_y, FRAME.max_y);
    along_x || along_y
}

/// Cuts a line to the frame and hands over each piece that has a length.
pub(super) fn line(path: &[Point], piece: &mut Vec<Point>, mut draw: impl FnMut(&[Point])) {
    let mut finish = |piece: &mut Vec<Point>| {
        if piece.len() > 1 {
            draw(piece);
        }
        piece.clear();
    };
    piece.clear();
    for edge in path.windows(2) {
        let Some((from, to)) = edge_within(edge[0], edge[1]) else {
            finish(piece);
            continue;
        };
        if piece.last() != Some(&from) {
            finish(piece);
            piece.push(from);
        }
        if to != from {
            piece.push(to);
        }
    }
    finish(piece);
}

/// The part of an edge within the frame.
fn edge_within(mut from: Point, mut to: Point) -> Option<(Point, Point)> {
    let mut cut = |limit: i64, x: bool, below: bool| {
        let outside = |p: Point| {
            let value = if x { p.x } else { p.y };
            if below { value < limit } else { value > limit }
        };
        match (outside(from), outside(to)) {
            (false, false) => return true,
            (true, true) => return false,
            (start, _) => {
                let crossing = if x { at_x(from, to, limit) } else { at_y(from, to, limit) };
                *(if start { &mut from } else { &mut to }) = crossing;
            }
        }
        true
    };
    let met = cut(FRAME.min_x, true, true)
        && cut(FRAME.max_x, true, false)
        && cut(FRAME.min_y, false, true)
        && cut(FRAME.max_y, false, false);
    met.then_some((from, to))
}

fn at_x(a: Point, b: Point, x: i64) -> Point {
    Point { x, y: along(a.y, b.y, x - a.x, b.x - a.x) }
}

fn at_y(a: Point, b: Point, y: i64) -> Point {
    Point { x: along(a.x, b.x, y - a.y, b.y - a.y), y }
}

/// The value `part` of `whole` on the way from `a` to `b`, rounded.
fn along(a: i64, b: i64, part: i64, whole: i64) -> i64 {
    let (way, part, whole) = (i128::from(b - a), i128::from(part), i128::from(whole));
    // Both signs may be turned: a Euclidean division by a positive number rounds down.
    let (product, whole) = if whole < 0 { (-way * part, -whole) } else { (way * part, whole) };
    a + (2 * product + whole).div_euclid(2 * whole) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(points: &[(i64, i64)]) -> Vec<Point> {
        points.iter().map(|&(x, y)| Point { x, y }).collect()
    }

    fn cut_ring(points: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut path = path(points);
        let bounds = super::super::view::bounds_of(&path);
        ring(&mut path, &mut Vec::new(), bounds);
        path.iter().map(|point| (point.x, point.y)).collect()
    }

    fn cut_line(points: &[(i64, i64)]) -> Vec<Vec<(i64, i64)>> {
        let mut pieces = Vec::new();
        line(&path(points), &mut Vec::new(), |piece| {
            pieces.push(piece.iter().map(|point| (point.x, point.y)).collect());
        });
        pieces
    }

    #[test]
    fn a_ring_around_the_frame_is_the_frame() {
        let far = 1 << 40;
        let ring = cut_ring(&[(-far, -far), (far, -far), (far, far), (-far, far)]);
        assert_eq!(ring.len(), 4);
        for corner in [(-64, -64), (4160, -64), (4160, 4160), (-64, 4160)] {
            assert!(ring.contains(&corner), "{ring:?}");
        }
    }

    #[test]
    fn a_comb_across_a_border_keeps_its_teeth_and_no_spikes() {
        let ring = cut_ring(&[
            (-200, 0),
            (100, 0),
            (100, 10),
            (-100, 10),
            (-100, 20),
            (100, 20),
            (100, 30),
            (-200, 30),
        ]);
        assert_eq!(
            ring,
            [(-64, 0), (100, 0), (100, 10), (-64, 10), (-64, 20), (100, 20), (100, 30), (-64, 30)]
        );
        // Out beyond the border, where it runs ahead and comes back.
        let ring = cut_ring(&[(0, 0), (0, 50), (-100, 50), (-100, 900), (-200, 900), (-200, 0)]);
        assert_eq!(ring, [(-64, 0), (0, 0), (0, 50), (-64, 50)]);
    }

    #[test]
    fn a_ring_beside_the_frame_leaves_no_area() {
        assert!(cut_ring(&[(-100, 0), (-70, 5), (-100, 9)]).len() < 3);
        assert!(cut_ring(&[(-100, 0), (-64, 5), (-100, 9)]).len() < 3);
    }

    #[test]
    fn a_line_is_cut_into_the_pieces_within() {
        assert_eq!(
            cut_line(&[(-100, 10), (10, 10), (10, 5000), (20, 5000), (20, 20)]),
            [vec![(-64, 10), (10, 10), (10, 4160)], vec![(20, 4160), (20, 20)]]
        );
        assert_eq!(cut_line(&[(-100, -100), (-64, -64)]), Vec::<Vec<_>>::new());
        assert_eq!(cut_line(&[(-200, 0), (0, -200)]), Vec::<Vec<_>>::new());
        assert_eq!(cut_line(&[(-1 << 40, 7), (1 << 40, 7)]), [[(-64, 7), (4160, 7)]]);
        assert_eq!(cut_line(&[(0, 0), (-64, 3), (0, 9)]), [[(0, 0), (-64, 3), (0, 9)]]);
    }

    #[test]
    fn an_edge_is_cut_at_the_same_place_in_either_direction() {
        let mut seed = 7_i64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            seed >> 40
        };
        for _ in 0..1_000 {
            let (a, b) = (Point { x: next(), y: next() }, Point { x: next(), y: next() });
            let forth = edge_within(a, b);
            let back = edge_within(b, a).map(|(from, to)| (to, from));
            // The second cut starts from a rounded place, hence a unit more or less.
            let near = |p: Point, q: Point| (p.x - q.x).abs() <= 1 && (p.y - q.y).abs() <= 1;
            match (forth, back) {
                (Some(forth), Some(back)) => {
                    assert!(near(forth.0, back.0) && near(forth.1, back.1));
                }
                (forth, back) => assert_eq!(forth, back),
            }
            if a.x != b.x {
                assert_eq!(at_x(a, b, 64), at_x(b, a, 64));
            }
        }
    }
}
