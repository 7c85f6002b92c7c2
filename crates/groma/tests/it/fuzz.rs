//! What nobody would write, sent through the front door: it is taken or refused, and does no harm.
//!
//! Each target has a corpus in `tests/fuzz/`: what is known to be awkward, and whatever was found. All of
//! it is tried every time, then some hundred inputs that are made from it, always the same ones. With
//! `FUZZ_SECONDS` (`make fuzz`) other ones are made for as long; what then fails is made as small as can
//! be and stays in the corpus.
//!
//! Made with proptest, which also makes what it finds smaller. A fuzzer that is led by coverage needs an
//! instrumented program, and that another toolchain; on the stable one it is led by the corpus.

mod harness;

use crate::{
    client::{API, Answer, encode},
    database::Engine,
    mvt,
    office::{NO_LIMIT, Office},
};
use harness::{changed, fuzz};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;

fn office() -> (Office, String) {
    let office = Office::start_with(Engine::Sqlite, &[NO_LIMIT]);
    let token = office.master_token();
    (office, token)
}

/// Checks that an answer is a success or one of these refusals, in the promised form.
#[track_caller]
fn is_fine(answer: &Answer, refusals: &[u16]) -> bool {
    if answer.status == 200 {
        return true;
    }
    assert!(refusals.contains(&answer.status), "{}: {}", answer.status, answer.text());
    if answer.json().get("details").is_some() {
        answer.spots();
    } else {
        answer.error(answer.status);
    }
    false
}

fn post_geojson(office: &Office, token: &str, body: &[u8]) -> Answer {
    let path = format!("{API}/geometries/geojson");
    let ask = office.geo().ask("POST", &path).token(token);
    ask.header("Content-Type", "application/geo+json").body(body).send()
}

#[test]
fn no_geojson_does_harm() {
    let (office, token) = office();
    let kept = Cell::new(0);
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
            let answer = post_geojson(&office, &token, body);
            if is_fine(&answer, &[400]) {
                let told = answer.json();
                let [received, created, updated, unchanged] =
                    ["received", "created", "updated", "unchanged"]
                        .map(|name| told[name].as_u64().unwrap());
                assert_eq!(received, created + updated + unchanged, "{told}");
                kept.set(kept.get() + created);
            }
            let layers = office.geo().ask("GET", &format!("{API}/layers")).token(&token).send();
            let count: u64 =
                layers.content().iter().map(|l| l["featureCount"].as_u64().unwrap()).sum();
            assert_eq!(count, kept.get(), "a body that was refused left something behind");
        },
    );
}

/// A number that is near where something is different, or anything else.
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

/// The tile of a place, and of some zoom.
fn tile(z: u32, longitude: f64, latitude: f64) -> (u32, u32, u32) {
    let side = f64::from(1_u32 << z);
    let north = latitude.clamp(-85.05, 85.05).to_radians();
    let y = (1.0 - north.tan().asinh() / std::f64::consts::PI) / 2.0 * side;
    let place = |value: f64| (value.max(0.0) as u32).min((1 << z) - 1);
    (z, place((longitude + 180.0) / 360.0 * side), place(y))
}

#[test]
fn every_shape_that_is_taken_is_drawn() {
    let (office, token) = office();
    let shapes = |_: &[Vec<u8>]| {
        // One feature that is another every time: a tile shows this shape and no other.
        let feature = |geometry: Value| json!({ "type": "Feature", "id": 1, "properties": { "a": 1 }, "geometry": geometry });
        geometry().prop_map(move |geometry| feature(geometry).to_string().into_bytes())
    };
    fuzz("tiles", 250, shapes, |body| {
        let answer = post_geojson(&office, &token, body);
        if !is_fine(&answer, &[400]) {
            return;
        }
        let told = answer.json();
        let Some(bbox) = told["bbox"].as_array() else { return };
        let bbox: Vec<f64> = bbox.iter().map(|side| side.as_f64().unwrap()).collect();
        assert!(
            bbox[0] >= -180.0 && bbox[2] <= 180.0 && bbox[1] >= -90.0 && bbox[3] <= 90.0,
            "{told}"
        );
        let layer = told["layerId"].as_str().unwrap();
        for z in [0, 1, 6, 13, 18, 24] {
            for (longitude, latitude) in
                [(bbox[0], bbox[1]), (bbox[2], bbox[3]), ((bbox[0] + bbox[2]) / 2.0, bbox[1])]
            {
                let (z, x, y) = tile(z, longitude, latitude);
                let path = format!("{API}/layers/{layer}/mvt/{z}/{x}/{y}");
                let drawn = office.geo().ask("GET", &path).token(&token).send();
                assert_eq!(drawn.status, 200, "{path}: {}", drawn.text());
                let drawn = mvt::read(&drawn.body);
                // Beyond these the map has no place.
                let is_on_map = bbox[1] < 85.0 && bbox[3] > -85.0;
                assert!(
                    z > 0 || drawn.is_some() || !is_on_map,
                    "the world shows nothing of {told}"
                );
            }
        }
    });
}

