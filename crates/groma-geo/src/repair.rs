//! What is put right in a geometry, because there is only one thing it can mean: longitudes beyond
//! ±180, shapes across the antimeridian, rings that turn the wrong way.
//!
//! What would need a guess is left alone. A line from 179 to −179 goes around the world, as RFC 7946
//! draws it; a polygon that crosses itself keeps its shape.

use crate::{Geometry, Line, Position, Rings};

/// The farthest longitude that is brought back, either way.
pub const MAX_LONGITUDE: f64 = 540.0;

/// The geometry within ±180, cut where it crosses the antimeridian, its outer rings counter-clockwise
/// and its holes clockwise. Its longitudes are within ±[`MAX_LONGITUDE`].
#[must_use]
pub fn put_right(geometry: Geometry) -> Geometry {
    match geometry {
        Geometry::Point(mut position) => {
            wrap(&mut position);
            Geometry::Point(position)
        }
        Geometry::MultiPoint(mut positions) => {
            positions.iter_mut().for_each(wrap);
            Geometry::MultiPoint(positions)
        }
        Geometry::LineString(line) => {
            one_or_many(lines(vec![line]), Geometry::LineString, Geometry::MultiLineString)
        }
        Geometry::MultiLineString(all) => Geometry::MultiLineString(lines(all)),
        Geometry::Polygon(rings) => {
            one_or_many(polygons(vec![rings]), Geometry::Polygon, Geometry::MultiPolygon)
        }
        Geometry::MultiPolygon(all) => Geometry::MultiPolygon(polygons(all)),
        Geometry::Collection(parts) => {
            Geometry::Collection(parts.into_iter().map(put_right).collect())
        }
    }
}

fn one_or_many<T>(
    mut parts: Vec<T>,
    one: fn(T) -> Geometry,
    many: fn(Vec<T>) -> Geometry,
) -> Geometry {
    match parts.pop() {
        Some(part) if parts.is_empty() => one(part),
        last => {
            parts.extend(last);
            many(parts)
        }
    }
}

fn lines(mut lines: Vec<Line>) -> Vec<Line> {
    if lines.iter().any(sticks_out) {
        for meridian in MERIDIANS {
            lines = lines.into_iter().flat_map(|line| cut_line(line, meridian)).collect();
        }
        lines.iter_mut().for_each(|line| bring_home([line]));
    }
    lines
}

fn polygons(mut polygons: Vec<Rings>) -> Vec<Rings> {
    if polygons.iter().flatten().any(sticks_out) {
        for meridian in MERIDIANS {
            polygons =
                polygons.into_iter().flat_map(|rings| cut_polygon(rings, meridian)).collect();
        }
        polygons.iter_mut().for_each(bring_home);
    }
    polygons.iter_mut().for_each(wind);
    polygons
}

/// Where one world ends and the next begins, within the longitudes that are brought back.
const MERIDIANS: [f64; 2] = [180.0, -180.0];

fn sticks_out(line: &Line) -> bool {
    line.iter().any(|at| at.x.abs() > 180.0)
}

fn wrap(at: &mut Position) {
    if at.x > 180.0 {
        at.x -= 360.0;
    } else if at.x < -180.0 {
        at.x += 360.0;
    }
}

/// Moves a part that lies within one world to the one between −180 and 180.
fn bring_home<'a>(lines: impl IntoIterator<Item = &'a mut Line>) {
    let lines: Vec<_> = lines.into_iter().collect();
    let east = lines.iter().flat_map(|line| line.iter()).any(|at| at.x > 180.0);
    let west = lines.iter().flat_map(|line| line.iter()).any(|at| at.x < -180.0);
    let shift = f64::from(i8::from(west) - i8::from(east)) * 360.0;
    lines.into_iter().flatten().for_each(|at| at.x += shift);
}

/// Where the way from `a` to `b` meets a meridian between them, or at one of them.
fn meet(a: Position, b: Position, meridian: f64) -> Position {
    if let Some(there) = [a, b].into_iter().find(|at| at.x == meridian) {
        return there;
    }
    let share = (meridian - a.x) / (b.x - a.x);
    let between = |a: f64, b: f64| a + share * (b - a);
    let z = a.z.zip(b.z).map(|(a, b)| between(a, b));
    Position { x: meridian, y: between(a.y, b.y), z }
}

