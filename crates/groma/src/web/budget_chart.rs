//! The chart of expenses against a budget over time, as SVG with an equivalent table.

use super::{format::Money, i18n::Localizer, record_data::Doc};
use askama::Template;
use groma_domain::time::Date;
use jiff::{Span, ToSpan};
use rust_decimal::{Decimal, prelude::ToPrimitive};
use std::{collections::BTreeMap, fmt::Write};

#[derive(Template)]
#[template(path = "budget_chart.html")]
pub(super) struct Chart {
    t: Localizer,
    id: &'static str,
    description: String,
    is_over: bool,
    grid: Vec<(f64, String)>,
    limit: Option<f64>,
    limit_label: String,
    months: Vec<(f64, String)>,
    line: String,
    area: String,
    point: (f64, f64),
    value: Money,
    value_at: (f64, f64, &'static str),
    rows: Vec<MonthRow>,
}

/// The expenses of a month, and all expenses up to its end.
struct MonthRow {
    month: String,
    spent: Money,
    total: Money,
}

const LEFT: f64 = 56.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 160.0;
/// The width of a character of a label at 18 pixels, the size in `phone.css`.
const CHARACTER_WIDTH: f64 = 11.0;

impl Chart {
    /// Draws the expenses by date against an amount. `None` without dated expenses.
    pub(super) fn new<'e>(
        t: Localizer,
        expenses: impl Iterator<Item = &'e Doc>,
        amount: Decimal,
        currency: &str,
        span: (Option<Date>, Option<Date>),
        today: Date,
    ) -> Option<Self> {
        let mut days: BTreeMap<Date, Decimal> = BTreeMap::new();
        for expense in expenses {
            if let Some(day) = expense.date("incurredOn") {
                *days.entry(day).or_default() += expense.decimal("amount");
            }
        }
        let first = *days.keys().next()?;
        let last = *days.keys().next_back()?;
        let start = span.0.map_or(first, |start| start.min(first));
        let end = span
            .1
            .map_or(last, |end| end.max(last))
            .max(last.max(today.min(span.1.unwrap_or(today))));
        // A week around expenses of a few days, so that they are not a vertical line.
        let is_short = days_between(start, end) < 14;
        let widened = |day: Date, by: Span| day.checked_add(by).unwrap_or(day);
        let (start, end) = match is_short {
            true => (widened(start, -7.days()), widened(end, 7.days())),
            false => (start, end),
        };
        let spent: Decimal = days.values().copied().sum();
        let mut highest = amount;
        let mut sum = Decimal::ZERO;
        let mut steps = Vec::with_capacity(days.len());
        for (day, by) in &days {
            sum += by;
            highest = highest.max(sum);
            steps.push((*day, sum));
        }
        let top = round_up(highest.to_f64().unwrap_or(1.0).max(1.0));
        let x = |day: Date| {
            let whole = f64::from(days_between(start, end)).max(1.0);
            LEFT + (RIGHT - LEFT) * f64::from(days_between(start, day)) / whole
        };
        let y = |value: f64| BOTTOM - (BOTTOM - TOP) * (value / top).clamp(0.0, 1.0);
        let amount_of = |value: Decimal| value.to_f64().unwrap_or(0.0);
        let mut line = format!("M{:.1} {BOTTOM:.1}", x(start));
        for (day, sum) in &steps {
            // An expense is a step, not a slope.
            let _ = write!(line, "H{:.1}V{:.1}", x(*day), y(amount_of(*sum)));
        }
        let until = today.clamp(last, end);
        // The expenses of the last day count for the whole of it.
        let right = x(widened(until, 1.day())).min(RIGHT);
        let _ = write!(line, "H{right:.1}");
        let point = (right, y(amount_of(spent)));
        let is_over = amount > Decimal::ZERO && spent > amount;
        let value = Money::new(t, &spent.to_string(), currency);
        let limit_label = t.amount(&amount.to_string());
        let limit = (amount > Decimal::ZERO).then(|| y(amount_of(amount)));
        let description = match (spent * Decimal::ONE_HUNDRED).checked_div(amount) {
            Some(percent) => t
                .msg("chart-description")
                .arg("amount", format!("{limit_label} {currency}"))
                .arg("percent", percent.round().to_string())
                .arg("state", if is_over { "over" } else { "within" }),
            None => t.msg("chart-description-without-amount"),
        };
        let description = description
            .arg("spent", format!("{} {currency}", value.amount))
            .arg("from", t.full_day(start))
            .arg("until", t.full_day(until));
        Some(Self {
            t,
            id: "spent",
            description: description.to_string().trim_end().to_owned(),
            is_over,
            grid: (1..=4)
                .map(|part| f64::from(part) * top / 4.0)
                .map(|value| (y(value), short_number(t, value)))
                .collect(),
            limit,
            limit_label,
            // Leave out a label that would reach beyond the right edge.
            months: labelled_days(t, start, end)
                .into_iter()
                .map(|(day, text)| (x(day), text))
                .filter(|(x, text)| x + label_width(text) <= RIGHT)
                .collect(),
            area: format!("{line}V{BOTTOM:.1}H{:.1}Z", x(start)),
            line,
            point,
            value,
            value_at: if point.0 > 480.0 {
                (point.0 - 8.0, point.1 - 8.0, "end")
            } else {
                (point.0 + 8.0, point.1 - 8.0, "start")
            },
            rows: by_month(t, &steps, &days, currency),
        })
    }
}

