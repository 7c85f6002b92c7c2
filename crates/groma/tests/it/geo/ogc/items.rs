//! Items of layers: pages, filters, single items, and caching.

use super::{
    Map, OGC, assert_problem, collection, external_ids, feature, features, link, open, page, point,
    points, square,
};
use crate::{
    on_both_engines,
    sample_records::{self, ASSIGNMENT, FOLDER},
};
use groma_testkit::{API, Engine};
use serde_json::{Value, json};
use std::io::Read as _;

on_both_engines! {
    pages_follow_the_next_link_until_the_end
    features_are_neither_skipped_nor_repeated_while_others_change
    largest_limit_is_ten_thousand
    matches_of_a_filter_are_counted
    bbox_finds_features_that_meet_it
    datetime_finds_features_by_their_last_change
    invalid_queries_are_rejected
    single_item_has_links
    empty_layer_has_no_items
    features_without_geometry_are_items
    unchanged_pages_are_not_sent_again
    page_changes_when_its_features_lose_their_folder
    pages_are_compressed
    items_that_were_read_can_be_posted
}

const ITEMS: &str = "/collections/submissions/items";

/// All features, by following the links.
fn all(map: &Map, query: &str, mut between: impl FnMut()) -> Vec<Value> {
    let mut path = format!("{ITEMS}?{query}");
    let mut all = Vec::new();
    loop {
        let body = page(&map.ogc(&path));
        all.extend(body["features"].as_array().unwrap().clone());
        let Some(next) = link(&body, "next") else { return all };
        path = next.split_once(OGC).unwrap().1.to_owned();
        between();
    }
}

fn pages_follow_the_next_link_until_the_end(engine: Engine) {
    let map = open(engine);
    map.post("", &points(25));
    let first = page(&map.ogc(&format!("{ITEMS}?limit=10")));
    assert_eq!((&first["numberReturned"], &first["numberMatched"]), (&json!(10), &json!(25)));
    assert!(link(&first, "self").unwrap().ends_with("/items?limit=10"));
    assert!(link(&first, "collection").unwrap().ends_with("/collections/submissions"));
    assert!(first["timeStamp"].as_str().unwrap().ends_with('Z'));
    let ids: Vec<_> = (0..25).map(|n| n.to_string()).collect();
    for limit in [1, 10, 24, 25, 26] {
        assert_eq!(external_ids(&all(&map, &format!("limit={limit}"), || ())), ids, "{limit}");
    }
    let last = page(&map.ogc(&format!("{ITEMS}?limit=25")));
    assert_eq!(link(&last, "next"), None);
}

fn features_are_neither_skipped_nor_repeated_while_others_change(engine: Engine) {
    let map = open(engine);
    map.post("", &points(40));
    let ids: Vec<_> = map.items("limit=40").iter().map(|one| one["id"].clone()).collect();
    let mut round = 0;
    let read = all(&map, "limit=8", || {
        // Deletes one that was read, and adds one at the end.
        let path = format!("{API}/geometries/{}", ids[round].as_str().unwrap());
        assert_eq!(map.server.geo().request("DELETE", &path).token(&map.token).send().status, 204);
        map.post("", &feature(json!(format!("new {round}")), point(1.0, 1.0), json!({})));
        round += 1;
    });
    let expected: Vec<_> = (0..40).map(|n| n.to_string()).collect();
    let read = external_ids(&read);
    assert_eq!(read[..40], expected);
    assert!(read[40..].iter().all(|id| id.starts_with("new")), "{read:?}");
}

fn largest_limit_is_ten_thousand(engine: Engine) {
    let map = open(engine);
    let points: Vec<_> = (0..10_050)
        .map(|n| feature(json!(n), point(f64::from(n) / 100.0, 0.0), json!({})))
        .collect();
    map.post("", &collection(&points));
    for limit in ["10000", "10001", "99999999999999999999999999999999999999999999"] {
        let body = page(&map.ogc(&format!("{ITEMS}?limit={limit}")));
        assert_eq!(
            (&body["numberReturned"], &body["numberMatched"]),
            (&json!(10_000), &json!(10_050))
        );
    }
    // A filter that matches more than ten thousand is not counted.
    let body = page(&map.ogc(&format!("{ITEMS}?limit=2&bbox=-180,-90,180,90")));
    assert!(body["numberMatched"].is_null());
    let filtered = all(&map, "limit=4000&bbox=-180,-90,180,90", || ());
    assert_eq!(external_ids(&filtered), (0..10_050).map(|n| n.to_string()).collect::<Vec<_>>());
}

