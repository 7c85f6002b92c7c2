use super::{antimeridian::bounds, *};
use proptest::prelude::*;

fn line(positions: &[(f64, f64)]) -> Line {
    positions.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect()
}

fn ring(positions: &[(f64, f64)]) -> Line {
    let mut ring = line(positions);
    ring.push(ring[0]);
    ring
}

fn square(west: f64, south: f64, east: f64, north: f64) -> Line {
    ring(&[(west, south), (east, south), (east, north), (west, north)])
}

fn split(rings: Rings) -> Vec<Rings> {
    match repair_geometry(Geometry::Polygon(rings)) {
        Geometry::Polygon(rings) => vec![rings],
        Geometry::MultiPolygon(polygons) => polygons,
        other => panic!("{other:?}"),
    }
}

fn area(polygons: &[Rings]) -> f64 {
    polygons.iter().flatten().map(doubled_area).sum::<f64>() / 2.0
}

fn outer_bounds(rings: &Rings) -> [f64; 4] {
    bounds(&rings[0])
}

#[test]
fn line_is_split_at_every_crossing_and_nowhere_else() {
    for (whole, parts) in [
        (line(&[(170.0, 0.0), (180.0, 0.0)]), vec![line(&[(170.0, 0.0), (180.0, 0.0)])]),
        (line(&[(180.0, 0.0), (190.0, 0.0)]), vec![line(&[(-180.0, 0.0), (-170.0, 0.0)])]),
        (line(&[(-190.0, 0.0), (-181.0, 0.0)]), vec![line(&[(170.0, 0.0), (179.0, 0.0)])]),
        // Around the world, as RFC 7946 defines it.
        (line(&[(179.0, 0.0), (-179.0, 0.0)]), vec![line(&[(179.0, 0.0), (-179.0, 0.0)])]),
        // Through a position on the meridian.
        (
            line(&[(170.0, 0.0), (180.0, 5.0), (190.0, 0.0)]),
            vec![line(&[(170.0, 0.0), (180.0, 5.0)]), line(&[(-180.0, 5.0), (-170.0, 0.0)])],
        ),
        // To the meridian, along it and back, then across.
        (
            line(&[(170.0, 0.0), (180.0, 1.0), (180.0, 2.0), (170.0, 3.0), (190.0, 5.0)]),
            vec![
                line(&[(170.0, 0.0), (180.0, 1.0), (180.0, 2.0), (170.0, 3.0), (180.0, 4.0)]),
                line(&[(-180.0, 4.0), (-170.0, 5.0)]),
            ],
        ),
        // Across both meridians.
        (
            line(&[(-200.0, 0.0), (200.0, 40.0)]),
            vec![
                line(&[(160.0, 0.0), (180.0, 2.0)]),
                line(&[(-180.0, 2.0), (180.0, 38.0)]),
                line(&[(-180.0, 38.0), (-160.0, 40.0)]),
            ],
        ),
    ] {
        let expected = single_or_multi(parts, Geometry::LineString, Geometry::MultiLineString);
        assert_eq!(repair_geometry(Geometry::LineString(whole)), expected);
    }
}

#[test]
fn height_at_a_split_is_interpolated() {
    let high = |x, z| Position { x, y: 0.0, z };
    let whole = vec![high(170.0, Some(10.0)), high(190.0, Some(20.0)), high(170.0, None)];
    let Geometry::MultiLineString(parts) = repair_geometry(Geometry::LineString(whole)) else {
        panic!()
    };
    assert_eq!(parts[1][0], high(-180.0, Some(15.0)));
    assert_eq!(parts[2][0], high(180.0, None));
}

#[test]
fn comb_is_split_into_its_teeth() {
    // Its spine is west of the meridian; three teeth reach across.
    let comb = ring(&[
        (170.0, 0.0),
        (190.0, 0.0),
        (190.0, 1.0),
        (175.0, 1.0),
        (175.0, 2.0),
        (190.0, 2.0),
        (190.0, 3.0),
        (175.0, 3.0),
        (175.0, 4.0),
        (190.0, 4.0),
        (190.0, 5.0),
        (170.0, 5.0),
    ]);
    let whole = area(&[vec![comb.clone()]]);
    let parts = split(vec![comb]);
    assert_eq!(parts.len(), 4);
    assert_eq!(outer_bounds(&parts[0]), [170.0, 0.0, 180.0, 5.0]);
    let mut teeth: Vec<_> = parts[1..].iter().map(outer_bounds).collect();
    teeth.sort_by(|a, b| a[1].total_cmp(&b[1]));
    assert_eq!(teeth, [0.0, 2.0, 4.0].map(|south| [-180.0, south, -170.0, south + 1.0]));
    assert!((area(&parts) - whole).abs() < 1e-9);
}

#[test]
fn holes_are_split_or_stay_in_their_part() {
    let parts = split(vec![
        square(170.0, 0.0, 190.0, 10.0),
        square(175.0, 4.0, 185.0, 6.0),
        square(171.0, 1.0, 172.0, 2.0),
        square(188.0, 8.0, 189.0, 9.0),
    ]);
    assert_eq!(parts.len(), 2);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(area(&parts), 200.0 - 20.0 - 2.0);

    // A horseshoe that is open to the east, with a hole in each of its two parts east of the meridian.
    let horseshoe = ring(&[
        (170.0, 0.0),
        (190.0, 0.0),
        (190.0, 4.0),
        (175.0, 4.0),
        (175.0, 6.0),
        (190.0, 6.0),
        (190.0, 10.0),
        (170.0, 10.0),
    ]);
    let low = square(182.0, 1.0, 184.0, 2.0);
    let high = square(182.0, 8.0, 184.0, 9.0);
    let parts = split(vec![horseshoe, high, low]);
    assert_eq!(parts.len(), 3);
    for rings in &parts[1..] {
        let ([_, south, _, north], [_, low, _, high]) = (outer_bounds(rings), bounds(&rings[1]));
        assert!(rings.len() == 2 && south < low && high < north, "{rings:?}");
    }
}

