//! The landing page and the declaration of conformance.

use super::{
    OgcState,
    links::{HTML, JSON, Link, OPENAPI},
    parameters::Parameters,
};
use crate::http::{HttpError, ResponseOptions};
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use serde_json::{Value, json};

/// The conformance classes that this API fulfils, all of them completely.
const CONFORMANCE_CLASSES: &[&str] = &[
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/oas30",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/html",
    "http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/crs",
    "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/queryables",
    "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/queryables-query-parameters",
    "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/filter",
    "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/features-filter",
    "http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/create-replace-delete",
    "http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/update",
    "http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/optimistic-locking-etags",
    "http://www.opengis.net/spec/ogcapi-features-4/1.0/conf/features",
    "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/schemas",
    "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/core-roles-features",
    "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/returnables-and-receivables",
    "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/queryables",
    "http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/sortables",
    "http://www.opengis.net/spec/cql2/1.0/conf/cql2-text",
    "http://www.opengis.net/spec/cql2/1.0/conf/cql2-json",
    "http://www.opengis.net/spec/cql2/1.0/conf/basic-cql2",
    "http://www.opengis.net/spec/cql2/1.0/conf/advanced-comparison-operators",
    "http://www.opengis.net/spec/cql2/1.0/conf/case-insensitive-comparison",
    "http://www.opengis.net/spec/cql2/1.0/conf/accent-insensitive-comparison",
    "http://www.opengis.net/spec/cql2/1.0/conf/basic-spatial-functions",
    "http://www.opengis.net/spec/cql2/1.0/conf/basic-spatial-functions-plus",
    "http://www.opengis.net/spec/cql2/1.0/conf/spatial-functions",
    "http://www.opengis.net/spec/cql2/1.0/conf/temporal-functions",
    "http://www.opengis.net/spec/cql2/1.0/conf/property-property",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/tileset",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/tilesets-list",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/geodata-tilesets",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/mvt",
    "http://www.opengis.net/spec/tms/2.0/conf/tilematrixset",
    "http://www.opengis.net/spec/tms/2.0/conf/json-tilematrixset",
    "http://www.opengis.net/spec/tms/2.0/conf/json-tilesetmetadata",
];

/// `/ogc`
pub(super) async fn get_landing_page(
    State(ogc): State<OgcState>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query.as_deref(), &["f"])?;
    let url = &ogc.url;
    let links = [
        Link::new("self", JSON, url, "This page"),
        Link::page(url),
        Link::new("service-desc", OPENAPI, format!("{url}/api"), "The API as OpenAPI document"),
        Link::new("service-doc", HTML, format!("{url}/api?f=html"), "The API as HTML"),
        Link::new("conformance", JSON, format!("{url}/conformance"), "Conformance classes"),
        Link::new("data", JSON, format!("{url}/collections"), "Collections"),
        Link::new(
            "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes",
            JSON,
            format!("{url}/tileMatrixSets"),
            "Tile matrix sets",
        ),
    ];
    let description = "Layers and records of a workspace as collections of features";
    json_response(&json!({ "title": "Groma", "description": description, "links": links }), options)
}

/// `/ogc/conformance`
pub(super) async fn get_conformance(
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query.as_deref(), &["f"])?;
    json_response(&json!({ "conformsTo": CONFORMANCE_CLASSES }), options)
}

/// A response with a small document.
pub(super) fn json_response(
    document: &Value,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let body = serde_json::to_vec(document);
    Ok(options.json(body.map_err(|error| HttpError::internal(error.to_string()))?))
}
