use super::*;
use crate::{Line, Rings};
use proptest::prelude::*;

fn lambert() -> Crs {
    Crs::parse("EPSG:2154").unwrap()
}

fn line(positions: &[(f64, f64)]) -> Line {
    positions.iter().map(|(x, y)| Position { x: *x, y: *y, z: None }).collect()
}

fn polygon(corners: &[(f64, f64)]) -> Geometry {
    let mut ring = line(corners);
    ring.push(ring[0]);
    Geometry::Polygon(vec![ring])
}

fn moved(geometry: &Geometry, by: (f64, f64)) -> Geometry {
    let mut geometry = geometry.clone();
    geometry.each_position_mut(&mut |at| (at.x, at.y) = (at.x + by.0, at.y + by.1));
    geometry
}

/// Somewhere in Brittany.
const ORIGIN: (f64, f64) = (270_000.0, 6_740_000.0);

fn check(crs: Crs, geometries: &[Geometry]) -> LayerReport {
    let mut check = LayerCheck::new(LayerCheckOptions::new(crs));
    for (number, geometry) in geometries.iter().enumerate() {
        check.add(number as u64, geometry);
    }
    check.finish(&|| false)
}

/// Checks geometries in meters, and returns the kind and the features of what was found.
fn found(geometries: &[Geometry]) -> Vec<(ProblemKind, Vec<u64>)> {
    let geometries: Vec<_> = geometries.iter().map(|geometry| moved(geometry, ORIGIN)).collect();
    let report = check(lambert(), &geometries);
    assert!(report.is_complete);
    assert_eq!(report.features, geometries.len() as u64);
    let total: u64 = report.counts.iter().map(|(_, count)| count).sum();
    assert_eq!(total, report.problems.len() as u64);
    report.problems.into_iter().map(|problem| (problem.kind, problem.features)).collect()
}

fn parcel(x: f64, y: f64, width: f64, height: f64) -> Geometry {
    polygon(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)])
}

#[test]
fn adjoining_parcels_have_no_problems() {
    let mut parcels = vec![parcel(0.0, 0.0, 20.0, 30.0), parcel(20.0, 0.0, 20.0, 15.0)];
    // A T-junction on the long side of the first one.
    parcels.push(parcel(20.0, 15.0, 20.0, 15.0));
    // Far from the others.
    parcels.push(parcel(2_000.0, 900.0, 20.0, 15.0));
    assert_eq!(found(&parcels), []);
    assert_eq!(found(&[]), []);
}

#[test]
fn overlaps_are_found_above_the_tolerance_only() {
    for (depth, is_found) in [(0.04, false), (0.06, true), (5.0, true), (20.0, true)] {
        let parcels = [parcel(0.0, 0.0, 20.0, 30.0), parcel(20.0 - depth, 0.0, 21.0, 30.0)];
        let expected = if is_found { vec![(ProblemKind::Overlap, vec![0, 1])] } else { vec![] };
        assert_eq!(found(&parcels), expected, "{depth}");
    }
    // Wide, but small.
    let parcels = [parcel(0.0, 0.0, 20.0, 30.0), parcel(19.7, 29.7, 20.0, 30.0)];
    assert_eq!(found(&parcels), []);
    let within = [parcel(0.0, 0.0, 20.0, 30.0), parcel(5.0, 5.0, 5.0, 5.0)];
    assert_eq!(found(&within), [(ProblemKind::Overlap, vec![0, 1])]);
}

#[test]
fn polygon_in_a_hole_does_not_overlap() {
    let hole = line(&[(5.0, 5.0), (5.0, 10.0), (10.0, 10.0), (10.0, 5.0), (5.0, 5.0)]);
    let Geometry::Polygon(mut rings) = parcel(0.0, 0.0, 20.0, 30.0) else { unreachable!() };
    rings.push(hole);
    let around = Geometry::Polygon(rings);
    assert_eq!(found(&[around.clone(), parcel(5.0, 5.0, 5.0, 5.0)]), []);
    // A courtyard belongs to its building.
    assert_eq!(found(std::slice::from_ref(&around)), []);
    // Between an enclave and the parcel around it.
    let smaller = parcel(5.0, 5.0, 4.8, 5.0);
    assert_eq!(found(&[around, smaller]), [(ProblemKind::Gap, vec![0, 1])]);
}

