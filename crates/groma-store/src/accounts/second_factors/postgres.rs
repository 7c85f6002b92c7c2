//! Second factors on PostgreSQL.

use super::{AuthenticatorApp, FactorTx, FactorWrite, LoginMethods, SecondFactors, StoredPasskey};
use crate::{
    Result,
    engine::{
        int,
        postgres::{Postgres, PostgresTransaction, params, unsigned},
        statements,
    },
    secret_encryption::{SecretsToEncrypt, is_encrypted},
    webhooks::WebhookContext,
};
use groma_domain::{PasskeyId, Timestamp, UserId, secret::SecretHash};
use std::sync::Arc;
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

statements! {
    APP = "SELECT secret, created_at FROM authenticator_apps WHERE user_id = $1";
    ALL_APPS = "SELECT user_id, secret FROM authenticator_apps FOR UPDATE";
    SET_APP_SECRET = "UPDATE authenticator_apps SET secret = $2 WHERE user_id = $1";
    SAVE_APP = "INSERT INTO authenticator_apps (user_id, secret, last_step, created_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = excluded.last_step,
            created_at = excluded.created_at";
    DELETE_APP = "DELETE FROM authenticator_apps WHERE user_id = $1";
    USE_STEP = "UPDATE authenticator_apps SET last_step = $2 WHERE user_id = $1 AND last_step < $2";
    PASSKEYS = "SELECT id, credential_id, credential, name, created_at, last_used_at
        FROM passkeys WHERE user_id = $1 ORDER BY id";
    INSERT_PASSKEY = "INSERT INTO passkeys (id, user_id, credential_id, credential, name, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    DELETE_PASSKEY = "DELETE FROM passkeys WHERE user_id = $1 AND id = $2";
    DELETE_PASSKEYS = "DELETE FROM passkeys WHERE user_id = $1";
    USE_PASSKEY = "UPDATE passkeys SET credential = $2, last_used_at = $3 WHERE id = $1";
    COUNT_CODES = "SELECT count(*) FROM recovery_codes WHERE user_id = $1";
    USE_CODE = "DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2";
    DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
    INSERT_CODE = "INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)";
    REMOVE_PASSWORD = "UPDATE users SET password_hash = NULL WHERE id = $1";
    RAISE_SESSION = "UPDATE sessions SET has_second_factor = TRUE WHERE id = $1";
    LOCK_USER = "SELECT 1 FROM users WHERE id = $1 FOR UPDATE";
    LOGIN_METHODS = "SELECT
            EXISTS (SELECT 1 FROM users WHERE id = $1 AND password_hash IS NOT NULL),
            EXISTS (SELECT 1 FROM authenticator_apps WHERE user_id = $1),
            (SELECT count(*) FROM passkeys WHERE user_id = $1),
            (SELECT count(*) FROM identities WHERE user_id = $1),
            (SELECT count(*) FROM recovery_codes WHERE user_id = $1),
            EXISTS (SELECT 1 FROM people p JOIN workspaces w ON w.id = p.workspace_id
                WHERE p.user_id = $1 AND p.role IS NOT NULL AND w.requires_second_factor)";
}

pub(crate) async fn second_factors(engine: &Arc<Postgres>, user: UserId) -> Result<SecondFactors> {
    let apps = engine.rows(APP, &[&user.0]).await?;
    let app = |row: &Row| -> Result<AuthenticatorApp> {
        let created_at = Timestamp::from_millis(row.try_get(1)?);
        Ok(AuthenticatorApp { secret: row.try_get(0)?, created_at })
    };
    let passkeys = engine.rows(PASSKEYS, &[&user.0]).await?;
    let codes = engine.rows(COUNT_CODES, &[&user.0]).await?;
    Ok(SecondFactors {
        authenticator_app: apps.first().map(app).transpose()?,
        passkeys: passkeys.iter().map(read_passkey).collect::<Result<_>>()?,
        recovery_codes: codes.first().map_or(Ok(0), |row| unsigned(row, 0))?,
    })
}

