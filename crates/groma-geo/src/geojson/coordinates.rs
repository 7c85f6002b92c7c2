//! The member `coordinates`: arrays of numbers, and the shape that a `type` makes of them. The two
//! may come in either order, so what is read here knows only how deep its arrays go.

use super::{
    MAX_RINGS, MAX_VERTICES,
    fault::{At, Fault, Read},
    number::number,
    scan::{Kind, Scanner},
};
use crate::{Geometry, Line, Position, Rings};

/// The largest ordinate that makes sense, in whatever unit.
const MAX_ORDINATE: f64 = 1e12;

/// The geometries that have coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    Point,
    MultiPoint,
    LineString,
    MultiLineString,
    Polygon,
    MultiPolygon,
}

impl Shape {
    /// How deep its arrays go.
    fn level(self) -> usize {
        match self {
            Self::Point => 1,
            Self::MultiPoint | Self::LineString => 2,
            Self::MultiLineString | Self::Polygon => 3,
            Self::MultiPolygon => 4,
        }
    }
}

/// Nested arrays of numbers.
#[derive(Debug)]
pub(super) enum Coordinates {
    Empty,
    Position(Position),
    Line(Line),
    Lines(Vec<Line>),
    Polygons(Vec<Rings>),
}

impl Coordinates {
    /// How deep its arrays go.
    fn level(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Position(_) => 1,
            Self::Line(_) => 2,
            Self::Lines(_) => 3,
            Self::Polygons(_) => 4,
        }
    }

    /// The geometry of this shape. `json` lends its place to the faults.
    pub(super) fn into_geometry(self, shape: Shape, json: &Scanner<'_>) -> Read<Geometry> {
        match (shape, self) {
            (Shape::Point, Self::Position(position)) => Ok(Geometry::Point(position)),
            (Shape::MultiPoint, Self::Empty) => Ok(Geometry::MultiPoint(Vec::new())),
            (Shape::MultiPoint, Self::Line(positions)) => Ok(Geometry::MultiPoint(positions)),
            (Shape::LineString, Self::Line(line)) => {
                check_line(&line, json)?;
                Ok(Geometry::LineString(line))
            }
            (Shape::MultiLineString, Self::Empty) => Ok(Geometry::MultiLineString(Vec::new())),
            (Shape::MultiLineString, Self::Lines(lines)) => {
                for (index, line) in lines.iter().enumerate() {
                    check_line(line, json).at(index)?;
                }
                Ok(Geometry::MultiLineString(lines))
            }
            (Shape::Polygon, Self::Lines(mut rings)) => {
                close_rings(&mut rings, json)?;
                Ok(Geometry::Polygon(rings))
            }
            (Shape::MultiPolygon, Self::Empty) => Ok(Geometry::MultiPolygon(Vec::new())),
            (Shape::MultiPolygon, Self::Polygons(mut polygons)) => {
                for (index, rings) in polygons.iter_mut().enumerate() {
                    close_rings(rings, json).at(index)?;
                }
                Ok(Geometry::MultiPolygon(polygons))
            }
            (Shape::Point | Shape::LineString | Shape::Polygon, Self::Empty) => {
                Err(json.wrong("must not be empty; a geometry that is not there is null"))
            }
            (shape, other) => Err(misfit(&other, shape, json)),
        }
    }
}

/// Arrays that go too deep, or not deep enough: told at the first place where it shows.
fn misfit(coordinates: &Coordinates, shape: Shape, json: &Scanner<'_>) -> Box<Fault> {
    let (found, wanted) = (coordinates.level(), shape.level());
    let message = if found > wanted { "must be a number" } else { "must be an array" };
    (0..found.min(wanted)).fold(json.wrong(message), |fault, _| fault.at(0))
}

fn check_line(line: &Line, json: &Scanner<'_>) -> Read<()> {
    if line.len() < 2 {
        return Err(json.wrong("a line needs two positions or more"));
    }
    Ok(())
}

fn close_rings(rings: &mut Rings, json: &Scanner<'_>) -> Read<()> {
    for (index, ring) in rings.iter_mut().enumerate() {
        close_ring(ring, json).at(index)?;
    }
    Ok(())
}

/// A ring ends where it begins. Only its heights may differ there; the first one holds.
fn close_ring(ring: &mut Line, json: &Scanner<'_>) -> Read<()> {
    if ring.len() < 4 {
        return Err(json.wrong("a ring needs four positions or more"));
    }
    if let [first, .., last] = ring.as_mut_slice() {
        if (first.x, first.y) != (last.x, last.y) {
            return Err(json.wrong("a ring must be closed: its last position is not its first"));
        }
        *last = *first;
    }
    Ok(())
}

/// Reads coordinates and counts what they hold.
#[derive(Default)]
pub(super) struct Tally {
    vertices: usize,
    rings: usize,
    /// Where lines are put together before they take the room they need.
    line: Line,
}

impl Tally {
    /// A new feature begins.
    pub(super) fn reset(&mut self) {
        (self.vertices, self.rings) = (0, 0);
    }

