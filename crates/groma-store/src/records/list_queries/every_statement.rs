//! Every statement that a list query can produce, for a test to prepare.

use super::{Dialect, Plan, RecordQuery, Sort, SortColumn, StatusFilter};
use groma_domain::{Kind, PersonId, RecordId, SearchTerm, StatusId, record::Priority, time::Date};
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use uuid::Uuid;

pub(crate) fn every_statement(dialect: Dialect) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let day = Date::constant(2026, 1, 1);
    let id = Uuid::nil();
    for kind in Kind::ALL {
        let has_day = kind != Kind::Budget;
        let has_amount = matches!(kind, Kind::Expense | Kind::Budget);
        for by in SortColumn::of(kind) {
            for bits in 0_u32..512 {
                let bit = |n: u32| bits & (1 << n) != 0;
                let query = RecordQuery {
                    term: bit(0).then(|| SearchTerm::parse("abc").unwrap().unwrap()),
                    closed: (bit(1) && matches!(kind, Kind::Folder | Kind::Assignment))
                        .then_some(bit(2)),
                    status: match (bit(3), bit(4)) {
                        (false, true) => StatusFilter::AnyOf(vec![StatusId(id)]),
                        (true, true) => StatusFilter::NoneOf(vec![StatusId(id)]),
                        (true, false) => StatusFilter::Is(StatusId(id)),
                        _ => StatusFilter::Any,
                    },
                    person: (bit(5) && has_day).then_some(PersonId(id)),
                    folder: (bit(6) && kind != Kind::Folder).then_some(RecordId(id)),
                    assignment: (bit(7) && kind == Kind::Expense).then_some(RecordId(id)),
                    budget: (bit(8) && kind == Kind::Expense).then_some(RecordId(id)),
                    from: (bit(7) && has_day).then_some(day),
                    until: (bit(8) && has_day).then_some(day),
                    tag: (bit(3) && kind == Kind::Folder).then(|| "a".to_owned()),
                    client: (bit(4) && kind == Kind::Folder).then(|| "a".to_owned()),
                    category: (bit(3) && has_amount).then(|| "a".to_owned()),
                    priority: (bit(7) && kind == Kind::Assignment).then_some(Priority::High),
                    billable: (bit(1) && kind == Kind::Expense).then_some(bit(2)),
                    min_amount: (bit(1) && has_amount).then_some(Decimal::ONE),
                    max_amount: (bit(2) && has_amount).then_some(Decimal::TEN),
                    is_overspent: bit(7) && kind == Kind::Budget,
                    has_bbox: bit(2) && kind == Kind::Folder,
                    sort: Sort { by: *by, is_descending: bit(6) },
                    ..RecordQuery::all(kind)
                };
                let pattern = bit(0).then(|| "abc".to_owned());
                let plan = Plan::new(&query, dialect, pattern, Vec::new(), bit(5));
                let Plan { matches, count, complement, few, many, .. } = plan;
                all.extend([count, few, many]);
                all.extend(matches.map(|(sql, ..)| sql).into_iter().chain(complement));
            }
        }
    }
    all
}
