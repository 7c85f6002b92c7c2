//! Idempotency keys on PostgreSQL.

use super::{IdempotencyKey, IdempotencyTx, IdempotentRequest, StoredResponse};
use crate::{
    Result,
    engine::{
        postgres::{PostgresTransaction, params},
        statements,
    },
    secret_encryption::{SecretCipher, SecretsToEncrypt, is_encrypted},
};
use deadpool_postgres::Transaction;
use groma_domain::{Timestamp, TokenId, WorkspaceId};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

statements! {
    RESPONSE = "SELECT body_hash, response, at FROM idempotency_keys
        WHERE workspace_id = $1 AND token_id = $2 AND path = $3 AND key = $4";
    SAVE_RESPONSE = "INSERT INTO idempotency_keys (workspace_id, token_id, path, key, body_hash, response, at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, token_id, path, key) DO UPDATE SET body_hash = excluded.body_hash,
            response = excluded.response, at = excluded.at";
    DELETE_EXPIRED = "DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM idempotency_keys WHERE at < $1 ORDER BY at LIMIT 100))";
    WEBHOOK_RESPONSES = "SELECT workspace_id, token_id, path, key, response FROM idempotency_keys
        WHERE path LIKE '%/webhooks/endpoints%'";
    SET_RESPONSE = "UPDATE idempotency_keys SET response = $5
        WHERE workspace_id = $1 AND token_id = $2 AND path = $3 AND key = $4";
}

impl IdempotencyTx for PostgresTransaction<'_> {
    async fn stored_response(
        &mut self,
        workspace: WorkspaceId,
        key: &IdempotencyKey,
    ) -> Result<Option<StoredResponse>> {
        let IdempotencyKey { token, path, key } = key;
        let params: [&(dyn ToSql + Sync); 4] = [&workspace.0, &token.0, path, key];
        let Some(row) = self.row(RESPONSE, &params).await? else { return Ok(None) };
        Ok(Some(StoredResponse {
            body_hash: row.try_get::<_, &[u8]>(0)?.try_into().unwrap_or_default(),
            response: row.try_get(1)?,
            at: Timestamp::from_millis(row.try_get(2)?),
        }))
    }

    async fn save_response(
        &mut self,
        workspace: WorkspaceId,
        IdempotentRequest { key, body_hash }: IdempotentRequest,
        response: Vec<u8>,
        at: Timestamp,
    ) -> Result<()> {
        let IdempotencyKey { token, path, key } = key;
        let params =
            params![workspace.0, token.0, path, key, body_hash.to_vec(), response, at.as_millis()];
        self.send(vec![(SAVE_RESPONSE, params)]).await
    }
}

/// Encrypts the responses that contain webhook secrets.
pub(crate) async fn encrypt_responses(
    transaction: &Transaction<'_>,
    cipher: &SecretCipher,
    which: SecretsToEncrypt,
) -> Result<()> {
    for row in transaction.query(WEBHOOK_RESPONSES, &[]).await? {
        let workspace: Uuid = row.try_get(0)?;
        let key = IdempotencyKey {
            token: TokenId(row.try_get(1)?),
            path: row.try_get(2)?,
            key: row.try_get(3)?,
        };
        let response: &[u8] = row.try_get(4)?;
        if which == SecretsToEncrypt::Plain && is_encrypted(response) {
            continue;
        }
        let owner = key.owner();
        // A key that is lost is no reason to keep the others from changing.
        let Ok(response) = cipher.decrypt(owner.as_bytes(), response) else { continue };
        let response = cipher.encrypt(owner.as_bytes(), &response)?;
        let params: [&(dyn ToSql + Sync); 5] =
            [&workspace, &key.token.0, &key.path, &key.key, &response];
        transaction.execute(SET_RESPONSE, &params).await?;
    }
    Ok(())
}
