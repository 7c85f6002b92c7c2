//! Creating, replacing, updating and deleting the features of layers (OGC API – Features, part 4).

use super::{
    Ogc, OgcState,
    conditions::precondition,
    crs::{CONTENT_CRS, CollectionCrs, ItemCrs},
    items::item_document,
    layer_items::{feature_document, layer_not_found},
    parameters::Parameters,
    write_body::{SentFeature, read_feature, read_patch},
};
use crate::{
    clock,
    http::{ErrorDetail, HttpError, ResponseOptions, unencoded_etag},
    idempotency::{KeyHeader, REPLAYED},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use groma_domain::{
    DomainError, FieldError, GeometryId, Layer, Permission, Violation, layer::LayerKey,
};
use groma_geo::geojson::GEOJSON;
use groma_store::{
    FeatureOperation, FeaturePrecondition, FeatureWrite, FeatureWriteOutcome, IdempotentRequest,
    WrittenFeature,
};
use serde_json::{Value, json};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// The preference for a response with the feature.
const REPRESENTATION: &str = "return=representation";

/// POST of `/ogc/collections/{collection}/items`
pub(super) async fn create_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path(collection): Path<String>,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let (parts, body) = request.into_parts();
    let target = Target::find(&ogc, caller, &collection, &parts).await?;
    if parts.headers.contains_key(header::IF_MATCH) {
        return Err(HttpError::bad_request("If-Match has no meaning for a new feature"));
    }
    let key = KeyHeader::parse(&parts.headers)?;
    let sent = read_feature(&ogc, &target.caller, &target.systems, &parts.headers, body).await?;
    let SentFeature { id, feature, hash } = sent;
    let request = key.with_body(&parts, &target.caller, hash);
    let operation = FeatureOperation::Create { id, feature };
    let outcome = target.write(&ogc, operation, None, request).await?;
    target.respond(&ogc, outcome, StatusCode::CREATED, &parts.headers, options)
}

/// PUT of `/ogc/collections/{collection}/items/{item}`
pub(super) async fn replace_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, item)): Path<(String, String)>,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let (parts, body) = request.into_parts();
    let target = Target::find(&ogc, caller, &collection, &parts).await?;
    let id = parse_id(&item)?;
    let condition = precondition(&ogc, &target.systems, &parts.headers)?;
    let sent = read_feature(&ogc, &target.caller, &target.systems, &parts.headers, body).await?;
    // The feature keeps its ID, whatever the body says.
    let operation = FeatureOperation::Replace { id, feature: sent.feature };
    let outcome = target.write(&ogc, operation, condition, None).await?;
    target.respond(&ogc, outcome, StatusCode::OK, &parts.headers, options)
}

/// PATCH of `/ogc/collections/{collection}/items/{item}`
pub(super) async fn update_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, item)): Path<(String, String)>,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let (parts, body) = request.into_parts();
    let target = Target::find(&ogc, caller, &collection, &parts).await?;
    let id = parse_id(&item)?;
    let condition = precondition(&ogc, &target.systems, &parts.headers)?;
    let patch = read_patch(&ogc, &target.caller, &target.systems, &parts.headers, body).await?;
    if patch.feature.external_id.as_ref().is_some_and(|sent| sent.parse() != Ok(id)) {
        return Err(HttpError::bad_body(vec![ErrorDetail {
            pointer: "/id".to_owned(),
            message: "must be that of the feature, or be left out".to_owned(),
        }]));
    }
    let operation = FeatureOperation::Update { id, patch: Box::new(patch) };
    let outcome = target.write(&ogc, operation, condition, None).await?;
    target.respond(&ogc, outcome, StatusCode::OK, &parts.headers, options)
}