#[test]
fn enclosed_gaps_are_found_between_tolerance_and_maximum_length() {
    let around = |width: f64, height: f64| {
        [
            parcel(0.0, 0.0, 20.0, height),
            parcel(20.0 + width, 0.0, 20.0, height),
            parcel(0.0, -20.0, 40.0 + width, 20.0),
            parcel(0.0, height, 40.0 + width, 20.0),
        ]
    };
    for (width, height, is_found) in
        [(0.04, 30.0, false), (0.06, 30.0, true), (12.0, 30.0, true), (12.0, 260.0, false)]
    {
        let expected = match is_found {
            true => vec![(ProblemKind::Gap, vec![0, 1, 2, 3])],
            false => vec![],
        };
        assert_eq!(found(&around(width, height)), expected, "{width} × {height}");
    }
    let parcels = around(2.0, 30.0).map(|geometry| moved(&geometry, ORIGIN));
    let report = check(lambert(), &parcels);
    // Lambert 93 has a scale of about 0.999 here.
    assert!((report.problems[0].area.unwrap() - 60.0).abs() < 0.3, "{:?}", report.problems);
    let [longitude, latitude] = report.problems[0].position.unwrap();
    let (x, y) = lambert().from_wgs84(longitude, latitude).unwrap();
    let (x, y) = (x - ORIGIN.0, y - ORIGIN.1);
    assert!((20.0..22.0).contains(&x) && (0.0..30.0).contains(&y), "{x} {y}");
}

#[test]
fn duplicates_are_found_however_they_are_written() {
    let square = parcel(0.0, 0.0, 20.0, 30.0);
    let mut ring = line(&[(20.0, 30.0), (20.0, 0.0), (0.0, 0.0), (0.0, 30.0), (20.0, 30.0)]);
    let reversed = Geometry::Polygon(vec![ring.clone()]);
    assert_eq!(found(&[square.clone(), reversed]), [(ProblemKind::Duplicate, vec![0, 1])]);
    ring[2].z = Some(3.0);
    let other_height = Geometry::Polygon(vec![ring]);
    assert_eq!(found(&[square, other_height]), [(ProblemKind::Overlap, vec![0, 1])]);
    let point = |x| Geometry::Point(Position { x, y: 1.0, z: None });
    let points = [point(1.0), point(2.0), point(1.0), point(1.0)];
    let expected = [(ProblemKind::Duplicate, vec![0, 2]), (ProblemKind::Duplicate, vec![0, 3])];
    assert_eq!(found(&points), expected);
}

#[test]
fn spikes_are_found_but_narrow_parcels_are_not() {
    let spike = [
        (0.0, 0.0),
        (20.0, 0.0),
        (20.0, 10.0),
        (26.0, 10.01),
        (20.0, 10.02),
        (20.0, 30.0),
        (0.0, 30.0),
    ];
    assert_eq!(found(&[polygon(&spike)]), [(ProblemKind::Spike, vec![0])]);
    // Inwards.
    let notch = [
        (0.0, 0.0),
        (20.0, 0.0),
        (20.0, 10.0),
        (14.0, 10.01),
        (20.0, 10.02),
        (20.0, 30.0),
        (0.0, 30.0),
    ];
    assert_eq!(found(&[polygon(&notch)]), [(ProblemKind::Spike, vec![0])]);
    // At the start of the ring, and of no width.
    let flat =
        [(20.0, 5.0), (20.0, 30.0), (0.0, 30.0), (0.0, 0.0), (20.0, 0.0), (20.0, 5.0), (26.0, 5.0)];
    assert_eq!(found(&[polygon(&flat)]), [(ProblemKind::Spike, vec![0])]);
    // Too wide.
    let strip = [
        (0.0, 0.0),
        (20.0, 0.0),
        (20.0, 10.0),
        (26.0, 10.0),
        (26.0, 10.5),
        (20.0, 10.5),
        (20.0, 30.0),
        (0.0, 30.0),
    ];
    assert_eq!(found(&[polygon(&strip)]), []);
    // Narrows to a tip, with a corner of a neighbor near it.
    let wedge = [
        (0.0, 0.0),
        (99.0, 0.0),
        (100.0, 0.01),
        (99.0, 0.02),
        (50.0, 1.0),
        (10.0, 3.0),
        (0.0, 2.0),
        (1.0, 1.0),
    ];
    assert_eq!(found(&[polygon(&wedge)]), []);
}

