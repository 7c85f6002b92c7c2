//! A folder's assignments: planned when the order comes in, then done, or not.

use super::{Life, Outing};
use crate::{
    calendar::{Day, at_desk},
    job_types::{Doer, Phase, QUOTE, Task},
    office::Colleague,
};
use groma_domain::{Kind, Timestamp};
use serde_json::{Value, json};

impl Life<'_> {
    /// The task that comes with the opening of the folder.
    pub(super) fn quote(&mut self, opened: Timestamp, quoted: Timestamp) {
        let thing = self.notes.thing(Kind::Assignment);
        let values = json!({
            "title": QUOTE.title,
            "assignees": [self.owner.email()],
            "startDate": Day::of(opened).text(),
            "dueDate": Day::of(opened).plus_working(6).text(),
            "estimatedHours": hours(QUOTE.hours * 4),
        });
        let manager = (opened, Colleague::OfficeManager);
        self.notes.make(thing, manager, &[("folder", self.folder)], values);
        let spent = hours(self.chance.between(6, 20));
        let values = json!({ "status": "Done", "spentHours": spent });
        self.notes.change(thing, (quoted, self.owner), values);
    }

    /// Plans and does all others; tells which of them went outside.
    pub(super) fn do_tasks(&mut self) -> Vec<Outing> {
        let mut outings = Vec::new();
        for phase in [Phase::Prepare, Phase::Field, Phase::Office, Phase::Deliver] {
            let tasks = self.tasks_of(phase);
            let count = tasks.len() as i64;
            for (place, (task, title)) in (0..).zip(tasks) {
                let outing = self.do_task(task, &title, (place, count));
                if phase == Phase::Field {
                    outings.push(outing);
                }
            }
        }
        outings
    }

    /// The tasks of a phase with their titles. A large work takes a long day outside in parts.
    fn tasks_of(&mut self, phase: Phase) -> Vec<(Task, String)> {
        let mut tasks = Vec::new();
        for task in self.opening.work.tasks.iter().filter(|task| task.phase == phase) {
            if phase == Phase::Field && self.schedule.size > 2 && task.hours > 5 {
                for part in 1..=self.chance.between(2, 3) {
                    tasks.push((*task, format!("{}, part {part}", task.title)));
                }
            } else if self.chance.happens(94) {
                tasks.push((*task, task.title.to_owned()));
            }
        }
        tasks
    }

    fn do_task(&mut self, task: Task, title: &str, share: (i64, i64)) -> Outing {
        let doer = self.who_does(task.doer);
        // Who cannot log in has it written up by whoever answers for the folder.
        let writer = if doer.role().is_some() { doer } else { self.owner };
        let (first, last) = self.schedule.part(task.phase, share, self.schedule.slip);
        // Some tasks are only thought of when their day has come.
        let is_planned = self.chance.happens(90);
        let noted = if is_planned { self.ordered } else { first.morning().max(self.ordered) };
        let noted = at_desk(self.owner, noted);
        let estimated = (task.hours * 4 + self.chance.between(-3, 6)).max(2);
        let estimated = if self.schedule.size > 1 { estimated * 3 / 2 } else { estimated };
        let thing = self.notes.thing(Kind::Assignment);
        let days = self.schedule.part(task.phase, share, 100);
        let values = self.plan(task, title, days, estimated);
        self.notes.make(thing, (noted, self.owner), &[("folder", self.folder)], values);
        let outing = Outing { thing, noted, doer, first, last };
        let begun = first.morning().max(noted.plus_millis(1));
        if self.chance.happens(2) {
            let at = at_desk(self.owner, begun);
            self.notes.change(thing, (at, self.owner), json!({ "status": "Cancelled" }));
            return outing;
        }
        let spent = estimated * self.chance.between(70, 145) / 100;
        let mut at = at_desk(writer, begun);
        if last > first.plus(2) || self.chance.happens(15) {
            let so_far = hours(spent * self.chance.between(10, 60) / 100);
            let values = json!({ "status": "In progress", "spentHours": so_far });
            self.notes.change(thing, (at, writer), values);
            at = at_desk(writer, at.plus_millis(1));
        }
        at = at_desk(writer, last.morning().max(at));
        let mut finisher = writer;
        if task.phase == Phase::Office && writer != self.owner && self.chance.happens(55) {
            let values = json!({ "status": "Review", "spentHours": hours(spent - spent / 8) });
            self.notes.change(thing, (at, writer), values);
            finisher = self.owner;
            let read = Day::of(at).plus_working(self.chance.between(3, 10)).morning();
            at = at_desk(finisher, read.max(at.plus_millis(1)));
        }
        let values = json!({ "status": "Done", "spentHours": hours(spent) });
        let ends_field_work = task.phase == Phase::Field && share.0 + 1 == share.1;
        let fieldwork = ends_field_work.then(|| self.fieldwork(last.min(Day::of(at))));
        self.notes.bring_in(thing, (at, finisher), values, fieldwork);
        self.over = self.over.max(at);
        outing
    }

    fn plan(
        &mut self,
        task: Task,
        title: &str,
        (first, last): (Day, Day),
        estimated: i64,
    ) -> Value {
        let doer = self.who_does(task.doer);
        let chance = &mut self.chance;
        let is_outside = task.phase == Phase::Field;
        let mut assignees = vec![doer.email()];
        if is_outside && chance.happens(18) {
            assignees.push(Colleague::Trainee.email());
        }
        let remarks = match task.doer {
            Doer::Crew => IN_THE_FIELD,
            Doer::Drawing | Doer::Analyst => AT_THE_DESK,
            _ => &[],
        };
        let remark = !remarks.is_empty() && chance.happens(38);
        let remark = remark.then(|| chance.pick(remarks).replace("{spot}", self.opening.spot));
        let custom = if is_outside && chance.happens(60) {
            let instrument = instrument(title).unwrap_or_else(|| chance.pick(&INSTRUMENTS));
            json!({ "instrument": instrument, "crewSize": assignees.len() + 1 })
        } else {
            json!({})
        };
        json!({
            "title": title,
            "description": remark,
            "priority": chance.weigh(&[(9, "low"), (70, "normal"), (17, "high"), (4, "urgent")]),
            "assignees": assignees,
            "startDate": first.text(),
            "dueDate": last.text(),
            "estimatedHours": hours(estimated),
            "customFields": custom,
        })
    }

    fn who_does(&self, doer: Doer) -> Colleague {
        match doer {
            Doer::Owner => self.owner,
            Doer::Crew if self.opening.place.is_north => Colleague::CrewNorth,
            Doer::Crew => Colleague::CrewSouth,
            Doer::Drawing => Colleague::DrawingOffice,
            Doer::Analyst => Colleague::GisAnalyst,
            Doer::Pilot => Colleague::DronePilot,
            Doer::Lawyer => Colleague::LandLawAdviser,
            Doer::Manager => Colleague::OfficeManager,
        }
    }
}

