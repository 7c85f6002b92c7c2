//! Records as items.

use super::{Map, assert_problem, feature, features, link, open, page, square};
use crate::{
    on_both_engines,
    sample_records::{self, FOLDER, KINDS, many_folders},
};
use groma_testkit::{API, Engine, Response};
use serde_json::{Value, json};

on_both_engines! {
    records_are_items_with_their_documents_as_properties
    folders_and_assignments_have_the_extent_of_the_folder
    records_are_read_page_by_page
    records_are_filtered_by_box_and_time
    records_of_other_workspaces_are_not_found
}

/// A server with the sample records, and a token with all scopes.
fn with_records(engine: Engine) -> Map {
    let mut map = open(engine);
    map.token = map.server.create_full_token();
    sample_records::fill(&map.server);
    map.post(
        &format!("?folder={FOLDER}"),
        &feature(json!("lot"), square(5.0, 47.5, 0.25), json!({})),
    );
    map
}

fn main_api(map: &Map, path: &str) -> Response {
    map.server.get(path, &map.token)
}

fn records_are_items_with_their_documents_as_properties(engine: Engine) {
    let map = with_records(engine);
    for (kind, _, reference) in KINDS {
        let items = features(&map.ogc(&format!("/collections{kind}/items")));
        let records = main_api(&map, kind).content();
        assert_eq!(
            items.iter().map(|one| &one["properties"]).collect::<Vec<_>>(),
            records.iter().collect::<Vec<_>>()
        );
        let record = main_api(&map, &format!("{kind}/{reference}")).ok();
        let path = format!("/collections{kind}/items/{}", record["id"].as_str().unwrap());
        let item: Value = serde_json::from_slice(&map.ogc(&path).body).unwrap();
        assert_eq!((&item["id"], &item["properties"]), (&record["id"], &record));
        assert!(link(&item, "self").unwrap().ends_with(&path));
        for id in [reference, "unknown_id", "0190e5a0-0000-7000-8000-000000000000"] {
            assert_problem(&map.ogc(&format!("/collections{kind}/items/{id}")), 404, "item `");
        }
    }
}

fn folders_and_assignments_have_the_extent_of_the_folder(engine: Engine) {
    let map = with_records(engine);
    let extent = json!([[[5.0, 47.5], [5.25, 47.5], [5.25, 47.75], [5.0, 47.75], [5.0, 47.5]]]);
    let turned = json!([[[47.5, 5.0], [47.5, 5.25], [47.75, 5.25], [47.75, 5.0], [47.5, 5.0]]]);
    let number = |value: &Value| value.to_string().replace(".0,", ",").replace(".0]", "]");
    for kind in ["folders", "assignments"] {
        let items = features(&map.ogc(&format!("/collections/{kind}/items")));
        let found: Vec<_> = items.iter().filter(|item| !item["geometry"].is_null()).collect();
        assert!(
            !found.is_empty() && found.len() < items.len() + usize::from(kind == "assignments")
        );
        for item in found {
            assert_eq!(number(&item["geometry"]["coordinates"]), number(&extent));
            assert_eq!(item["geometry"]["type"], "Polygon");
        }
        let items = features(&map.ogc(&format!("/collections/{kind}/items?crs=EPSG:4326")));
        let found = items.iter().find(|item| !item["geometry"].is_null()).unwrap();
        assert_eq!(number(&found["geometry"]["coordinates"]), number(&turned));
    }
    for kind in ["expenses", "budgets"] {
        let items = features(&map.ogc(&format!("/collections/{kind}/items")));
        assert!(items.iter().all(|item| item["geometry"].is_null()));
    }
}

fn records_are_read_page_by_page(engine: Engine) {
    let mut map = open(engine);
    map.token = map.server.create_full_token();
    map.server.import("folders", &many_folders(25));
    let mut path = "/collections/folders/items?limit=10".to_owned();
    let mut names = Vec::new();
    loop {
        let body = page(&map.ogc(&path));
        assert_eq!(body["numberMatched"], 25);
        let features = body["features"].as_array().unwrap();
        names.extend(
            features.iter().map(|one| one["properties"]["name"].as_str().unwrap().to_owned()),
        );
        let Some(next) = link(&body, "next") else { break };
        path = next.split_once("/ogc").unwrap().1.to_owned();
    }
    assert_eq!(names, (1..=25).map(|n| format!("Folder {n}")).collect::<Vec<_>>());
}

fn records_are_filtered_by_box_and_time(engine: Engine) {
    let map = with_records(engine);
    let references = |query: &str| {
        let items = features(&map.ogc(&format!("/collections/folders/items?{query}")));
        items.iter().map(|one| one["properties"]["reference"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(references("bbox=5.2,47.7,6,48"), [FOLDER]);
    assert_eq!(references("bbox=47.7,5.2,48,6&bbox-crs=EPSG:4326"), [FOLDER]);
    assert!(references("bbox=6,47.7,7,48").is_empty());
    assert!(references("datetime=../2000-01-01T00:00:00Z").is_empty());
    assert!(references("datetime=2000-01-01T00:00:00Z/..").len() > 1);
    assert_problem(&map.ogc("/collections/folders/items?term=x"), 400, "term is unknown");
}

fn records_of_other_workspaces_are_not_found(engine: Engine) {
    let map = with_records(engine);
    let folder = main_api(&map, &format!("/folders/{FOLDER}")).ok();
    let id = folder["id"].as_str().unwrap();
    let layer = map.layer("Submissions")["id"].as_str().unwrap().to_owned();
    map.server
        .run_with_input(
            "another password 1\n",
            &["workspace", "create", "Other", "--owner", "other@example.test"],
        )
        .expect_success();
    let token = map.server.create_token_for("Other", "other@example.test", &["READ_FOLDER"]);
    for path in [format!("folders/items/{id}"), format!("{layer}/items"), layer] {
        let path = format!("/ogc/collections/{path}");
        let response = map.server.geo().request("GET", &path).token(&token).send();
        assert_eq!(response.status, 404, "{path}");
    }
    assert_eq!(
        map.server
            .main()
            .request("GET", &format!("{API}/folders/{id}"))
            .token(&token)
            .send()
            .status,
        404
    );
}