/// The parts of a line on either side of a meridian, in its order.
fn cut_line(line: Line, meridian: f64) -> Vec<Line> {
    let mut parts = Vec::new();
    let mut part: Line = Vec::new();
    // On which side of the meridian the part is; none while it only ran along it.
    let mut side = None;
    for at in line {
        let here = (at.x != meridian).then_some(at.x > meridian);
        if side.is_some()
            && here.is_some()
            && side != here
            && let Some(last) = part.last().copied()
        {
            let turn = meet(last, at, meridian);
            if turn != last {
                part.push(turn);
            }
            parts.push(std::mem::replace(&mut part, vec![turn]));
        }
        side = here.or(side);
        part.push(at);
    }
    parts.push(part);
    parts
}

/// The parts of a polygon on either side of a meridian.
///
/// Where its rings meet the meridian, sorted from south to north, the meridian enters the polygon and
/// leaves it in turn. So every other piece between two such points is a new edge, on both sides; each
/// point ends one chain of old edges on each side, and following chain, new edge, chain around gives
/// the new rings. It holds for holes and for rings that cross themselves alike.
fn cut_polygon(mut rings: Rings, meridian: f64) -> Vec<Rings> {
    let reaches =
        |beyond: fn(&f64, &f64) -> bool| rings.iter().flatten().any(|at| beyond(&at.x, &meridian));
    if !(reaches(f64::lt) && reaches(f64::gt)) {
        return vec![rings];
    }
    let is_east = |at: &Position| at.x >= meridian;
    wind(&mut rings);
    let mut points: Vec<Point> = Vec::new();
    let mut sides = [Side::default(), Side::default()];
    for (index, ring) in rings.into_iter().enumerate() {
        let side_of = |at: &Position| usize::from(is_east(at));
        // Position 0 is the last one too.
        let count = ring.len().saturating_sub(1);
        let before = |at: usize| &ring[(at + count - 1) % count];
        let Some(first) = (0..count).find(|at| is_east(before(*at)) != is_east(&ring[*at])) else {
            let side = &mut sides[ring.first().map_or(0, side_of)];
            let rings = if index == 0 { &mut side.outers } else { &mut side.holes };
            rings.push(ring);
            continue;
        };
        let entry = points.len();
        let mut chain = Chain { start: entry, line: Vec::new(), end: entry };
        for index in (0..count).map(|step| (first + step) % count) {
            let (last, here) = (before(index), &ring[index]);
            if is_east(last) != is_east(here) {
                if index != first {
                    chain.end = points.len();
                    let next = Chain { start: points.len(), line: Vec::new(), end: entry };
                    sides[side_of(last)].chains.push(std::mem::replace(&mut chain, next));
                }
                let at = meet(*last, *here, meridian);
                points.push(Point { at, eastward: is_east(here) });
            }
            chain.line.push(*here);
        }
        sides[side_of(before(first))].chains.push(chain);
    }
    let partners = partners(&points);
    sides
        .into_iter()
        .flat_map(|mut side| {
            side.link(&points, &partners);
            side.into_polygons()
        })
        .collect()
}

/// Where a ring meets the meridian, and whether it goes east there.
struct Point {
    at: Position,
    eastward: bool,
}

/// For each point on the meridian the one at the other end of its new edge.
fn partners(points: &[Point]) -> Vec<usize> {
    let mut northward: Vec<usize> = (0..points.len()).collect();
    northward.sort_by(|a, b| points[*a].at.y.total_cmp(&points[*b].at.y));
    let mut ends = Vec::with_capacity(points.len());
    for here in northward.chunk_by(|a, b| points[*a].at.y == points[*b].at.y) {
        // Where two parts of the polygon touch, one ends and one begins in the same place. A ring
        // has its inside on the left, so the one that goes east is where the inside begins.
        let (mut begin, mut end): (Vec<usize>, Vec<usize>) =
            here.iter().partition(|point| points[**point].eastward);
        while let Some(next) = match ends.len() % 2 {
            0 => begin.pop().or_else(|| end.pop()),
            _ => end.pop().or_else(|| begin.pop()),
        } {
            ends.push(next);
        }
    }
    let mut partners = vec![0; points.len()];
    // Every ring comes back to where it began, so the number of points is even.
    for [south, north] in ends.as_chunks::<2>().0 {
        partners[*south] = *north;
        partners[*north] = *south;
    }
    partners
}

