//! Fuzz tests of the program's inputs: each input is accepted or rejected and breaks nothing.
//!
//! Each target has a corpus of known difficult inputs and of earlier failures in `tests/fuzz/`. A run
//! tries the whole corpus and then some hundred mutations of it, always the same ones. With
//! `FUZZ_SECONDS` (`make fuzz`) it tries new mutations for that time; an input that fails is minimized
//! and added to the corpus.
//!
//! Inputs come from proptest, which also minimizes failures. A coverage-guided fuzzer would need an
//! instrumented build and so a nightly toolchain.

mod automation;
mod filters;
mod harness;
mod writes;

use groma_testkit::{
    API, Engine, Response, TestServer, http::percent_encode, mvt, server::NO_RATE_LIMIT,
};
use harness::{changed, fuzz};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;

fn server() -> (TestServer, String) {
    let server = TestServer::start_with(Engine::Sqlite, &[NO_RATE_LIMIT]);
    let token = server.create_full_token();
    (server, token)
}

/// Asserts a success or one of these errors in the contract's form. Returns whether it is a success.
#[track_caller]
fn is_accepted(response: &Response, errors: &[u16]) -> bool {
    if response.status == 200 {
        return true;
    }
    assert!(errors.contains(&response.status), "{}: {}", response.status, response.text());
    if response.json().get("details").is_some() {
        response.error_pointers_with(response.status);
    } else {
        response.error(response.status);
    }
    false
}

