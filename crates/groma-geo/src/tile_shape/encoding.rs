//! The byte format of a stored shape.
//!
//! | bytes | content |
//! | --- | --- |
//! | 1 | the [`Encoding`] in the two lowest bits; above them the scale `k`: all that follows is in units of 2^`k` grid steps |
//! | 8 | the north-western corner of the bounds, `x` and `y`, as little-endian `u32` |
//! | 0, 4 or 8 | width and height of the bounds: absent for a point, `u16` if fixed, otherwise `u32` |
//! | the rest | at most one part each of points, lines and polygons, in this order |
//!
//! A part begins with the varint `count << 2 | type`, where the type is the MVT geometry type. Then
//! follow, by type:
//!
//! - `count` points;
//! - `count` lines, each a varint number of points and the points;
//! - `count` rings, each the varint `points << 1 | is_hole` and the points. Holes follow their outer
//!   ring.
//!
//! With fixed encoding a point is its offset from the corner as two little-endian `u16`. With delta
//! encoding it is two zigzag varints, the difference to the point before it in the part or to the
//! corner.

use super::grid_geometry::{GridGeometry, GridPoint};
use crate::{grid::GridBox, varint};

/// Shapes with up to this many vertices have fixed encoding if their bounds allow it: it is faster
/// to read. For larger shapes the smaller size matters more.
const MAX_FIXED_VERTICES: usize = super::MANY_VERTICES;

/// How the points of a shape are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// A single point: the corner.
    Point = 0,
    /// Offsets of 16 bits.
    Fixed = 1,
    /// Differences as varints.
    Delta = 2,
    /// No points: only the bounds, and the geometry types inside.
    BoundsOnly = 3,
}

/// The geometry types of MVT, with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GeomType {
    Points = 1,
    Lines = 2,
    Polygons = 3,
}

/// Encodes a shape whose points and bounds are in units of 2^`scale` grid steps.
pub(super) fn write(shape: &GridGeometry, bounds: GridBox, scale: u32) -> Vec<u8> {
    let (width, height) = size_of_box(bounds);
    let vertices = shape.vertex_count();
    let is_point = vertices == 1 && shape.points.len() == 1;
    let encoding = if is_point && width.max(height) == 0 {
        Encoding::Point
    } else if vertices <= MAX_FIXED_VERTICES && width.max(height) <= u32::from(u16::MAX) {
        Encoding::Fixed
    } else {
        Encoding::Delta
    };
    let mut writer = Writer::new(encoding, bounds, scale, vertices);
    if encoding == Encoding::Point {
        return writer.out;
    }
    if !shape.points.is_empty() {
        writer.begin_part(shape.points.len(), GeomType::Points);
        writer.points(&shape.points);
    }
    if !shape.lines.is_empty() {
        writer.begin_part(shape.lines.len(), GeomType::Lines);
        for line in &shape.lines {
            varint::put(&mut writer.out, line.len() as u64);
            writer.points(line);
        }
    }
    if !shape.rings.is_empty() {
        writer.begin_part(shape.rings.len(), GeomType::Polygons);
        for ring in &shape.rings {
            varint::put(&mut writer.out, (ring.points.len() as u64) << 1 | u64::from(ring.is_hole));
            writer.points(&ring.points);
        }
    }
    writer.out
}

/// Encodes the bounds of a shape, with an empty part for each geometry type in it.
pub(super) fn write_bounds_only(shape: &GridGeometry, bounds: GridBox) -> Vec<u8> {
    let mut writer = Writer::new(Encoding::BoundsOnly, bounds, 0, 0);
    let types = [
        (GeomType::Points, shape.points.is_empty()),
        (GeomType::Lines, shape.lines.is_empty()),
        (GeomType::Polygons, shape.rings.is_empty()),
    ];
    for (geom_type, _) in types.into_iter().filter(|(_, is_missing)| !is_missing) {
        writer.begin_part(0, geom_type);
    }
    writer.out
}

fn size_of_box(bounds: GridBox) -> (u32, u32) {
    ((bounds.max_x - bounds.min_x) as u32, (bounds.max_y - bounds.min_y) as u32)
}

struct Writer {
    out: Vec<u8>,
    encoding: Encoding,
    corner: GridPoint,
    /// The point before, for delta encoding.
    previous: GridPoint,
}

impl Writer {
    fn new(encoding: Encoding, bounds: GridBox, scale: u32, vertices: usize) -> Self {
        let (width, height) = size_of_box(bounds);
        let corner = (bounds.min_x as u32, bounds.min_y as u32);
        let mut out = Vec::with_capacity(20 + 4 * vertices);
        out.push(encoding as u8 | (scale << 2) as u8);
        out.extend_from_slice(&corner.0.to_le_bytes());
        out.extend_from_slice(&corner.1.to_le_bytes());
        match encoding {
            Encoding::Point => {}
            Encoding::Fixed => {
                out.extend_from_slice(&(width as u16).to_le_bytes());
                out.extend_from_slice(&(height as u16).to_le_bytes());
            }
            Encoding::Delta | Encoding::BoundsOnly => {
                out.extend_from_slice(&width.to_le_bytes());
                out.extend_from_slice(&height.to_le_bytes());
            }
        }
        Self { out, encoding, corner, previous: corner }
    }

