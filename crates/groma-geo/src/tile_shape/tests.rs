//! Tests of tile shapes: encoding, bounds and levels of detail.

use super::{encoding::GeomType, grid_geometry::GridPoint, *};
use crate::{
    Position,
    grid::{project, unmorton},
};
use proptest::prelude::*;
use std::collections::HashSet;

fn position(x: f64, y: f64) -> Position {
    Position { x, y, z: None }
}

fn ring(positions: &[(f64, f64)]) -> Vec<Position> {
    let mut ring: Vec<_> = positions.iter().map(|&(x, y)| position(x, y)).collect();
    ring.push(ring[0]);
    ring
}

/// A wavy circle with this many vertices.
fn circle(centre: (f64, f64), radius: f64, vertices: u32) -> Vec<Position> {
    let vertex = |index: u32| {
        let angle = f64::from(index) / f64::from(vertices) * std::f64::consts::TAU;
        let radius = radius * (1.0 + 0.05 * (40.0 * angle).sin());
        (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
    };
    ring(&(0..vertices).map(vertex).collect::<Vec<_>>())
}

/// The paths of an encoded shape, in grid steps, with their type.
fn decode(bytes: &[u8]) -> Vec<(GeomType, Vec<GridPoint>)> {
    let mut shape = ShapeReader::new(bytes).unwrap();
    let mut paths = Vec::new();
    if shape.encoding == Encoding::Point {
        let corner = [shape.bounds.min_x, shape.bounds.min_y].map(|at| (at as u32) << shape.scale);
        return vec![(GeomType::Points, vec![corner.into()])];
    }
    while let Some((geom_type, count)) = shape.next_part() {
        let mut path = |points: u64, shape: &mut ShapeReader<'_>| {
            let mut path = Vec::new();
            let scale = shape.scale;
            shape
                .points(points, |x, y| path.push(((x as u32) << scale, (y as u32) << scale)))
                .unwrap();
            paths.push((geom_type, path));
        };
        match geom_type {
            GeomType::Points => path(count, &mut shape),
            GeomType::Lines | GeomType::Polygons => {
                for _ in 0..count {
                    let header = shape.path_header().unwrap();
                    path(
                        if geom_type == GeomType::Lines { header } else { header >> 1 },
                        &mut shape,
                    );
                }
            }
        }
    }
    paths
}

#[test]
fn tile_shape_has_centre_size_class_and_bounds() {
    let (east, south) = project(2.002, 47.0);
    let (west, north) = project(2.0, 47.001);
    let square = ring(&[(2.0, 47.0), (2.002, 47.0), (2.002, 47.001), (2.0, 47.001)]);
    let shape = TileShape::from_geometry(&Geometry::Polygon(vec![square])).unwrap();
    let centre = unmorton(shape.centre);
    assert_eq!(centre, (west + (east - west) / 2, north + (south - north) / 2));
    assert_eq!(1 << shape.size_class, (east - west + 1).next_power_of_two() / 2);
    assert_eq!(shape.levels, []);
    let corners = [west, north, east, south].map(i64::from);
    let [min_x, min_y, max_x, max_y] = corners;
    assert_eq!(bounds(&shape.bytes), Some(GridBox { min_x, min_y, max_x, max_y }));
    // A parcel: 13 bytes, two for the headers of part and ring, four for each vertex.
    assert_eq!(shape.bytes.len(), 13 + 2 + 4 * 4);
}

#[test]
fn rings_are_stored_with_the_winding_order_of_tiles() {
    let mut outer = ring(&[(2.0, 47.0), (2.9, 47.0), (2.9, 47.9), (2.0, 47.9)]);
    let mut hole = ring(&[(2.2, 47.2), (2.6, 47.2), (2.6, 47.6)]);
    for _ in 0..2 {
        let rings = vec![outer.clone(), hole.clone()];
        let stored = decode(&TileShape::from_geometry(&Geometry::Polygon(rings)).unwrap().bytes);
        assert!(grid_geometry::doubled_area(&stored[0].1) > 0);
        assert!(grid_geometry::doubled_area(&stored[1].1) < 0);
        outer.reverse();
        hole.reverse();
    }
}

#[test]
fn point_takes_nine_bytes() {
    let shape = TileShape::from_geometry(&Geometry::Point(position(2.0, 47.0))).unwrap();
    assert_eq!((shape.size_class, shape.bytes.len()), (0, 9));
    assert_eq!(unmorton(shape.centre), project(2.0, 47.0));
}

#[test]
fn empty_geometry_has_no_tile_shape() {
    for geometry in [
        Geometry::Collection(Vec::new()),
        Geometry::MultiPoint(Vec::new()),
        Geometry::LineString(Vec::new()),
        Geometry::Polygon(vec![Vec::new(), ring(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)])]),
        Geometry::Collection(vec![Geometry::MultiPolygon(Vec::new())]),
    ] {
        assert_eq!(TileShape::from_geometry(&geometry), None);
    }
}

