//! The charts of the dashboard: workload by person, estimated and spent hours by month, and the budgets
//! that are nearest to their limit.

use super::{
    WebError,
    budget_chart::{round_up, short_number},
    format::{BudgetShare, Money},
    i18n::Localizer,
    record_data::{Doc, Statuses},
    request_context::MemberContext,
};
use askama::Template;
use groma_domain::{Kind, PersonId, time::Date};
use groma_store::{MonthHours, PersonWorkload, RecordQuery, Sort, WORK_LIMIT, Workload};
use jiff::ToSpan;
use rust_decimal::{Decimal, prelude::ToPrimitive};
use std::collections::HashMap;

#[derive(Template)]
#[template(path = "dashboard_charts.html")]
pub(super) struct Charts {
    t: Localizer,
    people: Vec<PersonRow>,
    /// The number of assignments that the workload covers, if there are more.
    cut: Option<u32>,
    hours: Option<HoursChart>,
    budgets: Vec<BudgetRow>,
}

/// The open assignments of a person.
struct PersonRow {
    name: String,
    open: String,
    overdue: u64,
    hours: String,
    /// The widths of the bar and of its overdue part, up to 100.
    width: f64,
    overdue_width: f64,
}

/// The hours of completed assignments by month, as bars.
struct HoursChart {
    description: String,
    grid: Vec<(f64, String)>,
    months: Vec<MonthBars>,
    bar_width: f64,
}

struct MonthBars {
    label: String,
    month: String,
    x: f64,
    /// The top and height of a bar, and its value.
    estimated: (f64, f64, String),
    spent: (f64, f64, String),
}

/// A budget with the share that is spent.
struct BudgetRow {
    name: String,
    href: String,
    amount: Money,
    spent: Money,
    share: BudgetShare,
    /// The part of its period that is over.
    elapsed: Option<String>,
    /// The positions of the bar's end, the limit and the elapsed time, up to 100.
    width: f64,
    limit: f64,
    elapsed_at: Option<f64>,
}

const LEFT: f64 = 56.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 160.0;
/// The number of people with a row of their own.
const PEOPLE: usize = 8;
const BUDGETS: u32 = 6;
/// The number of months before the current one.
const MONTHS: i64 = 5;

