//! Settings > Layers: creating, editing, ordering, locking, checking and deleting layers.

pub(in crate::web) mod check;
pub(in crate::web) mod fields;
pub(in crate::web) mod style;

use super::{SettingsForm, SettingsNav};
use crate::web::{
    WebError,
    export_menu::LayerMenu,
    fields::{Field, Input, attach_errors, focus_first, problems},
    flash::Flash,
    form::{Form, Pairs},
    format::Moment,
    i18n::Localizer,
    page::{Meta, Nav},
    records::delete::DeleteConfirm,
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    DomainError, Layer, Permission,
    layer::{LayerCrs, LayerEdit, LayerKey, LayerSetup, sort_for_map},
};
use groma_store::NewLayer;

const PATH: &str = "/settings/layers";

#[derive(Template)]
#[template(path = "layers.html")]
struct LayersPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    rows: Vec<LayerView>,
    geo_url: String,
}

struct LayerView {
    id: String,
    name: String,
    slug: String,
    color: String,
    shapes: String,
    geometry_type: String,
    updated: Moment,
    is_locked: bool,
    is_first: bool,
    is_last: bool,
}

/// The pages of a layer.
struct LayerTabs {
    id: String,
    name: String,
    is_locked: bool,
    /// Others see only the check.
    can_administer: bool,
    current: &'static str,
    export: LayerMenu,
}

impl LayerTabs {
    async fn new(
        ctx: &MemberContext,
        layer: &Layer,
        current: &'static str,
    ) -> Result<Self, WebError> {
        let (id, name, is_locked) = (layer.id.to_string(), layer.name.clone(), layer.is_locked);
        let can_administer = ctx.can(Permission::Administer);
        let export = LayerMenu::of_layer(ctx, layer).await?;
        Ok(Self { id, name, is_locked, can_administer, current, export })
    }
}

/// The form of an existing layer.
#[derive(Template)]
#[template(path = "layer_form.html")]
struct LayerForm {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    tabs: LayerTabs,
    note: String,
    fields: Vec<Field>,
    problems: Vec<String>,
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut layers = ctx.store().all_layers(ctx.workspace_id()).await?;
    sort_for_map(&mut layers);
    let last = layers.len().saturating_sub(1);
    let row = |(index, layer): (usize, &Layer)| LayerView {
        id: layer.id.to_string(),
        name: layer.name.clone(),
        slug: layer.slug.as_str().to_owned(),
        color: layer.color.clone(),
        shapes: t.number(layer.counts.total()),
        geometry_type: {
            let geometry_type = layer.document("").geometry_type;
            let word = geometry_type.map_or("none".to_owned(), |kind| format!("{kind:?}"));
            t.msg("layer-geometry-type").arg("type", word.to_lowercase()).into()
        },
        updated: ctx.moment(layer.updated_at),
        is_locked: layer.is_locked,
        is_first: index == 0,
        is_last: index == last,
    };
    let content = LayersPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        csrf: ctx.request.csrf_token(),
        rows: layers.iter().enumerate().map(row).collect(),
        geo_url: ctx.web.geo_url.clone(),
    };
    ctx.page(Meta::new(t.msg("layers-title"), Nav::Settings), &content).await
}

async fn show_form(
    ctx: &MemberContext,
    existing: Option<&Layer>,
    typed: &Pairs,
    error: Option<&DomainError>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut fields =
        vec![Field::line("name", t.msg("field-name-label")).value(typed.get("name")).required()];
    let crs = Field::line("crs", t.msg("layer-crs")).value(typed.get("crs"));
    fields.push(crs.hint(t.msg("layer-crs-hint")));
    if existing.is_some() {
        let color = Field::new("color", t.msg("field-color"), Input::Color);
        fields.push(color.value(typed.get("color")).required());
        let description = Field::new("description", t.msg("field-description"), Input::TextArea);
        fields.push(description.value(typed.get("description")));
        let attribution = Field::line("attribution", t.msg("layer-attribution"));
        let attribution = attribution.value(typed.get("attribution"));
        fields.push(attribution.hint(t.msg("layer-attribution-hint")));
    }
    let errors = error.map(problems).unwrap_or_default();
    let problems = attach_errors(t, &mut fields, &errors);
    focus_first(&mut fields);
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    if let Some(layer) = existing {
        let form = LayerForm {
            t,
            nav: SettingsNav::new(ctx, PATH),
            csrf: ctx.request.csrf_token(),
            tabs: LayerTabs::new(ctx, layer, "general").await?,
            note: t.msg("layer-slug-note").arg("slug", layer.slug.as_str()).into(),
            fields,
            problems,
        };
        let meta = Meta::new(t.msg("layer-edit-title").arg("name", &layer.name), Nav::Settings);
        return ctx.page_with_status(status, meta, &form).await;
    }
    let form = SettingsForm {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        parent: (PATH, t.msg("layers-title").into()),
        title: t.msg("layer-new").into(),
        action: format!("{PATH}/new"),
        submit: t.msg("layer-create").into(),
        note: t.msg("layer-new-slug-note").into(),
        fields,
        problems,
        is_danger: false,
    };
    form.show(ctx, error.is_some()).await
}

pub(in crate::web) async fn new_page(ctx: MemberContext) -> Result<Response, WebError> {
    show_form(&ctx, None, &Pairs::default(), None).await
}

