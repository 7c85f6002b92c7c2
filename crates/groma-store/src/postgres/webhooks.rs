//! Endpoints and deliveries on PostgreSQL. Replicas share what is due by leases: rows that one has
//! locked are passed over by the others, and a lease that ended is anyone's. Times of leases are by the
//! clock of the database.

use super::{Postgres, sql, statements::int};
use crate::{
    Error, Result,
    outbox::Outbox,
    replays,
    seal::is_sealed,
    tx::ReplayKey,
    webhooks::{
        Addressee, Ask, AttemptRow, Attempted, Counts, Delivery, DeliveryFilter, DeliveryRow,
        DeliveryState, Due, LEASE, Listener, PastDelivery, SecretsState, StoredEndpoint, Told,
        event_number, fared, first_id, numbered_event,
    },
};
use futures_util::StreamExt;
use groma_domain::{
    DeliveryId, EndpointId, Timestamp, TokenId, WorkspaceId,
    webhook::{Endpoint, EndpointUrl, EventFilter},
};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_postgres::{AsyncMessage, NoTls, Row, types::ToSql};
use uuid::Uuid;

/// How long to wait before the connection that listens is made anew.
const BEFORE_LISTENING_AGAIN: Duration = Duration::from_secs(1);

impl Postgres {
    /// Tells the outbox when other programs have left something to do.
    pub(crate) fn listen(&self) -> Listener {
        let (config, outbox) = (self.config.clone(), self.desk.outbox.clone());
        Listener(tokio::spawn(async move {
            loop {
                if let Err(error) = listen(&config, &outbox).await {
                    tracing::warn!(%error, "the database cannot tell of deliveries; sweeps go on");
                }
                tokio::time::sleep(BEFORE_LISTENING_AGAIN).await;
            }
        }))
    }

    pub(crate) async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<StoredEndpoint>> {
        self.rows(sql::ENDPOINTS, &[&workspace.0]).await?.iter().map(read_endpoint).collect()
    }

