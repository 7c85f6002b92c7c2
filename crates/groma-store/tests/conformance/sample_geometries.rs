//! Random geometries, and short forms for posting and reading them.

use crate::fixture::TestWorkspace;
use groma_domain::{Layer, LayerId, geometry::UploadResult, layer::LayerKey};
use groma_geo::{
    Geometry,
    geojson::{self, Options},
    grid::{self, TileId},
    wkb,
};
use groma_store::{Error, FeatureSpool, LayerFeature, NewGeometries, PostOutcome};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The centres of most geometries.
const TOWNS: [(f64, f64); 6] =
    [(2.35, 48.85), (2.36, 48.86), (-4.48, 48.39), (179.999, -17.8), (-70.66, -33.45), (0.0, 0.0)];

impl TestWorkspace {
    /// The geometries of a body, ready to be posted.
    pub(crate) fn geometries(&self, layer: Option<&str>, body: &Value) -> NewGeometries {
        let mut features = FeatureSpool::default();
        let take = |feature| features.push(&feature);
        geojson::read(body.to_string().as_bytes(), &Options::default(), take).unwrap();
        NewGeometries {
            mode: groma_store::PostMode::default(),
            workspace: self.workspace_id,
            actor: self.actor,
            now: self.tick(),
            layer: layer.map(LayerKey::parse),
            folder: None,
            assignment: None,
            features,
            request: None,
        }
    }

    pub(crate) async fn try_post(&self, geometries: NewGeometries) -> Result<UploadResult, Error> {
        match self.store.post_geometries(geometries).await? {
            PostOutcome::Posted(posted) => Ok(posted),
            PostOutcome::Replayed(_) => panic!("the request has no idempotency key"),
        }
    }

    /// Posts into the submissions layer.
    pub(crate) async fn post(&self, body: &Value) -> UploadResult {
        self.try_post(self.geometries(None, body)).await.unwrap()
    }

    /// Posts many features into the submissions layer; returns the layer.
    pub(crate) async fn post_all(&self, features: &[Value]) -> LayerId {
        let mut layer = None;
        for part in features.chunks(5_000) {
            let body = json!({ "type": "FeatureCollection", "features": part });
            layer = Some(self.post(&body).await.layer_id);
        }
        layer.unwrap()
    }

    /// The tiles of a zoom that the submissions layer meets.
    pub(crate) async fn tiles_of(&self, zoom: u8) -> Vec<TileId> {
        let [west, south, east, north] = self.layer("submissions").await.bounds.unwrap().0;
        let (first, last) = (tile_at((west, north), zoom), tile_at((east, south), zoom));
        let rows = first.y()..=last.y();
        let tile = |x, y| TileId::new(zoom, x, y).unwrap();
        rows.flat_map(|y| (first.x()..=last.x()).map(move |x| tile(x, y))).collect()
    }

    /// Posts into the submissions layer and a folder.
    pub(crate) async fn post_into(&self, folder: &str, body: &Value) -> UploadResult {
        let mut geometries = self.geometries(None, body);
        geometries.folder = Some(folder.to_owned());
        self.try_post(geometries).await.unwrap()
    }

    pub(crate) async fn layer(&self, slug: &str) -> Layer {
        let found = self.store.layer(self.workspace_id, &LayerKey::parse(slug)).await.unwrap();
        found.unwrap_or_else(|| panic!("layer {slug} not found"))
    }

    /// All features of a layer, read in small pages.
    pub(crate) async fn features(&self, slug: &str) -> Vec<LayerFeature> {
        let key = LayerKey::parse(slug);
        let mut features: Vec<LayerFeature> = Vec::new();
        loop {
            let after = features.last().map_or(0, |feature| feature.position);
            let page = self.store.features(self.workspace_id, &key, after, 7).await.unwrap();
            if page.is_empty() {
                return features;
            }
            features.extend(page);
        }
    }

