//! Expenses: money spent in a folder.

use super::{Assignment, Budget, Folder, RecordMetadata, record};
use crate::{
    Amount, Currency, DomainError, FieldErrors, Key, PersonId, RecordId, Reference, StatusId,
    Violation,
    input::{CustomFieldsInput, Field, FieldReader, ParsedInput, StatusRef, TextLimit},
    person::PersonRef,
    text::search_text,
    time::Date,
};
use rust_decimal::Decimal;

record! {
    /// Money spent in a folder; negative for a refund.
    pub struct Expense {
        /// Folder that the expense belongs to.
        pub folder_id: RecordId,
        /// Assignment that the expense belongs to.
        pub assignment_id: Option<RecordId>,
        /// Budget that pays for the expense.
        pub budget_id: Option<RecordId>,
        /// Status, from the list of statuses.
        pub status_id: Option<StatusId>,
        /// Category.
        #[schema(example = "Travel")]
        pub category: Option<String>,
        /// Description.
        pub description: Option<String>,
        /// Vendor.
        pub vendor: Option<String>,
        /// Quantity, a decimal.
        pub quantity: Amount,
        /// Unit price.
        pub unit_amount: Amount,
        /// `quantity` × `unitAmount`, rounded half to even to the currency's minor unit.
        pub amount: Amount,
        /// Currency.
        pub currency: Currency,
        /// Date of the expense.
        #[schema(value_type = String, format = "date")]
        pub incurred_on: Date,
        /// Person who submitted the expense.
        #[schema(value_type = Option<crate::Person>)]
        pub submitted_by: Option<PersonId>,
        /// Whether the client is billed for the expense.
        pub billable: bool,
    }
}

/// The requested values of an expense.
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
    /// Parses the input.
    pub fn read(fields: FieldReader<'_>) -> ParsedInput<Self> {
        let mut fields = fields.read_only(&super::READ_ONLY).read_only(&["amount"]);
        let folder = fields.link("folder", "folderId");
        let unit_amount = fields.decimal("unitAmount", 28);
        let incurred_on = fields.date("incurredOn");
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", TextLimit::Short),
            folder: fields.required("folder", folder),
            assignment: fields.link("assignment", "assignmentId"),
            budget: fields.link("budget", "budgetId"),
            status: fields.status(),
            category: fields.text("category", TextLimit::Short),
            description: fields.text("description", TextLimit::Long),
            vendor: fields.text("vendor", TextLimit::Short),
            quantity: fields.decimal("quantity", 6),
            unit_amount: fields.required("unitAmount", unit_amount),
            currency: fields.currency("currency"),
            incurred_on: fields.required("incurredOn", incurred_on),
            submitted_by: fields.person("submittedBy"),
            billable: fields.boolean("billable"),
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// The records and people that an expense links to.
pub struct ExpenseLinks<'a> {
    /// Folder.
    pub folder: Option<&'a Folder>,
    /// Assignment.
    pub assignment: Option<&'a Assignment>,
    /// Budget.
    pub budget: Option<&'a Budget>,
    /// Status.
    pub status: Option<StatusId>,
    /// Person who submitted the expense.
    pub submitted_by: Option<PersonId>,
}

impl ExpenseLinks<'_> {
    fn check(&self, folder: &Folder, currency: Currency, errors: &mut FieldErrors) {
        if self.assignment.is_some_and(|assignment| assignment.folder_id != folder.id) {
            errors.add("assignment", Violation::AnotherFolder);
        }
        if self.budget.is_some_and(|budget| budget.folder_id != folder.id) {
            errors.add("budget", Violation::AnotherFolder);
        }
        if let Some(budget) = self.budget
            && budget.currency != currency
        {
            errors
                .add("currency", Violation::NotBudgetCurrency { currency: budget.currency.code() });
        }
    }
}

impl Expense {
    /// Applies `input` to `prior`, or creates an expense.
    pub fn from_input(
        prior: Option<&Self>,
        metadata: RecordMetadata,
        input: ExpenseInput,
        links: &ExpenseLinks<'_>,
    ) -> Result<Self, DomainError> {
        let mut errors = FieldErrors::default();
        let unit = input.unit_amount.into_option().or(prior.map(|prior| prior.unit_amount.0));
        let incurred_on = input.incurred_on.into_option().or(prior.map(|prior| prior.incurred_on));
        for (is_missing, name) in [
            (links.folder.is_none(), "folder"),
            (unit.is_none(), "unitAmount"),
            (incurred_on.is_none(), "incurredOn"),
        ] {
            if is_missing {
                errors.add(name, Violation::Required);
            }
        }
        let (Some(folder), Some(unit), Some(incurred_on)) = (links.folder, unit, incurred_on)
        else {
            return errors.finish(None);
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
            errors.add("quantity", Violation::TooManyDigits { max: 9 });
        }
        links.check(folder, currency, &mut errors);
        let custom_fields = input.custom_fields.apply(prior.map(|p| &p.custom_fields), &mut errors);
        let unit_amount = errors.check("unitAmount", Amount::money(unit, currency));
        let amount = unit_amount
            .and_then(|unit| errors.check("amount", Amount::product(quantity, unit, currency)));
        let expense = unit_amount.zip(amount).map(|(unit_amount, amount)| Self {
            id: metadata.id,
            reference: metadata.reference,
            workspace_key: metadata.workspace,
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
            created_at: metadata.created_at,
            updated_at: metadata.updated_at,
            version: metadata.version,
        });
        errors.finish(expense)
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
