//! Endpoints and deliveries on SQLite. All writes go through the one writer, in its groups.

use super::sql;
use crate::{
    Error, Result,
    audit_log::{event_number, event_of_number},
    engine::{
        int, random,
        sqlite::{Sqlite, damaged, workspace_number},
    },
    idempotency,
    secret_encryption::{SecretsToEncrypt, is_encrypted},
    webhooks::{
        Attempt, AttemptRow, Delivery, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryState,
        DueEndpoint, LEASE, LEASE_MILLIS, LeaseRequest, PastDelivery, SecretsState, StoredEndpoint,
        WebhookContext, WebhookTarget,
        deliveries::{EventData, RedeliveryStep, first_id, outcomes},
    },
};
use groma_domain::{
    DeliveryId, EndpointId, Timestamp, WorkspaceId,
    webhook::{DeliveryStatus, Endpoint, EndpointUrl, EventFilter},
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::{
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use uuid::Uuid;

/// The state of failed deliveries.
const FAILED: i16 = DeliveryState::Failed as i16;

/// The number of rows deleted in one step.
const BATCH: u32 = 500;

/// A leased delivery: id, audit entry, event, whether it is a test, attempts so far.
type Leased = (Uuid, i64, i16, bool, u32);

pub(in crate::webhooks) async fn endpoints(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
) -> Result<Vec<StoredEndpoint>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(Vec::new()) };
        let mut statement = connection.prepare_cached(sql::ENDPOINTS)?;
        Ok(statement.query_map([ws], read_endpoint)?.collect::<rusqlite::Result<_>>()?)
    })
}

pub(in crate::webhooks) async fn release_all_leases(
    engine: &Arc<Sqlite>,
    now: Timestamp,
) -> Result<()> {
    let release = move |connection: &Connection| {
        connection.prepare_cached(sql::RELEASE_ALL_LEASES)?.execute([now.as_millis()])?;
        Ok(())
    };
    engine.write(release).await
}

pub(in crate::webhooks) async fn bring_forward(
    engine: &Arc<Sqlite>,
    millis: i64,
    now: Timestamp,
) -> Result<()> {
    // A lease that ends sooner than any from before the change of the clock began after it.
    let after = now.as_millis() + LEASE_MILLIS;
    let forward = move |connection: &Connection| {
        connection.prepare_cached(sql::BRING_FORWARD)?.execute([millis, after])?;
        Ok(())
    };
    engine.write(forward).await
}

pub(in crate::webhooks) async fn due_endpoints(
    engine: &Arc<Sqlite>,
    now: Timestamp,
) -> Result<Vec<DueEndpoint>> {
    let now = now.as_millis();
    let has_expired = engine.read(|connection| {
        Ok(connection.prepare_cached(sql::HAS_EXPIRED_LEASES)?.exists([now])?)
    })?;
    if has_expired {
        let release = move |connection: &Connection| {
            connection.prepare_cached(sql::RELEASE_EXPIRED_LEASES)?.execute([now])?;
            Ok(())
        };
        engine.write(release).await?;
    }
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::DUE_ENDPOINTS)?;
        let mut rows = statement.query([])?;
        let mut due = Vec::new();
        while let Some(row) = rows.next()? {
            let Some(first) = row.get::<_, Option<i64>>(2)? else { continue };
            due.push(DueEndpoint {
                workspace: WorkspaceId(row.get(0)?),
                endpoint: EndpointId(row.get(1)?),
                in_millis: first - now,
            });
        }
        Ok(due)
    })
}

pub(in crate::webhooks) async fn lease(
    engine: &Arc<Sqlite>,
    context: &Arc<WebhookContext>,
    requests: Vec<LeaseRequest>,
    now: Timestamp,
) -> Result<Vec<Delivery>> {
    let context = context.clone();
    let lease_end = Instant::now() + LEASE;
    let lease = move |connection: &Connection| {
        let mut deliveries = Vec::new();
        for &LeaseRequest { workspace, endpoint, limit } in &requests {
            let Some(target) = enabled(connection, workspace, endpoint)? else { continue };
            let target = Arc::new(WebhookTarget::new(workspace, target, context.cipher()));
            let mut statement = connection.prepare_cached(sql::LEASE)?;
            let lease_end_millis = wall_millis().max(now.as_millis()) + LEASE_MILLIS;
            let leased = statement
                .query_map(
                    params![target.no, now.as_millis(), int(limit as u64), lease_end_millis],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
                )?
                .collect::<rusqlite::Result<Vec<Leased>>>()?;
            for (id, audit_entry, event, is_test, tries) in leased {
                let mut statement = connection.prepare_cached(sql::EVENT)?;
                let data = statement.query_row([audit_entry], read_event);
                let Some(EventData { at, document }) = data.optional()? else { continue };
                let slot = context.outbox.hold(endpoint, document.len());
                deliveries.push(Delivery {
                    id: DeliveryId(id),
                    target: target.clone(),
                    event: event_of_number(event)?,
                    is_test,
                    occurred_at: at,
                    data: document.into(),
                    tries,
                    lease_end,
                    slot,
                });
            }
        }
        Ok(deliveries)
    };
    engine.write(lease).await
}

