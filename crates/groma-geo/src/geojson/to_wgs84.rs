//! Transforms the positions of a geometry to WGS 84 and checks that they lie on the earth.

use super::{
    object_type::Member,
    parse_error::{ErrorPath, ParseError, ParseResult, Place},
};
use crate::{Crs, Geometry, Line, Message, Notice, Position, message, repair};
use std::cell::Cell;

/// Beyond this, a number is certainly not meant in degrees.
const MAX_PLAUSIBLE_DEGREES: f64 = 1000.0;

pub(super) struct ToWgs84<'a> {
    /// The reference system of the positions.
    crs: &'a Crs,
    /// Whether the document has northing or latitude first. The positions have easting first.
    is_northing_first: bool,
    place: Place,
    /// The first position outside the area of use, as it was sent.
    outside: Cell<Option<(f64, f64)>>,
}

impl<'a> ToWgs84<'a> {
    pub(super) fn new(crs: &'a Crs, is_northing_first: bool, place: Place) -> Self {
        Self { crs, is_northing_first, place, outside: Cell::new(None) }
    }

    /// Transforms a geometry; returns a notice if it lies outside the area of use.
    pub(super) fn transform(self, geometry: &mut Geometry) -> ParseResult<Option<Notice>> {
        self.geometry(geometry)?;
        Ok(self.outside.get().map(|(x, y)| {
            let message =
                message!("lies outside the area of use of {crs}", crs = self.crs.to_string());
            Notice { pointer: String::new(), message: self.with_swapped_hint(message, x, y) }
        }))
    }

    /// Adds a hint if the position would be in the area of use with its axes swapped.
    fn with_swapped_hint(&self, problem: Message, x: f64, y: f64) -> Message {
        let swapped = self.crs.to_wgs84(y, x);
        let hint = match swapped
            .is_some_and(|(longitude, latitude)| self.crs.is_in_area_of_use(longitude, latitude))
        {
            true if self.is_northing_first => {
                message!("its axes seem to be swapped: north comes first")
            }
            true => message!("its axes seem to be swapped: x (east) comes first"),
            false => return problem,
        };
        message!("{problem}; {hint}", problem = problem, hint = hint)
    }

    fn geometry(&self, geometry: &mut Geometry) -> ParseResult<()> {
        let result = match geometry {
            Geometry::Point(position) => self.position(position),
            Geometry::MultiPoint(positions) | Geometry::LineString(positions) => {
                self.line(positions)
            }
            Geometry::MultiLineString(lines) | Geometry::Polygon(lines) => self.lines(lines),
            Geometry::MultiPolygon(polygons) => each_item(polygons, |rings| self.lines(rings)),
            Geometry::Collection(parts) => {
                return each_item(parts, |part| self.geometry(part))
                    .at_member(Member::Geometries.name());
            }
        };
        result.at_member(Member::Coordinates.name())
    }

    fn lines(&self, lines: &mut [Line]) -> ParseResult<()> {
        each_item(lines, |line| self.line(line))
    }

    fn line(&self, line: &mut Line) -> ParseResult<()> {
        each_item(line, |position| self.position(position))
    }

    fn position(&self, position: &mut Position) -> ParseResult<()> {
        if !self.crs.is_wgs84() {
            let (x, y) = (position.x, position.y);
            (position.x, position.y) = self.crs.to_wgs84(x, y).ok_or_else(|| {
                let message = message!(
                    "is outside the area in which {crs} can be used",
                    crs = self.crs.to_string()
                );
                self.place.invalid(self.with_swapped_hint(message, x, y))
            })?;
            if self.outside.get().is_none() && !self.crs.is_in_area_of_use(position.x, position.y) {
                self.outside.set(Some((x, y)));
            }
        }
        if position.x.abs() > repair::MAX_LONGITUDE {
            let message = message!(
                "a longitude must be between -{limit} and {limit} degrees",
                limit = repair::MAX_LONGITUDE.to_string()
            );
            return Err(self.out_of_range(message, position.x))
                .at_index(usize::from(self.is_northing_first));
        }
        if position.y.abs() > 90.0 {
            let message = message!("a latitude must be between -90 and 90 degrees");
            return Err(self.out_of_range(message, position.y))
                .at_index(usize::from(!self.is_northing_first));
        }
        Ok(())
    }

    #[cold]
    fn out_of_range(&self, problem: Message, found: f64) -> Box<ParseError> {
        let message = match found.abs() > MAX_PLAUSIBLE_DEGREES && self.crs.is_wgs84() {
            true => message!(
                "{problem}; {hint}",
                problem = problem,
                hint = message!(
                    "if the coordinates are not in WGS 84, name their reference system in `crs`"
                )
            ),
            false => problem,
        };
        self.place.invalid(message).suggesting_other_crs()
    }
}

fn each_item<T>(
    items: &mut [T],
    mut check: impl FnMut(&mut T) -> ParseResult<()>,
) -> ParseResult<()> {
    items.iter_mut().enumerate().try_for_each(|(index, item)| check(item).at_index(index))
}
