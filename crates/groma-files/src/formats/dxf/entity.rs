//! The geometries of entities. Curves become lines with a vertex at least every few degrees.

use super::groups::{Group, unescape};
use crate::source::{MAX_VERTICES, too_many_vertices};
use groma_geo::{Geometry, Line, Message, Position, message};
use serde_json::{Map, Value};
use std::f64::consts::TAU;

/// The most degrees between the vertices of an arc.
const ARC_STEP: f64 = TAU / 90.0;

/// An entity with its groups.
pub(super) struct Entity {
    pub(super) kind: String,
    pub(super) groups: Vec<Group>,
    /// The vertices of a POLYLINE, and the attributes of an INSERT.
    pub(super) parts: Vec<Entity>,
}

impl Entity {
    pub(super) fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), groups: Vec::new(), parts: Vec::new() }
    }

    fn text(&self, code: i32) -> Option<&str> {
        self.groups.iter().find(|group| group.code == code).map(|group| group.value.trim())
    }

    fn number(&self, code: i32) -> Option<f64> {
        self.groups.iter().find(|group| group.code == code)?.number()
    }

    fn flags(&self) -> i64 {
        self.text(70).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// The position whose x has this code.
    fn position(&self, code: i32) -> Option<Position> {
        let (x, y) = (self.number(code)?, self.number(code + 10)?);
        Some(Position { x, y, z: self.height(code + 20) })
    }

    /// A height. Two-dimensional drawings have zeros, which say nothing.
    fn height(&self, code: i32) -> Option<f64> {
        self.number(code).filter(|z| *z != 0.0)
    }

    /// Layer, type, text, block and so on.
    pub(super) fn properties(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut set = |name: &str, text: Option<String>| {
            if let Some(text) = text {
                properties.insert(name.to_owned(), Value::String(text));
            }
        };
        set("layer", Some(unescape(self.text(8).unwrap_or("0"))));
        set("entity", Some(self.kind.clone()));
        set("handle", self.text(5).map(str::to_owned));
        set("linetype", self.text(6).map(str::to_owned));
        match self.kind.as_str() {
            "TEXT" | "MTEXT" | "ATTDEF" => set("text", Some(self.content())),
            "INSERT" => set("block", self.text(2).map(unescape)),
            _ => {}
        }
        for part in self.parts.iter().filter(|part| part.kind == "ATTRIB") {
            if let Some(tag) = part.text(2) {
                set(&unescape(tag), Some(part.content()));
            }
        }
        if let Some(color) = self.text(62).and_then(|text| text.parse::<i64>().ok()) {
            properties.insert("color".to_owned(), Value::from(color));
        }
        let rotation =
            matches!(self.kind.as_str(), "TEXT" | "MTEXT" | "INSERT").then(|| self.number(50));
        if let Some(angle) = rotation.flatten() {
            properties.insert("rotation".to_owned(), crate::value::real(angle));
        }
        properties
    }

    /// The text; that of an MTEXT is in several groups.
    fn content(&self) -> String {
        let parts = self.groups.iter().filter(|group| matches!(group.code, 1 | 3));
        unescape(&parts.map(|group| group.value.as_str()).collect::<String>()).replace("\\P", "\n")
    }

    /// The geometry; `None` for an entity that has none here, such as a dimension.
    pub(super) fn geometry(&self) -> Result<Option<Geometry>, Message> {
        let missing = || message!("the {kind} lacks coordinates", kind = self.kind.as_str());
        Ok(Some(match self.kind.as_str() {
            "POINT" | "TEXT" | "MTEXT" | "INSERT" => {
                Geometry::Point(self.position(10).ok_or_else(missing)?)
            }
            "LINE" => {
                let (start, end) = (
                    self.position(10).ok_or_else(missing)?,
                    self.position(11).ok_or_else(missing)?,
                );
                Geometry::LineString(level(vec![start, end]))
            }
            "LWPOLYLINE" => polyline(&self.light_vertices(), self.flags() & 1 != 0)?,
            // Meshes are surfaces in space.
            "POLYLINE" if self.flags() & (16 | 64) != 0 => return Ok(None),
            "POLYLINE" => polyline(&self.vertices(), self.flags() & 1 != 0)?,
            "CIRCLE" => {
                let centre = self.position(10).ok_or_else(missing)?;
                let radius = self.number(40).ok_or_else(missing)?;
                let mut ring = arc(centre, radius, 0.0, TAU);
                close(&mut ring);
                Geometry::Polygon(vec![ring])
            }
            "ARC" => {
                let centre = self.position(10).ok_or_else(missing)?;
                let radius = self.number(40).ok_or_else(missing)?;
                let start = self.number(50).ok_or_else(missing)?.to_radians();
                let end = self.number(51).ok_or_else(missing)?.to_radians();
                Geometry::LineString(arc(centre, radius, start, (end - start).rem_euclid(TAU)))
            }
            "ELLIPSE" => Geometry::LineString(self.ellipse().ok_or_else(missing)?),
            "SOLID" | "TRACE" | "3DFACE" => {
                let mut corners = [10, 11, 12, 13].map(|code| self.position(code)).to_vec();
                // The corners of a solid go in a zigzag.
                if self.kind != "3DFACE" {
                    corners.swap(2, 3);
                }
                let mut ring: Line = corners.into_iter().flatten().collect();
                ring.dedup_by_key(|at| (at.x, at.y));
                close(&mut ring);
                Geometry::Polygon(vec![level(ring)])
            }
            _ => return Ok(None),
        }))
    }

    /// The vertices of an LWPOLYLINE, with the bulge of the segment after each.
    fn light_vertices(&self) -> Vec<(Position, f64)> {
        let z = self.height(38);
        let mut vertices: Vec<(Position, f64)> = Vec::new();
        for group in &self.groups {
            let Some(number) = group.number() else { continue };
            match (group.code, vertices.last_mut()) {
                (10, _) => vertices.push((Position { x: number, y: 0.0, z }, 0.0)),
                (20, Some((at, _))) => at.y = number,
                (42, Some((_, bulge))) => *bulge = number,
                _ => {}
            }
        }
        vertices
    }

    fn vertices(&self) -> Vec<(Position, f64)> {
        let vertices =
            self.parts.iter().filter(|part| part.kind == "VERTEX" && part.flags() & 16 == 0);
        let vertex =
            |part: &Entity| Some((part.position(10)?, part.number(42).unwrap_or_default()));
        let has_heights = self.flags() & 8 != 0;
        let mut vertices: Vec<_> = vertices.filter_map(vertex).collect();
        if has_heights && vertices.iter().any(|(at, _)| at.z.is_some()) {
            vertices.iter_mut().for_each(|(at, _)| at.z = at.z.or(Some(0.0)));
        } else if !has_heights {
            let z = self.height(30);
            vertices.iter_mut().for_each(|(at, _)| at.z = z);
        }
        vertices
    }

    fn ellipse(&self) -> Option<Line> {
        let (centre, axis) = (self.position(10)?, self.position(11)?);
        let ratio = self.number(40)?;
        let (start, end) = (self.number(41).unwrap_or(0.0), self.number(42).unwrap_or(TAU));
        let sweep = if end - start >= TAU { TAU } else { (end - start).rem_euclid(TAU) };
        let steps = (sweep / ARC_STEP).ceil().clamp(1.0, 1_000.0) as usize;
        let at = |step: usize| {
            let angle = start + sweep * step as f64 / steps as f64;
            let (a, b) = (angle.cos(), angle.sin() * ratio);
            Position {
                x: centre.x + axis.x * a - axis.y * b,
                y: centre.y + axis.y * a + axis.x * b,
                z: centre.z,
            }
        };
        Some((0..=steps).map(at).collect())
    }
}

