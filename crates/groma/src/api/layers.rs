//! Layers: the list, single layers, and their TileJSON for map clients.

use super::{
    ApiState,
    envelope::Envelope,
    params::{LayerPath, ListQuery},
};
use crate::{
    http::{HttpError, ResponseOptions, escape_html},
    token_auth::Caller,
};
use axum::{Extension, extract::State, response::Response};
use groma_domain::{
    Layer,
    layer::{FieldCounts, FieldType, GeometryType, LayerDocument},
};
use groma_geo::Bbox;
use groma_store::WorkspaceFilter;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// List layers.
#[utoipa::path(get, path = "/api/public/v1/layers", tag = "Layers",
    responses((status = 200, description = "A page of layers, oldest first", body = Envelope<LayerDocument>)))]
pub(super) async fn list_layers(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    // Plain data always serializes.
    let render =
        |layer: &Layer| serde_json::to_vec(&layer.document(&api.geo_url)).unwrap_or_default();
    let page = api.store.layers(caller.token.workspace, &list.params, render).await?;
    list.respond(&api.geo_url, &page, options)
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
    let attribution = match &layer.attribution {
        Some(attribution) => attribution.clone(),
        None => {
            let workspace = WorkspaceFilter::Id(caller.token.workspace);
            api.store.find_workspace(&workspace).await?.name.as_str().to_owned()
        }
    };
    json(options, &TileJson::new(&layer, &attribution, &api.geo_url))
}

pub(super) async fn find(
    api: &ApiState,
    caller: &Caller,
    path: &LayerPath,
) -> Result<Layer, HttpError> {
    let layer = api.store.layer(caller.token.workspace, &path.key).await?;
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
    /// The source to credit on the map, as HTML.
    attribution: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    bounds: Option<Bbox>,
    /// Longitude, latitude and zoom at which to open the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    center: Option<[f64; 3]>,
    vector_layers: [VectorLayer; 1],
    tilestats: TileStats,
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

/// The number of features and the values of their properties, in the form that Mapbox introduced.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TileStats {
    layer_count: usize,
    layers: [LayerStats; 1],
}

/// The statistics of a layer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LayerStats {
    layer: String,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    geometry: Option<GeometryType>,
    attribute_count: usize,
    attributes: Vec<AttributeStats>,
}

/// The values of a property.
#[derive(Serialize, ToSchema)]
struct AttributeStats {
    attribute: String,
    /// Number of features that have the property.
    count: u64,
    #[serde(rename = "type")]
    kind: FieldType,
    /// Every value, if there are at most 50 short ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    values: Option<Vec<String>>,
    /// Smallest number. It may have been deleted since the layer was last empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    min: Option<f64>,
    /// Largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max: Option<f64>,
}

impl AttributeStats {
    fn new(field: &FieldCounts) -> Option<Self> {
        let kind = field.field_type()?;
        let values = field
            .values
            .as_ref()
            .filter(|_| kind == FieldType::String && field.numbers + field.booleans == 0);
        let range = field.range.filter(|_| kind == FieldType::Number);
        Some(Self {
            attribute: field.name.clone(),
            count: field.strings + field.numbers + field.booleans,
            kind,
            values: values.map(|values| values.keys().cloned().collect()),
            min: range.map(|(min, _)| min),
            max: range.map(|(_, max)| max),
        })
    }
}

impl TileJson {
    fn new(layer: &Layer, attribution: &str, geo_url: &str) -> Self {
        let mut attributes: Vec<_> = layer.fields.iter().filter_map(AttributeStats::new).collect();
        attributes.sort_by(|a, b| a.attribute.cmp(&b.attribute));
        let layer = layer.document(geo_url);
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
            tiles: [format!("{geo_url}/maps/{}/{{z}}/{{x}}/{{y}}", layer.id)],
            attribution: escape_html(attribution),
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
            tilestats: TileStats {
                layer_count: 1,
                layers: [LayerStats {
                    layer: layer.source_layer.clone(),
                    count: layer.feature_count,
                    geometry: layer.geometry_type.filter(|kind| *kind != GeometryType::Mixed),
                    attribute_count: attributes.len(),
                    attributes,
                }],
            },
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
