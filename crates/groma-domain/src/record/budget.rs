//! Budgets: money planned for a folder, and how much of it the expenses have used.

use super::{Folder, RecordMetadata, check_date_range, record};
use crate::{
    Amount, Currency, DomainError, FieldErrors, Key, RecordId, Reference, StatusId, Violation,
    input::{CustomFieldsInput, Field, FieldReader, ParsedInput, StatusRef, TextLimit},
    text::search_text,
    time::Date,
};
use rust_decimal::Decimal;

record! {
    /// Money planned for a folder.
    pub struct Budget {
        /// Folder that the budget belongs to.
        pub folder_id: RecordId,
        /// Name.
        #[schema(example = "Field work 2026")]
        pub name: String,
        /// Description.
        pub description: Option<String>,
        /// Status, from the list of statuses.
        pub status_id: Option<StatusId>,
        /// Category.
        pub category: Option<String>,
        /// Planned amount.
        pub amount: Amount,
        /// Currency of the budget and its expenses.
        pub currency: Currency,
        /// Start date.
        #[schema(value_type = Option<String>, format = "date")]
        pub start_date: Option<Date>,
        /// End date.
        #[schema(value_type = Option<String>, format = "date")]
        pub end_date: Option<Date>,
        /// Sum of the budget's expenses, except cancelled ones.
        pub spent: Amount,
        /// `amount` − `spent`.
        pub remaining: Amount,
        /// `spent` as a percentage of `amount`, with two decimals; null if the amount is 0.
        pub percent_used: Option<Amount>,
    }
}

/// The requested values of a budget.
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
    /// Parses the input.
    pub fn read(fields: FieldReader<'_>) -> ParsedInput<Self> {
        let mut fields =
            fields.read_only(&super::READ_ONLY).read_only(&["spent", "remaining", "percentUsed"]);
        let folder = fields.link("folder", "folderId");
        let amount = fields.decimal("amount", 28);
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", TextLimit::Short),
            folder: fields.required("folder", folder),
            name: fields.required_text("name", TextLimit::Line),
            description: fields.text("description", TextLimit::Long),
            status: fields.status(),
            category: fields.text("category", TextLimit::Short),
            amount: fields.required("amount", amount),
            currency: fields.currency("currency"),
            start_date: fields.date("startDate"),
            end_date: fields.date("endDate"),
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// The records that a budget links to.
pub struct BudgetLinks<'a> {
    /// Folder.
    pub folder: Option<&'a Folder>,
    /// Status.
    pub status: Option<StatusId>,
    /// Whether the budget has expenses. Its folder and currency are then fixed.
    pub has_expenses: bool,
}

impl Budget {
    /// Applies `input` to `prior`, or creates a budget.
    pub fn from_input(
        prior: Option<&Self>,
        metadata: RecordMetadata,
        input: BudgetInput,
        links: &BudgetLinks<'_>,
    ) -> Result<Self, DomainError> {
        let mut errors = FieldErrors::default();
        let name = input.name.into_option().or_else(|| prior.map(|prior| prior.name.clone()));
        let number = input.amount.into_option().or(prior.map(|prior| prior.amount.0));
        for (is_missing, name) in [
            (name.is_none(), "name"),
            (links.folder.is_none(), "folder"),
            (number.is_none(), "amount"),
        ] {
            if is_missing {
                errors.add(name, Violation::Required);
            }
        }
        let (Some(folder), Some(number)) = (links.folder, number) else {
            return errors.finish(None);
        };
        // Without a name, the other fields are still checked.
        let name = name.unwrap_or_default();
        let currency = match input.currency {
            Field::Keep => prior.map_or(folder.currency, |prior| prior.currency),
            Field::Set(currency) => currency.unwrap_or(folder.currency),
        };
        if let Some(prior) = prior.filter(|_| links.has_expenses) {
            if prior.folder_id != folder.id {
                errors.add("folder", Violation::BudgetInUse);
            }
            if prior.currency != currency {
                errors.add("currency", Violation::BudgetInUse);
            }
        }
        if number.is_sign_negative() && !number.is_zero() {
            errors.add("amount", Violation::Negative);
        }
        let start_date = input.start_date.or(prior.and_then(|prior| prior.start_date));
        let end_date = input.end_date.or(prior.and_then(|prior| prior.end_date));
        check_date_range(&mut errors, (start_date, "startDate"), (end_date, "endDate"));
        let custom_fields = input.custom_fields.apply(prior.map(|p| &p.custom_fields), &mut errors);
        let amount = errors.check("amount", Amount::money(number, currency));
        let budget = amount.map(|amount| {
            let mut budget = Self {
                id: metadata.id,
                reference: metadata.reference,
                workspace_key: metadata.workspace,
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
                created_at: metadata.created_at,
                updated_at: metadata.updated_at,
                version: metadata.version,
            };
            let spent = prior
                .filter(|prior| prior.currency == currency)
                .map_or(Decimal::ZERO, |prior| prior.spent.0);
            budget.add_spent(spent);
            budget
        });
        errors.finish(budget)
    }

    /// Adds an amount to `spent`. A negative amount removes an expense or adds a refund.
    pub fn add_spent(&mut self, amount: Decimal) {
        let with_decimals = |mut number: Decimal| {
            // The result of an addition has the decimal places of its operands.
            number.rescale(self.currency.exponent());
            Amount(number)
        };
        self.spent = with_decimals(self.spent.0 + amount);
        self.remaining = with_decimals(self.amount.0 - self.spent.0);
        self.percent_used = self.spent.percent_of(self.amount);
    }

    pub(super) fn search_text(&self) -> String {
        search_text([Some(self.reference.as_str()), Some(&self.name), self.description.as_deref()])
    }
}
