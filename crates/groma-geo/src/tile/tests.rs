//! Tiles, read back by a decoder of the tests' own and compared with what was stored.

mod decode;

use super::*;
use crate::{
    Geometry, Position, Rings, attributes,
    grid::project,
    shape::{Drawing, needs_level},
};
use decode::{Feature, Geometry as Drawn, Value};
use proptest::prelude::*;
use serde_json::json;

/// A tile around a place.
fn tile_at(z: u8, (x, y): (u32, u32)) -> TileId {
    let column = |value: u32| u32::try_from(u64::from(value) >> (32 - z)).unwrap();
    TileId::new(z, column(x), column(y)).unwrap()
}

/// The bytes that serve a tile of this zoom.
fn for_zoom(drawing: &Drawing, z: u8) -> &[u8] {
    if needs_level(&drawing.bytes, z) {
        &drawing.levels.iter().find(|level| level.zoom >= z).unwrap().bytes
    } else {
        &drawing.bytes
    }
}

fn candidate<'a>(id: u64, shape: &'a [u8], attributes: &'a [u8]) -> Candidate<'a> {
    Candidate { id, band: 0, rank: 0, shape, attributes }
}

/// What a tile shows of a geometry alone.
fn drawn(geometry: &Geometry, tile: TileId) -> Vec<Feature> {
    let drawing = Drawing::of(geometry).unwrap();
    let shape = for_zoom(&drawing, tile.z());
    let bytes = encode(tile, "layer", &[""; 0], vec![candidate(8, shape, &[])], None);
    decode::tile(&bytes).map_or_else(Vec::new, |layer| layer.features)
}

fn rings_of(features: &[Feature]) -> Vec<decode::Path> {
    match features {
        [] => Vec::new(),
        [Feature { geometry: Drawn::Polygons(rings), .. }] => rings.clone(),
        other => panic!("{other:?}"),
    }
}

fn position(x: f64, y: f64) -> Position {
    Position { x, y, z: None }
}

fn line(positions: &[(f64, f64)]) -> Vec<Position> {
    positions.iter().map(|&(x, y)| position(x, y)).collect()
}

/// A geometry's position for a place in the units of the tile 10/512/340.
fn at(x: f64, y: f64) -> (f64, f64) {
    let world = 4096.0 * 1024.0;
    let longitude = (512.0 * 4096.0 + x) / world * 360.0 - 180.0;
    let mercator = std::f64::consts::PI * (1.0 - 2.0 * (340.0 * 4096.0 + y) / world);
    (longitude, mercator.sinh().atan().to_degrees())
}

/// The same tile.
fn here() -> TileId {
    TileId::new(10, 512, 340).unwrap()
}

/// A path through the middles of these units.
fn path_here(points: &[(i32, i32)]) -> Vec<Position> {
    let middle = |&(x, y): &(i32, i32)| at(f64::from(x) + 0.5, f64::from(y) + 0.5);
    line(&points.iter().map(middle).collect::<Vec<_>>())
}

fn rings_here(rings: &[&[(i32, i32)]]) -> Rings {
    let closed = |ring: &&[(i32, i32)]| {
        let mut ring = path_here(ring);
        ring.push(ring[0]);
        ring
    };
    rings.iter().map(closed).collect()
}

fn polygon_here(rings: &[&[(i32, i32)]]) -> Geometry {
    Geometry::Polygon(rings_here(rings))
}

const SQUARE: [(i32, i32); 4] = [(100, 100), (300, 100), (300, 300), (100, 300)];

