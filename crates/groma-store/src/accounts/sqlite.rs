//! Accounts on SQLite.

use super::{
    Account, AccountTx, Invitation, KnownPerson, Membership, MembershipWrite, NewSession,
    Preferences, Session, SessionRow, StoredInvitation, StoredUser, TokenRow, UserWrite,
    pending_logins, types::DEVICE_RETENTION_MILLIS,
};
use crate::{
    Result, audit_log,
    authentication::{Authentication, sqlite::read_scopes},
    engine::sqlite::{Sqlite, SqliteTransaction},
    import_jobs, mail,
    people::{
        self,
        sqlite::{read_email, read_person, read_role},
    },
    records, saved_views, webhooks,
    workspaces::{self, sqlite::read_workspace},
};
use groma_domain::{
    DomainError, Email, InvitationId, Person, PersonId, SessionId, Timestamp, TokenId, UserId,
    WorkspaceId, secret::SecretHash, workspace::Workspace,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use uuid::Uuid;

/// The number of rows deleted in one step.
const DELETE_BATCH: u32 = 2_000;

pub(crate) mod sql {
    //! SQL of accounts on SQLite.

    use crate::engine::{sqlite::token_end, statements};

    statements! {
        USER_BY_EMAIL = "SELECT id, email, name, disabled_at FROM users WHERE email_key = ?1";
        SAVE_USER = "INSERT INTO users (id, email, email_key, name, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key, name = excluded.name";
        SET_PASSWORD = "UPDATE users SET password_hash = ?2 WHERE id = ?1";
        SET_DISABLED = "UPDATE users SET disabled_at = ?2 WHERE id = ?1";
        // Locks the user, so that the account is not disabled meanwhile.
        RECORD_LOGIN = "UPDATE users SET last_login_at = ?2 WHERE id = ?1 AND disabled_at IS NULL";
        SET_PREFERENCES = "UPDATE users SET language = ?2, theme = ?3 WHERE id = ?1";
        USER_OF_SESSION = "SELECT s.user_id FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.id = ?1 AND s.ends_at > ?2 AND u.disabled_at IS NULL";
        HAS_USERS = "SELECT 1 FROM users LIMIT 1";
        ACCOUNT = "SELECT id, password_hash, email, language, email_verified_at, disabled_at FROM users
            WHERE email_key = ?1";
        VERIFY_EMAIL = "UPDATE users SET email_verified_at = coalesce(email_verified_at, ?2) WHERE email_key = ?1";
        SESSION = "SELECT s.id, s.user_id, u.email, u.name, s.workspace_id, s.created_at, s.last_seen_at, s.ends_at,
                u.language, u.theme, s.authenticated_at, s.has_second_factor, s.provider
            FROM sessions s JOIN users u ON u.id = s.user_id
            WHERE s.hash = ?1 AND s.ends_at > ?2 AND u.disabled_at IS NULL";
        MEMBERSHIPS = "SELECT w.id, w.name, w.currency, w.created_at, p.id, p.name, p.email, p.role,
                w.requires_second_factor
            FROM people p JOIN workspaces w ON w.no = p.ws
            WHERE p.user_id = ?1 AND p.role IS NOT NULL ORDER BY w.name_key";
        INSERT_SESSION = "INSERT INTO sessions
            (id, hash, user_id, workspace_id, created_at, last_seen_at, ends_at, user_agent, address,
                authenticated_at, has_second_factor, provider)
            VALUES (?1, ?2, ?3, (SELECT workspace_id FROM sessions WHERE user_id = ?3 ORDER BY id DESC LIMIT 1),
                ?4, ?4, ?5, ?6, ?7, ?4, ?8, ?9)";
        CONFIRM_SESSION = "UPDATE sessions SET authenticated_at = ?2, has_second_factor = has_second_factor OR ?3
            WHERE id = ?1";
        TOUCH_SESSION = "UPDATE sessions SET last_seen_at = ?2, ends_at = ?3 WHERE id = ?1";
        SELECT_WORKSPACE = "UPDATE sessions SET workspace_id = ?3 WHERE id = ?1 AND user_id = ?2";
        SESSIONS = "SELECT id, created_at, last_seen_at, ends_at, user_agent, address FROM sessions
            WHERE user_id = ?1 AND ends_at > ?2 ORDER BY last_seen_at DESC, id DESC";
        DELETE_SESSION = "DELETE FROM sessions WHERE user_id = ?1 AND id = ?2";
        DELETE_SESSIONS = "DELETE FROM sessions WHERE user_id = ?1 AND (?2 IS NULL OR id <> ?2)";
        COUNT_SESSIONS = "SELECT count(*) FROM sessions WHERE ends_at > ?1";
        DELETE_EXPIRED_SESSIONS = "DELETE FROM sessions WHERE ends_at <= ?1";
        DEVICE = "SELECT 1 FROM devices WHERE hash = ?1 AND user_id = ?2";
        SAVE_DEVICE = "INSERT INTO devices (hash, user_id, at) VALUES (?1, ?2, ?3)
            ON CONFLICT (hash) DO UPDATE SET user_id = excluded.user_id, at = excluded.at";
        DELETE_OLD_DEVICES = "DELETE FROM devices WHERE user_id = ?1 AND at <= ?2";
        INVITATIONS = "SELECT id, role, email, invited_by, created_at, expires_at FROM invitations
            WHERE ws = ?1 AND expires_at > ?2 ORDER BY id";
        INVITATION = "SELECT i.id, w.id, i.role, i.email, i.invited_by, i.created_at, i.expires_at, i.is_mailed
            FROM invitations i JOIN workspaces w ON w.no = i.ws WHERE i.hash = ?1";
        INSERT_INVITATION = "INSERT INTO invitations
            (id, ws, hash, role, email, invited_by, created_at, expires_at, is_mailed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        HAS_INVITATION = "SELECT 1 FROM invitations WHERE ws = ?1 AND id = ?2";
        DELETE_INVITATION = "DELETE FROM invitations WHERE ws = ?1 AND id = ?2";
        DELETE_INVITATIONS = "DELETE FROM invitations WHERE ws = ?1";
        TOKENS = concat!("SELECT t.id, w.name, t.name, p.email, t.scopes, t.created_at, ", token_end!("?2"), ",
                t.revoked_at, t.last_used_at, p.id, p.name, t.hint, t.last_used_from, t.read_only, t.expires_at
            FROM tokens t JOIN people p ON p.ws = t.ws AND p.id = t.person_id JOIN workspaces w ON w.no = t.ws
            WHERE ?1 IS NULL OR w.id = ?1 ORDER BY t.id");
        TOKEN_WORKSPACE = "SELECT w.id FROM tokens t JOIN workspaces w ON w.no = t.ws WHERE t.id = ?1";
        TOKEN_OWNER = "SELECT person_id FROM tokens WHERE ws = ?1 AND id = ?2";
        REVOKE_TOKENS_OF = "UPDATE tokens SET revoked_at = ?3
            WHERE ws = ?1 AND person_id = ?2 AND revoked_at IS NULL";
        INSERT_TOKEN = "INSERT INTO tokens (id, ws, person_id, name, hash, scopes, created_at, expires_at, hint,
                read_only)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        REVOKE_TOKEN = "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?3) WHERE ws = ?1 AND id = ?2";
        DELETE_TOKENS = "DELETE FROM tokens WHERE ws = ?1";
    }
}

pub(super) async fn has_users(engine: &Arc<Sqlite>) -> Result<bool> {
    engine.read(|connection| Ok(connection.prepare_cached(sql::HAS_USERS)?.exists([])?))
}

pub(super) async fn account(engine: &Arc<Sqlite>, email: &Email) -> Result<Option<Account>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::ACCOUNT)?;
        Ok(statement.query_row([email.key()], read_account).optional()?)
    })
}

