//! Invalid GeoJSON: each case is a 400 with a JSON pointer to the error, and stores nothing.

use super::{Map, point, tile_at};
use crate::on_both_engines;
use groma_testkit::Engine;

/// A body that is rejected.
struct InvalidBody {
    /// The error.
    what: &'static str,
    body: Vec<u8>,
    /// The location of the error.
    pointer: Location,
}

enum Location {
    /// Exactly this pointer.
    At(String),
    /// This pointer or a descendant.
    Within(&'static str),
}

/// Errors in short bodies; `@` stands for the second feature of a collection.
const SHORT: &[(&str, &str, &str)] = &[
    ("NaN", r#"@{"type":"Point","coordinates":[NaN,0]}"#, "@/coordinates/0"),
    ("Infinity", r#"@{"type":"Point","coordinates":[0,Infinity]}"#, "@/coordinates/1"),
    ("-Infinity", r#"@{"type":"Point","coordinates":[0,-Infinity]}"#, "@/coordinates/1"),
    ("1e400", r#"@{"type":"Point","coordinates":[1e400,0]}"#, "@/coordinates/0"),
    ("-1e400", r#"@{"type":"Point","coordinates":[0,-1e400]}"#, "@/coordinates/1"),
    ("an ordinate beyond sense", r#"@{"type":"Point","coordinates":[1e308,0]}"#, "@/coordinates/0"),
    ("a height beyond sense", r#"@{"type":"Point","coordinates":[0,0,1e308]}"#, "@/coordinates/2"),
    ("a text for a number", r#"@{"type":"Point","coordinates":["1",0]}"#, "@/coordinates/0"),
    ("a null for a number", r#"@{"type":"Point","coordinates":[0,null]}"#, "@/coordinates/1"),
    ("a position of one", r#"@{"type":"Point","coordinates":[1]}"#, "@/coordinates"),
    ("a position of none", r#"@{"type":"Point","coordinates":[]}"#, "@/coordinates"),
    ("a line of one", r#"@{"type":"LineString","coordinates":[[0,0]]}"#, "@/coordinates"),
    ("a line of none", r#"@{"type":"LineString","coordinates":[]}"#, "@/coordinates"),
    (
        "an open ring",
        r#"@{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#,
        "@/coordinates/0",
    ),
    (
        "a ring under four",
        r#"@{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#,
        "@/coordinates/0",
    ),
    ("[[]] of a polygon", r#"@{"type":"Polygon","coordinates":[[]]}"#, "@/coordinates/0"),
    ("[[]] of lines", r#"@{"type":"MultiLineString","coordinates":[[]]}"#, "@/coordinates/0"),
    ("[[]] of points", r#"@{"type":"MultiPoint","coordinates":[[]]}"#, "@/coordinates/0"),
    ("[[]] of polygons", r#"@{"type":"MultiPolygon","coordinates":[[]]}"#, "@/coordinates/0"),
    ("a latitude over 90", r#"@{"type":"Point","coordinates":[0,90.5]}"#, "@/coordinates/1"),
    ("a latitude under -90", r#"@{"type":"Point","coordinates":[0,-91]}"#, "@/coordinates/1"),
    ("a longitude over 540", r#"@{"type":"Point","coordinates":[541,0]}"#, "@/coordinates/0"),
    ("a longitude under -540", r#"@{"type":"Point","coordinates":[-541,0]}"#, "@/coordinates/0"),
    ("no coordinates", r#"@{"type":"Point"}"#, "@"),
    ("null coordinates", r#"@{"type":"Point","coordinates":null}"#, "@/coordinates"),
    ("an unknown type", r#"@{"type":"Circle","coordinates":[0,0]}"#, "@/type"),
    ("a lowercase type", r#"@{"type":"point","coordinates":[0,0]}"#, "@/type"),
    ("no type", r#"@{"coordinates":[0,0]}"#, "@"),
    (
        "a key that comes twice",
        r#"@{"type":"Point","coordinates":[0,0],"coordinates":[1,1]}"#,
        "@/coordinates",
    ),
    ("a shallow point", r#"@{"type":"Point","coordinates":0}"#, "@/coordinates"),
    ("a deep point", r#"@{"type":"Point","coordinates":[[0,0]]}"#, "@/coordinates/0"),
    ("a shallow line", r#"@{"type":"LineString","coordinates":[0,0]}"#, "@/coordinates/0"),
    ("a deep line", r#"@{"type":"LineString","coordinates":[[[0,0],[1,1]]]}"#, "@/coordinates/0/0"),
    (
        "a shallow polygon",
        r#"@{"type":"Polygon","coordinates":[[0,0],[1,0],[1,1],[0,0]]}"#,
        "@/coordinates/0/0",
    ),
    (
        "a deep polygon",
        r#"@{"type":"MultiPolygon","coordinates":[[[[[0,0]]]]]}"#,
        "@/coordinates/0/0/0/0",
    ),
    ("a box of three", r#"@{"type":"Point","coordinates":[0,0],"bbox":[0,0,0]}"#, "@/bbox"),
    (
        "collections nested five deep",
        r#"@{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection","geometries":[]}]}]}]}]}"#,
        "@/geometries/0/geometries/0/geometries/0/geometries/0/geometries",
    ),
    (
        "a crs that nobody knows",
        r#"{"type":"Point","coordinates":[0,0],"crs":{"type":"name","properties":{"name":"EPSG:99999999"}}}"#,
        "/crs/properties/name",
    ),
    (
        "a crs behind a link",
        r#"{"type":"Point","coordinates":[0,0],"crs":{"type":"link","properties":{"href":"http://127.0.0.1/"}}}"#,
        "/crs/type",
    ),
    ("a feature without geometry", r#"{"type":"Feature","properties":{}}"#, ""),
    ("a feature without properties", r#"{"type":"Feature","geometry":null}"#, ""),
    (
        "properties that are an array",
        r#"{"type":"Feature","geometry":null,"properties":[]}"#,
        "/properties",
    ),
    (
        "a property that comes twice",
        r#"{"type":"Feature","geometry":null,"properties":{"a":1,"a":2}}"#,
        "/properties/a",
    ),
    ("an id of null", r#"{"type":"Feature","id":null,"geometry":null,"properties":{}}"#, "/id"),
    ("an id of an object", r#"{"type":"Feature","id":{},"geometry":null,"properties":{}}"#, "/id"),
    ("an id of an array", r#"{"type":"Feature","id":[1],"geometry":null,"properties":{}}"#, "/id"),
    ("an id of truth", r#"{"type":"Feature","id":true,"geometry":null,"properties":{}}"#, "/id"),
    (
        "coordinates in a feature",
        r#"{"type":"Feature","geometry":null,"properties":{},"coordinates":[0,0]}"#,
        "/coordinates",
    ),
    (
        "a bare geometry in a collection",
        r#"{"type":"FeatureCollection","features":[{"type":"Point","coordinates":[0,0]}]}"#,
        "/features/0/type",
    ),
    (
        "a collection in a collection",
        r#"{"type":"FeatureCollection","features":[{"type":"FeatureCollection","features":[]}]}"#,
        "/features/0/type",
    ),
    ("null in a collection", r#"{"type":"FeatureCollection","features":[null]}"#, "/features/0"),
    ("no features", r#"{"type":"FeatureCollection"}"#, ""),
    ("trailing bytes", r#"{"type":"Point","coordinates":[0,0]} x"#, ""),
    ("a trailing comma", r#"{"type":"Point","coordinates":[0,0],}"#, ""),
    (
        "NDJSON",
        "{\"type\":\"Point\",\"coordinates\":[0,0]}\n{\"type\":\"Point\",\"coordinates\":[1,1]}\n",
        "",
    ),
    ("a record separator", "\u{1e}{\"type\":\"Point\",\"coordinates\":[0,0]}\n", ""),
    ("truncation in a number", r#"{"type":"Point","coordinates":[0,0"#, "/coordinates"),
    ("truncation in a text", r#"{"type":"Poi"#, "/type"),
    ("truncation at the end", r#"{"type":"Point","coordinates":[0,0]"#, ""),
    (
        "a lone surrogate",
        r#"{"type":"Feature","geometry":null,"properties":{"a":"\ud800"}}"#,
        "/properties/a",
    ),
    (
        "a lone second surrogate in an id",
        r#"{"type":"Feature","id":"\udc00","geometry":null,"properties":{}}"#,
        "/id",
    ),
    (
        "a NUL in a text",
        r#"{"type":"Feature","geometry":null,"properties":{"a":"b\u0000c"}}"#,
        "/properties/a",
    ),
    (
        "a NUL in a key",
        r#"{"type":"Feature","geometry":null,"properties":{"b\u0000c":1}}"#,
        "/properties",
    ),
    (
        "a NUL in an id",
        r#"{"type":"Feature","id":"\u0000","geometry":null,"properties":{}}"#,
        "/id",
    ),
    (
        "a property beyond every float",
        r#"{"type":"Feature","geometry":null,"properties":{"a":1e400}}"#,
        "/properties/a",
    ),
    ("nothing", "", ""),
    ("blanks", " \r\n\t", ""),
    ("an array", "[]", ""),
    ("a number", "7", ""),
    ("null", "null", ""),
    ("a text", "\"Point\"", ""),
    ("no JSON", "<gml/>", ""),
];

/// Errors in longer bodies.
fn long() -> Vec<InvalidBody> {
    let bytes =
        |what, body, pointer| InvalidBody { what, body, pointer: Location::Within(pointer) };
    let of = |what, body: String, pointer| bytes(what, body.into_bytes(), pointer);
    let nested = |depth: usize| format!("{}0{}", "[".repeat(depth), "]".repeat(depth));
    let million = |item: &str| vec![item; 1_000_001].join(",");
    let keys: Vec<_> = (0..1_001).map(|key| format!("\"{key}\":1")).collect();
    let digits = "9".repeat(1_000_000);
    let with = |properties: &str| {
        format!(r#"{{"type":"Feature","geometry":null,"properties":{properties}}}"#)
    };
    vec![
        bytes("not UTF-8", b"{\"type\":\"Point\",\"note\":\"\xff\"}".to_vec(), "/note"),
        bytes(
            "an overlong character",
            b"{\"type\":\"Point\",\"note\":\"\xc0\x80\"}".to_vec(),
            "/note",
        ),
        bytes(
            "a surrogate in UTF-8",
            b"{\"type\":\"Point\",\"note\":\"\xed\xa0\x80\"}".to_vec(),
            "/note",
        ),
        bytes("UTF-16", b"\xff\xfe{\0}\0".to_vec(), ""),
        of(
            "properties nested 33 deep",
            with(&format!(r#"{{"a":{}}}"#, nested(31))),
            "/properties/a/0",
        ),
        of(
            "a stranger nested without end",
            format!(r#"{{"note":{}"#, "[".repeat(1_000_000)),
            "/note",
        ),
        of("objects nested without end", "{\"a\":".repeat(500_000), "/a"),
        of(
            "coordinates nested without end",
            format!(r#"{{"type":"Point","coordinates":{}"#, "[".repeat(1_000_000)),
            "/coordinates",
        ),
        of(
            "an ordinate of a million digits",
            format!(r#"{{"type":"Point","coordinates":[{digits},0]}}"#),
            "/coordinates/0",
        ),
        of(
            "a property of a million digits",
            with(&format!(r#"{{"a":0.{digits}}}"#)),
            "/properties/a",
        ),
        of(
            "an id of a million digits",
            format!(r#"{{"type":"Feature","id":{digits},"geometry":null,"properties":{{}}}}"#),
            "/id",
        ),
        of(
            "a million and one positions",
            format!(r#"{{"type":"MultiPoint","coordinates":[{}]}}"#, million("[1,2]")),
            "/coordinates/1000000",
        ),
        of(
            "more than a thousand properties",
            with(&format!("{{{}}}", keys.join(","))),
            "/properties",
        ),
        of(
            "100,001 rings",
            {
                let rings = vec!["[[0,0],[1,0],[1,1],[0,0]]"; 100_001].join(",");
                format!(r#"{{"type":"Polygon","coordinates":[{rings}]}}"#)
            },
            "",
        ),
    ]
}

fn catalogue() -> impl Iterator<Item = InvalidBody> {
    let good = r#"{"type":"Feature","geometry":null,"properties":null}"#;
    let short = SHORT.iter().map(move |(what, body, pointer)| {
        let pointer = Location::At(pointer.replace('@', "/features/1/geometry"));
        let Some(geometry) = body.strip_prefix('@') else {
            return InvalidBody { what, body: body.as_bytes().to_vec(), pointer };
        };
        let bad = format!(r#"{{"type":"Feature","geometry":{geometry},"properties":{{}}}}"#);
        let body = format!(r#"{{"type":"FeatureCollection","features":[{good},{bad},{good}]}}"#);
        InvalidBody { what, body: body.into_bytes(), pointer }
    });
    short.chain(long())
}

on_both_engines! {
    each_error_is_reported_with_its_location_and_nothing_is_stored
    self_intersecting_polygons_are_stored_and_drawn
}

fn each_error_is_reported_with_its_location_and_nothing_is_stored(engine: Engine) {
    let map = Map::open(engine);
    map.post("", &point(2.0, 48.0));
    let before = map.layer("Submissions");
    for InvalidBody { what, body, pointer } in catalogue() {
        let response = map.try_post("", body);
        assert_eq!(response.status, 400, "{what}: {}", response.text());
        let found = response.error_pointers().remove(0);
        match pointer {
            Location::At(pointer) => assert_eq!(found, pointer, "{what}: {}", response.text()),
            Location::Within(pointer) => {
                assert!(found.starts_with(pointer), "{what}: {found:.200}");
            }
        }
        assert!(response.body.len() < 20_000, "{what}: the response is too long");
        assert_eq!(map.layer("Submissions"), before, "{what}");
    }
}

fn self_intersecting_polygons_are_stored_and_drawn(engine: Engine) {
    let map = Map::open(engine);
    let bow_tie = serde_json::json!({ "type": "Polygon", "coordinates":
        [[[2.0, 48.0], [2.3, 48.1], [2.3, 48.0], [2.0, 48.1], [2.0, 48.0]]] });
    let response = map.post("", &bow_tie);
    let layer = response["layerId"].as_str().unwrap();
    for z in [0, 6, 9, 12] {
        assert!(!map.features_in(layer, tile_at(z, 2.01, 48.01)).is_empty(), "zoom {z}");
    }
}
