//! Import jobs on PostgreSQL.

use super::{ImportJob, ImportJobTx, ImportList, ImportState, ListedImport, retention_start};
use crate::{
    Result,
    engine::{
        int,
        postgres::{Postgres, PostgresTransaction, params},
        statements,
    },
};
use groma_domain::{ImportJobId, PersonId, Timestamp, WorkspaceId};
use std::sync::Arc;
use tokio_postgres::Row;

statements! {
    JOB = concat!("SELECT ", job_columns!(), " FROM import_jobs WHERE workspace_id = $1 AND id = $2");
    LOCK_JOB = concat!("SELECT ", job_columns!(), " FROM import_jobs WHERE workspace_id = $1 AND id = $2 FOR UPDATE");
    LOCK_UNLOCKED_JOB = concat!("SELECT ", job_columns!(), " FROM import_jobs WHERE workspace_id = $1 AND id = $2
        FOR UPDATE SKIP LOCKED");
    DEAD_JOBS = "SELECT workspace_id, id FROM import_jobs
        WHERE state IN ('checking', 'ready', 'running') AND heartbeat_at <= $1";
    JOBS = "SELECT id, person_id, file_name, state, created_at FROM import_jobs
        WHERE workspace_id = $1 AND ($2::uuid IS NULL OR person_id = $2)
        AND (state IN ('checking', 'ready', 'running') OR heartbeat_at >= $3) ORDER BY id DESC LIMIT $4";
    LIVE_JOBS = "SELECT count(*) FROM import_jobs
        WHERE workspace_id = $1 AND person_id = $2 AND state IN ('checking', 'ready', 'running')";
    HAS_ENDED_JOBS = "SELECT EXISTS (SELECT 1 FROM import_jobs
        WHERE state NOT IN ('checking', 'ready', 'running') AND heartbeat_at < $1)";
    DELETE_ENDED_JOBS = "DELETE FROM import_jobs
        WHERE state NOT IN ('checking', 'ready', 'running') AND heartbeat_at < $1";
    REJECTED = "SELECT rejected FROM import_jobs WHERE workspace_id = $1 AND id = $2";
    SAVE_JOB = concat!("INSERT INTO import_jobs (workspace_id, ", job_columns!(), ", rejected)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '')
        ON CONFLICT (workspace_id, id) DO UPDATE SET state = excluded.state, revision = excluded.revision,
        options = excluded.options, preview = excluded.preview, progress = excluded.progress,
        failure = excluded.failure, result = excluded.result, heartbeat_at = excluded.heartbeat_at");
    SAVE_HEARTBEAT = "UPDATE import_jobs SET progress = $3, heartbeat_at = $4 WHERE (workspace_id, id) IN (
        SELECT workspace_id, id FROM import_jobs WHERE workspace_id = $1 AND id = $2
        AND state IN ('checking', 'ready', 'running') FOR UPDATE SKIP LOCKED)";
    SAVE_REJECTED = "UPDATE import_jobs SET rejected = $3 WHERE workspace_id = $1 AND id = $2";
    DELETE_JOBS = "DELETE FROM import_jobs WHERE workspace_id = $1";
    DELETE_JOBS_OF_PERSON = "DELETE FROM import_jobs WHERE workspace_id = $1 AND person_id = $2";
}

