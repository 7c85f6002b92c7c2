//! The forms that create and edit records. They keep the typed values, show errors beside the fields,
//! and show both versions after a conflicting edit.

use super::{
    form_fields::{display_value, fields},
    form_values::{Values, to_input},
    rows::record_table_in_folder,
};
use crate::web::{
    WebError,
    fields::{Field, attach_errors, focus_first, problems},
    flash::Flash,
    form::{Form, Pairs, Query, local_path},
    format::{BudgetShare, Money},
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::{self, Doc, Statuses, totals_by_currency},
    request_context::MemberContext,
    suggestions::matching_records,
    table::Table,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    DomainError, FieldError, Kind, record::RecordInput, reference::Key, text::fold,
};
use groma_store::{Command, CommandOutcome, RecordCount, RecordQuery, SaveTarget, Sort};
use serde_json::Value;

#[derive(Template)]
#[template(path = "record_form.html")]
struct RecordForm {
    t: Localizer,
    title: String,
    breadcrumbs: Vec<(String, String)>,
    csrf: String,
    action: String,
    cancel: String,
    version: u64,
    submit: String,
    is_new: bool,
    problems: Vec<String>,
    conflict: Option<Vec<ConflictRow>>,
    fields: Vec<Field>,
    /// The fields that are folded away.
    more_fields: Vec<Field>,
    is_more_open: bool,
    entered: Option<EnteredExpenses>,
}

/// A field that somebody else has changed since the form was opened.
struct ConflictRow {
    label: String,
    saved: String,
    typed: String,
}

/// The expenses of the folder so far, below a repeatable form.
struct EnteredExpenses {
    folder: String,
    table: Table,
    totals: Vec<Money>,
    totals_note: String,
}

macro_rules! handlers {
    ($($module:ident => $kind:expr;)*) => {$(
        pub(in crate::web) mod $module {
            use super::*;

            pub(in crate::web) async fn new_page(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
                super::new_page(ctx, query.0, $kind).await
            }

            pub(in crate::web) async fn create(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
                super::create(ctx, form.0, $kind).await
            }

            pub(in crate::web) async fn edit_page(
                ctx: MemberContext,
                Path(key): Path<String>,
            ) -> Result<Response, WebError> {
                super::edit_page(ctx, &key, $kind).await
            }

            pub(in crate::web) async fn update(
                ctx: MemberContext,
                Path(key): Path<String>,
                form: Form,
            ) -> Result<Response, WebError> {
                super::update(ctx, &key, form.0, $kind).await
            }
        }
    )*};
}

handlers! {
    folders => Kind::Folder;
    assignments => Kind::Assignment;
    expenses => Kind::Expense;
    budgets => Kind::Budget;
}

async fn new_page(ctx: MemberContext, query: Pairs, kind: Kind) -> Result<Response, WebError> {
    let mut values = Values::of_form(&query);
    let statuses = Statuses::read(&ctx).await?;
    if let Some(default) = statuses.of(kind).find(|status| status.is_default) {
        values.texts.entry("status".into()).or_insert_with(|| default.id.to_string());
    }
    let me = ctx.member.person.id.to_string();
    let person = if kind == Kind::Expense { "submittedBy" } else { "owner" };
    values.texts.entry(person.into()).or_insert(me);
    values.texts.entry("incurredOn".into()).or_insert_with(|| ctx.request.today().to_string());
    if kind == Kind::Folder {
        let today = ctx.request.today().to_string();
        values.texts.entry("startDate".into()).or_insert(today);
    }
    show(&ctx, kind, &statuses, None, &values, &[], StatusCode::OK).await
}

async fn edit_page(ctx: MemberContext, key: &str, kind: Kind) -> Result<Response, WebError> {
    let doc = ctx.record(kind, key).await?;
    let values = Values::of_record(&ctx, kind, &doc).await?;
    let statuses = Statuses::read(&ctx).await?;
    show(&ctx, kind, &statuses, Some((&doc, false)), &values, &[], StatusCode::OK).await
}

async fn create(ctx: MemberContext, form: Pairs, kind: Kind) -> Result<Response, WebError> {
    let t = ctx.t();
    let error = match save(&ctx, kind, SaveTarget::New, &form).await? {
        Ok(CommandOutcome::Created(id, reference)) => {
            let (reference, id) = (reference.as_str(), id.to_string());
            let created = t.msg("record-created").arg("kind", kind.name());
            let created = created.arg("reference", reference).to_string();
            let flash = saved_flash(&ctx, kind, &id, created).await?;
            if form.has("next") {
                return Ok(ctx.redirect_with_flash(local_path(form.get("next")), &flash));
            }
            if form.has("again") {
                // The next record starts with these values.
                let kept = [
                    "folder",
                    "clientName",
                    "owner",
                    "startDate",
                    "dueDate",
                    "incurredOn",
                    "category",
                    "budget",
                    "assignment",
                    "currency",
                ];
                let kept: Vec<_> = kept.iter().map(|name| (*name, form.get(name))).collect();
                let query = Pairs::default().with(&kept).query();
                return Ok(
                    ctx.redirect_with_flash(&format!("/{}/new{query}", kind.plural()), &flash)
                );
            }
            return Ok(ctx.redirect_with_flash(&record_data::path(kind, reference, &id), &flash));
        }
        Ok(_) => return Err(WebError::internal("a new record was not created")),
        Err(error) => error,
    };
    let statuses = Statuses::read(&ctx).await?;
    let errors = problems(&error);
    let values = Values::of_form(&form);
    show(&ctx, kind, &statuses, None, &values, &errors, StatusCode::BAD_REQUEST).await
}

