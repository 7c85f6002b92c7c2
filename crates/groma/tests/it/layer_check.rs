//! The check of a layer: by command and on its page.

use crate::{on_both_engines, web::Browser};
use groma_testkit::{Engine, TestServer, server::WORKSPACE};
use serde_json::{Value, json};

on_both_engines! {
    layer_is_checked_and_repaired_by_command
    layer_is_checked_and_repaired_on_its_page
}

fn parcel(id: &str, ring: &Value) -> Value {
    json!({ "type": "Feature", "id": id, "properties": { "use": "wood" },
        "geometry": { "type": "Polygon", "coordinates": [ring] } })
}

/// Two parcels that overlap by 2 m, one with a repeated position, one that crosses itself, and a copy.
fn server_with_problems(engine: Engine) -> TestServer {
    let server = TestServer::start_with(engine, &[]);
    let square = |x: f64, y: f64| {
        json!([[x, y], [x + 20.0, y], [x + 20.0, y + 30.0], [x, y + 30.0], [x, y]])
    };
    let mut repeated = square(652_018.0, 6_862_000.0);
    let second = repeated[1].clone();
    repeated.as_array_mut().unwrap().insert(1, second);
    let (x, y) = (652_200.0, 6_862_000.0);
    let bow_tie = json!([[x, y], [x + 20.0, y + 20.0], [x + 20.0, y], [x, y + 20.0], [x, y]]);
    let mut copy = parcel("", &square(652_000.0, 6_862_000.0));
    copy.as_object_mut().unwrap().remove("id");
    let features = [
        parcel("A 1", &square(652_000.0, 6_862_000.0)),
        parcel("A 2", &repeated),
        parcel("A 3", &bow_tie),
        copy,
    ];
    let crs = json!({ "type": "name", "properties": { "name": "EPSG:2154" } });
    let document = json!({ "type": "FeatureCollection", "crs": crs, "features": features });
    server.write_file("parcels.geojson", document.to_string());
    // The import has notices about two of them.
    server.run(&["import", "layer", "parcels.geojson"]).into_result().unwrap();
    server
}

fn check(server: &TestServer, more: &[&str]) -> groma_testkit::CommandOutput {
    server.run(&[&["layer", "check", "parcels", "--workspace", WORKSPACE], more].concat())
}

/// The names of the problems.
fn problems(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|one| one["problem"].as_str().unwrap()).collect()
}

fn layer_is_checked_and_repaired_by_command(engine: Engine) {
    let server = server_with_problems(engine);
    let found = check(&server, &["--json"]).json();
    let all = ["self-intersection", "repeated-position", "duplicate", "overlap", "overlap"];
    assert_eq!(problems(&found), all);
    assert_eq!(found[0]["features"][0]["externalId"], "A 3");
    assert!(found[0]["features"][0]["id"].is_string() && found[0]["isRepairable"] == true);
    let [longitude, latitude] = [0, 1].map(|axis| found[0]["coordinates"][axis].as_f64().unwrap());
    assert!((2.3..2.4).contains(&longitude) && (48.8..48.9).contains(&latitude));
    assert!((found[3]["area"].as_f64().unwrap() - 60.0).abs() < 0.5, "{found}");
    let text = check(&server, &[]).expect_success();
    for part in ["Features checked: 4", "overlap", "A 1 A 2", "m²", "2.34"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A wide tolerance ignores the overlaps.
    let found = check(&server, &["--json", "--tolerance", "2.5"]).json();
    assert_eq!(problems(&found), all[..3]);
    let found = check(&server, &["--json", "--repair"]).json();
    assert_eq!(problems(&found), ["overlap"]);
    let text = check(&server, &["--repair"]).expect_success();
    assert!(text.starts_with("Repaired: 0\nCopies deleted: 0\nFeatures checked: 3\n"), "{text}");
    let clean = check(&server, &["--tolerance", "2.5"]).expect_success();
    assert_eq!(clean, "Features checked: 3\nNo problems found.");
    check(&server, &["--tolerance", "0"]).expect_usage_error();
    server.run(&["layer", "check", "nothing"]).expect_error("layer `nothing` not found");
}

fn layer_is_checked_and_repaired_on_its_page(engine: Engine) {
    let server = server_with_problems(engine);
    let layers = server.run(&["layer", "list", "--json"]).json();
    let path = format!("/settings/layers/{}/check", layers[0]["id"].as_str().unwrap());
    let repair_path = path.replace("/check", "/repair");
    let browser = Browser::of_owner(&server);
    browser.page(&path).hides("Result");
    let found = browser.send_form(&path, &path, &[("tolerance", "0.05")]);
    for part in ["4 shapes checked", "Crosses or touches itself", "Overlap", "A 3", "m²", "Repair…"]
    {
        found.shows(part);
    }
    assert!(found.text.contains("href=\"/map#map=19/48.8"), "{}", found.text);
    assert!(found.text.contains("&#38;feature=parcels/"), "{}", found.text);
    let rejected = browser.send_form(&path, &path, &[("tolerance", "wide")]);
    assert_eq!(rejected.response.status, 400);
    assert!(rejected.error_of("tolerance").is_some());
    let french = browser.request("GET", &path, &[("Accept-Language", "fr".to_owned())], None);
    french.shows("Tolérance (mètres)");
    // A viewer checks, but cannot repair.
    server
        .run_with_input(
            "tripod and prism 71\n",
            &["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"],
        )
        .expect_success();
    let viewer = Browser::logged_in(&server, "viewer@example.test", "tripod and prism 71");
    let checked = viewer.send_form(&path, &path, &[("tolerance", "0.05")]);
    checked.shows("4 shapes checked");
    checked.hides("Repair…");
    let forbidden = viewer.send_form(&path, &repair_path, &[("tolerance", "0.05")]);
    assert_eq!(forbidden.response.status, 403);
    // The owner confirms what will change.
    let asked = browser.send_form(&path, &repair_path, &[("tolerance", "0.05")]);
    asked.shows("Shapes to repair: 2. Copies to delete: 1.");
    let confirmed = format!("{repair_path}?confirmed=true&tolerance=0.05");
    browser.submit(&path, &confirmed, &[]);
    browser.page(&path).shows("Shapes repaired: 2. Copies deleted: 1.");
    browser.submit(&path, &repair_path, &[("tolerance", "0.05")]);
    browser.page(&path).shows("Nothing can be repaired automatically.");
}
