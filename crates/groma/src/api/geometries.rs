//! Geometries: a GeoJSON body, read as a stream and stored completely or not at all.

use super::{ApiState, params::parse_query};
use crate::{
    clock,
    http::{
        HttpError, ResponseOptions,
        body::{self, RewindableBody},
    },
    idempotency::{KeyHeader, first_response, replayed_response},
    token_auth::Caller,
    uploads::geojson_error,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, HeaderName},
    response::{IntoResponse, Response},
};
use groma_domain::{DomainError, Permission, geometry::UploadResult, layer::LayerKey};
use groma_geo::{
    Crs,
    geojson::{self, Options, ReadError},
};
use groma_store::{FeatureSpool, NewGeometries, PostOutcome};
use std::io::{self, Read};

/// The reference system of the coordinates in a body (OGC API – Features, Part 2).
const CONTENT_CRS: HeaderName = HeaderName::from_static("content-crs");

/// Post GeoJSON: a Geometry, a Feature or a FeatureCollection.
#[utoipa::path(post, path = "/api/public/v1/geometries/geojson", tag = "Geometries",
    request_body(content(
        (serde_json::Value = "application/geo+json"), (serde_json::Value = "application/json"))),
    responses((status = 200, description = "How many features were created, changed or left unchanged", body = UploadResult)))]
pub(super) async fn post_geojson(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    options: ResponseOptions,
    request: Request,
) -> Response {
    options.compress(post(api, caller, request).await.into_response()).await
}

async fn post(api: ApiState, caller: Caller, request: Request) -> Result<Response, HttpError> {
    let token = &caller.token;
    token.role.require(Permission::ChangeRecords).map_err(|_| {
        HttpError::forbidden(format!(
            "Posting geometries requires the role editor; the owner of this token has the role {}",
            token.role
        ))
    })?;
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let [layer, folder, assignment] = parse_query(query, ["layer", "folder", "assignment"])
        .map_err(|problem| HttpError::bad_parameter(&problem))?;
    body::require_media_type(&parts.headers, &["application/json", "application/geo+json"])?;
    let key = KeyHeader::parse(&parts.headers)?;
    let limit = api.max_geojson_bytes;
    let options = content_crs(&parts.headers)?;
    let read = move |body: &mut dyn Read| match &options {
        Some(options) => read_features_with(options, body),
        None => read_features(body),
    };
    let (features, hash) = api.read_body(&parts.headers, body, limit, &caller, read).await?;
    let features = features.map_err(|error| geojson_error(error, limit))?;
    let outcome = api.store.post_geometries(NewGeometries {
        mode: groma_store::PostMode::default(),
        workspace: token.workspace,
        actor: caller.actor(),
        now: clock::now(),
        layer: layer.as_deref().map(LayerKey::parse),
        folder,
        assignment,
        features,
        request: key.with_body(&parts, &caller, hash),
    });
    let outcome = outcome.await.map_err(|error| match error.domain_error() {
        // The contract of this route has no 409.
        Some(locked @ DomainError::Locked { .. }) => HttpError::bad_request(locked.to_string()),
        _ => error.into(),
    })?;
    match outcome {
        PostOutcome::Posted(posted) => first_response(serde_json::to_vec(&posted)),
        PostOutcome::Replayed(response) => replayed_response(response),
    }
}

/// The reference system that the header `Content-Crs` names.
fn content_crs(headers: &HeaderMap) -> Result<Option<Options>, HttpError> {
    let Some(value) = headers.get(CONTENT_CRS) else { return Ok(None) };
    let uri = value.to_str().unwrap_or_default().trim().trim_matches(['<', '>']);
    let crs = Crs::parse(uri);
    let crs = crs.map_err(|error| HttpError::bad_request(format!("Content-Crs: {error}")))?;
    // With the axis order of the authority, as the OGC defines the header. CRS84 is EPSG:4326 with longitude first.
    let is_crs84 = uri.to_ascii_uppercase().ends_with("CRS84");
    let is_northing_first = !is_crs84 && crs.info().is_northing_first;
    Ok(Some(Options { crs, is_crs_fixed: true, is_northing_first, ..Options::default() }))
}

/// Reads all features of a body. A collection whose `crs` follows its features is read a second time.
fn read_features(body: &mut dyn Read) -> Result<FeatureSpool, ReadError<io::Error>> {
    let mut body = RewindableBody::new(body);
    let first = read_features_with(&Options::default(), &mut body);
    let Err(ReadError::Invalid(errors)) = &first else { return first };
    if !errors.iter().any(|error| error.suggests_other_crs) {
        return first;
    }
    body.rewind().map_err(ReadError::Input)?;
    let Some(crs) = geojson::find_crs(&mut body) else { return first };
    body.rewind().map_err(ReadError::Input)?;
    read_features_with(&Options { crs, ..Options::default() }, &mut body)
}

fn read_features_with(
    options: &Options,
    body: &mut dyn Read,
) -> Result<FeatureSpool, ReadError<io::Error>> {
    let mut spool = FeatureSpool::default();
    geojson::read(body, options, |feature| spool.push(&feature)).map(|_| spool)
}