    fn begin_part(&mut self, count: usize, geom_type: GeomType) {
        varint::put(&mut self.out, (count as u64) << 2 | geom_type as u64);
        self.previous = self.corner;
    }

    fn points(&mut self, points: &[GridPoint]) {
        for &(x, y) in points {
            if self.encoding == Encoding::Fixed {
                self.out.extend_from_slice(&((x - self.corner.0) as u16).to_le_bytes());
                self.out.extend_from_slice(&((y - self.corner.1) as u16).to_le_bytes());
            } else {
                let delta = |to: u32, from: u32| varint::zigzag(i64::from(to) - i64::from(from));
                varint::put(&mut self.out, delta(x, self.previous.0));
                varint::put(&mut self.out, delta(y, self.previous.1));
                self.previous = (x, y);
            }
        }
    }
}

/// Reads a stored shape from front to back. Even if the bytes are damaged, every point lies within
/// the bounds.
#[derive(Clone, Copy)]
pub(crate) struct ShapeReader<'a> {
    pub encoding: Encoding,
    /// Units are 2^`scale` grid steps.
    pub scale: u32,
    /// The bounds, in units.
    pub bounds: GridBox,
    rest: &'a [u8],
    /// The point before, for delta encoding.
    previous: (i64, i64),
}

impl<'a> ShapeReader<'a> {
    /// Reads everything before the parts; `None` if the bytes are invalid.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let (&[head], rest) = bytes.split_first_chunk()?;
        let scale = u32::from(head >> 2);
        if scale > u32::from(super::GRID_ZOOM) {
            return None;
        }
        let (&corner, rest) = rest.split_first_chunk::<8>()?;
        let [x, y] = split_u32s(u64::from_le_bytes(corner));
        let (encoding, [width, height], rest) = match head & 3 {
            0 => (Encoding::Point, [0, 0], rest),
            1 => {
                let (&[a, b, c, d], rest) = rest.split_first_chunk()?;
                let size = [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
                (Encoding::Fixed, size.map(i64::from), rest)
            }
            number => {
                let (&size, rest) = rest.split_first_chunk::<8>()?;
                let encoding = if number == 2 { Encoding::Delta } else { Encoding::BoundsOnly };
                (encoding, split_u32s(u64::from_le_bytes(size)), rest)
            }
        };
        let bounds = GridBox { min_x: x, min_y: y, max_x: x + width, max_y: y + height };
        Some(Self { encoding, scale, bounds, rest, previous: (x, y) })
    }

    /// The type and the count of the next part; `None` after the last one.
    #[inline]
    pub(crate) fn next_part(&mut self) -> Option<(GeomType, u64)> {
        let head = varint::take(&mut self.rest)?;
        let geom_type = match head & 3 {
            1 => GeomType::Points,
            2 => GeomType::Lines,
            3 => GeomType::Polygons,
            _ => return None,
        };
        self.previous = (self.bounds.min_x, self.bounds.min_y);
        Some((geom_type, head >> 2))
    }

    /// The varint before the points of a line or ring.
    #[inline]
    pub(crate) fn path_header(&mut self) -> Option<u64> {
        varint::take(&mut self.rest)
    }

    /// The next `count` points of a shape with fixed encoding. With any other encoding it returns
    /// `None` and reads nothing.
    #[inline]
    pub(crate) fn fixed_points(
        &mut self,
        count: u64,
    ) -> Option<impl DoubleEndedIterator<Item = (i64, i64)> + Clone + use<'a>> {
        if self.encoding != Encoding::Fixed {
            return None;
        }
        let length = usize::try_from(count).ok()?.checked_mul(4)?;
        let (points, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let GridBox { min_x, min_y, max_x, max_y } = self.bounds;
        let (width, height) = (max_x - min_x, max_y - min_y);
        Some(points.as_chunks().0.iter().map(move |&[a, b, c, d]| {
            let x = i64::from(u16::from_le_bytes([a, b]));
            let y = i64::from(u16::from_le_bytes([c, d]));
            (min_x + x.min(width), min_y + y.min(height))
        }))
    }

    /// Visits the next `count` points; `None` if there are fewer or one lies outside the bounds.
    #[inline]
    pub(crate) fn points(&mut self, count: u64, mut visit: impl FnMut(i64, i64)) -> Option<()> {
        if self.encoding == Encoding::Fixed {
            self.fixed_points(count)?.for_each(|(x, y)| visit(x, y));
            return Some(());
        }
        let GridBox { min_x, min_y, max_x, max_y } = self.bounds;
        let (mut x, mut y) = self.previous;
        for _ in 0..count {
            x = x.checked_add(varint::unzigzag(varint::take(&mut self.rest)?))?;
            y = y.checked_add(varint::unzigzag(varint::take(&mut self.rest)?))?;
            if !(min_x..=max_x).contains(&x) || !(min_y..=max_y).contains(&y) {
                return None;
            }
            visit(x, y);
        }
        self.previous = (x, y);
        Some(())
    }
}

fn split_u32s(pair: u64) -> [i64; 2] {
    [(pair & 0xffff_ffff) as i64, (pair >> 32) as i64]
}
