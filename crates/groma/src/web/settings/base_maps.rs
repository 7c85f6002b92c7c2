//! Settings > Base maps: the maps of other servers that members can show below their layers.

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    base_maps::SETTINGS_PATH,
    fields::{Choice, Field, Input, attach_errors, focus_first, problems},
    flash::Flash,
    form::{Form, Pairs, Query},
    i18n::{Localizer, Message},
    page::{Meta, Nav},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    BaseMap, BaseMapId, DomainError,
    base_map::{BaseMapInput, BaseMapKind, ImageFormat, presets},
};
use groma_store::BaseMapChange;

pub(super) const PATH: &str = SETTINGS_PATH;

#[derive(Template)]
#[template(path = "base_maps.html")]
struct BaseMapsPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    rows: Vec<Row>,
}

struct Row {
    id: String,
    name: String,
    kind: String,
    hosts: String,
    is_default: bool,
    is_first: bool,
    is_last: bool,
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    let t = ctx.t();
    let maps = ctx.store().base_maps(ctx.workspace_id()).await?;
    let last = maps.as_slice().len().saturating_sub(1);
    let row = |(index, map): (usize, &BaseMap)| Row {
        id: map.id.to_string(),
        name: map.name.clone(),
        kind: kind_name(t, map.kind),
        hosts: map.origins().iter().map(|origin| host(origin)).collect::<Vec<_>>().join(", "),
        is_default: map.is_default,
        is_first: index == 0,
        is_last: index == last,
    };
    let content = BaseMapsPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        csrf: ctx.request.csrf_token(),
        rows: maps.as_slice().iter().enumerate().map(row).collect(),
    };
    ctx.page(Meta::new(t.msg("base-maps-title"), Nav::Settings), &content).await
}

fn host(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

fn kind_name(t: Localizer, kind: BaseMapKind) -> String {
    t.msg("base-map-kind").arg("kind", kind.name()).into()
}

/// Offers the presets and the kinds of sources.
#[derive(Template)]
#[template(path = "base_map_new.html")]
struct NewPage {
    t: Localizer,
    nav: SettingsNav,
    /// Address, name and description.
    presets: Vec<(String, String, String)>,
    kinds: Vec<(String, String, String)>,
}

pub(in crate::web) async fn new_page(
    ctx: MemberContext,
    query: Query,
) -> Result<Response, WebError> {
    let t = ctx.t();
    if let Some(preset) = presets::Preset::find(query.get("preset")) {
        let name = t.msg("base-map-preset").arg("preset", preset.id).to_string();
        let input = BaseMapInput { name, ..preset.input() };
        return show_form(&ctx, None, preset.kind, &pairs(&input), None).await;
    }
    if let Some(kind) = kind_of(&query) {
        return show_form(&ctx, None, kind, &Pairs::default(), None).await;
    }
    let preset = |preset: &presets::Preset| {
        let name = t.msg("base-map-preset").arg("preset", preset.id).into();
        let note = t.msg("base-map-preset-note").arg("preset", preset.id).into();
        (format!("{PATH}/new?preset={}", preset.id), name, note)
    };
    let kind = |(word, kind): &(&str, BaseMapKind)| {
        let note = t.msg("base-map-kind-note").arg("kind", *word).into();
        (format!("{PATH}/new?kind={word}"), kind_name(t, *kind), note)
    };
    let content = NewPage {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        presets: presets::PRESETS.iter().map(preset).collect(),
        kinds: BaseMapKind::NAMES.iter().map(kind).collect(),
    };
    ctx.page(Meta::new(t.msg("base-map-new"), Nav::Settings), &content).await
}

fn kind_of(query: &Pairs) -> Option<BaseMapKind> {
    let named = BaseMapKind::NAMES.iter().find(|(word, _)| *word == query.get("kind"));
    named.map(|(_, kind)| *kind)
}

#[derive(Template)]
#[template(path = "base_map_form.html")]
struct FormPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    title: String,
    action: String,
    submit: String,
    fields: Vec<Field>,
    problems: Vec<String>,
}

