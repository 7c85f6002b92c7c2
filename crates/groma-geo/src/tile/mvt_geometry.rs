//! Turns stored shapes into MVT geometries: reads, transforms, clips, validates and writes them.

use super::{
    clip,
    make_valid::make_valid,
    mvt_commands::{CommandWriter, MAX_FAST_RING},
    rings::{Ring, Rings},
    transform::{CLIP_BOX, TilePoint, Transform, bounds_of},
    validity::ValidityCheck,
};
use crate::{
    coverage::Rectangle,
    grid::{GridBox, TileId},
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
    rings: Rings,
    validity_check: ValidityCheck,
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
            rings: Rings::default(),
            validity_check: ValidityCheck::default(),
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
                GeomType::Polygons
                    if count == 1 && is_inside && self.fast_polygon(shape, transform).is_some() => {
                }
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

    #[inline(never)]
    fn polygons(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        count: u64,
        is_inside: bool,
    ) -> Option<()> {
        let placeholder = self.read_rings(shape, transform, count, is_inside)?;
        if !self.validity_check.is_valid(&self.rings)
            && let Some(valid) = make_valid(&self.rings)
        {
            self.rings = valid;
        }
        for ring in self.rings.iter().filter(|ring| ring.points.len() > 2) {
            self.writer.ring(ring.points, (ring.area < 0) != ring.is_hole);
        }
        if let Some(at) = placeholder
            && self.rings.is_empty()
        {
            self.placeholder(GeomType::Polygons, at);
        }
        Some(())
    }

    /// Writes the only ring of a polygon in the clip box while it is read. This works for most polygons:
    /// those with few points and without defects. Otherwise it returns `None` and writes nothing.
    #[inline]
    fn fast_polygon(&mut self, mut shape: ShapeReader<'_>, transform: Transform) -> Option<()> {
        let header = shape.path_header()?;
        let (is_hole, points) = (header & 1 == 1, header >> 1);
        if is_hole || points > MAX_FAST_RING {
            return None;
        }
        let points = shape.fixed_points(points)?.map(transform.fast_point()?);
        let checkpoint = self.writer.checkpoint();
        if !self.writer.fast_ring(points) {
            self.writer.rollback(checkpoint);
            return None;
        }
        Some(())
    }

    /// Reads and clips rings. Returns the place of a polygon that may be too small to be drawn.
    fn read_rings(
        &mut self,
        shape: &mut ShapeReader<'_>,
        transform: Transform,
        count: u64,
        is_inside: bool,
    ) -> Option<Option<TilePoint>> {
        self.rings.clear();
        let (mut has_outer_ring, mut placeholder) = (false, None);
        for _ in 0..count {
            let header = shape.path_header()?;
            let (is_hole, points) = (header & 1 == 1, header >> 1);
            self.read_path(shape, transform, points)?;
            while let [first, .., last] = self.path[..]
                && first == last
            {
                self.path.pop();
            }
            let mut bounds = bounds_of(&self.path);
            let is_clipped = !is_inside && !CLIP_BOX.contains(bounds);
            if is_clipped {
                clip::ring(&mut self.path, &mut self.clip_buffer, bounds);
                bounds = bounds_of(&self.path);
            }
            has_outer_ring &= is_hole;
            if self.path.is_empty() || (is_clipped && is_along_border(bounds)) {
                continue;
            }
            let ring = Ring::new(is_hole, &self.path);
            let has_area = ring.area != 0;
            if !is_hole {
                has_outer_ring = has_area || !is_small(bounds);
                if !is_clipped || !has_outer_ring {
                    let corner = TilePoint { x: bounds.min_x, y: bounds.min_y };
                    placeholder = placeholder.or(Some(corner));
                }
            }
            if has_outer_ring && (has_area || !is_hole) {
                self.rings.push(ring);
            }
        }
        Some(placeholder)
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
