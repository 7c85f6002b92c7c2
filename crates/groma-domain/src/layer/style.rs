//! How maps draw a layer: colours by a property, sizes, labels and visibility by zoom.

use crate::{DomainError, FieldErrors, Violation, status::is_color, text::parse_line};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;

/// The zooms of maps.
pub const STYLE_ZOOMS: RangeInclusive<u8> = 0..=24;

/// The most categories or ranges.
const MAX_CLASSES: usize = 50;
/// The maximum length of a property name or a category, in characters.
const MAX_TEXT: usize = 200;

/// The style of a layer. In JSON, every member has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct LayerStyle {
    /// Colours by a property; `None` if all features have the layer's colour.
    pub color_by: Option<ColorBy>,
    /// The width of lines and outlines at zoom 18, in pixels. Lines are thinner at lower zooms.
    pub line_width: f64,
    /// The diameter of points at zoom 18, in pixels. Points are smaller at lower zooms.
    pub point_size: f64,
    /// From 0.1 to 1.
    pub opacity: f64,
    /// The property that labels show.
    pub label: Option<String>,
    /// The lowest zoom with labels.
    pub label_min_zoom: u8,
    /// The lowest zoom at which the layer is visible.
    pub min_zoom: u8,
    /// The highest zoom at which the layer is visible.
    pub max_zoom: u8,
}

impl Default for LayerStyle {
    fn default() -> Self {
        Self {
            color_by: None,
            line_width: 2.0,
            point_size: 12.0,
            opacity: 1.0,
            label: None,
            label_min_zoom: 14,
            min_zoom: *STYLE_ZOOMS.start(),
            max_zoom: *STYLE_ZOOMS.end(),
        }
    }
}

/// Colours by the values of a property.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorBy {
    /// The property.
    pub property: String,
    /// The colours.
    pub classes: ColorClasses,
    /// The colour of features without a value, or with one that is in no class.
    pub other: String,
}

/// Classes of values with their colours.
#[derive(Clone, Debug, PartialEq)]
pub enum ColorClasses {
    /// A colour for each value.
    Categories(Vec<Category>),
    /// A colour for each range of numbers.
    Ranges(Vec<RangeClass>),
}

/// A value with its colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Category {
    /// The value as text: `1` and `"1"` are the same.
    pub value: String,
    /// Its colour.
    pub color: String,
}

/// A range of numbers, up to the start of the next one, with its colour.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeClass {
    /// The smallest number; `None` for the lowest range.
    pub from: Option<f64>,
    /// Its colour.
    pub color: String,
}

impl TryFrom<Value> for LayerStyle {
    type Error = DomainError;

    fn try_from(value: Value) -> Result<Self, DomainError> {
        Self::parse(&value)
    }
}

impl From<LayerStyle> for Value {
    fn from(style: LayerStyle) -> Self {
        json!({
            "colorBy": style.color_by.map(Value::from),
            "lineWidth": style.line_width,
            "pointSize": style.point_size,
            "opacity": style.opacity,
            "label": style.label,
            "labelMinZoom": style.label_min_zoom,
            "minZoom": style.min_zoom,
            "maxZoom": style.max_zoom,
        })
    }
}

impl From<ColorBy> for Value {
    fn from(ColorBy { property, classes, other }: ColorBy) -> Self {
        let (member, list): (_, Vec<Self>) = match classes {
            ColorClasses::Categories(list) => {
                let json = |class: Category| json!({ "value": class.value, "color": class.color });
                ("categories", list.into_iter().map(json).collect())
            }
            ColorClasses::Ranges(list) => {
                let json = |class: RangeClass| json!({ "from": class.from, "color": class.color });
                ("ranges", list.into_iter().map(json).collect())
            }
        };
        json!({ "property": property, member: list, "other": other })
    }
}

