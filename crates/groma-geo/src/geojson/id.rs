//! The member `id` of a Feature, as one kind of text: `1`, `"1"` and `1.0` are the same.

use super::{
    fault::Read,
    number::checked_number,
    scan::{Kind, Scanner},
};

/// The longest id, in characters.
const MAX_CHARACTERS: usize = 255;

/// Reads the id that comes.
pub(super) fn id(json: &mut Scanner<'_>) -> Read<String> {
    let id = match json.kind()? {
        // A character has four bytes at most.
        Kind::String => json.string(4 * MAX_CHARACTERS)?.to_owned(),
        Kind::Number => checked_number(json, plain)?,
        _ => return Err(json.wrong("must be a string or a number")),
    };
    let complaint = match id.chars().count() {
        0 => "must not be empty",
        256.. => "must have at most 255 characters",
        _ if id.chars().any(char::is_control) => "must not contain control characters",
        _ => return Ok(id),
    };
    Err(json.wrong(complaint))
}

/// A number written out without an exponent and without zeros that say nothing.
fn plain(number: &str) -> Option<String> {
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
    // How many of the digits stand before the point; none or fewer when zeros come first.
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
    use super::plain;

    #[test]
    fn a_number_has_one_spelling() {
        for (spellings, one) in [
            (&["1", "1.0", "1.00", "1e0", "10e-1", "0.1E+1", "0.01e2"][..], "1"),
            (&["-0", "0", "0.0", "0e5"], "0"),
            (&["1500", "1.5e3", "15e2"], "1500"),
            (&["-0.025", "-2.5e-2", "-0.0250"], "-0.025"),
            (&["12.5", "1.25e1", "12.50"], "12.5"),
            (&["9007199254740993", "9007199254740993.0"], "9007199254740993"),
        ] {
            for spelling in spellings {
                assert_eq!(plain(spelling).as_deref(), Some(one), "{spelling}");
            }
        }
    }
}
