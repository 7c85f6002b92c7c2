//! What is accepted, and put right.

use super::*;

#[test]
fn any_object_of_geojson_is_read() {
    let point = Geometry::Point(at(1.0, 2.0));
    for (text, geometry) in [
        (r#"{"type":"Point","coordinates":[1,2]}"#, point.clone()),
        (
            r#"{"type":"MultiPoint","coordinates":[[1,2]]}"#,
            Geometry::MultiPoint(vec![at(1.0, 2.0)]),
        ),
        (
            r#"{"type":"LineString","coordinates":[[1,2],[3,4]]}"#,
            Geometry::LineString(vec![at(1.0, 2.0), at(3.0, 4.0)]),
        ),
        (
            r#"{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}"#,
            Geometry::MultiLineString(vec![vec![at(1.0, 2.0), at(3.0, 4.0)]]),
        ),
        (
            r#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]}"#,
            Geometry::Collection(vec![point.clone()]),
        ),
        (r#"{"type":"GeometryCollection","geometries":[]}"#, Geometry::Collection(Vec::new())),
        (r#"{"type":"MultiPolygon","coordinates":[]}"#, Geometry::MultiPolygon(Vec::new())),
    ] {
        let feature = one(text);
        assert_eq!(feature.geometry, Some(geometry), "{text}");
        assert_eq!((feature.external_id, feature.properties.len(), feature.index), (None, 0, None));
    }
    let feature = one(
        r#"{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"b":[1]}}"#,
    );
    assert_eq!(feature.geometry, Some(point));
    assert_eq!(feature.external_id.as_deref(), Some("a"));
    assert_eq!(Value::Object(feature.properties), json!({"b": [1]}));
    assert_eq!(features(r#"{"type":"FeatureCollection","features":[]}"#), []);
}

#[test]
fn members_come_in_any_order() {
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
fn a_byte_order_mark_white_space_and_foreign_members_are_let_pass() {
    let text = "\u{feff}\r\n\t {\"name\" : \"é\", \"type\"\n:\n\"Point\" , \"more\":{\"a\":[1,{\"a\":null}],\"b\":true},\"coordinates\" : [ 1 , 2 ] }\n\n";
    assert_eq!(geometry(text), Geometry::Point(at(1.0, 2.0)));
    // ArcGIS says so of a page that is not the last.
    let arcgis =
        r#"{"type":"FeatureCollection","properties":{"exceededTransferLimit":true},"features":[]}"#;
    assert_eq!(features(arcgis), []);
    one(r#"{"type":"Point","id":null,"coordinates":[0,0],"bbox":[0,0,0,0,0,0]}"#);
}

#[test]
fn null_geometry_is_kept_with_its_properties() {
    let feature = one(with_properties(r#"{"a":1}"#));
    assert_eq!((feature.geometry, feature.properties.len()), (None, 1));
    assert!(one(with_properties("null")).properties.is_empty());
}

#[test]
fn ordinates_after_the_third_are_dropped_and_heights_may_be_mixed() {
    let text = r#"{"type":"LineString","coordinates":[[1,2,3,4,1e6],[5,6]]}"#;
    let first = Position { x: 1.0, y: 2.0, z: Some(3.0) };
    assert_eq!(geometry(text), Geometry::LineString(vec![first, at(5.0, 6.0)]));
}

#[test]
fn rings_that_turn_the_wrong_way_are_turned() {
    let text =
        r#"{"type":"Polygon","coordinates":[[[0,0],[0,9],[9,9],[0,0]],[[1,2],[3,4],[1,4],[1,2]]]}"#;
    let turned =
        r#"{"type":"Polygon","coordinates":[[[0,0],[9,9],[0,9],[0,0]],[[1,2],[1,4],[3,4],[1,2]]]}"#;
    assert_eq!(written(&geometry(text)), turned);
    assert_eq!(written(&geometry(turned)), turned);
}

#[test]
fn a_polygon_that_crosses_itself_is_kept() {
    let bow_tie = r#"{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}"#;
    assert_eq!(written(&geometry(bow_tie)), bow_tie);
}

#[test]
fn longitudes_up_to_540_are_brought_back_and_shapes_across_the_antimeridian_cut() {
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
        assert_eq!(written(&geometry(text)), expected);
    }
}

#[test]
fn numbers_in_properties_keep_their_digits() {
    let text = r#"{"a":1.10,"b":12345678901234567890123,"c":-0.0,"d":0.1000000000000000055511151231257827}"#;
    let feature = one(with_properties(text));
    assert_eq!(serde_json::to_string(&feature.properties).unwrap(), text);
}