/// An object of the style while it is parsed, with the path that problems name.
struct Members<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Members<'a> {
    /// The members of an object, which can only have these names.
    fn new(value: &'a Value, path: &str, names: &[&str], errors: &mut FieldErrors) -> Option<Self> {
        let Some(map) = value.as_object() else {
            errors.add(path.trim_end_matches('.'), Violation::NotObject);
            return None;
        };
        for name in map.keys().filter(|name| !names.contains(&name.as_str())) {
            errors.add(&format!("{path}{name}"), Violation::UnknownField);
        }
        Some(Self { path: path.to_owned(), map })
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    fn number(
        &self,
        name: &str,
        default: f64,
        (min, max): (&'static str, &'static str),
        errors: &mut FieldErrors,
    ) -> f64 {
        let Some(value) = self.get(name) else { return default };
        let bounds = min.parse().unwrap_or(f64::MIN)..=max.parse().unwrap_or(f64::MAX);
        let number = value.as_f64().filter(|number| bounds.contains(number));
        number.unwrap_or_else(|| {
            errors.add(&self.path(name), Violation::OutOfRange { min, max });
            default
        })
    }

    fn zoom(&self, name: &str, default: u8, errors: &mut FieldErrors) -> u8 {
        let Some(value) = self.get(name) else { return default };
        let (min, max) = STYLE_ZOOMS.into_inner();
        let zoom = value.as_u64().and_then(|zoom| u8::try_from(zoom).ok());
        zoom.filter(|zoom| STYLE_ZOOMS.contains(zoom)).unwrap_or_else(|| {
            let (min, max) = (u32::from(min), u32::from(max));
            errors.add(&self.path(name), Violation::NotInteger { min, max });
            default
        })
    }

    fn color(&self, name: &str, errors: &mut FieldErrors) -> String {
        let text = self.get(name).and_then(Value::as_str).unwrap_or_default();
        let color = text.trim().to_lowercase();
        if !is_color(&color) {
            errors.add(&self.path(name), Violation::NotColor);
        }
        color
    }
}

impl LayerStyle {
    /// Parses a style. All problems are reported at once; they name a member such as `lineWidth` or
    /// `colorBy.categories.2.color`.
    pub fn parse(value: &Value) -> Result<Self, DomainError> {
        const NAMES: [&str; 8] = [
            "colorBy",
            "lineWidth",
            "pointSize",
            "opacity",
            "label",
            "labelMinZoom",
            "minZoom",
            "maxZoom",
        ];
        let default = Self::default();
        let mut errors = FieldErrors::default();
        let Some(members) = Members::new(value, "", &NAMES, &mut errors) else {
            return Err(DomainError::invalid("style", Violation::NotObject));
        };
        let label = members.get("label").map(|label| parse_property(Some(label)));
        let style = Self {
            color_by: members.get("colorBy").and_then(|value| ColorBy::parse(value, &mut errors)),
            line_width: members.number("lineWidth", default.line_width, ("0.5", "20"), &mut errors),
            point_size: members.number("pointSize", default.point_size, ("2", "60"), &mut errors),
            opacity: members.number("opacity", default.opacity, ("0.1", "1"), &mut errors),
            label: errors.check("label", label.transpose()).flatten(),
            label_min_zoom: members.zoom("labelMinZoom", default.label_min_zoom, &mut errors),
            min_zoom: members.zoom("minZoom", default.min_zoom, &mut errors),
            max_zoom: members.zoom("maxZoom", default.max_zoom, &mut errors),
        };
        if style.min_zoom > style.max_zoom {
            let (min, max) = (u32::from(style.min_zoom), u32::from(default.max_zoom));
            errors.add("maxZoom", Violation::NotInteger { min, max });
        }
        errors.finish(Some(style))
    }
}

fn parse_property(value: Option<&Value>) -> Result<String, Violation> {
    let value = value.ok_or(Violation::Required)?;
    parse_line(value.as_str().ok_or(Violation::NotString)?, MAX_TEXT)
}

impl ColorBy {
    fn parse(value: &Value, errors: &mut FieldErrors) -> Option<Self> {
        let names = ["property", "categories", "ranges", "other"];
        let members = Members::new(value, "colorBy.", &names, errors)?;
        let property = errors.check("colorBy.property", parse_property(members.get("property")));
        let classes = match (members.get("categories"), members.get("ranges")) {
            (Some(list), None) => parse_categories(list, errors),
            (None, Some(list)) => parse_ranges(list, errors),
            _ => {
                let values = "categories, ranges".to_owned();
                errors.add("colorBy", Violation::NotOneOf { values });
                None
            }
        };
        let other = members.color("other", errors);
        Some(Self { property: property?, classes: classes?, other })
    }
}

/// The items of a list of classes.
fn class_list<'a>(
    value: &'a Value,
    path: &str,
    errors: &mut FieldErrors,
) -> Option<&'a Vec<Value>> {
    let list = match value.as_array() {
        None => Err(Violation::NotList),
        Some(list) if list.is_empty() => Err(Violation::Empty),
        Some(list) if list.len() > MAX_CLASSES => {
            Err(Violation::TooManyEntries { max: MAX_CLASSES })
        }
        Some(list) => Ok(list),
    };
    errors.check(path, list)
}

