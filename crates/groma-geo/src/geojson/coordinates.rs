//! The member `coordinates`: nested arrays of numbers, and the geometry that a `type` makes of them.
//! The two members can come in either order, so coordinates are read by the depth of their arrays.

use super::{
    MAX_RINGS, MAX_VERTICES, limits,
    parse_error::{ErrorPath, ParseError, ParseResult, Place},
    scanner::{Scanner, ValueKind},
};
use crate::{Geometry, Line, Position, Rings, message};

/// The largest number that is accepted as a coordinate, in any unit.
pub(super) const MAX_COORDINATE: f64 = 1e12;

/// The geometry types that have coordinates: all but GeometryCollection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GeometryType {
    Point,
    MultiPoint,
    LineString,
    MultiLineString,
    Polygon,
    MultiPolygon,
}

impl GeometryType {
    /// The depth of the arrays in its `coordinates`.
    fn depth(self) -> usize {
        match self {
            Self::Point => 1,
            Self::MultiPoint | Self::LineString => 2,
            Self::MultiLineString | Self::Polygon => 3,
            Self::MultiPolygon => 4,
        }
    }
}

/// Nested arrays of numbers, by depth.
#[derive(Debug)]
pub(super) enum Coordinates {
    Empty,
    Position(Position),
    Line(Line),
    Lines(Vec<Line>),
    Polygons(Vec<Rings>),
}

impl Coordinates {
    fn depth(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Position(_) => 1,
            Self::Line(_) => 2,
            Self::Lines(_) => 3,
            Self::Polygons(_) => 4,
        }
    }

    /// The geometry of this type.
    pub(super) fn into_geometry(
        self,
        geometry_type: GeometryType,
        place: Place,
    ) -> ParseResult<Geometry> {
        use GeometryType::{LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};
        match (geometry_type, self) {
            (Point, Self::Position(position)) => Ok(Geometry::Point(position)),
            (MultiPoint, Self::Empty) => Ok(Geometry::MultiPoint(Vec::new())),
            (MultiPoint, Self::Line(positions)) => Ok(Geometry::MultiPoint(positions)),
            (LineString, Self::Line(line)) => {
                check_line(&line, place)?;
                Ok(Geometry::LineString(line))
            }
            (MultiLineString, Self::Empty) => Ok(Geometry::MultiLineString(Vec::new())),
            (MultiLineString, Self::Lines(lines)) => {
                for (index, line) in lines.iter().enumerate() {
                    check_line(line, place).at_index(index)?;
                }
                Ok(Geometry::MultiLineString(lines))
            }
            (Polygon, Self::Lines(mut rings)) => {
                check_rings(&mut rings, place)?;
                Ok(Geometry::Polygon(rings))
            }
            (MultiPolygon, Self::Empty) => Ok(Geometry::MultiPolygon(Vec::new())),
            (MultiPolygon, Self::Polygons(mut polygons)) => {
                for (index, rings) in polygons.iter_mut().enumerate() {
                    check_rings(rings, place).at_index(index)?;
                }
                Ok(Geometry::MultiPolygon(polygons))
            }
            (Point | LineString | Polygon, Self::Empty) => Err(place.invalid(message!(
                "must not be empty; for a missing geometry, set `geometry` to null"
            ))),
            (geometry_type, other) => Err(wrong_depth(&other, geometry_type, place)),
        }
    }
}

/// The error for arrays that are nested too deeply or not deeply enough, at the first item that
/// shows it.
fn wrong_depth(
    coordinates: &Coordinates,
    geometry_type: GeometryType,
    place: Place,
) -> Box<ParseError> {
    let (found, expected) = (coordinates.depth(), geometry_type.depth());
    let message =
        if found > expected { message!("must be a number") } else { message!("must be an array") };
    (0..found.min(expected)).fold(place.invalid(message), |error, _| error.at_index(0))
}

pub(super) fn check_line(line: &Line, place: Place) -> ParseResult<()> {
    if line.len() < 2 {
        return Err(place.invalid(message!("a line needs at least two positions")));
    }
    Ok(())
}

pub(super) fn check_rings(rings: &mut Rings, place: Place) -> ParseResult<()> {
    for (index, ring) in rings.iter_mut().enumerate() {
        check_ring(ring, place).at_index(index)?;
    }
    Ok(())
}

/// Checks that a ring is closed. If only the heights of its ends differ, the first one is used.
fn check_ring(ring: &mut Line, place: Place) -> ParseResult<()> {
    if ring.len() < 4 {
        return Err(place.invalid(message!("a ring needs at least four positions")));
    }
    if let [first, .., last] = ring.as_mut_slice() {
        if (first.x, first.y) != (last.x, last.y) {
            return Err(place.invalid(message!(
                "a ring must be closed: its last position must equal its first"
            )));
        }
        *last = *first;
    }
    Ok(())
}

/// Reads coordinates and enforces the limits of a feature.
#[derive(Default)]
pub(super) struct CoordinateReader {
    /// How many positions and rings the current feature has so far.
    vertices: usize,
    rings: usize,
    /// Lines are collected here first, so that they take no more memory than they need.
    line_buffer: Line,
}

impl CoordinateReader {
    pub(super) fn begin_feature(&mut self) {
        (self.vertices, self.rings) = (0, 0);
    }

