//! Downloads of records and layers: the same files as `groma export` writes.

use super::Browser;
use crate::{on_both_engines, sample_records};
use groma_testkit::{
    API, Engine, TestServer, server::NO_RATE_LIMIT, server::OWNER, server::WORKSPACE,
};
use serde_json::{Value, json};

const RECORD_FORMATS: [&str; 4] = ["csv", "xlsx", "json", "ndjson"];
/// The formats of layers and their extensions.
const LAYER_FORMATS: [(&str, &str); 8] = [
    ("geojson", "geojson"),
    ("geojsonseq", "geojsonl"),
    ("gpkg", "gpkg"),
    ("shapefile", "zip"),
    ("flatgeobuf", "fgb"),
    ("csv", "csv"),
    ("kml", "kml"),
    ("dxf", "dxf"),
];
const VIEWER: &str = "viewer@example.test";

on_both_engines! {
    lists_are_the_files_of_the_command
    lists_keep_filters_search_and_order
    folder_and_search_are_exported_by_kind
    layers_are_the_files_of_the_command
    features_of_a_folder_are_exported_by_layer
    downloads_are_not_stored_and_have_safe_names
    exports_are_in_the_security_log
    other_workspaces_and_strangers_export_nothing
    wrong_formats_and_systems_are_explained
}

fn start(engine: Engine) -> TestServer {
    TestServer::start_with(engine, &[NO_RATE_LIMIT])
}

/// The body of a download.
#[track_caller]
fn download(browser: &Browser, path: &str) -> Vec<u8> {
    let page = browser.get(path);
    assert_eq!(page.response.status, 200, "{path}: {}", page.text);
    page.response.body
}

/// The file that the command writes.
#[track_caller]
fn exported(server: &TestServer, name: &str, arguments: &[&str]) -> Vec<u8> {
    let file = server.directory().join(name);
    let all = [&["export", arguments[0], file.to_str().unwrap()], &arguments[1..]].concat();
    // Some formats have notices about what they cannot hold.
    server.run(&all).into_result().unwrap();
    std::fs::read(file).unwrap()
}

/// A column of a CSV file.
fn column(csv: &[u8], name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv);
    let index = reader.headers().unwrap().iter().position(|header| header == name);
    let Some(index) = index else { return Vec::new() };
    reader.records().map(|row| row.unwrap()[index].to_owned()).collect()
}

fn references(browser: &Browser, path: &str) -> Vec<String> {
    column(&download(browser, path), "reference")
}

/// Posts features into a layer, for a folder.
fn post(server: &TestServer, layer: &str, folder: &str, features: &[Value]) {
    let token = server.create_full_token();
    let path = format!("{API}/geometries/geojson?layer={layer}&folder={folder}");
    let body = json!({ "type": "FeatureCollection", "features": features });
    let request = server.geo().request("POST", &path).token(&token);
    request.header("Content-Type", "application/geo+json").body(body.to_string()).send().ok();
}

fn point(id: &str, x: f64) -> Value {
    let geometry = json!({ "type": "Point", "coordinates": [x, 48.0] });
    let properties = json!({ "name": id, "size": 1.5, "note": null });
    json!({ "type": "Feature", "id": id, "geometry": geometry, "properties": properties })
}

/// The id of a layer.
fn layer(server: &TestServer, slug: &str) -> String {
    let layers = server.run(&["layer", "list", "--json"]).json();
    let found = layers.as_array().unwrap().iter().find(|layer| layer["slug"] == slug);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}

/// A server with features of two folders in the layer `parcels`, and of one in `points`.
fn start_with_layers(engine: Engine) -> TestServer {
    let server = start(engine);
    server.import(
        "folders",
        &[
            json!({ "reference": "F-1", "name": "Chêne" }),
            json!({ "reference": "é/2", "name": "Orme" }),
        ],
    );
    for slug in ["parcels", "points"] {
        server.run(&["layer", "create", slug]).expect_success();
    }
    let many: Vec<_> =
        (0..1_200).map(|n| point(&format!("p{n}"), 2.0 + f64::from(n) / 1e4)).collect();
    post(&server, "parcels", "F-1", &many);
    post(&server, "parcels", "%C3%A9%2F2", &[point("other", 3.0)]);
    post(&server, "points", "F-1", &[point("single", 2.5)]);
    server
}

