//! Three years of the office, up to a given time. The same time always gives the same script.

use super::{
    calendar::Day,
    folder_history::{self, NewFolder},
    job_types::JOB_TYPES,
    office::{COMMUNES, FIELDS, STREETS},
    rng::Rng,
    timeline::{Batch, Step, Timeline},
};
use groma_domain::{Kind, Timestamp};
use std::collections::HashSet;

const SEED: u64 = 1_093;
const DAYS: i64 = 3 * 365 + 1;
const FOLDERS: i64 = 424;
const PARCELS_PER_FOLDER: usize = 70;
const SECTION_LETTERS: [char; 12] = ['A', 'B', 'C', 'D', 'E', 'H', 'K', 'L', 'M', 'N', 'P', 'R'];

pub(super) struct Script {
    pub(super) founded_at: Timestamp,
    /// The approximate number of parcels in all communes.
    pub(super) parcel_count: usize,
    pub(super) batches: Vec<Batch>,
}

impl Script {
    /// The full script up to `now`.
    pub(super) fn generate(now: Timestamp) -> Self {
        Self::with_folders(FOLDERS, now)
    }

    /// A script with this many folders, spread over the same years.
    pub(super) fn with_folders(folders: i64, now: Timestamp) -> Self {
        let today = Day::of(now);
        let first = today.plus(-DAYS);
        let mut rng = Rng::new(SEED);
        let mut timeline = Timeline::default();
        let mut names = HashSet::new();
        for (number, day) in (1..).zip(opening_days(folders, first, today)) {
            let mut folder_rng = rng.fork();
            let folder = new_folder(&mut folder_rng, number, day, &mut names);
            folder_history::generate(&mut timeline, folder_rng, &folder);
        }
        Self {
            founded_at: first.plus(-1).start().plus_millis(6 * 3_600_000),
            parcel_count: usize::try_from(folders).unwrap_or_default() * PARCELS_PER_FOLDER,
            batches: timeline.batches_until(now),
        }
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> + Clone {
        self.batches.iter().flat_map(|batch| &batch.steps)
    }

    /// How many records of a kind the script creates.
    pub(super) fn record_count(&self, kind: Kind) -> u64 {
        self.steps().filter(|step| step.is_new && step.kind == kind).count() as u64
    }
}

/// The day on which each folder is opened, in proportion to the season's demand.
fn opening_days(folders: i64, first: Day, last: Day) -> Vec<Day> {
    let days = || (0..=DAYS).map(|day| first.plus(day)).filter(|day| *day <= last);
    let total: i64 = days().map(Day::demand).sum::<i64>().max(1);
    let mut openings = Vec::new();
    let mut demand = 0;
    for day in days() {
        demand += day.demand();
        while (openings.len() as i64) < demand * folders / total {
            openings.push(day);
        }
    }
    openings
}

/// A folder with a unique name.
fn new_folder(rng: &mut Rng, number: i64, day: Day, names: &mut HashSet<String>) -> NewFolder {
    let job_types = JOB_TYPES.map(|job_type| (job_type.share, job_type));
    loop {
        let job_type = rng.pick_weighted(&job_types);
        let subject = rng.pick(job_type.subjects);
        let commune = rng.pick(&COMMUNES);
        let (street, field) = (rng.pick(&STREETS), rng.pick(&FIELDS));
        let section = format!("{}{}", rng.pick(&['A', 'B', 'Z']), rng.pick(&SECTION_LETTERS));
        let name = subject
            .name
            .replace("{street}", street)
            .replace("{field}", field)
            .replace("{lot}", &rng.int(1, 6).to_string())
            .replace("{season}", day.season())
            .replace("{section}", &section);
        let name = format!("{}, {name}", commune.name);
        let site_name = if subject.name.contains("{field}") { field } else { street };
        if names.insert(name.clone()) {
            return NewFolder { number, day, name, job_type, subject, commune, site_name, section };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::Permission;

    fn timestamp(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn same_time_gives_the_same_script() {
        let batches = || Script::generate(timestamp("2026-11-15T05:00:00Z")).batches;
        assert_eq!(batches(), batches());
    }

    #[test]
    fn script_is_complete_on_leap_days_holidays_and_weekends() {
        for now in [
            "2024-02-29T23:59:59.999Z",
            "2026-01-01T00:00:00Z",
            "2026-08-12T12:00:00Z",
            "2026-11-14T09:00:00Z",
            "2031-05-06T17:30:00Z",
        ] {
            let now = timestamp(now);
            let script = Script::generate(now);
            let Script { founded_at, batches, .. } = &script;
            assert!(batches.is_sorted_by(|one, next| one.at < next.at));
            assert!(*founded_at < batches[0].at && batches[batches.len() - 1].at <= now);
            let can_write = |batch: &Batch| {
                batch.author.role().is_some_and(|role| role.can(Permission::ChangeRecords))
            };
            assert!(batches.iter().all(can_write));
            assert!(script.steps().all(|step| step.command().is_ok()));
            for (kind, expected) in [
                (Kind::Folder, 400..=440),
                (Kind::Assignment, 3_000..=5_000),
                (Kind::Expense, 4_000..=7_000),
                (Kind::Budget, 300..=450),
            ] {
                let count = script.record_count(kind);
                assert!(expected.contains(&count), "{now}: {count} of {kind}");
            }
        }
    }
}
