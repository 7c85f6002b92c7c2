//! Fields with several values: people and tags.

use super::{Field, FieldReader, InputFormat, parse_person};
use crate::{Violation, person::PersonRef};
use serde_json::Value;

const MAX_PEOPLE: usize = 100;
const MAX_TAGS: usize = 50;
const MAX_TAG_LENGTH: usize = 64;

impl FieldReader<'_> {
    /// Several people: an array, or addresses separated by commas.
    pub fn people(&mut self, name: &'static str) -> Field<Vec<PersonRef>> {
        let format = self.format;
        let parse = |item: &Value| parse_person(item, format);
        let max = MAX_PEOPLE;
        match self.value(name) {
            None => Field::Keep,
            Some(Value::Null) => Field::Set(Vec::new()),
            Some(Value::Array(items)) if items.len() > max => {
                self.field(name, Err(Violation::TooManyPeople { max }))
            }
            Some(Value::Array(items)) => self.items(name, items, parse),
            Some(Value::String(text)) if format == InputFormat::Text => {
                let items = split_list(text);
                match items.len() > max {
                    true => self.field(name, Err(Violation::TooManyPeople { max })),
                    false => self.items(name, &items, parse),
                }
            }
            Some(_) => self.field(name, Err(Violation::NotPeople)),
        }
    }

    /// The items of a list. In JSON, each item that is invalid has an error of its own.
    fn items<T>(
        &mut self,
        name: &'static str,
        items: &[Value],
        parse: impl Fn(&Value) -> Result<T, Violation>,
    ) -> Field<Vec<T>> {
        if !self.is_json() {
            return self.field(name, items.iter().map(parse).collect());
        }
        let parsed = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.errors.check(&format!("{name}/{index}"), parse(item)));
        // Every item is parsed, also those after an invalid one.
        let parsed: Vec<Option<T>> = parsed.collect();
        parsed.into_iter().collect::<Option<_>>().map_or(Field::Keep, Field::Set)
    }

    /// Tags: an array of strings, or strings separated by commas. Duplicates are dropped.
    pub fn tags(&mut self, name: &'static str) -> Field<Vec<String>> {
        let tags = match self.value(name) {
            None => return Field::Keep,
            Some(Value::Null) => return Field::Set(Vec::new()),
            Some(Value::Array(items)) => self.items(name, items, parse_tag),
            Some(Value::String(text)) if !self.is_json() => {
                self.items(name, &split_list(text), parse_tag)
            }
            Some(_) => self.field(name, Err(Violation::NotTags)),
        };
        match tags {
            Field::Keep => Field::Keep,
            Field::Set(tags) => self.field(name, distinct_tags(tags)),
        }
    }
}

fn parse_tag(item: &Value) -> Result<String, Violation> {
    let tag = item.as_str().ok_or(Violation::NotString)?.trim();
    let has_length = (1..=MAX_TAG_LENGTH).contains(&tag.chars().count());
    match has_length && !tag.chars().any(char::is_control) {
        true => Ok(tag.to_owned()),
        false => Err(Violation::WrongTag { max: MAX_TAG_LENGTH }),
    }
}

fn distinct_tags(all: Vec<String>) -> Result<Vec<String>, Violation> {
    let mut tags: Vec<String> = Vec::new();
    for tag in all {
        if !tags.contains(&tag) {
            tags.push(tag);
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
