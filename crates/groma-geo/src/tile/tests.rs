//! Encodes tiles and decodes them with an independent, strict decoder.

mod decode;
mod ogc;
mod properties;
mod size_limit;
mod validity;

use super::*;
use crate::{
    Geometry, Position, Rings, attributes,
    grid::project,
    tile_shape::{TileShape, needs_detail_level},
};
use decode::{Feature, Geometry as Decoded, Value};
use serde_json::json;

/// The tile that contains a grid point.
fn tile_at(z: u8, (x, y): (u32, u32)) -> TileId {
    let column = |value: u32| u32::try_from(u64::from(value) >> (32 - z)).unwrap();
    TileId::new(z, column(x), column(y)).unwrap()
}

/// The bytes of the shape for tiles of this zoom.
fn bytes_for_zoom(shape: &TileShape, z: u8) -> &[u8] {
    if needs_detail_level(&shape.bytes, z) {
        &shape.levels.iter().find(|level| level.max_zoom >= z).unwrap().bytes
    } else {
        &shape.bytes
    }
}

/// Encodes a tile without coverage.
fn encode(
    tile: TileId,
    name: &str,
    fields: &[&str],
    candidates: Vec<Candidate<'_>>,
    max_bytes: Option<usize>,
) -> Vec<u8> {
    super::encode(tile, name, fields, candidates, CoverageGrid::new(tile), max_bytes)
}

fn candidate<'a>(id: u64, shape: &'a [u8], attributes: &'a [u8]) -> Candidate<'a> {
    Candidate { id, is_polygon: false, min_zoom: 0, rank: 0, shape, attributes }
}

/// The features of a tile that contains only this geometry.
fn encode_single(geometry: &Geometry, tile: TileId) -> Vec<Feature> {
    let shape = TileShape::from_geometry(geometry).unwrap();
    let shape = bytes_for_zoom(&shape, tile.z());
    let bytes = encode(tile, "layer", &[""; 0], vec![candidate(8, shape, &[])], None);
    decode::tile(&bytes).map_or_else(Vec::new, |layer| layer.features)
}

fn rings_of(features: &[Feature]) -> Vec<decode::Path> {
    match features {
        [] => Vec::new(),
        [Feature { geometry: Decoded::Polygons(rings), .. }] => rings.clone(),
        other => panic!("{other:?}"),
    }
}

fn position(x: f64, y: f64) -> Position {
    Position { x, y, z: None }
}

fn line(positions: &[(f64, f64)]) -> Vec<Position> {
    positions.iter().map(|&(x, y)| position(x, y)).collect()
}

/// Longitude and latitude of a point in units of [`test_tile`].
fn to_degrees(x: f64, y: f64) -> (f64, f64) {
    let world = 4096.0 * 1024.0;
    let longitude = (512.0 * 4096.0 + x) / world * 360.0 - 180.0;
    let mercator = std::f64::consts::PI * (1.0 - 2.0 * (340.0 * 4096.0 + y) / world);
    (longitude, mercator.sinh().atan().to_degrees())
}

fn test_tile() -> TileId {
    TileId::new(10, 512, 340).unwrap()
}

/// A path through these points of [`test_tile`].
fn path_in_tile(points: &[(i32, i32)]) -> Vec<Position> {
    let place = |&(x, y): &(i32, i32)| to_degrees(f64::from(x), f64::from(y));
    line(&points.iter().map(place).collect::<Vec<_>>())
}

fn rings_in_tile(rings: &[&[(i32, i32)]]) -> Rings {
    let closed = |ring: &&[(i32, i32)]| {
        let mut ring = path_in_tile(ring);
        ring.push(ring[0]);
        ring
    };
    rings.iter().map(closed).collect()
}

fn polygon_in_tile(rings: &[&[(i32, i32)]]) -> Geometry {
    Geometry::Polygon(rings_in_tile(rings))
}

const SQUARE: [(i32, i32); 4] = [(100, 100), (300, 100), (300, 300), (100, 300)];

#[test]
fn tile_has_layer_name_ids_and_typed_properties() {
    let values =
        [json!("Pré"), json!(1.5), json!(7), json!(-7), json!(true), json!([1]), json!(null)];
    let attributes = attributes::encode((0..).zip(&values));
    let same = attributes::encode([(1, &values[2]), (0, &values[0])].into_iter());
    let shape = TileShape::from_geometry(&polygon_in_tile(&[&SQUARE])).unwrap().bytes;
    let names = ["name", "double", "whole", "less", "yes", "list", "null", "unused"];
    let candidates = vec![candidate(8, &shape, &attributes), candidate(4, &shape, &same)];
    let layer = decode::tile(&encode(test_tile(), "parcels", &names, candidates, None)).unwrap();
    assert_eq!(layer.name, "parcels");
    let text = |text: &str| Value::Text(text.to_owned());
    let properties = |index: usize| {
        let properties = &layer.features[index].properties;
        properties.iter().map(|(key, value)| (key.as_str(), value.clone())).collect::<Vec<_>>()
    };
    assert_eq!([layer.features[0].id, layer.features[1].id], [4, 8]);
    assert_eq!(properties(0), [("double", Value::Unsigned(7)), ("name", text("Pré"))]);
    assert_eq!(
        properties(1),
        [
            ("name", text("Pré")),
            ("double", Value::Double(1.5)),
            ("whole", Value::Unsigned(7)),
            ("less", Value::Signed(-7)),
            ("yes", Value::Boolean(true)),
            ("list", text("[1]")),
        ]
    );
}

