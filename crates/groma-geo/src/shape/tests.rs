use super::{format::Kind, parts::Place, *};
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

/// A wavy circle of so many vertices.
fn circle(centre: (f64, f64), radius: f64, vertices: u32) -> Vec<Position> {
    let vertex = |index: u32| {
        let angle = f64::from(index) / f64::from(vertices) * std::f64::consts::TAU;
        let radius = radius * (1.0 + 0.05 * (40.0 * angle).sin());
        (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
    };
    ring(&(0..vertices).map(vertex).collect::<Vec<_>>())
}

/// The paths in a stored shape, in steps of the grid, with their kind.
fn read(bytes: &[u8]) -> Vec<(Kind, Vec<Place>)> {
    let mut shape = Shape::read(bytes).unwrap();
    let mut paths = Vec::new();
    if shape.form == Form::Point {
        let corner = [shape.bounds.min_x, shape.bounds.min_y].map(|at| (at as u32) << shape.scale);
        return vec![(Kind::Points, vec![corner.into()])];
    }
    while let Some((kind, count)) = shape.part() {
        let mut path = |places: u64, shape: &mut Shape<'_>| {
            let mut path = Vec::new();
            let scale = shape.scale;
            shape
                .places(places, |x, y| path.push(((x as u32) << scale, (y as u32) << scale)))
                .unwrap();
            paths.push((kind, path));
        };
        match kind {
            Kind::Points => path(count, &mut shape),
            Kind::Lines | Kind::Polygons => {
                for _ in 0..count {
                    let head = shape.number().unwrap();
                    path(if kind == Kind::Lines { head } else { head >> 1 }, &mut shape);
                }
            }
        }
    }
    paths
}

#[test]
fn a_drawing_says_where_and_how_large_it_is() {
    let (east, south) = project(2.002, 47.0);
    let (west, north) = project(2.0, 47.001);
    let square = ring(&[(2.0, 47.0), (2.002, 47.0), (2.002, 47.001), (2.0, 47.001)]);
    let drawing = Drawing::of(&Geometry::Polygon(vec![square])).unwrap();
    let centre = unmorton(drawing.centre);
    assert_eq!(centre, (west + (east - west) / 2, north + (south - north) / 2));
    assert_eq!(1 << drawing.class, (east - west + 1).next_power_of_two() / 2);
    assert_eq!(drawing.levels, []);
    let corners = [west, north, east, south].map(i64::from);
    let [min_x, min_y, max_x, max_y] = corners;
    assert_eq!(bounds(&drawing.bytes), Some(GridBox { min_x, min_y, max_x, max_y }));
    // A parcel: 13 bytes, two of heads, four for each vertex.
    assert_eq!(drawing.bytes.len(), 13 + 2 + 4 * 4);
}

#[test]
fn rings_are_stored_as_tiles_want_them_whichever_way_they_came() {
    let mut outer = ring(&[(2.0, 47.0), (2.9, 47.0), (2.9, 47.9), (2.0, 47.9)]);
    let mut hole = ring(&[(2.2, 47.2), (2.6, 47.2), (2.6, 47.6)]);
    for _ in 0..2 {
        let rings = vec![outer.clone(), hole.clone()];
        let stored = read(&Drawing::of(&Geometry::Polygon(rings)).unwrap().bytes);
        assert!(parts::doubled_area(&stored[0].1) > 0);
        assert!(parts::doubled_area(&stored[1].1) < 0);
        outer.reverse();
        hole.reverse();
    }
}

#[test]
fn a_point_takes_nine_bytes() {
    let drawing = Drawing::of(&Geometry::Point(position(2.0, 47.0))).unwrap();
    assert_eq!((drawing.class, drawing.bytes.len()), (0, 9));
    assert_eq!(unmorton(drawing.centre), project(2.0, 47.0));
    assert_eq!(Drawing::centre_of(&Geometry::Point(position(2.0, 47.0))), Some(drawing.centre));
}

#[test]
fn nothing_draws_nothing() {
    for geometry in [
        Geometry::Collection(Vec::new()),
        Geometry::MultiPoint(Vec::new()),
        Geometry::LineString(Vec::new()),
        Geometry::Polygon(vec![Vec::new(), ring(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)])]),
        Geometry::Collection(vec![Geometry::MultiPolygon(Vec::new())]),
    ] {
        assert_eq!(Drawing::of(&geometry), None);
    }
}

