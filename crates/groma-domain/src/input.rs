//! Parses the requested values of a record from a JSON object, a form or a row of a file.
//!
//! All three use the same reader, so that each field has one rule. A missing field keeps its value, a
//! null or an empty cell clears it, read-only fields are ignored, and unknown fields are errors. The
//! reader collects all errors.

mod custom_fields;
mod lists;

pub use custom_fields::{CustomFields, CustomFieldsInput};

use crate::{
    Currency, DomainError, Email, FieldErrors, Key, Reference, StatusId, Timestamp, Violation,
    json::pointer_segment, person::PersonRef, time::Date,
};
use custom_fields::{check_custom_field, check_custom_fields};
use rust_decimal::Decimal;
use serde_json::{Map, Value};

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

/// An input and its errors. A field with an error is kept.
#[derive(Debug)]
pub struct ParsedInput<T> {
    /// The input.
    pub input: T,
    /// The errors.
    pub errors: FieldErrors,
}

impl<T> ParsedInput<T> {
    /// Changes the input.
    pub fn map<R>(self, change: impl FnOnce(T) -> R) -> ParsedInput<R> {
        ParsedInput { input: change(self.input), errors: self.errors }
    }

    /// The input, if there are no errors.
    pub fn into_result(self) -> Result<T, DomainError> {
        self.errors.finish(Some(self.input))
    }
}

/// Reads the fields of one input.
///
/// Each method reads one field. An invalid value is recorded as an error, and the method returns
/// [`Field::Keep`]; [`FieldReader::finish`] then returns all errors.
pub struct FieldReader<'a> {
    values: &'a Map<String, Value>,
    format: InputFormat,
    known: Vec<&'static str>,
    errors: FieldErrors,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// As text, in cells of a file or fields of a form: `yes` is a boolean, `a, b` is a list.
    Text,
    /// As the API writes them: a value of another JSON type is an error, and custom fields are a merge
    /// patch.
    Json,
}

/// The JSON types of a field.
#[derive(Clone, Copy)]
enum JsonType {
    Text,
    String,
    Decimal,
    Boolean,
    Integer { max: u32 },
}

impl JsonType {
    fn check(self, value: &Value) -> Result<(), Violation> {
        match (self, value) {
            (Self::Text | Self::String | Self::Decimal, Value::String(_))
            | (Self::Decimal | Self::Integer { .. }, Value::Number(_))
            | (Self::Boolean, Value::Bool(_)) => Ok(()),
            (Self::Text | Self::String, _) => Err(Violation::NotString),
            (Self::Decimal, _) => Err(Violation::NotNumber),
            (Self::Boolean, _) => Err(Violation::NotBoolean),
            (Self::Integer { max }, _) => Err(Violation::NotInteger { min: 0, max }),
        }
    }
}

impl<'a> FieldReader<'a> {
    /// Starts to read `values`.
    #[must_use]
    pub fn new(values: &'a Map<String, Value>, format: InputFormat) -> Self {
        Self { values, format, known: Vec::new(), errors: FieldErrors::default() }
    }

