//! Turns stored shapes into MVT geometries: reads, transforms, clips and writes them.

use super::{
    clip,
    mvt_commands::{Checkpoint, CommandWriter, MAX_FAST_RING},
    transform::{CLIP_BOX, TilePoint, Transform, bounds_of, doubled_area},
};
use crate::{
    coverage::Rectangle,
    grid::{EXTENT, GridBox, TileId},
    tile_shape::{
        encoding::{Encoding, GeomType, ShapeReader},
        is_small,
    },
};
use std::ops::Range;

/// Encodes the geometries of one tile. Its buffers are reused from shape to shape.
pub(super) struct GeometryEncoder {
    tile: TileId,
    writer: CommandWriter,
    path: Vec<TilePoint>,
    clip_buffer: Vec<TilePoint>,
    parts: Vec<Part>,
}

/// A geometry: the index of the part in its shape, its type, and where its commands are.
type Part = (u64, GeomType, Range<usize>);

/// The geometries of one shape.
#[derive(Clone, Copy)]
pub(super) struct EncodedGeometries<'a> {
    commands: &'a [u8],
    parts: &'a [Part],
}

impl<'a> EncodedGeometries<'a> {
    /// The index of the part in the shape, its type and its commands.
    pub(super) fn parts(self) -> impl Iterator<Item = (u64, GeomType, &'a [u8])> {
        let commands = self.commands;
        self.parts
            .iter()
            .map(move |(part, geom_type, range)| (*part, *geom_type, &commands[range.clone()]))
    }

    pub(super) fn is_empty(self) -> bool {
        self.parts.is_empty()
    }
}

impl GeometryEncoder {
    pub(super) fn new(tile: TileId) -> Self {
        Self {
            tile,
            writer: CommandWriter::new(),
            path: Vec::new(),
            clip_buffer: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Encodes a shape. The result is empty if the shape lies outside the tile or is damaged.
    pub(super) fn encode(&mut self, shape: &[u8]) -> EncodedGeometries<'_> {
        self.writer.clear();
        self.parts.clear();
        if self.encode_parts(shape).is_none() {
            self.parts.clear();
        }
        EncodedGeometries { commands: self.writer.commands(), parts: &self.parts }
    }

    /// Encodes a rectangle.
    pub(super) fn rectangle(&mut self, rectangle: &Rectangle) -> EncodedGeometries<'_> {
        let point = |(x, y)| TilePoint { x, y };
        self.writer.clear();
        self.parts.clear();
        self.writer.begin_geometry();
        self.writer.rectangle(point(rectangle.min), point(rectangle.max));
        self.parts.push((0, GeomType::Polygons, 0..self.writer.length()));
        EncodedGeometries { commands: self.writer.commands(), parts: &self.parts }
    }

    fn encode_parts(&mut self, shape: &[u8]) -> Option<()> {
        let mut shape = ShapeReader::new(shape)?;
        let transform = Transform::new(self.tile, shape.scale);
        let bounds = transform.bounds(shape.bounds);
        if !CLIP_BOX.intersects(bounds) {
            return Some(());
        }
        let corner = TilePoint { x: bounds.min_x, y: bounds.min_y };
        if shape.encoding == Encoding::Point {
            self.writer.begin_geometry();
            self.writer.points(&[corner]);
            self.parts.push((0, GeomType::Points, 0..self.writer.length()));
            return Some(());
        }
        let is_small = is_small(bounds);
        if shape.encoding == Encoding::BoundsOnly && !is_small {
            return None; // its detail level is missing
        }
        let is_inside = CLIP_BOX.contains(bounds);
        for part in 0..3 {
            let Some((geom_type, count)) = shape.next_part() else { break };
            let start = self.writer.length();
            self.writer.begin_geometry();
            match geom_type {
                _ if shape.encoding == Encoding::BoundsOnly => self.placeholder(geom_type, corner),
                GeomType::Points => self.points(&mut shape, transform, count)?,
                GeomType::Lines => self.lines(&mut shape, transform, count, is_inside)?,
                GeomType::Polygons if is_small => self.placeholder(geom_type, corner),
                GeomType::Polygons => self.polygons(&mut shape, transform, count, is_inside)?,
            }
            let end = self.writer.length();
            if end > start {
                self.parts.push((part, geom_type, start..end));
            }
            if geom_type == GeomType::Polygons {
                break; // the last part; the points of a small one are still unread
            }
        }
        Some(())
    }