#[test]
fn the_whole_world_is_no_special_case() {
    let world = ring(&[(-180.0, -90.0), (180.0, -90.0), (180.0, 90.0), (-180.0, 90.0)]);
    let drawing = Drawing::of(&Geometry::Polygon(vec![world])).unwrap();
    assert_eq!(drawing.class, 31);
    assert_eq!(bounds(&drawing.bytes).unwrap().max_x, i64::from(u32::MAX));
    assert_eq!(read(&drawing.bytes)[0].1.len(), 4);
}

#[test]
fn a_shape_with_many_vertices_has_smaller_copies_for_lower_zooms() {
    let drawing = Drawing::of(&Geometry::Polygon(vec![circle((2.0, 47.0), 0.5, 20_000)])).unwrap();
    let zooms: Vec<u8> = drawing.levels.iter().map(|level| level.zoom).collect();
    assert_eq!(zooms, [3, 6, 9, 12, 15, 24]);
    for pair in drawing.levels.windows(2) {
        assert!(pair[0].bytes.len() * 3 <= pair[1].bytes.len() * 2);
    }
    assert_eq!(read(&drawing.levels[5].bytes)[0].1.len(), 20_000);
    assert!(drawing.bytes.len() < 20);
    assert_eq!(bounds(&drawing.bytes), bounds(&drawing.levels[5].bytes));
    assert!(needs_level(&drawing.bytes, 3) && needs_level(&drawing.bytes, 24));
    assert!(!needs_level(&drawing.levels[0].bytes, 3));

    let small = Drawing::of(&Geometry::Polygon(vec![circle((2.0, 47.0), 1e-5, 20_000)])).unwrap();
    assert!(!needs_level(&small.bytes, 3) && needs_level(&small.bytes, 20));
    assert!(small.levels.iter().all(|level| level.zoom > 9));
}

#[test]
fn a_spiral_is_no_harder_than_another_line() {
    let spiral = (0..200_000).map(|index| {
        let angle = f64::from(index) / 100.0;
        position(angle.cos() * angle / 1e3, angle.sin() * angle / 1e3)
    });
    let drawing = Drawing::of(&Geometry::LineString(spiral.collect())).unwrap();
    assert!(drawing.levels[0].bytes.len() < drawing.levels.last().unwrap().bytes.len() / 10);
}

#[test]
fn islands_without_size_go_and_the_largest_stays() {
    let small = (0..50).map(|index| vec![circle((f64::from(index) / 10.0, 10.0), 0.001, 9)]);
    let large = vec![circle((2.0, 47.0), 0.002, 9), circle((2.0, 47.0), 0.001, 9)];
    let islands = small.chain([large]).collect();
    let drawing = Drawing::of(&Geometry::MultiPolygon(islands)).unwrap();
    let coarsest = read(&drawing.levels[0].bytes);
    assert_eq!(coarsest.len(), 1);
    let (x, y) = project(2.0, 47.0);
    let near = |a: u32, b: u32| a.abs_diff(b) < 1 << 18;
    assert!(coarsest[0].1.iter().all(|place| near(place.0, x) && near(place.1, y)));
    assert_eq!(read(&drawing.levels.last().unwrap().bytes).len(), 52);
}

#[test]
fn a_crowd_of_points_is_thinned_and_none_is_moved() {
    for step in [1e-4, 1e-6] {
        let place = |index: u32| {
            position(2.0 + f64::from(index % 100) * step, 47.0 + f64::from(index / 100) * step)
        };
        let drawing = Drawing::of(&Geometry::MultiPoint((0..9_000).map(place).collect())).unwrap();
        let exact = read(&drawing.levels.last().unwrap().bytes)[0].1.clone();
        assert_eq!(exact.len(), 9_000);
        for level in &drawing.levels {
            let scale = u32::from(GRID_ZOOM.saturating_sub(level.zoom));
            let scaled = |place: &Place| (place.0 >> scale << scale, place.1 >> scale << scale);
            let places: HashSet<_> = exact.iter().map(scaled).collect();
            let kept = &read(&level.bytes)[0].1;
            assert!(kept.iter().all(|place| places.contains(place)), "{}", level.zoom);
        }
        assert!(read(&drawing.levels[0].bytes)[0].1.len() < 900);
    }
}

