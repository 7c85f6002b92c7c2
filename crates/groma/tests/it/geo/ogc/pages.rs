//! Pages of the OGC API for people.

use super::{Map, OGC, assert_problem, collection, feature, open, point, points, square};
use crate::on_both_engines;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use groma_testkit::{Engine, Response};
use serde_json::{Value, json};

on_both_engines! {
    browsers_get_pages
    programs_get_documents
    pages_speak_the_language_of_the_browser
    values_are_escaped
    browser_is_asked_for_the_token
    pages_follow_the_next_link
    pages_have_at_most_a_hundred_items
    large_shapes_are_not_drawn
    page_of_too_large_features_leads_to_their_document
}

const ITEMS: &str = "/collections/submissions/items";
const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

fn open_with_features(engine: Engine) -> Map {
    let map = open(engine);
    map.post("", &feature(json!("a"), square(2.0, 48.0, 0.5), json!({ "use": "meadow" })));
    map.post("", &feature(json!("b"), point(2.5, 48.5), json!({ "use": "wood", "area": 12 })));
    map
}

/// The text of a page.
#[track_caller]
fn page(response: &Response) -> String {
    let content_type = response.header("content-type");
    assert_eq!(
        (response.status, content_type),
        (200, Some("text/html; charset=utf-8")),
        "{response:?}"
    );
    let policy = response.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let text = response.text();
    assert!(!text.contains("<script") && !text.contains("style=\""), "{text}");
    text
}

fn browsers_get_pages(engine: Engine) {
    let map = open_with_features(engine);
    let id = map.items("")[0]["id"].as_str().unwrap().to_owned();
    for (path, content) in [
        (String::new(), "/ogc/collections"),
        ("/".to_owned(), "/ogc/conformance"),
        ("/conformance".to_owned(), "conf/html"),
        ("/collections".to_owned(), "href=\"/ogc/collections/submissions\""),
        ("/collections/submissions".to_owned(), "/ogc/collections/submissions/items"),
        (ITEMS.to_owned(), "meadow"),
        (format!("{ITEMS}/{id}"), "meadow"),
        ("/api".to_owned(), "PATCH /collections/{collectionId}/items/{featureId}"),
        ("/tileMatrixSets".to_owned(), "WebMercatorQuad"),
        ("/collections/submissions/tiles".to_owned(), "/tiles"),
        ("/collections/submissions/styles".to_owned(), "default"),
    ] {
        let text = page(&map.ogc_with(&path, &[BROWSER]));
        assert!(text.contains(content), "{path}: {text}");
        assert_eq!(page(&map.ogc(&format!("{path}?f=html"))), text);
        // The document of the page is one link away.
        let json =
            text.split("application/json\" href=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(map.ogc(json.strip_prefix(OGC).unwrap()).status, 200, "{json}");
    }
    let text = page(&map.ogc_with(&format!("{ITEMS}?limit=1"), &[BROWSER]));
    assert!(text.contains("<svg") && text.contains("<path d=\"M"), "{text}");
    assert!(text.contains("2 features") && text.contains("meadow") && !text.contains("wood"));
    assert!(text.contains("Next page"));
    let assets =
        text.split("rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(map.server.geo().request("GET", assets).send().status, 200);
    let gone = map.ogc_with("/collections/none", &[BROWSER]);
    assert_problem(&gone, 404, "collection `none` not found");
    let invalid = map.ogc_with(&format!("{ITEMS}?limit=x"), &[BROWSER]);
    assert_problem(&invalid, 400, "limit");
}

fn programs_get_documents(engine: Engine) {
    let map = open_with_features(engine);
    for headers in
        [&[][..], &[("Accept", "*/*")], &[("Accept", "application/geo+json, application/json")]]
    {
        let response = map.ogc_with(ITEMS, headers);
        assert_eq!(response.header("content-type"), Some("application/geo+json"));
        let vary = response.headers.get_all("vary").iter().any(|value| value == "Accept");
        assert!(vary, "{response:?}");
    }
    let response = map.ogc_with(&format!("{ITEMS}?f=json"), &[BROWSER]);
    assert_eq!(response.header("content-type"), Some("application/geo+json"));
    let document: Value = serde_json::from_slice(&response.body).unwrap();
    let page = super::link(&document, "alternate").unwrap();
    assert!(page.ends_with("f=html"), "{page}");
    assert_problem(&map.ogc("/collections?f=xml"), 400, "f must be");
}

fn pages_speak_the_language_of_the_browser(engine: Engine) {
    let map = open_with_features(engine);
    let text = page(&map.ogc_with(ITEMS, &[BROWSER, ("Accept-Language", "fr")]));
    assert!(text.contains("<html lang=\"fr\"") && text.contains("2 objets"), "{text}");
}

fn values_are_escaped(engine: Engine) {
    let map = open(engine);
    let name = "<script>alert(1)</script>\"'&";
    map.post("", &feature(json!("a"), point(1.0, 1.0), json!({ name: name })));
    let text = page(&map.ogc_with(ITEMS, &[BROWSER]));
    assert!(text.contains("&#60;script&#62;"), "{text}");
}

fn browser_is_asked_for_the_token(engine: Engine) {
    let map = open_with_features(engine);
    let get = |headers: &[(&str, &str)]| {
        let request = map.server.geo().request("GET", OGC).header(BROWSER.0, BROWSER.1);
        headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
    };
    let asked = get(&[("Sec-Fetch-Mode", "navigate")]);
    assert_eq!(asked.status, 401);
    let mut challenges = asked.headers.get_all("www-authenticate").iter();
    assert!(challenges.any(|value| value.as_bytes().starts_with(b"Basic")));
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("x:{}", map.token)));
    page(&get(&[("Authorization", &basic)]));
}

