//! Suggestions while the user types into a field: options for its `<datalist>`.

use super::{WebError, form::Query, record_data::Doc, request_context::MemberContext};
use crate::http::escape_html;
use axum::{
    extract::Path,
    http::header,
    response::{IntoResponse, Response},
};
use groma_domain::{Kind, SearchTerm, record::LabelField};
use groma_store::{Label, RecordQuery};

/// How many folders are suggested.
const MAX_FOLDERS: u32 = 20;
/// How many labels are suggested.
const MAX_LABELS: u32 = 20;

/// Folders whose reference or name contains what is typed. The value is the reference.
pub(super) async fn folders(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let folders = matching_folders(&ctx, query.get("folder")).await?;
    let option = |folder: &Doc| {
        let (value, label) = (folder.reference(), label(folder));
        format!("<option value=\"{}\">{}</option>", escape_html(value), escape_html(&label))
    };
    let options: String = folders.iter().map(option).collect();
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], options).into_response())
}

/// The clients, tags, categories or vendors that contain what is typed. Of several tags, separated by
/// commas, the last one is completed.
pub(super) async fn labels(
    ctx: MemberContext,
    Path(field): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let fields = [LabelField::Client, LabelField::Category, LabelField::Vendor, LabelField::Tag];
    let field = fields.into_iter().find(|known| known.name() == field);
    let field = field.ok_or_else(WebError::not_found)?;
    let typed = query.iter().next().map_or("", |(_, value)| value);
    let (before, typed) = match typed.rsplit_once(',').filter(|_| field == LabelField::Tag) {
        Some((before, last)) => (format!("{before}, "), last),
        None => (String::new(), typed),
    };
    let typed: String = typed.trim().chars().take(200).collect();
    let labels = ctx.store().labels(ctx.workspace_id(), field, &typed, MAX_LABELS).await?;
    let option = |label: &Label| {
        let value = escape_html(&format!("{before}{}", label.value));
        format!("<option value=\"{value}\">{}</option>", escape_html(&label.value))
    };
    let options: String = labels.iter().map(option).collect();
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], options).into_response())
}

/// The name and the client of a folder.
pub(super) fn label(folder: &Doc) -> String {
    let name = folder.title(Kind::Folder);
    match folder.text("clientName") {
        "" => name,
        client => format!("{name} · {client}"),
    }
}

/// The newest folders that are not archived and contain this text.
pub(super) async fn matching_folders(
    ctx: &MemberContext,
    typed: &str,
) -> Result<Vec<Doc>, WebError> {
    let typed: String = typed.trim().chars().take(200).collect();
    let query = RecordQuery {
        term: SearchTerm::parse(&typed).ok().flatten(),
        closed: Some(false),
        limit: MAX_FOLDERS,
        ..RecordQuery::all(Kind::Folder)
    };
    Ok(ctx.query_records(query).await?.0)
}