#[test]
fn a_line_there_and_back_keeps_its_far_end() {
    let there = (0..200).map(|index| position(f64::from(index) / 1e3, 0.0));
    let back = (0..200).rev().map(|index| position(f64::from(index) / 1e3, 0.0));
    let drawing = Drawing::of(&Geometry::LineString(there.chain(back).collect())).unwrap();
    let end = project(0.199, 0.0).0;
    for level in &drawing.levels {
        let unit = 1 << GRID_ZOOM.saturating_sub(level.zoom);
        let furthest = read(&level.bytes)[0].1.iter().map(|place| place.0).max().unwrap();
        assert!(end - furthest <= 2 * unit, "{}", level.zoom);
    }
}

/// How far a place is from a line, in units of 2^`scale` steps.
fn distance(from: Place, line: &[Place], scale: u32) -> f64 {
    let unit = f64::from(1_u32 << scale);
    let spot = |place: Place| (f64::from(place.0) / unit, f64::from(place.1) / unit);
    let from = spot(from);
    // A place of a level stands for its whole unit.
    let middle = |place: Place| (spot(place).0 + 0.5, spot(place).1 + 0.5);
    let to_edge = |a: (f64, f64), b: (f64, f64)| {
        let (ax, ay, bx, by) = (b.0 - a.0, b.1 - a.1, from.0 - a.0, from.1 - a.1);
        let length = ax * ax + ay * ay;
        let part = if length > 0.0 { ((ax * bx + ay * by) / length).clamp(0.0, 1.0) } else { 0.0 };
        (bx - part * ax).hypot(by - part * ay)
    };
    let edges = line.windows(2).map(|edge| to_edge(middle(edge[0]), middle(edge[1])));
    let ends = line.iter().map(|place| to_edge(middle(*place), middle(*place)));
    edges.chain(ends).fold(f64::INFINITY, f64::min)
}

/// A line that wanders about, in steps of any size.
fn wander() -> impl Strategy<Value = Vec<Position>> {
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
    fn a_simplified_line_misses_no_vertex_by_more_than_a_unit(line in wander()) {
        let source: Vec<Place> = line.iter().map(|at| project(at.x, at.y)).collect();
        let drawing = Drawing::of(&Geometry::LineString(line)).unwrap();
        for level in drawing.levels.iter().filter(|level| level.zoom < GRID_ZOOM) {
            let scale = u32::from(GRID_ZOOM - level.zoom);
            let simple = &read(&level.bytes)[0].1;
            for place in &source {
                // And most of another, for the unit that its neighbours were rounded to.
                let distance = distance(*place, simple, scale);
                prop_assert!(distance < 1.0 + 0.71, "{} at {}", distance, level.zoom);
            }
        }
    }

    #[test]
    fn what_is_written_is_read(
        size in (-6_i32..2).prop_map(|power| 10_f64.powi(power)),
        lines in prop::collection::vec(prop::collection::vec((0.0..1.0, 0.0..1.0), 2..40), 1..5),
    ) {
        let place = |&(x, y): &(f64, f64)| position(2.0 + x * size, 47.0 + y * size);
        let lines: Vec<Vec<_>> =
            lines.iter().map(|line| line.iter().map(place).collect()).collect();
        let on_grid = |line: &Vec<Position>| {
            let mut places: Vec<_> = line.iter().map(|at| project(at.x, at.y)).collect();
            places.dedup();
            (Kind::Lines, places)
        };
        let expected: Vec<_> = lines.iter().map(on_grid).collect();
        let drawing = Drawing::of(&Geometry::MultiLineString(lines)).unwrap();
        let bytes = drawing.levels.last().map_or(&drawing.bytes, |level| &level.bytes);
        let places = expected.iter().flat_map(|(_, places)| places);
        let around = bounds(bytes).unwrap();
        for &(x, y) in places {
            let (x, y) = (i64::from(x), i64::from(y));
            let place = GridBox { min_x: x, min_y: y, max_x: x, max_y: y };
            prop_assert!(around.contains(place));
            let centre = unmorton(drawing.centre);
            // Half of a side that is under 2^(class + 1).
            let reach = 1_i64 << drawing.class;
            prop_assert!((x - i64::from(centre.0)).abs() <= reach);
            prop_assert!((y - i64::from(centre.1)).abs() <= reach);
        }
        prop_assert_eq!(read(bytes), expected);
    }
}
