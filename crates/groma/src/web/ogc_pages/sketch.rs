//! A small map of features, drawn as SVG on the server: shapes without a base map.

use serde_json::Value;
use std::fmt::Write;

/// The size of the map in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 16.0;
/// More features are not drawn.
const MAX_FEATURES: usize = 2_000;

/// The parts of a map, in pixels.
pub(super) struct Sketch {
    pub(super) width: f64,
    pub(super) height: f64,
    /// SVG paths.
    pub(super) areas: Vec<String>,
    pub(super) lines: Vec<String>,
    pub(super) points: Vec<(String, String)>,
}

type Position = (f64, f64);

/// What features consist of.
#[derive(Default)]
struct Shapes {
    /// Polygons as lists of rings.
    areas: Vec<Vec<Vec<Position>>>,
    lines: Vec<Vec<Position>>,
    points: Vec<Position>,
}

impl Sketch {
    /// Draws features in this reference system; `None` if they have no geometries.
    pub(super) fn new(features: &[&Value], crs: Option<&str>) -> Option<Self> {
        let mut shapes = Shapes::default();
        for feature in features.iter().take(MAX_FEATURES) {
            shapes.add(&feature["geometry"]);
        }
        let crs = crs.unwrap_or_default();
        let is_latitude_first = crs.contains("/4326");
        let is_degrees = is_latitude_first || crs.contains("CRS84");
        let place = |(x, y): Position| if is_latitude_first { (y, x) } else { (x, y) };
        let projection = Projection::new(shapes.positions().map(place), is_degrees)?;
        let draw = |position: &Position| projection.pixel(place(*position));
        let path = |line: &[Position], end: &str| {
            let mut path = String::new();
            for (index, position) in line.iter().enumerate() {
                let (x, y) = draw(position);
                let command = if index == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{command}{x:.1} {y:.1}");
            }
            path + end
        };
        let area = |rings: &Vec<Vec<Position>>| rings.iter().map(|ring| path(ring, "Z")).collect();
        let point = |position: &Position| {
            let (x, y) = draw(position);
            (format!("{x:.1}"), format!("{y:.1}"))
        };
        Some(Self {
            width: WIDTH,
            height: HEIGHT,
            areas: shapes.areas.iter().map(area).collect(),
            lines: shapes.lines.iter().map(|line| path(line, "")).collect(),
            points: shapes.points.iter().map(point).collect(),
        })
    }
}

impl Shapes {
    fn add(&mut self, geometry: &Value) {
        let coordinates = &geometry["coordinates"];
        match geometry["type"].as_str().unwrap_or_default() {
            "Point" => self.points.extend(position(coordinates)),
            "MultiPoint" => self.points.extend(line(coordinates)),
            "LineString" => self.lines.push(line(coordinates)),
            "MultiLineString" => self.lines.extend(lines(coordinates)),
            "Polygon" => self.areas.push(lines(coordinates)),
            "MultiPolygon" => self.areas.extend(items(coordinates).map(lines)),
            "GeometryCollection" => items(&geometry["geometries"]).for_each(|one| self.add(one)),
            _ => {}
        }
    }

    fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        let areas = self.areas.iter().flatten().flatten();
        areas.chain(self.lines.iter().flatten()).chain(&self.points).copied()
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn position(value: &Value) -> Option<Position> {
    Some((value[0].as_f64()?, value[1].as_f64()?))
}

fn line(value: &Value) -> Vec<Position> {
    items(value).filter_map(position).collect()
}

fn lines(value: &Value) -> Vec<Vec<Position>> {
    items(value).map(line).collect()
}

/// Places positions in the middle of the map.
struct Projection {
    middle: Position,
    /// Pixels per unit.
    scale: Position,
}

impl Projection {
    fn new(positions: impl Iterator<Item = Position>, is_degrees: bool) -> Option<Self> {
        let [mut west, mut south, mut east, mut north] =
            [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for (x, y) in positions {
            (west, east) = (west.min(x), east.max(x));
            (south, north) = (south.min(y), north.max(y));
        }
        if west > east {
            return None;
        }
        let middle = (f64::midpoint(west, east), f64::midpoint(south, north));
        // A degree of longitude is shorter away from the equator.
        let shrink = if is_degrees { middle.1.to_radians().cos().max(0.01) } else { 1.0 };
        let smallest = if is_degrees { 1e-6 } else { 0.1 };
        let width = ((east - west) * shrink).max(smallest);
        let height = (north - south).max(smallest);
        let scale = ((WIDTH - 2.0 * MARGIN) / width).min((HEIGHT - 2.0 * MARGIN) / height);
        Some(Self { middle, scale: (scale * shrink, scale) })
    }

    fn pixel(&self, (x, y): Position) -> Position {
        let x = (x - self.middle.0) * self.scale.0;
        let y = (y - self.middle.1) * self.scale.1;
        (WIDTH / 2.0 + x, HEIGHT / 2.0 - y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shapes_fill_the_map() {
        let ring = json!([[2.0, 48.0], [3.0, 48.0], [3.0, 49.0], [2.0, 49.0], [2.0, 48.0]]);
        let area = json!({ "geometry": { "type": "Polygon", "coordinates": [ring] } });
        let point = json!({ "geometry": { "type": "Point", "coordinates": [2.5, 48.5] } });
        let none = json!({ "geometry": null });
        let sketch = Sketch::new(&[&area, &point, &none], Some("<http://…/CRS84>")).unwrap();
        assert_eq!(sketch.points, [("320.0".to_owned(), "160.0".to_owned())]);
        assert!(sketch.areas[0].ends_with('Z') && sketch.areas[0].contains(" 304.0"));
        assert!(Sketch::new(&[&none], None).is_none());
    }
}
