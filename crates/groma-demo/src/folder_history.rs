//! The life of one folder: quoted, ordered, measured, drawn, delivered, put away.

mod expenses;
mod schedule;
mod tasks;

use super::{
    calendar::{Day, at_desk},
    job_types::{Phase, Subject, Work},
    office::{Colleague, PUBLIC, Place},
    rng::Chance,
    survey_map::{Fieldwork, Site},
    timeline::{Notes, Thing},
};
use groma_domain::{Kind, Timestamp};
use schedule::Schedule;
use serde_json::{Value, json};

/// A folder that is about to be opened.
pub(super) struct Opening {
    pub(super) number: i64,
    pub(super) day: Day,
    pub(super) name: String,
    pub(super) work: &'static Work,
    pub(super) subject: Subject,
    pub(super) place: Place,
    pub(super) spot: &'static str,
    pub(super) sheet: String,
}

/// Notes the whole life of a folder.
pub(super) fn live(notes: &mut Notes, mut chance: Chance, opening: &Opening) {
    let owner = chance.weigh(&[(62, Colleague::SurveyLead), (38, Colleague::ProjectSurveyor)]);
    let opened = at_desk(Colleague::OfficeManager, opening.day.morning());
    let quoted = at_desk(owner, Day::of(opened).plus_working(chance.between(1, 7)).morning());
    let ordered = Day::of(quoted).plus_working(chance.between(3, 24));
    let ordered = at_desk(owner, ordered.morning());
    let schedule = Schedule::draw_up(&mut chance, opening.work, Day::of(ordered));
    let folder = notes.thing(Kind::Folder);
    let over = ordered;
    let (parcels, pots) = (0, Vec::new());
    let mut life =
        Life { notes, chance, opening, folder, owner, ordered, schedule, parcels, over, pots };
    life.open(opened);
    life.quote(opened, quoted);
    if life.chance.happens(7) {
        life.decline();
    } else {
        life.carry_out();
    }
}

struct Life<'a> {
    notes: &'a mut Notes,
    chance: Chance,
    opening: &'a Opening,
    folder: Thing,
    /// Who answers for it.
    owner: Colleague,
    /// When the client said yes and the work was planned.
    ordered: Timestamp,
    schedule: Schedule,
    /// How many parcels it is about.
    parcels: i64,
    /// When the last of it so far was done.
    over: Timestamp,
    /// Its budgets.
    pots: Vec<Pot>,
}

/// A budget, and what is going to be spent of it.
struct Pot {
    thing: Thing,
    cents: i64,
}

/// A task outside, for what is spent on it.
#[derive(Clone, Copy)]
struct Outing {
    thing: Thing,
    noted: Timestamp,
    doer: Colleague,
    first: Day,
    last: Day,
}

