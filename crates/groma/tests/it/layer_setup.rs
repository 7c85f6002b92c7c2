//! Declared fields, styles and locks of layers: by command, over the API, in imports and on the pages.

use crate::{on_both_engines, sample_records::text, web::Browser};
use groma_testkit::{
    API, CommandOutput, Engine, Response, TestServer, server::NO_RATE_LIMIT, server::WORKSPACE,
};
use serde_json::{Value, json};

fn fields() -> Value {
    json!([
        { "name": "use", "type": "text", "required": true, "choices": ["meadow", "wood"] },
        { "name": "area", "type": "number", "unit": "m²" },
        { "name": "floors", "type": "integer", "default": 1 },
    ])
}

fn point(id: u32, properties: impl Into<Value>) -> Value {
    let properties: Value = properties.into();
    json!({ "type": "Feature", "id": id, "properties": properties,
        "geometry": { "type": "Point", "coordinates": [2.0, 48.0] } })
}

/// A collection with one feature per line.
fn collection(features: &[Value]) -> String {
    let lines: Vec<_> = features.iter().map(ToString::to_string).collect();
    format!("{{\"type\":\"FeatureCollection\",\"features\":[\n{}\n]}}\n", lines.join(",\n"))
}

fn update(server: &TestServer, more: &[&str]) -> CommandOutput {
    server.run(&[&["layer", "update", "plots", "--workspace", WORKSPACE], more].concat())
}

/// A server with the layer Plots, which declares fields.
fn server_with_fields(engine: Engine) -> TestServer {
    let server = TestServer::start_with(engine, &[NO_RATE_LIMIT]);
    server.run(&["layer", "create", "Plots"]).expect_success();
    server.write_file("fields.json", fields().to_string());
    assert_eq!(update(&server, &["--fields", "fields.json"]).expect_success(), "");
    server
}

fn post(server: &TestServer, token: &str, body: &str) -> Response {
    let path = format!("{API}/geometries/geojson?layer=plots");
    let request = server.geo().request("POST", &path).token(token);
    request.header("Content-Type", "application/geo+json").body(body).send()
}

fn show(server: &TestServer) -> Value {
    server.run(&["layer", "show", "plots"]).json()
}

on_both_engines! {
    layer_is_set_up_by_command
    post_must_fit_the_fields_and_gets_defaults
    import_reports_features_that_do_not_fit
    locked_layer_is_read_only
    fields_and_style_are_edited_on_pages
    shape_on_the_map_must_fit_the_fields
}

fn layer_is_set_up_by_command(engine: Engine) {
    let server = server_with_fields(engine);
    let shown = show(&server);
    assert_eq!(shown["fields"][0]["choices"], json!(["meadow", "wood"]));
    assert_eq!(
        shown["fields"][1],
        json!({ "name": "area", "type": "number", "required": false,
        "choices": [], "default": null, "unit": "m²" })
    );
    let mut style = shown["style"].clone();
    style["label"] = json!("use");
    style["color"] = json!("#123456");
    style["colorBy"] = json!({ "property": "use", "other": "#cccccc",
        "categories": [{ "value": "wood", "color": "#228833" }] });
    server.write_file("style.json", style.to_string());
    server.run(&["layer", "create", "Roads"]).expect_success();
    let more = ["--style", "style.json", "--lock", "--position", "2"];
    update(&server, &more).expect_success();
    let shown = show(&server);
    assert_eq!(shown["style"], style);
    assert_eq!((&shown["isLocked"], &shown["position"]), (&json!(true), &json!(2)));
    assert_eq!(shown["fields"].as_array().unwrap().len(), 3);
    // The public document has no new members, but the color is in it.
    let listed = server.run(&["layer", "list", "--json"]).json();
    assert_eq!(listed[0]["color"], "#123456");
    assert!(listed[0].get("style").is_none() && listed[0].get("isLocked").is_none());
    server.write_file("bad.json", json!([{ "name": "a" }, { "type": "text" }]).to_string());
    update(&server, &["--fields", "bad.json"])
        .expect_error("bad.json: fields.0.type is required; fields.1.name is required");
    update(&server, &[]).expect_usage_error();
    update(&server, &["--lock", "--unlock"]).expect_usage_error();
    server.run(&["layer", "show", "nothing"]).expect_error("layer `nothing` not found");
}

