//! Endpoints and deliveries on PostgreSQL. Replicas share due deliveries by leases: rows that one replica
//! has locked are skipped by the others, and an expired lease can be taken by any. Leases go by the clock
//! of the database.

use super::sql;
use crate::{
    Error, Result,
    audit_log::{event_number, event_of_number},
    engine::{
        int,
        postgres::{Postgres, Server, unsigned},
        random,
    },
    idempotency,
    secret_encryption::{SecretsToEncrypt, is_encrypted},
    webhooks::{
        Attempt, AttemptRow, Delivery, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryState,
        DueEndpoint, LEASE, LeaseRequest, PastDelivery, SecretsState, StoredEndpoint,
        WebhookContext, WebhookTarget,
        deliveries::{EventData, Listener, RedeliveryStep, first_id, outcomes},
        outbox::Outbox,
    },
};
use futures_util::StreamExt;
use groma_domain::{
    DeliveryId, EndpointId, Timestamp, WorkspaceId,
    webhook::{DeliveryStatus, Endpoint, EndpointUrl, EventFilter},
};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_postgres::{AsyncMessage, Row, types::ToSql};
use uuid::Uuid;

/// The state of failed deliveries.
const FAILED: i16 = DeliveryState::Failed as i16;

/// The pause before a lost connection for notifications is replaced.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Wakes the delivery loop when other programs have left something to do.
pub(in crate::webhooks) fn listen(engine: &Arc<Postgres>, outbox: Outbox) -> Listener {
    let server = engine.server().clone();
    Listener(tokio::spawn(async move {
        loop {
            if let Err(error) = wake_on_notifications(&server, &outbox).await {
                tracing::warn!(%error, "failed to listen for notifications of the database; sweeps continue");
            }
            tokio::time::sleep(RECONNECT_DELAY).await;
        }
    }))
}

pub(in crate::webhooks) async fn endpoints(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
) -> Result<Vec<StoredEndpoint>> {
    engine.rows(sql::ENDPOINTS, &[&workspace.0]).await?.iter().map(read_endpoint).collect()
}

