//! Properties that hold for any geometry and any bytes.

use super::{
    decode::{Feature, Geometry as Decoded},
    *,
};
use proptest::prelude::*;

/// A point in the units of a tile, not rounded. Also used for degrees.
type FloatPoint = (f64, f64);

fn to_tile_units(position: &Position, tile: TileId) -> FloatPoint {
    let (x, y) = project(position.x, position.y);
    let bounds = tile.bounds();
    let unit = 2_f64.powi(20 - i32::from(tile.z()));
    ((x as f64 - bounds.min_x as f64) / unit, (y as f64 - bounds.min_y as f64) / unit)
}

fn paths_in_tile_units(lines: &[Vec<Position>], tile: TileId) -> Vec<Vec<FloatPoint>> {
    let path = |line: &Vec<Position>| line.iter().map(|at| to_tile_units(at, tile)).collect();
    lines.iter().map(path).collect()
}

fn to_float(paths: &[decode::Path]) -> Vec<Vec<FloatPoint>> {
    let point = |&(x, y): &(i64, i64)| (x as f64, y as f64);
    paths.iter().map(|path| path.iter().map(point).collect()).collect()
}

fn close(mut rings: Vec<Vec<FloatPoint>>) -> Vec<Vec<FloatPoint>> {
    for ring in &mut rings {
        ring.push(ring[0]);
    }
    rings
}

/// The distance of a point from the nearest of these paths.
fn distance(from: FloatPoint, paths: &[Vec<FloatPoint>]) -> f64 {
    let to_edge = |edge: &[FloatPoint]| {
        let (ax, ay) = (edge[1].0 - edge[0].0, edge[1].1 - edge[0].1);
        let (bx, by) = (from.0 - edge[0].0, from.1 - edge[0].1);
        let length = ax * ax + ay * ay;
        let part = if length > 0.0 { ((ax * bx + ay * by) / length).clamp(0.0, 1.0) } else { 0.0 };
        (bx - part * ax).hypot(by - part * ay)
    };
    paths.iter().flat_map(|path| path.windows(2)).map(to_edge).fold(f64::INFINITY, f64::min)
}

/// Whether closed rings run around a point (the non-zero rule).
fn is_inside(point: FloatPoint, rings: &[Vec<FloatPoint>]) -> bool {
    let winding = |edge: &[FloatPoint]| {
        let (a, b) = (edge[0], edge[1]);
        let is_crossed = (a.1 > point.1) != (b.1 > point.1)
            && point.0 < (b.0 - a.0) * (point.1 - a.1) / (b.1 - a.1) + a.0;
        i32::from(is_crossed) * if a.1 > b.1 { 1 } else { -1 }
    };
    rings.iter().flat_map(|ring| ring.windows(2)).map(winding).sum::<i32>() != 0
}

/// A position on the earth, often at an edge or at zero.
fn centre() -> impl Strategy<Value = FloatPoint> {
    let longitude =
        prop_oneof![4 => -180.0..180.0, 1 => Just(180.0), 1 => Just(-180.0), 1 => Just(0.0)];
    let latitude = prop_oneof![4 => -84.0..84.0, 1 => Just(90.0), 1 => Just(-85.1), 1 => Just(0.0)];
    (longitude, latitude)
}

/// A size in degrees, from a centimetre to half the world.
fn size() -> impl Strategy<Value = f64> {
    (-7.0..2.0).prop_map(|power| 10_f64.powf(power))
}

fn clamp_to_earth((x, y): FloatPoint) -> Position {
    position(x.clamp(-180.0, 180.0), y.clamp(-90.0, 90.0))
}

/// A closed ring that does not cross itself: one distance from the centre per direction.
fn star(centre: FloatPoint, size: f64, distances: &[f64], scale: f64) -> Vec<Position> {
    let count = distances.len() as f64;
    let vertex = |(index, distance): (usize, &f64)| {
        let angle = index as f64 / count * std::f64::consts::TAU;
        let distance = size * distance * scale;
        clamp_to_earth((centre.0 + distance * angle.cos(), centre.1 + distance * angle.sin() / 2.0))
    };
    let mut ring: Vec<_> = distances.iter().enumerate().map(vertex).collect();
    ring.push(ring[0]);
    ring
}

fn distances() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        6 => prop::collection::vec(0.3..1.0, 3..14),
        1 => prop::collection::vec(0.9..1.0, 90..220),
    ]
}

