//! A folder's bounding box follows its geometries. A change of the box is a change of the folder.

use super::{Map, collection, feature, point, square, tile_at};
use crate::{
    on_both_engines, sample_records, sample_records::ASSIGNMENT, sample_records::FOLDER,
    sample_records::text,
};
use groma_testkit::{Engine, wait::PATIENCE, wait_until};
use serde_json::{Value, json};

/// A server with the sample folders, and a token to read them.
fn start_with_folders(engine: groma_testkit::Engine) -> Map {
    let mut map = Map::open(engine);
    sample_records::fill(&map.server);
    map.token = map.server.create_full_token();
    map
}

fn folder(map: &Map, key: &str) -> Value {
    map.server.get(&format!("/folders/{key}"), &map.token).ok()
}

/// A folder's box and version. Each change of the box is one version.
fn state(map: &Map, key: &str) -> (Value, u64) {
    let folder = folder(map, key);
    (folder["bbox"].clone(), folder["version"].as_u64().unwrap())
}

on_both_engines! {
    box_follows_added_moved_and_removed_geometries
    geometry_moved_to_another_folder_changes_both_boxes
    geometry_of_an_assignment_belongs_to_its_folder
    rejected_and_replayed_requests_change_no_box
    list_and_detail_have_the_same_box
    deleting_a_folder_unlinks_its_geometries
    deleting_an_assignment_keeps_its_geometries_in_the_folder
    deleting_a_layer_shrinks_the_box
}

fn box_follows_added_moved_and_removed_geometries(engine: Engine) {
    let map = start_with_folders(engine);
    let into = format!("?folder={FOLDER}");
    assert_eq!(state(&map, FOLDER), (Value::Null, 1));
    let at = |id: u32, x: f64| feature(json!(id), point(x, 48.0), json!({}));
    map.post(&into, &collection(&[at(1, 2.0), at(2, 3.0)]));
    assert_eq!(
        state(&map, FOLDER),
        (json!([2.0, 48.0, 3.0, 48.0]), 2),
        "one version for one request"
    );
    // A geometry inside the box, a repeated one and an empty one change nothing.
    map.post(&into, &at(3, 2.5));
    map.post(&into, &at(1, 2.0));
    map.post(&into, &feature(json!(4), Value::Null, json!({})));
    map.post(&into, &feature(json!(3), point(2.6, 48.0), json!({ "other": 1 })));
    assert_eq!(state(&map, FOLDER).1, 2);
    map.post(&into, &feature(json!(5), square(2.0, 47.0, 0.5), json!({})));
    assert_eq!(state(&map, FOLDER), (json!([2.0, 47.0, 3.0, 48.0]), 3));
    // Posted again without the folder, they stay linked and the box follows.
    map.post("", &at(2, 2.2));
    assert_eq!(state(&map, FOLDER), (json!([2.0, 47.0, 2.6, 48.0]), 4));
    map.post("", &feature(json!(5), Value::Null, json!({})));
    assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.6, 48.0]), 5));
    assert_eq!(
        state(&map, "F-000001"),
        (Value::Null, 1),
        "the other one has nothing to do with it"
    );
}

fn geometry_moved_to_another_folder_changes_both_boxes(engine: Engine) {
    let map = start_with_folders(engine);
    let one = feature(json!(1), point(2.0, 48.0), json!({}));
    map.post(&format!("?folder={FOLDER}"), &one);
    map.post("?folder=F-000001", &one);
    assert_eq!(state(&map, FOLDER), (Value::Null, 3));
    assert_eq!(state(&map, "F-000001"), (json!([2.0, 48.0, 2.0, 48.0]), 2));
}

fn geometry_of_an_assignment_belongs_to_its_folder(engine: Engine) {
    let map = start_with_folders(engine);
    map.post(&format!("?assignment={ASSIGNMENT}"), &point(2.0, 48.0));
    assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.0, 48.0]), 2));
    let id = text(&folder(&map, FOLDER)["id"]).to_owned();
    map.post(&format!("?assignment={ASSIGNMENT}&folder={id}"), &point(2.0, 49.0));
    assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.0, 49.0]), 3));
}

fn rejected_and_replayed_requests_change_no_box(engine: Engine) {
    let map = start_with_folders(engine);
    let into = format!("?folder={FOLDER}");
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "one")];
    let body = point(2.0, 48.0).to_string();
    map.post_as(&into, body.clone(), &headers).ok();
    map.post_as(&into, body, &headers).ok();
    let bad = collection(&[feature(Value::Null, point(9.0, 9.0), json!({})), json!(0)]);
    map.try_post(&into, bad.to_string()).error_pointers();
    assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.0, 48.0]), 2));
}

fn list_and_detail_have_the_same_box(engine: Engine) {
    let map = start_with_folders(engine);
    map.post(&format!("?folder={FOLDER}"), &square(2.0, 48.0, 0.5));
    let listed = map.server.get("/folders?term=boundary", &map.token).content().remove(0);
    assert_eq!(listed, folder(&map, FOLDER));
    assert_eq!(listed["bbox"], json!([2.0, 48.0, 2.5, 48.5]));
}

fn deleting_a_folder_unlinks_its_geometries(engine: Engine) {
    let map = start_with_folders(engine);
    let one = feature(json!(1), point(2.0, 48.0), json!({ "kept": true }));
    let posted = map.post(&format!("?assignment={ASSIGNMENT}"), &one);
    map.server.run(&["delete", "folder", FOLDER]).expect_success();
    let layer = text(&posted["layerId"]).to_owned();
    assert_eq!(map.count(), 1);
    assert_eq!(map.features_in(&layer, tile_at(18, 2.0, 48.0)).len(), 1);
    // The geometry keeps its id and can be linked to another folder.
    let again = map.post("", &one);
    assert_eq!((&again["geometries"], &again["unchanged"]), (&posted["geometries"], &json!(1)));
    let moved = map.post("?folder=F-000001", &one);
    assert_eq!(moved["updated"], 1);
    assert_eq!(state(&map, "F-000001"), (json!([2.0, 48.0, 2.0, 48.0]), 2));
}

fn deleting_an_assignment_keeps_its_geometries_in_the_folder(engine: Engine) {
    let map = start_with_folders(engine);
    let one = feature(json!(1), point(2.0, 48.0), json!({}));
    map.post(&format!("?assignment={ASSIGNMENT}"), &one);
    map.server.run(&["delete", "assignment", ASSIGNMENT]).expect_success();
    assert_eq!(state(&map, FOLDER).0, json!([2.0, 48.0, 2.0, 48.0]));
    assert_eq!(map.post("", &one)["unchanged"], 1);
    map.post("", &feature(json!(1), point(3.0, 48.0), json!({})));
    assert_eq!(state(&map, FOLDER).0, json!([3.0, 48.0, 3.0, 48.0]));
}

fn deleting_a_layer_shrinks_the_box(engine: Engine) {
    let map = start_with_folders(engine);
    map.create_layer("Other");
    map.post(&format!("?folder={FOLDER}"), &point(2.0, 48.0));
    map.post(&format!("?folder={FOLDER}&layer=other"), &point(5.0, 50.0));
    assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 5.0, 50.0]), 3));
    map.server.run(&["layer", "delete", "other"]).expect_success();
    let left = (json!([2.0, 48.0, 2.0, 48.0]), 4);
    wait_until(PATIENCE, || match state(&map, FOLDER) {
        state if state == left => Ok(()),
        state => Err(format!("{state:?}")),
    });
}
