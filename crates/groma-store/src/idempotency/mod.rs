//! Idempotency keys: the response to a request that carried one is kept for a day and returned again to
//! the same request.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{Error, Result, audit_log::AuditLogTx, secret_encryption::SecretCipher};
use groma_domain::{DomainError, Timestamp, TokenId, WorkspaceId};

/// How long a response is kept.
pub(crate) const RETENTION_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// Identifies a request that may be sent again.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    /// The token that sent it.
    pub token: TokenId,
    /// The path it was sent to.
    pub path: String,
    /// Its `Idempotency-Key` header.
    pub key: String,
}

impl IdempotencyKey {
    /// What an encrypted response is bound to.
    pub(crate) fn owner(&self) -> String {
        format!("{} {} {}", self.token, self.path, self.key)
    }
}

/// A request with an idempotency key.
#[derive(Clone, Debug)]
pub struct IdempotentRequest {
    /// Which request.
    pub key: IdempotencyKey,
    /// The hash of its body.
    pub body_hash: [u8; 16],
}

/// The outcome of a request that may carry an idempotency key.
#[derive(Debug)]
pub enum Outcome<T> {
    /// The request was carried out.
    First(T),
    /// The same request was handled before; this was the response.
    Replayed(Vec<u8>),
}

impl<T> Outcome<T> {
    /// The outcome of a request without an idempotency key.
    pub fn first(self) -> Result<T> {
        match self {
            Self::First(outcome) => Ok(outcome),
            Self::Replayed(_) => Err(Error::Damaged("no key, but a stored response".to_owned())),
        }
    }
}

/// A response that was given to a request.
pub(crate) struct StoredResponse {
    pub(crate) body_hash: [u8; 16],
    pub(crate) response: Vec<u8>,
    pub(crate) at: Timestamp,
}

/// Operations of a transaction on idempotency keys.
pub(crate) trait IdempotencyTx: AuditLogTx {
    fn stored_response(
        &mut self,
        workspace: WorkspaceId,
        key: &IdempotencyKey,
    ) -> impl Future<Output = Result<Option<StoredResponse>>> + Send;

    fn save_response(
        &mut self,
        workspace: WorkspaceId,
        request: IdempotentRequest,
        response: Vec<u8>,
        at: Timestamp,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// The response that was given to the same request before. The same key with another body is rejected.
pub(crate) async fn find<T: IdempotencyTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    request: Option<&IdempotentRequest>,
    cipher: &SecretCipher,
    now: Timestamp,
) -> Result<Option<Vec<u8>>> {
    let Some(IdempotentRequest { key, body_hash }) = request else { return Ok(None) };
    let Some(stored) = tx.stored_response(workspace, key).await? else { return Ok(None) };
    if now.as_millis() - stored.at.as_millis() >= RETENTION_MILLIS {
        return Ok(None);
    }
    if stored.body_hash != *body_hash {
        let message = "was used for another body within the last 24 hours";
        return Err(DomainError::invalid("Idempotency-Key", message).into());
    }
    cipher.decrypt(key.owner().as_bytes(), &stored.response).map(Some)
}

/// Keeps the response to a request that was carried out, encrypted if there is a key.
pub(crate) async fn save<T: IdempotencyTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    request: Option<IdempotentRequest>,
    response: &[u8],
    cipher: &SecretCipher,
    now: Timestamp,
) -> Result<()> {
    let Some(request) = request else { return Ok(()) };
    let response = cipher.encrypt(request.key.owner().as_bytes(), response)?;
    tx.save_response(workspace, request, response, now).await
}