#[test]
fn polygon_that_only_touches_the_meridian_is_not_split() {
    for (whole, [west, east]) in [
        (square(170.0, 0.0, 180.0, 10.0), [170.0, 180.0]),
        (square(180.0, 0.0, 190.0, 10.0), [-180.0, -170.0]),
        (ring(&[(181.0, 0.0), (182.0, 1.0), (180.0, 2.0)]), [-180.0, -178.0]),
        (ring(&[(178.0, 0.0), (180.0, 1.0), (178.0, 2.0)]), [178.0, 180.0]),
    ] {
        let Geometry::Polygon(rings) = repair_geometry(Geometry::Polygon(vec![whole])) else {
            panic!()
        };
        let bounds = outer_bounds(&rings);
        assert_eq!([bounds[0], bounds[2]], [west, east]);
    }
    // Beyond the other meridian, touching this one with a corner.
    let touching = ring(&[(-190.0, 0.0), (-180.0, 1.0), (-190.0, 2.0)]);
    assert_eq!(split(vec![touching]), [vec![ring(&[(170.0, 0.0), (180.0, 1.0), (170.0, 2.0)])]]);
}

#[test]
fn parts_that_touch_at_the_meridian_are_separated() {
    // A notch from the west reaches the meridian at a corner.
    let notched = ring(&[(190.0, 0.0), (190.0, 20.0), (170.0, 20.0), (180.0, 10.0), (170.0, 0.0)]);
    for turned in [notched.iter().rev().copied().collect(), notched] {
        let parts = split(vec![turned]);
        let mut boxes: Vec<_> = parts.iter().map(outer_bounds).collect();
        boxes.sort_by(|a, b| (a[0], a[1]).partial_cmp(&(b[0], b[1])).unwrap());
        let [east, south, north] =
            [[-180.0, 0.0, -170.0, 20.0], [170.0, 0.0, 180.0, 10.0], [170.0, 10.0, 180.0, 20.0]];
        assert_eq!(boxes, [east, south, north]);
        assert_eq!(area(&parts), 300.0);
    }
}

#[test]
fn polygon_wider_than_the_world_is_split_twice() {
    let parts = split(vec![square(-190.0, 0.0, 190.0, 10.0)]);
    assert_eq!(parts.len(), 3);
    assert_eq!(area(&parts), 3800.0);
}

#[test]
fn ring_without_area_is_not_changed() {
    let flat = ring(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]);
    assert_eq!(split(vec![flat.clone(), flat.clone()]), [vec![flat.clone(), flat]]);
    let across = split(vec![ring(&[(170.0, 0.0), (190.0, 0.0), (170.0, 0.0)])]);
    assert!(across.len() == 2 && across.iter().flatten().all(|ring| ring.len() >= 4));
}

#[test]
fn winding_of_small_rings_far_from_zero_is_fixed() {
    let tiny = square(179.999_999, 89.999_999, 179.999_999_1, 89.999_999_1);
    let mut turned = tiny.clone();
    turned.reverse();
    assert_eq!(split(vec![turned]), [vec![tiny]]);
}

/// A ring around a centre with these distances from it. It never crosses itself.
fn star((x, y): (f64, f64), distances: &[f64]) -> Line {
    let step = std::f64::consts::TAU / distances.len() as f64;
    let corners: Vec<_> = (0..)
        .zip(distances)
        .map(|(index, distance)| {
            let angle = step * f64::from(index);
            (x + distance * angle.cos(), y + distance * angle.sin())
        })
        .collect();
    ring(&corners)
}

proptest! {
    #[test]
    fn splitting_preserves_the_area(
        centre in (-300.0..300.0, -20.0..20.0),
        // With fewer corners it could pass its centre closer than the hole does.
        outer in prop::collection::vec(20.0..60.0, 6..12),
        hole in prop::collection::vec(1.0..9.0, 3..12),
        whole_degrees in any::<bool>(),
    ) {
        let mut rings = vec![star(centre, &outer), star(centre, &hole)];
        if whole_degrees {
            // Corners exactly on the meridian.
            rings[0].iter_mut().for_each(|at| at.x = at.x.round());
        }
        fix_winding(&mut rings);
        let whole = area(&[rings.clone()]);
        let parts = split(rings);
        prop_assert!((area(&parts) - whole).abs() < 1e-6);
        for ring in parts.iter().flatten() {
            prop_assert!(ring.len() >= 4 && ring.first() == ring.last());
            prop_assert!(ring.iter().all(|at| at.x.abs() <= 180.0));
        }
        let once = Geometry::MultiPolygon(parts);
        prop_assert_eq!(repair_geometry(once.clone()), once);
    }

    #[test]
    fn any_ring_is_split_into_valid_rings(
        corners in prop::collection::vec(
            (prop_oneof![-540.0..540.0, Just(180.0), Just(-180.0)], -90.0..90.0), 3..20),
    ) {
        for ring in split(vec![ring(&corners)]).iter().flatten() {
            prop_assert!(ring.len() >= 4 && ring.first() == ring.last());
            prop_assert!(ring.iter().all(|at| at.x.abs() <= 180.0));
        }
    }
}
