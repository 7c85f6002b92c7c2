//! A folder's assignments: planned when the order comes in, then completed or cancelled.

use super::{FieldTask, FolderHistory};
use crate::{
    calendar::{Day, next_entry_time},
    job_types::{Phase, QUOTE, TaskRole, TaskTemplate},
    office::Staff,
};
use groma_domain::{Kind, Timestamp};
use serde_json::{Value, json};

impl FolderHistory<'_> {
    /// The first task of every folder.
    pub(super) fn quote(&mut self, opened_at: Timestamp, quoted_at: Timestamp) {
        let record = self.timeline.new_record(Kind::Assignment);
        let values = json!({
            "title": QUOTE.title,
            "assignees": [self.owner.email()],
            "startDate": Day::of(opened_at).text(),
            "dueDate": Day::of(opened_at).plus_working(6).text(),
            "estimatedHours": hours(QUOTE.hours * 4),
        });
        let created = (opened_at, Staff::OfficeManager);
        self.timeline.create(record, created, &[("folder", self.folder)], values);
        let spent = hours(self.rng.int(6, 20));
        let values = json!({ "status": "Done", "spentHours": spent });
        self.timeline.update(record, (quoted_at, self.owner), values);
    }

    /// Adds all tasks of the job and returns those in the field.
    pub(super) fn add_tasks(&mut self) -> Vec<FieldTask> {
        let mut field_tasks = Vec::new();
        for phase in [Phase::Prepare, Phase::Field, Phase::Office, Phase::Deliver] {
            let tasks = self.tasks_of(phase);
            let count = tasks.len() as i64;
            for (index, (task, title)) in (0..).zip(tasks) {
                let field_task = self.add_task(task, &title, (index, count));
                if phase == Phase::Field {
                    field_tasks.push(field_task);
                }
            }
        }
        field_tasks
    }

    /// The tasks of a phase with their titles. Large jobs split long field tasks into parts.
    fn tasks_of(&mut self, phase: Phase) -> Vec<(TaskTemplate, String)> {
        let mut tasks = Vec::new();
        for task in self.new.job_type.tasks.iter().filter(|task| task.phase == phase) {
            if phase == Phase::Field && self.schedule.size > 2 && task.hours > 5 {
                for part in 1..=self.rng.int(2, 3) {
                    tasks.push((*task, format!("{}, part {part}", task.title)));
                }
            } else if self.rng.chance(94) {
                tasks.push((*task, task.title.to_owned()));
            }
        }
        tasks
    }

    fn add_task(&mut self, task: TaskTemplate, title: &str, part: (i64, i64)) -> FieldTask {
        let (first, last) = self.schedule.part(task.phase, part, self.schedule.pace);
        // Some tasks are only added on the day they start.
        let is_planned = self.rng.chance(90);
        let ordered_at = self.ordered_at;
        let created_at = if is_planned { ordered_at } else { first.start().max(ordered_at) };
        let created_at = next_entry_time(self.owner, created_at);
        let estimate = (task.hours * 4 + self.rng.int(-3, 6)).max(2);
        let estimate = if self.schedule.size > 1 { estimate * 3 / 2 } else { estimate };
        let record = self.timeline.new_record(Kind::Assignment);
        let planned_days = self.schedule.part(task.phase, part, 100);
        let values = self.task_values(task, title, planned_days, estimate);
        let created = (created_at, self.owner);
        self.timeline.create(record, created, &[("folder", self.folder)], values);
        let assignee = self.assignee(task.role);
        let field_task = FieldTask { record, created_at, assignee, first, last };
        if self.rng.chance(2) {
            let started = first.start().max(created_at.plus_millis(1));
            let at = next_entry_time(self.owner, started);
            self.timeline.update(record, (at, self.owner), json!({ "status": "Cancelled" }));
        } else {
            let is_last_in_field = task.phase == Phase::Field && part.0 + 1 == part.1;
            self.complete(field_task, task.phase, estimate, is_last_in_field);
        }
        field_task
    }

    fn complete(&mut self, task: FieldTask, phase: Phase, estimate: i64, is_last_in_field: bool) {
        let FieldTask { record, created_at, assignee, first, last } = task;
        // The folder's owner enters data for people who cannot log in.
        let author = if assignee.role().is_some() { assignee } else { self.owner };
        let spent = estimate * self.rng.int(70, 145) / 100;
        let mut at = next_entry_time(author, first.start().max(created_at.plus_millis(1)));
        if last > first.plus(2) || self.rng.chance(15) {
            let so_far = hours(spent * self.rng.int(10, 60) / 100);
            let values = json!({ "status": "In progress", "spentHours": so_far });
            self.timeline.update(record, (at, author), values);
            at = next_entry_time(author, at.plus_millis(1));
        }
        at = next_entry_time(author, last.start().max(at));
        let mut completed_by = author;
        if phase == Phase::Office && author != self.owner && self.rng.chance(55) {
            let values = json!({ "status": "Review", "spentHours": hours(spent - spent / 8) });
            self.timeline.update(record, (at, author), values);
            completed_by = self.owner;
            let reviewed = Day::of(at).plus_working(self.rng.int(3, 10)).start();
            at = next_entry_time(completed_by, reviewed.max(at.plus_millis(1)));
        }
        let values = json!({ "status": "Done", "spentHours": hours(spent) });
        let fieldwork = is_last_in_field.then(|| self.fieldwork(last.min(Day::of(at))));
        self.timeline.update_with_fieldwork(record, (at, completed_by), values, fieldwork);
        self.last_activity = self.last_activity.max(at);
    }

    fn task_values(
        &mut self,
        task: TaskTemplate,
        title: &str,
        (first, last): (Day, Day),
        estimate: i64,
    ) -> Value {
        let assignee = self.assignee(task.role);
        let rng = &mut self.rng;
        let is_field_task = task.phase == Phase::Field;
        let mut assignees = vec![assignee.email()];
        if is_field_task && rng.chance(18) {
            assignees.push(Staff::Trainee.email());
        }
        let instructions = match task.role {
            TaskRole::Crew => FIELD_INSTRUCTIONS,
            TaskRole::Drafter | TaskRole::Analyst => OFFICE_INSTRUCTIONS,
            _ => &[],
        };
        let has_instruction = !instructions.is_empty() && rng.chance(38);
        let instruction =
            has_instruction.then(|| rng.pick(instructions).replace("{site}", self.new.site_name));
        let custom = if is_field_task && rng.chance(60) {
            let instrument = required_instrument(title).unwrap_or_else(|| rng.pick(&INSTRUMENTS));
            json!({ "instrument": instrument, "crewSize": assignees.len() + 1 })
        } else {
            json!({})
        };
        json!({
            "title": title,
            "description": instruction,
            "priority": rng.pick_weighted(
                &[(9, "low"), (70, "normal"), (17, "high"), (4, "urgent")],
            ),
            "assignees": assignees,
            "startDate": first.text(),
            "dueDate": last.text(),
            "estimatedHours": hours(estimate),
            "customFields": custom,
        })
    }

    fn assignee(&self, role: TaskRole) -> Staff {
        match role {
            TaskRole::Owner => self.owner,
            TaskRole::Crew if self.new.commune.is_north => Staff::CrewNorth,
            TaskRole::Crew => Staff::CrewSouth,
            TaskRole::Drafter => Staff::DrawingOffice,
            TaskRole::Analyst => Staff::GisAnalyst,
            TaskRole::Pilot => Staff::DronePilot,
            TaskRole::Lawyer => Staff::LandLawAdviser,
            TaskRole::Manager => Staff::OfficeManager,
        }
    }
}

