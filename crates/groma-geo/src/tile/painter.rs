//! Draws stored shapes into a tile: each kind in a shape becomes a geometry of MVT commands.

use super::{
    clip,
    pen::{Mark, Pen, QUICK},
    view::{EXTENT, FRAME, Point, View, bounds_of, doubled_area},
};
use crate::{
    grid::{GridBox, TileId},
    shape::{
        format::{Form, Kind, Shape},
        is_small,
    },
};
use std::ops::Range;

/// Draws for one tile. Its buffers serve one shape after the other.
pub(super) struct Painter {
    tile: TileId,
    pen: Pen,
    path: Vec<Point>,
    spare: Vec<Point>,
    drawn: Vec<(u64, Kind, Range<usize>)>,
}

/// What a shape became.
#[derive(Clone, Copy)]
pub(super) struct Drawn<'a> {
    commands: &'a [u8],
    parts: &'a [(u64, Kind, Range<usize>)],
}

impl<'a> Drawn<'a> {
    /// Its geometries: the number of the part in the shape, its kind, its commands.
    pub(super) fn parts(self) -> impl Iterator<Item = (u64, Kind, &'a [u8])> {
        self.parts.iter().map(move |(part, kind, at)| (*part, *kind, &self.commands[at.clone()]))
    }

    pub(super) fn is_empty(self) -> bool {
        self.parts.is_empty()
    }
}

impl Painter {
    pub(super) fn new(tile: TileId) -> Self {
        Self { tile, pen: Pen::new(), path: Vec::new(), spare: Vec::new(), drawn: Vec::new() }
    }