#[test]
fn no_list_parameters_and_no_tile_address_do_harm() {
    let (office, token) = office();
    office.import("folders", &[json!({ "name": "Chêne" }), json!({ "name": "100 % a_b" })]);
    let layer = post_geojson(&office, &token, br#"{"type":"Point","coordinates":[2,48]}"#).json();
    let layer = layer["layerId"].as_str().unwrap();
    let words = [
        "page=",
        "limit=",
        "term=",
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
            // Whatever is no part of an address is encoded, as any client has to.
            let sent: String = query
                .iter()
                .map(|byte| match byte {
                    b'!' | b'$'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'z' | b'~' => {
                        char::from(*byte).to_string()
                    }
                    byte => format!("%{byte:02X}"),
                })
                .collect();
            // Beyond that the address is no HTTP any more.
            if sent.len() > 8_000 {
                return;
            }
            for list in ["folders", "statuses"] {
                let answer =
                    office.main().get_raw(format!("{API}/{list}?{sent}").as_bytes(), &token);
                if is_fine(&answer, &[400]) {
                    let page = answer.json();
                    let [total, number, size, pages] =
                        ["total", "page", "size", "pages"].map(|name| page[name].as_u64().unwrap());
                    assert!(
                        (1..=100).contains(&size) && number >= 1 && pages == total.div_ceil(size),
                        "{page}"
                    );
                    assert!(
                        page["content"].as_array().unwrap().len() as u64 <= size.min(total),
                        "{page}"
                    );
                }
            }
            let path = format!("{API}/layers/{layer}/mvt/{}", sent.replace('?', "%3F"));
            let answer = office.geo().get_raw(path.as_bytes(), &token);
            if is_fine(&answer, &[400, 404]) {
                mvt::read(&answer.body);
            }
            let path = format!("{API}/folders/{}", encode(&String::from_utf8_lossy(query)));
            is_fine(&office.main().get_raw(path.as_bytes(), &token), &[400, 404]);
        },
    );
}

#[test]
fn no_webhook_address_does_harm() {
    let (office, token) = office();
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
            let ask = office
                .main()
                .ask("POST", &path)
                .token(&token)
                .header("Content-Type", "application/json");
            let answer = ask.body(json!({ "url": url }).to_string()).send();
            if !is_fine(&answer, &[400]) {
                return;
            }
            let made = answer.json();
            assert_eq!(made["url"], *url, "it reads back as it was given");
            let (scheme, rest) = url.split_once("://").unwrap();
            assert!(scheme.eq_ignore_ascii_case("https"), "{url}");
            let authority = rest.split(['/', '?', '\\']).next().unwrap();
            assert!(
                !authority.is_empty() && !authority.contains('@') && !url.contains('#'),
                "{url}"
            );
            assert!(!url.chars().any(|c| c.is_whitespace() || c.is_control()), "{url:?}");
            let path = format!("{path}/{}", made["id"].as_str().unwrap());
            assert_eq!(office.main().ask("DELETE", &path).token(&token).send().status, 204);
        },
    );
}

#[test]
fn no_file_that_is_imported_does_harm() {
    let (office, _) = office();
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
            // The first line says what it is; what it does not say is the first of each.
            let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
            let (line, contents) = input.split_at(end);
            let line = String::from_utf8_lossy(line);
            let said = |known: &[&'static str]| {
                *known
                    .iter()
                    .find(|word| line.split(' ').any(|said| said == **word))
                    .unwrap_or(&known[0])
            };
            let kind =
                said(&["folders", "assignments", "expenses", "budgets", "statuses", "layer"]);
            let formats: &[_] =
                if kind == "layer" { &["geojson", "ndjson"] } else { &["csv", "json", "ndjson"] };
            let name = format!("file.{}", said(formats));
            let done = office.import_file(kind, &name, contents.get(1..).unwrap_or_default(), &[]);
            assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
            assert!(!done.stderr.contains("panicked"), "{done:?}");
            if done.code == Some(1) && done.stdout.is_empty() {
                done.fails();
            } else {
                let report: Value = serde_json::from_str(&done.stdout).unwrap();
                let is_rejected = !report["rejected"].as_array().unwrap().is_empty();
                assert_eq!(is_rejected, done.code == Some(1), "{done:?}");
            }
        },
    );
}
