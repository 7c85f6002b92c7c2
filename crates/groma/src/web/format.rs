//! Numbers, dates and times as the pages show them, in the user's language.

use super::i18n::{Localizer, Message, group_digits};
use groma_domain::{Kind, Role, Status, Timestamp, time::Date};
use groma_store::{RecordCount, disabled_reason};
use jiff::{Zoned, tz::TimeZone};
use serde_json::Value;

impl Localizer {
    /// That there were too many attempts, and when to try again.
    pub(super) fn too_many_attempts(self, retry_after_seconds: u64) -> String {
        let (unit, count) = match retry_after_seconds {
            seconds if seconds < 60 => ("second", seconds),
            seconds => ("minute", seconds.div_ceil(60)),
        };
        self.msg("too-many-attempts").arg("unit", unit).arg("count", count).to_string()
    }

    /// A whole number with separators: `1,204`.
    pub(crate) fn number(self, number: u64) -> String {
        group_digits(&number.to_string(), self.group_separator())
    }

    /// A decimal with separators: `18,400.00`.
    pub(crate) fn amount(self, text: &str) -> String {
        let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("−", text));
        let (whole, decimals) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
        let whole = group_digits(whole, self.group_separator());
        match decimals {
            Some(decimals) => format!("{sign}{whole}{}{decimals}", self.decimal_separator()),
            None => format!("{sign}{whole}"),
        }
    }

    /// The number of records that a query found: `1,204` or `more than 10,000`.
    pub(crate) fn count(self, count: RecordCount) -> String {
        match count {
            RecordCount::Exactly(count) => self.number(count),
            RecordCount::MoreThan(count) => self.msg("count-more-than").arg("count", count).into(),
        }
    }

    /// The same where there is little room: `10,000+`.
    pub(crate) fn short_count(self, count: RecordCount) -> String {
        match count {
            RecordCount::Exactly(count) => self.number(count),
            RecordCount::MoreThan(count) => format!("{}+", self.number(count)),
        }
    }

    /// A number of records of a kind: `1 folder`, `more than 10,000 folders`.
    pub(crate) fn record_count(self, kind: Kind, count: RecordCount) -> String {
        let message = match count {
            RecordCount::Exactly(count) => self.msg("record-count").arg("count", count),
            RecordCount::MoreThan(count) => self.msg("record-count-more-than").arg("count", count),
        };
        message.arg("kind", kind.name()).into()
    }

    /// A kind of records as a title: `Folders`.
    pub(crate) fn kind_title(self, kind: Kind) -> String {
        self.msg("kind-title").arg("kind", kind.name()).into()
    }

    /// The name of a role.
    pub(crate) fn role(self, role: Role) -> String {
        self.msg("role-name").arg("role", role.name()).into()
    }

    /// Why a webhook endpoint is disabled: a reason of the program in the user's language, or the
    /// operator's own words.
    pub(crate) fn disabled_reason(self, reason: &str) -> String {
        let message = self.msg("webhook-disabled-reason");
        match (reason, reason.strip_prefix(DISABLED_BY)) {
            (disabled_reason::GONE, _) => message.arg("reason", "gone").into(),
            (disabled_reason::FAILING, _) => message.arg("reason", "failing").into(),
            (disabled_reason::COPIED, _) => message.arg("reason", "copied").into(),
            (disabled_reason::HTTP_NOT_ALLOWED, _) => message.arg("reason", "http").into(),
            (disabled_reason::DISABLED_BY_API, _) => message.arg("reason", "api").into(),
            (_, Some(name)) => message.arg("reason", "by").arg("name", name).into(),
            (text, None) => text.to_owned(),
        }
    }

    /// A date, with its year unless it is the current one: `12 Dec`.
    pub(crate) fn day(self, date: Date, today: Date) -> String {
        if date.year() == today.year() {
            return self.date_message(self.msg("date-day"), date);
        }
        self.full_day(date)
    }

    /// A date with its year: `12 Dec 2026`.
    pub(crate) fn full_day(self, date: Date) -> String {
        self.date_message(self.msg("date-full"), date)
    }

    /// A month: `Dec`.
    pub(crate) fn month(self, date: Date) -> String {
        self.date_message(self.msg("date-month"), date)
    }

    /// A month with its year: `Dec 2026`.
    pub(crate) fn month_and_year(self, date: Date) -> String {
        self.date_message(self.msg("date-month-year"), date)
    }

    fn date_message(self, message: Message, date: Date) -> String {
        let message = message.arg("day", date.day()).arg("month", date.month());
        message.arg("year", date.year().to_string()).into()
    }
}

/// Before the name of the member who disabled a webhook endpoint.
pub(crate) const DISABLED_BY: &str = "by ";

/// A point in time: relative to now, exactly, and for machines.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) iso: String,
    pub(crate) relative: String,
    pub(crate) exact: String,
}

impl Moment {
    pub(crate) fn new(t: Localizer, moment: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        let zoned = |moment: Timestamp| {
            let moment = jiff::Timestamp::from_millisecond(moment.as_millis()).unwrap_or_default();
            moment.to_zoned(zone.clone())
        };
        let (at, today) = (zoned(moment), zoned(now).date());
        let seconds = (now.as_millis() - moment.as_millis()) / 1_000;
        Self {
            iso: moment.to_string(),
            relative: relative(t, &at, today, seconds),
            exact: exact(t, &at),
        }
    }
}

