//! Editing one value of a record inside a list. The form replaces the cell; the list follows when the value
//! is saved.

use super::{
    super::{
        edit_path::{cell_path, person_field},
        form_fields::person_choice,
        form_values::{Values, to_input},
    },
    parse_plural, show,
};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, attach_errors, problems},
    form::{Form, Pairs},
    i18n::Localizer,
    record_data::{Doc, Statuses},
    request_context::MemberContext,
};
use askama::Template;
use axum::{
    extract::Path,
    http::{HeaderMap, HeaderValue},
    response::Response,
};
use groma_domain::{DomainError, FieldError, Kind, record::RecordInput, reference::Key};
use groma_store::{Command, SaveTarget};

#[derive(Template)]
#[template(path = "cell_form.html")]
struct CellForm {
    t: Localizer,
    action: String,
    version: u64,
    /// The list, to return to.
    list: String,
    field: Field,
    error: String,
}

/// The form for one value.
pub(in crate::web) async fn form(
    ctx: MemberContext,
    headers: HeaderMap,
    Path((plural, key, name)): Path<(String, String, String)>,
) -> Result<Response, WebError> {
    let kind = parse_plural(&plural)?;
    let doc = ctx.record(kind, &key).await?;
    let values = Values::of_record(&ctx, kind, &doc).await?;
    let field = field(&ctx, kind, &name, &values).await?;
    show_form(&ctx, &headers, kind, &doc, field, String::new())
}

/// Saves the value and returns the list, or the form with what is wrong.
pub(in crate::web) async fn save(
    ctx: MemberContext,
    headers: HeaderMap,
    Path((plural, key, name)): Path<(String, String, String)>,
    form: Form,
) -> Result<Response, WebError> {
    let kind = parse_plural(&plural)?;
    let doc = ctx.record(kind, &key).await?;
    let values = Values::of_form(&form);
    let mut field = field(&ctx, kind, &name, &values).await?;
    let version = form.get("version").parse().ok();
    let target = SaveTarget::Existing { key: Key::Id(doc.id()?), version };
    let (input, mut errors) = to_input(ctx.t(), kind, &form);
    match RecordInput::read(kind, &input) {
        Ok(draft) if errors.is_empty() => {
            match ctx.apply(Command::Save { target, draft: Box::new(draft) }).await {
                Ok(_) => return list(ctx, &headers, kind).await,
                Err(error) => match error.domain_error() {
                    Some(DomainError::Conflict { .. }) => {
                        errors
                            .push(FieldError::new(name, ctx.t().msg("cell-conflict").to_string()));
                    }
                    Some(error) => errors.extend(problems(error)),
                    None => return Err(error.into()),
                },
            }
        }
        Ok(_) => {}
        Err(error) => errors.extend(problems(&error)),
    }
    let others = attach_errors(ctx.t(), std::slice::from_mut(&mut field), &errors);
    let error = field.error.take().unwrap_or_else(|| others.join(" "));
    show_form(&ctx, &headers, kind, &doc, field, error)
}

fn show_form(
    ctx: &MemberContext,
    headers: &HeaderMap,
    kind: Kind,
    doc: &Doc,
    field: Field,
    error: String,
) -> Result<Response, WebError> {
    ctx.fragment(&CellForm {
        t: ctx.t(),
        action: cell_path(kind, doc, field.name),
        version: doc.version(),
        list: format!("/{}{}", kind.plural(), current_query(headers).query()),
        field,
        error,
    })
}

/// The list that the request came from.
async fn list(ctx: MemberContext, headers: &HeaderMap, kind: Kind) -> Result<Response, WebError> {
    let mut response = show(ctx, headers, current_query(headers), kind).await?;
    response.headers_mut().insert("HX-Retarget", HeaderValue::from_static("#list"));
    Ok(response)
}

/// The query of the page that the request came from.
fn current_query(headers: &HeaderMap) -> Pairs {
    let url = headers.get("HX-Current-URL").and_then(|url| url.to_str().ok()).unwrap_or_default();
    let url = url.split('#').next().unwrap_or_default();
    let query = url.split_once('?').map_or("", |(_, query)| query);
    Pairs::parse(query.as_bytes())
}

/// The field of a kind that a list can edit.
async fn field(
    ctx: &MemberContext,
    kind: Kind,
    name: &str,
    values: &Values,
) -> Result<Field, WebError> {
    let t = ctx.t();
    let known =
        ["status", "owner", "assignees", "submittedBy", "startDate", "dueDate", "incurredOn"];
    let amounts = ["amount", "unitAmount"];
    let name = known.iter().chain(&amounts).find(|known| **known == name);
    let name = *name.ok_or_else(WebError::not_found)?;
    let label = t.field_name(name);
    let input = match name {
        "status" => {
            let statuses = Statuses::read(ctx).await?;
            let choice = |id: String, label: &str| {
                let is_selected = values.get("status") == id;
                Choice::new(id, label, is_selected)
            };
            let mut choices = vec![choice(String::new(), "—")];
            let of_kind = statuses.of(kind);
            choices.extend(of_kind.map(|status| choice(status.id.to_string(), &status.name)));
            Input::Select(choices)
        }
        _ if Some(name) == person_field(kind) => {
            let is_chosen = |id: &str| match name {
                "assignees" => values.assignees.iter().any(|assignee| assignee == id),
                _ => values.get(name) == id,
            };
            let people = ctx.people().await?;
            let people = people.iter().filter_map(|known| person_choice(known, is_chosen));
            match name {
                "assignees" => Input::MultiSelect(people.collect()),
                _ => {
                    let no_one = Choice::new("", "—", values.get(name).is_empty());
                    Input::Select(std::iter::once(no_one).chain(people).collect())
                }
            }
        }
        _ if amounts.contains(&name) => Input::Decimal,
        "startDate" | "dueDate" | "incurredOn" => Input::Date,
        _ => return Err(WebError::not_found()),
    };
    Ok(Field::new(name, label, input).value(values.get(name)))
}
