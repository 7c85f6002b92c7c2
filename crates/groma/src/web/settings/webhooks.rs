//! Settings > Webhooks: endpoints made, changed, tried out, rotated, switched off and on, deleted.

pub(in crate::web) mod deliveries;

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, focus, problems, tell},
    flash::Flash,
    form::{Form, Pairs},
    page::{Meta, Nav},
    shown::Moment,
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    EndpointId, Event, Kind, Problem, Refusal,
    webhook::{self, Endpoint, EndpointDraft, EndpointUrl, EventFilter, Secret},
};
use groma_store::{
    DeliveryFilter, DeliveryRow, DeliveryState, EndpointChange, EndpointHealth, EndpointOutcome,
    NewEndpoint,
};

const HERE: &str = "/settings/webhooks";
const TITLE: &str = "Webhooks";
const HOUR_MILLIS: i64 = 60 * 60 * 1_000;
/// How many of its last deliveries an endpoint's line shows.
const GLANCE: u32 = 24;

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Webhooks {
    nav: SettingsNav,
    rows: Vec<EndpointShown>,
    is_full: bool,
}

/// An endpoint as it is listed.
struct EndpointShown {
    id: String,
    url: String,
    description: String,
    events: String,
    health: Health,
    /// Its last deliveries, the newest last: a class for each.
    glance: Vec<&'static str>,
    failed: usize,
}

/// How an endpoint fares, in words.
struct Health {
    said: &'static str,
    class: &'static str,
    reason: String,
    since: Option<Moment>,
}

impl Health {
    fn of(desk: &Desk, health: &EndpointHealth) -> Self {
        let moment = |at: Option<_>| at.map(|at| desk.moment(at));
        let (said, class, reason, since) = match &health.endpoint {
            Endpoint { enabled: false, disabled_reason, .. } => {
                let reason = disabled_reason.clone().unwrap_or_default();
                ("Disabled", "", reason, Some(desk.moment(health.endpoint.updated_at)))
            }
            _ if health.failing_since.is_some() => {
                ("Failing", "bad", String::new(), moment(health.failing_since))
            }
            _ if health.last_success_at.is_some() => {
                ("Delivering", "good", String::new(), moment(health.last_success_at))
            }
            _ => ("Nothing sent yet", "", String::new(), None),
        };
        Self { said, class, reason, since }
    }
}

pub(in crate::web) async fn page(desk: Desk) -> Result<Response, WebError> {
    let mut rows = Vec::new();
    for health in desk.store().endpoints(desk.id()).await? {
        let endpoint = &health.endpoint;
        let filter = DeliveryFilter { limit: GLANCE, ..DeliveryFilter::of(endpoint.id) };
        let last = desk.store().deliveries(desk.id(), filter).await?;
        let glance: Vec<_> = last.iter().rev().map(|delivery| state_of(delivery).1).collect();
        rows.push(EndpointShown {
            id: endpoint.id.to_string(),
            url: endpoint.url.as_str().to_owned(),
            description: endpoint.description.clone().unwrap_or_default(),
            events: events_in_words(&endpoint.events),
            health: Health::of(&desk, &health),
            failed: glance.iter().filter(|class| **class == "failed").count(),
            glance,
        });
    }
    let is_full = rows.len() >= webhook::MAX_ENDPOINTS;
    let content = Webhooks { nav: SettingsNav::new(&desk, HERE), rows, is_full };
    desk.page(Meta::new(TITLE, Nav::Settings), &content).await
}

/// How a delivery stands, in a word, and the class of its mark.
fn state_of(delivery: &DeliveryRow) -> (&'static str, &'static str) {
    match delivery.state {
        DeliveryState::Delivered => ("delivered", "ok"),
        DeliveryState::Failed => ("failed", "failed"),
        DeliveryState::Waiting if delivery.attempts > 0 => ("to be retried", "failed"),
        other => (other.name(), "waiting"),
    }
}