impl ImportJobTx for PostgresTransaction<'_> {
    async fn import_job(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> Result<Option<ImportJob>> {
        let rows = self.rows(LOCK_JOB, &[&workspace.0, &id.0]).await?;
        rows.first().map(job_of_row).transpose()
    }

    async fn unlocked_import_job(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> Result<Option<ImportJob>> {
        let rows = self.rows(LOCK_UNLOCKED_JOB, &[&workspace.0, &id.0]).await?;
        rows.first().map(job_of_row).transpose()
    }

    async fn live_import_jobs(&mut self, workspace: WorkspaceId, person: PersonId) -> Result<i64> {
        let rows = self.rows(LIVE_JOBS, &[&workspace.0, &person.0]).await?;
        Ok(rows.first().map_or(Ok(0), |row| row.try_get(0))?)
    }

    async fn save_import_job(&mut self, workspace: WorkspaceId, job: ImportJob) -> Result<()> {
        let result = job.result.map(|result| serde_json::to_string(&result)).transpose()?;
        let values = params![
            workspace.0,
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
        self.send(vec![(SAVE_JOB, values)]).await
    }

    async fn save_heartbeat(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
        progress: String,
        now: Timestamp,
    ) -> Result<()> {
        let values = params![workspace.0, id.0, progress, now.as_millis()];
        self.send(vec![(SAVE_HEARTBEAT, values)]).await
    }

    async fn save_rejected(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
        rejected: Vec<u8>,
    ) -> Result<()> {
        self.send(vec![(SAVE_REJECTED, params![workspace.0, id.0, rejected])]).await
    }

    async fn delete_ended_import_jobs(&mut self, before: Timestamp) -> Result<()> {
        self.send(vec![(DELETE_ENDED_JOBS, params![before.as_millis()])]).await
    }
}

pub(super) async fn job(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    id: ImportJobId,
) -> Result<Option<ImportJob>> {
    let rows = engine.rows(JOB, &[&workspace.0, &id.0]).await?;
    rows.first().map(job_of_row).transpose()
}

pub(super) async fn jobs(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    list: ImportList,
) -> Result<Vec<ListedImport>> {
    let person = list.person.map(|person| person.0);
    let oldest = retention_start(list.now).as_millis();
    let limit = i64::from(list.limit);
    let rows = engine.rows(JOBS, &[&workspace.0, &person, &oldest, &limit]).await?;
    let listed = |row: &Row| {
        Ok(ListedImport {
            id: ImportJobId(row.try_get(0)?),
            person: PersonId(row.try_get(1)?),
            file_name: row.try_get(2)?,
            state: ImportState::of_name(row.try_get(3)?),
            created_at: Timestamp::from_millis(row.try_get(4)?),
        })
    };
    rows.iter().map(listed).collect()
}

pub(super) async fn live_jobs(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    person: PersonId,
) -> Result<i64> {
    let rows = engine.rows(LIVE_JOBS, &[&workspace.0, &person.0]).await?;
    Ok(rows.first().map_or(Ok(0), |row| row.try_get(0))?)
}

pub(super) async fn has_ended_jobs(engine: &Arc<Postgres>, before: Timestamp) -> Result<bool> {
    let rows = engine.rows(HAS_ENDED_JOBS, &[&before.as_millis()]).await?;
    Ok(rows.first().map_or(Ok(false), |row| row.try_get(0))?)
}

pub(super) async fn dead_jobs(
    engine: &Arc<Postgres>,
    before: Timestamp,
) -> Result<Vec<(WorkspaceId, ImportJobId)>> {
    let rows = engine.rows(DEAD_JOBS, &[&before.as_millis()]).await?;
    let ids = |row: &Row| Ok((WorkspaceId(row.try_get(0)?), ImportJobId(row.try_get(1)?)));
    rows.iter().map(ids).collect()
}

pub(super) async fn rejected(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    id: ImportJobId,
) -> Result<Option<Vec<u8>>> {
    let rows = engine.rows(REJECTED, &[&workspace.0, &id.0]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

fn job_of_row(row: &Row) -> Result<ImportJob> {
    let result: Option<String> = row.try_get(9)?;
    Ok(ImportJob {
        id: ImportJobId(row.try_get(0)?),
        person: PersonId(row.try_get(1)?),
        file_name: row.try_get(2)?,
        state: ImportState::of_name(row.try_get(3)?),
        revision: u64::try_from(row.try_get::<_, i64>(4)?).unwrap_or_default(),
        options: row.try_get(5)?,
        preview: row.try_get(6)?,
        progress: row.try_get(7)?,
        failure: row.try_get(8)?,
        result: result.and_then(|result| serde_json::from_str(&result).ok()),
        created_at: Timestamp::from_millis(row.try_get(10)?),
        heartbeat_at: Timestamp::from_millis(row.try_get(11)?),
    })
}
