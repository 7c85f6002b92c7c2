//! The declared fields of a layer: properties that features must fit when they are written. Properties that
//! are not declared can have any value.

use crate::{DomainError, FieldErrors, Violation, text::parse_line};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most declared fields of a layer, and the most choices of a field.
const MAX_FIELDS: usize = 100;
const MAX_CHOICES: usize = 200;
/// The maximum lengths of a name and of a unit, in characters.
const MAX_NAME: usize = 100;
const MAX_UNIT: usize = 20;
/// The most choices that a message lists.
const MAX_LISTED_CHOICES: usize = 20;

/// A declared property of a layer's features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredField {
    /// Name of the property.
    pub name: String,
    /// Type of its values.
    #[serde(rename = "type")]
    pub field_type: DeclaredType,
    /// Whether every feature must have a value.
    pub required: bool,
    /// The possible values; any value of the type if empty.
    pub choices: Vec<Value>,
    /// The value of new features that have none.
    pub default: Option<Value>,
    /// The unit of its values, for people.
    pub unit: Option<String>,
}

/// The type of a declared field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredType {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A date such as `2026-11-15`.
    Date,
}

impl DeclaredType {
    /// Every type with its name.
    pub const NAMES: [(&str, Self); 5] = [
        ("text", Self::Text),
        ("number", Self::Number),
        ("integer", Self::Integer),
        ("boolean", Self::Boolean),
        ("date", Self::Date),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }

    fn parse(value: Option<&Value>) -> Result<Self, Violation> {
        let name = value.ok_or(Violation::Required)?.as_str().unwrap_or_default();
        let found = Self::NAMES.iter().find(|(other, _)| *other == name);
        let values = || Self::NAMES.map(|(name, _)| name).join(", ");
        found.map(|(_, kind)| *kind).ok_or_else(|| Violation::NotOneOf { values: values() })
    }

