//! Splits lines and polygons whose longitudes exceed ±180 and shifts the parts into ±180.

use super::fix_winding;
use crate::{Line, Position, Rings};

/// Where shapes are split. Longitudes up to ±540 cross no other antimeridian.
const MERIDIANS: [f64; 2] = [180.0, -180.0];
/// The most edges and bounding boxes that are checked to find the parts that holes belong to. Real
/// maps stay far below. Beyond it, a hole goes into the part to which it most likely belongs.
const MAX_HOLE_CHECKS: usize = 20_000_000;

pub(super) fn split_lines(mut lines: Vec<Line>) -> Vec<Line> {
    if lines.iter().any(exceeds_180) {
        for meridian in MERIDIANS {
            lines = lines.into_iter().flat_map(|line| split_line(line, meridian)).collect();
        }
        lines.iter_mut().for_each(|line| shift_into_180([line]));
    }
    lines
}

pub(super) fn split_polygons(mut polygons: Vec<Rings>) -> Vec<Rings> {
    if polygons.iter().flatten().any(exceeds_180) {
        for meridian in MERIDIANS {
            polygons =
                polygons.into_iter().flat_map(|rings| split_polygon(rings, meridian)).collect();
        }
        polygons.iter_mut().for_each(shift_into_180);
    }
    polygons
}

fn exceeds_180(line: &Line) -> bool {
    line.iter().any(|at| at.x.abs() > 180.0)
}

/// Shifts lines that lie entirely beyond one of the meridians by 360 degrees.
fn shift_into_180<'a>(lines: impl IntoIterator<Item = &'a mut Line>) {
    let lines: Vec<_> = lines.into_iter().collect();
    let is_east = lines.iter().flat_map(|line| line.iter()).any(|at| at.x > 180.0);
    let is_west = lines.iter().flat_map(|line| line.iter()).any(|at| at.x < -180.0);
    let shift = f64::from(i8::from(is_west) - i8::from(is_east)) * 360.0;
    lines.into_iter().flatten().for_each(|at| at.x += shift);
}

/// Where the edge from `a` to `b` crosses or touches the meridian.
fn intersection(a: Position, b: Position, meridian: f64) -> Position {
    if let Some(end) = [a, b].into_iter().find(|at| at.x == meridian) {
        return end;
    }
    let share = (meridian - a.x) / (b.x - a.x);
    let between = |a: f64, b: f64| a + share * (b - a);
    let z = a.z.zip(b.z).map(|(a, b)| between(a, b));
    Position { x: meridian, y: between(a.y, b.y), z }
}

/// The parts of a line on either side of the meridian, in order.
fn split_line(line: Line, meridian: f64) -> Vec<Line> {
    let mut parts = Vec::new();
    let mut part: Line = Vec::new();
    // Whether the part lies east of the meridian; `None` while it only runs along it.
    let mut part_is_east = None;
    for at in line {
        let is_east = (at.x != meridian).then_some(at.x > meridian);
        if part_is_east.is_some()
            && is_east.is_some()
            && part_is_east != is_east
            && let Some(last) = part.last().copied()
        {
            let crossing = intersection(last, at, meridian);
            if crossing != last {
                part.push(crossing);
            }
            parts.push(std::mem::replace(&mut part, vec![crossing]));
        }
        part_is_east = is_east.or(part_is_east);
        part.push(at);
    }
    parts.push(part);
    parts
}

