//! Settings > Webhooks: creating, editing, testing, disabling and deleting endpoints.

pub(in crate::web) mod deliveries;

use super::{Confirm, SettingsForm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, attach_errors, capitalize, focus_first, problems},
    flash::Flash,
    form::{Form, Pairs},
    format::{DISABLED_BY, Moment},
    i18n::{self, Localizer, Message},
    page::{Meta, Nav, forbid_storing},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    DomainError, EndpointId, Event, FieldError, Violation,
    event::Topic,
    input::Field as FieldInput,
    webhook::{
        self, DeliveryDocument, Endpoint, EndpointFilter, EndpointInput, EventFilter, SigningSecret,
    },
};
use groma_store::{
    DeliveryFilter, DeliveryRow, DeliveryState, EndpointChange, EndpointHealth, EndpointOutcome,
    NewEndpoint, Outcome, WebhookRequest,
};

const PATH: &str = "/settings/webhooks";
const HOUR_MILLIS: i64 = 60 * 60 * 1_000;
/// How many recent deliveries the list shows for an endpoint.
const RECENT_DELIVERIES: u32 = 24;

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage {
    t: Localizer,
    nav: SettingsNav,
    rows: Vec<EndpointView>,
    is_full: bool,
}

struct EndpointView {
    id: String,
    url: String,
    description: String,
    events: String,
    health: Health,
    /// The CSS classes of its recent deliveries, the newest last.
    recent: Vec<&'static str>,
    failed: usize,
}

/// The health of an endpoint.
struct Health {
    /// `disabled`, `failing`, `delivering` or `unused`.
    state: &'static str,
    label: String,
    class: &'static str,
    /// Why it is disabled.
    reason: String,
    since: Option<Moment>,
}

impl Health {
    fn of(ctx: &MemberContext, health: &EndpointHealth) -> Self {
        let moment = |at: Option<_>| at.map(|at| ctx.moment(at));
        let (state, class, reason, since) = match &health.endpoint {
            Endpoint { enabled: false, disabled_reason, .. } => {
                let reason =
                    ctx.t().disabled_reason(disabled_reason.as_deref().unwrap_or_default());
                ("disabled", "", reason, Some(ctx.moment(health.endpoint.updated_at)))
            }
            _ if health.failing_since.is_some() => {
                ("failing", "bad", String::new(), moment(health.failing_since))
            }
            _ if health.last_success_at.is_some() => {
                ("delivering", "good", String::new(), moment(health.last_success_at))
            }
            _ => ("unused", "", String::new(), None),
        };
        let label = ctx.t().msg("webhook-health").arg("state", state).into();
        Self { state, label, class, reason, since }
    }
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut rows = Vec::new();
    for health in ctx.store().endpoints(ctx.workspace_id()).await? {
        let endpoint = &health.endpoint;
        let filter = DeliveryFilter { limit: RECENT_DELIVERIES, ..DeliveryFilter::of(endpoint.id) };
        let last = ctx.store().deliveries(ctx.workspace_id(), filter).await?;
        let recent: Vec<_> = last.iter().rev().map(|delivery| delivery_state(delivery).1).collect();
        rows.push(EndpointView {
            id: endpoint.id.to_string(),
            url: endpoint.url.as_str().to_owned(),
            description: endpoint.description.clone().unwrap_or_default(),
            events: event_names(t, &endpoint.events),
            health: Health::of(&ctx, &health),
            failed: recent.iter().filter(|class| **class == "failed").count(),
            recent,
        });
    }
    let is_full = rows.len() >= webhook::MAX_ENDPOINTS;
    let content = WebhooksPage { t, nav: SettingsNav::new(&ctx, PATH), rows, is_full };
    ctx.page(Meta::new(t.msg("webhooks-title"), Nav::Settings), &content).await
}

/// The state of a delivery and the CSS class of its bar.
fn delivery_state(delivery: &DeliveryRow) -> (&'static str, &'static str) {
    match delivery.state {
        DeliveryState::Delivered => ("delivered", "ok"),
        DeliveryState::Failed => ("failed", "failed"),
        DeliveryState::Cancelled => ("cancelled", "waiting"),
        DeliveryState::Waiting if delivery.attempts > 0 => ("retrying", "failed"),
        other => (other.name(), "waiting"),
    }
}

