//! The bytes of a stored shape.
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | the [`Form`] in the two lowest bits, above it the scale `k`: all that follows is in units of 2^`k` steps of the grid |
//! | 8 | the north-western corner of the box, `x` and `y`, as little-endian `u32` |
//! | 0, 4 or 8 | the sides of the box: none for a point; `u16` when short; `u32` otherwise |
//! | the rest | at most one part of points, then of lines, then of polygons |
//!
//! A part begins with the varint `count << 2 | kind`, where the kind is MVT's: 1 for points, 2 for
//! lines, 3 for polygons. Then `count` places; or `count` lines, each a varint number of places and
//! the places; or `count` rings, each the varint `places << 1 | hole` and the places, a hole after
//! the outer ring it is in. A place is its offset from the corner as two little-endian `u16` when
//! short; otherwise two zigzag varints, from the place before it in the part or from the corner.

use super::parts::{Parts, Place};
use crate::{grid::GridBox, varint};

/// Up to how many vertices are written short where the box allows: four bytes each that are read
/// at once. More are better written small.
const SHORT_VERTICES: usize = super::MANY_VERTICES;

/// How the places of a shape are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One point, the corner itself.
    Point = 0,
    /// As offsets of 16 bits.
    Short = 1,
    /// As differences.
    Long = 2,
    /// Not at all: only the box is known, and which kinds are in it.
    Outline = 3,
}

/// What a part draws; its numbers are MVT's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Points = 1,
    Lines = 2,
    Polygons = 3,
}

/// Writes a shape whose places and box are in units of 2^`scale` steps.
pub(super) fn write(parts: &Parts, bounds: GridBox, scale: u32) -> Vec<u8> {
    let (wide, high) = sides(bounds);
    let vertices = parts.vertices();
    let is_point = vertices == 1 && parts.points.len() == 1;
    let form = if is_point && wide.max(high) == 0 {
        Form::Point
    } else if vertices <= SHORT_VERTICES && wide.max(high) <= u32::from(u16::MAX) {
        Form::Short
    } else {
        Form::Long
    };
    let mut writer = Writer::begin(form, bounds, scale, vertices);
    if form == Form::Point {
        return writer.out;
    }
    if !parts.points.is_empty() {
        writer.head(parts.points.len(), Kind::Points);
        writer.places(&parts.points);
    }
    if !parts.lines.is_empty() {
        writer.head(parts.lines.len(), Kind::Lines);
        for line in &parts.lines {
            varint::put(&mut writer.out, line.len() as u64);
            writer.places(line);
        }
    }
    if !parts.rings.is_empty() {
        writer.head(parts.rings.len(), Kind::Polygons);
        for ring in &parts.rings {
            varint::put(&mut writer.out, (ring.places.len() as u64) << 1 | u64::from(ring.hole));
            writer.places(&ring.places);
        }
    }
    writer.out
}

/// Writes the box of a shape, and empty parts for the kinds that are in it.
pub(super) fn write_outline(parts: &Parts, bounds: GridBox) -> Vec<u8> {
    let mut writer = Writer::begin(Form::Outline, bounds, 0, 0);
    let kinds = [
        (Kind::Points, parts.points.is_empty()),
        (Kind::Lines, parts.lines.is_empty()),
        (Kind::Polygons, parts.rings.is_empty()),
    ];
    for (kind, _) in kinds.into_iter().filter(|(_, missing)| !missing) {
        writer.head(0, kind);
    }
    writer.out
}

fn sides(bounds: GridBox) -> (u32, u32) {
    ((bounds.max_x - bounds.min_x) as u32, (bounds.max_y - bounds.min_y) as u32)
}

struct Writer {
    out: Vec<u8>,
    form: Form,
    corner: Place,
    before: Place,
}

impl Writer {
    fn begin(form: Form, bounds: GridBox, scale: u32, vertices: usize) -> Self {
        let (wide, high) = sides(bounds);
        let corner = (bounds.min_x as u32, bounds.min_y as u32);
        let mut out = Vec::with_capacity(20 + 4 * vertices);
        out.push(form as u8 | (scale << 2) as u8);
        out.extend_from_slice(&corner.0.to_le_bytes());
        out.extend_from_slice(&corner.1.to_le_bytes());
        match form {
            Form::Point => {}
            Form::Short => {
                out.extend_from_slice(&(wide as u16).to_le_bytes());
                out.extend_from_slice(&(high as u16).to_le_bytes());
            }
            Form::Long | Form::Outline => {
                out.extend_from_slice(&wide.to_le_bytes());
                out.extend_from_slice(&high.to_le_bytes());
            }
        }
        Self { out, form, corner, before: corner }
    }