/// A row of [`sql::ACCOUNT`].
pub(super) fn read_account(row: &Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        user: UserId(row.get(0)?),
        password_hash: row.get(1)?,
        email: read_email(row, 2)?,
        language: row.get(3)?,
        email_verified_at: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_millis),
        disabled_at: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
    })
}

pub(super) async fn is_known_device(
    engine: &Arc<Sqlite>,
    user: UserId,
    device: &SecretHash,
) -> Result<bool> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::DEVICE)?;
        Ok(statement.exists(params![device.0, user.0])?)
    })
}

pub(super) async fn create_session(
    engine: &Arc<Sqlite>,
    id: SessionId,
    session: NewSession,
    device: Option<SecretHash>,
) -> Result<()> {
    let open = move |connection: &Connection| {
        let (user, now) = (session.user.0, session.now.as_millis());
        if connection.prepare_cached(sql::RECORD_LOGIN)?.execute(params![user, now])? == 0 {
            return Err(DomainError::AccountDisabled.into());
        }
        connection.prepare_cached(sql::INSERT_SESSION)?.execute(params![
            id.0,
            session.hash.0,
            user,
            now,
            session.ends_at.as_millis(),
            session.user_agent,
            session.address,
            session.has_second_factor,
            session.provider
        ])?;
        connection.prepare_cached(sql::DELETE_EXPIRED_SESSIONS)?.execute([now])?;
        if let Some(device) = device {
            let old = now - DEVICE_RETENTION_MILLIS;
            connection.prepare_cached(sql::DELETE_OLD_DEVICES)?.execute(params![user, old])?;
            let mut statement = connection.prepare_cached(sql::SAVE_DEVICE)?;
            statement.execute(params![device.0, user, now])?;
        }
        Ok(())
    };
    engine.write(open).await
}