#[test]
fn outer_rings_are_clockwise_and_holes_counter_clockwise() {
    let hole = [(150, 150), (250, 150), (250, 250), (150, 250)];
    let mut backwards = SQUARE;
    backwards.reverse();
    for outer in [SQUARE, backwards] {
        let rings = rings_of(&encode_single(&polygon_in_tile(&[&outer, &hole]), test_tile()));
        let areas: Vec<i64> = rings.iter().map(|ring| decode::doubled_area(ring)).collect();
        assert_eq!(areas, [80_000, -20_000]);
        for corner in SQUARE {
            assert!(rings[0].contains(&(corner.0.into(), corner.1.into())));
        }
    }
}

#[test]
fn polygon_around_the_tile_fills_it_unless_its_hole_does() {
    let around = |by: i32| [(-by, -by), (4096 + by, -by), (4096 + by, 4096 + by), (-by, 4096 + by)];
    let rings = rings_of(&encode_single(&polygon_in_tile(&[&around(9_000)]), test_tile()));
    assert_eq!(rings.len(), 1);
    assert_eq!(decode::doubled_area(&rings[0]), 2 * 4224 * 4224);
    assert_eq!(encode_single(&polygon_in_tile(&[&around(9_000), &around(500)]), test_tile()), []);
    // The edge of the hole lies in the buffer.
    let rings =
        rings_of(&encode_single(&polygon_in_tile(&[&around(9_000), &around(30)]), test_tile()));
    assert_eq!(rings.len(), 2);
}

#[test]
fn shapes_without_size_stay_visible() {
    let house = polygon_in_tile(&[&[(1000, 2000), (1004, 2000), (1004, 2003), (1000, 2003)]]);
    let path = Geometry::LineString(path_in_tile(&[(1000, 2000), (1003, 2002)]));
    for z in 0..=7 {
        let tile = TileId::new(z, 512 >> (10 - z), 340 >> (10 - z)).unwrap();
        let rings = rings_of(&encode_single(&house, tile));
        assert_eq!(rings.len(), 1);
        assert!(decode::doubled_area(&rings[0]) >= 4, "{z}: {rings:?}");
        let features = encode_single(&path, tile);
        assert!(matches!(&features[0].geometry, Decoded::Lines(lines) if lines.len() == 1));
    }
    // A single grid point as each geometry type.
    let point = || line(&[(2.0, 47.0); 4]);
    for z in [0, 10, 20, 24] {
        let tile = tile_at(z, project(2.0, 47.0));
        assert_eq!(rings_of(&encode_single(&Geometry::Polygon(vec![point()]), tile)).len(), 1);
        assert_eq!(encode_single(&Geometry::LineString(point()), tile).len(), 1);
        assert_eq!(encode_single(&Geometry::Point(point()[0]), tile).len(), 1);
    }
}

#[test]
fn polygon_without_width_keeps_its_length() {
    for (name, ring) in [
        ("along x", &[(10, 50), (900, 50), (450, 50)][..]),
        ("along y", &[(50, 10), (50, 900)]),
        ("diagonal", &[(10, 10), (700, 700)]),
        ("back and forth", &[(10, 10), (500, 80), (900, 10), (500, 80)]),
        ("to the corner", &[(4160, 4160), (4160, 2000)]),
        ("a bow tie", &[(100, 100), (300, 300), (300, 100), (100, 300)]),
    ] {
        let rings = rings_of(&encode_single(&polygon_in_tile(&[ring]), test_tile()));
        let sums = || rings.iter().flatten().map(|point| point.0 + point.1);
        let decoded = sums().max().unwrap() - sums().min().unwrap();
        let original = ring.iter().map(|point| point.0 + point.1).max().unwrap()
            - ring.iter().map(|point| point.0 + point.1).min().unwrap();
        assert!((decoded - i64::from(original)).abs() <= 2, "{name}: {rings:?}");
    }
}

#[test]
fn hole_as_large_as_its_polygon_leaves_a_small_square() {
    let mut inner = SQUARE;
    inner.reverse();
    let other = [(150, 150), (160, 150), (160, 160), (150, 160)];
    for polygon in
        [polygon_in_tile(&[&SQUARE, &inner]), polygon_in_tile(&[&SQUARE, &inner, &other])]
    {
        let rings = rings_of(&encode_single(&polygon, test_tile()));
        assert_eq!(rings.len(), 1);
        assert_eq!(decode::doubled_area(&rings[0]), 2 * 8 * 8);
    }
}

