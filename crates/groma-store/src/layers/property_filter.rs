//! Reads, filters and sorts by the properties of features. It works on the stored JSON in Rust, so both
//! engines give the same answers for every type and script.

use crate::Result;
use groma_domain::{GeometryId, Timestamp, text::fold};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, cmp::Ordering, fmt};

/// A condition on one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyCondition {
    /// The name of the property.
    pub property: String,
    /// How its value is compared.
    pub comparison: Comparison,
    /// The value to compare with. A number matches numbers by value.
    pub value: String,
}

/// How a property is compared with a value. Text is compared without regard to case and accents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The property contains the text.
    Contains,
    /// The property is equal to the value.
    Equal,
    /// The property is equal to the value or greater.
    AtLeast,
    /// The property is equal to the value or less.
    AtMost,
}

/// The part of a feature that filters and orders need.
pub(in crate::layers) struct FeatureAttributes {
    pub(in crate::layers) position: u64,
    pub(in crate::layers) id: GeometryId,
    pub(in crate::layers) external_id: Option<String>,
    pub(in crate::layers) properties: String,
    pub(in crate::layers) updated_at: Timestamp,
}

/// A condition whose value is parsed.
pub(super) struct ParsedCondition {
    property: String,
    comparison: Comparison,
    text: String,
    number: Option<f64>,
}

impl ParsedCondition {
    pub(super) fn new(condition: &PropertyCondition) -> Self {
        let value = condition.value.trim();
        Self {
            property: condition.property.clone(),
            comparison: condition.comparison,
            text: fold(value),
            number: value.parse().ok().filter(|number: &f64| number.is_finite()),
        }
    }

    pub(super) fn matches(&self, properties: &Properties<'_>) -> Result<bool> {
        let Some(raw) = properties.get(&self.property) else { return Ok(false) };
        if self.comparison == Comparison::Contains {
            return Ok(folded_text(raw)?.contains(&self.text));
        }
        let order = match (SortValue::read(raw)?, self.number) {
            (SortValue::Number(number), Some(value)) => number.partial_cmp(&value),
            (SortValue::Text(text), None) => Some(text.cmp(&self.text)),
            // Text that looks like a number is equal to it, but neither greater nor less.
            (SortValue::Text(text), Some(_)) => (text == self.text).then_some(Ordering::Equal),
            (SortValue::Number(_), None) | (SortValue::Missing, _) => None,
        };
        Ok(order.is_some_and(|order| match self.comparison {
            Comparison::Contains => false,
            Comparison::Equal => order == Ordering::Equal,
            Comparison::AtLeast => order != Ordering::Less,
            Comparison::AtMost => order != Ordering::Greater,
        }))
    }
}

/// A value to sort by: numbers, then text, then nothing.
#[derive(Debug)]
pub(super) enum SortValue {
    Number(f64),
    /// Folded text. Booleans, lists and objects are compared as their JSON.
    Text(String),
    /// No value, null or empty text.
    Missing,
}

impl SortValue {
    pub(super) fn read(raw: &RawValue) -> Result<Self> {
        let json = raw.get();
        if json.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            // A number that is too large for a float is infinite.
            return Ok(json.parse().map_or(Self::Missing, Self::Number));
        }
        let text = folded_text(raw)?;
        Ok(if text.trim().is_empty() { Self::Missing } else { Self::Text(text) })
    }

    /// Compares two values. Missing values come last in both directions.
    pub(super) fn compare(&self, other: &Self, is_descending: bool) -> Ordering {
        let rank = |value: &Self| match value {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Missing => 2,
        };
        let order = match (self, other) {
            (Self::Missing, _) | (_, Self::Missing) => return rank(self).cmp(&rank(other)),
            (Self::Number(one), Self::Number(two)) => one.total_cmp(two),
            (Self::Text(one), Self::Text(two)) => one.cmp(two),
            (Self::Number(_) | Self::Text(_), _) => rank(self).cmp(&rank(other)),
        };
        if is_descending { order.reverse() } else { order }
    }
}

/// The properties of a feature, with values that are not parsed yet.
pub(super) struct Properties<'a>(Vec<(Text<'a>, &'a RawValue)>);

impl<'a> Properties<'a> {
    pub(super) fn read(json: &'a str) -> Result<Self> {
        Ok(serde_json::from_str(json)?)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(other, _)| other.0 == name).map(|(_, raw)| *raw)
    }

    /// Whether one of the values contains a folded text.
    pub(super) fn contain(&self, folded: &str) -> Result<bool> {
        for (_, raw) in &self.0 {
            if folded_text(raw)?.contains(folded) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The values as folded texts.
    pub(super) fn texts(&self) -> Result<Vec<String>> {
        self.0.iter().map(|(_, raw)| folded_text(raw)).collect()
    }
}

/// A value as folded text: a string without its quotes, JSON otherwise. Null is empty.
fn folded_text(raw: &RawValue) -> Result<String> {
    let json = raw.get();
    Ok(match json.as_bytes().first() {
        Some(b'n') | None => String::new(),
        Some(b'"') => fold(&serde_json::from_str::<Text<'_>>(json)?.0),
        Some(_) => fold(json),
    })
}

/// A text that is borrowed unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Properties<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<(Text<'de>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Entries).map(Self)
    }
}