impl Charts {
    pub(super) async fn read(ctx: &MemberContext, statuses: &Statuses) -> Result<Self, WebError> {
        let (t, today, workspace) = (ctx.t(), ctx.request.today(), ctx.workspace_id());
        let finished = statuses.finished(Kind::Assignment);
        let workload = ctx.store().workload(workspace, &finished, today).await?;
        let from = today.first_of_month();
        let from = from.checked_sub(MONTHS.months()).unwrap_or(from);
        let hours = ctx.store().hours_by_due_month(workspace, from, today).await?;
        let budgets = RecordQuery {
            sort: Sort::MOST_USED,
            limit: BUDGETS,
            ..statuses.unfinished(Kind::Budget)
        };
        let (budgets, _) = ctx.query_records(budgets).await?;
        let names = ctx.people().await?.into_iter();
        let names = names.map(|known| (known.person.id, known.person.name)).collect();
        Ok(Self {
            t,
            cut: workload.is_cut.then_some(WORK_LIMIT),
            people: person_rows(t, &workload, &names),
            hours: HoursChart::new(t, &hours),
            budgets: budget_rows(t, &budgets, today),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.people.is_empty() && self.hours.is_none() && self.budgets.is_empty()
    }
}

fn person_rows(
    t: Localizer,
    workload: &Workload,
    names: &HashMap<PersonId, String>,
) -> Vec<PersonRow> {
    let most = workload.people.first().map_or(1, |(_, sums)| sums.open).max(1);
    let width = |count: u64| percent_of(count, most);
    let row = |name: String, sums: &PersonWorkload| PersonRow {
        name,
        open: t.number(sums.open),
        overdue: sums.overdue,
        hours: hours_text(t, sums.estimated_hours),
        width: width(sums.open).min(100.0),
        overdue_width: width(sums.overdue).min(100.0),
    };
    let name = |person: &Option<PersonId>| match person {
        Some(id) => names.get(id).cloned().unwrap_or_default(),
        None => t.msg("workload-unassigned").into(),
    };
    let (first, others) = workload.people.split_at(workload.people.len().min(PEOPLE));
    let mut rows: Vec<_> = first.iter().map(|(person, sums)| row(name(person), sums)).collect();
    if !others.is_empty() {
        let mut all = PersonWorkload::default();
        for (_, sums) in others {
            all.open += sums.open;
            all.overdue += sums.overdue;
            all.estimated_hours += sums.estimated_hours;
        }
        rows.push(row(t.msg("workload-others").arg("count", others.len()).into(), &all));
    }
    rows
}

fn percent_of(part: u64, whole: u64) -> f64 {
    let number = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    100.0 * number(part) / number(whole.max(1))
}

/// Hours with at most one decimal.
fn hours_text(t: Localizer, hours: Decimal) -> String {
    t.amount(&hours.round_dp(1).normalize().to_string())
}

impl HoursChart {
    /// `None` if no hours are recorded.
    fn new(t: Localizer, months: &[MonthHours]) -> Option<Self> {
        let highest = months.iter().map(|hours| hours.estimated.max(hours.spent)).max()?;
        let (first, last) = (months.first()?.month, months.last()?.month);
        if highest <= Decimal::ZERO {
            return None;
        }
        let top = round_up(highest.to_f64().unwrap_or(1.0).max(1.0));
        let height = |hours: Decimal| (BOTTOM - TOP) * hours.to_f64().unwrap_or(0.0) / top;
        let count = u8::try_from(months.len()).unwrap_or(u8::MAX);
        let slot = (RIGHT - LEFT) / f64::from(count);
        let bar_width = (slot * 0.3).min(40.0);
        let bar = |hours: Decimal| (BOTTOM - height(hours), height(hours), hours_text(t, hours));
        let bars = months.iter().zip(0_u8..).map(|(hours, index)| MonthBars {
            label: t.month(hours.month),
            month: t.month_and_year(hours.month),
            x: LEFT + slot * f64::from(index) + (slot - 2.0 * bar_width - 4.0) / 2.0,
            estimated: bar(hours.estimated),
            spent: bar(hours.spent),
        });
        let sum = |of: fn(&MonthHours) -> Decimal| hours_text(t, months.iter().map(of).sum());
        let description = t
            .msg("hours-description")
            .arg("from", t.month_and_year(first))
            .arg("until", t.month_and_year(last))
            .arg("estimated", sum(|hours| hours.estimated))
            .arg("spent", sum(|hours| hours.spent));
        Some(Self {
            description: description.into(),
            grid: (1..=4)
                .map(|part| f64::from(part) * top / 4.0)
                .map(|value| (BOTTOM - (BOTTOM - TOP) * value / top, short_number(t, value)))
                .collect(),
            months: bars.collect(),
            bar_width,
        })
    }
}

fn budget_rows(t: Localizer, budgets: &[Doc], today: Date) -> Vec<BudgetRow> {
    let percent = |budget: &Doc| budget.decimal("percentUsed").to_f64().unwrap_or(0.0);
    let used: Vec<_> = budgets.iter().filter(|budget| percent(budget) > 0.0).collect();
    // Beyond twice the limit, only the figure tells how much.
    let scale = used.iter().map(|budget| percent(budget)).fold(100.0, f64::max).min(200.0);
    let row = |budget: &&Doc| {
        let elapsed = elapsed_percent(budget.date("startDate"), budget.date("endDate"), today);
        let text = |percent: f64| {
            t.msg("percent").arg("number", t.amount(&format!("{percent:.0}"))).to_string()
        };
        Some(BudgetRow {
            name: budget.title(Kind::Budget),
            href: budget.path(Kind::Budget),
            amount: budget.money(t, "amount"),
            spent: budget.money(t, "spent"),
            share: BudgetShare::of(t, Some(budget.text("percentUsed")))?,
            elapsed: elapsed.map(text),
            width: (100.0 * percent(budget) / scale).min(100.0),
            limit: 10_000.0 / scale,
            elapsed_at: elapsed.map(|elapsed| 100.0 * elapsed / scale),
        })
    };
    used.iter().filter_map(row).collect()
}

/// The part of a period that is over, in percent.
fn elapsed_percent(start: Option<Date>, end: Option<Date>, today: Date) -> Option<f64> {
    let (start, end) = (start?, end?);
    let days = |from: Date, to: Date| from.until(to).map_or(0, |span| span.get_days());
    let whole = days(start, end).max(1);
    Some((100.0 * f64::from(days(start, today)) / f64::from(whole)).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_is_a_share_of_the_period() {
        let day = |day| Some(Date::constant(2026, 1, day));
        let elapsed = |today| elapsed_percent(day(1), day(11), Date::constant(2026, 1, today));
        assert_eq!((elapsed(1), elapsed(6), elapsed(31)), (Some(0.0), Some(50.0), Some(100.0)));
        assert_eq!(elapsed_percent(day(1), None, Date::constant(2026, 1, 1)), None);
    }
}
