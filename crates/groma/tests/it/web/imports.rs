//! Imports of files in the web application.

use super::{Browser, browser::Page};
use crate::{on_both_engines, sample_records, workbook::workbook};
use groma_testkit::{
    Engine, TestServer,
    server::NO_RATE_LIMIT,
    wait::{PATIENCE, wait_until},
};
use serde_json::{Value, json};
use std::io::{BufRead, Cursor, Write as _};
use zip::write::SimpleFileOptions;

on_both_engines! {
    layer_is_imported_after_a_preview
    exported_layer_changes_nothing
    replacing_a_layer_deletes_what_the_file_lacks
    fields_get_other_names_or_are_left_out
    shapefile_is_sent_as_several_files
    layer_of_a_file_and_reference_system_are_chosen
    columns_with_the_geometry_are_chosen
    recognized_columns_are_selected_and_can_be_changed
    sheet_of_a_workbook_is_chosen
    records_are_imported_by_their_columns
    columns_recognized_by_their_label_need_no_second_check
    fields_with_the_same_name_are_rejected
    preview_shows_what_the_check_of_a_layer_finds
    rejected_rows_are_a_download
    reasons_are_in_the_language_of_the_member
    files_with_too_many_rows_are_rejected
    cancelled_import_changes_nothing
    progress_ends_with_the_import_and_with_the_server
    import_needs_the_rights_of_its_member_to_the_end
    killed_server_imports_nothing_and_the_page_says_so
    imports_belong_to_their_member
    changed_options_are_checked_before_the_import
    new_layer_needs_a_name_of_its_own
    uploads_are_checked
    files_that_cannot_be_read_end_their_import
    separators_and_encodings_of_tables_are_recognized
    headers_of_an_upload_are_limited
    further_files_are_rejected_before_they_are_received
}

const MEMBER_PASSWORD: &str = "correct horse battery";

fn start(engine: Engine) -> TestServer {
    TestServer::start_with(engine, &[NO_RATE_LIMIT, ("GROMA_LIMITS__PAGES_PER_MINUTE", "0")])
}

fn features(count: u32) -> Value {
    let feature = |n: u32| {
        json!({ "type": "Feature", "id": format!("p{n}"),
            "geometry": { "type": "Point", "coordinates": [2.0 + f64::from(n) / 1e3, 48.0] },
            "properties": { "nom": format!("Point {n}"), "secret": n } })
    };
    json!({ "type": "FeatureCollection", "features": (0..count).map(feature).collect::<Vec<_>>() })
}

/// The page of an import, once it no longer works.
#[track_caller]
fn wait(browser: &Browser, path: &str) -> Page {
    wait_until(PATIENCE, || {
        let page = browser.page(path);
        match page.text.contains("data-import-events") {
            true => Err(page.text),
            false => Ok(page),
        }
    })
}

/// Sends a file and returns the path of its import.
#[track_caller]
fn send(browser: &Browser, into: &str, name: &str, content: &[u8]) -> String {
    let page = browser.upload(&[("into", into)], &[(name, content)]);
    assert_eq!(page.response.status, 303, "{}", page.text);
    page.location()
}

/// Sends a file and waits for its preview.
#[track_caller]
fn check(browser: &Browser, into: &str, name: &str, content: &[u8]) -> (String, Page) {
    let path = send(browser, into, name, content);
    let page = wait(browser, &path);
    (path, page)
}

/// The fields of the options form as a browser would send them, with other values for some.
fn options<'a>(page: &'a Page, changes: &[(&'a str, &'a str)]) -> Vec<(String, String)> {
    let form = page.between("data-import-options", "</form>").expect("a form of options");
    let mut fields = Vec::new();
    for part in form.split('<').skip(1) {
        let attribute = |name: &str| {
            let start = part.find(&format!("{name}=\""))? + name.len() + 2;
            Some(part[start..].split('"').next().unwrap_or_default().to_owned())
        };
        if part.starts_with("select") {
            fields.push((attribute("name").unwrap(), String::new(), true));
        } else if part.starts_with("option") {
            let last = fields.last_mut().unwrap();
            if part.contains(" selected") || (last.2 && last.1.is_empty()) {
                last.1 = attribute("value").unwrap();
                last.2 = !part.contains(" selected");
            }
        } else if part.starts_with("input") {
            let is_box = part.contains("checkbox") || part.contains("radio");
            if !is_box || part.contains(" checked") {
                fields.push((
                    attribute("name").unwrap(),
                    attribute("value").unwrap_or_default(),
                    false,
                ));
            }
        }
    }
    let mut fields: Vec<_> = fields
        .into_iter()
        .filter(|(name, ..)| name != "_csrf")
        .map(|(name, value, _)| (name, value))
        .collect();
    for (name, value) in changes {
        match fields.iter_mut().find(|(other, _)| other == name) {
            Some(field) => field.1 = (*value).to_owned(),
            None => fields.push(((*name).to_owned(), (*value).to_owned())),
        }
    }
    fields
}

