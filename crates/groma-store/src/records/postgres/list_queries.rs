//! Filtered and sorted lists on PostgreSQL.

use super::{read::book, sql};
use crate::{
    Result,
    engine::{
        int, kind_number,
        postgres::{Param, Postgres, escape_like, unsigned},
    },
    people,
    records::{
        Label, RecordCaches,
        list_queries::{
            COUNT_LIMIT, Dialect, Parameter, Plan, RecordCount, RecordPage, RecordQuery,
            SortColumn, can_match, record_count,
        },
    },
};
use groma_domain::{
    Kind, SearchTerm, WorkspaceId,
    record::{self, LabelField, PersonDirectory},
};
use std::sync::Arc;
use tokio_postgres::types::ToSql;

pub(in crate::records) async fn query(
    engine: &Arc<Postgres>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    query: RecordQuery,
) -> Result<RecordPage> {
    let nothing = RecordPage::empty();
    if query.term.as_ref().is_some_and(|term| !can_match(term)) {
        return Ok(nothing);
    }
    let pattern = query.term.as_ref().map(pattern);
    let people = match query.sort.by {
        SortColumn::Person => current_book(engine, caches, workspace).await?.ids_by_name(),
        _ => Vec::new(),
    };
    let plan = Plan::new(&query, Dialect::Postgres, pattern, people, false);
    let is_cut = match &plan.matches {
        Some((sql, parameters, limit)) => {
            number(engine, sql, workspace, parameters).await? > *limit
        }
        None => false,
    };
    let mut count = match plan.is_unfiltered {
        true => RecordCount::Exactly(total(engine, workspace, query.kind).await?),
        false => {
            record_count(number(engine, &plan.count, workspace, &plan.parameters).await?, is_cut)
        }
    };
    if let (RecordCount::MoreThan(_), Some(complement)) = (count, &plan.complement) {
        let others = number(engine, complement, workspace, &plan.parameters).await?;
        if others <= COUNT_LIMIT {
            let total = total(engine, workspace, query.kind).await?;
            count = RecordCount::Exactly(total.saturating_sub(others));
        }
    }
    let reachable = plan.reachable(count);
    let limit = reachable.saturating_sub(query.skip).min(query.limit.into());
    let mut documents = Vec::new();
    let is_few = matches!(count, RecordCount::Exactly(count) if count <= COUNT_LIMIT);
    if limit > 0 {
        let mut values = values(workspace, &plan.parameters);
        values.extend([Box::new(int(limit)) as Param, Box::new(int(query.skip))]);
        values.extend(plan.ranking.as_ref().filter(|_| is_few).map(value));
        let sql = if is_few { &plan.few } else { &plan.many };
        let rows = engine.search_rows(sql, &references(&values)).await?;
        // Read after the records, so that the book has everyone they name.
        let book = current_book(engine, caches, workspace).await?;
        for row in &rows {
            let mut document = Vec::new();
            record::render(row.try_get(0)?, row.try_get(1)?, &book, &mut document);
            documents.push(document);
        }
    }
    Ok(RecordPage { documents, count, reachable, is_sorted: is_few || plan.is_many_sorted })
}

/// What a statement takes for a term.
pub(super) fn pattern(term: &SearchTerm) -> String {
    // Below three characters the text itself is looked for.
    match term.as_str().chars().count() < 3 {
        true => term.as_str().to_owned(),
        false => format!("%{}%", escape_like(term.as_str())),
    }
}

pub(super) async fn current_book(
    engine: &Arc<Postgres>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
) -> Result<Arc<PersonDirectory>> {
    let generation = engine.rows(people::postgres::GENERATION, &[&workspace.0]).await?;
    let generation = generation.first().map_or(Ok(0), |row| unsigned(row, 0))?;
    book(engine, caches, workspace, generation).await
}

pub(in crate::records) async fn labels(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    field: LabelField,
    folded: String,
    limit: u32,
) -> Result<Vec<Label>> {
    let params: [&(dyn ToSql + Sync); 4] =
        [&workspace.0, &field.name(), &folded, &i64::from(limit)];
    let rows = engine.search_rows(sql::LABELS, &params).await?;
    rows.iter()
        .map(|row| Ok(Label { value: row.try_get(0)?, records: unsigned(row, 1)? }))
        .collect()
}

pub(super) async fn number(
    engine: &Postgres,
    sql: &str,
    workspace: WorkspaceId,
    parameters: &[Parameter],
) -> Result<u64> {
    let rows = engine.search_rows(sql, &references(&values(workspace, parameters))).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row, 0))
}

async fn total(engine: &Arc<Postgres>, workspace: WorkspaceId, kind: Kind) -> Result<u64> {
    let totals = totals(engine, workspace).await?;
    Ok(totals[usize::try_from(kind_number(kind)).unwrap_or_default()])
}

pub(in crate::records) async fn totals(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
) -> Result<[u64; 4]> {
    let mut totals = [0; 4];
    for row in engine.rows(sql::TOTALS, &[&workspace.0]).await? {
        let kind = usize::try_from(row.try_get::<_, i16>(0)?).unwrap_or(usize::MAX);
        if let Some(total) = totals.get_mut(kind) {
            *total = unsigned(&row, 1)?;
        }
    }
    Ok(totals)
}

/// The values of parameters, the workspace first.
pub(super) fn values(workspace: WorkspaceId, parameters: &[Parameter]) -> Vec<Param> {
    let first: Param = Box::new(workspace.0);
    std::iter::once(first).chain(parameters.iter().map(value)).collect()
}

fn value(parameter: &Parameter) -> Param {
    match parameter {
        Parameter::Id(id) => Box::new(*id),
        Parameter::Ids(ids) => Box::new(ids.clone()),
        Parameter::Text(text) => Box::new(text.clone()),
        Parameter::Integer(number) => Box::new(*number),
        Parameter::Number(number) => Box::new(*number),
        Parameter::Ranking(ranking) => Box::new(ranking.clone()),
    }
}

pub(super) fn references(values: &[Param]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
}