    /// Counts the rings of a geometry, whose `coordinates` are read.
    pub(super) fn count_rings(&mut self, geometry: &Geometry, json: &Scanner<'_>) -> Read<()> {
        let left = MAX_RINGS.saturating_sub(self.rings);
        let over = || json.wrong(format!("is one ring more than the {MAX_RINGS} of a feature"));
        match geometry {
            Geometry::Polygon(rings) => {
                self.rings += rings.len();
                if rings.len() > left {
                    return Err(over().at(left));
                }
            }
            Geometry::MultiPolygon(polygons) => {
                let mut left = left;
                for (index, rings) in polygons.iter().enumerate() {
                    self.rings += rings.len();
                    if rings.len() > left {
                        return Err(over().at(left).at(index));
                    }
                    left -= rings.len();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the `coordinates` that come: those of `shape`, or of whichever they turn out to be.
    pub(super) fn read(
        &mut self,
        shape: Option<Shape>,
        json: &mut Scanner<'_>,
    ) -> Read<Coordinates> {
        enter(json)?;
        match json.next_item()? {
            false => Ok(Coordinates::Empty),
            true => match shape.map(Shape::level) {
                None => self.read_any(json),
                Some(1) => self.position_from_first(json).map(Coordinates::Position),
                Some(2) => self.line_from_first(json).map(Coordinates::Line),
                Some(3) => self.lines_from_first(json).map(Coordinates::Lines),
                Some(_) => self.polygons_from_first(json).map(Coordinates::Polygons),
            },
        }
    }

    /// Reads an array, of which the first item comes, without knowing how deep it goes.
    fn read_any(&mut self, json: &mut Scanner<'_>) -> Read<Coordinates> {
        if json.kind().at(0)? != Kind::Array {
            return self.position_from_first(json).map(Coordinates::Position);
        }
        let deeper = |tally: &mut Self, json: &mut Scanner<'_>| {
            enter_filled(json)?;
            tally.read_any(json)
        };
        match deeper(self, json).at(0)? {
            Coordinates::Position(first) => self.rest_of_line(first, json).map(Coordinates::Line),
            Coordinates::Line(first) => {
                self.rest_of(vec![first], json, Self::line).map(Coordinates::Lines)
            }
            Coordinates::Lines(first) => {
                self.rest_of(vec![first], json, Self::lines).map(Coordinates::Polygons)
            }
            Coordinates::Polygons(_) | Coordinates::Empty => {
                Err(json.wrong("has arrays that are nested too deep"))
            }
        }
    }

    fn lines(&mut self, json: &mut Scanner<'_>) -> Read<Vec<Line>> {
        enter_filled(json)?;
        self.lines_from_first(json)
    }

    fn line(&mut self, json: &mut Scanner<'_>) -> Read<Line> {
        enter_filled(json)?;
        self.line_from_first(json)
    }

    fn polygons_from_first(&mut self, json: &mut Scanner<'_>) -> Read<Vec<Rings>> {
        let first = self.lines(json).at(0)?;
        self.rest_of(vec![first], json, Self::lines)
    }

    fn lines_from_first(&mut self, json: &mut Scanner<'_>) -> Read<Vec<Line>> {
        let first = self.line(json).at(0)?;
        self.rest_of(vec![first], json, Self::line)
    }

    fn rest_of<T>(
        &mut self,
        mut items: Vec<T>,
        json: &mut Scanner<'_>,
        item: fn(&mut Self, &mut Scanner<'_>) -> Read<T>,
    ) -> Read<Vec<T>> {
        while json.next_item()? {
            items.push(item(self, json).at(items.len())?);
        }
        Ok(items)
    }

    fn line_from_first(&mut self, json: &mut Scanner<'_>) -> Read<Line> {
        let first = self.position(json).at(0)?;
        self.rest_of_line(first, json)
    }

    fn rest_of_line(&mut self, first: Position, json: &mut Scanner<'_>) -> Read<Line> {
        self.line.clear();
        self.line.push(first);
        while json.next_item()? {
            let position = self.position(json).at(self.line.len())?;
            self.line.push(position);
        }
        Ok(self.line.clone())
    }

    fn position(&mut self, json: &mut Scanner<'_>) -> Read<Position> {
        enter(json)?;
        if !json.next_item()? {
            return Err(too_short(json));
        }
        self.position_from_first(json)
    }

    /// Reads a position whose first ordinate comes. What follows the height is checked and dropped.
    fn position_from_first(&mut self, json: &mut Scanner<'_>) -> Read<Position> {
        self.vertices += 1;
        if self.vertices > MAX_VERTICES {
            return Err(json.wrong(format!("has more than {MAX_VERTICES} positions")));
        }
        let x = ordinate(json).at(0)?;
        if !json.next_item()? {
            return Err(too_short(json));
        }
        let y = ordinate(json).at(1)?;
        let mut position = Position { x, y, z: None };
        if json.next_item()? {
            position.z = Some(ordinate(json).at(2)?);
            let mut index = 3;
            while json.next_item()? {
                ordinate(json).at(index)?;
                index += 1;
            }
        }
        Ok(position)
    }
}

fn ordinate(json: &mut Scanner<'_>) -> Read<f64> {
    let ordinate = number(json)?;
    if ordinate.abs() > MAX_ORDINATE {
        return Err(json.wrong("is larger than any coordinate"));
    }
    Ok(ordinate)
}

fn too_short(json: &Scanner<'_>) -> Box<Fault> {
    json.wrong("a position needs two numbers or more")
}

fn enter(json: &mut Scanner<'_>) -> Read<()> {
    match json.kind()? {
        Kind::Array => json.open_array(),
        _ => Err(json.wrong("must be an array")),
    }
}

/// Enters an array that must not be empty, and goes to its first item.
fn enter_filled(json: &mut Scanner<'_>) -> Read<()> {
    enter(json)?;
    match json.next_item()? {
        true => Ok(()),
        false => Err(json.wrong("must not be empty")),
    }
}
