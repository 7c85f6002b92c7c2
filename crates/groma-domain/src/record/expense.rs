//! Expenses: money spent in a folder.

use super::{Assignment, Budget, Folder, Identity, record, settled};
use crate::{
    Amount, Currency, Key, PersonId, Problem, RecordId, Reference, Refusal, StatusId,
    input::{CustomFieldsInput, Field, Fields, StatusRef, Text},
    person::PersonRef,
    text::search_text,
    time::Date,
};
use rust_decimal::Decimal;
use serde_json::{Map, Value};

record! {
    /// Money spent in a folder; negative for a refund.
    pub struct Expense {
        /// Folder it belongs to.
        pub folder_id: RecordId,
        /// Assignment it was made for.
        pub assignment_id: Option<RecordId>,
        /// Budget it counts against.
        pub budget_id: Option<RecordId>,
        /// Status; see the statuses list.
        pub status_id: Option<StatusId>,
        /// Category.
        #[schema(example = "Travel")]
        pub category: Option<String>,
        /// Description.
        pub description: Option<String>,
        /// Who was paid.
        pub vendor: Option<String>,
        /// How many, a decimal.
        pub quantity: Amount,
        /// Price of one.
        pub unit_amount: Amount,
        /// `quantity` × `unitAmount`, rounded half to even to the currency's minor unit.
        pub amount: Amount,
        /// Currency.
        pub currency: Currency,
        /// Day it was made.
        #[schema(value_type = String, format = "date")]
        pub incurred_on: Date,
        /// Who handed it in.
        #[schema(value_type = Option<crate::Person>)]
        pub submitted_by: Option<PersonId>,
        /// Whether the client pays for it.
        pub billable: bool,
    }
}

/// What someone wants an expense to be.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Expense`")]
pub struct ExpenseInput {
    pub reference: Field<Option<Reference>>,
    pub external_id: Field<Option<String>>,
    pub folder: Field<Key>,
    pub assignment: Field<Option<Key>>,
    pub budget: Field<Option<Key>>,
    pub status: Field<Option<StatusRef>>,
    pub category: Field<Option<String>>,
    pub description: Field<Option<String>>,
    pub vendor: Field<Option<String>>,
    pub quantity: Field<Option<Decimal>>,
    pub unit_amount: Field<Decimal>,
    pub currency: Field<Option<Currency>>,
    pub incurred_on: Field<Date>,
    pub submitted_by: Field<Option<PersonRef>>,
    pub billable: Field<Option<bool>>,
    pub custom_fields: CustomFieldsInput,
}