/// The width of a label on a phone, where text is largest.
fn label_width(label: &str) -> f64 {
    f64::from(u16::try_from(label.chars().count()).unwrap_or(u16::MAX)) * CHARACTER_WIDTH
}

fn days_between(from: Date, to: Date) -> i32 {
    from.until(to).map(|span| span.get_days()).unwrap_or(0)
}

/// The next round number.
pub(super) fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(value)
}

/// A number on the axis: `12 k`.
pub(super) fn short_number(t: Localizer, value: f64) -> String {
    let (factor, unit) = match value {
        value if value >= 1e9 => (1e9, "billion"),
        value if value >= 1e6 => (1e6, "million"),
        value if value >= 1e3 => (1e3, "thousand"),
        _ => (1.0, "one"),
    };
    let text = format!("{:.1}", value / factor);
    let number = t.amount(text.strip_suffix(".0").unwrap_or(&text));
    t.msg("number-short").arg("unit", unit).arg("number", number).into()
}

/// The days to label: the first of months, or a few days if the time is shorter than that.
fn labelled_days(t: Localizer, start: Date, end: Date) -> Vec<(Date, String)> {
    let length = days_between(start, end);
    if length > 45 {
        return months(t, start, end);
    }
    let days = (0..3).filter_map(|part| start.checked_add((length * part / 3).days()).ok());
    days.map(|day| (day, t.full_day(day))).collect()
}

/// The months to label: each one, or fewer when there are many.
fn months(t: Localizer, start: Date, end: Date) -> Vec<(Date, String)> {
    let count = days_between(start, end) / 30;
    let step = match count {
        0..=8 => 1,
        9..=24 => 3,
        25..=60 => 6,
        _ => 12,
    };
    let mut labels = Vec::new();
    let mut day = start.first_of_month();
    while day <= end && labels.len() < 24 {
        let is_labelled = (i32::from(day.month()) - 1) % step == 0;
        if is_labelled && day >= start {
            let has_year = step == 12 || day.month() == 1;
            labels.push((day, if has_year { t.month_and_year(day) } else { t.month(day) }));
        }
        match day.last_of_month().tomorrow() {
            Ok(next) => day = next,
            Err(_) => break,
        }
    }
    labels
}

/// The rows of the table.
fn by_month(
    t: Localizer,
    steps: &[(Date, Decimal)],
    days: &BTreeMap<Date, Decimal>,
    currency: &str,
) -> Vec<MonthRow> {
    let mut rows: BTreeMap<Date, (Decimal, Decimal)> = BTreeMap::new();
    for (day, sum) in steps {
        let row = rows.entry(day.first_of_month()).or_default();
        row.0 += days.get(day).copied().unwrap_or_default();
        row.1 = *sum;
    }
    let money = |amount: Decimal| Money::new(t, &amount.to_string(), currency);
    rows.into_iter()
        .map(|(month, (spent, total))| MonthRow {
            month: t.month_and_year(month),
            spent: money(spent),
            total: money(total),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The month labels of a chart from February 2026 to this day.
    fn labels_until(end: &str) -> Vec<String> {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let expense = br#"{"incurredOn":"2026-02-01","amount":"10.00"}"#;
        let expenses = [Doc::parse(expense).unwrap()];
        let span = (Some(day("2026-02-01")), Some(day(end)));
        let t = Localizer::for_request(&axum::http::HeaderMap::new());
        let chart =
            Chart::new(t, expenses.iter(), Decimal::ONE_HUNDRED, "EUR", span, day("2026-02-02"));
        chart.unwrap().months.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn expenses_of_one_day_are_not_at_the_edge() {
        let day: Date = "2026-02-01".parse().unwrap();
        let expense = br#"{"incurredOn":"2026-02-01","amount":"10.00"}"#;
        let expenses = [Doc::parse(expense).unwrap()];
        let t = Localizer::for_request(&axum::http::HeaderMap::new());
        let chart =
            Chart::new(t, expenses.iter(), Decimal::ONE_HUNDRED, "EUR", (None, None), day).unwrap();
        assert!(chart.point.0 > LEFT + 100.0 && chart.point.0 < RIGHT - 100.0, "{:?}", chart.point);
    }

    #[test]
    fn label_that_does_not_fit_is_left_out() {
        assert_eq!(labels_until("2027-01-25"), ["Apr", "Jul", "Oct"]);
        assert_eq!(labels_until("2027-03-20"), ["Apr", "Jul", "Oct", "Jan 2027"]);
    }
}
