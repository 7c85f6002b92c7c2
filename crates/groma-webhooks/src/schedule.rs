//! When a delivery is tried again. Pure: the moment and the chance are passed in.

use groma_domain::Timestamp;
use groma_store::Next;
use std::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// How long to wait after each failed attempt. Behind the last the delivery has failed.
pub const DELAYS: [Duration; 10] = [
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

/// The longest wait that a receiver may ask for.
const MAX_RETRY_AFTER: Duration = seconds(24 * 3_600);

/// What follows an attempt that was preceded by `tries` others and ended at `now` with this status (none
/// when there was no answer) and this `Retry-After`. `chance`, from 0 to 1, spreads the waits over a
/// tenth to either side, so that what failed together does not come back together.
#[must_use]
pub fn next(
    tries: u32,
    status: Option<u16>,
    retry_after: Option<&str>,
    now: Timestamp,
    chance: f64,
) -> Next {
    if status.is_some_and(|status| (200..300).contains(&status)) {
        return Next::Delivered;
    }
    let delay = usize::try_from(tries).ok().and_then(|tries| DELAYS.get(tries));
    let asked = retry_after.and_then(|text| read_retry_after(text, now)).unwrap_or_default();
    let after = |delay: &Duration| {
        let spread = delay.mul_f64(0.9 + 0.2 * chance.clamp(0.0, 1.0));
        i64::try_from(spread.max(asked.min(MAX_RETRY_AFTER)).as_millis()).unwrap_or(i64::MAX)
    };
    match (status, delay) {
        // It is not asked again, but should someone enable it, this one goes on too.
        (Some(410), delay) => Next::Gone { after_millis: delay.map_or(0, after) },
        (_, Some(delay)) => Next::Again { after_millis: after(delay) },
        (_, None) => Next::Failed,
    }
}

/// Seconds, or the moment of an HTTP date.
fn read_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
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

    fn again(tries: u32, retry_after: Option<&str>, chance: f64) -> i64 {
        match next(tries, Some(503), retry_after, now(), chance) {
            Next::Again { after_millis } => after_millis,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_schedule_is_the_promised_one_and_lasts_three_days() {
        let minutes: Vec<_> =
            (0..10).map(|tries| again(tries, None, 0.5) as f64 / 60_000.0).collect();
        let expected = [5.0 / 60.0, 1.0, 5.0, 30.0, 120.0, 300.0, 600.0, 840.0, 1_200.0, 1_440.0];
        for (minutes, expected) in minutes.iter().zip(expected) {
            assert!((minutes - expected).abs() < 1e-3, "{minutes} {expected}");
        }
        let days = minutes.iter().sum::<f64>() / 1_440.0;
        assert!((3.0..3.5).contains(&days), "{days}");
        assert_eq!(next(10, Some(500), None, now(), 0.5), Next::Failed);
        assert_eq!(next(10, None, Some("60"), now(), 0.5), Next::Failed);
        assert_eq!(next(u32::MAX, None, None, now(), 0.5), Next::Failed);
    }

    #[test]
    fn every_2xx_is_a_success_and_nothing_else_is() {
        for status in 200..300 {
            assert_eq!(next(0, Some(status), None, now(), 0.5), Next::Delivered);
        }
        for status in [100, 199, 300, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503, 599] {
            assert!(
                matches!(next(0, Some(status), None, now(), 0.5), Next::Again { .. }),
                "{status}"
            );
        }
        assert!(matches!(next(0, None, None, now(), 0.5), Next::Again { .. }));
        assert!(matches!(next(0, Some(410), None, now(), 0.5), Next::Gone { .. }));
        assert!(matches!(next(10, Some(410), None, now(), 0.5), Next::Gone { .. }));
    }

    #[test]
    fn a_longer_retry_after_is_honoured_up_to_a_day() {
        let day = 24 * 3_600_000;
        for (tries, retry_after, wanted) in [
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
            assert_eq!(again(tries, Some(retry_after), 0.5), wanted, "{retry_after}");
        }
    }

    proptest! {
        #[test]
        fn a_wait_is_spread_by_a_tenth_and_no_more(tries in 0_u32..10, chance in 0.0..=1.0) {
            let exact = DELAYS[tries as usize].as_millis() as f64;
            let wait = again(tries, None, chance) as f64;
            prop_assert!((exact * 0.9 - 1.0..=exact * 1.1 + 1.0).contains(&wait));
        }
    }
}
