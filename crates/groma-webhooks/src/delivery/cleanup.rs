//! Deletes old deliveries and the remains of deleted endpoints.

use super::Clock;
use groma_store::Store;
use std::time::Duration;

/// The time between two runs.
const INTERVAL: Duration = Duration::from_secs(300);
/// The pause between two batches, so that other writers get their turn.
const BATCH_PAUSE: Duration = Duration::from_millis(50);
/// How long deliveries and attempts are kept: 30 days.
const RETENTION_MILLIS: i64 = 30 * 86_400_000;

/// Runs the cleanup periodically. Never returns.
pub(super) async fn run(store: &Store, clock: &Clock) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        if let Err(error) = run_once(store, clock).await {
            tracing::warn!(%error, "failed to delete old webhook deliveries");
        }
    }
}

async fn run_once(store: &Store, clock: &Clock) -> Result<(), groma_store::Error> {
    while store.purge_deleted_endpoints().await? > 0 {
        tokio::time::sleep(BATCH_PAUSE).await;
    }
    let before = clock().plus_millis(-RETENTION_MILLIS);
    let mut after = None;
    loop {
        after = store.delete_old_deliveries(before, after).await?;
        if after.is_none() {
            return Ok(());
        }
        tokio::time::sleep(BATCH_PAUSE).await;
    }
}