    pub(crate) async fn due_endpoints(&self, _: Timestamp) -> Result<Vec<Due>> {
        self.execute(sql::FREE_ENDED_LEASES, &[]).await?;
        let rows = self.rows(sql::DUE_ENDPOINTS, &[]).await?;
        let read = |row: &Row| {
            Ok(Due {
                workspace: WorkspaceId(row.try_get(0)?),
                endpoint: EndpointId(row.try_get(1)?),
                in_millis: row.try_get(2)?,
            })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn lease(&self, asks: Vec<Ask>, _: Timestamp) -> Result<Vec<Delivery>> {
        let lease_end = Instant::now() + LEASE;
        let wanted = asks.iter().map(|ask| (ask.workspace, ask.endpoint)).collect();
        let targets: HashMap<EndpointId, Arc<Addressee>> = self
            .targets_now(wanted)
            .await?
            .into_iter()
            .map(|target| (target.endpoint, target))
            .collect();
        // One that is disabled or deleted by now keeps what waits.
        let asks = asks.iter().filter(|ask| targets.contains_key(&ask.endpoint));
        let (endpoints, limits): (Vec<Uuid>, Vec<i64>) =
            asks.map(|ask| (ask.endpoint.0, int(ask.limit as u64))).unzip();
        if endpoints.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(sql::LEASE, &[&endpoints, &limits]).await?;
        let mut leased = Vec::with_capacity(rows.len());
        for row in rows {
            let endpoint = EndpointId(row.try_get(1)?);
            let Some(target) = targets.get(&endpoint) else { continue };
            let document: &str = row.try_get(6)?;
            leased.push(Delivery {
                id: DeliveryId(row.try_get(0)?),
                target: target.clone(),
                event: numbered_event(row.try_get(2)?)?,
                is_test: row.try_get(3)?,
                occurred_at: Timestamp::from_millis(row.try_get(5)?),
                data: document.into(),
                tries: row.try_get::<_, i32>(4)?.unsigned_abs(),
                lease_end,
                place: self.desk.outbox.hold(endpoint, document.len()),
            });
        }
        Ok(leased)
    }

    pub(crate) async fn targets_now(
        &self,
        endpoints: Vec<(WorkspaceId, EndpointId)>,
    ) -> Result<Vec<Arc<Addressee>>> {
        let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
            endpoints.iter().map(|(workspace, endpoint)| (workspace.0, endpoint.0)).unzip();
        let rows = self.rows(sql::ENABLED_ENDPOINTS, &[&workspaces, &ids]).await?;
        let read = |row: &Row| {
            let workspace = WorkspaceId(row.try_get(13)?);
            Ok(Arc::new(Addressee::of(workspace, read_endpoint(row)?, self.desk.sealer())))
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn release(
        &self,
        deliveries: Vec<(WorkspaceId, DeliveryId)>,
        _: Timestamp,
    ) -> Result<()> {
        let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
            deliveries.iter().map(|(workspace, delivery)| (workspace.0, delivery.0)).unzip();
        self.execute(sql::RELEASE_LEASES, &[&workspaces, &ids]).await?;
        self.execute(sql::NOTIFY, &[]).await.map(drop)
    }

    /// Writes attempts down; gives the endpoints that fail, and since when.
    pub(crate) async fn record_attempts(
        &self,
        attempts: Arc<Vec<Attempted>>,
    ) -> Result<Vec<(EndpointId, Timestamp)>> {
        let column = |of: fn(&Attempted) -> i64| attempts.iter().map(of).collect::<Vec<i64>>();
        let uuids = |of: fn(&Attempted) -> Uuid| attempts.iter().map(of).collect::<Vec<Uuid>>();
        let states: Vec<i16> = attempts.iter().map(|a| a.next.state().0).collect();
        let statuses: Vec<Option<i16>> = attempts
            .iter()
            .map(|a| a.status.map(|status| i16::try_from(status).unwrap_or_default()))
            .collect();
        let errors: Vec<Option<&str>> = attempts.iter().map(|a| a.error.as_deref()).collect();
        let answers: Vec<&[u8]> = attempts.iter().map(|a| a.answer.as_slice()).collect();
        let params: [&(dyn ToSql + Sync); 9] = [
            &uuids(|a| a.target.workspace.0),
            &uuids(|a| a.delivery.0),
            &states,
            &column(|a| a.next.state().1),
            &column(|a| a.at.as_millis()),
            &column(|a| int(a.millis)),
            &statuses,
            &errors,
            &answers,
        ];
        self.execute(sql::RECORD_ATTEMPTS, &params).await?;
        let (mut succeeded, mut failed) = (Fared::default(), Fared::default());
        for (target, fared) in fared(&attempts).into_values() {
            succeeded.extend(&target, fared.success);
            failed.extend(&target, fared.failure);
        }
        if !succeeded.ids.is_empty() {
            self.execute(sql::ENDPOINTS_SUCCEEDED, &succeeded.params()).await?;
        }
        if failed.ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(sql::ENDPOINTS_FAILED, &failed.params()).await?;
        let read =
            |row: &Row| Ok((EndpointId(row.try_get(0)?), Timestamp::from_millis(row.try_get(1)?)));
        rows.iter().map(read).collect()
    }

    pub(crate) async fn delivery_counts(&self, _: Timestamp) -> Result<Counts> {
        let rows = self.rows(sql::COUNT_DELIVERIES, &[]).await?;
        let Some(row) = rows.first() else { return Ok(Counts::default()) };
        let count =
            |column: usize| row.try_get::<_, i64>(column).map(|n| u64::try_from(n).unwrap_or(0));
        Ok(Counts {
            due: count(0)?,
            leased: count(1)?,
            later: count(2)?,
            oldest_due_millis: count(3)?,
        })
    }

    /// Clears away some of what is left of a deleted endpoint; gives how many rows.
    pub(crate) async fn purge_deleted_endpoints(&self) -> Result<u64> {
        let rows = self.rows(sql::DELETED_ENDPOINT, &[]).await?;
        let Some(row) = rows.first() else { return Ok(0) };
        let (workspace, endpoint): (Uuid, Uuid) = (row.try_get(0)?, row.try_get(1)?);
        match self.execute(sql::PURGE_ENDPOINT, &[&workspace, &endpoint]).await? {
            0 => self.execute(sql::FORGET_ENDPOINT, &[&workspace, &endpoint]).await,
            purged => Ok(purged),
        }
    }

    pub(crate) async fn forget_deliveries(
        &self,
        before: Timestamp,
        after: Option<(WorkspaceId, DeliveryId)>,
    ) -> Result<Option<(WorkspaceId, DeliveryId)>> {
        let (workspace, after) = after.map_or((Uuid::nil(), Uuid::nil()), |(w, d)| (w.0, d.0));
        let bounds: [&(dyn ToSql + Sync); 4] =
            [&workspace, &after, &first_id(before).0, &before.as_millis()];
        let old = self.rows(sql::OLD_DELIVERIES, &bounds).await?;
        let Some(last) = old.last() else {
            let next = self.rows(sql::NEXT_WORKSPACE, &[&workspace]).await?;
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
        self.execute(sql::FORGET_DELIVERIES, &[&workspace, &ended]).await?;
        Ok(Some((WorkspaceId(workspace), DeliveryId(last))))
    }

    pub(crate) async fn deliveries(
        &self,
        workspace: WorkspaceId,
        filter: DeliveryFilter,
    ) -> Result<Vec<DeliveryRow>> {
        let (least, most) = filter.bounds();
        // The few that failed have an index of their own.
        let failed = filter.state == Some(DeliveryState::Failed);
        let sql = if failed { sql::FAILED_DELIVERIES } else { sql::DELIVERIES };
        let params: [&(dyn ToSql + Sync); 7] = [
            &workspace.0,
            &filter.endpoint.0,
            &least,
            &most,
            &filter.state.map(DeliveryState::number),
            &filter.event.map(event_number),
            &i64::from(filter.limit),
        ];
        self.rows(sql, &params).await?.iter().map(read_delivery).collect()
    }

    pub(crate) async fn delivery(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> Result<Option<(DeliveryRow, Told, Vec<AttemptRow>)>> {
        let params: [&(dyn ToSql + Sync); 2] = [&workspace.0, &delivery.0];
        let found = self.rows(sql::DELIVERY, &params).await?;
        let told = self.rows(sql::DELIVERY_TOLD, &params).await?;
        let (Some(found), Some(told)) = (found.first(), told.first()) else { return Ok(None) };
        let told =
            Told { at: Timestamp::from_millis(told.try_get(0)?), document: told.try_get(1)? };
        let attempts = self.rows(sql::ATTEMPTS, &params).await?;
        let read = |row: &Row| {
            Ok(AttemptRow {
                no: row.try_get::<_, i32>(0)?.unsigned_abs(),
                at: Timestamp::from_millis(row.try_get(1)?),
                millis: row.try_get::<_, i64>(2)?.unsigned_abs(),
                status: status(row, 3)?,
                error: row.try_get(4)?,
                answer: row.try_get(5)?,
            })
        };
        let attempts = attempts.iter().map(read).collect::<Result<_>>()?;
        Ok(Some((read_delivery(found)?, told, attempts)))
    }

    pub(crate) async fn redeliver_one(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        _: Timestamp,
    ) -> Result<u64> {
        let sent = self.execute(sql::REDELIVER, &[&workspace.0, &delivery.0]).await?;
        self.execute(sql::NOTIFY, &[]).await?;
        Ok(sent)
    }

    pub(crate) async fn redeliver_failed(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        since: Timestamp,
        _: Timestamp,
    ) -> Result<u64> {
        let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &endpoint.0, &first_id(since).0];
        let sent = self.execute(sql::REDELIVER_FAILED, &params).await?;
        self.execute(sql::NOTIFY, &[]).await?;
        Ok(sent)
    }

    pub(crate) async fn remember_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        past: Vec<PastDelivery>,
    ) -> Result<()> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        for delivery in past {
            let id = DeliveryId::new(delivery.at, crate::tx::random());
            let (state, finished_at) = delivery.ended();
            let attempts = i32::try_from(delivery.attempts.len()).unwrap_or(i32::MAX);
            let params: [&(dyn ToSql + Sync); 9] = [
                &workspace.0,
                &id.0,
                &endpoint.0,
                &delivery.change,
                &event_number(delivery.event),
                &state.number(),
                &attempts,
                &delivery.at.as_millis(),
                &finished_at.as_millis(),
            ];
            let statement = transaction.prepare_cached(sql::REMEMBER_DELIVERY).await?;
            transaction.execute(&statement, &params).await?;
            if state == DeliveryState::Delivered {
                let statement = transaction.prepare_cached(sql::ENDPOINTS_SUCCEEDED).await?;
                let at = [finished_at.as_millis()];
                let (workspaces, endpoints) = ([workspace.0], [endpoint.0]);
                let params: [&(dyn ToSql + Sync); 3] =
                    [&&workspaces[..], &&endpoints[..], &&at[..]];
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
                    &attempt.answer.as_bytes(),
                ];
                let statement = transaction.prepare_cached(sql::REMEMBER_ATTEMPT).await?;
                transaction.execute(&statement, &params).await?;
            }
        }
        Ok(transaction.commit().await?)
    }

    pub(crate) async fn secrets_state(&self) -> Result<SecretsState> {
        let sealer = self.desk.sealer();
        let mut state = SecretsState { has_key: sealer.has_key(), ..SecretsState::default() };
        for row in self.rows(sql::SECRETS, &[]).await? {
            state.count(sealer, row.try_get(0)?, row.try_get(1)?);
        }
        Ok(state)
    }

    pub(crate) async fn seal_secrets(&self) -> Result<u64> {
        let sealer = self.desk.sealer();
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let mut sealed = 0;
        for row in transaction.query(sql::ALL_SECRETS, &[]).await? {
            let (workspace, endpoint): (Uuid, Uuid) = (row.try_get(0)?, row.try_get(1)?);
            let secret: &[u8] = row.try_get(2)?;
            if is_sealed(secret) {
                continue;
            }
            let secret = sealer.seal(endpoint.as_bytes(), secret)?;
            let previous: Option<&[u8]> = row.try_get(3)?;
            let previous =
                previous.map(|secret| sealer.seal(endpoint.as_bytes(), secret)).transpose()?;
            let params: [&(dyn ToSql + Sync); 4] = [&workspace, &endpoint, &secret, &previous];
            sealed += transaction.execute(sql::SET_SECRETS, &params).await?;
        }
        for row in transaction.query(sql::WEBHOOK_REPLAYS, &[]).await? {
            let workspace: Uuid = row.try_get(0)?;
            let key = ReplayKey {
                token: TokenId(row.try_get(1)?),
                path: row.try_get(2)?,
                key: row.try_get(3)?,
            };
            let answer: &[u8] = row.try_get(4)?;
            if !is_sealed(answer) {
                let answer = sealer.seal(replays::owner(&key).as_bytes(), answer)?;
                let params: [&(dyn ToSql + Sync); 5] =
                    [&workspace, &key.token.0, &key.path, &key.key, &answer];
                transaction.execute(sql::SET_REPLAY_ANSWER, &params).await?;
            }
        }
        transaction.commit().await?;
        Ok(sealed)
    }
}

/// Endpoints and moments, as columns.
#[derive(Default)]
struct Fared {
    workspaces: Vec<Uuid>,
    ids: Vec<Uuid>,
    moments: Vec<i64>,
}

impl Fared {
    fn extend(&mut self, target: &Addressee, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.workspaces.push(target.workspace.0);
            self.ids.push(target.endpoint.0);
            self.moments.push(at.as_millis());
        }
    }

    fn params(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.workspaces, &self.ids, &self.moments]
    }
}