fn pages_follow_the_next_link(engine: Engine) {
    let map = open_with_features(engine);
    let first = page(&map.ogc_with(&format!("{ITEMS}?limit=1"), &[BROWSER]));
    let next = first.split("class=\"button\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let next = next.replace("&#38;", "&");
    let second = page(&map.ogc_with(next.split_once(OGC).unwrap().1, &[BROWSER]));
    assert!(second.contains("wood") && !second.contains("meadow") && !second.contains("Next page"));
}

fn pages_have_at_most_a_hundred_items(engine: Engine) {
    let map = open(engine);
    map.post("", &points(130));
    for limit in ["101", "10000", "99999999999999999999999999999999999999999"] {
        let text = page(&map.ogc_with(&format!("{ITEMS}?limit={limit}"), &[BROWSER]));
        assert_eq!(text.matches("<td class=\"name\">").count(), 100, "{limit}");
        assert!(text.contains("Next page") && text.contains("130 features"));
        assert!(
            text.contains(&format!("limit={limit}&#38;f=json")),
            "the document has all: {text}"
        );
    }
    for limit in ["", "0", "x"] {
        let invalid = map.ogc_with(&format!("{ITEMS}?limit={limit}"), &[BROWSER]);
        assert_problem(&invalid, 400, "limit");
    }
}

fn large_shapes_are_not_drawn(engine: Engine) {
    let map = open(engine);
    let line: Vec<_> = (0..5_000).map(|n| [f64::from(n) / 1_000.0, 48.0]).collect();
    let line = json!({ "type": "LineString", "coordinates": line });
    map.post("", &feature(json!("long"), line, json!({ "use": "border" })));
    map.post("", &feature(json!("a"), square(2.0, 48.0, 0.5), json!({ "use": "meadow" })));
    let notice = "Large shapes are not drawn";
    let items = map.items("");
    assert_eq!(items[0]["geometry"]["coordinates"].as_array().unwrap().len(), 5_000);
    let text = page(&map.ogc_with(ITEMS, &[BROWSER]));
    assert_eq!(text.matches("<path d=\"M").count(), 1, "the square: {text}");
    assert!(text.contains("border") && text.contains("meadow") && text.contains(notice));
    for (item, is_large) in items.iter().zip([true, false]) {
        let path = format!("{ITEMS}/{}", item["id"].as_str().unwrap());
        let text = page(&map.ogc_with(&path, &[BROWSER]));
        assert_eq!((text.contains(notice), text.contains("<svg viewBox")), (is_large, !is_large));
        let document: Value = serde_json::from_slice(&map.ogc(&path).body).unwrap();
        assert_eq!(document["geometry"], item["geometry"]);
    }
    // The whole shape decides whether a feature matches.
    let filter = "filter=S_INTERSECTS(geometry,BBOX(4,47,5,49))&f=html";
    assert!(page(&map.ogc(&format!("{ITEMS}?{filter}"))).contains("border"));
}

fn page_of_too_large_features_leads_to_their_document(engine: Engine) {
    let map = open(engine);
    let large = "x".repeat(12 << 20);
    let features =
        ["a", "b", "c"].map(|id| feature(json!(id), point(2.0, 48.0), json!({ "text": large })));
    map.post("", &collection(&features));
    let text = page(&map.ogc_with(ITEMS, &[BROWSER]));
    assert!(text.contains("too large for a page") && text.contains("?f=json"), "{text}");
    let text = page(&map.ogc_with(&format!("{ITEMS}?limit=1"), &[BROWSER]));
    assert!(text.contains("Next page") && text.contains(&large));
}