#[test]
fn shape_can_cover_the_whole_world() {
    let world = ring(&[(-180.0, -90.0), (180.0, -90.0), (180.0, 90.0), (-180.0, 90.0)]);
    let shape = TileShape::from_geometry(&Geometry::Polygon(vec![world])).unwrap();
    assert_eq!(shape.size_class, 31);
    assert_eq!(bounds(&shape.bytes).unwrap().max_x, i64::from(u32::MAX));
    assert_eq!(decode(&shape.bytes)[0].1.len(), 4);
}

#[test]
fn shape_with_many_vertices_has_simplified_levels_for_lower_zooms() {
    let shape =
        TileShape::from_geometry(&Geometry::Polygon(vec![circle((2.0, 47.0), 0.5, 20_000)]))
            .unwrap();
    let zooms: Vec<u8> = shape.levels.iter().map(|level| level.max_zoom).collect();
    assert_eq!(zooms, [3, 6, 9, 12, 15, 24]);
    for pair in shape.levels.windows(2) {
        assert!(pair[0].bytes.len() * 3 <= pair[1].bytes.len() * 2);
    }
    assert_eq!(decode(&shape.levels[5].bytes)[0].1.len(), 20_000);
    assert!(shape.bytes.len() < 20);
    assert_eq!(bounds(&shape.bytes), bounds(&shape.levels[5].bytes));
    assert!(needs_detail_level(&shape.bytes, 3) && needs_detail_level(&shape.bytes, 24));
    assert!(!needs_detail_level(&shape.levels[0].bytes, 3));

    let small =
        TileShape::from_geometry(&Geometry::Polygon(vec![circle((2.0, 47.0), 1e-5, 20_000)]))
            .unwrap();
    assert!(!needs_detail_level(&small.bytes, 3) && needs_detail_level(&small.bytes, 20));
    assert!(small.levels.iter().all(|level| level.max_zoom > 9));
}

#[test]
fn spiral_is_simplified_in_one_pass() {
    let spiral = (0..200_000).map(|index| {
        let angle = f64::from(index) / 100.0;
        position(angle.cos() * angle / 1e3, angle.sin() * angle / 1e3)
    });
    let shape = TileShape::from_geometry(&Geometry::LineString(spiral.collect())).unwrap();
    assert!(shape.levels[0].bytes.len() < shape.levels.last().unwrap().bytes.len() / 10);
}

#[test]
fn islands_without_size_are_dropped_except_the_largest() {
    let small = (0..50).map(|index| vec![circle((f64::from(index) / 10.0, 10.0), 0.001, 9)]);
    let large = vec![circle((2.0, 47.0), 0.002, 9), circle((2.0, 47.0), 0.001, 9)];
    let islands = small.chain([large]).collect();
    let shape = TileShape::from_geometry(&Geometry::MultiPolygon(islands)).unwrap();
    let coarsest = decode(&shape.levels[0].bytes);
    assert_eq!(coarsest.len(), 1);
    let (x, y) = project(2.0, 47.0);
    let is_near = |a: u32, b: u32| a.abs_diff(b) < 1 << 18;
    assert!(coarsest[0].1.iter().all(|point| is_near(point.0, x) && is_near(point.1, y)));
    assert_eq!(decode(&shape.levels.last().unwrap().bytes).len(), 52);
}

#[test]
fn dense_points_are_thinned_and_not_moved() {
    for step in [1e-4, 1e-6] {
        let point = |index: u32| {
            position(2.0 + f64::from(index % 100) * step, 47.0 + f64::from(index / 100) * step)
        };
        let shape =
            TileShape::from_geometry(&Geometry::MultiPoint((0..9_000).map(point).collect()))
                .unwrap();
        let exact = decode(&shape.levels.last().unwrap().bytes)[0].1.clone();
        assert_eq!(exact.len(), 9_000);
        for level in &shape.levels {
            // In half units, except for the exact level.
            let scale = u32::from(GRID_ZOOM.saturating_sub(level.max_zoom + 1));
            let scaled = |point: &GridPoint| (point.0 >> scale << scale, point.1 >> scale << scale);
            let points: HashSet<_> = exact.iter().map(scaled).collect();
            let kept = &decode(&level.bytes)[0].1;
            assert!(kept.iter().all(|point| points.contains(point)), "{}", level.max_zoom);
        }
        assert!(decode(&shape.levels[0].bytes)[0].1.len() < 900);
    }
}