pub(in crate::webhooks) async fn enabled_targets(
    engine: &Arc<Sqlite>,
    context: &WebhookContext,
    endpoints: Vec<(WorkspaceId, EndpointId)>,
) -> Result<Vec<Arc<WebhookTarget>>> {
    engine.read(|connection| {
        let mut targets = Vec::new();
        for (workspace, endpoint) in endpoints {
            if let Some(stored) = enabled(connection, workspace, endpoint)? {
                targets.push(Arc::new(WebhookTarget::new(workspace, stored, context.cipher())));
            }
        }
        Ok(targets)
    })
}

pub(in crate::webhooks) async fn release(
    engine: &Arc<Sqlite>,
    deliveries: Vec<(WorkspaceId, DeliveryId)>,
    now: Timestamp,
) -> Result<()> {
    let release = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(sql::RELEASE_LEASE)?;
        for (_, delivery) in &deliveries {
            statement.execute(params![delivery.0, now.as_millis()])?;
        }
        Ok(())
    };
    engine.write(release).await
}

/// Records attempts; returns the endpoints that fail, and since when.
pub(in crate::webhooks) async fn record_attempts(
    engine: &Arc<Sqlite>,
    attempts: Arc<Vec<Attempt>>,
) -> Result<Vec<(EndpointId, Timestamp)>> {
    let record = move |connection: &Connection| {
        for attempt in attempts.iter() {
            record(connection, attempt)?;
        }
        let mut failing = Vec::new();
        for (endpoint, (target, outcomes)) in outcomes(&attempts) {
            if let Some(at) = outcomes.success {
                let mut statement = connection.prepare_cached(sql::ENDPOINT_SUCCEEDED)?;
                statement.execute(params![target.no, at.as_millis()])?;
            }
            let Some(at) = outcomes.failure else { continue };
            let mut statement = connection.prepare_cached(sql::ENDPOINT_FAILED)?;
            let since = statement.query_row(params![target.no, at.as_millis()], |row| row.get(0));
            failing
                .extend(since.optional()?.map(|since| (endpoint, Timestamp::from_millis(since))));
        }
        Ok(failing)
    };
    engine.write(record).await
}

pub(in crate::webhooks) async fn delivery_counts(
    engine: &Arc<Sqlite>,
    now: Timestamp,
) -> Result<DeliveryCounts> {
    engine
        .read_blocking(move |connection| {
            let count = |sql: &str| -> Result<u64> {
                let count: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
                Ok(count.unsigned_abs())
            };
            let (due, oldest): (i64, Option<i64>) = connection
                .prepare_cached(sql::COUNT_DUE)?
                .query_row([now.as_millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let due = due.unsigned_abs();
            let age = oldest.map_or(0, |oldest| now.as_millis() - oldest);
            Ok(DeliveryCounts {
                due,
                leased: count(sql::COUNT_LEASED)?,
                later: count(sql::COUNT_WAITING)?.saturating_sub(due),
                oldest_due_millis: u64::try_from(age).unwrap_or_default(),
            })
        })
        .await
}

/// Deletes some rows of a deleted endpoint; returns how many.
pub(in crate::webhooks) async fn purge_deleted_endpoints(engine: &Arc<Sqlite>) -> Result<u64> {
    let deleted = engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::DELETED_ENDPOINT)?;
        Ok(statement.query_row([], |row| row.get::<_, i64>(0)).optional()?)
    })?;
    let Some(no) = deleted else { return Ok(0) };
    let purge = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(sql::SOME_DELIVERIES_OF_ENDPOINT)?;
        let ids = statement.query_map(params![no, BATCH], |row| row.get::<_, Uuid>(0))?;
        let ids = ids.collect::<rusqlite::Result<Vec<_>>>()?;
        for id in &ids {
            delete_delivery(connection, *id)?;
        }
        if ids.is_empty() {
            connection.prepare_cached(sql::DELETE_ENDPOINT)?.execute([no])?;
            return Ok(1);
        }
        Ok(ids.len() as u64)
    };
    engine.write(purge).await
}

