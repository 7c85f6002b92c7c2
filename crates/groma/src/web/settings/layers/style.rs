//! Settings > Layers > Style: colours by a property, sizes, labels and visibility by zoom.

mod suggest;

use super::{LayerTabs, PATH, existing};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, attach_errors, capitalize},
    flash::Flash,
    form::{Form, Pairs},
    i18n::{Localizer, Message},
    page::{Meta, Nav},
    request_context::MemberContext,
    settings::SettingsNav,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{
    DomainError, FieldError, Layer,
    layer::{ColorBy, ColorClasses, LayerKey, LayerSetup, LayerStyle},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use suggest::OTHER_COLOR;

#[derive(Template)]
#[template(path = "layer_style.html")]
struct StylePage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    tabs: LayerTabs,
    problems: Vec<String>,
    modes: Vec<Choice>,
    color: Field,
    property: Field,
    other: Field,
    categories: Vec<ClassRow>,
    ranges: Vec<ClassRow>,
    /// Colours with their meaning.
    legend: Vec<(String, String)>,
    drawing: Vec<Field>,
    visibility: Vec<Field>,
}

/// A category or a range as it is typed.
#[derive(Clone)]
struct ClassRow {
    value: String,
    color: String,
    /// Whether it is the lowest range, which has no start.
    is_lowest: bool,
    error: Option<String>,
}

impl ClassRow {
    fn new(value: impl Into<String>, color: impl Into<String>) -> Self {
        Self { value: value.into(), color: color.into(), is_lowest: false, error: None }
    }
}

/// The form as it is typed.
struct TypedStyle {
    mode: String,
    categories: Vec<ClassRow>,
    ranges: Vec<ClassRow>,
    /// The other fields by name.
    values: Pairs,
}

impl TypedStyle {
    fn of_layer(t: Localizer, layer: &Layer) -> Self {
        let style = &layer.style;
        let number = |number: f64| t.decimal_input(&number.to_string());
        let mut typed = Self {
            mode: "single".to_owned(),
            categories: Vec::new(),
            ranges: Vec::new(),
            values: Pairs::default(),
        };
        let (mut property, mut other) = ("", OTHER_COLOR);
        if let Some(by) = &style.color_by {
            (property, other) = (&by.property, &by.other);
            match &by.classes {
                ColorClasses::Categories(list) => {
                    typed.mode = "categories".to_owned();
                    let row = list.iter().map(|class| ClassRow::new(&class.value, &class.color));
                    typed.categories = row.collect();
                }
                ColorClasses::Ranges(list) => {
                    typed.mode = "ranges".to_owned();
                    let row = list.iter().map(|class| {
                        ClassRow::new(class.from.map(number).unwrap_or_default(), &class.color)
                    });
                    typed.ranges = row.collect();
                }
            }
        }
        typed.values = Pairs::default().with(&[
            ("color", &layer.color),
            ("property", property),
            ("other", other),
            ("lineWidth", &number(style.line_width)),
            ("pointSize", &number(style.point_size)),
            ("opacity", &number((style.opacity * 100.0).round())),
            ("label", style.label.as_deref().unwrap_or_default()),
            ("labelMinZoom", &style.label_min_zoom.to_string()),
            ("minZoom", &style.min_zoom.to_string()),
            ("maxZoom", &style.max_zoom.to_string()),
        ]);
        typed
    }

    fn of_form(form: &Pairs) -> Self {
        let rows = |value: &'static str, color: &'static str| {
            let rows = form.all(value).zip(form.all(color));
            rows.map(|(value, color)| ClassRow::new(value.trim(), color)).collect::<Vec<_>>()
        };
        let mut categories = rows("category", "category-color");
        categories.retain(|row| !row.value.is_empty());
        let ranges = rows("range", "range-color").into_iter().enumerate();
        let ranges = ranges.filter(|(index, row)| *index == 0 || !row.value.is_empty());
        Self {
            mode: form.get("mode").to_owned(),
            categories,
            ranges: ranges.map(|(_, row)| row).collect(),
            values: form.clone(),
        }
    }

