//! The promise: every supported system agrees with PROJ, every other one is rejected with the reason.

use super::*;

/// Where PROJ puts the point of the test.
const PRAGUE: (f64, f64) = (14.418593890509664, 50.08734661466498);

/// Code, x, y, longitude and latitude according to PROJ.
fn reference_points() -> Vec<(String, [f64; 4])> {
    let lines = include_str!("points.tsv").lines().filter(|line| !line.starts_with('#'));
    let point = |line: &str| {
        let (code, numbers) = line.split_once('\t').unwrap();
        let numbers: Vec<f64> = numbers.split('\t').map(|it| it.parse().unwrap()).collect();
        (format!("EPSG:{code}"), numbers.try_into().unwrap())
    };
    lines.map(point).collect()
}

fn metres_between(a: (f64, f64), b: (f64, f64)) -> f64 {
    let east = (a.0 - b.0 + 540.0).rem_euclid(360.0) - 180.0;
    111_320.0 * (east * b.1.to_radians().cos()).hypot(a.1 - b.1)
}

#[test]
fn reference_points_agree_with_proj_within_one_centimetre() {
    let points = reference_points();
    assert!(points.len() > 900);
    for (name, [x, y, longitude, latitude]) in points {
        let found = Crs::parse(&name).unwrap().to_wgs84(x, y).unwrap();
        let distance = metres_between(found, (longitude, latitude));
        assert!(distance < 0.01, "{name} {x} {y}: {found:?} is {distance} m away");
    }
}

#[test]
fn transformation_back_from_wgs84_returns_to_the_same_point() {
    for (name, [x, y, ..]) in reference_points() {
        let crs = Crs::parse(&name).unwrap();
        let (longitude, latitude) = crs.to_wgs84(x, y).unwrap();
        let (x, y) = crs.from_wgs84(longitude, latitude).unwrap();
        let distance = metres_between(crs.to_wgs84(x, y).unwrap(), (longitude, latitude));
        assert!(distance < 0.01, "{name} {x} {y}: {distance} m away");
    }
}

#[test]
fn national_systems_of_europe_are_supported() {
    for code in [
        2056, 2154, 2180, 3006, 3059, 3067, 3301, 3346, 3763, 3765, 3794, 3844, 3912, 5514, 21781,
        23030, 23700, 25832, 27572, 27700, 28992, 29903, 31287, 31370, 31467,
    ] {
        assert!(Crs::parse(&format!("EPSG:{code}")).is_ok(), "{code}");
    }
}

#[test]
fn most_accurate_operation_at_the_point_is_used() {
    let krovak = Crs::parse("EPSG:5514").unwrap();
    let names: Vec<_> = krovak.info().operations.iter().map(|one| one.name).collect();
    assert!(names.contains(&"S-JTSK to WGS 84 (5)"), "{names:?}");
    // Prague: the operation for Czechia, which differs from the one for both countries by metres.
    let prague = krovak.to_wgs84(-743_000.0, -1_043_000.0).unwrap();
    assert!(metres_between(prague, PRAGUE) < 0.001, "{prague:?}");
}

#[test]
fn grads_and_prime_meridians_are_respected() {
    let paris = Crs::parse("EPSG:4807").unwrap();
    let (longitude, latitude) = paris.to_wgs84(0.0, 54.0).unwrap();
    assert!((longitude - 2.3365).abs() < 0.001 && (latitude - 48.6).abs() < 0.001);
    assert!(paris.info().is_northing_first);
}

#[test]
fn rejected_systems_name_the_reason() {
    let reason = |name| Crs::parse(name).unwrap_err().to_string();
    assert_eq!(
        reason("EPSG:27200"),
        "EPSG:27200 is not supported: its projection (New Zealand Map Grid) is not implemented"
    );
    assert_eq!(
        reason("EPSG:7423"),
        "EPSG:7423 is not supported: it includes heights; use its horizontal part, EPSG:4258"
    );
    assert_eq!(
        reason("EPSG:65535"),
        "EPSG:65535 is not supported: the code is not in the EPSG register"
    );
    assert!(reason("EPSG:2042").contains("is not supported: no transformation"));
}

