//! Settings > Workspace: its name and currency, and its end.

use super::SettingsNav;
use crate::web::{
    WebError,
    entry::currencies,
    fields::{Field, Input, focus, problems, tell},
    flash::Flash,
    form::Form,
    page::{self, Meta, Nav},
    records::remove::Delete,
    shown,
    visit::Desk,
};
use askama::Template;
use axum::{http::StatusCode, response::Response};
use groma_domain::{Currency, Kind, Permission, Problem, Refusal, workspace::WorkspaceName};

const HERE: &str = "/settings/workspace";

#[derive(Template)]
#[template(path = "workspace.html")]
struct WorkspacePage {
    nav: SettingsNav,
    csrf: String,
    fields: Vec<Field>,
    problems: Vec<String>,
    key: String,
    founded: String,
    may_delete: bool,
}

fn content(desk: &Desk, name: &str, currency: Currency) -> WorkspacePage {
    let workspace = desk.workspace();
    WorkspacePage {
        nav: SettingsNav::new(desk, HERE),
        csrf: desk.visit.form_token(),
        fields: vec![
            Field::line("name", "Name").value(name).needed(),
            Field::new("currency", "Currency", Input::Choice(currencies(currency)))
                .needed()
                .hint("Of new folders that name no other"),
        ],
        problems: Vec::new(),
        key: workspace.id.to_string(),
        founded: shown::full_day(workspace.created_at.date()),
        may_delete: desk.may(Permission::Own),
    }
}

pub(in crate::web) async fn page(desk: Desk) -> Result<Response, WebError> {
    let workspace = desk.workspace();
    let content = content(&desk, workspace.name.as_str(), workspace.currency);
    desk.page(Meta::new("Workspace", Nav::Settings), &content).await
}

pub(in crate::web) async fn save(desk: Desk, form: Form) -> Result<Response, WebError> {
    let mut wrong = Vec::new();
    let name = WorkspaceName::parse(form.get("name"));
    let name = name.map_err(|refusal| wrong.extend(problems(&refusal))).ok();
    let currency: Result<Currency, _> = form.get("currency").parse();
    let currency = currency.map_err(|reason| wrong.push(Problem::new("currency", reason))).ok();
    if let (Some(name), Some(currency)) = (name, currency) {
        let changed = desk
            .store()
            .change_workspace(desk.id(), desk.actor(), name, currency, desk.now())
            .await;
        match changed {
            Ok(_) => return Ok(desk.go(HERE, &Flash::new("The workspace is changed."))),
            Err(error) => match error.refusal() {
                Some(refusal @ Refusal::Invalid(_)) => wrong.extend(problems(refusal)),
                _ => return Err(error.into()),
            },
        }
    }
    let currency = currency.unwrap_or(desk.workspace().currency);
    let mut content = content(&desk, form.get("name"), currency);
    content.problems = tell(&mut content.fields, &wrong);
    focus(&mut content.fields);
    desk.page_with(StatusCode::BAD_REQUEST, Meta::new("Workspace", Nav::Settings), &content).await
}

pub(in crate::web) async fn delete_page(desk: Desk) -> Result<Response, WebError> {
    ask(&desk, StatusCode::OK, "").await
}

async fn ask(desk: &Desk, status: StatusCode, error: &str) -> Result<Response, WebError> {
    let totals = desk.store().totals(desk.id()).await?;
    let goes = Kind::ALL.iter().zip(totals).filter(|(_, total)| *total > 0);
    let mut goes: Vec<String> =
        goes.map(|(kind, total)| shown::several(total, kind.name(), kind.plural())).collect();
    let layers = desk.store().all_layers(desk.id()).await?;
    if !layers.is_empty() {
        let shapes = layers.iter().map(|layer| layer.counts.total()).sum();
        let layers = shown::several(layers.len() as u64, "layer", "layers");
        goes.push(format!("{layers} with {}", shown::several(shapes, "shape", "shapes")));
    }
    goes.push("every member's access, and all API tokens".to_owned());
    let name = desk.workspace().name.as_str().to_owned();
    let content = Delete {
        crumbs: vec![(HERE.to_owned(), "Workspace".to_owned())],
        title: format!("Delete {name}"),
        csrf: desk.visit.form_token(),
        action: format!("{HERE}/delete"),
        cancel: HERE.to_owned(),
        confirm: name,
        what: "name",
        goes,
        stays: Vec::new(),
        version: 0,
        error: error.to_owned(),
    };
    desk.page_with(status, Meta::new("Delete the workspace", Nav::Settings), &content).await
}

pub(in crate::web) async fn delete(desk: Desk, form: Form) -> Result<Response, WebError> {
    let name = desk.workspace().name.as_str();
    if form.get("confirm").trim() != name {
        let error = "This is not its name; nothing was deleted.";
        return ask(&desk, StatusCode::BAD_REQUEST, error).await;
    }
    let flash = Flash::new(format!("{name} is deleted."));
    // It goes on to its end, whether or not the one who asked waits for it.
    let (store, id, actor) = (desk.store().clone(), desk.id(), desk.actor());
    let deleted = tokio::spawn(async move { store.delete_workspace(id, actor).await });
    deleted.await.map_err(|error| WebError::internal(error.to_string()))??;
    Ok(page::go(&desk.visit, desk.web.is_secure, "/account", &flash))
}