    /// The style in JSON. A text that is not a number stays a text, which is rejected.
    fn to_json(&self, t: Localizer) -> Value {
        let number = |text: &str| match text.trim() {
            "" => Value::Null,
            text => t.parse_number(text).map_or_else(|| json!(text), Value::Number),
        };
        let value = |name: &str| number(self.values.get(name));
        let opacity = match value("opacity").as_f64() {
            Some(percent) => json!(percent / 100.0),
            None => value("opacity"),
        };
        let category = |row: &ClassRow| json!({ "value": row.value, "color": row.color });
        let range = |row: &ClassRow| json!({ "from": number(&row.value), "color": row.color });
        let classes: (&str, Vec<Value>) = match self.mode.as_str() {
            "categories" => ("categories", self.categories.iter().map(category).collect()),
            "ranges" => ("ranges", self.ranges.iter().map(range).collect()),
            _ => ("", Vec::new()),
        };
        let (property, other) = (self.values.given("property"), self.values.get("other"));
        let color_by = match classes {
            ("", _) => Value::Null,
            (name, list) => json!({ "property": property, name: list, "other": other }),
        };
        json!({
            "colorBy": color_by,
            "lineWidth": value("lineWidth"),
            "pointSize": value("pointSize"),
            "opacity": opacity,
            "label": self.values.given("label"),
            "labelMinZoom": value("labelMinZoom"),
            "minZoom": value("minZoom"),
            "maxZoom": value("maxZoom"),
        })
    }

    /// Puts the problems of categories and ranges beside them, and returns the others with the names of
    /// their fields.
    fn attach_errors(&mut self, t: Localizer, errors: &[FieldError]) -> Vec<FieldError> {
        let mut others = Vec::new();
        for error in errors {
            let field = error.field.strip_prefix("colorBy.").unwrap_or(&error.field);
            let mut parts = field.split('.');
            let rows = match parts.next() {
                Some("categories") => &mut self.categories,
                Some("ranges") => &mut self.ranges,
                _ => &mut Vec::new(),
            };
            let index = parts.next().and_then(|index| index.parse::<usize>().ok());
            match index.and_then(|index| rows.get_mut(index)) {
                Some(row) => row.error = Some(capitalize(&t.violation(&error.violation))),
                None => others.push(FieldError::new(field, error.violation.clone())),
            }
        }
        others
    }
}

/// The names of properties that a style can refer to, declared or not.
fn property_names(layer: &Layer) -> BTreeSet<&str> {
    let counted = layer.fields.iter().filter(|field| field.field_type().is_some());
    let counted = counted.map(|field| field.name.as_str());
    counted.chain(layer.declared_fields.iter().map(|field| field.name.as_str())).collect()
}

fn property_select(field: Field, names: &BTreeSet<&str>, selected: &str, none: Message) -> Field {
    let mut choices = vec![Choice::new("", none, selected.is_empty())];
    choices.extend(names.iter().map(|name| Choice::new(*name, *name, *name == selected)));
    if !selected.is_empty() && !names.contains(selected) {
        choices.push(Choice::new(selected, selected, true));
    }
    Field { input: Input::Select(choices), ..field }
}

/// The colours of a style with their meaning.
fn legend(t: Localizer, by: &ColorBy) -> Vec<(String, String)> {
    let number = |number: f64| t.decimal_input(&number.to_string());
    let mut entries: Vec<(String, String)> = match &by.classes {
        ColorClasses::Categories(list) => {
            list.iter().map(|class| (class.color.clone(), class.value.clone())).collect()
        }
        ColorClasses::Ranges(list) => {
            let ends = list.iter().skip(1).map(|next| next.from).chain([None]);
            let entry = |(class, end): (&groma_domain::layer::RangeClass, Option<f64>)| {
                let label = match (class.from, end) {
                    (None, None) => t.msg("layer-range-all"),
                    (None, Some(end)) => t.msg("layer-range-below").arg("end", number(end)),
                    (Some(from), None) => t.msg("layer-range-from").arg("from", number(from)),
                    (Some(from), Some(end)) => t
                        .msg("layer-range-between")
                        .arg("from", number(from))
                        .arg("end", number(end)),
                };
                (class.color.clone(), label.to_string())
            };
            list.iter().zip(ends).map(entry).collect()
        }
    };
    entries.push((by.other.clone(), t.msg("layer-style-other-label").into()));
    entries
}