fn events_in_words(events: &EventFilter) -> String {
    match events.names() {
        [one] if one == "*" => "all events".to_owned(),
        names => names.join(", "),
    }
}

#[derive(Template)]
#[template(path = "webhook_form.html")]
struct EndpointForm {
    nav: SettingsNav,
    csrf: String,
    title: String,
    action: String,
    submit: &'static str,
    cancel: String,
    /// Address, description, and for a new one the secret.
    fields: Vec<Field>,
    wants_all: bool,
    groups: Vec<Vec<Choice>>,
    events_error: String,
    problems: Vec<String>,
}

impl EndpointForm {
    fn new(desk: &Desk, existing: Option<&Endpoint>, typed: &Pairs) -> Self {
        let chosen: Vec<&str> = typed.all("event").collect();
        let group = |kind: Kind| {
            let events = Event::all().filter(|event| event.kind == kind);
            let choice = |event: Event| {
                Choice::new(event.name(), event.name(), chosen.contains(&event.name()))
            };
            events.map(choice).collect()
        };
        let mut fields = vec![
            Field::line("url", "Address").value(typed.get("url")).needed().hint(
                if desk.web.allow_http_webhooks {
                    "Where deliveries are posted to, http or https"
                } else {
                    "Where deliveries are posted to, with https"
                },
            ),
            Field::line("description", "Description").value(typed.get("description")),
        ];
        if existing.is_none() {
            fields.push(Field::line("secret", "Secret").hint(
                "What deliveries are signed with. Leave it empty, and a strong one is made.",
            ));
        }
        Self {
            nav: SettingsNav::new(desk, HERE),
            csrf: desk.visit.form_token(),
            title: existing.map_or("New endpoint", |_| "Edit the endpoint").to_owned(),
            action: existing.map_or(format!("{HERE}/new"), |one| format!("{HERE}/{}/edit", one.id)),
            submit: if existing.is_some() { "Save" } else { "Create" },
            cancel: existing.map_or(HERE.to_owned(), |one| format!("{HERE}/{}", one.id)),
            fields,
            wants_all: chosen.contains(&"*"),
            groups: Kind::ALL.into_iter().map(group).collect(),
            events_error: String::new(),
            problems: Vec::new(),
        }
    }

    async fn show(mut self, desk: &Desk, wrong: &[Problem]) -> Result<Response, WebError> {
        let (of_events, others): (Vec<_>, Vec<_>) =
            wrong.iter().cloned().partition(|problem| problem.field.starts_with("events"));
        if !of_events.is_empty() {
            self.events_error = "Choose at least one event, or all.".to_owned();
        }
        self.problems = tell(&mut self.fields, &others);
        focus(&mut self.fields);
        let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        desk.page_with(status, Meta::new(TITLE, Nav::Settings), &self).await
    }
}

/// Reads the form; what is wrong comes with the field it stands in.
fn read(desk: &Desk, form: &Form) -> Result<EndpointDraft, Vec<Problem>> {
    let mut wrong = Vec::new();
    let mut note = |field: &str, message: String| wrong.push(Problem::new(field, message));
    let url = EndpointUrl::parse(form.get("url").trim(), desk.web.allow_http_webhooks);
    let url = url.map_err(|message| note("url", message)).ok();
    let description = webhook::parse_description(form.get("description"));
    let description = description.map_err(|message| note("description", message)).ok();
    let secret = form.given("secret").map(Secret::parse).transpose();
    let secret = secret.map_err(|message| note("secret", message)).ok().flatten();
    let chosen: Vec<&str> = form.all("event").collect();
    let names = if chosen.contains(&"*") { vec!["*"] } else { chosen };
    let events = EventFilter::parse(&names);
    let events = events.map_err(|problems| wrong.extend(problems)).ok();
    // Empty, it takes the old one away.
    let description = Some(description.flatten().unwrap_or_default());
    if wrong.is_empty() {
        Ok(EndpointDraft { url, events, description, secret })
    } else {
        Err(wrong)
    }
}

