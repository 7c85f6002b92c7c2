//! The OGC API: its resources, pages of items, reference systems, and records as items.

mod crs;
mod editing;
mod filter_oracle;
mod filters;
mod items;
mod locking;
mod pages;
mod records;
mod resources;
mod schemas;
mod sorting;
mod tiles;

use super::{Map, collection, feature, point, square};
use groma_testkit::{Engine, Response};
use serde_json::{Value, json};

/// The landing page.
const OGC: &str = "/ogc";

impl Map {
    /// Sends a GET with the token; `path` is the part after `/ogc`.
    fn ogc(&self, path: &str) -> Response {
        self.ogc_with(path, &[])
    }

    fn ogc_with(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let path = format!("{OGC}{path}");
        let request = self.server.geo().request("GET", &path).token(&self.token);
        headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
    }

    /// The items that a query finds in the layer Submissions.
    #[track_caller]
    fn items(&self, query: &str) -> Vec<Value> {
        features(&self.ogc(&format!("/collections/submissions/items?{query}")))
    }
}

/// Asserts an error with problem details.
#[track_caller]
fn assert_problem(response: &Response, status: u16, detail: &str) {
    assert_eq!(response.header("content-type"), Some("application/problem+json"), "{response:?}");
    let body: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!((response.status, &body["status"]), (status, &json!(status)), "{body}");
    assert_eq!(body["type"], "about:blank", "{body}");
    assert!(body["title"].is_string(), "{body}");
    let text = body["detail"].as_str().unwrap();
    assert!(text.starts_with(detail), "{text}");
}

/// The body of a page of items.
#[track_caller]
fn page(response: &Response) -> Value {
    let content_type = response.header("content-type");
    assert_eq!(
        (response.status, content_type),
        (200, Some("application/geo+json")),
        "{response:?}"
    );
    let body: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(body["type"], "FeatureCollection");
    let count = body["features"].as_array().unwrap().len();
    assert_eq!(body["numberReturned"], json!(count));
    body
}

#[track_caller]
fn features(response: &Response) -> Vec<Value> {
    page(response)["features"].as_array().unwrap().clone()
}

/// The target of the link with this relation.
fn link<'a>(document: &'a Value, rel: &str) -> Option<&'a str> {
    let links = document["links"].as_array().unwrap();
    links.iter().find(|link| link["rel"] == rel).map(|link| link["href"].as_str().unwrap())
}

/// The external ids of features.
fn external_ids(features: &[Value]) -> Vec<&str> {
    features.iter().map(|feature| feature["externalId"].as_str().unwrap()).collect()
}

/// Points with the ids 0 to `count`, a tenth of a degree apart.
fn points(count: u32) -> Value {
    let points =
        (0..count).map(|n| feature(json!(n), point(f64::from(n) / 10.0, 48.0), json!({ "n": n })));
    collection(&points.collect::<Vec<_>>())
}

fn open(engine: Engine) -> Map {
    Map::open(engine)
}
