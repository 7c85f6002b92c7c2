//! Parses the requested values of a record from a JSON object, a form or a row of a file.
//!
//! All three use the same reader, so that each field has one rule. A missing field keeps its value, a
//! null or an empty cell clears it, read-only fields are ignored, and unknown fields are errors. The
//! reader collects all errors.

use crate::{
    Currency, DomainError, Email, FieldErrors, Key, Reference, StatusId, Timestamp, Violation,
    person::PersonRef, time::Date,
};
use rust_decimal::Decimal;
use serde_json::{Map, Value};

const MAX_PEOPLE: usize = 100;
const MAX_TAGS: usize = 50;
const MAX_TAG_LENGTH: usize = 64;
const MAX_CUSTOM_FIELDS: usize = 100;
const MAX_CUSTOM_FIELD_NAME: usize = 64;
const MAX_CUSTOM_FIELD_TEXT: usize = 2_000;
const MAX_CUSTOM_FIELD_NUMBER: usize = 40;

/// A field of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// Keep the current value, or use the default of a new record.
    #[default]
    Keep,
    /// Set this value.
    Set(T),
}

impl<T> Field<T> {
    /// The new value, or `current` if the field is kept.
    pub fn or(self, current: T) -> T {
        match self {
            Self::Keep => current,
            Self::Set(value) => value,
        }
    }

    /// The new value, if there is one.
    pub fn into_option(self) -> Option<T> {
        match self {
            Self::Keep => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Borrows the new value.
    pub fn as_ref(&self) -> Field<&T> {
        match self {
            Self::Keep => Field::Keep,
            Self::Set(value) => Field::Set(value),
        }
    }
}

/// A reference to a status in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusRef {
    /// By ID.
    Id(StatusId),
    /// By name, without regard to case or accents.
    Name(String),
}

impl std::fmt::Display for StatusRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// User-defined fields: strings, numbers, booleans and nulls.
pub type CustomFields = Map<String, Value>;

/// The requested change of the custom fields: all of them, single ones, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomFieldsInput {
    all: Field<CustomFields>,
    single: CustomFields,
}

impl CustomFieldsInput {
    /// Applies the change to the current custom fields.
    pub(crate) fn apply(
        self,
        current: Option<&CustomFields>,
        errors: &mut FieldErrors,
    ) -> CustomFields {
        let mut fields = self.all.or(current.cloned().unwrap_or_default());
        fields.extend(self.single);
        if fields.len() > MAX_CUSTOM_FIELDS {
            let violation = Violation::TooManyCustomFields { max: MAX_CUSTOM_FIELDS };
            errors.add("customFields", violation);
        }
        fields
    }
}

/// The limits of a text field.
#[derive(Clone, Copy)]
pub enum TextLimit {
    /// A name or title: one line of up to 300 characters.
    Line,
    /// A category, vendor or similar: one line of up to 200 characters.
    Short,
    /// A description: up to 20,000 characters, with line breaks.
    Long,
}

impl TextLimit {
    fn max_length(self) -> usize {
        match self {
            Self::Line => 300,
            Self::Short => 200,
            Self::Long => 20_000,
        }
    }

    fn check(self, text: &str) -> Result<String, Violation> {
        let text = text.trim();
        let is_break = |c| matches!(self, Self::Long) && matches!(c, '\n' | '\r' | '\t');
        if text.chars().any(|c| c.is_control() && !is_break(c)) {
            return Err(Violation::ControlCharacters);
        }
        let max = self.max_length();
        if text.chars().count() > max {
            return Err(Violation::TooLong { max });
        }
        Ok(text.to_owned())
    }
}

/// Reads the fields of one input.
///
/// Each method reads one field. An invalid value is recorded as an error, and the method returns
/// [`Field::Keep`]; [`FieldReader::finish`] then returns all errors.
pub struct FieldReader<'a> {
    values: &'a Map<String, Value>,
    known: Vec<&'static str>,
    errors: FieldErrors,
}