fn borrowed(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Starts a checked import and waits for its end.
#[track_caller]
fn import(browser: &Browser, path: &str, page: &Page) -> Page {
    let fields = options(page, &[("action", "start")]);
    assert_eq!(browser.submit(path, path, &borrowed(&fields)), path);
    wait(browser, path)
}

/// A number of the preview.
#[track_caller]
fn count(page: &Page, name: &str) -> u64 {
    let cell = page.between(&format!("data-count=\"{name}\""), "</dd>").expect("a count");
    cell.rsplit('>').next().unwrap().replace(',', "").parse().unwrap()
}

fn layers(server: &TestServer) -> Vec<Value> {
    server.run(&["layer", "list", "--json"]).json().as_array().unwrap().clone()
}

fn exported(server: &TestServer, slug: &str) -> Vec<u8> {
    let file = server.directory().join("exported.geojson");
    server.run(&["export", "layer", file.to_str().unwrap(), "--layer", slug]).expect_success();
    std::fs::read(file).unwrap()
}

fn exported_features(server: &TestServer, slug: &str) -> Vec<Value> {
    let file: Value = serde_json::from_slice(&exported(server, slug)).unwrap();
    file["features"].as_array().unwrap().clone()
}

fn layer_is_imported_after_a_preview(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = features(1_500).to_string();
    let (path, page) = check(&browser, "new", "Bornes nord.geojson", file.as_bytes());
    assert_eq!(count(&page, "created"), 1_500);
    assert_eq!(
        ["updated", "unchanged", "deleted", "rejected"].map(|name| count(&page, name)),
        [0; 4]
    );
    page.shows("Point 0 · Point 1");
    page.shows("value=\"Bornes nord\"");
    assert!(layers(&server).is_empty(), "the check creates no layer");
    let done = import(&browser, &path, &page);
    done.shows("Created: 1,500");
    done.shows("/map#map=");
    assert_eq!(layers(&server)[0]["slug"], "bornes-nord");
    assert_eq!(exported_features(&server, "bornes-nord").len(), 1_500);
    browser.page("/imports").shows("Bornes nord.geojson");
    // The events of an import are sent at once, also to a browser that accepts compression.
    let (event, _) = browser.open_events(&format!("{path}/events"));
    assert!(event.contains("\"state\":\"done\""), "{event}");
    // It cannot be imported again.
    let again = browser.send_form("/imports", &path, &[("action", "start")]);
    assert_eq!(again.response.status, 409);
    assert_eq!(layers(&server)[0]["featureCount"], 1_500);
}

fn exported_layer_changes_nothing(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(20).to_string().as_bytes());
    import(&browser, &path, &page);
    let layer = layers(&server)[0].clone();
    let file = exported(&server, "lots");
    let (path, page) = check(&browser, layer["id"].as_str().unwrap(), "lots.geojson", &file);
    assert_eq!([count(&page, "created"), count(&page, "unchanged")], [0, 20]);
    import(&browser, &path, &page).shows("Unchanged: 20");
    assert_eq!(layers(&server)[0]["revision"], layer["revision"]);
}

fn replacing_a_layer_deletes_what_the_file_lacks(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(20).to_string().as_bytes());
    import(&browser, &path, &page);
    let id = layers(&server)[0]["id"].as_str().unwrap().to_owned();
    let (path, page) = check(&browser, &id, "lots.geojson", features(15).to_string().as_bytes());
    assert_eq!(count(&page, "deleted"), 0);
    let fields = options(&page, &[("mode", "replace"), ("action", "check")]);
    browser.submit(&path, &path, &borrowed(&fields));
    let page = wait(&browser, &path);
    assert_eq!([count(&page, "deleted"), count(&page, "unchanged")], [5, 15]);
    import(&browser, &path, &page).shows("Deleted: 5");
    assert_eq!(exported_features(&server, "lots").len(), 15);
}

