//! Settings > Statuses: the statuses of each kind of record, in their order.

use super::{SettingsForm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, attach_errors, focus_first, problems},
    flash::Flash,
    form::{Form, Pairs, Query},
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::Statuses,
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{
    DomainError, Kind, Status,
    input::StatusRef,
    status::{StatusGroup, StatusInput},
};
use groma_store::{Command, RecordCount, RecordQuery, StatusFilter, StatusTarget};
use serde_json::{Map, Value};

const PATH: &str = "/settings/statuses";

#[derive(Template)]
#[template(path = "statuses.html")]
struct StatusesPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    kinds: Vec<KindStatuses>,
}

struct KindStatuses {
    kind: &'static str,
    title: String,
    rows: Vec<StatusRow>,
}

struct StatusRow {
    id: String,
    name: String,
    color: String,
    group: String,
    is_default: bool,
    is_first: bool,
    is_last: bool,
}

fn group_name(t: Localizer, group: StatusGroup) -> String {
    let word = match group {
        StatusGroup::Todo => "todo",
        StatusGroup::InProgress => "in-progress",
        StatusGroup::Done => "done",
        StatusGroup::Cancelled => "cancelled",
    };
    t.msg("status-group").arg("group", word).into()
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    let t = ctx.t();
    let statuses = Statuses::read(&ctx).await?;
    let kinds = Kind::ALL.into_iter().map(|kind| {
        let of_kind: Vec<&Status> = statuses.of(kind).collect();
        let last = of_kind.len().saturating_sub(1);
        let row = |(index, status): (usize, &&Status)| StatusRow {
            id: status.id.to_string(),
            name: status.name.clone(),
            color: status.color.clone(),
            group: group_name(t, status.group),
            is_default: status.is_default,
            is_first: index == 0,
            is_last: index == last,
        };
        KindStatuses {
            kind: kind.name(),
            title: t.kind_title(kind),
            rows: of_kind.iter().enumerate().map(row).collect(),
        }
    });
    let content = StatusesPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        csrf: ctx.request.csrf_token(),
        kinds: kinds.collect(),
    };
    ctx.page(Meta::new(t.msg("statuses-title"), Nav::Settings), &content).await
}

fn fields(t: Localizer, typed: &Pairs, is_new: bool) -> Vec<Field> {
    let group = match typed.get("group") {
        "" => "todo",
        group => group,
    };
    let groups = StatusGroup::NAMES.iter();
    let groups =
        groups.map(|(word, value)| Choice::new(*word, group_name(t, *value), *word == group));
    let color = match typed.get("color") {
        "" => "#87909d",
        color => color,
    };
    let mut fields = vec![
        Field::line("name", t.msg("field-name-label")).value(typed.get("name")).required(),
        Field::new("group", t.msg("status-field-group"), Input::Select(groups.collect()))
            .required()
            .hint(t.msg("status-group-hint")),
        Field::new("color", t.msg("field-color"), Input::Color).value(color).required(),
        Field::new("isDefault", t.msg("status-field-default"), Input::Checkbox)
            .value(typed.get("isDefault")),
    ];
    if is_new {
        let kind = typed.get("appliesTo");
        let kinds = Kind::NAMES.iter();
        let kinds =
            kinds.map(|(word, value)| Choice::new(*word, t.kind_title(*value), *word == kind));
        let input = Input::Select(kinds.collect());
        fields.insert(1, Field::new("appliesTo", t.msg("status-field-kind"), input).required());
    }
    fields
}

async fn show_form(
    ctx: &MemberContext,
    existing: Option<&Status>,
    typed: &Pairs,
    error: Option<&DomainError>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut fields = fields(t, typed, existing.is_none());
    let errors = error.map(problems).unwrap_or_default();
    let problems = attach_errors(t, &mut fields, &errors);
    focus_first(&mut fields);
    let (title, submit) = match existing {
        Some(status) => (t.msg("status-edit-title").arg("name", &status.name), t.msg("form-save")),
        None => (t.msg("status-new"), t.msg("status-create")),
    };
    let form = SettingsForm {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        parent: (PATH, t.msg("statuses-title").into()),
        title: title.into(),
        action: existing.map_or(format!("{PATH}/new"), |status| format!("{PATH}/{}", status.id)),
        submit: submit.into(),
        note: String::new(),
        fields,
        problems,
        is_danger: false,
    };
    form.show(ctx, error.is_some()).await
}

pub(in crate::web) async fn new_page(
    ctx: MemberContext,
    query: Query,
) -> Result<Response, WebError> {
    show_form(&ctx, None, &query, None).await
}

pub(in crate::web) async fn create(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    save(&ctx, None, &form).await
}

async fn existing(ctx: &MemberContext, id: &str) -> Result<Status, WebError> {
    let statuses = Statuses::read(ctx).await?;
    statuses.get(id).cloned().ok_or_else(WebError::not_found)
}

pub(in crate::web) async fn edit_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let status = existing(&ctx, &id).await?;
    let group = StatusGroup::NAMES.iter().find(|(_, group)| *group == status.group);
    let typed = Pairs::default().with(&[
        ("name", &status.name),
        ("group", group.map_or("", |(word, _)| word)),
        ("color", &status.color),
        ("isDefault", if status.is_default { "true" } else { "" }),
    ]);
    show_form(&ctx, Some(&status), &typed, None).await
}

