//! The page of an endpoint with its deliveries, and the page of a delivery with its attempts.

use super::{
    super::SettingsNav, HOUR_MILLIS, Health, PATH, delivery_state, event_names, existing,
    filter_conditions, request, signature_header,
};
use crate::web::{
    WebError,
    fields::Choice,
    flash::Flash,
    form::{Form, Query},
    format::Moment,
    i18n::Localizer,
    page::{Meta, Nav},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{
    DeliveryId, Event, RecordId,
    webhook::{self, DeliveryStatus, Endpoint},
};
use groma_store::{AttemptRow, DeliveryFilter, DeliveryRow, DeliveryState, RedeliverySince};

/// How many deliveries a page shows.
const PAGE_SIZE: u32 = 50;

#[derive(Template)]
#[template(path = "webhook_endpoint.html")]
struct EndpointPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    path: String,
    url: String,
    description: String,
    events: String,
    filter: Vec<String>,
    is_enabled: bool,
    health: Health,
    created: Moment,
    updated: Moment,
    old_secret_until: Option<Moment>,
    /// A new secret, which only this response shows.
    secret: Option<String>,
    signature_header: String,
    /// A command that sends a signed sample, shown with the secret.
    curl: String,
    state_choices: Vec<Choice>,
    event_choices: Vec<Choice>,
    is_filtered: bool,
    rows: Vec<DeliveryView>,
    is_first: bool,
    older: Option<String>,
}

struct DeliveryView {
    id: String,
    event: &'static str,
    is_test: bool,
    state: String,
    class: &'static str,
    attempts: u32,
    /// The status code of the last response, or the error.
    last_response: String,
    created: Moment,
    due: Option<Moment>,
}

impl DeliveryView {
    fn new(ctx: &MemberContext, row: &DeliveryRow) -> Self {
        let last_response = match (row.last_status, &row.last_error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        };
        let (state, class) = delivery_state(row);
        Self {
            id: row.id.to_string(),
            event: row.event.name(),
            is_test: row.is_test,
            state: ctx.t().msg("delivery-state").arg("state", state).into(),
            class: match class {
                "ok" => "good",
                "failed" => "bad",
                _ => "",
            },
            attempts: row.attempts,
            last_response,
            created: ctx.moment(row.created_at),
            due: row.due_at.map(|due| ctx.moment(due)),
        }
    }
}

pub(in crate::web) async fn page(
    ctx: MemberContext,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let health = existing(&ctx, &id).await?;
    let endpoint = &health.endpoint;
    let state = DeliveryState::NAMES.into_iter().find(|(name, _)| *name == query.get("state"));
    let event = Event::from_name(query.get("event"));
    let before: Option<DeliveryId> = query.get("before").parse().ok();
    let filter = DeliveryFilter {
        state: state.map(|(_, state)| state),
        event,
        before,
        limit: PAGE_SIZE,
        ..DeliveryFilter::of(endpoint.id)
    };
    let rows = ctx.store().deliveries(ctx.workspace_id(), filter).await?;
    let path = format!("{PATH}/{}", endpoint.id);
    let is_full = rows.len() == usize::try_from(PAGE_SIZE).unwrap_or_default();
    let older = rows
        .last()
        .filter(|_| is_full)
        .map(|last| format!("{path}{}", query.with(&[("before", &last.id.to_string())]).query()));
    let any = |label| Choice::new("", label, false);
    let states = DeliveryState::NAMES.map(|(name, _)| {
        let label = t.msg("delivery-state-filter").arg("state", name);
        Choice::new(name, label, name == query.get("state"))
    });
    let events = Event::all()
        .map(|event| Choice::new(event.name(), event.name(), event.name() == query.get("event")));
    let signature_header = signature_header(&ctx);
    let secret = ctx.request.flash.as_ref().and_then(|flash| flash.secret.clone());
    let curl = secret.as_deref().map(|secret| curl(&ctx, endpoint, &signature_header, secret));
    let content = EndpointPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        csrf: ctx.request.csrf_token(),
        url: endpoint.url.as_str().to_owned(),
        description: endpoint.description.clone().unwrap_or_default(),
        events: event_names(t, &endpoint.events),
        filter: filter_conditions(t, endpoint.filter.as_ref()),
        is_enabled: endpoint.enabled,
        health: Health::of(&ctx, &health),
        created: ctx.moment(endpoint.created_at),
        updated: ctx.moment(endpoint.updated_at),
        old_secret_until: health.previous_secret_until.map(|until| ctx.moment(until)),
        secret,
        signature_header,
        curl: curl.unwrap_or_default(),
        state_choices: std::iter::once(any(t.msg("deliveries-any-state"))).chain(states).collect(),
        event_choices: std::iter::once(any(t.msg("deliveries-any-event"))).chain(events).collect(),
        is_filtered: state.is_some() || event.is_some(),
        rows: rows.iter().map(|row| DeliveryView::new(&ctx, row)).collect(),
        is_first: before.is_none(),
        older,
        path,
    };
    ctx.page(Meta::new(t.msg("webhooks-title"), Nav::Settings), &content).await
}

