//! The operations of a transaction, carried out at once.

use super::sql::{self, KindSql};
use crate::{
    Error, Result,
    tx::{
        Collection, Link, LogRow, MemberRow, Row, Stored, TokenWrite, Tx, UserRow, Write,
        kind_number,
    },
};
use groma_domain::{
    Currency, Email, Kind, Person, PersonId, Record, Role, Status, Timestamp, UserId, WorkspaceId,
    reference::Key,
    text::{FIELD_SEPARATOR, fold},
    workspace::{Workspace, WorkspaceName},
};
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
    number: Option<(WorkspaceId, i64)>,
}

impl<'c> SqliteTx<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        Self { connection, number: None }
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

    fn write_one(&self, ws: i64, write: Write) -> Result<()> {
        match write {
            Write::InsertRecord(row) => {
                let kind = KindSql::of(row.record.kind());
                self.write_row(&kind.insert, ws, &row)?;
                self.index(kind, ws, &row)
            }
            Write::UpdateRecord { row, search_changed } => {
                let kind = KindSql::of(row.record.kind());
                self.write_row(&kind.update, ws, &row)?;
                if search_changed {
                    self.execute(&kind.unindex, &[&place(ws, row.seq)])?;
                    self.index(kind, ws, &row)?;
                }
                Ok(())
            }
            Write::RemoveRecord { kind, seq } => {
                let kind = KindSql::of(kind);
                self.execute(&kind.remove, &[&place(ws, seq)])?;
                self.execute(&kind.unindex, &[&place(ws, seq)])
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
                    expires_at.map(Timestamp::as_millis)
                ],
            ),
            Write::RevokeToken { token, at } => {
                self.execute(sql::REVOKE_TOKEN, params![ws, token.0, at.as_millis()])
            }
            Write::LogChange(LogRow { at, actor, action, subject, before, after }) => self.execute(
                sql::LOG_CHANGE,
                params![
                    ws,
                    at.as_millis(),
                    actor.map(|actor| actor.0),
                    action,
                    subject,
                    before,
                    after
                ],
            ),
        }
    }

    fn write_row(&self, sql: &str, ws: i64, row: &Row) -> Result<()> {
        let record = &row.record;
        let (place, id) = (place(ws, row.seq), record.id().0);
        let links: Vec<_> =
            Link::of(record.kind()).iter().map(|link| link.target(record)).collect();
        let reference = record.reference().as_str();
        let mut values: Vec<&dyn ToSql> =
            vec![&place, &ws, &id, &reference, &row.document.json, &row.document.people];
        values.extend(links.iter().map(|link| link as &dyn ToSql));
        self.execute(sql, &values)
    }

    fn index(&self, kind: &KindSql, ws: i64, row: &Row) -> Result<()> {
        // Two separators behind the text give every character a trigram that begins with it, so that
        // terms of one or two characters can be looked up as beginnings of trigrams.
        let text = format!("{}{FIELD_SEPARATOR}{FIELD_SEPARATOR}", row.search);
        self.execute(&kind.index, &[&place(ws, row.seq), &text])
    }
}

impl Tx for SqliteTx<'_> {
    async fn lock_workspace(&mut self, workspace: WorkspaceId) -> Result<Option<Workspace>> {
        // The one writer is the lock.
        Ok(self.prepare(sql::WORKSPACE)?.query_row([workspace.0], read_workspace).optional()?)
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

pub(super) fn read_workspace(row: &rusqlite::Row<'_>) -> rusqlite::Result<Workspace> {
    let name: String = row.get(1)?;
    let currency: String = row.get(2)?;
    Ok(Workspace {
        id: WorkspaceId(row.get(0)?),
        name: WorkspaceName::parse(&name).map_err(|error| damaged(1, error))?,
        currency: currency
            .parse::<Currency>()
            .map_err(|error| damaged(2, Error::Damaged(error.to_owned())))?,
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

fn read_stored(kind: Kind, row: &rusqlite::Row<'_>) -> rusqlite::Result<Stored> {
    let json = row.get_ref(1)?.as_bytes()?;
    let record = Record::from_document(kind, json).map_err(|error| damaged(1, error))?;
    Ok(Stored { seq: seq(row.get(0)?), record })
}

fn read_email(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Email> {
    let text: String = row.get(column)?;
    Email::parse(&text).map_err(|error| damaged(column, Error::Damaged(error.to_owned())))
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
