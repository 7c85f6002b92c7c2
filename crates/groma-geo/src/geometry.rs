//! Shapes in WGS 84: what is read, kept and handed out exactly.

use crate::Bbox;

/// A point of the earth: longitude and latitude in degrees, and a height where one was given.
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
    /// Several.
    MultiPoint(Vec<Position>),
    /// Two positions or more.
    LineString(Line),
    /// Several lines.
    MultiLineString(Vec<Line>),
    /// An outer ring, counter-clockwise, and its holes, clockwise.
    Polygon(Rings),
    /// Several polygons.
    MultiPolygon(Vec<Rings>),
    /// Geometries of any kind.
    Collection(Vec<Geometry>),
}

impl Geometry {
    /// Its name in GeoJSON.
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

    /// The box around it; `None` when it has no position.
    #[must_use]
    pub fn bbox(&self) -> Option<Bbox> {
        let mut bounds: Option<[f64; 4]> = None;
        self.each_position(&mut |at| {
            let [west, south, east, north] = bounds.unwrap_or([at.x, at.y, at.x, at.y]);
            bounds = Some([west.min(at.x), south.min(at.y), east.max(at.x), north.max(at.y)]);
        });
        bounds.map(Bbox)
    }

    /// Visits every position in the order it is written in.
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