    /// Draws a shape; nothing comes of one outside the tile, and of damaged bytes.
    pub(super) fn draw(&mut self, shape: &[u8]) -> Drawn<'_> {
        self.pen.clear();
        self.drawn.clear();
        if self.draw_parts(shape).is_none() {
            self.drawn.clear();
        }
        Drawn { commands: self.pen.commands(), parts: &self.drawn }
    }

    fn draw_parts(&mut self, shape: &[u8]) -> Option<()> {
        let mut shape = Shape::read(shape)?;
        let view = View::new(self.tile, shape.scale);
        let bounds = view.bounds(shape.bounds);
        if !FRAME.meets(bounds) {
            return Some(());
        }
        let corner = Point { x: bounds.min_x, y: bounds.min_y };
        if shape.form == Form::Point {
            self.pen.lift();
            self.pen.points(&[corner]);
            self.drawn.push((0, Kind::Points, 0..self.pen.length()));
            return Some(());
        }
        let small = is_small(bounds);
        if shape.form == Form::Outline && !small {
            return None; // its level is missing
        }
        let inside = FRAME.contains(bounds);
        for part in 0..3 {
            let Some((kind, count)) = shape.part() else { break };
            let start = self.pen.length();
            self.pen.lift();
            match kind {
                _ if shape.form == Form::Outline => self.stand_in(kind, corner),
                Kind::Points => self.points(&mut shape, view, count)?,
                Kind::Lines => self.lines(&mut shape, view, count, inside)?,
                Kind::Polygons if small => self.stand_in(kind, corner),
                Kind::Polygons => self.polygons(&mut shape, view, count, inside)?,
            }
            let end = self.pen.length();
            if end > start {
                self.drawn.push((part, kind, start..end));
            }
            if kind == Kind::Polygons {
                break; // they are last, and small ones are still unread
            }
        }
        Some(())
    }

    /// What is drawn for a shape without size.
    fn stand_in(&mut self, kind: Kind, at: Point) {
        let at = Point {
            x: at.x.clamp(FRAME.min_x, FRAME.max_x),
            y: at.y.clamp(FRAME.min_y, FRAME.max_y),
        };
        match kind {
            Kind::Points => self.pen.points(&[at]),
            Kind::Lines => self.pen.dash(at),
            Kind::Polygons => self.pen.dot(at),
        }
    }

    fn points(&mut self, shape: &mut Shape<'_>, view: View, count: u64) -> Option<()> {
        self.read_path(shape, view, count)?;
        self.path.retain(|point| holds(*point));
        if !self.path.is_empty() {
            self.pen.points(&self.path);
        }
        Some(())
    }

    fn lines(&mut self, shape: &mut Shape<'_>, view: View, count: u64, inside: bool) -> Option<()> {
        let start = self.pen.length();
        let mut fallen = None;
        for _ in 0..count {
            let places = shape.number()?;
            self.read_path(shape, view, places)?;
            match self.path[..] {
                [] => {}
                [point] if holds(point) => fallen = fallen.or(Some(point)),
                [_] => {}
                _ if inside => self.pen.line(&self.path),
                _ => clip::line(&self.path, &mut self.spare, |piece| self.pen.line(piece)),
            }
        }
        if self.pen.length() == start
            && let Some(point) = fallen
        {
            self.stand_in(Kind::Lines, point);
        }
        Some(())
    }

    fn polygons(
        &mut self,
        shape: &mut Shape<'_>,
        view: View,
        count: u64,
        inside: bool,
    ) -> Option<()> {
        let start = self.pen.length();
        let mut outer: Option<Outer> = None;
        let mut fallen = None;
        for _ in 0..count {
            let head = shape.number()?;
            let (hole, places) = (head & 1 == 1, head >> 1);
            if !hole {
                outer = None;
            }
            let mark = self.pen.mark();
            let quick = if inside { self.quick_ring(shape, view, places, hole) } else { None };
            let fit = match quick {
                Some(area) => Fit::Drawn { area, clipped: false },
                None => self.careful_ring(shape, view, places, hole, inside)?,
            };
            match (fit, &mut outer) {
                (Fit::Drawn { area, .. }, _) if !hole => outer = Some(Outer { area, mark }),
                (Fit::Drawn { area, clipped }, Some(around)) => {
                    around.area -= area;
                    if around.area <= 0 {
                        // The tile lies in the hole, or the polygon has no width.
                        fallen = fallen.or((!clipped).then_some(self.pen.at()));
                        self.pen.back_to(around.mark);
                        outer = None;
                    }
                }
                (Fit::Drawn { .. }, None) => self.pen.back_to(mark),
                (Fit::Fallen(point), _) => fallen = fallen.or(Some(point)),
                (Fit::Gone, _) => {}
            }
        }
        if self.pen.length() == start
            && let Some(point) = fallen
        {
            self.stand_in(Kind::Polygons, point);
        }
        Some(())
    }

    /// Draws a ring within the frame as it is read, as most can be: few places, the right way
    /// round. Otherwise nothing has happened.
    #[inline]
    fn quick_ring(
        &mut self,
        shape: &mut Shape<'_>,
        view: View,
        places: u64,
        hole: bool,
    ) -> Option<i64> {
        if places > QUICK {
            return None;
        }
        let mut ahead = *shape;
        let points = ahead.short_places(places)?.map(view.shrink()?);
        let mark = self.pen.mark();
        let area = self.pen.quick_ring(points).map(|area| if hole { -area } else { area });
        let area = area.filter(|area| *area > 0);
        match area {
            Some(_) => *shape = ahead,
            None => self.pen.back_to(mark),
        }
        area
    }

    /// Draws any ring: clipped, turned and widened as need be.
    fn careful_ring(
        &mut self,
        shape: &mut Shape<'_>,
        view: View,
        places: u64,
        hole: bool,
        inside: bool,
    ) -> Option<Fit> {
        self.read_path(shape, view, places)?;
        while let [first, .., last] = self.path[..]
            && first == last
        {
            self.path.pop();
        }
        let mut clipped = false;
        if !inside {
            let bounds = bounds_of(&self.path);
            clipped = !FRAME.contains(bounds);
            if clipped {
                clip::ring(&mut self.path, &mut self.spare, bounds);
            }
        }
        let mut area = area_of(&self.path);
        if area == 0 {
            let bounds = bounds_of(&self.path);
            if hole || self.path.is_empty() || (clipped && is_along_border(bounds)) {
                return Some(Fit::Gone);
            }
            if is_small(bounds) {
                return Some(Fit::Fallen(Point { x: bounds.min_x, y: bounds.min_y }));
            }
            widen(&mut self.path);
            area = area_of(&self.path);
        }
        self.pen.ring(&self.path, (area < 0) != hole);
        Some(Fit::Drawn { area: area.abs(), clipped })
    }

    /// Reads places into the path, in units, each once in a row.
    fn read_path(&mut self, shape: &mut Shape<'_>, view: View, count: u64) -> Option<()> {
        self.path.clear();
        shape.places(count, |x, y| {
            let point = view.point(x, y);
            if self.path.last() != Some(&point) {
                self.path.push(point);
            }
        })
    }
}

/// The outer ring of the polygon at hand.
struct Outer {
    /// Twice its area, less that of its holes so far.
    area: i64,
    /// Where it begins.
    mark: Mark,
}

/// What became of a ring.
enum Fit {
    /// It is drawn; `area` is twice its area.
    Drawn { area: i64, clipped: bool },
    /// It has no size, here.
    Fallen(Point),
    /// There is nothing of it in the tile.
    Gone,
}

fn holds(point: Point) -> bool {
    FRAME.contains(GridBox { min_x: point.x, min_y: point.y, max_x: point.x, max_y: point.y })
}

/// Whether what has this box lies on one side of the frame.
fn is_along_border(bounds: GridBox) -> bool {
    bounds.min_x == FRAME.max_x
        || bounds.max_x == FRAME.min_x
        || bounds.min_y == FRAME.max_y
        || bounds.max_y == FRAME.min_y
}

/// Twice the area of a ring within the frame, by the surveyor's formula: positive when it runs
/// clockwise on the screen, as outer rings must.
fn area_of(ring: &[Point]) -> i64 {
    let before = ring.last().into_iter().chain(ring);
    before.zip(ring).map(|(from, to)| doubled_area(*from, *to)).sum()
}

/// Gives an area to a ring that has none, but has some length: one of its points moves by a unit,
/// across the way between its neighbours.
fn widen(ring: &mut Vec<Point>) {
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