/// All fields but the categories and ranges: three of the colours, five of the drawing, two of the
/// visibility.
fn form_fields(t: Localizer, layer: &Layer, typed: &Pairs) -> Vec<Field> {
    let names = property_names(layer);
    let color = |name, label| Field::new(name, label, Input::Color).value(typed.get(name));
    let decimal = |name, label| Field::new(name, label, Input::Decimal).value(typed.get(name));
    let select = |name, label, none| {
        property_select(Field::line(name, label), &names, typed.get(name), none)
    };
    let size_hint = || t.msg("layer-style-size-hint");
    vec![
        color("color", t.msg("layer-style-color")).hint(t.msg("layer-style-color-hint")),
        select("property", t.msg("layer-style-property"), t.msg("layer-style-property-none")),
        color("other", t.msg("layer-style-other")),
        decimal("lineWidth", t.msg("layer-style-line-width")).hint(size_hint()),
        decimal("pointSize", t.msg("layer-style-point-size")).hint(size_hint()),
        decimal("opacity", t.msg("layer-style-opacity")),
        select("label", t.msg("layer-style-label"), t.msg("layer-style-label-none")),
        decimal("labelMinZoom", t.msg("layer-style-label-zoom")),
        decimal("minZoom", t.msg("layer-style-min-zoom")).hint(t.msg("layer-style-zoom-hint")),
        decimal("maxZoom", t.msg("layer-style-max-zoom")),
    ]
}

async fn show(
    ctx: &MemberContext,
    layer: &Layer,
    mut typed: TypedStyle,
    errors: &[FieldError],
) -> Result<Response, WebError> {
    let t = ctx.t();
    let errors = typed.attach_errors(t, errors);
    let status = if errors.is_empty() && typed.rows().all(|row| row.error.is_none()) {
        StatusCode::OK
    } else {
        StatusCode::BAD_REQUEST
    };
    let mut fields = form_fields(t, layer, &typed.values);
    let problems = attach_errors(t, &mut fields, &errors);
    let visibility = fields.split_off(8);
    let drawing = fields.split_off(3);
    let mut simple = fields.into_iter();
    let mut next = || simple.next().ok_or_else(|| WebError::internal("the form has three colors"));
    let (color, property, other) = (next()?, next()?, next()?);
    let mode = |word: &'static str| {
        Choice::new(word, t.msg("layer-style-mode-name").arg("mode", word), word == typed.mode)
    };
    let modes = ["single", "categories", "ranges"].map(mode).to_vec();
    let parsed = LayerStyle::parse(&typed.to_json(t)).ok().and_then(|style| style.color_by);
    let legend = parsed.map(|by| legend(t, &by)).unwrap_or_default();
    typed.add_empty_rows();
    let content = StylePage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        tabs: LayerTabs::new(ctx, layer, "style").await?,
        problems,
        modes,
        color,
        property,
        other,
        categories: typed.categories,
        ranges: typed.ranges,
        legend,
        drawing,
        visibility,
    };
    let title = t.msg("layer-style-title").arg("name", &layer.name);
    ctx.page_with_status(status, Meta::new(title, Nav::Settings), &content).await
}

impl TypedStyle {
    fn rows(&self) -> impl Iterator<Item = &ClassRow> {
        self.categories.iter().chain(&self.ranges)
    }

    /// Adds an empty row for one more category and one more range.
    fn add_empty_rows(&mut self) {
        let color = |count: usize| suggest::CATEGORY_COLORS[count % suggest::CATEGORY_COLORS.len()];
        self.categories.push(ClassRow::new("", color(self.categories.len())));
        if self.ranges.is_empty() {
            self.ranges.push(ClassRow::new("", suggest::RANGE_COLORS[0]));
        }
        let color = suggest::RANGE_COLORS[self.ranges.len().min(suggest::RANGE_COLORS.len() - 1)];
        self.ranges.push(ClassRow::new("", color));
        self.ranges[0].is_lowest = true;
    }
}

pub(in crate::web) async fn page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let layer = existing(&ctx, &id).await?;
    show(&ctx, &layer, TypedStyle::of_layer(ctx.t(), &layer), &[]).await
}

pub(in crate::web) async fn update(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let layer = existing(&ctx, &id).await?;
    let mut typed = TypedStyle::of_form(&form);
    if form.get("action") == "suggest" {
        let problem = suggest::suggest(t, &layer, &mut typed).err();
        return show(&ctx, &layer, typed, problem.as_slice()).await;
    }
    let saved = async {
        let setup = LayerSetup {
            style: Some(LayerStyle::parse(&typed.to_json(t))?),
            color: Some(form.get("color").to_owned()),
            ..LayerSetup::default()
        };
        let key = LayerKey::Id(layer.id);
        ctx.store().set_up_layer(ctx.workspace_id(), ctx.actor(), key, setup, ctx.now()).await
    };
    match saved.await {
        Ok(layer) => {
            let message = t.msg("layer-style-saved").arg("name", layer.name);
            Ok(ctx.redirect_with_flash(&format!("{PATH}/{id}/style"), &Flash::new(message)))
        }
        Err(error) => match error.domain_error() {
            Some(DomainError::Invalid(errors)) => show(&ctx, &layer, typed, errors).await,
            _ => Err(error.into()),
        },
    }
}
