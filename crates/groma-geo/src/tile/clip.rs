//! Clips lines and rings to the clip box of a tile.
//!
//! Rings are clipped side by side (Sutherland–Hodgman). A ring that leaves the box and returns stays
//! one ring, with edges along the border of the box, 64 units outside the tile and thus invisible.
//! Intersections are rounded to a unit in the same way for both directions of an edge, so that
//! adjacent polygons stay adjacent.

use super::transform::{CLIP_BOX, TilePoint};
use crate::grid::GridBox;

/// Clips a ring with these bounds. The result can be empty or have no area.
pub(super) fn ring(path: &mut Vec<TilePoint>, buffer: &mut Vec<TilePoint>, bounds: GridBox) {
    if bounds.min_x < CLIP_BOX.min_x {
        clip_side(path, buffer, |p| p.x >= CLIP_BOX.min_x, |a, b| at_x(a, b, CLIP_BOX.min_x));
    }
    if bounds.max_x > CLIP_BOX.max_x {
        clip_side(path, buffer, |p| p.x <= CLIP_BOX.max_x, |a, b| at_x(a, b, CLIP_BOX.max_x));
    }
    if bounds.min_y < CLIP_BOX.min_y {
        clip_side(path, buffer, |p| p.y >= CLIP_BOX.min_y, |a, b| at_y(a, b, CLIP_BOX.min_y));
    }
    if bounds.max_y > CLIP_BOX.max_y {
        clip_side(path, buffer, |p| p.y <= CLIP_BOX.max_y, |a, b| at_y(a, b, CLIP_BOX.max_y));
    }
    remove_redundant_points(path, buffer);
}

/// Clips a ring at one side of the box.
fn clip_side(
    path: &mut Vec<TilePoint>,
    buffer: &mut Vec<TilePoint>,
    is_inside: impl Fn(TilePoint) -> bool,
    crossing: impl Fn(TilePoint, TilePoint) -> TilePoint,
) {
    let Some(&last) = path.last() else { return };
    buffer.clear();
    let mut from = last;
    for &to in path.iter() {
        if is_inside(from) != is_inside(to) {
            buffer.push(crossing(from, to));
        }
        if is_inside(to) {
            buffer.push(to);
        }
        from = to;
    }
    std::mem::swap(path, buffer);
}

/// Removes duplicates, and points between two others on the same border.
fn remove_redundant_points(path: &mut Vec<TilePoint>, buffer: &mut Vec<TilePoint>) {
    buffer.clear();
    for &point in path.iter() {
        while let [.., before, last] = buffer[..]
            && is_redundant(before, last, point)
        {
            buffer.pop();
        }
        if buffer.last() != Some(&point) {
            buffer.push(point);
        }
    }
    // The same where the end of the ring meets its beginning.
    let mut start = 0;
    while let [first, second, .., before, last] = buffer[start..] {
        if last == first || is_redundant(before, last, first) {
            buffer.pop();
        } else if is_redundant(last, first, second) {
            start += 1;
        } else {
            break;
        }
    }
    path.clear();
    path.extend_from_slice(&buffer[start..]);
}

fn is_redundant(before: TilePoint, point: TilePoint, after: TilePoint) -> bool {
    let border = |value: i64, min: i64, max: i64| value == min || value == max;
    let along_x = before.x == point.x
        && point.x == after.x
        && border(point.x, CLIP_BOX.min_x, CLIP_BOX.max_x);
    let along_y = before.y == point.y
        && point.y == after.y
        && border(point.y, CLIP_BOX.min_y, CLIP_BOX.max_y);
    along_x || along_y
}