/// Quarters of an hour as hours: `6.25`.
fn hours(quarters: i64) -> String {
    format!("{}.{:02}", quarters / 4, quarters % 4 * 25)
}

/// The instrument that a task requires, by its title.
fn required_instrument(title: &str) -> Option<&'static str> {
    const BY_WORD: [(&str, &str); 8] = [
        ("GNSS", "GNSS rover 2"),
        ("levelling", "Digital level"),
        ("locator", "Cable locator"),
        ("radar", "Ground radar"),
        ("Flight", "Drone 1"),
        ("Oblique", "Drone 2"),
        ("Soundings", "Echo sounder"),
        ("targets", "GNSS rover 1"),
    ];
    BY_WORD.iter().find(|(word, _)| title.contains(word)).map(|(_, instrument)| *instrument)
}

const INSTRUMENTS: [&str; 4] =
    ["Total station 1", "Total station 2", "GNSS rover 1", "GNSS rover 2"];

const FIELD_INSTRUCTIONS: &[&str] = &[
    "Access from {site}; the gate is open from seven.",
    "Call the site manager before going in.",
    "Two people; cones and signs are in the van.",
    "Work only when the ground is dry.",
    "Tie in to the benchmark at the town hall.",
    "Take photos of every station.",
    "Finish before the school holidays.",
    "Check the prism constant before starting.",
    "Take batteries for two days: no power on site.",
];

const OFFICE_INSTRUCTIONS: &[&str] = &[
    "Use the layers and symbols of the client's drawing guide.",
    "Use the same drawing frame as last year.",
    "Compare with the plan of the neighbouring folder.",
    "The client needs DWG and PDF.",
    "A second person checks it before delivery.",
    "Note the sources in the margin.",
    "Use the geoid model of the control report.",
];

#[cfg(test)]
mod tests {
    #[test]
    fn hours_have_quarter_precision() {
        assert_eq!([2, 25, 48].map(super::hours), ["0.50", "6.25", "12.00"]);
    }
}
