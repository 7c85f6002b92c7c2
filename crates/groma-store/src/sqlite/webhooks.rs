//! Endpoints and deliveries on SQLite. What is written goes through the one writer, in its groups.

use super::{
    Sqlite,
    derived::Derived,
    sql,
    tx::{damaged, int},
};
use crate::{
    Error, Result, replays,
    seal::is_sealed,
    tx::ReplayKey,
    webhooks::{
        Addressee, Ask, AttemptRow, Attempted, Counts, Delivery, DeliveryFilter, DeliveryRow,
        DeliveryState, Due, LEASE, LEASE_MILLIS, PastDelivery, SecretsState, StoredEndpoint, Told,
        event_number, fared, first_id, numbered_event,
    },
};
use groma_domain::{
    DeliveryId, EndpointId, Timestamp, TokenId, WorkspaceId,
    webhook::{Endpoint, EndpointUrl, EventFilter},
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::{
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};
use uuid::Uuid;

/// How many rows go in one step when they are cleared away.
const STEP: u32 = 500;

/// A delivery that was leased: id, line of the audit trail, event, whether it is a test, tries.
type Leased = (Uuid, i64, i16, bool, u32);

impl Sqlite {
    pub(crate) async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<StoredEndpoint>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(sql::ENDPOINTS)?;
            Ok(statement.query_map([ws], read_endpoint)?.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) async fn free_all_leases(&self, now: Timestamp) -> Result<()> {
        let free = move |connection: &mut Connection| {
            connection.prepare_cached(sql::FREE_ALL_LEASES)?.execute([now.as_millis()])?;
            Ok(())
        };
        self.writer.write(free).await
    }

    pub(crate) async fn bring_forward(&self, millis: i64, now: Timestamp) -> Result<()> {
        // A lease that ends sooner than one from before could was begun after the clock was set.
        let after = now.as_millis() + LEASE_MILLIS;
        let forward = move |connection: &mut Connection| {
            connection.prepare_cached(sql::BRING_FORWARD)?.execute([millis, after])?;
            Ok(())
        };
        self.writer.write(forward).await
    }

    pub(crate) async fn due_endpoints(&self, now: Timestamp) -> Result<Vec<Due>> {
        let now = now.as_millis();
        let has_ended = self.read(|connection| {
            Ok(connection.prepare_cached(sql::HAS_ENDED_LEASES)?.exists([now])?)
        })?;
        if has_ended {
            let free = move |connection: &mut Connection| {
                connection.prepare_cached(sql::FREE_ENDED_LEASES)?.execute([now])?;
                Ok(())
            };
            self.writer.write(free).await?;
        }
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::DUE_ENDPOINTS)?;
            let mut rows = statement.query([])?;
            let mut due = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(first) = row.get::<_, Option<i64>>(2)? else { continue };
                due.push(Due {
                    workspace: WorkspaceId(row.get(0)?),
                    endpoint: EndpointId(row.get(1)?),
                    in_millis: first - now,
                });
            }
            Ok(due)
        })
    }

    pub(crate) async fn lease(&self, asks: Vec<Ask>, now: Timestamp) -> Result<Vec<Delivery>> {
        let desk = self.desk.clone();
        let lease_end = Instant::now() + LEASE;
        let claim = move |connection: &mut Connection| {
            let mut claimed = Vec::new();
            for &Ask { workspace, endpoint, limit } in &asks {
                let Some(target) = enabled(connection, workspace, endpoint)? else { continue };
                let target = Arc::new(Addressee::of(workspace, target, desk.sealer()));
                let mut statement = connection.prepare_cached(sql::CLAIM)?;
                let lease = wall_millis().max(now.as_millis()) + LEASE_MILLIS;
                let leased = statement
                    .query_map(
                        params![target.no, now.as_millis(), int(limit as u64), lease],
                        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
                    )?
                    .collect::<rusqlite::Result<Vec<Leased>>>()?;
                for (id, change, event, is_test, tries) in leased {
                    let told = connection.prepare_cached(sql::TOLD)?.query_row([change], read_told);
                    let Some(Told { at, document }) = told.optional()? else { continue };
                    let place = desk.outbox.hold(endpoint, document.len());
                    claimed.push(Delivery {
                        id: DeliveryId(id),
                        target: target.clone(),
                        event: numbered_event(event)?,
                        is_test,
                        occurred_at: at,
                        data: document.into(),
                        tries,
                        lease_end,
                        place,
                    });
                }
            }
            Ok(claimed)
        };
        self.writer.write(claim).await
    }

    pub(crate) async fn targets_now(
        &self,
        endpoints: Vec<(WorkspaceId, EndpointId)>,
    ) -> Result<Vec<Arc<Addressee>>> {
        self.read(|connection| {
            let mut targets = Vec::new();
            for (workspace, endpoint) in endpoints {
                if let Some(stored) = enabled(connection, workspace, endpoint)? {
                    targets.push(Arc::new(Addressee::of(workspace, stored, self.desk.sealer())));
                }
            }
            Ok(targets)
        })
    }

    pub(crate) async fn release(
        &self,
        deliveries: Vec<(WorkspaceId, DeliveryId)>,
        now: Timestamp,
    ) -> Result<()> {
        let release = move |connection: &mut Connection| {
            let mut statement = connection.prepare_cached(sql::RELEASE_LEASE)?;
            for (_, delivery) in &deliveries {
                statement.execute(params![delivery.0, now.as_millis()])?;
            }
            Ok(())
        };
        self.writer.write(release).await
    }

    /// Writes attempts down; gives the endpoints that fail, and since when.
    pub(crate) async fn record_attempts(
        &self,
        attempts: Arc<Vec<Attempted>>,
    ) -> Result<Vec<(EndpointId, Timestamp)>> {
        let record = move |connection: &mut Connection| {
            for attempt in attempts.iter() {
                record(connection, attempt)?;
            }
            let mut failing = Vec::new();
            for (endpoint, (target, fared)) in fared(&attempts) {
                if let Some(at) = fared.success {
                    let mut statement = connection.prepare_cached(sql::ENDPOINT_SUCCEEDED)?;
                    statement.execute(params![target.no, at.as_millis()])?;
                }
                let Some(at) = fared.failure else { continue };
                let mut statement = connection.prepare_cached(sql::ENDPOINT_FAILED)?;
                let since =
                    statement.query_row(params![target.no, at.as_millis()], |row| row.get(0));
                failing.extend(
                    since.optional()?.map(|since| (endpoint, Timestamp::from_millis(since))),
                );
            }
            Ok(failing)
        };
        self.writer.write(record).await
    }

    pub(crate) async fn delivery_counts(self: &Arc<Self>, now: Timestamp) -> Result<Counts> {
        self.read_long(move |store| {
            store.read(|connection| {
                let count = |sql: &str| -> Result<u64> {
                    let count: i64 =
                        connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
                    Ok(count.unsigned_abs())
                };
                let (due, oldest): (i64, Option<i64>) = connection
                    .prepare_cached(sql::COUNT_DUE)?
                    .query_row([now.as_millis()], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let due = due.unsigned_abs();
                let age = oldest.map_or(0, |oldest| now.as_millis() - oldest);
                Ok(Counts {
                    due,
                    leased: count(sql::COUNT_LEASED)?,
                    later: count(sql::COUNT_WAITING)?.saturating_sub(due),
                    oldest_due_millis: u64::try_from(age).unwrap_or_default(),
                })
            })
        })
        .await
    }

    /// Clears away some of what is left of a deleted endpoint; gives how many rows.
    pub(crate) async fn purge_deleted_endpoints(&self) -> Result<u64> {
        let deleted = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::DELETED_ENDPOINT)?;
            Ok(statement.query_row([], |row| row.get::<_, i64>(0)).optional()?)
        })?;
        let Some(no) = deleted else { return Ok(0) };
        let purge = move |connection: &mut Connection| {
            let mut statement = connection.prepare_cached(sql::SOME_OF_ENDPOINT)?;
            let ids = statement.query_map(params![no, STEP], |row| row.get::<_, Uuid>(0))?;
            let ids = ids.collect::<rusqlite::Result<Vec<_>>>()?;
            for id in &ids {
                forget(connection, *id)?;
            }
            if ids.is_empty() {
                connection.prepare_cached(sql::FORGET_ENDPOINT)?.execute([no])?;
                return Ok(1);
            }
            Ok(ids.len() as u64)
        };
        self.writer.write(purge).await
    }

    /// Marks every endpoint of a workspace that goes as deleted.
    pub(crate) async fn remove_endpoints(&self, ws: i64) -> Result<()> {
        let remove = move |connection: &mut Connection| {
            connection.prepare_cached(sql::REMOVE_ENDPOINTS)?.execute([ws])?;
            Ok(())
        };
        self.writer.write(remove).await?;
        while self.purge_deleted_endpoints().await? > 0 {}
        Ok(())
    }

    pub(crate) async fn forget_deliveries(
        &self,
        before: Timestamp,
        after: Option<(WorkspaceId, DeliveryId)>,
    ) -> Result<Option<(WorkspaceId, DeliveryId)>> {
        let after = after.map_or(Uuid::nil(), |(_, delivery)| delivery.0);
        let old: Vec<(Uuid, bool)> = self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::OLD_DELIVERIES)?;
            let bounds = params![after, first_id(before).0, before.as_millis(), STEP];
            let rows = statement.query_map(bounds, |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })?;
        let Some((last, _)) = old.last().copied() else { return Ok(None) };
        let purge = move |connection: &mut Connection| {
            old.iter().filter(|(_, ended)| *ended).try_for_each(|(id, _)| forget(connection, *id))
        };
        self.writer.write(purge).await?;
        Ok(Some((WorkspaceId(Uuid::nil()), DeliveryId(last))))
    }

    pub(crate) async fn deliveries(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        filter: DeliveryFilter,
    ) -> Result<Vec<DeliveryRow>> {
        self.read_long(move |store| {
            store.read(|connection| {
                let Some(ws) = store.number(connection, workspace)? else { return Ok(Vec::new()) };
                let (least, most) = filter.bounds();
                // The few that failed have an index of their own.
                let failed = filter.state == Some(DeliveryState::Failed);
                let sql = if failed { sql::FAILED_DELIVERIES } else { sql::DELIVERIES };
                let mut statement = connection.prepare_cached(sql)?;
                let state = filter.state.map(DeliveryState::number);
                let event = filter.event.map(event_number);
                let rows = statement.query_map(
                    params![ws, filter.endpoint.0, least, most, state, event, filter.limit],
                    read_delivery,
                )?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
        })
        .await
    }

    pub(crate) async fn delivery(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
    ) -> Result<Option<(DeliveryRow, Told, Vec<AttemptRow>)>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(None) };
            let mut statement = connection.prepare_cached(sql::DELIVERY)?;
            let found = statement.query_row(params![ws, delivery.0], read_delivery).optional()?;
            let Some(row) = found else { return Ok(None) };
            let mut statement = connection.prepare_cached(sql::DELIVERY_TOLD)?;
            let told = statement.query_row([delivery.0], read_told)?;
            let mut statement = connection.prepare_cached(sql::ATTEMPTS)?;
            let attempts = statement.query_map([delivery.0], |row| {
                Ok(AttemptRow {
                    no: row.get(0)?,
                    at: Timestamp::from_millis(row.get(1)?),
                    millis: row.get::<_, i64>(2)?.unsigned_abs(),
                    status: row.get(3)?,
                    error: row.get(4)?,
                    answer: row.get(5)?,
                })
            })?;
            Ok(Some((row, told, attempts.collect::<rusqlite::Result<_>>()?)))
        })
    }

    pub(crate) async fn redeliver_one(
        &self,
        workspace: WorkspaceId,
        delivery: DeliveryId,
        now: Timestamp,
    ) -> Result<u64> {
        let Some(ws) = self.read(|connection| self.number(connection, workspace))? else {
            return Ok(0);
        };
        let again = move |connection: &mut Connection| {
            let mut statement = connection.prepare_cached(sql::REDELIVER)?;
            Ok(statement.execute(params![ws, delivery.0, now.as_millis()])? as u64)
        };
        self.write_and_stir(again).await
    }

    pub(crate) async fn redeliver_failed(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<u64> {
        let Some(ws) = self.read(|connection| self.number(connection, workspace))? else {
            return Ok(0);
        };
        let again = move |connection: &mut Connection| {
            let mut statement = connection.prepare_cached(sql::REDELIVER_FAILED)?;
            let params = params![ws, endpoint.0, first_id(since).0, now.as_millis()];
            Ok(statement.execute(params)? as u64)
        };
        self.write_and_stir(again).await
    }

    async fn write_and_stir<R: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let outbox = self.desk.outbox.clone();
        let work = move |connection: &mut Connection, _: &mut Derived| work(connection);
        self.writer.write_then(work, move |_| outbox.stir()).await
    }

    pub(crate) async fn remember_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        past: Vec<PastDelivery>,
    ) -> Result<()> {
        let found = self.endpoints(workspace).await?.into_iter();
        let found = found.into_iter().find(|stored| stored.endpoint.id == endpoint);
        let ws = self.read(|connection| self.number(connection, workspace))?;
        let (Some(stored), Some(ws)) = (found, ws) else { return Ok(()) };
        let remember = move |connection: &mut Connection| {
            for delivery in &past {
                let id = DeliveryId::new(delivery.at, crate::tx::random());
                let (state, finished_at) = delivery.ended();
                let at = delivery.at.as_millis();
                connection.prepare_cached(sql::INSERT_DELIVERY)?.execute(params![
                    id.0,
                    ws,
                    stored.no,
                    delivery.change,
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
                        attempt.answer.as_bytes()
                    ])?;
                }
            }
            Ok(())
        };
        self.writer.write(remember).await
    }

    pub(crate) async fn secrets_state(&self) -> Result<SecretsState> {
        let sealer = self.desk.sealer();
        let mut state = SecretsState { has_key: sealer.has_key(), ..SecretsState::default() };
        let secrets = self.read(|connection| read_secrets(connection))?;
        for (_, endpoint, secret, _) in secrets {
            state.count(sealer, endpoint, &secret);
        }
        Ok(state)
    }

    pub(crate) async fn seal_secrets(&self) -> Result<u64> {
        let desk = self.desk.clone();
        let seal = move |connection: &mut Connection| {
            let mut sealed = 0;
            for (no, endpoint, secret, previous) in read_secrets(connection)? {
                if is_sealed(&secret) {
                    continue;
                }
                let owner = endpoint.as_bytes();
                let secret = desk.sealer().seal(owner, &secret)?;
                let previous =
                    previous.map(|secret| desk.sealer().seal(owner, &secret)).transpose()?;
                let mut statement = connection.prepare_cached(sql::SET_SECRETS)?;
                statement.execute(params![no, secret, previous])?;
                sealed += 1;
            }
            let mut statement = connection.prepare_cached(sql::WEBHOOK_REPLAYS)?;
            let replays = statement.query_map([], |row| {
                let key =
                    ReplayKey { token: TokenId(row.get(1)?), path: row.get(2)?, key: row.get(3)? };
                Ok((row.get::<_, i64>(0)?, key, row.get::<_, Vec<u8>>(4)?))
            })?;
            for replay in replays.collect::<rusqlite::Result<Vec<_>>>()? {
                let (row, key, answer) = replay;
                if !is_sealed(&answer) {
                    let answer = desk.sealer().seal(replays::owner(&key).as_bytes(), &answer)?;
                    let mut statement = connection.prepare_cached(sql::SET_REPLAY_ANSWER)?;
                    statement.execute(params![row, answer])?;
                }
            }
            Ok(sealed)
        };
        self.writer.write(seal).await
    }
}