#[test]
fn line_that_turns_back_keeps_its_far_end() {
    let there = (0..200).map(|index| position(f64::from(index) / 1e3, 0.0));
    let back = (0..200).rev().map(|index| position(f64::from(index) / 1e3, 0.0));
    let shape =
        TileShape::from_geometry(&Geometry::LineString(there.chain(back).collect())).unwrap();
    let end = project(0.199, 0.0).0;
    for level in &shape.levels {
        let unit = 1 << GRID_ZOOM.saturating_sub(level.max_zoom);
        let furthest = decode(&level.bytes)[0].1.iter().map(|point| point.0).max().unwrap();
        assert!(end - furthest <= 2 * unit, "{}", level.max_zoom);
    }
}

/// The distance of a point from a line, in units of 2^`scale` grid steps.
fn distance(from: GridPoint, line: &[GridPoint], scale: u32) -> f64 {
    let unit = f64::from(1_u32 << scale);
    let scaled = |point: GridPoint| (f64::from(point.0) / unit, f64::from(point.1) / unit);
    let from = scaled(from);
    // A point of a simplified line stands for the middle of its unit.
    let middle = |point: GridPoint| (scaled(point).0 + 0.5, scaled(point).1 + 0.5);
    let to_edge = |a: (f64, f64), b: (f64, f64)| {
        let (ax, ay, bx, by) = (b.0 - a.0, b.1 - a.1, from.0 - a.0, from.1 - a.1);
        let length = ax * ax + ay * ay;
        let part = if length > 0.0 { ((ax * bx + ay * by) / length).clamp(0.0, 1.0) } else { 0.0 };
        (bx - part * ax).hypot(by - part * ay)
    };
    let edges = line.windows(2).map(|edge| to_edge(middle(edge[0]), middle(edge[1])));
    let ends = line.iter().map(|point| to_edge(middle(*point), middle(*point)));
    edges.chain(ends).fold(f64::INFINITY, f64::min)
}

/// A random walk with steps of any size.
fn random_walk() -> impl Strategy<Value = Vec<Position>> {
    let step = (0_i32..9, -1.0..1.0, -1.0..1.0);
    prop::collection::vec(step, 101..220).prop_map(|steps| {
        let mut at = (2.0, 47.0);
        let walk = steps.into_iter().map(|(power, x, y)| {
            let size = 10_f64.powi(-power);
            at = (f64::clamp(at.0 + x * size, -9.0, 9.0), f64::clamp(at.1 + y * size, 30.0, 60.0));
            position(at.0, at.1)
        });
        walk.collect()
    })
}

proptest! {
    #[test]
    fn simplified_line_passes_every_vertex_within_a_unit(line in random_walk()) {
        let source: Vec<GridPoint> = line.iter().map(|at| project(at.x, at.y)).collect();
        let shape = TileShape::from_geometry(&Geometry::LineString(line)).unwrap();
        for level in shape.levels.iter().filter(|level| level.max_zoom < GRID_ZOOM) {
            let scale = u32::from(GRID_ZOOM - level.max_zoom);
            let simple = &decode(&level.bytes)[0].1;
            for point in &source {
                // Plus 0.71 units for the rounding of the points before and after.
                let distance = distance(*point, simple, scale);
                prop_assert!(distance < 1.0 + 0.71, "{} at {}", distance, level.max_zoom);
            }
        }
    }

    #[test]
    fn encoded_lines_round_trip(
        size in (-6_i32..2).prop_map(|power| 10_f64.powi(power)),
        lines in prop::collection::vec(prop::collection::vec((0.0..1.0, 0.0..1.0), 2..40), 1..5),
    ) {
        let point = |&(x, y): &(f64, f64)| position(2.0 + x * size, 47.0 + y * size);
        let lines: Vec<Vec<_>> =
            lines.iter().map(|line| line.iter().map(point).collect()).collect();
        let on_grid = |line: &Vec<Position>| {
            let mut points: Vec<_> = line.iter().map(|at| project(at.x, at.y)).collect();
            points.dedup();
            (GeomType::Lines, points)
        };
        let expected: Vec<_> = lines.iter().map(on_grid).collect();
        let shape = TileShape::from_geometry(&Geometry::MultiLineString(lines)).unwrap();
        let bytes = shape.levels.last().map_or(&shape.bytes, |level| &level.bytes);
        let points = expected.iter().flat_map(|(_, points)| points);
        let shape_bounds = bounds(bytes).unwrap();
        for &(x, y) in points {
            let (x, y) = (i64::from(x), i64::from(y));
            let point = GridBox { min_x: x, min_y: y, max_x: x, max_y: y };
            prop_assert!(shape_bounds.contains(point));
            let centre = unmorton(shape.centre);
            // Half of a side, which is less than 2^(size class + 1).
            let reach = 1_i64 << shape.size_class;
            prop_assert!((x - i64::from(centre.0)).abs() <= reach);
            prop_assert!((y - i64::from(centre.1)).abs() <= reach);
        }
        prop_assert_eq!(decode(bytes), expected);
    }
}