fn read_passkey(row: &Row) -> Result<StoredPasskey> {
    Ok(StoredPasskey {
        id: PasskeyId(row.try_get(0)?),
        credential_id: row.try_get(1)?,
        credential: row.try_get(2)?,
        name: row.try_get(3)?,
        created_at: Timestamp::from_millis(row.try_get(4)?),
        last_used_at: row.try_get::<_, Option<i64>>(5)?.map(Timestamp::from_millis),
    })
}

pub(crate) async fn use_authenticator_code(
    engine: &Arc<Postgres>,
    user: UserId,
    step: u64,
) -> Result<bool> {
    Ok(engine.execute(USE_STEP, &[&user.0, &int(step)]).await? > 0)
}

pub(crate) async fn use_recovery_code(
    engine: &Arc<Postgres>,
    user: UserId,
    code: &SecretHash,
) -> Result<bool> {
    Ok(engine.execute(USE_CODE, &[&user.0, &&code.0[..]]).await? > 0)
}

pub(crate) async fn use_passkey(
    engine: &Arc<Postgres>,
    passkey: PasskeyId,
    credential: &str,
    now: Timestamp,
) -> Result<()> {
    let values: [&(dyn ToSql + Sync); 3] = [&passkey.0, &credential, &now.as_millis()];
    engine.execute(USE_PASSKEY, &values).await.map(drop)
}

pub(crate) async fn encrypt_secrets(
    engine: &Arc<Postgres>,
    context: &Arc<WebhookContext>,
    which: SecretsToEncrypt,
) -> Result<u64> {
    let cipher = context.cipher();
    let mut client = engine.client().await?;
    let transaction = client.transaction().await?;
    let mut encrypted = 0;
    for row in transaction.query(ALL_APPS, &[]).await? {
        let (user, secret): (Uuid, &[u8]) = (row.try_get(0)?, row.try_get(1)?);
        if which == SecretsToEncrypt::Plain && is_encrypted(secret) {
            continue;
        }
        let owner = user.as_bytes();
        let secret = cipher.encrypt(owner, &cipher.decrypt(owner, secret)?)?;
        encrypted += transaction.execute(SET_APP_SECRET, &[&user, &secret]).await?;
    }
    transaction.commit().await?;
    Ok(encrypted)
}

impl FactorTx for PostgresTransaction<'_> {
    async fn login_methods(&mut self, user: UserId) -> Result<LoginMethods> {
        self.row(LOCK_USER, &[&user.0]).await?;
        let Some(row) = self.row(LOGIN_METHODS, &[&user.0]).await? else {
            return Ok(LoginMethods::default());
        };
        Ok(LoginMethods {
            has_password: row.try_get(0)?,
            has_app: row.try_get(1)?,
            passkeys: unsigned(&row, 2)?,
            identities: unsigned(&row, 3)?,
            recovery_codes: unsigned(&row, 4)?,
            requires_second_factor: row.try_get(5)?,
        })
    }

    async fn write_factor(&mut self, write: FactorWrite) -> Result<()> {
        let statements = match write {
            FactorWrite::SaveApp { user, secret, step, at } => {
                vec![(SAVE_APP, params![user.0, secret, int(step), at.as_millis()])]
            }
            FactorWrite::DeleteApp(user) => vec![(DELETE_APP, params![user.0])],
            FactorWrite::InsertPasskey(user, key) => vec![(
                INSERT_PASSKEY,
                params![
                    key.id.0,
                    user.0,
                    key.credential_id,
                    key.credential,
                    key.name,
                    key.created_at.as_millis()
                ],
            )],
            FactorWrite::DeletePasskey(user, id) => vec![(DELETE_PASSKEY, params![user.0, id.0])],
            FactorWrite::DeletePasskeys(user) => vec![(DELETE_PASSKEYS, params![user.0])],
            FactorWrite::ReplaceRecoveryCodes(user, codes) => {
                let insert = |code: SecretHash| (INSERT_CODE, params![user.0, code.0.to_vec()]);
                let delete = (DELETE_CODES, params![user.0]);
                std::iter::once(delete).chain(codes.into_iter().map(insert)).collect()
            }
            FactorWrite::RemovePassword(user) => vec![(REMOVE_PASSWORD, params![user.0])],
            FactorWrite::RaiseSession(session) => vec![(RAISE_SESSION, params![session.0])],
        };
        self.send(statements).await
    }
}