fn post_must_fit_the_fields_and_gets_defaults(engine: Engine) {
    let server = server_with_fields(engine);
    let token = server.create_token(&[]);
    let bad = collection(&[
        point(1, json!({ "use": "wood" })),
        point(2, json!({ "use": "lake", "area": "12", "floors": 0.5 })),
        point(3, json!({})),
    ]);
    let rejected = post(&server, &token, &bad);
    assert_eq!(
        rejected.error_pointers(),
        [
            "/features/1/properties/use",
            "/features/1/properties/area",
            "/features/1/properties/floors",
            "/features/2/properties/use"
        ]
    );
    let message = rejected.json()["message"].as_str().unwrap().to_owned();
    assert_eq!(
        message,
        "/features/1/properties/use: must be one of meadow, wood (and 3 more, see details)"
    );
    let alone = point(1, json!({ "use": "wood", "free": { "anything": true } })).to_string();
    assert_eq!(post(&server, &token, &alone).ok()["created"], 1);
    assert_eq!(post(&server, &token, &alone).ok()["unchanged"], 1);
    let feature = server.geo().request("GET", &format!("{API}/layers/plots/features"));
    let feature = feature.token(&token).send().json();
    assert_eq!(
        feature["features"][0]["properties"],
        json!({ "use": "wood", "free": { "anything": true }, "floors": 1 })
    );
}

fn import_reports_features_that_do_not_fit(engine: Engine) {
    let server = server_with_fields(engine);
    let old = collection(&[point(1, json!({ "use": "lake" })), point(2, json!({ "use": "wood" }))]);
    let import = |contents: &str, more: &[&str]| {
        let layer = ["--layer", "plots"];
        server.import_file("layer", "plots.geojson", contents, &[&layer[..], more].concat())
    };
    // Before the fields are declared, everything is accepted.
    server.write_file("none.json", "[]");
    update(&server, &["--fields", "none.json"]).expect_success();
    assert_eq!(import(&old, &[]).json()["created"], 2);
    let declared = update(&server, &["--fields", "fields.json"]).expect_success();
    assert!(declared.starts_with("1 stored feature does not fit"), "{declared}");
    assert_eq!(import(&old, &[]).json()["unchanged"], 2);
    let new = collection(&[
        point(1, json!({ "use": "lake" })),
        point(3, json!({ "use": "sea", "area": "big" })),
        point(4, json!({ "use": "wood" })),
        point(2, json!({ "use": null })),
    ]);
    let rejected = import(&new, &[]);
    assert_eq!(rejected.code, Some(1), "{rejected:?}");
    let report: Value = serde_json::from_str(&rejected.stdout).unwrap();
    assert_eq!(report["created"], 0);
    let rejected = report["rejected"].as_array().unwrap();
    let texts: Vec<_> =
        rejected.iter().map(|one| (text(&one["pointer"]), text(&one["message"]))).collect();
    let both = "`use` must be one of meadow, wood; `area` must be a number, for example 1250.00";
    assert_eq!(
        texts,
        [("/features/1/properties", both), ("/features/3/properties/use", "is required")]
    );
    let kept = import(&new, &["--keep-good"]);
    assert_eq!(kept.code, Some(0), "{kept:?}");
    let report: Value = serde_json::from_str(&kept.stdout).unwrap();
    assert_eq!((&report["created"], &report["unchanged"]), (&json!(1), &json!(1)));
    update(&server, &["--lock"]).expect_success();
    import(&old, &[]).expect_error("layer `plots` is locked; unlock it to change its features");
}

fn locked_layer_is_read_only(engine: Engine) {
    let server = server_with_fields(engine);
    let token = server.create_token(&[]);
    let shape = point(1, json!({ "use": "wood" })).to_string();
    let id = post(&server, &token, &shape).ok()["geometries"][0]["id"].clone();
    let path = format!("{API}/geometries/{}", id.as_str().unwrap());
    let delete = || server.geo().request("DELETE", &path).token(&token).send();
    update(&server, &["--lock"]).expect_success();
    let locked = "layer `plots` is locked; unlock it to change its features";
    post(&server, &token, &shape).assert_error(400, locked);
    let rejected = delete();
    assert_eq!((rejected.status, &rejected.json()["message"]), (409, &json!(locked)));
    server.run(&["layer", "delete", "plots"]).expect_error(locked);
    let browser = Browser::of_owner(&server);
    browser.page("/map").shows("&#34;editable&#34;:false");
    let moved = json!({ "id": id, "feature": point(1, json!({ "use": "wood" })) });
    let rejected = browser.post_json("/map/geometries", &moved);
    assert_eq!(rejected.response.status, 409);
    assert!(rejected.text.contains("This layer is locked."), "{}", rejected.text);
    let layer = show(&server)["id"].as_str().unwrap().to_owned();
    let page = format!("/settings/layers/{layer}");
    browser.page("/settings/layers").shows("Locked");
    browser.submit(&page, &format!("{page}/lock"), &[("locked", "false")]);
    assert_eq!(delete().status, 204);
}

