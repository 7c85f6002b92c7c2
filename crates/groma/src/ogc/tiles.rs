//! Vector tiles of layers (OGC API – Tiles), in the tile matrix set WebMercatorQuad: the tiles of maps, at the
//! addresses of the standard.

use super::{
    OgcState,
    landing::json_response,
    layer_items::layer_not_found,
    links::{JSON, Link},
    parameters::Parameters,
    tile_matrix_set::{self, ID, TITLE, TileLimits, URI, WEB_MERCATOR},
};
use crate::{
    http::{HttpError, ResponseOptions},
    tiles::MEDIA_TYPE,
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    response::Response,
};
use groma_domain::{
    Layer,
    layer::{FieldType, GeometryType, LayerKey},
};
use groma_geo::grid::TileId;
use serde_json::{Map, Value, json};

/// The relations of links that the standard defines.
const TILING_SCHEME: &str = "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme";
const TILESETS_VECTOR: &str = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector";

/// `/ogc/collections/{collection}/tiles`
pub(super) async fn list_tilesets(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(&ogc, &caller, &collection).await?;
    Parameters::parse(query.as_deref(), &["f"])?;
    let url = tiles_url(&ogc, &layer);
    let links = [
        Link::new("self", JSON, &url, "This list"),
        Link::new("collection", JSON, collection_url(&ogc, &layer), "The collection"),
    ];
    let tileset = summary(&ogc, &layer);
    json_response(&json!({ "links": links, "tilesets": [tileset] }), options)
}

/// `/ogc/collections/{collection}/tiles/WebMercatorQuad`
pub(super) async fn get_tileset(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(&ogc, &caller, &collection).await?;
    Parameters::parse(query.as_deref(), &["f"])?;
    let mut tileset = summary(&ogc, &layer);
    if let Some(description) = &layer.description {
        tileset["description"] = json!(description);
    }
    if let Some(attribution) = &layer.attribution {
        tileset["attribution"] = json!(attribution);
    }
    tileset["layers"] = json!([layer_metadata(&layer)]);
    if let Some(bounds) = layer.bounds {
        let limits = tile_matrix_set::limits(bounds, layer.min_zoom, layer.max_zoom);
        let limits: Vec<Value> = limits.map(TileLimits::document).collect();
        tileset["tileMatrixSetLimits"] = json!(limits);
        let [west, south, east, north] = bounds.0;
        tileset["boundingBox"] = json!({
            "lowerLeft": [west, south], "upperRight": [east, north], "crs": super::crs::CRS84,
        });
    }
    json_response(&tileset, options)
}

/// `/ogc/collections/{collection}/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}`
pub(super) async fn get_tile(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, matrix, row, column)): Path<(String, String, String, String)>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(&ogc, &caller, &collection).await?;
    let tile = parse_tile(&matrix, &row, &column)
        .ok_or_else(|| HttpError::not_found("tile", &format!("{matrix}/{row}/{column}")))?;
    let workspace = caller.token.workspace;
    let tile = ogc.tiles.get(&ogc.store, workspace, layer.id, tile, options.encoding()).await?;
    let tile = tile.ok_or_else(|| layer_not_found(&collection))?;
    Ok(options.encoded(MEDIA_TYPE, &tile.body))
}

/// A tile by its row and column, in this order. A suffix such as `.mvt` may follow.
fn parse_tile(matrix: &str, row: &str, column: &str) -> Option<TileId> {
    let number = |text: &str| {
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| is_digits)
    };
    let column = column.strip_suffix(".mvt").or(column.strip_suffix(".pbf")).unwrap_or(column);
    let (z, x, y) = (number(matrix)?, number(column)?, number(row)?);
    TileId::new(u8::try_from(z).ok()?, x, y)
}

/// The link from a collection to its tiles.
pub(super) fn collection_link(collection_url: &str) -> Link {
    Link::new(TILESETS_VECTOR, JSON, format!("{collection_url}/tiles"), "Vector tiles")
}

async fn find(ogc: &OgcState, caller: &Caller, collection: &str) -> Result<Layer, HttpError> {
    let layer = ogc.store.layer(caller.token.workspace, &LayerKey::parse(collection)).await?;
    layer.ok_or_else(|| layer_not_found(collection))
}

fn collection_url(ogc: &OgcState, layer: &Layer) -> String {
    format!("{}/collections/{}", ogc.url, layer.slug.as_str())
}

fn tiles_url(ogc: &OgcState, layer: &Layer) -> String {
    format!("{}/tiles", collection_url(ogc, layer))
}

/// What a list of tilesets says about the tileset of a layer.
fn summary(ogc: &OgcState, layer: &Layer) -> Value {
    let url = format!("{}/{ID}", tiles_url(ogc, layer));
    let scheme = format!("{}/tileMatrixSets/{ID}", ogc.url);
    let template = format!("{url}/{{tileMatrix}}/{{tileRow}}/{{tileCol}}");
    json!({
        "title": layer.name,
        "dataType": "vector",
        "crs": WEB_MERCATOR,
        "tileMatrixSetURI": URI,
        "links": [
            Link::new("self", JSON, &url, "This tileset"),
            Link::new(TILING_SCHEME, JSON, scheme, TITLE),
            Link::template("item", MEDIA_TYPE, template, "Tiles"),
            Link::new("geodata", JSON, collection_url(ogc, layer), "The collection"),
        ],
    })
}

/// The layer of the tiles, with the properties of its features.
fn layer_metadata(layer: &Layer) -> Value {
    let property = |(name, kind): (String, FieldType)| {
        let kind = match kind {
            FieldType::String => "string",
            FieldType::Number => "number",
            FieldType::Boolean => "boolean",
        };
        (name, json!({ "type": kind }))
    };
    let properties: Map<String, Value> = layer.field_types().into_iter().map(property).collect();
    let mut metadata = json!({
        "id": layer.slug.as_str(),
        "title": layer.name,
        "dataType": "vector",
        "minTileMatrix": layer.min_zoom.to_string(),
        "maxTileMatrix": layer.max_zoom.to_string(),
        "propertiesSchema": { "type": "object", "properties": properties },
    });
    let dimension = match layer.counts.geometry_type() {
        Some(GeometryType::Point) => Some(0),
        Some(GeometryType::LineString) => Some(1),
        Some(GeometryType::Polygon) => Some(2),
        _ => None,
    };
    if let Some(dimension) = dimension {
        metadata["geometryDimension"] = json!(dimension);
    }
    metadata
}
