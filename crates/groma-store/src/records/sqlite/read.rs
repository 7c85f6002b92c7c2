//! Reads of records: one, a page, a search, an export.

use super::sql::{self, KindSql};
use crate::{
    Result,
    engine::{
        int, kind_number,
        sqlite::{Snapshot, Sqlite, bytes, key_range, position_of, row_key},
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
    text::FIELD_SEPARATOR,
};
use rusqlite::{Connection, OptionalExtension, Rows, params};
use std::sync::Arc;

/// The number of rows deleted in one step.
const DELETE_BATCH: u32 = 2_000;

pub(in crate::records) async fn get(
    engine: &Arc<Sqlite>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    key: &Key,
) -> Result<Option<Bytes>> {
    engine.read(|snapshot| {
        let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(None) };
        let sql = KindSql::of(kind);
        let mut statement;
        let mut rows = match key {
            Key::Id(id) => {
                statement = snapshot.prepare_cached(&sql.document_by_id)?;
                statement.query(params![ws, id.0])?
            }
            Key::Reference(reference) => {
                statement = snapshot.prepare_cached(&sql.document_by_reference)?;
                statement.query(params![ws, reference.as_str()])?
            }
        };
        let Some(row) = rows.next()? else { return Ok(None) };
        let (json, people) = (bytes(row, 0)?, bytes(row, 1)?);
        if people.is_empty() {
            return Ok(Some(Bytes::copy_from_slice(json)));
        }
        let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
        let mut document = Vec::with_capacity(json.len() + people.len() * 32);
        record::render(json, people, &book, &mut document);
        Ok(Some(document.into()))
    })
}

pub(in crate::records) async fn list(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    kind: Kind,
    params: &ListParams,
) -> Result<Page> {
    let (skip, limit) = (params.offset(), params.limit);
    let Some(term) = params.term.clone() else {
        return page(engine, caches, workspace, kind, skip, limit);
    };
    let caches = caches.clone();
    engine
        .search(move |snapshot| search(snapshot, &caches, workspace, kind, &term, (skip, limit)))
        .await
}

fn page(
    engine: &Sqlite,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    skip: u64,
    limit: u32,
) -> Result<Page> {
    loop {
        let page = engine.read(|snapshot| {
            let empty = |total| Ok(Some(Page::new(Vec::new(), total)));
            let Some(ws) = snapshot.workspace_number(workspace)? else { return empty(0) };
            let Some((total, generation)) = total_and_generation(snapshot, ws, kind)? else {
                return empty(0);
            };
            let index = caches.page_index.of(workspace, kind);
            let mut index = index.lock();
            if index.generation > generation {
                return Ok(None);
            }
            if index.generation < generation {
                let mut statement = snapshot.prepare_cached(sql::BUCKETS_SINCE)?;
                let mut rows =
                    statement.query(params![ws, kind_number(kind), int(index.generation)])?;
                while let Some(row) = rows.next()? {
                    let bucket: i64 = row.get(0)?;
                    index.set(usize::try_from(bucket).unwrap_or_default(), row.get(1)?);
                }
                index.generation = generation;
            }
            let location = index.locate(skip);
            drop(index);
            let Some((position, skip)) = location else { return empty(total) };
            let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
            let mut statement = snapshot.prepare_cached(&KindSql::of(kind).page)?;
            let last = key_range(ws).1;
            let rows = statement.query(params![row_key(ws, position), last, limit, int(skip)])?;
            let documents = read_documents(rows, 1, &book)?;
            Ok(Some(Page::new(documents, total)))
        })?;
        // `None`: the index is of a newer snapshot, so read a newer one, too.
        if let Some(page) = page {
            return Ok(page);
        }
    }
}

/// The number of records of a kind, and the generation of their page index.
fn total_and_generation(
    connection: &Connection,
    ws: i64,
    kind: Kind,
) -> Result<Option<(u64, u64)>> {
    let mut statement = connection.prepare_cached(sql::TOTAL_AND_GENERATION)?;
    let found = statement.query_row((ws, kind_number(kind)), |row| {
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
    });
    Ok(found.optional()?)
}

fn search(
    snapshot: &Snapshot<'_>,
    caches: &RecordCaches,
    workspace: WorkspaceId,
    kind: Kind,
    term: &SearchTerm,
    (skip, limit): (u64, u32),
) -> Result<Page> {
    let nothing = Page::new(Vec::new(), 0);
    let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(nothing) };
    let Some(expression) = match_expression(snapshot, kind, term)? else { return Ok(nothing) };
    let sql = KindSql::of(kind);
    let (first, last) = key_range(ws);
    let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
    let mut statement = snapshot.prepare_cached(&sql.matches_page)?;
    let rows = statement.query(params![expression, first, last, limit + 1, int(skip)])?;
    let mut documents = read_documents(rows, 0, &book)?;
    let found = documents.len() as u64;
    // When the matches end on this page, there is nothing to count.
    if found <= u64::from(limit) && (found > 0 || skip == 0) {
        return Ok(Page::new(documents, skip + found));
    }
    documents.truncate(limit as usize);
    let mut statement = snapshot.prepare_cached(&sql.matches)?;
    let total: i64 = statement.query_row(params![expression, first, last], |row| row.get(0))?;
    Ok(Page::new(documents, total.unsigned_abs()))
}

