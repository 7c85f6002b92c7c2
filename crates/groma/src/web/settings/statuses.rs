//! Settings > Statuses: the words for where records stand, in their order.

use super::SettingsNav;
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, focus, problems, tell},
    flash::Flash,
    form::{Form, Pairs, Query},
    history::words,
    page::{Meta, Nav},
    records::Statuses,
    shown,
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    Kind, Refusal, Status,
    input::StatusRef,
    status::{Group, StatusInput},
};
use groma_store::{Browse, Change, Command, Count, StatusFilter};
use serde_json::{Map, Value};

const HERE: &str = "/settings/statuses";

#[derive(Template)]
#[template(path = "statuses.html")]
struct StatusesPage {
    nav: SettingsNav,
    csrf: String,
    kinds: Vec<OfKind>,
}

struct OfKind {
    kind: &'static str,
    title: String,
    rows: Vec<StatusRow>,
}

struct StatusRow {
    id: String,
    name: String,
    color: String,
    group: &'static str,
    is_default: bool,
    is_first: bool,
    is_last: bool,
}

fn group_words(group: Group) -> &'static str {
    match group {
        Group::Todo => "to do",
        Group::InProgress => "in progress",
        Group::Done => "done",
        Group::Cancelled => "cancelled",
    }
}

pub(in crate::web) async fn page(desk: Desk) -> Result<Response, WebError> {
    let statuses = Statuses::read(&desk).await?;
    let kinds = Kind::ALL.into_iter().map(|kind| {
        let of_kind: Vec<&Status> = statuses.of(kind).collect();
        let last = of_kind.len().saturating_sub(1);
        let row = |(place, status): (usize, &&Status)| StatusRow {
            id: status.id.to_string(),
            name: status.name.clone(),
            color: status.color.clone(),
            group: group_words(status.group),
            is_default: status.is_default,
            is_first: place == 0,
            is_last: place == last,
        };
        OfKind {
            kind: kind.name(),
            title: words(kind.plural()),
            rows: of_kind.iter().enumerate().map(row).collect(),
        }
    });
    let content = StatusesPage {
        nav: SettingsNav::new(&desk, HERE),
        csrf: desk.visit.form_token(),
        kinds: kinds.collect(),
    };
    desk.page(Meta::new("Statuses", Nav::Settings), &content).await
}

#[derive(Template)]
#[template(path = "settings_form.html")]
pub(super) struct SettingsForm {
    pub(super) nav: SettingsNav,
    pub(super) csrf: String,
    pub(super) back: (&'static str, &'static str),
    pub(super) title: String,
    pub(super) action: String,
    pub(super) submit: &'static str,
    pub(super) note: String,
    pub(super) fields: Vec<Field>,
    pub(super) problems: Vec<String>,
    pub(super) is_danger: bool,
}

fn fields(typed: &Pairs, is_new: bool) -> Vec<Field> {
    let group = match typed.get("group") {
        "" => "todo",
        group => group,
    };
    let groups = Group::WORDS.iter();
    let groups =
        groups.map(|(word, value)| Choice::new(*word, group_words(*value), *word == group));
    let color = match typed.get("color") {
        "" => "#87909d",
        color => color,
    };
    let mut fields = vec![
        Field::line("name", "Name").value(typed.get("name")).needed(),
        Field::new("group", "Means", Input::Choice(groups.collect()))
            .needed()
            .hint("What it means to the program: an assignment is completed when it enters «done»"),
        Field::new("color", "Colour", Input::Color).value(color).needed(),
        Field::new("isDefault", "New records start with it", Input::Check)
            .value(typed.get("isDefault")),
    ];
    if is_new {
        let kind = typed.get("appliesTo");
        let kinds = Kind::WORDS.iter();
        let kinds = kinds.map(|(word, _)| Choice::new(*word, words(word), *word == kind));
        fields.insert(1, Field::new("appliesTo", "For", Input::Choice(kinds.collect())).needed());
    }
    fields
}

