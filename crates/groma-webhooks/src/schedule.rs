//! The retry schedule. Time and randomness are parameters.

use groma_domain::Timestamp;
use groma_store::NextStep;
use std::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The delay after each failed attempt. After the last one, the delivery has failed.
pub const RETRY_DELAYS: [Duration; 10] = [
    seconds(5),
    seconds(60),
    seconds(5 * 60),
    seconds(30 * 60),
    seconds(2 * 3_600),
    seconds(5 * 3_600),
    seconds(10 * 3_600),
    seconds(14 * 3_600),
    seconds(20 * 3_600),
    seconds(24 * 3_600),
];

/// The longest `Retry-After` that is respected.
const MAX_RETRY_AFTER: Duration = seconds(24 * 3_600);

/// Decides what follows an attempt.
///
/// `tries` is the number of earlier attempts, `status` the HTTP status (`None` without a response).
/// `jitter`, from 0 to 1, varies the delay by up to 10 % in either direction, so that deliveries that
/// failed together are not retried together.
#[must_use]
pub fn next_step(
    tries: u32,
    status: Option<u16>,
    retry_after: Option<&str>,
    now: Timestamp,
    jitter: f64,
) -> NextStep {
    if status.is_some_and(|status| (200..300).contains(&status)) {
        return NextStep::Delivered;
    }
    let delay = usize::try_from(tries).ok().and_then(|tries| RETRY_DELAYS.get(tries));
    let requested = retry_after.and_then(|text| parse_retry_after(text, now)).unwrap_or_default();
    let after = |delay: &Duration| {
        let varied = delay.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0));
        i64::try_from(varied.max(requested.min(MAX_RETRY_AFTER)).as_millis()).unwrap_or(i64::MAX)
    };
    match (status, delay) {
        // 410 disables the endpoint. If it is enabled again, the delivery continues.
        (Some(410), delay) => NextStep::Gone { after_millis: delay.map_or(0, after) },
        (_, Some(delay)) => NextStep::Retry { after_millis: after(delay) },
        (_, None) => NextStep::Failed,
    }
}

/// Parses `Retry-After`: seconds, or an HTTP date.
fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let millis = Timestamp::from(date.timestamp()).as_millis() - now.as_millis();
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-03-02T08:00:00Z").unwrap()
    }

    fn retry_delay(tries: u32, retry_after: Option<&str>, jitter: f64) -> i64 {
        match next_step(tries, Some(503), retry_after, now(), jitter) {
            NextStep::Retry { after_millis } => after_millis,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn schedule_matches_the_documentation_and_lasts_three_days() {
        let minutes: Vec<_> =
            (0..10).map(|tries| retry_delay(tries, None, 0.5) as f64 / 60_000.0).collect();
        let expected = [5.0 / 60.0, 1.0, 5.0, 30.0, 120.0, 300.0, 600.0, 840.0, 1_200.0, 1_440.0];
        for (minutes, expected) in minutes.iter().zip(expected) {
            assert!((minutes - expected).abs() < 1e-3, "{minutes} {expected}");
        }
        let days = minutes.iter().sum::<f64>() / 1_440.0;
        assert!((3.0..3.5).contains(&days), "{days}");
        assert_eq!(next_step(10, Some(500), None, now(), 0.5), NextStep::Failed);
        assert_eq!(next_step(10, None, Some("60"), now(), 0.5), NextStep::Failed);
        assert_eq!(next_step(u32::MAX, None, None, now(), 0.5), NextStep::Failed);
    }

    #[test]
    fn only_2xx_is_a_success() {
        for status in 200..300 {
            assert_eq!(next_step(0, Some(status), None, now(), 0.5), NextStep::Delivered);
        }
        for status in [100, 199, 300, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503, 599] {
            assert!(
                matches!(next_step(0, Some(status), None, now(), 0.5), NextStep::Retry { .. }),
                "{status}"
            );
        }
        assert!(matches!(next_step(0, None, None, now(), 0.5), NextStep::Retry { .. }));
        assert!(matches!(next_step(0, Some(410), None, now(), 0.5), NextStep::Gone { .. }));
        assert!(matches!(next_step(10, Some(410), None, now(), 0.5), NextStep::Gone { .. }));
    }

    #[test]
    fn longer_retry_after_is_respected_up_to_one_day() {
        let day = 24 * 3_600_000;
        for (tries, retry_after, expected) in [
            (0, "120", 120_000),
            (0, " 120 ", 120_000),
            (0, "1", 5_000),
            (3, "60", 30 * 60_000),
            (0, "86400", day),
            (0, "86401", day),
            (0, "99999999999999999999999", day),
            (0, "Mon, 02 Mar 2026 09:00:00 GMT", 3_600_000),
            (0, "Mon, 02 Mar 2026 07:00:00 GMT", 5_000),
            (0, "Thu, 01 Jan 2099 00:00:00 GMT", day),
            (0, "-5", 5_000),
            (0, "1.5", 5_000),
            (0, "soon", 5_000),
            (0, "", 5_000),
        ] {
            assert_eq!(retry_delay(tries, Some(retry_after), 0.5), expected, "{retry_after}");
        }
    }

    proptest! {
        #[test]
        fn jitter_varies_the_delay_by_at_most_ten_percent(tries in 0_u32..10, jitter in 0.0..=1.0) {
            let exact = RETRY_DELAYS[tries as usize].as_millis() as f64;
            let delay = retry_delay(tries, None, jitter) as f64;
            prop_assert!((exact * 0.9 - 1.0..=exact * 1.1 + 1.0).contains(&delay));
        }
    }
}