fn fields_get_other_names_or_are_left_out(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(2).to_string().as_bytes());
    let mut fields = options(&page, &[("id_field", "nom"), ("action", "check")]);
    let mut becomes = fields.iter_mut().filter(|(name, _)| name == "field");
    becomes.next().unwrap().1 = "name".to_owned();
    becomes.next().unwrap().1 = String::new();
    browser.submit(&path, &path, &borrowed(&fields));
    let page = wait(&browser, &path);
    import(&browser, &path, &page).shows("Created: 2");
    let stored = exported_features(&server, "lots");
    assert_eq!(stored[0]["properties"], json!({ "name": "Point 0" }));
    assert_eq!(stored[0]["id"], "Point 0");
}

fn shapefile_is_sent_as_several_files(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    import(&browser, &path, &page);
    let archive = server.directory().join("lots.zip");
    server.run(&["export", "layer", archive.to_str().unwrap(), "--layer", "lots"]).expect_success();
    let mut archive = zip::ZipArchive::new(std::fs::File::open(archive).unwrap()).unwrap();
    let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut files = Vec::new();
    for name in &names {
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut archive.by_name(name).unwrap(), &mut content).unwrap();
        files.push((name.as_str(), content));
    }
    let files: Vec<_> = files.iter().map(|(name, content)| (*name, content.as_slice())).collect();
    let sent = browser.upload(&[("into", "new")], &files);
    assert_eq!(sent.response.status, 303, "{}", sent.text);
    let path = sent.location();
    let page = wait(&browser, &path);
    let page = check_again(&browser, &path, &page, &[("name", "Lots of a Shapefile")]);
    assert_eq!(count(&page, "created"), 3, "{}", page.text);
    // A file that belongs to no Shapefile.
    let sent = browser.upload(&[], &[("a.csv", b"a"), ("b.csv", b"b")]);
    assert_eq!(sent.response.status, 400);
}

fn layer_of_a_file_and_reference_system_are_chosen(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    // Something near Lyon, so that the systems used there are offered.
    let near = json!({ "type": "Point", "coordinates": [4.85, 45.76] });
    let (path, page) = check(&browser, "new", "near.geojson", near.to_string().as_bytes());
    import(&browser, &path, &page);
    let survey = "name;x;y\nA;842500,25;6519800,5\nB;842600;6519900\n";
    let (path, page) = check(&browser, "new", "survey.csv", survey.as_bytes());
    page.shows("does not name its reference system");
    page.shows("value=\"EPSG:2154\"");
    page.hides("data-import-start");
    let fields = options(&page, &[("crs_code", "EPSG:2154"), ("action", "check")]);
    browser.submit(&path, &path, &borrowed(&fields));
    let page = wait(&browser, &path);
    assert_eq!(count(&page, "created"), 2);
    import(&browser, &path, &page).shows("Created: 2");
    let stored = exported_features(&server, "survey");
    let longitude = stored[0]["geometry"]["coordinates"][0].as_f64().unwrap();
    assert!((4.8..4.9).contains(&longitude), "{longitude}");
}

/// Checks a file again with other options.
#[track_caller]
fn check_again(browser: &Browser, path: &str, page: &Page, changes: &[(&str, &str)]) -> Page {
    let fields = options(page, &[changes, &[("action", "check")]].concat());
    browser.submit(path, path, &borrowed(&fields));
    wait(browser, path)
}

/// The selected value of a menu of the options form.
#[track_caller]
fn selected(page: &Page, name: &str) -> String {
    let fields = options(page, &[]);
    fields.into_iter().find(|(other, _)| other == name).expect("a field").1
}

fn columns_with_the_geometry_are_chosen(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file =
        "nom;rechts;hoch;form\nA;4,85;45,76;POINT (4.9 45.8)\nB;4,86;45,77;POINT (4.9 45.9)\n";
    let (path, page) = check(&browser, "new", "points.csv", file.as_bytes());
    page.shows("No column is recognized as the geometry");
    page.hides("data-import-start");
    assert_eq!(
        ["x_column", "y_column", "wkt_column"].map(|name| selected(&page, name)),
        ["", "", ""]
    );
    // One of two columns is not enough.
    let page = check_again(&browser, &path, &page, &[("x_column", "rechts")]);
    page.shows("No column is recognized as the geometry");
    let both = [("x_column", "rechts"), ("y_column", "rechts")];
    let page = check_again(&browser, &path, &page, &both);
    page.shows("x and y must be in different columns");
    page.hides("data-import-start");
    let page = check_again(&browser, &path, &page, &[("y_column", "hoch")]);
    page.shows("does not name its reference system");
    page.shows("value=\"EPSG:4326\"");
    let page = check_again(&browser, &path, &page, &[("crs_code", "EPSG:4326")]);
    assert_eq!([count(&page, "created"), count(&page, "rejected")], [2, 0]);
    assert_eq!(selected(&page, "x_column"), "rechts");
    import(&browser, &path, &page).shows("Created: 2");
    let stored = exported_features(&server, "points");
    assert_eq!(stored[1]["geometry"]["coordinates"], json!([4.86, 45.77]));
    assert_eq!(stored[1]["properties"], json!({ "nom": "B", "form": "POINT (4.9 45.9)" }));
}