fn lists_are_the_files_of_the_command(engine: Engine) {
    let server = start(engine);
    sample_records::fill(&server);
    let browser = Browser::of_owner(&server);
    for kind in ["folders", "assignments", "budgets", "expenses"] {
        // Assignments are listed by their state.
        let is_whole = kind != "assignments";
        for format in RECORD_FORMATS {
            let path = format!("/lists/{kind}/export?format={format}&sort=created");
            let body = download(&browser, &path);
            let file = exported(&server, &format!("{kind}.{format}"), &[kind]);
            if is_whole && format != "xlsx" {
                assert_eq!(body, file, "{kind} {format}");
            }
            // Workbooks contain the time at which they were written.
            let name = format!("web-{kind}.{format}");
            let report = server.import_file(kind, &name, &body, &[]).json();
            assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(0)), "{name}");
            assert_eq!(report["rejected"], json!([]), "{name}");
            assert!(report["unchanged"].as_u64() > Some(0), "{name}: {report}");
        }
    }
    // A kind without records is a valid file.
    server.create_workspace("Empty");
    let add = ["user", "add", VIEWER, "--workspace", "Empty", "--role", "viewer"];
    server.run_with_input("plumb line of the viewer 71\n", &add).expect_success();
    let viewer = Browser::logged_in(&server, VIEWER, "plumb line of the viewer 71");
    assert_eq!(download(&viewer, "/lists/folders/export?format=json"), b"[]\n");
    assert_eq!(download(&viewer, "/lists/folders/export?format=csv"), b"");
}

fn lists_keep_filters_search_and_order(engine: Engine) {
    let server = start(engine);
    let folder = |n: usize| {
        json!({
            "reference": format!("f{n}"), "name": format!("{} {}", ["Chêne", "Orme"][n % 2], 9 - n),
            "owner": (["survey.lead@office.test", "field.crew@office.test"][n % 2]),
            "clientName": (["Ville", "Mairie"][n / 3]), "dueDate": format!("2026-01-0{}", n + 1),
            "tags": (["north"][..n % 2]), "archivedAt": (n == 5).then_some("2026-01-01T00:00:00Z"),
        })
    };
    server.import("folders", &(0..6).map(folder).collect::<Vec<_>>());
    let task = |n: usize| {
        json!({
            "reference": format!("a{n}"), "folder": format!("f{}", n % 2), "title": format!("Task {n}"),
            "status": (["To do", "Done"][n / 3]), "priority": (["low", "urgent"][n % 2]),
        })
    };
    server.import("assignments", &(0..4).map(task).collect::<Vec<_>>());
    let expense = |n: usize| {
        json!({
            "reference": format!("e{n}"), "folder": format!("f{}", n % 2), "unitAmount": n * 10 + 5,
            "incurredOn": format!("2026-02-0{}", 9 - n), "billable": n == 1, "category": "Travel",
        })
    };
    server.import("expenses", &(0..4).map(expense).collect::<Vec<_>>());
    let browser = Browser::of_owner(&server);
    for (list, expected) in [
        ("folders?", "f4 f3 f2 f1 f0"),
        ("folders?sort=name", "f4 f2 f0 f3 f1"),
        ("folders?sort=-name&page=7&columns=name", "f1 f3 f0 f2 f4"),
        ("folders?sort=person", "f1 f3 f0 f2 f4"),
        ("folders?q=chene&sort=reference", "f0 f2 f4"),
        ("folders?q=chene&client=mairie", "f4"),
        ("folders?tag=NORTH&sort=due", "f1 f3"),
        ("folders?from=2026-01-02&until=2026-01-04&sort=due", "f1 f2 f3"),
        ("folders?state=archived", "f5"),
        ("folders?q=nothing", ""),
        ("assignments?sort=title", "a0 a1 a2"),
        ("assignments?state=done", "a3"),
        ("assignments?folder=f1&sort=created", "a1"),
        ("assignments?priority=urgent", "a1"),
        ("expenses?", "e0 e1 e2 e3"),
        ("expenses?sort=-amount&min=10&max=30", "e2 e1"),
        ("expenses?billable=yes", "e1"),
        ("expenses?folder=unknown", ""),
    ] {
        let (kind, query) = list.split_once('?').unwrap();
        let path = format!("/lists/{kind}/export?format=csv&{query}");
        assert_eq!(references(&browser, &path).join(" "), expected, "{list}");
        // The page has the same rows, and links to these files.
        let page = browser.page(&format!("/{list}"));
        page.shows(&format!("/lists/{kind}/export?"));
        let shown = expected.split(' ').filter(|one| !one.is_empty());
        if !query.contains("page=") {
            shown.for_each(|reference| page.shows(&format!("/{kind}/{reference}\"")));
        }
    }
    let page = browser.page("/folders?q=chene&sort=-name&page=1");
    page.shows("href=\"/lists/folders/export?q=chene&#38;sort=-name&#38;format=xlsx\"");
}