#[test]
fn a_tile_has_its_layer_ids_and_typed_properties() {
    let values =
        [json!("Pré"), json!(1.5), json!(7), json!(-7), json!(true), json!([1]), json!(null)];
    let attributes = attributes::encode((0..).zip(&values));
    let same = attributes::encode([(1, &values[2]), (0, &values[0])].into_iter());
    let shape = Drawing::of(&polygon_here(&[&SQUARE])).unwrap().bytes;
    let names = ["name", "double", "whole", "less", "yes", "list", "null", "unused"];
    let candidates = vec![candidate(8, &shape, &attributes), candidate(4, &shape, &same)];
    let layer = decode::tile(&encode(here(), "parcels", &names, candidates, None)).unwrap();
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
fn a_polygon_is_drawn_where_it_is_outer_rings_clockwise_and_holes_not() {
    let hole = [(150, 150), (250, 150), (250, 250), (150, 250)];
    let mut backwards = SQUARE;
    backwards.reverse();
    for outer in [SQUARE, backwards] {
        let rings = rings_of(&drawn(&polygon_here(&[&outer, &hole]), here()));
        let areas: Vec<i64> = rings.iter().map(|ring| decode::doubled_area(ring)).collect();
        assert_eq!(areas, [80_000, -20_000]);
        for corner in SQUARE {
            assert!(rings[0].contains(&(corner.0.into(), corner.1.into())));
        }
    }
}

#[test]
fn a_polygon_around_the_tile_fills_it_and_one_whose_hole_is_around_it_does_not() {
    let around = |by: i32| [(-by, -by), (4096 + by, -by), (4096 + by, 4096 + by), (-by, 4096 + by)];
    let rings = rings_of(&drawn(&polygon_here(&[&around(9_000)]), here()));
    assert_eq!(rings.len(), 1);
    assert_eq!(decode::doubled_area(&rings[0]), 2 * 4224 * 4224);
    assert_eq!(drawn(&polygon_here(&[&around(9_000), &around(500)]), here()), []);
    // The edge of the hole is in the margin, so a frame of it is there.
    let rings = rings_of(&drawn(&polygon_here(&[&around(9_000), &around(30)]), here()));
    assert_eq!(rings.len(), 2);
}

#[test]
fn what_has_no_size_at_a_zoom_is_still_there() {
    let house = polygon_here(&[&[(1000, 2000), (1004, 2000), (1004, 2003), (1000, 2003)]]);
    let path = Geometry::LineString(path_here(&[(1000, 2000), (1003, 2002)]));
    for z in 0..=7 {
        let tile = TileId::new(z, 512 >> (10 - z), 340 >> (10 - z)).unwrap();
        let rings = rings_of(&drawn(&house, tile));
        assert_eq!(rings.len(), 1);
        assert!(decode::doubled_area(&rings[0]) >= 4, "{z}: {rings:?}");
        let features = drawn(&path, tile);
        assert!(matches!(&features[0].geometry, Drawn::Lines(lines) if lines.len() == 1));
    }
    // A single place on the grid, drawn as any kind of shape.
    let dot = || line(&[(2.0, 47.0); 4]);
    for z in [0, 10, 20, 24] {
        let tile = tile_at(z, project(2.0, 47.0));
        assert_eq!(rings_of(&drawn(&Geometry::Polygon(vec![dot()]), tile)).len(), 1);
        assert_eq!(drawn(&Geometry::LineString(dot()), tile).len(), 1);
        assert_eq!(drawn(&Geometry::Point(dot()[0]), tile).len(), 1);
    }
}

#[test]
fn a_polygon_without_width_keeps_its_length() {
    for (name, ring) in [
        ("along x", &[(10, 50), (900, 50), (450, 50)][..]),
        ("along y", &[(50, 10), (50, 900)]),
        ("aslant", &[(10, 10), (700, 700)]),
        ("there and back", &[(10, 10), (500, 80), (900, 10), (500, 80)]),
        ("to the corner", &[(4160, 4160), (4160, 2000)]),
        ("a bow tie", &[(100, 100), (300, 300), (300, 100), (100, 300)]),
    ] {
        let rings = rings_of(&drawn(&polygon_here(&[ring]), here()));
        let reach = rings[0].iter().map(|point| point.0 + point.1).max().unwrap()
            - rings[0].iter().map(|point| point.0 + point.1).min().unwrap();
        let length = ring.iter().map(|point| point.0 + point.1).max().unwrap()
            - ring.iter().map(|point| point.0 + point.1).min().unwrap();
        assert!((reach - i64::from(length)).abs() <= 2, "{name}: {rings:?}");
    }
}

#[test]
fn a_hole_as_large_as_its_polygon_leaves_a_dot() {
    let mut inner = SQUARE;
    inner.reverse();
    let other = [(150, 150), (160, 150), (160, 160), (150, 160)];
    for polygon in [polygon_here(&[&SQUARE, &inner]), polygon_here(&[&SQUARE, &inner, &other])] {
        let rings = rings_of(&drawn(&polygon, here()));
        assert_eq!(rings.len(), 1);
        assert_eq!(decode::doubled_area(&rings[0]), 2 * 8 * 8);
    }
}

#[test]
fn a_hole_is_not_cut_into_the_polygon_before() {
    let square = rings_here(&[&SQUARE]);
    let dot = [(900, 900); 3];
    let odd = rings_here(&[&dot, &[(150, 150), (160, 150), (160, 160)]]);
    let rings = rings_of(&drawn(&Geometry::MultiPolygon(vec![square, odd]), here()));
    assert_eq!(rings.len(), 1);
}

#[test]
fn what_only_touches_the_frame_is_not_drawn() {
    let beside = [(-200, 10), (-64, 10), (-64, 50), (-200, 50)];
    let bay = [(-200, 10), (-64, 10), (-64, 50), (-100, 50), (-64, 90), (-200, 90)];
    assert_eq!(drawn(&polygon_here(&[&beside]), here()), []);
    assert_eq!(drawn(&polygon_here(&[&bay]), here()), []);
}

#[test]
fn what_has_no_size_stays_in_the_frame() {
    for (x, y) in [(-64, -64), (4159, 4159), (4160, 20), (20, 4160), (-65, 20)] {
        let spot = [(x, y), (x + 1, y), (x, y + 1)];
        let _ = drawn(&polygon_here(&[&spot]), here());
        let _ = drawn(&Geometry::LineString(path_here(&[(x, y), (x, y)])), here());
    }
}

#[test]
fn a_multipolygon_keeps_its_holes_with_their_polygons() {
    let large = rings_here(&[
        &[(0, 0), (1000, 0), (1000, 1000), (0, 1000)],
        &[(100, 100), (900, 100), (900, 900), (100, 900)],
    ]);
    let island = rings_here(&[&[(400, 400), (600, 400), (500, 600)]]);
    let far = rings_here(&[
        &[(9000, 0), (9900, 0), (9900, 900), (9000, 900)],
        &[(9100, 100), (9800, 100), (9800, 800), (9100, 800)],
    ]);
    let rings = rings_of(&drawn(&Geometry::MultiPolygon(vec![far, large, island]), here()));
    let areas: Vec<i64> = rings.iter().map(|ring| decode::doubled_area(ring)).collect();
    assert_eq!(areas, [2_000_000, -1_280_000, 40_000]);
}

#[test]
fn a_collection_is_a_feature_for_each_kind_with_ids_that_stay() {
    let point = || Geometry::Point(path_here(&[(20, 20)])[0]);
    let collection = Geometry::Collection(vec![
        polygon_here(&[&SQUARE]),
        point(),
        Geometry::Collection(vec![Geometry::LineString(path_here(&[(1, 1), (9000, 9)])), point()]),
    ]);
    let kinds = |tile: TileId| {
        let name = |feature: &Feature| match feature.geometry {
            Drawn::Points(_) => (feature.id, "points"),
            Drawn::Lines(_) => (feature.id, "lines"),
            Drawn::Polygons(_) => (feature.id, "polygons"),
        };
        drawn(&collection, tile).iter().map(name).collect::<Vec<_>>()
    };
    let all = [(8, "points"), (9, "lines"), (10, "polygons")];
    assert_eq!(kinds(here()), all);
    assert_eq!(kinds(TileId::new(0, 0, 0).unwrap()), all);
    assert_eq!(kinds(TileId::new(10, 513, 340).unwrap()), [(9, "lines")]);
}

#[test]
fn places_of_a_multipoint_that_fall_together_are_one() {
    let places = path_here(&[(5, 5), (70, 70), (5, 5), (6, 5), (5000, 5)]);
    let Drawn::Points(points) = &drawn(&Geometry::MultiPoint(places), here())[0].geometry else {
        unreachable!()
    };
    assert_eq!(points, &[(5, 5), (6, 5), (70, 70)]);
}

#[test]
fn nothing_in_the_tile_is_no_bytes() {
    let shape = Drawing::of(&polygon_here(&[&SQUARE])).unwrap().bytes;
    let elsewhere = TileId::new(10, 515, 340).unwrap();
    let candidates = vec![candidate(4, &shape, &[])];
    assert!(encode(elsewhere, "x", &["a"], candidates, Some(9)).is_empty());
    assert!(encode(elsewhere, "x", &[""; 0], Vec::new(), None).is_empty());
}

#[test]
fn a_shape_of_many_vertices_without_its_level_is_drawn_only_where_its_box_suffices() {
    let circle = (0..500).map(|i| {
        let angle = f64::from(i) / 500.0 * std::f64::consts::TAU;
        at(2000.0 + 900.0 * angle.cos(), 2000.0 + 900.0 * angle.sin())
    });
    let mut ring = line(&circle.collect::<Vec<_>>());
    ring.push(ring[0]);
    let drawing = Drawing::of(&Geometry::Polygon(vec![ring])).unwrap();
    let alone =
        |tile: TileId| encode(tile, "x", &[""; 0], vec![candidate(4, &drawing.bytes, &[])], None);
    assert!(alone(here()).is_empty());
    assert!(!needs_level(&drawing.bytes, 0));
    assert!(decode::tile(&alone(TileId::new(0, 0, 0).unwrap())).is_some());
}

mod budget {
    use super::*;

    /// Features of these bands and ranks, in one tile, all alike; the ids of those that are drawn.
    fn taken(z: u8, features: &[(u8, u64)], room: usize) -> Vec<u64> {
        let shape = Drawing::of(&polygon_here(&[&SQUARE])).unwrap().bytes;
        let candidates = |count: usize| {
            let number = |(id, &(band, rank)): (u64, &(u8, u64))| Candidate {
                id: 4 * id,
                band,
                rank,
                shape: &shape,
                attributes: &[],
            };
            (0..).zip(&features[..count]).map(number).collect::<Vec<_>>()
        };
        let tile = TileId::new(z, 512 >> (10 - z), 340 >> (10 - z)).unwrap();
        let none = [""; 0];
        let one = encode(tile, "x", &none, candidates(1), None).len();
        let two = encode(tile, "x", &none, candidates(2), None).len();
        let budget = one + (two - one) * (room - 1) + 3;
        let bytes = encode(tile, "x", &none, candidates(features.len()), Some(budget));
        assert!(bytes.len() <= budget);
        decode::tile(&bytes).unwrap().features.iter().map(|feature| feature.id / 4).collect()
    }

    #[test]
    fn the_lower_band_then_the_higher_rank_then_the_lower_id_comes_first() {
        let features = [(3, 1), (0, 1), (3, 2), (0, 1), (0, 9 << 60), (2, 0)];
        assert_eq!(taken(9, &features, 6), [4, 1, 3, 5, 2, 0]);
        assert_eq!(taken(9, &features, 5), [4, 1, 3, 5, 2]);
        assert_eq!(taken(9, &features, 2), [4, 1]);
    }

    #[test]
    fn a_band_above_the_zoom_is_whole_or_absent() {
        let features = [(4, 0), (5, 0), (5, 0), (6, 0), (6, 0), (6, 0), (7, 0)];
        assert_eq!(taken(5, &features, 7).len(), 7);
        assert_eq!(taken(5, &features, 6).len(), 6);
        assert_eq!(taken(5, &features, 5).len(), 3);
        assert_eq!(taken(5, &features, 4).len(), 3);
        assert_eq!(taken(5, &features, 3).len(), 3);
        assert_eq!(taken(5, &features, 2).len(), 2);
    }

    #[test]
    fn it_never_empties_a_tile() {
        assert_eq!(taken(5, &[(6, 0), (6, 0), (6, 0)], 2).len(), 2);
        let shape = Drawing::of(&polygon_here(&[&SQUARE])).unwrap().bytes;
        let candidates = vec![candidate(4, &shape, &[]), candidate(8, &shape, &[])];
        let bytes = encode(here(), "x", &[""; 0], candidates, Some(1));
        assert_eq!(decode::tile(&bytes).unwrap().features.len(), 1);
    }

    #[test]
    fn what_is_cut_leaves_neither_keys_nor_values() {
        let shape = Drawing::of(&polygon_here(&[&SQUARE])).unwrap().bytes;
        let all: Vec<_> = (0..3)
            .map(|i| attributes::encode([(i, &json!(format!("value {i}")))].into_iter()))
            .collect();
        let encode_first = |count: usize, budget: Option<usize>| {
            let candidates = (1..).zip(&all[..count]).map(|(id, it)| candidate(4 * id, &shape, it));
            encode(here(), "x", &["a", "b", "c"], candidates.collect(), budget)
        };
        let two = encode_first(2, None);
        assert_eq!(encode_first(3, Some(two.len())), two);
        assert_ne!(encode_first(3, Some(two.len() - 1)), two);
    }
}

/// What is drawn is compared with the places on the grid, in the units of a tile.
struct Source {
    tile: TileId,
}

type Spot = (f64, f64);

impl Source {
    fn spot(&self, position: &Position) -> Spot {
        let (x, y) = project(position.x, position.y);
        let bounds = self.tile.bounds();
        let unit = 2_f64.powi(20 - i32::from(self.tile.z()));
        ((x as f64 - bounds.min_x as f64) / unit, (y as f64 - bounds.min_y as f64) / unit)
    }

    fn paths(&self, lines: &[Vec<Position>]) -> Vec<Vec<Spot>> {
        lines.iter().map(|line| line.iter().map(|at| self.spot(at)).collect()).collect()
    }
}

fn spots(paths: &[decode::Path]) -> Vec<Vec<Spot>> {
    let spot = |&(x, y): &(i64, i64)| (x as f64, y as f64);
    paths.iter().map(|path| path.iter().map(spot).collect()).collect()
}

fn closed(mut rings: Vec<Vec<Spot>>) -> Vec<Vec<Spot>> {
    for ring in &mut rings {
        ring.push(ring[0]);
    }
    rings
}

/// How far a spot is from the nearest of these lines.
fn distance(from: Spot, paths: &[Vec<Spot>]) -> f64 {
    let to_edge = |edge: &[Spot]| {
        let (ax, ay) = (edge[1].0 - edge[0].0, edge[1].1 - edge[0].1);
        let (bx, by) = (from.0 - edge[0].0, from.1 - edge[0].1);
        let length = ax * ax + ay * ay;
        let part = if length > 0.0 { ((ax * bx + ay * by) / length).clamp(0.0, 1.0) } else { 0.0 };
        (bx - part * ax).hypot(by - part * ay)
    };
    paths.iter().flat_map(|path| path.windows(2)).map(to_edge).fold(f64::INFINITY, f64::min)
}

/// Whether a spot is inside closed rings, by the even-odd rule.
fn is_inside(spot: Spot, rings: &[Vec<Spot>]) -> bool {
    let crosses = |edge: &[Spot]| {
        let (a, b) = (edge[0], edge[1]);
        (a.1 > spot.1) != (b.1 > spot.1)
            && spot.0 < (b.0 - a.0) * (spot.1 - a.1) / (b.1 - a.1) + a.0
    };
    let edges = rings.iter().flat_map(|ring| ring.windows(2));
    edges.filter(|edge| crosses(edge)).count() % 2 == 1
}

/// A place of the earth, often a delicate one.
fn centre() -> impl Strategy<Value = Spot> {
    let longitude =
        prop_oneof![4 => -180.0..180.0, 1 => Just(180.0), 1 => Just(-180.0), 1 => Just(0.0)];
    let latitude = prop_oneof![4 => -84.0..84.0, 1 => Just(90.0), 1 => Just(-85.1), 1 => Just(0.0)];
    (longitude, latitude)
}

/// From a centimetre to half the world.
fn size() -> impl Strategy<Value = f64> {
    (-7.0..2.0).prop_map(|power| 10_f64.powf(power))
}

fn on_earth((x, y): Spot) -> Position {
    position(x.clamp(-180.0, 180.0), y.clamp(-90.0, 90.0))
}

/// A closed ring without crossings: one distance from the centre for each direction.
fn star(centre: Spot, size: f64, reaches: &[f64], scale: f64) -> Vec<Position> {
    let count = reaches.len() as f64;
    let vertex = |(index, reach): (usize, &f64)| {
        let angle = index as f64 / count * std::f64::consts::TAU;
        let reach = size * reach * scale;
        on_earth((centre.0 + reach * angle.cos(), centre.1 + reach * angle.sin() / 2.0))
    };
    let mut ring: Vec<_> = reaches.iter().enumerate().map(vertex).collect();
    ring.push(ring[0]);
    ring
}

fn reaches() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        6 => prop::collection::vec(0.3..1.0, 3..14),
        1 => prop::collection::vec(0.9..1.0, 90..220),
    ]
}