pub(in crate::web) async fn update(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let status = existing(&ctx, &id).await?;
    save(&ctx, Some(status), &form).await
}

async fn save(
    ctx: &MemberContext,
    existing: Option<Status>,
    form: &Pairs,
) -> Result<Response, WebError> {
    let mut values = Map::new();
    for name in ["name", "appliesTo", "group", "color"].iter().filter(|name| form.has(name)) {
        values.insert((*name).to_owned(), Value::String(form.get(name).to_owned()));
    }
    values.insert("isDefault".into(), Value::Bool(form.get("isDefault") == "true"));
    let input = match StatusInput::read(&values) {
        Ok(input) => input,
        Err(error) => return show_form(ctx, existing.as_ref(), form, Some(&error)).await,
    };
    let t = ctx.t();
    let name = form.get("name").trim();
    // Without this check, a new status would overwrite the one with the same name.
    if existing.is_none() && is_name_taken(ctx, form).await? {
        let taken = t.msg("status-name-taken").arg("name", name).to_string();
        return show_form(ctx, None, form, Some(&DomainError::invalid("name", taken))).await;
    }
    let target = existing
        .as_ref()
        .map_or(StatusTarget::New, |status| StatusTarget::Existing(StatusRef::Id(status.id)));
    match ctx.apply(Command::SaveStatus { target, input }).await {
        Ok(_) => {
            let flash = Flash::new(t.msg("status-saved").arg("name", name));
            Ok(ctx.redirect_with_flash(PATH, &flash))
        }
        Err(error) => match error.domain_error() {
            Some(invalid @ DomainError::Invalid(_)) => {
                show_form(ctx, existing.as_ref(), form, Some(invalid)).await
            }
            _ => Err(error.into()),
        },
    }
}

async fn is_name_taken(ctx: &MemberContext, form: &Pairs) -> Result<bool, WebError> {
    let statuses = Statuses::read(ctx).await?;
    let named = StatusRef::Name(form.get("name").trim().to_owned());
    let is_same = |status: &Status| {
        status.applies_to.name() == form.get("appliesTo") && status.matches(&named)
    };
    Ok(statuses.0.iter().any(is_same))
}

pub(in crate::web) async fn move_status(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let status = existing(&ctx, &id).await?;
    let statuses = Statuses::read(&ctx).await?;
    let mut order: Vec<&Status> = statuses.of(status.applies_to).collect();
    let from = order.iter().position(|other| other.id == status.id).unwrap_or_default();
    let to = match form.get("to") {
        "up" => from.saturating_sub(1),
        _ => (from + 1).min(order.len().saturating_sub(1)),
    };
    order.swap(from, to);
    let moved = (0_u32..).zip(order).filter(|(position, status)| status.position != *position);
    let commands: Vec<Command> = moved
        .map(|(position, status)| Command::SaveStatus {
            target: StatusTarget::Existing(StatusRef::Id(status.id)),
            input: StatusInput {
                position: groma_domain::input::Field::Set(position),
                ..StatusInput::default()
            },
        })
        .collect();
    ctx.apply_all(commands).await?;
    let message = ctx.t().msg("status-moved").arg("name", status.name);
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
}

async fn delete_form(
    ctx: &MemberContext,
    status: &Status,
    error: Option<&DomainError>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let kind = status.applies_to;
    let used =
        RecordQuery { status: StatusFilter::Is(status.id), limit: 1, ..RecordQuery::all(kind) };
    let (_, page) = ctx.query_records(used).await?;
    let needs_replacement = status.is_default || page.count != RecordCount::Exactly(0);
    let statuses = Statuses::read(ctx).await?;
    let others = statuses.of(kind).filter(|other| other.id != status.id);
    let mut choices: Vec<Choice> =
        others.map(|other| Choice::new(other.id.to_string(), other.name.clone(), false)).collect();
    if !needs_replacement {
        choices.insert(0, Choice::new("", t.msg("status-replacement-none"), true));
    }
    let input = Input::Select(choices);
    let mut fields = vec![Field::new("replacement", t.msg("status-replacement"), input).required()];
    let errors = error.map(problems).unwrap_or_default();
    let problems = attach_errors(t, &mut fields, &errors);
    let count = t.record_count(kind, page.count);
    let form = SettingsForm {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        parent: (PATH, t.msg("statuses-title").into()),
        title: t.msg("delete-title").arg("name", &status.name).into(),
        action: format!("{PATH}/{}/delete", status.id),
        submit: t.msg("status-delete").into(),
        note: t.msg("status-delete-note").arg("records", count).into(),
        fields,
        problems,
        is_danger: true,
    };
    form.show(ctx, error.is_some()).await
}

pub(in crate::web) async fn delete_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let status = existing(&ctx, &id).await?;
    delete_form(&ctx, &status, None).await
}

pub(in crate::web) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let status = existing(&ctx, &id).await?;
    let replacement = form.given("replacement").and_then(|id| id.parse().ok());
    let command = Command::DeleteStatus {
        kind: status.applies_to,
        status: StatusRef::Id(status.id),
        replacement: replacement.map(StatusRef::Id),
    };
    match ctx.apply(command).await {
        Ok(_) => {
            let message = ctx.t().msg("status-deleted").arg("name", status.name);
            Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
        }
        Err(error) => match error.domain_error() {
            Some(invalid @ DomainError::Invalid(_)) => {
                delete_form(&ctx, &status, Some(invalid)).await
            }
            _ => Err(error.into()),
        },
    }
}
