//! Webhooks on SQLite.

mod deliveries;
pub(crate) mod sql;

pub(crate) use deliveries::delete_endpoints;
pub(super) use deliveries::{
    bring_forward, count_deliveries, delete_old_deliveries, deliveries, delivery, delivery_counts,
    due_endpoints, enabled_targets, encrypt_secrets, endpoints, insert_past_deliveries, lease,
    purge_deleted_endpoints, record_attempts, redeliver, release, release_all_leases,
    secrets_state,
};

use super::{
    DeliveryRow, LEASE_MILLIS, NewEvent, StoredEndpoint, WebhookContext, WebhookTx, WebhookWrite,
    new_endpoints_version,
};
use crate::{
    Result,
    audit_log::{self, sqlite::hex_array},
    engine::sqlite::SqliteTransaction,
};
use deliveries::{read_delivery, read_endpoint, wall_millis};
use groma_domain::{DeliveryId, Timestamp, WorkspaceId};
use rusqlite::{OptionalExtension, params};
use std::{collections::HashSet, sync::Arc};
use uuid::Uuid;

impl WebhookTx for SqliteTransaction<'_> {
    async fn endpoints(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredEndpoint>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(sql::ENDPOINTS)?;
        Ok(statement.query_map([ws], read_endpoint)?.collect::<rusqlite::Result<_>>()?)
    }

    async fn write_endpoint(
        &mut self,
        workspace: WorkspaceId,
        write: WebhookWrite,
        context: &Arc<WebhookContext>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        match write {
            WebhookWrite::Insert(stored) => save(self, sql::INSERT_ENDPOINT, ws, &stored)?,
            WebhookWrite::Update(stored) => save(self, sql::UPDATE_ENDPOINT, ws, &stored)?,
            WebhookWrite::Delete { endpoint, at } => {
                let values = params![ws, endpoint.0, at.as_millis()];
                self.execute(sql::MARK_ENDPOINT_DELETED, values)?;
            }
        }
        self.execute(sql::SET_ENDPOINTS_VERSION, params![ws, new_endpoints_version()])?;
        let context = context.clone();
        self.after_commit(move || context.outbox.wake());
        Ok(())
    }

    async fn existing_ids(
        &mut self,
        workspace: WorkspaceId,
        folders: Vec<Uuid>,
        layers: Vec<Uuid>,
    ) -> Result<HashSet<Uuid>> {
        let ws = self.workspace_number(workspace)?;
        let (folders, layers) = (hex_array(&folders), hex_array(&layers));
        let mut statement = self.prepare(sql::EXISTING_IDS)?;
        let ids = statement.query_map(params![ws, folders, layers], |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }

    async fn delivery(
        &mut self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> Result<Option<DeliveryRow>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(sql::DELIVERY)?;
        Ok(statement.query_row(params![ws, delivery.0], read_delivery).optional()?)
    }

    async fn redeliver(
        &mut self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        now: Timestamp,
        context: &Arc<WebhookContext>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        self.execute(sql::REDELIVER, params![ws, delivery.0, now.as_millis()])?;
        let context = context.clone();
        self.after_commit(move || context.outbox.wake());
        Ok(())
    }

    async fn log_events(
        &mut self,
        workspace: WorkspaceId,
        events: Vec<NewEvent>,
        context: &Arc<WebhookContext>,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        let signal = context.signal.clone();
        self.after_commit(move || signal.notify());
        for event in events {
            insert_event(self, ws, &event)?;
            if !event.deliveries.is_empty() {
                let (context, deliveries) = (context.clone(), event.into_deliveries());
                self.after_commit(move || context.outbox.submit(deliveries));
            }
        }
        Ok(())
    }
}

fn insert_event(tx: &SqliteTransaction<'_>, ws: i64, event: &NewEvent) -> Result<()> {
    let audit_entry = audit_log::sqlite::insert(tx, ws, &event.entry, event.logged_event())?;
    let at = event.entry.at.as_millis();
    for delivery in &event.deliveries {
        let due_at = if delivery.slot.is_some() { wall_millis() + LEASE_MILLIS } else { at };
        tx.execute(
            sql::INSERT_DELIVERY,
            params![
                delivery.id.0,
                ws,
                delivery.target.no,
                audit_entry,
                audit_log::event_number(event.event),
                event.is_test,
                delivery.state().number(),
                0,
                due_at,
                at,
                None::<i64>
            ],
        )?;
    }
    Ok(())
}

fn save(tx: &SqliteTransaction<'_>, sql: &str, ws: i64, stored: &StoredEndpoint) -> Result<()> {
    let endpoint = &stored.endpoint;
    let (previous, until) = stored
        .previous
        .as_ref()
        .map_or((None, None), |(secret, until)| (Some(secret.as_slice()), Some(until.as_millis())));
    tx.execute(
        sql,
        params![
            ws,
            endpoint.id.0,
            endpoint.url.as_str(),
            endpoint.description,
            endpoint.events.to_string(),
            endpoint.enabled,
            endpoint.disabled_reason,
            stored.failing_since.map(Timestamp::as_millis),
            stored.last_success_at.map(Timestamp::as_millis),
            stored.secret,
            previous,
            until,
            endpoint.created_at.as_millis(),
            endpoint.updated_at.as_millis(),
            endpoint.filter.as_ref().map(serde_json::to_string).transpose()?
        ],
    )
}
