//! Records on PostgreSQL.

mod counters;
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
        postgres::{Param, PostgresTransaction, Statement, params, unsigned},
    },
    workspaces,
};
use counters::PendingCounters;
use groma_domain::{
    Kind, Record, Status, Timestamp, WorkspaceId, record::LabelField, reference::Key, text::fold,
};
use sql::KindSql;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

/// The statuses of the workspace that the transaction has locked: no other transaction changes them, so
/// the changes of a group read them once.
struct CachedStatuses(WorkspaceId, Vec<Status>);

impl RecordTx for PostgresTransaction<'_> {
    async fn find(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<StoredRecord>> {
        let sql = KindSql::of(kind);
        let row = match key {
            Key::Id(id) => self.row(&sql.by_id, &[&workspace.0, &id.0]).await?,
            Key::Reference(reference) => {
                self.row(&sql.by_reference, &[&workspace.0, &reference.as_str()]).await?
            }
        };
        row.as_ref().map(|row| read_record(kind, row)).transpose()
    }

    async fn by_external_id(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        external_id: &str,
        limit: usize,
    ) -> Result<Vec<StoredRecord>> {
        let sql = &KindSql::of(kind).by_external_id;
        let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &external_id, &int(limit as u64)];
        let rows = self.rows(sql, &params).await?;
        rows.iter().map(|row| read_record(kind, row)).collect()
    }

    async fn linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<Vec<StoredRecord>> {
        let Some(sql) = KindSql::of(kind).linked(link) else { return Ok(Vec::new()) };
        let rows = self.rows(sql, &[&workspace.0, &id]).await?;
        rows.iter().map(|row| read_record(kind, row)).collect()
    }

    async fn is_linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<bool> {
        let Some(sql) = KindSql::of(kind).is_linked(link) else { return Ok(false) };
        Ok(self.row(sql, &[&workspace.0, &id]).await?.is_some())
    }

    async fn statuses(&mut self, workspace: WorkspaceId) -> Result<Vec<Status>> {
        if let Some(CachedStatuses(of, statuses)) = self.extensions.get()
            && *of == workspace
        {
            return Ok(statuses.clone());
        }
        let rows = self.rows(sql::STATUSES, &[&workspace.0]).await?;
        let read = |row: &Row| Ok(serde_json::from_slice(row.try_get(0)?)?);
        let statuses: Vec<Status> = rows.iter().map(read).collect::<Result<_>>()?;
        if workspaces::postgres::is_locked(self, workspace) {
            self.extensions.insert(CachedStatuses(workspace, statuses.clone()));
        }
        Ok(statuses)
    }

    async fn record_counters(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
    ) -> Result<RecordCounters> {
        let pending = self.extensions.get::<PendingCounters>();
        if let Some(counters) = pending.and_then(|pending| pending.get(workspace, kind)) {
            return Ok(counters);
        }
        let row = self.row(sql::COUNTERS, &[&workspace.0, &kind_number(kind)]).await?;
        let counters = row.as_ref().map(read_counters).transpose()?.unwrap_or_default();
        if workspaces::postgres::is_locked(self, workspace) {
            let mut pending = self.extensions.remove::<PendingCounters>().unwrap_or_default();
            pending.load(workspace, kind, counters);
            self.extensions.insert(pending);
        }
        Ok(counters)
    }

    async fn unlink_features(
        &mut self,
        workspace: WorkspaceId,
        deleted: &DeletedLinks,
        now: Timestamp,
    ) -> Result<Vec<UnlinkedFeatures>> {
        unlinked_features::unlink_features(self, workspace, deleted, now).await
    }

    async fn write_records(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<RecordWrite>,
    ) -> Result<()> {
        let mut pending = self.extensions.remove::<PendingCounters>().unwrap_or_default();
        let mut statements = Vec::with_capacity(writes.len());
        let mut grown = Vec::new();
        for write in writes {
            if let RecordWrite::SaveCounters { kind, counters } = &write {
                let before = pending.get(workspace, *kind).unwrap_or_default();
                if counters::has_doubled(before.total, counters.total) {
                    grown.push((*kind, counters.total));
                }
            }
            if let RecordWrite::SaveStatus(_)
            | RecordWrite::DeleteStatus(_)
            | RecordWrite::ReleaseStatusName(_) = write
            {
                self.extensions.remove::<CachedStatuses>();
            }
            match write {
                RecordWrite::AdjustLabel { field, value, difference } => {
                    statements.extend(label_statements(workspace, field, &value, difference));
                }
                write => statements.extend(statement(workspace, write, &mut pending)),
            }
        }
        self.extensions.insert(pending);
        self.before_commit(counters::statements);
        if !grown.is_empty() {
            self.after_commit(move |engine| counters::analyze(engine.clone(), grown));
        }
        self.send(statements).await
    }
}