pub(super) async fn session(
    engine: &Arc<Sqlite>,
    hash: &SecretHash,
    now: Timestamp,
) -> Result<Option<Session>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::SESSION)?;
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
                requires_second_factor: row.get(8)?,
            })
        })?;
        session.memberships = rows.collect::<rusqlite::Result<_>>()?;
        Ok(Some(session))
    })
}

pub(super) async fn touch_session(
    engine: &Arc<Sqlite>,
    session: SessionId,
    now: Timestamp,
    ends_at: Timestamp,
) -> Result<()> {
    write_one(engine, sql::TOUCH_SESSION, (session.0, now.as_millis(), ends_at.as_millis())).await
}

pub(super) async fn confirm_session(
    engine: &Arc<Sqlite>,
    session: SessionId,
    has_second_factor: bool,
    now: Timestamp,
) -> Result<()> {
    let values = (session.0, now.as_millis(), has_second_factor);
    write_one(engine, sql::CONFIRM_SESSION, values).await
}

pub(super) async fn select_workspace(
    engine: &Arc<Sqlite>,
    session: SessionId,
    user: UserId,
    workspace: WorkspaceId,
) -> Result<()> {
    write_one(engine, sql::SELECT_WORKSPACE, (session.0, user.0, workspace.0)).await
}

