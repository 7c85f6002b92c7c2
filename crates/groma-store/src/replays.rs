//! Requests that may be sent again: what was answered to them is kept for a day.

use crate::{
    Result,
    seal::Sealer,
    tx::{ReplayKey, Tx, Write},
};
use groma_domain::{DomainError, Timestamp, WorkspaceId};

/// How long an answer is kept.
pub(crate) const REPLAYED_FOR_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// A request that came with a key.
#[derive(Clone, Debug)]
pub struct Replayable {
    /// Which.
    pub key: ReplayKey,
    /// The hash of its body.
    pub body_hash: [u8; 16],
}

/// What was answered to the same request before. The same key with another body is refused.
pub(crate) async fn find<T: Tx>(
    tx: &mut T,
    workspace: WorkspaceId,
    request: Option<&Replayable>,
    now: Timestamp,
) -> Result<Option<Vec<u8>>> {
    let Some(Replayable { key, body_hash }) = request else { return Ok(None) };
    let Some(replay) = tx.replay(workspace, key).await? else { return Ok(None) };
    if now.as_millis() - replay.at.as_millis() >= REPLAYED_FOR_MILLIS {
        return Ok(None);
    }
    if replay.body_hash != *body_hash {
        let message = "was used for another body within the last 24 hours";
        return Err(DomainError::invalid("Idempotency-Key", message).into());
    }
    tx.sealer().open(owner(key).as_bytes(), &replay.answer).map(Some)
}

/// Keeps an answer that anyone who can read the database may read.
pub(crate) fn plain(request: Replayable, answer: Vec<u8>, at: Timestamp) -> Write {
    let Replayable { key, body_hash } = request;
    Write::SaveReplay { request: key, body_hash, answer, at }
}

/// Keeps an answer that holds a secret.
pub(crate) fn sealed(
    sealer: &Sealer,
    request: Replayable,
    answer: &[u8],
    at: Timestamp,
) -> Result<Write> {
    let answer = sealer.seal(owner(&request.key).as_bytes(), answer)?;
    Ok(plain(request, answer, at))
}

/// What a sealed answer is bound to.
pub(crate) fn owner(key: &ReplayKey) -> String {
    format!("{} {} {}", key.token, key.path, key.key)
}
