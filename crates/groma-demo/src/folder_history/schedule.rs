//! The planned and the actual dates of a folder's phases.

use crate::{
    calendar::Day,
    job_types::{JobType, Phase},
    rng::Rng,
};

pub(super) struct Schedule {
    pub(super) start: Day,
    pub(super) due: Day,
    /// 1 for most jobs, 4 for the largest.
    pub(super) size: i64,
    /// The actual duration in percent of the plan.
    pub(super) pace: i64,
    /// The planned working days of each phase.
    phase_days: [i64; 4],
}

impl Schedule {
    pub(super) fn generate(rng: &mut Rng, job_type: &JobType, ordered: Day) -> Self {
        let size = rng.pick_weighted(&[(58, 1), (30, 2), (12, 4)]);
        let field = rng.int(job_type.field_days.0, job_type.field_days.1) * size + 2;
        let office = field * rng.int(60, 130) / 100 + 3;
        let phase_days = [rng.int(3, 9), field, office, rng.int(3, 7)];
        let (min, max) = rng.pick_weighted(&[(68, (86, 108)), (32, (115, 220))]);
        let pace = rng.int(min, max);
        let start = ordered.plus_working(rng.int(1, 5));
        let due = start.plus_working(phase_days.iter().sum::<i64>() + rng.int(0, 4));
        Self { start, due, size, pace, phase_days }
    }

    /// The actual first and last day of a phase.
    pub(super) fn actual(&self, phase: Phase) -> (Day, Day) {
        self.part(phase, (0, 1), self.pace)
    }

    /// The first and last day of one of `count` equal parts of a phase, at this pace.
    pub(super) fn part(&self, phase: Phase, (index, count): (i64, i64), pace: i64) -> (Day, Day) {
        let before: i64 = self.phase_days[..phase as usize].iter().sum();
        let length = self.phase_days[phase as usize];
        let day = |parts: i64| {
            self.start.plus_working((before * count + length * parts) * pace / (100 * count))
        };
        (day(index), day(index + 1))
    }
}
