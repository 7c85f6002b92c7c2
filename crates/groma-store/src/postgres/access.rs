//! Who comes in, on PostgreSQL.

use super::{
    Postgres,
    rows::{read_email, read_invitation, read_member, read_workspace},
    sql,
};
use crate::{
    Account, Bucket, Error, Invitation, KnownPerson, Membership, NewSession, Result, Session,
    SessionRow,
    access::{ATTEMPT_COUNTS_FOR_MILLIS, DEVICE_IS_KNOWN_FOR_MILLIS},
};
use groma_domain::{
    Email, InvitationId, Person, PersonId, SessionId, Timestamp, UserId, WorkspaceId,
    secret::SecretHash, workspace::Workspace,
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

impl Postgres {
    pub(crate) async fn has_users(&self) -> Result<bool> {
        Ok(!self.rows(sql::HAS_USERS, &[]).await?.is_empty())
    }

    pub(crate) async fn account(&self, email: &Email) -> Result<Option<Account>> {
        let rows = self.rows(sql::ACCOUNT, &[&email.key()]).await?;
        let read = |row: &Row| {
            Ok(Account { user: UserId(row.try_get(0)?), password_hash: row.try_get(1)? })
        };
        rows.first().map(read).transpose()
    }

    pub(crate) async fn begin_attempt(&self, buckets: Vec<Bucket>, now: Timestamp) -> Result<bool> {
        let since = now.as_millis() - ATTEMPT_COUNTS_FOR_MILLIS;
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        // One at a time, or many at once would all still find room.
        transaction.execute(sql::LOCK_ATTEMPTS, &[]).await?;
        transaction.execute(sql::FORGET_OLD_ATTEMPTS, &[&since]).await?;
        for bucket in &buckets {
            let row = transaction.query_one(sql::LOGIN_ATTEMPTS, &[&bucket.name, &since]).await?;
            if row.try_get::<_, i64>(0)? >= i64::from(bucket.limit) {
                return Ok(false);
            }
        }
        for bucket in &buckets {
            let values: [&(dyn ToSql + Sync); 2] = [&bucket.name, &now.as_millis()];
            transaction.execute(sql::NOTE_ATTEMPT, &values).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    pub(crate) async fn forget_attempt(&self, buckets: Vec<Bucket>, at: Timestamp) -> Result<()> {
        for (place, bucket) in buckets.iter().enumerate() {
            let from = if place == 0 { 0 } else { at.as_millis() };
            let values: [&(dyn ToSql + Sync); 3] = [&bucket.name, &from, &at.as_millis()];
            self.execute(sql::FORGET_ATTEMPT, &values).await?;
        }
        Ok(())
    }

    pub(crate) async fn knows_device(&self, user: UserId, device: &SecretHash) -> Result<bool> {
        Ok(!self.rows(sql::DEVICE, &[&&device.0[..], &user.0]).await?.is_empty())
    }

    pub(crate) async fn open_session(
        &self,
        id: SessionId,
        session: NewSession,
        device: Option<SecretHash>,
    ) -> Result<()> {
        let (user, now) = (session.user.0, session.now.as_millis());
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let values: [&(dyn ToSql + Sync); 7] = [
            &id.0,
            &&session.hash.0[..],
            &user,
            &now,
            &session.ends_at.as_millis(),
            &session.user_agent,
            &session.address,
        ];
        transaction.execute(sql::INSERT_SESSION, &values).await?;
        transaction.execute(sql::FORGET_SESSIONS, &[&now]).await?;
        if let Some(device) = device {
            let old = now - DEVICE_IS_KNOWN_FOR_MILLIS;
            transaction.execute(sql::FORGET_DEVICES, &[&user, &old]).await?;
            let values: [&(dyn ToSql + Sync); 3] = [&&device.0[..], &user, &now];
            transaction.execute(sql::SAVE_DEVICE, &values).await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    pub(crate) async fn session(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<Session>> {
        let rows = self.rows(sql::OPEN_SESSION, &[&&hash.0[..], &now.as_millis()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let user = UserId(row.try_get(1)?);
        let rows = self.rows(sql::MEMBERSHIPS, &[&user.0]).await?;
        Ok(Some(Session {
            id: SessionId(row.try_get(0)?),
            user,
            email: read_email(row, 2)?,
            name: row.try_get(3)?,
            workspace: row.try_get::<_, Option<Uuid>>(4)?.map(WorkspaceId),
            created_at: Timestamp::from_millis(row.try_get(5)?),
            last_seen_at: Timestamp::from_millis(row.try_get(6)?),
            ends_at: Timestamp::from_millis(row.try_get(7)?),
            memberships: rows.iter().map(read_membership).collect::<Result<_>>()?,
        }))
    }

    pub(crate) async fn touch_session(
        &self,
        session: SessionId,
        now: Timestamp,
        ends_at: Timestamp,
    ) -> Result<()> {
        let values: [&(dyn ToSql + Sync); 3] = [&session.0, &now.as_millis(), &ends_at.as_millis()];
        self.execute(sql::TOUCH_SESSION, &values).await.map(drop)
    }

    pub(crate) async fn enter_workspace(
        &self,
        session: SessionId,
        user: UserId,
        workspace: WorkspaceId,
    ) -> Result<()> {
        let values: [&(dyn ToSql + Sync); 3] = [&session.0, &user.0, &workspace.0];
        self.execute(sql::ENTER_WORKSPACE, &values).await.map(drop)
    }

    pub(crate) async fn sessions(&self, user: UserId, now: Timestamp) -> Result<Vec<SessionRow>> {
        let rows = self.rows(sql::SESSIONS, &[&user.0, &now.as_millis()]).await?;
        let read = |row: &Row| {
            Ok(SessionRow {
                id: SessionId(row.try_get(0)?),
                created_at: Timestamp::from_millis(row.try_get(1)?),
                last_seen_at: Timestamp::from_millis(row.try_get(2)?),
                ends_at: Timestamp::from_millis(row.try_get(3)?),
                user_agent: row.try_get(4)?,
                address: row.try_get(5)?,
            })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn end_session(&self, user: UserId, session: SessionId) -> Result<()> {
        self.execute(sql::END_SESSION, &[&user.0, &session.0]).await.map(drop)
    }

    pub(crate) async fn invitations(
        &self,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Invitation>> {
        let rows = self.rows(sql::INVITATIONS, &[&workspace.0, &now.as_millis()]).await?;
        let read = |row: &Row| {
            Ok(Invitation {
                id: InvitationId(row.try_get(0)?),
                role: row.try_get::<_, &str>(1)?.parse().map_err(Error::Damaged)?,
                email: row.try_get(2)?,
                invited_by: row.try_get::<_, Option<Uuid>>(3)?.map(PersonId),
                created_at: Timestamp::from_millis(row.try_get(4)?),
                expires_at: Timestamp::from_millis(row.try_get(5)?),
            })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn invitation(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<(Workspace, Invitation)>> {
        let rows = self.rows(sql::INVITATION, &[&&hash.0[..]]).await?;
        let found = rows.first().map(|row| read_invitation(*hash, row)).transpose()?;
        let Some(found) = found.filter(|found| found.expires_at > now) else { return Ok(None) };
        let rows = self.rows(sql::WORKSPACE, &[&found.workspace.0]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some((read_workspace(row)?, found.shown())))
    }

    pub(crate) async fn known_people(&self, workspace: WorkspaceId) -> Result<Vec<KnownPerson>> {
        let rows = self.rows(sql::PEOPLE, &[&workspace.0]).await?;
        let known =
            |row| read_member(row).map(|row| KnownPerson { person: row.person, role: row.role });
        rows.iter().map(known).collect()
    }
}

fn read_membership(row: &Row) -> Result<Membership> {
    Ok(Membership {
        workspace: read_workspace(row)?,
        person: Person {
            id: PersonId(row.try_get(4)?),
            name: row.try_get(5)?,
            email: read_email(row, 6)?,
        },
        role: row.try_get::<_, &str>(7)?.parse().map_err(Error::Damaged)?,
    })
}