    fn check(self, value: &Value) -> Result<(), Violation> {
        let is_valid = match self {
            Self::Text => value.is_string(),
            Self::Number => number(value).is_some(),
            Self::Integer => number(value).is_some_and(|number| number.fract() == 0.0),
            Self::Boolean => value.is_boolean(),
            Self::Date => value.as_str().is_some_and(is_date),
        };
        match self {
            _ if is_valid => Ok(()),
            Self::Text => Err(Violation::NotString),
            Self::Number => Err(Violation::NotNumber),
            Self::Integer => Err(Violation::NotWhole),
            Self::Boolean => Err(Violation::NotBoolean),
            Self::Date => Err(Violation::NotDate),
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_number()?.as_f64().filter(|number| number.is_finite())
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

/// Numbers are the same if their values are, however they are written.
fn is_same(one: &Value, other: &Value) -> bool {
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

impl DeclaredField {
    /// Checks a value that is not null.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        self.field_type.check(value)?;
        let is_choice = |choice: &Value| is_same(choice, value);
        if self.choices.is_empty() || self.choices.iter().any(is_choice) {
            return Ok(());
        }
        let mut values: Vec<_> =
            self.choices.iter().take(MAX_LISTED_CHOICES).map(plain_text).collect();
        if self.choices.len() > MAX_LISTED_CHOICES {
            values.push("…".to_owned());
        }
        Err(Violation::NotOneOf { values: values.join(", ") })
    }

    /// Parses a declaration. Problems are about `fields.INDEX.MEMBER`.
    fn parse(value: &Value, index: usize, errors: &mut FieldErrors) -> Option<Self> {
        let path = |member: &str| format!("fields.{index}.{member}");
        let Some(members) = value.as_object() else {
            errors.add(&format!("fields.{index}"), Violation::NotObject);
            return None;
        };
        const MEMBERS: [&str; 6] = ["name", "type", "required", "choices", "default", "unit"];
        for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            errors.add(&path(name), Violation::UnknownField);
        }
        let given = |member: &str| members.get(member).filter(|value| !value.is_null());
        let name = given("name").map_or(Err(Violation::Required), |name| match name.as_str() {
            Some(name) => parse_line(name, MAX_NAME),
            None => Err(Violation::NotString),
        });
        let name = errors.check(&path("name"), name);
        let field_type = errors.check(&path("type"), DeclaredType::parse(given("type")));
        let required = given("required")
            .map_or(Ok(false), |value| value.as_bool().ok_or(Violation::NotBoolean));
        let required = errors.check(&path("required"), required);
        let unit = given("unit").map(|unit| match unit.as_str() {
            Some(unit) => parse_line(unit, MAX_UNIT),
            None => Err(Violation::NotString),
        });
        let unit = errors.check(&path("unit"), unit.transpose());
        let field_type = field_type?;
        let choices = parse_choices(field_type, given("choices"));
        let choices = errors.check(&path("choices"), choices)?;
        let default = given("default").cloned();
        let field =
            Self { name: name?, field_type, required: required?, choices, default, unit: unit? };
        if let Some(default) = &field.default {
            errors.check(&path("default"), field.check(default))?;
        }
        Some(field)
    }
}

fn parse_choices(kind: DeclaredType, value: Option<&Value>) -> Result<Vec<Value>, Violation> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let choices = value.as_array().ok_or(Violation::NotList)?;
    if kind == DeclaredType::Boolean && !choices.is_empty() {
        return Err(Violation::NotForBoolean);
    }
    if choices.len() > MAX_CHOICES {
        return Err(Violation::TooManyEntries { max: MAX_CHOICES });
    }
    for (index, choice) in choices.iter().enumerate() {
        kind.check(choice)?;
        if choices[..index].iter().any(|earlier| is_same(earlier, choice)) {
            return Err(Violation::Taken { value: plain_text(choice) });
        }
    }
    Ok(choices.clone())
}

/// A text without quotes, any other value as JSON.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Parses the fields of a layer from a JSON list. All problems are reported at once.
pub fn parse_fields(value: &Value) -> Result<Vec<DeclaredField>, DomainError> {
    let Some(list) = value.as_array() else {
        return Err(DomainError::invalid("fields", Violation::NotList));
    };
    if list.len() > MAX_FIELDS {
        return Err(DomainError::invalid("fields", Violation::TooManyEntries { max: MAX_FIELDS }));
    }
    let mut errors = FieldErrors::default();
    let mut fields: Vec<DeclaredField> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let Some(field) = DeclaredField::parse(value, index, &mut errors) else { continue };
        if fields.iter().any(|other| other.name == field.name) {
            let taken = Violation::Taken { value: field.name.clone() };
            errors.add(&format!("fields.{index}.name"), taken);
        }
        fields.push(field);
    }
    errors.finish(Some(fields))
}

/// What is wrong with the properties of a feature: the name of each property with its problem. A property
/// with the same value as `old`, the stored feature, is not checked, so that a feature from before the
/// declaration can still be moved.
#[must_use]
pub fn check_properties(
    fields: &[DeclaredField],
    properties: &Map<String, Value>,
    old: Option<&Map<String, Value>>,
) -> Vec<(String, Violation)> {
    let problem = |field: &DeclaredField| {
        let given = |map: &Map<String, Value>| {
            map.get(&field.name).filter(|value| !value.is_null()).cloned()
        };
        let value = given(properties);
        if old.is_some_and(|old| given(old) == value) {
            return None;
        }
        let checked = match &value {
            None if field.required => Err(Violation::Required),
            None => Ok(()),
            Some(value) => field.check(value),
        };
        checked.err().map(|violation| (field.name.clone(), violation))
    };
    fields.iter().filter_map(problem).collect()
}

