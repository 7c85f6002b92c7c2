//! What the dashboard says about the work of an office: the open assignments of each person, and the hours
//! of finished ones.
//!
//! The queries read at most [`WORK_LIMIT`] assignments along an index, so that their cost does not grow with
//! the number of records.

use crate::Result;
use groma_domain::{PersonId, money::Amount, time::Date};
use rust_decimal::Decimal;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The number of assignments that a chart of the dashboard covers.
pub const WORK_LIMIT: u32 = 2_000;

/// The open assignments by person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// The people with the most open assignments first; `None` stands for assignments of nobody.
    pub people: Vec<(Option<PersonId>, PersonWorkload)>,
    /// Whether there are more open assignments, which are due later.
    pub is_cut: bool,
}

/// The open assignments of a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersonWorkload {
    /// All of them.
    pub open: u64,
    /// Those that were due before today.
    pub overdue: u64,
    /// The estimated hours. Several assignees share the hours of an assignment equally.
    pub estimated_hours: Decimal,
    /// The hours spent so far, shared in the same way.
    pub spent_hours: Decimal,
}

/// The hours of the completed assignments that were due in a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthHours {
    /// The first day of the month.
    pub month: Date,
    /// The estimated hours.
    pub estimated: Decimal,
    /// The hours spent.
    pub spent: Decimal,
}

/// The fields of an assignment that the charts use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Work {
    due_date: Option<Date>,
    estimated_hours: Option<Amount>,
    spent_hours: Option<Amount>,
    assignees: Vec<PersonId>,
}

impl Work {
    pub(super) fn parse(document: &[u8]) -> Result<Self> {
        Ok(serde_json::from_slice(document)?)
    }
}

impl Workload {
    /// `work` has up to one more assignment than [`WORK_LIMIT`], those that are due first.
    pub(super) fn new(mut work: Vec<Work>, today: Date) -> Self {
        let is_cut = work.len() > WORK_LIMIT as usize;
        work.truncate(WORK_LIMIT as usize);
        let mut people: BTreeMap<Option<PersonId>, PersonWorkload> = BTreeMap::new();
        for assignment in &work {
            let share = Decimal::from(assignment.assignees.len().max(1));
            let hours = |hours: Option<Amount>| hours.unwrap_or_default().0 / share;
            let is_overdue = assignment.due_date.is_some_and(|due| due < today);
            let mut add = |person: Option<PersonId>| {
                let sums = people.entry(person).or_default();
                sums.open += 1;
                sums.overdue += u64::from(is_overdue);
                sums.estimated_hours += hours(assignment.estimated_hours);
                sums.spent_hours += hours(assignment.spent_hours);
            };
            if assignment.assignees.is_empty() {
                add(None);
            }
            assignment.assignees.iter().for_each(|person| add(Some(*person)));
        }
        let mut people: Vec<_> = people.into_iter().collect();
        people.sort_by_key(|(person, sums)| {
            (std::cmp::Reverse(sums.open), person.is_none(), *person)
        });
        Self { people, is_cut }
    }
}

/// The hours by month, oldest first. `work` has up to one more assignment than [`WORK_LIMIT`], those that
/// were due last; a month that it may not cover is left out.
pub(super) fn hours_by_month(mut work: Vec<Work>) -> Vec<MonthHours> {
    let cut = work.get(WORK_LIMIT as usize).and_then(|assignment| assignment.due_date);
    let cut = cut.map(Date::first_of_month);
    work.truncate(WORK_LIMIT as usize);
    let mut months: BTreeMap<Date, MonthHours> = BTreeMap::new();
    for assignment in &work {
        let Some(month) = assignment.due_date.map(Date::first_of_month) else { continue };
        if Some(month) == cut {
            continue;
        }
        let nothing = MonthHours { month, estimated: Decimal::ZERO, spent: Decimal::ZERO };
        let sums = months.entry(month).or_insert(nothing);
        sums.estimated += assignment.estimated_hours.unwrap_or_default().0;
        sums.spent += assignment.spent_hours.unwrap_or_default().0;
    }
    months.into_values().collect()
}