impl ExpenseInput {
    /// Reads the input.
    pub fn read(values: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut fields = Fields::new(values, &[&super::READ_ONLY[..], &["amount"]].concat());
        let folder = fields.link("folder", "folderId");
        let unit_amount = fields.decimal("unitAmount", 28);
        let incurred_on = fields.date("incurredOn");
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", Text::Short),
            folder: fields.needed("folder", folder),
            assignment: fields.link("assignment", "assignmentId"),
            budget: fields.link("budget", "budgetId"),
            status: fields.status(),
            category: fields.text("category", Text::Short),
            description: fields.text("description", Text::Long),
            vendor: fields.text("vendor", Text::Short),
            quantity: fields.decimal("quantity", 6),
            unit_amount: fields.needed("unitAmount", unit_amount),
            currency: fields.currency("currency"),
            incurred_on: fields.needed("incurredOn", incurred_on),
            submitted_by: fields.person("submittedBy"),
            billable: fields.boolean("billable"),
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// What an expense is to be linked with, looked up.
pub struct ExpenseLinks<'a> {
    /// Its folder.
    pub folder: Option<&'a Folder>,
    /// Its assignment.
    pub assignment: Option<&'a Assignment>,
    /// Its budget.
    pub budget: Option<&'a Budget>,
    /// Its status.
    pub status: Option<StatusId>,
    /// Who handed it in.
    pub submitted_by: Option<PersonId>,
}

impl Expense {
    /// The expense that `input` makes of `prior`, or anew.
    pub fn write(
        prior: Option<&Self>,
        identity: Identity,
        input: ExpenseInput,
        links: &ExpenseLinks<'_>,
    ) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let unit = input.unit_amount.given().or(prior.map(|prior| prior.unit_amount.0));
        let incurred_on = input.incurred_on.given().or(prior.map(|prior| prior.incurred_on));
        for (missing, name) in [
            (links.folder.is_none(), "folder"),
            (unit.is_none(), "unitAmount"),
            (incurred_on.is_none(), "incurredOn"),
        ] {
            if missing {
                problems.push(Problem::new(name, "is needed"));
            }
        }
        let (Some(folder), Some(unit), Some(incurred_on)) = (links.folder, unit, incurred_on)
        else {
            return Err(Refusal::Invalid(problems));
        };
        let currency = match input.currency {
            Field::Keep => prior.map_or(folder.currency, |prior| prior.currency),
            Field::Set(currency) => currency.unwrap_or(folder.currency),
        };
        let quantity = match input.quantity {
            Field::Keep => prior.map_or(Decimal::ONE, |prior| prior.quantity.0),
            Field::Set(quantity) => quantity.unwrap_or(Decimal::ONE),
        };
        if quantity.abs() >= Decimal::from(1_000_000_000) {
            problems.push(Problem::new("quantity", "must stay under 10^9"));
        }
        if links.assignment.is_some_and(|assignment| assignment.folder_id != folder.id) {
            problems.push(Problem::new("assignment", "belongs to another folder"));
        }
        if let Some(budget) = links.budget {
            if budget.folder_id != folder.id {
                problems.push(Problem::new("budget", "belongs to another folder"));
            }
            if budget.currency != currency {
                problems.push(Problem::new(
                    "currency",
                    format!("must be {}, that of the budget", budget.currency),
                ));
            }
        }
        let custom_fields =
            input.custom_fields.apply(&prior.map(|p| p.custom_fields.clone()).unwrap_or_default());
        let custom_fields =
            custom_fields.map_err(|problem| problems.push(problem)).unwrap_or_default();
        let unit_amount = Amount::money(unit, currency)
            .map_err(|message| problems.push(Problem::new("unitAmount", message)))
            .ok();
        let amount = unit_amount.and_then(|unit| {
            Amount::product(quantity, unit, currency)
                .map_err(|message| problems.push(Problem::new("amount", message)))
                .ok()
        });
        let expense = unit_amount.zip(amount).map(|(unit_amount, amount)| Self {
            id: identity.id,
            reference: identity.reference,
            workspace_key: identity.workspace,
            external_id: input.external_id.or(prior.and_then(|p| p.external_id.clone())),
            folder_id: folder.id,
            assignment_id: links.assignment.map(|assignment| assignment.id),
            budget_id: links.budget.map(|budget| budget.id),
            status_id: links.status,
            category: input.category.or(prior.and_then(|p| p.category.clone())),
            description: input.description.or(prior.and_then(|p| p.description.clone())),
            vendor: input.vendor.or(prior.and_then(|p| p.vendor.clone())),
            quantity: Amount(quantity.normalize()),
            unit_amount,
            amount,
            currency,
            incurred_on,
            submitted_by: links.submitted_by,
            billable: input.billable.or(prior.map(|p| p.billable)).unwrap_or(false),
            custom_fields,
            created_at: identity.created_at,
            updated_at: identity.updated_at,
            version: identity.version,
        });
        settled(expense, problems)
    }

    pub(super) fn search_text(&self) -> String {
        search_text([
            Some(self.reference.as_str()),
            self.description.as_deref(),
            self.category.as_deref(),
            self.vendor.as_deref(),
        ])
    }
}
