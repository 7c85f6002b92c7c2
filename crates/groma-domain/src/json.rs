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

/// Whether two values mean the same: members of objects have no order, and numbers no spelling.
#[must_use]
pub fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let exact = Decimal::of(one.as_str()).zip(Decimal::of(other.as_str()));
            one == other || exact.is_some_and(|(one, other)| one == other)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same_value(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| {
                    other.get(name).is_some_and(|other| is_same_value(value, other))
                })
        }
        _ => one == other,
    }
}

/// The exact value of a number: its digits without zeros at the ends, and the power of ten of the last one.
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` if its exponent is beyond all sense.
    fn of(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self { is_negative: false, digits: String::new(), exponent: 0 });
        }
        let exponent: i64 = exponent.parse().ok()?;
        let exponent = exponent.checked_sub(fraction.len() as i64)?;
        let exponent = exponent.checked_add((all.len() - digits.len()) as i64)?;
        Some(Self { is_negative, digits: digits.trim_start_matches('0').to_owned(), exponent })
    }
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
    fn spelling_of_numbers_and_order_of_members_do_not_matter() {
        let is_same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| serde_json::from_str(text).unwrap());
            is_same_value(&one, &other)
        };
        for (one, other) in [
            ("12.0", "12"),
            ("1.10", "1.1"),
            ("1e2", "100"),
            ("0.001E+3", "1"),
            ("-0.0", "0"),
            (r#"{"a":[1,{"b":2,"c":3.0}]}"#, r#"{"a":[1.0,{"c":3,"b":2}]}"#),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("1", "-1"),
            ("10", "1"),
            ("12345678901234567890", "12345678901234567891"),
            ("1e99999999999999999999", "2e99999999999999999999"),
            ("1", r#""1""#),
            ("[1,2]", "[2,1]"),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
        ] {
            assert!(!is_same(one, other), "{one} {other}");
        }
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
