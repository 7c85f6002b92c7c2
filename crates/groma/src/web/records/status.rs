//! Putting a record into another status, from its own page.

use crate::web::{
    WebError,
    flash::Flash,
    form::{Form, local_path},
    visit::Desk,
};
use axum::{extract::Path, response::Response};
use groma_domain::{Kind, Refusal, record::Draft, reference::Key};
use groma_store::{Change, Command, Done, Target};
use serde_json::{Map, Value};

macro_rules! handlers {
    ($($name:ident => $kind:expr;)*) => {$(
        pub(in crate::web) async fn $name(
            desk: Desk,
            Path(key): Path<String>,
            form: Form,
        ) -> Result<Response, WebError> {
            set(desk, &key, &form, $kind).await
        }
    )*};
}

handlers! {
    folder => Kind::Folder;
    assignment => Kind::Assignment;
    expense => Kind::Expense;
    budget => Kind::Budget;
}

async fn set(desk: Desk, key: &str, form: &Form, kind: Kind) -> Result<Response, WebError> {
    let doc = desk.record(kind, key).await?;
    let mut values = Map::new();
    values.insert("status".into(), Value::String(form.get("status").to_owned()));
    let draft = Draft::read(kind, &values);
    let draft = Box::new(draft.map_err(|refusal| WebError::bad(refusal.to_string()))?);
    let version = form.get("version").parse().ok();
    let target = Target::Existing { key: Key::Id(doc.id()?), version };
    let commands = vec![Command::Save { target, draft }];
    let change = Change { workspace: desk.id(), actor: desk.actor(), now: desk.now(), commands };
    let path = doc.path(kind);
    let to = if form.has("next") { local_path(form.get("next")) } else { &path };
    let flash = match desk.store().apply(change).await {
        Ok(done) => match done.first() {
            Some(Done::Unchanged(..)) => {
                Flash::new(format!("{} stays as it was.", doc.reference()))
            }
            _ => Flash::new(format!("The status of {} is changed.", doc.reference())),
        },
        Err(error) => match error.refusal() {
            Some(Refusal::Conflict { .. }) => Flash {
                is_bad: true,
                ..Flash::new("Someone else has changed it meanwhile. Look again before you do.")
            },
            _ => return Err(error.into()),
        },
    };
    Ok(desk.go(to, &flash))
}
