//! The operations of a transaction, carried out at once.

use super::{
    derived::Derived,
    layers::each_block,
    sql::{self, KindSql},
    webhooks::{read_endpoint, wall_millis},
};
use crate::{
    Error, Result,
    geometries::ShelfRanges,
    tx::{
        Collection, FeatureRow, InvitationRow, LayerWrite, Link, LogRow, MemberRow, Replay,
        ReplayKey, Row, Stored, StoredBlock, StoredFeature, StoredLayer, TokenWrite, Tx, UserRow,
        Write, kind_number, sortable,
    },
    webhooks::{Desk, EventWrite, Handed, LEASE_MILLIS, StoredEndpoint, event_number},
};
use groma_domain::{
    Currency, Email, GeometryId, InvitationId, Kind, Layer, Person, PersonId, Record, RecordId,
    Role, Status, Timestamp, TokenId, UserId, WorkspaceId,
    layer::LayerKey,
    reference::Key,
    secret::SecretHash,
    text::fold,
    workspace::{Workspace, WorkspaceName},
};
use groma_geo::{Bbox, grid::GridBox, tile_block::TileBlock};
use rusqlite::{CachedStatement, Connection, OptionalExtension, ToSql, params};
use uuid::Uuid;

/// A workspace's number is above, the place in its order below this bit.
const PLACE_BITS: u32 = 40;

pub(super) fn place(number: i64, seq: u64) -> i64 {
    number << PLACE_BITS | i64::try_from(seq).unwrap_or(i64::MAX)
}

pub(super) fn seq(place: i64) -> u64 {
    place.unsigned_abs() & ((1 << PLACE_BITS) - 1)
}

/// The first and the last place of a workspace.
pub(super) fn places(number: i64) -> (i64, i64) {
    (place(number, 0), place(number + 1, 0) - 1)
}

pub(super) struct SqliteTx<'c> {
    connection: &'c mut Connection,
    desk: &'c Desk,
    number: Option<(WorkspaceId, i64)>,
    /// The mark that the endpoints of the locked workspace had.
    mark: Option<(WorkspaceId, i64)>,
    handed: Handed,
    derived: Derived,
}

impl<'c> SqliteTx<'c> {
    pub(super) fn new(connection: &'c mut Connection, desk: &'c Desk) -> Self {
        Self {
            connection,
            desk,
            number: None,
            mark: None,
            handed: Handed::default(),
            derived: Derived::default(),
        }
    }