/// An endpoint's number and id, its secret and the one before.
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
    let Some(ws) = super::tx::workspace_number(connection, workspace)? else { return Ok(None) };
    let mut statement = connection.prepare_cached(sql::ENABLED_ENDPOINT)?;
    Ok(statement.query_row(params![ws, endpoint.0], read_endpoint).optional()?)
}

fn record(connection: &Connection, attempt: &Attempted) -> Result<()> {
    let (state, after) = attempt.next.state();
    let at = attempt.at.as_millis();
    let finished_at = (state >= 2).then_some(at);
    let due_at = attempt.ended.as_millis() + after;
    let mut statement = connection.prepare_cached(sql::ATTEMPTED)?;
    let no = statement
        .query_row(params![attempt.delivery.0, state, due_at, finished_at], |row| row.get(0))
        .optional()?;
    // Deleted with its endpoint, or delivered by someone else.
    let Some(no) = no else { return Ok(()) };
    let no: u32 = no;
    connection.prepare_cached(sql::INSERT_ATTEMPT)?.execute(params![
        attempt.delivery.0,
        no,
        at,
        int(attempt.millis),
        attempt.status,
        attempt.error,
        attempt.answer
    ])?;
    Ok(())
}

fn forget(connection: &Connection, id: Uuid) -> Result<()> {
    connection.prepare_cached(sql::FORGET_ATTEMPTS)?.execute([id])?;
    connection.prepare_cached(sql::FORGET_DELIVERY)?.execute([id])?;
    Ok(())
}

