//! Changing the status of a record from its page.

use crate::web::{
    WebError,
    flash::Flash,
    form::{Form, local_path},
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
            form: Form,
        ) -> Result<Response, WebError> {
            set(ctx, &key, &form, $kind).await
        }
    )*};
}

handlers! {
    folder => Kind::Folder;
    assignment => Kind::Assignment;
    expense => Kind::Expense;
    budget => Kind::Budget;
}

async fn set(ctx: MemberContext, key: &str, form: &Form, kind: Kind) -> Result<Response, WebError> {
    let t = ctx.t();
    let doc = ctx.record(kind, key).await?;
    let mut values = Map::new();
    values.insert("status".into(), Value::String(form.get("status").to_owned()));
    let draft = RecordInput::read(kind, &values);
    let draft = Box::new(draft.map_err(|error| WebError::invalid(error.to_string()))?);
    let version = form.get("version").parse().ok();
    let target = SaveTarget::Existing { key: Key::Id(doc.id()?), version };
    let path = doc.path(kind);
    let to = if form.has("next") { local_path(form.get("next")) } else { &path };
    let flash = match ctx.apply(Command::Save { target, draft }).await {
        Ok(done) => {
            let message = match done.first() {
                Some(CommandOutcome::Unchanged(..)) => t.msg("record-unchanged"),
                _ => t.msg("record-status-changed"),
            };
            Flash::new(message.arg("kind", kind.name()).arg("reference", doc.reference()))
        }
        Err(error) => match error.domain_error() {
            Some(DomainError::Conflict { .. }) => Flash::error(t.msg("record-status-conflict")),
            _ => return Err(error.into()),
        },
    };
    Ok(ctx.redirect_with_flash(to, &flash))
}