fn matches_of_a_filter_are_counted(engine: Engine) {
    let map = open(engine);
    map.post("", &points(30));
    let mut path = format!("{ITEMS}?bbox=-1,40,0.95,50&limit=4");
    let mut found = 0;
    loop {
        let body = page(&map.ogc(&path));
        assert_eq!(body["numberMatched"], 10);
        found += body["numberReturned"].as_u64().unwrap();
        let Some(next) = link(&body, "next") else { break };
        path = next.split_once(OGC).unwrap().1.to_owned();
    }
    assert_eq!(found, 10);
}

fn bbox_finds_features_that_meet_it(engine: Engine) {
    let map = open(engine);
    map.post("", &points(100));
    map.post("", &feature(json!("east"), square(179.5, 10.0, 0.4), json!({})));
    map.post("", &feature(json!("west"), square(-179.9, 10.0, 0.4), json!({})));
    let found = |query: &str| {
        let items = map.items(query);
        external_ids(&items).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("bbox=0.15,47,0.35,49"), ["2", "3"]);
    assert_eq!(found("bbox=0.15,47,-100,0.35,49,100"), ["2", "3"]);
    assert_eq!(found("bbox=179,0,-179,20"), ["east", "west"]);
    assert_eq!(found("bbox=-180,0,-179,20"), ["west"]);
    let latitude_first = "bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4326";
    assert_eq!(found(&format!("bbox=47,0.15,49,0.35&{latitude_first}")), ["2", "3"]);
    assert_eq!(found(&format!("bbox=0,179,20,-179&{latitude_first}")), ["east", "west"]);
    let mercator = "bbox-crs=http://www.opengis.net/def/crs/EPSG/0/3857";
    assert_eq!(found(&format!("bbox=16700,6000000,39000,6200000&{mercator}")), ["2", "3"]);
    let everywhere = "bbox=-3e7,-3e7,3e7,3e7";
    assert_eq!(found(&format!("{everywhere}&{mercator}&limit=1000")).len(), 102);
}

fn datetime_finds_features_by_their_last_change(engine: Engine) {
    let map = open(engine);
    map.post("", &points(2));
    let posted = map.items("")[0]["updatedAt"].as_str().unwrap().to_owned();
    let later = posted.replacen("20", "21", 1);
    for (range, count) in [
        (posted.clone(), 2),
        (format!("{posted}/.."), 2),
        (format!("../{posted}"), 2),
        (format!("{posted}/{later}"), 2),
        (posted[..10].to_owned(), 2),
        (format!("{later}/"), 0),
        ("../2020-01-01T00:00:00Z".to_owned(), 0),
    ] {
        assert_eq!(map.items(&format!("datetime={range}")).len(), count, "{range}");
    }
}

fn invalid_queries_are_rejected(engine: Engine) {
    let map = open(engine);
    map.post("", &points(1));
    for query in [
        "limit=0",
        "limit=-1",
        "limit=ten",
        "limit=",
        "limit=1&limit=2",
        "cursor=x",
        "bbox=1,2,3",
        "bbox=1,2,3,x",
        "bbox=0,50,1,49",
        "bbox=0,0,0,91",
        "bbox=nan,0,1,1",
        "bbox=48,200,49,201&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4326",
        "bbox=10,0,0,10&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/3857",
        "bbox-crs=EPSG:2154",
        "crs=EPSG:2154",
        "crs=x",
        "datetime=yesterday",
        "datetime=2026-02-01/2026-01-01",
        "offset=1",
        "term=%ff",
    ] {
        let name = query.split_once('=').unwrap().0;
        assert_problem(&map.ogc(&format!("{ITEMS}?{query}")), 400, name);
    }
}

fn single_item_has_links(engine: Engine) {
    let map = open(engine);
    map.post("", &points(3));
    map.create_layer("Other");
    let listed = &map.items("")[1];
    let id = listed["id"].as_str().unwrap();
    let response = map.ogc(&format!("{ITEMS}/{id}"));
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("application/geo+json"))
    );
    let mut item: Value = serde_json::from_slice(&response.body).unwrap();
    assert!(link(&item, "self").unwrap().ends_with(&format!("{ITEMS}/{id}")));
    assert!(link(&item, "collection").unwrap().ends_with("/collections/submissions"));
    item.as_object_mut().unwrap().remove("links");
    assert_eq!(&item, listed);
    let etag = response.header("etag").unwrap();
    let again = map.ogc_with(&format!("{ITEMS}/{id}"), &[("If-None-Match", etag)]);
    assert_eq!(again.status, 304);
    for path in [
        format!("{ITEMS}/unknown_id"),
        format!("{ITEMS}/0190e5a0-0000-7000-8000-000000000000"),
        format!("/collections/other/items/{id}"),
    ] {
        assert_problem(&map.ogc(&path), 404, "item `");
    }
}