fn recognized_columns_are_selected_and_can_be_changed(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = "lon,lat,form\n4.85,45.76,POINT (4.9 45.8)\n";
    let (path, page) = check(&browser, "new", "points.csv", file.as_bytes());
    assert_eq!([selected(&page, "x_column"), selected(&page, "y_column")], ["lon", "lat"]);
    assert_eq!(count(&page, "created"), 1);
    let page = check_again(&browser, &path, &page, &[("wkt_column", "form"), ("crs", "EPSG:4326")]);
    assert_eq!(selected(&page, "wkt_column"), "form");
    import(&browser, &path, &page).shows("Created: 1");
    let stored = exported_features(&server, "points");
    assert_eq!(stored[0]["geometry"]["coordinates"], json!([4.9, 45.8]));
    // What is recognized can be imported as it is, and a file of records has no such menus.
    let (path, page) = check(&browser, "new", "again.csv", file.as_bytes());
    import(&browser, &path, &page).shows("Created: 1");
    let (_, page) = check(&browser, "folders", "folders.csv", b"name,lon,lat\nA,1,2\n");
    page.hides("x_column");
    let (_, page) = check(&browser, "new", "lots.geojson", features(1).to_string().as_bytes());
    page.hides("x_column");
}

fn sheet_of_a_workbook_is_chosen(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let cover: &[&[&str]] = &[&["Our folders", "Our folders"], &["of", "2026"]];
    let rows: &[&[&str]] = &[&["reference", "name"], &["F-1", "One"], &["F-2", "Two"]];
    let file = workbook(&[("Cover", cover), ("List", rows)]);
    let (path, page) = check(&browser, "folders", "folders.xlsx", &file);
    // The first sheet is no table, but another one can be chosen.
    page.shows("column `Our folders` appears twice");
    page.hides("data-import-start");
    assert_eq!(selected(&page, "sheet"), "");
    let page = check_again(&browser, &path, &page, &[("sheet", "List")]);
    assert_eq!([count(&page, "created"), count(&page, "rejected")], [2, 0]);
    assert_eq!(selected(&page, "sheet"), "List");
    import(&browser, &path, &page).shows("Created: 2");
    let token = server.create_full_token();
    assert_eq!(server.get("/folders/F-2", &token).json()["name"], "Two");
    let (_, page) = check(&browser, "folders", "one.xlsx", &workbook(&[("List", rows)]));
    assert_eq!(count(&page, "unchanged"), 2);
    page.hides("name=\"sheet\"");
}

fn records_are_imported_by_their_columns(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = "Reference,Name,CLIENT,Remark\nF-1,Chêne,Town of Chêne,x\nF-2,Orme,,y\n";
    let (path, page) = check(&browser, "folders", "folders.csv", file.as_bytes());
    page.shows("These columns are not fields of the records: Remark");
    page.hides("data-import-start");
    let mut fields = options(&page, &[("action", "check")]);
    fields.iter_mut().rfind(|(name, _)| name == "field").unwrap().1 = "description".to_owned();
    browser.submit(&path, &path, &borrowed(&fields));
    let page = wait(&browser, &path);
    assert_eq!([count(&page, "created"), count(&page, "rejected")], [2, 0]);
    let done = import(&browser, &path, &page);
    done.shows("Created: 2");
    let token = server.create_full_token();
    let folder = server.get("/folders/F-1", &token).json();
    assert_eq!(folder["clientName"], "Town of Chêne", "{folder}");
    assert_eq!(folder["description"], "x");
    // The person, not the operator, did it.
    browser.page("/settings/activity").shows("F-1");
}

fn preview_shows_what_the_check_of_a_layer_finds(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let square = |west: f64| {
        let east = west + 0.001;
        json!({ "type": "Feature", "properties": {}, "geometry": { "type": "Polygon", "coordinates":
            [[[west, 48.0], [east, 48.0], [east, 48.001], [west, 48.001], [west, 48.0]]] } })
    };
    // The second one overlaps the first, and the third repeats it.
    let features = [square(2.0), square(2.0005), square(2.0005), square(2.1)];
    let file = json!({ "type": "FeatureCollection", "features": features });
    let (_, page) = check(&browser, "new", "lots.geojson", file.to_string().as_bytes());
    page.shows("Overlap");
    page.shows("Same shape twice");
    page.shows("/map#map=19/48.000");
    page.shows("data-import-start");
}

