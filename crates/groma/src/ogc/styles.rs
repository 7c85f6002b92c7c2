//! Styles of layers: a MapLibre style and a QGIS style, both made from the style of the layer, so that other
//! programs draw it as the map of the web application does.

use super::{
    OgcState,
    landing::json_response,
    layer_items::layer_not_found,
    links::{JSON, Link},
    maplibre_style,
    parameters::{Parameters, invalid},
    qgis_style,
};
use crate::{
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, header},
    response::Response,
};
use groma_domain::{Layer, layer::LayerKey};
use serde_json::json;

/// The only style of a layer.
const STYLE: &str = "default";
const MAPLIBRE: &str = "application/vnd.mapbox.style+json";
const QML: &str = "application/vnd.qgis.qml";
const STYLES: &str = "http://www.opengis.net/def/rel/ogc/1.0/styles";

/// `/ogc/collections/{collection}/styles`
pub(super) async fn list_styles(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(&ogc, &caller, &collection).await?;
    Parameters::parse(query.as_deref(), &["f"])?;
    let url = format!("{}/collections/{}/styles", ogc.url, layer.slug.as_str());
    let stylesheet = |media_type, f: &str, title: &str| {
        Link::new("stylesheet", media_type, format!("{url}/{STYLE}?f={f}"), title)
    };
    let links =
        [stylesheet(MAPLIBRE, "mapbox", "MapLibre style"), stylesheet(QML, "qml", "QGIS style")];
    let style = json!({ "id": STYLE, "title": layer.name, "links": links });
    let links = [Link::new("self", JSON, url, "This list")];
    json_response(&json!({ "default": STYLE, "styles": [style], "links": links }), options)
}

/// `/ogc/collections/{collection}/styles/default`
pub(super) async fn get_style(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let layer = find(&ogc, &caller, &collection).await?;
    Ok(match is_qml(query.as_deref(), &headers)? {
        true => options.text(QML, qgis_style::qml(&layer)),
        false => {
            let style = serde_json::to_vec(&maplibre_style::style(&ogc.url, &layer));
            options.text(MAPLIBRE, style.map_err(|error| HttpError::internal(error.to_string()))?)
        }
    })
}

/// Whether the client wants a QGIS style: by the parameter `f`, or else by `Accept`.
fn is_qml(query: Option<&str>, headers: &HeaderMap) -> Result<bool, HttpError> {
    let mut parameters = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    if let Some((other, _)) = parameters.clone().find(|(name, _)| name != "f") {
        return Err(invalid(&other, "is unknown; known is f"));
    }
    if let Some((_, format)) = parameters.next() {
        return match &*format {
            "qml" => Ok(true),
            "mapbox" | "maplibre" | "json" => Ok(false),
            _ => Err(invalid("f", "must be mapbox or qml")),
        };
    }
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    Ok(accept.is_some_and(|accept| accept.contains(QML)))
}

/// The link from a collection to its styles.
pub(super) fn collection_link(collection_url: &str) -> Link {
    Link::new(STYLES, JSON, format!("{collection_url}/styles"), "Styles")
}

async fn find(ogc: &OgcState, caller: &Caller, collection: &str) -> Result<Layer, HttpError> {
    let layer = ogc.store.layer(caller.token.workspace, &LayerKey::parse(collection)).await?;
    layer.ok_or_else(|| layer_not_found(collection))
}
