//! The queries of the dashboard on PostgreSQL.

use super::sql;
use crate::{
    Result,
    engine::postgres::Postgres,
    records::dashboard_queries::{MonthHours, WORK_LIMIT, Work, Workload, hours_by_month},
};
use groma_domain::{StatusId, WorkspaceId, time::Date};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

pub(in crate::records) async fn workload(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    finished: &[StatusId],
    today: Date,
) -> Result<Workload> {
    let finished: Vec<Uuid> = finished.iter().map(|status| status.0).collect();
    let limit = i64::from(WORK_LIMIT) + 1;
    let rows = engine.rows(sql::OPEN_WORK, &[&workspace.0, &finished, &limit]).await?;
    Ok(Workload::new(parse(&rows)?, today))
}

pub(in crate::records) async fn hours_by_due_month(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    from: Date,
    until: Date,
) -> Result<Vec<MonthHours>> {
    let (from, until) = (from.to_string(), until.to_string());
    let limit = i64::from(WORK_LIMIT) + 1;
    let rows = engine.rows(sql::COMPLETED_WORK, &[&workspace.0, &from, &until, &limit]).await?;
    Ok(hours_by_month(parse(&rows)?))
}

fn parse(rows: &[Row]) -> Result<Vec<Work>> {
    rows.iter().map(|row| Work::parse(row.try_get(0)?)).collect()
}
