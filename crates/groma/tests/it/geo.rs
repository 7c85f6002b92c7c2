//! The Geo API, which has its own address: layers, tiles and posted geometries, and the OGC API.

mod features;
mod folder_bounds;
mod geometry_posts;
mod idempotency;
mod invalid_geojson;
mod layers;
mod maps;
mod ogc;
mod request_bodies;
mod routes;
mod tiles;

use crate::sample_records::text;
use groma_testkit::{
    API, Engine, Response, TestServer, http::ClientRequest, mvt, server::NO_RATE_LIMIT,
};
use serde_json::{Value, json};

/// The path for posting geometries.
const GEOJSON: &str = "/geometries/geojson";
/// The media type of a tile.
const TILE: &str = "application/vnd.mapbox-vector-tile";

/// A server and a token without scopes, because the Geo API needs none.
struct Map {
    server: TestServer,
    token: String,
}

impl Map {
    fn open(engine: Engine) -> Self {
        Self::open_with(engine, &[])
    }

    fn open_with(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let server = TestServer::start_with(engine, &[&[NO_RATE_LIMIT], environment].concat());
        let token = server.create_token(&[]);
        Self { server, token }
    }

    /// Sends a GET; `path` is the part after `/api/public/v1`.
    fn get(&self, path: &str) -> Response {
        self.get_with(path, &[])
    }

    fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let path = format!("{API}{path}");
        let request = self.server.geo().request("GET", &path).token(&self.token);
        headers.iter().fold(request, |request, (name, value)| request.header(name, *value)).send()
    }

    /// Posts a body with the token and these headers.
    fn post_as(&self, query: &str, body: impl Into<Vec<u8>>, headers: &[(&str, &str)]) -> Response {
        let path = format!("{API}{GEOJSON}{query}");
        let request = self.server.geo().request("POST", &path).token(&self.token).body(body);
        headers
            .iter()
            .fold(request, |request: ClientRequest<'_>, (name, value)| request.header(name, *value))
            .send()
    }

    /// Posts GeoJSON, which may be invalid.
    fn try_post(&self, query: &str, body: impl Into<Vec<u8>>) -> Response {
        self.post_as(query, body, &[("Content-Type", "application/geo+json")])
    }

    /// Posts valid GeoJSON and returns the response.
    #[track_caller]
    fn post(&self, query: &str, body: &Value) -> Value {
        self.try_post(query, body.to_string()).ok()
    }

    /// Creates a layer by command and returns its id.
    fn create_layer(&self, name: &str) -> String {
        self.server.run(&["layer", "create", name]).expect_success();
        text(&self.layer(name)["id"]).to_owned()
    }

    /// The layer with this name.
    #[track_caller]
    fn layer(&self, name: &str) -> Value {
        let layers = self.get("/layers?limit=100").content();
        let found = layers.into_iter().find(|layer| layer["name"] == name);
        found.unwrap_or_else(|| panic!("layer {name} not found"))
    }

    /// The number of features in the layer Submissions.
    #[track_caller]
    fn count(&self) -> u64 {
        self.layer("Submissions")["featureCount"].as_u64().unwrap()
    }

    /// The response to a request for a tile.
    fn tile(&self, layer: &str, (z, x, y): Tile) -> Response {
        self.get(&tile_path(layer, (z, x, y)))
    }

    /// The features of a tile.
    #[track_caller]
    fn features_in(&self, layer: &str, tile: Tile) -> Vec<mvt::Feature> {
        features_in(&self.tile(layer, tile))
    }
}

/// Zoom, column, row.
pub(crate) type Tile = (u8, u32, u32);

fn tile_path(layer: &str, (z, x, y): Tile) -> String {
    format!("/layers/{layer}/mvt/{z}/{x}/{y}")
}

/// The decoded features of a tile.
#[track_caller]
fn features_in(response: &Response) -> Vec<mvt::Feature> {
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some(TILE)),
        "{response:?}"
    );
    mvt::decode(&response.body).map_or(Vec::new(), |layer| layer.features)
}

/// The tile that contains a position.
pub(crate) fn tile_at(z: u8, longitude: f64, latitude: f64) -> Tile {
    let side = f64::from(1_u32 << z);
    let sine = latitude.to_radians().sin();
    let y = 0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * std::f64::consts::PI);
    (z, ((longitude / 360.0 + 0.5) * side) as u32, (y * side) as u32)
}

fn point(x: f64, y: f64) -> Value {
    json!({ "type": "Point", "coordinates": [x, y] })
}

/// A square with this corner and side.
fn square(x: f64, y: f64, side: f64) -> Value {
    let ring = [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]];
    json!({ "type": "Polygon", "coordinates": [ring] })
}

#[expect(clippy::needless_pass_by_value, reason = "the callers pass values of json!")]
fn feature(id: Value, geometry: Value, properties: Value) -> Value {
    let mut feature = json!({ "type": "Feature", "geometry": geometry, "properties": properties });
    if !id.is_null() {
        feature["id"] = id;
    }
    feature
}

fn collection(features: &[Value]) -> Value {
    json!({ "type": "FeatureCollection", "features": features })
}
