//! Reading what someone wants a record to be, from a JSON object, a form or a row of a file.
//!
//! All ways in share this reader, so a rule about a field stands in one place. A name that is left
//! out keeps the field, a null (an empty cell) empties it, a read-only one is passed over, and one
//! that nobody knows is a problem. Problems are collected, each beside its field.

use crate::{
    Currency, Email, Key, Problem, Reference, Refusal, StatusId, Timestamp, person::PersonRef,
    time::Date,
};
use rust_decimal::Decimal;
use serde_json::{Map, Value};

/// A field of an input: left as it is, or set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// Leave it; on create, take the default.
    #[default]
    Keep,
    /// Set it to this.
    Set(T),
}

impl<T> Field<T> {
    /// The value to have: the one set, else `current`.
    pub fn or(self, current: T) -> T {
        match self {
            Self::Keep => current,
            Self::Set(value) => value,
        }
    }

    /// The value that was set.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Keep => None,
            Self::Set(value) => Some(value),
        }
    }

    /// A look at the value.
    pub fn as_ref(&self) -> Field<&T> {
        match self {
            Self::Keep => Field::Keep,
            Self::Set(value) => Field::Set(value),
        }
    }
}

/// How an input names a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusRef {
    /// By id.
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

/// An object of strings, numbers, booleans and nulls that the user defines.
pub type CustomFields = Map<String, Value>;

/// What an input does to the custom fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomFieldsInput {
    whole: Field<CustomFields>,
    single: CustomFields,
}

impl CustomFieldsInput {
    /// The custom fields to have, from those there are.
    pub fn apply(&self, current: &CustomFields) -> Result<CustomFields, Problem> {
        let mut fields = self.whole.clone().or(current.clone());
        fields.extend(self.single.clone());
        if fields.len() > 100 {
            return Err(Problem::new("customFields", "must have at most 100 entries"));
        }
        Ok(fields)
    }
}

/// The bounds of free text.
#[derive(Clone, Copy)]
pub enum Text {
    /// A name or title: one line of up to 300 characters.
    Line,
    /// A category, vendor and the like: one line of up to 200 characters.
    Short,
    /// A description: up to 20,000 characters, with line breaks.
    Long,
}

impl Text {
    fn max(self) -> usize {
        match self {
            Self::Line => 300,
            Self::Short => 200,
            Self::Long => 20_000,
        }
    }

    fn check(self, text: &str) -> Result<String, String> {
        let text = text.trim();
        let breaks = |c| matches!(self, Self::Long) && matches!(c, '\n' | '\r' | '\t');
        if text.chars().any(|c| c.is_control() && !breaks(c)) {
            return Err("must not contain control characters".into());
        }
        if text.chars().count() > self.max() {
            return Err(format!("must have at most {} characters", self.max()));
        }
        Ok(text.to_owned())
    }
}

/// What is said of a name that nobody knows.
pub const UNKNOWN_FIELD: &str = "is not a field of this kind";

