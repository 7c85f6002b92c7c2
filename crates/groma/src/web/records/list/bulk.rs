//! Changing or deleting the selected records of a list, in one transaction with one event each.

use super::{
    super::{edit_path::person_field, form_values::to_input},
    parse_plural,
};
use crate::web::{
    WebError,
    fields::Choice,
    flash::Flash,
    form::{Form, Pairs, encode, local_path},
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::{Doc, Statuses},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{
    DomainError, Kind, RecordId,
    input::Field,
    record::{FolderInput, RecordInput},
    reference::Key,
};
use groma_store::{Command, CommandOutcome, RecordCount, RecordQuery, SaveTarget};

/// How many records can be changed at once.
const MAX_RECORDS: usize = 500;
/// The value that clears a field. An empty one leaves it as it is.
const CLEAR: &str = "-";

/// The controls that change the selected records.
pub(super) struct BulkForm {
    pub(super) action: String,
    pub(super) selects: Vec<BulkSelect>,
    pub(super) dates: Vec<(&'static str, String)>,
    pub(super) can_archive: bool,
}

pub(super) struct BulkSelect {
    pub(super) name: &'static str,
    pub(super) label: String,
    pub(super) choices: Vec<Choice>,
}

impl BulkForm {
    pub(super) async fn new(
        ctx: &MemberContext,
        kind: Kind,
        statuses: &Statuses,
    ) -> Result<Self, WebError> {
        let t = ctx.t();
        let select = |name, label: String, options: Vec<(String, String)>| {
            let mut choices = vec![Choice::new("", label.clone(), true)];
            let options = options.into_iter();
            choices.extend(options.map(|(value, label)| Choice::new(value, label, false)));
            BulkSelect { name, label, choices }
        };
        let options = statuses.of(kind).map(|status| (status.id.to_string(), status.name.clone()));
        let mut selects = vec![select("status", t.msg("bulk-status").into(), options.collect())];
        if let Some(name) = person_field(kind) {
            let mut options = vec![(CLEAR.to_owned(), t.msg("bulk-no-one").into())];
            let people = ctx.people().await?.into_iter().filter(|known| !known.is_removed);
            options.extend(people.map(|known| (known.person.id.to_string(), known.person.name)));
            let label = t.msg("bulk-person").arg("kind", kind.name());
            selects.push(select(name, label.into(), options));
        }
        let dates = match kind {
            Kind::Folder | Kind::Assignment => vec![("dueDate", t.msg("bulk-due").into())],
            Kind::Expense => vec![("incurredOn", t.msg("bulk-date").into())],
            Kind::Budget => Vec::new(),
        };
        let action = format!("/lists/{}/bulk", kind.plural());
        Ok(Self { action, selects, dates, can_archive: kind == Kind::Folder })
    }
}

#[derive(Template)]
#[template(path = "bulk_delete.html")]
struct DeleteConfirm {
    t: Localizer,
    title: String,
    breadcrumbs: Vec<(String, String)>,
    csrf: String,
    action: String,
    next: String,
    records: Vec<(String, String)>,
    deleted_too: Vec<String>,
}

pub(in crate::web) async fn apply(
    ctx: MemberContext,
    Path(plural): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let kind = parse_plural(&plural)?;
    let t = ctx.t();
    let next = local_path(form.get("next")).to_owned();
    let ids: Vec<RecordId> = form.all("record").filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() || ids.len() > MAX_RECORDS {
        let message = t.msg("bulk-none-selected").arg("max", MAX_RECORDS as u64);
        return Ok(ctx.redirect_with_flash(&next, &Flash::error(message)));
    }
    let is_delete = form.get("action") == "delete";
    if is_delete && !form.has("confirmed") {
        return confirm(&ctx, kind, &ids, next).await;
    }
    let commands: Vec<Command> = if is_delete {
        let delete = |id| Command::Delete { kind, key: Key::Id(id), version: None };
        ids.iter().copied().map(delete).collect()
    } else {
        let Some(draft) = draft(&ctx, kind, &form)? else {
            let message = Flash::error(t.msg("bulk-nothing-chosen"));
            return Ok(ctx.redirect_with_flash(&next, &message));
        };
        let save = |id| Command::Save {
            target: SaveTarget::Existing { key: Key::Id(id), version: None },
            draft: Box::new(draft.clone()),
        };
        ids.iter().copied().map(save).collect()
    };
    let flash = match ctx.apply_all(commands).await {
        Ok(outcomes) => {
            let is_changed =
                |outcome: &&CommandOutcome| !matches!(outcome, CommandOutcome::Unchanged(..));
            let changed = outcomes.iter().filter(is_changed).count() as u64;
            let message = if is_delete { t.msg("bulk-deleted") } else { t.msg("bulk-changed") };
            Flash::new(message.arg("count", changed).arg("kind", kind.name()))
        }
        Err(error) => problem(&ctx, kind, &ids, error).await?,
    };
    Ok(ctx.redirect_with_flash(&next, &flash))
}

/// The values that the form sets; `None` if it sets none.
fn draft(ctx: &MemberContext, kind: Kind, form: &Pairs) -> Result<Option<RecordInput>, WebError> {
    if kind == Kind::Folder && matches!(form.get("action"), "archive" | "unarchive") {
        let archived_at = (form.get("action") == "archive").then_some(ctx.now());
        let input = FolderInput { archived_at: Field::Set(archived_at), ..FolderInput::default() };
        return Ok(Some(RecordInput::Folder(input)));
    }
    let fields = ["status", "owner", "assignees", "submittedBy", "dueDate", "incurredOn"];
    let sent = fields.into_iter().filter_map(|name| Some((name, form.given(name)?)));
    let mut pairs: Vec<String> = Vec::new();
    for (name, value) in sent {
        let value = if value == CLEAR { "" } else { value };
        pairs.push(format!("{name}={}", encode(value)));
        if name == "assignees" {
            // Says that the list of assignees is complete.
            pairs.push("_whole=1".to_owned());
        }
    }
    if pairs.is_empty() {
        return Ok(None);
    }
    let (values, _) = to_input(ctx.t(), kind, &Pairs::parse(pairs.join("&").as_bytes()));
    RecordInput::read(kind, &values).map(Some).map_err(|error| WebError::from(&error))
}

/// What a failed change tells the user. Nothing was changed.
async fn problem(
    ctx: &MemberContext,
    kind: Kind,
    ids: &[RecordId],
    error: groma_store::Error,
) -> Result<Flash, WebError> {
    let t = ctx.t();
    let groma_store::Error::Domain { error: domain_error, index } = &error else {
        return Err(error.into());
    };
    let problems = match domain_error {
        DomainError::Invalid(problems) => {
            problems.iter().map(|problem| t.problem(problem)).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    let record = match ids.get(*index) {
        Some(id) => ctx.record(kind, &id.to_string()).await.ok(),
        None => None,
    };
    let reference = record.map(|doc| doc.reference().to_owned()).unwrap_or_default();
    let message = t.msg("bulk-failed").arg("reference", reference).arg("problem", problems);
    Ok(Flash::error(message))
}

/// Shows what is deleted, and asks for confirmation.
async fn confirm(
    ctx: &MemberContext,
    kind: Kind,
    ids: &[RecordId],
    next: String,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut records: Vec<Doc> = Vec::new();
    for id in ids {
        records.push(ctx.record(kind, &id.to_string()).await?);
    }
    let mut deleted_too = Vec::new();
    if kind == Kind::Folder {
        for part in [Kind::Assignment, Kind::Budget, Kind::Expense] {
            let mut total = 0;
            for id in ids {
                let query = RecordQuery { folder: Some(*id), limit: 1, ..RecordQuery::all(part) };
                let (RecordCount::Exactly(count) | RecordCount::MoreThan(count)) =
                    ctx.query_records(query).await?.1.count;
                total += count;
            }
            if total > 0 {
                deleted_too.push(t.record_count(part, RecordCount::Exactly(total)));
            }
        }
    }
    let count = RecordCount::Exactly(records.len() as u64);
    let title = t.msg("bulk-delete-title").arg("records", t.record_count(kind, count)).to_string();
    let label =
        |doc: &Doc| (doc.text("id").to_owned(), format!("{} {}", doc.reference(), doc.title(kind)));
    let content = DeleteConfirm {
        t,
        title: title.clone(),
        breadcrumbs: vec![(format!("/{}", kind.plural()), t.kind_title(kind))],
        csrf: ctx.request.csrf_token(),
        action: format!("/lists/{}/bulk", kind.plural()),
        next,
        records: records.iter().map(label).collect(),
        deleted_too,
    };
    ctx.page(Meta::new(title, Nav::of(kind)), &content).await
}