/// What lies on one side of a meridian.
#[derive(Default)]
struct Side {
    outers: Vec<Line>,
    holes: Vec<Line>,
    chains: Vec<Chain>,
    /// The southern end of each new edge, and the outer ring it belongs to.
    edges: Vec<(f64, usize)>,
}

/// A piece of a ring between two of the points where it meets the meridian.
struct Chain {
    start: usize,
    line: Line,
    end: usize,
}

impl Side {
    /// Makes outer rings of the chains and the new edges.
    fn link(&mut self, points: &[Point], partners: &[usize]) {
        let mut chain_at = vec![0; points.len()];
        for (index, chain) in self.chains.iter().enumerate() {
            chain_at[chain.start] = index;
            chain_at[chain.end] = index;
        }
        let mut used = vec![false; self.chains.len()];
        for first in 0..self.chains.len() {
            let mut ring = Vec::new();
            let mut point = self.chains[first].start;
            while !used[chain_at[point]] {
                let index = chain_at[point];
                used[index] = true;
                let Chain { start, line, end } = &self.chains[index];
                ring.push(points[point].at);
                // A polygon that crosses itself may have its chain the other way around.
                if point == *start {
                    ring.extend(line);
                    point = *end;
                } else {
                    ring.extend(line.iter().rev());
                    point = *start;
                }
                ring.push(points[point].at);
                let partner = partners[point];
                self.edges.push((points[point].at.y.min(points[partner].at.y), self.outers.len()));
                point = partner;
            }
            // What only touches the meridian, or runs along it, has nothing behind it.
            if let Some(start) = ring.first().copied()
                && ring.iter().any(|at| at.x != start.x)
            {
                ring.push(start);
                self.outers.push(without_repeats(ring));
            }
        }
    }

    /// The outer rings, each with the holes that lie in it.
    fn into_polygons(mut self) -> Vec<Rings> {
        self.edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        let boxes: Vec<[f64; 4]> = self.outers.iter().map(|ring| bounds(ring)).collect();
        let mut polygons: Vec<Rings> = self.outers.into_iter().map(|ring| vec![ring]).collect();
        let mut patience = PATIENCE;
        for hole in self.holes {
            let Some(at) = hole.first().copied() else { continue };
            // Straight behind the new edge that it faces, a hole is most often in that edge's ring.
            let faced = self.edges.partition_point(|(south, _)| *south <= at.y).saturating_sub(1);
            let likely = self.edges.get(faced).map_or(0, |(_, ring)| *ring);
            let found = std::iter::once(likely).chain(0..polygons.len()).find(|index| {
                let Some([west, south, east, north]) = boxes.get(*index) else { return false };
                let near = (west..=east).contains(&&at.x) && (south..=north).contains(&&at.y);
                let ring = &polygons[*index][0];
                patience = patience.saturating_sub(if near { ring.len() } else { 1 });
                patience == 0 || (near && encloses(ring, at))
            });
            let found = if patience == 0 { likely } else { found.unwrap_or(likely) };
            if let Some(polygon) = polygons.get_mut(found) {
                polygon.push(hole);
            }
        }
        polygons
    }
}

/// How many edges and boxes are looked at, at most, to find which part of a cut polygon a hole is
/// in. No map comes near; in a polygon made to take forever, holes go where they most likely are.
const PATIENCE: usize = 20_000_000;

/// A ring without positions that repeat the one before, as far as it stays a ring.
fn without_repeats(ring: Line) -> Line {
    let mut lean = ring.clone();
    lean.dedup();
    if lean.len() < 4 { ring } else { lean }
}

