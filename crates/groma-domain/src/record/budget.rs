//! Budgets: money set aside in a folder, and what its expenses have left of it.

use super::{Folder, Identity, check_span, record, settled};
use crate::{
    Amount, Currency, Key, Problem, RecordId, Reference, Refusal, StatusId,
    input::{CustomFieldsInput, Field, Fields, StatusRef, Text},
    text::search_text,
    time::Date,
};
use rust_decimal::Decimal;
use serde_json::{Map, Value};

record! {
    /// Money set aside in a folder.
    pub struct Budget {
        /// Folder it belongs to.
        pub folder_id: RecordId,
        /// Name.
        #[schema(example = "Field work 2026")]
        pub name: String,
        /// Description.
        pub description: Option<String>,
        /// Status; see the statuses list.
        pub status_id: Option<StatusId>,
        /// Category.
        pub category: Option<String>,
        /// How much is set aside.
        pub amount: Amount,
        /// Currency, shared with its expenses.
        pub currency: Currency,
        /// First day.
        #[schema(value_type = Option<String>, format = "date")]
        pub start_date: Option<Date>,
        /// Last day.
        #[schema(value_type = Option<String>, format = "date")]
        pub end_date: Option<Date>,
        /// Sum of the expenses that name it.
        pub spent: Amount,
        /// `amount` − `spent`.
        pub remaining: Amount,
        /// `spent` in percent of `amount`, two decimals; null when the amount is 0.
        pub percent_used: Option<Amount>,
    }
}

/// What someone wants a budget to be.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Budget`")]
pub struct BudgetInput {
    pub reference: Field<Option<Reference>>,
    pub external_id: Field<Option<String>>,
    pub folder: Field<Key>,
    pub name: Field<String>,
    pub description: Field<Option<String>>,
    pub status: Field<Option<StatusRef>>,
    pub category: Field<Option<String>>,
    pub amount: Field<Decimal>,
    pub currency: Field<Option<Currency>>,
    pub start_date: Field<Option<Date>>,
    pub end_date: Field<Option<Date>>,
    pub custom_fields: CustomFieldsInput,
}

impl BudgetInput {
    /// Reads the input.
    pub fn read(values: &Map<String, Value>) -> Result<Self, Refusal> {
        let derived = ["spent", "remaining", "percentUsed"];
        let mut fields = Fields::new(values, &[&super::READ_ONLY[..], &derived].concat());
        let folder = fields.link("folder", "folderId");
        let amount = fields.decimal("amount", 28);
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", Text::Short),
            folder: fields.needed("folder", folder),
            name: fields.needed_text("name", Text::Line),
            description: fields.text("description", Text::Long),
            status: fields.status(),
            category: fields.text("category", Text::Short),
            amount: fields.needed("amount", amount),
            currency: fields.currency("currency"),
            start_date: fields.date("startDate"),
            end_date: fields.date("endDate"),
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// What a budget is to be linked with, looked up.
pub struct BudgetLinks<'a> {
    /// Its folder.
    pub folder: Option<&'a Folder>,
    /// Its status.
    pub status: Option<StatusId>,
    /// Whether expenses name it: its folder and currency are then fixed.
    pub in_use: bool,
}

impl Budget {
    /// The budget that `input` makes of `prior`, or anew.
    pub fn write(
        prior: Option<&Self>,
        identity: Identity,
        input: BudgetInput,
        links: &BudgetLinks<'_>,
    ) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let name = input.name.given().or_else(|| prior.map(|prior| prior.name.clone()));
        let number = input.amount.given().or(prior.map(|prior| prior.amount.0));
        for (missing, field) in [
            (name.is_none(), "name"),
            (links.folder.is_none(), "folder"),
            (number.is_none(), "amount"),
        ] {
            if missing {
                problems.push(Problem::new(field, "is needed"));
            }
        }
        let (Some(name), Some(folder), Some(number)) = (name, links.folder, number) else {
            return Err(Refusal::Invalid(problems));
        };
        let currency = match input.currency {
            Field::Keep => prior.map_or(folder.currency, |prior| prior.currency),
            Field::Set(currency) => currency.unwrap_or(folder.currency),
        };
        if let Some(prior) = prior.filter(|_| links.in_use) {
            if prior.folder_id != folder.id {
                problems
                    .push(Problem::new("folder", "cannot change while expenses name this budget"));
            }
            if prior.currency != currency {
                problems.push(Problem::new(
                    "currency",
                    "cannot change while expenses name this budget",
                ));
            }
        }
        if number.is_sign_negative() && !number.is_zero() {
            problems.push(Problem::new("amount", "must not be negative"));
        }
        let start_date = input.start_date.or(prior.and_then(|prior| prior.start_date));
        let end_date = input.end_date.or(prior.and_then(|prior| prior.end_date));
        check_span(&mut problems, (start_date, "startDate"), (end_date, "endDate"));
        let custom_fields =
            input.custom_fields.apply(&prior.map(|p| p.custom_fields.clone()).unwrap_or_default());
        let custom_fields =
            custom_fields.map_err(|problem| problems.push(problem)).unwrap_or_default();
        let amount = Amount::money(number, currency)
            .map_err(|message| problems.push(Problem::new("amount", message)))
            .ok();
        let budget = amount.map(|amount| {
            let mut budget = Self {
                id: identity.id,
                reference: identity.reference,
                workspace_key: identity.workspace,
                external_id: input.external_id.or(prior.and_then(|p| p.external_id.clone())),
                folder_id: folder.id,
                name,
                description: input.description.or(prior.and_then(|p| p.description.clone())),
                status_id: links.status,
                category: input.category.or(prior.and_then(|p| p.category.clone())),
                amount,
                currency,
                start_date,
                end_date,
                spent: Amount::zero(currency),
                remaining: amount,
                percent_used: None,
                custom_fields,
                created_at: identity.created_at,
                updated_at: identity.updated_at,
                version: identity.version,
            };
            let spent = prior
                .filter(|prior| prior.currency == currency)
                .map_or(Decimal::ZERO, |prior| prior.spent.0);
            budget.add_spent(spent);
            budget
        });
        settled(budget, problems)
    }

    /// Counts an expense of this amount; a negative one takes it back.
    pub fn add_spent(&mut self, amount: Decimal) {
        let places = |mut number: Decimal| {
            // Adding a plain zero would lose them.
            number.rescale(self.currency.exponent());
            Amount(number)
        };
        self.spent = places(self.spent.0 + amount);
        self.remaining = places(self.amount.0 - self.spent.0);
        self.percent_used = self.spent.percent_of(self.amount);
    }

    pub(super) fn search_text(&self) -> String {
        search_text([Some(self.reference.as_str()), Some(&self.name), self.description.as_deref()])
    }
}
