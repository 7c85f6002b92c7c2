//! Transforms the positions of a geometry to WGS 84 and checks that they lie on the earth.

use super::{
    object_type::Member,
    parse_error::{ErrorPath, ParseError, ParseResult},
    scanner::Scanner,
};
use crate::{Crs, Geometry, Line, Notice, Position, repair};
use std::cell::Cell;

/// Beyond this, a number is certainly not meant in degrees.
const MAX_PLAUSIBLE_DEGREES: f64 = 1000.0;

pub(super) struct ToWgs84<'a, 'b> {
    /// The reference system of the positions.
    crs: &'a Crs,
    /// Whether the document has northing or latitude first. The positions have easting first.
    is_northing_first: bool,
    /// Provides the line number of errors.
    json: &'a Scanner<'b>,
    /// The first position outside the area of use, as it was sent.
    outside: Cell<Option<(f64, f64)>>,
}

impl<'a, 'b> ToWgs84<'a, 'b> {
    pub(super) fn new(crs: &'a Crs, is_northing_first: bool, json: &'a Scanner<'b>) -> Self {
        Self { crs, is_northing_first, json, outside: Cell::new(None) }
    }

    /// Transforms a geometry; returns a notice if it lies outside the area of use.
    pub(super) fn transform(self, geometry: &mut Geometry) -> ParseResult<Option<Notice>> {
        self.geometry(geometry)?;
        Ok(self.outside.get().map(|(x, y)| {
            let message = format!("lies outside the area of use of {}", self.crs);
            Notice { pointer: String::new(), message: message + self.swapped_hint(x, y) }
        }))
    }

    /// A hint if the position would be in the area of use with its axes swapped.
    fn swapped_hint(&self, x: f64, y: f64) -> &'static str {
        let swapped = self.crs.to_wgs84(y, x);
        match swapped
            .is_some_and(|(longitude, latitude)| self.crs.is_in_area_of_use(longitude, latitude))
        {
            true if self.is_northing_first => "; its axes seem to be swapped: north comes first",
            true => "; its axes seem to be swapped: x (east) comes first",
            false => "",
        }
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
                let message = format!("is outside the area in which {} can be used", self.crs);
                self.json.invalid(message + self.swapped_hint(x, y))
            })?;
            if self.outside.get().is_none() && !self.crs.is_in_area_of_use(position.x, position.y) {
                self.outside.set(Some((x, y)));
            }
        }
        if position.x.abs() > repair::MAX_LONGITUDE {
            return Err(self.out_of_range("longitude", position.x, repair::MAX_LONGITUDE))
                .at_index(usize::from(self.is_northing_first));
        }
        if position.y.abs() > 90.0 {
            return Err(self.out_of_range("latitude", position.y, 90.0))
                .at_index(usize::from(!self.is_northing_first));
        }
        Ok(())
    }

    #[cold]
    fn out_of_range(&self, name: &str, found: f64, limit: f64) -> Box<ParseError> {
        let hint = match found.abs() > MAX_PLAUSIBLE_DEGREES && self.crs.is_wgs84() {
            true => "; if the coordinates are not in WGS 84, name their reference system in `crs`",
            false => "",
        };
        let message = format!("a {name} must be between -{limit} and {limit} degrees{hint}");
        self.json.invalid(message).suggesting_other_crs()
    }
}

fn each_item<T>(
    items: &mut [T],
    mut check: impl FnMut(&mut T) -> ParseResult<()>,
) -> ParseResult<()> {
    items.iter_mut().enumerate().try_for_each(|(index, item)| check(item).at_index(index))
}
