//! Settings > Layers: made, renamed, coloured, deleted.

use super::{SettingsNav, statuses::SettingsForm};
use crate::web::{
    WebError,
    fields::{Field, Input, focus, problems, tell},
    flash::Flash,
    form::{Form, Pairs},
    page::{Meta, Nav},
    records::remove::Delete,
    shown::{self, Moment},
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{Layer, Refusal, layer::LayerKey};
use groma_store::LayerChange;

const HERE: &str = "/settings/layers";

#[derive(Template)]
#[template(path = "layers.html")]
struct Layers {
    nav: SettingsNav,
    rows: Vec<LayerShown>,
    geo_url: String,
}

struct LayerShown {
    id: String,
    name: String,
    slug: String,
    color: String,
    shapes: String,
    kind: String,
    changed: Moment,
}

pub(in crate::web) async fn page(desk: Desk) -> Result<Response, WebError> {
    let layers = desk.store().all_layers(desk.id()).await?;
    let row = |layer: &Layer| LayerShown {
        id: layer.id.to_string(),
        name: layer.name.clone(),
        slug: layer.slug.as_str().to_owned(),
        color: layer.color.clone(),
        shapes: shown::grouped(layer.counts.total()),
        kind: layer
            .document("")
            .geometry_type
            .map_or("empty".to_owned(), |kind| format!("{kind:?}").to_lowercase()),
        changed: desk.moment(layer.updated_at),
    };
    let content = Layers {
        nav: SettingsNav::new(&desk, HERE),
        rows: layers.iter().map(row).collect(),
        geo_url: desk.web.geo_url.clone(),
    };
    desk.page(Meta::new("Layers", Nav::Settings), &content).await
}

async fn show_form(
    desk: &Desk,
    existing: Option<&Layer>,
    typed: &Pairs,
    refused: Option<&Refusal>,
) -> Result<Response, WebError> {
    let mut fields = vec![Field::line("name", "Name").value(typed.get("name")).needed()];
    if existing.is_some() {
        fields.push(Field::new("color", "Colour", Input::Color).value(typed.get("color")).needed());
        fields.push(
            Field::new("description", "Description", Input::Long).value(typed.get("description")),
        );
    }
    let wrong = refused.map(problems).unwrap_or_default();
    let problems = tell(&mut fields, &wrong);
    focus(&mut fields);
    let note = match existing {
        Some(layer) => {
            format!("Its short name in addresses and tiles stays «{}».", layer.slug.as_str())
        }
        None => {
            "Its short name in addresses and tiles is made from the name, and stays.".to_owned()
        }
    };
    let content = SettingsForm {
        nav: SettingsNav::new(desk, HERE),
        csrf: desk.visit.form_token(),
        back: (HERE, "Layers"),
        title: existing.map_or("New layer".to_owned(), |layer| format!("Edit {}", layer.name)),
        action: existing.map_or(format!("{HERE}/new"), |layer| format!("{HERE}/{}", layer.id)),
        submit: if existing.is_some() { "Save" } else { "Create" },
        note,
        fields,
        problems,
        is_danger: false,
    };
    let status = if refused.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    desk.page_with(status, Meta::new("Layer", Nav::Settings), &content).await
}

pub(in crate::web) async fn new_page(desk: Desk) -> Result<Response, WebError> {
    show_form(&desk, None, &Pairs::default(), None).await
}

pub(in crate::web) async fn create(desk: Desk, form: Form) -> Result<Response, WebError> {
    let name = form.get("name").to_owned();
    match desk.store().create_layer(desk.id(), desk.actor(), name, desk.now()).await {
        Ok(layer) => Ok(desk.go(HERE, &Flash::new(format!("«{}» is there.", layer.name)))),
        Err(error) => match error.refusal() {
            Some(refused @ Refusal::Invalid(_)) => {
                show_form(&desk, None, &form, Some(refused)).await
            }
            _ => Err(error.into()),
        },
    }
}

async fn existing(desk: &Desk, id: &str) -> Result<Layer, WebError> {
    let id = id.parse().map_err(|_| WebError::not_found())?;
    let layer = desk.store().layer(desk.id(), &LayerKey::Id(id)).await?;
    layer.ok_or_else(WebError::not_found)
}

pub(in crate::web) async fn edit_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&desk, &id).await?;
    let typed = Pairs::default().with(&[
        ("name", &layer.name),
        ("color", &layer.color),
        ("description", layer.description.as_deref().unwrap_or_default()),
    ]);
    show_form(&desk, Some(&layer), &typed, None).await
}

pub(in crate::web) async fn update(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&desk, &id).await?;
    let change = LayerChange {
        layer: LayerKey::Id(layer.id),
        name: form.get("name").to_owned(),
        description: form.given("description").map(str::to_owned),
        color: form.get("color").to_owned(),
    };
    match desk.store().change_layer(desk.id(), desk.actor(), change, desk.now()).await {
        Ok(layer) => Ok(desk.go(HERE, &Flash::new(format!("«{}» is saved.", layer.name)))),
        Err(error) => match error.refusal() {
            Some(refused @ Refusal::Invalid(_)) => {
                show_form(&desk, Some(&layer), &form, Some(refused)).await
            }
            _ => Err(error.into()),
        },
    }
}

async fn ask(
    desk: &Desk,
    layer: &Layer,
    status: StatusCode,
    error: &str,
) -> Result<Response, WebError> {
    let shapes = shown::several(layer.counts.total(), "shape", "shapes");
    let content = Delete {
        crumbs: vec![(HERE.to_owned(), "Layers".to_owned())],
        title: format!("Delete {}", layer.name),
        csrf: desk.visit.form_token(),
        action: format!("{HERE}/{}/delete", layer.id),
        cancel: HERE.to_owned(),
        confirm: layer.slug.as_str().to_owned(),
        what: "short name",
        goes: vec![shapes],
        stays: vec!["the folders they belong to, without them".to_owned()],
        version: layer.revision,
        error: error.to_owned(),
    };
    desk.page_with(status, Meta::new("Delete a layer", Nav::Settings), &content).await
}

pub(in crate::web) async fn delete_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&desk, &id).await?;
    ask(&desk, &layer, StatusCode::OK, "").await
}

pub(in crate::web) async fn delete(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&desk, &id).await?;
    if form.get("confirm").trim() != layer.slug.as_str() {
        let error = "This is not its short name; nothing was deleted.";
        return ask(&desk, &layer, StatusCode::BAD_REQUEST, error).await;
    }
    let key = LayerKey::Id(layer.id);
    // It goes on to its end, whether or not the one who asked waits for it.
    let (store, id, actor, now) = (desk.store().clone(), desk.id(), desk.actor(), desk.now());
    let deleted = tokio::spawn(async move { store.delete_layer(id, actor, key, now).await });
    deleted.await.map_err(|error| WebError::internal(error.to_string()))??;
    Ok(desk.go(HERE, &Flash::new(format!("«{}» is deleted.", layer.name))))
}
