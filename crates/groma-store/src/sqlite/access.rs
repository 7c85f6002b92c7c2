//! Who comes in, on SQLite.

use super::{
    Sqlite, sql,
    tx::{read_email, read_invitation, read_member, read_role, read_workspace},
};
use crate::{
    Account, Bucket, Invitation, KnownPerson, Membership, NewSession, Result, Session, SessionRow,
    access::{ATTEMPT_COUNTS_FOR_MILLIS, DEVICE_IS_KNOWN_FOR_MILLIS},
};
use groma_domain::{
    Email, InvitationId, Person, PersonId, SessionId, Timestamp, UserId, WorkspaceId,
    secret::SecretHash, workspace::Workspace,
};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

impl Sqlite {
    pub(crate) async fn has_users(&self) -> Result<bool> {
        self.read(|connection| Ok(connection.prepare_cached(sql::HAS_USERS)?.exists([])?))
    }

    pub(crate) async fn account(&self, email: &Email) -> Result<Option<Account>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::ACCOUNT)?;
            let found = statement.query_row([email.key()], |row| {
                Ok(Account { user: UserId(row.get(0)?), password_hash: row.get(1)? })
            });
            Ok(found.optional()?)
        })
    }

    pub(crate) async fn begin_attempt(&self, buckets: Vec<Bucket>, now: Timestamp) -> Result<bool> {
        let since = now.as_millis() - ATTEMPT_COUNTS_FOR_MILLIS;
        let begin = move |connection: &mut Connection| {
            connection.prepare_cached(sql::FORGET_OLD_ATTEMPTS)?.execute([since])?;
            for bucket in &buckets {
                let mut statement = connection.prepare_cached(sql::LOGIN_ATTEMPTS)?;
                let failed: i64 =
                    statement.query_row(params![bucket.name, since], |row| row.get(0))?;
                if failed >= i64::from(bucket.limit) {
                    return Ok(false);
                }
            }
            for bucket in &buckets {
                let mut statement = connection.prepare_cached(sql::NOTE_ATTEMPT)?;
                statement.execute(params![bucket.name, now.as_millis()])?;
            }
            Ok(true)
        };
        self.writer.write(begin).await
    }

    pub(crate) async fn forget_attempt(&self, buckets: Vec<Bucket>, at: Timestamp) -> Result<()> {
        let forget = move |connection: &mut Connection| {
            for (place, bucket) in buckets.iter().enumerate() {
                let from = if place == 0 { 0 } else { at.as_millis() };
                let mut statement = connection.prepare_cached(sql::FORGET_ATTEMPT)?;
                statement.execute(params![bucket.name, from, at.as_millis()])?;
            }
            Ok(())
        };
        self.writer.write(forget).await
    }

    pub(crate) async fn knows_device(&self, user: UserId, device: &SecretHash) -> Result<bool> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::DEVICE)?;
            Ok(statement.exists(params![device.0, user.0])?)
        })
    }

    pub(crate) async fn open_session(
        &self,
        id: SessionId,
        session: NewSession,
        device: Option<SecretHash>,
    ) -> Result<()> {
        let open = move |connection: &mut Connection| {
            let (user, now) = (session.user.0, session.now.as_millis());
            connection.prepare_cached(sql::INSERT_SESSION)?.execute(params![
                id.0,
                session.hash.0,
                user,
                now,
                session.ends_at.as_millis(),
                session.user_agent,
                session.address
            ])?;
            connection.prepare_cached(sql::FORGET_SESSIONS)?.execute([now])?;
            if let Some(device) = device {
                let old = now - DEVICE_IS_KNOWN_FOR_MILLIS;
                connection.prepare_cached(sql::FORGET_DEVICES)?.execute(params![user, old])?;
                let mut statement = connection.prepare_cached(sql::SAVE_DEVICE)?;
                statement.execute(params![device.0, user, now])?;
            }
            Ok(())
        };
        self.writer.write(open).await
    }

    pub(crate) async fn session(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<Session>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::OPEN_SESSION)?;
            let found = statement.query_row(params![hash.0, now.as_millis()], read_session);
            let Some(mut session) = found.optional()? else { return Ok(None) };
            let mut statement = connection.prepare_cached(sql::MEMBERSHIPS)?;
            let rows = statement.query_map([session.user.0], |row| {
                Ok(Membership {
                    workspace: read_workspace(row)?,
                    person: Person {
                        id: PersonId(row.get(4)?),
                        name: row.get(5)?,
                        email: read_email(row, 6)?,
                    },
                    role: read_role(row, 7)?,
                })
            })?;
            session.memberships = rows.collect::<rusqlite::Result<_>>()?;
            Ok(Some(session))
        })
    }

    pub(crate) async fn touch_session(
        &self,
        session: SessionId,
        now: Timestamp,
        ends_at: Timestamp,
    ) -> Result<()> {
        self.write_one(sql::TOUCH_SESSION, (session.0, now.as_millis(), ends_at.as_millis())).await
    }

    pub(crate) async fn enter_workspace(
        &self,
        session: SessionId,
        user: UserId,
        workspace: WorkspaceId,
    ) -> Result<()> {
        self.write_one(sql::ENTER_WORKSPACE, (session.0, user.0, workspace.0)).await
    }

    pub(crate) async fn sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRow>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::SESSIONS)?;
            let rows = statement.query_map(params![user.0, now.as_millis()], |row| {
                Ok(SessionRow {
                    id: SessionId(row.get(0)?),
                    created_at: Timestamp::from_millis(row.get(1)?),
                    last_seen_at: Timestamp::from_millis(row.get(2)?),
                    ends_at: Timestamp::from_millis(row.get(3)?),
                    user_agent: row.get(4)?,
                    address: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) async fn end_session(&self, user: UserId, session: SessionId) -> Result<()> {
        self.write_one(sql::END_SESSION, (user.0, session.0)).await
    }

    pub(crate) async fn invitations(
        &self,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Invitation>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(sql::INVITATIONS)?;
            let rows = statement.query_map(params![ws, now.as_millis()], |row| {
                Ok(Invitation {
                    id: InvitationId(row.get(0)?),
                    role: read_role(row, 1)?,
                    email: row.get(2)?,
                    invited_by: row.get::<_, Option<Uuid>>(3)?.map(PersonId),
                    created_at: Timestamp::from_millis(row.get(4)?),
                    expires_at: Timestamp::from_millis(row.get(5)?),
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    pub(crate) async fn invitation(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<(Workspace, Invitation)>> {
        self.read(|connection| {
            let found = read_invitation(connection, hash)?.filter(|found| found.expires_at > now);
            let Some(found) = found else { return Ok(None) };
            let mut statement = connection.prepare_cached(sql::WORKSPACE)?;
            let workspace = statement.query_row([found.workspace.0], read_workspace)?;
            Ok(Some((workspace, found.shown())))
        })
    }

    pub(crate) async fn known_people(&self, workspace: WorkspaceId) -> Result<Vec<KnownPerson>> {
        self.read(|connection| {
            let Some(ws) = self.number(connection, workspace)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(sql::PEOPLE)?;
            let rows = statement.query_map([ws], |row| {
                read_member(row).map(|row| KnownPerson { person: row.person, role: row.role })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    async fn write_one(
        &self,
        sql: &'static str,
        values: impl rusqlite::Params + Clone + Send + 'static,
    ) -> Result<()> {
        let write = move |connection: &mut Connection| {
            connection.prepare_cached(sql)?.execute(values.clone())?;
            Ok(())
        };
        self.writer.write(write).await
    }
}

fn read_session(row: &rusqlite::Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: SessionId(row.get(0)?),
        user: UserId(row.get(1)?),
        email: read_email(row, 2)?,
        name: row.get(3)?,
        workspace: row.get::<_, Option<Uuid>>(4)?.map(WorkspaceId),
        created_at: Timestamp::from_millis(row.get(5)?),
        last_seen_at: Timestamp::from_millis(row.get(6)?),
        ends_at: Timestamp::from_millis(row.get(7)?),
        memberships: Vec::new(),
    })
}
