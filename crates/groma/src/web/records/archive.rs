//! Archiving a folder, with Undo.

use crate::web::{
    WebError,
    flash::Flash,
    form::{Form, local_path},
    request_context::MemberContext,
};
use axum::{extract::Path, response::Response};
use groma_domain::{
    Kind, Timestamp,
    input::Field,
    record::{FolderInput, RecordInput},
    reference::Key,
};
use groma_store::{Command, SaveTarget};

pub(in crate::web) async fn archive(
    ctx: MemberContext,
    Path(key): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    set_archived(ctx, &key, true, form.get("next")).await
}

pub(in crate::web) async fn unarchive(
    ctx: MemberContext,
    Path(key): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    set_archived(ctx, &key, false, form.get("next")).await
}

async fn set_archived(
    ctx: MemberContext,
    key: &str,
    archive: bool,
    next: &str,
) -> Result<Response, WebError> {
    let doc = ctx.record(Kind::Folder, key).await?;
    let archived_at: Option<Timestamp> = archive.then_some(ctx.now());
    let input = FolderInput { archived_at: Field::Set(archived_at), ..FolderInput::default() };
    let target = SaveTarget::Existing { key: Key::Id(doc.id()?), version: None };
    let draft = Box::new(RecordInput::Folder(input));
    ctx.apply(Command::Save { target, draft }).await?;
    let path = doc.path(Kind::Folder);
    let (message, undo) = match archive {
        true => (ctx.t().msg("folder-archived"), "unarchive"),
        false => (ctx.t().msg("folder-unarchived"), "archive"),
    };
    let flash = Flash::new(message.arg("reference", doc.reference()));
    let flash = flash.with_undo(format!("{path}/{undo}"));
    let to = if next.is_empty() { path.as_str() } else { local_path(next) };
    Ok(ctx.redirect_with_flash(to, &flash))
}
