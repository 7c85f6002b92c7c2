//! The deliveries of an endpoint: what was sent, and sending it again.

use super::{
    administrator, endpoint_id,
    manage::{not_json, webhook_request},
    rejection, store_error,
};
use crate::{
    api::{
        ApiState,
        envelope::Envelope,
        params::{DeliveryPath, KeyPath, ListQuery, parse_query},
        records::{JsonRequest, receive_nothing},
    },
    clock,
    http::{HttpError, ResponseOptions},
    idempotency::{first_response, replayed_response},
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Request, State},
    response::Response,
};
use groma_domain::{
    DeliveryId, DomainError, Event, FieldError, FieldErrors, Timestamp, Violation,
    input::ParsedInput,
    json::pointer_segment,
    webhook::{DeliveryDocument, DeliveryStatus},
};
use groma_store::{
    AttemptRow, DeliveryDetail, DeliveryFilter, Outcome, RedeliverySince, redelivered,
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

/// A delivery with its attempts and the body that is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryWithAttempts {
    #[serde(flatten)]
    delivery: DeliveryDocument,
    attempt_log: Vec<AttemptDocument>,
    body: Box<RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptDocument {
    at: Timestamp,
    status: Option<u16>,
    duration_ms: u64,
    error: Option<String>,
    response: String,
}

impl From<AttemptRow> for AttemptDocument {
    fn from(row: AttemptRow) -> Self {
        let AttemptRow { at, status, millis, error, response, .. } = row;
        let response = String::from_utf8_lossy(&response).into_owned();
        Self { at, status, duration_ms: millis, error, response }
    }
}

/// List the deliveries of a webhook endpoint.
#[utoipa::path(get, path = "/api/public/v1/webhooks/endpoints/{key}/deliveries", tag = "Webhooks",
    responses((status = 200, description = "A page of deliveries, newest first", body = Envelope<DeliveryDocument>)))]
pub(in crate::api) async fn list_webhook_deliveries(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    list: ListQuery,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let parsed = parse_filters(list.query());
    let (status, event) = parsed.map_err(|problem| HttpError::bad_parameter(&problem))?;
    let filter = DeliveryFilter {
        status,
        event,
        limit: list.params.limit,
        offset: list.params.offset(),
        ..DeliveryFilter::of(endpoint_id(&path)?)
    };
    let (workspace, cursor) = (caller.token.workspace, list.params.cursor.as_deref());
    let page = api.store.delivery_page(workspace, filter, cursor, clock::now()).await?;
    list.respond(&api.public_url, &page, options)
}

fn parse_filters(query: &str) -> Result<(Option<DeliveryStatus>, Option<Event>), FieldError> {
    let [status, event] = parse_query(query, ["status", "event"])?;
    let status = status.map(|name| parse_status(&name, &DeliveryStatus::ALL)).transpose();
    let event = event.map(|name| {
        let unknown = || FieldError::new("event", "must be the name of an event");
        Event::from_name(&name).ok_or_else(unknown)
    });
    let status = status.map_err(|violation| FieldError::new("status", violation))?;
    Ok((status, event.transpose()?))
}

fn parse_status(name: &str, allowed: &[DeliveryStatus]) -> Result<DeliveryStatus, Violation> {
    let status = DeliveryStatus::from_name(name).filter(|status| allowed.contains(status));
    status.ok_or_else(|| {
        let names: Vec<_> = allowed.iter().map(|status| status.name()).collect();
        Violation::NotOneOf { values: names.join(", ") }
    })
}

/// Get one delivery with its attempts.
#[utoipa::path(get, path = "/api/public/v1/webhooks/endpoints/{key}/deliveries/{id}", tag = "Webhooks",
    responses((status = 200, description = "The delivery", body = DeliveryDocument)))]
pub(in crate::api) async fn get_webhook_delivery(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: DeliveryPath,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let DeliveryDetail { delivery, body, attempts } = find(&api, &caller, &path).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let document = DeliveryWithAttempts {
        delivery: delivery.document(),
        attempt_log: attempts.into_iter().map(AttemptDocument::from).collect(),
        body: RawValue::from_string(body).map_err(not_json)?,
    };
    Ok(options.json(serde_json::to_vec(&document).map_err(not_json)?))
}