impl Life<'_> {
    fn open(&mut self, opened: Timestamp) {
        let Opening { number, work, subject, place, sheet, name, day, .. } = self.opening;
        let chance = &mut self.chance;
        let client = chance.pick(subject.clients);
        let is_public = PUBLIC.contains(&client);
        let (parcels, tenths) = (chance.between(2, 18), chance.between(4, 160));
        let hectares = format!("{}.{}", tenths / 10, tenths % 10);
        self.parcels = parcels;
        let brief = subject
            .brief
            .replace("{parcels}", &parcels.to_string())
            .replace("{hectares}", &hectares);
        let mut tags = work.tags.to_vec();
        tags.push(if is_public { "public" } else { "private" });
        for (percent, tag) in [(7, "urgent"), (14, "framework agreement"), (9, "follow-up")] {
            if chance.happens(percent) {
                tags.push(tag);
            }
        }
        let mut custom = json!({
            "scale": chance.pick(work.scales),
            "coordinateSystem": if place.is_abroad { "CH1903+ / LV95" } else { "RGF93 / CC47" },
            "zone": if place.is_abroad { Value::Null } else { chance.pick(&ZONES).into() },
        });
        if work.concerns_land() {
            custom["section"] = sheet.as_str().into();
            custom["parcels"] = parcels.into();
        }
        if is_public {
            let order = chance.between(11, 1_900);
            custom["orderNumber"] = format!("{}-{order:04}", day.date().year()).into();
        }
        // The first folders were carried over from the filing cabinet.
        let external = (*number <= 28).then(|| format!("CABINET-{}", 2_310 + number));
        let values = json!({
            "name": name,
            "description": brief,
            "clientName": client,
            "owner": self.owner.email(),
            "startDate": self.schedule.start.text(),
            "dueDate": self.schedule.due.text(),
            "currency": place.is_abroad.then_some("CHF"),
            "externalId": external,
            "tags": tags,
            "customFields": custom,
        });
        self.notes.make(self.folder, (opened, Colleague::OfficeManager), &[], values);
    }

    /// What the last day outside brings in.
    fn fieldwork(&self, day: Day) -> Fieldwork {
        let Opening { number, place, work, subject, sheet, .. } = self.opening;
        let site = if work.concerns_land() {
            let count = usize::try_from(self.parcels).unwrap_or_default();
            Site::Parcels { section: sheet.clone(), count }
        } else if work.tags.contains(&"utilities") {
            Site::Street
        } else if subject.name.contains("{field}") {
            Site::Fields
        } else {
            Site::Block
        };
        Fieldwork { number: *number, place: place.name, day, site }
    }

    /// The client went elsewhere.
    fn decline(&mut self) {
        let declined = Day::of(self.ordered).plus_working(self.chance.between(5, 30));
        let declined = at_desk(self.owner, declined.morning());
        self.notes.change(self.folder, (declined, self.owner), json!({ "status": "Cancelled" }));
        self.over = declined;
        self.put_away();
    }

    fn carry_out(&mut self) {
        let (ordered, owner) = (self.ordered, self.owner);
        self.notes.change(self.folder, (ordered, owner), json!({ "status": "Field work" }));
        let outings = self.do_tasks();
        self.move_due_date();
        let drawing = self.turn("Drawing", ordered, Phase::Office);
        let review = self.turn("Review", drawing, Phase::Deliver);
        let end = self.schedule.actual(Phase::Deliver).1.morning();
        let done = self.over.max(review).plus_millis(1);
        let delivered = at_desk(owner, end.max(done));
        self.notes.change(self.folder, (delivered, owner), json!({ "status": "Delivered" }));
        self.over = delivered;
        self.spend(&outings);
        let put_away = self.put_away();
        for pot in &self.pots {
            let manager = (put_away, Colleague::OfficeManager);
            self.notes.change(pot.thing, manager, json!({ "status": "Closed" }));
        }
    }

    /// The folder enters a status when a phase begins.
    fn turn(&mut self, status: &str, after: Timestamp, phase: Phase) -> Timestamp {
        let begins = self.schedule.actual(phase).0.morning();
        let at = at_desk(self.owner, begins.max(after.plus_millis(1)));
        self.notes.change(self.folder, (at, self.owner), json!({ "status": status }));
        at
    }

    /// Some of the works that slip get another date in time; the others are late.
    fn move_due_date(&mut self) {
        let Schedule { slip, due, .. } = self.schedule;
        if slip < 120 || !self.chance.happens(35) {
            return;
        }
        let drawing = self.schedule.actual(Phase::Office).0.morning();
        let agreed = at_desk(self.owner, drawing.max(self.ordered.plus_millis(1)));
        if Day::of(agreed) < due {
            let due = due.plus_working(self.chance.between(8, 25)).text();
            self.notes.change(self.folder, (agreed, self.owner), json!({ "dueDate": due }));
        }
    }

    /// Nothing more happens to it.
    fn put_away(&mut self) -> Timestamp {
        let rest = Day::of(self.over).plus_working(self.chance.between(15, 70));
        let at = at_desk(Colleague::OfficeManager, rest.morning());
        let values = json!({ "archivedAt": at.to_string() });
        self.notes.change(self.folder, (at, Colleague::OfficeManager), values);
        at
    }
}

/// Zones of the land use plan.
const ZONES: [&str; 7] = ["UA", "UB", "UX", "AU", "A", "N", "Nh"];
