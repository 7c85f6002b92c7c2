//! Reference systems: the legacy member `crs` and the option.

use super::*;

const LAMBERT: &str = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::2154"}}"#;

#[test]
fn legacy_crs_is_respected_in_every_object() {
    let point = r#""type":"Point","coordinates":[700000,6600000,12]"#;
    let feature = |members: &str| format!(r#"{{"type":"Feature","properties":{{}},{members}}}"#);
    for text in [
        format!("{{{LAMBERT},{point}}}"),
        format!("{{{point},{LAMBERT}}}"),
        // The form that PostGIS writes.
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
fn unknown_crs_is_rejected() {
    for (crs, pointer) in [
        (r#"{"type":"name","properties":{"name":"EPSG:99999"}}"#, "/crs/properties/name"),
        (r#"{"type":"name","properties":{}}"#, "/crs/properties/name"),
        (r#"{"type":"link","properties":{"href":"http://example.org/"}}"#, "/crs/type"),
        (r#""EPSG:2154""#, "/crs/type"),
    ] {
        assert_eq!(
            error_pointer(format!(r#"{{"crs":{crs},"type":"Point","coordinates":[0,0]}}"#)),
            pointer
        );
    }
    for crs in [
        "null",
        r#"{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#,
        r#"{"type":"name","properties":{"name":"EPSG:4326"}}"#,
    ] {
        let text = format!(r#"{{"crs":{crs},"type":"Point","coordinates":[1,2]}}"#);
        assert_eq!(geometry(&text), Geometry::Point(position(1.0, 2.0)));
    }
}

#[test]
fn find_crs_finds_the_crs_of_the_outermost_object() {
    let collection = r#""type":"FeatureCollection","features":[{"crs":[1]},{}],"a":{"crs":null}"#;
    for text in [
        format!("\u{feff}{{{LAMBERT},{collection}}}"),
        format!("{{{collection},{LAMBERT}}}"),
        format!("{{{collection},{LAMBERT},not JSON"),
    ] {
        assert_eq!(find_crs(text.as_bytes()), Crs::parse("EPSG:2154").ok(), "{text}");
    }
    for text in ["", "[]", "{", r#"{"crs":null}"#, r#"{"crs":{"type":"link"}}"#] {
        assert_eq!(find_crs(text.as_bytes()), None, "{text}");
    }
    assert_eq!(find_crs(format!("{{{collection}}}").as_bytes()), None);
}

#[test]
fn only_errors_that_another_crs_explains_suggest_one() {
    let suggests_other_crs =
        |text: &str| errors(text.as_bytes()).iter().any(|error| error.suggests_other_crs);
    assert!(suggests_other_crs(&with_geometry("Point", "[700000,6600000]")));
    assert!(suggests_other_crs(&with_geometry("Point", "[3,6600000]")));
    assert!(suggests_other_crs(&format!(
        r#"{{"type":"FeatureCollection","features":[],{LAMBERT}}}"#
    )));
    for text in
        [&with_geometry("Point", "[3]"), &with_geometry("Polygon", "[[]]"), "{", &with_id("null")]
    {
        assert!(!suggests_other_crs(text), "{text}");
    }
}

#[test]
fn crs_after_the_features_must_match_the_one_used() {
    let features = r#""type":"FeatureCollection","features":[]"#;
    assert_eq!(error_pointer(format!("{{{features},{LAMBERT}}}")), "/crs");
    let wgs84 = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#;
    assert_eq!(self::features(format!("{{{features},{wgs84}}}")), []);
    let lambert = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    assert!(features_with(&lambert, format!("{{{features},{LAMBERT}}}").as_bytes()).is_ok());
    // Metres without a `crs` get a hint.
    let metres = errors(with_geometry("Point", "[700000,6600000]").as_bytes()).remove(0);
    assert!(metres.message.to_string().contains("`crs`"), "{}", metres.message);
    let part = format!(
        r#"{{"type":"GeometryCollection","geometries":[{{"type":"Point",{LAMBERT},"coordinates":[0,0]}}]}}"#
    );
    assert_eq!(error_pointer(part), "/geometries/0/crs");
}

#[test]
fn crs_option_applies_unless_the_document_names_one() {
    let lambert = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    let read = |text: &str| features_with(&lambert, text.as_bytes()).unwrap()[0].geometry.clone();
    let point = Some(Geometry::Point(position(3.0, 46.5)));
    assert_eq!(read(r#"{"type":"Point","coordinates":[700000,6600000]}"#), point);
    assert_eq!(read(r#"{"type":"Point","crs":null,"coordinates":[700000,6600000]}"#), point);
    let named = r#"{"crs":{"type":"name","properties":{"name":"EPSG:4326"}},"type":"Point","coordinates":[3,46.5]}"#;
    assert_eq!(read(named), point);
}

#[test]
fn latitudes_are_checked_after_reprojection() {
    let crs = r#""crs":{"type":"name","properties":{"name":"EPSG:4258"}}"#;
    assert_eq!(
        error_pointer(format!(r#"{{{crs},"type":"Point","coordinates":[0,91]}}"#)),
        "/coordinates/1"
    );
    let lambert =
        format!(r#"{{{LAMBERT},"type":"LineString","coordinates":[[7e5,66e5],[1e12,1e12]]}}"#);
    assert!(error_pointer(lambert).starts_with("/coordinates/1"));
}