fn parse_categories(value: &Value, errors: &mut FieldErrors) -> Option<ColorClasses> {
    let list = class_list(value, "colorBy.categories", errors)?;
    let mut categories: Vec<Category> = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let path = format!("colorBy.categories.{index}.");
        let Some(members) = Members::new(item, &path, &["value", "color"], errors) else {
            continue;
        };
        let value = match members.get("value") {
            None => Err(Violation::Required),
            Some(Value::String(text)) => parse_line(text, MAX_TEXT),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
            Some(_) => Err(Violation::NotScalar),
        };
        let value = value.and_then(|value| {
            let is_taken = categories.iter().any(|other| other.value == value);
            if is_taken { Err(Violation::Taken { value }) } else { Ok(value) }
        });
        let value = errors.check(&members.path("value"), value).unwrap_or_default();
        categories.push(Category { value, color: members.color("color", errors) });
    }
    Some(ColorClasses::Categories(categories))
}

fn parse_ranges(value: &Value, errors: &mut FieldErrors) -> Option<ColorClasses> {
    let list = class_list(value, "colorBy.ranges", errors)?;
    let mut ranges: Vec<RangeClass> = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let path = format!("colorBy.ranges.{index}.");
        let Some(members) = Members::new(item, &path, &["from", "color"], errors) else {
            continue;
        };
        let previous = ranges.last().and_then(|range| range.from);
        let from = match members.get("from").map(|from| from.as_f64().filter(|n| n.is_finite())) {
            None if index == 0 => Ok(None),
            None => Err(Violation::NoFirstRange),
            Some(_) if index == 0 => Err(Violation::NoFirstRange),
            Some(None) => Err(Violation::NotNumber),
            Some(Some(from)) if previous.is_some_and(|previous| from <= previous) => {
                Err(Violation::NotAscending)
            }
            Some(from) => Ok(from),
        };
        let from = errors.check(&members.path("from"), from).flatten();
        ranges.push(RangeClass { from, color: members.color("color", errors) });
    }
    Some(ColorClasses::Ranges(ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(style: &Value) -> Vec<String> {
        match LayerStyle::parse(style) {
            Err(DomainError::Invalid(errors)) => errors.into_iter().map(|e| e.field).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn style_is_the_same_after_it_was_saved() {
        for style in [
            json!({}),
            json!({ "label": "number", "labelMinZoom": 16, "opacity": 0.5, "lineWidth": 3 }),
            json!({ "colorBy": { "property": "use", "other": "#CCCCCC", "categories": [
                { "value": "wood", "color": "#117733" }, { "value": 2, "color": "#88ccee" } ] } }),
            json!({ "colorBy": { "property": "area", "other": "#cccccc", "ranges": [
                { "color": "#ffffff" }, { "from": 0.5, "color": "#000000" } ] } }),
        ] {
            let parsed = LayerStyle::parse(&style).unwrap();
            let text = serde_json::to_string(&parsed).unwrap();
            assert_eq!(serde_json::from_str::<LayerStyle>(&text).unwrap(), parsed, "{text}");
        }
        assert_eq!(LayerStyle::parse(&json!({})).unwrap(), LayerStyle::default());
    }

    #[test]
    fn all_problems_of_a_style_are_reported_at_once() {
        let style = json!({ "lineWidth": 0, "pointSize": "big", "opacity": 2, "label": " ",
            "labelMinZoom": 25, "minZoom": 9, "maxZoom": 8, "glow": true });
        assert_eq!(
            problems(&style),
            ["glow", "lineWidth", "pointSize", "opacity", "label", "labelMinZoom", "maxZoom"]
        );
        let categories = json!({ "colorBy": { "categories": [
            { "value": "wood", "color": "green" }, { "value": "wood", "color": "#117733" } ] } });
        assert_eq!(
            problems(&categories),
            [
                "colorBy.property",
                "colorBy.categories.0.color",
                "colorBy.categories.1.value",
                "colorBy.other"
            ]
        );
        let ranges = json!({ "colorBy": { "property": "area", "other": "#cccccc", "ranges": [
            { "from": 1, "color": "#117733" }, { "from": 3, "color": "#117733" },
            { "from": 2, "color": "#117733" }, { "color": "#117733" } ] } });
        assert_eq!(
            problems(&ranges),
            ["colorBy.ranges.0.from", "colorBy.ranges.2.from", "colorBy.ranges.3.from"]
        );
        assert_eq!(
            problems(&json!({ "colorBy": { "property": "a", "other": "#cccccc" } })),
            ["colorBy"]
        );
    }
}
