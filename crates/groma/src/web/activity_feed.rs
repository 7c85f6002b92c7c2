//! The audit log as sentences: who changed what, and the values before and after. Changes of one person in
//! one folder within a short time are one line, which opens to the single changes.

mod grouping;

pub(super) use grouping::ActivityGroup;

use super::{
    WebError,
    format::{self, Moment},
    i18n::HtmlMessage,
    record_data::{self, Doc, Statuses},
    request_context::MemberContext,
};
use groma_domain::{Kind, PersonId, Timestamp};
use groma_store::AuditEntry;
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

pub(super) struct ActivityEntry {
    pub(super) id: i64,
    pub(super) at: Moment,
    pub(super) sentence: HtmlMessage,
    pub(super) changes: Vec<FieldChange>,
}

/// A changed field; an empty text stands for no value.
pub(super) struct FieldChange {
    pub(super) field: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// The latest entries of the workspace, or of some subjects.
pub(super) async fn latest(
    ctx: &MemberContext,
    statuses: &Statuses,
    subjects: Option<&[Uuid]>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<ActivityGroup>, WebError> {
    let rows =
        ctx.store().recent_audit_entries(ctx.workspace_id(), subjects, before, limit).await?;
    groups(ctx, statuses, &rows).await
}

/// The latest groups of entries that every member may see. Entries about members, tokens and webhooks are for
/// administrators.
pub(super) async fn latest_work(
    ctx: &MemberContext,
    statuses: &Statuses,
    limit: usize,
) -> Result<Vec<ActivityGroup>, WebError> {
    // Few entries are about settings, so a few pages hold enough of the others.
    const MAX_PAGES: usize = 4;
    const PAGE_SIZE: u32 = 50;
    let (mut rows, mut before) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let found =
            ctx.store().recent_audit_entries(ctx.workspace_id(), None, before, PAGE_SIZE).await?;
        before = found.last().map(|row| row.id);
        rows.extend(found.into_iter().filter(is_about_work));
        if rows.len() >= limit || before.is_none() {
            break;
        }
    }
    let mut groups = groups(ctx, statuses, &rows).await?;
    groups.truncate(limit);
    Ok(groups)
}

/// Whether a change is about records, shapes, layers or statuses.
fn is_about_work(row: &AuditEntry) -> bool {
    let subject = row.action.split('.').next().unwrap_or_default();
    Kind::NAMES.iter().any(|(word, _)| *word == subject)
        || ["geometries", "geometry", "layer", "status"].contains(&subject)
}

async fn groups(
    ctx: &MemberContext,
    statuses: &Statuses,
    rows: &[AuditEntry],
) -> Result<Vec<ActivityGroup>, WebError> {
    let names = Names::read(ctx, rows).await?;
    let entry = |row: &AuditEntry| entry(ctx, statuses, &names, row);
    let actor = |row: &AuditEntry| actor(ctx, &names, row);
    grouping::group(ctx, rows, entry, actor).await
}

/// The names of people, layers and webhook endpoints.
struct Names {
    people: HashMap<PersonId, String>,
    /// The names of layers, the hosts of endpoints.
    others: HashMap<Uuid, String>,
}

impl Names {
    async fn read(ctx: &MemberContext, rows: &[AuditEntry]) -> Result<Self, WebError> {
        let people = ctx.people().await?.into_iter();
        let people = people.map(|known| (known.person.id, known.person.name)).collect();
        let has = |prefix: &str| rows.iter().any(|row| row.action.starts_with(prefix));
        let mut others = HashMap::new();
        if has("geometr") {
            let layers = ctx.store().all_layers(ctx.workspace_id()).await?.into_iter();
            others.extend(layers.map(|layer| (layer.id.0, layer.name)));
        }
        if has("webhook.") {
            let endpoints = ctx.store().endpoints(ctx.workspace_id()).await?.into_iter();
            let endpoints = endpoints.map(|health| health.endpoint);
            others.extend(endpoints.map(|endpoint| (endpoint.id.0, host(endpoint.url.as_str()))));
        }
        Ok(Self { people, others })
    }
}

/// The host of a URL, which is enough to recognize an endpoint.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
}

fn entry(
    ctx: &MemberContext,
    statuses: &Statuses,
    names: &Names,
    row: &AuditEntry,
) -> ActivityEntry {
    let parse = |json: &Option<String>| -> Option<Map<String, Value>> {
        json.as_deref().and_then(|json| serde_json::from_str(json).ok())
    };
    let (before, after) = (parse(&row.before), parse(&row.after));
    let doc = after.as_ref().or(before.as_ref()).map(|known| Doc(Value::Object(known.clone())));
    let (subject, href) = subject(names, row, doc.as_ref(), after.is_some());
    let count = |name: &str| doc.as_ref().and_then(|doc| doc.0[name].as_u64()).unwrap_or(0);
    let (created, updated) = (count("created"), count("updated"));
    let action = match row.action.as_str() {
        "geometries.posted" if updated == 0 => "geometries-created".to_owned(),
        "geometries.posted" if created == 0 => "geometries-updated".to_owned(),
        "folder.updated" if is_unarchived(before.as_ref(), after.as_ref()) => {
            "folder-unarchived".to_owned()
        }
        action => action.replace('.', "-"),
    };
    let sentence = ctx
        .t()
        .html("activity-sentence")
        .arg("action", action)
        .arg("actor", actor(ctx, names, row))
        .arg("created", created)
        .arg("updated", updated)
        .link("subject", href.as_deref(), subject.as_deref().unwrap_or_default());
    let changes = match (before, after) {
        (Some(before), Some(after)) => changes(ctx, statuses, &before, &after),
        _ => Vec::new(),
    };
    ActivityEntry { id: row.id, at: ctx.moment(row.at), sentence, changes }
}