async fn show_form(
    desk: &Desk,
    existing: Option<&Status>,
    typed: &Pairs,
    refused: Option<&Refusal>,
) -> Result<Response, WebError> {
    let mut fields = fields(typed, existing.is_none());
    let wrong = refused.map(problems).unwrap_or_default();
    let problems = tell(&mut fields, &wrong);
    focus(&mut fields);
    let content = SettingsForm {
        nav: SettingsNav::new(desk, HERE),
        csrf: desk.visit.form_token(),
        back: (HERE, "Statuses"),
        title: existing.map_or("New status".to_owned(), |status| format!("Edit {}", status.name)),
        action: existing.map_or(format!("{HERE}/new"), |status| format!("{HERE}/{}", status.id)),
        submit: if existing.is_some() { "Save" } else { "Create" },
        note: String::new(),
        fields,
        problems,
        is_danger: false,
    };
    let status = if refused.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    desk.page_with(status, Meta::new("Status", Nav::Settings), &content).await
}

pub(in crate::web) async fn new_page(desk: Desk, query: Query) -> Result<Response, WebError> {
    show_form(&desk, None, &query, None).await
}

pub(in crate::web) async fn create(desk: Desk, form: Form) -> Result<Response, WebError> {
    save(&desk, None, &form).await
}

async fn existing(desk: &Desk, id: &str) -> Result<Status, WebError> {
    let statuses = Statuses::read(desk).await?;
    statuses.get(id).cloned().ok_or_else(WebError::not_found)
}

pub(in crate::web) async fn edit_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let status = existing(&desk, &id).await?;
    let group = Group::WORDS.iter().find(|(_, group)| *group == status.group);
    let typed = Pairs::default().with(&[
        ("name", &status.name),
        ("group", group.map_or("", |(word, _)| word)),
        ("color", &status.color),
        ("isDefault", if status.is_default { "true" } else { "" }),
    ]);
    show_form(&desk, Some(&status), &typed, None).await
}

pub(in crate::web) async fn update(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let status = existing(&desk, &id).await?;
    save(&desk, Some(status), &form).await
}

async fn save(desk: &Desk, prior: Option<Status>, form: &Pairs) -> Result<Response, WebError> {
    let mut values = Map::new();
    for name in ["name", "appliesTo", "group", "color"].iter().filter(|name| form.has(name)) {
        values.insert((*name).to_owned(), Value::String(form.get(name).to_owned()));
    }
    values.insert("isDefault".into(), Value::Bool(form.get("isDefault") == "true"));
    let input = match StatusInput::read(&values) {
        Ok(input) => input,
        Err(refused) => return show_form(desk, prior.as_ref(), form, Some(&refused)).await,
    };
    // A new one must be new: without a target, one of the same name would be changed.
    if prior.is_none() && is_taken(desk, form).await? {
        let refused = Refusal::invalid("name", format!("`{}` is taken", form.get("name").trim()));
        return show_form(desk, None, form, Some(&refused)).await;
    }
    let target = prior.as_ref().map(|status| StatusRef::Id(status.id));
    match apply(desk, vec![Command::SaveStatus { target, input }]).await {
        Ok(()) => {
            let flash = Flash::new(format!("«{}» is saved.", form.get("name").trim()));
            Ok(desk.go(HERE, &flash))
        }
        Err(error) => match error.refusal() {
            Some(refused @ Refusal::Invalid(_)) => {
                show_form(desk, prior.as_ref(), form, Some(refused)).await
            }
            _ => Err(error.into()),
        },
    }
}

async fn is_taken(desk: &Desk, form: &Pairs) -> Result<bool, WebError> {
    let statuses = Statuses::read(desk).await?;
    let named = StatusRef::Name(form.get("name").trim().to_owned());
    let is_same = |status: &Status| {
        status.applies_to.name() == form.get("appliesTo") && status.is_named(&named)
    };
    Ok(statuses.0.iter().any(is_same))
}

