//! The map page, and the requests of its script: tiles, folders, features, edits.

use super::{
    Shared, WebError, base_maps,
    export_menu::{self, Systems},
    form::{Query, encode},
    format,
    i18n::{Localizer, id},
    page::{Meta, Nav},
    record_data::{Doc, Statuses},
    request_context::MemberContext,
    suggestions::matching_records,
};
use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use groma_domain::{
    GeometryId, Kind, Layer, LayerId, Permission, WorkspaceId,
    layer::{LayerKey, sort_for_map},
    reference::Key,
};
use groma_geo::{
    Message,
    geojson::{self, ReadError},
    wkb,
};
use groma_store::{
    FeatureSpool, GeometryEdit, LayerFeature, NewGeometries, PostOutcome, RecordQuery,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

/// The maximum number of folders, and of shapes of one folder, on a map.
const MAX_SHAPES: u32 = 5_000;

#[derive(Template)]
#[template(path = "map.html")]
struct MapPage {
    t: Localizer,
    config: String,
    /// Whether files can be dropped on the map.
    can_import: bool,
}

pub(super) async fn page(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let mut folder = Value::Null;
    if let Some(sent) = query.given("folder") {
        folder = folder_json(&ctx.record(Kind::Folder, sent).await?);
    }
    let base_maps = base_maps::read(&ctx).await?;
    let config = json!({
        "layers": layer_configs(&ctx).await?,
        "folders": "/map/folders.geojson",
        "folder": folder,
        "geometries": null,
        "feature": "/map/features/{layerId}/{featureId}",
        "save": "/map/geometries",
        "delete": "/map/geometries/{id}/delete",
        "search": "/map/folders",
        "featureSearch": "/map/features",
        "table": "/map/layers/{layerId}/table",
        "exportFormats": export_menu::layer_formats_json(),
        "csrf": ctx.request.csrf_token(),
        "baseMaps": base_maps.config,
        "canEdit": ctx.can(Permission::ChangeRecords),
        "position": null,
        "small": false,
    });
    let content = MapPage {
        t: ctx.t(),
        config: config.to_string(),
        can_import: ctx.can(Permission::ChangeRecords),
    };
    let meta = Meta::new(ctx.t().msg("nav-map"), Nav::Map);
    let meta = meta.with_map(base_maps.origins).full_screen();
    ctx.page(meta, &content).await
}

/// The configuration of the map on a folder's page, and the origins that it may load from.
pub(super) async fn folder_config(
    ctx: &MemberContext,
    doc: &Doc,
) -> Result<(String, Vec<String>), WebError> {
    let base_maps = base_maps::read(ctx).await?;
    let config = json!({
        "layers": layer_configs(ctx).await?,
        "folders": null,
        "folder": folder_json(doc),
        "geometries": format!("{}/geometries.geojson", doc.path(Kind::Folder)),
        "csrf": ctx.request.csrf_token(),
        "baseMaps": base_maps.config,
        "canEdit": ctx.can(Permission::ChangeRecords),
        "position": null,
        "small": true,
    });
    Ok((config.to_string(), base_maps.origins))
}

fn folder_json(doc: &Doc) -> Value {
    json!({
        "id": doc.text("id"),
        "reference": doc.reference(),
        "name": doc.title(Kind::Folder),
        "bbox": doc.0["bbox"],
    })
}

/// The layers, the topmost first.
async fn layer_configs(ctx: &MemberContext) -> Result<Vec<Value>, WebError> {
    let mut layers = ctx.store().all_layers(ctx.workspace_id()).await?;
    sort_for_map(&mut layers);
    let can_change = ctx.can(Permission::ChangeRecords);
    let can_administer = ctx.can(Permission::Administer);
    let systems = Systems::read(ctx).await?;
    let config = |layer: &Layer| {
        let mut config = layer_config(layer, can_change);
        let style_page = format!("/settings/layers/{}/style", layer.id);
        config["settings"] = can_administer.then_some(style_page).into();
        config["check"] = format!("/settings/layers/{}/check", layer.id).into();
        config["export"] = json!({
            "url": export_menu::layer_path(layer),
            "systems": export_menu::choices_json(&systems.of_layer(ctx.t(), layer.crs)),
        });
        config
    };
    Ok(layers.iter().map(config).collect())
}

fn layer_config(layer: &Layer, can_change: bool) -> Value {
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
        "editable": can_change && !layer.is_locked,
        "locked": layer.is_locked,
        "style": layer.style,
        "fields": layer.declared_fields,
    })
}