fn event_names(t: Localizer, events: &EventFilter) -> String {
    match events.names() {
        [one] if one == "*" => t.msg("webhook-all-events").into(),
        names => names.join(", "),
    }
}

/// The conditions of a filter, as texts.
fn filter_conditions(t: Localizer, filter: Option<&EndpointFilter>) -> Vec<String> {
    let Some(filter) = filter else { return Vec::new() };
    let area = filter.bbox.map(|bbox| {
        let sides: Vec<_> = bbox.0.iter().map(ToString::to_string).collect();
        t.msg("webhook-filter-area").arg("box", sides.join(", ")).into()
    });
    let folders = filter.folder_ids.as_ref();
    let folders = folders.map(|ids| t.msg("webhook-filter-folders").arg("count", ids.len()).into());
    let layers = filter.layer_ids.as_ref();
    let layers = layers.map(|ids| t.msg("webhook-filter-layers").arg("count", ids.len()).into());
    [folders, layers, area].into_iter().flatten().collect()
}

#[derive(Template)]
#[template(path = "webhook_form.html")]
struct EndpointForm {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    title: String,
    action: String,
    submit: String,
    cancel: String,
    /// URL and description; for a new endpoint also the secret.
    fields: Vec<Field>,
    wants_all: bool,
    /// The events of each topic.
    event_groups: Vec<Vec<Choice>>,
    events_error: String,
    /// The conditions of its filter.
    filter: Vec<String>,
    problems: Vec<String>,
}

impl EndpointForm {
    fn new(ctx: &MemberContext, existing: Option<&Endpoint>, typed: &Pairs) -> Self {
        let t = ctx.t();
        let chosen: Vec<&str> = typed.all("event").collect();
        let group = |topic: Topic| {
            let choice = |event: Event| {
                Choice::new(event.name(), event.name(), chosen.contains(&event.name()))
            };
            topic.events().map(choice).collect()
        };
        let mut fields = vec![
            Field::line("url", t.msg("webhook-url")).value(typed.get("url")).required().hint(
                match ctx.web.endpoint_policy.allow_http {
                    true => t.msg("webhook-url-hint-http"),
                    false => t.msg("webhook-url-hint"),
                },
            ),
            Field::line("description", t.msg("field-description")).value(typed.get("description")),
        ];
        if existing.is_none() {
            let secret = Field::line("secret", t.msg("webhook-secret"));
            fields.push(secret.hint(t.msg("webhook-secret-hint")));
        }
        let (title, submit) = match existing {
            Some(_) => (t.msg("webhook-edit-title"), t.msg("form-save")),
            None => (t.msg("webhook-new"), t.msg("webhook-create")),
        };
        let path = existing.map(|endpoint| format!("{PATH}/{}", endpoint.id));
        Self {
            t,
            nav: SettingsNav::new(ctx, PATH),
            csrf: ctx.request.csrf_token(),
            title: title.into(),
            action: path.as_ref().map_or(format!("{PATH}/new"), |path| format!("{path}/edit")),
            submit: submit.into(),
            cancel: path.unwrap_or(PATH.to_owned()),
            fields,
            wants_all: chosen.contains(&"*"),
            event_groups: Topic::ALL.into_iter().map(group).collect(),
            events_error: String::new(),
            filter: filter_conditions(t, existing.and_then(|endpoint| endpoint.filter.as_ref())),
            problems: Vec::new(),
        }
    }

    async fn show(
        mut self,
        ctx: &MemberContext,
        errors: &[FieldError],
    ) -> Result<Response, WebError> {
        let t = self.t;
        let (of_events, others): (Vec<_>, Vec<_>) =
            errors.iter().cloned().partition(|problem| problem.field.starts_with("events"));
        if !of_events.is_empty() {
            self.events_error = t.msg("webhook-no-events").into();
        }
        self.problems = attach_errors(t, &mut self.fields, &others);
        focus_first(&mut self.fields);
        let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        let meta = Meta::new(self.title.clone(), Nav::Settings);
        let mut response = ctx.page_with_status(status, meta, &self).await?;
        if self.fields.iter().any(|field| field.name == "secret") {
            forbid_storing(&mut response);
        }
        Ok(response)
    }
}

