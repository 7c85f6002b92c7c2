//! Numbers that can be kept: within what a double holds, as text or as a double.

use super::{
    fault::Read,
    scan::{Kind, Scanner},
};

/// Reads the number that comes, as a finite double.
pub(super) fn number(json: &mut Scanner<'_>) -> Read<f64> {
    if json.kind()? != Kind::Number {
        return Err(json.wrong("must be a number"));
    }
    match json.number()?.parse() {
        Ok(number) if f64::is_finite(number) => Ok(number),
        _ => Err(json.wrong(TOO_LARGE)),
    }
}

/// Reads the number that comes, from its text. A database keeps numbers with more digits than a
/// double, but not with any exponent.
pub(super) fn checked_number<T>(
    json: &mut Scanner<'_>,
    from_text: impl FnOnce(&str) -> Option<T>,
) -> Read<T> {
    let text = json.number()?;
    let exponent = text.split_once(['e', 'E']).map_or("", |(_, exponent)| exponent);
    let digits = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
    let sensible = digits.len() <= 3 && text.parse().is_ok_and(f64::is_finite);
    match if sensible { from_text(text) } else { None } {
        Some(number) => Ok(number),
        None => Err(json.wrong(TOO_LARGE)),
    }
}

const TOO_LARGE: &str = "is a number beyond what can be kept";
