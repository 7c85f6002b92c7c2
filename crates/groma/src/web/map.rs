//! The map, and what it asks for over the session: tiles, folders, features, and what is drawn.

use super::{
    Shared, WebError,
    form::{Query, encode},
    page::{Meta, Nav},
    records::{Doc, Statuses},
    visit::Desk,
};
use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use groma_domain::{
    GeometryId, Kind, Layer, LayerId, Permission, Term, WorkspaceId, layer::LayerKey,
    reference::Key,
};
use groma_geo::{
    geojson::{self, ReadError},
    wkb,
};
use groma_store::{Browse, ExportedFeature, GeometryEdit, NewGeometries, Outcome, Spool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

/// How many folders, and how many shapes of one folder, a map shows.
const MOST: u32 = 5_000;

#[derive(Template)]
#[template(path = "map.html")]
struct MapPage {
    config: String,
}

pub(super) async fn page(desk: Desk, query: Query) -> Result<Response, WebError> {
    let mut folder = Value::Null;
    if let Some(sent) = query.given("folder") {
        folder = folder_facts(&desk.record(Kind::Folder, sent).await?);
    }
    let layers = desk.store().all_layers(desk.id()).await?;
    let may_change = desk.may(Permission::ChangeRecords);
    let config = json!({
        "layers": layers.iter().map(|layer| layer_config(layer, may_change)).collect::<Vec<_>>(),
        "folders": "/map/folders.geojson",
        "folder": folder,
        "geometries": null,
        "feature": "/map/features/{layerId}/{featureId}",
        "save": "/map/geometries",
        "delete": "/map/geometries/{id}/delete",
        "search": "/map/folders",
        "csrf": desk.visit.form_token(),
        "style": desk.web.map_style,
        "canEdit": may_change,
        "position": null,
        "small": false,
    });
    let content = MapPage { config: config.to_string() };
    let meta = Meta { is_whole: true, ..Meta::new("Map", Nav::Map).with_map() };
    desk.page(meta, &content).await
}

/// What the small map of a folder's page is told.
pub(super) async fn folder_config(desk: &Desk, doc: &Doc) -> Result<String, WebError> {
    let layers = desk.store().all_layers(desk.id()).await?;
    let may_change = desk.may(Permission::ChangeRecords);
    let config = json!({
        "layers": layers.iter().map(|layer| layer_config(layer, may_change)).collect::<Vec<_>>(),
        "folders": null,
        "folder": folder_facts(doc),
        "geometries": format!("{}/geometries.geojson", doc.path(Kind::Folder)),
        "csrf": desk.visit.form_token(),
        "style": desk.web.map_style,
        "canEdit": may_change,
        "position": null,
        "small": true,
    });
    Ok(config.to_string())
}

fn folder_facts(doc: &Doc) -> Value {
    json!({
        "id": doc.text("id"),
        "reference": doc.reference(),
        "name": doc.title(Kind::Folder),
        "bbox": doc.0["bbox"],
    })
}

fn layer_config(layer: &Layer, may_change: bool) -> Value {
    let document = layer.document("");
    json!({
        "id": layer.id,
        "slug": document.slug,
        "name": layer.name,
        "color": layer.color,
        "geometryType": document.geometry_type,
        "bounds": layer.bounds,
        "minZoom": layer.min_zoom,
        "maxZoom": layer.max_zoom,
        "sourceLayer": document.source_layer,
        "tiles": format!("/map/tiles/{}/{{z}}/{{x}}/{{y}}?r={}", layer.id, layer.revision),
        "tilejson": null,
        "editable": may_change,
    })
}

pub(super) async fn tile(
    State(web): State<Shared>,
    desk: Desk,
    Path((layer, z, x, y)): Path<(String, String, String, String)>,
    query: Query,
    request: Request,
) -> Result<Response, WebError> {
    let layer: LayerId = layer.parse().map_err(|_| WebError::not_found())?;
    let number = |text: &str| text.parse::<u32>().ok();
    let tile = number(&z).and_then(|z| u8::try_from(z).ok()).zip(number(&x).zip(number(&y)));
    let tile = tile.and_then(|(z, (x, y))| groma_geo::grid::TileId::new(z, x, y));
    let tile = tile.ok_or_else(WebError::not_found)?;
    let asked = query.get("r").parse().ok();
    let (parts, _) = request.into_parts();
    let response = web.tiles.map_response(&web.store, desk.id(), layer, tile, asked, parts).await?;
    response.ok_or_else(WebError::not_found)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlacedFolder {
    id: String,
    reference: String,
    name: String,
    status_id: Option<String>,
    bbox: Option<[f64; 4]>,
}

pub(super) async fn folders(desk: Desk, query: Query) -> Result<Response, WebError> {
    let statuses = Statuses::read(&desk).await?;
    let numbers: Vec<f64> =
        query.get("bbox").split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let view: Option<[f64; 4]> = numbers.try_into().ok();
    let placed =
        Browse { closed: Some(false), is_placed: true, limit: MOST, ..Browse::all(Kind::Folder) };
    let browsed = desk.store().browse(desk.id(), placed).await?;
    let mut features = Vec::new();
    for document in &browsed.documents {
        let folder: PlacedFolder = serde_json::from_slice(document)
            .map_err(|error| WebError::internal(error.to_string()))?;
        let Some([w, s, e, n]) = folder.bbox else { continue };
        let (x, y) = (f64::midpoint(w, e), f64::midpoint(s, n));
        let is_seen = view.is_none_or(|[west, south, east, north]| {
            let across =
                if west <= east { (west..=east).contains(&x) } else { x >= west || x <= east };
            across && (south..=north).contains(&y)
        });
        if !is_seen {
            continue;
        }
        let status = folder.status_id.as_deref().and_then(|id| statuses.get(id));
        features.push(json!({
            "type": "Feature",
            "geometry": { "type": "Point", "coordinates": [x, y] },
            "properties": {
                "reference": folder.reference,
                "name": folder.name,
                "status": status.map_or("No status", |status| status.name.as_str()),
                "color": status.map_or("#87909d", |status| status.color.as_str()),
                "url": super::records::path(Kind::Folder, &folder.reference, &folder.id),
            },
        }));
    }
    Ok(as_json(&json!({ "type": "FeatureCollection", "features": features })))
}

pub(super) async fn find_folders(desk: Desk, query: Query) -> Result<Response, WebError> {
    let statuses = Statuses::read(&desk).await?;
    let sent: String = query.get("term").chars().take(200).collect();
    let found = Browse {
        term: Term::parse(&sent).ok().flatten(),
        closed: Some(false),
        limit: 20,
        ..Browse::all(Kind::Folder)
    };
    let (docs, _) = desk.browse(found).await?;
    let shown = |doc: &Doc| {
        let status = statuses.get(doc.text("statusId"));
        json!({
            "reference": doc.reference(),
            "name": doc.title(Kind::Folder),
            "status": status.map_or("", |status| status.name.as_str()),
            "color": status.map_or("#87909d", |status| status.color.as_str()),
        })
    };
    Ok(as_json(&docs.iter().map(shown).collect::<Value>()))
}

pub(super) async fn feature(
    desk: Desk,
    Path((layer, number)): Path<(String, String)>,
) -> Result<Response, WebError> {
    let layer: LayerId = layer.parse().map_err(|_| WebError::not_found())?;
    let found = match number.parse() {
        Ok(number) => desk.store().drawn_geometry(desk.id(), layer, number).await?,
        Err(_) => {
            let id: GeometryId = number.parse().map_err(|_| WebError::not_found())?;
            desk.store().geometry(desk.id(), id).await?
        }
    };
    let (layer, feature) = found.ok_or_else(WebError::not_found)?;
    let properties: Map<String, Value> = serde_json::from_str(&feature.properties)
        .map_err(|error| WebError::internal(error.to_string()))?;
    let title = ["name", "title", "label", "reference", "id"]
        .iter()
        .find_map(|name| properties.get(*name).filter(|value| !value.is_null()))
        .map(super::shown::plain)
        .or_else(|| feature.external_id.clone());
    let mut folder = Value::Null;
    if let Some(id) = feature.folder
        && let Some(json) = desk.store().get(desk.id(), Kind::Folder, &Key::Id(id)).await?
    {
        let doc = Doc::parse(&json.text)?;
        folder = json!({
            "reference": doc.reference(),
            "name": doc.title(Kind::Folder),
            "url": doc.path(Kind::Folder),
        });
    }
    Ok(as_json(&json!({
        "id": feature.id,
        "featureId": feature.seq * FEATURE_IDS,
        "layerId": layer.id,
        "title": title,
        "properties": properties,
        "folder": folder,
        "geometry": geometry_of(&feature)?,
        "updatedAt": feature.updated_at,
        "editable": desk.may(Permission::ChangeRecords),
    })))
}

/// A feature's number in tiles is its own times this.
const FEATURE_IDS: u64 = 4;

fn geometry_of(feature: &ExportedFeature) -> Result<Option<Box<RawValue>>, WebError> {
    let Some(shape) = &feature.geometry else { return Ok(None) };
    let damaged = |error: String| WebError::internal(error);
    let geometry = wkb::from_wkb(shape).map_err(|error| damaged(error.to_string()))?;
    let mut text = Vec::new();
    geojson::write_geometry(&geometry, &mut text);
    let text = String::from_utf8(text).map_err(|error| damaged(error.to_string()))?;
    RawValue::from_string(text).map(Some).map_err(|error| damaged(error.to_string()))
}

pub(super) async fn folder_geometries(
    desk: Desk,
    Path(key): Path<String>,
) -> Result<Response, WebError> {
    #[derive(Serialize)]
    struct Shape<'a> {
        r#type: &'static str,
        id: GeometryId,
        geometry: Option<Box<RawValue>>,
        properties: ShapeFacts<'a>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ShapeFacts<'a> {
        layer_id: LayerId,
        feature_id: u64,
        layer: &'a str,
        color: &'a str,
    }
    let id = desk.record(Kind::Folder, &key).await?.id()?;
    let layers = desk.store().all_layers(desk.id()).await?;
    let found = desk.store().geometries_of_folder(desk.id(), id, MOST).await?;
    let mut features = Vec::with_capacity(found.len());
    for (layer_id, feature) in &found {
        let layer = layers.iter().find(|layer| layer.id == *layer_id);
        features.push(Shape {
            r#type: "Feature",
            id: feature.id,
            geometry: geometry_of(feature)?,
            properties: ShapeFacts {
                layer_id: *layer_id,
                feature_id: feature.seq * FEATURE_IDS,
                layer: layer.map_or("", |layer| layer.name.as_str()),
                color: layer.map_or("", |layer| layer.color.as_str()),
            },
        });
    }
    #[derive(Serialize)]
    struct Collection<'a> {
        r#type: &'static str,
        features: Vec<Shape<'a>>,
    }
    Ok(as_json(&Collection { r#type: "FeatureCollection", features }))
}

/// What the map sends when something was drawn.
#[derive(Deserialize)]
struct Drawn {
    layer: Option<String>,
    folder: Option<String>,
    id: Option<GeometryId>,
    feature: Value,
}

pub(super) async fn save(desk: Desk, body: Bytes) -> Result<Response, WebError> {
    let mut drawn: Drawn =
        serde_json::from_slice(&body).map_err(|error| WebError::bad(error.to_string()))?;
    let old = match drawn.id {
        Some(id) => {
            let found = desk.store().geometry(desk.id(), id).await?;
            Some(found.ok_or_else(WebError::not_found)?.1)
        }
        None => None,
    };
    // A shape that is moved keeps what is known of it.
    let is_silent = drawn.feature["properties"].is_null();
    if is_silent && let Some(feature) = drawn.feature.as_object_mut() {
        let known = old.as_ref().map_or("{}", |old| old.properties.as_str());
        let known: Value =
            serde_json::from_str(known).map_err(|error| WebError::internal(error.to_string()))?;
        feature.insert("properties".into(), known);
        feature.remove("id");
    }
    let folder = drawn.folder.filter(|folder| !folder.is_empty());
    let spool = spooled(&drawn.feature)?;
    let (workspace, actor, now) = (desk.id(), desk.actor(), desk.now());
    let posted = match drawn.id {
        Some(id) => {
            let edit = GeometryEdit { workspace, actor, now, id, folder, feature: spool };
            desk.store().replace_geometry(edit).await?
        }
        None => {
            let new = NewGeometries {
                workspace,
                actor,
                now,
                layer: drawn.layer.filter(|layer| !layer.is_empty()).map(|l| LayerKey::parse(&l)),
                folder,
                assignment: None,
                features: spool,
                request: None,
            };
            match desk.store().post_geometries(new).await? {
                Outcome::Posted(posted) => posted,
                Outcome::Replayed(_) => return Err(WebError::internal("nothing is replayed here")),
            }
        }
    };
    let id = posted.geometries.first().map(|geometry| geometry.id);
    let id = id.ok_or_else(|| WebError::bad("There is nothing to save."))?;
    kept(&desk, workspace, posted.layer_id, Some(id)).await
}

/// The one feature that was drawn, checked as every GeoJSON is.
fn spooled(feature: &Value) -> Result<Spool, WebError> {
    let text = feature.to_string();
    let mut spool = Spool::default();
    let read = geojson::read(text.as_bytes(), &geojson::Options::default(), |feature| {
        spool.push(&feature)
    });
    match read {
        Ok(1) => Ok(spool),
        Ok(_) => Err(WebError::bad("One shape at a time.")),
        Err(ReadError::Invalid(spots)) => {
            let first = spots.into_iter().next();
            Err(WebError::bad(first.map_or_else(String::new, |spot| spot.message)))
        }
        Err(ReadError::Input(error) | ReadError::Stopped(error)) => {
            Err(WebError::internal(error.to_string()))
        }
    }
}

pub(super) async fn delete(desk: Desk, Path(id): Path<String>) -> Result<Response, WebError> {
    let id: GeometryId = id.parse().map_err(|_| WebError::not_found())?;
    let found = desk.store().geometry(desk.id(), id).await?;
    let (layer, _) = found.ok_or_else(WebError::not_found)?;
    desk.store().delete_geometry(desk.id(), desk.actor(), id, desk.now()).await?;
    kept(&desk, desk.id(), layer.id, None).await
}

/// Where a layer stands now, so that the map loads its tiles anew.
async fn kept(
    desk: &Desk,
    workspace: WorkspaceId,
    layer: LayerId,
    id: Option<GeometryId>,
) -> Result<Response, WebError> {
    let revision = desk.store().layer_revision(workspace, layer).await?;
    let mut number = Value::Null;
    if let Some(id) = id
        && let Some((_, feature)) = desk.store().geometry(workspace, id).await?
    {
        number = json!(feature.seq * FEATURE_IDS);
    }
    Ok(as_json(&json!({
        "id": id, "featureId": number, "layerId": layer, "revision": revision,
    })))
}

fn as_json(value: &impl Serialize) -> Response {
    // Plain data always serialises.
    let mut response = serde_json::to_vec(value).unwrap_or_default().into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// The address of the map with a folder in its middle.
pub(super) fn address_of(reference: &str) -> String {
    format!("/map?folder={}", encode(reference))
}
