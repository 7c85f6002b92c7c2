//! Second factors on SQLite.

use super::{AuthenticatorApp, FactorTx, FactorWrite, LoginMethods, SecondFactors, StoredPasskey};
use crate::{
    Result,
    engine::{
        int,
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
    secret_encryption::{SecretsToEncrypt, is_encrypted},
    webhooks::WebhookContext,
};
use groma_domain::{PasskeyId, Timestamp, UserId, secret::SecretHash};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;
use uuid::Uuid;

statements! {
    APP = "SELECT secret, created_at FROM authenticator_apps WHERE user_id = ?1";
    ALL_APPS = "SELECT user_id, secret FROM authenticator_apps";
    SET_APP_SECRET = "UPDATE authenticator_apps SET secret = ?2 WHERE user_id = ?1";
    SAVE_APP = "INSERT INTO authenticator_apps (user_id, secret, last_step, created_at) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = excluded.last_step,
            created_at = excluded.created_at";
    DELETE_APP = "DELETE FROM authenticator_apps WHERE user_id = ?1";
    USE_STEP = "UPDATE authenticator_apps SET last_step = ?2 WHERE user_id = ?1 AND last_step < ?2";
    PASSKEYS = "SELECT id, credential_id, credential, name, created_at, last_used_at
        FROM passkeys WHERE user_id = ?1 ORDER BY id";
    INSERT_PASSKEY = "INSERT INTO passkeys (id, user_id, credential_id, credential, name, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    DELETE_PASSKEY = "DELETE FROM passkeys WHERE user_id = ?1 AND id = ?2";
    DELETE_PASSKEYS = "DELETE FROM passkeys WHERE user_id = ?1";
    USE_PASSKEY = "UPDATE passkeys SET credential = ?2, last_used_at = ?3 WHERE id = ?1";
    COUNT_CODES = "SELECT count(*) FROM recovery_codes WHERE user_id = ?1";
    USE_CODE = "DELETE FROM recovery_codes WHERE user_id = ?1 AND hash = ?2";
    DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = ?1";
    INSERT_CODE = "INSERT INTO recovery_codes (user_id, hash) VALUES (?1, ?2)";
    REMOVE_PASSWORD = "UPDATE users SET password_hash = NULL WHERE id = ?1";
    RAISE_SESSION = "UPDATE sessions SET has_second_factor = 1 WHERE id = ?1";
    LOGIN_METHODS = "SELECT
            EXISTS (SELECT 1 FROM users WHERE id = ?1 AND password_hash IS NOT NULL),
            EXISTS (SELECT 1 FROM authenticator_apps WHERE user_id = ?1),
            (SELECT count(*) FROM passkeys WHERE user_id = ?1),
            (SELECT count(*) FROM identities WHERE user_id = ?1),
            (SELECT count(*) FROM recovery_codes WHERE user_id = ?1),
            EXISTS (SELECT 1 FROM people p JOIN workspaces w ON w.no = p.ws
                WHERE p.user_id = ?1 AND p.role IS NOT NULL AND w.requires_second_factor)";
}

pub(crate) async fn second_factors(engine: &Arc<Sqlite>, user: UserId) -> Result<SecondFactors> {
    engine.read(|connection| {
        let app = connection.prepare_cached(APP)?.query_row([user.0], |row| {
            let created_at = Timestamp::from_millis(row.get(1)?);
            Ok(AuthenticatorApp { secret: row.get(0)?, created_at })
        });
        let mut statement = connection.prepare_cached(PASSKEYS)?;
        let passkeys = statement.query_map([user.0], read_passkey)?;
        let codes: i64 =
            connection.prepare_cached(COUNT_CODES)?.query_row([user.0], |row| row.get(0))?;
        Ok(SecondFactors {
            authenticator_app: app.optional()?,
            passkeys: passkeys.collect::<rusqlite::Result<_>>()?,
            recovery_codes: codes.unsigned_abs(),
        })
    })
}

fn read_passkey(row: &Row<'_>) -> rusqlite::Result<StoredPasskey> {
    Ok(StoredPasskey {
        id: PasskeyId(row.get(0)?),
        credential_id: row.get(1)?,
        credential: row.get(2)?,
        name: row.get(3)?,
        created_at: Timestamp::from_millis(row.get(4)?),
        last_used_at: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
    })
}

pub(crate) async fn use_authenticator_code(
    engine: &Arc<Sqlite>,
    user: UserId,
    step: u64,
) -> Result<bool> {
    let update = move |connection: &Connection| {
        Ok(connection.prepare_cached(USE_STEP)?.execute(params![user.0, int(step)])? > 0)
    };
    engine.write(update).await
}

pub(crate) async fn use_recovery_code(
    engine: &Arc<Sqlite>,
    user: UserId,
    code: &SecretHash,
) -> Result<bool> {
    let code = *code;
    let delete = move |connection: &Connection| {
        Ok(connection.prepare_cached(USE_CODE)?.execute(params![user.0, code.0])? > 0)
    };
    engine.write(delete).await
}

pub(crate) async fn use_passkey(
    engine: &Arc<Sqlite>,
    passkey: PasskeyId,
    credential: &str,
    now: Timestamp,
) -> Result<()> {
    let credential = credential.to_owned();
    let update = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(USE_PASSKEY)?;
        statement.execute(params![passkey.0, credential, now.as_millis()])?;
        Ok(())
    };
    engine.write(update).await
}