pub(super) async fn tile(
    State(web): State<Shared>,
    ctx: MemberContext,
    Path((layer, z, x, y)): Path<(String, String, String, String)>,
    query: Query,
    request: Request,
) -> Result<Response, WebError> {
    let layer: LayerId = layer.parse().map_err(|_| WebError::not_found())?;
    let number = |text: &str| text.parse::<u32>().ok();
    let tile = number(&z).and_then(|z| u8::try_from(z).ok()).zip(number(&x).zip(number(&y)));
    let tile = tile.and_then(|(z, (x, y))| groma_geo::grid::TileId::new(z, x, y));
    let tile = tile.ok_or_else(WebError::not_found)?;
    let revision = query.get("r").parse().ok();
    let (parts, _) = request.into_parts();
    let (store, workspace) = (&web.store, ctx.workspace_id());
    let response = web.tiles.map_response(store, workspace, layer, tile, revision, parts).await?;
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

pub(super) async fn folders(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let statuses = Statuses::read(&ctx).await?;
    let no_status = ctx.t().msg("status-none").to_string();
    let numbers: Vec<f64> =
        query.get("bbox").split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let view: Option<[f64; 4]> = numbers.try_into().ok();
    let placed = RecordQuery {
        closed: Some(false),
        has_bbox: true,
        limit: MAX_SHAPES,
        ..RecordQuery::all(Kind::Folder)
    };
    let page = ctx.store().query_records(ctx.workspace_id(), placed).await?;
    let mut features = Vec::new();
    for document in &page.documents {
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
                "status": status.map_or(no_status.as_str(), |status| status.name.as_str()),
                "color": status.map_or("#87909d", |status| status.color.as_str()),
                "url": super::record_data::path(Kind::Folder, &folder.reference, &folder.id),
            },
        }));
    }
    Ok(as_json(&json!({ "type": "FeatureCollection", "features": features })))
}

pub(super) async fn find_folders(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let statuses = Statuses::read(&ctx).await?;
    let docs = matching_records(&ctx, Kind::Folder, query.get("term"), "").await?;
    let folder = |doc: &Doc| {
        let status = statuses.get(doc.text("statusId"));
        json!({
            "reference": doc.reference(),
            "name": doc.title(Kind::Folder),
            "status": status.map_or("", |status| status.name.as_str()),
            "color": status.map_or("#87909d", |status| status.color.as_str()),
            "bbox": doc.0["bbox"],
        })
    };
    Ok(as_json(&docs.iter().map(folder).collect::<Value>()))
}

pub(super) async fn feature(
    ctx: MemberContext,
    Path((layer, number)): Path<(String, String)>,
) -> Result<Response, WebError> {
    let layer: LayerId = layer.parse().map_err(|_| WebError::not_found())?;
    let found = match number.parse() {
        Ok(number) => ctx.store().geometry_by_tile_id(ctx.workspace_id(), layer, number).await?,
        Err(_) => {
            let id: GeometryId = number.parse().map_err(|_| WebError::not_found())?;
            ctx.store().geometry(ctx.workspace_id(), id).await?
        }
    };
    let (layer, feature) = found.ok_or_else(WebError::not_found)?;
    let properties: Map<String, Value> = serde_json::from_str(&feature.properties)
        .map_err(|error| WebError::internal(error.to_string()))?;
    let title = feature_title(ctx.t(), &feature, &properties);
    let mut folder = Value::Null;
    if let Some(id) = feature.folder
        && let Some(json) = ctx.store().get(ctx.workspace_id(), Kind::Folder, &Key::Id(id)).await?
    {
        let doc = Doc::parse(&json)?;
        folder = json!({
            "reference": doc.reference(),
            "name": doc.title(Kind::Folder),
            "url": doc.path(Kind::Folder),
        });
    }
    Ok(as_json(&json!({
        "id": feature.id,
        "featureId": feature.position * TILE_ID_STEP,
        "layerId": layer.id,
        "title": title,
        "properties": properties,
        "folder": folder,
        "geometry": geometry_json(&feature)?,
        "updatedAt": feature.updated_at,
        "editable": ctx.can(Permission::ChangeRecords) && !layer.is_locked,
    })))
}

