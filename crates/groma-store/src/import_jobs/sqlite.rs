//! Import jobs on SQLite.

use super::{ImportJob, ImportJobTx, ImportList, ImportState, ListedImport, retention_start};
use crate::{
    Result,
    engine::{
        int,
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::{ImportJobId, PersonId, Timestamp, WorkspaceId};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

statements! {
    JOB = concat!("SELECT ", job_columns!(), " FROM import_jobs WHERE ws = ?1 AND id = ?2");
    JOBS = "SELECT id, person_id, file_name, state, created_at FROM import_jobs
        WHERE ws = ?1 AND (?2 IS NULL OR person_id = ?2)
        AND (state IN ('checking', 'ready', 'running') OR heartbeat_at >= ?3) ORDER BY id DESC LIMIT ?4";
    LIVE_JOBS = "SELECT count(*) FROM import_jobs
        WHERE ws = ?1 AND person_id = ?2 AND state IN ('checking', 'ready', 'running')";
    HAS_ENDED_JOBS = "SELECT EXISTS (SELECT 1 FROM import_jobs
        WHERE state NOT IN ('checking', 'ready', 'running') AND heartbeat_at < ?1)";
    DELETE_ENDED_JOBS = "DELETE FROM import_jobs
        WHERE state NOT IN ('checking', 'ready', 'running') AND heartbeat_at < ?1";
    DEAD_JOBS = "SELECT w.id, j.id FROM import_jobs j JOIN workspaces w ON w.no = j.ws
        WHERE j.state IN ('checking', 'ready', 'running') AND j.heartbeat_at <= ?1";
    REJECTED = "SELECT rejected FROM import_jobs WHERE ws = ?1 AND id = ?2";
    SAVE_JOB = concat!("INSERT INTO import_jobs (ws, ", job_columns!(), ", rejected)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, x'')
        ON CONFLICT (ws, id) DO UPDATE SET state = excluded.state, revision = excluded.revision,
        options = excluded.options, preview = excluded.preview, progress = excluded.progress,
        failure = excluded.failure, result = excluded.result, heartbeat_at = excluded.heartbeat_at");
    SAVE_HEARTBEAT = "UPDATE import_jobs SET progress = ?3, heartbeat_at = ?4
        WHERE ws = ?1 AND id = ?2 AND state IN ('checking', 'ready', 'running')";
    SAVE_REJECTED = "UPDATE import_jobs SET rejected = ?3 WHERE ws = ?1 AND id = ?2";
    DELETE_JOBS = "DELETE FROM import_jobs WHERE ws = ?1";
    DELETE_JOBS_OF_PERSON = "DELETE FROM import_jobs WHERE ws = ?1 AND person_id = ?2";
}

impl ImportJobTx for SqliteTransaction<'_> {
    async fn import_job(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> Result<Option<ImportJob>> {
        let ws = self.workspace_number(workspace)?;
        read_job(self.connection(), ws, id)
    }

    async fn unlocked_import_job(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> Result<Option<ImportJob>> {
        self.import_job(workspace, id).await
    }

    async fn live_import_jobs(&mut self, workspace: WorkspaceId, person: PersonId) -> Result<i64> {
        let ws = self.workspace_number(workspace)?;
        count_live_jobs(self.connection(), ws, person)
    }

    async fn save_import_job(&mut self, workspace: WorkspaceId, job: ImportJob) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        let result = job.result.map(|result| serde_json::to_string(&result)).transpose()?;
        let values = params![
            ws,
            job.id.0,
            job.person.0,
            job.file_name,
            job.state.name(),
            int(job.revision),
            job.options,
            job.preview,
            job.progress,
            job.failure,
            result,
            job.created_at.as_millis(),
            job.heartbeat_at.as_millis()
        ];
        self.execute(SAVE_JOB, values)
    }

    async fn save_heartbeat(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
        progress: String,
        now: Timestamp,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        self.execute(SAVE_HEARTBEAT, params![ws, id.0, progress, now.as_millis()])
    }

    async fn save_rejected(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
        rejected: Vec<u8>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        self.execute(SAVE_REJECTED, params![ws, id.0, rejected])
    }

    async fn delete_ended_import_jobs(&mut self, before: Timestamp) -> Result<()> {
        self.execute(DELETE_ENDED_JOBS, params![before.as_millis()])
    }
}

pub(super) async fn job(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    id: ImportJobId,
) -> Result<Option<ImportJob>> {
    engine.read(|snapshot| match snapshot.workspace_number(workspace)? {
        Some(ws) => read_job(snapshot, ws, id),
        None => Ok(None),
    })
}

pub(super) async fn jobs(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    list: ImportList,
) -> Result<Vec<ListedImport>> {
    engine.read(|snapshot| {
        let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
        let mut statement = snapshot.prepare_cached(JOBS)?;
        let person = list.person.map(|person| person.0);
        let oldest = retention_start(list.now).as_millis();
        let listed = |row: &Row<'_>| {
            Ok(ListedImport {
                id: ImportJobId(row.get(0)?),
                person: PersonId(row.get(1)?),
                file_name: row.get(2)?,
                state: ImportState::of_name(&row.get::<_, String>(3)?),
                created_at: Timestamp::from_millis(row.get(4)?),
            })
        };
        let rows = statement.query_map(params![ws, person, oldest, list.limit], listed)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

pub(super) async fn live_jobs(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    person: PersonId,
) -> Result<i64> {
    engine.read(|snapshot| match snapshot.workspace_number(workspace)? {
        Some(ws) => count_live_jobs(snapshot, ws, person),
        None => Ok(0),
    })
}

pub(super) async fn has_ended_jobs(engine: &Arc<Sqlite>, before: Timestamp) -> Result<bool> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(HAS_ENDED_JOBS)?;
        Ok(statement.query_row([before.as_millis()], |row| row.get(0))?)
    })
}

pub(super) async fn dead_jobs(
    engine: &Arc<Sqlite>,
    before: Timestamp,
) -> Result<Vec<(WorkspaceId, ImportJobId)>> {
    engine.read(|snapshot| {
        let mut statement = snapshot.prepare_cached(DEAD_JOBS)?;
        let ids = |row: &Row<'_>| Ok((WorkspaceId(row.get(0)?), ImportJobId(row.get(1)?)));
        let rows = statement.query_map([before.as_millis()], ids)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

pub(super) async fn rejected(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    id: ImportJobId,
) -> Result<Option<Vec<u8>>> {
    engine.read(|snapshot| {
        let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(None) };
        let mut statement = snapshot.prepare_cached(REJECTED)?;
        Ok(statement.query_row(params![ws, id.0], |row| row.get(0)).optional()?)
    })
}

fn count_live_jobs(connection: &Connection, ws: i64, person: PersonId) -> Result<i64> {
    let mut statement = connection.prepare_cached(LIVE_JOBS)?;
    Ok(statement.query_row(params![ws, person.0], |row| row.get(0))?)
}

fn read_job(connection: &Connection, ws: i64, id: ImportJobId) -> Result<Option<ImportJob>> {
    let mut statement = connection.prepare_cached(JOB)?;
    Ok(statement.query_row(params![ws, id.0], job_of_row).optional()?)
}

fn job_of_row(row: &Row<'_>) -> rusqlite::Result<ImportJob> {
    let result: Option<String> = row.get(9)?;
    Ok(ImportJob {
        id: ImportJobId(row.get(0)?),
        person: PersonId(row.get(1)?),
        file_name: row.get(2)?,
        state: ImportState::of_name(&row.get::<_, String>(3)?),
        revision: u64::try_from(row.get::<_, i64>(4)?).unwrap_or_default(),
        options: row.get(5)?,
        preview: row.get(6)?,
        progress: row.get(7)?,
        failure: row.get(8)?,
        result: result.and_then(|result| serde_json::from_str(&result).ok()),
        created_at: Timestamp::from_millis(row.get(10)?),
        heartbeat_at: Timestamp::from_millis(row.get(11)?),
    })
}
