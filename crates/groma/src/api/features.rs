//! Features of layers: pages with filters, and single features, as GeoJSON.

use super::{
    ApiState,
    lookup::find_record,
    params::{FeaturePath, KeyPath, LayerPath, parse_query},
};
use crate::{
    clock,
    http::{HttpError, IfMatch, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use groma_domain::{
    DomainError, FieldError, GeometryId, Kind, Layer, LayerId, Permission, Timestamp, WorkspaceId,
    layer::LayerKey,
};
use groma_geo::{Bbox, geojson::GEOJSON};
use groma_store::{
    FeatureOperation, FeaturePrecondition, FeatureQuery, FeatureWrite, LayerFeature,
};

/// The default and the largest number of features of a page.
pub(super) const DEFAULT_LIMIT: u32 = 100;
pub(super) const MAX_LIMIT: u32 = 1_000;

/// List the features of a layer.
#[utoipa::path(get, path = "/api/public/v1/layers/{id}/features", tag = "Layers",
    responses((status = 200, description = "A GeoJSON FeatureCollection in WGS 84, oldest features first",
        body = serde_json::Value, content_type = "application/geo+json")))]
pub(super) async fn list_features(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: LayerPath,
    RawQuery(query): RawQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let text = query.unwrap_or_default();
    let (mut query, cursor) = parse_feature_query(&api, workspace, &text).await?;
    let layer = api.store.layer(workspace, &path.key).await?.ok_or_else(|| path.not_found())?.id;
    query.after = decode_cursor(layer, &cursor)?;
    let key = LayerKey::Id(layer);
    let page = api.store.find_features(workspace, &key, &query);
    let page = match query.is_filtered() {
        false => page.await?,
        true => {
            let search = api.search_slots.begin_search(workspace, caller.token.person).await;
            let mut search = search.ok_or_else(HttpError::too_many_searches)?;
            search.step(page).await.ok_or(groma_store::Error::SearchTimeout)??
        }
    };
    let page = page.ok_or_else(|| path.not_found())?;
    let mut body = b"{\"type\":\"FeatureCollection\",\"features\":[".to_vec();
    for (index, feature) in page.features.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_feature(feature, layer, &mut body)?;
    }
    body.extend_from_slice(b"]}");
    let mut response = options.text(GEOJSON, body);
    if let Some(next) = page.next {
        let url = format!("{}/api/public/v1/layers/{layer}/features", api.geo_url);
        let cursor = encode_cursor(layer, next);
        response.headers_mut().insert(header::LINK, next_link(&url, &text, &cursor)?);
    }
    Ok(response)
}

/// Get one feature of a layer.
#[utoipa::path(get, path = "/api/public/v1/layers/{id}/features/{feature}", tag = "Layers",
    responses((status = 200, description = "A GeoJSON Feature in WGS 84",
        body = serde_json::Value, content_type = "application/geo+json")))]
pub(super) async fn get_feature(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: FeaturePath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let workspace = caller.token.workspace;
    let layer = api.store.layer(workspace, &path.layer.key).await?;
    let layer = layer.ok_or_else(|| path.layer.not_found())?.id;
    let found = match (path.text.parse(), path.text.parse()) {
        (Ok(id), _) => api.store.geometry(workspace, id).await?,
        (_, Ok(tile_id)) => api.store.geometry_by_tile_id(workspace, layer, tile_id).await?,
        _ => None,
    };
    let found = found.filter(|(of, _)| of.id == layer);
    let (_, feature) = found.ok_or_else(|| HttpError::not_found("feature", &path.text))?;
    feature_response(&feature, layer, options)
}

/// Get a geometry by its id.
#[utoipa::path(get, path = "/api/public/v1/geometries/{key}", tag = "Geometries",
    responses((status = 200, description = "A GeoJSON Feature in WGS 84",
        body = serde_json::Value, content_type = "application/geo+json")))]
pub(super) async fn get_geometry(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let not_found = || HttpError::not_found("geometry", &path.text);
    let id = path.text.parse().map_err(|_| not_found())?;
    let found = api.store.geometry(caller.token.workspace, id).await?;
    let (layer, feature) = found.ok_or_else(not_found)?;
    feature_response(&feature, layer.id, options)
}

/// Delete a geometry.
#[utoipa::path(delete, path = "/api/public/v1/geometries/{key}", tag = "Geometries",
    responses((status = 204, description = "The geometry is deleted")))]
