//! The OpenAPI 3.0 document of the OGC API.

use super::{
    OgcState,
    item_query::{DEFAULT_LIMIT, MAX_LIMIT},
    links::OPENAPI,
    openapi_writes,
    parameters::Parameters,
};
use crate::{
    http::{HttpError, ResponseOptions},
    tiles::MEDIA_TYPE,
};
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use groma_geo::geojson::GEOJSON;
use serde_json::{Value, json};

/// `/ogc/api`, which needs no token.
pub(super) async fn get_document(
    State(ogc): State<OgcState>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query.as_deref(), &["f"])?;
    let body = serde_json::to_vec(&document(&ogc.url));
    Ok(options.text(OPENAPI, body.map_err(|error| HttpError::internal(error.to_string()))?))
}

fn document(url: &str) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Groma OGC API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Layers and records of a workspace as collections of features. Every request needs a \
                personal access token: as bearer token, or as the password of HTTP Basic authentication.",
        },
        "servers": [{ "url": url }],
        "security": [{ "bearer": [] }, { "basic": [] }],
        "tags": [
            { "name": "Capabilities", "description": "What this API offers" },
            { "name": "Data", "description": "Features" },
            { "name": "Tiles", "description": "Vector tiles of layers" },
            { "name": "Styles", "description": "Styles of layers" },
        ],
        "paths": paths(),
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "basic": { "type": "http", "scheme": "basic" },
            },
            "parameters": parameters(),
            "schemas": schemas(),
            "responses": {
                "Problem": {
                    "description": "The request failed",
                    "content": { "application/problem+json": { "schema": schema("Problem") } },
                },
            },
        },
    })
}

fn paths() -> Value {
    let collection = json!([parameter("collectionId")]);
    let item = json!([parameter("collectionId"), parameter("featureId")]);
    let json = "application/json";
    let mut paths = json!({
        "/": get("getLandingPage", "Capabilities", "The landing page", json, "LandingPage", &["f"]),
        "/conformance":
            get("getConformance", "Capabilities", "The conformance classes", json, "Conformance", &["f"]),
        "/collections":
            get("getCollections", "Capabilities", "The collections", json, "Collections", &["f"]),
        "/collections/{collectionId}":
            get("getCollection", "Capabilities", "A collection", json, "Collection", &["f"]),
        "/collections/{collectionId}/items": get(
            "getFeatures",
            "Data",
            "A page of features, oldest first",
            GEOJSON,
            "FeatureCollection",
            &["f", "limit", "cursor", "bbox", "bbox-crs", "crs", "datetime"],
        ),
        "/tileMatrixSets":
            get("getTileMatrixSets", "Tiles", "The tile matrix sets", json, "Document", &["f"]),
        "/tileMatrixSets/WebMercatorQuad": get(
            "getTileMatrixSet",
            "Tiles",
            "The tile matrix set WebMercatorQuad",
            json,
            "Document",
            &["f"],
        ),
        "/collections/{collectionId}/tiles":
            get("getTilesets", "Tiles", "The tilesets of a layer", json, "Document", &["f"]),
        "/collections/{collectionId}/tiles/WebMercatorQuad":
            get("getTileset", "Tiles", "The tileset of a layer", json, "Document", &["f"]),
        "/collections/{collectionId}/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}":
            get("getTile", "Tiles", "A vector tile", MEDIA_TYPE, "Tile", &[]),
        "/collections/{collectionId}/styles":
            get("getStyles", "Styles", "The styles of a layer", json, "Document", &[]),
        "/collections/{collectionId}/styles/default": get(
            "getStyle",
            "Styles",
            "A MapLibre style, or with `f=qml` a QGIS style",
            "application/vnd.mapbox.style+json",
            "Document",
            &["styleFormat"],
        ),
        "/collections/{collectionId}/items/{featureId}":
            get("getFeature", "Data", "A feature", GEOJSON, "Feature", &["f", "crs"]),
    });
    paths["/collections/{collectionId}"]["parameters"] = collection.clone();
    paths["/collections/{collectionId}/items"]["parameters"] = collection;
    paths["/collections/{collectionId}/items/{featureId}"]["parameters"] = item;
    let tile = ["collectionId", "tileMatrix", "tileRow", "tileCol"].map(parameter);
    for (path, item) in paths.as_object_mut().into_iter().flatten() {
        if path.contains("{tileMatrix}") {
            item["parameters"] = json!(tile);
        } else if path.contains("/tiles") || path.contains("/styles") {
            item["parameters"] = json!([parameter("collectionId")]);
        }
    }
    openapi_writes::add_to(&mut paths);
    paths
}