    /// Counts the rings of a geometry of the current feature.
    pub(super) fn count_rings(&mut self, geometry: &Geometry, place: Place) -> ParseResult<()> {
        let left = MAX_RINGS.saturating_sub(self.rings);
        let too_many = || place.invalid(limits::too_many_rings());
        match geometry {
            Geometry::Polygon(rings) => {
                self.rings += rings.len();
                if rings.len() > left {
                    return Err(too_many().at_index(left));
                }
            }
            Geometry::MultiPolygon(polygons) => {
                let mut left = left;
                for (index, rings) in polygons.iter().enumerate() {
                    self.rings += rings.len();
                    if rings.len() > left {
                        return Err(too_many().at_index(left).at_index(index));
                    }
                    left -= rings.len();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the next value as `coordinates`: those of `geometry_type` if it is known, otherwise of
    /// any depth.
    pub(super) fn read(
        &mut self,
        geometry_type: Option<GeometryType>,
        json: &mut Scanner<'_>,
    ) -> ParseResult<Coordinates> {
        json.require_array()?;
        match json.next_item()? {
            false => Ok(Coordinates::Empty),
            true => match geometry_type.map(GeometryType::depth) {
                None => self.any_from_first(json),
                Some(1) => self.position_from_first(json).map(Coordinates::Position),
                Some(2) => self.line_from_first(json).map(Coordinates::Line),
                Some(3) => self.lines_from_first(json).map(Coordinates::Lines),
                Some(_) => self.polygons_from_first(json).map(Coordinates::Polygons),
            },
        }
    }

    // The scanner is at the first item of an open array in all functions `…_from_first`.

    fn any_from_first(&mut self, json: &mut Scanner<'_>) -> ParseResult<Coordinates> {
        if json.kind().at_index(0)? != ValueKind::Array {
            return self.position_from_first(json).map(Coordinates::Position);
        }
        let first = |reader: &mut Self, json: &mut Scanner<'_>| {
            open_nonempty_array(json)?;
            reader.any_from_first(json)
        };
        match first(self, json).at_index(0)? {
            Coordinates::Position(first) => self.rest_of_line(first, json).map(Coordinates::Line),
            Coordinates::Line(first) => {
                self.rest_of(vec![first], json, Self::line).map(Coordinates::Lines)
            }
            Coordinates::Lines(first) => {
                self.rest_of(vec![first], json, Self::lines).map(Coordinates::Polygons)
            }
            Coordinates::Polygons(_) | Coordinates::Empty => {
                Err(json.invalid(message!("arrays are nested too deeply")))
            }
        }
    }

    fn lines(&mut self, json: &mut Scanner<'_>) -> ParseResult<Vec<Line>> {
        open_nonempty_array(json)?;
        self.lines_from_first(json)
    }

    fn line(&mut self, json: &mut Scanner<'_>) -> ParseResult<Line> {
        open_nonempty_array(json)?;
        self.line_from_first(json)
    }

    fn polygons_from_first(&mut self, json: &mut Scanner<'_>) -> ParseResult<Vec<Rings>> {
        let first = self.lines(json).at_index(0)?;
        self.rest_of(vec![first], json, Self::lines)
    }

    fn lines_from_first(&mut self, json: &mut Scanner<'_>) -> ParseResult<Vec<Line>> {
        let first = self.line(json).at_index(0)?;
        self.rest_of(vec![first], json, Self::line)
    }

    fn rest_of<T>(
        &mut self,
        mut items: Vec<T>,
        json: &mut Scanner<'_>,
        item: fn(&mut Self, &mut Scanner<'_>) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        while json.next_item()? {
            items.push(item(self, json).at_index(items.len())?);
        }
        Ok(items)
    }

    fn line_from_first(&mut self, json: &mut Scanner<'_>) -> ParseResult<Line> {
        let first = self.position(json).at_index(0)?;
        self.rest_of_line(first, json)
    }

    fn rest_of_line(&mut self, first: Position, json: &mut Scanner<'_>) -> ParseResult<Line> {
        self.line_buffer.clear();
        self.line_buffer.push(first);
        while json.next_item()? {
            let position = self.position(json).at_index(self.line_buffer.len())?;
            self.line_buffer.push(position);
        }
        Ok(self.line_buffer.clone())
    }

    fn position(&mut self, json: &mut Scanner<'_>) -> ParseResult<Position> {
        json.require_array()?;
        if !json.next_item()? {
            return Err(position_too_short(json));
        }
        self.position_from_first(json)
    }

    /// Numbers after the height are checked and dropped.
    fn position_from_first(&mut self, json: &mut Scanner<'_>) -> ParseResult<Position> {
        self.vertices += 1;
        if self.vertices > MAX_VERTICES {
            return Err(json.invalid(limits::too_many_vertices()));
        }
        let x = read_coordinate(json).at_index(0)?;
        if !json.next_item()? {
            return Err(position_too_short(json));
        }
        let y = read_coordinate(json).at_index(1)?;
        let mut position = Position { x, y, z: None };
        if json.next_item()? {
            position.z = Some(read_coordinate(json).at_index(2)?);
            let mut index = 3;
            while json.next_item()? {
                read_coordinate(json).at_index(index)?;
                index += 1;
            }
        }
        Ok(position)
    }
}

fn read_coordinate(json: &mut Scanner<'_>) -> ParseResult<f64> {
    let coordinate = json.double()?;
    if coordinate.abs() > MAX_COORDINATE {
        return Err(json.invalid(message!("is too large for a coordinate")));
    }
    Ok(coordinate)
}

fn position_too_short(json: &Scanner<'_>) -> Box<ParseError> {
    json.invalid(message!("a position needs at least two numbers"))
}

/// Opens an array that must not be empty, and moves to its first item.
fn open_nonempty_array(json: &mut Scanner<'_>) -> ParseResult<()> {
    json.require_array()?;
    match json.next_item()? {
        true => Ok(()),
        false => Err(json.invalid(message!("must not be empty"))),
    }
}
