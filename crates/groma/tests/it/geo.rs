//! The Geo API, on its own address: layers, tiles, and geometries that are posted.

mod bodies;
mod catalogue;
mod folders;
mod layers;
mod posts;
mod replays;
mod routes;
mod tiles;

use crate::{
    client::{API, Answer, Ask},
    database::Engine,
    mvt,
    office::{NO_LIMIT, Office},
    sample::text,
};
use serde_json::{Value, json};

/// Where geometries are posted.
const GEOJSON: &str = "/geometries/geojson";
/// What a tile is.
const TILE: &str = "application/vnd.mapbox-vector-tile";

/// An office with a token that has no scope at all: the Geo API asks for none.
struct Map {
    office: Office,
    token: String,
}

impl Map {
    fn open(engine: Engine) -> Self {
        Self::open_with(engine, &[])
    }

    fn open_with(engine: Engine, environment: &[(&str, &str)]) -> Self {
        let office = Office::start_with(engine, &[&[NO_LIMIT], environment].concat());
        let token = office.token(&[]);
        Self { office, token }
    }

    /// A GET; `path` is what follows `/api/public/v1`.
    fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let path = format!("{API}{path}");
        let ask = self.office.geo().ask("GET", &path).token(&self.token);
        headers.iter().fold(ask, |ask, (name, value)| ask.header(name, *value)).send()
    }

    /// Posts a body as it is, with these headers besides the token.
    fn post_as(&self, query: &str, body: impl Into<Vec<u8>>, headers: &[(&str, &str)]) -> Answer {
        let path = format!("{API}{GEOJSON}{query}");
        let ask = self.office.geo().ask("POST", &path).token(&self.token).body(body);
        headers.iter().fold(ask, |ask: Ask<'_>, (name, value)| ask.header(name, *value)).send()
    }

    /// Posts GeoJSON, right or wrong.
    fn try_post(&self, query: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.post_as(query, body, &[("Content-Type", "application/geo+json")])
    }

    /// Posts GeoJSON that must be taken; gives the answer.
    #[track_caller]
    fn post(&self, query: &str, body: &Value) -> Value {
        self.try_post(query, body.to_string()).ok()
    }

    /// Makes a layer by command; gives its id.
    fn make_layer(&self, name: &str) -> String {
        self.office.groma(&["layer", "create", name]).succeeds();
        text(&self.layer(name)["id"]).to_owned()
    }

    /// The layer with this name.
    #[track_caller]
    fn layer(&self, name: &str) -> Value {
        let layers = self.get("/layers?limit=100").content();
        let found = layers.into_iter().find(|layer| layer["name"] == name);
        found.unwrap_or_else(|| panic!("no layer {name}"))
    }

    /// What the layer of submissions counts.
    #[track_caller]
    fn count(&self) -> u64 {
        self.layer("Submissions")["featureCount"].as_u64().unwrap()
    }

    /// The answer to a request for a tile.
    fn tile(&self, layer: &str, (z, x, y): Tile) -> Answer {
        self.get(&tile_path(layer, (z, x, y)))
    }

    /// What a tile shows.
    #[track_caller]
    fn drawn(&self, layer: &str, tile: Tile) -> Vec<mvt::Feature> {
        drawn(&self.tile(layer, tile))
    }
}

/// Zoom, column, row.
pub(crate) type Tile = (u8, u32, u32);

fn tile_path(layer: &str, (z, x, y): Tile) -> String {
    format!("/layers/{layer}/mvt/{z}/{x}/{y}")
}

/// The features of a tile, checked by the rules of MVT.
#[track_caller]
fn drawn(answer: &Answer) -> Vec<mvt::Feature> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(TILE)), "{answer:?}");
    mvt::read(&answer.body).map_or(Vec::new(), |layer| layer.features)
}

/// The tile over a place.
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

#[expect(clippy::needless_pass_by_value, reason = "called with what json! gives")]
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
