//! Webhooks on PostgreSQL.

mod deliveries;
pub(crate) mod sql;

pub(crate) use deliveries::purge_deleted_endpoints;
pub(super) use deliveries::{
    count_deliveries, delete_old_deliveries, deliveries, delivery, delivery_counts, due_endpoints,
    enabled_targets, encrypt_secrets, endpoints, insert_past_deliveries, lease, listen,
    record_attempts, redeliver, release, secrets_state,
};

use super::{
    DeliveryRow, NewEvent, StoredEndpoint, WebhookContext, WebhookTx, WebhookWrite,
    new_endpoints_version,
};
use crate::{
    Result, audit_log,
    engine::{
        Extensions,
        postgres::{Param, PostgresTransaction, Statement, params},
    },
};
use deliveries::{read_delivery, read_endpoint};
use groma_domain::{DeliveryId, Timestamp, WorkspaceId};
use std::{collections::HashSet, sync::Arc};
use uuid::Uuid;

impl WebhookTx for PostgresTransaction<'_> {
    async fn endpoints(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredEndpoint>> {
        self.rows(sql::ENDPOINTS, &[&workspace.0]).await?.iter().map(read_endpoint).collect()
    }

    async fn write_endpoint(
        &mut self,
        workspace: WorkspaceId,
        write: WebhookWrite,
        context: &Arc<WebhookContext>,
    ) -> Result<()> {
        let ws = workspace.0;
        let statement = match write {
            WebhookWrite::Insert(stored) => (sql::INSERT_ENDPOINT, endpoint_params(ws, stored)?),
            WebhookWrite::Update(stored) => (sql::UPDATE_ENDPOINT, endpoint_params(ws, stored)?),
            WebhookWrite::Delete { endpoint, at } => {
                (sql::MARK_ENDPOINT_DELETED, params![ws, endpoint.0, at.as_millis()])
            }
        };
        let version = (sql::SET_ENDPOINTS_VERSION, params![ws, new_endpoints_version()]);
        self.send(vec![statement, version]).await?;
        self.before_commit(notify);
        let context = context.clone();
        self.after_commit(move |_| context.outbox.wake());
        Ok(())
    }

    async fn existing_ids(
        &mut self,
        workspace: WorkspaceId,
        folders: Vec<Uuid>,
        layers: Vec<Uuid>,
    ) -> Result<HashSet<Uuid>> {
        let rows = self.rows(sql::EXISTING_IDS, &[&workspace.0, &folders, &layers]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn delivery(
        &mut self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> Result<Option<DeliveryRow>> {
        let row = self.row(sql::DELIVERY, &[&workspace.0, &delivery.0]).await?;
        row.as_ref().map(read_delivery).transpose()
    }

    async fn redeliver(
        &mut self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        _: Timestamp,
        context: &Arc<WebhookContext>,
    ) -> Result<()> {
        self.send(vec![(sql::REDELIVER, params![workspace.0, delivery.0])]).await?;
        self.before_commit(notify);
        let context = context.clone();
        self.after_commit(move |_| context.outbox.wake());
        Ok(())
    }

    async fn log_events(
        &mut self,
        workspace: WorkspaceId,
        events: Vec<NewEvent>,
        context: &Arc<WebhookContext>,
    ) -> Result<()> {
        let statements = events.iter().map(|event| event_statement(workspace, event)).collect();
        self.send(statements).await?;
        let signal = context.signal.clone();
        self.after_commit(move |_| signal.notify());
        for event in events {
            let deliveries = event.into_deliveries();
            // The loop of another program delivers what waits if this one has none.
            if !deliveries.waiting.is_empty() && !context.outbox.is_open() {
                self.before_commit(notify);
            }
            let context = context.clone();
            self.after_commit(move |_| context.outbox.submit(deliveries));
        }
        Ok(())
    }
}

/// Wakes the delivery loops of other programs when the transaction commits.
fn notify(_: &mut Extensions) -> Vec<Statement> {
    vec![(sql::NOTIFY, Vec::new())]
}

/// An audit entry and its deliveries, in one statement.
fn event_statement(workspace: WorkspaceId, event: &NewEvent) -> Statement {
    let mut params =
        audit_log::postgres::entry_params(workspace, event.entry.clone(), event.logged_event());
    let deliveries = &event.deliveries;
    if deliveries.is_empty() {
        return (audit_log::postgres::INSERT_ENTRY, params);
    }
    params.extend(params![
        audit_log::event_number(event.event),
        event.is_test,
        deliveries.iter().map(|delivery| delivery.id.0).collect::<Vec<_>>(),
        deliveries.iter().map(|delivery| delivery.target.endpoint.0).collect::<Vec<_>>(),
        deliveries.iter().map(|delivery| delivery.state().number()).collect::<Vec<_>>()
    ]);
    (sql::LOG_EVENT, params)
}

fn endpoint_params(ws: Uuid, stored: StoredEndpoint) -> Result<Vec<Param>> {
    let endpoint = stored.endpoint;
    let (previous, until) = stored.previous.unzip();
    let filter = endpoint.filter.as_ref().map(serde_json::to_string).transpose()?;
    Ok(params![
        ws,
        endpoint.id.0,
        endpoint.url.as_str().to_owned(),
        endpoint.description,
        endpoint.events.to_string(),
        endpoint.enabled,
        endpoint.disabled_reason,
        stored.failing_since.map(Timestamp::as_millis),
        stored.last_success_at.map(Timestamp::as_millis),
        stored.secret,
        previous,
        until.map(Timestamp::as_millis),
        endpoint.created_at.as_millis(),
        endpoint.updated_at.as_millis(),
        filter
    ])
}