fn folder_and_search_are_exported_by_kind(engine: Engine) {
    let server = start(engine);
    sample_records::fill(&server);
    server.import("folders", &[json!({ "reference": "OTHER", "name": "Orme" })]);
    server.import("assignments", &[
        json!({ "reference": "DONE", "folder": "OTHER", "title": "Orme, done", "status": "Done" }),
        json!({ "reference": "OPEN", "folder": "OTHER", "title": "Open" }),
    ]);
    let browser = Browser::of_owner(&server);
    let of_folder = |folder: &str, kind: &str| {
        let path = format!("/folders/{folder}/export/records?kind={kind}&format=csv");
        references(&browser, &path)
    };
    assert_eq!(of_folder("OTHER", "folders"), ["OTHER"]);
    assert_eq!(of_folder("OTHER", "assignments"), ["DONE", "OPEN"]);
    assert!(of_folder("OTHER", "expenses").is_empty());
    assert!(of_folder("CHENE-1", "expenses").contains(&"FUEL-1".to_owned()));
    assert!(of_folder("CHENE-1", "budgets").contains(&"FIELD-2026".to_owned()));
    browser.page("/folders/OTHER").shows("action=\"/folders/OTHER/export/records\"");
    browser.page("/assignments/OPEN").hides("/export/");
    assert_eq!(
        browser.get("/folders/NONE/export/records?kind=folders&format=csv").response.status,
        404
    );
    let found = |kind: &str, term: &str| {
        references(&browser, &format!("/search/export?kind={kind}&format=csv&q={term}"))
    };
    assert_eq!(found("folders", "orme"), ["OTHER"]);
    assert_eq!(found("assignments", "orme"), ["DONE"]);
    assert!(found("budgets", "orme").is_empty());
    let page = browser.page("/search?q=orme");
    page.shows("action=\"/search/export\"");
    page.shows("<option value=\"assignments\">");
    page.hides("<option value=\"budgets\">");
    browser.page("/search?q=nothing").hides("/search/export");
    assert_eq!(browser.get("/search/export?kind=folders&format=csv&q=").response.status, 404);
}

fn layers_are_the_files_of_the_command(engine: Engine) {
    let server = start_with_layers(engine);
    let browser = Browser::of_owner(&server);
    let path = format!("/map/layers/{}/export", layer(&server, "parcels"));
    for (format, extension) in LAYER_FORMATS {
        let more: &[(&str, &[&str])] = match format {
            "kml" => &[("", &[]), ("EPSG:2154", &[])],
            _ => &[("", &[]), ("EPSG:2154", &["--crs", "EPSG:2154"])],
        };
        for (crs, arguments) in more {
            let body = download(&browser, &format!("{path}?format={format}&crs={crs}"));
            let all = [&["layer", "--layer", "parcels", "--format", format], *arguments].concat();
            let file = exported(&server, &format!("parcels.{extension}"), &all);
            if format == "gpkg" {
                // It contains the time at which it was written.
                assert!(body.starts_with(b"SQLite format 3"));
                let report =
                    server.import_file("layer", "web.gpkg", &body, &["--layer", "parcels"]).json();
                assert_eq!(report["created"], 0, "{crs}: {report}");
                assert!(!crs.is_empty() || report["unchanged"] == 1_201, "{report}");
            } else {
                assert!(body == file, "{format} {crs}: {} and {}", body.len(), file.len());
            }
        }
    }
    // The menus offer it.
    let page = browser.page("/map");
    page.shows(&format!("{path}&#34;"));
    page.shows("FlatGeobuf");
    let id = layer(&server, "parcels");
    for tab in ["", "/fields", "/style"] {
        let page = browser.page(&format!("/settings/layers/{id}{tab}"));
        page.shows(&format!("action=\"{path}\""));
        page.shows("Of the layer: WGS 84");
    }
}

