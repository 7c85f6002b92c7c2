//! Figures, dates and moments as people read them.

use groma_domain::{Status, Timestamp, time::Date};
use jiff::tz::TimeZone;
use serde_json::Value;

/// A count or the whole part of an amount with its thousands set apart: `1,204`.
pub(crate) fn grouped(number: u64) -> String {
    group_digits(&number.to_string())
}

/// A decimal with its thousands set apart: `18,400.00`.
pub(crate) fn amount(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("−", text));
    let (whole, rest) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
    let whole = group_digits(whole);
    rest.map_or_else(|| format!("{sign}{whole}"), |rest| format!("{sign}{whole}.{rest}"))
}

fn group_digits(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Several things: `1 folder`, `3 folders`.
pub(crate) fn several(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A day, with its year unless it is this one: `12 Dec`.
pub(crate) fn day(date: Date, today: Date) -> String {
    let format = if date.year() == today.year() { "%-d %b" } else { "%-d %b %Y" };
    date.strftime(format).to_string()
}

/// A day in full: `12 Dec 2026`.
pub(crate) fn full_day(date: Date) -> String {
    date.strftime("%-d %b %Y").to_string()
}

/// A moment: as one says it, exactly, and for machines.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) iso: String,
    pub(crate) said: String,
    pub(crate) exact: String,
}

impl Moment {
    pub(crate) fn new(moment: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        let at = |moment: Timestamp| {
            let moment = jiff::Timestamp::from_millisecond(moment.as_millis()).unwrap_or_default();
            moment.to_zoned(zone.clone())
        };
        let (zoned, today) = (at(moment), at(now).date());
        let seconds = (now.as_millis() - moment.as_millis()) / 1_000;
        let away = seconds.abs();
        let ago =
            |text: String| if seconds < 0 { format!("in {text}") } else { format!("{text} ago") };
        let days = zoned.date().until(today).map(|span| i64::from(span.get_days())).unwrap_or(0);
        let said = match (away, days) {
            (0..45, _) => "just now".to_owned(),
            (45..2_700, _) => ago(format!("{} min", (away / 60).max(1))),
            (2_700..72_000, _) => ago(format!("{} h", (away / 3_600).max(1))),
            (_, 0) => ago(format!("{} h", away / 3_600)),
            (_, 1) => "yesterday".to_owned(),
            (_, -1) => "tomorrow".to_owned(),
            (_, days) if days.abs() < 14 => ago(format!("{} days", days.abs())),
            _ => day(zoned.date(), today),
        };
        Self {
            iso: moment.to_string(),
            said,
            exact: zoned.strftime("%-d %b %Y, %H:%M:%S %Z").to_string(),
        }
    }
}

/// The first letters of a name: `SL`.
pub(crate) fn initials(name: &str) -> String {
    let words = name.split_whitespace().filter_map(|word| word.chars().next());
    words.take(2).flat_map(char::to_uppercase).collect()
}

/// A status as it is shown.
#[derive(Clone, Debug)]
pub(crate) struct StatusShown {
    pub(crate) name: String,
    pub(crate) color: String,
}

impl From<&Status> for StatusShown {
    fn from(status: &Status) -> Self {
        Self { name: status.name.clone(), color: status.color.clone() }
    }
}

/// An amount with its currency.
#[derive(Clone, Debug)]
pub(crate) struct Money {
    pub(crate) amount: String,
    pub(crate) currency: String,
}

impl Money {
    pub(crate) fn new(text: &str, currency: &str) -> Self {
        Self { amount: amount(text), currency: currency.to_owned() }
    }
}

/// A share of a whole.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) percent: String,
    /// From 0 to 100, the width of a bar.
    pub(crate) width: u32,
    pub(crate) is_over: bool,
}

impl Share {
    /// Reads `percentUsed`.
    pub(crate) fn of(percent: Option<&str>) -> Option<Self> {
        let percent: f64 = percent?.parse().ok()?;
        Some(Self {
            percent: format!("{percent:.0} %"),
            width: percent.clamp(0.0, 100.0).round() as u32,
            is_over: percent > 100.0,
        })
    }
}

/// A plain value of a document as text.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(object) => match object.get("name").or_else(|| object.get("reference")) {
            Some(name) => plain(name),
            None => {
                let pairs = object.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
                pairs.collect::<Vec<_>>().join(", ")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_their_thousands_set_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_204_500), "1,204,500");
        assert_eq!(amount("18400.00"), "18,400.00");
        assert_eq!(amount("-1250.5"), "−1,250.5");
    }

    #[test]
    fn a_moment_is_said_as_people_do() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        let said =
            |text: &str| Moment::new(Timestamp::parse(text).unwrap(), now, &TimeZone::UTC).said;
        assert_eq!(said("2026-11-15T11:59:30Z"), "just now");
        assert_eq!(said("2026-11-15T11:30:00Z"), "30 min ago");
        assert_eq!(said("2026-11-15T09:00:00Z"), "3 h ago");
        assert_eq!(said("2026-11-14T09:00:00Z"), "yesterday");
        assert_eq!(said("2026-11-20T12:00:00Z"), "in 5 days");
        assert_eq!(said("2025-03-01T12:00:00Z"), "1 Mar 2025");
    }
}