/// A command that works as pasted: it signs and sends the sample of a test event.
fn curl(ctx: &MemberContext, endpoint: &Endpoint, header: &str, secret: &str) -> String {
    let (now, workspace) = (ctx.now(), ctx.workspace_id());
    // These ids are for the sample only; they need not be unique.
    let sample = webhook::sample_document(workspace, RecordId::new(now, [0; 10]), now);
    let delivery = DeliveryId::new(now, [0; 10]);
    let body = webhook::payload(delivery, webhook::TEST_EVENT.name(), workspace, now, &sample);
    format!(
        "body={}\ncurl -i {} -H 'Content-Type: application/json' \\\n     -H \"{header}: sha256=$(printf %s \"$body\" | openssl dgst -sha256 -r -hmac {} | cut -c 1-64)\" \\\n     --data-raw \"$body\"",
        shell_quoted(&String::from_utf8_lossy(&body)),
        shell_quoted(endpoint.url.as_str()),
        shell_quoted(secret),
    )
}

/// Quotes a text for a shell.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Resends the deliveries that failed within some hours.
pub(in crate::web) async fn redeliver_failed(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.endpoint.id;
    let hours: i64 = form.get("hours").parse().unwrap_or(24);
    let since = ctx.now().plus_millis(-HOUR_MILLIS * hours.clamp(1, 24 * 30));
    let which = RedeliverySince { endpoint: id, status: DeliveryStatus::Failed, since };
    let sent = ctx.store().redeliver_since(request(&ctx), which).await?.first()?;
    let message = ctx.t().msg("deliveries-resent").arg("count", sent);
    Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}"), &Flash::new(message)))
}

#[derive(Template)]
#[template(path = "webhook_delivery.html")]
struct DeliveryPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    endpoint: String,
    endpoint_url: String,
    row: DeliveryView,
    can_resend: bool,
    /// Whether personal data was erased from the event.
    is_erased: bool,
    body: String,
    attempts: Vec<AttemptView>,
}

struct AttemptView {
    number: u32,
    at: Moment,
    millis: String,
    /// The status code, or that there was no response.
    outcome: String,
    is_success: bool,
    is_last: bool,
    error: String,
    response: String,
}

impl AttemptView {
    fn new(ctx: &MemberContext, row: &AttemptRow, last: u32) -> Self {
        let t = ctx.t();
        let outcome = match row.status {
            Some(status) => status.to_string(),
            None => t.msg("attempt-no-response").into(),
        };
        Self {
            number: row.no,
            at: ctx.moment(row.at),
            millis: t.number(row.millis),
            outcome,
            is_success: row.status.is_some_and(|status| (200..300).contains(&status)),
            is_last: row.no == last,
            error: row.error.clone().unwrap_or_default(),
            response: String::from_utf8_lossy(&row.response).into_owned(),
        }
    }
}

/// The delivery with this id, if it belongs to the endpoint.
async fn find_delivery(
    ctx: &MemberContext,
    endpoint: &str,
    delivery: &str,
) -> Result<(groma_store::EndpointHealth, groma_store::DeliveryDetail), WebError> {
    let health = existing(ctx, endpoint).await?;
    let id: DeliveryId = delivery.parse().map_err(|_| WebError::not_found())?;
    let detail = ctx.store().delivery(ctx.workspace_id(), id).await?;
    if detail.delivery.endpoint != health.endpoint.id {
        return Err(WebError::not_found());
    }
    Ok((health, detail))
}

pub(in crate::web) async fn delivery(
    ctx: MemberContext,
    Path((endpoint, delivery)): Path<(String, String)>,
) -> Result<Response, WebError> {
    let (health, detail) = find_delivery(&ctx, &endpoint, &delivery).await?;
    let last = detail.delivery.attempts;
    let mut attempts: Vec<_> =
        detail.attempts.iter().map(|row| AttemptView::new(&ctx, row, last)).collect();
    attempts.reverse();
    let t = ctx.t();
    let content = DeliveryPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        csrf: ctx.request.csrf_token(),
        endpoint: health.endpoint.id.to_string(),
        endpoint_url: health.endpoint.url.as_str().to_owned(),
        row: DeliveryView::new(&ctx, &detail.delivery),
        can_resend: detail.delivery.state != DeliveryState::Sending
            && detail.delivery.erased_at.is_none(),
        is_erased: detail.delivery.erased_at.is_some(),
        body: pretty(&detail.body),
        attempts,
    };
    ctx.page(Meta::new(t.msg("delivery-title"), Nav::Settings), &content).await
}

/// Indents JSON.
fn pretty(body: &[u8]) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}

pub(in crate::web) async fn redeliver(
    ctx: MemberContext,
    Path((endpoint, delivery)): Path<(String, String)>,
) -> Result<Response, WebError> {
    let (health, detail) = find_delivery(&ctx, &endpoint, &delivery).await?;
    ctx.store().redeliver(request(&ctx), detail.delivery.id).await?.first()?;
    let to = format!("{PATH}/{}/deliveries/{}", health.endpoint.id, detail.delivery.id);
    Ok(ctx.redirect_with_flash(&to, &Flash::new(ctx.t().msg("delivery-resent"))))
}
