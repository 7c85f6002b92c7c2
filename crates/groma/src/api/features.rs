//! Features of layers: pages with filters, and single features, as GeoJSON.

use super::{
    ApiState,
    lookup::find_record,
    params::{FeaturePath, KeyPath, LayerPath, parse_query},
};
use crate::{
    clock,
    http::{HttpError, ResponseOptions},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{RawQuery, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::{FieldError, Kind, LayerId, Permission, Timestamp, WorkspaceId};
use groma_geo::{Bbox, geojson::GEOJSON};
use groma_store::{FeatureQuery, LayerFeature};

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
    let query = parse_feature_query(&api, workspace, &text).await?;
    let page = api.store.find_features(workspace, &path.key, &query).await?;
    let page = page.ok_or_else(|| path.not_found())?;
    let mut body = b"{\"type\":\"FeatureCollection\",\"features\":[".to_vec();
    for (index, feature) in page.features.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_feature(feature, page.layer.id, &mut body)?;
    }
    body.extend_from_slice(b"]}");
    let mut response = options.text(GEOJSON, body);
    if let Some(next) = page.next {
        let url = format!("{}/api/public/v1/layers/{}/features", api.geo_url, page.layer.id);
        response.headers_mut().insert(header::LINK, next_link(&url, &text, next)?);
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
) -> Result<Response, HttpError> {
    let token = &caller.token;
    token.role.require(Permission::ChangeRecords).map_err(|_| {
        HttpError::forbidden(format!(
            "Deleting geometries requires the role editor; the owner of this token has the role {}",
            token.role
        ))
    })?;
    let id = path.text.parse().map_err(|_| HttpError::not_found("geometry", &path.text))?;
    api.store.delete_geometry(token.workspace, caller.actor(), id, clock::now()).await?;
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
) -> Result<FeatureQuery, HttpError> {
    let names = ["limit", "cursor", "bbox", "folder", "assignment", "updatedSince"];
    let [limit, cursor, bbox, folder, assignment, updated_since] =
        parse_query(query, names).map_err(|problem| HttpError::bad_parameter(&problem))?;
    let invalid =
        |name: &str, message: String| HttpError::bad_parameter(&FieldError::new(name, message));
    let limit = match limit {
        None => DEFAULT_LIMIT,
        Some(text) => {
            let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
            let message = || format!("must be a whole number from 1 to {MAX_LIMIT}");
            limit.ok_or_else(|| invalid("limit", message()))?
        }
    };
    let after = match cursor.as_deref() {
        None | Some("") => 0,
        Some(text) => text.parse().map_err(|_| {
            invalid("cursor", "must come from the link to the next page".to_owned())
        })?,
    };
    let updated_since = updated_since.map(|text| {
        let message = || "must be a time such as 2026-01-31T12:00:00Z".to_owned();
        Timestamp::parse(&text).map_err(|_| invalid("updatedSince", message()))
    });
    Ok(FeatureQuery {
        after,
        limit,
        bbox: bbox.map(|text| parse_bbox(&text)).transpose()?,
        folder: find_record(api, workspace, Kind::Folder, folder.as_deref()).await?,
        assignment: find_record(api, workspace, Kind::Assignment, assignment.as_deref()).await?,
        updated_since: updated_since.transpose()?,
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
fn next_link(url: &str, query: &str, next: u64) -> Result<HeaderValue, HttpError> {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let others = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "cursor");
    pairs.extend_pairs(others).append_pair("cursor", &next.to_string());
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
