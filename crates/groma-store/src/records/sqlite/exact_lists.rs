//! Exact lists on SQLite.

use super::{list_queries::values, read::match_expression};
use crate::{
    Result,
    engine::{
        int,
        sqlite::{Snapshot, Sqlite, bytes, position_of, row_key},
    },
    list_pages::{Cursor, Page, SortKey, SortValue},
    people,
    records::{
        RecordCaches,
        list_queries::{
            Dialect, ExactOrder, ExactPage, ExactPlan, FEW, Filter, FoundRecord, Reading,
            RecordQuery, SortColumn, can_match, candidates,
        },
    },
};
use groma_domain::{WorkspaceId, record};
use rusqlite::{
    Row,
    types::{Value, ValueRef},
};
use std::sync::Arc;

pub(in crate::records) async fn find(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    page: ExactPage,
) -> Result<Page> {
    let caches = caches.clone();
    engine.search(move |snapshot| read_page(snapshot, &caches, workspace, page)).await
}

fn read_page(
    snapshot: &Snapshot<'_>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    page: ExactPage,
) -> Result<Page> {
    let query = &page.query;
    let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(page.finish(0, vec![])) };
    let pattern = match &query.term {
        None => None,
        Some(term) if !can_match(term) => return Ok(page.finish(0, vec![])),
        Some(term) => match match_expression(snapshot, query.kind, term)? {
            None => return Ok(page.finish(0, vec![])),
            expression => expression,
        },
    };
    let (driver, reading) = choose(snapshot, ws, query, pattern.as_deref())?;
    let cursor = page.cursor.as_ref().map(|cursor| on_rows(cursor, ws));
    let plan = ExactPlan::page(
        query,
        Dialect::Sqlite,
        pattern.as_deref(),
        driver,
        reading,
        cursor.as_ref(),
    );
    let mut values = values(ws, &plan.parameters);
    values.extend([Value::Integer(int(page.limit())), Value::Integer(int(query.skip))]);
    let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
    let mut statement = snapshot.prepare_cached(&plan.sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let (mut total, mut found) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        total = row.get::<_, i64>(0)?.unsigned_abs();
        let Some(key) = sort_key(row)? else { continue };
        let mut document = Vec::new();
        record::render(bytes(row, 3)?, bytes(row, 4)?, &book, &mut document);
        found.push(FoundRecord { key, document });
    }
    Ok(page.finish(total, found))
}

/// The positions of all records that match a query, in its order.
pub(in crate::records) async fn positions(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    query: RecordQuery,
) -> Result<Vec<u64>> {
    let caches = caches.clone();
    engine
        .read_blocking(move |snapshot| {
            let nothing = Ok(Vec::new());
            let Some(ws) = snapshot.workspace_number(workspace)? else { return nothing };
            let pattern = match &query.term {
                None => None,
                Some(term) if !can_match(term) => return nothing,
                Some(term) => match match_expression(snapshot, query.kind, term)? {
                    None => return nothing,
                    expression => expression,
                },
            };
            let pattern = pattern.as_deref();
            let people = match query.sort.by {
                SortColumn::Person => {
                    people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?
                        .ids_by_name()
                }
                _ => Vec::new(),
            };
            let (driver, _) = choose(snapshot, ws, &query, pattern)?;
            let plan = ExactPlan::positions(&query, Dialect::Sqlite, pattern, driver, people);
            let values = rusqlite::params_from_iter(values(ws, &plan.parameters));
            let mut statement = snapshot.prepare_cached(&plan.sql)?;
            let rows = statement.query_map(values, |row| Ok(position_of(row.get(0)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

/// The filter with the fewest matches, and how the page is read. SQLite has no statistics to choose by.
fn choose(
    snapshot: &Snapshot<'_>,
    ws: i64,
    query: &RecordQuery,
    pattern: Option<&str>,
) -> Result<(Option<Filter>, Reading)> {
    let has_index = ExactOrder::of(query).index(Dialect::Sqlite, query).is_some();
    let candidates = candidates(query);
    let reading = |is_ordered| if is_ordered { Reading::Ordered } else { Reading::Collected };
    if candidates.is_empty() {
        return Ok((None, reading(has_index)));
    }
    let is_only = candidates.len() == 1;
    let mut fewest = None;
    for candidate in candidates {
        let filter = candidate.filter;
        if is_only && !has_index {
            return Ok((Some(filter), Reading::Collected));
        }
        let count = ExactPlan::count(&candidate.query, Dialect::Sqlite, pattern, Some(filter));
        let mut statement = snapshot.prepare_cached(&count.sql)?;
        let values = rusqlite::params_from_iter(values(ws, &count.parameters));
        let count = statement.query_row(values, |row| row.get::<_, i64>(0))?.unsigned_abs();
        if fewest.is_none_or(|(fewest, _)| count < fewest) {
            fewest = Some((count, filter));
        }
        // Hardly any: counting the others would take longer than reading these.
        if count < 100 {
            break;
        }
    }
    // With several filters, the next match in the order may be far away.
    let is_ordered = has_index && is_only && fewest.is_some_and(|(count, _)| count > FEW);
    Ok((fewest.map(|(_, filter)| filter), reading(is_ordered)))
}

/// The cursor with the position of its row.
fn on_rows(cursor: &Cursor, ws: i64) -> Cursor {
    let beside = cursor
        .beside
        .as_ref()
        .map(|key| SortKey { position: row_key(ws, key.position).unsigned_abs(), ..key.clone() });
    Cursor { beside, ..*cursor }
}

/// The sort key of a row; `None` if it has no record.
fn sort_key(row: &Row<'_>) -> Result<Option<SortKey>> {
    let Some(position) = row.get::<_, Option<i64>>(1)? else { return Ok(None) };
    let value = match row.get_ref(2)? {
        ValueRef::Integer(value) => Some(SortValue::Integer(value)),
        ValueRef::Real(value) => Some(SortValue::Number(value)),
        ValueRef::Text(_) => Some(SortValue::Text(row.get(2)?)),
        _ => None,
    };
    Ok(Some(SortKey { value, position: position_of(position) }))
}
