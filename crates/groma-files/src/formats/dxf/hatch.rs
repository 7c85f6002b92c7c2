//! The area of a HATCH. Its boundary consists of closed paths in any order; a path inside an odd number of others is
//! a hole.

use super::{
    curve::{Vertex, add_to_vertices, line_through},
    groups::Group,
};
use crate::source::{MAX_RINGS, MAX_VERTICES, too_many_vertices};
use groma_geo::{Geometry, Line, Message, Position, Rings, message};

/// The most comparisons of edges with rings, per position and in all.
const MAX_STEPS_PER_POSITION: usize = 1_000;
const MAX_STEPS: usize = 100_000_000;

/// The area at this height; `None` if there is no boundary, or if one of its paths consists of edges, which can be
/// splines.
pub(super) fn area(groups: &[Group], z: Option<f64>) -> Result<Option<Geometry>, Message> {
    let Some(paths) = paths(groups, z) else { return Ok(None) };
    let (mut rings, mut vertices) = (Vec::new(), 0);
    for path in paths {
        let ring = line_through(&path, true)?;
        vertices += ring.len();
        if vertices > MAX_VERTICES {
            return Err(too_many_vertices());
        }
        if ring.len() >= 4 {
            rings.push(ring);
        }
    }
    if rings.len() > MAX_RINGS {
        return Err(message!("exceeds the limit of {limit} rings per feature", limit = MAX_RINGS));
    }
    let mut polygons = polygons(rings)?;
    Ok(match polygons.len() {
        0 => None,
        1 => polygons.pop().map(Geometry::Polygon),
        _ => Some(Geometry::MultiPolygon(polygons)),
    })
}

/// The vertices of the paths; `None` if one of them consists of edges.
fn paths(groups: &[Group], z: Option<f64>) -> Option<Vec<Vec<Vertex>>> {
    let from_count = groups.iter().skip_while(|group| group.code != 91);
    // The style or the seed points follow.
    let boundary = from_count.take_while(|group| !matches!(group.code, 75 | 98));
    let mut paths: Vec<Vec<Vertex>> = Vec::new();
    for group in boundary {
        match (group.code, paths.last_mut()) {
            (92, _) => {
                let flags: i64 = group.value.trim().parse().ok()?;
                if flags & 2 == 0 {
                    return None;
                }
                paths.push(Vec::new());
            }
            (_, Some(path)) => add_to_vertices(path, group, z),
            _ => {}
        }
    }
    Some(paths)
}

/// The polygons of rings that do not cross each other.
fn polygons(rings: Vec<Line>) -> Result<Vec<Rings>, Message> {
    let mut sized: Vec<(f64, Line)> = rings.into_iter().map(|ring| (size(&ring), ring)).collect();
    sized.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rings: Vec<Line> = sized.into_iter().map(|(_, ring)| ring).collect();
    let containers = containers(&rings)?;
    let mut polygons: Vec<Rings> = Vec::new();
    // The index of the polygon of each outer ring.
    let mut indexes: Vec<Option<usize>> = Vec::with_capacity(rings.len());
    for (ring, container) in rings.into_iter().zip(containers) {
        let outer = match container {
            Container { count, smallest: Some(smallest) } if count % 2 == 1 => indexes[smallest],
            _ => None,
        };
        match outer {
            Some(index) => {
                polygons[index].push(ring);
                indexes.push(None);
            }
            None => {
                indexes.push(Some(polygons.len()));
                polygons.push(vec![ring]);
            }
        }
    }
    Ok(polygons)
}

/// The rings around a ring.
#[derive(Clone, Copy, Default)]
struct Container {
    count: usize,
    /// The index of the smallest one.
    smallest: Option<usize>,
}

