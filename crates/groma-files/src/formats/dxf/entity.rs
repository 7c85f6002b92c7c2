//! The geometries and properties of entities.

use super::{
    curve::{ARC_STEP, Vertex, add_to_vertices, arc, close, line_through},
    groups::{Group, unescape, with_symbols},
    hatch,
};
use groma_geo::{Geometry, Line, Message, Position, message};
use serde_json::{Map, Value};
use std::f64::consts::TAU;

/// How far an extrusion direction of length 1 may be from the z axis.
const MAX_TILT: f64 = 1e-6;

/// An entity with its groups.
pub(super) struct Entity {
    pub(super) kind: String,
    pub(super) groups: Vec<Group>,
    /// The vertices of a POLYLINE, and the attributes of an INSERT.
    pub(super) parts: Vec<Entity>,
}

/// What an entity is in a layer.
pub(super) enum Shape {
    Geometry(Geometry),
    /// It has no geometry here, such as a dimension.
    Unsupported,
    /// It is not in a horizontal plane.
    Tilted,
}

/// The extrusion direction of an entity, which is the z axis of its coordinates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extrusion {
    Up,
    /// The drawing is seen from below: x and z are negative.
    Down,
    Tilted,
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
        if let Some(angle) = self.rotation() {
            properties.insert("rotation".to_owned(), crate::value::real(angle));
        }
        properties
    }

    /// The rotation of a text or a block in degrees.
    fn rotation(&self) -> Option<f64> {
        if !matches!(self.kind.as_str(), "TEXT" | "MTEXT" | "INSERT") {
            return None;
        }
        match self.extrusion() {
            Extrusion::Down => {
                Some((180.0 - self.number(50).unwrap_or_default()).rem_euclid(360.0))
            }
            Extrusion::Up | Extrusion::Tilted => self.number(50),
        }
    }

    /// The text; that of an MTEXT is in several groups.
    fn content(&self) -> String {
        let parts = self.groups.iter().filter(|group| matches!(group.code, 1 | 3));
        let text = unescape(&parts.map(|group| group.value.as_str()).collect::<String>());
        with_symbols(text).replace("\\P", "\n")
    }

    /// What the entity is in a layer, in world coordinates.
    pub(super) fn shape(&self) -> Result<Shape, Message> {
        let Some(mut geometry) = self.geometry()? else { return Ok(Shape::Unsupported) };
        match self.extrusion() {
            Extrusion::Tilted => return Ok(Shape::Tilted),
            // The positions of an ellipse are in world coordinates.
            Extrusion::Down if self.kind != "ELLIPSE" => geometry.each_position_mut(&mut |at| {
                // Unlike `-x`, this never results in -0.
                *at = Position { x: 0.0 - at.x, y: at.y, z: at.z.map(|z| 0.0 - z) };
            }),
            Extrusion::Down | Extrusion::Up => {}
        }
        Ok(Shape::Geometry(geometry))
    }

    fn extrusion(&self) -> Extrusion {
        let is_planar = match self.kind.as_str() {
            "LWPOLYLINE" | "CIRCLE" | "ARC" | "ELLIPSE" | "SOLID" | "TRACE" | "HATCH" | "TEXT"
            | "INSERT" => true,
            "POLYLINE" => self.flags() & 8 == 0,
            // Whatever their extrusion, the others are in world coordinates.
            _ => false,
        };
        if !is_planar {
            return Extrusion::Up;
        }
        let number = |code, default| self.number(code).unwrap_or(default);
        let (x, y, z) = (number(210, 0.0), number(220, 0.0), number(230, 1.0));
        if x.abs().max(y.abs()) > MAX_TILT * z.abs() {
            Extrusion::Tilted
        } else if z < 0.0 {
            Extrusion::Down
        } else {
            Extrusion::Up
        }
    }

    /// The geometry in the coordinates of the entity; `None` if it has none here.
    fn geometry(&self) -> Result<Option<Geometry>, Message> {
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
            "HATCH" => return hatch::area(&self.groups, self.height(30)),
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

    /// The vertices of an LWPOLYLINE.
    fn light_vertices(&self) -> Vec<Vertex> {
        let z = self.height(38);
        let mut vertices = Vec::new();
        self.groups.iter().for_each(|group| add_to_vertices(&mut vertices, group, z));
        vertices
    }

    fn vertices(&self) -> Vec<Vertex> {
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
        // Seen from below, the angles run clockwise.
        let side = if self.extrusion() == Extrusion::Down { -1.0 } else { 1.0 };
        let ratio = self.number(40)? * side;
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

/// A closed polyline is a polygon.
fn polyline(vertices: &[Vertex], is_closed: bool) -> Result<Geometry, Message> {
    let line = line_through(vertices, is_closed)?;
    Ok(match line.len() {
        4.. if is_closed => Geometry::Polygon(vec![line]),
        _ => Geometry::LineString(line),
    })
}