/// Disjoint polygons, some with a hole, and their size in degrees.
fn polygons() -> impl Strategy<Value = (Vec<Vec<Vec<Position>>>, f64)> {
    let polygon = (distances(), prop::option::of(0.3..0.95));
    (centre(), size(), prop::collection::vec(polygon, 1..4)).prop_map(|(centre, size, polygons)| {
        let polygons = polygons.iter().enumerate().map(|(index, (distances, hole))| {
            let centre = (centre.0 + 2.5 * size * index as f64, centre.1);
            let outer = star(centre, size, distances, 1.0);
            // At the edge of the world, clamping could make a hole cross its outer ring.
            let is_unclamped = outer.iter().all(|at| at.x.abs() < 180.0 && at.y.abs() < 85.0);
            let hole = hole
                .filter(|_| is_unclamped)
                .map(|scale| star(centre, size, distances, scale).into_iter().rev().collect());
            std::iter::once(outer).chain(hole).collect()
        });
        (polygons.collect(), size)
    })
}

/// Random positions around a centre.
fn random_line(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Position>> {
    let step = (-1.0..1.0, -0.5..0.5);
    (centre(), size(), prop::collection::vec(step, count)).prop_map(|(centre, size, steps)| {
        let position =
            |&(x, y): &FloatPoint| clamp_to_earth((centre.0 + x * size, centre.1 + y * size));
        steps.iter().map(position).collect()
    })
}

/// A zoom. In most cases, a shape of this size is about as large as a tile.
fn zoom_for(size: f64, roll: u8) -> u8 {
    let fit = (360.0 / size).log2() as i32 + i32::from(roll % 8) - 4;
    if roll < 200 { fit.clamp(0, 24) as u8 } else { roll % 25 }
}

/// How far a placeholder may be from its shape, in units: the diagonal of the small square, plus
/// rounding. Above zoom 20, a step of the stored grid is more than a unit, and vertices are rounded to it.
fn max_distance(tile: TileId) -> f64 {
    let grid_step = f64::from(1_u32 << tile.z().saturating_sub(20));
    let rounding = if grid_step > 1.0 { grid_step / 2.0 * std::f64::consts::SQRT_2 } else { 0.0 };
    13.0 + rounding
}

/// Checks that a tile covers the same area as disjoint rings, or as a single arbitrary ring.
fn check_rings(
    geometry: &Geometry,
    rings: &[Vec<Position>],
    tile: TileId,
    probes: &[FloatPoint],
) -> Result<(), TestCaseError> {
    let max_distance = max_distance(tile);
    let source = paths_in_tile_units(rings, tile);
    let decoded = close(to_float(&rings_of(&encode_single(geometry, tile))));
    for probe in probes {
        if distance(*probe, &source) > max_distance {
            prop_assert_eq!(is_inside(*probe, &source), is_inside(*probe, &decoded), "{:?}", probe);
        }
    }
    for point in decoded.iter().flatten() {
        let on_border =
            [-64.0, 4160.0].iter().any(|border| point.0 == *border || point.1 == *border);
        prop_assert!(on_border || distance(*point, &source) < max_distance, "{:?}", point);
    }
    Ok(())
}

fn probes() -> impl Strategy<Value = Vec<FloatPoint>> {
    prop::collection::vec((-60.0..4156.0, -60.0..4156.0), 30)
}

proptest! {
    #[test]
    fn polygons_cover_the_same_area_in_a_tile(
        ((polygons, size), roll, pick, probes) in (polygons(), any::<u8>(), any::<prop::sample::Index>(), probes())
    ) {
        let rings: Vec<_> = polygons.iter().flatten().cloned().collect();
        let corner = pick.get(&rings[0]);
        let tile = tile_at(zoom_for(size, roll), project(corner.x, corner.y));
        check_rings(&Geometry::MultiPolygon(polygons), &rings, tile, &probes)?;
    }

    #[test]
    fn self_intersecting_ring_is_drawn(
        mut ring in random_line(3..12), z in 0_u8..=24, probes in probes()
    ) {
        ring.push(ring[0]);
        let tile = tile_at(z, project(ring[0].x, ring[0].y));
        let geometry = Geometry::Polygon(vec![ring.clone()]);
        check_rings(&geometry, &[ring], tile, &probes)?;
        prop_assert!(!encode_single(&geometry, tile).is_empty());
    }

    #[test]
    fn lines_are_drawn_where_they_are(
        lines in prop::collection::vec(random_line(2..9), 1..4), z in 0_u8..=24
    ) {
        let tile = tile_at(z, project(lines[0][0].x, lines[0][0].y));
        let source = paths_in_tile_units(&lines, tile);
        let features = encode_single(&Geometry::MultiLineString(lines), tile);
        let [Feature { geometry: Decoded::Lines(pieces), .. }] = &features[..] else {
            return Err(TestCaseError::fail("one feature of lines"));
        };
        let pieces = to_float(pieces);
        for point in pieces.iter().flatten() {
            prop_assert!(distance(*point, &source) < 3.0, "{:?}", point);
        }
        let inside = -62.0..4158.0;
        for path in &source {
            let is_long = path.iter().any(|point| (point.0 - path[0].0).abs().max((point.1 - path[0].1).abs()) > 2.0);
            for point in path.iter().filter(|point| inside.contains(&point.0) && inside.contains(&point.1)) {
                prop_assert!(!is_long || distance(*point, &pieces) < 2.0, "{:?}", point);
            }
        }
    }

    #[test]
    fn points_are_rounded_to_the_nearest_unit(points in random_line(1..20), z in 0_u8..=24) {
        let tile = tile_at(z, project(points[0].x, points[0].y));
        let source: Vec<FloatPoint> = points.iter().map(|at| to_tile_units(at, tile)).collect();
        let features = encode_single(&Geometry::MultiPoint(points), tile);
        let Decoded::Points(decoded) = &features[0].geometry else {
            return Err(TestCaseError::fail("points"));
        };
        let rounded = |point: &FloatPoint| {
            ((point.0 + 0.5).floor() as i64, (point.1 + 0.5).floor() as i64)
        };
        for point in source.iter().map(rounded) {
            let within = (-64..=4160).contains(&point.0) && (-64..=4160).contains(&point.1);
            prop_assert_eq!(decoded.contains(&point), within, "{:?}", point);
        }
        prop_assert!(decoded.iter().all(|decoded| source.iter().map(rounded).any(|point| point == *decoded)));
    }

    #[test]
    fn order_of_candidates_does_not_matter(
        shapes in prop::collection::vec((polygons(), 0_u8..12, 0_u64..3, 0_u32..5), 1..12),
        max_bytes in prop::option::of(100_usize..3_000),
        rotation in any::<prop::sample::Index>(),
    ) {
        let stored: Vec<_> = shapes.iter().map(|((polygons, _), _, _, value)| {
            let shape = TileShape::from_geometry(&Geometry::MultiPolygon(polygons.clone())).unwrap();
            (shape, attributes::encode([(value % 2, &json!(value))].into_iter()))
        }).collect();
        let mut candidates: Vec<_> = (1..).zip(stored.iter().zip(&shapes)).map(|(id, (stored, shape))| Candidate {
            id: 4 * id, is_polygon: false, min_zoom: shape.1, rank: shape.2, shape: bytes_for_zoom(&stored.0, 2), attributes: &stored.1,
        }).collect();
        let tile = TileId::new(2, 2, 1).unwrap();
        let bytes = encode(tile, "x", &["a", "b"], candidates.clone(), max_bytes);
        let layer = decode::tile(&bytes);
        prop_assert!(max_bytes.is_none_or(|max_bytes| bytes.len() <= max_bytes || layer.unwrap().features.len() == 1));
        let rotation = rotation.index(candidates.len());
        candidates.rotate_left(rotation);
        prop_assert_eq!(&encode(tile, "x", &["a", "b"], candidates.clone(), max_bytes), &bytes);
        candidates.reverse();
        prop_assert_eq!(&encode(tile, "x", &["a", "b"], candidates, max_bytes), &bytes);
    }

    #[test]
    fn damaged_bytes_do_not_affect_other_features(
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
        let tile_shape = TileShape::from_geometry(&collection).unwrap();
        let damaged = |bytes: &[u8]| {
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
        let shape = bytes_for_zoom(&tile_shape, tile.z());
        let (bad_shape, bad_attributes) = (damaged(shape), damaged(&attributes));
        let candidates = vec![
            candidate(4, shape, &bad_attributes),
            candidate(8, &bad_shape, &attributes),
            candidate(12, shape, &attributes),
        ];
        let bytes = encode(tile, "x", &["a", "b", "c"], candidates, None);
        let layer = decode::tile(&bytes).unwrap();
        prop_assert!(layer.features.iter().any(|feature| feature.id == 12));
        let _ = crate::tile_shape::bounds(&bad_shape);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        mut shape in prop::collection::vec(any::<u8>(), 0..60), encoding in 0_u8..4, z in 0_u8..=24,
    ) {
        if let Some(first) = shape.first_mut() {
            *first = encoding;
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
