//! Filters in CQL2 and by property.

use super::{
    Map, OGC, assert_problem, collection, external_ids, feature, features, link, open, page, point,
    points, square,
};
use crate::on_both_engines;
use groma_testkit::{API, Engine, http::percent_encode, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    filters_find_features_by_their_properties
    filters_find_features_by_their_geometry
    filters_find_features_by_time
    json_filters_find_the_same_features
    coordinates_of_filters_have_their_own_reference_system
    property_parameters_find_features
    invalid_filters_are_rejected
    later_pages_of_a_filter_know_the_count
    index_follows_features_and_declarations
    large_features_are_sent_in_small_chunks
}

const ITEMS: &str = "/collections/plots/items";

/// A server with the layer Plots, whose fields are declared if `is_declared`.
fn with_plots(engine: Engine, is_declared: bool) -> Map {
    let map = open(engine);
    map.create_layer("Plots");
    if is_declared {
        declare(&map, &fields());
    }
    let plot =
        |id: &str, x: f64, properties: Value| feature(json!(id), square(x, 48.0, 0.5), properties);
    let plots = [
        plot(
            "wood",
            1.0,
            json!({ "use": "Wood", "area": 12.5, "floors": 0, "listed": true, "surveyed": "2026-01-31" }),
        ),
        plot(
            "meadow",
            2.0,
            json!({ "use": "Meadow", "area": 40, "listed": false, "surveyed": "2026-02-28" }),
        ),
        plot(
            "house",
            3.0,
            json!({ "use": "Maison à étage", "area": 40.5, "floors": 3, "surveyed": "2025-12-31" }),
        ),
        feature(json!("note"), Value::Null, json!({ "use": null, "note": "100 % 'ours'" })),
    ];
    map.post("?layer=plots", &collection(&plots));
    map
}

fn fields() -> Value {
    json!([
        { "name": "use", "type": "text" },
        { "name": "area", "type": "number", "unit": "m²" },
        { "name": "floors", "type": "integer" },
        { "name": "listed", "type": "boolean" },
        { "name": "surveyed", "type": "date" },
    ])
}

fn declare(map: &Map, fields: &Value) {
    map.server.write_file("fields.json", fields.to_string());
    map.server
        .run(&["layer", "update", "plots", "--workspace", WORKSPACE, "--fields", "fields.json"])
        .expect_success();
}

