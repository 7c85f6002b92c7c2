//! One endpoint with its deliveries, and one delivery with what was sent and every answer.

use super::{
    super::SettingsNav, HERE, HOUR_MILLIS, Health, TITLE, events_in_words, existing, state_of,
};
use crate::web::{
    WebError,
    fields::{Choice, capital},
    flash::Flash,
    form::{Form, Query},
    page::{Meta, Nav},
    shown::{self, Moment},
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{
    DeliveryId, Event, RecordId,
    webhook::{self, Endpoint},
};
use groma_store::{AttemptRow, DeliveryFilter, DeliveryRow, DeliveryState, Redeliver};

/// How many deliveries a page shows.
const SIZE: u32 = 50;

#[derive(Template)]
#[template(path = "webhook.html")]
struct EndpointPage {
    nav: SettingsNav,
    csrf: String,
    path: String,
    url: String,
    description: String,
    events: String,
    is_enabled: bool,
    health: Health,
    made: Moment,
    changed: Moment,
    previous_until: Option<Moment>,
    /// What was made just now, shown this once.
    secret: Option<String>,
    signature_header: String,
    /// A line to paste that sends a signed sample, beside that secret.
    try_out: String,
    states: Vec<Choice>,
    event_choices: Vec<Choice>,
    is_filtered: bool,
    rows: Vec<DeliveryShown>,
    is_first: bool,
    older: Option<String>,
}

struct DeliveryShown {
    id: String,
    event: &'static str,
    is_test: bool,
    state: &'static str,
    class: &'static str,
    attempts: u32,
    answer: String,
    made: Moment,
    due: Option<Moment>,
}

impl DeliveryShown {
    fn new(desk: &Desk, row: &DeliveryRow) -> Self {
        let answer = match (row.last_status, &row.last_error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        };
        let (state, class) = state_of(row);
        Self {
            id: row.id.to_string(),
            event: row.event.name(),
            is_test: row.is_test,
            state,
            class: match class {
                "ok" => "good",
                "failed" => "bad",
                _ => "",
            },
            attempts: row.attempts,
            answer,
            made: desk.moment(row.created_at),
            due: row.due_at.map(|due| desk.moment(due)),
        }
    }
}

pub(in crate::web) async fn page(
    desk: Desk,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let health = existing(&desk, &id).await?;
    let endpoint = &health.endpoint;
    let state = DeliveryState::WORDS.into_iter().find(|(name, _)| *name == query.get("state"));
    let event = Event::named(query.get("event"));
    let before: Option<DeliveryId> = query.get("before").parse().ok();
    let filter = DeliveryFilter {
        state: state.map(|(_, state)| state),
        event,
        before,
        limit: SIZE,
        ..DeliveryFilter::of(endpoint.id)
    };
    let rows = desk.store().deliveries(desk.id(), filter).await?;
    let path = format!("{HERE}/{}", endpoint.id);
    let is_full = rows.len() == usize::try_from(SIZE).unwrap_or_default();
    let older = rows
        .last()
        .filter(|_| is_full)
        .map(|last| format!("{path}{}", query.with(&[("before", &last.id.to_string())]).query()));
    let any = |said: &str| Choice::new("", said, false);
    let states = DeliveryState::WORDS
        .map(|(name, _)| Choice::new(name, capital(name), name == query.get("state")));
    let events = Event::all()
        .map(|event| Choice::new(event.name(), event.name(), event.name() == query.get("event")));
    let signature_header = format!("X-{}-Signature", desk.web.title);
    let secret = desk.visit.flash.as_ref().and_then(|flash| flash.secret.clone());
    let try_out = secret.as_deref().map(|secret| curl(&desk, endpoint, &signature_header, secret));
    let content = EndpointPage {
        nav: SettingsNav::new(&desk, HERE),
        csrf: desk.visit.form_token(),
        url: endpoint.url.as_str().to_owned(),
        description: endpoint.description.clone().unwrap_or_default(),
        events: events_in_words(&endpoint.events),
        is_enabled: endpoint.enabled,
        health: Health::of(&desk, &health),
        made: desk.moment(endpoint.created_at),
        changed: desk.moment(endpoint.updated_at),
        previous_until: health.previous_secret_until.map(|until| desk.moment(until)),
        secret,
        signature_header,
        try_out: try_out.unwrap_or_default(),
        states: std::iter::once(any("Any state")).chain(states).collect(),
        event_choices: std::iter::once(any("Any event")).chain(events).collect(),
        is_filtered: state.is_some() || event.is_some(),
        rows: rows.iter().map(|row| DeliveryShown::new(&desk, row)).collect(),
        is_first: before.is_none(),
        older,
        path,
    };
    desk.page(Meta::new(TITLE, Nav::Settings), &content).await
}

/// A line to paste that works as it is: the sample of a test event, signed on the way.
fn curl(desk: &Desk, endpoint: &Endpoint, header: &str, secret: &str) -> String {
    let (now, workspace) = (desk.now(), desk.id());
    // Nobody looks these up: only the moment tells them apart.
    let sample = webhook::sample(workspace, RecordId::new(now, [0; 10]), now);
    let delivery = DeliveryId::new(now, [0; 10]);
    let body = webhook::payload(delivery, webhook::TEST_EVENT.name(), workspace, now, &sample);
    format!(
        "body={}\ncurl -i {} -H 'Content-Type: application/json' \\\n     -H \"{header}: sha256=$(printf %s \"$body\" | openssl dgst -sha256 -r -hmac {} | cut -c 1-64)\" \\\n     --data-raw \"$body\"",
        quoted(&String::from_utf8_lossy(&body)),
        quoted(endpoint.url.as_str()),
        quoted(secret),
    )
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Sends again what failed within so many hours.
pub(in crate::web) async fn redeliver_failed(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let id = existing(&desk, &id).await?.endpoint.id;
    let hours: i64 = form.get("hours").parse().unwrap_or(24);
    let since = desk.now().plus_millis(-HOUR_MILLIS * hours.clamp(1, 24 * 30));
    let which = Redeliver::FailedSince(id, since);
    let sent = desk.store().redeliver(desk.id(), desk.actor(), which, desk.now()).await?;
    let said = match sent {
        0 => "Nothing has failed in that time.".to_owned(),
        sent => {
            format!("{} on the way again.", shown::several(sent, "delivery is", "deliveries are"))
        }
    };
    Ok(desk.go(&format!("{HERE}/{id}"), &Flash::new(said)))
}

#[derive(Template)]
#[template(path = "webhook_delivery.html")]
struct DeliveryPage {
    nav: SettingsNav,
    csrf: String,
    endpoint: String,
    endpoint_url: String,
    row: DeliveryShown,
    may_resend: bool,
    body: String,
    attempts: Vec<AttemptShown>,
}

struct AttemptShown {
    no: u32,
    at: Moment,
    millis: String,
    said: String,
    is_good: bool,
    is_last: bool,
    error: String,
    answer: String,
}

impl AttemptShown {
    fn new(desk: &Desk, row: &AttemptRow, last: u32) -> Self {
        Self {
            no: row.no,
            at: desk.moment(row.at),
            millis: shown::grouped(row.millis),
            said: row.status.map_or("no answer".to_owned(), |status| status.to_string()),
            is_good: row.status.is_some_and(|status| (200..300).contains(&status)),
            is_last: row.no == last,
            error: row.error.clone().unwrap_or_default(),
            answer: String::from_utf8_lossy(&row.answer).into_owned(),
        }
    }
}

/// The delivery of an address, when it is one of that endpoint.
async fn found(
    desk: &Desk,
    endpoint: &str,
    delivery: &str,
) -> Result<(groma_store::EndpointHealth, groma_store::DeliveryDetail), WebError> {
    let health = existing(desk, endpoint).await?;
    let id: DeliveryId = delivery.parse().map_err(|_| WebError::not_found())?;
    let detail = desk.store().delivery(desk.id(), id).await?;
    if detail.delivery.endpoint != health.endpoint.id {
        return Err(WebError::not_found());
    }
    Ok((health, detail))
}

pub(in crate::web) async fn delivery(
    desk: Desk,
    Path((endpoint, delivery)): Path<(String, String)>,
) -> Result<Response, WebError> {
    let (health, detail) = found(&desk, &endpoint, &delivery).await?;
    let last = detail.delivery.attempts;
    let mut attempts: Vec<_> =
        detail.attempts.iter().map(|row| AttemptShown::new(&desk, row, last)).collect();
    attempts.reverse();
    let content = DeliveryPage {
        nav: SettingsNav::new(&desk, HERE),
        csrf: desk.visit.form_token(),
        endpoint: health.endpoint.id.to_string(),
        endpoint_url: health.endpoint.url.as_str().to_owned(),
        row: DeliveryShown::new(&desk, &detail.delivery),
        may_resend: detail.delivery.state != DeliveryState::Sending,
        body: pretty(&detail.body),
        attempts,
    };
    desk.page(Meta::new("Delivery", Nav::Settings), &content).await
}

/// JSON with a line for each value, for people.
fn pretty(body: &[u8]) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}

pub(in crate::web) async fn redeliver(
    desk: Desk,
    Path((endpoint, delivery)): Path<(String, String)>,
) -> Result<Response, WebError> {
    let (health, detail) = found(&desk, &endpoint, &delivery).await?;
    let which = Redeliver::One(detail.delivery.id);
    desk.store().redeliver(desk.id(), desk.actor(), which, desk.now()).await?;
    let to = format!("{HERE}/{}/deliveries/{}", health.endpoint.id, detail.delivery.id);
    Ok(desk.go(&to, &Flash::new("It is on its way again.")))
}