#[test]
fn hole_does_not_cut_the_previous_polygon() {
    let square = rings_in_tile(&[&SQUARE]);
    let dot = [(900, 900); 3];
    let odd = rings_in_tile(&[&dot, &[(150, 150), (160, 150), (160, 160)]]);
    let rings = rings_of(&encode_single(&Geometry::MultiPolygon(vec![square, odd]), test_tile()));
    assert_eq!(rings.len(), 1);
}

#[test]
fn shape_that_only_touches_the_clip_box_is_omitted() {
    let beside = [(-200, 10), (-64, 10), (-64, 50), (-200, 50)];
    let bay = [(-200, 10), (-64, 10), (-64, 50), (-100, 50), (-64, 90), (-200, 90)];
    assert_eq!(encode_single(&polygon_in_tile(&[&beside]), test_tile()), []);
    assert_eq!(encode_single(&polygon_in_tile(&[&bay]), test_tile()), []);
}

#[test]
fn placeholders_stay_in_the_clip_box() {
    for (x, y) in [(-64, -64), (4159, 4159), (4160, 20), (20, 4160), (-65, 20)] {
        let tiny = [(x, y), (x + 1, y), (x, y + 1)];
        let _ = encode_single(&polygon_in_tile(&[&tiny]), test_tile());
        let _ = encode_single(&Geometry::LineString(path_in_tile(&[(x, y), (x, y)])), test_tile());
    }
}

#[test]
fn holes_stay_with_their_polygons() {
    let large = rings_in_tile(&[
        &[(0, 0), (1000, 0), (1000, 1000), (0, 1000)],
        &[(100, 100), (900, 100), (900, 900), (100, 900)],
    ]);
    let island = rings_in_tile(&[&[(400, 400), (600, 400), (500, 600)]]);
    let far = rings_in_tile(&[
        &[(9000, 0), (9900, 0), (9900, 900), (9000, 900)],
        &[(9100, 100), (9800, 100), (9800, 800), (9100, 800)],
    ]);
    let rings =
        rings_of(&encode_single(&Geometry::MultiPolygon(vec![far, large, island]), test_tile()));
    let areas: Vec<i64> = rings.iter().map(|ring| decode::doubled_area(ring)).collect();
    assert_eq!(areas, [2_000_000, -1_280_000, 40_000]);
}

#[test]
fn collection_becomes_one_feature_per_type_with_stable_ids() {
    let point = || Geometry::Point(path_in_tile(&[(20, 20)])[0]);
    let collection = Geometry::Collection(vec![
        polygon_in_tile(&[&SQUARE]),
        point(),
        Geometry::Collection(vec![
            Geometry::LineString(path_in_tile(&[(1, 1), (9000, 9)])),
            point(),
        ]),
    ]);
    let types = |tile: TileId| {
        let name = |feature: &Feature| match feature.geometry {
            Decoded::Points(_) => (feature.id, "points"),
            Decoded::Lines(_) => (feature.id, "lines"),
            Decoded::Polygons(_) => (feature.id, "polygons"),
        };
        encode_single(&collection, tile).iter().map(name).collect::<Vec<_>>()
    };
    let all = [(8, "points"), (9, "lines"), (10, "polygons")];
    assert_eq!(types(test_tile()), all);
    assert_eq!(types(TileId::new(0, 0, 0).unwrap()), all);
    assert_eq!(types(TileId::new(10, 513, 340).unwrap()), [(9, "lines")]);
}

#[test]
fn points_that_coincide_are_merged() {
    let points = path_in_tile(&[(5, 5), (70, 70), (5, 5), (6, 5), (5000, 5)]);
    let Decoded::Points(points) =
        &encode_single(&Geometry::MultiPoint(points), test_tile())[0].geometry
    else {
        unreachable!()
    };
    assert_eq!(points, &[(5, 5), (6, 5), (70, 70)]);
}

#[test]
fn empty_tile_has_no_bytes() {
    let shape = TileShape::from_geometry(&polygon_in_tile(&[&SQUARE])).unwrap().bytes;
    let elsewhere = TileId::new(10, 515, 340).unwrap();
    let candidates = vec![candidate(4, &shape, &[])];
    assert!(encode(elsewhere, "x", &["a"], candidates, Some(9)).is_empty());
    assert!(encode(elsewhere, "x", &[""; 0], Vec::new(), None).is_empty());
}

#[test]
fn shape_without_its_detail_level_is_drawn_only_where_its_bounds_suffice() {
    let circle = (0..500).map(|i| {
        let angle = f64::from(i) / 500.0 * std::f64::consts::TAU;
        to_degrees(2000.0 + 400.0 * angle.cos(), 2000.0 + 400.0 * angle.sin())
    });
    let mut ring = line(&circle.collect::<Vec<_>>());
    ring.push(ring[0]);
    let shape = TileShape::from_geometry(&Geometry::Polygon(vec![ring])).unwrap();
    let alone =
        |tile: TileId| encode(tile, "x", &[""; 0], vec![candidate(4, &shape.bytes, &[])], None);
    assert!(alone(test_tile()).is_empty());
    assert!(!needs_detail_level(&shape.bytes, 0));
    assert!(decode::tile(&alone(TileId::new(0, 0, 0).unwrap())).is_some());
}