/// A path with its GET operation.
fn get(
    operation: &str,
    tag: &str,
    summary: &str,
    media_type: &str,
    schema_name: &str,
    parameters: &[&str],
) -> Value {
    let parameters: Vec<Value> = parameters.iter().map(|name| parameter(name)).collect();
    let mut responses = json!({
        "200": { "description": summary, "content": { media_type: { "schema": schema(schema_name) } } },
    });
    for status in ["400", "401", "403", "404", "429", "500"] {
        responses[status] = json!({ "$ref": "#/components/responses/Problem" });
    }
    json!({
        "get": {
            "operationId": operation,
            "tags": [tag],
            "summary": summary,
            "parameters": parameters,
            "responses": responses,
        },
    })
}

fn parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn parameters() -> Value {
    let in_path = |name: &str, description: &str| {
        json!({
            "name": name, "in": "path", "required": true, "description": description,
            "schema": { "type": "string" },
        })
    };
    let in_query = |name: &str, description: &str, schema: Value| {
        json!({
            "name": name, "in": "query", "required": false, "description": description,
            "style": "form", "explode": false, "schema": schema,
        })
    };
    let uri = json!({ "type": "string", "format": "uri" });
    let numbers = json!({
        "type": "array", "items": { "type": "number" }, "minItems": 4, "maxItems": 6,
        "oneOf": [{ "minItems": 4, "maxItems": 4 }, { "minItems": 6, "maxItems": 6 }],
    });
    let limit = json!({
        "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT,
    });
    let mut parameters = json!({
        "collectionId": in_path(
            "collectionId",
            "Slug or ID of a layer, or `folders`, `assignments`, `expenses` or `budgets`",
        ),
        "featureId": in_path("featureId", "ID of a feature"),
        "tileMatrix": in_path("tileMatrix", "Zoom"),
        "tileRow": in_path("tileRow", "Row, from the north"),
        "tileCol": in_path("tileCol", "Column, from the west"),
        "styleFormat": in_query("f", "Format of the style", json!({ "type": "string", "enum": ["mapbox", "qml"] })),
        "f": in_query("f", "Format of the response", json!({ "type": "string", "enum": ["json", "geojson", "html"] })),
        "limit": in_query("limit", "Most features of a page", limit),
        "cursor": in_query("cursor", "Where the page begins, from the link to the next page", json!({ "type": "string" })),
        "bbox": in_query("bbox", "Only features that meet this box", numbers),
        "bbox-crs": in_query("bbox-crs", "Reference system of `bbox`; CRS84 if left out", uri.clone()),
        "crs": in_query("crs", "Reference system of the coordinates; CRS84 if left out", uri),
        "datetime": in_query(
            "datetime",
            "Only features that last changed at this time or in this interval",
            json!({ "type": "string" }),
        ),
    });
    openapi_writes::add_parameters(&mut parameters);
    parameters
}

fn schemas() -> Value {
    let links = json!({ "type": "array", "items": schema("Link") });
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let mut schemas = json!({
        "Link": {
            "type": "object",
            "required": ["href", "rel"],
            "properties": { "href": text, "rel": text, "type": text, "title": text },
        },
        "LandingPage": {
            "type": "object",
            "required": ["links"],
            "properties": { "title": text, "description": text, "links": links },
        },
        "Conformance": {
            "type": "object",
            "required": ["conformsTo"],
            "properties": { "conformsTo": texts },
        },
        "Collections": {
            "type": "object",
            "required": ["links", "collections"],
            "properties": {
                "links": links,
                "collections": { "type": "array", "items": schema("Collection") },
            },
        },
        "Collection": {
            "type": "object",
            "required": ["id", "links"],
            "properties": {
                "id": text, "title": text, "description": text, "attribution": text, "links": links,
                "itemType": text, "crs": texts, "storageCrs": text, "extent": { "type": "object" },
            },
        },
        "FeatureCollection": {
            "type": "object",
            "required": ["type", "features"],
            "properties": {
                "type": { "type": "string", "enum": ["FeatureCollection"] },
                "features": { "type": "array", "items": schema("Feature") },
                "links": links,
                "timeStamp": { "type": "string", "format": "date-time" },
                "numberMatched": { "type": "integer", "minimum": 0 },
                "numberReturned": { "type": "integer", "minimum": 0 },
            },
        },
        "Feature": {
            "type": "object",
            "required": ["type", "geometry", "properties"],
            "properties": {
                "type": { "type": "string", "enum": ["Feature"] },
                "id": { "type": "string", "format": "uuid" },
                "geometry": { "type": "object", "nullable": true },
                "properties": { "type": "object" },
                "links": links,
            },
        },
        "Document": { "type": "object" },
        "Tile": { "type": "string", "format": "binary" },
        "Problem": {
            "type": "object",
            "required": ["title", "status", "detail"],
            "properties": {
                "title": text, "status": { "type": "integer" }, "detail": text,
                "errors": {
                    "type": "array",
                    "items": { "type": "object", "properties": { "detail": text, "pointer": text } },
                },
            },
        },
    });
    openapi_writes::add_schemas(&mut schemas);
    schemas
}
