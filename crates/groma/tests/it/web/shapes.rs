//! The requests of the map: drawing, moving and deleting shapes; tiles without rate limits.

use super::Browser;
use crate::on_both_engines;
use groma_testkit::{TestServer, server::WORKSPACE};
use serde_json::{Value, json};

fn square(x: f64) -> Value {
    let ring = [[x, 47.0], [x + 0.01, 47.0], [x + 0.01, 47.01], [x, 47.01], [x, 47.0]];
    json!({ "type": "Feature", "properties": { "name": "Plot" }, "geometry": { "type": "Polygon", "coordinates": [ring] } })
}

on_both_engines! {
    fn shape_is_drawn_moved_and_deleted(engine: Engine) {
        let server = TestServer::start_with(engine, &[("GROMA_LIMITS__REQUESTS_PER_MINUTE", "1000")]);
        server.import("folders", &[json!({ "name": "Chêne" })]);
        let token = server.create_token(&["READ_FOLDER"]);
        let browser = Browser::of_owner(&server);
        let bbox = || server.get("/folders/F-000001", &token).ok()["bbox"].clone();
        let drawn = browser.post_json("/map/geometries", &json!({ "folder": "F-000001", "feature": square(2.0) }));
        assert_eq!(drawn.response.status, 200, "{}", drawn.text);
        let drawn = drawn.response.json();
        let id = drawn["id"].as_str().unwrap();
        assert_eq!(bbox(), json!([2.0, 47.0, 2.01, 47.01]));
        let layer = drawn["layerId"].as_str().unwrap();
        let second = browser.post_json("/map/geometries", &json!({ "layer": layer, "folder": "F-000001", "feature": square(3.0) }));
        assert_eq!(second.response.status, 200, "{}", second.text);
        let facts = browser.page(&format!("/map/features/{layer}/{}", drawn["featureId"])).response.json();
        assert_eq!((&facts["title"], &facts["folder"]["reference"]), (&json!("Plot"), &json!("F-000001")));
        assert_eq!(facts["geometry"]["type"], "Polygon");
        let shapes = browser.page("/folders/F-000001/geometries.geojson").response.json();
        assert_eq!(shapes["features"].as_array().unwrap().len(), 2);
        let points = browser.page("/map/folders.geojson?bbox=1,46,4,48").response.json();
        assert_eq!(points["features"][0]["properties"]["reference"], "F-000001");
        assert_eq!(points["features"][0]["properties"]["status"], "Quoted");
        let none = browser.page("/map/folders.geojson?bbox=10,46,11,48").response.json();
        assert_eq!(none["features"], json!([]));
        // A moved shape keeps its properties; the folder's bbox and the layer's counts change.
        let mut moved = square(5.0);
        moved["properties"] = json!(null);
        let moved = browser.post_json("/map/geometries", &json!({ "id": id, "feature": moved })).response.json();
        assert_eq!(moved["id"], id);
        assert!(moved["revision"].as_u64() > drawn["revision"].as_u64());
        assert_eq!(bbox(), json!([3.0, 47.0, 5.01, 47.01]));
        let facts = browser.page(&format!("/map/features/{layer}/{id}")).response.json();
        assert_eq!(facts["properties"]["name"], "Plot");
        let tile = format!("/map/tiles/{layer}/5/16/11?r={}", moved["revision"]);
        let tile = browser.page(&tile).response;
        assert!(!tile.body.is_empty());
        assert_eq!(tile.header("cache-control"), Some("private, max-age=86400, immutable"));
        assert_eq!(tile.header("content-type"), Some("application/vnd.mapbox-vector-tile"));
        assert!(!tile.headers.keys().any(|name| name.as_str().contains("ratelimit")));
        // Empty properties replace the old ones.
        let mut bare = square(5.0);
        bare["properties"] = json!({});
        browser.post_json("/map/geometries", &json!({ "id": id, "feature": bare }));
        let facts = browser.page(&format!("/map/features/{layer}/{id}")).response.json();
        assert_eq!(facts["properties"], json!({}));
        let deleted = browser.post_json(&format!("/map/geometries/{id}/delete"), &json!({}));
        assert_eq!(deleted.response.status, 200, "{}", deleted.text);
        assert_eq!(bbox(), json!([3.0, 47.0, 3.01, 47.01]));
        let gone = browser.post_json(&format!("/map/geometries/{id}/delete"), &json!({}));
        assert_eq!(gone.response.status, 404);
        let listed = server.geo().request("GET", "/api/public/v1/layers").token(&token).send().content();
        assert_eq!((&listed[0]["featureCount"], &listed[0]["bounds"]), (&json!(1), &json!([3.0, 47.0, 3.01, 47.01])));
        // A split and a join are one request each.
        let id = second.response.json()["id"].clone();
        let parts = json!([square(3.2), square(3.4)]);
        let split = browser.post_json("/map/geometries", &json!({ "id": id, "feature": square(3.0), "parts": parts })).response.json();
        assert_eq!(split["id"], id);
        let shapes = browser.page("/folders/F-000001/geometries.geojson").response.json();
        let ids: Vec<_> = shapes["features"].as_array().unwrap().iter().map(|shape| shape["id"].clone()).collect();
        assert_eq!(ids.len(), 3);
        for part in &ids[1..] {
            let joined = browser.post_json("/map/geometries", &json!({ "id": id, "feature": square(3.0), "joined": part }));
            assert_eq!(joined.response.status, 200, "{}", joined.text);
            let again = browser.post_json("/map/geometries", &json!({ "id": id, "feature": square(9.0), "joined": part }));
            assert_eq!(again.response.status, 404);
        }
        assert_eq!(bbox(), json!([3.0, 47.0, 3.01, 47.01]));
        let new = browser.post_json("/map/geometries", &json!({ "feature": square(3.0), "parts": parts }));
        assert_eq!(new.response.status, 400);
        // An invalid shape is rejected with a message.
        let mut open = square(2.0);
        open["geometry"]["coordinates"][0].as_array_mut().unwrap().pop();
        let rejected = browser.post_json("/map/geometries", &json!({ "feature": open }));
        assert_eq!(rejected.response.status, 400);
        assert!(rejected.response.json()["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", rejected.text);
        let rejected = browser.post_json("/map/geometries", &json!({ "folder": "nowhere", "feature": square(1.0) }));
        assert_eq!(rejected.response.status, 400);
        // A viewer cannot draw.
        server.run_with_input("tripod and prism 71\n", &["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"]).expect_success();
        let viewer = Browser::logged_in(&server, "viewer@example.test", "tripod and prism 71");
        viewer.page("/map").shows("&#34;canEdit&#34;:false");
        let rejected = viewer.post_json("/map/geometries", &json!({ "feature": square(1.0) }));
        assert_eq!(rejected.response.status, 403);
    }
}