/// Reads the fields of one input.
pub struct Fields<'a> {
    values: &'a Map<String, Value>,
    asked: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Starts reading `values`; `read_only` names are passed over.
    #[must_use]
    pub fn new(values: &'a Map<String, Value>, read_only: &[&'static str]) -> Self {
        Self { values, asked: read_only.to_vec(), problems: Vec::new() }
    }

    /// Ends the reading: names that nobody asked for are problems too.
    pub fn finish<T>(mut self, input: T) -> Result<T, Refusal> {
        for name in self.values.keys() {
            let known = self.asked.contains(&name.as_str())
                || (name.starts_with("customFields.") && self.asked.contains(&"customFields"));
            if !known {
                self.problems.push(Problem::new(name, UNKNOWN_FIELD));
            }
        }
        if self.problems.is_empty() { Ok(input) } else { Err(Refusal::Invalid(self.problems)) }
    }

    /// A text that may be empty (null).
    pub fn text(&mut self, name: &'static str, bounds: Text) -> Field<Option<String>> {
        self.scalar(name, |text| bounds.check(text))
    }

    /// A text that must have something in it.
    pub fn needed_text(&mut self, name: &'static str, bounds: Text) -> Field<String> {
        let field = self.text(name, bounds);
        self.needed(name, field)
    }

    /// A decimal number of at most `decimals` places.
    pub fn decimal(&mut self, name: &'static str, decimals: u32) -> Field<Option<Decimal>> {
        self.scalar(name, |text| {
            let number = Decimal::from_str_exact(text)
                .or_else(|error| Decimal::from_scientific(text).map_err(|_| error))
                .map_err(|_| "must be a decimal number".to_owned())?;
            if number.normalize().scale() > decimals {
                return Err(format!("must have at most {decimals} decimals"));
            }
            Ok(number)
        })
    }

    /// A date, `YYYY-MM-DD`.
    pub fn date(&mut self, name: &'static str) -> Field<Option<Date>> {
        self.scalar(name, |text| {
            let shaped = text.len() == 10 && text.is_ascii();
            let date = if shaped { text.parse::<Date>().ok() } else { None };
            date.ok_or_else(|| "must be a date, YYYY-MM-DD".to_owned())
        })
    }

    /// A moment, RFC 3339.
    pub fn moment(&mut self, name: &'static str) -> Field<Option<Timestamp>> {
        self.scalar(name, |text| {
            Timestamp::parse(text).map_err(|_| "must be an RFC 3339 time".to_owned())
        })
    }

    /// A currency code; empty means the default.
    pub fn currency(&mut self, name: &'static str) -> Field<Option<Currency>> {
        self.scalar(name, |text| text.parse().map_err(str::to_owned))
    }

    /// A reference; empty means to keep it, or to make one.
    pub fn reference(&mut self, name: &'static str) -> Field<Option<Reference>> {
        self.scalar(name, |text| Reference::parse(text).map_err(str::to_owned))
    }

    /// The key of a linked record, under its short name (`folder`) or its id's (`folderId`).
    pub fn link(&mut self, name: &'static str, id_name: &'static str) -> Field<Option<Key>> {
        let read =
            |text: &str| Key::parse(text).ok_or_else(|| "must be an id or a reference".to_owned());
        let by_id = self.scalar(id_name, read);
        match self.scalar(name, read) {
            Field::Keep => by_id,
            by_name => by_name,
        }
    }

    /// A status, under `status` (name or id) or `statusId`.
    pub fn status(&mut self) -> Field<Option<StatusRef>> {
        let read = |text: &str| match text.parse() {
            Ok(id) => Ok(StatusRef::Id(id)),
            Err(_) => Text::Short.check(text).map(StatusRef::Name),
        };
        let by_id = self.scalar("statusId", read);
        match self.scalar("status", read) {
            Field::Keep => by_id,
            by_name => by_name,
        }
    }

    /// A person: an address, an id, or an object that holds either.
    pub fn person(&mut self, name: &'static str) -> Field<Option<PersonRef>> {
        match self.value(name) {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(None),
            Some(Value::String(text)) if text.trim().is_empty() => Field::Set(None),
            Some(value) => self.outcome(name, read_person(value).map(Some)),
        }
    }

    /// Several people: an array, or addresses with commas between them.
    pub fn people(&mut self, name: &'static str) -> Field<Vec<PersonRef>> {
        let read: Result<Vec<_>, _> = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(read_person).collect(),
            Some(Value::String(text)) => split_list(text).iter().map(read_person).collect(),
            Some(_) => Err("must be a list of people".to_owned()),
        };
        let read = read.and_then(|people| match people.len() {
            101.. => Err("must have at most 100 people".to_owned()),
            _ => Ok(people),
        });
        self.outcome(name, read)
    }

    /// Tags: an array of texts, or texts with commas between them. Repeats fall away.
    pub fn tags(&mut self, name: &'static str) -> Field<Vec<String>> {
        let items = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(Vec::new()),
            Some(Value::Array(items)) => items.clone(),
            Some(Value::String(text)) => split_list(text),
            Some(_) => return self.outcome(name, Err("must be a list of texts".to_owned())),
        };
        let mut tags: Vec<String> = Vec::new();
        for item in &items {
            let tag = item.as_str().map(str::trim).unwrap_or_default();
            match tag.chars().count() {
                1..=64 if !tag.chars().any(char::is_control) => {}
                _ => {
                    return self.outcome(name, Err("must each have 1 to 64 characters".to_owned()));
                }
            }
            if !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        }
        let read = if tags.len() > 50 { Err("must be at most 50".to_owned()) } else { Ok(tags) };
        self.outcome(name, read)
    }

    /// One of a closed set of words.
    pub fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
    ) -> Field<Option<T>> {
        self.scalar(name, |text| {
            words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!("must be one of {}", known.join(", "))
            })
        })
    }

    /// Yes or no.
    pub fn boolean(&mut self, name: &'static str) -> Field<Option<bool>> {
        self.scalar(name, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(true),
            "false" | "no" | "0" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        })
    }

    /// A whole number from 0 to `max`.
    pub fn whole(&mut self, name: &'static str, max: u32) -> Field<Option<u32>> {
        self.scalar(name, |text| match text.parse() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(format!("must be a whole number from 0 to {max}")),
        })
    }

    /// The custom fields: an object (or its JSON text), and single ones as `customFields.name`.
    pub fn custom_fields(&mut self) -> CustomFieldsInput {
        let whole = match self.value("customFields") {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(CustomFields::new()),
            Some(Value::Object(fields)) => {
                self.outcome("customFields", check_custom(fields.clone()))
            }
            Some(Value::String(text)) => {
                let read =
                    serde_json::from_str(text).map_err(|_| "must be a JSON object".to_owned());
                self.outcome("customFields", read.and_then(check_custom))
            }
            Some(_) => self.outcome("customFields", Err("must be an object".to_owned())),
        };
        let single = self.values.iter().filter_map(|(name, value)| {
            name.strip_prefix("customFields.").map(|name| (name.to_owned(), value.clone()))
        });
        let single = self.outcome("customFields", check_custom(single.collect()));
        CustomFieldsInput { whole, single: single.or(CustomFields::new()) }
    }

    /// Turns an emptied field that must have something into a problem.
    pub fn needed<T>(&mut self, name: &'static str, field: Field<Option<T>>) -> Field<T> {
        match field {
            Field::Keep => Field::Keep,
            Field::Set(Some(value)) => Field::Set(value),
            Field::Set(None) => self.outcome(name, Err("must not be empty".to_owned())),
        }
    }

    fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        self.values.get(name)
    }

    fn scalar<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Field<Option<T>> {
        let text = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Field::Set(None),
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Some(Value::Array(_) | Value::Object(_)) => {
                return self.outcome(name, Err("must be a single value".to_owned()));
            }
        };
        self.outcome(name, read(&text).map(Some))
    }

    fn outcome<T>(&mut self, name: &'static str, outcome: Result<T, String>) -> Field<T> {
        match outcome {
            Ok(value) => Field::Set(value),
            Err(message) => {
                self.problems.push(Problem::new(name, message));
                Field::Keep
            }
        }
    }
}