fn label_statements(
    workspace: WorkspaceId,
    field: LabelField,
    value: &str,
    difference: i64,
) -> Vec<Statement> {
    let (ws, name) = (workspace.0, field.name());
    let add = params![ws, name, value.to_owned(), fold(value), difference];
    let mut statements: Vec<Statement> = vec![(sql::ADD_LABEL, add)];
    if difference < 0 {
        statements.push((sql::DELETE_UNUSED_LABEL, params![ws, name, value.to_owned()]));
    }
    statements
}

/// The statement of a write; none for counters, which are written before the commit.
fn statement(
    workspace: WorkspaceId,
    write: RecordWrite,
    pending: &mut PendingCounters,
) -> Option<Statement> {
    let ws = workspace.0;
    Some(match write {
        RecordWrite::AdjustLabel { .. } => return None,
        RecordWrite::SaveCounters { kind, counters } => {
            pending.save(workspace, kind, counters);
            return None;
        }
        RecordWrite::AdjustBucket { kind, bucket, difference, generation } => {
            pending.adjust_bucket(workspace, kind, bucket, (difference, generation));
            return None;
        }
        RecordWrite::Insert(row) => (&KindSql::of(row.record.kind()).insert, row_params(ws, row)),
        RecordWrite::Update { row, .. } => {
            (&KindSql::of(row.record.kind()).update, row_params(ws, row))
        }
        RecordWrite::Delete { kind, position } => {
            (&KindSql::of(kind).delete, params![ws, int(position)])
        }
        RecordWrite::ReleaseReference { kind, position, id } => {
            (&KindSql::of(kind).release_reference, params![ws, int(position), id.to_string()])
        }
        RecordWrite::ReleaseStatusName(id) => {
            (sql::RELEASE_STATUS_NAME, params![ws, id.0, id.to_string()])
        }
        RecordWrite::SaveStatus(status) => (
            sql::SAVE_STATUS,
            params![
                ws,
                status.id.0,
                kind_number(status.applies_to),
                fold(&status.name),
                status.document().into_bytes()
            ],
        ),
        RecordWrite::DeleteStatus(id) => (sql::DELETE_STATUS, params![ws, id.0]),
    })
}

fn row_params(ws: Uuid, row: RecordRow) -> Vec<Param> {
    let RecordRow { position, record, document, title, reference_key, search_text } = row;
    let mut params = params![
        ws,
        int(position),
        record.id().0,
        record.reference().as_str().to_owned(),
        document.json.into_bytes(),
        document.person_offsets,
        search_text,
        title,
        record.external_id().map(str::to_owned),
        record.updated_at().as_millis(),
        reference_key
    ];
    for link in Link::of(record.kind()) {
        params.push(Box::new(link.target(&record)));
    }
    params
}

fn read_record(kind: Kind, row: &Row) -> Result<StoredRecord> {
    let record = Record::from_document(kind, row.try_get(1)?)?;
    Ok(StoredRecord { position: unsigned(row, 0)?, record })
}

fn read_counters(row: &Row) -> Result<RecordCounters> {
    Ok(RecordCounters {
        last_position: unsigned(row, 0)?,
        last_reference: unsigned(row, 1)?,
        total: unsigned(row, 2)?,
        generation: unsigned(row, 3)?,
    })
}