/// The message about a saved record. It is a warning if an expense takes its budget over its limit.
async fn saved_flash(
    ctx: &MemberContext,
    kind: Kind,
    id: &str,
    message: String,
) -> Result<Flash, WebError> {
    let flash = Flash::new(message);
    if kind != Kind::Expense {
        return Ok(flash);
    }
    let t = ctx.t();
    let expense = ctx.record(kind, id).await?;
    let Some(budget) = expense.link("budgetId") else { return Ok(flash) };
    let budget = ctx.record(Kind::Budget, &budget.to_string()).await?;
    match BudgetShare::of(t, budget.0["percentUsed"].as_str()) {
        Some(share) if share.is_over => {
            let name = format!("{} {}", budget.reference(), budget.title(Kind::Budget));
            let warning = t.msg("expense-over-budget").arg("budget", name);
            let text = format!("{} {}", flash.text, warning.arg("percent", share.percent));
            Ok(Flash { text, is_warning: true, ..flash })
        }
        _ => Ok(flash),
    }
}

async fn update(
    ctx: MemberContext,
    key: &str,
    form: Pairs,
    kind: Kind,
) -> Result<Response, WebError> {
    let doc = ctx.record(kind, key).await?;
    let version = form.get("version").parse().ok();
    let target = SaveTarget::Existing { key: Key::Id(doc.id()?), version };
    let t = ctx.t();
    let error = match save(&ctx, kind, target, &form).await? {
        Ok(done) => {
            let (message, reference) = match &done {
                CommandOutcome::Updated(_, reference) => {
                    (t.msg("record-saved"), reference.as_str())
                }
                CommandOutcome::Unchanged(_, reference) => {
                    (t.msg("record-unchanged"), reference.as_str())
                }
                _ => return Err(WebError::internal("a record was not changed")),
            };
            let message = message.arg("kind", kind.name()).arg("reference", reference).to_string();
            let flash = saved_flash(&ctx, kind, doc.text("id"), message).await?;
            return Ok(ctx
                .redirect_with_flash(&record_data::path(kind, reference, doc.text("id")), &flash));
        }
        Err(error) => error,
    };
    let values = Values::of_form(&form);
    let statuses = Statuses::read(&ctx).await?;
    let is_conflict = matches!(error, DomainError::Conflict { .. });
    let (status, errors) = match is_conflict {
        true => (StatusCode::CONFLICT, Vec::new()),
        false => (StatusCode::BAD_REQUEST, problems(&error)),
    };
    show(&ctx, kind, &statuses, Some((&doc, is_conflict)), &values, &errors, status).await
}

/// Saves the typed values, or returns the error of the domain.
async fn save(
    ctx: &MemberContext,
    kind: Kind,
    target: SaveTarget,
    form: &Pairs,
) -> Result<Result<CommandOutcome, DomainError>, WebError> {
    let (mut values, mut problems) = to_input(ctx.t(), kind, form);
    for linked in [Kind::Folder, Kind::Budget, Kind::Assignment] {
        let folder = values.get("folder").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(Value::String(typed)) = values.get_mut(linked.name()) {
            match linked_reference(ctx, linked, typed, &folder).await? {
                Some(reference) => *typed = reference,
                None => problems.push(unknown_link(ctx.t(), linked)),
            }
        }
    }
    let draft = match RecordInput::read(kind, &values) {
        Ok(draft) if problems.is_empty() => Box::new(draft),
        Ok(_) => return Ok(Err(DomainError::Invalid(problems))),
        Err(DomainError::Invalid(others)) => {
            let is_new =
                |other: &FieldError| problems.iter().all(|known| known.field != other.field);
            let others: Vec<_> = others.into_iter().filter(is_new).collect();
            problems.extend(others);
            return Ok(Err(DomainError::Invalid(problems)));
        }
        Err(error) => return Ok(Err(error)),
    };
    match ctx.apply(Command::Save { target, draft }).await {
        Ok(mut done) => Ok(Ok(done.remove(0))),
        Err(error) => match error.domain_error() {
            Some(error @ (DomainError::Invalid(_) | DomainError::Conflict { .. })) => {
                Ok(Err(error.clone()))
            }
            _ => Err(error.into()),
        },
    }
}

