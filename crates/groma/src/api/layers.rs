//! Layers: the list, single layers, and their TileJSON for map clients.

use super::{
    ApiState,
    auth::Caller,
    envelope::{Envelope, envelope},
    params::{LayerPath, ListQuery},
};
use crate::http::{HttpError, ResponseOptions};
use axum::{Extension, extract::State, response::Response};
use groma_domain::{
    Layer,
    layer::{FieldType, LayerDocument},
};
use groma_geo::Bbox;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// List layers.
#[utoipa::path(get, path = "/api/public/v1/layers", tag = "Layers",
    responses((status = 200, description = "A page of layers, oldest first", body = Envelope<LayerDocument>)))]
pub(super) async fn list_layers(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    ListQuery(params): ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    // Plain data always serializes.
    let render =
        |layer: &Layer| serde_json::to_vec(&layer.document(&api.geo_url)).unwrap_or_default();
    let page = api.store.layers(caller.0.workspace, &params, render).await?;
    Ok(options.json(envelope(&page, &params)))
}

/// Get one layer.
#[utoipa::path(get, path = "/api/public/v1/layers/{id}", tag = "Layers",
    responses((status = 200, description = "The layer", body = LayerDocument)))]
pub(super) async fn get_layer(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: LayerPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(&api, &caller, &path).await?;
    json(options, &layer.document(&api.geo_url))
}

/// Get the TileJSON of a layer. MapLibre and QGIS need only this URL.
#[utoipa::path(get, path = "/api/public/v1/layers/{id}/tilejson", tag = "Layers",
    responses((status = 200, description = "TileJSON 3.0", body = TileJson)))]
pub(super) async fn get_layer_tilejson(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: LayerPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    tilejson(&api, &caller, &path, options).await
}

pub(super) async fn tilejson(
    api: &ApiState,
    caller: &Caller,
    path: &LayerPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(api, caller, path).await?;
    let tile_url = format!("{}/maps/{}/{{z}}/{{x}}/{{y}}", api.geo_url, layer.id);
    json(options, &TileJson::new(&layer.document(&api.geo_url), tile_url))
}

pub(super) async fn find(
    api: &ApiState,
    caller: &Caller,
    path: &LayerPath,
) -> Result<Layer, HttpError> {
    let layer = api.store.layer(caller.0.workspace, &path.key).await?;
    layer.ok_or_else(|| path.not_found())
}

fn json(options: ResponseOptions, value: &impl Serialize) -> Result<Response, HttpError> {
    let body = serde_json::to_vec(value).map_err(|error| HttpError::internal(error.to_string()))?;
    Ok(options.json(body))
}

/// A layer as TileJSON 3.0.
#[derive(Serialize, ToSchema)]
pub(super) struct TileJson {
    #[schema(example = "3.0.0")]
    tilejson: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    description: Option<String>,
    scheme: &'static str,
    tiles: [String; 1],
    minzoom: u8,
    maxzoom: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    bounds: Option<Bbox>,
    /// Longitude, latitude and zoom at which to open the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    center: Option<[f64; 3]>,
    vector_layers: [VectorLayer; 1],
}

/// A layer of the vector tiles.
#[derive(Serialize, ToSchema)]
struct VectorLayer {
    id: String,
    description: String,
    minzoom: u8,
    maxzoom: u8,
    /// The properties with their types.
    fields: BTreeMap<String, &'static str>,
}

impl TileJson {
    fn new(layer: &LayerDocument, tile_url: String) -> Self {
        let fields = layer.fields.iter().map(|(name, kind)| {
            let kind = match kind {
                FieldType::String => "String",
                FieldType::Number => "Number",
                FieldType::Boolean => "Boolean",
            };
            (name.clone(), kind)
        });
        Self {
            tilejson: "3.0.0",
            name: layer.name.clone(),
            description: layer.description.clone(),
            scheme: "xyz",
            tiles: [tile_url],
            minzoom: layer.min_zoom,
            maxzoom: layer.max_zoom,
            bounds: layer.bounds,
            center: layer.bounds.map(center),
            vector_layers: [VectorLayer {
                id: layer.source_layer.clone(),
                description: layer.description.clone().unwrap_or_default(),
                minzoom: layer.min_zoom,
                maxzoom: layer.max_zoom,
                fields: fields.collect(),
            }],
        }
    }
}

/// The middle of a layer, and the zoom at which all of it is visible in a window two tiles wide.
fn center(Bbox([west, south, east, north]): Bbox) -> [f64; 3] {
    // A latitude of 85 degrees is the edge of the map.
    let share = ((east - west) / 360.0).max((north - south) / 170.0);
    let zoom = if share > 0.0 { (2.0 / share).log2().floor() } else { 18.0 };
    [f64::midpoint(west, east), f64::midpoint(south, north), zoom.clamp(0.0, 18.0)]
}
