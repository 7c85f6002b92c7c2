//! How two geometries relate in the plane, by the DE-9IM model of the simple features standard.

use crate::{Geometry, Line, Position, Rings};
use geo::{
    BoundingRect, Coord, Intersects, LineString, MultiLineString, MultiPoint, MultiPolygon, Point,
    Polygon, Rect, Relate, Validation, indexed::PreparedGeometry,
};

/// A relation of two geometries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They have a point in common.
    Intersects,
    /// They consist of the same points.
    Equals,
    /// They have no point in common.
    Disjoint,
    /// They have points in common, but only of their boundaries.
    Touches,
    /// The first lies in the second.
    Within,
    /// They share a part of their dimension, and neither lies in the other.
    Overlaps,
    /// They share a part of a lower dimension.
    Crosses,
    /// The second lies in the first.
    Contains,
}

impl Relation {
    /// Every relation with its name.
    pub const NAMES: [(&str, Self); 8] = [
        ("intersects", Self::Intersects),
        ("equals", Self::Equals),
        ("disjoint", Self::Disjoint),
        ("touches", Self::Touches),
        ("within", Self::Within),
        ("overlaps", Self::Overlaps),
        ("crosses", Self::Crosses),
        ("contains", Self::Contains),
    ];

    /// The relation of the second geometry to the first.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Within => Self::Contains,
            Self::Contains => Self::Within,
            other => other,
        }
    }
}

/// A geometry to be related to others.
#[derive(Clone, Debug)]
pub struct Shape {
    geometry: geo::Geometry,
    bounds: Option<Rect>,
    /// Whether it is a rectangle with sides along the axes.
    is_box: bool,
}

/// A geometry that is related to many others.
pub struct PreparedShape<'a> {
    shape: &'a Shape,
    graph: PreparedGeometry<'a, &'a geo::Geometry>,
}

impl From<&Geometry> for Shape {
    fn from(geometry: &Geometry) -> Self {
        let converted = convert(geometry);
        let bounds = converted.bounding_rect();
        let is_box = match (geometry, bounds) {
            (Geometry::Polygon(rings), Some(bounds)) => is_box(rings, bounds),
            _ => false,
        };
        Self { geometry: converted, bounds, is_box }
    }
}

impl Shape {
    /// Fails with the reason if relations to this geometry have no meaning, such as that of a polygon whose
    /// boundary crosses itself.
    pub fn check(&self) -> Result<(), String> {
        self.geometry.check_validation().map_err(|error| error.to_string())
    }

    /// Prepares it to be related to many others.
    #[must_use]
    pub fn prepare(&self) -> PreparedShape<'_> {
        PreparedShape { shape: self, graph: PreparedGeometry::from(&self.geometry) }
    }

    fn is_apart_from(&self, other: &Self) -> bool {
        match (self.bounds, other.bounds) {
            (Some(one), Some(two)) => !one.intersects(&two),
            _ => true,
        }
    }

    fn is_point(&self) -> bool {
        matches!(self.geometry, geo::Geometry::Point(_))
    }
}

impl PreparedShape<'_> {
    /// Whether another geometry has a relation to this one.
    #[must_use]
    pub fn is_related(&self, other: &Shape, relation: Relation) -> bool {
        if self.shape.is_apart_from(other) {
            return relation == Relation::Disjoint;
        }
        let is_simple = self.shape.is_box || self.shape.is_point() || other.is_point();
        if is_simple && matches!(relation, Relation::Intersects | Relation::Disjoint) {
            let meets = match self.shape.bounds.filter(|_| self.shape.is_box) {
                Some(bounds) => other.geometry.intersects(&bounds),
                None => other.geometry.intersects(&self.shape.geometry),
            };
            return meets == (relation == Relation::Intersects);
        }
        let matrix = other.geometry.relate(&self.graph);
        match relation {
            Relation::Intersects => matrix.is_intersects(),
            Relation::Equals => matrix.is_equal_topo(),
            Relation::Disjoint => matrix.is_disjoint(),
            Relation::Touches => matrix.is_touches(),
            Relation::Within => matrix.is_within(),
            Relation::Overlaps => matrix.is_overlaps(),
            Relation::Crosses => matrix.is_crosses(),
            Relation::Contains => matrix.is_contains(),
        }
    }
}