/// The parts of a polygon on either side of the meridian.
///
/// The crossings of the rings with the meridian, sorted from south to north, alternately enter and
/// leave the polygon. So each crossing is paired with a neighbour by a new edge along the meridian,
/// the same on both sides. On each side, every crossing is also the end of one chain of old edges.
/// Following chain, new edge, chain and so on gives the new rings. This works for holes and for rings
/// that cross themselves too.
fn split_polygon(mut rings: Rings, meridian: f64) -> Vec<Rings> {
    let reaches =
        |beyond: fn(&f64, &f64) -> bool| rings.iter().flatten().any(|at| beyond(&at.x, &meridian));
    if !(reaches(f64::lt) && reaches(f64::gt)) {
        return vec![rings];
    }
    fix_winding(&mut rings);
    let mut crossings: Vec<Crossing> = Vec::new();
    let mut sides = [Side::default(), Side::default()];
    for (index, ring) in rings.into_iter().enumerate() {
        split_ring(ring, index > 0, meridian, &mut crossings, &mut sides);
    }
    let partners = pair_crossings(&crossings);
    sides
        .into_iter()
        .flat_map(|mut side| {
            side.link_chains(&crossings, &partners);
            side.into_polygons()
        })
        .collect()
}

/// Adds a ring to the side on which it lies, or its crossings and chains if it crosses the meridian.
fn split_ring(
    ring: Line,
    is_hole: bool,
    meridian: f64,
    crossings: &mut Vec<Crossing>,
    sides: &mut [Side; 2],
) {
    let is_east = |at: &Position| at.x >= meridian;
    let side_of = |at: &Position| usize::from(is_east(at));
    // The last position repeats the first.
    let count = ring.len().saturating_sub(1);
    let before = |at: usize| &ring[(at + count - 1) % count];
    let Some(start) = (0..count).find(|at| is_east(before(*at)) != is_east(&ring[*at])) else {
        let side = &mut sides[ring.first().map_or(0, side_of)];
        let rings = if is_hole { &mut side.holes } else { &mut side.outers };
        rings.push(ring);
        return;
    };
    let first_crossing = crossings.len();
    let mut chain = Chain { start: first_crossing, line: Vec::new(), end: first_crossing };
    for index in (0..count).map(|step| (start + step) % count) {
        let (last, here) = (before(index), &ring[index]);
        if is_east(last) != is_east(here) {
            if index != start {
                chain.end = crossings.len();
                let next = Chain { start: chain.end, line: Vec::new(), end: first_crossing };
                sides[side_of(last)].chains.push(std::mem::replace(&mut chain, next));
            }
            let at = intersection(*last, *here, meridian);
            crossings.push(Crossing { at, is_eastward: is_east(here) });
        }
        chain.line.push(*here);
    }
    sides[side_of(before(start))].chains.push(chain);
}

/// Where a ring crosses the meridian, and in which direction.
struct Crossing {
    at: Position,
    is_eastward: bool,
}

/// For each crossing, the one at the other end of its new edge.
fn pair_crossings(crossings: &[Crossing]) -> Vec<usize> {
    let mut northward: Vec<usize> = (0..crossings.len()).collect();
    northward.sort_by(|a, b| crossings[*a].at.y.total_cmp(&crossings[*b].at.y));
    let mut ends = Vec::with_capacity(crossings.len());
    for same_y in northward.chunk_by(|a, b| crossings[*a].at.y == crossings[*b].at.y) {
        // Where two parts of the polygon touch, one edge ends and another begins at the same point.
        // Rings have their inside on the left, so an eastward crossing begins an edge.
        let (mut begins, mut stops): (Vec<usize>, Vec<usize>) =
            same_y.iter().partition(|index| crossings[**index].is_eastward);
        while let Some(next) = match ends.len() % 2 {
            0 => begins.pop().or_else(|| stops.pop()),
            _ => stops.pop().or_else(|| begins.pop()),
        } {
            ends.push(next);
        }
    }
    let mut partners = vec![0; crossings.len()];
    // Every ring is closed, so the number of crossings is even.
    for [south, north] in ends.as_chunks::<2>().0 {
        partners[*south] = *north;
        partners[*north] = *south;
    }
    partners
}

/// Everything on one side of the meridian.
#[derive(Default)]
struct Side {
    outers: Vec<Line>,
    holes: Vec<Line>,
    chains: Vec<Chain>,
    /// The latitude of the southern end of each new edge, and the index of its outer ring.
    edges: Vec<(f64, usize)>,
}