/// A query with the characters that a URL cannot contain percent-encoded, as every client does; `None` if it is
/// too long for a request target.
fn percent_encode_query(query: &[u8]) -> Option<String> {
    let encode = |byte: &u8| match byte {
        b'!' | b'$'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'z' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    let sent: String = query.iter().map(encode).collect();
    (sent.len() <= 8_000).then_some(sent)
}

fn post_geojson(server: &TestServer, token: &str, body: &[u8]) -> Response {
    let path = format!("{API}/geometries/geojson");
    let request = server.geo().request("POST", &path).token(token);
    request.header("Content-Type", "application/geo+json").body(body).send()
}

#[test]
fn geojson_input_breaks_nothing() {
    let (server, token) = server();
    let stored = Cell::new(0);
    let words = [
        "{\"type\":\"Point\",\"coordinates\":[1,2]}",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "null",
        "-",
        "1e308",
        "1e400",
        "NaN",
        "\"type\":",
        "\"Feature\"",
        "\"FeatureCollection\"",
        "\"GeometryCollection\"",
        "\"geometries\":",
        "\"features\":[",
        "\"coordinates\":",
        "\"geometry\":",
        "\"properties\":",
        "\"id\":",
        "\"bbox\":",
        "\"crs\":",
        "\\ud800",
        "\\u0000",
        "\u{feff}",
        "540",
        "-540.1",
        "90.000001",
        "[[[[",
        "]]]]",
        "123456789012345678901234567890",
    ];
    fuzz(
        "geojson",
        400,
        |corpus| changed(corpus, &words),
        |body| {
            let response = post_geojson(&server, &token, body);
            if is_accepted(&response, &[400]) {
                let body = response.json();
                let [received, created, updated, unchanged] =
                    ["received", "created", "updated", "unchanged"]
                        .map(|name| body[name].as_u64().unwrap());
                assert_eq!(received, created + updated + unchanged, "{body}");
                stored.set(stored.get() + created);
            }
            let layers = server.geo().request("GET", &format!("{API}/layers")).token(&token).send();
            let count: u64 =
                layers.content().iter().map(|l| l["featureCount"].as_u64().unwrap()).sum();
            assert_eq!(count, stored.get(), "a rejected body stored something");
        },
    );
}

/// A number close to a boundary value, or any other.
fn ordinate(bound: f64) -> impl Strategy<Value = f64> {
    let edges =
        vec![0.0, -0.0, 1e-9, bound, -bound, bound - 1e-9, 1e-9 - bound, bound / 3.0, 1e-300];
    prop_oneof![prop::sample::select(edges), -bound..=bound, -0.001..0.001]
}

fn position() -> impl Strategy<Value = Value> {
    (ordinate(540.0), ordinate(90.0)).prop_map(|(x, y)| json!([x, y]))
}

fn line(size: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(position(), size)
}

fn ring() -> impl Strategy<Value = Vec<Value>> {
    line(3..12).prop_map(|mut ring| {
        ring.push(ring[0].clone());
        ring
    })
}

fn geometry() -> impl Strategy<Value = Value> {
    let of =
        |kind: &'static str| move |coordinates| json!({ "type": kind, "coordinates": coordinates });
    let rings = || prop::collection::vec(ring(), 1..4).prop_map(|rings| json!(rings));
    let simple = prop_oneof![
        position().prop_map(of("Point")),
        line(1..9).prop_map(|at| json!(at)).prop_map(of("MultiPoint")),
        line(2..150).prop_map(|at| json!(at)).prop_map(of("LineString")),
        prop::collection::vec(line(2..9), 1..4)
            .prop_map(|at| json!(at))
            .prop_map(of("MultiLineString")),
        rings().prop_map(of("Polygon")),
        prop::collection::vec(rings(), 1..4).prop_map(|at| json!(at)).prop_map(of("MultiPolygon")),
    ];
    simple.prop_recursive(3, 8, 3, |inner| {
        let some = prop::collection::vec(inner, 0..4);
        some.prop_map(
            |geometries| json!({ "type": "GeometryCollection", "geometries": geometries }),
        )
    })
}

/// The tile of a zoom level that contains a position.
fn tile(z: u32, longitude: f64, latitude: f64) -> (u32, u32, u32) {
    let side = f64::from(1_u32 << z);
    let north = latitude.clamp(-85.05, 85.05).to_radians();
    let y = (1.0 - north.tan().asinh() / std::f64::consts::PI) / 2.0 * side;
    let place = |value: f64| (value.max(0.0) as u32).min((1 << z) - 1);
    (z, place((longitude + 180.0) / 360.0 * side), place(y))
}

#[test]
fn every_accepted_geometry_is_in_its_tile() {
    let (server, token) = server();
    let shapes = |_: &[Vec<u8>]| {
        // Every input replaces the same feature, so a tile shows only the last one.
        let feature = |geometry: Value| json!({ "type": "Feature", "id": 1, "properties": { "a": 1 }, "geometry": geometry });
        geometry().prop_map(move |geometry| feature(geometry).to_string().into_bytes())
    };
    fuzz("tiles", 250, shapes, |body| {
        let response = post_geojson(&server, &token, body);
        if !is_accepted(&response, &[400]) {
            return;
        }
        let body = response.json();
        let Some(bbox) = body["bbox"].as_array() else { return };
        let bbox: Vec<f64> = bbox.iter().map(|side| side.as_f64().unwrap()).collect();
        assert!(
            bbox[0] >= -180.0 && bbox[2] <= 180.0 && bbox[1] >= -90.0 && bbox[3] <= 90.0,
            "{body}"
        );
        let layer = body["layerId"].as_str().unwrap();
        for z in [0, 1, 6, 13, 18, 24] {
            for (longitude, latitude) in
                [(bbox[0], bbox[1]), (bbox[2], bbox[3]), ((bbox[0] + bbox[2]) / 2.0, bbox[1])]
            {
                let (z, x, y) = tile(z, longitude, latitude);
                let path = format!("{API}/layers/{layer}/mvt/{z}/{x}/{y}");
                let drawn = server.geo().request("GET", &path).token(&token).send();
                assert_eq!(drawn.status, 200, "{path}: {}", drawn.text());
                let drawn = mvt::decode(&drawn.body);
                // Web Mercator ends at these latitudes.
                let is_on_map = bbox[1] < 85.0 && bbox[3] > -85.0;
                assert!(
                    z > 0 || drawn.is_some() || !is_on_map,
                    "the world tile does not contain {body}"
                );
            }
        }
    });
}

#[test]
fn list_parameters_and_tile_paths_break_nothing() {
    let (server, token) = server();
    server.import("folders", &[json!({ "name": "Chêne" }), json!({ "name": "100 % a_b" })]);
    let layer = post_geojson(&server, &token, br#"{"type":"Point","coordinates":[2,48]}"#).json();
    let layer = layer["layerId"].as_str().unwrap();
    let words = [
        "page=",
        "limit=",
        "term=",
        "cursor=",
        "sort=-",
        "sort=name",
        "updatedSince=",
        "createdSince=2026-01-31T12:00:00Z",
        "reference=",
        "externalId=",
        "status=Quoted,",
        "owner=",
        "archived=true",
        "tag=",
        "clientName=",
        "dueBefore=2026-01-31",
        "dueAfter=",
        "bbox=179,-1,-179,1",
        "9999-12-31",
        "-180,-90,180,90",
        "1e308",
        "&",
        "=",
        "%",
        "%00",
        "%FF",
        "%C3%A9",
        "+",
        "2147483647",
        "2147483648",
        "-1",
        "0",
        "100",
        "101",
        "/",
        "//",
        "..",
        "%2F",
        "24",
        "16777215",
        "16777216",
        "mvt",
        "'",
        "\"",
        "*",
        "_",
        "(",
        "\u{301}",
    ];
    fuzz(
        "lists",
        400,
        |corpus| changed(corpus, &words),
        |query| {
            let Some(sent) = percent_encode_query(query) else { return };
            for list in ["folders", "statuses"] {
                let response =
                    server.main().get_raw(format!("{API}/{list}?{sent}").as_bytes(), &token);
                if is_accepted(&response, &[400]) {
                    let page = response.json();
                    let [total, size, pages] =
                        ["total", "size", "pages"].map(|name| page[name].as_u64().unwrap());
                    assert!((1..=100).contains(&size) && pages == total.div_ceil(size), "{page}");
                    assert!(
                        page["content"].as_array().unwrap().len() as u64 <= size.min(total),
                        "{page}"
                    );
                }
            }
            let path = format!("{API}/layers/{layer}/mvt/{}", sent.replace('?', "%3F"));
            let response = server.geo().get_raw(path.as_bytes(), &token);
            if is_accepted(&response, &[400, 404]) {
                mvt::decode(&response.body);
            }
            let path = format!("{API}/folders/{}", percent_encode(&String::from_utf8_lossy(query)));
            is_accepted(&server.main().get_raw(path.as_bytes(), &token), &[400, 404]);
        },
    );
}

#[test]
fn webhook_urls_break_nothing() {
    let (server, token) = server();
    let words = [
        "https://",
        "http://",
        "HTTPS://",
        "user@",
        ":pw@",
        "#",
        "?",
        "/",
        "\\",
        "//",
        ":",
        ":0",
        ":65536",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.1",
        "0x7f.1",
        "2130706433",
        "①②⑦.0.0.1",
        "localhost.",
        "%",
        "%00",
        "%zone",
        "\t",
        "\n",
        " ",
        "xn--",
        "。",
        "\u{ad}",
        "..",
        "@",
        "file://",
        "ftp://",
        "example.org",
    ];
    fuzz(
        "urls",
        400,
        |corpus| changed(corpus, &words),
        |url| {
            let url = String::from_utf8_lossy(url);
            let path = format!("{API}/webhooks/endpoints");
            let request = server
                .main()
                .request("POST", &path)
                .token(&token)
                .header("Content-Type", "application/json");
            let response = request.body(json!({ "url": url }).to_string()).send();
            if !is_accepted(&response, &[400]) {
                return;
            }
            let endpoint = response.json();
            assert_eq!(endpoint["url"], *url, "the URL is returned unchanged");
            let (scheme, rest) = url.split_once("://").unwrap();
            assert!(scheme.eq_ignore_ascii_case("https"), "{url}");
            let authority = rest.split(['/', '?', '\\']).next().unwrap();
            assert!(
                !authority.is_empty() && !authority.contains('@') && !url.contains('#'),
                "{url}"
            );
            assert!(!url.chars().any(|c| c.is_whitespace() || c.is_control()), "{url:?}");
            let path = format!("{path}/{}", endpoint["id"].as_str().unwrap());
            assert_eq!(server.main().request("DELETE", &path).token(&token).send().status, 204);
        },
    );
}

#[test]
fn imported_files_break_nothing() {
    let (server, _) = server();
    let words = [
        ",",
        ";",
        "\"",
        "\"\"",
        "\n",
        "\r\n",
        "\r",
        "\0",
        "\u{feff}",
        "reference",
        "name",
        "folder",
        "customFields.x",
        "tags",
        "owner",
        "statuses",
        "expenses",
        "budgets",
        "layer",
        "json",
        "ndjson",
        "csv",
        "geojson",
        "{",
        "}",
        "[",
        "]",
        ":",
        "null",
        "true",
        "1e400",
        "-0",
        "99999999999999999999",
        "2026-02-30",
        "EUR",
        "a@b.test",
        "\\ud800",
        "F-000001",
    ];
    fuzz(
        "imports",
        60,
        |corpus| changed(corpus, &words),
        |input| {
            // The first line names kind and format; by default they are the first of each list.
            let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
            let (line, contents) = input.split_at(end);
            let line = String::from_utf8_lossy(line);
            let first_known = |known: &[&'static str]| {
                *known
                    .iter()
                    .find(|word| line.split(' ').any(|other| other == **word))
                    .unwrap_or(&known[0])
            };
            let kind = first_known(&[
                "folders",
                "assignments",
                "expenses",
                "budgets",
                "statuses",
                "layer",
            ]);
            let formats: &[_] =
                if kind == "layer" { &["geojson", "ndjson"] } else { &["csv", "json", "ndjson"] };
            let name = format!("file.{}", first_known(formats));
            let done = server.import_file(kind, &name, contents.get(1..).unwrap_or_default(), &[]);
            assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
            assert!(!done.stderr.contains("panicked"), "{done:?}");
            if done.code == Some(1) && done.stdout.is_empty() {
                done.expect_failure();
            } else {
                let report: Value = serde_json::from_str(&done.stdout).unwrap();
                let is_rejected = !report["rejected"].as_array().unwrap().is_empty();
                assert_eq!(is_rejected, done.code == Some(1), "{done:?}");
            }
        },
    );
}
