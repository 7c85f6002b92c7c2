//! Accounts on PostgreSQL.

use super::{
    Account, AccountTx, Invitation, KnownPerson, Membership, MembershipWrite, NewSession,
    Preferences, Session, SessionRow, StoredInvitation, StoredUser, TokenRow, UserWrite,
    pending_logins, types::DEVICE_RETENTION_MILLIS,
};
use crate::{
    Error, Result, audit_log,
    authentication::{self, Authentication},
    engine::postgres::{Postgres, PostgresTransaction, params, unsigned},
    import_jobs, mail,
    people::{
        self,
        postgres::{read_email, read_person},
    },
    records, saved_views, webhooks,
    workspaces::{self, postgres::read_workspace},
};
use groma_domain::{
    DomainError, Email, InvitationId, Person, PersonId, SessionId, Timestamp, TokenId, UserId,
    WorkspaceId, scope::Scopes, secret::SecretHash, workspace::Workspace,
};
use std::sync::Arc;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

/// The number of rows deleted in one step.
const DELETE_BATCH: i64 = 5_000;

pub(crate) mod sql {
    //! SQL of accounts on PostgreSQL.

    use crate::engine::{postgres::token_end, statements};

    statements! {
        USER_BY_EMAIL = "SELECT id, email, name, disabled_at FROM users WHERE email_key = $1";
        SAVE_USER = "INSERT INTO users (id, email, email_key, name, created_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key, name = excluded.name";
        SET_PASSWORD = "UPDATE users SET password_hash = $2 WHERE id = $1";
        SET_DISABLED = "UPDATE users SET disabled_at = $2 WHERE id = $1";
        // Locks the user, so that the account is not disabled meanwhile.
        RECORD_LOGIN = "UPDATE users SET last_login_at = $2 WHERE id = $1 AND disabled_at IS NULL";
        SET_PREFERENCES = "UPDATE users SET language = $2, theme = $3 WHERE id = $1";
        USER_OF_SESSION = "SELECT s.user_id FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.id = $1 AND s.ends_at > $2 AND u.disabled_at IS NULL FOR KEY SHARE OF s";
        HAS_USERS = "SELECT 1 FROM users LIMIT 1";
        ACCOUNT = "SELECT id, password_hash, email, language, email_verified_at, disabled_at FROM users
            WHERE email_key = $1";
        VERIFY_EMAIL = "UPDATE users SET email_verified_at = coalesce(email_verified_at, $2) WHERE email_key = $1";
        SESSION = "SELECT s.id, s.user_id, u.email, u.name, s.workspace_id, s.created_at, s.last_seen_at, s.ends_at,
                u.language, u.theme, s.authenticated_at, s.has_second_factor, s.provider
            FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.hash = $1 AND s.ends_at > $2 AND u.disabled_at IS NULL";
        MEMBERSHIPS = "SELECT w.id, w.name, w.currency, w.created_at, p.id, p.name, p.email, p.role,
                w.requires_second_factor
            FROM people p JOIN workspaces w ON w.id = p.workspace_id
            WHERE p.user_id = $1 AND p.role IS NOT NULL ORDER BY w.name_key";
        INSERT_SESSION = "INSERT INTO sessions
            (id, hash, user_id, workspace_id, created_at, last_seen_at, ends_at, user_agent, address,
                authenticated_at, has_second_factor, provider)
            VALUES ($1, $2, $3, (SELECT workspace_id FROM sessions WHERE user_id = $3 ORDER BY id DESC LIMIT 1),
                $4, $4, $5, $6, $7, $4, $8, $9)";
        CONFIRM_SESSION = "UPDATE sessions SET authenticated_at = $2, has_second_factor = has_second_factor OR $3
            WHERE id = $1";
        TOUCH_SESSION = "UPDATE sessions SET last_seen_at = $2, ends_at = $3 WHERE id = $1";
        SELECT_WORKSPACE = "UPDATE sessions SET workspace_id = $3 WHERE id = $1 AND user_id = $2";
        SESSIONS = "SELECT id, created_at, last_seen_at, ends_at, user_agent, address FROM sessions
            WHERE user_id = $1 AND ends_at > $2 ORDER BY last_seen_at DESC, id DESC";
        DELETE_SESSION = "DELETE FROM sessions WHERE user_id = $1 AND id = $2";
        DELETE_SESSIONS = "DELETE FROM sessions WHERE user_id = $1 AND ($2::uuid IS NULL OR id <> $2)";
        COUNT_SESSIONS = "SELECT count(*) FROM sessions WHERE ends_at > $1";
        DELETE_EXPIRED_SESSIONS = "DELETE FROM sessions WHERE ends_at <= $1";
        DEVICE = "SELECT 1 FROM devices WHERE hash = $1 AND user_id = $2";
        SAVE_DEVICE = "INSERT INTO devices (hash, user_id, at) VALUES ($1, $2, $3)
            ON CONFLICT (hash) DO UPDATE SET user_id = excluded.user_id, at = excluded.at";
        DELETE_OLD_DEVICES = "DELETE FROM devices WHERE user_id = $1 AND at <= $2";
        INVITATIONS = "SELECT id, role, email, invited_by, created_at, expires_at FROM invitations
            WHERE workspace_id = $1 AND expires_at > $2 ORDER BY id";
        INVITATION = "SELECT id, workspace_id, role, email, invited_by, created_at, expires_at, is_mailed
            FROM invitations WHERE hash = $1";
        INSERT_INVITATION = "INSERT INTO invitations
            (id, workspace_id, hash, role, email, invited_by, created_at, expires_at, is_mailed)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        HAS_INVITATION = "SELECT 1 FROM invitations WHERE workspace_id = $1 AND id = $2";
        DELETE_INVITATION = "DELETE FROM invitations WHERE workspace_id = $1 AND id = $2";
        DELETE_INVITATIONS = "DELETE FROM invitations WHERE workspace_id = $1";
        TOKENS = concat!("SELECT t.id, w.name, t.name, p.email, t.scopes, t.created_at, ", token_end!("$2"), ",
                t.revoked_at, t.last_used_at, p.id, p.name, t.hint, t.last_used_from, t.read_only, t.expires_at
            FROM tokens t JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
            JOIN workspaces w ON w.id = t.workspace_id
            WHERE $1::uuid IS NULL OR t.workspace_id = $1 ORDER BY t.id");
        TOKEN_WORKSPACE = "SELECT workspace_id FROM tokens WHERE id = $1";
        TOKEN_OWNER = "SELECT person_id FROM tokens WHERE workspace_id = $1 AND id = $2";
        REVOKE_TOKENS_OF = "UPDATE tokens SET revoked_at = $3
            WHERE workspace_id = $1 AND person_id = $2 AND revoked_at IS NULL";
        INSERT_TOKEN = "INSERT INTO tokens
            (id, workspace_id, person_id, name, hash, scopes, created_at, expires_at, hint,
                read_only)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        REVOKE_TOKEN = "UPDATE tokens SET revoked_at = coalesce(revoked_at, $3) WHERE workspace_id = $1 AND id = $2";
        DELETE_TOKENS = "DELETE FROM tokens WHERE workspace_id = $1";
    }
}

pub(super) async fn has_users(engine: &Arc<Postgres>) -> Result<bool> {
    Ok(!engine.rows(sql::HAS_USERS, &[]).await?.is_empty())
}

pub(super) async fn account(engine: &Arc<Postgres>, email: &Email) -> Result<Option<Account>> {
    let rows = engine.rows(sql::ACCOUNT, &[&email.key()]).await?;
    rows.first().map(read_account).transpose()
}

/// A row of [`sql::ACCOUNT`].
pub(super) fn read_account(row: &Row) -> Result<Account> {
    Ok(Account {
        user: UserId(row.try_get(0)?),
        password_hash: row.try_get(1)?,
        email: read_email(row, 2)?,
        language: row.try_get(3)?,
        email_verified_at: row.try_get::<_, Option<i64>>(4)?.map(Timestamp::from_millis),
        disabled_at: row.try_get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
    })
}

pub(super) async fn is_known_device(
    engine: &Arc<Postgres>,
    user: UserId,
    device: &SecretHash,
) -> Result<bool> {
    Ok(!engine.rows(sql::DEVICE, &[&&device.0[..], &user.0]).await?.is_empty())
}

pub(super) async fn create_session(
    engine: &Arc<Postgres>,
    id: SessionId,
    session: NewSession,
    device: Option<SecretHash>,
) -> Result<()> {
    let (user, now) = (session.user.0, session.now.as_millis());
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    // Sessions before users, in the order of the transaction that disables a user.
    transaction.execute(sql::DELETE_EXPIRED_SESSIONS, &[&now]).await?;
    if transaction.execute(sql::RECORD_LOGIN, &[&user, &now]).await? == 0 {
        return Err(DomainError::AccountDisabled.into());
    }
    let values: [&(dyn ToSql + Sync); 9] = [
        &id.0,
        &&session.hash.0[..],
        &user,
        &now,
        &session.ends_at.as_millis(),
        &session.user_agent,
        &session.address,
        &session.has_second_factor,
        &session.provider,
    ];
    transaction.execute(sql::INSERT_SESSION, &values).await?;
    if let Some(device) = device {
        let old = now - DEVICE_RETENTION_MILLIS;
        transaction.execute(sql::DELETE_OLD_DEVICES, &[&user, &old]).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&&device.0[..], &user, &now];
        transaction.execute(sql::SAVE_DEVICE, &values).await?;
    }
    transaction.commit().await?;
    Ok(())
}

