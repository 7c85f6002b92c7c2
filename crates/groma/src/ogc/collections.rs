//! The list of collections, and single collections.

use super::{
    Ogc, OgcState, crs,
    landing::json_response,
    layer_items::layer_not_found,
    links::{HTML, JSON, Link},
    parameters::Parameters,
    styles, tiles,
};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    response::Response,
};
use groma_domain::{
    Kind, Layer, Scope,
    layer::{LayerCrs, LayerKey},
};
use groma_geo::geojson::GEOJSON;
use serde_json::{Value, json};

/// `/ogc/collections`
pub(super) async fn list_collections(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query.as_deref(), &["f"])?;
    let layers = ogc.store.all_layers(caller.token.workspace).await?;
    let scopes = caller.token.scopes;
    let kinds = Kind::ALL.into_iter().filter(|kind| scopes.contains(Scope::read(*kind)));
    let layers = layers.iter().map(|layer| layer_document(&ogc, layer));
    let collections: Vec<Value> =
        layers.chain(kinds.map(|kind| record_document(&ogc, kind))).collect();
    let url = format!("{}/collections", ogc.url);
    let links = [Link::new("self", JSON, &url, "This list"), Link::page(&url)];
    json_response(&json!({ "links": links, "collections": collections }), options)
}

/// `/ogc/collections/{collection}` of a layer
pub(super) async fn get_layer(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = ogc.store.layer(caller.token.workspace, &LayerKey::parse(&collection)).await?;
    let layer = layer.ok_or_else(|| layer_not_found(&collection))?;
    Parameters::parse(query.as_deref(), &["f"])?;
    json_response(&layer_document(&ogc, &layer), options)
}

/// `/ogc/collections/{collection}` of records
pub(super) fn get_records(
    ogc: &Ogc,
    kind: Kind,
    query: Option<&str>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    Parameters::parse(query, &["f"])?;
    json_response(&record_document(ogc, kind), options)
}

fn layer_document(ogc: &Ogc, layer: &Layer) -> Value {
    let mut document = document(ogc, layer.slug.as_str(), &layer.name, layer.crs);
    let url = format!("{}/collections/{}", ogc.url, layer.slug.as_str());
    let links = [tiles::collection_link(&url), styles::collection_link(&url)];
    if let Some(list) = document["links"].as_array_mut() {
        list.extend(links.iter().filter_map(|link| serde_json::to_value(link).ok()));
    }
    if let Some(description) = &layer.description {
        document["description"] = json!(description);
    }
    if let Some(attribution) = &layer.attribution {
        document["attribution"] = json!(attribution);
    }
    let interval = json!([[layer.created_at, layer.updated_at]]);
    document["extent"] = json!({ "temporal": { "interval": interval } });
    if let Some(bounds) = layer.bounds {
        document["extent"]["spatial"] = json!({ "bbox": [bounds], "crs": crs::CRS84 });
    }
    document
}

fn record_document(ogc: &Ogc, kind: Kind) -> Value {
    let (title, description) = match kind {
        Kind::Folder => ("Folders", "The folders, with the extent of their features"),
        Kind::Assignment => ("Assignments", "The assignments, with the extent of their folders"),
        Kind::Expense => ("Expenses", "The expenses, without geometries"),
        Kind::Budget => ("Budgets", "The budgets, without geometries"),
    };
    let mut document = document(ogc, kind.plural(), title, LayerCrs::CRS84);
    document["description"] = json!(description);
    document
}

fn document(ogc: &Ogc, id: &str, title: &str, own: LayerCrs) -> Value {
    let url = format!("{}/collections/{id}", ogc.url);
    let links = [
        Link::new("self", JSON, &url, "This collection"),
        Link::page(&url),
        Link::new("items", GEOJSON, format!("{url}/items"), "The features of this collection"),
        Link::new("items", HTML, format!("{url}/items?f=html"), "The features as HTML"),
    ];
    json!({
        "id": id,
        "title": title,
        "itemType": "feature",
        "crs": crs::offered(own),
        "storageCrs": crs::storage_uri(own),
        "links": links,
    })
}
