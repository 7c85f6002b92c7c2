//! A folder's box: it follows the folder's geometries, and is a change of the folder when it changes.

use super::{Map, collection, feature, point, square, tile_at};
use crate::{
    office::wait_until,
    on_both_engines,
    sample::{self, ASSIGNMENT, FOLDER, text},
};
use serde_json::{Value, json};
use std::time::Duration;

/// A map with the sample's folders, and a token that reads them.
fn with_folders(engine: crate::database::Engine) -> Map {
    let mut map = Map::open(engine);
    sample::fill(&map.office);
    map.token = map.office.master_token();
    map
}

fn folder(map: &Map, key: &str) -> Value {
    map.office.get(&format!("/folders/{key}"), &map.token).ok()
}

/// A folder's box and version: each change of it is one event and one version.
fn state(map: &Map, key: &str) -> (Value, u64) {
    let folder = folder(map, key);
    (folder["bbox"].clone(), folder["version"].as_u64().unwrap())
}

on_both_engines! {
    fn it_grows_moves_and_shrinks_with_the_geometries(engine: Engine) {
        let map = with_folders(engine);
        let into = format!("?folder={FOLDER}");
        assert_eq!(state(&map, FOLDER), (Value::Null, 1));
        let at = |id: u32, x: f64| feature(json!(id), point(x, 48.0), json!({}));
        map.post(&into, &collection(&[at(1, 2.0), at(2, 3.0)]));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 3.0, 48.0]), 2), "once, however many");
        // Inside the box, the same again, nowhere: no change.
        map.post(&into, &at(3, 2.5));
        map.post(&into, &at(1, 2.0));
        map.post(&into, &feature(json!(4), Value::Null, json!({})));
        map.post(&into, &feature(json!(3), point(2.6, 48.0), json!({ "other": 1 })));
        assert_eq!(state(&map, FOLDER).1, 2);
        map.post(&into, &feature(json!(5), square(2.0, 47.0, 0.5), json!({})));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 47.0, 3.0, 48.0]), 3));
        // Named without the folder they stay in it, and it follows.
        map.post("", &at(2, 2.2));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 47.0, 2.6, 48.0]), 4));
        map.post("", &feature(json!(5), Value::Null, json!({})));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.6, 48.0]), 5));
        assert_eq!(state(&map, "F-000001"), (Value::Null, 1), "the other one has nothing to do with it");
    }

    fn a_geometry_that_changes_folders_changes_both_boxes(engine: Engine) {
        let map = with_folders(engine);
        let one = feature(json!(1), point(2.0, 48.0), json!({}));
        map.post(&format!("?folder={FOLDER}"), &one);
        map.post("?folder=F-000001", &one);
        assert_eq!(state(&map, FOLDER), (Value::Null, 3));
        assert_eq!(state(&map, "F-000001"), (json!([2.0, 48.0, 2.0, 48.0]), 2));
    }

    fn an_assignment_brings_its_folder(engine: Engine) {
        let map = with_folders(engine);
        map.post(&format!("?assignment={ASSIGNMENT}"), &point(2.0, 48.0));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.0, 48.0]), 2));
        let id = text(&folder(&map, FOLDER)["id"]).to_owned();
        map.post(&format!("?assignment={ASSIGNMENT}&folder={id}"), &point(2.0, 49.0));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.0, 49.0]), 3));
    }

    fn what_is_refused_or_replayed_changes_no_box(engine: Engine) {
        let map = with_folders(engine);
        let into = format!("?folder={FOLDER}");
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "one")];
        let body = point(2.0, 48.0).to_string();
        map.post_as(&into, body.clone(), &headers).ok();
        map.post_as(&into, body, &headers).ok();
        let bad = collection(&[feature(Value::Null, point(9.0, 9.0), json!({})), json!(0)]);
        map.try_post(&into, bad.to_string()).spots();
        assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 2.0, 48.0]), 2));
    }

    fn the_lists_item_has_the_box_as_the_folder_has_it(engine: Engine) {
        let map = with_folders(engine);
        map.post(&format!("?folder={FOLDER}"), &square(2.0, 48.0, 0.5));
        let listed = map.office.get("/folders?term=boundary", &map.token).content().remove(0);
        assert_eq!(listed, folder(&map, FOLDER));
        assert_eq!(listed["bbox"], json!([2.0, 48.0, 2.5, 48.5]));
    }

    fn a_deleted_folder_leaves_its_geometries_without_the_link(engine: Engine) {
        let map = with_folders(engine);
        let one = feature(json!(1), point(2.0, 48.0), json!({ "kept": true }));
        let posted = map.post(&format!("?assignment={ASSIGNMENT}"), &one);
        map.office.groma(&["delete", "folder", FOLDER]).succeeds();
        let layer = text(&posted["layerId"]).to_owned();
        assert_eq!(map.count(), 1);
        assert_eq!(map.drawn(&layer, tile_at(18, 2.0, 48.0)).len(), 1);
        // It is still the one with that id, and may go into another folder.
        let again = map.post("", &one);
        assert_eq!((&again["geometries"], &again["unchanged"]), (&posted["geometries"], &json!(1)));
        let moved = map.post("?folder=F-000001", &one);
        assert_eq!(moved["updated"], 1);
        assert_eq!(state(&map, "F-000001"), (json!([2.0, 48.0, 2.0, 48.0]), 2));
    }

    fn a_deleted_assignment_leaves_its_geometries_in_the_folder(engine: Engine) {
        let map = with_folders(engine);
        let one = feature(json!(1), point(2.0, 48.0), json!({}));
        map.post(&format!("?assignment={ASSIGNMENT}"), &one);
        map.office.groma(&["delete", "assignment", ASSIGNMENT]).succeeds();
        assert_eq!(state(&map, FOLDER).0, json!([2.0, 48.0, 2.0, 48.0]));
        assert_eq!(map.post("", &one)["unchanged"], 1);
        map.post("", &feature(json!(1), point(3.0, 48.0), json!({})));
        assert_eq!(state(&map, FOLDER).0, json!([3.0, 48.0, 3.0, 48.0]));
    }

    fn a_deleted_layer_takes_its_part_of_the_box(engine: Engine) {
        let map = with_folders(engine);
        map.make_layer("Other");
        map.post(&format!("?folder={FOLDER}"), &point(2.0, 48.0));
        map.post(&format!("?folder={FOLDER}&layer=other"), &point(5.0, 50.0));
        assert_eq!(state(&map, FOLDER), (json!([2.0, 48.0, 5.0, 50.0]), 3));
        map.office.groma(&["layer", "delete", "other"]).succeeds();
        let left = (json!([2.0, 48.0, 2.0, 48.0]), 4);
        wait_until(Duration::from_secs(1), || match state(&map, FOLDER) {
            state if state == left => Ok(()),
            state => Err(format!("{state:?}")),
        });
    }
}