impl<'a> FieldReader<'a> {
    /// Starts to read `values`. The `read_only` fields are ignored.
    #[must_use]
    pub fn new(values: &'a Map<String, Value>, read_only: &[&'static str]) -> Self {
        Self { values, known: read_only.to_vec(), errors: FieldErrors::default() }
    }

    /// Returns `input`, or the errors. A field that no method has read is an error.
    pub fn finish<T>(mut self, input: T) -> Result<T, DomainError> {
        for name in self.values.keys() {
            let is_known = self.known.contains(&name.as_str())
                || (name.starts_with("customFields.") && self.known.contains(&"customFields"));
            if !is_known {
                self.errors.add(name, Violation::UnknownField);
            }
        }
        self.errors.finish(Some(input))
    }

    /// An optional text.
    pub fn text(&mut self, name: &'static str, limit: TextLimit) -> Field<Option<String>> {
        self.scalar(name, |text| limit.check(text))
    }

    /// A text that must not be empty.
    pub fn required_text(&mut self, name: &'static str, limit: TextLimit) -> Field<String> {
        let field = self.text(name, limit);
        self.required(name, field)
    }

    /// A decimal number with at most `max` decimal places.
    pub fn decimal(&mut self, name: &'static str, max: u32) -> Field<Option<Decimal>> {
        self.scalar(name, |text| {
            let number = Decimal::from_str_exact(text)
                .or_else(|_| Decimal::from_scientific(text))
                .map_err(|_| Violation::NotNumber)?;
            if number.normalize().scale() > max {
                return Err(Violation::TooManyDecimals { max });
            }
            Ok(number)
        })
    }

    /// A date, `YYYY-MM-DD`.
    pub fn date(&mut self, name: &'static str) -> Field<Option<Date>> {
        self.scalar(name, |text| {
            // `Date::from_str` alone would accept other formats, such as `20261115`.
            let has_length = text.len() == 10 && text.is_ascii();
            let date = if has_length { text.parse::<Date>().ok() } else { None };
            date.ok_or(Violation::NotDate)
        })
    }

    /// An RFC 3339 timestamp.
    pub fn timestamp(&mut self, name: &'static str) -> Field<Option<Timestamp>> {
        self.scalar(name, |text| Timestamp::parse(text).map_err(|_| Violation::NotTimestamp))
    }

    /// A currency code. Empty selects the default.
    pub fn currency(&mut self, name: &'static str) -> Field<Option<Currency>> {
        self.scalar(name, str::parse)
    }

    /// A reference. Empty keeps the current one, or generates one.
    pub fn reference(&mut self, name: &'static str) -> Field<Option<Reference>> {
        self.scalar(name, Reference::parse)
    }

    /// The key of a linked record, under its short name (`folder`) or the name of its ID (`folderId`).
    pub fn link(&mut self, name: &'static str, id_name: &'static str) -> Field<Option<Key>> {
        let parse = |text: &str| Key::parse(text).ok_or(Violation::NotKey);
        let by_id = self.scalar(id_name, parse);
        match self.scalar(name, parse) {
            Field::Keep => by_id,
            by_name => by_name,
        }
    }

    /// A status, under `status` (name or ID) or `statusId`.
    pub fn status(&mut self) -> Field<Option<StatusRef>> {
        let parse = |text: &str| match text.parse() {
            Ok(id) => Ok(StatusRef::Id(id)),
            Err(_) => TextLimit::Short.check(text).map(StatusRef::Name),
        };
        let by_id = self.scalar("statusId", parse);
        match self.scalar("status", parse) {
            Field::Keep => by_id,
            by_name => by_name,
        }
    }

    /// A person: an address, an ID, or an object with one of them.
    pub fn person(&mut self, name: &'static str) -> Field<Option<PersonRef>> {
        match self.value(name) {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(None),
            Some(Value::String(text)) if text.trim().is_empty() => Field::Set(None),
            Some(value) => self.field(name, parse_person(value).map(Some)),
        }
    }

    /// Several people: an array, or addresses separated by commas.
    pub fn people(&mut self, name: &'static str) -> Field<Vec<PersonRef>> {
        let people: Result<Vec<_>, _> = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(parse_person).collect(),
            Some(Value::String(text)) => split_list(text).iter().map(parse_person).collect(),
            Some(_) => Err(Violation::NotPeople),
        };
        let people = people.and_then(|people| {
            let max = MAX_PEOPLE;
            if people.len() > max { Err(Violation::TooManyPeople { max }) } else { Ok(people) }
        });
        self.field(name, people)
    }

    /// Tags: an array of strings, or strings separated by commas. Duplicates are dropped.
    pub fn tags(&mut self, name: &'static str) -> Field<Vec<String>> {
        let tags = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(Vec::new()),
            Some(Value::Array(items)) => parse_tags(items),
            Some(Value::String(text)) => parse_tags(&split_list(text)),
            Some(_) => Err(Violation::NotTags),
        };
        self.field(name, tags)
    }

    /// One of a fixed set of names.
    pub fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        names: &[(&'static str, T)],
    ) -> Field<Option<T>> {
        self.scalar(name, |text| {
            names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                Violation::NotOneOf { values: names.join(", ") }
            })
        })
    }

    /// A boolean.
    pub fn boolean(&mut self, name: &'static str) -> Field<Option<bool>> {
        self.scalar(name, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(true),
            "false" | "no" | "0" => Ok(false),
            _ => Err(Violation::NotBoolean),
        })
    }

    /// A whole number from 0 to `max`.
    pub fn integer(&mut self, name: &'static str, max: u32) -> Field<Option<u32>> {
        self.scalar(name, |text| match text.parse() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(Violation::NotInteger { min: 0, max }),
        })
    }

    /// The custom fields: an object (or its JSON text), and single ones as `customFields.name`.
    pub fn custom_fields(&mut self) -> CustomFieldsInput {
        let all = match self.value("customFields") {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(CustomFields::new()),
            Some(Value::Object(fields)) => {
                self.field("customFields", check_custom_fields(fields.clone()))
            }
            Some(Value::String(text)) => {
                let fields = serde_json::from_str(text).map_err(|_| Violation::NotObject);
                self.field("customFields", fields.and_then(check_custom_fields))
            }
            Some(_) => self.field("customFields", Err(Violation::NotObject)),
        };
        let single = self.values.iter().filter_map(|(name, value)| {
            name.strip_prefix("customFields.").map(|name| (name.to_owned(), value.clone()))
        });
        let single = self.field("customFields", check_custom_fields(single.collect()));
        CustomFieldsInput { all, single: single.or(CustomFields::new()) }
    }

    /// Makes an empty value an error.
    pub fn required<T>(&mut self, name: &'static str, field: Field<Option<T>>) -> Field<T> {
        match field {
            Field::Keep => Field::Keep,
            Field::Set(Some(value)) => Field::Set(value),
            Field::Set(None) => self.field(name, Err(Violation::Empty)),
        }
    }

    fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.values.get(name)
    }

    fn scalar<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, Violation>,
    ) -> Field<Option<T>> {
        let text = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Field::Set(None),
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Some(Value::Array(_) | Value::Object(_)) => {
                return self.field(name, Err(Violation::NotScalar));
            }
        };
        self.field(name, parse(&text).map(Some))
    }

    fn field<T>(&mut self, name: &'static str, parsed: Result<T, Violation>) -> Field<T> {
        self.errors.check(name, parsed).map_or(Field::Keep, Field::Set)
    }
}

