//! The properties of a feature as they appear in tiles. They are encoded once, when the feature is
//! written.
//!
//! Each property is the varint number of its field in the layer, a varint length, and that many bytes
//! of an MVT `Value` message, which a tile copies unchanged.

use crate::varint;
use serde_json::{Number, Value};

/// The most bytes of text in a tile. Longer text is truncated between characters, even if it is the
/// JSON of an array or object. The store keeps the complete properties separately.
const MAX_TEXT_BYTES: usize = 4096;

/// Protobuf field headers of an MVT `Value`: field number and wire type.
mod header {
    pub(super) const STRING: u8 = 1 << 3 | 2;
    pub(super) const DOUBLE: u8 = 3 << 3 | 1;
    pub(super) const UNSIGNED: u8 = 5 << 3;
    pub(super) const SIGNED: u8 = 6 << 3;
    pub(super) const BOOLEAN: u8 = 7 << 3;
}

/// The value of a property in a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// Text. Arrays and objects are text too: their JSON.
    String(&'a str),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean,
}

/// Encodes properties, each with the number of its field in the layer. Omits nulls.
pub fn encode<'a>(fields: impl Iterator<Item = (u32, &'a Value)>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut message = Vec::new();
    for (field, value) in fields {
        message.clear();
        match value {
            Value::Null => continue,
            Value::Bool(value) => message.extend([header::BOOLEAN, u8::from(*value)]),
            Value::Number(number) => put_number(&mut message, number),
            Value::String(text) => put_text(&mut message, text),
            Value::Array(_) | Value::Object(_) => put_text(&mut message, &value.to_string()),
        }
        varint::put(&mut out, u64::from(field));
        varint::put(&mut out, message.len() as u64);
        out.extend_from_slice(&message);
    }
    out
}

/// Integers stay integers if they fit into 64 bits. Numbers beyond the range of a double are clamped.
fn put_number(message: &mut Vec<u8>, number: &Number) {
    if let Some(value) = number.as_i64().filter(|value| *value < 0) {
        message.push(header::SIGNED);
        varint::put(message, varint::zigzag(value));
    } else if let Some(value) = number.as_u64().or(number.as_i64().map(i64::unsigned_abs)) {
        message.push(header::UNSIGNED);
        varint::put(message, value);
    } else {
        let value: f64 = number.to_string().parse().unwrap_or(0.0);
        message.push(header::DOUBLE);
        message.extend_from_slice(&value.clamp(f64::MIN, f64::MAX).to_le_bytes());
    }
}

fn put_text(message: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    message.push(header::STRING);
    varint::put(message, text.len() as u64);
    message.extend_from_slice(text.as_bytes());
}

/// The field numbers of encoded properties, each with its value.
pub fn field_values(mut bytes: &[u8]) -> impl Iterator<Item = (u64, FieldValue<'_>)> {
    std::iter::from_fn(move || {
        let (field, message) = take(&mut bytes)?;
        let (header, mut value) = message.split_first()?;
        #[expect(clippy::cast_precision_loss, reason = "the range of a field is approximate")]
        let value = match *header {
            header::STRING => {
                varint::take(&mut value)?;
                FieldValue::String(std::str::from_utf8(value).ok()?)
            }
            header::BOOLEAN => FieldValue::Boolean,
            header::DOUBLE => FieldValue::Number(f64::from_le_bytes(value.try_into().ok()?)),
            header::UNSIGNED => FieldValue::Number(varint::take(&mut value)? as f64),
            _ => FieldValue::Number(varint::unzigzag(varint::take(&mut value)?) as f64),
        };
        Some((field, value))
    })
}

/// Replaces the field numbers of encoded properties: `numbers[old]` is the new number. Drops fields
/// that have no new number.
#[must_use]
pub fn renumber_fields(mut bytes: &[u8], numbers: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    while let Some((field, message)) = take(&mut bytes) {
        let number = usize::try_from(field).ok().and_then(|field| numbers.get(field));
        if let Some(number) = number {
            varint::put(&mut out, u64::from(*number));
            varint::put(&mut out, message.len() as u64);
            out.extend_from_slice(message);
        }
    }
    out
}