/// Clips a line and calls `on_piece` for each piece that has a length.
pub(super) fn line(
    path: &[TilePoint],
    piece: &mut Vec<TilePoint>,
    mut on_piece: impl FnMut(&[TilePoint]),
) {
    let mut finish = |piece: &mut Vec<TilePoint>| {
        if piece.len() > 1 {
            on_piece(piece);
        }
        piece.clear();
    };
    piece.clear();
    for edge in path.windows(2) {
        let Some((from, to)) = clip_edge(edge[0], edge[1]) else {
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

/// The part of an edge inside the box.
fn clip_edge(mut from: TilePoint, mut to: TilePoint) -> Option<(TilePoint, TilePoint)> {
    let mut clip = |limit: i64, is_x: bool, is_min: bool| {
        let is_outside = |p: TilePoint| {
            let value = if is_x { p.x } else { p.y };
            if is_min { value < limit } else { value > limit }
        };
        match (is_outside(from), is_outside(to)) {
            (false, false) => return true,
            (true, true) => return false,
            (from_is_outside, _) => {
                let crossing = if is_x { at_x(from, to, limit) } else { at_y(from, to, limit) };
                *(if from_is_outside { &mut from } else { &mut to }) = crossing;
            }
        }
        true
    };
    let is_visible = clip(CLIP_BOX.min_x, true, true)
        && clip(CLIP_BOX.max_x, true, false)
        && clip(CLIP_BOX.min_y, false, true)
        && clip(CLIP_BOX.max_y, false, false);
    is_visible.then_some((from, to))
}

fn at_x(a: TilePoint, b: TilePoint, x: i64) -> TilePoint {
    TilePoint { x, y: interpolate(a.y, b.y, x - a.x, b.x - a.x) }
}

fn at_y(a: TilePoint, b: TilePoint, y: i64) -> TilePoint {
    TilePoint { x: interpolate(a.x, b.x, y - a.y, b.y - a.y), y }
}

/// The value at `part` of `whole` between `a` and `b`, rounded.
fn interpolate(a: i64, b: i64, part: i64, whole: i64) -> i64 {
    let (distance, part, whole) = (i128::from(b - a), i128::from(part), i128::from(whole));
    // Makes the divisor positive: then a Euclidean division rounds down.
    let (product, whole) =
        if whole < 0 { (-distance * part, -whole) } else { (distance * part, whole) };
    a + (2 * product + whole).div_euclid(2 * whole) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(points: &[(i64, i64)]) -> Vec<TilePoint> {
        points.iter().map(|&(x, y)| TilePoint { x, y }).collect()
    }

    fn clip_ring(points: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut path = path(points);
        let bounds = super::super::transform::bounds_of(&path);
        ring(&mut path, &mut Vec::new(), bounds);
        path.iter().map(|point| (point.x, point.y)).collect()
    }

    fn clip_line(points: &[(i64, i64)]) -> Vec<Vec<(i64, i64)>> {
        let mut pieces = Vec::new();
        line(&path(points), &mut Vec::new(), |piece| {
            pieces.push(piece.iter().map(|point| (point.x, point.y)).collect());
        });
        pieces
    }

    #[test]
    fn ring_around_the_box_becomes_the_box() {
        let far = 1 << 40;
        let ring = clip_ring(&[(-far, -far), (far, -far), (far, far), (-far, far)]);
        assert_eq!(ring.len(), 4);
        for corner in [(-64, -64), (4160, -64), (4160, 4160), (-64, 4160)] {
            assert!(ring.contains(&corner), "{ring:?}");
        }
    }

    #[test]
    fn comb_across_a_border_keeps_its_teeth_without_spikes() {
        let ring = clip_ring(&[
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
        // Outside the border the ring runs ahead and comes back.
        let ring = clip_ring(&[(0, 0), (0, 50), (-100, 50), (-100, 900), (-200, 900), (-200, 0)]);
        assert_eq!(ring, [(-64, 0), (0, 0), (0, 50), (-64, 50)]);
    }

    #[test]
    fn ring_beside_the_box_has_no_area() {
        assert!(clip_ring(&[(-100, 0), (-70, 5), (-100, 9)]).len() < 3);
        assert!(clip_ring(&[(-100, 0), (-64, 5), (-100, 9)]).len() < 3);
    }

    #[test]
    fn line_is_clipped_to_the_pieces_inside() {
        assert_eq!(
            clip_line(&[(-100, 10), (10, 10), (10, 5000), (20, 5000), (20, 20)]),
            [vec![(-64, 10), (10, 10), (10, 4160)], vec![(20, 4160), (20, 20)]]
        );
        assert_eq!(clip_line(&[(-100, -100), (-64, -64)]), Vec::<Vec<_>>::new());
        assert_eq!(clip_line(&[(-200, 0), (0, -200)]), Vec::<Vec<_>>::new());
        assert_eq!(clip_line(&[(-1 << 40, 7), (1 << 40, 7)]), [[(-64, 7), (4160, 7)]]);
        assert_eq!(clip_line(&[(0, 0), (-64, 3), (0, 9)]), [[(0, 0), (-64, 3), (0, 9)]]);
    }

    #[test]
    fn edge_is_clipped_alike_in_both_directions() {
        let mut seed = 7_i64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            seed >> 40
        };
        for _ in 0..1_000 {
            let (a, b) = (TilePoint { x: next(), y: next() }, TilePoint { x: next(), y: next() });
            let forth = clip_edge(a, b);
            let back = clip_edge(b, a).map(|(from, to)| (to, from));
            // The second intersection starts from a rounded point and can differ by a unit.
            let is_near =
                |p: TilePoint, q: TilePoint| (p.x - q.x).abs() <= 1 && (p.y - q.y).abs() <= 1;
            match (forth, back) {
                (Some(forth), Some(back)) => {
                    assert!(is_near(forth.0, back.0) && is_near(forth.1, back.1));
                }
                (forth, back) => assert_eq!(forth, back),
            }
            if a.x != b.x {
                assert_eq!(at_x(a, b, 64), at_x(b, a, 64));
            }
        }
    }
}
