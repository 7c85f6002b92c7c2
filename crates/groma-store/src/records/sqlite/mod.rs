//! Records on SQLite.

mod dashboard_queries;
mod exact_lists;
mod list_queries;
mod read;
pub(crate) mod sql;
mod unlinked_features;

pub(super) use dashboard_queries::{hours_by_due_month, workload};
pub(super) use exact_lists::{find, positions};
pub(super) use list_queries::{labels, query, totals};
pub(crate) use read::delete_records;
pub(super) use read::{export, export_at, get, list, statuses};

use super::{
    DeletedLinks, Link, RecordCounters, RecordRow, RecordTx, RecordWrite, StoredRecord,
    UnlinkedFeatures,
};
use crate::{
    Result,
    engine::{
        int, kind_number,
        sqlite::{FullTextEntry, SqliteTransaction, damaged, position_of, row_key},
    },
};
use groma_domain::{
    Kind, Record, Status, Timestamp, WorkspaceId,
    reference::Key,
    text::{FIELD_SEPARATOR, fold},
};
use groma_geo::Bbox;
use rusqlite::{OptionalExtension, Row, ToSql, params};
use sql::KindSql;
use uuid::Uuid;

impl RecordTx for SqliteTransaction<'_> {
    async fn find(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<StoredRecord>> {
        let ws = self.workspace_number(workspace)?;
        let sql = KindSql::of(kind);
        let read = |row: &Row<'_>| read_record(kind, row);
        let found = match key {
            Key::Id(id) => self.prepare(&sql.by_id)?.query_row(params![ws, id.0], read),
            Key::Reference(reference) => {
                self.prepare(&sql.by_reference)?.query_row(params![ws, reference.as_str()], read)
            }
        };
        Ok(found.optional()?)
    }

    async fn by_external_id(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        external_id: &str,
        limit: usize,
    ) -> Result<Vec<StoredRecord>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(&KindSql::of(kind).by_external_id)?;
        let params = params![ws, external_id, int(limit as u64)];
        let rows = statement.query_map(params, |row| read_record(kind, row))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<Vec<StoredRecord>> {
        let ws = self.workspace_number(workspace)?;
        let Some(sql) = KindSql::of(kind).linked(link) else { return Ok(Vec::new()) };
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(params![ws, id], |row| read_record(kind, row))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn is_linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<bool> {
        let ws = self.workspace_number(workspace)?;
        let Some(sql) = KindSql::of(kind).is_linked(link) else { return Ok(false) };
        Ok(self.prepare(sql)?.exists(params![ws, id])?)
    }

    async fn statuses(&mut self, workspace: WorkspaceId) -> Result<Vec<Status>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(sql::STATUSES)?;
        let mut rows = statement.query([ws])?;
        let mut statuses = Vec::new();
        while let Some(row) = rows.next()? {
            let document = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            statuses.push(serde_json::from_str(document)?);
        }
        Ok(statuses)
    }

    async fn record_counters(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
    ) -> Result<RecordCounters> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(sql::COUNTERS)?;
        let found = statement.query_row(params![ws, kind_number(kind)], |row| {
            let number = |column: usize| row.get(column).map(i64::unsigned_abs);
            Ok(RecordCounters {
                last_position: number(0)?,
                last_reference: number(1)?,
                total: number(2)?,
                generation: number(3)?,
            })
        });
        Ok(found.optional()?.unwrap_or_default())
    }

    async fn unlink_features(
        &mut self,
        workspace: WorkspaceId,
        deleted: &DeletedLinks,
        now: Timestamp,
    ) -> Result<Vec<UnlinkedFeatures>> {
        let ws = self.workspace_number(workspace)?;
        unlinked_features::unlink_features(self, ws, deleted, now)
    }

    async fn write_records(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<RecordWrite>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        writes.into_iter().try_for_each(|write| execute(self, ws, write))
    }
}

