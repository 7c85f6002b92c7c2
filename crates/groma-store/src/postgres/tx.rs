//! The operations of a transaction. Writes are sent one behind the other, and nobody waits for their
//! answers before the commit, so a change costs a few round trips, however much it writes.

use super::{
    counts::{Counts, Grown},
    sql::{self, KindSql},
    webhooks::read_endpoint,
};
use crate::{
    Error, Result,
    geometries::ShelfRanges,
    tx::{
        Collection, FeatureRow, InvitationRow, LayerWrite, Link, LogRow, MemberRow, Replay,
        ReplayKey, Row, Stored, StoredBlock, StoredFeature, StoredLayer, TokenWrite, Tx, UserRow,
        Write, centre, kind_number, sortable,
    },
    webhooks::{Desk, EventWrite, Handed, StoredEndpoint, event_number},
};
use deadpool_postgres::Transaction;
use futures_util::{StreamExt, future::BoxFuture, stream::FuturesOrdered};
use groma_domain::{
    Currency, Email, GeometryId, InvitationId, Kind, Layer, Person, PersonId, Record, RecordId,
    Role, Status, Timestamp, TokenId, UserId, WorkspaceId,
    layer::LayerKey,
    reference::Key,
    session::SecretHash,
    text::fold,
    workspace::{Workspace, WorkspaceName},
};
use groma_geo::{Bbox, block::Block, grid::GridBox};
use std::{
    collections::HashMap,
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};
use tokio_postgres::types::{IsNull, ToSql, Type};
use uuid::Uuid;

