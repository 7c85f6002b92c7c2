//! Settings > Security log, for owners: newest first, by topic.

use super::SettingsNav;
use crate::web::{
    WebError,
    fields::Choice,
    form::Query,
    format::Moment,
    i18n::Localizer,
    page::{Meta, Nav},
    request_context::MemberContext,
};
use askama::Template;
use axum::response::Response;
use groma_domain::Timestamp;
use groma_store::{SecurityEntry, SecurityLogFilter};
use serde_json::{Map, Value};

pub(super) const PATH: &str = "/settings/security-log";
const PAGE_SIZE: u32 = 50;
/// The topics to choose from: how the actions begin.
const TOPICS: [&str; 12] = [
    "login",
    "session",
    "password",
    "factor",
    "identity",
    "user",
    "member",
    "invitation",
    "token",
    "webhook",
    "export",
    "workspace",
];

#[derive(Template)]
#[template(path = "security_log.html")]
struct SecurityLogPage {
    t: Localizer,
    nav: SettingsNav,
    topics: Vec<Choice>,
    rows: Vec<Row>,
    is_first: bool,
    older: Option<String>,
}

struct Row {
    at: Moment,
    action: String,
    actor: String,
    subject: String,
    address: String,
    details: String,
}

pub(in crate::web) async fn page(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let t = ctx.t();
    let topic = TOPICS.into_iter().find(|topic| *topic == query.get("topic"));
    let before = query.get("before").parse().ok();
    let filter = SecurityLogFilter {
        workspace: Some(ctx.workspace_id()),
        action: topic.map(|topic| format!("{topic}.")),
        before,
        ..SecurityLogFilter::default()
    };
    let entries = ctx.store().security_entries(filter, PAGE_SIZE).await?;
    let is_full = entries.len() == usize::try_from(PAGE_SIZE).unwrap_or_default();
    let topic = topic.unwrap_or_default();
    let last = entries.last().filter(|_| is_full);
    let older = last.map(|entry| format!("{PATH}?topic={topic}&before={}", entry.id));
    let choice = |value: &str| {
        let label =
            t.msg("security-log-topic").arg("topic", if value.is_empty() { "all" } else { value });
        Choice::new(value, label.to_string(), value == topic)
    };
    let content = SecurityLogPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        topics: std::iter::once("").chain(TOPICS).map(choice).collect(),
        rows: entries.into_iter().map(|entry| row(&ctx, entry)).collect(),
        is_first: before.is_none(),
        older,
    };
    ctx.page(Meta::new(t.msg("security-log-title"), Nav::Settings), &content).await
}

fn row(ctx: &MemberContext, entry: SecurityEntry) -> Row {
    let t = ctx.t();
    let unnamed = match entry.action.as_str() {
        "login.failed" | "login.secondFactorFailed" if !entry.is_by_former => {
            t.msg("security-log-stranger")
        }
        _ if entry.is_by_former => t.msg("security-log-former-member"),
        _ => t.msg("activity-operator"),
    };
    Row {
        at: ctx.moment(entry.at),
        action: t.msg("security-log-action").arg("action", entry.action.replace('.', "-")).into(),
        actor: entry.email.unwrap_or_else(|| unnamed.into()),
        subject: entry.subject_email.unwrap_or_else(|| match entry.is_about_former {
            true => t.msg("security-log-former-member").into(),
            false => String::new(),
        }),
        address: entry.address.unwrap_or_default(),
        details: entry.details.map(|details| describe(t, &details)).unwrap_or_default(),
    }
}

/// The details of an entry in words: values, or what they were before and are now.
fn describe(t: Localizer, details: &str) -> String {
    let details: Map<String, Value> = serde_json::from_str(details).unwrap_or_default();
    let side = |name: &str| details.get(name).and_then(Value::as_object);
    let text = |(name, value): (&String, &Value)| match (name.as_str(), value) {
        (_, Value::Null) | ("readOnly", Value::Bool(false)) => None,
        ("readOnly", Value::Bool(true)) => Some(t.msg("token-read-only").to_string()),
        ("role", Value::String(role)) => Some(t.msg("role-name").arg("role", role).to_string()),
        ("scopes", Value::String(scopes)) => Some(scopes.replace(',', ", ")),
        ("expiresAt", Value::String(at)) => Some(match Timestamp::parse(at) {
            Ok(at) => t.full_day(at.date()),
            Err(_) => at.clone(),
        }),
        (_, Value::String(text)) => Some(text.clone()),
        (_, Value::Array(items)) => {
            let texts: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            Some(texts.join(", "))
        }
        (_, value) => Some(value.to_string()),
    };
    let list = |values: &Map<String, Value>| {
        let values: Vec<_> = values.iter().filter_map(text).collect();
        values.join(", ")
    };
    match (side("before"), side("after")) {
        (None, None) => list(&details),
        (Some(values), None) | (None, Some(values)) => list(values),
        (Some(before), Some(after)) if before == after => list(after),
        (Some(before), Some(after)) => format!("{} → {}", list(before), list(after)),
    }
}