fn execute(tx: &mut SqliteTransaction<'_>, ws: i64, write: RecordWrite) -> Result<()> {
    match write {
        RecordWrite::Insert(row) => {
            write_row(tx, &KindSql::of(row.record.kind()).insert, ws, &row)?;
            write_box(tx, row_key(ws, row.position), &row.record)?;
            let (kind, key) = (row.record.kind(), row_key(ws, row.position));
            tx.index_text(text_entry(kind, key, false, Some(row.search_text)));
            Ok(())
        }
        RecordWrite::Update { row, search_changed } => {
            write_row(tx, &KindSql::of(row.record.kind()).update, ws, &row)?;
            if row.record.kind() == Kind::Folder {
                tx.execute(sql::DELETE_BOX, params![row_key(ws, row.position)])?;
            }
            write_box(tx, row_key(ws, row.position), &row.record)?;
            if search_changed {
                let (kind, key) = (row.record.kind(), row_key(ws, row.position));
                tx.index_text(text_entry(kind, key, true, Some(row.search_text)));
            }
            Ok(())
        }
        RecordWrite::Delete { kind, position } => {
            let key = row_key(ws, position);
            tx.execute(&KindSql::of(kind).delete, &[&key])?;
            tx.index_text(text_entry(kind, key, true, None));
            Ok(())
        }
        RecordWrite::ReleaseReference { kind, position, id } => tx.execute(
            &KindSql::of(kind).release_reference,
            params![row_key(ws, position), id.to_string()],
        ),
        RecordWrite::ReleaseStatusName(id) => {
            tx.execute(sql::RELEASE_STATUS_NAME, params![ws, id.0, id.to_string()])
        }
        RecordWrite::SaveStatus(status) => tx.execute(
            sql::SAVE_STATUS,
            params![
                ws,
                status.id.0,
                kind_number(status.applies_to),
                fold(&status.name),
                status.document()
            ],
        ),
        RecordWrite::DeleteStatus(id) => tx.execute(sql::DELETE_STATUS, params![ws, id.0]),
        RecordWrite::SaveCounters { kind, counters } => tx.execute(
            sql::SAVE_COUNTERS,
            params![
                ws,
                kind_number(kind),
                int(counters.last_position),
                int(counters.last_reference),
                int(counters.total),
                int(counters.generation)
            ],
        ),
        RecordWrite::AdjustBucket { kind, bucket, difference, generation } => tx.execute(
            sql::ADJUST_BUCKET,
            params![ws, kind_number(kind), int(bucket), difference, int(generation)],
        ),
        RecordWrite::AdjustLabel { field, value, difference } => {
            tx.execute(sql::ADD_LABEL, params![ws, field.name(), value, fold(&value), difference])?;
            if difference < 0 {
                tx.execute(sql::DELETE_UNUSED_LABEL, params![ws, field.name(), value])?;
            }
            Ok(())
        }
    }
}

fn write_row(tx: &SqliteTransaction<'_>, sql: &str, ws: i64, row: &RecordRow) -> Result<()> {
    let record = &row.record;
    let (key, id) = (row_key(ws, row.position), record.id().0);
    let links: Vec<_> = Link::of(record.kind()).iter().map(|link| link.target(record)).collect();
    let reference = record.reference().as_str();
    let (external_id, updated_at) = (record.external_id(), record.updated_at().as_millis());
    let mut values: Vec<&dyn ToSql> = vec![
        &key,
        &ws,
        &id,
        &reference,
        &row.document.json,
        &row.document.person_offsets,
        &row.title,
        &external_id,
        &updated_at,
        &row.reference_key,
    ];
    values.extend(links.iter().map(|link| link as &dyn ToSql));
    tx.execute(sql, &values)
}

/// Writes the extent of a folder.
fn write_box(tx: &SqliteTransaction<'_>, key: i64, record: &Record) -> Result<()> {
    if let Record::Folder(folder) = record
        && let Some(Bbox([west, south, east, north])) = folder.bbox
    {
        tx.execute(sql::INSERT_BOX, params![key, west, east, south, north])?;
    }
    Ok(())
}

fn text_entry(kind: Kind, row_id: i64, is_indexed: bool, text: Option<String>) -> FullTextEntry {
    let sql = KindSql::of(kind);
    let text = text.map(|mut text| {
        // Two separators after the text give every character a trigram that begins with it, so that
        // terms of one or two characters can be looked up as beginnings of trigrams.
        text.extend([FIELD_SEPARATOR; 2]);
        text
    });
    FullTextEntry {
        delete_sql: &sql.delete_text,
        insert_sql: &sql.insert_text,
        row_id,
        is_indexed,
        text,
    }
}

fn read_record(kind: Kind, row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    let json = row.get_ref(1)?.as_bytes()?;
    let record = Record::from_document(kind, json).map_err(|error| damaged(1, error))?;
    Ok(StoredRecord { position: position_of(row.get(0)?), record })
}
