//! The office's calendar: which days it works, when in the year there is much to do, and when each
//! colleague sits down to write up what happened.

use super::{office::Colleague, rng::Chance};
use groma_domain::{Timestamp, time::Date};

const DAY_MILLIS: i64 = 86_400_000;
const MINUTE_MILLIS: i64 = 60_000;

/// A day, counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(i64);

impl Day {
    pub(super) fn of(moment: Timestamp) -> Self {
        Self(moment.as_millis().div_euclid(DAY_MILLIS))
    }

    pub(super) fn date(self) -> Date {
        self.morning().date()
    }

    /// As the API writes it: `2026-11-15`.
    pub(super) fn text(self) -> String {
        self.date().to_string()
    }

    /// When it begins, in UTC.
    pub(super) fn morning(self) -> Timestamp {
        Timestamp::from_millis(self.0 * DAY_MILLIS)
    }

    /// So many days later, weekends included.
    pub(super) fn plus(self, days: i64) -> Self {
        Self(self.0 + days)
    }

    /// So many working days later; for 0 the day itself, or the next one that the office works.
    pub(super) fn plus_working(self, days: i64) -> Self {
        let mut day = self;
        while !day.is_worked() {
            day.0 += 1;
        }
        for _ in 0..days {
            day.0 += 1;
            while !day.is_worked() {
                day.0 += 1;
            }
        }
        day
    }

    /// The first day of the month that follows.
    pub(super) fn next_month(self) -> Self {
        let date = self.date();
        self.plus(i64::from(date.days_in_month()) - i64::from(date.day()) + 1)
    }

    /// Monday is 0.
    fn weekday(self) -> i64 {
        // 1 January 1970 was a Thursday.
        (self.0 + 3).rem_euclid(7)
    }

    pub(super) fn is_worked(self) -> bool {
        let date = self.date();
        let closed = matches!(
            (date.month(), date.day()),
            (1, 1) | (5, 1 | 8) | (7, 14) | (8, 10..=15) | (11, 1 | 11) | (12, 24..=31)
        );
        self.weekday() < 5 && !closed
    }

    /// How much work comes in, 100 being an ordinary day. Ground is measured in spring and autumn;
    /// in August nobody answers, and in December everybody hurries home.
    pub(super) fn demand(self) -> i64 {
        const BY_MONTH: [i64; 12] = [70, 90, 130, 135, 120, 125, 85, 40, 130, 125, 105, 60];
        if self.is_worked() { BY_MONTH[(self.date().month() - 1) as usize] } else { 0 }
    }

    /// The season, for works that are named after it.
    pub(super) fn season(self) -> &'static str {
        match self.date().month() {
            3..=5 => "spring",
            6..=8 => "summer",
            9..=11 => "autumn",
            _ => "winter",
        }
    }
}

/// The first moment from `earliest` on at which `who` sits at a desk. All that someone writes up in
/// one sitting shares a moment, and no two colleagues ever share one.
pub(super) fn at_desk(who: Colleague, earliest: Timestamp) -> Timestamp {
    let (weekdays, from_minute) = who.desk();
    let mut day = Day::of(earliest);
    loop {
        if day.is_worked() && weekdays.contains(&day.weekday()) {
            let mut late = Chance::new(day.0.unsigned_abs() << 8 | who as u64);
            let late = late.between(0, 30 * MINUTE_MILLIS);
            let moment = day.morning().plus_millis(from_minute * MINUTE_MILLIS + late);
            if moment >= earliest {
                return moment;
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
    fn weekends_and_holidays_are_not_worked() {
        for (text, worked) in [
            ("2026-11-13", true),
            ("2026-11-14", false),
            ("2026-11-15", false),
            ("2026-11-16", true),
            ("2026-05-01", false),
            ("2025-12-26", false),
        ] {
            assert_eq!(day(text).is_worked(), worked, "{text}");
        }
        assert_eq!(day("2026-11-14").plus_working(0), day("2026-11-16"));
        assert_eq!(day("2026-11-13").plus_working(1), day("2026-11-16"));
        assert_eq!(day("2025-12-23").plus_working(1), day("2026-01-02"));
    }

    #[test]
    fn a_sitting_is_one_colleagues_alone() {
        let earliest = day("2026-03-02").morning();
        let mut moments: Vec<_> =
            Colleague::ALL.iter().map(|&who| at_desk(who, earliest)).collect();
        for (&who, &moment) in Colleague::ALL.iter().zip(&moments) {
            assert!(moment >= earliest);
            assert_eq!(at_desk(who, moment), moment, "a sitting is found again from within");
            assert!(at_desk(who, moment.plus_millis(1)) > moment);
        }
        moments.sort_unstable();
        moments.dedup();
        assert_eq!(moments.len(), Colleague::ALL.len());
    }
}