fn rejected_rows_are_a_download(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let rows: String =
        (0..50).map(|n| format!("F-{n},{}\n", if n % 2 == 0 { "" } else { "x" })).collect();
    let file = format!("reference,name\n{rows}");
    let (path, page) = check(&browser, "folders", "folders.csv", file.as_bytes());
    assert_eq!([count(&page, "created"), count(&page, "rejected")], [25, 25]);
    page.hides("data-import-start");
    page.shows("5 more are in the download");
    page.shows(">Not ready</span>");
    page.shows("Download rejected rows");
    let csv = browser.page(&format!("{path}/rejected.csv")).text;
    assert_eq!(csv.lines().count(), 26, "{csv}");
    assert!(csv.starts_with("line,reason\n2,"), "{csv}");
    let fields = options(&page, &[("keep_good", "1"), ("action", "check")]);
    browser.submit(&path, &path, &borrowed(&fields));
    let page = wait(&browser, &path);
    let done = import(&browser, &path, &page);
    done.shows("Created: 25");
    done.shows("Left out, because they were rejected: 25");
    done.shows("rejected.csv");
}

fn reasons_are_in_the_language_of_the_member(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = r#"{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[2,48]}},
{"type":"Feature","properties":{},"geometry":
{"type":"Polygon","coordinates":[[[2,48],[3,48],[3,49],[2,49]]]}},
{"type":"Feature","properties":{},"geometry":
{"type":"LineString","coordinates":[[2,48],[2,48],[3,48],[3,48]]}}]}"#;
    let (path, page) = check(&browser, "new", "lots.geojson", file.as_bytes());
    page.shows("Feature 2, line 4");
    page.shows("/geometry/coordinates/0: a ring must be closed");
    let csv = browser.page(&format!("{path}/rejected.csv")).text;
    assert!(csv.starts_with("feature,line,reason\n2,4,/geometry/coordinates/0: a ring"), "{csv}");

    browser.submit("/account", "/account/preferences", &[("language", "fr")]);
    let (path, page) = check(&browser, "new", "lots.geojson", file.as_bytes());
    page.shows("Objet 2, ligne 4");
    page.shows("/geometry/coordinates/0: un anneau doit être fermé");
    page.shows("répète le point précédent (2 points répétés dans cette ligne)");
    let csv = browser.page(&format!("{path}/rejected.csv")).text;
    assert!(csv.starts_with("objet,ligne,motif\n2,4,"), "{csv}");
    let (_, page) = check(&browser, "new", "survey.gpkg", b"no database");
    page.shows("le fichier n’est pas un GeoPackage");
    let (_, page) = check(&browser, "new", "survey.csv", b"wkt,n\nSRID=2042;POINT(1 2),1\n");
    page.shows("EPSG:2042 n’est pas pris en charge : aucune transformation vers WGS 84");
    let (_, page) = check(&browser, "folders", "folders.csv", b"reference,name\nF-1,A\nF-1,B\n");
    page.shows("« F-1 » figure déjà à la ligne 2");
    let line = json!({ "type": "Feature", "properties": {},
        "geometry": { "type": "LineString", "coordinates": [[2.0, 48.0]] } });
    let drawn = browser.post_json("/map/geometries", &json!({ "feature": line }));
    assert!(drawn.text.contains("une ligne doit avoir au moins deux points"), "{}", drawn.text);
    let crs = [("name", "Lots"), ("crs", "EPSG:2042")];
    browser
        .send_form("/settings/layers/new", "/settings/layers/new", &crs)
        .shows("n’est pas pris en charge");
}

fn files_with_too_many_rows_are_rejected(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = format!("reference,name\nF-1,One\n{}", "F-2,\n".repeat(150_000));
    let (_, page) = check(&browser, "folders", "folders.csv", file.as_bytes());
    page.shows("The file has more than 100,000 rows.");
    page.hides("data-import-start");
    let (_, page) = check(&browser, "folders", "long.csv", &[b'x'; 3 << 20]);
    page.shows("line 1: a row has more than 1 MiB");
}

fn cancelled_import_changes_nothing(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    browser.submit(&path, &format!("{path}/cancel"), &[]);
    browser.page(&path).shows("Nothing was imported.");
    let fields = options(&page, &[("action", "start")]);
    let late = browser.send_form("/imports", &path, &borrowed(&fields));
    assert_eq!(late.response.status, 409);
    assert!(layers(&server).is_empty());
}