fn empty_layer_has_no_items(engine: Engine) {
    let map = open(engine);
    map.create_layer("Submissions");
    for query in ["", "bbox=0,0,1,1", "datetime=../.."] {
        let body = page(&map.ogc(&format!("{ITEMS}?{query}")));
        assert_eq!((&body["features"], &body["numberMatched"]), (&json!([]), &json!(0)));
        assert_eq!(link(&body, "next"), None);
    }
    assert_problem(&map.ogc(&format!("{ITEMS}/unknown_id")), 404, "item `unknown_id` not found");
}

fn features_without_geometry_are_items(engine: Engine) {
    let map = open(engine);
    map.post("", &feature(json!("note"), Value::Null, json!({ "text": "é \"quoted\"" })));
    let items = map.items("crs=http://www.opengis.net/def/crs/EPSG/0/3857");
    assert!(items[0]["geometry"].is_null());
    assert_eq!(items[0]["properties"], json!({ "text": "é \"quoted\"" }));
    assert!(map.items("bbox=-180,-90,180,90").is_empty());
}

fn unchanged_pages_are_not_sent_again(engine: Engine) {
    let map = open(engine);
    map.post("", &points(3));
    let path = format!("{ITEMS}?limit=2");
    let etag = map.ogc(&path).header("etag").unwrap().to_owned();
    assert!(etag.starts_with("W/"));
    let revalidate = |path: &str| map.ogc_with(path, &[("If-None-Match", &etag)]).status;
    assert_eq!(revalidate(&path), 304);
    assert_eq!(revalidate(&format!("{ITEMS}?limit=1")), 200);
    assert_eq!(revalidate(&format!("{path}&crs=EPSG:4326")), 200);
    map.post("", &feature(json!(0), point(5.0, 5.0), json!({})));
    assert_eq!(revalidate(&path), 200);
}

fn page_changes_when_its_features_lose_their_folder(engine: Engine) {
    let map = open(engine);
    sample_records::fill(&map.server);
    map.post(&format!("?assignment={ASSIGNMENT}"), &points(1));
    let path = format!("{ITEMS}?limit=2");
    for deleted in [["assignment", ASSIGNMENT], ["folder", FOLDER]] {
        let [before, layer] = [map.items("")[0].clone(), map.layer("Submissions")];
        let etag = map.ogc(&path).header("etag").unwrap().to_owned();
        map.server.run(&["delete", deleted[0], deleted[1]]).expect_success();
        let page = map.ogc_with(&path, &[("If-None-Match", &etag)]);
        let after = &features(&page)[0];
        let link = format!("{}Id", deleted[0]);
        assert!(before[&link].is_string() && after[&link].is_null(), "{after}");
        // The layer tells that one of its features has changed.
        let changed = map.layer("Submissions");
        assert_eq!(changed["revision"].as_u64(), layer["revision"].as_u64().map(|one| one + 1));
        assert_eq!(changed["updatedAt"], after["updatedAt"]);
        let collection = map.ogc("/collections/submissions").json();
        assert_eq!(collection["extent"]["temporal"]["interval"][0][1], after["updatedAt"]);
    }
}

fn pages_are_compressed(engine: Engine) {
    let map = open(engine);
    map.post("", &points(2_500));
    let plain = features(&map.ogc(&format!("{ITEMS}?limit=2500")));
    assert_eq!(plain.len(), 2_500);
    for encoding in ["gzip", "br", "zstd"] {
        let path = format!("{ITEMS}?limit=2500");
        let response = map.ogc_with(&path, &[("Accept-Encoding", encoding)]);
        assert_eq!(response.header("content-encoding"), Some(encoding));
        let mut text = Vec::new();
        let mut body = response.body.as_slice();
        match encoding {
            "gzip" => {
                flate2::read::GzDecoder::new(body).read_to_end(&mut text).unwrap();
            }
            "br" => brotli::BrotliDecompress(&mut body, &mut text).unwrap(),
            _ => zstd::stream::copy_decode(body, &mut text).unwrap(),
        }
        assert!(response.body.len() < text.len() / 3);
        let decoded: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(decoded["features"].as_array().unwrap(), &plain);
    }
}

fn items_that_were_read_can_be_posted(engine: Engine) {
    let map = open(engine);
    map.post("", &points(5));
    map.post("", &feature(Value::Null, square(1.0, 1.0, 0.5), json!({ "a": [1, null] })));
    let read = page(&map.ogc(&format!("{ITEMS}?limit=100")));
    let posted = map.post("", &read);
    assert_eq!((&posted["received"], &posted["unchanged"]), (&json!(6), &json!(6)));
}