pub(super) async fn sessions(
    engine: &Arc<Sqlite>,
    user: UserId,
    now: Timestamp,
) -> Result<Vec<SessionRow>> {
    engine.read(|connection| {
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

pub(super) async fn end_session(
    engine: &Arc<Sqlite>,
    user: UserId,
    session: SessionId,
) -> Result<()> {
    write_one(engine, sql::DELETE_SESSION, (user.0, session.0)).await
}

pub(super) async fn invitations(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<Vec<Invitation>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(Vec::new()) };
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

pub(super) async fn invitation(
    engine: &Arc<Sqlite>,
    hash: &SecretHash,
    now: Timestamp,
) -> Result<Option<(Workspace, Invitation)>> {
    engine.read(|connection| {
        let found = read_invitation(connection, hash)?.filter(|found| found.expires_at > now);
        let Some(found) = found else { return Ok(None) };
        let mut statement = connection.prepare_cached(workspaces::sqlite::WORKSPACE)?;
        let workspace = statement.query_row([found.workspace.0], read_workspace)?;
        Ok(Some((workspace, found.into())))
    })
}

pub(super) async fn people(
    engine: &Arc<Sqlite>,
    workspace: WorkspaceId,
) -> Result<Vec<KnownPerson>> {
    engine.read(|connection| {
        let Some(ws) = connection.workspace_number(workspace)? else { return Ok(Vec::new()) };
        let mut statement = connection.prepare_cached(people::sqlite::PEOPLE)?;
        let rows = statement.query_map([ws], |row| read_person(row).map(KnownPerson::from))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

async fn write_one(
    engine: &Sqlite,
    sql: &'static str,
    values: impl rusqlite::Params + Clone + Send + 'static,
) -> Result<()> {
    let write = move |connection: &Connection| {
        connection.prepare_cached(sql)?.execute(values.clone())?;
        Ok(())
    };
    engine.write(write).await
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: SessionId(row.get(0)?),
        user: UserId(row.get(1)?),
        email: read_email(row, 2)?,
        name: row.get(3)?,
        workspace: row.get::<_, Option<Uuid>>(4)?.map(WorkspaceId),
        created_at: Timestamp::from_millis(row.get(5)?),
        last_seen_at: Timestamp::from_millis(row.get(6)?),
        ends_at: Timestamp::from_millis(row.get(7)?),
        preferences: Preferences { language: row.get(8)?, theme: row.get(9)? },
        authenticated_at: Timestamp::from_millis(row.get(10)?),
        has_second_factor: row.get(11)?,
        provider: row.get(12)?,
        memberships: Vec::new(),
    })
}

pub(super) async fn has_user(engine: &Arc<Sqlite>, email: &Email) -> Result<bool> {
    engine.read(|connection| {
        Ok(connection.prepare_cached(sql::USER_BY_EMAIL)?.exists([email.key()])?)
    })
}

pub(super) async fn count_sessions(engine: &Arc<Sqlite>, now: Timestamp) -> Result<u64> {
    let count: i64 = engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::COUNT_SESSIONS)?;
        Ok(statement.query_row([now.as_millis()], |row| row.get(0))?)
    })?;
    Ok(count.unsigned_abs())
}

pub(super) async fn tokens(
    engine: &Arc<Sqlite>,
    workspace: Option<WorkspaceId>,
    max_days: Option<u32>,
) -> Result<Vec<TokenRow>> {
    let workspace = workspace.map(|workspace| workspace.0);
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::TOKENS)?;
        let rows = statement.query_map(params![workspace, max_days], |row| {
            let time = |column| -> rusqlite::Result<Option<Timestamp>> {
                Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
            };
            Ok(TokenRow {
                id: TokenId(row.get(0)?),
                workspace: row.get(1)?,
                name: row.get(2)?,
                owner: row.get(3)?,
                scopes: read_scopes(row, 4)?,
                created_at: Timestamp::from_millis(row.get(5)?),
                expires_at: time(6)?,
                revoked_at: time(7)?,
                last_used_at: time(8)?,
                person: PersonId(row.get(9)?),
                owner_name: row.get(10)?,
                hint: row.get(11)?,
                last_used_from: row.get(12)?,
                is_read_only: row.get(13)?,
                is_shortened: time(6)? != time(14)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

pub(super) async fn workspace_of_token(
    engine: &Arc<Sqlite>,
    token: TokenId,
) -> Result<Option<WorkspaceId>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(sql::TOKEN_WORKSPACE)?;
        Ok(statement.query_row([token.0], |row| row.get(0).map(WorkspaceId)).optional()?)
    })
}

pub(super) async fn delete_workspace(
    engine: &Arc<Sqlite>,
    authentication: &Authentication,
    workspace: WorkspaceId,
) -> Result<()> {
    let Some(ws) = engine.read(|connection| connection.workspace_number(workspace))? else {
        return Ok(());
    };
    let delete = move |connection: &Connection| {
        for statement in [
            sql::DELETE_TOKENS,
            sql::DELETE_INVITATIONS,
            saved_views::sqlite::DELETE_VIEWS,
            import_jobs::sqlite::DELETE_JOBS,
            people::sqlite::DELETE_PEOPLE,
            records::sqlite::sql::DELETE_STATUSES,
            records::sqlite::sql::DELETE_COUNTERS,
            workspaces::sqlite::DELETE_WORKSPACE,
        ] {
            connection.prepare_cached(statement)?.execute([ws])?;
        }
        connection.prepare_cached(mail::sqlite::DELETE_MAILS)?.execute([workspace.0])?;
        Ok(())
    };
    engine.write(delete).await?;
    authentication.clear_cache();
    webhooks::sqlite::delete_endpoints(engine, ws).await?;
    records::sqlite::delete_records(engine, ws).await?;
    let audit_log = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(audit_log::sqlite::DELETE_SOME_ENTRIES)?;
        Ok(statement.execute(params![ws, DELETE_BATCH])?)
    };
    while engine.write(audit_log).await? > 0 {}
    Ok(())
}

impl AccountTx for SqliteTransaction<'_> {
    async fn user_by_email(&mut self, email: &Email) -> Result<Option<StoredUser>> {
        let found = self.prepare(sql::USER_BY_EMAIL)?.query_row([email.key()], |row| {
            Ok(StoredUser {
                id: UserId(row.get(0)?),
                email: read_email(row, 1)?,
                name: row.get(2)?,
                disabled_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
            })
        });
        Ok(found.optional()?)
    }

    async fn user_of_session(
        &mut self,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<UserId>> {
        let mut statement = self.prepare(sql::USER_OF_SESSION)?;
        let found = statement.query_row(params![session.0, now.as_millis()], |row| row.get(0));
        Ok(found.optional()?.map(UserId))
    }

    async fn has_users(&mut self) -> Result<bool> {
        Ok(self.prepare(sql::HAS_USERS)?.exists([])?)
    }

    async fn invitation(&mut self, hash: &SecretHash) -> Result<Option<StoredInvitation>> {
        read_invitation(self.connection(), hash)
    }

    async fn has_invitation(
        &mut self,
        workspace: WorkspaceId,
        invitation: InvitationId,
    ) -> Result<bool> {
        let ws = self.workspace_number(workspace)?;
        Ok(self.prepare(sql::HAS_INVITATION)?.exists(params![ws, invitation.0])?)
    }

    async fn requires_second_factor(&mut self, workspace: WorkspaceId) -> Result<bool> {
        let mut statement = self.prepare(workspaces::sqlite::REQUIRES_SECOND_FACTOR)?;
        Ok(statement.query_row([workspace.0], |row| row.get(0)).optional()?.unwrap_or(false))
    }

    async fn token_owner(
        &mut self,
        workspace: WorkspaceId,
        token: TokenId,
    ) -> Result<Option<PersonId>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(sql::TOKEN_OWNER)?;
        let found = statement.query_row(params![ws, token.0], |row| row.get(0).map(PersonId));
        Ok(found.optional()?)
    }

    async fn write_user(&mut self, write: UserWrite) -> Result<()> {
        match write {
            UserWrite::Save { user, at } => self.execute(
                sql::SAVE_USER,
                params![
                    user.id.0,
                    user.email.as_str(),
                    user.email.key(),
                    user.name,
                    at.as_millis()
                ],
            ),
            UserWrite::SetPassword { user, hash } => {
                self.execute(sql::SET_PASSWORD, params![user.0, hash])
            }
            UserWrite::SetPreferences { user, preferences: Preferences { language, theme } } => {
                self.execute(sql::SET_PREFERENCES, params![user.0, language, theme])
            }
            UserWrite::EndSessions { user, except } => {
                let except = except.map(|session| session.0);
                self.execute(sql::DELETE_SESSIONS, params![user.0, except])?;
                self.execute(pending_logins::sqlite::DELETE_LOGINS_OF_USER, params![user.0])
            }
            UserWrite::SetDisabled { user, at } => {
                self.execute(sql::SET_DISABLED, params![user.0, at.map(Timestamp::as_millis)])
            }
            UserWrite::VerifyEmail { email, at } => {
                self.execute(sql::VERIFY_EMAIL, params![email.key(), at.as_millis()])
            }
        }
    }

    async fn write_membership(
        &mut self,
        workspace: WorkspaceId,
        write: MembershipWrite,
    ) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        match write {
            MembershipWrite::InsertInvitation(i) => self.execute(
                sql::INSERT_INVITATION,
                params![
                    i.id.0,
                    ws,
                    i.hash.0,
                    i.role.name(),
                    i.email,
                    i.invited_by.map(|person| person.0),
                    i.created_at.as_millis(),
                    i.expires_at.as_millis(),
                    i.is_mailed
                ],
            ),
            MembershipWrite::DeleteInvitation(id) => {
                self.execute(sql::DELETE_INVITATION, params![ws, id.0])
            }
            MembershipWrite::InsertToken(token) => self.execute(
                sql::INSERT_TOKEN,
                params![
                    token.id.0,
                    ws,
                    token.person.0,
                    token.name,
                    token.hash.0,
                    token.scopes.to_string(),
                    token.created_at.as_millis(),
                    token.expires_at.map(Timestamp::as_millis),
                    token.hint,
                    token.is_read_only
                ],
            ),
            MembershipWrite::RevokeToken { token, at } => {
                self.execute(sql::REVOKE_TOKEN, params![ws, token.0, at.as_millis()])
            }
            MembershipWrite::RevokeTokensOf { person, at } => {
                self.execute(sql::REVOKE_TOKENS_OF, params![ws, person.0, at.as_millis()])
            }
        }
    }
}

/// The invitation of a link.
fn read_invitation(connection: &Connection, hash: &SecretHash) -> Result<Option<StoredInvitation>> {
    let mut statement = connection.prepare_cached(sql::INVITATION)?;
    let found = statement.query_row([&hash.0[..]], |row| {
        Ok(StoredInvitation {
            id: InvitationId(row.get(0)?),
            workspace: WorkspaceId(row.get(1)?),
            hash: *hash,
            role: read_role(row, 2)?,
            email: row.get(3)?,
            invited_by: row.get::<_, Option<Uuid>>(4)?.map(PersonId),
            created_at: Timestamp::from_millis(row.get(5)?),
            expires_at: Timestamp::from_millis(row.get(6)?),
            is_mailed: row.get(7)?,
        })
    });
    Ok(found.optional()?)
}