    /// Draws a visible mark for a shape without size.
    fn placeholder(&mut self, geom_type: GeomType, at: TilePoint) {
        let at = TilePoint {
            x: at.x.clamp(CLIP_BOX.min_x, CLIP_BOX.max_x),
            y: at.y.clamp(CLIP_BOX.min_y, CLIP_BOX.max_y),
        };
        match geom_type {
            GeomType::Points => self.writer.points(&[at]),
            GeomType::Lines => self.writer.shortest_line(at),
            GeomType::Polygons => self.writer.small_square(at),
        }
    }

    fn points(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        count: u64,
    ) -> Option<()> {
        self.read_path(shape, transform, count)?;
        self.path.retain(|point| is_in_clip_box(*point));
        if !self.path.is_empty() {
            self.writer.points(&self.path);
        }
        Some(())
    }

    fn lines(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        count: u64,
        is_inside: bool,
    ) -> Option<()> {
        let start = self.writer.length();
        let mut collapsed = None;
        for _ in 0..count {
            let points = shape.path_header()?;
            self.read_path(shape, transform, points)?;
            match self.path[..] {
                [] => {}
                [point] if is_in_clip_box(point) => collapsed = collapsed.or(Some(point)),
                [_] => {}
                _ if is_inside => self.writer.line(&self.path),
                _ => {
                    clip::line(&self.path, &mut self.clip_buffer, |piece| self.writer.line(piece));
                }
            }
        }
        if self.writer.length() == start
            && let Some(point) = collapsed
        {
            self.placeholder(GeomType::Lines, point);
        }
        Some(())
    }

    fn polygons(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        count: u64,
        is_inside: bool,
    ) -> Option<()> {
        let start = self.writer.length();
        let mut outer: Option<OuterRing> = None;
        let mut collapsed = None;
        for _ in 0..count {
            let header = shape.path_header()?;
            let (is_hole, points) = (header & 1 == 1, header >> 1);
            if !is_hole {
                outer = None;
            }
            let checkpoint = self.writer.checkpoint();
            let fast =
                if is_inside { self.fast_ring(shape, transform, points, is_hole) } else { None };
            let result = match fast {
                Some(area) => RingResult::Drawn { area, is_clipped: false },
                None => self.any_ring(shape, transform, points, is_hole, is_inside)?,
            };
            match (result, &mut outer) {
                (RingResult::Drawn { area, .. }, _) if !is_hole => {
                    outer = Some(OuterRing { area, checkpoint });
                }
                (RingResult::Drawn { area, is_clipped }, Some(around)) => {
                    around.area -= area;
                    if around.area <= 0 {
                        // The tile lies in the hole, or the polygon has no width.
                        collapsed = collapsed.or((!is_clipped).then_some(self.writer.cursor()));
                        self.writer.rollback(around.checkpoint);
                        outer = None;
                    }
                }
                (RingResult::Drawn { .. }, None) => self.writer.rollback(checkpoint),
                (RingResult::Collapsed(point), _) => collapsed = collapsed.or(Some(point)),
                (RingResult::Outside, _) => {}
            }
        }
        if self.writer.length() == start
            && let Some(point) = collapsed
        {
            self.placeholder(GeomType::Polygons, point);
        }
        Some(())
    }

    /// Writes a ring in the clip box while it is read. This works for most rings: those with few
    /// points and the right winding order. Otherwise it returns `None` and changes nothing.
    #[inline]
    fn fast_ring(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        points: u64,
        is_hole: bool,
    ) -> Option<i64> {
        if points > MAX_FAST_RING {
            return None;
        }
        let mut ahead = *shape;
        let points = ahead.fixed_points(points)?.map(transform.fast_point()?);
        let checkpoint = self.writer.checkpoint();
        let area = self.writer.fast_ring(points).map(|area| if is_hole { -area } else { area });
        let area = area.filter(|area| *area > 0);
        match area {
            Some(_) => *shape = ahead,
            None => self.writer.rollback(checkpoint),
        }
        area
    }