pub(in crate::web) async fn create(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let created = async {
        let layer =
            NewLayer { name: form.get("name").to_owned(), crs: LayerCrs::parse(form.get("crs"))? };
        ctx.store().create_layer(ctx.workspace_id(), ctx.actor(), layer, ctx.now()).await
    };
    match created.await {
        Ok(layer) => {
            let message = ctx.t().msg("layer-created").arg("name", layer.name);
            Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
        }
        Err(error) => match error.domain_error() {
            Some(invalid @ DomainError::Invalid(_)) => {
                show_form(&ctx, None, &form, Some(invalid)).await
            }
            _ => Err(error.into()),
        },
    }
}

async fn existing(ctx: &MemberContext, id: &str) -> Result<Layer, WebError> {
    let id = id.parse().map_err(|_| WebError::not_found())?;
    let layer = ctx.store().layer(ctx.workspace_id(), &LayerKey::Id(id)).await?;
    layer.ok_or_else(WebError::not_found)
}

/// The name of a reference system in the form, where CRS84 is the default.
fn crs_name(crs: LayerCrs) -> String {
    crs.code().map(|_| crs.to_string()).unwrap_or_default()
}

pub(in crate::web) async fn edit_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let typed = Pairs::default().with(&[
        ("name", &layer.name),
        ("color", &layer.color),
        ("description", layer.description.as_deref().unwrap_or_default()),
        ("attribution", layer.attribution.as_deref().unwrap_or_default()),
        ("crs", &crs_name(layer.crs)),
    ]);
    show_form(&ctx, Some(&layer), &typed, None).await
}

pub(in crate::web) async fn update(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let changed = async {
        let edit = LayerEdit {
            name: form.get("name").to_owned(),
            description: form.given("description").map(str::to_owned),
            attribution: form.given("attribution").map(str::to_owned),
            crs: LayerCrs::parse(form.get("crs"))?,
            color: form.get("color").to_owned(),
        };
        let key = LayerKey::Id(layer.id);
        ctx.store().change_layer(ctx.workspace_id(), ctx.actor(), key, edit, ctx.now()).await
    };
    match changed.await {
        Ok(layer) => {
            let message = ctx.t().msg("layer-saved").arg("name", layer.name);
            Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
        }
        Err(error) => match error.domain_error() {
            Some(invalid @ DomainError::Invalid(_)) => {
                show_form(&ctx, Some(&layer), &form, Some(invalid)).await
            }
            _ => Err(error.into()),
        },
    }
}

/// Locks or unlocks a layer.
pub(in crate::web) async fn set_locked(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let is_locked = form.get("locked") == "true";
    let setup = LayerSetup { is_locked: Some(is_locked), ..LayerSetup::default() };
    let key = LayerKey::Id(layer.id);
    ctx.store().set_up_layer(ctx.workspace_id(), ctx.actor(), key, setup, ctx.now()).await?;
    let message = match is_locked {
        true => ctx.t().msg("layer-locked"),
        false => ctx.t().msg("layer-unlocked"),
    };
    let message = message.arg("name", layer.name);
    Ok(ctx.redirect_with_flash(&format!("{PATH}/{}", layer.id), &Flash::new(message)))
}

/// Moves a layer up or down on maps.
pub(in crate::web) async fn move_layer(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let mut layers = ctx.store().all_layers(ctx.workspace_id()).await?;
    sort_for_map(&mut layers);
    let position = layers.iter().position(|other| other.id == layer.id).unwrap_or_default();
    let position = match form.get("to") {
        "up" => position.saturating_sub(1),
        _ => position + 1,
    };
    let key = LayerKey::Id(layer.id);
    ctx.store().place_layer(ctx.workspace_id(), ctx.actor(), key, position, ctx.now()).await?;
    let message = ctx.t().msg("layer-moved").arg("name", layer.name);
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
}

/// Shows what is deleted, and asks for confirmation.
async fn confirm(
    ctx: &MemberContext,
    layer: &Layer,
    status: StatusCode,
    error: &str,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let shapes = t.msg("shape-count").arg("count", layer.counts.total());
    let title = t.msg("delete-title").arg("name", &layer.name);
    let content = DeleteConfirm {
        t,
        breadcrumbs: vec![(PATH.to_owned(), t.msg("layers-title").into())],
        title: title.to_string(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{}/delete", layer.id),
        cancel: PATH.to_owned(),
        confirm: layer.slug.as_str().to_owned(),
        confirm_with: "slug",
        deleted_too: vec![shapes.into()],
        kept: vec![t.msg("layer-delete-keeps-folders").into()],
        version: layer.revision,
        error: error.to_owned(),
    };
    ctx.page_with_status(status, Meta::new(title, Nav::Settings), &content).await
}

pub(in crate::web) async fn delete_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    confirm(&ctx, &layer, StatusCode::OK, "").await
}

pub(in crate::web) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    if form.get("confirm").trim() != layer.slug.as_str() {
        let error = ctx.t().msg("delete-wrong-confirmation").arg("confirm_with", "slug");
        return confirm(&ctx, &layer, StatusCode::BAD_REQUEST, &error.to_string()).await;
    }
    let key = LayerKey::Id(layer.id);
    // This can take long: finish even when the browser disconnects.
    let (store, id, actor, now) = (ctx.store().clone(), ctx.workspace_id(), ctx.actor(), ctx.now());
    let deleted = tokio::spawn(async move { store.delete_layer(id, actor, key, now).await });
    deleted.await.map_err(|error| WebError::internal(error.to_string()))??;
    let message = ctx.t().msg("layer-deleted").arg("name", layer.name);
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
}