pub(super) async fn delete_geometry(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let token = &caller.token;
    token.role.require(Permission::ChangeRecords).map_err(|_| {
        HttpError::forbidden(format!(
            "Deleting geometries requires the role editor; the owner of this token has the role {}",
            token.role
        ))
    })?;
    let not_found = || HttpError::not_found("geometry", &path.text);
    let id: GeometryId = path.text.parse().map_err(|_| not_found())?;
    let (workspace, actor, now) = (token.workspace, caller.actor(), clock::now());
    let Some(if_match) = IfMatch::parse(&headers) else {
        api.store.delete_geometry(workspace, actor, id, now).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let layer = api.store.geometry(workspace, id).await?.ok_or_else(not_found)?.0.id;
    let is_current = move |layer: &Layer, feature: &LayerFeature| {
        let mut body = Vec::new();
        write_feature(feature, layer.id, &mut body).is_ok() && if_match.matches(&body)
    };
    let write = FeatureWrite {
        workspace,
        actor,
        now,
        layer,
        operation: FeatureOperation::Delete(id),
        precondition: Some(FeaturePrecondition::new(is_current)),
        request: None,
    };
    api.store.write_feature(write).await.map_err(|error| {
        // Between the two reads, the geometry may have been deleted.
        let (resource, key) = ("geometry", id.to_string());
        match error.domain_error() {
            Some(DomainError::NotFound { .. }) => not_found(),
            Some(DomainError::PreconditionFailed { .. }) => {
                groma_store::Error::from(DomainError::PreconditionFailed { resource, key }).into()
            }
            _ => error.into(),
        }
    })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn feature_response(
    feature: &LayerFeature,
    layer: LayerId,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let mut body = Vec::new();
    write_feature(feature, layer, &mut body)?;
    Ok(options.text(GEOJSON, body))
}

async fn parse_feature_query(
    api: &ApiState,
    workspace: WorkspaceId,
    query: &str,
) -> Result<(FeatureQuery, String), HttpError> {
    let names = ["limit", "cursor", "bbox", "folder", "assignment", "updatedSince"];
    let [limit, cursor, bbox, folder, assignment, updated_since] =
        parse_query(query, names).map_err(|problem| HttpError::bad_parameter(&problem))?;
    let invalid =
        |name: &str, message: String| HttpError::bad_parameter(&FieldError::new(name, message));
    let limit = match limit {
        None => DEFAULT_LIMIT,
        Some(text) => {
            let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let limit = text.parse().ok();
            let limit = limit.filter(|limit| is_digits && (1..=MAX_LIMIT).contains(limit));
            let message = || format!("must be a whole number from 1 to {MAX_LIMIT}");
            limit.ok_or_else(|| invalid("limit", message()))?
        }
    };
    let updated_since = updated_since.map(|text| {
        let message = || "must be a time such as 2026-01-31T12:00:00Z".to_owned();
        Timestamp::parse(&text).map_err(|_| invalid("updatedSince", message()))
    });
    let query = FeatureQuery {
        after: 0,
        limit,
        bbox: bbox.map(|text| parse_bbox(&text)).transpose()?,
        folder: find_record(api, workspace, Kind::Folder, folder.as_deref()).await?,
        assignment: find_record(api, workspace, Kind::Assignment, assignment.as_deref()).await?,
        updated_since: updated_since.transpose()?,
    };
    Ok((query, cursor.unwrap_or_default()))
}

/// The cursor after a position: it is valid only for its layer.
fn encode_cursor(layer: LayerId, position: u64) -> String {
    let mut bytes = layer.0.as_bytes().to_vec();
    bytes.extend(position.to_be_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The position of a cursor; the beginning if it is empty.
fn decode_cursor(layer: LayerId, cursor: &str) -> Result<u64, HttpError> {
    if cursor.is_empty() {
        return Ok(0);
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    let position = bytes.strip_prefix(layer.0.as_bytes()).and_then(|rest| rest.try_into().ok());
    // Positions fit into the integers of both engines.
    let position = position.map(u64::from_be_bytes).filter(|p| i64::try_from(*p).is_ok());
    position.ok_or_else(|| {
        let message = "is not from this layer; to start over, send an empty cursor";
        HttpError::bad_parameter(&FieldError::new("cursor", message))
    })
}

/// West, south, east and north, or the same with heights, which are ignored.
pub(super) fn parse_bbox(text: &str) -> Result<Bbox, HttpError> {
    let invalid = |message: &str| HttpError::bad_parameter(&FieldError::new("bbox", message));
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let numbers = numbers.ok().filter(|numbers| numbers.iter().all(|number| number.is_finite()));
    let [west, south, east, north] = match numbers.as_deref() {
        Some([west, south, east, north] | [west, south, _, east, north, _]) => {
            [*west, *south, *east, *north]
        }
        _ => return Err(invalid("must be four numbers: west, south, east, north")),
    };
    let are_degrees = [west, east].iter().all(|longitude| longitude.abs() <= 180.0)
        && [south, north].iter().all(|latitude| latitude.abs() <= 90.0);
    match are_degrees && south <= north {
        true => Ok(Bbox([west, south, east, north])),
        false => Err(invalid("must be in degrees: west, south, east, north")),
    }
}

/// The link to the next page: the same query with another cursor.
fn next_link(url: &str, query: &str, next: &str) -> Result<HeaderValue, HttpError> {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let others = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "cursor");
    pairs.extend_pairs(others).append_pair("cursor", next);
    let link = format!("<{url}?{}>; rel=\"next\"", pairs.finish());
    HeaderValue::try_from(link).map_err(|error| HttpError::internal(error.to_string()))
}

fn write_feature(
    feature: &LayerFeature,
    layer: LayerId,
    out: &mut Vec<u8>,
) -> Result<(), HttpError> {
    feature.document(layer).write(out).map_err(|error| HttpError::internal(error.to_string()))
}
