//! Tiles and styles of layers.

use super::{Map, assert_problem, feature, link, open, point, square};
use crate::{
    geo::{TILE, tile_at},
    on_both_engines,
};
use groma_testkit::{Engine, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    tiles_are_those_of_maps
    tilesets_describe_themselves
    tiles_outside_the_matrix_do_not_exist
    styles_follow_the_layer
}

const TILES: &str = "/collections/submissions/tiles";

fn open_with_point(engine: Engine) -> Map {
    let map = open(engine);
    map.post("", &feature(json!("a"), point(2.1, 48.1), json!({ "n": 1, "kind": "oak" })));
    map
}

fn tiles_are_those_of_maps(engine: Engine) {
    let map = open_with_point(engine);
    let (z, x, y) = tile_at(14, 2.1, 48.1);
    let expected = map.tile("submissions", (z, x, y));
    assert!(!expected.body.is_empty());
    for suffix in ["", ".mvt", ".pbf"] {
        // Row before column.
        let tile = map.ogc(&format!("{TILES}/WebMercatorQuad/{z}/{y}/{x}{suffix}"));
        assert_eq!((tile.status, tile.header("content-type")), (200, Some(TILE)));
        assert_eq!(tile.body, expected.body);
        assert_eq!(
            tile.header("x-ratelimit-limit"),
            map.ogc("/collections").header("x-ratelimit-limit")
        );
    }
    let path = format!("{TILES}/WebMercatorQuad/{z}/{y}/{x}");
    let etag = map.ogc(&path).header("etag").unwrap().to_owned();
    assert_eq!(map.ogc_with(&path, &[("If-None-Match", &etag)]).status, 304);
}

fn tilesets_describe_themselves(engine: Engine) {
    let map = open_with_point(engine);
    let vector = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector";
    let collection = map.ogc("/collections/submissions").json();
    assert!(link(&collection, vector).unwrap().ends_with(TILES));
    let list = map.ogc(TILES).json();
    let tileset = map.ogc(&format!("{TILES}/WebMercatorQuad")).json();
    for tileset in [&list["tilesets"][0], &tileset] {
        assert_eq!(tileset["dataType"], "vector");
        assert!(link(tileset, "self").unwrap().ends_with("/tiles/WebMercatorQuad"));
        let item = link(tileset, "item").unwrap();
        assert!(item.ends_with("/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}"), "{item}");
    }
    let layer = &tileset["layers"][0];
    assert_eq!((&layer["id"], &layer["geometryDimension"]), (&json!("submissions"), &json!(0)));
    let properties = json!({ "kind": { "type": "string" }, "n": { "type": "number" } });
    assert_eq!(layer["propertiesSchema"]["properties"], properties);
    let (z, x, y) = tile_at(14, 2.1, 48.1);
    let limits = tileset["tileMatrixSetLimits"].as_array().unwrap();
    let matrix = z.to_string();
    let limit = limits.iter().find(|one| one["tileMatrix"] == matrix).unwrap();
    assert_eq!([&limit["minTileRow"], &limit["maxTileRow"]], [&json!(y), &json!(y)]);
    assert_eq!([&limit["minTileCol"], &limit["maxTileCol"]], [&json!(x), &json!(x)]);
    let sets = map.ogc("/tileMatrixSets").json();
    assert_eq!(sets["tileMatrixSets"][0]["id"], "WebMercatorQuad");
    let set = map.ogc("/tileMatrixSets/WebMercatorQuad").json();
    let first = &set["tileMatrices"][0];
    assert_eq!((&first["matrixWidth"], &first["id"]), (&json!(1), &json!("0")));
    let scale = first["scaleDenominator"].as_f64().unwrap();
    assert!((scale - 559_082_264.028_717_8).abs() < 1e-3, "{scale}");
}

fn tiles_outside_the_matrix_do_not_exist(engine: Engine) {
    let map = open_with_point(engine);
    for path in [
        format!("{TILES}/WebMercatorQuad/1/2/0"),
        format!("{TILES}/WebMercatorQuad/1/0/2"),
        format!("{TILES}/WebMercatorQuad/25/0/0"),
        format!("{TILES}/WebMercatorQuad/a/0/0"),
        format!("{TILES}/WebMercatorQuad/1/-1/0"),
        format!("{TILES}/WorldCRS84Quad"),
        "/collections/none/tiles".to_owned(),
        "/collections/folders/tiles".to_owned(),
        "/tileMatrixSets/WorldCRS84Quad".to_owned(),
    ] {
        assert_problem(&map.ogc(&path), 404, "");
    }
}