fn read_person(value: &Value) -> Result<PersonRef, String> {
    let text = match value {
        Value::String(text) => text,
        Value::Object(person) => match person.get("email").or_else(|| person.get("id")) {
            Some(Value::String(text)) => text,
            _ => return Err("must have an `email` or an `id`".to_owned()),
        },
        _ => return Err("must be an e-mail address or an id".to_owned()),
    };
    match text.trim().parse() {
        Ok(id) => Ok(PersonRef::Id(id)),
        Err(_) => Email::parse(text).map(PersonRef::Email).map_err(str::to_owned),
    }
}

/// A list in one text: a JSON array, or items with commas or semicolons between them.
fn split_list(text: &str) -> Vec<Value> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return items;
    }
    let items = text.split([',', ';']).map(str::trim).filter(|item| !item.is_empty());
    items.map(|item| Value::String(item.to_owned())).collect()
}

fn check_custom(fields: CustomFields) -> Result<CustomFields, String> {
    for (name, value) in &fields {
        if !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            return Err("must have names of 1 to 64 characters".to_owned());
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            // Kept as it was written, so it must be one that readers can hold.
            Value::Number(number)
                if number.as_f64().is_some_and(f64::is_finite) && number.as_str().len() <= 40 => {}
            Value::Number(_) => {
                return Err(format!("must hold a number of a sensible size in `{name}`"));
            }
            Value::String(text) if text.chars().count() > 2_000 => {
                return Err(format!("must have at most 2,000 characters in `{name}`"));
            }
            Value::String(text) if text.contains('\0') => {
                return Err(format!("must not contain control characters in `{name}`"));
            }
            Value::String(_) => {}
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("must hold a text, number, boolean or null in `{name}`"));
            }
        }
    }
    Ok(fields)
}
