//! Pages in another order than that of creation.

use super::{
    Map, OGC, assert_problem, collection, external_ids, feature, features, link, open, page, point,
};
use crate::{on_both_engines, sample_records};
use groma_testkit::{API, Engine};
use serde_json::{Value, json};

on_both_engines! {
    features_are_sorted_by_properties
    pages_of_a_sort_order_are_complete_while_others_change
    records_are_filtered_and_sorted
    invalid_sort_orders_are_rejected
}

const ITEMS: &str = "/collections/submissions/items";

fn with_values(engine: Engine) -> Map {
    let map = open(engine);
    let values = [
        json!({ "a": 2, "b": "y" }),
        json!({ "a": 1, "b": "Z" }),
        json!({ "a": 2, "b": "x" }),
        json!({ "b": "é" }),
        json!({ "a": -1.5, "b": null }),
        json!({ "a": 2, "b": "x" }),
    ];
    let values = values
        .iter()
        .zip(0..)
        .map(|(one, n)| feature(json!(n), point(f64::from(n), 0.0), one.clone()));
    map.post("", &collection(&values.collect::<Vec<_>>()));
    map
}

/// The ids of all features, by following the links.
#[track_caller]
fn all(map: &Map, query: &str, mut between: impl FnMut()) -> Vec<String> {
    let mut path = format!("{ITEMS}?{query}");
    let mut ids = Vec::new();
    loop {
        let body = page(&map.ogc(&path));
        ids.extend(
            external_ids(body["features"].as_array().unwrap()).into_iter().map(str::to_owned),
        );
        let Some(next) = link(&body, "next") else { return ids };
        path = next.split_once(OGC).unwrap().1.to_owned();
        between();
    }
}

fn features_are_sorted_by_properties(engine: Engine) {
    let map = with_values(engine);
    for (order, expected) in [
        ("a", ["4", "1", "0", "2", "5", "3"]),
        ("-a", ["0", "2", "5", "1", "4", "3"]),
        ("a,b", ["4", "1", "2", "5", "0", "3"]),
        ("-a,-b", ["0", "2", "5", "1", "4", "3"]),
        ("b", ["3", "2", "5", "0", "1", "4"]),
        ("%2Bb", ["3", "2", "5", "0", "1", "4"]),
        ("-externalId", ["5", "4", "3", "2", "1", "0"]),
    ] {
        for limit in [1, 2, 5, 6, 100] {
            assert_eq!(
                all(&map, &format!("sortby={order}&limit={limit}"), || ()),
                expected,
                "{order} {limit}"
            );
        }
    }
    let body = page(&map.ogc(&format!("{ITEMS}?sortby=-a&limit=2&filter=a%3E0")));
    assert_eq!((&body["numberMatched"], &body["numberReturned"]), (&json!(4), &json!(2)));
    assert_eq!(all(&map, "sortby=-a,b&limit=2&filter=a%3E0", || ()), ["2", "5", "0", "1"]);
    let body = page(&map.ogc(&format!("{ITEMS}?sortby=a")));
    assert_eq!(body["numberMatched"], 6);
}

fn pages_of_a_sort_order_are_complete_while_others_change(engine: Engine) {
    let map = open(engine);
    let values = (0..40).map(|n| feature(json!(n), point(1.0, 1.0), json!({ "a": n * 7 % 40 })));
    map.post("", &collection(&values.collect::<Vec<_>>()));
    let first = features(&map.ogc(&format!("{ITEMS}?sortby=a&limit=40")));
    let mut round = 0;
    let ids = all(&map, "sortby=a&limit=8", || {
        // Deletes one that was read, and adds one that comes before it.
        let path = format!("{API}/geometries/{}", first[round]["id"].as_str().unwrap());
        assert_eq!(map.server.geo().request("DELETE", &path).token(&map.token).send().status, 204);
        map.post("", &feature(json!(format!("new {round}")), point(1.0, 1.0), json!({ "a": -1 })));
        round += 1;
    });
    assert_eq!(ids, external_ids(&first));
}

fn records_are_filtered_and_sorted(engine: Engine) {
    let mut map = open(engine);
    map.token = map.server.create_full_token();
    sample_records::fill(&map.server);
    map.server.import(
        "folders",
        &[
            json!({ "name": "Alpha", "clientName": "Mairie", "dueDate": "2026-05-01" }),
            json!({ "name": "beta", "clientName": "Mairie", "dueDate": "2026-04-01" }),
            json!({ "name": "Gamma", "clientName": "Mairie" }),
        ],
    );
    let names = |query: &str| {
        let items = features(&map.ogc(&format!("/collections/folders/items?{query}")));
        items
            .iter()
            .map(|one| one["properties"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("clientName=Mairie&sortby=-name"), ["Gamma", "beta", "Alpha"]);
    assert_eq!(names("clientName=Mairie&sortby=dueDate"), ["beta", "Alpha", "Gamma"]);
    assert_eq!(names("filter=clientName='Mairie'%20AND%20dueDate%3C'2026-04-15'"), ["beta"]);
    assert_eq!(names("filter=clientName='Mairie'%20AND%20geometry%20IS%20NULL&limit=1").len(), 1);
    // Amounts are numbers in filters.
    let amounts = |query: &str| {
        let items = features(&map.ogc(&format!("/collections/expenses/items?{query}")));
        let amount =
            |one: &Value| one["properties"]["amount"].as_str().unwrap().parse::<f64>().unwrap();
        items.iter().map(amount).collect::<Vec<_>>()
    };
    let all = amounts("sortby=amount");
    assert!(!all.is_empty() && all.is_sorted(), "{all:?}");
    let over = amounts("filter=amount%3E0");
    assert_eq!(over.len(), all.iter().filter(|amount| **amount > 0.0).count());
    assert_problem(
        &map.ogc("/collections/expenses/items?filter=geometry%20IS%20NULL"),
        400,
        "filter",
    );
}

fn invalid_sort_orders_are_rejected(engine: Engine) {
    let map = with_values(engine);
    for order in ["unknown", "-", "a,,b", "geometry", "a,b,a,b,a", ""] {
        assert_problem(&map.ogc(&format!("{ITEMS}?sortby={order}")), 400, "sortby");
    }
    let body = page(&map.ogc(&format!("{ITEMS}?sortby=a&limit=1")));
    let cursor = link(&body, "next").unwrap().split_once("cursor=").unwrap().1.to_owned();
    assert_problem(&map.ogc(&format!("{ITEMS}?cursor={cursor}")), 400, "cursor");
}
