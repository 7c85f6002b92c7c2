//! The properties of an item as filters read them.

use super::value::Value;
use crate::json::RawFields;
use serde_json::Error;

/// The members of a JSON object, whose values are parsed when they are used.
pub struct Properties<'a>(RawFields<'a>);

impl<'a> Properties<'a> {
    /// Reads an object.
    pub fn read(json: &'a str) -> Result<Self, Error> {
        serde_json::from_str(json)
    }

    /// Reads an object in UTF-8.
    pub fn read_bytes(json: &'a [u8]) -> Result<Self, Error> {
        serde_json::from_slice(json)
    }

    /// The value of a property; null if it is missing.
    #[must_use]
    pub fn get(&self, name: &str) -> Value<'a> {
        self.0.get(name).map_or(Value::Null, Value::read)
    }

    /// The value of a member of an object, such as `owner.name`.
    #[must_use]
    pub fn get_within(&self, object: &str, name: &str) -> Value<'a> {
        let object = self.0.get(object).map(|raw| serde_json::from_str(raw.get()));
        object.and_then(Result::ok).map_or(Value::Null, |Self(inner)| Self(inner).get(name))
    }
}

impl<'de: 'a, 'a> serde::Deserialize<'de> for Properties<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawFields::deserialize(deserializer).map(Self)
    }
}