pub(in crate::web) async fn new_page(desk: Desk) -> Result<Response, WebError> {
    let typed = Pairs::default().with(&[("event", "*")]);
    EndpointForm::new(&desk, None, &typed).show(&desk, &[]).await
}

pub(in crate::web) async fn create(desk: Desk, form: Form) -> Result<Response, WebError> {
    let again = EndpointForm::new(&desk, None, &form);
    let draft = match read(&desk, &form) {
        Ok(draft) => draft,
        Err(wrong) => return again.show(&desk, &wrong).await,
    };
    let draft = EndpointDraft { description: draft.description.filter(|d| !d.is_empty()), ..draft };
    let (workspace, actor, now) = (desk.id(), desk.actor(), desk.now());
    let new = NewEndpoint { workspace, actor, now, draft, request: None };
    match desk.store().create_endpoint(new).await {
        Ok(EndpointOutcome::Created(endpoint, secret)) => {
            let flash = Flash::new("The endpoint is there.").with_secret(secret.reveal());
            Ok(desk.go(&format!("{HERE}/{}", endpoint.id), &flash))
        }
        // Only requests of the API are answered twice.
        Ok(EndpointOutcome::Replayed(_)) => Ok(desk.go(HERE, &Flash::new("It is there already."))),
        Err(error) => match error.refusal() {
            Some(refused @ Refusal::Invalid(_)) => again.show(&desk, &problems(refused)).await,
            _ => Err(error.into()),
        },
    }
}

/// The endpoint of an address.
async fn existing(desk: &Desk, id: &str) -> Result<EndpointHealth, WebError> {
    let id: EndpointId = id.parse().map_err(|_| WebError::not_found())?;
    Ok(desk.store().endpoint(desk.id(), id).await?)
}

pub(in crate::web) async fn edit_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let endpoint = existing(&desk, &id).await?.endpoint;
    let mut typed = Pairs::default().with(&[
        ("url", endpoint.url.as_str()),
        ("description", endpoint.description.as_deref().unwrap_or_default()),
    ]);
    if endpoint.events == EventFilter::all() {
        typed = typed.with(&[("event", "*")]);
    } else {
        let wanted = Event::all().filter(|event| endpoint.events.wants(*event));
        let wanted: Vec<_> = wanted.map(|event| ("event", event.name())).collect();
        typed = typed.with(&wanted);
    }
    EndpointForm::new(&desk, Some(&endpoint), &typed).show(&desk, &[]).await
}

pub(in crate::web) async fn update(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let endpoint = existing(&desk, &id).await?.endpoint;
    let again = EndpointForm::new(&desk, Some(&endpoint), &form);
    let mut draft = match read(&desk, &form) {
        Ok(draft) => draft,
        Err(wrong) => return again.show(&desk, &wrong).await,
    };
    // The same events stay as they were written: `folder.*` is not spelled out.
    let is_same = |events: &EventFilter| {
        Event::all().all(|event| events.wants(event) == endpoint.events.wants(event))
    };
    draft.events = draft.events.filter(|events| !is_same(events));
    change(&desk, endpoint.id, EndpointChange::Edit(draft), "The endpoint is saved.").await
}

async fn change(
    desk: &Desk,
    id: EndpointId,
    change: EndpointChange,
    said: &str,
) -> Result<Response, WebError> {
    desk.store().change_endpoint(desk.id(), desk.actor(), id, change, desk.now()).await?;
    Ok(desk.go(&format!("{HERE}/{id}"), &Flash::new(said)))
}

pub(in crate::web) async fn enable(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&desk, &id).await?.endpoint.id;
    change(&desk, id, EndpointChange::Enable, "Enabled. What waited goes on.").await
}

