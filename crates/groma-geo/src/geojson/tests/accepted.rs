//! Documents that are accepted, and how they are repaired.

use super::*;

#[test]
fn every_geojson_type_is_read() {
    let point = Geometry::Point(position(1.0, 2.0));
    for (text, geometry) in [
        (r#"{"type":"Point","coordinates":[1,2]}"#, point.clone()),
        (
            r#"{"type":"MultiPoint","coordinates":[[1,2]]}"#,
            Geometry::MultiPoint(vec![position(1.0, 2.0)]),
        ),
        (
            r#"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#,
            Geometry::LineString(vec![position(1.0, 2.0), position(3.0, 4.0)]),
        ),
        (
            r#"{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}"#,
            Geometry::MultiLineString(vec![vec![position(1.0, 2.0), position(3.0, 4.0)]]),
        ),
        (
            r#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]}"#,
            Geometry::Collection(vec![point.clone()]),
        ),
        (r#"{"type":"GeometryCollection","geometries":[]}"#, Geometry::Collection(Vec::new())),
        (r#"{"type":"MultiPolygon","coordinates":[]}"#, Geometry::MultiPolygon(Vec::new())),
    ] {
        let feature = single_feature(text);
        assert_eq!(feature.geometry, Some(geometry), "{text}");
        assert_eq!((feature.external_id, feature.properties.len(), feature.index), (None, 0, None));
    }
    let feature = single_feature(
        r#"{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"b":[1]}}"#,
    );
    assert_eq!(feature.geometry, Some(point));
    assert_eq!(feature.external_id.as_deref(), Some("a"));
    assert_eq!(Value::Object(feature.properties), json!({"b": [1]}));
    assert_eq!(features(r#"{"type":"FeatureCollection","features":[]}"#), []);
}

#[test]
fn members_can_come_in_any_order() {
    let ring = "[[[0,0],[9,0],[9,9],[0,0]]]";
    let expected = geometry(&format!(r#"{{"type":"Polygon","coordinates":{ring}}}"#));
    for text in [
        format!(r#"{{"coordinates":{ring},"type":"Polygon"}}"#),
        format!(
            r#"{{"properties":{{}},"geometry":{{"coordinates":{ring},"type":"Polygon"}},"type":"Feature"}}"#
        ),
        format!(
            r#"{{"features":[{{"properties":{{}},"geometry":{{"coordinates":{ring},"type":"Polygon"}},"type":"Feature"}}],"type":"FeatureCollection"}}"#
        ),
    ] {
        assert_eq!(geometry(&text), expected, "{text}");
    }
}

#[test]
fn byte_order_mark_whitespace_and_unknown_members_are_ignored() {
    let text = "\u{feff}\r\n\t {\"name\" : \"é\", \"type\"\n:\n\"Point\" , \"more\":{\"a\":[1,{\"a\":null}],\"b\":true},\"coordinates\" : [ 1 , 2 ] }\n\n";
    assert_eq!(geometry(text), Geometry::Point(position(1.0, 2.0)));
    // ArcGIS writes this on all pages but the last.
    let arcgis =
        r#"{"type":"FeatureCollection","properties":{"exceededTransferLimit":true},"features":[]}"#;
    assert_eq!(features(arcgis), []);
    single_feature(r#"{"type":"Point","id":null,"coordinates":[0,0],"bbox":[0,0,0,0,0,0]}"#);
}

#[test]
fn feature_with_null_geometry_keeps_its_properties() {
    let feature = single_feature(with_properties(r#"{"a":1}"#));
    assert_eq!((feature.geometry, feature.properties.len()), (None, 1));
    assert!(single_feature(with_properties("null")).properties.is_empty());
}

#[test]
fn numbers_after_the_height_are_dropped_and_heights_are_optional() {
    let text = r#"{"type":"LineString","coordinates":[[1,2,3,4,1e6],[5,6]]}"#;
    let first = Position { x: 1.0, y: 2.0, z: Some(3.0) };
    assert_eq!(geometry(text), Geometry::LineString(vec![first, position(5.0, 6.0)]));
}

#[test]
fn ring_winding_order_is_corrected() {
    let text =
        r#"{"type":"Polygon","coordinates":[[[0,0],[0,9],[9,9],[0,0]],[[1,2],[3,4],[1,4],[1,2]]]}"#;
    let corrected =
        r#"{"type":"Polygon","coordinates":[[[0,0],[9,9],[0,9],[0,0]],[[1,2],[1,4],[3,4],[1,2]]]}"#;
    assert_eq!(to_json(&geometry(text)), corrected);
    assert_eq!(to_json(&geometry(corrected)), corrected);
}

#[test]
fn self_intersecting_polygon_is_kept() {
    let bow_tie = r#"{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}"#;
    assert_eq!(to_json(&geometry(bow_tie)), bow_tie);
}

#[test]
fn longitudes_up_to_540_are_wrapped_and_shapes_split_at_the_antimeridian() {
    for (text, expected) in [
        (r#"{"type":"Point","coordinates":[190,5]}"#, r#"{"type":"Point","coordinates":[-170,5]}"#),
        (
            r#"{"type":"Point","coordinates":[-540,5]}"#,
            r#"{"type":"Point","coordinates":[-180,5]}"#,
        ),
        (
            r#"{"type":"LineString","coordinates":[[170,0],[190,10]]}"#,
            r#"{"type":"MultiLineString","coordinates":[[[170,0],[180,5]],[[-180,5],[-170,10]]]}"#,
        ),
        (
            r#"{"type":"Polygon","coordinates":[[[170,0],[190,0],[190,10],[170,10],[170,0]]]}"#,
            r#"{"type":"MultiPolygon","coordinates":[[[[180,10],[170,10],[170,0],[180,0],[180,10]]],[[[-180,0],[-170,0],[-170,10],[-180,10],[-180,0]]]]}"#,
        ),
    ] {
        assert_eq!(to_json(&geometry(text)), expected);
    }
}

#[test]
fn numbers_in_properties_keep_their_digits() {
    let text = r#"{"a":1.10,"b":12345678901234567890123,"c":-0.0,"d":0.1000000000000000055511151231257827}"#;
    let feature = single_feature(with_properties(text));
    assert_eq!(serde_json::to_string(&feature.properties).unwrap(), text);
}