/// The reference of the record with this key, or with this title in the folder. `None` if there are several
/// or none; an empty text stays empty.
async fn linked_reference(
    ctx: &MemberContext,
    kind: Kind,
    typed: &str,
    folder: &str,
) -> Result<Option<String>, WebError> {
    let Some(key) = record_data::parse_key(typed) else { return Ok(Some(typed.to_owned())) };
    if ctx.store().get(ctx.workspace_id(), kind, &key).await?.is_some() {
        return Ok(Some(typed.to_owned()));
    }
    let wanted = fold(typed.trim());
    let folder = if kind == Kind::Folder { "" } else { folder };
    let found = matching_records(ctx, kind, typed, folder).await?;
    let mut named = found.iter().filter(|record| fold(&record.title(kind)) == wanted);
    Ok(match (named.next(), named.next()) {
        (Some(record), None) => Some(record.reference().to_owned()),
        _ => None,
    })
}

fn unknown_link(t: Localizer, kind: Kind) -> FieldError {
    FieldError::new(kind.name(), t.msg("form-linked-unknown").arg("kind", kind.name()).to_string())
}

async fn show(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    existing: Option<(&Doc, bool)>,
    values: &Values,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let doc = existing.map(|(doc, _)| doc);
    let is_new = doc.is_none();
    let mut fields = fields(ctx, kind, statuses, values, is_new).await?;
    let conflict = match existing {
        Some((doc, true)) => Some(conflict(ctx, kind, statuses, doc, &fields).await?),
        _ => None,
    };
    let problems = attach_errors(t, &mut fields, errors);
    if conflict.is_none() {
        focus_first(&mut fields);
    }
    let is_more = |field: &Field| matches!(field.name, "reference" | "externalId" | "customFields");
    let (more_fields, fields): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_more);
    let list = format!("/{}", kind.plural());
    let mut breadcrumbs = vec![(list.clone(), t.kind_title(kind))];
    let (title, action, cancel) = match doc {
        Some(doc) => {
            breadcrumbs.push((doc.path(kind), doc.reference().to_owned()));
            let title = t.msg("record-edit-title").arg("title", doc.title(kind));
            (title, format!("{}/edit", doc.path(kind)), doc.path(kind))
        }
        None => {
            let title = t.msg("record-new").arg("kind", kind.name());
            (title, format!("{list}/new"), list)
        }
    };
    let submit = match (conflict.is_some(), is_new) {
        (true, _) => t.msg("form-save-mine"),
        (false, true) => t.msg("form-create").arg("kind", kind.name()),
        (false, false) => t.msg("form-save"),
    };
    let content = RecordForm {
        t,
        title: title.to_string(),
        breadcrumbs,
        csrf: ctx.request.csrf_token(),
        action,
        cancel,
        version: doc.map(Doc::version).unwrap_or_default(),
        submit: submit.into(),
        is_new,
        problems,
        conflict,
        is_more_open: more_fields.iter().any(Field::has_error),
        fields,
        more_fields,
        entered: match is_new && kind == Kind::Expense {
            true => entered_expenses(ctx, statuses, values.get("folder")).await?,
            false => None,
        },
    };
    ctx.page_with_status(status, Meta::new(title, Nav::of(kind)), &content).await
}

/// The fields whose saved value differs from the typed one.
async fn conflict(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    doc: &Doc,
    typed: &[Field],
) -> Result<Vec<ConflictRow>, WebError> {
    let t = ctx.t();
    let saved = Values::of_record(ctx, kind, doc).await?;
    let saved = fields(ctx, kind, statuses, &saved, false).await?;
    let rows = saved.iter().zip(typed).map(|(saved, typed)| ConflictRow {
        label: typed.label.clone(),
        saved: display_value(t, saved),
        typed: display_value(t, typed),
    });
    Ok(rows.filter(|row| row.saved != row.typed).collect())
}

/// The expenses of a folder, for entering one after another.
async fn entered_expenses(
    ctx: &MemberContext,
    statuses: &Statuses,
    folder: &str,
) -> Result<Option<EnteredExpenses>, WebError> {
    let t = ctx.t();
    let Some(key) = record_data::parse_key(folder) else { return Ok(None) };
    let Some(folder) = ctx.store().get(ctx.workspace_id(), Kind::Folder, &key).await? else {
        return Ok(None);
    };
    let folder = Doc::parse(&folder)?;
    let all = RecordQuery {
        folder: Some(folder.id()?),
        limit: 5_000,
        sort: Sort::NEWEST,
        ..RecordQuery::all(Kind::Expense)
    };
    let (docs, page) = ctx.query_records(all).await?;
    let newest = &docs[..docs.len().min(10)];
    let note = match page.count {
        RecordCount::Exactly(count) => t.msg("expenses-entered-count").arg("count", count),
        RecordCount::MoreThan(count) => t.msg("expenses-entered-newest").arg("count", count),
    };
    Ok(Some(EnteredExpenses {
        folder: format!("{} {}", folder.reference(), folder.title(Kind::Folder)),
        totals: totals_by_currency(t, statuses, &docs),
        totals_note: note.into(),
        table: record_table_in_folder(ctx, Kind::Expense, statuses, newest).await?,
    }))
}