/// A time relative to now: `3 h ago`, `in 5 days`, `1 Mar 2025`. Negative seconds are in the future.
fn relative(t: Localizer, at: &Zoned, today: Date, seconds: i64) -> String {
    let days = at.date().until(today).map(|span| i64::from(span.get_days())).unwrap_or(0);
    let distance = seconds.abs();
    let in_unit = |unit: &str, count: i64| {
        let tense = if seconds < 0 { "future" } else { "past" };
        let count = count.max(1);
        t.msg("time-relative").arg("tense", tense).arg("unit", unit).arg("count", count).into()
    };
    match (distance, days) {
        (0..45, _) if seconds < 0 => t.msg("time-soon").into(),
        (0..45, _) => t.msg("time-just-now").into(),
        (45..2_700, _) => in_unit("minute", distance / 60),
        (2_700..72_000, _) | (_, 0) => in_unit("hour", distance / 3_600),
        (_, 1) => t.msg("time-yesterday").into(),
        (_, -1) => t.msg("time-tomorrow").into(),
        (_, days) if days.abs() < 14 => in_unit("day", days.abs()),
        _ => t.day(at.date(), today),
    }
}

/// A time in full: `12 Dec 2026, 14:03:22 CET`.
fn exact(t: Localizer, at: &Zoned) -> String {
    let message = t.msg("date-exact").arg("time", at.strftime("%H:%M:%S").to_string());
    let message = message.arg("zone", at.strftime("%Z").to_string());
    t.date_message(message, at.date())
}

/// The first letters of a name: `SL`.
pub(crate) fn initials(name: &str) -> String {
    let words = name.split_whitespace().filter_map(|word| word.chars().next());
    words.take(2).flat_map(char::to_uppercase).collect()
}

/// The name and color of a status.
#[derive(Clone, Debug)]
pub(crate) struct StatusBadge {
    pub(crate) name: String,
    pub(crate) color: String,
}

impl From<&Status> for StatusBadge {
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
    pub(crate) fn new(t: Localizer, text: &str, currency: &str) -> Self {
        Self { amount: t.amount(text), currency: currency.to_owned() }
    }
}

/// The part of a budget that is spent.
#[derive(Clone, Debug)]
pub(crate) struct BudgetShare {
    pub(crate) percent: String,
    /// From 0 to 100, the width of a bar.
    pub(crate) width: u32,
    pub(crate) is_over: bool,
}

impl BudgetShare {
    /// Reads `percentUsed`.
    pub(crate) fn of(t: Localizer, percent: Option<&str>) -> Option<Self> {
        let percent: f64 = percent?.parse().ok()?;
        let rounded = t.amount(&format!("{percent:.0}"));
        Some(Self {
            percent: t.msg("percent").arg("number", rounded).into(),
            width: percent.clamp(0.0, 100.0).round() as u32,
            is_over: percent > 100.0,
        })
    }
}

/// A JSON value as plain text.
pub(crate) fn plain_text(t: Localizer, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => t.msg("yes").into(),
        Value::Bool(false) => t.msg("no").into(),
        Value::Number(number) => t.decimal_input(&number.to_string()),
        Value::Array(items) => {
            items.iter().map(|item| plain_text(t, item)).collect::<Vec<_>>().join(", ")
        }
        Value::Object(object) => match object.get("name").or_else(|| object.get("reference")) {
            Some(name) => plain_text(t, name),
            None => {
                let pairs = object.iter();
                let pairs = pairs.map(|(name, value)| format!("{name}: {}", plain_text(t, value)));
                pairs.collect::<Vec<_>>().join(", ")
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderMap;

    fn english() -> Localizer {
        Localizer::for_request(&HeaderMap::new())
    }

    #[test]
    fn numbers_have_separators() {
        let t = english();
        assert_eq!(t.number(7), "7");
        assert_eq!(t.number(1_204_500), "1,204,500");
        assert_eq!(t.amount("18400.00"), "18,400.00");
        assert_eq!(t.amount("-1250.5"), "−1,250.5");
    }

    #[test]
    fn times_are_relative_to_now() {
        let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        let moment = |text: &str| {
            let at = Timestamp::parse(text).unwrap();
            Moment::new(english(), at, now, &TimeZone::UTC)
        };
        let relative = |text: &str| moment(text).relative;
        assert_eq!(relative("2026-11-15T11:59:30Z"), "just now");
        assert_eq!(relative("2026-11-15T12:00:20Z"), "in a few seconds");
        assert_eq!(relative("2026-11-15T11:30:00Z"), "30 min ago");
        assert_eq!(relative("2026-11-15T09:00:00Z"), "3 h ago");
        assert_eq!(relative("2026-11-14T09:00:00Z"), "yesterday");
        assert_eq!(relative("2026-11-20T12:00:00Z"), "in 5 days");
        assert_eq!(relative("2025-03-01T12:00:00Z"), "1 Mar 2025");
        assert_eq!(moment("2025-03-01T12:00:00Z").exact, "1 Mar 2025, 12:00:00 UTC");
    }
}
