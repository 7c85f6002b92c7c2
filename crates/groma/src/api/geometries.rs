//! Geometries: a body of GeoJSON, read as a stream, kept whole or not at all.

use super::{
    Shared,
    admit::Caller,
    answer::Wishes,
    body,
    error::{ApiError, Detail},
    params::read_query,
    replay::{self, SentKey},
};
use axum::{
    Extension,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use groma_domain::{Permission, Timestamp, geometry::Posted, layer::LayerKey};
use groma_geo::{
    Crs,
    geojson::{self, Options, ReadError, Spot},
};
use groma_store::{Actor, NewGeometries, Outcome, Spool};
use std::io::{self, Read};

/// Post GeoJSON: a Geometry, a Feature or a FeatureCollection.
#[utoipa::path(post, path = "/api/public/v1/geometries/geojson", tag = "Geometries",
    request_body(content(
        (serde_json::Value = "application/geo+json"), (serde_json::Value = "application/json"))),
    responses((status = 200, description = "What became of the features", body = Posted)))]
pub(super) async fn post_geojson(
    State(api): State<Shared>,
    Extension(caller): Extension<Caller>,
    wishes: Wishes,
    request: Request,
) -> Response {
    wishes.packed(post(api, caller, request).await.into_response()).await
}

async fn post(api: Shared, caller: Caller, request: Request) -> Result<Response, ApiError> {
    let bearer = &caller.0;
    bearer.role.require(Permission::ChangeRecords).map_err(|_| {
        ApiError::forbidden(format!(
            "Posting geometries needs the role editor; this token's owner has the role {}",
            bearer.role
        ))
    })?;
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let [layer, folder, assignment] = read_query(query, ["layer", "folder", "assignment"])
        .map_err(|problem| ApiError::bad_parameter(&problem))?;
    body::expect_media_type(&parts.headers, &["application/json", "application/geo+json"])?;
    let key = SentKey::read(&parts)?;
    let (read, hash) = body::read(&parts.headers, body, api.geojson_bytes, read).await?;
    let features = read.map_err(|error| match error {
        ReadError::Refused(spots) => ApiError::bad_body(spots.into_iter().map(detail).collect()),
        ReadError::Input(error) => body::broken(&error, api.geojson_bytes),
        ReadError::Stopped(error) => ApiError::internal(error.to_string()),
    })?;
    let outcome = api.store.post_geometries(NewGeometries {
        workspace: bearer.workspace,
        actor: Actor::Member { person: bearer.person, role: bearer.role },
        now: Timestamp::from(jiff::Timestamp::now()),
        layer: layer.as_deref().map(LayerKey::parse),
        folder,
        assignment,
        features,
        request: key.with_body(&parts, &caller, hash),
    });
    match outcome.await? {
        Outcome::Posted(posted) => replay::first(serde_json::to_vec(&posted)),
        Outcome::Replayed(answer) => replay::again(answer),
    }
}

/// Reads all features of a body. A collection whose `crs` comes behind its features is read once more.
fn read(body: &mut dyn Read) -> Result<Spool, ReadError<io::Error>> {
    let mut body = body::Kept::new(body);
    let first = read_in(Crs::WGS84, &mut body);
    let Err(ReadError::Refused(spots)) = &first else { return first };
    if !spots.iter().any(|spot| spot.strays) {
        return first;
    }
    body.rewind().map_err(ReadError::Input)?;
    let Some(crs) = geojson::named_crs(&mut body) else { return first };
    body.rewind().map_err(ReadError::Input)?;
    read_in(crs, &mut body)
}

fn read_in(crs: Crs, body: &mut body::Kept<'_>) -> Result<Spool, ReadError<io::Error>> {
    let mut spool = Spool::default();
    let options = Options { crs, ..Options::default() };
    geojson::read(body, &options, |feature| spool.push(&feature)).map(|_| spool)
}

fn detail(Spot { pointer, message, .. }: Spot) -> Detail {
    Detail { pointer, message }
}