/// The delivery, if it belongs to the endpoint.
async fn find(
    api: &ApiState,
    caller: &Caller,
    path: &DeliveryPath,
) -> Result<DeliveryDetail, HttpError> {
    let workspace = caller.token.workspace;
    let endpoint = endpoint_id(&path.endpoint)?;
    api.store.endpoint(workspace, endpoint).await?;
    let not_found = || HttpError::not_found("delivery", &path.delivery);
    let id: DeliveryId = path.delivery.parse().map_err(|_| not_found())?;
    let detail = api.store.delivery(workspace, id).await?;
    if detail.delivery.endpoint == endpoint { Ok(detail) } else { Err(not_found()) }
}

/// Send a delivery again.
#[utoipa::path(post, path = "/api/public/v1/webhooks/endpoints/{key}/deliveries/{id}/redeliver", tag = "Webhooks",
    responses((status = 200, description = "The delivery", body = DeliveryDocument)))]
pub(in crate::api) async fn redeliver_webhook_delivery(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: DeliveryPath,
    request: Request,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let (parts, body) = request.into_parts();
    let idempotent = receive_nothing(&api, &caller, &parts, body).await?;
    let id = find(&api, &caller, &path).await?.delivery.id;
    let sent = api.store.redeliver(webhook_request(&caller, idempotent), id).await;
    match sent.map_err(store_error)? {
        Outcome::First(delivery) => first_response(serde_json::to_vec(&delivery)),
        Outcome::Replayed(response) => replayed_response(response),
    }
}

/// Send the deliveries since a time again.
#[utoipa::path(post, path = "/api/public/v1/webhooks/endpoints/{key}/redeliver", tag = "Webhooks",
    request_body(content((serde_json::Value = "application/json"))),
    responses((status = 200, description = "How many deliveries are sent again", body = serde_json::Value)))]
pub(in crate::api) async fn redeliver_webhook_deliveries(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    path: KeyPath,
    request: Request,
) -> Result<Response, HttpError> {
    administrator(&caller)?;
    let JsonRequest { fields, idempotent } = JsonRequest::receive(&api, &caller, request).await?;
    let (since, status) = parse_redelivery(&fields).map_err(rejection)?;
    let which = RedeliverySince { endpoint: endpoint_id(&path)?, status, since };
    let sent = api.store.redeliver_since(webhook_request(&caller, idempotent), which).await;
    match sent.map_err(store_error)? {
        Outcome::First(count) => first_response(serde_json::to_vec(&redelivered(count))),
        Outcome::Replayed(response) => replayed_response(response),
    }
}

/// The statuses of deliveries that can be sent again.
pub(in crate::api) const REDELIVERABLE: [DeliveryStatus; 3] =
    [DeliveryStatus::Waiting, DeliveryStatus::Delivered, DeliveryStatus::Failed];

fn parse_redelivery(
    fields: &Map<String, Value>,
) -> Result<(Timestamp, DeliveryStatus), DomainError> {
    let mut errors = FieldErrors::default();
    for name in fields.keys().filter(|name| !["since", "status"].contains(&name.as_str())) {
        errors.add(&pointer_segment(name), Violation::UnknownField);
    }
    let since = match fields.get("since") {
        None | Some(Value::Null) => Err(Violation::Required),
        Some(value) => value
            .as_str()
            .and_then(|text| Timestamp::parse(text).ok())
            .ok_or(Violation::NotTimestamp),
    };
    let status = match fields.get("status") {
        None | Some(Value::Null) => Ok(DeliveryStatus::Failed),
        Some(value) => parse_status(value.as_str().unwrap_or_default(), &REDELIVERABLE),
    };
    let (since, status) = (errors.check("since", since), errors.check("status", status));
    let input = since.zip(status).unwrap_or((Timestamp::from_millis(0), DeliveryStatus::Failed));
    ParsedInput { input, errors }.into_result()
}