fn fields(t: Localizer, kind: BaseMapKind, typed: &Pairs) -> Vec<Field> {
    let word = kind.name();
    let line = |name, label: Message| Field::line(name, label).value(typed.get(name));
    let url = line("url", t.msg("base-map-url")).required();
    let mut fields = vec![
        line("name", t.msg("field-name-label")).required(),
        url.hint(t.msg("base-map-url-hint").arg("kind", word)),
        line("key", t.msg("base-map-key")).hint(t.msg("base-map-key-hint")),
    ];
    if kind == BaseMapKind::Wms {
        let layers = line("layers", t.msg("base-map-layers")).required();
        fields.push(layers.hint(t.msg("base-map-layers-hint")));
        fields.push(line("styles", t.msg("base-map-styles")).hint(t.msg("base-map-styles-hint")));
        let format = |(word, _): &(&'static str, ImageFormat)| {
            Choice::new(*word, word.to_uppercase(), typed.get("format") == *word)
        };
        let formats = Input::Select(ImageFormat::NAMES.iter().map(format).collect());
        fields.push(Field::new("format", t.msg("base-map-format"), formats));
    }
    if kind == BaseMapKind::Style {
        let hosts = Field::new("hosts", t.msg("base-map-hosts"), Input::TextArea);
        fields.push(hosts.value(typed.get("hosts")).hint(t.msg("base-map-hosts-hint")));
    }
    let attribution = line("attribution", t.msg("base-map-attribution"));
    fields.push(attribution.hint(t.msg("base-map-attribution-hint")));
    fields.push(line("attributionUrl", t.msg("base-map-attribution-url")));
    if kind != BaseMapKind::Style {
        fields.push(
            line("minZoom", t.msg("base-map-min-zoom")).hint(t.msg("base-map-min-zoom-hint")),
        );
        fields.push(
            line("maxZoom", t.msg("base-map-max-zoom")).hint(t.msg("base-map-max-zoom-hint")),
        );
        let size = |size: &&str| Choice::new(*size, *size, typed.get("tileSize") == *size);
        let sizes = Input::Select(["256", "512"].iter().map(size).collect());
        fields.push(Field::new("tileSize", t.msg("base-map-tile-size"), sizes));
    }
    let default = Field::new("isDefault", t.msg("base-map-default"), Input::Checkbox);
    let default = default.value(typed.get("isDefault"));
    fields.push(default.hint(t.msg("base-map-default-hint")));
    fields
}

async fn show_form(
    ctx: &MemberContext,
    existing: Option<&BaseMap>,
    kind: BaseMapKind,
    typed: &Pairs,
    error: Option<&DomainError>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut fields = fields(t, kind, typed);
    let errors = error.map(problems).unwrap_or_default();
    let problems = attach_errors(t, &mut fields, &errors);
    focus_first(&mut fields);
    let (title, submit, action) = match existing {
        Some(map) => (
            t.msg("base-map-edit-title").arg("name", &map.name),
            t.msg("form-save"),
            format!("{PATH}/{}", map.id),
        ),
        None => (
            match typed.get("name") {
                "" => t.msg("base-map-new-title").arg("kind", kind.name()),
                name => t.msg("base-map-new-named").arg("name", name),
            },
            t.msg("base-map-new"),
            format!("{PATH}/new?kind={}", kind.name()),
        ),
    };
    let content = FormPage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        title: title.to_string(),
        action,
        submit: submit.into(),
        fields,
        problems,
    };
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    ctx.page_with_status(status, Meta::new(title, Nav::Settings), &content).await
}

/// The values of a base map as the fields of its form.
fn pairs(input: &BaseMapInput) -> Pairs {
    Pairs::default().with(&[
        ("name", &input.name),
        ("url", &input.url),
        ("key", &input.key),
        ("layers", &input.layers),
        ("styles", &input.styles),
        ("format", &input.format),
        ("hosts", &input.hosts),
        ("attribution", &input.attribution),
        ("attributionUrl", &input.attribution_url),
        ("minZoom", &input.min_zoom),
        ("maxZoom", &input.max_zoom),
        ("tileSize", &input.tile_size),
        ("isDefault", if input.is_default { "true" } else { "" }),
    ])
}