/// Reads the form, or returns the problems of its fields.
fn read(ctx: &MemberContext, form: &Form) -> Result<EndpointInput, Vec<FieldError>> {
    let mut errors = Vec::new();
    let mut add = |field: &str, message: Violation| errors.push(FieldError::new(field, message));
    let url = ctx.web.endpoint_policy.parse_url(form.get("url").trim());
    let url = url.map_err(|message| add("url", message)).ok();
    let description = webhook::parse_description(form.get("description"));
    let description = description.map_err(|message| add("description", message)).ok();
    let secret = form.given("secret").map(SigningSecret::parse).transpose();
    let secret = secret.map_err(|message| add("secret", message)).ok().flatten();
    let chosen: Vec<&str> = form.all("event").collect();
    let names = if chosen.contains(&"*") { vec!["*"] } else { chosen };
    let events = EventFilter::parse(&names);
    let events = events.map_err(|problems| errors.extend(problems)).ok();
    if errors.is_empty() {
        let description = FieldInput::Set(description.flatten());
        // The form keeps the filter of an endpoint.
        Ok(EndpointInput { url, events, description, secret, ..EndpointInput::default() })
    } else {
        Err(errors)
    }
}

pub(in crate::web) async fn new_page(ctx: MemberContext) -> Result<Response, WebError> {
    let typed = Pairs::default().with(&[("event", "*")]);
    EndpointForm::new(&ctx, None, &typed).show(&ctx, &[]).await
}

pub(in crate::web) async fn create(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let page = EndpointForm::new(&ctx, None, &form);
    let draft = match read(&ctx, &form) {
        Ok(draft) => draft,
        Err(errors) => return page.show(&ctx, &errors).await,
    };
    let (workspace, actor, now) = (ctx.workspace_id(), ctx.actor(), ctx.now());
    let new = NewEndpoint { workspace, actor, now, draft, request: None };
    match ctx.store().create_endpoint(new).await {
        Ok(EndpointOutcome::Created(endpoint, secret)) => {
            let flash = Flash::new(ctx.t().msg("webhook-created")).with_secret(secret.reveal());
            Ok(ctx.redirect_with_flash(&format!("{PATH}/{}", endpoint.id), &flash))
        }
        Ok(EndpointOutcome::Replayed(_)) => {
            Err(WebError::internal("the web application sends no idempotency keys"))
        }
        Err(error) => match error.domain_error() {
            Some(invalid @ DomainError::Invalid(_)) => page.show(&ctx, &problems(invalid)).await,
            _ => Err(error.into()),
        },
    }
}

/// The endpoint with this id.
async fn existing(ctx: &MemberContext, id: &str) -> Result<EndpointHealth, WebError> {
    let id: EndpointId = id.parse().map_err(|_| WebError::not_found())?;
    Ok(ctx.store().endpoint(ctx.workspace_id(), id).await?)
}

pub(in crate::web) async fn edit_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let endpoint = existing(&ctx, &id).await?.endpoint;
    let mut typed = Pairs::default().with(&[
        ("url", endpoint.url.as_str()),
        ("description", endpoint.description.as_deref().unwrap_or_default()),
    ]);
    if endpoint.events == EventFilter::all() {
        typed = typed.with(&[("event", "*")]);
    } else {
        let wanted = Event::all().filter(|event| endpoint.events.matches(*event));
        let wanted: Vec<_> = wanted.map(|event| ("event", event.name())).collect();
        typed = typed.with(&wanted);
    }
    EndpointForm::new(&ctx, Some(&endpoint), &typed).show(&ctx, &[]).await
}

pub(in crate::web) async fn update(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let endpoint = existing(&ctx, &id).await?.endpoint;
    let page = EndpointForm::new(&ctx, Some(&endpoint), &form);
    let mut draft = match read(&ctx, &form) {
        Ok(draft) => draft,
        Err(errors) => return page.show(&ctx, &errors).await,
    };
    // Keep unchanged events as they were written: `folder.*` stays `folder.*`.
    let is_same = |events: &EventFilter| {
        Event::all().all(|event| events.matches(event) == endpoint.events.matches(event))
    };
    draft.events = draft.events.filter(|events| !is_same(events));
    let edit = EndpointChange::Edit { input: Box::new(draft), precondition: None };
    change(&ctx, endpoint.id, edit, ctx.t().msg("webhook-saved")).await
}

