//! Geometries with exact coordinates, in WGS 84 unless stated otherwise.

use crate::Bbox;

/// A position on the earth: longitude and latitude in degrees, with an optional height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Longitude, −180 to 180.
    pub x: f64,
    /// Latitude, −90 to 90.
    pub y: f64,
    /// Height.
    pub z: Option<f64>,
}

/// A line, or a ring when its last position is its first.
pub type Line = Vec<Position>;

/// An outer ring and its holes.
pub type Rings = Vec<Line>;

/// A geometry of RFC 7946.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// One position.
    Point(Position),
    /// Any number of positions.
    MultiPoint(Vec<Position>),
    /// Two or more positions.
    LineString(Line),
    /// Any number of lines.
    MultiLineString(Vec<Line>),
    /// An outer ring, counter-clockwise, and its holes, clockwise.
    Polygon(Rings),
    /// Any number of polygons.
    MultiPolygon(Vec<Rings>),
    /// Geometries of any type.
    Collection(Vec<Geometry>),
}

impl Geometry {
    /// The name of its type in GeoJSON.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Point(_) => "Point",
            Self::MultiPoint(_) => "MultiPoint",
            Self::LineString(_) => "LineString",
            Self::MultiLineString(_) => "MultiLineString",
            Self::Polygon(_) => "Polygon",
            Self::MultiPolygon(_) => "MultiPolygon",
            Self::Collection(_) => "GeometryCollection",
        }
    }

    /// The bounding box; `None` if the geometry has no position.
    #[must_use]
    pub fn bbox(&self) -> Option<Bbox> {
        let mut bounds: Option<[f64; 4]> = None;
        self.each_position(&mut |at| {
            let [west, south, east, north] = bounds.unwrap_or([at.x, at.y, at.x, at.y]);
            bounds = Some([west.min(at.x), south.min(at.y), east.max(at.x), north.max(at.y)]);
        });
        bounds.map(Bbox)
    }

    /// Changes every position in document order.
    pub fn each_position_mut(&mut self, change: &mut impl FnMut(&mut Position)) {
        let mut line = |line: &mut Line| line.iter_mut().for_each(&mut *change);
        match self {
            Self::Point(position) => change(position),
            Self::MultiPoint(positions) | Self::LineString(positions) => line(positions),
            Self::MultiLineString(lines) | Self::Polygon(lines) => lines.iter_mut().for_each(line),
            Self::MultiPolygon(polygons) => polygons.iter_mut().flatten().for_each(line),
            Self::Collection(parts) => {
                parts.iter_mut().for_each(|part| part.each_position_mut(change));
            }
        }
    }

    /// Visits every position in document order.
    pub fn each_position(&self, visit: &mut impl FnMut(Position)) {
        let mut line = |line: &Line| line.iter().copied().for_each(&mut *visit);
        match self {
            Self::Point(position) => visit(*position),
            Self::MultiPoint(positions) | Self::LineString(positions) => line(positions),
            Self::MultiLineString(lines) | Self::Polygon(lines) => lines.iter().for_each(line),
            Self::MultiPolygon(polygons) => polygons.iter().flatten().for_each(line),
            Self::Collection(parts) => parts.iter().for_each(|part| part.each_position(visit)),
        }
    }
}