    /// What is handed over when this is committed, and what is to be written before.
    pub(super) fn into_parts(self) -> (Handed, Derived) {
        (self.handed, self.derived)
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    fn execute(&self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        self.prepare(sql)?.execute(params)?;
        Ok(())
    }

    fn number(&mut self, workspace: WorkspaceId) -> Result<i64> {
        if let Some((known, number)) = self.number
            && known == workspace
        {
            return Ok(number);
        }
        let number = workspace_number(self.connection, workspace)?.unwrap_or(-1);
        self.number = Some((workspace, number));
        Ok(number)
    }

    fn write_one(&mut self, ws: i64, write: Write) -> Result<()> {
        match write {
            Write::InsertRecord(row) => {
                let kind = row.record.kind();
                self.write_row(&KindSql::of(kind).insert, ws, &row)?;
                self.derived.note(kind, place(ws, row.seq));
                self.derived.note_text(kind, place(ws, row.seq), false, Some(row.search));
                Ok(())
            }
            Write::UpdateRecord { row, search_changed } => {
                let kind = row.record.kind();
                self.write_row(&KindSql::of(kind).update, ws, &row)?;
                self.derived.note(kind, place(ws, row.seq));
                if search_changed {
                    self.derived.note_text(kind, place(ws, row.seq), true, Some(row.search));
                }
                Ok(())
            }
            Write::RemoveRecord { kind, seq } => {
                let place = place(ws, seq);
                self.execute(&KindSql::of(kind).remove, &[&place])?;
                self.derived.note(kind, place);
                self.derived.note_text(kind, place, true, None);
                Ok(())
            }
            Write::FreeReference { kind, seq, id } => self.execute(
                &KindSql::of(kind).free_reference,
                params![place(ws, seq), id.to_string()],
            ),
            Write::FreeStatusName(id) => {
                self.execute(sql::FREE_STATUS_NAME, params![ws, id.0, id.to_string()])
            }
            Write::SaveCollection { kind, collection: c } => self.execute(
                sql::SAVE_COLLECTION,
                params![
                    ws,
                    kind_number(kind),
                    int(c.last_seq),
                    int(c.last_reference),
                    int(c.total),
                    int(c.generation)
                ],
            ),
            Write::AdjustBlock { kind, block, by, generation } => self.execute(
                sql::ADJUST_BLOCK,
                params![ws, kind_number(kind), int(block), by, int(generation)],
            ),
            Write::SaveStatus(status) => self.execute(
                sql::SAVE_STATUS,
                params![
                    ws,
                    status.id.0,
                    kind_number(status.applies_to),
                    fold(&status.name),
                    status.document()
                ],
            ),
            Write::RemoveStatus(id) => self.execute(sql::REMOVE_STATUS, params![ws, id.0]),
            Write::SavePerson { row: MemberRow { person, user, role }, at } => self.execute(
                sql::SAVE_PERSON,
                params![
                    ws,
                    person.id.0,
                    person.email.as_str(),
                    person.email.key(),
                    person.name,
                    user.map(|user| user.0),
                    role.map(Role::name),
                    at.as_millis()
                ],
            ),
            Write::PeopleChanged => self.execute(sql::PEOPLE_CHANGED, params![ws]),
            Write::SaveUser { user, at } => self.execute(
                sql::SAVE_USER,
                params![
                    user.id.0,
                    user.email.as_str(),
                    user.email.key(),
                    user.name,
                    at.as_millis()
                ],
            ),
            Write::SetPassword { user, hash } => {
                self.execute(sql::SET_PASSWORD, params![user.0, hash])
            }
            Write::EndSessions { user, except } => {
                self.execute(sql::END_SESSIONS, params![user.0, except.map(|session| session.0)])
            }
            Write::SaveWorkspace(w) => self.execute(
                sql::SAVE_WORKSPACE,
                params![w.id.0, w.name.as_str(), w.name.key(), w.currency.code()],
            ),
            Write::InsertInvitation(i) => self.execute(
                sql::INSERT_INVITATION,
                params![
                    i.id.0,
                    ws,
                    i.hash.0,
                    i.role.name(),
                    i.email,
                    i.invited_by.map(|person| person.0),
                    i.created_at.as_millis(),
                    i.expires_at.as_millis()
                ],
            ),
            Write::RemoveInvitation(id) => self.execute(sql::REMOVE_INVITATION, params![ws, id.0]),
            Write::RevokeTokensOf { person, at } => {
                self.execute(sql::REVOKE_TOKENS_OF, params![ws, person.0, at.as_millis()])
            }
            Write::InsertWorkspace(w) => self.execute(
                sql::INSERT_WORKSPACE,
                params![
                    w.id.0,
                    w.name.as_str(),
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
            }) => self.execute(
                sql::INSERT_TOKEN,
                params![
                    id.0,
                    ws,
                    person.0,
                    name,
                    hash.0,
                    scopes.to_string(),
                    created_at.as_millis(),
                    expires_at.map(Timestamp::as_millis),
                    hint
                ],
            ),
            Write::RevokeToken { token, at } => {
                self.execute(sql::REVOKE_TOKEN, params![ws, token.0, at.as_millis()])
            }
            Write::Layer(write) => self.write_layer(ws, write),
            Write::UnlinkFeatures { kind, id } => {
                let folder = kind == Kind::Folder;
                let sql = if folder { sql::UNLINK_FOLDER } else { sql::UNLINK_ASSIGNMENT };
                self.execute(sql, params![id.0])
            }
            Write::SaveReplay { request, body_hash, answer, at } => self.execute(
                sql::SAVE_REPLAY,
                params![
                    request.token.0,
                    request.path,
                    request.key,
                    body_hash,
                    answer,
                    at.as_millis()
                ],
            ),
            Write::LogChange(log) => self.log(ws, &log),
            Write::LogEvent(write) => self.log_event(ws, write),
            Write::InsertEndpoint(stored) => self.save_endpoint(sql::INSERT_ENDPOINT, ws, &stored),
            Write::SaveEndpoint(stored) => self.save_endpoint(sql::SAVE_ENDPOINT, ws, &stored),
            Write::RemoveEndpoint { endpoint, at } => {
                self.execute(sql::REMOVE_ENDPOINT, params![ws, endpoint.0, at.as_millis()])
            }
            Write::WebhooksChanged(mark) => {
                self.mark = None;
                self.handed.stirs = true;
                self.execute(sql::WEBHOOKS_CHANGED, params![ws, mark])
            }
        }
    }

    fn write_layer(&self, ws: i64, write: LayerWrite) -> Result<()> {
        match write {
            LayerWrite::Insert(layer) => self.save_layer(sql::INSERT_LAYER, ws, &layer),
            LayerWrite::Save(layer) => self.save_layer(sql::SAVE_LAYER, ws, &layer),
            LayerWrite::Remove { layer } => {
                self.execute(sql::DELETE_LAYER, params![ws, int(layer)])
            }
            LayerWrite::SaveFeature(row) => self.save_feature(&row),
            LayerWrite::RemoveFeature { layer, seq, external_id } => {
                if let Some(id) = external_id {
                    self.execute(sql::REMOVE_FEATURE_KEY, params![int(layer), id])?;
                }
                self.execute(sql::REMOVE_FEATURE, params![place(int(layer), seq)])
            }
            LayerWrite::GrowExtent { layer, part, bounds: Bbox([w, s, e, n]) } => {
                self.execute(sql::GROW_EXTENT, params![int(layer), int(part), w, s, e, n])
            }
            LayerWrite::SetExtent { layer, part, bounds: Some(Bbox([w, s, e, n])) } => {
                self.execute(sql::SET_EXTENT, params![int(layer), int(part), w, s, e, n])
            }
            LayerWrite::SetExtent { layer, part, bounds: None } => {
                self.execute(sql::REMOVE_EXTENT, params![int(layer), int(part)])
            }
            LayerWrite::SaveBlock { layer, shelf, is_new, block } => {
                let TileBlock {
                    key: (centre, seq),
                    bounds: GridBox { min_x, min_y, max_x, max_y },
                    bytes,
                } = block;
                self.execute(
                    if is_new { sql::INSERT_DRAWINGS } else { sql::UPDATE_DRAWINGS },
                    params![
                        int(layer),
                        shelf,
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
            LayerWrite::RemoveBlock { layer, shelf, key } => self.execute(
                sql::REMOVE_DRAWINGS,
                params![int(layer), shelf, sortable(key.0), int(key.1)],
            ),
            LayerWrite::SaveLong { layer, seq, zoom, shape } => {
                self.execute(sql::SAVE_LONG_DRAWING, params![int(layer), int(seq), zoom, shape])
            }
            LayerWrite::RemoveLong { layer, seq } => {
                self.execute(sql::REMOVE_LONG_DRAWINGS, params![int(layer), int(seq)])
            }
        }
    }

    fn log(&self, ws: i64, log: &LogRow) -> Result<()> {
        let LogRow { at, actor, action, subject, before, after } = log;
        let actor = actor.map(|actor| actor.0);
        self.execute(
            sql::LOG_CHANGE,
            params![ws, at.as_millis(), actor, action, subject, before, after],
        )
    }

    fn log_event(&mut self, ws: i64, write: EventWrite) -> Result<()> {
        self.log(ws, &write.log)?;
        let change = self.connection.last_insert_rowid();
        let at = write.log.at.as_millis();
        for delivery in &write.deliveries {
            let due_at = if delivery.place.is_some() { wall_millis() + LEASE_MILLIS } else { at };
            self.execute(
                sql::INSERT_DELIVERY,
                params![
                    delivery.id.0,
                    ws,
                    delivery.target.no,
                    change,
                    event_number(write.event),
                    write.is_test,
                    delivery.state().number(),
                    0,
                    due_at,
                    at,
                    None::<i64>
                ],
            )?;
        }
        self.handed.add(write.into_handed());
        Ok(())
    }

    fn save_endpoint(&self, sql: &str, ws: i64, stored: &StoredEndpoint) -> Result<()> {
        let endpoint = &stored.endpoint;
        let (previous, until) = stored.previous.as_ref().map_or((None, None), |(secret, until)| {
            (Some(secret.as_slice()), Some(until.as_millis()))
        });
        self.execute(
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
                endpoint.updated_at.as_millis()
            ],
        )
    }

    fn save_layer(&self, sql: &str, ws: i64, layer: &Layer) -> Result<()> {
        let state = serde_json::to_string(layer)?;
        let (slug, revision) = (layer.slug.as_str(), int(layer.revision));
        self.execute(sql, params![ws, layer.id.0, slug, revision, state])
    }

    fn save_feature(&self, row: &FeatureRow) -> Result<()> {
        let feature = &row.feature;
        let place = place(int(row.layer), feature.seq);
        let (folder, assignment) =
            (feature.folder.map(|id| id.0), feature.assignment.map(|id| id.0));
        if !row.is_new {
            return self.execute(
                sql::UPDATE_FEATURE,
                params![
                    place,
                    folder,
                    assignment,
                    feature.geometry,
                    feature.properties,
                    row.at.as_millis()
                ],
            );
        }
        self.execute(
            sql::INSERT_FEATURE,
            params![
                place,
                feature.id.0,
                feature.external_id,
                folder,
                assignment,
                feature.geometry,
                feature.properties,
                feature.created_at.as_millis(),
                row.at.as_millis()
            ],
        )?;
        match &feature.external_id {
            Some(id) => {
                self.execute(sql::SAVE_FEATURE_KEY, params![int(row.layer), id, int(feature.seq)])
            }
            None => Ok(()),
        }
    }

    fn write_row(&self, sql: &str, ws: i64, row: &Row) -> Result<()> {
        let record = &row.record;
        let (place, id) = (place(ws, row.seq), record.id().0);
        let links: Vec<_> =
            Link::of(record.kind()).iter().map(|link| link.target(record)).collect();
        let reference = record.reference().as_str();
        let mut values: Vec<&dyn ToSql> =
            vec![&place, &ws, &id, &reference, &row.document.json, &row.document.person_offsets];
        values.extend(links.iter().map(|link| link as &dyn ToSql));
        self.execute(sql, &values)
    }
}

impl Tx for SqliteTx<'_> {
    async fn lock_workspace(&mut self, workspace: WorkspaceId) -> Result<Option<Workspace>> {
        // The one writer is the lock.
        let found = self
            .prepare(sql::WORKSPACE)?
            .query_row([workspace.0], |row| Ok((read_workspace(row)?, row.get(4)?)))
            .optional()?;
        self.mark = found.as_ref().map(|(_, mark)| (workspace, *mark));
        Ok(found.map(|(workspace, _)| workspace))
    }

    async fn find(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<Stored>> {
        let ws = self.number(workspace)?;
        let sql = KindSql::of(kind);
        let found = match key {
            Key::Id(id) => self
                .prepare(&sql.by_id)?
                .query_row(params![ws, id.0], |row| read_stored(kind, row))
                .optional()?,
            Key::Reference(reference) => self
                .prepare(&sql.by_reference)?
                .query_row(params![ws, reference.as_str()], |row| read_stored(kind, row))
                .optional()?,
        };
        Ok(found)
    }

    async fn linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<Vec<Stored>> {
        let ws = self.number(workspace)?;
        let Some(sql) = KindSql::of(kind).linked(link) else { return Ok(Vec::new()) };
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(params![ws, id], |row| read_stored(kind, row))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn is_linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> Result<bool> {
        let ws = self.number(workspace)?;
        let Some(sql) = KindSql::of(kind).is_linked(link) else { return Ok(false) };
        Ok(self.prepare(sql)?.exists(params![ws, id])?)
    }

    async fn statuses(&mut self, workspace: WorkspaceId) -> Result<Vec<Status>> {
        let ws = self.number(workspace)?;
        let mut statement = self.prepare(sql::STATUSES)?;
        let mut rows = statement.query([ws])?;
        let mut statuses = Vec::new();
        while let Some(row) = rows.next()? {
            statuses.push(serde_json::from_str(
                row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?,
            )?);
        }
        Ok(statuses)
    }

    async fn collection(&mut self, workspace: WorkspaceId, kind: Kind) -> Result<Collection> {
        let ws = self.number(workspace)?;
        let found =
            self.prepare(sql::COLLECTION)?.query_row(params![ws, kind_number(kind)], |row| {
                Ok(Collection {
                    last_seq: row.get::<_, i64>(0)?.unsigned_abs(),
                    last_reference: row.get::<_, i64>(1)?.unsigned_abs(),
                    total: row.get::<_, i64>(2)?.unsigned_abs(),
                    generation: row.get::<_, i64>(3)?.unsigned_abs(),
                })
            });
        Ok(found.optional()?.unwrap_or_default())
    }

    async fn person(&mut self, workspace: WorkspaceId, id: PersonId) -> Result<Option<MemberRow>> {
        let ws = self.number(workspace)?;
        Ok(self.prepare(sql::PERSON)?.query_row(params![ws, id.0], read_member).optional()?)
    }

    async fn person_by_email(
        &mut self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Option<MemberRow>> {
        let ws = self.number(workspace)?;
        Ok(self
            .prepare(sql::PERSON_BY_EMAIL)?
            .query_row(params![ws, email.key()], read_member)
            .optional()?)
    }

    async fn owners(&mut self, workspace: WorkspaceId) -> Result<u64> {
        let ws = self.number(workspace)?;
        let owners: i64 = self.prepare(sql::OWNERS)?.query_row([ws], |row| row.get(0))?;
        Ok(owners.unsigned_abs())
    }

    async fn workspace_named(&mut self, name_key: &str) -> Result<bool> {
        Ok(self.prepare(sql::WORKSPACE_NAMED)?.exists([name_key])?)
    }

    async fn user_by_email(&mut self, email: &Email) -> Result<Option<UserRow>> {
        let found = self.prepare(sql::USER_BY_EMAIL)?.query_row([email.key()], |row| {
            Ok(UserRow { id: UserId(row.get(0)?), email: read_email(row, 1)?, name: row.get(2)? })
        });
        Ok(found.optional()?)
    }

    async fn has_users(&mut self) -> Result<bool> {
        Ok(self.prepare(sql::HAS_USERS)?.exists([])?)
    }

    async fn invitation(&mut self, hash: &SecretHash) -> Result<Option<InvitationRow>> {
        read_invitation(self.connection, hash)
    }

    async fn token_owner(
        &mut self,
        workspace: WorkspaceId,
        token: TokenId,
    ) -> Result<Option<PersonId>> {
        let ws = self.number(workspace)?;
        let found = self
            .prepare(sql::TOKEN_OWNER)?
            .query_row(params![ws, token.0], |row| row.get(0).map(PersonId));
        Ok(found.optional()?)
    }

    async fn layer(
        &mut self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<Option<StoredLayer>> {
        let ws = self.number(workspace)?;
        let found = match key {
            LayerKey::Id(id) => {
                self.prepare(sql::LAYER_BY_ID)?.query_row(params![ws, id.0], read_layer)
            }
            LayerKey::Slug(slug) => {
                self.prepare(sql::LAYER_BY_SLUG)?.query_row(params![ws, slug], read_layer)
            }
        };
        Ok(found.optional()?)
    }

    async fn layers(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredLayer>> {
        let ws = self.number(workspace)?;
        let mut statement = self.prepare(sql::LAYERS)?;
        Ok(statement.query_map([ws], read_layer)?.collect::<rusqlite::Result<_>>()?)
    }

    async fn features_by_external_id(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        ids: &[&str],
    ) -> Result<Vec<StoredFeature>> {
        let mut keys = self.prepare(sql::FEATURE_KEY)?;
        let mut features = self.prepare(sql::FEATURES_BETWEEN)?;
        let mut found = Vec::new();
        for id in ids {
            let seq: Option<i64> =
                keys.query_row(params![int(layer), id], |row| row.get(0)).optional()?;
            if let Some(seq) = seq {
                let place = place(int(layer), seq.unsigned_abs());
                found.extend(features.query_row([place, place, 1], read_feature).optional()?);
            }
        }
        Ok(found)
    }

    async fn features_between(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        first: u64,
        last: u64,
    ) -> Result<Vec<StoredFeature>> {
        let mut statement = self.prepare(sql::FEATURES_BETWEEN)?;
        let (first, last) = (place(int(layer), first), place(int(layer), last));
        let rows = statement.query_map([first, last, -1], read_feature)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn feature(
        &mut self,
        workspace: WorkspaceId,
        id: GeometryId,
    ) -> Result<Option<(StoredLayer, StoredFeature)>> {
        let ws = self.number(workspace)?;
        find_feature(self.connection, ws, id)
    }

    async fn folders_of_layer(&mut self, _: WorkspaceId, layer: u64) -> Result<Vec<RecordId>> {
        let mut statement = self.prepare(sql::FOLDERS_OF_LAYER)?;
        let (first, last) = (place(int(layer), 0), place(int(layer) + 1, 0) - 1);
        let rows = statement.query_map([first, last], |row| row.get(0).map(RecordId))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn shapes_of_folder(&mut self, _: WorkspaceId, folder: RecordId) -> Result<Vec<Vec<u8>>> {
        let mut statement = self.prepare(sql::SHAPES_OF_FOLDER)?;
        let rows = statement.query_map([folder.0], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn extents(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        parts: Option<&[u64]>,
    ) -> Result<Vec<(u64, Bbox)>> {
        let read = |row: &rusqlite::Row<'_>| {
            let bounds = Bbox([row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]);
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), bounds))
        };
        let Some(parts) = parts else {
            let mut statement = self.prepare(sql::EXTENTS)?;
            let rows = statement.query_map([int(layer)], read)?;
            return Ok(rows.collect::<rusqlite::Result<_>>()?);
        };
        let mut statement = self.prepare(sql::EXTENT)?;
        let mut extents = Vec::new();
        for part in parts {
            extents.extend(statement.query_row([int(layer), int(*part)], read).optional()?);
        }
        Ok(extents)
    }

    async fn blocks(
        &mut self,
        _: WorkspaceId,
        layer: u64,
        ranges: &ShelfRanges,
    ) -> Result<Vec<StoredBlock>> {
        let mut blocks = Vec::new();
        each_block(self.connection, int(layer), ranges, |shelf, key, block| {
            blocks.push(StoredBlock { shelf, key, block: block.to_vec() });
        })?;
        Ok(blocks)
    }

    async fn replay(&mut self, _: WorkspaceId, request: &ReplayKey) -> Result<Option<Replay>> {
        let ReplayKey { token, path, key } = request;
        let found = self.prepare(sql::REPLAY)?.query_row(params![token.0, path, key], |row| {
            Ok(Replay {
                body_hash: row.get(0)?,
                answer: row.get(1)?,
                at: Timestamp::from_millis(row.get(2)?),
            })
        });
        Ok(found.optional()?)
    }

    async fn endpoints(&mut self, workspace: WorkspaceId) -> Result<Vec<StoredEndpoint>> {
        let ws = self.number(workspace)?;
        let mut statement = self.prepare(sql::ENDPOINTS)?;
        Ok(statement.query_map([ws], read_endpoint)?.collect::<rusqlite::Result<_>>()?)
    }

    fn desk(&self) -> &Desk {
        self.desk
    }

    fn mark(&self, workspace: WorkspaceId) -> Option<i64> {
        self.mark.filter(|(of, _)| *of == workspace).map(|(_, mark)| mark)
    }

    async fn write(&mut self, workspace: WorkspaceId, writes: Vec<Write>) -> Result<()> {
        for write in writes {
            let ws = match write {
                Write::InsertWorkspace(_) => -1,
                _ => self.number(workspace)?,
            };
            let made = matches!(write, Write::InsertWorkspace(_));
            self.write_one(ws, write)?;
            if made {
                self.number = None;
            }
        }
        Ok(())
    }
}

pub(super) fn workspace_number(
    connection: &Connection,
    workspace: WorkspaceId,
) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(sql::WORKSPACE_NUMBER)?;
    Ok(statement.query_row([workspace.0], |row| row.get(0)).optional()?)
}

/// The invitation of a link.
pub(super) fn read_invitation(
    connection: &Connection,
    hash: &SecretHash,
) -> Result<Option<InvitationRow>> {
    let mut statement = connection.prepare_cached(sql::INVITATION)?;
    let found = statement.query_row([&hash.0[..]], |row| {
        Ok(InvitationRow {
            id: InvitationId(row.get(0)?),
            workspace: WorkspaceId(row.get(1)?),
            hash: *hash,
            role: read_role(row, 2)?,
            email: row.get(3)?,
            invited_by: row.get::<_, Option<Uuid>>(4)?.map(PersonId),
            created_at: Timestamp::from_millis(row.get(5)?),
            expires_at: Timestamp::from_millis(row.get(6)?),
        })
    });
    Ok(found.optional()?)
}

pub(super) fn read_role(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Role> {
    let role: String = row.get(column)?;
    role.parse().map_err(|error| damaged(column, Error::Damaged(error)))
}

/// A feature of a workspace by its id, with its layer.
pub(super) fn find_feature(
    connection: &Connection,
    ws: i64,
    id: GeometryId,
) -> Result<Option<(StoredLayer, StoredFeature)>> {
    let mut statement = connection.prepare_cached(sql::FEATURE)?;
    let found = statement.query_row([id.0], |row| Ok((row.get::<_, i64>(0)?, read_feature(row)?)));
    let Some((place, feature)) = found.optional()? else { return Ok(None) };
    let mut statement = connection.prepare_cached(sql::LAYER_BY_NUMBER)?;
    let layer = statement.query_row([ws, place >> PLACE_BITS], read_layer).optional()?;
    Ok(layer.map(|layer| (layer, feature)))
}

pub(super) fn read_workspace(row: &rusqlite::Row<'_>) -> rusqlite::Result<Workspace> {
    let name: String = row.get(1)?;
    let currency: String = row.get(2)?;
    Ok(Workspace {
        id: WorkspaceId(row.get(0)?),
        name: WorkspaceName::parse(&name).map_err(|error| damaged(1, error))?,
        currency: currency
            .parse::<Currency>()
            .map_err(|error| damaged(2, Error::Damaged(error.to_string())))?,
        created_at: Timestamp::from_millis(row.get(3)?),
    })
}

pub(super) fn read_member(row: &rusqlite::Row<'_>) -> rusqlite::Result<MemberRow> {
    let role: Option<String> = row.get(4)?;
    Ok(MemberRow {
        person: Person { id: PersonId(row.get(0)?), name: row.get(1)?, email: read_email(row, 2)? },
        user: row.get::<_, Option<Uuid>>(3)?.map(UserId),
        role: role
            .map(|role| role.parse().map_err(|error| damaged(4, Error::Damaged(error))))
            .transpose()?,
    })
}

pub(super) fn read_layer(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredLayer> {
    let state = row.get_ref(1)?.as_str()?;
    let layer = serde_json::from_str(state).map_err(|error| damaged(1, error))?;
    Ok(StoredLayer { no: row.get::<_, i64>(0)?.unsigned_abs(), layer })
}

pub(super) fn read_feature(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredFeature> {
    let record = |column| row.get::<_, Option<Uuid>>(column).map(|id| id.map(RecordId));
    Ok(StoredFeature {
        seq: seq(row.get(0)?),
        id: GeometryId(row.get(1)?),
        external_id: row.get(2)?,
        folder: record(3)?,
        assignment: record(4)?,
        geometry: row.get(5)?,
        properties: row.get(6)?,
        created_at: Timestamp::from_millis(row.get(7)?),
        updated_at: Timestamp::from_millis(row.get(8)?),
    })
}

fn read_stored(kind: Kind, row: &rusqlite::Row<'_>) -> rusqlite::Result<Stored> {
    let json = row.get_ref(1)?.as_bytes()?;
    let record = Record::from_document(kind, json).map_err(|error| damaged(1, error))?;
    Ok(Stored { seq: seq(row.get(0)?), record })
}

pub(super) fn read_email(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Email> {
    let text: String = row.get(column)?;
    Email::parse(&text).map_err(|error| damaged(column, Error::Damaged(error.to_string())))
}

pub(super) fn damaged(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