    /// The bytes of a tile; empty when it has no features.
    pub(crate) async fn tile(&self, layer: LayerId, tile: TileId) -> Vec<u8> {
        let tile = self.store.tile(self.workspace_id, layer, tile).await.unwrap();
        tile.expect("the layer exists").bytes
    }
}

pub(crate) fn shape(feature: &LayerFeature) -> Option<Geometry> {
    feature.geometry.as_deref().map(|bytes| wkb::from_wkb(bytes).unwrap())
}

/// The first position of a geometry.
pub(crate) fn start(geometry: &Geometry) -> Option<(f64, f64)> {
    let mut first = None;
    geometry.each_position(&mut |at| first = first.or(Some((at.x, at.y))));
    first
}

/// The tile that contains a position.
pub(crate) fn tile_at((longitude, latitude): (f64, f64), zoom: u8) -> TileId {
    let (x, y) = grid::project(longitude, latitude);
    let column = |value: u32| (u64::from(value) >> (32 - u32::from(zoom))) as u32;
    TileId::new(zoom, column(x), column(y)).unwrap()
}

/// The statistics of a layer, computed from its features.
pub(crate) fn expected_stats(features: &[LayerFeature]) -> Value {
    let mut bounds: Option<[f64; 4]> = None;
    let (mut kinds, mut types) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<&str>>::new());
    for feature in features {
        if let Some(geometry) = shape(feature) {
            kinds.insert(geometry.type_name().trim_start_matches("Multi").to_owned());
            geometry.each_position(&mut |at| {
                let [west, south, east, north] = bounds.unwrap_or([at.x, at.y, at.x, at.y]);
                bounds = Some([west.min(at.x), south.min(at.y), east.max(at.x), north.max(at.y)]);
            });
        }
        let properties: Map<String, Value> = serde_json::from_str(&feature.properties).unwrap();
        for (name, value) in properties {
            let kind = match value {
                Value::Null => continue,
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) | Value::Array(_) | Value::Object(_) => "string",
            };
            types.entry(name).or_default().insert(kind);
        }
    }
    let kind = match kinds.into_iter().collect::<Vec<_>>().as_slice() {
        [] => Value::Null,
        [only] if only != "GeometryCollection" => json!(only),
        _ => json!("Mixed"),
    };
    let field = |types: BTreeSet<&str>| match types.iter().copied().collect::<Vec<_>>()[..] {
        [only] => json!(only),
        _ => json!("string"),
    };
    let fields: Map<_, _> = types.into_iter().map(|(name, types)| (name, field(types))).collect();
    json!({ "featureCount": features.len(), "bounds": bounds, "geometryType": kind, "fields": fields })
}

/// The statistics that the layer reports.
pub(crate) fn reported_stats(layer: &Layer) -> Value {
    let document = serde_json::to_value(layer.document("")).unwrap();
    let names = ["featureCount", "bounds", "geometryType", "fields"];
    names.into_iter().map(|name| (name.to_owned(), document[name].clone())).collect()
}

/// A generator of features of every type and size, in a few towns and on one spot, with new and known
/// ids.
pub(crate) struct FeatureGenerator {
    random: fastrand::Rng,
    /// The number of generated features; each has its number as a property.
    count: u64,
}

