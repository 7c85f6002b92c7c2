//! Lines with arcs. An arc becomes a line with a vertex at least every few degrees.

use super::groups::Group;
use crate::source::{MAX_VERTICES, too_many_vertices};
use groma_geo::{Line, Message, Position};
use std::f64::consts::TAU;

/// The most degrees between the vertices of an arc.
pub(super) const ARC_STEP: f64 = TAU / 90.0;

/// A vertex, and the bulge of the segment after it.
pub(super) type Vertex = (Position, f64);

/// Adds a group of a vertex whose coordinates and bulge follow each other.
pub(super) fn add_to_vertices(vertices: &mut Vec<Vertex>, group: &Group, z: Option<f64>) {
    let Some(number) = group.number() else { return };
    match (group.code, vertices.last_mut()) {
        (10, _) => vertices.push((Position { x: number, y: 0.0, z }, 0.0)),
        (20, Some((at, _))) => at.y = number,
        (42, Some((_, bulge))) => *bulge = number,
        _ => {}
    }
}

/// The line through vertices. If it is closed, it ends where it starts.
pub(super) fn line_through(vertices: &[Vertex], is_closed: bool) -> Result<Line, Message> {
    let mut line = Line::new();
    let ends = vertices.iter().skip(1).chain(vertices.first().filter(|_| is_closed));
    for ((start, bulge), (end, _)) in vertices.iter().zip(ends) {
        line.push(*start);
        if *bulge != 0.0 {
            line.extend(bulge_arc(*start, *end, *bulge));
        }
        if line.len() > MAX_VERTICES {
            return Err(too_many_vertices());
        }
    }
    match is_closed {
        true => close(&mut line),
        false => line.extend(vertices.last().map(|(at, _)| *at)),
    }
    Ok(line)
}

/// The vertices between the ends of an arc. The bulge is the tangent of a quarter of its angle.
fn bulge_arc(start: Position, end: Position, bulge: f64) -> Line {
    let sweep = 4.0 * bulge.atan();
    let (dx, dy) = (end.x - start.x, end.y - start.y);
    let offset = (1.0 - bulge * bulge) / (4.0 * bulge);
    let centre = ((start.x + end.x) / 2.0 - dy * offset, (start.y + end.y) / 2.0 + dx * offset);
    let radius = (start.x - centre.0).hypot(start.y - centre.1);
    let first = (start.y - centre.1).atan2(start.x - centre.0);
    let steps = (sweep.abs() / ARC_STEP).ceil().clamp(1.0, 1_000.0) as usize;
    let at = |step: usize| {
        let angle = first + sweep * step as f64 / steps as f64;
        Position {
            x: centre.0 + radius * angle.cos(),
            y: centre.1 + radius * angle.sin(),
            z: start.z,
        }
    };
    (1..steps).map(at).collect()
}

/// An arc, or a circle, which ends exactly where it starts.
pub(super) fn arc(centre: Position, radius: f64, start: f64, sweep: f64) -> Line {
    let steps = (sweep / ARC_STEP).ceil().clamp(1.0, 1_000.0) as usize;
    let at = |step: usize| {
        // The last vertex of a circle is exactly the first.
        let angle = start
            + if step == steps && sweep == TAU { 0.0 } else { sweep * step as f64 / steps as f64 };
        Position {
            x: centre.x + radius * angle.cos(),
            y: centre.y + radius * angle.sin(),
            z: centre.z,
        }
    };
    (0..=steps).map(at).collect()
}

/// Ends a line where it starts.
pub(super) fn close(ring: &mut Line) {
    if let (Some(first), Some(last)) = (ring.first().copied(), ring.last())
        && (first.x, first.y) != (last.x, last.y)
    {
        ring.push(first);
    }
}