fn is_box(rings: &Rings, bounds: Rect) -> bool {
    let (min, max) = (bounds.min(), bounds.max());
    let is_corner =
        |at: &Position| (at.x == min.x || at.x == max.x) && (at.y == min.y || at.y == max.y);
    let is_side = |pair: &[Position]| (pair[0].x == pair[1].x) != (pair[0].y == pair[1].y);
    match rings.as_slice() {
        [ring] => ring.len() == 5 && ring.iter().all(is_corner) && ring.windows(2).all(is_side),
        _ => false,
    }
}

fn convert(geometry: &Geometry) -> geo::Geometry {
    match geometry {
        Geometry::Point(at) => Point(coord(at)).into(),
        Geometry::MultiPoint(positions) => {
            MultiPoint(positions.iter().map(|at| Point(coord(at))).collect()).into()
        }
        Geometry::LineString(one) => line(one).into(),
        Geometry::MultiLineString(lines) => {
            MultiLineString(lines.iter().map(line).collect()).into()
        }
        Geometry::Polygon(rings) => polygon(rings).into(),
        Geometry::MultiPolygon(polygons) => {
            MultiPolygon(polygons.iter().map(polygon).collect()).into()
        }
        Geometry::Collection(parts) => {
            geo::Geometry::GeometryCollection(parts.iter().map(convert).collect())
        }
    }
}

fn coord(at: &Position) -> Coord {
    Coord { x: at.x, y: at.y }
}

fn line(line: &Line) -> LineString {
    LineString(line.iter().map(coord).collect())
}

fn polygon(rings: &Rings) -> Polygon {
    let mut rings = rings.iter().map(line);
    let outer = rings.next().unwrap_or_else(|| LineString(Vec::new()));
    Polygon::new(outer, rings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, y: f64) -> Position {
        Position { x, y, z: None }
    }

    fn square(x: f64, y: f64, size: f64) -> Geometry {
        let corners = [(x, y), (x + size, y), (x + size, y + size), (x, y + size), (x, y)];
        Geometry::Polygon(vec![corners.map(|(x, y)| at(x, y)).to_vec()])
    }

    fn relations(one: &Geometry, two: &Geometry) -> Vec<&'static str> {
        let (one, two) = (Shape::from(one), Shape::from(two));
        let prepared = two.prepare();
        let holds = |(_, relation): &(&str, Relation)| prepared.is_related(&one, *relation);
        Relation::NAMES.into_iter().filter(holds).map(|(name, _)| name).collect()
    }

    #[test]
    fn relations_follow_the_standard() {
        let unit = square(0.0, 0.0, 1.0);
        let line = |x1, y1, x2, y2| Geometry::LineString(vec![at(x1, y1), at(x2, y2)]);
        for (one, two, expected) in [
            (square(0.0, 0.0, 1.0), &unit, vec!["intersects", "equals", "within", "contains"]),
            (square(2.0, 0.0, 1.0), &unit, vec!["disjoint"]),
            (square(1.0, 0.0, 1.0), &unit, vec!["intersects", "touches"]),
            (square(0.5, 0.5, 1.0), &unit, vec!["intersects", "overlaps"]),
            (square(0.2, 0.2, 0.5), &unit, vec!["intersects", "within"]),
            (square(-1.0, -1.0, 3.0), &unit, vec!["intersects", "contains"]),
            (line(-1.0, 0.5, 2.0, 0.5), &unit, vec!["intersects", "crosses"]),
            (Geometry::Point(at(0.5, 0.5)), &unit, vec!["intersects", "within"]),
            (Geometry::Point(at(1.0, 0.5)), &unit, vec!["intersects", "touches"]),
            (Geometry::Point(at(1.5, 0.5)), &unit, vec!["disjoint"]),
        ] {
            assert_eq!(relations(&one, two), expected, "{one:?}");
        }
    }

    #[test]
    fn polygon_that_crosses_itself_is_invalid() {
        let ring = [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)];
        let bow_tie = Geometry::Polygon(vec![ring.map(|(x, y)| at(x, y)).to_vec()]);
        assert!(Shape::from(&bow_tie).check().is_err());
        assert!(Shape::from(&square(0.0, 0.0, 1.0)).check().is_ok());
    }
}