fn request(ctx: &MemberContext) -> WebhookRequest {
    WebhookRequest::new(ctx.workspace_id(), ctx.actor(), ctx.now())
}

async fn change(
    ctx: &MemberContext,
    id: EndpointId,
    change: EndpointChange,
    message: Message,
) -> Result<Response, WebError> {
    ctx.store().change_endpoint(ctx.workspace_id(), ctx.actor(), id, change, ctx.now()).await?;
    Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}"), &Flash::new(message)))
}

pub(in crate::web) async fn enable(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let Endpoint { id, url, .. } = existing(&ctx, &id).await?.endpoint;
    if !ctx.web.endpoint_policy.allows_scheme(&url) {
        return Err(WebError::bad_request(i18n::id("error-http-not-allowed")));
    }
    change(&ctx, id, EndpointChange::Enable, ctx.t().msg("webhook-enabled")).await
}

pub(in crate::web) async fn disable(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.endpoint.id;
    let reason = format!("{DISABLED_BY}{}", ctx.member.person.name);
    change(&ctx, id, EndpointChange::Disable(reason), ctx.t().msg("webhook-disabled")).await
}

pub(in crate::web) async fn test(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.endpoint.id;
    let sent = ctx.store().test_endpoint(request(&ctx), id).await;
    match sent.and_then(Outcome::first) {
        Ok(DeliveryDocument { id: delivery, .. }) => {
            let flash = Flash::new(ctx.t().msg("webhook-test-sent"));
            Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}/deliveries/{delivery}"), &flash))
        }
        Err(error) => match error.domain_error() {
            Some(DomainError::Invalid(problems)) => {
                let problems: Vec<_> =
                    problems.iter().map(|one| one.violation.to_string()).collect();
                let flash = Flash::error(capitalize(&problems.join("; ")));
                Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}"), &flash))
            }
            _ => Err(error.into()),
        },
    }
}

/// The header with the signature of a delivery.
fn signature_header(ctx: &MemberContext) -> String {
    format!("X-{}-Signature", ctx.web.header_name)
}

/// How long the old secret stays valid beside the new one, in hours.
const OVERLAP_HOURS: [u64; 4] = [24, 168, 1, 0];

pub(in crate::web) async fn rotate_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let endpoint = existing(&ctx, &id).await?.endpoint;
    let t = ctx.t();
    let overlaps = OVERLAP_HOURS.map(|hours| {
        let label = t.msg("webhook-overlap-hours").arg("hours", hours);
        Choice::new(hours.to_string(), label, hours == 24)
    });
    let input = Input::Select(overlaps.into());
    let note = t.msg("webhook-rotate-note").arg("url", endpoint.url.as_str());
    let form = SettingsForm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        csrf: ctx.request.csrf_token(),
        parent: (PATH, t.msg("webhooks-title").into()),
        title: t.msg("webhook-rotate-title").into(),
        action: format!("{PATH}/{}/rotate", endpoint.id),
        submit: t.msg("webhook-rotate-submit").into(),
        note: note.arg("header", signature_header(&ctx)).into(),
        fields: vec![Field::new("overlap", t.msg("webhook-overlap"), input).required()],
        problems: Vec::new(),
        is_danger: false,
    };
    form.show(&ctx, false).await
}

pub(in crate::web) async fn rotate(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.endpoint.id;
    let hours = form.get("overlap").parse().unwrap_or(24).clamp(0, 24 * 7);
    let overlap = HOUR_MILLIS * hours;
    let rotated = ctx.store().rotate_secret(request(&ctx), id, None, overlap).await?.first()?;
    let flash = Flash::new(ctx.t().msg("webhook-rotated")).with_secret(rotated.secret.reveal());
    Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}"), &flash))
}

pub(in crate::web) async fn delete_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let endpoint = existing(&ctx, &id).await?.endpoint;
    let t = ctx.t();
    let content = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: t.msg("webhook-delete-title").into(),
        text: t.msg("webhook-delete-text").arg("url", endpoint.url.as_str()).into(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{}/delete", endpoint.id),
        cancel: PATH.to_owned(),
        button: t.msg("webhook-delete").into(),
    };
    content.show(&ctx).await
}

pub(in crate::web) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.endpoint.id;
    ctx.store().delete_endpoint(ctx.workspace_id(), ctx.actor(), id, ctx.now()).await?;
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(ctx.t().msg("webhook-deleted"))))
}
