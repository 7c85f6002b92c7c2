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
use std::collections::HashMap;

pub(super) const PATH: &str = "/settings/security-log";
const PAGE_SIZE: u32 = 50;
/// The topics to choose from: how the actions begin.
const TOPICS: [&str; 15] = [
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
    "command",
    "backup",
    "workspace",
    "baseMap",
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

/// The names of the tokens of the workspace by their ids.
type TokenNames = HashMap<String, String>;

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
    let tokens = ctx.store().tokens(Some(ctx.workspace_id())).await?;
    let tokens = tokens.into_iter().map(|token| (token.id.to_string(), token.name)).collect();
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
        rows: entries.into_iter().map(|entry| row(&ctx, &tokens, entry)).collect(),
        is_first: before.is_none(),
        older,
    };
    ctx.page(Meta::new(t.msg("security-log-title"), Nav::Settings), &content).await
}

fn row(ctx: &MemberContext, tokens: &TokenNames, entry: SecurityEntry) -> Row {
    let t = ctx.t();
    let unnamed = match entry.action.as_str() {
        "login.failed" | "login.secondFactorFailed" | "login.throttled" if !entry.is_by_former => {
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
        details: entry.details.map(|details| describe(t, tokens, &details)).unwrap_or_default(),
    }
}

/// The details of an entry in words: values, or what they were before and are now, and the token that changed
/// them.
fn describe(t: Localizer, tokens: &TokenNames, details: &str) -> String {
    let mut details: Map<String, Value> = serde_json::from_str(details).unwrap_or_default();
    let token = details.remove("token");
    let token = token.as_ref().and_then(Value::as_str).map(|id| {
        let name = tokens.get(id).map_or(id, String::as_str);
        t.msg("security-log-token").arg("name", name).to_string()
    });
    let values = describe_values(t, &details);
    let parts: Vec<_> = token.into_iter().chain((!values.is_empty()).then_some(values)).collect();
    parts.join(", ")
}

fn describe_values(t: Localizer, details: &Map<String, Value>) -> String {
    let side = |name: &str| details.get(name).and_then(Value::as_object);
    let text = |(name, value): (&String, &Value)| match (name.as_str(), value) {
        (_, Value::Null) | ("readOnly", Value::Bool(false)) => None,
        (_, Value::Array(items)) if items.is_empty() => None,
        ("readOnly", Value::Bool(true)) => Some(t.msg("token-read-only").to_string()),
        ("role", Value::String(role)) => Some(t.msg("role-name").arg("role", role).to_string()),
        ("rehearsal", Value::Bool(is_rehearsal)) => {
            is_rehearsal.then(|| t.msg("security-log-rehearsal").to_string())
        }
        ("reason", Value::String(reason)) => {
            Some(t.msg("security-log-reason").arg("reason", reason).to_string())
        }
        ("requiresSecondFactor", Value::Bool(required)) => {
            let state = if *required { "required" } else { "optional" };
            Some(t.msg("security-log-second-factor").arg("state", state).to_string())
        }
        ("maxTokenDays", Value::Number(days)) => {
            Some(t.msg("token-expires-days").arg("days", days.as_u64().unwrap_or_default()).into())
        }
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
        (None, None) => list(details),
        (Some(values), None) | (None, Some(values)) => list(values),
        (Some(before), Some(after)) if before == after => list(after),
        (Some(before), Some(after)) => format!("{} → {}", list(before), list(after)),
    }
}