pub(in crate::web) async fn disable(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&desk, &id).await?.endpoint.id;
    let reason = format!("by {}", desk.member.person.name);
    let said = "Disabled. Nothing is queued for it until it is enabled again.";
    change(&desk, id, EndpointChange::Disable(reason), said).await
}

pub(in crate::web) async fn test(desk: Desk, Path(id): Path<String>) -> Result<Response, WebError> {
    let id = existing(&desk, &id).await?.endpoint.id;
    let sent = desk.store().test_endpoint(desk.id(), desk.actor(), id, desk.now()).await;
    match sent {
        Ok(delivery) => {
            let flash = Flash::new("A test event is on its way. Reload to see what came of it.");
            Ok(desk.go(&format!("{HERE}/{id}/deliveries/{delivery}"), &flash))
        }
        Err(error) => match error.refusal() {
            Some(Refusal::Invalid(problems)) => {
                let told: Vec<_> = problems.iter().map(|problem| problem.message.clone()).collect();
                Ok(desk.go(&format!("{HERE}/{id}"), &Flash::new(told.join("; "))))
            }
            _ => Err(error.into()),
        },
    }
}

/// For how long the old secret signs beside the new one, in hours.
const OVERLAPS: [(&str, &str); 4] =
    [("24", "One day"), ("168", "One week"), ("1", "One hour"), ("0", "Not at all")];

pub(in crate::web) async fn rotate_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let endpoint = existing(&desk, &id).await?.endpoint;
    let overlaps = OVERLAPS.map(|(hours, said)| Choice::new(hours, said, hours == "24"));
    let overlap =
        Field::new("overlap", "The old one goes on signing", Input::Choice(overlaps.into()))
            .needed();
    let content = super::statuses::SettingsForm {
        nav: SettingsNav::new(&desk, HERE),
        csrf: desk.visit.form_token(),
        back: (HERE, TITLE),
        title: "Rotate the secret".to_owned(),
        action: format!("{HERE}/{}/rotate", endpoint.id),
        submit: "Make a new secret",
        note: format!(
            "A new secret is made for {} and shown once. Receivers that verify the Standard \
             Webhooks signature accept both while the old one goes on; X-{}-Signature is made with \
             the new one at once.",
            endpoint.url.as_str(),
            desk.web.title
        ),
        fields: vec![overlap],
        problems: Vec::new(),
        is_danger: false,
    };
    desk.page(Meta::new("Rotate a secret", Nav::Settings), &content).await
}

pub(in crate::web) async fn rotate(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let id = existing(&desk, &id).await?.endpoint.id;
    let hours = form.get("overlap").parse().unwrap_or(24).clamp(0, 24 * 7);
    let overlap = HOUR_MILLIS * hours;
    let (store, actor) = (desk.store(), desk.actor());
    let rotated = store.rotate_secret(desk.id(), actor, id, None, overlap, desk.now()).await?;
    let flash = Flash::new("The endpoint has a new secret.").with_secret(rotated.secret.reveal());
    Ok(desk.go(&format!("{HERE}/{id}"), &flash))
}

pub(in crate::web) async fn delete_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let endpoint = existing(&desk, &id).await?.endpoint;
    let content = Confirm {
        nav: SettingsNav::new(&desk, HERE),
        title: "Delete the endpoint".to_owned(),
        text: format!(
            "Nothing more is sent to {}. What waits for it is cancelled, and its deliveries are \
             forgotten.",
            endpoint.url.as_str()
        ),
        csrf: desk.visit.form_token(),
        action: format!("{HERE}/{}/delete", endpoint.id),
        cancel: HERE,
        button: "Delete",
    };
    desk.page(Meta::new("Delete an endpoint", Nav::Settings), &content).await
}

pub(in crate::web) async fn delete(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&desk, &id).await?.endpoint.id;
    desk.store().delete_endpoint(desk.id(), desk.actor(), id, desk.now()).await?;
    Ok(desk.go(HERE, &Flash::new("The endpoint is deleted.")))
}