fn input(kind: BaseMapKind, form: &Pairs) -> BaseMapInput {
    let text = |name: &str| form.get(name).to_owned();
    BaseMapInput {
        name: text("name"),
        kind: kind.name().to_owned(),
        url: text("url"),
        key: text("key"),
        layers: text("layers"),
        styles: text("styles"),
        format: text("format"),
        hosts: text("hosts"),
        attribution: text("attribution"),
        attribution_url: text("attributionUrl"),
        min_zoom: text("minZoom"),
        max_zoom: text("maxZoom"),
        tile_size: text("tileSize"),
        is_default: form.get("isDefault") == "true",
    }
}

pub(in crate::web) async fn create(
    ctx: MemberContext,
    query: Query,
    form: Form,
) -> Result<Response, WebError> {
    let kind = kind_of(&query).ok_or_else(WebError::not_found)?;
    save(&ctx, None, kind, &form).await
}

async fn existing(ctx: &MemberContext, id: &str) -> Result<BaseMap, WebError> {
    let id: BaseMapId = id.parse().map_err(|_| WebError::not_found())?;
    let maps = ctx.store().base_maps(ctx.workspace_id()).await?;
    maps.get(id).cloned().map_err(|_| WebError::not_found())
}

pub(in crate::web) async fn edit_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let map = existing(&ctx, &id).await?;
    let typed = BaseMapInput {
        name: map.name.clone(),
        kind: map.kind.name().to_owned(),
        url: map.url.clone(),
        key: map.key.clone().unwrap_or_default(),
        layers: map.layers.clone(),
        styles: map.styles.clone(),
        format: map.format.name().to_owned(),
        hosts: map.hosts.join("\n"),
        attribution: map.attribution.clone(),
        attribution_url: map.attribution_url.clone().unwrap_or_default(),
        min_zoom: map.min_zoom.to_string(),
        max_zoom: map.max_zoom.to_string(),
        tile_size: map.tile_size.to_string(),
        is_default: map.is_default,
    };
    show_form(&ctx, Some(&map), map.kind, &pairs(&typed), None).await
}

pub(in crate::web) async fn update(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let map = existing(&ctx, &id).await?;
    let kind = map.kind;
    save(&ctx, Some(map), kind, &form).await
}

async fn save(
    ctx: &MemberContext,
    existing: Option<BaseMap>,
    kind: BaseMapKind,
    form: &Pairs,
) -> Result<Response, WebError> {
    let input = input(kind, form);
    let change = match &existing {
        Some(map) => BaseMapChange::Replace(map.id, input),
        None => BaseMapChange::Add(input),
    };
    match change_base_maps(ctx, change).await {
        Ok(map) => Ok(redirect(ctx, ctx.t().msg("base-map-saved").arg("name", map.name))),
        Err(error) => match error.domain_error() {
            Some(invalid @ DomainError::Invalid(_)) => {
                show_form(ctx, existing.as_ref(), kind, form, Some(invalid)).await
            }
            _ => Err(error.into()),
        },
    }
}

async fn change_base_maps(
    ctx: &MemberContext,
    change: BaseMapChange,
) -> groma_store::Result<BaseMap> {
    ctx.store().change_base_maps(ctx.workspace_id(), ctx.actor(), change, ctx.now()).await
}

fn redirect(ctx: &MemberContext, message: Message) -> Response {
    ctx.redirect_with_flash(PATH, &Flash::new(message))
}

pub(in crate::web) async fn move_base_map(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.id;
    let change = BaseMapChange::Move { id, up: form.get("to") == "up" };
    let map = change_base_maps(&ctx, change).await?;
    Ok(redirect(&ctx, ctx.t().msg("base-map-moved").arg("name", map.name)))
}

pub(in crate::web) async fn delete_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let map = existing(&ctx, &id).await?;
    let confirm = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: t.msg("delete-title").arg("name", &map.name).into(),
        text: t.msg("base-map-delete-text").into(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{}/delete", map.id),
        cancel: PATH.to_owned(),
        button: t.msg("base-map-delete").into(),
    };
    confirm.show(&ctx).await
}

pub(in crate::web) async fn delete(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = existing(&ctx, &id).await?.id;
    let map = change_base_maps(&ctx, BaseMapChange::Remove(id)).await?;
    Ok(redirect(&ctx, ctx.t().msg("base-map-deleted").arg("name", map.name)))
}