/// The property of a feature that people know it by, or its external id.
pub(super) fn feature_title(
    t: Localizer,
    feature: &LayerFeature,
    properties: &Map<String, Value>,
) -> Option<String> {
    ["name", "title", "label", "reference", "id"]
        .iter()
        .find_map(|name| properties.get(*name).filter(|value| !value.is_null()))
        .map(|value| format::plain_text(t, value))
        .or_else(|| feature.external_id.clone())
}

/// Tiles number features in steps, because a feature may have several parts.
pub(super) const TILE_ID_STEP: u64 = 4;

fn geometry_json(feature: &LayerFeature) -> Result<Option<Box<RawValue>>, WebError> {
    let Some(shape) = &feature.geometry else { return Ok(None) };
    let damaged = |error: String| WebError::internal(error);
    let geometry = wkb::from_wkb(shape).map_err(|error| damaged(error.to_string()))?;
    let mut text = Vec::new();
    geojson::write_geometry(&geometry, &mut text);
    let text = String::from_utf8(text).map_err(|error| damaged(error.to_string()))?;
    RawValue::from_string(text).map(Some).map_err(|error| damaged(error.to_string()))
}

pub(super) async fn folder_geometries(
    ctx: MemberContext,
    Path(key): Path<String>,
) -> Result<Response, WebError> {
    #[derive(Serialize)]
    struct Shape<'a> {
        r#type: &'static str,
        id: GeometryId,
        geometry: Option<Box<RawValue>>,
        properties: ShapeProperties<'a>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ShapeProperties<'a> {
        layer_id: LayerId,
        feature_id: u64,
        layer: &'a str,
        color: &'a str,
    }
    let id = ctx.record(Kind::Folder, &key).await?.id()?;
    let layers = ctx.store().all_layers(ctx.workspace_id()).await?;
    let found = ctx.store().geometries_of_folder(ctx.workspace_id(), id, MAX_SHAPES).await?;
    let mut features = Vec::with_capacity(found.len());
    for (layer_id, feature) in &found {
        let layer = layers.iter().find(|layer| layer.id == *layer_id);
        features.push(Shape {
            r#type: "Feature",
            id: feature.id,
            geometry: geometry_json(feature)?,
            properties: ShapeProperties {
                layer_id: *layer_id,
                feature_id: feature.position * TILE_ID_STEP,
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

/// A new or changed shape, as the map sends it.
#[derive(Deserialize)]
struct DrawnShape {
    layer: Option<String>,
    folder: Option<String>,
    id: Option<GeometryId>,
    feature: Value,
    /// The other parts of a split shape.
    #[serde(default)]
    parts: Vec<Value>,
    /// The shape that was joined with this one and is deleted.
    joined: Option<GeometryId>,
}

pub(super) async fn save(ctx: MemberContext, body: Bytes) -> Result<Response, WebError> {
    let mut drawn: DrawnShape = serde_json::from_slice(&body)
        .map_err(|error| WebError::invalid(Message::untranslated(error)))?;
    let old = match drawn.id {
        Some(id) => {
            let found = ctx.store().geometry(ctx.workspace_id(), id).await?;
            Some(found.ok_or_else(WebError::not_found)?.1)
        }
        None => None,
    };
    // A shape that is only moved keeps its properties.
    let keeps_properties = drawn.feature["properties"].is_null();
    if keeps_properties && let Some(feature) = drawn.feature.as_object_mut() {
        let known = old.as_ref().map_or("{}", |old| old.properties.as_str());
        let known: Value =
            serde_json::from_str(known).map_err(|error| WebError::internal(error.to_string()))?;
        feature.insert("properties".into(), known);
        feature.remove("id");
    }
    let folder = drawn.folder.filter(|folder| !folder.is_empty());
    let spool = parse_feature(&drawn.feature)?;
    if drawn.id.is_none() && (drawn.joined.is_some() || !drawn.parts.is_empty()) {
        return Err(WebError::bad_request(id("map-one-shape")));
    }
    let parts = parse_features(&drawn.parts)?;
    let (workspace, actor, now) = (ctx.workspace_id(), ctx.actor(), ctx.now());
    let posted = match drawn.id {
        Some(id) => {
            let (feature, joined) = (spool, drawn.joined);
            let edit = GeometryEdit { workspace, actor, now, id, folder, feature, parts, joined };
            ctx.store().replace_geometry(edit).await?
        }
        None => {
            let new = NewGeometries {
                mode: groma_store::PostMode::default(),
                workspace,
                actor,
                now,
                layer: drawn.layer.filter(|layer| !layer.is_empty()).map(|l| LayerKey::parse(&l)),
                folder,
                assignment: None,
                features: spool,
                request: None,
            };
            match ctx.store().post_geometries(new).await? {
                PostOutcome::Posted(posted) => posted,
                PostOutcome::Replayed(_) => {
                    return Err(WebError::internal(
                        "the web application sends no idempotency keys",
                    ));
                }
            }
        }
    };
    let first = posted.geometries.first();
    let first = first.ok_or_else(|| WebError::bad_request(id("map-nothing-to-save")))?;
    saved(&ctx, workspace, posted.layer_id, Some(first.id)).await
}

/// Checks the drawn feature like any other GeoJSON.
fn parse_feature(feature: &Value) -> Result<FeatureSpool, WebError> {
    let spool = parse_geojson(feature)?;
    match spool.len() {
        1 => Ok(spool),
        _ => Err(WebError::bad_request(id("map-one-shape"))),
    }
}

fn parse_features(features: &[Value]) -> Result<FeatureSpool, WebError> {
    if features.is_empty() {
        return Ok(FeatureSpool::default());
    }
    parse_geojson(&json!({ "type": "FeatureCollection", "features": features }))
}

fn parse_geojson(document: &Value) -> Result<FeatureSpool, WebError> {
    let text = document.to_string();
    let mut spool = FeatureSpool::default();
    let read = geojson::read(text.as_bytes(), &geojson::Options::default(), |feature| {
        spool.push(&feature)
    });
    match read {
        Ok(_) => Ok(spool),
        Err(ReadError::Invalid(spots)) => {
            let first = spots.into_iter().next().map(|spot| WebError::invalid(spot.message));
            Err(first.unwrap_or_else(|| WebError::internal("a rejected document has no error")))
        }
        Err(ReadError::Input(error) | ReadError::Stopped(error)) => {
            Err(WebError::internal(error.to_string()))
        }
    }
}

pub(super) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id: GeometryId = id.parse().map_err(|_| WebError::not_found())?;
    let found = ctx.store().geometry(ctx.workspace_id(), id).await?;
    let (layer, _) = found.ok_or_else(WebError::not_found)?;
    ctx.store().delete_geometry(ctx.workspace_id(), ctx.actor(), id, ctx.now()).await?;
    saved(&ctx, ctx.workspace_id(), layer.id, None).await
}

/// The new revision of a layer, so that the map reloads its tiles.
async fn saved(
    ctx: &MemberContext,
    workspace: WorkspaceId,
    layer: LayerId,
    id: Option<GeometryId>,
) -> Result<Response, WebError> {
    let revision = ctx.store().layer_revision(workspace, layer).await?;
    let mut number = Value::Null;
    if let Some(id) = id
        && let Some((_, feature)) = ctx.store().geometry(workspace, id).await?
    {
        number = json!(feature.position * TILE_ID_STEP);
    }
    Ok(as_json(&json!({
        "id": id, "featureId": number, "layerId": layer, "revision": revision,
    })))
}

pub(super) fn as_json(value: &impl Serialize) -> Response {
    // Plain data always serialises.
    let mut response = serde_json::to_vec(value).unwrap_or_default().into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// The path of the map, centred on a folder.
pub(super) fn folder_path(reference: &str) -> String {
    format!("/map?folder={}", encode(reference))
}