/// Adds the defaults of absent properties to a new feature. Returns whether there were any.
///
/// A feature that replaces `old` gets those that `old` has a value for, so that sending the same feature
/// twice changes nothing.
pub fn fill_defaults(
    fields: &[DeclaredField],
    properties: &mut Map<String, Value>,
    old: Option<&Map<String, Value>>,
) -> bool {
    let before = properties.len();
    for DeclaredField { name, default, .. } in fields {
        let is_expected = old.is_none_or(|old| old.get(name).is_some_and(|value| !value.is_null()));
        if let Some(default) = default
            && is_expected
            && !properties.contains_key(name)
        {
            properties.insert(name.clone(), default.clone());
        }
    }
    properties.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    fn fields() -> Vec<DeclaredField> {
        parse_fields(&json!([
            { "name": "use", "type": "text", "required": true, "choices": ["meadow", "wood"] },
            { "name": "area", "type": "number", "unit": "m²" },
            { "name": "floors", "type": "integer", "default": 1 },
            { "name": "listed", "type": "boolean" },
            { "name": "surveyed", "type": "date" },
        ]))
        .unwrap()
    }

    fn problems(properties: Value, old: Option<Value>) -> Vec<(String, Violation)> {
        let old = old.map(map);
        check_properties(&fields(), &map(properties), old.as_ref())
    }

    #[test]
    fn values_must_fit_type_and_choices() {
        let good = json!({ "use": "wood", "area": 1.50, "floors": 2.0, "listed": false,
            "surveyed": "2026-02-28", "other": { "anything": [1] } });
        assert_eq!(problems(good, None), []);
        let bad = json!({ "use": "Wood", "area": "12", "floors": 1.5, "listed": 0,
            "surveyed": "2026-02-30" });
        let found = problems(bad, None);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["use", "area", "floors", "listed", "surveyed"]);
        assert_eq!(found[0].1, Violation::NotOneOf { values: "meadow, wood".to_owned() });
    }

    #[test]
    fn required_field_must_be_present_and_not_null() {
        for absent in [json!({}), json!({ "use": null })] {
            assert_eq!(problems(absent, None), [("use".to_owned(), Violation::Required)]);
        }
    }

    #[test]
    fn only_changed_properties_of_an_old_feature_are_checked() {
        let old = json!({ "use": "lake", "area": "?" });
        assert_eq!(problems(old.clone(), Some(old.clone())), []);
        let changed = json!({ "use": "pond", "area": "?" });
        assert_eq!(problems(changed, Some(old)).len(), 1);
        assert_eq!(problems(json!({}), Some(json!({}))), []);
        assert_eq!(problems(json!({}), Some(json!({ "use": "wood" }))).len(), 1);
    }

    #[test]
    fn defaults_fill_absent_properties_only() {
        let mut properties = map(json!({ "use": "wood" }));
        assert!(fill_defaults(&fields(), &mut properties, None));
        assert_eq!(properties["floors"], 1);
        let mut properties = map(json!({ "floors": null }));
        assert!(!fill_defaults(&fields(), &mut properties, None));
        let (mut again, old) = (map(json!({})), map(json!({ "floors": 4 })));
        assert!(fill_defaults(&fields(), &mut again, Some(&old)));
        let (mut moved, old) = (map(json!({})), map(json!({})));
        assert!(!fill_defaults(&fields(), &mut moved, Some(&old)));
    }

    #[test]
    fn all_problems_of_a_declaration_are_reported_at_once() {
        let parsed = parse_fields(&json!([
            { "name": " ", "type": "colour" },
            { "name": "a", "type": "number", "choices": [1, "2"] },
            { "name": "b", "type": "number", "choices": [1, 1.0] },
            { "name": "c", "type": "boolean", "choices": [true] },
            { "name": "d", "type": "integer", "choices": [1, 2], "default": 3, "size": 4 },
            { "name": "e", "type": "text", "required": "yes", "unit": "a unit that is much too long" },
            { "name": "f", "type": "date" },
            { "name": "f", "type": "text" },
            "g",
        ]));
        let DomainError::Invalid(errors) = parsed.unwrap_err() else { panic!("wrong error") };
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "fields.0.name",
                "fields.0.type",
                "fields.1.choices",
                "fields.2.choices",
                "fields.3.choices",
                "fields.4.size",
                "fields.4.default",
                "fields.5.required",
                "fields.5.unit",
                "fields.7.name",
                "fields.8",
            ]
        );
    }
}
