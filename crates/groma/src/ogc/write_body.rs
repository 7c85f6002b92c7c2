//! The bodies of requests that change a feature.

use super::{
    Ogc,
    crs::{CollectionCrs, ItemCrs},
};
use crate::{http::HttpError, token_auth::Caller, uploads::geojson_error};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, header},
};
use groma_geo::geojson::{self, FeaturePatch, GEOJSON, ReadError};
use groma_store::FeatureSpool;
use std::{fmt::Display, io::Read};

/// The headers that name the media types of bodies.
pub(super) const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
pub(super) const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");
/// The media types of a whole feature.
pub(super) const FEATURE_TYPES: [&str; 2] = [GEOJSON, "application/json"];
/// The media types of a change of a feature.
pub(super) const PATCH_TYPES: [&str; 3] =
    ["application/merge-patch+json", GEOJSON, "application/json"];

/// A feature that was sent.
pub(super) struct SentFeature {
    /// The `id` of the feature.
    pub(super) id: Option<String>,
    pub(super) feature: FeatureSpool,
    /// The hash of the body.
    pub(super) hash: [u8; 16],
}

/// Receives a feature.
pub(super) async fn read_feature(
    ogc: &Ogc,
    caller: &Caller,
    systems: &CollectionCrs,
    headers: &HeaderMap,
    body: Body,
) -> Result<SentFeature, HttpError> {
    require_media_type(headers, &FEATURE_TYPES, ACCEPT_POST)?;
    let options = options(headers, systems)?;
    let parse = move |body: &mut dyn Read| {
        let (mut feature, mut id) = (FeatureSpool::default(), None);
        geojson::read(body, &options, |one| {
            id.clone_from(&one.external_id);
            feature.push(&one)
        })
        .map(|_| (id, feature))
    };
    let ((id, feature), hash) = read(ogc, caller, headers, body, parse).await?;
    Ok(SentFeature { id, feature, hash })
}

/// Receives a change of a feature.
pub(super) async fn read_patch(
    ogc: &Ogc,
    caller: &Caller,
    systems: &CollectionCrs,
    headers: &HeaderMap,
    body: Body,
) -> Result<FeaturePatch, HttpError> {
    require_media_type(headers, &PATCH_TYPES, ACCEPT_PATCH)?;
    let options = options(headers, systems)?;
    let parse = move |body: &mut dyn Read| geojson::read_patch(body, &options);
    read(ogc, caller, headers, body, parse).await.map(|(patch, _)| patch)
}

async fn read<R: Send + 'static, E: Display + Send + 'static>(
    ogc: &Ogc,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
    parse: impl Fn(&mut dyn Read) -> Result<R, ReadError<E>> + Clone + Send + 'static,
) -> Result<(R, [u8; 16]), HttpError> {
    let (limit, token) = (ogc.max_body_bytes, caller.token.token);
    let (parsed, hash) = ogc.uploads.read(headers, body, limit, token, parse).await?;
    Ok((parsed.map_err(|error| geojson_error(error, limit))?, hash))
}

/// How to read coordinates: as the header `Content-Crs` says, otherwise in CRS84, unless the body names
/// another system in the way of GeoJSON 2008.
fn options(headers: &HeaderMap, systems: &CollectionCrs) -> Result<geojson::Options, HttpError> {
    let options = geojson::Options { is_feature: true, ..geojson::Options::default() };
    Ok(match ItemCrs::of_content(headers, systems)? {
        None => options,
        Some(crs) => geojson::Options {
            is_northing_first: crs.is_northing_first(),
            is_crs_fixed: true,
            crs: crs.system,
            ..options
        },
    })
}

/// Rejects a body of another media type, and names the allowed ones in a header. The standard wants a 400 if there
/// is none.
fn require_media_type(
    headers: &HeaderMap,
    allowed: &[&str],
    header: HeaderName,
) -> Result<(), HttpError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Err(HttpError::bad_request(format!(
            "Content-Type must be {}",
            allowed.join(" or ")
        )));
    };
    let media_type = value.to_str().ok().and_then(|value| value.split(';').next());
    let media_type = media_type.unwrap_or_default().trim();
    match allowed.iter().any(|allowed| media_type.eq_ignore_ascii_case(allowed)) {
        true => Ok(()),
        false => Err(HttpError::unsupported_media_type(header, allowed)),
    }
}
