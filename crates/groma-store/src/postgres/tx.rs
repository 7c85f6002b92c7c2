//! The operations of a transaction. Writes are sent one behind the other, and nobody waits for their
//! answers before the commit, so a change costs a few round trips, however much it writes.

use super::{
    counts::{Counts, Grown},
    rows::{
        read_block, read_collection, read_email, read_feature, read_feature_with_layer,
        read_invitation, read_layer, read_member, read_stored, read_workspace,
    },
    sql::{self, KindSql},
    statements::{Call, event_statement, int, range_arrays, statement_of},
    webhooks::read_endpoint,
};
use crate::{
    Error, Result,
    geometries::ShelfRanges,
    tx::{
        Collection, InvitationRow, Link, MemberRow, Replay, ReplayKey, Stored, StoredBlock,
        StoredFeature, StoredLayer, Tx, UserRow, Write, kind_number,
    },
    webhooks::{Desk, Handed, StoredEndpoint},
};
use deadpool_postgres::Transaction;
use futures_util::{StreamExt, future::BoxFuture, stream::FuturesOrdered};
use groma_domain::{
    Email, GeometryId, Kind, PersonId, RecordId, Status, Timestamp, TokenId, UserId, WorkspaceId,
    layer::LayerKey, reference::Key, secret::SecretHash, workspace::Workspace,
};
use groma_geo::Bbox;
use std::{
    collections::HashMap,
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// With so many answers to come, they are waited for first.
const UNANSWERED: usize = 1_024;

pub(super) struct PostgresTx<'t> {
    transaction: &'t Transaction<'t>,
    desk: &'t Desk,
    /// Whether the workspace's row is locked against other writers.
    locks: bool,
    /// The mark that the endpoints of the locked workspace had.
    mark: Option<(WorkspaceId, i64)>,
    /// The workspace that is locked, and its statuses: nobody else changes them meanwhile, so the
    /// changes of a group need not ask again.
    locked: Option<Workspace>,
    statuses: Option<(WorkspaceId, Vec<Status>)>,
    counts: Counts,
    handed: Handed,
    /// Answers to what was sent, in its order.
    unanswered: FuturesOrdered<BoxFuture<'t, Result<u64, tokio_postgres::Error>>>,
    /// The first of them that was none.
    failure: Option<tokio_postgres::Error>,
    has_written: bool,
}

/// What a transaction has written, to be committed.
pub(super) struct Written {
    handed: Handed,
    grown: Grown,
}

impl Written {
    /// Commits, and hands over the deliveries that were written. Gives what has grown by it.
    pub(super) async fn commit(self, transaction: Transaction<'_>, desk: &Desk) -> Result<Grown> {
        transaction.commit().await?;
        desk.outbox.hand_over(self.handed);
        Ok(self.grown)
    }
}

