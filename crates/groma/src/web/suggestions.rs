//! Suggestions while the user types into a field: options for its `<datalist>`.

use super::{
    WebError,
    form::Query,
    record_data::{Doc, parse_key},
    request_context::MemberContext,
};
use crate::http::escape_html;
use axum::{
    extract::Path,
    http::header,
    response::{IntoResponse, Response},
};
use groma_domain::{Kind, SearchTerm, record::LabelField};
use groma_store::{Label, RecordQuery};

/// How many records are suggested.
const MAX_RECORDS: u32 = 20;
/// How many labels are suggested.
const MAX_LABELS: u32 = 20;

/// Folders, budgets or assignments whose reference or title contains what is typed; budgets and assignments
/// of the folder that the form names, if it names one. The value is the reference.
pub(super) async fn records(
    ctx: MemberContext,
    Path(plural): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let kinds = [Kind::Folder, Kind::Budget, Kind::Assignment];
    let kind = kinds.into_iter().find(|kind| kind.plural() == plural);
    let kind = kind.ok_or_else(WebError::not_found)?;
    let folder = match kind {
        Kind::Folder => "",
        _ => query.get("folder"),
    };
    let records = matching_records(&ctx, kind, query.get(kind.name()), folder).await?;
    let option = |record: &Doc| {
        let (value, label) = (record.reference(), label(kind, record));
        format!("<option value=\"{}\">{}</option>", escape_html(value), escape_html(&label))
    };
    let options: String = records.iter().map(option).collect();
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

/// The title of a record; of a folder also the client.
pub(super) fn label(kind: Kind, record: &Doc) -> String {
    let title = record.title(kind);
    match record.text("clientName") {
        "" => title,
        client => format!("{title} · {client}"),
    }
}

/// The newest records that contain this text, without archived folders. A folder, given by its reference,
/// limits budgets and assignments to those in it.
pub(super) async fn matching_records(
    ctx: &MemberContext,
    kind: Kind,
    typed: &str,
    folder: &str,
) -> Result<Vec<Doc>, WebError> {
    let folder = match parse_key(folder) {
        Some(key) => ctx.store().get(ctx.workspace_id(), Kind::Folder, &key).await?,
        None => None,
    };
    let folder = folder.map(|folder| Doc::parse(&folder)?.id()).transpose()?;
    let typed: String = typed.trim().chars().take(200).collect();
    let query = RecordQuery {
        term: SearchTerm::parse(&typed).ok().flatten(),
        closed: (kind == Kind::Folder).then_some(false),
        folder,
        limit: MAX_RECORDS,
        ..RecordQuery::all(kind)
    };
    Ok(ctx.query_records(query).await?.0)
}
