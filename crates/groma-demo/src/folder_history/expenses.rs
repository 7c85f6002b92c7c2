//! What a folder costs: slips and invoices as they come in, and the budgets they count against.

use super::{Life, Outing, Pot};
use crate::{
    calendar::{Day, at_desk},
    job_types::Phase,
    office::Colleague,
    purchases::{self, AT_THE_OFFICE, LUNCH, ON_THE_ROAD, Purchase, ROOM, TOLL},
    timeline::Thing,
};
use groma_domain::{Kind, Timestamp};
use serde_json::json;

/// When something was paid for, who handed it in, and for which task.
#[derive(Clone, Copy)]
struct Occasion {
    day: Day,
    by: Colleague,
    outing: Option<Outing>,
}

/// What it says on the slip.
struct Slip {
    category: &'static str,
    line: String,
    vendor: Option<&'static str>,
    quantity: i64,
    cents: i64,
    billable: bool,
}

impl Life<'_> {
    /// Notes every expense, and budgets that fit them more or less.
    pub(super) fn spend(&mut self, outings: &[Outing]) {
        let budgets = match self.schedule.size {
            1 => i64::from(self.chance.happens(62)),
            2 => 1 + i64::from(self.chance.happens(30)),
            _ => 2,
        };
        for _ in 0..budgets {
            let thing = self.notes.thing(Kind::Budget);
            self.pots.push(Pot { thing, cents: 0 });
        }
        for outing in outings {
            self.spend_outside(*outing);
        }
        let office = self.schedule.actual(Phase::Office);
        self.buy_in(outings, office);
        for purchase in AT_THE_OFFICE {
            if self.chance.happens(30) {
                let day = office.0.plus_working(self.chance.between(0, 6)).min(office.1);
                self.buy(purchase, Occasion { day, by: Colleague::DrawingOffice, outing: None });
            }
        }
        // Nobody asks for money that nothing is to be bought with.
        self.pots.retain(|pot| pot.cents > 0);
        self.set_budgets(office.1);
    }

    fn spend_outside(&mut self, outing: Outing) {
        let away = self.opening.place.away;
        let mut day = outing.first;
        for _ in 0..self.chance.between(1, 2).min(self.schedule.size) {
            let occasion = Occasion { day, by: outing.doer, outing: Some(outing) };
            if self.chance.happens(86) {
                let slip = self.drive(day);
                self.hand_in(&slip, occasion);
            }
            if away > 30 && self.chance.happens(30) {
                self.buy(&TOLL, occasion);
            }
            if self.chance.happens(44) {
                self.buy(&LUNCH, occasion);
            }
            if away > 55 && self.chance.happens(40) {
                self.buy(&ROOM, occasion);
            }
            if self.chance.happens(32) {
                let extra = self.chance.pick(ON_THE_ROAD);
                self.buy(&extra, occasion);
            }
            day = day.plus_working(1).min(outing.last);
        }
    }

    /// What this kind of work needs: things for a day outside, papers when it is drawn.
    fn buy_in(&mut self, outings: &[Outing], office: (Day, Day)) {
        for purchase in self.opening.work.purchases {
            for _ in 0..self.schedule.size.min(3) {
                if outings.is_empty() || !self.chance.happens(54) {
                    continue;
                }
                let by = self.chance.weigh(&[(70, Colleague::OfficeManager), (30, self.owner)]);
                let occasion = if purchase.is_paper() {
                    let day = office.0.plus_working(self.chance.between(0, 4)).min(office.1);
                    Occasion { day, by, outing: None }
                } else {
                    let outing = self.chance.pick(outings);
                    Occasion { day: outing.first, by, outing: Some(outing) }
                };
                self.buy(purchase, occasion);
            }
        }
    }

    fn buy(&mut self, purchase: &Purchase, occasion: Occasion) {
        let chance = &mut self.chance;
        let cents = chance.between(purchase.price.0, purchase.price.1);
        let quantity = chance.between(purchase.quantity.0, purchase.quantity.1);
        let slip = Slip {
            category: purchase.category,
            line: chance.pick(purchase.lines).replace("{place}", self.opening.place.name),
            vendor: Some(chance.pick(purchase.vendors)),
            quantity: if purchase.grows() { quantity * self.schedule.size } else { quantity },
            // Prices above fifty are round ones.
            cents: if cents > 5_000 { cents / 100 * 100 } else { cents },
            billable: chance.happens(purchase.billable),
        };
        self.hand_in(&slip, occasion);
    }

    /// The way to the site and back, by the kilometre; the rate goes up by a cent a year.
    fn drive(&mut self, day: Day) -> Slip {
        let place = self.opening.place;
        let line = self.chance.pick(&["Van to {place} and back", "Mileage, site {place}"]);
        Slip {
            category: purchases::TRAVEL,
            line: line.replace("{place}", place.name),
            vendor: None,
            quantity: place.away * 2 + self.chance.between(0, 5),
            cents: 30 + i64::from(day.date().year() % 100),
            billable: self.chance.happens(60),
        }
    }

    fn hand_in(&mut self, slip: &Slip, occasion: Occasion) {
        // Across the border some things are still paid at home.
        let currency = (self.opening.place.is_abroad && self.chance.happens(12)).then_some("EUR");
        let pot = usize::from(self.pots.len() > 1 && purchases::is_bought_in(slip.category));
        let is_counted = currency.is_none() && self.chance.happens(88);
        let pot = (is_counted && pot < self.pots.len()).then_some(pot);
        let refund = purchases::refund(slip.category).filter(|_| self.chance.happens(5));
        let refund = refund.map(|word| Slip {
            line: format!("{word}: {}", slip.line),
            quantity: 1,
            cents: -(slip.quantity * slip.cents * self.chance.between(15, 60) / 100).max(100),
            category: slip.category,
            vendor: slip.vendor,
            billable: slip.billable,
        });
        self.enter(slip, occasion, currency, pot);
        if let Some(refund) = refund {
            let day = occasion.day.plus_working(self.chance.between(3, 14));
            self.enter(&refund, Occasion { day, ..occasion }, currency, pot);
        }
    }

    fn enter(
        &mut self,
        slip: &Slip,
        Occasion { day, by, outing }: Occasion,
        currency: Option<&str>,
        pot: Option<usize>,
    ) {
        let mut links = vec![("folder", self.folder)];
        let mut known = self.ordered;
        if let Some(outing) = outing {
            links.push(("assignment", outing.thing));
            known = known.max(outing.noted);
        }
        if let Some(pot) = pot.and_then(|pot| self.pots.get_mut(pot)) {
            links.push(("budget", pot.thing));
            pot.cents += slip.quantity * slip.cents;
        }
        let entered = day.plus(self.chance.between(0, 6)).morning().max(known.plus_millis(1));
        let entered = at_desk(Colleague::OfficeManager, entered);
        let custom = match slip.vendor {
            Some(_) => {
                let number = self.chance.between(1, 99_999);
                json!({ "receipt": format!("{}-{number:05}", day.date().year()) })
            }
            None => json!({ "vehicle": self.chance.pick(&VEHICLES) }),
        };
        let is_own_money = purchases::is_own_money(slip.category);
        // What is small needs no signature.
        let is_signed = (slip.quantity * slip.cents).abs() < 8_000;
        let values = json!({
            "category": slip.category,
            "description": slip.line,
            "vendor": slip.vendor,
            "quantity": slip.quantity,
            "unitAmount": money(slip.cents),
            "currency": currency,
            "incurredOn": day.text(),
            "submittedBy": by.email(),
            "billable": slip.billable,
            "status": if is_signed { "Approved" } else { "Submitted" },
            "customFields": custom,
        });
        let thing = self.notes.thing(Kind::Expense);
        self.notes.make(thing, (entered, Colleague::OfficeManager), &links, values);
        let paid = if is_own_money { "Reimbursed" } else { "Paid" };
        self.settle(thing, entered, is_signed, paid);
    }

    /// An expense is signed, and paid with all others when the month is over.
    fn settle(&mut self, thing: Thing, entered: Timestamp, is_signed: bool, paid: &str) {
        let mut signed = entered;
        if !is_signed {
            let day = Day::of(entered).plus_working(self.chance.between(1, 9));
            signed = at_desk(Colleague::SurveyLead, day.morning());
            if self.chance.happens(2) {
                // What is refused counts against no budget.
                let values = json!({ "status": "Rejected", "budget": null });
                self.notes.change(thing, (signed, Colleague::SurveyLead), values);
                return;
            }
            let values = json!({ "status": "Approved" });
            self.notes.change(thing, (signed, Colleague::SurveyLead), values);
        }
        let pay_day = at_desk(Colleague::OfficeManager, Day::of(signed).next_month().morning());
        self.notes.change(thing, (pay_day, Colleague::OfficeManager), json!({ "status": paid }));
        self.over = self.over.max(pay_day);
    }

    /// Budgets are guesses: most hold, some are exceeded, a few were far too large.
    fn set_budgets(&mut self, end: Day) {
        let start = Day::of(self.ordered);
        for index in 0..self.pots.len() {
            let Pot { thing, cents } = self.pots[index];
            let (least, most) =
                self.chance.weigh(&[(8, (30, 55)), (76, (60, 98)), (16, (101, 138))]);
            let used = self.chance.between(least, most);
            let step = if cents > 200_000 { 25_000 } else { 5_000 };
            let amount = (cents * 100 / used / step * step).max(40_000);
            let (names, category) = match (index, self.pots.len()) {
                (0, 1) => (&["Expenses", "Field and office", "Survey costs"][..], "Costs"),
                (0, _) => (&["Field work", "Field costs"][..], "Field work"),
                _ => (&["Hire and subcontractors", "Bought in"][..], "Bought in"),
            };
            let terms = self.chance.happens(25);
            let values = json!({
                "name": format!("{}, {}", self.chance.pick(names), self.opening.place.name),
                "description": terms.then(|| self.chance.pick(&TERMS)),
                "category": category,
                "amount": money(amount),
                "startDate": start.text(),
                "endDate": end.plus_working(20).text(),
                "customFields": { "costCentre": if index == 0 { "FIELD" } else { "EXTERNAL" } },
            });
            let planned = (self.ordered, self.owner);
            self.notes.make(thing, planned, &[("folder", self.folder)], values);
            let approved = start.plus_working(self.chance.between(1, 5)).morning();
            let manager = (at_desk(Colleague::OfficeManager, approved), Colleague::OfficeManager);
            self.notes.change(thing, manager, json!({ "status": "Approved" }));
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
    "Agreed with the client; more only in writing.",
    "Guess from last year's folder.",
    "Includes one day in reserve for bad weather.",
    "Billed at cost plus five percent.",
];

#[cfg(test)]
mod tests {
    #[test]
    fn money_is_written_with_its_cents() {
        assert_eq!(
            [5, 125_000, -1_250, -7].map(super::money),
            ["0.05", "1250.00", "-12.50", "-0.07"]
        );
    }
}
