//! Exact lists on PostgreSQL.

use super::list_queries::{current_book, number, pattern, references, values};
use crate::{
    Result,
    engine::{
        int,
        postgres::{Param, Postgres, unsigned},
    },
    list_pages::{Page, SortKey, SortValue},
    records::{
        RecordCaches, RecordQuery, SortColumn,
        list_queries::{
            Dialect, ExactOrder, ExactPage, ExactPlan, FEW, FoundRecord, Reading, can_match,
            candidates,
        },
    },
};
use groma_domain::{WorkspaceId, record};
use std::sync::Arc;
use tokio_postgres::Row;

pub(in crate::records) async fn find(
    engine: &Arc<Postgres>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    page: ExactPage,
) -> Result<Page> {
    let query = &page.query;
    if query.term.as_ref().is_some_and(|term| !can_match(term)) {
        return Ok(page.finish(0, Vec::new()));
    }
    let pattern = query.term.as_ref().map(pattern);
    let pattern = pattern.as_deref();
    let has_index = ExactOrder::of(query).index(Dialect::Postgres, query).is_some();
    let is_ordered = has_index && {
        let count = ExactPlan::count(query, Dialect::Postgres, pattern, None);
        candidates(query).is_empty()
            || number(engine, &count.sql, workspace, &count.parameters).await? > FEW
    };
    let reading = if is_ordered { Reading::Ordered } else { Reading::Collected };
    let cursor = page.cursor.as_ref();
    let plan = ExactPlan::page(query, Dialect::Postgres, pattern, None, reading, cursor);
    let mut values = values(workspace, &plan.parameters);
    values.extend([Box::new(int(page.limit())) as Param, Box::new(int(query.skip))]);
    let rows = engine.search_rows(&plan.sql, &references(&values)).await?;
    // Read after the records, so that the book has everyone they name.
    let book = current_book(engine, caches, workspace).await?;
    let (mut total, mut found) = (0, Vec::new());
    for row in &rows {
        total = unsigned(row, 0)?;
        let Some(key) = sort_key(row, query.sort.by)? else { continue };
        let mut document = Vec::new();
        record::render(row.try_get(3)?, row.try_get(4)?, &book, &mut document);
        found.push(FoundRecord { key, document });
    }
    Ok(page.finish(total, found))
}

/// The positions of all records that match a query, in its order.
pub(in crate::records) async fn positions(
    engine: &Arc<Postgres>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    query: RecordQuery,
) -> Result<Vec<u64>> {
    if query.term.as_ref().is_some_and(|term| !can_match(term)) {
        return Ok(Vec::new());
    }
    let pattern = query.term.as_ref().map(pattern);
    let people = match query.sort.by {
        SortColumn::Person => current_book(engine, caches, workspace).await?.ids_by_name(),
        _ => Vec::new(),
    };
    let plan = ExactPlan::positions(&query, Dialect::Postgres, pattern.as_deref(), None, people);
    let values = values(workspace, &plan.parameters);
    let rows = engine.rows(&plan.sql, &references(&values)).await?;
    let positions: Option<Vec<i64>> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(positions.unwrap_or_default().into_iter().map(i64::unsigned_abs).collect())
}

/// The sort key of a row; `None` if it has no record.
fn sort_key(row: &Row, by: SortColumn) -> Result<Option<SortKey>> {
    let Some(position) = row.try_get::<_, Option<i64>>(1)? else { return Ok(None) };
    let value = match by {
        SortColumn::Created => None,
        SortColumn::Updated => Some(SortValue::Integer(row.try_get(2)?)),
        SortColumn::Amount => Some(SortValue::Number(row.try_get(2)?)),
        _ => row.try_get::<_, Option<String>>(2)?.map(SortValue::Text),
    };
    Ok(Some(SortKey { value, position: position.unsigned_abs() }))
}