async fn apply(desk: &Desk, commands: Vec<Command>) -> groma_store::Result<()> {
    let change = Change { workspace: desk.id(), actor: desk.actor(), now: desk.now(), commands };
    desk.store().apply(change).await.map(drop)
}

pub(in crate::web) async fn move_status(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let status = existing(&desk, &id).await?;
    let statuses = Statuses::read(&desk).await?;
    let mut order: Vec<&Status> = statuses.of(status.applies_to).collect();
    let from = order.iter().position(|other| other.id == status.id).unwrap_or_default();
    let to = match form.get("to") {
        "up" => from.saturating_sub(1),
        _ => (from + 1).min(order.len().saturating_sub(1)),
    };
    order.swap(from, to);
    let moved = (0_u32..).zip(order).filter(|(place, status)| status.position != *place);
    let commands: Vec<Command> = moved
        .map(|(place, status)| Command::SaveStatus {
            target: Some(StatusRef::Id(status.id)),
            input: StatusInput {
                position: groma_domain::input::Field::Set(place),
                ..StatusInput::default()
            },
        })
        .collect();
    apply(&desk, commands).await?;
    Ok(desk.go(HERE, &Flash::new(format!("«{}» has moved.", status.name))))
}

async fn delete_form(
    desk: &Desk,
    status: &Status,
    refused: Option<&Refusal>,
) -> Result<Response, WebError> {
    let kind = status.applies_to;
    let used = Browse { status: StatusFilter::Is(status.id), limit: 1, ..Browse::all(kind) };
    let (_, browsed) = desk.browse(used).await?;
    let count = match browsed.count {
        Count::Exactly(count) => shown::several(count, kind.name(), kind.plural()),
        Count::MoreThan(count) => format!("more than {} {}", shown::grouped(count), kind.plural()),
    };
    let needs_heir = status.is_default || browsed.count != Count::Exactly(0);
    let statuses = Statuses::read(desk).await?;
    let others = statuses.of(kind).filter(|other| other.id != status.id);
    let mut choices: Vec<Choice> =
        others.map(|other| Choice::new(other.id.to_string(), other.name.clone(), false)).collect();
    if !needs_heir {
        choices.insert(0, Choice::new("", "None", true));
    }
    let mut fields =
        vec![Field::new("replacement", "These then have", Input::Choice(choices)).needed()];
    let wrong = refused.map(problems).unwrap_or_default();
    let problems = tell(&mut fields, &wrong);
    let content = SettingsForm {
        nav: SettingsNav::new(desk, HERE),
        csrf: desk.visit.form_token(),
        back: (HERE, "Statuses"),
        title: format!("Delete {}", status.name),
        action: format!("{HERE}/{}/delete", status.id),
        submit: "Delete",
        note: format!(
            "In this status now: {count}. Each of them changes, and webhooks tell of it."
        ),
        fields,
        problems,
        is_danger: true,
    };
    let code = if refused.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    desk.page_with(code, Meta::new("Delete a status", Nav::Settings), &content).await
}

pub(in crate::web) async fn delete_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let status = existing(&desk, &id).await?;
    delete_form(&desk, &status, None).await
}

pub(in crate::web) async fn delete(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let status = existing(&desk, &id).await?;
    let replacement = form.given("replacement").and_then(|id| id.parse().ok());
    let command = Command::DeleteStatus {
        kind: status.applies_to,
        status: StatusRef::Id(status.id),
        replacement: replacement.map(StatusRef::Id),
    };
    match apply(&desk, vec![command]).await {
        Ok(()) => Ok(desk.go(HERE, &Flash::new(format!("«{}» is deleted.", status.name)))),
        Err(error) => match error.refusal() {
            Some(refused @ Refusal::Invalid(_)) => delete_form(&desk, &status, Some(refused)).await,
            _ => Err(error.into()),
        },
    }
}