pub(in crate::webhooks) async fn due_endpoints(
    engine: &Arc<Postgres>,
    _: Timestamp,
) -> Result<Vec<DueEndpoint>> {
    engine.execute(sql::RELEASE_EXPIRED_LEASES, &[]).await?;
    let rows = engine.rows(sql::DUE_ENDPOINTS, &[]).await?;
    let read = |row: &Row| {
        Ok(DueEndpoint {
            workspace: WorkspaceId(row.try_get(0)?),
            endpoint: EndpointId(row.try_get(1)?),
            in_millis: row.try_get(2)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(in crate::webhooks) async fn lease(
    engine: &Arc<Postgres>,
    context: &Arc<WebhookContext>,
    requests: Vec<LeaseRequest>,
    _: Timestamp,
) -> Result<Vec<Delivery>> {
    let lease_end = Instant::now() + LEASE;
    let endpoints = requests.iter().map(|request| (request.workspace, request.endpoint)).collect();
    let targets: HashMap<EndpointId, Arc<WebhookTarget>> =
        enabled_targets(engine, context, endpoints)
            .await?
            .into_iter()
            .map(|target| (target.endpoint, target))
            .collect();
    // An endpoint that is disabled or deleted by now keeps its waiting deliveries.
    let requests = requests.iter().filter(|request| targets.contains_key(&request.endpoint));
    let (endpoints, limits): (Vec<Uuid>, Vec<i64>) =
        requests.map(|request| (request.endpoint.0, int(request.limit as u64))).unzip();
    if endpoints.is_empty() {
        return Ok(Vec::new());
    }
    let rows = engine.rows(sql::LEASE, &[&endpoints, &limits]).await?;
    let mut leased = Vec::with_capacity(rows.len());
    for row in rows {
        let endpoint = EndpointId(row.try_get(1)?);
        let Some(target) = targets.get(&endpoint) else { continue };
        let document: &str = row.try_get(6)?;
        leased.push(Delivery {
            id: DeliveryId(row.try_get(0)?),
            target: target.clone(),
            event: event_of_number(row.try_get(2)?)?,
            is_test: row.try_get(3)?,
            occurred_at: Timestamp::from_millis(row.try_get(5)?),
            data: document.into(),
            tries: row.try_get::<_, i32>(4)?.unsigned_abs(),
            lease_end,
            slot: context.outbox.hold(endpoint, document.len()),
        });
    }
    Ok(leased)
}

pub(in crate::webhooks) async fn enabled_targets(
    engine: &Arc<Postgres>,
    context: &WebhookContext,
    endpoints: Vec<(WorkspaceId, EndpointId)>,
) -> Result<Vec<Arc<WebhookTarget>>> {
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
        endpoints.iter().map(|(workspace, endpoint)| (workspace.0, endpoint.0)).unzip();
    let rows = engine.rows(sql::ENABLED_ENDPOINTS, &[&workspaces, &ids]).await?;
    let read = |row: &Row| {
        let workspace = WorkspaceId(row.try_get(14)?);
        Ok(Arc::new(WebhookTarget::new(workspace, read_endpoint(row)?, context.cipher())))
    };
    rows.iter().map(read).collect()
}

pub(in crate::webhooks) async fn release(
    engine: &Arc<Postgres>,
    deliveries: Vec<(WorkspaceId, DeliveryId)>,
    _: Timestamp,
) -> Result<()> {
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
        deliveries.iter().map(|(workspace, delivery)| (workspace.0, delivery.0)).unzip();
    engine.execute(sql::RELEASE_LEASES, &[&workspaces, &ids]).await?;
    engine.execute(sql::NOTIFY, &[]).await.map(drop)
}

/// Records attempts; returns the endpoints that fail, and since when.
pub(in crate::webhooks) async fn record_attempts(
    engine: &Arc<Postgres>,
    attempts: Arc<Vec<Attempt>>,
) -> Result<Vec<(EndpointId, Timestamp)>> {
    let column = |of: fn(&Attempt) -> i64| attempts.iter().map(of).collect::<Vec<i64>>();
    let uuids = |of: fn(&Attempt) -> Uuid| attempts.iter().map(of).collect::<Vec<Uuid>>();
    let states: Vec<i16> = attempts.iter().map(|a| a.next.state().0).collect();
    let statuses: Vec<Option<i16>> = attempts
        .iter()
        .map(|a| a.status.map(|status| i16::try_from(status).unwrap_or_default()))
        .collect();
    let errors: Vec<Option<&str>> = attempts.iter().map(|a| a.error.as_deref()).collect();
    let responses: Vec<&[u8]> = attempts.iter().map(|a| a.response.as_slice()).collect();
    let params: [&(dyn ToSql + Sync); 9] = [
        &uuids(|a| a.target.workspace.0),
        &uuids(|a| a.delivery.0),
        &states,
        &column(|a| a.next.state().1),
        &column(|a| a.at.as_millis()),
        &column(|a| int(a.millis)),
        &statuses,
        &errors,
        &responses,
    ];
    engine.execute(sql::RECORD_ATTEMPTS, &params).await?;
    let (mut succeeded, mut failed) = (OutcomeColumns::default(), OutcomeColumns::default());
    for (target, outcomes) in outcomes(&attempts).into_values() {
        succeeded.extend(&target, outcomes.success);
        failed.extend(&target, outcomes.failure);
    }
    if !succeeded.ids.is_empty() {
        engine.execute(sql::ENDPOINTS_SUCCEEDED, &succeeded.params()).await?;
    }
    if failed.ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = engine.rows(sql::ENDPOINTS_FAILED, &failed.params()).await?;
    let read =
        |row: &Row| Ok((EndpointId(row.try_get(0)?), Timestamp::from_millis(row.try_get(1)?)));
    rows.iter().map(read).collect()
}

pub(in crate::webhooks) async fn delivery_counts(
    engine: &Arc<Postgres>,
    _: Timestamp,
) -> Result<DeliveryCounts> {
    let rows = engine.rows(sql::COUNT_DELIVERIES, &[]).await?;
    let Some(row) = rows.first() else { return Ok(DeliveryCounts::default()) };
    let count =
        |column: usize| row.try_get::<_, i64>(column).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(DeliveryCounts {
        due: count(0)?,
        leased: count(1)?,
        later: count(2)?,
        oldest_due_millis: count(3)?,
    })
}

/// Deletes some rows of a deleted endpoint; returns how many.
pub(crate) async fn purge_deleted_endpoints(engine: &Arc<Postgres>) -> Result<u64> {
    let rows = engine.rows(sql::DELETED_ENDPOINT, &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    let (workspace, endpoint): (Uuid, Uuid) = (row.try_get(0)?, row.try_get(1)?);
    match engine.execute(sql::PURGE_ENDPOINT, &[&workspace, &endpoint]).await? {
        0 => engine.execute(sql::DELETE_ENDPOINT, &[&workspace, &endpoint]).await,
        purged => Ok(purged),
    }
}

pub(in crate::webhooks) async fn delete_old_deliveries(
    engine: &Arc<Postgres>,
    before: Timestamp,
    after: Option<(WorkspaceId, DeliveryId)>,
) -> Result<Option<(WorkspaceId, DeliveryId)>> {
    let (workspace, after) = after.map_or((Uuid::nil(), Uuid::nil()), |(w, d)| (w.0, d.0));
    let bounds: [&(dyn ToSql + Sync); 4] =
        [&workspace, &after, &first_id(before).0, &before.as_millis()];
    let old = engine.rows(sql::OLD_DELIVERIES, &bounds).await?;
    let Some(last) = old.last() else {
        let next = engine.rows(sql::NEXT_WORKSPACE, &[&workspace]).await?;
        let next = next.first().map(|row| row.try_get(0)).transpose()?;
        return Ok(next.map(|next| (WorkspaceId(next), DeliveryId(Uuid::nil()))));
    };
    let last = last.try_get(0)?;
    let mut ended: Vec<Uuid> = Vec::new();
    for row in &old {
        if row.try_get::<_, Option<bool>>(1)?.unwrap_or_default() {
            ended.push(row.try_get(0)?);
        }
    }
    engine.execute(sql::DELETE_DELIVERIES, &[&workspace, &ended]).await?;
    Ok(Some((WorkspaceId(workspace), DeliveryId(last))))
}

pub(in crate::webhooks) async fn deliveries(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    filter: DeliveryFilter,
) -> Result<Vec<DeliveryRow>> {
    let ((least, most), states) = (filter.bounds(), filter.states());
    // The few that failed have an index of their own.
    let is_failed = states == (FAILED, FAILED);
    let sql = if is_failed { sql::FAILED_DELIVERIES } else { sql::DELIVERIES };
    let params: [&(dyn ToSql + Sync); 9] = [
        &workspace.0,
        &filter.endpoint.0,
        &least,
        &most,
        &states.0,
        &states.1,
        &filter.event.map(event_number),
        &i64::from(filter.limit),
        &int(filter.offset),
    ];
    engine.rows(sql, &params).await?.iter().map(read_delivery).collect()
}

pub(in crate::webhooks) async fn count_deliveries(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    filter: DeliveryFilter,
) -> Result<u64> {
    let ((least, most), states) = (filter.bounds(), filter.states());
    let is_failed = states == (FAILED, FAILED);
    let sql = if is_failed { sql::COUNT_FAILED_DELIVERIES } else { sql::COUNT_FILTERED_DELIVERIES };
    let params: [&(dyn ToSql + Sync); 7] = [
        &workspace.0,
        &filter.endpoint.0,
        &least,
        &most,
        &states.0,
        &states.1,
        &filter.event.map(event_number),
    ];
    let rows = engine.rows(sql, &params).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row, 0))
}

pub(in crate::webhooks) async fn delivery(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    delivery: DeliveryId,
) -> Result<Option<(DeliveryRow, EventData, Vec<AttemptRow>)>> {
    let params: [&(dyn ToSql + Sync); 2] = [&workspace.0, &delivery.0];
    let found = engine.rows(sql::DELIVERY, &params).await?;
    let event = engine.rows(sql::DELIVERY_EVENT, &params).await?;
    let (Some(found), Some(event)) = (found.first(), event.first()) else { return Ok(None) };
    let event =
        EventData { at: Timestamp::from_millis(event.try_get(0)?), document: event.try_get(1)? };
    let attempts = engine.rows(sql::ATTEMPTS, &params).await?;
    let read = |row: &Row| {
        Ok(AttemptRow {
            no: row.try_get::<_, i32>(0)?.unsigned_abs(),
            at: Timestamp::from_millis(row.try_get(1)?),
            millis: row.try_get::<_, i64>(2)?.unsigned_abs(),
            status: status(row, 3)?,
            error: row.try_get(4)?,
            response: row.try_get(5)?,
        })
    };
    let attempts = attempts.iter().map(read).collect::<Result<_>>()?;
    Ok(Some((read_delivery(found)?, event, attempts)))
}

/// Sends some deliveries again; returns their ids.
pub(in crate::webhooks) async fn redeliver(
    engine: &Arc<Postgres>,
    _: &Arc<WebhookContext>,
    workspace: WorkspaceId,
    step: RedeliveryStep,
    _: Timestamp,
) -> Result<Vec<Uuid>> {
    let sql = match step.status {
        DeliveryStatus::Waiting => sql::REDELIVER_WAITING,
        DeliveryStatus::Delivered => sql::REDELIVER_DELIVERED,
        DeliveryStatus::Failed => sql::REDELIVER_FAILED,
        DeliveryStatus::Cancelled => return Ok(Vec::new()),
    };
    let (first, last) = step.ids;
    let rows = engine.rows(sql, &[&workspace.0, &step.endpoint.0, &first, &last]).await?;
    engine.execute(sql::NOTIFY, &[]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

pub(in crate::webhooks) async fn insert_past_deliveries(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    endpoint: EndpointId,
    past: Vec<PastDelivery>,
) -> Result<()> {
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    for delivery in past {
        let id = DeliveryId::new(delivery.at, random());
        let (state, finished_at) = delivery.outcome();
        let attempts = i32::try_from(delivery.attempts.len()).unwrap_or(i32::MAX);
        let params: [&(dyn ToSql + Sync); 9] = [
            &workspace.0,
            &id.0,
            &endpoint.0,
            &delivery.audit_entry,
            &event_number(delivery.event),
            &state.number(),
            &attempts,
            &delivery.at.as_millis(),
            &finished_at.as_millis(),
        ];
        let statement = transaction.prepare_cached(sql::INSERT_PAST_DELIVERY).await?;
        transaction.execute(&statement, &params).await?;
        if state == DeliveryState::Delivered {
            let statement = transaction.prepare_cached(sql::ENDPOINTS_SUCCEEDED).await?;
            let at = [finished_at.as_millis()];
            let (workspaces, endpoints) = ([workspace.0], [endpoint.0]);
            let params: [&(dyn ToSql + Sync); 3] = [&&workspaces[..], &&endpoints[..], &&at[..]];
            transaction.execute(&statement, &params).await?;
        }
        for (no, attempt) in (1_i32..).zip(&delivery.attempts) {
            let status = attempt.status.map(|s| i16::try_from(s).unwrap_or_default());
            let params: [&(dyn ToSql + Sync); 8] = [
                &workspace.0,
                &id.0,
                &no,
                &attempt.at.as_millis(),
                &int(attempt.millis),
                &status,
                &attempt.error,
                &attempt.response.as_bytes(),
            ];
            let statement = transaction.prepare_cached(sql::INSERT_PAST_ATTEMPT).await?;
            transaction.execute(&statement, &params).await?;
        }
    }
    Ok(transaction.commit().await?)
}

pub(in crate::webhooks) async fn secrets_state(
    engine: &Arc<Postgres>,
    context: &WebhookContext,
) -> Result<SecretsState> {
    let cipher = context.cipher();
    let mut state = SecretsState { has_key: cipher.has_key(), ..SecretsState::default() };
    for row in engine.rows(sql::SECRETS, &[]).await? {
        state.count(cipher, row.try_get(0)?, row.try_get(1)?);
    }
    Ok(state)
}

pub(in crate::webhooks) async fn encrypt_secrets(
    engine: &Arc<Postgres>,
    context: &Arc<WebhookContext>,
    which: SecretsToEncrypt,
) -> Result<u64> {
    let cipher = context.cipher();
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    let mut encrypted = 0;
    for row in transaction.query(sql::ALL_SECRETS, &[]).await? {
        let (workspace, endpoint): (Uuid, Uuid) = (row.try_get(0)?, row.try_get(1)?);
        let secret: &[u8] = row.try_get(2)?;
        if which == SecretsToEncrypt::Plain && is_encrypted(secret) {
            continue;
        }
        let owner = endpoint.as_bytes();
        let encrypt = |secret: &[u8]| cipher.encrypt(owner, &cipher.decrypt(owner, secret)?);
        let secret = encrypt(secret)?;
        let previous = row.try_get::<_, Option<&[u8]>>(3)?.map(encrypt).transpose()?;
        let params: [&(dyn ToSql + Sync); 4] = [&workspace, &endpoint, &secret, &previous];
        encrypted += transaction.execute(sql::SET_SECRETS, &params).await?;
    }
    idempotency::postgres::encrypt_responses(&transaction, cipher, which).await?;
    transaction.commit().await?;
    Ok(encrypted)
}

/// Endpoints and times as the columns of a statement.
#[derive(Default)]
struct OutcomeColumns {
    workspaces: Vec<Uuid>,
    ids: Vec<Uuid>,
    times: Vec<i64>,
}

impl OutcomeColumns {
    fn extend(&mut self, target: &WebhookTarget, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.workspaces.push(target.workspace.0);
            self.ids.push(target.endpoint.0);
            self.times.push(at.as_millis());
        }
    }

    fn params(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.workspaces, &self.ids, &self.times]
    }
}

/// Wakes the delivery loop at every notification, until the connection ends.
async fn wake_on_notifications(
    server: &Server,
    outbox: &Outbox,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = server.connect().await?;
    let mut messages =
        futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    let mut subscribed = std::pin::pin!(client.batch_execute(sql::LISTEN));
    let mut listening = false;
    loop {
        tokio::select! {
            outcome = &mut subscribed, if !listening => {
                outcome?;
                listening = true;
                // Notifications from before are lost.
                outbox.wake();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => outbox.wake(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}

fn status(row: &Row, column: usize) -> Result<Option<u16>> {
    Ok(row.try_get::<_, Option<i16>>(column)?.map(i16::unsigned_abs))
}

pub(super) fn read_delivery(row: &Row) -> Result<DeliveryRow> {
    let moment = |column: usize| -> Result<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let state = DeliveryState::from_number(row.try_get(4)?);
    Ok(DeliveryRow {
        id: DeliveryId(row.try_get(0)?),
        endpoint: EndpointId(row.try_get(1)?),
        event: event_of_number(row.try_get(2)?)?,
        subject: row.try_get::<_, Option<Uuid>>(12)?.unwrap_or_default(),
        is_test: row.try_get(3)?,
        state,
        attempts: row.try_get::<_, i32>(5)?.unsigned_abs(),
        created_at: Timestamp::from_millis(row.try_get(6)?),
        due_at: moment(7)?.filter(|_| state == DeliveryState::Waiting),
        finished_at: moment(8)?,
        last_status: status(row, 9)?,
        last_error: row.try_get(10)?,
        erased_at: row.try_get::<_, Option<i64>>(11)?.map(Timestamp::from_millis),
    })
}

pub(super) fn read_endpoint(row: &Row) -> Result<StoredEndpoint> {
    let moment = |column: usize| -> Result<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let events: &str = row.try_get(3)?;
    let unreadable = |_| Error::Damaged(format!("not a list of events: {events}"));
    let filter: Option<&str> = row.try_get(13)?;
    let previous: Option<Vec<u8>> = row.try_get(9)?;
    Ok(StoredEndpoint {
        no: 0,
        endpoint: Endpoint {
            id: EndpointId(row.try_get(0)?),
            url: EndpointUrl::from_stored(row.try_get(1)?),
            description: row.try_get(2)?,
            events: EventFilter::from_stored(events).map_err(unreadable)?,
            filter: filter.map(serde_json::from_str).transpose()?,
            enabled: row.try_get(4)?,
            disabled_reason: row.try_get(5)?,
            created_at: Timestamp::from_millis(row.try_get(11)?),
            updated_at: Timestamp::from_millis(row.try_get(12)?),
        },
        failing_since: moment(6)?,
        last_success_at: moment(7)?,
        secret: row.try_get(8)?,
        previous: previous.zip(moment(10)?),
    })
}