    /// Writes any ring: clips, reverses and widens it if necessary.
    fn any_ring(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        points: u64,
        is_hole: bool,
        is_inside: bool,
    ) -> Option<RingResult> {
        self.read_path(shape, transform, points)?;
        while let [first, .., last] = self.path[..]
            && first == last
        {
            self.path.pop();
        }
        let mut is_clipped = false;
        if !is_inside {
            let bounds = bounds_of(&self.path);
            is_clipped = !CLIP_BOX.contains(bounds);
            if is_clipped {
                clip::ring(&mut self.path, &mut self.clip_buffer, bounds);
            }
        }
        let mut area = area_of(&self.path);
        if area == 0 {
            let bounds = bounds_of(&self.path);
            if is_hole || self.path.is_empty() || (is_clipped && is_along_border(bounds)) {
                return Some(RingResult::Outside);
            }
            if is_small(bounds) {
                let corner = TilePoint { x: bounds.min_x, y: bounds.min_y };
                return Some(RingResult::Collapsed(corner));
            }
            widen(&mut self.path);
            area = area_of(&self.path);
        }
        self.writer.ring(&self.path, (area < 0) != is_hole);
        Some(RingResult::Drawn { area: area.abs(), is_clipped })
    }

    /// Reads points into `path`, in tile units and without consecutive duplicates.
    fn read_path(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        count: u64,
    ) -> Option<()> {
        self.path.clear();
        shape.points(count, |x, y| {
            let point = transform.point(x, y);
            if self.path.last() != Some(&point) {
                self.path.push(point);
            }
        })
    }
}

/// The outer ring of the current polygon.
struct OuterRing {
    /// Twice its area, minus that of its holes so far.
    area: i64,
    /// The state before it was written.
    checkpoint: Checkpoint,
}

enum RingResult {
    /// The ring was written. `area` is twice its area.
    Drawn { area: i64, is_clipped: bool },
    /// The ring has no size in this tile.
    Collapsed(TilePoint),
    /// Nothing of the ring is in the tile.
    Outside,
}

fn is_in_clip_box(point: TilePoint) -> bool {
    CLIP_BOX.contains(GridBox { min_x: point.x, min_y: point.y, max_x: point.x, max_y: point.y })
}

/// Whether a shape with these bounds lies on one side of the clip box.
fn is_along_border(bounds: GridBox) -> bool {
    bounds.min_x == CLIP_BOX.max_x
        || bounds.max_x == CLIP_BOX.min_x
        || bounds.min_y == CLIP_BOX.max_y
        || bounds.max_y == CLIP_BOX.min_y
}

/// Twice the area of a ring: positive if it runs clockwise on the screen, as MVT requires of outer
/// rings.
fn area_of(ring: &[TilePoint]) -> i64 {
    let before = ring.last().into_iter().chain(ring);
    before.zip(ring).map(|(from, to)| doubled_area(*from, *to)).sum()
}

/// Gives an area to a ring that has a length but no area: moves one of its points by a unit, at right
/// angles to the line between its neighbours.
fn widen(ring: &mut Vec<TilePoint>) {
    let count = ring.len();
    let neighbours = |at: usize| ((at + count - 1) % count, (at + 1) % count);
    let bend = (0..count).find(|&at| {
        let (before, after) = neighbours(at);
        ring[before] != ring[after]
    });
    let (at, before, after) = match bend {
        Some(at) if count > 2 => (at, neighbours(at).0, neighbours(at).1),
        _ => {
            // Two points, back and forth.
            ring.truncate(2);
            ring.push(ring[0]);
            (2, 1, 0)
        }
    };
    let inwards = |value: i64| if value < EXTENT / 2 { 1 } else { -1 };
    if ring[before].x == ring[after].x {
        ring[at].x += inwards(ring[at].x);
    } else {
        ring[at].y += inwards(ring[at].y);
    }
    if ring[at] == ring[before] || ring[at] == ring[after] {
        ring.remove(at);
    }
}