    /// Ignores these fields.
    #[must_use]
    pub fn read_only(mut self, names: &[&'static str]) -> Self {
        self.known.extend(names);
        self
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == InputFormat::Json
    }

    /// Returns `input` and the errors. A field that no method has read is an error.
    pub fn finish<T>(mut self, input: T) -> ParsedInput<T> {
        for name in self.values.keys() {
            let is_single = !self.is_json() && name.starts_with("customFields.");
            let is_known = self.known.contains(&name.as_str())
                || (is_single && self.known.contains(&"customFields"));
            if !is_known {
                let name = if self.is_json() { pointer_segment(name) } else { name.clone() };
                self.errors.add(&name, Violation::UnknownField);
            }
        }
        ParsedInput { input, errors: self.errors }
    }

    /// An optional text.
    pub fn text(&mut self, name: &'static str, limit: TextLimit) -> Field<Option<String>> {
        self.scalar(name, JsonType::Text, |text| limit.check(text))
    }

    /// A text that must not be empty.
    pub fn required_text(&mut self, name: &'static str, limit: TextLimit) -> Field<String> {
        let field = self.text(name, limit);
        self.required(name, field)
    }

    /// A decimal number with at most `max` decimal places.
    pub fn decimal(&mut self, name: &'static str, max: u32) -> Field<Option<Decimal>> {
        self.scalar(name, JsonType::Decimal, |text| {
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
        self.scalar(name, JsonType::String, |text| {
            // `Date::from_str` alone would accept other formats, such as `20261115`.
            let has_length = text.len() == 10 && text.is_ascii();
            let date = if has_length { text.parse::<Date>().ok() } else { None };
            date.ok_or(Violation::NotDate)
        })
    }

    /// An RFC 3339 timestamp.
    pub fn timestamp(&mut self, name: &'static str) -> Field<Option<Timestamp>> {
        self.scalar(name, JsonType::String, |text| {
            Timestamp::parse(text).map_err(|_| Violation::NotTimestamp)
        })
    }

    /// A currency code. Empty selects the default.
    pub fn currency(&mut self, name: &'static str) -> Field<Option<Currency>> {
        self.scalar(name, JsonType::String, str::parse)
    }

    /// A reference. Empty keeps the current one, or generates one.
    pub fn reference(&mut self, name: &'static str) -> Field<Option<Reference>> {
        self.scalar(name, JsonType::String, Reference::parse)
    }

    /// The key of a linked record, under its short name (`folder`) or the name of its ID (`folderId`).
    pub fn link(&mut self, name: &'static str, id_name: &'static str) -> Field<Option<Key>> {
        let parse = |text: &str| Key::parse(text).ok_or(Violation::NotKey);
        let by_id = self.scalar(id_name, JsonType::String, parse);
        match self.scalar(name, JsonType::String, parse) {
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
        let by_id = self.scalar("statusId", JsonType::String, parse);
        match self.scalar("status", JsonType::String, parse) {
            Field::Keep => by_id,
            by_name => by_name,
        }
    }

    /// A person: an address, an ID, or an object with one of them.
    pub fn person(&mut self, name: &'static str) -> Field<Option<PersonRef>> {
        match self.value(name) {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(None),
            Some(Value::String(text)) if text.trim().is_empty() && !self.is_json() => {
                Field::Set(None)
            }
            Some(value) => self.field(name, parse_person(value, self.format).map(Some)),
        }
    }

    /// One of a fixed set of names.
    pub fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        names: &[(&'static str, T)],
    ) -> Field<Option<T>> {
        self.scalar(name, JsonType::String, |text| {
            names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                Violation::NotOneOf { values: names.join(", ") }
            })
        })
    }

    /// A boolean.
    pub fn boolean(&mut self, name: &'static str) -> Field<Option<bool>> {
        self.scalar(name, JsonType::Boolean, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(true),
            "false" | "no" | "0" => Ok(false),
            _ => Err(Violation::NotBoolean),
        })
    }

    /// A whole number from 0 to `max`.
    pub fn integer(&mut self, name: &'static str, max: u32) -> Field<Option<u32>> {
        self.scalar(name, JsonType::Integer { max }, |text| match text.parse() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(Violation::NotInteger { min: 0, max }),
        })
    }

    /// The custom fields: an object (or its JSON text), and single ones as `customFields.name`. In JSON
    /// the object is a merge patch.
    pub fn custom_fields(&mut self) -> CustomFieldsInput {
        if self.is_json() {
            return self.custom_fields_patch();
        }
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
        let single = single.or(CustomFields::new());
        CustomFieldsInput { all, single, patch: CustomFields::new() }
    }

    fn custom_fields_patch(&mut self) -> CustomFieldsInput {
        let mut input = CustomFieldsInput::default();
        match self.value("customFields") {
            None => {}
            Some(Value::Null) => input.all = Field::Set(CustomFields::new()),
            Some(Value::Object(fields)) => {
                for (name, value) in fields {
                    if let Err(violation) = check_custom_field(name, value) {
                        let field = format!("customFields/{}", pointer_segment(name));
                        self.errors.add(&field, violation);
                    }
                }
                input.patch = fields.clone();
            }
            Some(_) => self.errors.add("customFields", Violation::NotObject),
        }
        input
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
        json_type: JsonType,
        parse: impl FnOnce(&str) -> Result<T, Violation>,
    ) -> Field<Option<T>> {
        let value = self.value(name);
        if self.is_json()
            && let Some(value) = value.filter(|value| !value.is_null())
        {
            let is_empty = value.as_str().is_some_and(|text| text.trim().is_empty());
            let parsed = match (json_type, value) {
                (JsonType::Text, _) if is_empty => return Field::Set(None),
                (_, Value::String(text)) => json_type.check(value).and_then(|()| parse(text)),
                _ => json_type.check(value).and_then(|()| parse(&value.to_string())),
            };
            return self.field(name, parsed.map(Some));
        }
        let text = match value {
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

fn parse_person(value: &Value, format: InputFormat) -> Result<PersonRef, Violation> {
    // A file can come from another workspace, where the same person has another id. The API returned
    // both, and the address may have changed since.
    let keys = match format {
        InputFormat::Text => ["email", "id"],
        InputFormat::Json => ["id", "email"],
    };
    let text = match value {
        Value::String(text) => text,
        Value::Object(person) => {
            match keys.iter().find_map(|key| person.get(*key).filter(|value| !value.is_null())) {
                Some(Value::String(text)) => text,
                _ => return Err(Violation::PersonWithoutKey),
            }
        }
        _ => return Err(Violation::NotPerson),
    };
    match text.trim().parse() {
        Ok(id) => Ok(PersonRef::Id(id)),
        Err(_) => Email::parse(text).map(PersonRef::Email),
    }
}