/// Deletes every endpoint of a workspace, with its deliveries.
pub(crate) async fn delete_endpoints(engine: &Arc<Sqlite>, ws: i64) -> Result<()> {
    let remove = move |connection: &Connection| {
        connection.prepare_cached(sql::MARK_ENDPOINTS_DELETED)?.execute([ws])?;
        Ok(())
    };
    engine.write(remove).await?;
    while purge_deleted_endpoints(engine).await? > 0 {}
    Ok(())
}

pub(in crate::webhooks) async fn delete_old_deliveries(
    engine: &Arc<Sqlite>,
    before: Timestamp,
    after: Option<(WorkspaceId, DeliveryId)>,
) -> Result<Option<(WorkspaceId, DeliveryId)>> {
    let after = after.map_or(Uuid::nil(), |(_, delivery)| delivery.0);
    let old: Vec<(Uuid, bool)> = engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::OLD_DELIVERIES)?;
        let bounds = params![after, first_id(before).0, before.as_millis(), BATCH];
        let rows = statement.query_map(bounds, |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })?;
    let Some((last, _)) = old.last().copied() else { return Ok(None) };
    let purge = move |connection: &Connection| {
        old.iter()
            .filter(|(_, ended)| *ended)
            .try_for_each(|(id, _)| delete_delivery(connection, *id))
    };
    engine.write(purge).await?;
    Ok(Some((WorkspaceId(Uuid::nil()), DeliveryId(last))))
}

pub(in crate::webhooks) async fn deliveries(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    filter: DeliveryFilter,
) -> Result<Vec<DeliveryRow>> {
    engine
        .read_blocking(move |connection| {
            let Some(ws) = connection.workspace_number(workspace)? else { return Ok(Vec::new()) };
            let ((least, most), states) = (filter.bounds(), filter.states());
            // The few that failed have an index of their own.
            let is_failed = states == (FAILED, FAILED);
            let sql = if is_failed { sql::FAILED_DELIVERIES } else { sql::DELIVERIES };
            let mut statement = connection.prepare_cached(sql)?;
            let (endpoint, event) = (filter.endpoint.0, filter.event.map(event_number));
            let (limit, offset) = (filter.limit, int(filter.offset));
            let rows = statement.query_map(
                params![ws, endpoint, least, most, states.0, states.1, event, limit, offset],
                read_delivery,
            )?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

pub(in crate::webhooks) async fn count_deliveries(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    filter: DeliveryFilter,
) -> Result<u64> {
    engine
        .read_blocking(move |connection| {
            let Some(ws) = connection.workspace_number(workspace)? else { return Ok(0) };
            let ((least, most), states) = (filter.bounds(), filter.states());
            let is_failed = states == (FAILED, FAILED);
            let sql = if is_failed { sql::COUNT_FAILED_DELIVERIES } else { sql::COUNT_DELIVERIES };
            let (endpoint, event) = (filter.endpoint.0, filter.event.map(event_number));
            let count: i64 = connection.prepare_cached(sql)?.query_row(
                params![ws, endpoint, least, most, states.0, states.1, event],
                |row| row.get(0),
            )?;
            Ok(count.unsigned_abs())
        })
        .await
}

pub(in crate::webhooks) async fn delivery(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    delivery: DeliveryId,
) -> Result<Option<(DeliveryRow, EventData, Vec<AttemptRow>)>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(None) };
        let mut statement = connection.prepare_cached(sql::DELIVERY)?;
        let found = statement.query_row(params![ws, delivery.0], read_delivery).optional()?;
        let Some(row) = found else { return Ok(None) };
        let mut statement = connection.prepare_cached(sql::DELIVERY_EVENT)?;
        let event = statement.query_row([delivery.0], read_event)?;
        let mut statement = connection.prepare_cached(sql::ATTEMPTS)?;
        let attempts = statement.query_map([delivery.0], |row| {
            Ok(AttemptRow {
                no: row.get(0)?,
                at: Timestamp::from_millis(row.get(1)?),
                millis: row.get::<_, i64>(2)?.unsigned_abs(),
                status: row.get(3)?,
                error: row.get(4)?,
                response: row.get(5)?,
            })
        })?;
        Ok(Some((row, event, attempts.collect::<rusqlite::Result<_>>()?)))
    })
}