fn features_of_a_folder_are_exported_by_layer(engine: Engine) {
    let server = start_with_layers(engine);
    let browser = Browser::of_owner(&server);
    let ids = |folder: &str, slug: &str| {
        let layer = layer(&server, slug);
        let path = format!("/folders/{folder}/export/features?layer={layer}&format=geojson");
        let collection: Value = serde_json::from_slice(&download(&browser, &path)).unwrap();
        let features = collection["features"].as_array().unwrap();
        let ids = features.iter().map(|feature| feature["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let first = ids("F-1", "parcels");
    assert_eq!((first.len(), first[0].as_str(), first[1_199].as_str()), (1_200, "p0", "p1199"));
    assert_eq!(ids("F-1", "points"), ["single"]);
    assert_eq!(ids("%C3%A9%2F2", "parcels"), ["other"]);
    assert!(ids("%C3%A9%2F2", "points").is_empty());
    let layer = layer(&server, "parcels");
    let csv = format!("/folders/%C3%A9%2F2/export/features?layer={layer}&format=csv");
    assert_eq!(column(&download(&browser, &csv), "name"), ["other"]);
    let page = browser.page("/folders/%C3%A9%2F2");
    page.shows("/export/features\"");
    page.shows(">parcels</option>");
    page.hides(">points</option>");
    server.import("folders", &[json!({ "reference": "BARE", "name": "Bare" })]);
    browser.page("/folders/BARE").hides("/export/features");
}

fn downloads_are_not_stored_and_have_safe_names(engine: Engine) {
    let server = start_with_layers(engine);
    let browser = Browser::of_owner(&server);
    let layer = layer(&server, "parcels");
    let accept = [("Accept-Encoding", "gzip, zstd".to_owned())];
    for (path, kind, name) in [
        ("/lists/folders/export?format=csv".to_owned(), "text/csv; charset=utf-8", "Folders-20"),
        ("/lists/folders/export?format=json".to_owned(), "application/json", "Folders-20"),
        (
            "/search/export?format=ndjson&kind=folders&q=ch%C3%AAne".to_owned(),
            "application/x-ndjson",
            "Folders-ch%C3%AAne-20",
        ),
        (
            "/folders/%C3%A9%2F2/export/records?format=csv&kind=folders".to_owned(),
            "text/csv; charset=utf-8",
            "%C3%A9-2-Folders-20",
        ),
        (
            format!("/map/layers/{layer}/export?format=geojson"),
            "application/geo+json",
            "parcels.geojson",
        ),
        (format!("/map/layers/{layer}/export?format=shapefile"), "application/zip", "parcels.zip"),
        (
            format!("/folders/F-1/export/features?layer={layer}&format=gpkg"),
            "application/geopackage+sqlite3",
            "F-1-parcels.gpkg",
        ),
    ] {
        let response = browser.request("GET", &path, &accept, None).response;
        assert_eq!(response.status, 200, "{path}");
        let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
        assert_eq!(header("content-type"), kind);
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("content-encoding"), "");
        assert_eq!(header("content-length"), response.body.len().to_string());
        let disposition = header("content-disposition");
        let expected = format!("filename*=UTF-8''{name}");
        assert!(disposition.starts_with("attachment; filename=\""), "{disposition}");
        assert!(disposition.contains(&expected), "{disposition}");
    }
}

fn exports_are_in_the_security_log(engine: Engine) {
    let server = start_with_layers(engine);
    let browser = Browser::of_owner(&server);
    let layer = layer(&server, "parcels");
    download(&browser, "/lists/expenses/export?format=csv");
    download(&browser, "/search/export?kind=folders&format=csv&q=orme");
    download(&browser, "/folders/F-1/export/records?kind=budgets&format=csv");
    download(&browser, &format!("/folders/F-1/export/features?layer={layer}&format=csv"));
    download(&browser, &format!("/map/layers/{layer}/export?format=csv"));
    let output = server.run(&["security-log", "--json", "--action", "export."]).expect_success();
    let entries: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let details: Vec<_> = entries.iter().map(|entry| entry["details"].clone()).collect();
    assert_eq!(
        details,
        [
            json!({ "layer": "parcels" }),
            json!({ "layer": "parcels", "folder": "F-1" }),
            json!({ "kind": "budgets", "folder": "F-1" }),
            json!({ "kind": "folders" }),
            json!({ "kind": "expenses" }),
        ]
    );
    for entry in &entries {
        assert_eq!(entry["action"], "export.created");
        assert_eq!((&entry["user"], &entry["address"]), (&json!(OWNER), &json!("127.0.0.1")));
        assert_eq!(entry["workspace"], WORKSPACE, "{entry}");
    }
    browser.page("/settings/security-log?topic=export").shows("parcels, F-1");
}

fn other_workspaces_and_strangers_export_nothing(engine: Engine) {
    let server = start_with_layers(engine);
    let layer = layer(&server, "parcels");
    let paths = [
        "/lists/folders/export?format=csv".to_owned(),
        "/search/export?kind=folders&format=csv&q=ch%C3%AAne".to_owned(),
        "/folders/F-1/export/records?kind=folders&format=csv".to_owned(),
        format!("/folders/F-1/export/features?layer={layer}&format=csv"),
        format!("/map/layers/{layer}/export?format=csv"),
    ];
    server.create_workspace("Elsewhere");
    let password = "plumb line of the viewer 71";
    for (email, workspace) in [(VIEWER, WORKSPACE), ("stranger@example.test", "Elsewhere")] {
        let add = ["user", "add", email, "--workspace", workspace, "--role", "viewer"];
        server.run_with_input(&format!("{password}\n"), &add).expect_success();
    }
    let viewer = Browser::logged_in(&server, VIEWER, password);
    let stranger = Browser::logged_in(&server, "stranger@example.test", password);
    for (index, path) in paths.iter().enumerate() {
        assert!(!download(&viewer, path).is_empty(), "{path}");
        let page = stranger.get(path);
        match index {
            // Lists and the search of another workspace do not have these records.
            0 | 1 => assert_eq!((page.response.status, page.text.as_str()), (200, ""), "{path}"),
            _ => assert_eq!(page.response.status, 404, "{path}: {}", page.text),
        }
        let visitor = Browser::new(server.main()).get(path);
        assert_eq!(visitor.response.status, 303, "{path}");
    }
    let log = server.run(&["security-log", "--json", "--action", "export."]).expect_success();
    assert_eq!(log.matches("stranger@example.test").count(), 2, "{log}");
}

fn wrong_formats_and_systems_are_explained(engine: Engine) {
    let server = start_with_layers(engine);
    let browser = Browser::of_owner(&server);
    let id = layer(&server, "parcels");
    let layer = format!("/map/layers/{id}/export");
    for path in [
        "/lists/folders/export".to_owned(),
        "/lists/folders/export?format=gpkg".to_owned(),
        format!("{layer}?format=gpx"),
        format!("{layer}?format=xlsx"),
    ] {
        let page = browser.get(&path);
        assert_eq!(page.response.status, 400, "{path}");
        page.shows("Choose one of the formats of the menu.");
    }
    assert_eq!(browser.get("/lists/tokens/export?format=csv").response.status, 404);
    assert_eq!(browser.get("/map/layers/parcels/export?format=csv").response.status, 404);
    let page = browser.get(&format!("{layer}?format=csv&crs=EPSG:1"));
    assert_eq!(page.response.status, 400);
    page.shows("Choose one of the reference systems of the menu.");
    // A system that cannot have these places.
    let pole = json!({ "type": "Point", "coordinates": [0.0, -90.0] });
    let far = json!({ "type": "Feature", "id": "far", "geometry": pole, "properties": {} });
    post(&server, "parcels", "F-1", &[far]);
    let french = [("Accept-Language", "fr".to_owned())];
    let far = format!("{layer}?format=csv&crs=EPSG:2154");
    let page = browser.request("GET", &far, &french, None);
    assert_eq!(page.response.status, 400, "{}", page.text);
    page.shows("hors de la zone");
    assert_eq!(page.response.header("content-disposition"), None);
    browser.page("/folders").shows("F-1");
}