const STYLE: &str = "/collections/submissions/styles/default";

fn set_style(map: &Map, style: &Value) {
    map.server.write_file("style.json", style.to_string());
    let update =
        ["layer", "update", "submissions", "--workspace", WORKSPACE, "--style", "style.json"];
    map.server.run(&update).expect_success();
}

fn styles_follow_the_layer(engine: Engine) {
    let map = open_with_point(engine);
    let list = map.ogc("/collections/submissions/styles").json();
    assert_eq!(
        (&list["default"], &list["styles"][0]["id"]),
        (&json!("default"), &json!("default"))
    );
    let response = map.ogc(STYLE);
    assert_eq!(response.header("content-type"), Some("application/vnd.mapbox.style+json"));
    let style: Value = serde_json::from_slice(&response.body).unwrap();
    let tiles = style["sources"]["layer"]["tiles"][0].as_str().unwrap();
    assert!(tiles.ends_with(&format!("{TILES}/WebMercatorQuad/{{z}}/{{y}}/{{x}}")), "{tiles}");
    let color = map.layer("Submissions")["color"].clone();
    let paint = |style: &Value, id: &str, property: &str| {
        let layers = style["layers"].as_array().unwrap();
        layers.iter().find(|layer| layer["id"] == id).unwrap()["paint"][property].clone()
    };
    assert_eq!(paint(&style, "points", "circle-color"), color);
    let categories = json!([{ "value": "oak & \"elm\"", "color": "#112233" }]);
    let by_kind = json!({ "property": "kind", "categories": categories, "other": "#aabbcc" });
    set_style(&map, &json!({ "colorBy": by_kind, "label": "kind", "opacity": 0.5, "minZoom": 10 }));
    let style: Value = serde_json::from_slice(&map.ogc(&format!("{STYLE}?f=mapbox")).body).unwrap();
    let expected =
        json!(["match", ["to-string", ["get", "kind"]], "oak & \"elm\"", "#112233", "#aabbcc"]);
    assert_eq!(paint(&style, "lines", "line-color"), expected);
    assert_eq!(style["layers"][0]["minzoom"], 10);
    assert!(style["layers"].as_array().unwrap().iter().any(|layer| layer["type"] == "symbol"));
    let qml = map.ogc(&format!("{STYLE}?f=qml"));
    assert_eq!(qml.header("content-type"), Some("application/vnd.qgis.qml"));
    let qml = qml.text();
    for part in [
        "type=\"categorizedSymbol\" attr=\"kind\"",
        "oak &#38; &#34;elm&#34;",
        "17,34,51,230",
        "type=\"marker\"",
        "fieldName=\"kind\"",
        "<layerOpacity>0.5<",
    ] {
        assert!(qml.contains(part), "{part}: {qml}");
    }
    let by_number = json!({ "property": "n", "ranges": [{ "from": null, "color": "#111111" }, { "from": 5, "color": "#222222" }], "other": "#333333" });
    set_style(&map, &json!({ "colorBy": by_number }));
    map.post("", &feature(json!("b"), square(2.0, 48.0, 0.1), json!({})));
    map.post("", &feature(json!("c"), square(2.0, 48.0, 0.1), json!({})));
    let qml = map.ogc_with(STYLE, &[("Accept", "application/vnd.qgis.qml")]).text();
    for part in [
        "RuleRenderer",
        "&#34;n&#34; &#60; 5",
        "&#34;n&#34; &#62;= 5",
        "ELSE",
        "type=\"fill\"",
        "34,34,34,46",
    ] {
        assert!(qml.contains(part), "{part}: {qml}");
    }
    assert_problem(&map.ogc(&format!("{STYLE}?f=sld")), 400, "f must be mapbox or qml");
    for path in [format!("{STYLE}?f=qml&x=1"), "/collections/submissions/styles?x=1".to_owned()] {
        assert_problem(&map.ogc(&path), 400, "x is unknown");
    }
}
