//! Filtered and sorted lists on SQLite.

use super::{read::match_expression, sql};
use crate::{
    Result,
    audit_log::sqlite::hex_array,
    engine::{
        int, kind_number,
        sqlite::{Snapshot, Sqlite, bytes},
    },
    people,
    records::{
        RecordCaches,
        list_queries::{
            COUNT_LIMIT, Dialect, Parameter, Plan, RecordCount, RecordPage, RecordQuery, can_match,
            record_count,
        },
    },
};
use groma_domain::{Kind, WorkspaceId, record};
use rusqlite::{Connection, types::Value};
use std::sync::Arc;

pub(in crate::records) async fn query(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    query: RecordQuery,
) -> Result<RecordPage> {
    let caches = caches.clone();
    engine.read_blocking(move |snapshot| read_page(snapshot, &caches, workspace, &query)).await
}

fn read_page(
    snapshot: &Snapshot<'_>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    query: &RecordQuery,
) -> Result<RecordPage> {
    let nothing =
        RecordPage { documents: Vec::new(), count: RecordCount::Exactly(0), reachable: 0 };
    let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(nothing) };
    let pattern = match &query.term {
        None => None,
        Some(term) if !can_match(term) => return Ok(nothing),
        Some(term) => match match_expression(snapshot, query.kind, term)? {
            None => return Ok(nothing),
            expression => expression,
        },
    };
    let plan = Plan::new(query, Dialect::Sqlite, pattern);
    let number = |sql: &str, parameters: &[Parameter]| -> Result<u64> {
        let values = rusqlite::params_from_iter(values(ws, parameters));
        let count: i64 = snapshot.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
        Ok(count.unsigned_abs())
    };
    let is_cut = match &plan.matches {
        Some((sql, parameters, limit)) => number(sql, parameters)? > *limit,
        None => false,
    };
    let mut count = match plan.is_unfiltered {
        true => RecordCount::Exactly(total(snapshot, ws, query.kind)?),
        false => record_count(number(&plan.count, &plan.parameters)?, is_cut),
    };
    if let (RecordCount::MoreThan(_), Some(complement)) = (count, &plan.complement) {
        let others = number(complement, &plan.parameters)?;
        if others <= COUNT_LIMIT {
            let total = total(snapshot, ws, query.kind)?;
            count = RecordCount::Exactly(total.saturating_sub(others));
        }
    }
    let reachable = plan.reachable(count);
    let limit = reachable.saturating_sub(query.skip).min(query.limit.into());
    let mut documents = Vec::new();
    if limit > 0 {
        let is_few = matches!(count, RecordCount::Exactly(count) if count <= COUNT_LIMIT);
        let sql = if is_few { &plan.few } else { &plan.many };
        let mut values = values(ws, &plan.parameters);
        values.extend([Value::Integer(int(limit)), Value::Integer(int(query.skip))]);
        let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
        let mut statement = snapshot.prepare_cached(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let mut document = Vec::new();
            record::render(bytes(row, 0)?, bytes(row, 1)?, &book, &mut document);
            documents.push(document);
        }
    }
    Ok(RecordPage { documents, count, reachable })
}

fn total(connection: &Connection, ws: i64, kind: Kind) -> Result<u64> {
    Ok(read_totals(connection, ws)?[usize::try_from(kind_number(kind)).unwrap_or_default()])
}

pub(in crate::records) async fn totals(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
) -> Result<[u64; 4]> {
    engine.read(|snapshot| match snapshot.workspace_number(workspace)? {
        Some(ws) => read_totals(snapshot, ws),
        None => Ok([0; 4]),
    })
}

fn read_totals(connection: &Connection, ws: i64) -> Result<[u64; 4]> {
    let mut totals = [0; 4];
    let mut statement = connection.prepare_cached(sql::TOTALS)?;
    let mut rows = statement.query([ws])?;
    while let Some(row) = rows.next()? {
        if let Some(total) = totals.get_mut(usize::from(row.get::<_, u8>(0)?)) {
            *total = row.get::<_, i64>(1)?.unsigned_abs();
        }
    }
    Ok(totals)
}

/// The values of parameters, the workspace first.
fn values(ws: i64, parameters: &[Parameter]) -> Vec<Value> {
    let value = |parameter: &Parameter| match parameter {
        Parameter::Id(id) => Value::Blob(id.as_bytes().to_vec()),
        Parameter::Ids(ids) => Value::Text(hex_array(ids)),
        Parameter::Text(text) => Value::Text(text.clone()),
    };
    std::iter::once(Value::Integer(ws)).chain(parameters.iter().map(value)).collect()
}