fn progress_ends_with_the_import_and_with_the_server(engine: Engine) {
    let mut server = start(engine);
    let browser = Browser::of_owner(&server);
    let rest = |mut stream: Box<dyn BufRead>| {
        let mut rest = String::new();
        while stream.read_line(&mut rest).expect("the stream ends") > 0 {
            if rest.ends_with("\r\n0\r\n") {
                break;
            }
        }
        rest
    };
    let (path, _) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    let (event, stream) = browser.open_events(&format!("{path}/events"));
    assert!(event.contains(r#""state":"ready""#), "{event}");
    browser.submit(&path, &format!("{path}/cancel"), &[]);
    let end = rest(Box::new(stream));
    assert!(end.contains(r#""state":"cancelled""#), "{end}");
    assert!(end.ends_with("\r\n0\r\n"), "{end}");
    let (path, _) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    let (_, stream) = browser.open_events(&format!("{path}/events"));
    assert_eq!(server.stop(), Some(0));
    // A stream that keeps the server waiting is aborted, without the chunk that ends it.
    let end = rest(Box::new(stream));
    assert!(end.ends_with("\r\n0\r\n"), "{end}");
}

fn import_needs_the_rights_of_its_member_to_the_end(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    // The session that sent the file ends; another one of the same member starts the import.
    browser.submit("/", "/logout", &[]);
    let other = Browser::of_owner(&server);
    let fields = options(&page, &[("action", "start")]);
    other.submit(&path, &path, &borrowed(&fields));
    let failed = wait(&other, &path);
    failed.shows("Nothing was imported.");
    assert!(layers(&server).is_empty());
}

fn killed_server_imports_nothing_and_the_page_says_so(engine: Engine) {
    let mut server = start(engine);
    server.set_env("GROMA_LIMITS__PAGES_PER_MINUTE", "0");
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    let fields = options(&page, &[("action", "start")]);
    server.kill();
    server.serve();
    let browser = Browser::of_owner(&server);
    if engine == Engine::Postgres {
        // Other servers could have the file, so this takes as long as a missing heartbeat.
        browser.page(&path).hides("was stopped");
    }
    let page = wait_until(2 * PATIENCE, || {
        let page = browser.page(&path);
        match page.text.contains("Interrupted") {
            true => Ok(page),
            false => Err(page.text),
        }
    });
    page.shows("Nothing was imported.");
    let late = browser.send_form("/imports", &path, &borrowed(&fields));
    assert_eq!(late.response.status, 409);
    assert!(layers(&server).is_empty());
}

fn columns_recognized_by_their_label_need_no_second_check(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = b"Reference,NAME,Client\nF-1,Survey,Town council\n";
    let (path, page) = check(&browser, "folders", "folders.csv", file);
    assert_eq!(count(&page, "created"), 1);
    import(&browser, &path, &page).shows("Created: 1");
    browser.page("/folders").shows("Town council");
}

fn fields_with_the_same_name_are_rejected(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = b"name,Client,clientName\nSurvey,Town council,Other\n";
    let (path, page) = check(&browser, "folders", "folders.csv", file);
    page.shows("Several fields get the name “clientName”");
    page.hides("data-import-start");
    let fields: Vec<_> = options(&page, &[])
        .into_iter()
        .filter(|(name, _)| name != "source_field" && name != "field")
        .collect();
    let mut fields = borrowed(&fields);
    for (source, field) in [("name", "name"), ("Client", "clientName"), ("clientName", "")] {
        fields.extend([("source_field", source), ("field", field)]);
    }
    fields.push(("action", "check"));
    browser.submit(&path, &path, &fields);
    import(&browser, &path, &wait(&browser, &path)).shows("Created: 1");
    browser.page("/folders").shows("Town council");
}

fn imports_belong_to_their_member(engine: Engine) {
    let server = start(engine);
    for (email, role) in [("editor@example.test", "editor"), ("viewer@example.test", "viewer")] {
        let input = format!("{MEMBER_PASSWORD}\n");
        let add =
            ["user", "add", email, "--workspace", groma_testkit::server::WORKSPACE, "--role", role];
        server.run_with_input(&input, &add).expect_success();
    }
    let [editor, viewer] = ["editor@example.test", "viewer@example.test"]
        .map(|email| Browser::logged_in(&server, email, MEMBER_PASSWORD));
    let owner = Browser::of_owner(&server);
    let (path, page) = check(&owner, "new", "lots.geojson", features(3).to_string().as_bytes());
    assert_eq!(editor.get(&path).response.status, 404);
    assert_eq!(viewer.get("/imports").response.status, 403);
    assert_eq!(viewer.upload(&[], &[("a.csv", b"name\nx\n")]).response.status, 403);
    import(&owner, &path, &page);
    // Editors import into layers, but create none.
    let into = layers(&server)[0]["id"].as_str().unwrap().to_owned();
    let (path, page) = check(&editor, &into, "more.geojson", features(4).to_string().as_bytes());
    page.hides("value=\"new\"");
    import(&editor, &path, &page).shows("Created: 1");
    owner.page(&path).shows("more.geojson");
    let (path, page) = check(&editor, &into, "more.geojson", features(5).to_string().as_bytes());
    let fields = options(&page, &[("into", "new"), ("name", "own"), ("action", "check")]);
    assert_eq!(editor.send_form(&path, &path, &borrowed(&fields)).response.status, 403);
    let sent = send(&editor, "new", "own.geojson", features(1).to_string().as_bytes());
    let page = wait(&editor, &sent);
    // No other layer is chosen for them.
    page.shows("Choose where to import the file.");
    page.hides("data-import-start");
    let fields = options(&page, &[("into", "new"), ("name", "own"), ("action", "start")]);
    assert_eq!(editor.send_form(&sent, &sent, &borrowed(&fields)).response.status, 403);
    assert_eq!(layers(&server).len(), 1);
}

fn changed_options_are_checked_before_the_import(engine: Engine) {
    let server = start(engine);
    sample_records::fill(&server);
    let browser = Browser::of_owner(&server);
    let (path, page) = check(&browser, "new", "lots.geojson", features(3).to_string().as_bytes());
    let fields = options(&page, &[("name", "Other"), ("action", "start")]);
    let changed = browser.submit(&path, &path, &borrowed(&fields));
    let page = wait(&browser, &changed);
    page.shows("The options have changed");
    assert!(layers(&server).is_empty());
    import(&browser, &path, &page);
    assert_eq!(layers(&server)[0]["slug"], "other");
}

fn uploads_are_checked(engine: Engine) {
    let environment = [NO_RATE_LIMIT, ("GROMA_LIMITS__IMPORT_BYTES", "20000")];
    let server = TestServer::start_with(engine, &environment);
    let browser = Browser::of_owner(&server);
    let stranger = Browser::new(server.main());
    let sent = stranger.upload_with_token("x", &[], &[("a.csv", b"name\n")]);
    assert!(sent.location().starts_with("/login"), "{}", sent.text);
    let without_token = browser.upload_with_token("", &[], &[("a.csv", b"name\nx\n")]);
    assert_eq!(without_token.response.status, 403);
    let large = browser.upload(&[], &[("a.csv", &vec![b'x'; 30_000])]);
    assert_eq!(large.response.status, 413);
    for (name, content) in [("", &b"x"[..]), ("a.exe", b"x"), ("noextension", b"x")] {
        let sent = browser.upload(&[], &[(name, content)]);
        assert_eq!(sent.response.status, 400, "{name}");
    }
    browser.upload(&[], &[("plan.dwg", b"x")]).shows("ogr2ogr");
    // A path in a file name leads nowhere.
    let path = send(&browser, "folders", "../../x.csv", b"name\nx\n");
    browser.page(&path).shows("x.csv");
    assert!(layers(&server).is_empty());
}

fn files_that_cannot_be_read_end_their_import(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let escaping = archive("../../lots.shp", b"x");
    let nested = archive("lots.zip", &escaping);
    let entities = "<!DOCTYPE kml [<!ENTITY a \"a\">]><kml><Document>&a;</Document></kml>";
    let utf_16: Vec<u8> = "\u{feff}name\nA\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    // More than the imports that a member can have at a time.
    for (into, name, content, reason) in [
        ("", "a.gpkg", &b"not a database"[..], "the file is not a GeoPackage"),
        ("", "a.zip", b"PK", "the archive"),
        ("", "escaping.zip", escaping.as_slice(), "a path that leads outside of it"),
        ("", "nested.zip", nested.as_slice(), "the archive contains another archive"),
        ("", "a.xlsx", b"PK", "the archive cannot be read"),
        ("", "a.geojson", b"{\"type\":\"FeatureCollection\",\n\"features\":[{", "line 2: "),
        ("", "a.fgb", b"fgb", "the file is "),
        ("", "a.kml", entities.as_bytes(), "document type definitions and entities"),
        ("folders", "a.csv", utf_16.as_slice(), "the file is UTF-16; save it as CSV UTF-8"),
        ("new", "b.csv", utf_16.as_slice(), "the file is UTF-16; save it as CSV UTF-8"),
    ] {
        let (path, page) = check(&browser, into, name, content);
        page.shows(reason);
        page.shows(">Failed</span>");
        page.shows("Nothing was imported.");
        page.hides("data-import-options");
        let cancel = browser.send_form("/imports", &format!("{path}/cancel"), &[]);
        assert_eq!(cancel.response.status, 409, "{name}");
    }
    // As records it has no rows, but as a layer it can be read.
    let lots = features(1).to_string();
    let (path, page) = check(&browser, "folders", "lots.json", lots.as_bytes());
    page.shows(">Not ready</span>");
    browser.page("/imports").shows("Not ready");
    let page = check_again(&browser, &path, &page, &[("into", "new"), ("name", "lots")]);
    page.shows(">Ready to import</span>");
    import(&browser, &path, &page).shows("Created: 1");
}

/// A zip archive of one file.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(name, SimpleFileOptions::default()).unwrap();
    zip.write_all(content).unwrap();
    zip.finish().unwrap().into_inner()
}

fn separators_and_encodings_of_tables_are_recognized(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = b"reference\tname\tclientName\nF-1\tCh\xEAne\tTown, council\n";
    let (path, page) = check(&browser, "folders", "folders.csv", file);
    page.shows("Town, council");
    assert_eq!([count(&page, "created"), count(&page, "rejected")], [1, 0]);
    import(&browser, &path, &page).shows("Created: 1");
    browser.page("/folders").shows("Chêne");
    let file = b"nom\tlon\tlat\nCh\xEAne\t4.85\t45.76\n";
    let (path, page) = check(&browser, "new", "trees.csv", file);
    import(&browser, &path, &page).shows("Created: 1");
    assert_eq!(exported_features(&server, "trees")[0]["properties"], json!({ "nom": "Chêne" }));
}

fn new_layer_needs_a_name_of_its_own(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let file = features(3).to_string();
    let (path, page) = check(&browser, "new", "lots.geojson", file.as_bytes());
    // There is nothing to update.
    page.hides("name=\"mode\"");
    page.shows("Reference system of the file: ");
    import(&browser, &path, &page);
    let (path, page) = check(&browser, "new", "Lots!.geojson", file.as_bytes());
    page.shows("Layer “lots” already has the short name “lots”");
    page.shows(">Not ready</span>");
    page.hides("data-import-start");
    let page = check_again(&browser, &path, &page, &[("name", "Other lots")]);
    assert_eq!(count(&page, "created"), 3);
    import(&browser, &path, &page).shows("Created: 3");
    // Or into the layer that has the name.
    let all = layers(&server);
    let lots = all.iter().find(|layer| layer["slug"] == "lots").unwrap();
    let into = [("into", lots["id"].as_str().unwrap())];
    let (path, page) = check(&browser, "new", "lots.geojson", file.as_bytes());
    let page = check_again(&browser, &path, &page, &into);
    page.shows("name=\"mode\"");
    assert_eq!(count(&page, "unchanged"), 3);
}

fn headers_of_an_upload_are_limited(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let token = browser.get("/account").token();
    let field = |name: &str, content: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\r\n\r\n{content}\r\n")
    };
    let file = field("file\"; filename=\"lots.csv\"", "name\nx");
    let form = format!("{}{file}--x--\r\n", field("_csrf\"", &token));
    let long = "y".repeat(4 << 20);
    // Before the first field, and in its header.
    let long_header = format!("--x\r\nX-Header: {long}\r\n\r\n{form}");
    for (body, status) in [(format!("{long}\r\n{form}"), 413), (long_header, 413), (form, 303)] {
        let sent = browser.send_multipart("x", body.into_bytes());
        assert_eq!(sent.response.status, status, "{}", sent.text);
    }
    // The content of a file has no such limit.
    let sent = browser.upload(&[], &[("lots.csv", long.as_bytes())]);
    assert_eq!(sent.response.status, 303, "{}", sent.text);
}

fn further_files_are_rejected_before_they_are_received(engine: Engine) {
    let server = start(engine);
    let browser = Browser::of_owner(&server);
    let paths: Vec<_> =
        (0..5).map(|_| send(&browser, "folders", "folders.csv", b"name\nA\n")).collect();
    let token = browser.get("/account").token();
    let field = format!("--x\r\nContent-Disposition: form-data; name=\"_csrf\"\r\n\r\n{token}\r\n");
    // A body that ends too early.
    let send_part = || browser.send_multipart("x", field.clone().into_bytes()).response.status;
    assert_eq!(send_part(), 429);
    browser.submit(&paths[0], &format!("{}/cancel", paths[0]), &[]);
    assert_eq!(send_part(), 400);
}