fn bounds(ring: &[Position]) -> [f64; 4] {
    let nowhere = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    ring.iter().fold(nowhere, |[west, south, east, north], at| {
        [west.min(at.x), south.min(at.y), east.max(at.x), north.max(at.y)]
    })
}

/// Whether a ring goes around a point an odd number of times.
fn encloses(ring: &[Position], at: Position) -> bool {
    ring.windows(2).fold(false, |inside, edge| {
        let (a, b) = (edge[0], edge[1]);
        let crosses =
            (a.y > at.y) != (b.y > at.y) && at.x < a.x + (at.y - a.y) / (b.y - a.y) * (b.x - a.x);
        inside != crosses
    })
}

/// Turns the outer ring counter-clockwise and the holes clockwise. A ring without area has no way
/// around and stays as it is.
fn wind(rings: &mut Rings) {
    for (index, ring) in rings.iter_mut().enumerate() {
        let area = doubled_area(ring);
        if (index == 0 && area < 0.0) || (index > 0 && area > 0.0) {
            ring.reverse();
        }
    }
}

/// Twice the area that a ring goes around, counter-clockwise being more than nothing. Reckoned from
/// its own first position, because small rings far from 0° would drown in rounding.
fn doubled_area(ring: &Line) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    ring.windows(2)
        .map(|edge| {
            let (a, b) = (edge[0], edge[1]);
            (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(positions: &[(f64, f64)]) -> Line {
        positions.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect()
    }

    fn ring(positions: &[(f64, f64)]) -> Line {
        let mut ring = line(positions);
        ring.push(ring[0]);
        ring
    }

    fn square(west: f64, south: f64, east: f64, north: f64) -> Line {
        ring(&[(west, south), (east, south), (east, north), (west, north)])
    }

    fn cut(rings: Rings) -> Vec<Rings> {
        match put_right(Geometry::Polygon(rings)) {
            Geometry::Polygon(rings) => vec![rings],
            Geometry::MultiPolygon(polygons) => polygons,
            other => panic!("{other:?}"),
        }
    }

    fn area(polygons: &[Rings]) -> f64 {
        polygons.iter().flatten().map(doubled_area).sum::<f64>() / 2.0
    }

    fn box_of(rings: &Rings) -> [f64; 4] {
        bounds(&rings[0])
    }

    #[test]
    fn a_line_is_cut_at_every_crossing_and_nowhere_else() {
        for (whole, parts) in [
            (line(&[(170.0, 0.0), (180.0, 0.0)]), vec![line(&[(170.0, 0.0), (180.0, 0.0)])]),
            (line(&[(180.0, 0.0), (190.0, 0.0)]), vec![line(&[(-180.0, 0.0), (-170.0, 0.0)])]),
            (line(&[(-190.0, 0.0), (-181.0, 0.0)]), vec![line(&[(170.0, 0.0), (179.0, 0.0)])]),
            // Around the world, as RFC 7946 has it: no guess.
            (line(&[(179.0, 0.0), (-179.0, 0.0)]), vec![line(&[(179.0, 0.0), (-179.0, 0.0)])]),
            // Through a position on the meridian.
            (
                line(&[(170.0, 0.0), (180.0, 5.0), (190.0, 0.0)]),
                vec![line(&[(170.0, 0.0), (180.0, 5.0)]), line(&[(-180.0, 5.0), (-170.0, 0.0)])],
            ),
            // There, along it, and back; then across.
            (
                line(&[(170.0, 0.0), (180.0, 1.0), (180.0, 2.0), (170.0, 3.0), (190.0, 5.0)]),
                vec![
                    line(&[(170.0, 0.0), (180.0, 1.0), (180.0, 2.0), (170.0, 3.0), (180.0, 4.0)]),
                    line(&[(-180.0, 4.0), (-170.0, 5.0)]),
                ],
            ),
            // From one world through the next into the third.
            (
                line(&[(-200.0, 0.0), (200.0, 40.0)]),
                vec![
                    line(&[(160.0, 0.0), (180.0, 2.0)]),
                    line(&[(-180.0, 2.0), (180.0, 38.0)]),
                    line(&[(-180.0, 38.0), (-160.0, 40.0)]),
                ],
            ),
        ] {
            let expected = one_or_many(parts, Geometry::LineString, Geometry::MultiLineString);
            assert_eq!(put_right(Geometry::LineString(whole)), expected);
        }
    }

    #[test]
    fn heights_at_a_cut_lie_between() {
        let high = |x, z| Position { x, y: 0.0, z };
        let whole = vec![high(170.0, Some(10.0)), high(190.0, Some(20.0)), high(170.0, None)];
        let Geometry::MultiLineString(parts) = put_right(Geometry::LineString(whole)) else {
            panic!()
        };
        assert_eq!(parts[1][0], high(-180.0, Some(15.0)));
        assert_eq!(parts[2][0], high(180.0, None));
    }

    #[test]
    fn a_comb_falls_into_its_teeth() {
        // Its back is west of the meridian, three teeth reach across.
        let comb = ring(&[
            (170.0, 0.0),
            (190.0, 0.0),
            (190.0, 1.0),
            (175.0, 1.0),
            (175.0, 2.0),
            (190.0, 2.0),
            (190.0, 3.0),
            (175.0, 3.0),
            (175.0, 4.0),
            (190.0, 4.0),
            (190.0, 5.0),
            (170.0, 5.0),
        ]);
        let whole = area(&[vec![comb.clone()]]);
        let parts = cut(vec![comb]);
        assert_eq!(parts.len(), 4);
        assert_eq!(box_of(&parts[0]), [170.0, 0.0, 180.0, 5.0]);
        let mut teeth: Vec<_> = parts[1..].iter().map(box_of).collect();
        teeth.sort_by(|a, b| a[1].total_cmp(&b[1]));
        assert_eq!(teeth, [0.0, 2.0, 4.0].map(|south| [-180.0, south, -170.0, south + 1.0]));
        assert!((area(&parts) - whole).abs() < 1e-9);
    }

    #[test]
    fn holes_are_cut_too_or_stay_in_their_part() {
        let parts = cut(vec![
            square(170.0, 0.0, 190.0, 10.0),
            square(175.0, 4.0, 185.0, 6.0),
            square(171.0, 1.0, 172.0, 2.0),
            square(188.0, 8.0, 189.0, 9.0),
        ]);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(area(&parts), 200.0 - 20.0 - 2.0);

        // A horseshoe open to the east, with a hole in each of the two parts beyond the meridian.
        let horseshoe = ring(&[
            (170.0, 0.0),
            (190.0, 0.0),
            (190.0, 4.0),
            (175.0, 4.0),
            (175.0, 6.0),
            (190.0, 6.0),
            (190.0, 10.0),
            (170.0, 10.0),
        ]);
        let low = square(182.0, 1.0, 184.0, 2.0);
        let high = square(182.0, 8.0, 184.0, 9.0);
        let parts = cut(vec![horseshoe, high, low]);
        assert_eq!(parts.len(), 3);
        for rings in &parts[1..] {
            let ([_, south, _, north], [_, low, _, high]) = (box_of(rings), bounds(&rings[1]));
            assert!(rings.len() == 2 && south < low && high < north, "{rings:?}");
        }
    }

    #[test]
    fn a_polygon_that_only_touches_the_meridian_stays_one() {
        for (whole, [west, east]) in [
            (square(170.0, 0.0, 180.0, 10.0), [170.0, 180.0]),
            (square(180.0, 0.0, 190.0, 10.0), [-180.0, -170.0]),
            (ring(&[(181.0, 0.0), (182.0, 1.0), (180.0, 2.0)]), [-180.0, -178.0]),
            (ring(&[(178.0, 0.0), (180.0, 1.0), (178.0, 2.0)]), [178.0, 180.0]),
        ] {
            let Geometry::Polygon(rings) = put_right(Geometry::Polygon(vec![whole])) else {
                panic!()
            };
            let bounds = box_of(&rings);
            assert_eq!([bounds[0], bounds[2]], [west, east]);
        }
        // One that sticks out elsewhere and touches with a corner here.
        let touching = ring(&[(-190.0, 0.0), (-180.0, 1.0), (-190.0, 2.0)]);
        assert_eq!(cut(vec![touching]), [vec![ring(&[(170.0, 0.0), (180.0, 1.0), (170.0, 2.0)])]]);
    }

    #[test]
    fn parts_that_touch_on_the_meridian_become_two() {
        // A notch from the west reaches the meridian in a corner and goes no farther.
        let notched =
            ring(&[(190.0, 0.0), (190.0, 20.0), (170.0, 20.0), (180.0, 10.0), (170.0, 0.0)]);
        for turned in [notched.iter().rev().copied().collect(), notched] {
            let parts = cut(vec![turned]);
            let mut boxes: Vec<_> = parts.iter().map(box_of).collect();
            boxes.sort_by(|a, b| (a[0], a[1]).partial_cmp(&(b[0], b[1])).unwrap());
            let [east, south, north] = [
                [-180.0, 0.0, -170.0, 20.0],
                [170.0, 0.0, 180.0, 10.0],
                [170.0, 10.0, 180.0, 20.0],
            ];
            assert_eq!(boxes, [east, south, north]);
            assert_eq!(area(&parts), 300.0);
        }
    }

    #[test]
    fn a_polygon_wider_than_the_world_is_cut_twice() {
        let parts = cut(vec![square(-190.0, 0.0, 190.0, 10.0)]);
        assert_eq!(parts.len(), 3);
        assert_eq!(area(&parts), 3800.0);
    }

    #[test]
    fn a_ring_without_area_stays_as_it_is() {
        let flat = ring(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]);
        assert_eq!(cut(vec![flat.clone(), flat.clone()]), [vec![flat.clone(), flat]]);
        let across = cut(vec![ring(&[(170.0, 0.0), (190.0, 0.0), (170.0, 0.0)])]);
        assert!(across.len() == 2 && across.iter().flatten().all(|ring| ring.len() >= 4));
    }

    #[test]
    fn small_rings_far_away_turn_the_right_way() {
        let tiny = square(179.999_999, 89.999_999, 179.999_999_1, 89.999_999_1);
        let mut turned = tiny.clone();
        turned.reverse();
        assert_eq!(cut(vec![turned]), [vec![tiny]]);
    }

    /// A ring around a centre, at these distances from it: it never crosses itself.
    fn star((x, y): (f64, f64), distances: &[f64]) -> Line {
        let step = std::f64::consts::TAU / distances.len() as f64;
        let corners: Vec<_> = (0..)
            .zip(distances)
            .map(|(index, far)| {
                let angle = step * f64::from(index);
                (x + far * angle.cos(), y + far * angle.sin())
            })
            .collect();
        ring(&corners)
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_a_cut(
            centre in (-300.0..300.0, -20.0..20.0),
            // With fewer corners it might pass its centre closer than the hole does.
            outer in prop::collection::vec(20.0..60.0, 6..12),
            hole in prop::collection::vec(1.0..9.0, 3..12),
            whole_degrees in any::<bool>(),
        ) {
            let mut rings = vec![star(centre, &outer), star(centre, &hole)];
            if whole_degrees {
                // Corners that lie on the meridian exactly.
                rings[0].iter_mut().for_each(|at| at.x = at.x.round());
            }
            wind(&mut rings);
            let whole = area(&[rings.clone()]);
            let parts = cut(rings);
            prop_assert!((area(&parts) - whole).abs() < 1e-6);
            for ring in parts.iter().flatten() {
                prop_assert!(ring.len() >= 4 && ring.first() == ring.last());
                prop_assert!(ring.iter().all(|at| at.x.abs() <= 180.0));
            }
            let once = Geometry::MultiPolygon(parts);
            prop_assert_eq!(put_right(once.clone()), once);
        }

        #[test]
        fn any_ring_however_tangled_is_cut(
            corners in prop::collection::vec(
                (prop_oneof![-540.0..540.0, Just(180.0), Just(-180.0)], -90.0..90.0), 3..20),
        ) {
            for ring in cut(vec![ring(&corners)]).iter().flatten() {
                prop_assert!(ring.len() >= 4 && ring.first() == ring.last());
                prop_assert!(ring.iter().all(|at| at.x.abs() <= 180.0));
            }
        }
    }
}
