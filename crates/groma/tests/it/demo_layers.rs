//! The layers of the demo can be exported and sent back without any change.

use crate::on_both_engines;
use groma_testkit::{API, Engine, TestServer, server::NO_RATE_LIMIT};
use serde_json::Value;

on_both_engines! {
    exported_demo_layers_are_unchanged_when_sent_back
}

/// Created, updated and unchanged features.
fn counts(result: &Value) -> [u64; 3] {
    ["created", "updated", "unchanged"].map(|name| result[name].as_u64().unwrap())
}

fn exported_demo_layers_are_unchanged_when_sent_back(engine: Engine) {
    let mut server = TestServer::stopped(engine, &[NO_RATE_LIMIT]);
    let token = server.serve_demo();
    let layers = server.run(&["layer", "list", "--json"]).json();
    let layers = layers.as_array().unwrap();
    assert!(layers.len() >= 3);
    for layer in layers {
        let (slug, count) =
            (layer["slug"].as_str().unwrap(), layer["featureCount"].as_u64().unwrap());
        assert!(count > 0, "{slug}");
        server.run(&["export", "layer", "layer.geojson", "--layer", slug]).expect_success();
        let import = ["import", "layer", "layer.geojson", "--layer", slug, "--json"];
        assert_eq!(counts(&server.run(&import).json()), [0, 0, count], "{slug}");
        let body = std::fs::read(server.directory().join("layer.geojson")).unwrap();
        let path = format!("{API}/geometries/geojson?layer={slug}");
        let request = server.geo().request("POST", &path).token(&token);
        let posted = request.header("Content-Type", "application/json").body(body).send().ok();
        assert_eq!(counts(&posted), [0, 0, count], "{slug}");
        assert_eq!(posted["notices"], serde_json::json!([]), "{slug}");
    }
}