#[track_caller]
fn found(map: &Map, query: &str) -> Vec<String> {
    let response = map.ogc(&format!("{ITEMS}?{query}"));
    let body = page(&response);
    let items = body["features"].as_array().unwrap();
    assert_eq!(body["numberMatched"], json!(items.len()), "{query}");
    external_ids(items).into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn filtered(map: &Map, filter: &str) -> Vec<String> {
    found(map, &format!("filter={}", percent_encode(filter)))
}

fn filters_find_features_by_their_properties(engine: Engine) {
    for is_declared in [false, true] {
        let map = with_plots(engine, is_declared);
        for (filter, expected) in [
            ("use = 'Wood'", vec!["wood"]),
            ("use <> 'Wood'", vec!["meadow", "house"]),
            ("NOT (use = 'Wood')", vec!["meadow", "house"]),
            ("area >= 40", vec!["meadow", "house"]),
            ("40 < area", vec!["house"]),
            ("area BETWEEN 12.5 AND 40", vec!["wood", "meadow"]),
            ("use IN ('Wood', 'Meadow') AND listed = FALSE", vec!["meadow"]),
            ("CASEI(ACCENTI(use)) LIKE 'maison a%'", vec!["house"]),
            ("use LIKE 'M%'", vec!["meadow", "house"]),
            ("use IS NULL", vec!["note"]),
            ("floors IS NOT NULL AND geometry IS NOT NULL", vec!["wood", "house"]),
            ("floors < area", vec!["wood", "house"]),
            ("floors = 3 OR use = 'Wood'", vec!["wood", "house"]),
            ("note = '100 % ''ours'''", vec!["note"]),
            ("surveyed > DATE('2026-01-01')", vec!["wood", "meadow"]),
            ("externalId = 'wood'", vec!["wood"]),
            ("area > 1000", vec![]),
        ] {
            assert_eq!(filtered(&map, filter), expected, "{filter}");
        }
    }
}

fn filters_find_features_by_their_geometry(engine: Engine) {
    let map = with_plots(engine, false);
    for (filter, expected) in [
        ("S_INTERSECTS(geometry, BBOX(0, 47, 1.2, 49))", vec!["wood"]),
        ("S_INTERSECTS(geometry, POINT(2.25 48.25))", vec!["meadow"]),
        (
            "S_WITHIN(geometry, POLYGON((1.9 47, 4 47, 4 49, 1.9 49, 1.9 47)))",
            vec!["meadow", "house"],
        ),
        ("S_CONTAINS(geometry, POINT(3.25 48.25))", vec!["house"]),
        ("S_DISJOINT(geometry, LINESTRING(0 48.1, 2.1 48.1))", vec!["house"]),
        ("S_CROSSES(LINESTRING(0 48.1, 2.1 48.1), geometry)", vec!["wood", "meadow"]),
        ("S_TOUCHES(geometry, POINT(1.0 48.25))", vec!["wood"]),
        (
            "S_OVERLAPS(geometry, POLYGON((1.2 48.1, 4 48.1, 4 48.2, 1.2 48.2, 1.2 48.1)))",
            vec!["wood", "meadow", "house"],
        ),
        ("S_EQUALS(geometry, POLYGON((1 48, 1.5 48, 1.5 48.5, 1 48.5, 1 48)))", vec!["wood"]),
        ("S_INTERSECTS(geometry, BBOX(170, 0, -170, 50))", vec![]),
        ("S_INTERSECTS(geometry, BBOX(0, 47, 5, 49)) AND area > 40", vec!["house"]),
        ("geometry IS NULL", vec!["note"]),
    ] {
        assert_eq!(filtered(&map, filter), expected, "{filter}");
    }
    let mut combined = found(&map, "bbox=0,47,2.2,49&filter=area%3E20");
    combined.sort();
    assert_eq!(combined, ["meadow"]);
}

fn filters_find_features_by_time(engine: Engine) {
    for is_declared in [false, true] {
        let map = with_plots(engine, is_declared);
        for (filter, expected) in [
            ("T_AFTER(surveyed, DATE('2026-01-31'))", vec!["meadow"]),
            ("T_BEFORE(surveyed, TIMESTAMP('2026-01-01T00:00:00Z'))", vec!["house"]),
            ("T_DURING(surveyed, INTERVAL('2026-01-01', '..'))", vec!["wood", "meadow"]),
            ("T_INTERSECTS(surveyed, INTERVAL('2025-12-31', '2026-01-31'))", vec!["wood", "house"]),
            ("T_EQUALS(surveyed, DATE('2026-02-28'))", vec!["meadow"]),
            ("updatedAt > TIMESTAMP('2020-01-01T00:00:00Z') AND use = 'Wood'", vec!["wood"]),
            ("T_BEFORE(createdAt, TIMESTAMP('2020-01-01T00:00:00Z'))", vec![]),
        ] {
            assert_eq!(filtered(&map, filter), expected, "{filter}");
        }
    }
}

fn json_filters_find_the_same_features(engine: Engine) {
    let map = with_plots(engine, true);
    let json = |filter: Value| {
        found(
            &map,
            &format!("filter-lang=cql2-json&filter={}", percent_encode(&filter.to_string())),
        )
    };
    let area = json!({ "property": "area" });
    assert_eq!(json(json!({ "op": ">", "args": [area, 40] })), ["house"]);
    let inside = json!({ "op": "s_intersects", "args": [{ "property": "geometry" }, { "bbox": [0, 47, 1.2, 49] }] });
    let either = json!({ "op": "or", "args": [inside, { "op": "isNull", "args": [{ "property": "geometry" }] }] });
    assert_eq!(json(either), ["wood", "note"]);
    let text = "use = 'Wood'";
    let explicit = format!("filter-lang=cql2-text&filter={}", percent_encode(text));
    assert_eq!(found(&map, &explicit), filtered(&map, text));
}

fn coordinates_of_filters_have_their_own_reference_system(engine: Engine) {
    let map = with_plots(engine, false);
    let within = |filter: &str, crs: &str| {
        found(&map, &format!("filter={}&filter-crs={crs}", percent_encode(filter)))
    };
    let latitude_first = "http://www.opengis.net/def/crs/EPSG/0/4326";
    assert_eq!(within("S_INTERSECTS(geometry, POINT(48.25 1.25))", latitude_first), ["wood"]);
    assert_eq!(within("S_WITHIN(geometry, BBOX(47, 0, 49, 1.6))", latitude_first), ["wood"]);
    let mercator = "EPSG:3857";
    assert_eq!(
        within("S_INTERSECTS(geometry, BBOX(110000, 6000000, 140000, 6300000))", mercator),
        ["wood"]
    );
    let problem = map.ogc(&format!("{ITEMS}?filter=area=1&filter-crs=EPSG:2154"));
    assert_problem(&problem, 400, "filter-crs");
}

fn property_parameters_find_features(engine: Engine) {
    let map = with_plots(engine, true);
    assert_eq!(found(&map, "use=Wood"), ["wood"]);
    assert_eq!(found(&map, "area=40.0&use=Meadow"), ["meadow"]);
    assert_eq!(found(&map, "listed=true"), ["wood"]);
    assert_eq!(found(&map, "surveyed=2026-02-28"), ["meadow"]);
    assert_eq!(found(&map, "externalId=house&filter=area%3E1"), ["house"]);
    assert_eq!(found(&map, "use=wood"), Vec::<String>::new());
    // Values of several types.
    for (id, value) in [("one", json!(1)), ("text", json!("1")), ("true", json!(true))] {
        let new = feature(json!(id), Value::Null, json!({ "mixed": value }));
        map.post("?layer=plots", &new);
    }
    assert_eq!(found(&map, "mixed=1"), ["one", "text"]);
    assert_eq!(found(&map, "mixed=true"), ["true"]);
    for query in ["area=many", "listed=1", "surveyed=today", "unknown=1", "use=a&use=b"] {
        let name = query.split_once('=').unwrap().0;
        assert_problem(&map.ogc(&format!("{ITEMS}?{query}")), 400, name);
    }
}

fn invalid_filters_are_rejected(engine: Engine) {
    let map = with_plots(engine, true);
    let deep = format!("{}area = 1{}", "(".repeat(1_000), ")".repeat(1_000));
    for (filter, problem) in [
        ("", "filter at character 1"),
        ("area >", "filter at character 7"),
        ("size = 1", "filter at character 1: the property `size` is unknown"),
        ("area = 'x'", "filter at character 1"),
        ("S_INTERSECTS(geometry, POINT(2 98))", "filter at character 24"),
        ("S_INTERSECTS(geometry, POLYGON((0 0, 1 1, 1 0, 0 1, 0 0)))", "filter at character 24"),
        (deep.as_str(), "filter at character 66: is nested deeper than 64"),
    ] {
        let response = map.ogc(&format!("{ITEMS}?filter={}", percent_encode(filter)));
        assert_problem(&response, 400, problem);
    }
    let json = percent_encode(r#"{"op":"=","args":[{"property":"size"},1]}"#);
    let response = map.ogc(&format!("{ITEMS}?filter-lang=cql2-json&filter={json}"));
    assert_problem(&response, 400, "filter at `/args/0`: the property `size` is unknown");
    let response = map.ogc(&format!("{ITEMS}?filter-lang=sql&filter=1"));
    assert_problem(&response, 400, "filter-lang");
}

fn later_pages_of_a_filter_know_the_count(engine: Engine) {
    let map = open(engine);
    map.post("", &points(60));
    let mut path = "/collections/submissions/items?filter=n%3E=10&limit=7".to_owned();
    let mut ids = Vec::new();
    loop {
        let body = page(&map.ogc(&path));
        assert_eq!(body["numberMatched"], 50);
        ids.extend(
            external_ids(body["features"].as_array().unwrap()).into_iter().map(str::to_owned),
        );
        let Some(next) = link(&body, "next") else { break };
        path = next.split_once(OGC).unwrap().1.to_owned();
    }
    assert_eq!(ids, (10..60).map(|n| n.to_string()).collect::<Vec<_>>());
}

fn index_follows_features_and_declarations(engine: Engine) {
    let map = with_plots(engine, true);
    let uses = |expected: [usize; 3]| {
        let counts =
            ["Wood", "Lake", "Meadow"].map(|one| filtered(&map, &format!("use = '{one}'")).len());
        assert_eq!(counts, expected);
    };
    uses([1, 0, 1]);
    // Changed, and deleted.
    map.post(
        "?layer=plots",
        &feature(json!("wood"), point(1.0, 1.0), json!({ "use": "Lake", "area": 3 })),
    );
    uses([0, 1, 1]);
    let meadow = features(&map.ogc(&format!("{ITEMS}?use=Meadow")))[0]["id"].clone();
    let path = format!("{API}/geometries/{}", meadow.as_str().unwrap());
    assert_eq!(map.server.geo().request("DELETE", &path).token(&map.token).send().status, 204);
    uses([0, 1, 0]);
    // Declared no more, and again after a change.
    declare(&map, &json!([{ "name": "area", "type": "number" }]));
    uses([0, 1, 0]);
    map.post("?layer=plots", &feature(json!("new"), point(1.0, 1.0), json!({ "use": "Wood" })));
    declare(&map, &fields());
    uses([1, 1, 0]);
    map.post(
        "?layer=plots",
        &feature(json!("newer"), point(1.0, 1.0), json!({ "use": "Wood", "area": 3 })),
    );
    uses([2, 1, 0]);
    assert_eq!(filtered(&map, "area = 3"), ["wood", "newer"]);
}

fn large_features_are_sent_in_small_chunks(engine: Engine) {
    let map = open(engine);
    let text = "x".repeat(3 << 20);
    for n in 0..6 {
        map.post("", &feature(json!(n), point(f64::from(n), 1.0), json!({ "n": n, "text": text })));
    }
    let items = map.items("limit=10");
    assert_eq!(external_ids(&items), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(items[5]["properties"]["text"].as_str().unwrap().len(), text.len());
    assert_eq!(map.items("filter=n%3E2").len(), 3);
}
