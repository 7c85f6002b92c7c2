//! Deleting a record. The page lists the records that are deleted with it, and the user types its
//! reference to confirm.

use crate::web::{
    WebError,
    flash::Flash,
    form::Form,
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::Doc,
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{Kind, RecordId, reference::Key};
use groma_store::{Command, RecordCount, RecordQuery};

#[derive(Template)]
#[template(path = "delete_confirm.html")]
pub(in crate::web) struct DeleteConfirm {
    pub(in crate::web) t: Localizer,
    pub(in crate::web) breadcrumbs: Vec<(String, String)>,
    pub(in crate::web) title: String,
    pub(in crate::web) csrf: String,
    pub(in crate::web) action: String,
    pub(in crate::web) cancel: String,
    /// What has to be typed: `reference`, `name` or `slug`.
    pub(in crate::web) confirm_with: &'static str,
    pub(in crate::web) confirm: String,
    pub(in crate::web) deleted_too: Vec<String>,
    pub(in crate::web) kept: Vec<String>,
    pub(in crate::web) version: u64,
    pub(in crate::web) error: String,
}

macro_rules! handlers {
    ($($module:ident => $kind:expr;)*) => {$(
        pub(in crate::web) mod $module {
            use super::*;

            pub(in crate::web) async fn delete_page(
                ctx: MemberContext,
                Path(key): Path<String>,
            ) -> Result<Response, WebError> {
                let doc = ctx.record($kind, &key).await?;
                super::confirm(&ctx, $kind, &doc, StatusCode::OK, "").await
            }

            pub(in crate::web) async fn delete(
                ctx: MemberContext,
                Path(key): Path<String>,
                form: Form,
            ) -> Result<Response, WebError> {
                super::delete(ctx, &key, &form, $kind).await
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

/// Shows what is deleted, and asks for confirmation.
async fn confirm(
    ctx: &MemberContext,
    kind: Kind,
    doc: &Doc,
    status: StatusCode,
    error: &str,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let (deleted_too, kept) = consequences(ctx, kind, doc.id()?).await?;
    let title = t.msg("delete-title").arg("name", doc.title(kind)).to_string();
    let content = DeleteConfirm {
        t,
        breadcrumbs: vec![
            (format!("/{}", kind.plural()), t.kind_title(kind)),
            (doc.path(kind), doc.reference().to_owned()),
        ],
        title: title.clone(),
        csrf: ctx.request.csrf_token(),
        action: format!("{}/delete", doc.path(kind)),
        cancel: doc.path(kind),
        confirm_with: "reference",
        confirm: doc.reference().to_owned(),
        deleted_too,
        kept,
        version: doc.version(),
        error: error.to_owned(),
    };
    ctx.page_with_status(status, Meta::new(title, Nav::of(kind)), &content).await
}

/// What is deleted with a record, and what is kept without it.
async fn consequences(
    ctx: &MemberContext,
    kind: Kind,
    id: RecordId,
) -> Result<(Vec<String>, Vec<String>), WebError> {
    let t = ctx.t();
    let count = async |query: RecordQuery| -> Result<RecordCount, WebError> {
        let (_, page) = ctx.query_records(RecordQuery { limit: 1, ..query }).await?;
        Ok(page.count)
    };
    let expenses = RecordQuery::all(Kind::Expense);
    let (mut deleted_too, mut kept) = (Vec::new(), Vec::new());
    match kind {
        Kind::Folder => {
            for part in [Kind::Assignment, Kind::Budget, Kind::Expense] {
                let count =
                    count(RecordQuery { folder: Some(id), ..RecordQuery::all(part) }).await?;
                if count != RecordCount::Exactly(0) {
                    deleted_too.push(t.record_count(part, count));
                }
            }
            let shapes = ctx.store().count_geometries_of_folder(ctx.workspace_id(), id).await?;
            if shapes > 0 {
                kept.push(t.msg("delete-keeps-shapes").arg("count", shapes).into());
            }
        }
        Kind::Assignment | Kind::Budget => {
            let query = match kind {
                Kind::Assignment => RecordQuery { assignment: Some(id), ..expenses },
                _ => RecordQuery { budget: Some(id), ..expenses },
            };
            let count = count(query).await?;
            if count != RecordCount::Exactly(0) {
                let expenses = t.record_count(Kind::Expense, count);
                let message = t.msg("delete-keeps-expenses").arg("expenses", expenses);
                kept.push(message.arg("kind", kind.name()).into());
            }
        }
        Kind::Expense => {}
    }
    Ok((deleted_too, kept))
}

async fn delete(
    ctx: MemberContext,
    key: &str,
    form: &Form,
    kind: Kind,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let doc = ctx.record(kind, key).await?;
    if form.get("confirm").trim() != doc.reference() {
        let error = t.msg("delete-wrong-confirmation").arg("confirm_with", "reference").to_string();
        return confirm(&ctx, kind, &doc, StatusCode::BAD_REQUEST, &error).await;
    }
    let version = form.get("version").parse().ok();
    if version != Some(doc.version()) {
        let error = t.msg("delete-conflict").to_string();
        return confirm(&ctx, kind, &doc, StatusCode::CONFLICT, &error).await;
    }
    ctx.apply(Command::Delete { kind, key: Key::Id(doc.id()?), version }).await?;
    let message = t.msg("record-deleted").arg("kind", kind.name());
    let flash = Flash::new(message.arg("reference", doc.reference()));
    Ok(ctx.redirect_with_flash(&format!("/{}", kind.plural()), &flash))
}