/// Polygons, with holes or without, apart from each other.
fn polygons() -> impl Strategy<Value = (Vec<Vec<Vec<Position>>>, f64)> {
    let polygon = (reaches(), prop::option::of(0.3..0.95));
    (centre(), size(), prop::collection::vec(polygon, 1..4)).prop_map(|(centre, size, polygons)| {
        let polygons = polygons.iter().enumerate().map(|(index, (reaches, hole))| {
            let centre = (centre.0 + 2.5 * size * index as f64, centre.1);
            let outer = star(centre, size, reaches, 1.0);
            // At the edge of the world a hole could come to lie across its outer ring.
            let whole = outer.iter().all(|at| at.x.abs() < 180.0 && at.y.abs() < 85.0);
            let hole = hole.filter(|_| whole).map(|scale| star(centre, size, reaches, scale));
            std::iter::once(outer).chain(hole).collect()
        });
        (polygons.collect(), size)
    })
}

/// Places anywhere about a centre.
fn scribble(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Position>> {
    let step = (-1.0..1.0, -0.5..0.5);
    (centre(), size(), prop::collection::vec(step, count)).prop_map(|(centre, size, steps)| {
        let place = |&(x, y): &Spot| on_earth((centre.0 + x * size, centre.1 + y * size));
        steps.iter().map(place).collect()
    })
}

/// A zoom, more often one at which a shape of this size is neither a dot nor without end.
fn zoom_for(size: f64, roll: u8) -> u8 {
    let fit = (360.0 / size).log2() as i32 + i32::from(roll % 8) - 4;
    if roll < 200 { fit.clamp(0, 24) as u8 } else { roll % 25 }
}

/// How far what stands for a shape without size may be from it: a dot, moved into the frame, and
/// rounding.
const DOT_REACH: f64 = 13.0;

/// Checks what a tile shows of rings that do not overlap, or of one that does what it likes.
fn check_rings(
    geometry: &Geometry,
    rings: &[Vec<Position>],
    tile: TileId,
    probes: &[Spot],
) -> Result<(), TestCaseError> {
    let source = Source { tile }.paths(rings);
    let drawn = closed(spots(&rings_of(&drawn(geometry, tile))));
    for probe in probes {
        if distance(*probe, &source) > DOT_REACH {
            prop_assert_eq!(is_inside(*probe, &source), is_inside(*probe, &drawn), "{:?}", probe);
        }
    }
    for spot in drawn.iter().flatten() {
        let on_border = [-64.0, 4160.0].iter().any(|border| spot.0 == *border || spot.1 == *border);
        prop_assert!(on_border || distance(*spot, &source) < DOT_REACH, "{:?}", spot);
    }
    Ok(())
}

fn probes() -> impl Strategy<Value = Vec<Spot>> {
    prop::collection::vec((-60.0..4156.0, -60.0..4156.0), 30)
}

proptest! {
    #[test]
    fn polygons_cover_in_a_tile_what_they_cover_on_earth(
        ((polygons, size), roll, pick, probes) in (polygons(), any::<u8>(), any::<prop::sample::Index>(), probes())
    ) {
        let rings: Vec<_> = polygons.iter().flatten().cloned().collect();
        let corner = pick.get(&rings[0]);
        let tile = tile_at(zoom_for(size, roll), project(corner.x, corner.y));
        check_rings(&Geometry::MultiPolygon(polygons), &rings, tile, &probes)?;
    }

    #[test]
    fn a_ring_that_crosses_itself_is_drawn_all_the_same(
        mut ring in scribble(3..12), z in 0_u8..=24, probes in probes()
    ) {
        ring.push(ring[0]);
        let tile = tile_at(z, project(ring[0].x, ring[0].y));
        let geometry = Geometry::Polygon(vec![ring.clone()]);
        check_rings(&geometry, &[ring], tile, &probes)?;
        prop_assert!(!drawn(&geometry, tile).is_empty());
    }

    #[test]
    fn lines_are_drawn_where_they_are_and_nowhere_else(
        lines in prop::collection::vec(scribble(2..9), 1..4), z in 0_u8..=24
    ) {
        let tile = tile_at(z, project(lines[0][0].x, lines[0][0].y));
        let source = Source { tile }.paths(&lines);
        let features = drawn(&Geometry::MultiLineString(lines), tile);
        let [Feature { geometry: Drawn::Lines(pieces), .. }] = &features[..] else {
            return Err(TestCaseError::fail("one feature of lines"));
        };
        let pieces = spots(pieces);
        for spot in pieces.iter().flatten() {
            prop_assert!(distance(*spot, &source) < 3.0, "{:?}", spot);
        }
        let frame = -62.0..4158.0;
        for path in &source {
            let long = path.iter().any(|spot| (spot.0 - path[0].0).abs().max((spot.1 - path[0].1).abs()) > 2.0);
            for spot in path.iter().filter(|spot| frame.contains(&spot.0) && frame.contains(&spot.1)) {
                prop_assert!(!long || distance(*spot, &pieces) < 2.0, "{:?}", spot);
            }
        }
    }

    #[test]
    fn points_are_drawn_within_a_unit(points in scribble(1..20), z in 0_u8..=24) {
        let tile = tile_at(z, project(points[0].x, points[0].y));
        let source: Vec<Spot> = points.iter().map(|at| Source { tile }.spot(at)).collect();
        let features = drawn(&Geometry::MultiPoint(points), tile);
        let Drawn::Points(drawn) = &features[0].geometry else {
            return Err(TestCaseError::fail("points"));
        };
        let at = |spot: &Spot| (spot.0.floor() as i64, spot.1.floor() as i64);
        for spot in source.iter().map(at) {
            let within = (-64..=4160).contains(&spot.0) && (-64..=4160).contains(&spot.1);
            prop_assert_eq!(drawn.contains(&spot), within, "{:?}", spot);
        }
        prop_assert!(drawn.iter().all(|point| source.iter().map(at).any(|spot| spot == *point)));
    }

    #[test]
    fn the_order_of_the_candidates_does_not_matter(
        shapes in prop::collection::vec((polygons(), 0_u8..12, 0_u64..3, 0_u32..5), 1..12),
        budget in prop::option::of(100_usize..3_000),
        turn in any::<prop::sample::Index>(),
    ) {
        let stored: Vec<_> = shapes.iter().map(|((polygons, _), _, _, value)| {
            let drawing = Drawing::of(&Geometry::MultiPolygon(polygons.clone())).unwrap();
            (drawing, attributes::encode([(value % 2, &json!(value))].into_iter()))
        }).collect();
        let mut candidates: Vec<_> = (1..).zip(stored.iter().zip(&shapes)).map(|(id, (stored, shape))| Candidate {
            id: 4 * id, band: shape.1, rank: shape.2, shape: for_zoom(&stored.0, 2), attributes: &stored.1,
        }).collect();
        let tile = TileId::new(2, 2, 1).unwrap();
        let bytes = encode(tile, "x", &["a", "b"], candidates.clone(), budget);
        let layer = decode::tile(&bytes);
        prop_assert!(budget.is_none_or(|budget| bytes.len() <= budget || layer.unwrap().features.len() == 1));
        let turn = turn.index(candidates.len());
        candidates.rotate_left(turn);
        prop_assert_eq!(&encode(tile, "x", &["a", "b"], candidates.clone(), budget), &bytes);
        candidates.reverse();
        prop_assert_eq!(&encode(tile, "x", &["a", "b"], candidates, budget), &bytes);
    }

    #[test]
    fn damaged_bytes_neither_panic_nor_spoil_the_tile(
        (polygons, size) in polygons(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        roll: u8,
    ) {
        let corner = polygons[0][0][0];
        let collection = Geometry::Collection(vec![
            Geometry::MultiPoint(polygons[0][0].clone()),
            Geometry::MultiLineString(polygons[0].clone()),
            Geometry::MultiPolygon(polygons),
        ]);
        let tile = tile_at(zoom_for(size, roll), project(corner.x, corner.y));
        let drawing = Drawing::of(&collection).unwrap();
        let harm = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for (at, value) in &damage {
                *at.get_mut(&mut bytes) = *value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        };
        let values = [json!("text"), json!(1.5), json!(900)];
        let attributes = attributes::encode((0..).zip(&values));
        let shape = for_zoom(&drawing, tile.z());
        let (bad_shape, bad_attributes) = (harm(shape), harm(&attributes));
        let candidates = vec![
            candidate(4, shape, &bad_attributes),
            candidate(8, &bad_shape, &attributes),
            candidate(12, shape, &attributes),
        ];
        let bytes = encode(tile, "x", &["a", "b", "c"], candidates, None);
        let layer = decode::tile(&bytes).unwrap();
        prop_assert!(layer.features.iter().any(|feature| feature.id == 12));
        let _ = crate::shape::bounds(&bad_shape);
    }

    #[test]
    fn no_bytes_at_all_make_it_panic(
        mut shape in prop::collection::vec(any::<u8>(), 0..60), form in 0_u8..4, z in 0_u8..=24,
    ) {
        if let Some(first) = shape.first_mut() {
            *first = form;
        }
        let (x, y) = match shape.get(1..9) {
            Some(corner) => (
                u32::from_le_bytes(corner[..4].try_into().unwrap()),
                u32::from_le_bytes(corner[4..].try_into().unwrap()),
            ),
            None => (0, 0),
        };
        let bytes = encode(tile_at(z, (x, y)), "x", &[""; 0], vec![candidate(4, &shape, &[])], None);
        decode::tile(&bytes);
    }
}
