//! A folder's expenses, and the budgets they count against.

use super::{FieldTask, FolderHistory, PlannedBudget};
use crate::{
    calendar::{Day, next_entry_time},
    job_types::Phase,
    office::Staff,
    purchases::{self, FIELD_EXTRAS, MEAL, OFFICE_EXTRAS, OVERNIGHT_STAY, Purchase, TOLL},
    timeline::RecordHandle,
};
use groma_domain::{Kind, Timestamp};
use serde_json::json;

/// The day of an expense, who submits it, and the task it belongs to.
#[derive(Clone, Copy)]
struct Occasion {
    day: Day,
    submitted_by: Staff,
    task: Option<FieldTask>,
}

struct Receipt {
    category: &'static str,
    description: String,
    vendor: Option<&'static str>,
    quantity: i64,
    unit_cents: i64,
    billable: bool,
}

impl Receipt {
    fn total_cents(&self) -> i64 {
        self.quantity * self.unit_cents
    }
}

impl FolderHistory<'_> {
    /// Adds all expenses, and budgets that roughly match them.
    pub(super) fn add_expenses(&mut self, field_tasks: &[FieldTask]) {
        let budgets = match self.schedule.size {
            1 => i64::from(self.rng.chance(62)),
            2 => 1 + i64::from(self.rng.chance(30)),
            _ => 2,
        };
        for _ in 0..budgets {
            let record = self.timeline.new_record(Kind::Budget);
            self.budgets.push(PlannedBudget { record, spent_cents: 0 });
        }
        for task in field_tasks {
            self.add_field_expenses(*task);
        }
        let office = self.schedule.actual(Phase::Office);
        self.add_job_purchases(field_tasks, office);
        for purchase in OFFICE_EXTRAS {
            if self.rng.chance(30) {
                let day = office.0.plus_working(self.rng.int(0, 6)).min(office.1);
                let submitted_by = Staff::DrawingOffice;
                self.add_purchase(purchase, Occasion { day, submitted_by, task: None });
            }
        }
        self.budgets.retain(|budget| budget.spent_cents > 0);
        self.create_budgets(office.1);
    }

    fn add_field_expenses(&mut self, task: FieldTask) {
        let distance_km = self.new.commune.distance_km;
        let mut day = task.first;
        for _ in 0..self.rng.int(1, 2).min(self.schedule.size) {
            let occasion = Occasion { day, submitted_by: task.assignee, task: Some(task) };
            if self.rng.chance(86) {
                let receipt = self.mileage(day);
                self.submit(&receipt, occasion);
            }
            if distance_km > 30 && self.rng.chance(30) {
                self.add_purchase(&TOLL, occasion);
            }
            if self.rng.chance(44) {
                self.add_purchase(&MEAL, occasion);
            }
            if distance_km > 55 && self.rng.chance(40) {
                self.add_purchase(&OVERNIGHT_STAY, occasion);
            }
            if self.rng.chance(32) {
                let extra = self.rng.pick(FIELD_EXTRAS);
                self.add_purchase(&extra, occasion);
            }
            day = day.plus_working(1).min(task.last);
        }
    }

    /// The purchases that are typical of the job type.
    fn add_job_purchases(&mut self, field_tasks: &[FieldTask], office: (Day, Day)) {
        for purchase in self.new.job_type.purchases {
            for _ in 0..self.schedule.size.min(3) {
                if field_tasks.is_empty() || !self.rng.chance(54) {
                    continue;
                }
                let submitted_by =
                    self.rng.pick_weighted(&[(70, Staff::OfficeManager), (30, self.owner)]);
                let occasion = if purchase.is_office_cost() {
                    let day = office.0.plus_working(self.rng.int(0, 4)).min(office.1);
                    Occasion { day, submitted_by, task: None }
                } else {
                    let task = self.rng.pick(field_tasks);
                    Occasion { day: task.first, submitted_by, task: Some(task) }
                };
                self.add_purchase(purchase, occasion);
            }
        }
    }

    fn add_purchase(&mut self, purchase: &Purchase, occasion: Occasion) {
        let rng = &mut self.rng;
        let cents = rng.int(purchase.unit_cents.0, purchase.unit_cents.1);
        let quantity = rng.int(purchase.quantity.0, purchase.quantity.1);
        let receipt = Receipt {
            category: purchase.category,
            description: rng
                .pick(purchase.descriptions)
                .replace("{commune}", self.new.commune.name),
            vendor: Some(rng.pick(purchase.vendors)),
            quantity: if purchase.scales_with_size() {
                quantity * self.schedule.size
            } else {
                quantity
            },
            // Prices above 50 are whole amounts.
            unit_cents: if cents > 5_000 { cents / 100 * 100 } else { cents },
            billable: rng.chance(purchase.billable_percent),
        };
        self.submit(&receipt, occasion);
    }

    /// The trip to the site and back. The rate per kilometre rises by one cent a year.
    fn mileage(&mut self, day: Day) -> Receipt {
        let commune = self.new.commune;
        let description = self.rng.pick(&["Van to {commune} and back", "Mileage, site {commune}"]);
        Receipt {
            category: purchases::TRAVEL,
            description: description.replace("{commune}", commune.name),
            vendor: None,
            quantity: commune.distance_km * 2 + self.rng.int(0, 5),
            unit_cents: 30 + i64::from(day.date().year() % 100),
            billable: self.rng.chance(60),
        }
    }

    /// Records an expense, and sometimes a partial refund of it.
    fn submit(&mut self, receipt: &Receipt, occasion: Occasion) {
        // Abroad, some expenses are still paid in the home currency.
        let currency = (self.new.commune.is_abroad && self.rng.chance(12)).then_some("EUR");
        let budget =
            usize::from(self.budgets.len() > 1 && purchases::is_external(receipt.category));
        let is_budgeted = currency.is_none() && self.rng.chance(88);
        let budget = (is_budgeted && budget < self.budgets.len()).then_some(budget);
        let refund_label = purchases::refund_label(receipt.category).filter(|_| self.rng.chance(5));
        let refund = refund_label.map(|label| Receipt {
            description: format!("{label}: {}", receipt.description),
            quantity: 1,
            unit_cents: -(receipt.total_cents() * self.rng.int(15, 60) / 100).max(100),
            category: receipt.category,
            vendor: receipt.vendor,
            billable: receipt.billable,
        });
        self.create_expense(receipt, occasion, currency, budget);
        if let Some(refund) = refund {
            let day = occasion.day.plus_working(self.rng.int(3, 14));
            self.create_expense(&refund, Occasion { day, ..occasion }, currency, budget);
        }
    }

    fn create_expense(
        &mut self,
        receipt: &Receipt,
        Occasion { day, submitted_by, task }: Occasion,
        currency: Option<&str>,
        budget: Option<usize>,
    ) {
        let mut links = vec![("folder", self.folder)];
        let mut earliest = self.ordered_at;
        if let Some(task) = task {
            links.push(("assignment", task.record));
            earliest = earliest.max(task.created_at);
        }
        if let Some(budget) = budget.and_then(|index| self.budgets.get_mut(index)) {
            links.push(("budget", budget.record));
            budget.spent_cents += receipt.total_cents();
        }
        let received = day.plus(self.rng.int(0, 6)).start().max(earliest.plus_millis(1));
        let created_at = next_entry_time(Staff::OfficeManager, received);
        let custom = match receipt.vendor {
            Some(_) => {
                let number = self.rng.int(1, 99_999);
                json!({ "receipt": format!("{}-{number:05}", day.date().year()) })
            }
            None => json!({ "vehicle": self.rng.pick(&VEHICLES) }),
        };
        // Small amounts need no approval.
        let is_approved = receipt.total_cents().abs() < 8_000;
        let values = json!({
            "category": receipt.category,
            "description": receipt.description,
            "vendor": receipt.vendor,
            "quantity": receipt.quantity,
            "unitAmount": money(receipt.unit_cents),
            "currency": currency,
            "incurredOn": day.text(),
            "submittedBy": submitted_by.email(),
            "billable": receipt.billable,
            "status": if is_approved { "Approved" } else { "Submitted" },
            "customFields": custom,
        });
        let record = self.timeline.new_record(Kind::Expense);
        self.timeline.create(record, (created_at, Staff::OfficeManager), &links, values);
        let is_reimbursed = purchases::is_reimbursed(receipt.category);
        let paid_status = if is_reimbursed { "Reimbursed" } else { "Paid" };
        self.approve_and_pay(record, created_at, is_approved, paid_status);
    }

    /// An expense is approved or rejected; approved ones are paid at the start of the next month.
    fn approve_and_pay(
        &mut self,
        expense: RecordHandle,
        created_at: Timestamp,
        is_approved: bool,
        paid_status: &str,
    ) {
        let mut approved_at = created_at;
        if !is_approved {
            let day = Day::of(created_at).plus_working(self.rng.int(1, 9));
            approved_at = next_entry_time(Staff::SurveyLead, day.start());
            let decision = (approved_at, Staff::SurveyLead);
            if self.rng.chance(2) {
                self.timeline.update(expense, decision, json!({ "status": "Rejected" }));
                return;
            }
            self.timeline.update(expense, decision, json!({ "status": "Approved" }));
        }
        let month_start = Day::of(approved_at).next_month().start();
        let paid_at = next_entry_time(Staff::OfficeManager, month_start);
        let values = json!({ "status": paid_status });
        self.timeline.update(expense, (paid_at, Staff::OfficeManager), values);
        self.last_activity = self.last_activity.max(paid_at);
    }

    /// Most budgets are sufficient, some are exceeded, a few are far too large.
    fn create_budgets(&mut self, end: Day) {
        let start = Day::of(self.ordered_at);
        for index in 0..self.budgets.len() {
            let PlannedBudget { record, spent_cents } = self.budgets[index];
            let (min, max) =
                self.rng.pick_weighted(&[(8, (30, 55)), (76, (60, 98)), (16, (101, 138))]);
            let used_percent = self.rng.int(min, max);
            let step = if spent_cents > 200_000 { 25_000 } else { 5_000 };
            let amount = (spent_cents * 100 / used_percent / step * step).max(40_000);
            let (names, category) = match (index, self.budgets.len()) {
                (0, 1) => (&["Expenses", "Field and office", "Survey costs"][..], "Costs"),
                (0, _) => (&["Field work", "Field costs"][..], "Field work"),
                _ => (&["Hire and subcontractors", "External services"][..], "External services"),
            };
            let has_terms = self.rng.chance(25);
            let values = json!({
                "name": format!("{}, {}", self.rng.pick(names), self.new.commune.name),
                "description": has_terms.then(|| self.rng.pick(&TERMS)),
                "category": category,
                "amount": money(amount),
                "startDate": start.text(),
                "endDate": end.plus_working(20).text(),
                "customFields": { "costCentre": if index == 0 { "FIELD" } else { "EXTERNAL" } },
            });
            let created = (self.ordered_at, self.owner);
            self.timeline.create(record, created, &[("folder", self.folder)], values);
            let day = start.plus_working(self.rng.int(1, 5));
            let approved_at = next_entry_time(Staff::OfficeManager, day.start());
            let approved = (approved_at, Staff::OfficeManager);
            self.timeline.update(record, approved, json!({ "status": "Approved" }));
        }
    }
}

/// Cents as an amount: `-12.50`.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

const VEHICLES: [&str; 3] = ["Van 1", "Van 2", "Pick-up"];

const TERMS: [&str; 4] = [
    "Agreed with the client; changes only in writing.",
    "Estimate based on last year's folder.",
    "Includes a reserve of one day for bad weather.",
    "Billed at cost plus five percent.",
];

#[cfg(test)]
mod tests {
    #[test]
    fn money_has_two_decimals() {
        assert_eq!(
            [5, 125_000, -1_250, -7].map(super::money),
            ["0.05", "1250.00", "-12.50", "-0.07"]
        );
    }
}
