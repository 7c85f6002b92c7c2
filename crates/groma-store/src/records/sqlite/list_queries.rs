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
        Label, RecordCaches,
        list_queries::{
            COMMON_TAG, COUNT_LIMIT, Dialect, Parameter, Plan, RecordCount, RecordPage,
            RecordQuery, SortColumn, can_match, record_count,
        },
    },
};
use groma_domain::{
    Kind, WorkspaceId,
    record::{self, LabelField},
    text::fold,
};
use rusqlite::{Connection, params, types::Value};
use std::sync::Arc;

pub(in crate::records) async fn query(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    query: RecordQuery,
) -> Result<RecordPage> {
    let caches = caches.clone();
    engine.search(move |snapshot| read_page(snapshot, &caches, workspace, &query)).await
}

fn read_page(
    snapshot: &Snapshot<'_>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    query: &RecordQuery,
) -> Result<RecordPage> {
    let nothing = RecordPage::empty();
    let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(nothing) };
    let pattern = match &query.term {
        None => None,
        Some(term) if !can_match(term) => return Ok(nothing),
        Some(term) => match match_expression(snapshot, query.kind, term)? {
            None => return Ok(nothing),
            expression => expression,
        },
    };
    let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
    let people = match query.sort.by {
        SortColumn::Person => book.ids_by_name(),
        _ => Vec::new(),
    };
    let is_tag_common = match &query.tag {
        Some(tag) => folders_with_tag(snapshot, ws, tag)? > COMMON_TAG,
        None => false,
    };
    let plan = Plan::new(query, Dialect::Sqlite, pattern, people, is_tag_common);
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
    let is_few = matches!(count, RecordCount::Exactly(count) if count <= COUNT_LIMIT);
    if limit > 0 {
        let sql = if is_few { &plan.few } else { &plan.many };
        let mut values = values(ws, &plan.parameters);
        values.extend([Value::Integer(int(limit)), Value::Integer(int(query.skip))]);
        values.extend(plan.ranking.as_ref().filter(|_| is_few).map(value));
        let mut statement = snapshot.prepare_cached(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let mut document = Vec::new();
            record::render(bytes(row, 0)?, bytes(row, 1)?, &book, &mut document);
            documents.push(document);
        }
    }
    Ok(RecordPage { documents, count, reachable, is_sorted: is_few || plan.is_many_sorted })
}

pub(in crate::records) async fn labels(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    field: LabelField,
    folded: String,
    limit: u32,
) -> Result<Vec<Label>> {
    engine
        .search(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let mut statement = snapshot.prepare_cached(sql::LABELS)?;
            let label = |row: &rusqlite::Row<'_>| {
                let records = row.get::<_, i64>(1)?.unsigned_abs();
                Ok(Label { value: row.get(0)?, records })
            };
            let rows = statement.query_map(params![ws, field.name(), folded, limit], label)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

fn folders_with_tag(connection: &Connection, ws: i64, tag: &str) -> Result<u64> {
    let mut statement = connection.prepare_cached(sql::TAGGED)?;
    Ok(statement.query_row(params![ws, fold(tag)], |row| row.get::<_, i64>(0))?.unsigned_abs())
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
pub(super) fn values(ws: i64, parameters: &[Parameter]) -> Vec<Value> {
    std::iter::once(Value::Integer(ws)).chain(parameters.iter().map(value)).collect()
}

fn value(parameter: &Parameter) -> Value {
    match parameter {
        Parameter::Id(id) => Value::Blob(id.as_bytes().to_vec()),
        Parameter::Ids(ids) => Value::Text(hex_array(ids)),
        Parameter::Text(text) => Value::Text(text.clone()),
        Parameter::Integer(number) => Value::Integer(*number),
        Parameter::Number(number) => Value::Real(*number),
        Parameter::Ranking(ranking) => {
            let ranks =
                ranking.iter().enumerate().map(|(rank, value)| (value.clone(), rank.into()));
            Value::Text(serde_json::Value::Object(ranks.collect()).to_string())
        }
    }
}
