//! Changing the status of a record from its page.

use crate::web::{
    WebError,
    flash::Flash,
    form::{Form, Pairs, Query, local_path},
    request_context::MemberContext,
};
use axum::{extract::Path, response::Response};
use groma_domain::{DomainError, Kind, record::RecordInput, reference::Key};
use groma_store::{Command, CommandOutcome, SaveTarget};
use serde_json::{Map, Value};

macro_rules! handlers {
    ($($name:ident => $kind:expr;)*) => {$(
        pub(in crate::web) async fn $name(
            ctx: MemberContext,
            Path(key): Path<String>,
            query: Query,
            form: Form,
        ) -> Result<Response, WebError> {
            set(ctx, &key, &query, &form, $kind).await
        }
    )*};
}

handlers! {
    folder => Kind::Folder;
    assignment => Kind::Assignment;
    expense => Kind::Expense;
    budget => Kind::Budget;
}

/// Sets the status. Undo has the earlier one in its address.
async fn set(
    ctx: MemberContext,
    key: &str,
    query: &Query,
    form: &Form,
    kind: Kind,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let doc = ctx.record(kind, key).await?;
    let sent = |name| if query.has(name) { query.get(name) } else { form.get(name) };
    let mut values = Map::new();
    values.insert("status".into(), Value::String(sent("status").to_owned()));
    let draft = RecordInput::read(kind, &values);
    let draft = Box::new(draft.map_err(|error| WebError::from(&error))?);
    let version = sent("version").parse().ok();
    let target = SaveTarget::Existing { key: Key::Id(doc.id()?), version };
    let path = doc.path(kind);
    let to = if form.has("next") { local_path(form.get("next")) } else { &path };
    let flash = match ctx.apply(Command::Save { target, draft }).await {
        Ok(done) => {
            let is_changed = !matches!(done.first(), Some(CommandOutcome::Unchanged(..)));
            let message = match is_changed {
                true => t.msg("record-status-changed"),
                false => t.msg("record-unchanged"),
            };
            let message = message.arg("kind", kind.name()).arg("reference", doc.reference());
            let version = (doc.version() + 1).to_string();
            let earlier = [("status", doc.text("statusId")), ("version", &version)];
            let undo = format!("{path}/status{}", Pairs::default().with(&earlier).query());
            // A record without a status cannot get that state back here.
            let has_undo = is_changed && !query.has("status") && !doc.text("statusId").is_empty();
            let flash = Flash::new(message);
            if has_undo { flash.with_undo(undo) } else { flash }
        }
        Err(error) => match error.domain_error() {
            Some(DomainError::Conflict { .. }) => Flash::error(t.msg("record-status-conflict")),
            _ => return Err(error.into()),
        },
    };
    Ok(ctx.redirect_with_flash(to, &flash))
}