/// Hears of what others did until the connection ends.
async fn listen(
    config: &tokio_postgres::Config,
    outbox: &Outbox,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    let mut messages =
        futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    let mut begun = std::pin::pin!(client.batch_execute(sql::LISTEN));
    let mut listening = false;
    loop {
        tokio::select! {
            outcome = &mut begun, if !listening => {
                outcome?;
                listening = true;
                // Whatever came before is not told any more.
                outbox.stir();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => outbox.stir(),
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

fn read_delivery(row: &Row) -> Result<DeliveryRow> {
    let moment = |column: usize| -> Result<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let state = DeliveryState::numbered(row.try_get(4)?);
    Ok(DeliveryRow {
        id: DeliveryId(row.try_get(0)?),
        endpoint: EndpointId(row.try_get(1)?),
        event: numbered_event(row.try_get(2)?)?,
        is_test: row.try_get(3)?,
        state,
        attempts: row.try_get::<_, i32>(5)?.unsigned_abs(),
        created_at: Timestamp::from_millis(row.try_get(6)?),
        due_at: moment(7)?.filter(|_| state == DeliveryState::Waiting),
        finished_at: moment(8)?,
        last_status: status(row, 9)?,
        last_error: row.try_get(10)?,
    })
}

pub(super) fn read_endpoint(row: &Row) -> Result<StoredEndpoint> {
    let moment = |column: usize| -> Result<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let events: &str = row.try_get(3)?;
    let unreadable = |_| Error::Damaged(format!("no events: {events}"));
    let previous: Option<Vec<u8>> = row.try_get(9)?;
    Ok(StoredEndpoint {
        no: 0,
        endpoint: Endpoint {
            id: EndpointId(row.try_get(0)?),
            url: EndpointUrl::from_stored(row.try_get(1)?),
            description: row.try_get(2)?,
            events: EventFilter::from_stored(events).map_err(unreadable)?,
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