pub(super) async fn session(
    engine: &Arc<Postgres>,
    hash: &SecretHash,
    now: Timestamp,
) -> Result<Option<Session>> {
    let rows = engine.rows(sql::SESSION, &[&&hash.0[..], &now.as_millis()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let user = UserId(row.try_get(1)?);
    let rows = engine.rows(sql::MEMBERSHIPS, &[&user.0]).await?;
    Ok(Some(Session {
        id: SessionId(row.try_get(0)?),
        user,
        email: read_email(row, 2)?,
        name: row.try_get(3)?,
        workspace: row.try_get::<_, Option<Uuid>>(4)?.map(WorkspaceId),
        created_at: Timestamp::from_millis(row.try_get(5)?),
        last_seen_at: Timestamp::from_millis(row.try_get(6)?),
        ends_at: Timestamp::from_millis(row.try_get(7)?),
        preferences: Preferences { language: row.try_get(8)?, theme: row.try_get(9)? },
        authenticated_at: Timestamp::from_millis(row.try_get(10)?),
        has_second_factor: row.try_get(11)?,
        provider: row.try_get(12)?,
        memberships: rows.iter().map(read_membership).collect::<Result<_>>()?,
    }))
}

pub(super) async fn touch_session(
    engine: &Arc<Postgres>,
    session: SessionId,
    now: Timestamp,
    ends_at: Timestamp,
) -> Result<()> {
    let values: [&(dyn ToSql + Sync); 3] = [&session.0, &now.as_millis(), &ends_at.as_millis()];
    engine.execute(sql::TOUCH_SESSION, &values).await.map(drop)
}

pub(super) async fn confirm_session(
    engine: &Arc<Postgres>,
    session: SessionId,
    has_second_factor: bool,
    now: Timestamp,
) -> Result<()> {
    let values: [&(dyn ToSql + Sync); 3] = [&session.0, &now.as_millis(), &has_second_factor];
    engine.execute(sql::CONFIRM_SESSION, &values).await.map(drop)
}

pub(super) async fn select_workspace(
    engine: &Arc<Postgres>,
    session: SessionId,
    user: UserId,
    workspace: WorkspaceId,
) -> Result<()> {
    let values: [&(dyn ToSql + Sync); 3] = [&session.0, &user.0, &workspace.0];
    engine.execute(sql::SELECT_WORKSPACE, &values).await.map(drop)
}

pub(super) async fn sessions(
    engine: &Arc<Postgres>,
    user: UserId,
    now: Timestamp,
) -> Result<Vec<SessionRow>> {
    let rows = engine.rows(sql::SESSIONS, &[&user.0, &now.as_millis()]).await?;
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

pub(super) async fn end_session(
    engine: &Arc<Postgres>,
    user: UserId,
    session: SessionId,
) -> Result<()> {
    engine.execute(sql::DELETE_SESSION, &[&user.0, &session.0]).await.map(drop)
}

pub(super) async fn invitations(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<Vec<Invitation>> {
    let rows = engine.rows(sql::INVITATIONS, &[&workspace.0, &now.as_millis()]).await?;
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

pub(super) async fn invitation(
    engine: &Arc<Postgres>,
    hash: &SecretHash,
    now: Timestamp,
) -> Result<Option<(Workspace, Invitation)>> {
    let rows = engine.rows(sql::INVITATION, &[&&hash.0[..]]).await?;
    let found = rows.first().map(|row| read_invitation(*hash, row)).transpose()?;
    let Some(found) = found.filter(|found| found.expires_at > now) else { return Ok(None) };
    let rows = engine.rows(workspaces::postgres::WORKSPACE, &[&found.workspace.0]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some((read_workspace(row)?, found.into())))
}

pub(super) async fn people(
    engine: &Arc<Postgres>,
    workspace: WorkspaceId,
) -> Result<Vec<KnownPerson>> {
    let rows = engine.rows(people::postgres::PEOPLE, &[&workspace.0]).await?;
    let known = |row| read_person(row).map(KnownPerson::from);
    rows.iter().map(known).collect()
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
        requires_second_factor: row.try_get(8)?,
    })
}

pub(super) async fn has_user(engine: &Arc<Postgres>, email: &Email) -> Result<bool> {
    Ok(!engine.rows(sql::USER_BY_EMAIL, &[&email.key()]).await?.is_empty())
}

pub(super) async fn count_sessions(engine: &Arc<Postgres>, now: Timestamp) -> Result<u64> {
    let rows = engine.rows(sql::COUNT_SESSIONS, &[&now.as_millis()]).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row, 0))
}

pub(super) async fn tokens(
    engine: &Arc<Postgres>,
    workspace: Option<WorkspaceId>,
    max_days: Option<u32>,
) -> Result<Vec<TokenRow>> {
    let time = |row: &Row, column: usize| -> Result<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let (workspace, max_days) = (workspace.map(|workspace| workspace.0), max_days.map(i64::from));
    let rows = engine.rows(sql::TOKENS, &[&workspace, &max_days]).await?;
    rows.iter()
        .map(|row| {
            Ok(TokenRow {
                id: TokenId(row.try_get(0)?),
                workspace: row.try_get(1)?,
                name: row.try_get(2)?,
                owner: row.try_get(3)?,
                scopes: Scopes::parse(row.try_get(4)?).map_err(Error::Damaged)?,
                created_at: Timestamp::from_millis(row.try_get(5)?),
                expires_at: time(row, 6)?,
                revoked_at: time(row, 7)?,
                last_used_at: time(row, 8)?,
                person: PersonId(row.try_get(9)?),
                owner_name: row.try_get(10)?,
                hint: row.try_get(11)?,
                last_used_from: row.try_get(12)?,
                is_read_only: row.try_get(13)?,
                is_shortened: time(row, 6)? != time(row, 14)?,
            })
        })
        .collect()
}

pub(super) async fn workspace_of_token(
    engine: &Arc<Postgres>,
    token: TokenId,
) -> Result<Option<WorkspaceId>> {
    let rows = engine.rows(sql::TOKEN_WORKSPACE, &[&token.0]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?.map(WorkspaceId))
}

pub(super) async fn delete_workspace(
    engine: &Arc<Postgres>,
    _: &Authentication,
    workspace: WorkspaceId,
) -> Result<()> {
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    // Locked first: a change under way ends before, and leaves nothing behind.
    transaction.execute(workspaces::postgres::LOCK_WORKSPACE, &[&workspace.0]).await?;
    for statement in [
        authentication::postgres::DELETE_RATE_WINDOWS,
        sql::DELETE_TOKENS,
        sql::DELETE_INVITATIONS,
        saved_views::postgres::DELETE_VIEWS,
        import_jobs::postgres::DELETE_JOBS,
        people::postgres::DELETE_PEOPLE,
        records::postgres::sql::DELETE_STATUSES,
        records::postgres::sql::DELETE_COUNTERS,
        webhooks::postgres::sql::MARK_ENDPOINTS_DELETED,
        mail::postgres::DELETE_MAILS,
        workspaces::postgres::DELETE_WORKSPACE,
    ] {
        transaction.execute(statement, &[&workspace.0]).await?;
    }
    transaction.commit().await?;
    drop(client);
    while webhooks::postgres::purge_deleted_endpoints(engine).await? > 0 {}
    records::postgres::delete_records(engine, workspace).await?;
    let delete = audit_log::postgres::DELETE_SOME_ENTRIES;
    while engine.execute(delete, &[&workspace.0, &DELETE_BATCH]).await? > 0 {}
    Ok(())
}

impl AccountTx for PostgresTransaction<'_> {
    async fn user_by_email(&mut self, email: &Email) -> Result<Option<StoredUser>> {
        self.row(workspaces::postgres::LOCK_NAMES, &[]).await?;
        let Some(row) = self.row(sql::USER_BY_EMAIL, &[&email.key()]).await? else {
            return Ok(None);
        };
        Ok(Some(StoredUser {
            id: UserId(row.try_get(0)?),
            email: read_email(&row, 1)?,
            name: row.try_get(2)?,
            disabled_at: row.try_get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
        }))
    }

    async fn user_of_session(
        &mut self,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<UserId>> {
        let row = self.row(sql::USER_OF_SESSION, &[&session.0, &now.as_millis()]).await?;
        row.map(|row| Ok(UserId(row.try_get(0)?))).transpose()
    }

    async fn has_users(&mut self) -> Result<bool> {
        self.row(workspaces::postgres::LOCK_NAMES, &[]).await?;
        Ok(self.row(sql::HAS_USERS, &[]).await?.is_some())
    }

    async fn invitation(&mut self, hash: &SecretHash) -> Result<Option<StoredInvitation>> {
        let row = self.row(sql::INVITATION, &[&&hash.0[..]]).await?;
        row.map(|row| read_invitation(*hash, &row)).transpose()
    }

    async fn has_invitation(
        &mut self,
        workspace: WorkspaceId,
        invitation: InvitationId,
    ) -> Result<bool> {
        Ok(self.row(sql::HAS_INVITATION, &[&workspace.0, &invitation.0]).await?.is_some())
    }

    async fn requires_second_factor(&mut self, workspace: WorkspaceId) -> Result<bool> {
        let row = self.row(workspaces::postgres::REQUIRES_SECOND_FACTOR, &[&workspace.0]).await?;
        row.map_or(Ok(false), |row| Ok(row.try_get(0)?))
    }

    async fn token_owner(
        &mut self,
        workspace: WorkspaceId,
        token: TokenId,
    ) -> Result<Option<PersonId>> {
        let row = self.row(sql::TOKEN_OWNER, &[&workspace.0, &token.0]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.map(PersonId))
    }

    async fn write_user(&mut self, write: UserWrite) -> Result<()> {
        let statement = match write {
            UserWrite::Save { user, at } => (
                sql::SAVE_USER,
                params![
                    user.id.0,
                    user.email.as_str().to_owned(),
                    user.email.key(),
                    user.name,
                    at.as_millis()
                ],
            ),
            UserWrite::SetPassword { user, hash } => (sql::SET_PASSWORD, params![user.0, hash]),
            UserWrite::SetPreferences { user, preferences: Preferences { language, theme } } => {
                (sql::SET_PREFERENCES, params![user.0, language, theme])
            }
            UserWrite::EndSessions { user, except } => {
                let except = except.map(|session| session.0);
                let sessions = (sql::DELETE_SESSIONS, params![user.0, except]);
                let pending = (pending_logins::postgres::DELETE_LOGINS_OF_USER, params![user.0]);
                return self.send(vec![sessions, pending]).await;
            }
            UserWrite::SetDisabled { user, at } => {
                (sql::SET_DISABLED, params![user.0, at.map(Timestamp::as_millis)])
            }
            UserWrite::VerifyEmail { email, at } => {
                (sql::VERIFY_EMAIL, params![email.key(), at.as_millis()])
            }
        };
        self.send(vec![statement]).await
    }

    async fn write_membership(
        &mut self,
        workspace: WorkspaceId,
        write: MembershipWrite,
    ) -> Result<()> {
        let ws = workspace.0;
        let statement = match write {
            MembershipWrite::InsertInvitation(i) => (
                sql::INSERT_INVITATION,
                params![
                    i.id.0,
                    ws,
                    i.hash.0.to_vec(),
                    i.role.name(),
                    i.email,
                    i.invited_by.map(|person| person.0),
                    i.created_at.as_millis(),
                    i.expires_at.as_millis(),
                    i.is_mailed
                ],
            ),
            MembershipWrite::DeleteInvitation(id) => (sql::DELETE_INVITATION, params![ws, id.0]),
            MembershipWrite::InsertToken(token) => (
                sql::INSERT_TOKEN,
                params![
                    token.id.0,
                    ws,
                    token.person.0,
                    token.name,
                    token.hash.0.to_vec(),
                    token.scopes.to_string(),
                    token.created_at.as_millis(),
                    token.expires_at.map(Timestamp::as_millis),
                    token.hint,
                    token.is_read_only
                ],
            ),
            MembershipWrite::RevokeToken { token, at } => {
                (sql::REVOKE_TOKEN, params![ws, token.0, at.as_millis()])
            }
            MembershipWrite::RevokeTokensOf { person, at } => {
                (sql::REVOKE_TOKENS_OF, params![ws, person.0, at.as_millis()])
            }
        };
        self.send(vec![statement]).await
    }
}

/// A row of [`sql::INVITATION`].
fn read_invitation(hash: SecretHash, row: &Row) -> Result<StoredInvitation> {
    Ok(StoredInvitation {
        id: InvitationId(row.try_get(0)?),
        workspace: WorkspaceId(row.try_get(1)?),
        hash,
        role: row.try_get::<_, &str>(2)?.parse().map_err(Error::Damaged)?,
        email: row.try_get(3)?,
        invited_by: row.try_get::<_, Option<Uuid>>(4)?.map(PersonId),
        created_at: Timestamp::from_millis(row.try_get(5)?),
        expires_at: Timestamp::from_millis(row.try_get(6)?),
        is_mailed: row.try_get(7)?,
    })
}