fn read_told(row: &Row<'_>) -> rusqlite::Result<Told> {
    Ok(Told { at: Timestamp::from_millis(row.get(0)?), document: row.get(1)? })
}

fn read_delivery(row: &Row<'_>) -> rusqlite::Result<DeliveryRow> {
    let moment = |millis: i64| Timestamp::from_millis(millis);
    let state = DeliveryState::numbered(row.get(4)?);
    Ok(DeliveryRow {
        id: DeliveryId(row.get(0)?),
        endpoint: EndpointId(row.get(1)?),
        event: numbered_event(row.get(2)?).map_err(|error| damaged(2, error))?,
        is_test: row.get(3)?,
        state,
        attempts: row.get(5)?,
        created_at: moment(row.get(6)?),
        due_at: (state == DeliveryState::Waiting).then_some(moment(row.get(7)?)),
        finished_at: row.get::<_, Option<i64>>(8)?.map(moment),
        last_status: row.get(9)?,
        last_error: row.get(10)?,
    })
}

pub(super) fn read_endpoint(row: &Row<'_>) -> rusqlite::Result<StoredEndpoint> {
    let moment = |column| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let events: String = row.get(4)?;
    let unreadable = |_| damaged(4, Error::Damaged(format!("no events: {events}")));
    let previous: Option<Vec<u8>> = row.get(10)?;
    Ok(StoredEndpoint {
        no: row.get(0)?,
        endpoint: Endpoint {
            id: EndpointId(row.get(1)?),
            url: EndpointUrl::from_stored(row.get(2)?),
            description: row.get(3)?,
            events: EventFilter::from_stored(&events).map_err(unreadable)?,
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

/// Milliseconds since 1970, by the clock of this machine: that of leases, which are its own.
pub(super) fn wall_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
