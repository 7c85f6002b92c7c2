//! The commands of MVT geometries. What is drawn must lie in the frame.

use super::{
    buffer::{Buffer, Few},
    view::{FRAME, Point, doubled_area},
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
        let [first, rest @ ..] = points else { return };
        self.buffer.put_few(|few| {
            few.put_varint(command(MOVE_TO, points.len()));
            few.put_pair(step(self.at, *first));
        });
        self.at = *first;
        self.steps(rest.iter());
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
        self.buffer.put_few(|few| few.put_byte(CLOSE_PATH));
    }

    /// A ring of no more than [`QUICK`] points, written as they come, but for repeats. Answers
    /// twice its area, or `None` when it ends where it began: only then is it known whether it is
    /// one to be drawn, or to be taken back.
    #[inline]
    pub(super) fn quick_ring(&mut self, mut points: impl Iterator<Item = Point>) -> Option<i64> {
        let first = points.next()?;
        let (mut at, mut area) = (first, 0);
        self.buffer.put_few(|few| {
            few.put_byte(1 << 3 | MOVE_TO);
            few.put_pair(step(self.at, first));
            let (announced, mut lines) = (few.length(), 0);
            few.put_byte(0);
            for to in points {
                if to != at {
                    few.put_pair(step(at, to));
                    area += doubled_area(at, to);
                    lines += 1;
                    at = to;
                }
            }
            few.replace(announced, lines << 3 | LINE_TO);
            few.put_byte(CLOSE_PATH);
        });
        self.at = at;
        (at != first).then_some(area + doubled_area(at, first))
    }

    /// A small square, for a polygon that has no size.
    #[inline]
    pub(super) fn dot(&mut self, at: Point) {
        const THERE: u8 = (DOT as u8) << 1;
        const BACK: u8 = THERE - 1;
        const SIDES: [u8; 7] = [THERE, 0, 0, THERE, BACK, 0, CLOSE_PATH];
        let x = (at.x - DOT / 2).clamp(FRAME.min_x, FRAME.max_x - DOT);
        let y = (at.y - DOT / 2).clamp(FRAME.min_y, FRAME.max_y - DOT);
        self.begin(Point { x, y }, 3);
        self.buffer.put_few(|few| SIDES.into_iter().for_each(|byte| few.put_byte(byte)));
        self.at = Point { x, y: y + DOT };
    }

    /// Goes to the first point of a line or ring, and announces the others.
    #[inline]
    fn begin(&mut self, first: Point, others: usize) {
        self.buffer.put_few(|few| {
            few.put_varint(command(MOVE_TO, 1));
            few.put_pair(step(self.at, first));
            few.put_varint(command(LINE_TO, others));
        });
        self.at = first;
    }

    #[inline]
    fn steps<'a>(&mut self, mut points: impl ExactSizeIterator<Item = &'a Point>) {
        let mut at = self.at;
        while points.len() > 0 {
            self.buffer.put_few(|few| {
                for &to in points.by_ref().take(Few::PAIRS) {
                    few.put_pair(step(at, to));
                    at = to;
                }
            });
        }
        self.at = at;
    }
}

fn command(command: u8, count: usize) -> u64 {
    (count as u64) << 3 | u64::from(command)
}

/// A step as two numbers, which are under 2¹⁴: the frame is narrower than 2¹³ units.
#[inline]
fn step(from: Point, to: Point) -> (u32, u32) {
    (varint::zigzag(to.x - from.x) as u32, varint::zigzag(to.y - from.y) as u32)
}