/// Sends some deliveries again; returns their ids.
pub(in crate::webhooks) async fn redeliver(
    engine: &Arc<Sqlite>,
    context: &Arc<WebhookContext>,
    workspace: WorkspaceId,
    step: RedeliveryStep,
    now: Timestamp,
) -> Result<Vec<Uuid>> {
    let Some(ws) = engine.read(|connection| connection.workspace_number(workspace))? else {
        return Ok(Vec::new());
    };
    let sql = match step.status {
        DeliveryStatus::Waiting => sql::REDELIVER_WAITING,
        DeliveryStatus::Delivered => sql::REDELIVER_DELIVERED,
        DeliveryStatus::Failed => sql::REDELIVER_FAILED,
        DeliveryStatus::Cancelled => return Ok(Vec::new()),
    };
    let again = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(sql)?;
        let (first, last) = step.ids;
        let values = params![ws, step.endpoint.0, first, last, now.as_millis()];
        let ids = statement.query_map(values, |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    };
    write_and_wake(engine, context, again).await
}

/// Writes, and wakes the delivery loop once that is committed.
async fn write_and_wake<R: Send + 'static>(
    engine: &Sqlite,
    context: &Arc<WebhookContext>,
    work: impl FnMut(&Connection) -> Result<R> + Send + 'static,
) -> Result<R> {
    let written = engine.write(work).await?;
    context.outbox.wake();
    Ok(written)
}

pub(in crate::webhooks) async fn insert_past_deliveries(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    endpoint: EndpointId,
    past: Vec<PastDelivery>,
) -> Result<()> {
    let found = endpoints(engine, workspace).await?;
    let found = found.into_iter().find(|stored| stored.endpoint.id == endpoint);
    let ws = engine.read(|connection| connection.workspace_number(workspace))?;
    let (Some(stored), Some(ws)) = (found, ws) else { return Ok(()) };
    let insert = move |connection: &Connection| {
        for delivery in &past {
            let id = DeliveryId::new(delivery.at, random());
            let (state, finished_at) = delivery.outcome();
            let at = delivery.at.as_millis();
            connection.prepare_cached(sql::INSERT_DELIVERY)?.execute(params![
                id.0,
                ws,
                stored.no,
                delivery.audit_entry,
                event_number(delivery.event),
                false,
                state.number(),
                int(delivery.attempts.len() as u64),
                at,
                at,
                finished_at.as_millis()
            ])?;
            if state == DeliveryState::Delivered {
                let mut statement = connection.prepare_cached(sql::ENDPOINT_SUCCEEDED)?;
                statement.execute(params![stored.no, finished_at.as_millis()])?;
            }
            for (no, attempt) in (1..).zip(&delivery.attempts) {
                connection.prepare_cached(sql::INSERT_ATTEMPT)?.execute(params![
                    id.0,
                    no,
                    attempt.at.as_millis(),
                    int(attempt.millis),
                    attempt.status,
                    attempt.error,
                    attempt.response.as_bytes()
                ])?;
            }
        }
        Ok(())
    };
    engine.write(insert).await
}

pub(in crate::webhooks) async fn secrets_state(
    engine: &Arc<Sqlite>,
    context: &WebhookContext,
) -> Result<SecretsState> {
    let cipher = context.cipher();
    let mut state = SecretsState { has_key: cipher.has_key(), ..SecretsState::default() };
    let secrets = engine.read(|connection| read_secrets(connection))?;
    for (_, endpoint, secret, _) in secrets {
        state.count(cipher, endpoint, &secret);
    }
    Ok(state)
}

pub(in crate::webhooks) async fn encrypt_secrets(
    engine: &Arc<Sqlite>,
    context: &Arc<WebhookContext>,
    which: SecretsToEncrypt,
) -> Result<u64> {
    let context = context.clone();
    let encrypt = move |connection: &Connection| {
        let cipher = context.cipher();
        let mut encrypted = 0;
        for (no, endpoint, secret, previous) in read_secrets(connection)? {
            if which == SecretsToEncrypt::Plain && is_encrypted(&secret) {
                continue;
            }
            let owner = endpoint.as_bytes();
            let encrypt = |secret: &[u8]| cipher.encrypt(owner, &cipher.decrypt(owner, secret)?);
            let secret = encrypt(&secret)?;
            let previous = previous.as_deref().map(encrypt).transpose()?;
            let mut statement = connection.prepare_cached(sql::SET_SECRETS)?;
            statement.execute(params![no, secret, previous])?;
            encrypted += 1;
        }
        idempotency::sqlite::encrypt_responses(connection, cipher, which)?;
        Ok(encrypted)
    };
    engine.write(encrypt).await
}

/// An endpoint's number and id, its secret and the previous one.
type Secrets = (i64, Uuid, Vec<u8>, Option<Vec<u8>>);