    fn head(&mut self, count: usize, kind: Kind) {
        varint::put(&mut self.out, (count as u64) << 2 | kind as u64);
        self.before = self.corner;
    }

    fn places(&mut self, places: &[Place]) {
        for &(x, y) in places {
            if self.form == Form::Short {
                self.out.extend_from_slice(&((x - self.corner.0) as u16).to_le_bytes());
                self.out.extend_from_slice(&((y - self.corner.1) as u16).to_le_bytes());
            } else {
                let step = |to: u32, from: u32| varint::zigzag(i64::from(to) - i64::from(from));
                varint::put(&mut self.out, step(x, self.before.0));
                varint::put(&mut self.out, step(y, self.before.1));
                self.before = (x, y);
            }
        }
    }
}

/// A stored shape, read from its front. Whatever the bytes are, its places lie in its box.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub form: Form,
    /// Its units are 2^`scale` steps of the grid.
    pub scale: u32,
    /// Its box, in its units.
    pub bounds: GridBox,
    rest: &'a [u8],
    before: (i64, i64),
}

impl<'a> Shape<'a> {
    /// Reads all but the parts; `None` when the bytes are no shape.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[tag], rest) = bytes.split_first_chunk()?;
        let scale = u32::from(tag >> 2);
        if scale > u32::from(super::GRID_ZOOM) {
            return None;
        }
        let (&corner, rest) = rest.split_first_chunk::<8>()?;
        let [x, y] = halves(u64::from_le_bytes(corner));
        let (form, [wide, high], rest) = match tag & 3 {
            0 => (Form::Point, [0, 0], rest),
            1 => {
                let (&[a, b, c, d], rest) = rest.split_first_chunk()?;
                let sides = [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
                (Form::Short, sides.map(i64::from), rest)
            }
            form => {
                let (&sides, rest) = rest.split_first_chunk::<8>()?;
                let form = if form == 2 { Form::Long } else { Form::Outline };
                (form, halves(u64::from_le_bytes(sides)), rest)
            }
        };
        let bounds = GridBox { min_x: x, min_y: y, max_x: x + wide, max_y: y + high };
        Some(Self { form, scale, bounds, rest, before: (x, y) })
    }

    /// The next part: what it is of, and of how many; `None` after the last.
    #[inline]
    pub(crate) fn part(&mut self) -> Option<(Kind, u64)> {
        let head = varint::take(&mut self.rest)?;
        let kind = match head & 3 {
            1 => Kind::Points,
            2 => Kind::Lines,
            3 => Kind::Polygons,
            _ => return None,
        };
        self.before = (self.bounds.min_x, self.bounds.min_y);
        Some((kind, head >> 2))
    }

    /// The head of a line or ring.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        varint::take(&mut self.rest)
    }

    /// The next `count` places, if they are short; nothing is taken if they are not.
    #[inline]
    pub(crate) fn short_places(
        &mut self,
        count: u64,
    ) -> Option<impl Iterator<Item = (i64, i64)> + use<'a>> {
        if self.form != Form::Short {
            return None;
        }
        let length = usize::try_from(count).ok()?.checked_mul(4)?;
        let (places, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let GridBox { min_x, min_y, max_x, max_y } = self.bounds;
        let (wide, high) = (max_x - min_x, max_y - min_y);
        Some(places.as_chunks().0.iter().map(move |&[a, b, c, d]| {
            let x = i64::from(u16::from_le_bytes([a, b]));
            let y = i64::from(u16::from_le_bytes([c, d]));
            (min_x + x.min(wide), min_y + y.min(high))
        }))
    }

    /// Visits the next `count` places; `None` when there are not so many or one is out of the box.
    #[inline]
    pub(crate) fn places(&mut self, count: u64, mut visit: impl FnMut(i64, i64)) -> Option<()> {
        if self.form == Form::Short {
            self.short_places(count)?.for_each(|(x, y)| visit(x, y));
            return Some(());
        }
        let GridBox { min_x, min_y, max_x, max_y } = self.bounds;
        let (mut x, mut y) = self.before;
        for _ in 0..count {
            x = x.checked_add(varint::unzigzag(varint::take(&mut self.rest)?))?;
            y = y.checked_add(varint::unzigzag(varint::take(&mut self.rest)?))?;
            if !(min_x..=max_x).contains(&x) || !(min_y..=max_y).contains(&y) {
                return None;
            }
            visit(x, y);
        }
        self.before = (x, y);
        Some(())
    }
}

fn halves(pair: u64) -> [i64; 2] {
    [(pair & 0xffff_ffff) as i64, (pair >> 32) as i64]
}