pub(crate) async fn encrypt_secrets(
    engine: &Arc<Sqlite>,
    context: &Arc<WebhookContext>,
    which: SecretsToEncrypt,
) -> Result<u64> {
    let context = context.clone();
    let encrypt = move |connection: &Connection| {
        let cipher = context.cipher();
        let mut statement = connection.prepare_cached(ALL_APPS)?;
        let read = |row: &Row<'_>| Ok((row.get::<_, Uuid>(0)?, row.get::<_, Vec<u8>>(1)?));
        let apps = statement.query_map([], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut encrypted = 0;
        for (user, secret) in apps {
            if which == SecretsToEncrypt::Plain && is_encrypted(&secret) {
                continue;
            }
            let owner = user.as_bytes();
            let secret = cipher.encrypt(owner, &cipher.decrypt(owner, &secret)?)?;
            connection.prepare_cached(SET_APP_SECRET)?.execute(params![user, secret])?;
            encrypted += 1;
        }
        Ok(encrypted)
    };
    engine.write(encrypt).await
}

impl FactorTx for SqliteTransaction<'_> {
    async fn login_methods(&mut self, user: UserId) -> Result<LoginMethods> {
        let mut statement = self.prepare(LOGIN_METHODS)?;
        Ok(statement.query_row([user.0], |row| {
            let count =
                |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
            Ok(LoginMethods {
                has_password: row.get(0)?,
                has_app: row.get(1)?,
                passkeys: count(2)?,
                identities: count(3)?,
                recovery_codes: count(4)?,
                requires_second_factor: row.get(5)?,
            })
        })?)
    }

    async fn write_factor(&mut self, write: FactorWrite) -> Result<()> {
        match write {
            FactorWrite::SaveApp { user, secret, step, at } => {
                self.execute(SAVE_APP, params![user.0, secret, int(step), at.as_millis()])
            }
            FactorWrite::DeleteApp(user) => self.execute(DELETE_APP, params![user.0]),
            FactorWrite::InsertPasskey(user, key) => self.execute(
                INSERT_PASSKEY,
                params![
                    key.id.0,
                    user.0,
                    key.credential_id,
                    key.credential,
                    key.name,
                    key.created_at.as_millis()
                ],
            ),
            FactorWrite::DeletePasskey(user, id) => {
                self.execute(DELETE_PASSKEY, params![user.0, id.0])
            }
            FactorWrite::DeletePasskeys(user) => self.execute(DELETE_PASSKEYS, params![user.0]),
            FactorWrite::ReplaceRecoveryCodes(user, codes) => {
                self.execute(DELETE_CODES, params![user.0])?;
                codes.iter().try_for_each(|code| self.execute(INSERT_CODE, params![user.0, code.0]))
            }
            FactorWrite::RemovePassword(user) => self.execute(REMOVE_PASSWORD, params![user.0]),
            FactorWrite::RaiseSession(session) => self.execute(RAISE_SESSION, params![session.0]),
        }
    }
}
