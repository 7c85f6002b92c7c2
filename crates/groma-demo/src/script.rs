//! Three years of the office, up to a given moment. The same moment always gives the same story.

use super::{
    calendar::Day,
    folder_history::{self, Opening},
    job_types::WORKS,
    office::{FIELDS, PLACES, STREETS},
    rng::Chance,
    timeline::{Chapter, Notes, Step},
};
use groma_domain::{Kind, Timestamp};
use std::collections::HashSet;

const SEED: u64 = 1_093;
const DAYS: i64 = 3 * 365 + 1;
const FOLDERS: i64 = 424;
const PARCELS_PER_FOLDER: usize = 70;

/// What happened, and since when.
pub(super) struct Script {
    /// When the office began.
    pub(super) founded: Timestamp,
    /// How many parcels the communes have, about.
    pub(super) parcels: usize,
    pub(super) chapters: Vec<Chapter>,
}

impl Script {
    /// The script up to `now`.
    pub(super) fn generate(now: Timestamp) -> Self {
        Self::with_folders(FOLDERS, now)
    }

    /// A script with this many folders, spread over the same years.
    pub(super) fn with_folders(folders: i64, now: Timestamp) -> Self {
        let today = Day::of(now);
        let first = today.plus(-DAYS);
        let mut chance = Chance::new(SEED);
        let mut notes = Notes::default();
        let mut names = HashSet::new();
        for (number, day) in (1..).zip(opening_days(folders, first, today)) {
            let mut own = chance.branch();
            let opening = open(&mut own, number, day, &mut names);
            folder_history::live(&mut notes, own, &opening);
        }
        let founded = first.plus(-1).morning().plus_millis(6 * 3_600_000);
        let parcels = usize::try_from(folders).unwrap_or_default() * PARCELS_PER_FOLDER;
        Self { founded, parcels, chapters: notes.told_by(now) }
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> + Clone {
        self.chapters.iter().flat_map(|chapter| &chapter.steps)
    }

    /// How many records of a kind are created.
    pub(super) fn created(&self, kind: Kind) -> u64 {
        self.steps().filter(|step| step.is_new && step.kind == kind).count() as u64
    }
}

/// The day on which each folder is opened: more of them where there is more to do.
fn opening_days(folders: i64, first: Day, last: Day) -> Vec<Day> {
    let days = || (0..=DAYS).map(|day| first.plus(day)).filter(|day| *day <= last);
    let whole: i64 = days().map(Day::demand).sum::<i64>().max(1);
    let mut openings = Vec::new();
    let mut so_far = 0;
    for day in days() {
        so_far += day.demand();
        while (openings.len() as i64) < so_far * folders / whole {
            openings.push(day);
        }
    }
    openings
}

/// A folder under a name that none before it has.
fn open(chance: &mut Chance, number: i64, day: Day, names: &mut HashSet<String>) -> Opening {
    let works = WORKS.map(|work| (work.share, work));
    loop {
        let work = chance.weigh(&works);
        let subject = chance.pick(work.subjects);
        let place = chance.pick(&PLACES);
        let (street, field) = (chance.pick(&STREETS), chance.pick(&FIELDS));
        let sheet = format!("{}{}", chance.pick(&['A', 'B', 'Z']), chance.pick(&SHEET_LETTERS));
        let name = subject
            .name
            .replace("{street}", street)
            .replace("{field}", field)
            .replace("{lot}", &chance.between(1, 6).to_string())
            .replace("{season}", day.season())
            .replace("{sheet}", &sheet);
        let name = format!("{}, {name}", place.name);
        let spot = if subject.name.contains("{field}") { field } else { street };
        if names.insert(name.clone()) {
            return Opening { number, day, name, work, subject, place, spot, sheet };
        }
    }
}

const SHEET_LETTERS: [char; 12] = ['A', 'B', 'C', 'D', 'E', 'H', 'K', 'L', 'M', 'N', 'P', 'R'];

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::Permission;

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn the_same_moment_tells_the_same_story() {
        let chapters = || Script::generate(moment("2026-11-15T05:00:00Z")).chapters;
        assert_eq!(chapters(), chapters());
    }

    /// Leap days, holidays, weekends and midnight are days like any other.
    #[test]
    fn on_any_day_the_story_is_whole_and_over() {
        for now in [
            "2024-02-29T23:59:59.999Z",
            "2026-01-01T00:00:00Z",
            "2026-08-12T12:00:00Z",
            "2026-11-14T09:00:00Z",
            "2031-05-06T17:30:00Z",
        ] {
            let now = moment(now);
            let script = Script::generate(now);
            let Script { founded, chapters, .. } = &script;
            assert!(chapters.is_sorted_by(|one, next| one.at < next.at));
            assert!(*founded < chapters[0].at && chapters[chapters.len() - 1].at <= now);
            let may_write = |chapter: &Chapter| {
                chapter.who.role().is_some_and(|role| role.may(Permission::ChangeRecords))
            };
            assert!(chapters.iter().all(may_write));
            assert!(script.steps().all(|step| step.command().is_ok()));
            for (kind, expected) in [
                (Kind::Folder, 400..=440),
                (Kind::Assignment, 3_000..=5_000),
                (Kind::Expense, 4_000..=7_000),
                (Kind::Budget, 300..=450),
            ] {
                let created = script.created(kind);
                assert!(expected.contains(&created), "{now}: {created} of {kind}");
            }
        }
    }
}
