//! Idempotency keys on SQLite.

use super::{IdempotencyKey, IdempotencyTx, IdempotentRequest, StoredResponse};
use crate::{
    Result,
    engine::{sqlite::SqliteTransaction, statements},
    secret_encryption::{SecretCipher, SecretsToEncrypt, is_encrypted},
};
use groma_domain::{Timestamp, TokenId, WorkspaceId};
use rusqlite::{Connection, OptionalExtension, params};

statements! {
    RESPONSE = "SELECT body_hash, response, at FROM idempotency_keys WHERE token_id = ?1 AND path = ?2 AND key = ?3";
    SAVE_RESPONSE = "INSERT INTO idempotency_keys (token_id, path, key, body_hash, response, at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (token_id, path, key) DO UPDATE SET body_hash = excluded.body_hash,
            response = excluded.response, at = excluded.at";
    HAS_EXPIRED = "SELECT 1 FROM idempotency_keys WHERE at < ?1";
    DELETE_EXPIRED = "DELETE FROM idempotency_keys WHERE rowid IN
        (SELECT rowid FROM idempotency_keys WHERE at < ?1 ORDER BY at LIMIT 100)";
    WEBHOOK_RESPONSES = "SELECT rowid, token_id, path, key, response FROM idempotency_keys
        WHERE path LIKE '%/webhooks/endpoints%'";
    SET_RESPONSE = "UPDATE idempotency_keys SET response = ?2 WHERE rowid = ?1";
}

impl IdempotencyTx for SqliteTransaction<'_> {
    async fn stored_response(
        &mut self,
        _: WorkspaceId,
        key: &IdempotencyKey,
    ) -> Result<Option<StoredResponse>> {
        let IdempotencyKey { token, path, key } = key;
        let found = self.prepare(RESPONSE)?.query_row(params![token.0, path, key], |row| {
            Ok(StoredResponse {
                body_hash: row.get(0)?,
                response: row.get(1)?,
                at: Timestamp::from_millis(row.get(2)?),
            })
        });
        Ok(found.optional()?)
    }

    async fn save_response(
        &mut self,
        _: WorkspaceId,
        IdempotentRequest { key, body_hash }: IdempotentRequest,
        response: Vec<u8>,
        at: Timestamp,
    ) -> Result<()> {
        let IdempotencyKey { token, path, key } = key;
        let values = params![token.0, path, key, body_hash, response, at.as_millis()];
        self.execute(SAVE_RESPONSE, values)
    }
}

/// Encrypts the responses that contain webhook secrets.
pub(crate) fn encrypt_responses(
    connection: &Connection,
    cipher: &SecretCipher,
    which: SecretsToEncrypt,
) -> Result<()> {
    let mut statement = connection.prepare_cached(WEBHOOK_RESPONSES)?;
    let responses = statement.query_map([], |row| {
        let key =
            IdempotencyKey { token: TokenId(row.get(1)?), path: row.get(2)?, key: row.get(3)? };
        Ok((row.get::<_, i64>(0)?, key, row.get::<_, Vec<u8>>(4)?))
    })?;
    for stored in responses.collect::<rusqlite::Result<Vec<_>>>()? {
        let (row, key, response) = stored;
        if which == SecretsToEncrypt::All || !is_encrypted(&response) {
            let owner = key.owner();
            // A key that is lost is no reason to keep the others from changing.
            let Ok(response) = cipher.decrypt(owner.as_bytes(), &response) else { continue };
            let response = cipher.encrypt(owner.as_bytes(), &response)?;
            connection.prepare_cached(SET_RESPONSE)?.execute(params![row, response])?;
        }
    }
    Ok(())
}
