//! What happened: lines of the audit trail in words.

use super::{
    WebError,
    records::{self, Doc, Statuses},
    shown::{self, Moment},
    visit::Desk,
};
use groma_domain::{Kind, PersonId, Timestamp};
use groma_store::ChangeRow;
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

/// One line.
pub(super) struct Line {
    pub(super) id: i64,
    pub(super) at: Moment,
    pub(super) who: String,
    pub(super) what: String,
    pub(super) subject: Option<String>,
    pub(super) href: Option<String>,
    pub(super) changes: Vec<FieldChange>,
}

/// A field that changed.
pub(super) struct FieldChange {
    pub(super) field: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// The latest lines, of the workspace or of these subjects.
pub(super) async fn lines(
    desk: &Desk,
    statuses: &Statuses,
    of: Option<&[Uuid]>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Line>, WebError> {
    let rows = desk.store().activity(desk.id(), of, before, limit).await?;
    told(desk, statuses, &rows).await
}

/// The latest lines about the work itself: what everybody may see. Members, tokens and webhooks are
/// for those who may open the settings.
pub(super) async fn lines_of_work(
    desk: &Desk,
    statuses: &Statuses,
    limit: usize,
) -> Result<Vec<Line>, WebError> {
    // Who changes settings changes a few; it is not worth looking for long behind them.
    const LOOKS: usize = 4;
    const AT_ONCE: u32 = 50;
    let (mut rows, mut before) = (Vec::new(), None);
    for _ in 0..LOOKS {
        let found = desk.store().activity(desk.id(), None, before, AT_ONCE).await?;
        before = found.last().map(|row| row.id);
        rows.extend(found.into_iter().filter(is_work));
        if rows.len() >= limit || before.is_none() {
            break;
        }
    }
    rows.truncate(limit);
    told(desk, statuses, &rows).await
}

/// Whether a change is one of records, shapes or what they are sorted by.
fn is_work(row: &ChangeRow) -> bool {
    let thing = row.action.split('.').next().unwrap_or_default();
    Kind::WORDS.iter().any(|(word, _)| *word == thing)
        || ["geometries", "geometry", "layer", "status"].contains(&thing)
}

async fn told(desk: &Desk, statuses: &Statuses, rows: &[ChangeRow]) -> Result<Vec<Line>, WebError> {
    let names = Names::read(desk, rows).await?;
    Ok(rows.iter().map(|row| line(desk, statuses, &names, row)).collect())
}

/// What the subjects of lines are called.
struct Names {
    people: HashMap<PersonId, String>,
    /// Layers by name, endpoints by host.
    others: HashMap<Uuid, String>,
}

impl Names {
    async fn read(desk: &Desk, rows: &[ChangeRow]) -> Result<Self, WebError> {
        let people = desk.people().await?.into_iter();
        let people = people.map(|known| (known.person.id, known.person.name)).collect();
        let has = |thing: &str| rows.iter().any(|row| row.action.starts_with(thing));
        let mut others = HashMap::new();
        if has("geometr") {
            let layers = desk.store().all_layers(desk.id()).await?.into_iter();
            others.extend(layers.map(|layer| (layer.id.0, layer.name)));
        }
        if has("webhook.") {
            let endpoints = desk.store().endpoints(desk.id()).await?.into_iter();
            let named = endpoints.map(|health| health.endpoint);
            others.extend(named.map(|endpoint| (endpoint.id.0, host(endpoint.url.as_str()))));
        }
        Ok(Self { people, others })
    }
}

/// The host of an address, which is enough to tell one endpoint from another.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
}

fn line(desk: &Desk, statuses: &Statuses, names: &Names, row: &ChangeRow) -> Line {
    let read = |json: &Option<String>| {
        let value: Option<Map<String, Value>> =
            json.as_deref().and_then(|json| serde_json::from_str(json).ok());
        value
    };
    let (before, after) = (read(&row.before), read(&row.after));
    let (thing, done) = row.action.split_once('.').unwrap_or((&row.action, ""));
    let kind = Kind::WORDS.iter().find(|(word, _)| *word == thing).map(|(_, kind)| *kind);
    let known = after.as_ref().or(before.as_ref());
    let doc = known.map(|known| Doc(Value::Object(known.clone())));
    let (mut subject, mut href) = (None, None);
    match (kind, &doc) {
        (Some(kind), Some(doc)) if !doc.reference().is_empty() => {
            subject = Some(doc.reference().to_owned());
            href = after
                .is_some()
                .then(|| records::path(kind, doc.reference(), &row.subject.to_string()));
        }
        (None, Some(doc)) => {
            let named = doc.0["name"].as_str().or_else(|| doc.0["email"].as_str());
            subject = named.map(str::to_owned);
        }
        _ => {}
    }
    match thing {
        "member" => subject = names.people.get(&PersonId(row.subject)).cloned(),
        "geometries" | "geometry" => {
            subject = names.others.get(&row.subject).cloned();
        }
        "webhook" => {
            let url = doc.as_ref().and_then(|doc| doc.0["url"].as_str());
            let known = names.others.get(&row.subject);
            subject = known.cloned().or_else(|| url.map(host));
            href = known.map(|_| format!("/settings/webhooks/{}", row.subject));
        }
        _ => {}
    }
    let what = match (thing, done) {
        ("geometries", "posted") => {
            let count = |name: &str| doc.as_ref().and_then(|doc| doc.0[name].as_u64()).unwrap_or(0);
            let (created, updated) = (count("created"), count("updated"));
            match (created, updated) {
                (created, 0) => format!("drew {} on", shown::several(created, "shape", "shapes")),
                (0, updated) => {
                    format!("changed {} on", shown::several(updated, "shape", "shapes"))
                }
                (created, updated) => format!("drew {created} and changed {updated} shapes on"),
            }
        }
        ("geometry", "deleted") => "deleted a shape of".to_owned(),
        ("webhook", "secretRotated") => "replaced the secret of webhook".to_owned(),
        ("webhook", "gaveUp") => "gave up on webhook".to_owned(),
        ("webhook", "tested") => "sent a test to webhook".to_owned(),
        ("webhook", "redelivered") => "sent deliveries again to webhook".to_owned(),
        ("member", "added") => "added".to_owned(),
        ("member", "removed") => "removed".to_owned(),
        ("member", _) => "changed the role of".to_owned(),
        ("invitation", "created") => "invited".to_owned(),
        ("invitation", _) => "took an invitation back".to_owned(),
        ("token", "created") => "made the API token".to_owned(),
        ("token", _) => "revoked an API token".to_owned(),
        (thing, done) => {
            let done = if done == "updated" { "changed" } else { done };
            format!("{done} {thing}")
        }
    };
    let is_gone = after.is_none();
    let changes = match (before, after) {
        (Some(before), Some(after)) => changes(desk, statuses, &before, &after),
        _ => Vec::new(),
    };
    let who = match row.actor {
        Some(person) => names.people.get(&person).cloned(),
        None if done == "gaveUp" => Some("Groma".to_owned()),
        None => Some("The operator".to_owned()),
    };
    let who = who.unwrap_or_else(|| "Someone".to_owned());
    Line {
        id: row.id,
        at: desk.moment(row.at),
        who,
        what,
        subject,
        href: href.filter(|_| !is_gone),
        changes,
    }
}

/// What differs, in words; what only counts along is left out.
fn changes(
    desk: &Desk,
    statuses: &Statuses,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Vec<FieldChange> {
    const SILENT: [&str; 13] = [
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
    let differing = before.iter().filter(|(name, value)| {
        after.get(*name) != Some(value) && !SILENT.contains(&name.as_str())
    });
    let said = |name: &str, value: Option<&Value>| -> String {
        let value = value.unwrap_or(&Value::Null);
        match (name, value) {
            ("statusId", Value::String(id)) => {
                statuses.get(id).map_or_else(|| "another".to_owned(), |status| status.name.clone())
            }
            ("amount" | "spent", Value::String(text)) => {
                let currency = after.get("currency").and_then(Value::as_str).unwrap_or_default();
                format!("{} {currency}", shown::amount(text)).trim_end().to_owned()
            }
            ("bbox", Value::Array(_)) => "moved".to_owned(),
            ("folderId" | "assignmentId" | "budgetId", Value::String(_)) => "another".to_owned(),
            (_, Value::String(text)) => dated(desk, text),
            _ => shown::plain(value).chars().take(200).collect(),
        }
    };
    let change = |(name, value): (&String, &Value)| FieldChange {
        field: words(name),
        before: if name == "bbox" { String::new() } else { said(name, Some(value)) },
        after: said(name, after.get(name)),
    };
    differing.map(change).collect()
}

/// A text, or the day or moment that it is.
fn dated(desk: &Desk, text: &str) -> String {
    if text.len() == 10
        && let Ok(day) = text.parse()
    {
        return shown::full_day(day);
    }
    match Timestamp::parse(text) {
        Ok(moment) => desk.moment(moment).exact,
        Err(_) => text.chars().take(200).collect(),
    }
}

/// `dueDate` as people say it: `Due date`.
pub(super) fn words(name: &str) -> String {
    let name = match name {
        "bbox" => return "Place on the map".to_owned(),
        name => name.strip_suffix("Id").unwrap_or(name),
    };
    let mut text = String::with_capacity(name.len() + 4);
    for (index, letter) in name.chars().enumerate() {
        if index == 0 {
            text.extend(letter.to_uppercase());
        } else if letter.is_uppercase() {
            text.push(' ');
            text.extend(letter.to_lowercase());
        } else {
            text.push(letter);
        }
    }
    text
}
