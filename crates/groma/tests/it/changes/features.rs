//! Changes of features and layers.

use super::{
    ALL_KINDS, api, collection, create_folder, events, now, point, post_features, read_all, start,
    text, write,
};
use crate::on_both_engines;
use groma_testkit::{
    Engine, Response, TestServer,
    http::Request,
    server::{NO_RATE_LIMIT, WORKSPACE},
};
use serde_json::{Value, json};

on_both_engines! {
    features_are_listed_as_they_are_read
    unchanged_features_are_no_events
    many_features_are_one_event_of_their_layer
    deleted_folder_unlinks_its_features
    deleted_folder_with_many_features_is_one_event_of_each_layer
    layers_are_listed
}

const KINDS: &str = "geometry,layer";

#[track_caller]
fn feature(server: &TestServer, token: &str, id: &Value) -> Value {
    let request = Request::get(&format!("/geometries/{}", text(id)), token);
    server.geo().send(&request).unwrap().json()
}

#[track_caller]
fn layer(server: &TestServer, token: &str) -> Value {
    let request = Request::get("/layers/submissions", token);
    server.geo().send(&request).unwrap().ok()
}

fn features_are_listed_as_they_are_read(engine: Engine) {
    let (server, token) = start(engine);
    create_folder(&server, &token, "A");
    let posted = post_features(&server, &token, "?folder=F-000001", &point(1, 2.0));
    let id = &posted["geometries"][0]["id"];
    let created = feature(&server, &token, id);
    post_features(&server, &token, "?folder=F-000001", &point(1, 3.0));
    let updated = feature(&server, &token, id);
    let path = api(&format!("/geometries/{}", text(id)));
    let deletion: Response = server.geo().request("DELETE", &path).token(&token).send();
    assert_eq!(deletion.status, 204);
    let changes = read_all(&server, &token, KINDS, "", 2);
    let names: Vec<_> = changes.iter().map(|change| text(&change["event"])).collect();
    assert_eq!(
        names,
        ["layer.created", "geometry.created", "geometry.updated", "geometry.deleted"]
    );
    assert_eq!(changes[0]["data"]["slug"], "submissions");
    assert_eq!(changes[1]["data"], created);
    assert_eq!(created["geometry"]["coordinates"], json!([2, 48]));
    assert_eq!(changes[2]["data"], updated);
    assert_eq!(changes[3]["data"], updated, "the feature before its deletion");
    // The request changed the folder's box, too; records and features are in one order.
    let all = read_all(&server, &token, ALL_KINDS, "", 1000);
    let events: Vec<_> = all.iter().map(|change| text(&change["event"])).collect();
    assert_eq!(events.iter().filter(|event| **event == "folder.updated").count(), 3);
    assert_eq!(all[1]["actor"]["type"], "token");
}

fn unchanged_features_are_no_events(engine: Engine) {
    let (server, token) = start(engine);
    post_features(&server, &token, "", &point(1, 2.0));
    let after = now(&server, &token);
    let posted = post_features(&server, &token, "", &point(1, 2.0));
    assert_eq!(posted["unchanged"], 1);
    assert_eq!(read_all(&server, &token, ALL_KINDS, &after, 10), [] as [Value; 0]);
}

fn many_features_are_one_event_of_their_layer(engine: Engine) {
    let (server, token) = start(engine);
    let points =
        |count: usize| -> Vec<Value> { (0..count).map(|n| point(n, n as f64 / 100.0)).collect() };
    post_features(&server, &token, "", &collection(&points(1000)));
    let changes = read_all(&server, &token, "geometry", "", 1000);
    assert_eq!(changes.len(), 1000);
    assert!(changes.iter().all(|change| change["event"] == "geometry.created"));
    let after = now(&server, &token);
    let mut moved = points(1100);
    moved.iter_mut().for_each(|point| point["geometry"]["coordinates"][1] = json!(49.0));
    post_features(&server, &token, "", &collection(&moved));
    let changes = read_all(&server, &token, "geometry", &after, 10);
    let layer = layer(&server, &token);
    assert_eq!(events(&changes, "revision"), [format!("layer.updated {}", layer["revision"])]);
    let expected = json!({ "id": layer["id"], "revision": layer["revision"], "created": 100,
        "updated": 1000, "deleted": 0, "bbox": [0.0, 48.0, 10.99, 49.0] });
    assert_eq!(changes[0]["data"], expected);
}

fn deleted_folder_unlinks_its_features(engine: Engine) {
    let (server, token) = start(engine);
    let folder = create_folder(&server, &token, "A");
    let assignment = json!({ "title": "T", "folder": "F-000001" });
    write(&server, &Request::post("/assignments", &token, &assignment));
    let query = "?folder=F-000001&assignment=A-000001";
    let posted =
        post_features(&server, &token, query, &collection(&[point(1, 2.0), point(2, 3.0)]));
    let after = now(&server, &token);
    let path = format!("/folders/{}", text(&folder["id"]));
    assert_eq!(server.main().send(&Request::delete(&path, &token)).unwrap().status, 204);
    let changes = read_all(&server, &token, ALL_KINDS, &after, 10);
    let mut names: Vec<_> = changes.iter().map(|change| text(&change["event"])).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["assignment.deleted", "folder.deleted", "geometry.updated", "geometry.updated"]
    );
    for geometry in posted["geometries"].as_array().unwrap() {
        let now = feature(&server, &token, &geometry["id"]);
        assert_eq!((&now["folderId"], &now["assignmentId"]), (&Value::Null, &Value::Null));
        let change = changes.iter().find(|change| change["data"]["id"] == geometry["id"]).unwrap();
        assert_eq!(change["data"], now);
    }
}

fn deleted_folder_with_many_features_is_one_event_of_each_layer(engine: Engine) {
    let (server, token) = start(engine);
    server.run(&["layer", "create", "Lots"]).expect_success();
    create_folder(&server, &token, "A");
    let points: Vec<Value> = (0..600).map(|n| point(n, n as f64 / 100.0)).collect();
    for query in ["?folder=F-000001", "?folder=F-000001&layer=lots"] {
        post_features(&server, &token, query, &collection(&points));
    }
    let after = now(&server, &token);
    let deletion = Request::delete("/folders/F-000001", &token);
    assert_eq!(server.main().send(&deletion).unwrap().status, 204);
    let changes = read_all(&server, &token, "geometry", &after, 10);
    assert_eq!(events(&changes, "updated"), ["layer.updated 600", "layer.updated 600"]);
    let features = Request::get("/layers/submissions/features?folder=F-000001", &token);
    assert_eq!(server.geo().send(&features).unwrap().status, 400, "the folder is gone");
}

fn layers_are_listed(engine: Engine) {
    // Commands and the server agree on the URLs of tiles.
    let environment = [NO_RATE_LIMIT, ("GROMA_SERVER__GEO_PUBLIC_URL", "https://geo.example")];
    let server = TestServer::start_with(engine, &environment);
    let token = server.create_full_token();
    server.run(&["layer", "create", "Lots"]).expect_success();
    let created = read_all(&server, &token, "layer", "", 10);
    let known = Request::get("/layers/lots", &token);
    assert_eq!(created[0]["data"], server.geo().send(&known).unwrap().ok());
    assert_eq!(created[0]["actor"]["type"], "system");
    server.run(&["layer", "delete", "lots", "--workspace", WORKSPACE]).expect_success();
    let changes = read_all(&server, &token, "layer", "", 10);
    assert_eq!(events(&changes, "slug"), ["layer.created \"lots\"", "layer.deleted \"lots\""]);
    assert_eq!(changes[1]["data"], created[0]["data"]);
}
