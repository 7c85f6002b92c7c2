//! What was spent against what was set aside, over time: drawn here as SVG, with a table behind it.

use super::{
    records::Doc,
    shown::{self, Money},
};
use askama::Template;
use groma_domain::time::Date;
use rust_decimal::{Decimal, prelude::ToPrimitive};
use std::{collections::BTreeMap, fmt::Write};

/// The drawing.
#[derive(Template)]
#[template(path = "budget_chart.html")]
pub(super) struct Chart {
    id: &'static str,
    title: String,
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
    rows: Vec<(String, Money, Money)>,
}

const LEFT: f64 = 56.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 160.0;
/// A letter of a label, at the 18 pixels that `phone.css` gives it.
const LETTER: f64 = 11.0;

impl Chart {
    /// Draws expenses, by their day, against an amount. `None` when there is nothing to draw.
    pub(super) fn new(
        expenses: &[Doc],
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
        let end = if end <= start { start.tomorrow().unwrap_or(end) } else { end };
        let spent: Decimal = days.values().copied().sum();
        let mut highest = amount;
        let mut sum = Decimal::ZERO;
        let mut steps = Vec::with_capacity(days.len());
        for (day, by) in &days {
            sum += by;
            highest = highest.max(sum);
            steps.push((*day, sum));
        }
        let top = nice(highest.to_f64().unwrap_or(1.0).max(1.0));
        let x = |day: Date| {
            let whole = f64::from(days_between(start, end)).max(1.0);
            LEFT + (RIGHT - LEFT) * f64::from(days_between(start, day)) / whole
        };
        let y = |value: f64| BOTTOM - (BOTTOM - TOP) * (value / top).clamp(0.0, 1.0);
        let amount_of = |value: Decimal| value.to_f64().unwrap_or(0.0);
        let mut line = format!("M{:.1} {BOTTOM:.1}", x(start));
        for (day, sum) in &steps {
            // What is spent is spent at once: a step, not a slope.
            let _ = write!(line, "H{:.1}V{:.1}", x(*day), y(amount_of(*sum)));
        }
        let until = today.clamp(last, end);
        let _ = write!(line, "H{:.1}", x(until));
        let point = (x(until), y(amount_of(spent)));
        let is_over = amount > Decimal::ZERO && spent > amount;
        let value = Money::new(&spent.to_string(), currency);
        let limit = (amount > Decimal::ZERO).then(|| y(amount_of(amount)));
        let share = (spent * Decimal::ONE_HUNDRED).checked_div(amount);
        let share = share.map(|share| format!(", {} %", share.round())).unwrap_or_default();
        Some(Self {
            id: "spent",
            title: "Spent against budget".to_owned(),
            description: format!(
                "{} {currency} of {} {currency} spent{share} from {} to {}.{}",
                value.amount,
                shown::amount(&amount.to_string()),
                shown::full_day(start),
                shown::full_day(until),
                if is_over { " That is over budget." } else { "" }
            ),
            is_over,
            grid: (1..=4)
                .map(|part| f64::from(part) * top / 4.0)
                .map(|value| (y(value), short(value)))
                .collect(),
            limit,
            limit_label: shown::amount(&amount.to_string()),
            // A label that begins too near the end would stand outside.
            months: months(start, end)
                .into_iter()
                .map(|(day, text)| (x(day), text))
                .filter(|(x, text)| x + width(text) <= RIGHT)
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
            rows: by_month(&steps, &days, currency),
        })
    }
}

/// How wide a label is where it is widest: on a phone, whose letters are larger.
fn width(label: &str) -> f64 {
    f64::from(u16::try_from(label.chars().count()).unwrap_or(u16::MAX)) * LETTER
}

fn days_between(from: Date, to: Date) -> i32 {
    from.until(to).map(|span| span.get_days()).unwrap_or(0)
}

/// A round figure that is not smaller.
fn nice(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(value)
}

/// A figure on the axis: `12 k`.
fn short(value: f64) -> String {
    let plain = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match value {
        value if value >= 1e9 => plain(value / 1e9, " bn"),
        value if value >= 1e6 => plain(value / 1e6, " m"),
        value if value >= 1e3 => plain(value / 1e3, " k"),
        value => plain(value, ""),
    }
}

/// The beginnings of months, or of years when there are many.
fn months(start: Date, end: Date) -> Vec<(Date, String)> {
    let count = days_between(start, end) / 30;
    let every = match count {
        0..=8 => 1,
        9..=24 => 3,
        25..=60 => 6,
        _ => 12,
    };
    let mut marks = Vec::new();
    let mut day = start.first_of_month();
    while day <= end && marks.len() < 24 {
        let is_mark = (i32::from(day.month()) - 1) % every == 0;
        if is_mark && day >= start {
            let format = if every == 12 || day.month() == 1 { "%b %Y" } else { "%b" };
            marks.push((day, day.strftime(format).to_string()));
        }
        match day.last_of_month().tomorrow() {
            Ok(next) => day = next,
            Err(_) => break,
        }
    }
    marks
}

/// The same as a table: what was spent in each month, and up to its end.
fn by_month(
    steps: &[(Date, Decimal)],
    days: &BTreeMap<Date, Decimal>,
    currency: &str,
) -> Vec<(String, Money, Money)> {
    let mut rows: BTreeMap<Date, (Decimal, Decimal)> = BTreeMap::new();
    for (day, sum) in steps {
        let row = rows.entry(day.first_of_month()).or_default();
        row.0 += days.get(day).copied().unwrap_or_default();
        row.1 = *sum;
    }
    let money = |amount: Decimal| Money::new(&amount.to_string(), currency);
    rows.into_iter()
        .map(|(month, (spent, sum))| {
            (month.strftime("%b %Y").to_string(), money(spent), money(sum))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels below a chart that begins in February 2026 and ends on this day.
    fn labels_until(end: &str) -> Vec<String> {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let expense = br#"{"incurredOn":"2026-02-01","amount":"10.00"}"#;
        let expenses = [Doc::parse(expense).unwrap()];
        let span = (Some(day("2026-02-01")), Some(day(end)));
        let chart = Chart::new(&expenses, Decimal::ONE_HUNDRED, "EUR", span, day("2026-02-02"));
        chart.unwrap().months.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_label_that_would_stick_out_is_left_out() {
        assert_eq!(labels_until("2027-01-25"), ["Apr", "Jul", "Oct"]);
        assert_eq!(labels_until("2027-03-20"), ["Apr", "Jul", "Oct", "Jan 2027"]);
    }
}
