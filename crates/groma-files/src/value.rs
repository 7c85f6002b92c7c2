//! Values of properties.

use serde_json::{Number, Value};

/// A number; null if it is not finite, which JSON cannot express.
pub(crate) fn real(number: f64) -> Value {
    // Whole numbers look the same whether a format stores them as integers or not.
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Whether a whole number, written in digits, keeps them all as a floating-point number.
pub(crate) fn is_exact_as_real(digits: &str) -> bool {
    digits.parse::<f64>().is_ok_and(|number| number.to_string() == digits)
}

/// The text of a value, as an id or in a column of text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// JSON text as a value; text that is not JSON stays text.
pub(crate) fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