impl<'t> PostgresTx<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>, desk: &'t Desk) -> Self {
        Self {
            transaction,
            desk,
            locks: true,
            mark: None,
            locked: None,
            statuses: None,
            counts: Counts::default(),
            handed: Handed::default(),
            unanswered: FuturesOrdered::new(),
            failure: None,
            has_written: false,
        }
    }

    pub(super) fn looking(transaction: &'t Transaction<'t>, desk: &'t Desk) -> Self {
        Self { locks: false, ..Self::new(transaction, desk) }
    }

    /// Whether something was written since this was last asked.
    pub(super) fn has_written(&mut self) -> bool {
        std::mem::take(&mut self.has_written)
    }

    /// Writes what is left, and waits until the database has it all. Others are told of what waits,
    /// where the loop of this program does not see to it.
    pub(super) async fn finish(mut self) -> Result<Written> {
        let mut calls = self.counts.calls();
        let has_waiting = !self.handed.waiting.is_empty() && !self.desk.outbox.is_open();
        if self.handed.stirs || has_waiting {
            calls.push((sql::NOTIFY, Vec::new()));
        }
        self.send(calls).await?;
        self.settle().await?;
        Ok(Written { handed: self.handed, grown: self.counts.grown() })
    }

    async fn row(
        &mut self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<tokio_postgres::Row>> {
        let transaction = self.transaction;
        let asked = async {
            let statement = transaction.prepare_cached(sql).await?;
            transaction.query_opt(&statement, params).await
        };
        self.wait_for(asked).await
    }

    async fn rows(
        &mut self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>> {
        let transaction = self.transaction;
        let asked = async {
            let statement = transaction.prepare_cached(sql).await?;
            transaction.query(&statement, params).await
        };
        self.wait_for(asked).await
    }

    /// What is asked; when that fails, what failed first: after it nothing is answered any more. The
    /// answers to what was sent before are taken meanwhile: one that comes in pieces and is not taken
    /// holds up all behind it.
    async fn wait_for<T>(
        &mut self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let mut asked = pin!(asked);
        let asked = poll_fn(|context| {
            self.take_answers(context);
            asked.as_mut().poll(context)
        });
        let asked = asked.await;
        if asked.is_err() {
            self.settle().await?;
        }
        Ok(asked?)
    }

    fn take_answers(&mut self, context: &mut Context<'_>) {
        while let Poll::Ready(Some(answer)) = self.unanswered.poll_next_unpin(context) {
            if let Err(error) = answer {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Sends statements in their order, and does not wait for their answers.
    async fn send(&mut self, calls: Vec<Call>) -> Result<()> {
        // Prepared first, so that afterwards nothing but the sending stands between the statements.
        let transaction = self.transaction;
        let mut prepared = HashMap::new();
        for (sql, _) in &calls {
            if !prepared.contains_key(sql) {
                let statement = self.wait_for(transaction.prepare_cached(sql)).await?;
                prepared.insert(*sql, statement);
            }
        }
        for (sql, params) in calls {
            if self.unanswered.len() >= UNANSWERED {
                self.settle().await?;
            }
            let statement = prepared.get(sql).cloned().ok_or(Error::Closed)?;
            let mut answer: BoxFuture<'t, _> =
                Box::pin(async move { transaction.execute_raw(&statement, params).await });
            // The first look sends the statement, so they reach the database in their order.
            match futures_util::poll!(&mut answer) {
                Poll::Ready(outcome) => drop(outcome?),
                Poll::Pending => self.unanswered.push_back(answer),
            }
        }
        Ok(())
    }

    /// Waits for the answers to all that was sent.
    async fn settle(&mut self) -> Result<()> {
        let all = poll_fn(|context| {
            self.take_answers(context);
            if self.unanswered.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        });
        all.await;
        self.failure.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Tx for PostgresTx<'_> {
    async fn lock_workspace(&mut self, workspace: WorkspaceId) -> Result<Option<Workspace>> {
        if let Some(locked) = self.locked.as_ref().filter(|locked| locked.id == workspace) {
            return Ok(Some(locked.clone()));
        }
        let sql = if self.locks { sql::LOCK_WORKSPACE } else { sql::WORKSPACE };
        let row = self.row(sql, &[&workspace.0]).await?;
        self.mark =
            row.as_ref().map(|row| row.try_get(4)).transpose()?.map(|mark| (workspace, mark));
        let found = row.as_ref().map(read_workspace).transpose()?;
        if self.locks {
            self.locked.clone_from(&found);
        }
        Ok(found)
    }

    async fn find(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<Stored>> {
        let sql = KindSql::of(kind);
        let row = match key {
            Key::Id(id) => self.row(&sql.by_id, &[&workspace.0, &id.0]).await?,
            Key::Reference(reference) => {
                self.row(&sql.by_reference, &[&workspace.0, &reference.as_str()]).await?
            }
        };
        row.as_ref().map(|row| read_stored(kind, row)).transpose()
    }

    async fn linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<Vec<Stored>> {
        let Some(sql) = KindSql::of(kind).linked(link) else { return Ok(Vec::new()) };
        self.rows(sql, &[&workspace.0, &id])
            .await?
            .iter()
            .map(|row| read_stored(kind, row))
            .collect()
    }

    async fn is_linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<bool> {
        let Some(sql) = KindSql::of(kind).is_linked(link) else { return Ok(false) };
        Ok(self.row(sql, &[&workspace.0, &id]).await?.is_some())
    }

    async fn statuses(&mut self, workspace: WorkspaceId) -> Result<Vec<Status>> {
        if let Some((_, known)) = self.statuses.as_ref().filter(|(of, _)| *of == workspace) {
            return Ok(known.clone());
        }
        let rows = self.rows(sql::STATUSES, &[&workspace.0]).await?;
        let read = |row: &tokio_postgres::Row| Ok(serde_json::from_slice(row.try_get(0)?)?);
        let statuses: Vec<Status> = rows.iter().map(read).collect::<Result<_>>()?;
        if self.locked.as_ref().is_some_and(|locked| locked.id == workspace) {
            self.statuses = Some((workspace, statuses.clone()));
        }
        Ok(statuses)
    }

    async fn collection(&mut self, workspace: WorkspaceId, kind: Kind) -> Result<Collection> {
        if let Some(known) = self.counts.collection(workspace, kind) {
            return Ok(known);
        }
        let row = self.row(sql::COLLECTION, &[&workspace.0, &kind_number(kind)]).await?;
        let collection = row.as_ref().map(read_collection).transpose()?.unwrap_or_default();
        if self.locked.as_ref().is_some_and(|locked| locked.id == workspace) {
            self.counts.learn(workspace, kind, collection);
        }
        Ok(collection)
    }

    async fn person(&mut self, workspace: WorkspaceId, id: PersonId) -> Result<Option<MemberRow>> {
        self.row(sql::PERSON, &[&workspace.0, &id.0]).await?.as_ref().map(read_member).transpose()
    }

    async fn person_by_email(
        &mut self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Option<MemberRow>> {
        let row = self.row(sql::PERSON_BY_EMAIL, &[&workspace.0, &email.key()]).await?;
        row.as_ref().map(read_member).transpose()
    }

    async fn owners(&mut self, workspace: WorkspaceId) -> Result<u64> {
        let row = self.row(sql::OWNERS, &[&workspace.0]).await?;
        Ok(row.map_or(Ok(0), |row| row.try_get::<_, i64>(0))?.unsigned_abs())
    }

    async fn workspace_named(&mut self, name_key: &str) -> Result<bool> {
        self.row(sql::LOCK_NAMES, &[]).await?;
        Ok(self.row(sql::WORKSPACE_NAMED, &[&name_key]).await?.is_some())
    }

    async fn user_by_email(&mut self, email: &Email) -> Result<Option<UserRow>> {
        self.row(sql::LOCK_NAMES, &[]).await?;
        let Some(row) = self.row(sql::USER_BY_EMAIL, &[&email.key()]).await? else {
            return Ok(None);
        };
        Ok(Some(UserRow {
            id: UserId(row.try_get(0)?),
            email: read_email(&row, 1)?,
            name: row.try_get(2)?,
        }))
    }

    async fn has_users(&mut self) -> Result<bool> {
        self.row(sql::LOCK_NAMES, &[]).await?;
        Ok(self.row(sql::HAS_USERS, &[]).await?.is_some())
    }

    async fn invitation(&mut self, hash: &SecretHash) -> Result<Option<InvitationRow>> {
        let row = self.row(sql::INVITATION, &[&&hash.0[..]]).await?;
        row.map(|row| read_invitation(*hash, &row)).transpose()
    }

    async fn token_owner(
        &mut self,
        workspace: WorkspaceId,
        token: TokenId,
    ) -> Result<Option<PersonId>> {
        let row = self.row(sql::TOKEN_OWNER, &[&workspace.0, &token.0]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.map(PersonId))
    }

    async fn layer(
        &mut self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<StoredLayer>> {
        let row = match key {
            LayerKey::Id(id) => self.row(sql::LAYER_BY_ID, &[&workspace.0, &id.0]).await?,
            LayerKey::Slug(slug) => self.row(sql::LAYER_BY_SLUG, &[&workspace.0, slug]).await?,
        };
        row.as_ref().map(read_layer).transpose()
    }

    async fn layers(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredLayer>> {
        self.rows(sql::LAYERS, &[&workspace.0]).await?.iter().map(read_layer).collect()
    }

    async fn features_by_external_id(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ids: &[&str],
    ) -> Result<Vec<StoredFeature>> {
        let params: [&(dyn ToSql + Sync); 3] = [&workspace.0, &int(layer), &ids];
        let rows = self.rows(sql::FEATURES_BY_EXTERNAL_ID, &params).await?;
        rows.iter().map(read_feature).collect()
    }

    async fn features_between(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        first: u64,
        last: u64,
    ) -> Result<Vec<StoredFeature>> {
        let params: [&(dyn ToSql + Sync); 5] =
            [&workspace.0, &int(layer), &int(first), &int(last), &i64::MAX];
        self.rows(sql::FEATURES_BETWEEN, &params).await?.iter().map(read_feature).collect()
    }

    async fn feature(
        &mut self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(StoredLayer, StoredFeature)>> {
        let row = self.row(sql::FEATURE, &[&workspace.0, &id.0]).await?;
        row.as_ref().map(read_feature_with_layer).transpose()
    }

    async fn folders_of_layer(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
    ) -> Result<Vec<RecordId>> {
        let rows = self.rows(sql::FOLDERS_OF_LAYER, &[&workspace.0, &int(layer)]).await?;
        rows.iter().map(|row| Ok(RecordId(row.try_get(0)?))).collect()
    }

    async fn shapes_of_folder(
        &mut self,
        workspace: WorkspaceId,
        folder: RecordId,
    ) -> Result<Vec<Vec<u8>>> {
        let rows = self.rows(sql::SHAPES_OF_FOLDER, &[&workspace.0, &folder.0]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn extents(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        parts: Option<&[u64]>,
    ) -> Result<Vec<(u64, Bbox)>> {
        let parts: Option<Vec<i64>> = parts.map(|parts| parts.iter().map(|n| int(*n)).collect());
        let rows = self.rows(sql::EXTENTS, &[&workspace.0, &int(layer), &parts]).await?;
        let read = |row: &tokio_postgres::Row| {
            let bounds = Bbox([row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?]);
            Ok((row.try_get::<_, i64>(0)?.unsigned_abs(), bounds))
        };
        rows.iter().map(read).collect()
    }

    async fn blocks(
        &mut self,
        workspace: WorkspaceId,
        layer: u64,
        ranges: &ShelfRanges,
    ) -> Result<Vec<StoredBlock>> {
        let (shelves, first, last) = range_arrays(ranges);
        let params: [&(dyn ToSql + Sync); 5] = [&workspace.0, &int(layer), &shelves, &first, &last];
        self.rows(sql::DRAWINGS, &params).await?.iter().map(read_block).collect()
    }

    async fn replay(
        &mut self,
        workspace: WorkspaceId,
        request: &ReplayKey,
    ) -> Result<Option<Replay>> {
        let ReplayKey { token, path, key } = request;
        let params: [&(dyn ToSql + Sync); 4] = [&workspace.0, &token.0, path, key];
        let Some(row) = self.row(sql::REPLAY, &params).await? else { return Ok(None) };
        Ok(Some(Replay {
            body_hash: row.try_get::<_, &[u8]>(0)?.try_into().unwrap_or_default(),
            answer: row.try_get(1)?,
            at: Timestamp::from_millis(row.try_get(2)?),
        }))
    }

    async fn endpoints(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredEndpoint>> {
        self.rows(sql::ENDPOINTS, &[&workspace.0]).await?.iter().map(read_endpoint).collect()
    }

    fn desk(&self) -> &Desk {
        self.desk
    }

    fn mark(&self, workspace: WorkspaceId) -> Option<i64> {
        self.mark.filter(|(of, _)| *of == workspace).map(|(_, mark)| mark)
    }

    async fn write(&mut self, workspace: WorkspaceId, writes: Vec<Write>) -> Result<()> {
        if writes.iter().any(|write| matches!(write, Write::WebhooksChanged(_))) {
            self.mark = None;
            self.handed.stirs = true;
        }
        let is_about_statuses = |write: &Write| {
            matches!(
                write,
                Write::SaveStatus(_) | Write::RemoveStatus(_) | Write::FreeStatusName(_)
            )
        };
        if writes.iter().any(is_about_statuses) {
            self.statuses = None;
        }
        self.has_written = true;
        let mut calls: Vec<Call> = Vec::with_capacity(writes.len());
        for write in writes {
            match write {
                Write::LogEvent(write) if !write.deliveries.is_empty() => {
                    calls.push(event_statement(workspace.0, &write));
                    self.handed.add(write.into_handed());
                }
                write => calls.extend(statement_of(workspace, write, &mut self.counts)),
            }
        }
        self.send(calls).await
    }
}
