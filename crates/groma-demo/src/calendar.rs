//! The office's calendar: working days, seasonal demand, and when each member of staff enters data.

use super::{office::Staff, rng::Rng};
use groma_domain::{Timestamp, time::Date};

const DAY_MILLIS: i64 = 86_400_000;
const MINUTE_MILLIS: i64 = 60_000;

/// A day, as the number of days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(i64);

impl Day {
    pub(super) fn of(time: Timestamp) -> Self {
        Self(time.as_millis().div_euclid(DAY_MILLIS))
    }

    pub(super) fn date(self) -> Date {
        self.start().date()
    }

    /// As the API writes it: `2026-11-15`.
    pub(super) fn text(self) -> String {
        self.date().to_string()
    }

    /// Midnight in UTC.
    pub(super) fn start(self) -> Timestamp {
        Timestamp::from_millis(self.0 * DAY_MILLIS)
    }

    /// This many calendar days later.
    pub(super) fn plus(self, days: i64) -> Self {
        Self(self.0 + days)
    }

    /// This many working days later; for 0, this day or else the next working day.
    pub(super) fn plus_working(self, days: i64) -> Self {
        let mut day = self;
        while !day.is_working_day() {
            day.0 += 1;
        }
        for _ in 0..days {
            day.0 += 1;
            while !day.is_working_day() {
                day.0 += 1;
            }
        }
        day
    }

    /// The first day of the next month.
    pub(super) fn next_month(self) -> Self {
        let date = self.date();
        self.plus(i64::from(date.days_in_month()) - i64::from(date.day()) + 1)
    }

    /// Monday is 0.
    fn weekday(self) -> i64 {
        // 1 January 1970 was a Thursday.
        (self.0 + 3).rem_euclid(7)
    }

    pub(super) fn is_working_day(self) -> bool {
        let date = self.date();
        let closed = matches!(
            (date.month(), date.day()),
            (1, 1) | (5, 1 | 8) | (7, 14) | (8, 10..=15) | (11, 1 | 11) | (12, 24..=31)
        );
        self.weekday() < 5 && !closed
    }

    /// How much work comes in, where 100 is average. Surveys peak in spring and autumn.
    pub(super) fn demand(self) -> i64 {
        const BY_MONTH: [i64; 12] = [70, 90, 130, 135, 120, 125, 85, 40, 130, 125, 105, 60];
        if self.is_working_day() { BY_MONTH[(self.date().month() - 1) as usize] } else { 0 }
    }

    pub(super) fn season(self) -> &'static str {
        match self.date().month() {
            3..=5 => "spring",
            6..=8 => "summer",
            9..=11 => "autumn",
            _ => "winter",
        }
    }
}

/// The first time from `earliest` on at which a member of staff enters data. All their entries of
/// one day share a time, and no two members of staff ever share one.
pub(super) fn next_entry_time(staff: Staff, earliest: Timestamp) -> Timestamp {
    let (weekdays, start_minute) = staff.entry_slot();
    let mut day = Day::of(earliest);
    loop {
        if day.is_working_day() && weekdays.contains(&day.weekday()) {
            let mut rng = Rng::new(day.0.unsigned_abs() << 8 | staff as u64);
            let offset = rng.int(0, 30 * MINUTE_MILLIS);
            let time = day.start().plus_millis(start_minute * MINUTE_MILLIS + offset);
            if time >= earliest {
                return time;
            }
        }
        day.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::of(Timestamp::parse(&format!("{text}T12:00:00Z")).unwrap())
    }

    #[test]
    fn weekends_and_holidays_are_not_working_days() {
        for (text, expected) in [
            ("2026-11-13", true),
            ("2026-11-14", false),
            ("2026-11-15", false),
            ("2026-11-16", true),
            ("2026-05-01", false),
            ("2025-12-26", false),
        ] {
            assert_eq!(day(text).is_working_day(), expected, "{text}");
        }
        assert_eq!(day("2026-11-14").plus_working(0), day("2026-11-16"));
        assert_eq!(day("2026-11-13").plus_working(1), day("2026-11-16"));
        assert_eq!(day("2025-12-23").plus_working(1), day("2026-01-02"));
    }

    #[test]
    fn entry_times_are_unique_to_each_member_of_staff() {
        let earliest = day("2026-03-02").start();
        let mut times: Vec<_> =
            Staff::ALL.iter().map(|&staff| next_entry_time(staff, earliest)).collect();
        for (&staff, &time) in Staff::ALL.iter().zip(&times) {
            assert!(time >= earliest);
            assert_eq!(next_entry_time(staff, time), time);
            assert!(next_entry_time(staff, time.plus_millis(1)) > time);
        }
        times.sort_unstable();
        times.dedup();
        assert_eq!(times.len(), Staff::ALL.len());
    }
}
