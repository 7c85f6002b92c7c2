//! Archiving, which can be undone at once, and deleting, which says what goes with it and asks for the
//! reference to be typed.

use super::Doc;
use crate::web::{
    WebError,
    fields::capital,
    flash::Flash,
    form::{Form, local_path},
    page::{Meta, Nav},
    shown,
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    Kind, RecordId, Timestamp,
    input::Field,
    record::{Draft, FolderInput},
    reference::Key,
};
use groma_store::{Browse, Change, Command, Count, Target};

pub(in crate::web) async fn archive(
    desk: Desk,
    Path(key): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    set_archived(desk, &key, true, form.get("next")).await
}

pub(in crate::web) async fn unarchive(
    desk: Desk,
    Path(key): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    set_archived(desk, &key, false, form.get("next")).await
}

async fn set_archived(
    desk: Desk,
    key: &str,
    archive: bool,
    next: &str,
) -> Result<Response, WebError> {
    let doc = desk.record(Kind::Folder, key).await?;
    let archived_at: Option<Timestamp> = archive.then_some(desk.now());
    let input = FolderInput { archived_at: Field::Set(archived_at), ..FolderInput::default() };
    let target = Target::Existing { key: Key::Id(doc.id()?), version: None };
    let draft = Box::new(Draft::Folder(input));
    apply(&desk, Command::Save { target, draft }).await?;
    let path = doc.path(Kind::Folder);
    let (word, undo) =
        if archive { ("archived", "unarchive") } else { ("active again", "archive") };
    let flash = Flash::new(format!("{} is {word}.", doc.reference()));
    let flash = flash.with_undo(format!("{path}/{undo}"));
    let to = if next.is_empty() { path.as_str() } else { local_path(next) };
    Ok(desk.go(to, &flash))
}

async fn apply(desk: &Desk, command: Command) -> Result<(), WebError> {
    let commands = vec![command];
    let change = Change { workspace: desk.id(), actor: desk.actor(), now: desk.now(), commands };
    desk.store().apply(change).await?;
    Ok(())
}

#[derive(Template)]
#[template(path = "delete.html")]
pub(in crate::web) struct Delete {
    pub(in crate::web) crumbs: Vec<(String, String)>,
    pub(in crate::web) title: String,
    pub(in crate::web) csrf: String,
    pub(in crate::web) action: String,
    pub(in crate::web) cancel: String,
    /// What has to be typed.
    pub(in crate::web) confirm: String,
    pub(in crate::web) what: &'static str,
    pub(in crate::web) goes: Vec<String>,
    pub(in crate::web) stays: Vec<String>,
    pub(in crate::web) version: u64,
    pub(in crate::web) error: String,
}

macro_rules! handlers {
    ($($module:ident => $kind:expr;)*) => {$(
        pub(in crate::web) mod $module {
            use super::*;

            pub(in crate::web) async fn delete_page(
                desk: Desk,
                Path(key): Path<String>,
            ) -> Result<Response, WebError> {
                let doc = desk.record($kind, &key).await?;
                super::ask(&desk, $kind, &doc, StatusCode::OK, "").await
            }

            pub(in crate::web) async fn delete(
                desk: Desk,
                Path(key): Path<String>,
                form: Form,
            ) -> Result<Response, WebError> {
                super::delete(desk, &key, &form, $kind).await
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

async fn ask(
    desk: &Desk,
    kind: Kind,
    doc: &Doc,
    status: StatusCode,
    error: &str,
) -> Result<Response, WebError> {
    let (goes, stays) = consequences(desk, kind, doc.id()?).await?;
    let title = format!("Delete {}", doc.title(kind));
    let content = Delete {
        crumbs: vec![
            (format!("/{}", kind.plural()), capital(kind.plural())),
            (doc.path(kind), doc.reference().to_owned()),
        ],
        title: title.clone(),
        csrf: desk.visit.form_token(),
        action: format!("{}/delete", doc.path(kind)),
        cancel: doc.path(kind),
        confirm: doc.reference().to_owned(),
        what: "reference",
        goes,
        stays,
        version: doc.version(),
        error: error.to_owned(),
    };
    desk.page_with(status, Meta::new(&title, Nav::of(kind)), &content).await
}

/// What goes with a record, and what stays without it.
async fn consequences(
    desk: &Desk,
    kind: Kind,
    id: RecordId,
) -> Result<(Vec<String>, Vec<String>), WebError> {
    let count = async |kind: Kind, browse: Browse| -> Result<Option<String>, WebError> {
        let (_, browsed) = desk.browse(Browse { limit: 1, ..browse }).await?;
        Ok(match browsed.count {
            Count::Exactly(0) => None,
            Count::Exactly(count) => Some(shown::several(count, kind.name(), kind.plural())),
            Count::MoreThan(count) => {
                Some(format!("more than {} {}", shown::grouped(count), kind.plural()))
            }
        })
    };
    let expenses = Browse::all(Kind::Expense);
    let (mut goes, mut stays) = (Vec::new(), Vec::new());
    match kind {
        Kind::Folder => {
            for held in [Kind::Assignment, Kind::Budget, Kind::Expense] {
                let browse = Browse { folder: Some(id), ..Browse::all(held) };
                goes.extend(count(held, browse).await?);
            }
            let shapes = desk.store().geometries_of_folder(desk.id(), id, 1_000).await?.len();
            if shapes > 0 {
                let shapes = shown::several(shapes as u64, "shape", "shapes");
                stays.push(format!("{shapes} on the map, without the folder"));
            }
        }
        Kind::Assignment => {
            let browse = Browse { assignment: Some(id), ..expenses };
            let named = count(Kind::Expense, browse).await?;
            stays.extend(named.map(|named| format!("{named}, without the assignment")));
        }
        Kind::Budget => {
            let browse = Browse { budget: Some(id), ..expenses };
            let named = count(Kind::Expense, browse).await?;
            stays.extend(named.map(|named| format!("{named}, without the budget")));
        }
        Kind::Expense => {}
    }
    Ok((goes, stays))
}

async fn delete(desk: Desk, key: &str, form: &Form, kind: Kind) -> Result<Response, WebError> {
    let doc = desk.record(kind, key).await?;
    if form.get("confirm").trim() != doc.reference() {
        let error = "This is not its reference; nothing was deleted.";
        return ask(&desk, kind, &doc, StatusCode::BAD_REQUEST, error).await;
    }
    let version = form.get("version").parse().ok();
    if version != Some(doc.version()) {
        let error = "It has changed since you opened this page. Look again at what goes with it.";
        return ask(&desk, kind, &doc, StatusCode::CONFLICT, error).await;
    }
    apply(&desk, Command::Delete { kind, key: Key::Id(doc.id()?), version }).await?;
    let flash = Flash::new(format!("{} is deleted.", doc.reference()));
    Ok(desk.go(&format!("/{}", kind.plural()), &flash))
}