/// Takes the next property from the front: its field number and its `Value`. `None` if the bytes are
/// damaged.
#[inline]
pub(crate) fn take<'a>(bytes: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let field = varint::take(bytes)?;
    let length = usize::try_from(varint::take(bytes)?).ok()?;
    let (message, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((field, message))
}

/// Whether this looks like a message that [`encode`] writes. Any other message could make the whole
/// tile unreadable.
pub(crate) fn is_value(message: &[u8]) -> bool {
    let Some((&header, mut rest)) = message.split_first() else { return false };
    match header {
        header::STRING => varint::take(&mut rest).is_some_and(|length| length == rest.len() as u64),
        header::DOUBLE => rest.len() == 8,
        header::UNSIGNED | header::SIGNED | header::BOOLEAN => varint::is_single(rest),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The `Value` message of one property.
    fn message(value: &Value) -> Vec<u8> {
        let bytes = encode(std::iter::once((300, value)));
        let mut rest = bytes.as_slice();
        let (field, message) = take(&mut rest).unwrap();
        assert_eq!((field, rest.len()), (300, 0));
        assert!(is_value(message));
        message.to_vec()
    }

    fn number(text: &str) -> Vec<u8> {
        message(&serde_json::from_str(text).unwrap())
    }

    fn double(value: f64) -> Vec<u8> {
        [&[0x19], value.to_le_bytes().as_slice()].concat()
    }

    #[test]
    fn each_json_type_has_its_value_type() {
        assert_eq!(message(&json!("Chêne")), b"\x0a\x06Ch\xc3\xaane");
        assert_eq!(message(&json!("")), [0x0a, 0]);
        assert_eq!(message(&json!(true)), [0x38, 1]);
        assert_eq!(message(&json!(false)), [0x38, 0]);
        assert_eq!(message(&json!([1, null])), b"\x0a\x08[1,null]");
        assert_eq!(message(&json!({"a": 1})), b"\x0a\x07{\"a\":1}");
    }

    #[test]
    fn integers_up_to_64_bits_stay_integers() {
        assert_eq!(number("0"), [0x28, 0]);
        assert_eq!(number("-0"), [0x28, 0]);
        assert_eq!(number("300"), [0x28, 0xac, 0x02]);
        assert_eq!(number("-1"), [0x30, 1]);
        assert_eq!(number("18446744073709551615").len(), 11);
        assert_eq!(number("-9223372036854775808").len(), 11);
        assert_eq!(number("18446744073709551616"), double(18_446_744_073_709_551_616.0));
        assert_eq!(number("-9223372036854775809"), double(-9_223_372_036_854_775_809.0));
        assert_eq!(number("1.0"), double(1.0));
        assert_eq!(number("1e2"), double(100.0));
        assert_eq!(number("-12.5"), double(-12.5));
        assert_eq!(number("1e400"), double(f64::MAX));
        assert_eq!(number("-1e400"), double(f64::MIN));
    }

    #[test]
    fn null_is_omitted() {
        let (null, one) = (Value::Null, json!(1));
        assert_eq!(encode([(0, &null), (7, &one)].into_iter()), [7, 2, 0x28, 1]);
    }

    #[test]
    fn encoded_values_are_read_back() {
        let values = [json!("Chêne"), json!(true), json!(300), json!(-7), json!(2.5), json!([1])];
        let bytes = encode(values.iter().enumerate().map(|(field, value)| (field as u32, value)));
        let read: Vec<_> = field_values(&bytes).collect();
        let expected = [
            FieldValue::String("Chêne"),
            FieldValue::Boolean,
            FieldValue::Number(300.0),
            FieldValue::Number(-7.0),
            FieldValue::Number(2.5),
            FieldValue::String("[1]"),
        ];
        assert_eq!(read, (0..).zip(expected).collect::<Vec<_>>());
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        let message = message(&Value::String(format!("a{}", "é".repeat(4000))));
        let text = std::str::from_utf8(&message[3..]).unwrap();
        assert_eq!(text, format!("a{}", "é".repeat(2047)));
    }

    proptest! {
        #[test]
        fn damaged_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = bytes.as_slice();
            while let Some((_, message)) = take(&mut rest) {
                is_value(message);
            }
        }
    }
}
