use super::*;
use crate::{Geometry, Position, grid::TileId, tile_shape::TileShape};
use proptest::prelude::*;

/// A polygon through positions in degrees.
fn polygon(rings: &[&[(f64, f64)]]) -> Polygon {
    let ring = |ring: &&[(f64, f64)]| {
        let closed = ring.iter().chain(ring.first());
        closed.map(|&(x, y)| Position { x, y, z: None }).collect()
    };
    let geometry = Geometry::Polygon(rings.iter().map(ring).collect());
    Polygon::from_shape(&TileShape::from_geometry(&geometry).unwrap()).unwrap()
}

fn square(x: f64, y: f64, side: f64) -> Polygon {
    polygon(&[&[(x, y), (x + side, y), (x + side, y + side), (x, y + side)]])
}

/// The area of a footprint, in cells.
fn area(polygon: &Polygon, zoom: u8) -> f64 {
    let cells = polygon.footprint(zoom, 1);
    cells.iter().map(|(_, cell)| cell.area as f64).sum::<f64>() / FULL_AREA as f64
}

#[test]
fn area_is_four_times_as_many_cells_at_the_next_zoom() {
    let shapes = [
        square(2.0, 48.0, 0.001),
        polygon(&[&[(2.0, 48.0), (2.003, 48.0004), (2.001, 48.002)]]),
        polygon(&[
            &[(2.0, 48.0), (2.004, 48.0), (2.004, 48.003), (2.0, 48.003)],
            &[(2.001, 48.001), (2.003, 48.001), (2.003, 48.002), (2.001, 48.002)],
        ]),
    ];
    for shape in shapes {
        for zoom in 4..14 {
            let ratio = area(&shape, zoom + 1) / area(&shape, zoom);
            assert!((ratio - 4.0).abs() < 1e-3, "z{zoom}: {ratio}");
        }
    }
}

#[test]
fn hole_is_not_covered() {
    let outer: &[(f64, f64)] = &[(2.0, 48.0), (2.004, 48.0), (2.004, 48.003), (2.0, 48.003)];
    let hole: &[(f64, f64)] = &[(2.001, 48.001), (2.003, 48.001), (2.003, 48.002), (2.001, 48.002)];
    let (whole, cut) = (polygon(&[outer]), polygon(&[outer, hole]));
    let ratio = area(&cut, 12) / area(&whole, 12);
    assert!((ratio - 5.0 / 6.0).abs() < 0.001, "{ratio}");
}

#[test]
fn polygon_is_drawn_alone_when_it_is_wide_and_thick_enough() {
    // At the equator, 0.01 degrees are 32 units from zoom 9 on (29 at zoom 8).
    assert_eq!(square(0.0, 0.0, 0.01).alone_from(), 9);
    assert_eq!(square(0.0, 0.0, 0.005).alone_from(), 10);
    // A strip of a hundredth of its length waits until it is a unit thick.
    let strip = polygon(&[&[(0.0, 0.0), (0.01, 0.0), (0.01, 0.0001), (0.0, 0.0001)]]);
    assert_eq!(strip.alone_from(), 10);
    let line = polygon(&[&[(0.0, 0.0), (0.01, 0.0), (0.005, 0.0)]]);
    assert_eq!(line.alone_from(), 15);
}

#[test]
fn lone_polygon_is_found_and_removed_and_others_are_not() {
    let zoom = 6;
    let [alone, near, next] =
        [square(1.0, 1.0, 0.001), square(3.0, 3.0, 0.001), square(3.002, 3.0, 0.001)];
    let tile = TileId::new(zoom, 32, 31).unwrap();
    let mut blocks: BTreeMap<u64, CoverageBlock> = BTreeMap::new();
    for (polygon, number) in [(&alone, 7), (&near, 8), (&next, 9)] {
        for (place, cell) in polygon.footprint(zoom, number) {
            blocks.entry(place.block()).or_default().add(place, &cell);
        }
    }
    let mut grid = CoverageGrid::new(tile);
    for (code, block) in &blocks {
        grid.add_block(*code, &block.to_bytes());
    }
    assert_eq!(grid.lone_polygons(), [7]);
    assert!(!grid.take_lone(&near, 8));
    assert!(grid.take_lone(&alone, 7));
    let rectangles = grid.rectangles();
    // The two others are too small to see, but nothing else is near.
    assert_eq!(rectangles.len(), 1);
    assert_eq!(rectangles[0].count, 2);
    assert_eq!(rectangles[0].max.0 - rectangles[0].min.0, 4);
}

#[test]
fn full_cells_become_one_rectangle_that_reaches_into_the_buffer() {
    let tile = TileId::new(6, 32, 31).unwrap();
    let mut grid = CoverageGrid::new(tile);
    // The whole tile and more.
    grid.add_polygon(&square(-1.0, -1.0, 9.0));
    let rectangles = grid.rectangles();
    let corners: Vec<_> = rectangles.iter().map(|one| (one.min, one.max)).collect();
    assert_eq!(corners, [((-64, -64), (4160, 4160))]);
    while grid.coarsen() {}
    assert_eq!(grid.rectangles().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever was added and subtracted, what remains is the sum of what is left.
    #[test]
    fn order_of_changes_does_not_matter(
        places in prop::collection::vec((0.0..0.2_f64, 0.0..0.2_f64, 1e-5..0.01_f64, any::<bool>()), 1..20),
        zoom in 4_u8..12,
    ) {
        let polygons: Vec<_> = places
            .iter()
            .enumerate()
            .map(|(n, (x, y, side, stays))| (square(*x, *y, *side), n as u64 + 1, *stays))
            .collect();
        let mut changed: BTreeMap<u64, CoverageBlock> = BTreeMap::new();
        let mut fresh = changed.clone();
        let change = |which: &mut BTreeMap<u64, CoverageBlock>, one: &Polygon, number, how: fn(&mut CoverageBlock, CellPlace, &Cell)| {
            for (place, cell) in one.footprint(zoom, number) {
                how(which.entry(place.block()).or_default(), place, &cell);
            }
        };
        for (polygon, number, _) in &polygons {
            change(&mut changed, polygon, *number, CoverageBlock::add);
        }
        for (polygon, number, stays) in &polygons {
            match stays {
                true => change(&mut fresh, polygon, *number, CoverageBlock::add),
                false => change(&mut changed, polygon, *number, CoverageBlock::subtract),
            }
        }
        changed.retain(|_, block| !block.is_empty());
        prop_assert_eq!(&changed, &fresh);
        for block in changed.values() {
            prop_assert_eq!(&CoverageBlock::from_bytes(&block.to_bytes()), block);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let tile = TileId::new(6, 32, 31).unwrap();
        let mut grid = CoverageGrid::new(tile);
        let (x, y) = (tile.bounds().min_x as u32, tile.bounds().min_y as u32);
        grid.add_block(crate::grid::morton(x, y), &bytes);
        let _ = grid.rectangles().len() + grid.lone_polygons().len();
        let _ = Polygon::from_bytes(&bytes);
    }
}