#[test]
fn problems_of_single_geometries_are_found() {
    let bow_tie = polygon(&[(0.0, 0.0), (20.0, 20.0), (20.0, 0.0), (0.0, 20.0)]);
    assert_eq!(found(&[bow_tie]), [(ProblemKind::SelfIntersection, vec![0])]);
    let repeated = polygon(&[(0.0, 0.0), (20.0, 0.0), (20.0, 0.0), (20.0, 20.0)]);
    assert_eq!(found(&[repeated]), [(ProblemKind::RepeatedPosition, vec![0])]);
    let flat = polygon(&[(0.0, 0.0), (20.0, 0.0), (10.0, 0.0)]);
    assert_eq!(found(&[flat]), [(ProblemKind::NoExtent, vec![0])]);
    let Geometry::Polygon(mut rings) = parcel(0.0, 0.0, 20.0, 30.0) else { unreachable!() };
    rings.push(line(&[(40.0, 5.0), (40.0, 10.0), (50.0, 10.0), (40.0, 5.0)]));
    assert_eq!(found(&[Geometry::Polygon(rings)]), [(ProblemKind::HoleOutside, vec![0])]);
}

#[test]
fn features_outside_the_area_of_use_are_found() {
    let point = |x, y| Geometry::Point(Position { x, y, z: None });
    let report = check(
        lambert(),
        &[
            point(270_000.0, 6_740_000.0),
            // In the Atlantic.
            point(-3_000_000.0, 6_740_000.0),
            point(6_740_000.0, 270_000.0),
            Geometry::LineString(line(&[(270_000.0, 6_740_000.0), (0.0, 0.0)])),
        ],
    );
    let kinds: Vec<_> = report.problems.iter().map(|one| (one.kind, one.features[0])).collect();
    let expected = [
        (ProblemKind::OutsideArea, 1),
        (ProblemKind::OutsideArea, 3),
        (ProblemKind::SwappedAxes, 2),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn swapped_axes_are_found_by_where_the_others_are() {
    let point = |x, y| Geometry::Point(Position { x, y, z: None });
    let mut points: Vec<_> =
        (0..20).map(|step| point(-2.5 + f64::from(step) * 0.01, 47.6)).collect();
    points.push(point(47.61, -2.45));
    // Elsewhere, but not swapped.
    points.push(point(12.0, 42.0));
    let report = check(Crs::WGS84, &points);
    assert_eq!(report.problems.len(), 1);
    assert_eq!(
        (report.problems[0].kind, &report.problems[0].features[..]),
        (ProblemKind::SwappedAxes, &[20][..])
    );
}

#[test]
fn all_problems_are_counted_but_only_some_listed() {
    let point = Geometry::Point(Position { x: 1.0, y: 1.0, z: None });
    let mut check =
        LayerCheck::new(LayerCheckOptions { max_listed: 3, ..LayerCheckOptions::new(Crs::WGS84) });
    (0..10).for_each(|number| check.add(number, &point));
    let report = check.finish(&|| false);
    assert_eq!(report.counts, [(ProblemKind::Duplicate, 9)]);
    assert_eq!(report.problems.len(), 3);
}

#[test]
fn polygons_upon_each_other_end_the_search() {
    let mut check = LayerCheck::new(LayerCheckOptions::new(lambert()));
    for number in 0..300_u32 {
        let size = 20.0 + f64::from(number) * 0.01;
        let shape = polygon(&[(0.0, 0.0), (size, 1.0), (size / 3.0, size / 3.0), (1.0, size)]);
        check.add(number.into(), &moved(&shape, ORIGIN));
    }
    let report = check.finish(&|| false);
    assert!(!report.is_complete);
}

/// A ring through points that look random.
fn scribble(corners: u32) -> Geometry {
    let place = |step: u32, factor: u32| f64::from(step.wrapping_mul(factor) % 9_973) / 100.0;
    let points = (0..corners).map(|step| (place(step, 2_654_435_761), place(step, 2_246_822_519)));
    polygon(&points.collect::<Vec<_>>())
}

/// Teeth of 1 m, with gaps of 1 m between them.
fn comb(teeth: u32) -> Geometry {
    let length = f64::from(teeth) * 2.0;
    let mut corners = vec![(length, -5.0), (0.0, -5.0)];
    for x in (0..teeth).map(|tooth| f64::from(tooth) * 2.0) {
        corners.extend([(x, length), (x + 1.0, length), (x + 1.0, 0.0), (x + 2.0, 0.0)]);
    }
    polygon(&corners)
}

fn transposed(geometry: &Geometry) -> Geometry {
    let mut geometry = geometry.clone();
    geometry.each_position_mut(&mut |at| (at.x, at.y) = (at.y, at.x));
    geometry
}

#[test]
fn polygon_that_crosses_itself_too_often_is_not_compared() {
    let geometries = [
        scribble(600),
        parcel(0.0, 0.0, 20.0, 30.0),
        parcel(15.0, 0.0, 20.0, 30.0),
        // A few crossings are resolved.
        polygon(&[(200.0, 0.0), (220.0, 20.0), (220.0, 0.0), (200.0, 20.0)]),
        parcel(200.0, 0.0, 20.0, 20.0),
    ]
    .map(|geometry| moved(&geometry, ORIGIN));
    let report = check(lambert(), &geometries);
    assert!(!report.is_complete);
    let found: Vec<_> = report.problems.into_iter().map(|one| (one.kind, one.features)).collect();
    let expected = [
        (ProblemKind::SelfIntersection, vec![0]),
        (ProblemKind::SelfIntersection, vec![3]),
        (ProblemKind::Overlap, vec![1, 2]),
        // Both halves.
        (ProblemKind::Overlap, vec![3, 4]),
        (ProblemKind::Overlap, vec![3, 4]),
    ];
    assert_eq!(found, expected);
    let options = LayerCheckOptions::new(lambert());
    assert_eq!(options.repair(&geometries[0]), None);
    assert!(options.repair(&geometries[3]).is_some());
}

#[test]
fn polygons_that_cross_each_other_too_often_are_not_intersected() {
    for (teeth, is_complete) in [(5, true), (80, false)] {
        let combs = [comb(teeth), transposed(&comb(teeth))];
        let report = check(lambert(), &combs.map(|geometry| moved(&geometry, ORIGIN)));
        assert_eq!(report.is_complete, is_complete, "{teeth}");
        let overlaps = report.counts.iter().filter(|(kind, _)| *kind == ProblemKind::Overlap);
        assert_eq!(overlaps.count(), usize::from(is_complete), "{teeth}");
    }
}

#[test]
fn polygons_that_cross_too_often_have_no_gaps() {
    for (count, is_complete) in [(4, true), (60, false)] {
        let strip = |index: u32| parcel(f64::from(index) * 2.0, 0.0, 1.0, 200.0);
        let strips: Vec<_> =
            (0..count).map(strip).flat_map(|one| [transposed(&one), one]).collect();
        let strips: Vec<_> = strips.iter().map(|one| moved(one, ORIGIN)).collect();
        let report = check(lambert(), &strips);
        assert_eq!(report.is_complete, is_complete, "{count}");
        let mut kinds = report.counts.iter().map(|(kind, _)| *kind);
        assert!(kinds.any(|kind| kind == ProblemKind::Overlap));
        assert_eq!(kinds.any(|kind| kind == ProblemKind::Gap), is_complete, "{count}");
    }
}

#[test]
fn cancelled_check_stops() {
    use std::cell::Cell;
    let parcels: Vec<_> = (0..100_u32)
        .map(|index| moved(&parcel(f64::from(index) * 15.0, 0.0, 20.0, 30.0), ORIGIN))
        .collect();
    let overlaps = |report: &LayerReport| report.counts.first().map_or(0, |(_, count)| *count);
    assert_eq!(overlaps(&check(lambert(), &parcels)), 99);
    let mut check = LayerCheck::new(LayerCheckOptions::new(lambert()));
    parcels.iter().zip(0..).for_each(|(parcel, number)| check.add(number, parcel));
    let calls = Cell::new(0);
    let report = check.finish(&|| {
        calls.set(calls.get() + 1);
        calls.get() > 20
    });
    assert!(!report.is_complete);
    assert!((1..20).contains(&overlaps(&report)), "{:?}", report.counts);
    assert!(calls.get() < 25, "{}", calls.get());
}

#[test]
fn degrees_are_checked_in_meters() {
    let metres = 1.0 / 111_195.0;
    let parcels = |depth: f64| {
        let across = metres / 47.6_f64.to_radians().cos();
        [parcel(0.0, 0.0, 20.0, 30.0), parcel(20.0 - depth, 0.0, 21.0, 30.0)].map(|geometry| {
            let mut geometry = geometry;
            geometry.each_position_mut(&mut |at| {
                (at.x, at.y) = (-2.5 + at.x * across, 47.6 + at.y * metres);
            });
            geometry
        })
    };
    assert_eq!(check(Crs::WGS84, &parcels(0.04)).problems, []);
    let report = check(Crs::WGS84, &parcels(0.06));
    assert_eq!(report.counts, [(ProblemKind::Overlap, 1)]);
    assert!((report.problems[0].area.unwrap() - 1.8).abs() < 0.01);
}

#[test]
fn repair_keeps_exact_coordinates_and_heights() {
    let options = LayerCheckOptions::new(lambert());
    let at =
        |x: f64, y: f64, z| Position { x: ORIGIN.0 + x + 1e-7, y: ORIGIN.1 + y + 1e-7, z: Some(z) };
    let ring = vec![
        at(0.0, 0.0, 1.0),
        at(20.0, 20.0, 2.0),
        at(20.0, 20.0, 2.0),
        at(20.0, 0.0, 3.0),
        at(0.0, 20.0, 4.0),
        at(0.0, 0.0, 1.0),
    ];
    let repaired = options.repair(&Geometry::Polygon(vec![ring.clone()])).unwrap();
    let Geometry::MultiPolygon(parts) = &repaired else { panic!("{repaired:?}") };
    assert_eq!(parts.len(), 2);
    let mut kept = 0;
    repaired.each_position(&mut |position| {
        kept += usize::from(ring.contains(&position));
        assert!(position.z.is_some());
    });
    // Each triangle has two old corners, one of which may be written twice.
    assert!((4..=6).contains(&kept), "{kept}");
    assert_eq!(options.repair(&repaired), None);
    assert_eq!(options.repair(&moved(&parcel(0.0, 0.0, 1.0, 1.0), ORIGIN)), None);
}

#[test]
fn crossings_get_the_height_of_an_edge_there() {
    let options = LayerCheckOptions::new(lambert());
    let at = |x: f64, y: f64, z| Position { x: ORIGIN.0 + x, y: ORIGIN.1 + y, z };
    let bow_tie = |heights: [Option<f64>; 4]| {
        let [a, b, c, d] = heights;
        let ring = vec![
            at(0.0, 0.0, a),
            at(20.0, 20.0, b),
            at(20.0, 0.0, c),
            at(0.0, 20.0, d),
            at(0.0, 0.0, a),
        ];
        let repaired = options.repair(&Geometry::Polygon(vec![ring])).unwrap();
        let mut height = None;
        repaired.each_position(&mut |position| {
            if (position.x - ORIGIN.0 - 10.0).abs() < 1.0 {
                height = Some(position.z);
            }
        });
        height.unwrap()
    };
    let height = bow_tie([Some(1.0), Some(3.0), Some(2.0), Some(2.0)]).unwrap();
    assert!((height - 2.0).abs() < 1e-3, "{height}");
    // Only an edge that is far from the crossing has heights.
    assert_eq!(bow_tie([None, Some(4.0), Some(8.0), None]), None);
    assert_eq!(bow_tie([None; 4]), None);
}

#[test]
fn repair_removes_spikes_and_repeated_positions() {
    let options = LayerCheckOptions::new(lambert());
    let with = [
        (0.0, 0.0),
        (20.0, 0.0),
        (20.0, 0.0),
        (20.0, 10.0),
        (26.0, 10.01),
        (20.0, 10.02),
        (20.0, 30.0),
        (0.0, 30.0),
    ];
    let without = [(0.0, 0.0), (20.0, 0.0), (20.0, 10.0), (20.0, 10.02), (20.0, 30.0), (0.0, 30.0)];
    let [with, without] = [&with[..], &without[..]].map(|ring| moved(&polygon(ring), ORIGIN));
    assert_eq!(options.repair(&with), Some(without));
    let path = Geometry::LineString(line(&[(0.0, 0.0), (1.0, 1.0), (1.0, 1.0), (2.0, 0.0)]));
    let expected = Geometry::LineString(line(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]));
    assert_eq!(options.repair(&path), Some(expected));
    // Nothing would be left.
    let dot = Geometry::LineString(line(&[(1.0, 1.0), (1.0, 1.0)]));
    assert_eq!(options.repair(&dot), None);
}

/// What is wrong with a parcel of a grid.
#[derive(Clone, Copy, Debug)]
enum Defect {
    Repeated,
    Spike,
    BowTie,
    Copy,
    Overlap,
    Missing,
}

/// A grid of parcels of irregular quadrangles that share their corners.
struct Village {
    corners: Vec<Vec<(f64, f64)>>,
}

impl Village {
    const SIDE: usize = 12;

    fn new(offsets: &[(f64, f64)]) -> Self {
        let corner = |row: usize, column: usize| {
            let (dx, dy) = offsets[(row * 31 + column * 7) % offsets.len()];
            let round = |value: f64| (value * 1e3).round() / 1e3;
            (round(column as f64 * 25.0 + dx), round(row as f64 * 40.0 + dy))
        };
        let row = |row| (0..=Self::SIDE).map(|column| corner(row, column)).collect();
        Self { corners: (0..=Self::SIDE).map(row).collect() }
    }

    fn parcel(&self, row: usize, column: usize) -> Vec<(f64, f64)> {
        let at = |row: usize, column: usize| self.corners[row][column];
        vec![at(row, column), at(row, column + 1), at(row + 1, column + 1), at(row + 1, column)]
    }
}

fn between(a: (f64, f64), b: (f64, f64), share: f64) -> (f64, f64) {
    (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_planted_defects_are_found(
        offsets in prop::collection::vec((-4.0_f64..4.0, -4.0_f64..4.0), 40..80),
        origin in (200_000.0_f64..900_000.0, 6_200_000.0_f64..6_900_000.0),
        defects in prop::collection::vec(prop_oneof![
            Just(Defect::Repeated), Just(Defect::Spike), Just(Defect::BowTie), Just(Defect::Copy),
            Just(Defect::Overlap), Just(Defect::Missing),
        ], 9),
    ) {
        let village = Village::new(&offsets);
        let mut parcels = Vec::new();
        let mut expected = Vec::new();
        let mut defects = defects.into_iter();
        for row in 0..Village::SIDE {
            for column in 0..Village::SIDE {
                let mut ring = village.parcel(row, column);
                let number = parcels.len() as u64;
                // Defects have parcels without one around them.
                let has_defect = row % 4 == 1 && column % 4 == 1;
                let defect = if has_defect { defects.next() } else { None };
                match defect {
                    None => {}
                    Some(Defect::Repeated) => {
                        ring.insert(2, ring[1]);
                        expected.push((ProblemKind::RepeatedPosition, vec![number]));
                    }
                    Some(Defect::Spike) => {
                        // Out of the corner along the diagonal of the neighbor, and back: no width.
                        let tip = between(ring[2], village.corners[row + 2][column + 2], 0.01);
                        ring.splice(2..3, [ring[2], tip, ring[2]]);
                        expected.push((ProblemKind::Spike, vec![number]));
                    }
                    Some(Defect::BowTie) => {
                        ring.swap(2, 3);
                        expected.push((ProblemKind::SelfIntersection, vec![number]));
                        // Left and right of the crossing.
                        expected.push((ProblemKind::Gap, vec![number - 1, number]));
                        expected.push((ProblemKind::Gap, vec![number, number + 1]));
                    }
                    Some(Defect::Copy) => {
                        expected.push((ProblemKind::Duplicate, vec![number, number + 1_000]));
                    }
                    Some(Defect::Overlap) => {
                        // The middle of the right side moves into the next parcel.
                        ring.insert(2, between(ring[1], ring[2], 0.5));
                        ring[2].0 += 1.0;
                        expected.push((ProblemKind::Overlap, vec![number, number + 1]));
                    }
                    Some(Defect::Missing) => {}
                }
                parcels.push((number, ring, defect));
            }
        }
        let side = Village::SIDE as u64;
        let mut check = LayerCheck::new(LayerCheckOptions::new(lambert()));
        for (number, ring, defect) in &parcels {
            let geometry = moved(&polygon(ring), origin);
            match defect {
                Some(Defect::Missing) => expected.push((
                    ProblemKind::Gap,
                    vec![number - side, number - 1, number + 1, number + side],
                )),
                Some(Defect::Copy) => {
                    check.add(number + 1_000, &geometry);
                    check.add(*number, &geometry);
                }
                _ => check.add(*number, &geometry),
            }
        }
        let report = check.finish(&|| false);
        let mut found: Vec<_> =
            report.problems.into_iter().map(|one| {
                let mut features = one.features;
                features.sort_unstable();
                (one.kind, features)
            }).collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn repaired_rings_are_valid_and_keep_their_vertices(
        points in prop::collection::vec((0_i32..12, 0_i32..12), 4..16),
    ) {
        let corners: Vec<_> = points.iter().map(|(x, y)| (f64::from(*x) * 5.0, f64::from(*y) * 5.0)).collect();
        let geometry = moved(&polygon(&corners), ORIGIN);
        let options = LayerCheckOptions::new(lambert());
        if let Some(repaired) = options.repair(&geometry) {
            prop_assert_eq!(options.repair(&repaired), None);
            let rings: Vec<&Rings> = match &repaired {
                Geometry::Polygon(rings) => vec![rings],
                Geometry::MultiPolygon(polygons) => polygons.iter().collect(),
                other => panic!("{other:?}"),
            };
            prop_assert!(rings.iter().all(|rings| rings.iter().all(|ring| ring.len() > 3)));
            prop_assert!(crate::check_geometry(&repaired).is_empty());
        }
    }
}