impl FeatureGenerator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), count: 0 }
    }

    /// A collection of at most this number of features with distinct ids from a small range.
    pub(crate) fn collection(&mut self, most: usize) -> Value {
        let mut ids = BTreeSet::new();
        let mut features = Vec::new();
        for _ in 0..self.random.usize(1..=most) {
            let id = self.random.u32(..80);
            let known = self.random.u32(..10) < 7;
            if known && !ids.insert(id) {
                continue;
            }
            let mut feature = self.feature();
            if known {
                feature["id"] = json!(id);
            }
            features.push(feature);
        }
        json!({ "type": "FeatureCollection", "features": features })
    }

    fn feature(&mut self) -> Value {
        self.count += 1;
        let mut properties = Map::new();
        properties.insert("n".to_owned(), json!(self.count));
        for _ in 0..self.random.usize(..4) {
            let name = *self.random.choice(&["a", "b", "c", "é", ""]).unwrap();
            let value = match self.random.u32(..8) {
                0 => Value::Null,
                1 => json!(self.random.bool()),
                2 => json!(self.random.i64(..)),
                3 => json!(self.random.u32(..5)),
                4 => json!(self.random.f64()),
                5 => json!(["x", self.random.u32(..3)]),
                _ => json!(format!("text {}", self.random.u32(..5))),
            };
            properties.insert(name.to_owned(), value);
        }
        json!({ "type": "Feature", "geometry": self.geometry(), "properties": properties })
    }

    fn geometry(&mut self) -> Value {
        let at = self.place();
        let size = 10_f64.powf(self.random.f64() * 8.0 - 6.5);
        match self.random.u32(..20) {
            0 => Value::Null,
            // Always the same spot.
            1..=3 => json!({ "type": "Point", "coordinates": [2.35, 48.85] }),
            4..=6 => json!({ "type": "Point", "coordinates": at }),
            7 => json!({ "type": "MultiPoint", "coordinates": self.path(at, size, 5) }),
            8..=9 => json!({ "type": "LineString", "coordinates": self.path(at, size, 12) }),
            10 => json!({ "type": "LineString", "coordinates": self.path(at, size, 400) }),
            11 => {
                json!({ "type": "MultiLineString", "coordinates": [self.path(at, size, 5), self.path(at, size, 5)] })
            }
            12..=14 => {
                json!({ "type": "Polygon", "coordinates": [ring_around(at, size, 4 + self.random.usize(..8))] })
            }
            15 => json!({ "type": "Polygon", "coordinates": [ring_around(at, size, 300)] }),
            16 => {
                json!({ "type": "Polygon", "coordinates": [ring_around(at, size, 8), reversed(ring_around(at, size / 2.0, 6))] })
            }
            17 => {
                let other = self.place();
                json!({ "type": "MultiPolygon", "coordinates": [[ring_around(at, size, 5)], [ring_around(other, size, 7)]] })
            }
            _ => json!({ "type": "GeometryCollection", "geometries": [
                { "type": "Polygon", "coordinates": [ring_around(at, size, 5)] },
                { "type": "GeometryCollection", "geometries": [{ "type": "Point", "coordinates": at }] },
                { "type": "LineString", "coordinates": self.path(at, size, 5) },
            ] }),
        }
    }

    /// A position near a town: in its centre, or as far as the next country.
    fn place(&mut self) -> [f64; 2] {
        let town = *self.random.choice(&TOWNS).unwrap();
        let far = 10_f64.powf(self.random.f64() * 7.0 - 6.0);
        let mut off = || (self.random.f64() - 0.5) * far;
        [town.0 + off(), town.1 + off()]
    }

    /// A line of two to `most` positions.
    fn path(&mut self, [x, y]: [f64; 2], size: f64, most: usize) -> Vec<[f64; 2]> {
        let count = self.random.usize(2..=most);
        let mut step = || (self.random.f64() - 0.5) * size;
        (0..count).map(|_| [x + step(), clamp_latitude(y + step())]).collect()
    }
}

/// A ring with this number of sides around a position.
fn ring_around([x, y]: [f64; 2], size: f64, sides: usize) -> Vec<[f64; 2]> {
    let corner = |index: usize| {
        let angle = std::f64::consts::TAU * (index % sides) as f64 / sides as f64;
        [x + size * angle.cos(), clamp_latitude(y + size * angle.sin())]
    };
    (0..=sides).map(corner).collect()
}

fn reversed(mut ring: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    ring.reverse();
    ring
}

fn clamp_latitude(latitude: f64) -> f64 {
    latitude.clamp(-90.0, 90.0)
}