fn fields_and_style_are_edited_on_pages(engine: Engine) {
    let server = server_with_fields(engine);
    let token = server.create_token(&[]);
    post(&server, &token, &point(1, json!({ "use": "wood", "area": 100 })).to_string()).ok();
    post(&server, &token, &point(2, json!({ "use": "meadow", "area": 600 })).to_string()).ok();
    let browser = Browser::of_owner(&server);
    let layer = show(&server)["id"].as_str().unwrap().to_owned();
    let path = format!("/settings/layers/{layer}/fields");
    browser.page(&path).shows(">meadow\nwood</textarea>");
    let row = |name, kind, default, choices| {
        [("name", name), ("type", kind), ("unit", ""), ("default", default), ("choices", choices)]
    };
    let first = row("use", "text", "", "meadow\r\nwood\r\nlake");
    let second = row("height", "number", "1,5x", "");
    let rows: Vec<_> = first.into_iter().chain(second).chain([("required", "0")]).collect();
    let more = browser.send_form(&path, &path, &[&rows[..], &[("action", "add")]].concat());
    assert_eq!((more.response.status, more.text.matches("<fieldset").count()), (200, 3));
    let wrong = browser.send_form(&path, &path, &rows);
    assert_eq!(wrong.response.status, 400);
    wrong.shows("Must be a number, for example 1250.00");
    let good = row("height", "number", "1.5", "");
    let rows: Vec<_> = first.into_iter().chain(good).chain([("required", "0")]).collect();
    browser.submit(&path, &path, &rows);
    let saved = show(&server)["fields"].clone();
    assert_eq!(saved[0]["choices"], json!(["meadow", "wood", "lake"]));
    assert_eq!((&saved[0]["required"], &saved[1]["default"]), (&json!(true), &json!(1.5)));
    browser.submit(&path, &path, &[&rows[..], &[("remove", "1")]].concat());
    assert_eq!(show(&server)["fields"].as_array().unwrap().len(), 1);

    let path = format!("/settings/layers/{layer}/style");
    let style = [("color", "#123456"), ("property", "use"), ("other", "#cccccc")];
    let suggest = |mode, property| {
        let fields = [("mode", mode), ("property", property), ("action", "suggest")];
        browser.send_form(&path, &path, &[&fields[..], &style].concat())
    };
    suggest("categories", "use").shows("value=\"lake\"");
    suggest("ranges", "area").shows("value=\"200\"");
    suggest("ranges", "use").shows("Has no numbers");
    let classes = [("category", "wood"), ("category-color", "#228833")];
    let sizes = [("mode", "categories"), ("lineWidth", "3.5"), ("opacity", "50"), ("label", "use")];
    let all = [&style[..], &classes, &sizes].concat();
    browser.submit(&path, &path, &all);
    let saved = show(&server)["style"].clone();
    assert_eq!(saved["colorBy"]["categories"], json!([{ "value": "wood", "color": "#228833" }]));
    assert_eq!((&saved["opacity"], &saved["lineWidth"]), (&json!(0.5), &json!(3.5)));
    browser.page(&path).shows("Other values");
    let wrong = browser.send_form(&path, &path, &[&all[..], &[("minZoom", "30")]].concat());
    assert_eq!(wrong.error_of("minZoom"), Some("Must be a whole number from 0 to 24"));
    browser.page("/settings/activity").shows("Style");

    server.run(&["layer", "create", "Roads"]).expect_success();
    browser.submit(
        "/settings/layers",
        &format!("/settings/layers/{layer}/move"),
        &[("to", "down")],
    );
    assert_eq!(show(&server)["position"], 2);
}

fn shape_on_the_map_must_fit_the_fields(engine: Engine) {
    let server = server_with_fields(engine);
    let browser = Browser::of_owner(&server);
    let layer = show(&server)["id"].clone();
    let save = |properties: Value| {
        let mut feature = point(1, properties);
        feature.as_object_mut().unwrap().remove("id");
        browser.post_json("/map/geometries", &json!({ "layer": layer, "feature": feature }))
    };
    let rejected = save(json!({ "use": "lake", "floors": 1.5 }));
    assert_eq!(rejected.response.status, 400);
    assert_eq!(
        rejected.response.json()["problems"],
        json!({ "use": "Must be one of meadow, wood", "floors": "Must be a whole number" })
    );
    assert_eq!(save(json!({ "use": "wood" })).response.status, 200);
    browser.page("/map").shows("&#34;unit&#34;:&#34;m²&#34;");
}
