//! Every statement that a list query can produce, for a test to prepare.

use super::{
    Dialect, ExactOrder, ExactPlan, Plan, Reading, RecordQuery, Sort, SortColumn, StatusFilter,
    candidates,
};
use crate::list_pages::{Cursor, SortKey, SortValue};
use groma_domain::{
    Kind, PersonId, RecordId, SearchTerm, StatusId, Timestamp, record::Priority, time::Date,
};
use groma_geo::Bbox;
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
                    is_undated: bit(6) && matches!(kind, Kind::Folder | Kind::Assignment),
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
                let text = pattern.as_deref();
                all.insert(ExactPlan::positions(&query, dialect, text, None, Vec::new()).sql);
                let plan = Plan::new(&query, dialect, pattern, Vec::new(), bit(5));
                let Plan { matches, count, complement, few, many, .. } = plan;
                all.extend([count, few, many]);
                all.extend(matches.map(|(sql, ..)| sql).into_iter().chain(complement));
            }
        }
        all.extend(exact_statements(dialect, kind));
    }
    all
}

/// The statements of exact lists of a kind: each filter alone, and all together, in every order.
fn exact_statements(dialect: Dialect, kind: Kind) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for bbox in [[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 4.0]] {
        for priority in [Priority::Normal, Priority::Urgent] {
            let full = every_filter(kind, Bbox(bbox), priority);
            let mut queries = vec![full.clone(), RecordQuery::all(kind)];
            let only = candidates(&full);
            let drivers: Vec<_> = only.iter().map(|candidate| Some(candidate.filter)).collect();
            queries.extend(only.into_iter().map(|candidate| candidate.query));
            for query in queries {
                for driver in drivers.iter().copied().chain([None]) {
                    let is_given = driver.is_none_or(|driver| {
                        candidates(&query).iter().any(|candidate| candidate.filter == driver)
                    });
                    // PostgreSQL chooses for itself.
                    if is_given && (dialect == Dialect::Sqlite || driver.is_none()) {
                        let pattern = Some("abc");
                        all.insert(ExactPlan::count(&query, dialect, pattern, driver).sql);
                        for by in SortColumn::of(kind) {
                            let sort = Sort { by: *by, is_descending: false };
                            let query = RecordQuery { sort, ..query.clone() };
                            let plan =
                                ExactPlan::positions(&query, dialect, pattern, driver, Vec::new());
                            all.insert(plan.sql);
                        }
                        for (reading, query, cursor) in readings(dialect, &query) {
                            let cursor = cursor.as_ref();
                            let plan =
                                ExactPlan::page(&query, dialect, pattern, driver, reading, cursor);
                            all.insert(plan.sql);
                        }
                    }
                }
            }
        }
    }
    all
}

/// A query with every filter that records of a kind have.
fn every_filter(kind: Kind, bbox: Bbox, priority: Priority) -> RecordQuery {
    let id = Uuid::nil();
    let text = || Some("a".to_owned());
    let day = (kind != Kind::Budget).then(|| Date::constant(2026, 1, 1));
    let is = |of: Kind| kind == of;
    let has_category = is(Kind::Expense) || is(Kind::Budget);
    RecordQuery {
        term: SearchTerm::parse("abc").unwrap(),
        reference: text(),
        external_id: text(),
        created_since: Some(Timestamp::from_millis(0)),
        updated_since: Some(Timestamp::from_millis(0)),
        status: StatusFilter::AnyOf(vec![StatusId(id)]),
        person: (!is(Kind::Budget)).then_some(PersonId(id)),
        folder: (!is(Kind::Folder)).then_some(RecordId(id)),
        assignment: is(Kind::Expense).then_some(RecordId(id)),
        budget: is(Kind::Expense).then_some(RecordId(id)),
        from: day,
        until: day,
        closed: is(Kind::Folder).then_some(true),
        tag: is(Kind::Folder).then(|| "a".to_owned()),
        client: is(Kind::Folder).then(|| "a".to_owned()),
        bbox: is(Kind::Folder).then_some(bbox),
        category: has_category.then(|| "a".to_owned()),
        priority: is(Kind::Assignment).then_some(priority),
        billable: is(Kind::Expense).then_some(priority == Priority::Urgent),
        ..RecordQuery::all(kind)
    }
}

/// All ways to read a query.
fn readings(dialect: Dialect, query: &RecordQuery) -> Vec<(Reading, RecordQuery, Option<Cursor>)> {
    let mut all = Vec::new();
    let columns = [
        (SortColumn::Created, None),
        (SortColumn::Updated, Some(SortValue::Integer(1))),
        (SortColumn::Reference, Some(SortValue::Text("a".to_owned()))),
        (SortColumn::Title, Some(SortValue::Text("a".to_owned()))),
        (SortColumn::Date, Some(SortValue::Text("a".to_owned()))),
        (SortColumn::Amount, Some(SortValue::Number(1.0))),
    ];
    let has_amount = matches!(query.kind, Kind::Expense | Kind::Budget);
    let exists = |by: SortColumn| match by {
        SortColumn::Date => query.kind != Kind::Budget,
        SortColumn::Amount => has_amount,
        _ => true,
    };
    for (by, value) in columns.into_iter().filter(|(by, _)| exists(*by)) {
        for (is_descending, is_backward) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let query = RecordQuery { sort: Sort { by, is_descending }, ..query.clone() };
            let keys = [value.clone(), None].map(|value| Some(SortKey { value, position: 1 }));
            let has_null = ExactOrder::of(&query).has_value(None);
            let keys = keys.into_iter().take(1 + usize::from(has_null)).chain([None]);
            let cursors: Vec<_> = keys.map(|beside| Some(Cursor { beside, is_backward })).collect();
            for cursor in cursors.into_iter().chain([None]) {
                all.push((Reading::Collected, query.clone(), cursor.clone()));
                if ExactOrder::of(&query).index(dialect, &query).is_some() {
                    all.push((Reading::Ordered, query.clone(), cursor));
                }
            }
        }
    }
    all
}