/// A line with heights at all vertices or at none.
fn level(mut line: Line) -> Line {
    if line.iter().any(|at| at.z.is_some()) {
        line.iter_mut().for_each(|at| at.z = at.z.or(Some(0.0)));
    }
    line
}

fn close(ring: &mut Line) {
    if let (Some(first), Some(last)) = (ring.first().copied(), ring.last())
        && (first.x, first.y) != (last.x, last.y)
    {
        ring.push(first);
    }
}

/// A closed polyline is a polygon.
fn polyline(vertices: &[(Position, f64)], is_closed: bool) -> Result<Geometry, Message> {
    if vertices.len() > MAX_VERTICES {
        return Err(too_many_vertices());
    }
    let mut line = Line::new();
    let ends = vertices.iter().skip(1).chain(vertices.first().filter(|_| is_closed));
    for ((start, bulge), (end, _)) in vertices.iter().zip(ends) {
        line.push(*start);
        if *bulge != 0.0 {
            line.extend(bulge_arc(*start, *end, *bulge));
        }
    }
    if !is_closed {
        line.extend(vertices.last().map(|(at, _)| *at));
        return Ok(Geometry::LineString(line));
    }
    close(&mut line);
    Ok(match line.len() {
        0..4 => Geometry::LineString(line),
        _ => Geometry::Polygon(vec![line]),
    })
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

fn arc(centre: Position, radius: f64, start: f64, sweep: f64) -> Line {
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
