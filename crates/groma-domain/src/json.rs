//! JSON text: documents are written by [`to_json`], bodies of requests are read by [`parse`].

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};
use std::{borrow::Cow, fmt};

/// Serializes plain data, which always succeeds.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Values that are nested deeper than this are not searched for duplicate keys; no field accepts them.
const MAX_CHECKED_DEPTH: usize = 6;

/// A problem in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// JSON pointer to the value.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// Parses a JSON text. Unlike `serde_json`, it rejects objects with duplicate keys.
pub fn parse(text: &[u8]) -> Result<Value, Vec<JsonError>> {
    let invalid = |error: serde_json::Error| {
        let message = format!("must be valid JSON: {error}");
        vec![JsonError { pointer: String::new(), message }]
    };
    let raw: &RawValue = serde_json::from_slice(text).map_err(invalid)?;
    let mut parser = Parser { pointer: String::new(), depth: 0, errors: Vec::new() };
    let value = parser.parse(raw);
    if parser.errors.is_empty() { Ok(value) } else { Err(parser.errors) }
}

/// A name as a part of a JSON pointer.
#[must_use]
pub fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

struct Parser {
    pointer: String,
    depth: usize,
    errors: Vec<JsonError>,
}

impl Parser {
    fn parse(&mut self, raw: &RawValue) -> Value {
        let text = raw.get();
        if self.depth >= MAX_CHECKED_DEPTH {
            return self.read(text);
        }
        match text.as_bytes().first() {
            Some(b'{') => {
                let mut fields = Map::new();
                for (name, raw) in self.read::<RawFields<'_>>(text).0 {
                    let segment = pointer_segment(&name);
                    if fields.contains_key(name.as_ref()) {
                        let pointer = format!("{}/{segment}", self.pointer);
                        let message = "is given more than once".to_owned();
                        self.errors.push(JsonError { pointer, message });
                    }
                    let value = self.parse_within(&segment, raw);
                    fields.insert(name.into_owned(), value);
                }
                Value::Object(fields)
            }
            Some(b'[') => {
                let items = self.read::<Vec<&RawValue>>(text).into_iter().enumerate();
                items.map(|(index, raw)| self.parse_within(&index.to_string(), raw)).collect()
            }
            _ => self.read(text),
        }
    }

    fn parse_within(&mut self, segment: &str, raw: &RawValue) -> Value {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(segment);
        self.depth += 1;
        let value = self.parse(raw);
        self.depth -= 1;
        self.pointer.truncate(length);
        value
    }

    fn read<'a, T: Deserialize<'a> + Default>(&mut self, text: &'a str) -> T {
        serde_json::from_str(text).unwrap_or_else(|error| {
            let message = format!("must be valid JSON: {error}");
            self.errors.push(JsonError { pointer: self.pointer.clone(), message });
            T::default()
        })
    }
}

/// The fields of an object in order, with unparsed values.
#[derive(Default)]
pub(crate) struct RawFields<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawFields<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, raw)| *raw)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawFieldsVisitor;

        impl<'de> Visitor<'de> for RawFieldsVisitor {
            type Value = RawFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(24);
                while let Some((Name(name), raw)) = map.next_entry()? {
                    fields.push((name, raw));
                }
                Ok(RawFields(fields))
            }
        }

        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        deserializer.deserialize_map(RawFieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(text: &str) -> Vec<String> {
        let errors = parse(text.as_bytes()).unwrap_err();
        errors.into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn value_is_parsed_as_by_serde_json() {
        let text =
            r#"{"a":[1.50,{"b":null}],"é":"\u00e9","deep":[[[[[[[[{"a":1}]]]]]]]],"n":1e400}"#;
        assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn duplicate_keys_are_reported_where_they_are() {
        assert_eq!(pointers(r#"{"a":1,"a":1}"#), ["/a"]);
        assert_eq!(
            pointers(r#"[{"x":{"a/b":1,"c":2,"a\/b":3}},{"y":1,"\u0079":2}]"#),
            ["/0/x/a~1b", "/1/y"]
        );
    }

    #[test]
    fn invalid_text_is_an_error() {
        for text in ["", "{", "{}x", "nul", "[1,]", "{\"a\":\"\\ud800\"}", "\u{feff}{}", "NaN"] {
            assert_eq!(pointers(text).len(), 1, "{text}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(parse(deep.as_bytes()).is_err());
    }
}
