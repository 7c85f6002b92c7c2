//! The history of one folder: quoted, ordered, surveyed, drawn, delivered, archived.

mod expenses;
mod schedule;
mod tasks;

use super::{
    calendar::{Day, next_entry_time},
    job_types::{JobType, Phase, Subject},
    office::{Commune, PUBLIC_CLIENTS, Staff},
    rng::Rng,
    survey_map::{Fieldwork, Site},
    timeline::{RecordHandle, Timeline},
};
use groma_domain::{Kind, Timestamp};
use schedule::Schedule;
use serde_json::{Value, json};

/// Zones of the land use plan.
const ZONES: [&str; 7] = ["UA", "UB", "UX", "AU", "A", "N", "Nh"];

/// The folder whose history is generated.
pub(super) struct NewFolder {
    pub(super) number: i64,
    pub(super) day: Day,
    pub(super) name: String,
    pub(super) job_type: &'static JobType,
    pub(super) subject: Subject,
    pub(super) commune: Commune,
    /// The street or field that the job is about.
    pub(super) site_name: &'static str,
    /// The cadastral section.
    pub(super) section: String,
}

/// Adds the whole history of a folder to the timeline.
pub(super) fn generate(timeline: &mut Timeline, mut rng: Rng, new: &NewFolder) {
    let owner = rng.pick_weighted(&[(62, Staff::SurveyLead), (38, Staff::ProjectSurveyor)]);
    let opened_at = next_entry_time(Staff::OfficeManager, new.day.start());
    let quoted = Day::of(opened_at).plus_working(rng.int(1, 7));
    let quoted_at = next_entry_time(owner, quoted.start());
    let ordered = Day::of(quoted_at).plus_working(rng.int(3, 24));
    let ordered_at = next_entry_time(owner, ordered.start());
    let schedule = Schedule::generate(&mut rng, new.job_type, Day::of(ordered_at));
    let mut history = FolderHistory {
        folder: timeline.new_record(Kind::Folder),
        timeline,
        rng,
        new,
        owner,
        ordered_at,
        schedule,
        parcel_count: 0,
        last_activity: ordered_at,
        budgets: Vec::new(),
    };
    history.create_folder(opened_at);
    history.quote(opened_at, quoted_at);
    if history.rng.chance(7) {
        history.decline();
    } else {
        history.execute();
    }
}

struct FolderHistory<'a> {
    timeline: &'a mut Timeline,
    rng: Rng,
    new: &'a NewFolder,
    folder: RecordHandle,
    owner: Staff,
    /// When the client accepted the quote and the job was planned.
    ordered_at: Timestamp,
    schedule: Schedule,
    parcel_count: i64,
    last_activity: Timestamp,
    budgets: Vec<PlannedBudget>,
}

/// A budget, and the expenses that will count against it.
struct PlannedBudget {
    record: RecordHandle,
    spent_cents: i64,
}

/// A task in the field, which expenses refer to.
#[derive(Clone, Copy)]
struct FieldTask {
    record: RecordHandle,
    created_at: Timestamp,
    assignee: Staff,
    first: Day,
    last: Day,
}

