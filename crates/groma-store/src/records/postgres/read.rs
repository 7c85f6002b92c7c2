//! Reads of records: one, a page, a search, an export.

use super::sql::{self, KindSql};
use crate::{
    Error, Result,
    engine::{
        int, kind_number,
        postgres::{Postgres, escape_like, unsigned},
    },
    list_pages::Page,
    people,
    records::{ExportedRecord, RecordCaches},
};
use bytes::Bytes;
use groma_domain::{
    Kind, ListParams, SearchTerm, WorkspaceId,
    record::{self, PersonDirectory},
    reference::Key,
};
use std::sync::Arc;
use tokio_postgres::{Row, types::ToSql};

/// The number of rows deleted in one step.
const DELETE_BATCH: i64 = 5_000;

/// How many times a page is tried with the page index before it is read without.
const MAX_TRIES: u32 = 20;

pub(in crate::records) async fn get(
    engine: &Arc<Postgres>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    key: &Key,
) -> Result<Option<Bytes>> {
    let sql = KindSql::of(kind);
    let rows = match key {
        Key::Id(id) => engine.pipelined_rows(&sql.document_by_id, &[&workspace.0, &id.0]).await?,
        Key::Reference(reference) => {
            let params: [&(dyn ToSql + Sync); 2] = [&workspace.0, &reference.as_str()];
            engine.pipelined_rows(&sql.document_by_reference, &params).await?
        }
    };
    let Some(row) = rows.first() else { return Ok(None) };
    let (json, people): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
    if people.is_empty() {
        return Ok(Some(Bytes::copy_from_slice(json)));
    }
    let book = book(engine, caches, workspace, unsigned(row, 2)?).await?;
    let mut document = Vec::with_capacity(json.len() + 256);
    record::render(json, people, &book, &mut document);
    Ok(Some(document.into()))
}

pub(in crate::records) async fn list(
    engine: &Arc<Postgres>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    kind: Kind,
    params: &ListParams,
) -> Result<Page> {
    let (skip, limit) = (params.offset(), params.limit);
    match &params.term {
        None => page(engine, caches, workspace, kind, (skip, limit)).await,
        // Boxed, because the future of a search is large, and that of every list would be.
        Some(term) => Box::pin(search(engine, caches, workspace, kind, term, (skip, limit))).await,
    }
}

async fn page(
    engine: &Postgres,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    (skip, limit): (u64, u32),
) -> Result<Page> {
    for attempt in 0.. {
        let index = caches.page_index.of(workspace, kind);
        let (known, location) = {
            let index = index.lock();
            (index.generation, index.locate(skip))
        };
        let without_index = attempt == MAX_TRIES;
        let (first, rest, limit) = match location {
            _ if without_index => (0, skip, limit),
            Some((first, rest)) => (first, rest, limit),
            // Past the end, if the index is current: only the total is needed.
            None => (0, 0, 0),
        };
        let params: [&(dyn ToSql + Sync); 4] =
            [&workspace.0, &int(first), &i64::from(limit), &int(rest)];
        let sql = &KindSql::of(kind).page;
        let rows = match without_index {
            true => engine.rows(sql, &params).await?,
            false => engine.pipelined_rows(sql, &params).await?,
        };
        let Some(row) = rows.first() else {
            return Ok(Page::new(Vec::new(), 0));
        };
        if unsigned(row, 1)? == known || without_index {
            let book = book(engine, caches, workspace, unsigned(row, 2)?).await?;
            let documents = read_documents(&rows, 3, &book)?;
            return Ok(Page::new(documents, unsigned(row, 0)?));
        }
        update_index(engine, caches, workspace, kind, known).await?;
    }
    Err(Error::Closed)
}

/// Updates the page index of a kind from the database.
async fn update_index(
    engine: &Postgres,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    known: u64,
) -> Result<()> {
    let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &kind_number(kind), &int(known)];
    let rows = engine.rows(sql::BUCKETS_SINCE, &params).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let newest = unsigned(row, 0)?;
    let index = caches.page_index.of(workspace, kind);
    let mut index = index.lock();
    // Another request may have updated it first.
    if index.generation > known {
        return Ok(());
    }
    for row in &rows {
        if let Some(bucket) = row.try_get::<_, Option<i64>>(1)? {
            let records: i64 = row.try_get(2)?;
            index.set(
                usize::try_from(bucket).unwrap_or_default(),
                u8::try_from(records).unwrap_or_default(),
            );
        }
    }
    index.generation = newest;
    Ok(())
}

