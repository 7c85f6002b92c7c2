//! A hash of a geometry that is equal for all ways to write the same shape.

use crate::{Geometry, Line, Position, Rings};
use twox_hash::XxHash3_128;

/// The hash of a geometry. The order of parts, the direction of lines and rings, and where a ring begins make no
/// difference.
pub(super) fn of(geometry: &Geometry) -> [u64; 2] {
    match geometry {
        Geometry::Point(at) => hash(b'P', &bytes(std::iter::once(at))),
        Geometry::MultiPoint(positions) => {
            combine(b'p', positions.iter().map(|at| hash(b'P', &bytes(std::iter::once(at)))))
        }
        Geometry::LineString(line) => of_line(line),
        Geometry::MultiLineString(lines) => combine(b'l', lines.iter().map(of_line)),
        Geometry::Polygon(rings) => of_polygon(rings),
        Geometry::MultiPolygon(polygons) => combine(b'a', polygons.iter().map(of_polygon)),
        Geometry::Collection(parts) => combine(b'c', parts.iter().map(of)),
    }
}

/// The hash of a geometry and of texts.
pub(super) fn with_properties(geometry: &Geometry, texts: &[&str]) -> [u64; 2] {
    let texts = texts.iter().map(|text| hash(b'T', text.as_bytes()));
    combine_in_order(b'F', std::iter::once(of(geometry)).chain(texts))
}

fn of_line(line: &Line) -> [u64; 2] {
    let (forward, backward) = (bytes(line.iter()), bytes(line.iter().rev()));
    hash(b'L', forward.min(backward).as_slice())
}

fn of_polygon(rings: &Rings) -> [u64; 2] {
    let Some((outer, holes)) = rings.split_first() else { return hash(b'A', &[]) };
    let holes = combine(b'H', holes.iter().map(of_ring));
    combine_in_order(b'A', [of_ring(outer), holes])
}

fn of_ring(ring: &Line) -> [u64; 2] {
    let [open @ .., _] = ring.as_slice() else { return hash(b'R', &[]) };
    let key = |at: &Position| (at.x.to_bits(), at.y.to_bits(), at.z.map(f64::to_bits));
    let first = (0..open.len()).min_by_key(|index| key(&open[*index])).unwrap_or_default();
    let from_first = |index: usize| &open[(first + index) % open.len()];
    let forward = bytes((0..open.len()).map(from_first));
    let backward =
        bytes((0..open.len()).map(|index| from_first((open.len() - index) % open.len())));
    hash(b'R', forward.min(backward).as_slice())
}

fn bytes<'p>(positions: impl Iterator<Item = &'p Position>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for at in positions {
        // 0.0 and −0.0 are the same.
        bytes.extend((at.x + 0.0).to_le_bytes());
        bytes.extend((at.y + 0.0).to_le_bytes());
        bytes.push(u8::from(at.z.is_some()));
        bytes.extend(at.z.map(f64::to_le_bytes).into_iter().flatten());
    }
    bytes
}

/// The hash of parts whose order makes no difference.
fn combine(tag: u8, parts: impl Iterator<Item = [u64; 2]>) -> [u64; 2] {
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable();
    combine_in_order(tag, parts)
}

fn combine_in_order(tag: u8, parts: impl IntoIterator<Item = [u64; 2]>) -> [u64; 2] {
    let bytes: Vec<u8> = parts.into_iter().flatten().flat_map(u64::to_le_bytes).collect();
    hash(tag, &bytes)
}

fn hash(tag: u8, bytes: &[u8]) -> [u64; 2] {
    let hash = XxHash3_128::oneshot_with_seed(tag.into(), bytes);
    [hash as u64, (hash >> 64) as u64]
}