/// The part of a ring between two crossings, given by their indexes.
struct Chain {
    start: usize,
    line: Line,
    end: usize,
}

impl Side {
    /// Joins the chains and the new edges to outer rings.
    fn link_chains(&mut self, crossings: &[Crossing], partners: &[usize]) {
        let mut chain_at = vec![0; crossings.len()];
        for (index, chain) in self.chains.iter().enumerate() {
            chain_at[chain.start] = index;
            chain_at[chain.end] = index;
        }
        let mut is_used = vec![false; self.chains.len()];
        for first in 0..self.chains.len() {
            let mut ring = Vec::new();
            let mut crossing = self.chains[first].start;
            while !is_used[chain_at[crossing]] {
                let index = chain_at[crossing];
                is_used[index] = true;
                let Chain { start, line, end } = &self.chains[index];
                ring.push(crossings[crossing].at);
                // In a polygon that crosses itself, a chain can be reversed.
                if crossing == *start {
                    ring.extend(line);
                    crossing = *end;
                } else {
                    ring.extend(line.iter().rev());
                    crossing = *start;
                }
                let at = crossings[crossing].at;
                ring.push(at);
                crossing = partners[crossing];
                self.edges.push((at.y.min(crossings[crossing].at.y), self.outers.len()));
            }
            // A ring that only touches the meridian or runs along it has no part on this side.
            if let Some(start) = ring.first().copied()
                && ring.iter().any(|at| at.x != start.x)
            {
                ring.push(start);
                self.outers.push(without_repeats(ring));
            }
        }
    }

    /// The outer rings, each with its holes.
    fn into_polygons(mut self) -> Vec<Rings> {
        self.edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        let boxes: Vec<[f64; 4]> = self.outers.iter().map(|ring| bounds(ring)).collect();
        let mut polygons: Vec<Rings> = self.outers.into_iter().map(|ring| vec![ring]).collect();
        let mut checks_left = MAX_HOLE_CHECKS;
        for hole in self.holes {
            let Some(at) = hole.first().copied() else { continue };
            // Most holes belong to the ring of the new edge at their latitude.
            let edge = self.edges.partition_point(|(south, _)| *south <= at.y).saturating_sub(1);
            let likely = self.edges.get(edge).map_or(0, |(_, ring)| *ring);
            let found = std::iter::once(likely).chain(0..polygons.len()).find(|index| {
                let Some([west, south, east, north]) = boxes.get(*index) else { return false };
                let is_near = (west..=east).contains(&&at.x) && (south..=north).contains(&&at.y);
                let ring = &polygons[*index][0];
                checks_left = checks_left.saturating_sub(if is_near { ring.len() } else { 1 });
                checks_left == 0 || (is_near && contains_point(ring, at))
            });
            let found = if checks_left == 0 { likely } else { found.unwrap_or(likely) };
            if let Some(polygon) = polygons.get_mut(found) {
                polygon.push(hole);
            }
        }
        polygons
    }
}

/// Removes repeated positions unless the ring would become too short.
fn without_repeats(ring: Line) -> Line {
    let mut deduplicated = ring.clone();
    deduplicated.dedup();
    if deduplicated.len() < 4 { ring } else { deduplicated }
}

pub(super) fn bounds(ring: &[Position]) -> [f64; 4] {
    let empty = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    ring.iter().fold(empty, |[west, south, east, north], at| {
        [west.min(at.x), south.min(at.y), east.max(at.x), north.max(at.y)]
    })
}

/// Whether a point lies inside a ring, by the even-odd rule.
fn contains_point(ring: &[Position], at: Position) -> bool {
    ring.windows(2).fold(false, |is_inside, edge| {
        let (a, b) = (edge[0], edge[1]);
        let crosses =
            (a.y > at.y) != (b.y > at.y) && at.x < a.x + (at.y - a.y) / (b.y - a.y) * (b.x - a.x);
        is_inside != crosses
    })
}
