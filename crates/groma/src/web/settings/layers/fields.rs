//! Settings > Layers > Fields: the declared fields of a layer. Works without scripts: adding and removing
//! rows are submits of the form.

use super::{LayerTabs, PATH, existing};
use crate::web::{
    WebError,
    fields::{Choice, capitalize},
    flash::Flash,
    form::{Form, Pairs},
    format,
    i18n::Localizer,
    page::{Meta, Nav},
    request_context::MemberContext,
    settings::SettingsNav,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    DomainError, FieldError, Layer,
    layer::{DeclaredField, DeclaredType, LayerKey, LayerSetup, parse_fields},
};
use serde_json::{Value, json};

/// In larger layers, the shapes that do not fit are not counted, because each would be read.
const MAX_COUNTED: u64 = 20_000;
/// The number of empty rows of a layer without fields.
const EMPTY_ROWS: usize = 1;

#[derive(Template)]
#[template(path = "layer_fields.html")]
struct FieldsPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    tabs: LayerTabs,
    rows: Vec<FieldRow>,
    problems: Vec<String>,
    /// The number of stored shapes that do not fit.
    unfit: u64,
}

/// A field as it is typed.
#[derive(Default)]
struct FieldRow {
    number: usize,
    title: String,
    name: String,
    kind: String,
    types: Vec<Choice>,
    is_required: bool,
    /// One per line.
    choices: String,
    default: String,
    unit: String,
    errors: Vec<(String, String)>,
}

/// For the template.
impl FieldRow {
    fn value(&self, member: &str) -> &str {
        match member {
            "name" => &self.name,
            "unit" => &self.unit,
            _ => &self.default,
        }
    }

    fn types(&self) -> &[Choice] {
        &self.types
    }

    fn error(&self, member: &str) -> Option<&str> {
        let found = self.errors.iter().find(|(about, _)| about == member);
        found.map(|(_, message)| message.as_str())
    }
}

impl FieldRow {
    fn of_field(t: Localizer, field: &DeclaredField) -> Self {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => t.decimal_input(&number.to_string()),
            value => format::plain_text(t, value),
        };
        Self {
            name: field.name.clone(),
            kind: field.field_type.name().to_owned(),
            is_required: field.required,
            choices: field.choices.iter().map(text).collect::<Vec<_>>().join("\n"),
            default: field.default.as_ref().map(text).unwrap_or_default(),
            unit: field.unit.clone().unwrap_or_default(),
            ..Self::default()
        }
    }

    fn is_empty(&self) -> bool {
        [&self.name, &self.choices, &self.default, &self.unit].iter().all(|text| text.is_empty())
    }

    /// The declaration in JSON. A text that is not a value of the type stays a text, which is rejected.
    fn to_json(&self, t: Localizer) -> Value {
        let value = |text: &str| match self.kind.as_str() {
            "number" | "integer" => t.parse_number(text).map_or_else(|| json!(text), Value::Number),
            "boolean" => t.parse_boolean(text).map_or_else(|| json!(text), Value::Bool),
            _ => json!(text),
        };
        let lines = self.choices.lines().map(str::trim).filter(|line| !line.is_empty());
        json!({
            "name": self.name,
            "type": self.kind,
            "required": self.is_required,
            "choices": lines.map(value).collect::<Vec<_>>(),
            "default": if self.default.is_empty() { Value::Null } else { value(&self.default) },
            "unit": if self.unit.is_empty() { Value::Null } else { json!(self.unit) },
        })
    }
}

/// The rows of a form, without those that are empty or removed.
fn sent_rows(form: &Pairs) -> Vec<FieldRow> {
    let all = |name: &'static str| form.all(name).map(|text| text.trim().to_owned());
    let texts = all("name").zip(all("type")).zip(all("unit")).zip(all("default"));
    let rows = texts.zip(all("choices")).enumerate();
    let has = |name: &'static str, number: usize| {
        form.all(name).any(|sent| sent == number.to_string().as_str())
    };
    let row = |(number, ((((name, kind), unit), default), choices))| FieldRow {
        number,
        name,
        kind,
        unit,
        default,
        choices,
        is_required: has("required", number),
        ..FieldRow::default()
    };
    rows.map(row).filter(|row| !row.is_empty() && !has("remove", row.number)).collect()
}

async fn show(
    ctx: &MemberContext,
    layer: &Layer,
    mut rows: Vec<FieldRow>,
    empty_rows: usize,
    errors: &[FieldError],
) -> Result<Response, WebError> {
    let t = ctx.t();
    let mut problems = Vec::new();
    for error in errors {
        let message = t.violation(&error.violation);
        let path = error.field.strip_prefix("fields.").and_then(|path| path.split_once('.'));
        let row = path.and_then(|(index, _)| rows.get_mut(index.parse::<usize>().ok()?));
        match (row, path) {
            (Some(row), Some((_, member))) => {
                row.errors.push((member.to_owned(), capitalize(&message)));
            }
            _ => problems.push(t.problem(error)),
        }
    }
    rows.extend((0..empty_rows).map(|_| FieldRow::default()));
    for (number, row) in rows.iter_mut().enumerate() {
        row.number = number;
        row.title = match row.name.as_str() {
            "" => t.msg("layer-field-new").into(),
            name => name.to_owned(),
        };
        let choice = |(name, _): &(&'static str, DeclaredType)| {
            let label = t.msg("layer-field-type-name").arg("type", *name);
            Choice::new(*name, label, *name == row.kind)
        };
        row.types = DeclaredType::NAMES.iter().map(choice).collect();
    }
    let key = LayerKey::Id(layer.id);
    let unfit = match layer.counts.total() {
        0..=MAX_COUNTED => ctx.store().count_unfit_features(ctx.workspace_id(), &key).await?,
        _ => 0,
    };
    let content = FieldsPage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        tabs: LayerTabs::new(ctx, layer, "fields").await?,
        rows,
        problems,
        unfit,
    };
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let title = t.msg("layer-fields-title").arg("name", &layer.name);
    ctx.page_with_status(status, Meta::new(title, Nav::Settings), &content).await
}

pub(in crate::web) async fn page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    let rows: Vec<_> =
        layer.declared_fields.iter().map(|field| FieldRow::of_field(ctx.t(), field)).collect();
    let empty_rows = if rows.is_empty() { EMPTY_ROWS } else { 0 };
    show(&ctx, &layer, rows, empty_rows, &[]).await
}

pub(in crate::web) async fn update(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let layer = existing(&ctx, &id).await?;
    let rows = sent_rows(&form);
    if form.get("action") == "add" {
        return show(&ctx, &layer, rows, 1, &[]).await;
    }
    let declared: Value = rows.iter().map(|row| row.to_json(t)).collect();
    let declared = match parse_fields(&declared) {
        Ok(declared) => declared,
        Err(DomainError::Invalid(errors)) => return show(&ctx, &layer, rows, 0, &errors).await,
        Err(error) => return Err((&error).into()),
    };
    let setup = LayerSetup { declared_fields: Some(declared), ..LayerSetup::default() };
    let key = LayerKey::Id(layer.id);
    ctx.store().set_up_layer(ctx.workspace_id(), ctx.actor(), key, setup, ctx.now()).await?;
    let message = t.msg("layer-fields-saved").arg("name", layer.name);
    Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}/fields"), &Flash::new(message)))
}
