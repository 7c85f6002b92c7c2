//! The member `id` of a Feature, normalised to text: `1`, `"1"` and `1.0` are the same id.

use super::{
    parse_error::{ParseResult, excerpt},
    scanner::{Scanner, ValueKind},
};
use crate::{Message, message};

const MAX_CHARACTERS: usize = 255;

/// Reads the next value as an id.
pub(super) fn read_id(json: &mut Scanner<'_>) -> ParseResult<String> {
    let id = match json.kind()? {
        // A character takes at most four bytes.
        ValueKind::String => json.string(4 * MAX_CHARACTERS)?.to_owned(),
        ValueKind::Number => json.number(canonical_number)?,
        _ => return Err(json.invalid(message!("must be a string or a number"))),
    };
    match check_id(&id) {
        Ok(()) => Ok(id),
        Err(message) => Err(json.invalid(message)),
    }
}

/// Why a text cannot be an id.
pub(super) fn check_id(id: &str) -> Result<(), Message> {
    match id.chars().count() {
        0 => Err(message!("must not be empty")),
        256.. => Err(message!("must have at most {max} characters", max = MAX_CHARACTERS)),
        _ if id.chars().any(char::is_control) => {
            Err(message!("must not contain control characters"))
        }
        _ => Ok(()),
    }
}

/// Why an id cannot be used again.
pub(super) fn repeated_id(id: &str) -> Message {
    message!("`{id}` is already the id of an earlier feature", id = excerpt(id))
}

/// A number without an exponent and without leading or trailing zeros.
fn canonical_number(number: &str) -> Option<String> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let digits = digits.trim_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    // How many of the digits come before the decimal point. Zero or less if the number starts with
    // zeros after the point.
    let before = i64::try_from(whole.len()).ok()? + exponent.parse::<i64>().ok()?
        - i64::try_from(leading).ok()?;
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    Some(match usize::try_from(before) {
        Ok(before @ 1..) if before < digits.len() => {
            let (whole, fraction) = digits.split_at(before);
            format!("{sign}{whole}.{fraction}")
        }
        Ok(before @ 1..) => format!("{sign}{digits:0<before$}"),
        _ => format!("{sign}0.{}{digits}", zeros(-before)),
    })
}

#[cfg(test)]
mod tests {
    use super::canonical_number;

    #[test]
    fn equal_numbers_have_one_spelling() {
        for (spellings, canonical) in [
            (&["1", "1.0", "1.00", "1e0", "10e-1", "0.1E+1", "0.01e2"][..], "1"),
            (&["-0", "0", "0.0", "0e5"], "0"),
            (&["1500", "1.5e3", "15e2"], "1500"),
            (&["-0.025", "-2.5e-2", "-0.0250"], "-0.025"),
            (&["12.5", "1.25e1", "12.50"], "12.5"),
            (&["9007199254740993", "9007199254740993.0"], "9007199254740993"),
        ] {
            for spelling in spellings {
                assert_eq!(canonical_number(spelling).as_deref(), Some(canonical), "{spelling}");
            }
        }
    }
}