pub(in crate::records) async fn statuses(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
) -> Result<Vec<(u64, Vec<u8>)>> {
    engine.read(|snapshot| {
        let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
        let mut statement = snapshot.prepare_cached(sql::STATUSES)?;
        let mut rows = statement.query([ws])?;
        let mut documents = Vec::new();
        while let Some(row) = rows.next()? {
            documents.push((row.get::<_, i64>(1)?.unsigned_abs(), bytes(row, 0)?.to_vec()));
        }
        Ok(documents)
    })
}

pub(in crate::records) async fn export(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    kind: Kind,
    after: u64,
    limit: u32,
) -> Result<Vec<ExportedRecord>> {
    let caches = caches.clone();
    engine
        .read_blocking(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
            let mut statement = snapshot.prepare_cached(&KindSql::of(kind).page)?;
            let (first, last) = (row_key(ws, after + 1), key_range(ws).1);
            let mut rows = statement.query(params![first, last, limit, 0])?;
            let mut exported = Vec::new();
            while let Some(row) = rows.next()? {
                let mut document = Vec::new();
                record::render(bytes(row, 1)?, bytes(row, 2)?, &book, &mut document);
                exported.push(ExportedRecord { position: position_of(row.get(0)?), document });
            }
            Ok(exported)
        })
        .await
}

/// The records at these positions, in their order. Those that were deleted are left out.
pub(in crate::records) async fn export_at(
    engine: &Arc<Sqlite>,
    caches: &Arc<RecordCaches>,
    workspace: WorkspaceId,
    kind: Kind,
    positions: &[u64],
) -> Result<Vec<ExportedRecord>> {
    let (caches, positions) = (caches.clone(), positions.to_vec());
    engine
        .read_blocking(move |snapshot| {
            let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let book = people::sqlite::people_book(&caches.people, snapshot, workspace, ws)?;
            let mut statement = snapshot.prepare_cached(&KindSql::of(kind).page)?;
            let mut exported = Vec::with_capacity(positions.len());
            for position in positions {
                let key = row_key(ws, position);
                let mut rows = statement.query(params![key, key, 1, 0])?;
                if let Some(row) = rows.next()? {
                    let mut document = Vec::new();
                    record::render(bytes(row, 1)?, bytes(row, 2)?, &book, &mut document);
                    exported.push(ExportedRecord { position, document });
                }
            }
            Ok(exported)
        })
        .await
}

/// Deletes the records of a workspace that is deleted, in small steps.
pub(crate) async fn delete_records(engine: &Sqlite, ws: i64) -> Result<()> {
    for kind in Kind::ALL {
        while engine.write(move |connection| delete_some_records(connection, ws, kind)).await? > 0 {
        }
    }
    let buckets = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(sql::DELETE_SOME_BUCKETS)?;
        Ok(statement.execute(params![ws, DELETE_BATCH])?)
    };
    while engine.write(buckets).await? > 0 {}
    engine
        .write(move |connection| {
            Ok(connection.prepare_cached(sql::DELETE_LABELS)?.execute([ws])?)
        })
        .await?;
    Ok(())
}

fn delete_some_records(connection: &Connection, ws: i64, kind: Kind) -> Result<usize> {
    let sql = KindSql::of(kind);
    let (first, last) = key_range(ws);
    let mut statement = connection.prepare_cached(&sql.some_positions)?;
    let rows =
        statement.query_map(params![first, last, DELETE_BATCH], |row| row.get::<_, i64>(0))?;
    let positions = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for position in &positions {
        connection.prepare_cached(&sql.delete_text)?.execute([position])?;
        connection.prepare_cached(&sql.delete)?.execute([position])?;
    }
    Ok(positions.len())
}

/// The public documents of rows; the columns are the stored document and its people.
fn read_documents(
    mut rows: Rows<'_>,
    column: usize,
    book: &PersonDirectory,
) -> Result<Vec<Vec<u8>>> {
    let mut documents = Vec::new();
    while let Some(row) = rows.next()? {
        let (json, people) = (bytes(row, column)?, bytes(row, column + 1)?);
        let mut document = Vec::with_capacity(json.len() + people.len() * 32);
        record::render(json, people, book, &mut document);
        documents.push(document);
    }
    Ok(documents)
}

/// The expression that finds a term in the trigram index; `None` when nothing can match. For a term of
/// one or two characters it is any of the trigrams that begin with it.
pub(super) fn match_expression(
    connection: &Connection,
    kind: Kind,
    term: &SearchTerm,
) -> Result<Option<String>> {
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    if !term.can_match() {
        return Ok(None);
    }
    if term.as_str().chars().count() >= 3 {
        return Ok(Some(quote(term.as_str())));
    }
    let mut statement = connection.prepare_cached(&KindSql::of(kind).trigrams)?;
    let end = format!("{}{}{}", term.as_str(), char::MAX, char::MAX);
    let mut rows = statement.query([term.as_str(), &end])?;
    let mut trigrams: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        trigrams.push(quote(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?));
    }
    debug_assert!(!term.as_str().contains(FIELD_SEPARATOR));
    Ok((!trigrams.is_empty()).then(|| trigrams.join(" OR ")))
}