fn parse_person(value: &Value) -> Result<PersonRef, Violation> {
    let text = match value {
        Value::String(text) => text,
        Value::Object(person) => match person.get("email").or_else(|| person.get("id")) {
            Some(Value::String(text)) => text,
            _ => return Err(Violation::PersonWithoutKey),
        },
        _ => return Err(Violation::NotPerson),
    };
    match text.trim().parse() {
        Ok(id) => Ok(PersonRef::Id(id)),
        Err(_) => Email::parse(text).map(PersonRef::Email),
    }
}

fn parse_tags(items: &[Value]) -> Result<Vec<String>, Violation> {
    let mut tags: Vec<String> = Vec::new();
    for item in items {
        let tag = item.as_str().map(str::trim).unwrap_or_default();
        let has_length = (1..=MAX_TAG_LENGTH).contains(&tag.chars().count());
        if !has_length || tag.chars().any(char::is_control) {
            return Err(Violation::WrongTag { max: MAX_TAG_LENGTH });
        }
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    if tags.len() > MAX_TAGS { Err(Violation::TooManyTags { max: MAX_TAGS }) } else { Ok(tags) }
}

/// Splits a list in one text: a JSON array, or items separated by commas or semicolons.
fn split_list(text: &str) -> Vec<Value> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return items;
    }
    let items = text.split([',', ';']).map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| Value::String(item.to_owned())).collect()
}

fn check_custom_fields(fields: CustomFields) -> Result<CustomFields, Violation> {
    for (name, value) in &fields {
        let has_length = (1..=MAX_CUSTOM_FIELD_NAME).contains(&name.chars().count());
        if !has_length || name.chars().any(char::is_control) {
            return Err(Violation::WrongCustomFieldName { max: MAX_CUSTOM_FIELD_NAME });
        }
        check_custom_field(name.clone(), value)?;
    }
    Ok(fields)
}

fn check_custom_field(name: String, value: &Value) -> Result<(), Violation> {
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        // Numbers are stored as written, so clients must be able to parse them.
        Value::Number(number)
            if number.as_f64().is_some_and(f64::is_finite)
                && number.as_str().len() <= MAX_CUSTOM_FIELD_NUMBER =>
        {
            Ok(())
        }
        Value::Number(_) => {
            Err(Violation::WrongCustomFieldNumber { name, max: MAX_CUSTOM_FIELD_NUMBER })
        }
        Value::String(text) if text.chars().count() > MAX_CUSTOM_FIELD_TEXT => {
            Err(Violation::CustomFieldTooLong { name, max: MAX_CUSTOM_FIELD_TEXT })
        }
        Value::String(text) if text.contains('\0') => {
            Err(Violation::CustomFieldControlCharacters { name })
        }
        Value::String(_) => Ok(()),
        Value::Array(_) | Value::Object(_) => Err(Violation::WrongCustomFieldType { name }),
    }
}
