//! Waiting for a condition instead of for a time.

use crate::Result;
use std::time::{Duration, Instant};

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// How long a test waits for a condition. A longer wait is a failure.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Repeats an attempt until it succeeds. Panics with its last error after `timeout`.
#[track_caller]
pub fn wait_until<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> std::result::Result<T, String>,
) -> T {
    let deadline = Instant::now() + timeout;
    loop {
        let is_last = Instant::now() >= deadline;
        match attempt() {
            Ok(value) => return value,
            Err(error) if is_last => panic!("timed out after {timeout:?}: {error}"),
            Err(_) => std::thread::park_timeout(PAUSE),
        }
    }
}

/// Repeats an attempt until it succeeds. Returns its last error after `timeout`.
pub async fn retry<T>(timeout: Duration, mut attempt: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + timeout;
    loop {
        let is_last = Instant::now() >= deadline;
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) if is_last => {
                return Err(format!("timed out after {timeout:?}: {error}").into());
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Waits until a condition holds. Panics with its description after `timeout`.
pub async fn wait_until_true(
    timeout: Duration,
    description: &str,
    mut condition: impl AsyncFnMut() -> bool,
) {
    let deadline = Instant::now() + timeout;
    while !condition().await {
        assert!(Instant::now() < deadline, "timed out after {timeout:?}: {description}");
        tokio::time::sleep(PAUSE).await;
    }
}