impl FolderHistory<'_> {
    fn create_folder(&mut self, opened_at: Timestamp) {
        let NewFolder { number, job_type, subject, commune, section, name, day, .. } = self.new;
        let rng = &mut self.rng;
        let client = rng.pick(subject.clients);
        let is_public = PUBLIC_CLIENTS.contains(&client);
        let (parcels, tenths) = (rng.int(2, 18), rng.int(4, 160));
        let hectares = format!("{}.{}", tenths / 10, tenths % 10);
        self.parcel_count = parcels;
        let brief = subject
            .brief
            .replace("{parcels}", &parcels.to_string())
            .replace("{hectares}", &hectares);
        let mut tags = job_type.tags.to_vec();
        tags.push(if is_public { "public" } else { "private" });
        for (percent, tag) in [(7, "urgent"), (14, "framework agreement"), (9, "follow-up")] {
            if rng.chance(percent) {
                tags.push(tag);
            }
        }
        let mut custom = json!({
            "scale": rng.pick(job_type.scales),
            "coordinateSystem": if commune.is_abroad { "CH1903+ / LV95" } else { "RGF93 / CC47" },
            "zone": if commune.is_abroad { Value::Null } else { rng.pick(&ZONES).into() },
        });
        if job_type.is_cadastral() {
            custom["section"] = section.as_str().into();
            custom["parcels"] = parcels.into();
        }
        if is_public {
            let order = rng.int(11, 1_900);
            custom["orderNumber"] = format!("{}-{order:04}", day.date().year()).into();
        }
        // The first folders were migrated from the filing cabinet.
        let external_id = (*number <= 28).then(|| format!("CABINET-{}", 2_310 + number));
        let values = json!({
            "name": name,
            "description": brief,
            "clientName": client,
            "owner": self.owner.email(),
            "startDate": self.schedule.start.text(),
            "dueDate": self.schedule.due.text(),
            "currency": commune.is_abroad.then_some("CHF"),
            "externalId": external_id,
            "tags": tags,
            "customFields": custom,
        });
        self.timeline.create(self.folder, (opened_at, Staff::OfficeManager), &[], values);
    }

    /// The survey that the last day in the field completes.
    fn fieldwork(&self, day: Day) -> Fieldwork {
        let NewFolder { number, commune, job_type, subject, section, .. } = self.new;
        let site = if job_type.is_cadastral() {
            let count = usize::try_from(self.parcel_count).unwrap_or_default();
            Site::Parcels { section: section.clone(), count }
        } else if job_type.tags.contains(&"utilities") {
            Site::Street
        } else if subject.name.contains("{field}") {
            Site::Fields
        } else {
            Site::Village
        };
        Fieldwork { folder_number: *number, commune: commune.name, day, site }
    }

    /// The client declined the quote.
    fn decline(&mut self) {
        let declined = Day::of(self.ordered_at).plus_working(self.rng.int(5, 30));
        let declined_at = next_entry_time(self.owner, declined.start());
        let values = json!({ "status": "Cancelled" });
        self.timeline.update(self.folder, (declined_at, self.owner), values);
        self.last_activity = declined_at;
        self.archive();
    }

    fn execute(&mut self) {
        let (ordered_at, owner) = (self.ordered_at, self.owner);
        self.timeline.update(self.folder, (ordered_at, owner), json!({ "status": "Field work" }));
        let field_tasks = self.add_tasks();
        self.postpone_due_date();
        let drawing_at = self.enter_status("Drawing", ordered_at, Phase::Office);
        let review_at = self.enter_status("Review", drawing_at, Phase::Deliver);
        let end = self.schedule.actual(Phase::Deliver).1.start();
        let done = self.last_activity.max(review_at).plus_millis(1);
        let delivered_at = next_entry_time(owner, end.max(done));
        self.timeline.update(self.folder, (delivered_at, owner), json!({ "status": "Delivered" }));
        self.last_activity = delivered_at;
        self.add_expenses(&field_tasks);
        let archived_at = self.archive();
        for budget in &self.budgets {
            let closed = (archived_at, Staff::OfficeManager);
            self.timeline.update(budget.record, closed, json!({ "status": "Closed" }));
        }
    }

    /// The folder enters a status when a phase starts, but not before `after`.
    fn enter_status(&mut self, status: &str, after: Timestamp, phase: Phase) -> Timestamp {
        let start = self.schedule.actual(phase).0.start();
        let at = next_entry_time(self.owner, start.max(after.plus_millis(1)));
        self.timeline.update(self.folder, (at, self.owner), json!({ "status": status }));
        at
    }

    /// Some late jobs get a later due date in time; the others become overdue.
    fn postpone_due_date(&mut self) {
        let Schedule { pace, due, .. } = self.schedule;
        if pace < 120 || !self.rng.chance(35) {
            return;
        }
        let drawing = self.schedule.actual(Phase::Office).0.start();
        let agreed_at = next_entry_time(self.owner, drawing.max(self.ordered_at.plus_millis(1)));
        if Day::of(agreed_at) < due {
            let due = due.plus_working(self.rng.int(8, 25)).text();
            self.timeline.update(self.folder, (agreed_at, self.owner), json!({ "dueDate": due }));
        }
    }

    fn archive(&mut self) -> Timestamp {
        let day = Day::of(self.last_activity).plus_working(self.rng.int(15, 70));
        let at = next_entry_time(Staff::OfficeManager, day.start());
        let values = json!({ "archivedAt": at.to_string() });
        self.timeline.update(self.folder, (at, Staff::OfficeManager), values);
        at
    }
}
