//! Reference systems.

use super::*;

const LAMBERT: &str = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::2154"}}"#;

#[test]
fn a_legacy_crs_is_honoured_wherever_it_stands() {
    let point = r#""type":"Point","coordinates":[700000,6600000,12]"#;
    let feature = |members: &str| format!(r#"{{"type":"Feature","properties":{{}},{members}}}"#);
    for text in [
        format!("{{{LAMBERT},{point}}}"),
        format!("{{{point},{LAMBERT}}}"),
        // As PostGIS writes it.
        feature(&format!(r#""geometry":{{{point},{LAMBERT}}}"#)),
        feature(&format!(r#""geometry":{{{point}}},{LAMBERT}"#)),
        format!(
            r#"{{"type":"FeatureCollection",{LAMBERT},"features":[{}]}}"#,
            feature(&format!(r#""geometry":{{{point}}}"#))
        ),
    ] {
        let expected = Position { x: 3.0, y: 46.5, z: Some(12.0) };
        assert_eq!(geometry(&text), Geometry::Point(expected), "{text}");
    }
}

#[test]
fn a_crs_that_nobody_knows_is_refused() {
    for (crs, pointer) in [
        (r#"{"type":"name","properties":{"name":"EPSG:99999"}}"#, "/crs/properties/name"),
        (r#"{"type":"name","properties":{}}"#, "/crs/properties/name"),
        (r#"{"type":"link","properties":{"href":"http://example.org/"}}"#, "/crs/type"),
        (r#""EPSG:2154""#, "/crs/type"),
    ] {
        assert_eq!(spot(format!(r#"{{"crs":{crs},"type":"Point","coordinates":[0,0]}}"#)), pointer);
    }
    for crs in [
        "null",
        r#"{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#,
        r#"{"type":"name","properties":{"name":"EPSG:4326"}}"#,
    ] {
        let text = format!(r#"{{"crs":{crs},"type":"Point","coordinates":[1,2]}}"#);
        assert_eq!(geometry(&text), Geometry::Point(at(1.0, 2.0)));
    }
}

#[test]
fn a_crs_is_found_wherever_it_stands() {
    let collection = r#""type":"FeatureCollection","features":[{"crs":[1]},{}],"a":{"crs":null}"#;
    for text in [
        format!("\u{feff}{{{LAMBERT},{collection}}}"),
        format!("{{{collection},{LAMBERT}}}"),
        format!("{{{collection},{LAMBERT},no JSON"),
    ] {
        assert_eq!(named_crs(text.as_bytes()), Crs::parse("EPSG:2154").ok(), "{text}");
    }
    for text in ["", "[]", "{", r#"{"crs":null}"#, r#"{"crs":{"type":"link"}}"#] {
        assert_eq!(named_crs(text.as_bytes()), None, "{text}");
    }
    assert_eq!(named_crs(format!("{{{collection}}}").as_bytes()), None);
}

#[test]
fn what_another_system_would_explain_is_told_from_what_it_would_not() {
    let strays = |text: &str| spots(text.as_bytes()).iter().any(|spot| spot.strays);
    assert!(strays(&shaped("Point", "[700000,6600000]")));
    assert!(strays(&shaped("Point", "[3,6600000]")));
    assert!(strays(&format!(r#"{{"type":"FeatureCollection","features":[],{LAMBERT}}}"#)));
    for text in [&shaped("Point", "[3]"), &shaped("Polygon", "[[]]"), "{", &with_id("null")] {
        assert!(!strays(text), "{text}");
    }
}

#[test]
fn a_crs_after_the_features_must_be_the_one_they_were_read_in() {
    let features = r#""type":"FeatureCollection","features":[]"#;
    assert_eq!(spot(format!("{{{features},{LAMBERT}}}")), "/crs");
    let wgs84 = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#;
    assert_eq!(self::features(format!("{{{features},{wgs84}}}")), []);
    let lambert = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    assert!(features_with(&lambert, format!("{{{features},{LAMBERT}}}").as_bytes()).is_ok());
    // Who sends metres without saying so first hears of it.
    let metres = spots(shaped("Point", "[700000,6600000]").as_bytes()).remove(0);
    assert!(metres.message.contains("`crs`"), "{}", metres.message);
    let part = format!(
        r#"{{"type":"GeometryCollection","geometries":[{{"type":"Point",{LAMBERT},"coordinates":[0,0]}}]}}"#
    );
    assert_eq!(spot(part), "/geometries/0/crs");
}

#[test]
fn the_reference_system_of_the_caller_holds_unless_the_document_names_one() {
    let lambert = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    let read = |text: &str| features_with(&lambert, text.as_bytes()).unwrap()[0].geometry.clone();
    let point = Some(Geometry::Point(at(3.0, 46.5)));
    assert_eq!(read(r#"{"type":"Point","coordinates":[700000,6600000]}"#), point);
    assert_eq!(read(r#"{"type":"Point","crs":null,"coordinates":[700000,6600000]}"#), point);
    let named = r#"{"crs":{"type":"name","properties":{"name":"EPSG:4326"}},"type":"Point","coordinates":[3,46.5]}"#;
    assert_eq!(read(named), point);
}

#[test]
fn latitudes_are_checked_after_reprojection() {
    let crs = r#""crs":{"type":"name","properties":{"name":"EPSG:4258"}}"#;
    assert_eq!(spot(format!(r#"{{{crs},"type":"Point","coordinates":[0,91]}}"#)), "/coordinates/1");
    let lambert =
        format!(r#"{{{LAMBERT},"type":"LineString","coordinates":[[7e5,66e5],[1e12,1e12]]}}"#);
    assert!(spot(lambert).starts_with("/coordinates/1"));
}
