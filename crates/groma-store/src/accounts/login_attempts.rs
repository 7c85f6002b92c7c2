//! Attempts to log in. They are counted before they are made, so that concurrent attempts cannot exceed a
//! limit, and forgotten if they succeed.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::Accounts;
use crate::{Result, engine::dispatch};
use groma_domain::Timestamp;

/// What login attempts are counted by.
#[derive(Clone, Debug)]
pub struct ThrottleBucket {
    /// Its name.
    pub name: String,
    /// When it rejects attempts.
    pub rule: ThrottleRule,
}

/// When a bucket rejects attempts.
#[derive(Clone, Copy, Debug)]
pub enum ThrottleRule {
    /// When so many have failed within 15 minutes.
    Limit(u32),
    /// When so many have failed within a day, for a time after the last failure: 1 s, then 2 s, 4 s, and so
    /// on up to 15 minutes.
    Backoff {
        /// How many may fail without a delay.
        after: u32,
    },
}

/// Whether an attempt may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginAttemptOutcome {
    /// It is counted and may be made.
    Accepted,
    /// It is not counted and must not be made.
    Rejected {
        /// When to try again.
        retry_at: Timestamp,
        /// Whether it is the first one that a bucket rejects since the bucket accepted one.
        is_first: bool,
    },
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const MAX_DELAY: i64 = 15 * MINUTE;

impl ThrottleRule {
    /// How long a failed attempt counts.
    fn window_millis(self) -> i64 {
        match self {
            Self::Limit(_) => 15 * MINUTE,
            Self::Backoff { .. } => 24 * 60 * MINUTE,
        }
    }

    /// How many of the last attempts it must know. More failures change nothing.
    fn horizon(self) -> i64 {
        match self {
            Self::Limit(limit) => limit.into(),
            // 2^10 seconds are more than the longest delay.
            Self::Backoff { after } => i64::from(after) + 10,
        }
    }

    /// When an attempt can be made after those at `failures`, of which the latest is first.
    fn retry_at(self, failures: &[i64]) -> Option<i64> {
        match self {
            Self::Limit(limit) => {
                let decisive = failures.get((limit as usize).checked_sub(1)?)?;
                Some(decisive + self.window_millis())
            }
            Self::Backoff { after } => {
                let further = failures.len().checked_sub(after as usize)?;
                let delay = 1_i64.checked_shl(u32::try_from(further).ok()?).unwrap_or(MAX_DELAY);
                Some(failures.first()? + (delay * SECOND).min(MAX_DELAY))
            }
        }
    }
}

/// What a decision is made from, and the decision.
struct Decision {
    now: i64,
    rejections: Vec<Rejection>,
}

/// A bucket that rejects attempts.
struct Rejection {
    /// The name of another bucket, which contains an attempt once one was rejected.
    marker: String,
    retry_at: i64,
}

impl Decision {
    fn new(now: Timestamp) -> Self {
        Self { now: now.as_millis(), rejections: Vec::new() }
    }

    /// Adds a bucket with its failed attempts, of which the latest is first.
    fn add(&mut self, bucket: &ThrottleBucket, failures: &[i64]) {
        let retry_at = bucket.rule.retry_at(failures).filter(|at| *at > self.now);
        if let Some(retry_at) = retry_at {
            // The name ends with the same address, so that erasing a person deletes both.
            let marker = format!("rejected {}", bucket.name);
            self.rejections.push(Rejection { marker, retry_at });
        }
    }

    /// The outcome; `is_first` tells whether a bucket has rejected no attempt before.
    fn outcome(&self, is_first: bool) -> LoginAttemptOutcome {
        match self.rejections.iter().map(|rejection| rejection.retry_at).max() {
            Some(at) => {
                let retry_at = Timestamp::from_millis(at);
                LoginAttemptOutcome::Rejected { retry_at, is_first }
            }
            None => LoginAttemptOutcome::Accepted,
        }
    }
}

impl Accounts {
    /// Counts a login attempt before it is made, unless a bucket rejects it.
    pub(crate) async fn begin_login_attempt(
        &self,
        buckets: Vec<ThrottleBucket>,
        now: Timestamp,
    ) -> Result<LoginAttemptOutcome> {
        dispatch!(&self.engine, begin_login_attempt(buckets, now))
    }

    /// Removes the attempt counted at `at`, because it succeeded. The first bucket is emptied.
    pub(crate) async fn clear_login_attempt(
        &self,
        buckets: Vec<ThrottleBucket>,
        at: Timestamp,
    ) -> Result<()> {
        dispatch!(&self.engine, clear_login_attempt(buckets, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_with_each_failure() {
        let rule = ThrottleRule::Backoff { after: 3 };
        let delay = |count: i64| {
            let failures: Vec<i64> = (0..count).rev().collect();
            rule.retry_at(&failures).map(|at| at - (count - 1))
        };
        assert_eq!((delay(0), delay(2)), (None, None));
        let delays: Vec<_> = (3..7).filter_map(delay).map(|delay| delay / SECOND).collect();
        assert_eq!(delays, [1, 2, 4, 8]);
        assert_eq!(delay(3 + 9), Some(512 * SECOND));
        assert_eq!(delay(rule.horizon()), Some(MAX_DELAY));
        assert_eq!(delay(100), Some(MAX_DELAY));
    }

    #[test]
    fn limit_ends_when_the_decisive_failure_is_old() {
        let rule = ThrottleRule::Limit(2);
        assert_eq!(rule.retry_at(&[5]), None);
        assert_eq!(rule.retry_at(&[9, 5]), Some(5 + 15 * MINUTE));
    }
}