/// DELETE of `/ogc/collections/{collection}/items/{item}`
pub(super) async fn delete_item(
    State(ogc): State<OgcState>,
    Extension(caller): Extension<Caller>,
    Path((collection, item)): Path<(String, String)>,
    request: Request,
) -> Result<Response, HttpError> {
    let (parts, _) = request.into_parts();
    let target = Target::find(&ogc, caller, &collection, &parts).await?;
    let id = parse_id(&item)?;
    let condition = precondition(&ogc, &target.systems, &parts.headers)?;
    target.write(&ogc, FeatureOperation::Delete(id), condition, None).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn parse_id(item: &str) -> Result<GeometryId, HttpError> {
    item.parse().map_err(|_| HttpError::not_found("item", item))
}

/// A layer that a request changes.
struct Target {
    caller: Caller,
    layer: Layer,
    /// The reference systems that the collection offers.
    systems: CollectionCrs,
    /// The reference system of the response.
    crs: ItemCrs,
}

impl Target {
    /// Finds the layer. The rights are checked again in the transaction of the change.
    async fn find(
        ogc: &Ogc,
        caller: Caller,
        collection: &str,
        parts: &Parts,
    ) -> Result<Self, HttpError> {
        let token = &caller.token;
        let layer = ogc.store.layer(token.workspace, &LayerKey::parse(collection)).await?;
        let layer = layer.ok_or_else(|| layer_not_found(collection))?;
        token.role.require(Permission::ChangeRecords).map_err(|_| {
            HttpError::forbidden(format!(
                "Changing features requires the role editor; the owner of this token has the role {}",
                token.role
            ))
        })?;
        layer.require_unlocked().map_err(|locked| HttpError::forbidden(locked.to_string()))?;
        let parameters = Parameters::parse(parts.uri.query(), &["f", "crs"])?;
        let systems = CollectionCrs::of(ogc, token.workspace, layer.crs).await?;
        let crs = ItemCrs::parse("crs", parameters.get("crs"), &systems)?;
        Ok(Self { caller, layer, systems, crs })
    }

    async fn write(
        &self,
        ogc: &Ogc,
        operation: FeatureOperation,
        precondition: Option<FeaturePrecondition>,
        request: Option<IdempotentRequest>,
    ) -> Result<FeatureWriteOutcome, HttpError> {
        let written = ogc.store.write_feature(FeatureWrite {
            workspace: self.caller.token.workspace,
            actor: self.caller.actor(),
            now: clock::now(),
            layer: self.layer.id,
            operation,
            precondition,
            request,
        });
        written.await.map_err(write_error)
    }

    /// Responds with the notices about the feature, or with the feature if the client prefers that.
    fn respond(
        &self,
        ogc: &Ogc,
        outcome: FeatureWriteOutcome,
        status: StatusCode,
        headers: &HeaderMap,
        options: ResponseOptions,
    ) -> Result<Response, HttpError> {
        let mut response = match outcome {
            FeatureWriteOutcome::Deleted => return Ok(StatusCode::NO_CONTENT.into_response()),
            FeatureWriteOutcome::Replayed(stored) => {
                let result = serde_json::from_slice(&stored)
                    .map_err(|error| HttpError::internal(error.to_string()))?;
                let mut response = self.report(ogc, &result)?;
                response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
                response
            }
            FeatureWriteOutcome::Written(written) => {
                let WrittenFeature { layer, feature, result } = *written;
                let document = feature_document(&feature, &layer, &self.crs)?;
                let id = feature.id.to_string();
                let document =
                    item_document(&ogc.url, layer.slug.as_str(), (&id, document), &self.crs)?;
                let result = serde_json::to_value(&result)
                    .map_err(|error| HttpError::internal(error.to_string()))?;
                let mut response = self.report(ogc, &result)?;
                if prefers_representation(headers) {
                    let location = response.headers_mut().remove(header::LOCATION);
                    response = options.written_as(GEOJSON, document);
                    let headers = response.headers_mut();
                    headers.extend(location.map(|location| (header::LOCATION, location)));
                    headers.insert(CONTENT_CRS, self.crs.header());
                    headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(REPRESENTATION));
                } else {
                    response.headers_mut().insert(header::ETAG, unencoded_etag(&document));
                }
                response
            }
        };
        if status != StatusCode::CREATED {
            response.headers_mut().remove(header::LOCATION);
        }
        *response.status_mut() = status;
        Ok(response)
    }

    /// A response that names the feature, with its address.
    fn report(&self, ogc: &Ogc, result: &Value) -> Result<Response, HttpError> {
        let feature = &result["geometries"][0];
        let body = json!({
            "id": feature["id"],
            "externalId": feature["externalId"],
            "notices": result["notices"],
            "noticeCount": result["noticeCount"],
        });
        let id = feature["id"].as_str().unwrap_or_default();
        let url = format!("{}/collections/{}/items/{id}", ogc.url, self.layer.slug.as_str());
        let location =
            HeaderValue::try_from(url).map_err(|error| HttpError::internal(error.to_string()))?;
        Ok(([(header::LOCATION, location)], axum::Json(body)).into_response())
    }
}

/// Whether the client wants the feature in the response.
fn prefers_representation(headers: &HeaderMap) -> bool {
    let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split([',', ';']));
    preferences.any(|preference| preference.trim().eq_ignore_ascii_case(REPRESENTATION))
}

/// The error for a change that was rejected in its transaction.
fn write_error(error: groma_store::Error) -> HttpError {
    match error.domain_error() {
        Some(locked @ DomainError::Locked { .. }) => HttpError::forbidden(locked.to_string()),
        Some(DomainError::Invalid(errors)) => {
            let is_conflict =
                |error: &FieldError| matches!(error.violation, Violation::Taken { .. });
            let detail = |FieldError { field, violation }: &FieldError| ErrorDetail {
                pointer: format!("/{field}"),
                message: violation.to_string(),
            };
            let details = errors.iter().map(detail).collect();
            match errors.iter().any(is_conflict) {
                true => HttpError::conflict_in_body(details),
                false => HttpError::bad_body(details),
            }
        }
        _ => error.into(),
    }
}
