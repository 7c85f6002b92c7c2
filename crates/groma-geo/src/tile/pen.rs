//! The commands of MVT geometries. What is drawn must lie in the frame.

use super::{
    buffer::Buffer,
    view::{FRAME, Point, cross},
};
use crate::varint;

/// The side of the square that stands for a polygon too small to see: a pixel where a tile is drawn
/// 512 wide. A smaller one falls between the pixels of MapLibre, which fills those whose middle it
/// covers.
const DOT: i64 = 8;
/// So many points at most has a ring whose number of lines is announced in one byte.
pub(super) const QUICK: u64 = 16;

const ORIGIN: Point = Point { x: 0, y: 0 };
const MOVE_TO: u8 = 1;
const LINE_TO: u8 = 2;
const CLOSE_PATH: u8 = 1 << 3 | 7;

/// Writes geometries, one after the other, each beginning at the origin.
pub(super) struct Pen {
    buffer: Buffer,
    at: Point,
}

/// How far a [`Pen`] had come.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, Point);

impl Pen {
    pub(super) fn new() -> Self {
        Self { buffer: Buffer::default(), at: ORIGIN }
    }

    /// What is written.
    pub(super) fn commands(&self) -> &[u8] {
        self.buffer.written()
    }

    /// How much is written.
    pub(super) fn length(&self) -> usize {
        self.buffer.length()
    }

    /// Forgets what is written.
    pub(super) fn clear(&mut self) {
        self.buffer.truncate(0);
    }

    /// Begins a geometry.
    pub(super) fn lift(&mut self) {
        self.at = ORIGIN;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.buffer.length(), self.at)
    }

    /// Takes back what was written since the mark.
    pub(super) fn back_to(&mut self, Mark(length, at): Mark) {
        self.buffer.truncate(length);
        self.at = at;
    }

    /// The last point that was written.
    pub(super) fn at(&self) -> Point {
        self.at
    }

    /// One point or more.
    pub(super) fn points(&mut self, points: &[Point]) {
        self.buffer.reserve(8 + 4 * points.len());
        self.command(MOVE_TO, points.len());
        self.steps(points.iter());
    }

    /// A line of two points or more.
    pub(super) fn line(&mut self, path: &[Point]) {
        let [first, rest @ ..] = path else { return };
        self.begin(*first, rest.len());
        self.steps(rest.iter());
    }

    /// The shortest line there is, for one that has no length.
    pub(super) fn dash(&mut self, at: Point) {
        let x = at.x.min(FRAME.max_x - 1);
        self.line(&[Point { x, y: at.y }, Point { x: x + 1, y: at.y }]);
    }

    /// A ring of three points or more, or its reverse.
    #[inline]
    pub(super) fn ring(&mut self, path: &[Point], reverse: bool) {
        let [first, rest @ ..] = path else { return };
        self.begin(*first, rest.len());
        if reverse {
            self.steps(rest.iter().rev());
        } else {
            self.steps(rest.iter());
        }
        self.buffer.put_byte(CLOSE_PATH);
    }

    /// A ring of no more than [`QUICK`] points, written as they come, but for repeats. Answers
    /// twice its area, or `None` when it ends where it began: only then is it known whether it is
    /// one to be drawn, or to be taken back.
    #[inline]
    pub(super) fn quick_ring(&mut self, mut points: impl Iterator<Item = Point>) -> Option<i64> {
        let first = points.next()?;
        self.begin(first, QUICK as usize - 1);
        let announced = self.buffer.length() - 1;
        let (mut at, mut area, mut lines) = (first, 0, 0);
        self.buffer.put_pairs(points.filter_map(|to| {
            let from = std::mem::replace(&mut at, to);
            area += cross(from, to);
            lines += u8::from(from != to);
            (from != to).then(|| step(from, to))
        }));
        self.buffer.replace(announced, lines << 3 | LINE_TO);
        self.buffer.put_byte(CLOSE_PATH);
        self.at = at;
        (at != first).then_some(area + cross(at, first))
    }

    /// A small square, for a polygon that has no size.
    #[inline]
    pub(super) fn dot(&mut self, at: Point) {
        const THERE: u8 = (DOT as u8) << 1;
        const BACK: u8 = THERE - 1;
        const SIDES: [u8; 8] = [THERE, 0, 0, THERE, BACK, 0, CLOSE_PATH, 0];
        let x = (at.x - DOT / 2).clamp(FRAME.min_x, FRAME.max_x - DOT);
        let y = (at.y - DOT / 2).clamp(FRAME.min_y, FRAME.max_y - DOT);
        self.begin(Point { x, y }, 3);
        self.buffer.put(u64::from_le_bytes(SIDES), 7);
        self.at = Point { x, y: y + DOT };
    }

    /// Goes to the first point of a line or ring, and announces the others.
    #[inline]
    fn begin(&mut self, first: Point, others: usize) {
        self.buffer.reserve(24 + 4 * others);
        self.command(MOVE_TO, 1);
        self.steps([first].iter());
        self.command(LINE_TO, others);
    }

    #[inline]
    fn command(&mut self, command: u8, count: usize) {
        self.buffer.put_varint((count as u64) << 3 | u64::from(command));
    }

    #[inline]
    fn steps<'a>(&mut self, points: impl Iterator<Item = &'a Point>) {
        let mut at = self.at;
        self.buffer.put_pairs(points.map(|&to| step(std::mem::replace(&mut at, to), to)));
        self.at = at;
    }
}

/// A step as two numbers, which are under 2¹⁴: the frame is narrower than 2¹³ units.
#[inline]
fn step(from: Point, to: Point) -> (u32, u32) {
    (varint::zigzag(to.x - from.x) as u32, varint::zigzag(to.y - from.y) as u32)
}