pub(super) type Param = Box<dyn ToSql + Sync + Send>;
/// A statement and what it is given.
pub(super) type Call = (&'static str, Vec<Param>);

macro_rules! params {
    ($($param:expr),* $(,)?) => { vec![$(Box::new($param) as $crate::postgres::tx::Param),*] };
}
pub(super) use params;

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

/// The statement of a write; none for what is only counted.
fn statement_of(workspace: WorkspaceId, write: Write, counts: &mut Counts) -> Option<Call> {
    let ws = workspace.0;
    Some(match write {
        Write::SaveCollection { kind, collection } => {
            counts.save(workspace, kind, collection);
            return None;
        }
        Write::AdjustBlock { kind, block, by, generation } => {
            counts.adjust_block(workspace, kind, block, (by, generation));
            return None;
        }
        Write::InsertRecord(row) => (&KindSql::of(row.record.kind()).insert, row_params(ws, row)),
        Write::UpdateRecord { row, .. } => {
            (&KindSql::of(row.record.kind()).update, row_params(ws, row))
        }
        Write::RemoveRecord { kind, seq } => (&KindSql::of(kind).remove, params![ws, int(seq)]),
        Write::FreeReference { kind, seq, id } => {
            (&KindSql::of(kind).free_reference, params![ws, int(seq), id.to_string()])
        }
        Write::FreeStatusName(id) => (sql::FREE_STATUS_NAME, params![ws, id.0, id.to_string()]),
        Write::SaveStatus(status) => (
            sql::SAVE_STATUS,
            params![
                ws,
                status.id.0,
                kind_number(status.applies_to),
                fold(&status.name),
                status.document().into_bytes()
            ],
        ),
        Write::RemoveStatus(id) => (sql::REMOVE_STATUS, params![ws, id.0]),
        Write::SavePerson { row: MemberRow { person, user, role }, at } => (
            sql::SAVE_PERSON,
            params![
                ws,
                person.id.0,
                person.email.as_str().to_owned(),
                person.email.key(),
                person.name,
                user.map(|user| user.0),
                role.map(Role::name),
                at.as_millis()
            ],
        ),
        Write::PeopleChanged => (sql::PEOPLE_CHANGED, params![ws]),
        Write::SaveUser { user, at } => (
            sql::SAVE_USER,
            params![
                user.id.0,
                user.email.as_str().to_owned(),
                user.email.key(),
                user.name,
                at.as_millis()
            ],
        ),
        Write::SetPassword { user, hash } => (sql::SET_PASSWORD, params![user.0, hash]),
        Write::EndSessions { user, except } => {
            (sql::END_SESSIONS, params![user.0, except.map(|session| session.0)])
        }
        Write::SaveWorkspace(w) => (
            sql::SAVE_WORKSPACE,
            params![w.id.0, w.name.as_str().to_owned(), w.name.key(), w.currency.code()],
        ),
        Write::InsertInvitation(i) => (
            sql::INSERT_INVITATION,
            params![
                i.id.0,
                ws,
                i.hash.0.to_vec(),
                i.role.name(),
                i.email,
                i.invited_by.map(|person| person.0),
                i.created_at.as_millis(),
                i.expires_at.as_millis()
            ],
        ),
        Write::RemoveInvitation(id) => (sql::REMOVE_INVITATION, params![ws, id.0]),
        Write::RevokeTokensOf { person, at } => {
            (sql::REVOKE_TOKENS_OF, params![ws, person.0, at.as_millis()])
        }
        Write::InsertWorkspace(w) => (
            sql::INSERT_WORKSPACE,
            params![
                w.id.0,
                w.name.as_str().to_owned(),
                w.name.key(),
                w.currency.code(),
                w.created_at.as_millis()
            ],
        ),
        Write::InsertToken(TokenWrite {
            id,
            person,
            name,
            hash,
            hint,
            scopes,
            created_at,
            expires_at,
        }) => (
            sql::INSERT_TOKEN,
            params![
                id.0,
                ws,
                person.0,
                name,
                hash.0.to_vec(),
                scopes.to_string(),
                created_at.as_millis(),
                expires_at.map(Timestamp::as_millis),
                hint
            ],
        ),
        Write::RevokeToken { token, at } => {
            (sql::REVOKE_TOKEN, params![ws, token.0, at.as_millis()])
        }
        Write::Layer(write) => layer_statement(ws, write),
        Write::UnlinkFeatures { kind: Kind::Folder, id } => (sql::UNLINK_FOLDER, params![ws, id.0]),
        Write::UnlinkFeatures { id, .. } => (sql::UNLINK_ASSIGNMENT, params![ws, id.0]),
        Write::SaveReplay { request, body_hash, answer, at } => (
            sql::SAVE_REPLAY,
            params![
                ws,
                request.token.0,
                request.path,
                request.key,
                body_hash.to_vec(),
                answer,
                at.as_millis()
            ],
        ),
        Write::LogChange(log) | Write::LogEvent(EventWrite { log, .. }) => {
            (sql::LOG_CHANGE, log_params(ws, log))
        }
        Write::InsertEndpoint(stored) => (sql::INSERT_ENDPOINT, endpoint_params(ws, stored)),
        Write::SaveEndpoint(stored) => (sql::SAVE_ENDPOINT, endpoint_params(ws, stored)),
        Write::RemoveEndpoint { endpoint, at } => {
            (sql::REMOVE_ENDPOINT, params![ws, endpoint.0, at.as_millis()])
        }
        Write::WebhooksChanged(mark) => (sql::WEBHOOKS_CHANGED, params![ws, mark]),
    })
}

fn log_params(ws: Uuid, log: LogRow) -> Vec<Param> {
    let LogRow { at, actor, action, subject, before, after } = log;
    params![ws, at.as_millis(), actor.map(|actor| actor.0), action, subject, before, after]
}

/// A line of the audit trail and the deliveries that announce it, in one statement.
fn event_statement(ws: Uuid, write: &EventWrite) -> Call {
    let mut params = log_params(ws, write.log.clone());
    let deliveries = &write.deliveries;
    params.extend(params![
        event_number(write.event),
        write.is_test,
        deliveries.iter().map(|delivery| delivery.id.0).collect::<Vec<_>>(),
        deliveries.iter().map(|delivery| delivery.target.endpoint.0).collect::<Vec<_>>(),
        deliveries.iter().map(|delivery| delivery.state().number()).collect::<Vec<_>>()
    ]);
    (sql::LOG_EVENT, params)
}

fn endpoint_params(ws: Uuid, stored: StoredEndpoint) -> Vec<Param> {
    let endpoint = stored.endpoint;
    let (previous, until) = stored.previous.unzip();
    params![
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
        endpoint.updated_at.as_millis()
    ]
}

fn layer_statement(ws: Uuid, write: LayerWrite) -> Call {
    let layer_params = |layer: &Layer| {
        // A layer is plain data: it always serialises.
        let state = serde_json::to_string(layer).unwrap_or_default();
        params![ws, layer.id.0, layer.slug.as_str().to_owned(), int(layer.revision), state]
    };
    match write {
        LayerWrite::Insert(layer) => (sql::INSERT_LAYER, layer_params(&layer)),
        LayerWrite::Save(layer) => (sql::SAVE_LAYER, layer_params(&layer)),
        LayerWrite::Remove { layer } => (sql::DELETE_LAYER, params![ws, int(layer)]),
        LayerWrite::SaveFeature(row) => feature_statement(ws, row),
        LayerWrite::RemoveFeature { layer, seq, .. } => {
            (sql::REMOVE_FEATURE, params![ws, int(layer), int(seq)])
        }
        LayerWrite::GrowExtent { layer, part, bounds: Bbox([w, s, e, n]) } => {
            (sql::GROW_EXTENT, params![ws, int(layer), int(part), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, part, bounds: Some(Bbox([w, s, e, n])) } => {
            (sql::SET_EXTENT, params![ws, int(layer), int(part), w, s, e, n])
        }
        LayerWrite::SetExtent { layer, part, bounds: None } => {
            (sql::REMOVE_EXTENT, params![ws, int(layer), int(part)])
        }
        LayerWrite::SaveBlock { layer, shelf, is_new, block } => {
            let Block { key: (centre, seq), bounds: GridBox { min_x, min_y, max_x, max_y }, bytes } =
                block;
            (
                if is_new { sql::INSERT_DRAWINGS } else { sql::UPDATE_DRAWINGS },
                params![
                    ws,
                    int(layer),
                    i16::from(shelf),
                    sortable(centre),
                    int(seq),
                    min_x,
                    min_y,
                    max_x,
                    max_y,
                    bytes
                ],
            )
        }
        LayerWrite::RemoveBlock { layer, shelf, key } => (
            sql::REMOVE_DRAWINGS,
            params![ws, int(layer), i16::from(shelf), sortable(key.0), int(key.1)],
        ),
        LayerWrite::SaveLong { layer, seq, zoom, shape } => {
            (sql::SAVE_LONG_DRAWING, params![ws, int(layer), int(seq), i16::from(zoom), shape])
        }
        LayerWrite::RemoveLong { layer, seq } => {
            (sql::REMOVE_LONG_DRAWINGS, params![ws, int(layer), int(seq)])
        }
    }
}

fn feature_statement(ws: Uuid, row: FeatureRow) -> Call {
    let FeatureRow { layer, is_new, has_heights, feature, at } = row;
    let (folder, assignment) = (feature.folder.map(|id| id.0), feature.assignment.map(|id| id.0));
    let geom = feature.geometry.as_deref().map(Ewkb::of);
    let heights = feature.geometry.filter(|_| has_heights);
    let (layer, seq) = (int(layer), int(feature.seq));
    let (properties, at) = (feature.properties, at.as_millis());
    if is_new {
        let params = params![
            ws,
            layer,
            seq,
            feature.id.0,
            feature.external_id,
            folder,
            assignment,
            geom,
            heights,
            properties,
            feature.created_at.as_millis(),
            at
        ];
        (sql::INSERT_FEATURE, params)
    } else {
        let params = params![ws, layer, seq, folder, assignment, geom, heights, properties, at];
        (sql::UPDATE_FEATURE, params)
    }
}

/// A shape as PostGIS takes it: WKB that names WGS 84.
#[derive(Debug)]
struct Ewkb(Vec<u8>);

impl Ewkb {
    fn of(wkb: &[u8]) -> Self {
        const HAS_SRID: u8 = 0x20;
        let mut bytes = Vec::with_capacity(wkb.len() + 4);
        if let [order, a, b, c, flags, rest @ ..] = wkb {
            bytes.extend_from_slice(&[*order, *a, *b, *c, flags | HAS_SRID]);
            bytes.extend_from_slice(&4326_u32.to_le_bytes());
            bytes.extend_from_slice(rest);
        }
        Self(bytes)
    }
}

impl ToSql for Ewkb {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "geometry"
    }

    tokio_postgres::types::to_sql_checked!();
}

fn row_params(ws: Uuid, row: Row) -> Vec<Param> {
    let Row { seq, record, document, search } = row;
    let mut params: Vec<Param> = vec![
        Box::new(ws),
        Box::new(int(seq)),
        Box::new(record.id().0),
        Box::new(record.reference().as_str().to_owned()),
        Box::new(document.json.into_bytes()),
        Box::new(document.people),
        Box::new(search),
    ];
    for link in Link::of(record.kind()) {
        params.push(Box::new(link.target(&record)));
    }
    params
}

pub(super) fn read_layer(row: &tokio_postgres::Row) -> Result<StoredLayer> {
    let layer = serde_json::from_str(row.try_get(1)?)?;
    Ok(StoredLayer { no: row.try_get::<_, i64>(0)?.unsigned_abs(), layer })
}

pub(super) fn read_feature(row: &tokio_postgres::Row) -> Result<StoredFeature> {
    let record = |column: usize| row.try_get::<_, Option<Uuid>>(column).map(|id| id.map(RecordId));
    Ok(StoredFeature {
        seq: row.try_get::<_, i64>(0)?.unsigned_abs(),
        id: GeometryId(row.try_get(1)?),
        external_id: row.try_get(2)?,
        folder: record(3)?,
        assignment: record(4)?,
        geometry: row.try_get(5)?,
        properties: row.try_get(6)?,
        created_at: Timestamp::from_millis(row.try_get(7)?),
        updated_at: Timestamp::from_millis(row.try_get(8)?),
    })
}

/// A row of [`sql::FEATURE`].
pub(super) fn read_feature_with_layer(
    row: &tokio_postgres::Row,
) -> Result<(StoredLayer, StoredFeature)> {
    let layer = serde_json::from_str(row.try_get(10)?)?;
    let layer = StoredLayer { no: row.try_get::<_, i64>(9)?.unsigned_abs(), layer };
    Ok((layer, read_feature(row)?))
}

/// A row of [`sql::INVITATION`].
pub(super) fn read_invitation(
    hash: SecretHash,
    row: &tokio_postgres::Row,
) -> Result<InvitationRow> {
    Ok(InvitationRow {
        id: InvitationId(row.try_get(0)?),
        workspace: WorkspaceId(row.try_get(1)?),
        hash,
        role: row.try_get::<_, &str>(2)?.parse().map_err(Error::Damaged)?,
        email: row.try_get(3)?,
        invited_by: row.try_get::<_, Option<Uuid>>(4)?.map(PersonId),
        created_at: Timestamp::from_millis(row.try_get(5)?),
        expires_at: Timestamp::from_millis(row.try_get(6)?),
    })
}

/// Ranges as the parallel arrays of a statement.
pub(super) fn range_arrays(ranges: &ShelfRanges) -> (Vec<i16>, Vec<i64>, Vec<i64>) {
    let shelves = ranges.iter().map(|(shelf, _)| i16::from(*shelf)).collect();
    let first = ranges.iter().map(|(_, (first, _))| sortable(*first)).collect();
    let last = ranges.iter().map(|(_, (_, last))| sortable(*last)).collect();
    (shelves, first, last)
}

pub(super) fn read_block(row: &tokio_postgres::Row) -> Result<StoredBlock> {
    Ok(StoredBlock {
        shelf: u8::try_from(row.try_get::<_, i16>(0)?).unwrap_or_default(),
        key: (centre(row.try_get(1)?), row.try_get::<_, i64>(2)?.unsigned_abs()),
        block: row.try_get(3)?,
    })
}

pub(super) fn read_workspace(row: &tokio_postgres::Row) -> Result<Workspace> {
    let damaged = |error: &str| Error::Damaged(error.to_owned());
    Ok(Workspace {
        id: WorkspaceId(row.try_get(0)?),
        name: WorkspaceName::parse(row.try_get(1)?)?,
        currency: row.try_get::<_, &str>(2)?.parse::<Currency>().map_err(damaged)?,
        created_at: Timestamp::from_millis(row.try_get(3)?),
    })
}

pub(super) fn read_member(row: &tokio_postgres::Row) -> Result<MemberRow> {
    let role: Option<&str> = row.try_get(4)?;
    Ok(MemberRow {
        person: Person {
            id: PersonId(row.try_get(0)?),
            name: row.try_get(1)?,
            email: read_email(row, 2)?,
        },
        user: row.try_get::<_, Option<Uuid>>(3)?.map(UserId),
        role: role.map(|role| role.parse().map_err(Error::Damaged)).transpose()?,
    })
}

fn read_collection(row: &tokio_postgres::Row) -> Result<Collection> {
    let count = |column: usize| row.try_get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(Collection {
        last_seq: count(0)?,
        last_reference: count(1)?,
        total: count(2)?,
        generation: count(3)?,
    })
}

fn read_stored(kind: Kind, row: &tokio_postgres::Row) -> Result<Stored> {
    let seq: i64 = row.try_get(0)?;
    Ok(Stored { seq: seq.unsigned_abs(), record: Record::from_document(kind, row.try_get(1)?)? })
}

pub(super) fn read_email(row: &tokio_postgres::Row, column: usize) -> Result<Email> {
    Email::parse(row.try_get(column)?).map_err(|error| Error::Damaged(error.to_owned()))
}

pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
