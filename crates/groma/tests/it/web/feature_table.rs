//! The table of features beside the map, and the search for features by attributes.

use super::Browser;
use crate::on_both_engines;
use groma_testkit::{TestServer, server::WORKSPACE};
use serde_json::{Value, json};

/// Draws a point with these properties; returns the response.
fn draw(browser: &Browser, layer: Option<&str>, x: f64, properties: &Value) -> Value {
    let geometry = json!({ "type": "Point", "coordinates": [x, 47.0] });
    let feature = json!({ "type": "Feature", "properties": properties, "geometry": geometry });
    let folder = (x < 3.0).then_some("F-000001");
    let body = json!({ "layer": layer, "folder": folder, "feature": feature });
    let drawn = browser.post_json("/map/geometries", &body);
    assert_eq!(drawn.response.status, 200, "{}", drawn.text);
    drawn.response.json()
}

/// The first column of the rows, in order.
fn names(text: &str) -> Vec<&str> {
    let rows = text.split("<tr data-feature=").skip(1);
    rows.map(|row| row.split("title=\"Parcel ").nth(1).unwrap().split('"').next().unwrap())
        .collect()
}

on_both_engines! {
    fn table_of_features_is_filtered_sorted_and_paged(engine: Engine) {
        let server = TestServer::start_with(engine, &[]);
        server.import("folders", &[json!({ "name": "Chêne" })]);
        let browser = Browser::of_owner(&server);
        let first = draw(&browser, None, 2.0, &json!({ "parcel": "Parcel é1", "area": 900, "use": "Forêt" }));
        let layer = first["layerId"].as_str().unwrap();
        draw(&browser, Some(layer), 3.0, &json!({ "parcel": "Parcel 2", "area": 1000.5, "use": "<b>" }));
        draw(&browser, Some(layer), 4.0, &json!({ "parcel": "Parcel 3" }));
        let path = format!("/map/layers/{layer}/table");
        let found = |query: &str| browser.page(&format!("{path}?{query}")).text;
        let all = found("");
        assert_eq!(names(&all), ["é1", "2", "3"]);
        for part in ["&#60;b&#62;", "href=\"/folders/F-000001\"", "1–3 of 3", "data-bbox=\"2,47,2,47\"", "External ID"] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(!all.contains("aria-sort") && !all.contains("data-skip"));
        let sorted = found("sort=property:area&order=descending");
        assert_eq!(names(&sorted), ["2", "é1", "3"]);
        assert!(sorted.contains("aria-sort=\"descending\""));
        assert_eq!(names(&found("sort=updated&order=descending")), ["3", "2", "é1"]);
        assert_eq!(names(&found("q=foret")), ["é1"]);
        assert_eq!(names(&found("q=1000&column=area&op=at-least")), ["2"]);
        assert_eq!(names(&found("q=1,000.50&column=area&op=equal")), ["2"]);
        assert_eq!(names(&found("q=900&column=use")), [""; 0]);
        assert_eq!(names(&found("bbox=2.5,46,5,48&sort=property:parcel")), ["2", "3"]);
        assert!(found("q=nothing").contains("No shapes match."));
        // The selected feature is on top if it is on another page.
        let selected = format!("q=parcel 3&selected={}", first["featureId"]);
        let pinned = found(&selected.replace(' ', "%20"));
        assert_eq!(names(&pinned), ["é1", "3"]);
        assert!(pinned.contains("class=\"pinned\""));
        let shown = found(&format!("selected={}", first["featureId"]));
        assert_eq!(names(&shown), ["é1", "2", "3"]);
        let french = browser.request("GET", &path, &[("Accept-Language", "fr".to_owned())], None).text;
        assert!(french.contains("ID externe") && french.contains("1000,5"), "{french}");
        // Wrong requests.
        assert_eq!(browser.get(&format!("{path}?bbox=1,2,3")).response.status, 400);
        assert_eq!(browser.get("/map/layers/unknown/table").response.status, 404);
        let other = layer.replace(|letter: char| letter.is_ascii_digit(), "0");
        assert_eq!(browser.get(&format!("/map/layers/{other}/table")).response.status, 404);
        // Go to: the best match first, only in the layers that are shown.
        let hits = |term: &str, layers: &str| {
            browser.page(&format!("/map/features?term={term}&layers={layers}")).response.json()
        };
        let found = hits("parcel%203", layer);
        assert_eq!((found.as_array().unwrap().len(), &found[0]["match"]), (1, &json!("parcel: Parcel 3")));
        assert_eq!((&found[0]["bbox"], &found[0]["layerId"]), (&json!([4.0, 47.0, 4.0, 47.0]), &json!(layer)));
        assert_eq!(hits("parcel", layer).as_array().unwrap().len(), 3);
        assert_eq!(hits("parcel", ""), json!([]));
        assert_eq!(hits("p", layer), json!([]));
        // A viewer reads the table; without a session there is none.
        server.run_with_input("tripod and prism 71\n", &["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"]).expect_success();
        let viewer = Browser::logged_in(&server, "viewer@example.test", "tripod and prism 71");
        assert_eq!(names(&viewer.page(&path).text).len(), 3);
        assert_ne!(Browser::new(server.main()).get(&path).response.status, 200);
    }
}