/// The rings around each ring, if the larger ones come first.
fn containers(rings: &[Line]) -> Result<Vec<Container>, Message> {
    let mut containers = vec![Container::default(); rings.len()];
    if rings.len() < 2 {
        return Ok(containers);
    }
    let probe = |(index, ring): (usize, &Line)| Some((inner_position(ring)?, index));
    let mut probes: Vec<((f64, f64), usize)> = rings.iter().enumerate().filter_map(probe).collect();
    probes.sort_by(|((_, a), _), ((_, b), _)| a.total_cmp(b));
    // The last ring to which a probe was compared, and whether it is inside of it.
    let mut compared = vec![(usize::MAX, false); rings.len()];
    let positions: usize = rings.iter().map(Vec::len).sum();
    let max_steps = MAX_STEPS.min(MAX_STEPS_PER_POSITION * positions);
    let mut steps = 0;
    for (outer, ring) in rings.iter().enumerate() {
        let mut touched = Vec::new();
        for edge in ring.windows(2) {
            let (low, high) = if edge[0].y <= edge[1].y { (0, 1) } else { (1, 0) };
            let (low, high) = (edge[low], edge[high]);
            let start = probes.partition_point(|((_, y), _)| *y < low.y);
            let end = probes.partition_point(|((_, y), _)| *y < high.y);
            steps += end - start;
            if steps > max_steps {
                return Err(message!("an entity is too large"));
            }
            for ((x, y), inner) in &probes[start..end] {
                let (inner, edge_x) = (*inner, x_at(low, high, *y));
                // A ring is never inside a smaller one.
                if inner <= outer || edge_x <= *x {
                    continue;
                }
                if compared[inner].0 != outer {
                    compared[inner] = (outer, false);
                    touched.push(inner);
                }
                compared[inner].1 = !compared[inner].1;
            }
        }
        for inner in touched {
            if compared[inner].1 {
                let count = containers[inner].count + 1;
                containers[inner] = Container { count, smallest: Some(outer) };
            }
        }
    }
    Ok(containers)
}

/// Where an edge that is not horizontal has this y.
fn x_at(low: Position, high: Position, y: f64) -> f64 {
    low.x + (high.x - low.x) * ((y - low.y) / (high.y - low.y))
}

/// A position inside a ring, which may touch others at its vertices; `None` if it has no area.
fn inner_position(ring: &Line) -> Option<(f64, f64)> {
    let mut heights: Vec<f64> = ring.iter().map(|at| at.y).collect();
    heights.sort_by(f64::total_cmp);
    let width = |pair: &&[f64]| pair[1] - pair[0];
    let step = heights.windows(2).max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let y = step[0].midpoint(step[1]);
    let crossing =
        |edge: &[Position]| ((edge[0].y > y) != (edge[1].y > y)).then(|| x_at(edge[0], edge[1], y));
    let mut crossings: Vec<f64> = ring.windows(2).filter_map(crossing).collect();
    crossings.sort_by(f64::total_cmp);
    let span = crossings.chunks_exact(2).max_by(|a, b| width(a).total_cmp(&width(b)))?;
    Some((span[0].midpoint(span[1]), y))
}

/// Twice the area.
fn size(ring: &Line) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    let edge = |edge: &[Position]| {
        let (a, b) = (edge[0], edge[1]);
        (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y)
    };
    ring.windows(2).map(edge).sum::<f64>().abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(x: f64, y: f64, size: f64) -> Line {
        let corners = [(x, y), (x + size, y), (x + size, y + size), (x, y + size), (x, y)];
        corners.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect()
    }

    #[test]
    fn every_second_ring_is_a_hole() {
        let (land, lake) = (square(0.0, 0.0, 100.0), square(0.0, 10.0, 50.0));
        let (island, pond) = (square(20.0, 20.0, 20.0), square(20.0, 25.0, 5.0));
        let (well, other) = (square(60.0, 60.0, 10.0), square(200.0, 0.0, 10.0));
        let rings = [&pond, &well, &lake, &land, &other, &island].map(Line::clone).to_vec();
        let expected = [vec![land, lake, well], vec![island, pond], vec![other]];
        assert_eq!(polygons(rings).unwrap(), expected);
    }

    #[test]
    fn ring_that_touches_another_one_with_all_vertices_is_inside_of_it() {
        let around = square(0.0, 0.0, 2.0);
        let corners = [(1.0, 0.0), (2.0, 1.0), (1.0, 2.0), (0.0, 1.0), (1.0, 0.0)];
        let diamond: Line = corners.map(|(x, y)| Position { x, y, z: None }).to_vec();
        let rings = vec![diamond.clone(), around.clone()];
        assert_eq!(polygons(rings).unwrap(), [vec![around, diamond]]);
    }
}