fn is_unarchived(before: Option<&Map<String, Value>>, after: Option<&Map<String, Value>>) -> bool {
    let is_archived = |fields: Option<&Map<String, Value>>| {
        fields.and_then(|fields| fields.get("archivedAt")).is_some_and(Value::is_string)
    };
    is_archived(before) && !is_archived(after)
}

fn actor(ctx: &MemberContext, names: &Names, row: &AuditEntry) -> String {
    let t = ctx.t();
    match row.actor {
        Some(person) => match names.people.get(&person) {
            Some(name) => name.clone(),
            None => t.msg("activity-unknown-person").into(),
        },
        None if row.action == "webhook.gaveUp" => ctx.web.title.clone(),
        None => t.msg("activity-operator").into(),
    }
}

/// The name of the subject of a change, and the path of its page if it still exists.
fn subject(
    names: &Names,
    row: &AuditEntry,
    doc: Option<&Doc>,
    exists: bool,
) -> (Option<String>, Option<String>) {
    let word = row.action.split('.').next().unwrap_or_default();
    let kind = Kind::NAMES.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
    match (word, kind, doc) {
        ("member", ..) => (names.people.get(&PersonId(row.subject)).cloned(), None),
        ("geometries" | "geometry", ..) => (names.others.get(&row.subject).cloned(), None),
        ("webhook", ..) => {
            let url = doc.and_then(|doc| doc.0["url"].as_str());
            let known = names.others.get(&row.subject);
            let href = known.map(|_| format!("/settings/webhooks/{}", row.subject));
            (known.cloned().or_else(|| url.map(host)), href.filter(|_| exists))
        }
        (_, Some(kind), Some(doc)) if !doc.reference().is_empty() => {
            let path = || record_data::path(kind, doc.reference(), &row.subject.to_string());
            (Some(doc.reference().to_owned()), exists.then(path))
        }
        (_, None, Some(doc)) => {
            let name = doc.0["name"].as_str().or_else(|| doc.0["email"].as_str());
            (name.map(str::to_owned), None)
        }
        _ => (None, None),
    }
}

/// Fields that are computed, or that change with every edit.
const HIDDEN_FIELDS: [&str; 13] = [
    "archivedAt",
    "version",
    "updatedAt",
    "revision",
    "counts",
    "fields",
    "lastSeq",
    "reach",
    "bounds",
    "completedAt",
    "remaining",
    "percentUsed",
    "createdAt",
];

/// The fields that differ.
fn changes(
    ctx: &MemberContext,
    statuses: &Statuses,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Vec<FieldChange> {
    let t = ctx.t();
    let currency = after.get("currency").and_then(Value::as_str).unwrap_or_default();
    let text = |name: &str, value: Option<&Value>| -> String {
        let value = value.unwrap_or(&Value::Null);
        match (name, value) {
            ("statusId", Value::String(id)) => match statuses.get(id) {
                Some(status) => status.name.clone(),
                None => t.msg("activity-deleted-status").into(),
            },
            ("amount" | "spent", Value::String(text)) => {
                format!("{} {currency}", t.amount(text)).trim_end().to_owned()
            }
            ("spentHours" | "estimatedHours" | "quantity" | "unitAmount", Value::String(text)) => {
                t.amount(text)
            }
            ("group", Value::String(group)) => t
                .msg("status-group")
                .arg("group", if group == "inProgress" { "in-progress" } else { group })
                .into(),
            ("disabledReason", Value::String(reason)) => t.disabled_reason(reason),
            ("role", Value::String(role)) => t.msg("role-name").arg("role", role).into(),
            ("declaredFields" | "style", _) => t.msg("activity-new-value").into(),
            ("bbox", Value::Array(_)) => t.msg("activity-moved").into(),
            ("folderId" | "assignmentId" | "budgetId", Value::String(_)) => {
                t.msg("activity-another-record").into()
            }
            (_, Value::String(text)) => date_or_text(ctx, text),
            _ => format::plain_text(t, value).chars().take(200).collect(),
        }
    };
    let differing = before.iter().filter(|(name, value)| {
        after.get(*name) != Some(value) && !HIDDEN_FIELDS.contains(&name.as_str())
    });
    let change = |(name, value): (&String, &Value)| FieldChange {
        field: t.field_name(name),
        before: match name.as_str() {
            "bbox" | "declaredFields" | "style" => String::new(),
            _ => text(name, Some(value)),
        },
        after: text(name, after.get(name)),
    };
    differing.map(change).collect()
}

/// Formats a text that is a date or a time; leaves any other text.
fn date_or_text(ctx: &MemberContext, text: &str) -> String {
    if text.len() == 10
        && let Ok(day) = text.parse()
    {
        return ctx.t().full_day(day);
    }
    match Timestamp::parse(text) {
        Ok(moment) => ctx.moment(moment).exact,
        Err(_) => text.chars().take(200).collect(),
    }
}