fn read_secrets(connection: &Connection) -> Result<Vec<Secrets>> {
    let mut statement = connection.prepare_cached(sql::ALL_SECRETS)?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    Ok(statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?)
}

fn enabled(
    connection: &Connection,
    workspace: WorkspaceId,
    endpoint: EndpointId,
) -> Result<Option<StoredEndpoint>> {
    let Some(ws) = workspace_number(connection, workspace)? else { return Ok(None) };
    let mut statement = connection.prepare_cached(sql::ENABLED_ENDPOINT)?;
    Ok(statement.query_row(params![ws, endpoint.0], read_endpoint).optional()?)
}

fn record(connection: &Connection, attempt: &Attempt) -> Result<()> {
    let (state, after) = attempt.next.state();
    let at = attempt.at.as_millis();
    let finished_at = (state >= 2).then_some(at);
    let due_at = attempt.ended.as_millis() + after;
    let mut statement = connection.prepare_cached(sql::UPDATE_AFTER_ATTEMPT)?;
    let updated = statement
        .query_row(params![attempt.delivery.0, state, due_at, finished_at], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, bool>(1)?))
        })
        .optional()?;
    // Deleted with its endpoint, cancelled, or delivered by another attempt.
    let Some((no, is_erased)) = updated else { return Ok(()) };
    // The response may repeat what was erased.
    let response = if is_erased { &[][..] } else { &attempt.response };
    connection.prepare_cached(sql::INSERT_ATTEMPT)?.execute(params![
        attempt.delivery.0,
        no,
        at,
        int(attempt.millis),
        attempt.status,
        attempt.error,
        response
    ])?;
    Ok(())
}

fn delete_delivery(connection: &Connection, id: Uuid) -> Result<()> {
    connection.prepare_cached(sql::DELETE_ATTEMPTS)?.execute([id])?;
    connection.prepare_cached(sql::DELETE_DELIVERY)?.execute([id])?;
    Ok(())
}

fn read_event(row: &Row<'_>) -> rusqlite::Result<EventData> {
    Ok(EventData { at: Timestamp::from_millis(row.get(0)?), document: row.get(1)? })
}

pub(super) fn read_delivery(row: &Row<'_>) -> rusqlite::Result<DeliveryRow> {
    let moment = |millis: i64| Timestamp::from_millis(millis);
    let state = DeliveryState::from_number(row.get(4)?);
    Ok(DeliveryRow {
        id: DeliveryId(row.get(0)?),
        endpoint: EndpointId(row.get(1)?),
        event: event_of_number(row.get(2)?).map_err(|error| damaged(2, error))?,
        subject: row.get::<_, Option<Uuid>>(12)?.unwrap_or_default(),
        is_test: row.get(3)?,
        state,
        attempts: row.get(5)?,
        created_at: moment(row.get(6)?),
        due_at: (state == DeliveryState::Waiting).then_some(moment(row.get(7)?)),
        finished_at: row.get::<_, Option<i64>>(8)?.map(moment),
        last_status: row.get(9)?,
        last_error: row.get(10)?,
        erased_at: row.get::<_, Option<i64>>(11)?.map(moment),
    })
}

pub(super) fn read_endpoint(row: &Row<'_>) -> rusqlite::Result<StoredEndpoint> {
    let moment = |column| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let events: String = row.get(4)?;
    let unreadable = |_| damaged(4, Error::Damaged(format!("not a list of events: {events}")));
    let filter: Option<String> = row.get(14)?;
    let not_filter = |error: serde_json::Error| damaged(14, error);
    let previous: Option<Vec<u8>> = row.get(10)?;
    Ok(StoredEndpoint {
        no: row.get(0)?,
        endpoint: Endpoint {
            id: EndpointId(row.get(1)?),
            url: EndpointUrl::from_stored(row.get(2)?),
            description: row.get(3)?,
            events: EventFilter::from_stored(&events).map_err(unreadable)?,
            filter: filter.as_deref().map(serde_json::from_str).transpose().map_err(not_filter)?,
            enabled: row.get(5)?,
            disabled_reason: row.get(6)?,
            created_at: Timestamp::from_millis(row.get(12)?),
            updated_at: Timestamp::from_millis(row.get(13)?),
        },
        failing_since: moment(7)?,
        last_success_at: moment(8)?,
        secret: row.get(9)?,
        previous: previous.zip(moment(11)?),
    })
}

/// Milliseconds since 1970 by the clock of this machine, which its leases go by.
pub(super) fn wall_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
