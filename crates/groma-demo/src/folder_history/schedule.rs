//! When what is done: as planned, and as it came.

use crate::{
    calendar::Day,
    job_types::{Phase, Work},
    rng::Chance,
};

pub(super) struct Schedule {
    pub(super) start: Day,
    pub(super) due: Day,
    /// 1 for most, 4 for the largest.
    pub(super) size: i64,
    /// How long it really takes, in percent of the plan.
    pub(super) slip: i64,
    /// The working days of each phase.
    lengths: [i64; 4],
}

impl Schedule {
    pub(super) fn draw_up(chance: &mut Chance, work: &Work, ordered: Day) -> Self {
        let size = chance.weigh(&[(58, 1), (30, 2), (12, 4)]);
        let field = chance.between(work.field_days.0, work.field_days.1) * size + 2;
        let office = field * chance.between(60, 130) / 100 + 3;
        let lengths = [chance.between(3, 9), field, office, chance.between(3, 7)];
        let (least, most) = chance.weigh(&[(68, (86, 108)), (32, (115, 220))]);
        let slip = chance.between(least, most);
        let start = ordered.plus_working(chance.between(1, 5));
        let due = start.plus_working(lengths.iter().sum::<i64>() + chance.between(0, 4));
        Self { start, due, size, slip, lengths }
    }

    /// The days from which and to which a phase really lasts.
    pub(super) fn actual(&self, phase: Phase) -> (Day, Day) {
        self.part(phase, (0, 1), self.slip)
    }

    /// The days of the `place`-th of `count` equal parts of a phase, at this pace.
    pub(super) fn part(&self, phase: Phase, (place, count): (i64, i64), pace: i64) -> (Day, Day) {
        let before: i64 = self.lengths[..phase as usize].iter().sum();
        let length = self.lengths[phase as usize];
        let day = |parts: i64| {
            self.start.plus_working((before * count + length * parts) * pace / (100 * count))
        };
        (day(place), day(place + 1))
    }
}