/// Quarters of an hour as hours: `6.25`.
fn hours(quarters: i64) -> String {
    format!("{}.{:02}", quarters / 4, quarters % 4 * 25)
}

/// The instrument that a task cannot do without.
fn instrument(title: &str) -> Option<&'static str> {
    const NEEDED: [(&str, &str); 8] = [
        ("GNSS", "GNSS rover 2"),
        ("levelling", "Digital level"),
        ("locator", "Cable locator"),
        ("radar", "Ground radar"),
        ("Flight", "Drone 1"),
        ("Oblique", "Drone 2"),
        ("Soundings", "Echo sounder"),
        ("targets", "GNSS rover 1"),
    ];
    NEEDED.iter().find(|(word, _)| title.contains(word)).map(|(_, instrument)| *instrument)
}

const INSTRUMENTS: [&str; 4] =
    ["Total station 1", "Total station 2", "GNSS rover 1", "GNSS rover 2"];

const IN_THE_FIELD: &[&str] = &[
    "Access from {spot}; the gate is open from seven.",
    "Call the site manager before going in.",
    "Two people, cones and signs in the van.",
    "Only when the ground is dry.",
    "Tie in to the benchmark at the town hall.",
    "Take pictures of every station.",
    "Finish before the school holidays.",
    "Check the prism constant before starting.",
    "Batteries for two days: no power on site.",
];

const AT_THE_DESK: &[&str] = &[
    "Layers and symbols as in the client's drawing guide.",
    "Same title block as last year.",
    "Compare with the plan of the neighbouring folder.",
    "The client wants DWG and PDF.",
    "Four eyes before it goes out.",
    "Note the sources in the margin.",
    "Use the geoid model of the control report.",
];

#[cfg(test)]
mod tests {
    #[test]
    fn hours_are_written_to_the_quarter() {
        assert_eq!([2, 25, 48].map(super::hours), ["0.50", "6.25", "12.00"]);
    }
}