async fn search(
    engine: &Postgres,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    term: &SearchTerm,
    (skip, limit): (u64, u32),
) -> Result<Page> {
    let nothing = Page::new(Vec::new(), 0);
    if !term.can_match() {
        return Ok(nothing);
    }
    let sql = KindSql::of(kind);
    let (sql, pattern) = if term.as_str().chars().count() < 3 {
        (&sql.short_matches, term.as_str().to_owned())
    } else {
        (&sql.matches, format!("%{}%", escape_like(term.as_str())))
    };
    let params: [&(dyn ToSql + Sync); 4] = [&workspace.0, &pattern, &i64::from(limit), &int(skip)];
    let rows = engine.search_rows(sql, &params).await?;
    let Some(row) = rows.first() else { return Ok(nothing) };
    let book = book(engine, caches, workspace, unsigned(row, 1)?).await?;
    Ok(Page::new(read_documents(&rows, 2, &book)?, unsigned(row, 0)?))
}

pub(in crate::records) async fn statuses(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let rows = engine.rows(sql::STATUSES, &[&workspace.0]).await?;
    rows.iter().map(|row| Ok((unsigned(row, 1)?, row.try_get(0)?))).collect()
}

pub(in crate::records) async fn export(
    engine: &Arc<Postgres>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    kind: Kind,
    after: u64,
    limit: u32,
) -> Result<Vec<ExportedRecord>> {
    let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &int(after), &i64::from(limit)];
    let rows = engine.rows(&KindSql::of(kind).export, &params).await?;
    exported(engine, caches, workspace, &rows).await
}

async fn exported(
    engine: &Postgres,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    rows: &[Row],
) -> Result<Vec<ExportedRecord>> {
    let Some(row) = rows.first() else { return Ok(Vec::new()) };
    let book = book(engine, caches, workspace, unsigned(row, 3)?).await?;
    rows.iter()
        .map(|row| {
            let mut document = Vec::new();
            record::render(row.try_get(1)?, row.try_get(2)?, &book, &mut document);
            Ok(ExportedRecord { position: unsigned(row, 0)?, document })
        })
        .collect()
}

/// The records at these positions, in their order. Those that were deleted are left out.
pub(in crate::records) async fn export_at(
    engine: &Arc<Postgres>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    kind: Kind,
    positions: &[u64],
) -> Result<Vec<ExportedRecord>> {
    let positions: Vec<i64> = positions.iter().map(|position| int(*position)).collect();
    let rows = engine.rows(&KindSql::of(kind).export_at, &[&workspace.0, &positions]).await?;
    exported(engine, caches, workspace, &rows).await
}

/// Deletes the records of a workspace that is deleted, in small steps.
pub(crate) async fn delete_records(engine: &Postgres, workspace: WorkspaceId) -> Result<()> {
    let records = Kind::ALL.iter().map(|kind| KindSql::of(*kind).delete_some.as_str());
    for statement in records.chain([sql::DELETE_SOME_BUCKETS]) {
        while engine.execute(statement, &[&workspace.0, &DELETE_BATCH]).await? > 0 {}
    }
    engine.execute(sql::DELETE_LABELS, &[&workspace.0]).await?;
    Ok(())
}

/// The people of a workspace, of this generation or newer.
pub(super) async fn book(
    engine: &Postgres,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    generation: u64,
) -> Result<Arc<PersonDirectory>> {
    people::postgres::people_book(&caches.people, engine, workspace, generation).await
}

/// The public documents of rows that have one (an empty page is one row without).
fn read_documents(rows: &[Row], column: usize, book: &PersonDirectory) -> Result<Vec<Vec<u8>>> {
    let mut documents = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(json) = row.try_get::<_, Option<&[u8]>>(column)? else { continue };
        let mut document = Vec::with_capacity(json.len() + 256);
        record::render(json, row.try_get(column + 1)?, book, &mut document);
        documents.push(document);
    }
    Ok(documents)
}
