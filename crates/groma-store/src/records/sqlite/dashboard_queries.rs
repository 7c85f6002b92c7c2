//! The queries of the dashboard on SQLite.

use super::sql;
use crate::{
    Result,
    audit_log::sqlite::hex_array,
    engine::sqlite::{Sqlite, bytes},
    records::dashboard_queries::{MonthHours, WORK_LIMIT, Work, Workload, hours_by_month},
};
use groma_domain::{StatusId, WorkspaceId, time::Date};
use rusqlite::ToSql;
use std::sync::Arc;

pub(in crate::records) async fn workload(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    finished: &[StatusId],
    today: Date,
) -> Result<Workload> {
    let finished: Vec<_> = finished.iter().map(|status| status.0).collect();
    let finished = hex_array(&finished);
    let work = read(engine, workspace, sql::OPEN_WORK, move |ws| {
        vec![Box::new(ws), Box::new(finished.clone())]
    });
    Ok(Workload::new(work.await?, today))
}

pub(in crate::records) async fn hours_by_due_month(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    from: Date,
    until: Date,
) -> Result<Vec<MonthHours>> {
    let work = read(engine, workspace, sql::COMPLETED_WORK, move |ws| {
        vec![Box::new(ws), Box::new(from.to_string()), Box::new(until.to_string())]
    });
    Ok(hours_by_month(work.await?))
}

/// Reads the assignments that a statement finds. Its last parameter is their number.
async fn read(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    sql: &'static str,
    parameters: impl Fn(i64) -> Vec<Box<dyn ToSql>> + Send + 'static,
) -> Result<Vec<Work>> {
    let read = engine.read_blocking(move |snapshot| {
        let Some(ws) = snapshot.workspace_number(workspace)? else { return Ok(Vec::new()) };
        let mut parameters = parameters(ws);
        parameters.push(Box::new(WORK_LIMIT + 1));
        let mut statement = snapshot.prepare_cached(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
        let mut work = Vec::new();
        while let Some(row) = rows.next()? {
            work.push(Work::parse(bytes(row, 0)?)?);
        }
        Ok(work)
    });
    read.await
}