#[test]
fn all_forms_of_a_name_are_parsed() {
    let lambert = Crs::parse("EPSG:2154").unwrap();
    assert_eq!(lambert.to_string(), "EPSG:2154");
    for name in [
        "epsg:2154",
        " EPSG:2154 ",
        "urn:ogc:def:crs:EPSG::2154",
        "urn:ogc:def:crs:EPSG:9.8.15:2154",
        "urn:x-ogc:def:crs:EPSG::2154",
        "http://www.opengis.net/def/crs/EPSG/0/2154",
    ] {
        assert_eq!(Crs::parse(name).unwrap(), lambert, "{name}");
    }
    for name in [
        "EPSG:4326",
        "EPSG:4979",
        "urn:ogc:def:crs:EPSG::4326",
        "urn:ogc:def:crs:OGC:1.3:CRS84",
        "urn:ogc:def:crs:OGC::CRS84",
        "OGC:CRS84",
        "CRS84",
        "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
    ] {
        assert!(Crs::parse(name).unwrap().is_wgs84(), "{name}");
    }
}

#[test]
fn unknown_and_unsupported_systems_are_rejected() {
    for name in [
        "",
        "EPSG",
        "EPSG:",
        "EPSG:+2154",
        "EPSG:999999999999",
        "EPSG:65535",
        "ESRI:102100",
        "2154",
        "Lambert-93",
        "EPSG:4978",
        "EPSG:27200",
        "urn:ogc:def:crs:EPSG::2154:1",
    ] {
        assert!(Crs::parse(name).is_err(), "{name}");
    }
}

#[test]
fn longitudes_beyond_the_antimeridian_are_not_wrapped() {
    let longitude = |name, x, y| Crs::parse(name).unwrap().to_wgs84(x, y).unwrap().0;
    assert!((longitude("EPSG:3857", 21_000_000.0, 0.0) - 188.646).abs() < 0.001);
    assert!((longitude("EPSG:32760", 900_000.0, 8_000_000.0) - 180.78).abs() < 0.01);
    // The datum shift of Fiji 1986 to WGS 84 wraps longitudes beyond 180.
    assert!((longitude("EPSG:3460", 2_200_000.0, 4_000_000.0) - 180.6).abs() < 0.1);
}

#[test]
fn point_far_outside_the_area_of_use_is_rejected() {
    let lambert = Crs::parse("EPSG:2154").unwrap();
    assert_eq!(lambert.to_wgs84(1e12, 1e12), None);
    assert_eq!(lambert.to_wgs84(f64::NAN, 0.0), None);
}

#[test]
fn every_system_gives_finite_degrees_or_none() {
    let ordinates = [0.0, 2.0, 90.0, -181.0, 5e5, -5e6, 2.1e7, 1e9, -1e12];
    let parse = |code: u32| Crs::parse(&format!("EPSG:{code}")).ok();
    let systems: Vec<Crs> = table::codes().filter_map(parse).collect();
    assert!(systems.len() > 5_000);
    for crs in systems {
        for (x, y) in ordinates.iter().flat_map(|x| ordinates.map(|y| (*x, y))) {
            if let Some((longitude, latitude)) = crs.to_wgs84(x, y) {
                assert!(longitude.is_finite() && latitude.is_finite(), "{crs} {x} {y}");
            }
        }
    }
}

#[test]
fn positions_that_were_not_moved_return_to_where_they_are_stored() {
    let lambert = Crs::parse("EPSG:2154").unwrap();
    let line = |positions: &[(f64, f64)]| {
        let position = |&(x, y): &(f64, f64)| crate::Position { x, y, z: None };
        Geometry::LineString(positions.iter().map(position).collect())
    };
    let stored = line(&[(2.0, 48.0), (2.1, 48.1), (2.2, 48.2)]);
    let exported = lambert.geometry_from_wgs84(&stored, None).unwrap();
    let mut sent = exported.clone();
    sent.each_position_mut(&mut |at| (at.x, at.y) = lambert.to_wgs84(at.x, at.y).unwrap());
    assert_ne!(sent, stored);
    let mut same = sent.clone();
    assert!(lambert.restore_positions(&mut same, &exported, &stored));
    assert_eq!(same, stored);
    let moved = lambert.to_wgs84(650_000.0, 6_800_000.0).unwrap();
    let (Geometry::LineString(sent), Geometry::LineString(stored_line)) = (&mut sent, &stored)
    else {
        panic!("not lines")
    };
    (sent[1].x, sent[1].y) = moved;
    let mut edited = Geometry::LineString(sent.clone());
    assert!(lambert.restore_positions(&mut edited, &exported, &stored));
    let expected = [(2.0, 48.0), moved, (stored_line[2].x, stored_line[2].y)];
    assert_eq!(edited, line(&expected));
    let mut shorter = Geometry::LineString(sent[..2].to_vec());
    assert!(!lambert.restore_positions(&mut shorter, &exported, &stored));
}
