//! Assignments: work to be done in a folder.

use super::{Folder, RecordMetadata, check_date_range, record};
use crate::{
    Amount, DomainError, FieldErrors, Key, PersonId, RecordId, Reference, Status, StatusId,
    Timestamp, Violation,
    input::{CustomFieldsInput, Field, FieldReader, ParsedInput, StatusRef, TextLimit},
    person::PersonRef,
    status::StatusGroup,
    text::search_text,
    time::Date,
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

record! {
    /// Work to be done in a folder.
    pub struct Assignment {
        /// Folder that the assignment belongs to.
        pub folder_id: RecordId,
        /// Title.
        #[schema(example = "Stake out north line")]
        pub title: String,
        /// Description.
        pub description: Option<String>,
        /// Status, from the list of statuses.
        pub status_id: Option<StatusId>,
        /// Priority.
        pub priority: Priority,
        /// People who do the work.
        #[schema(value_type = Vec<crate::Person>)]
        pub assignees: Vec<PersonId>,
        /// Start date.
        #[schema(value_type = Option<String>, format = "date")]
        pub start_date: Option<Date>,
        /// Due date.
        #[schema(value_type = Option<String>, format = "date")]
        pub due_date: Option<Date>,
        /// Estimated hours, a decimal.
        pub estimated_hours: Option<Amount>,
        /// Hours spent, a decimal.
        pub spent_hours: Option<Amount>,
        /// When the assignment entered a status of the group `done`.
        pub completed_at: Option<Timestamp>,
    }
}

/// Priority of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Priority {
    /// Low.
    Low,
    /// Normal.
    Normal,
    /// High.
    High,
    /// Urgent.
    Urgent,
}

impl Priority {
    /// The priorities with their names in the API.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("low", Self::Low),
        ("normal", Self::Normal),
        ("high", Self::High),
        ("urgent", Self::Urgent),
    ];

    /// The name in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }
}

/// The requested values of an assignment.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Assignment`")]
pub struct AssignmentInput {
    pub reference: Field<Option<Reference>>,
    pub external_id: Field<Option<String>>,
    pub folder: Field<Key>,
    pub title: Field<String>,
    pub description: Field<Option<String>>,
    pub status: Field<Option<StatusRef>>,
    pub priority: Field<Option<Priority>>,
    pub assignees: Field<Vec<PersonRef>>,
    pub start_date: Field<Option<Date>>,
    pub due_date: Field<Option<Date>>,
    pub estimated_hours: Field<Option<Decimal>>,
    pub spent_hours: Field<Option<Decimal>>,
    pub custom_fields: CustomFieldsInput,
}

impl AssignmentInput {
    /// Parses the input.
    pub fn read(fields: FieldReader<'_>) -> ParsedInput<Self> {
        let mut fields = fields.read_only(&super::READ_ONLY).read_only(&["completedAt"]);
        let folder = fields.link("folder", "folderId");
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", TextLimit::Short),
            folder: fields.required("folder", folder),
            title: fields.required_text("title", TextLimit::Line),
            description: fields.text("description", TextLimit::Long),
            status: fields.status(),
            priority: fields.one_of("priority", &Priority::NAMES),
            assignees: fields.people("assignees"),
            start_date: fields.date("startDate"),
            due_date: fields.date("dueDate"),
            estimated_hours: fields.decimal("estimatedHours", 4),
            spent_hours: fields.decimal("spentHours", 4),
            custom_fields: fields.custom_fields(),
        };
        fields.finish(input)
    }
}

/// The records and people that an assignment links to.
pub struct AssignmentLinks<'a> {
    /// Folder.
    pub folder: Option<&'a Folder>,
    /// Status.
    pub status: Option<&'a Status>,
    /// People who do the work.
    pub assignees: Vec<PersonId>,
}

impl Assignment {
    /// Applies `input` to `prior`, or creates an assignment.
    pub fn from_input(
        prior: Option<&Self>,
        metadata: RecordMetadata,
        input: AssignmentInput,
        links: AssignmentLinks<'_>,
        now: Timestamp,
    ) -> Result<Self, DomainError> {
        let mut errors = FieldErrors::default();
        let title = input.title.into_option().or_else(|| prior.map(|prior| prior.title.clone()));
        if title.is_none() {
            errors.add("title", Violation::Required);
        }
        if links.folder.is_none() {
            errors.add("folder", Violation::Required);
        }
        let custom_fields = input.custom_fields.apply(prior.map(|p| &p.custom_fields), &mut errors);
        let start_date = input.start_date.or(prior.and_then(|prior| prior.start_date));
        let due_date = input.due_date.or(prior.and_then(|prior| prior.due_date));
        check_date_range(&mut errors, (start_date, "startDate"), (due_date, "dueDate"));
        let mut hours = |name, input: Field<Option<Decimal>>, current: Option<Amount>| match input {
            Field::Keep => current,
            Field::Set(hours) => hours.and_then(|hours| errors.check(name, parse_hours(hours))),
        };
        let estimated_hours =
            hours("estimatedHours", input.estimated_hours, prior.and_then(|p| p.estimated_hours));
        let spent_hours = hours("spentHours", input.spent_hours, prior.and_then(|p| p.spent_hours));
        let assignment = title.zip(links.folder).map(|(title, folder)| {
            let mut assignment = Self {
                id: metadata.id,
                reference: metadata.reference,
                workspace_key: metadata.workspace,
                external_id: input.external_id.or(prior.and_then(|p| p.external_id.clone())),
                folder_id: folder.id,
                title,
                description: input.description.or(prior.and_then(|p| p.description.clone())),
                status_id: links.status.map(|status| status.id),
                priority: input.priority.or(prior.map(|p| p.priority)).unwrap_or(Priority::Normal),
                assignees: links.assignees,
                start_date,
                due_date,
                estimated_hours,
                spent_hours,
                completed_at: prior.and_then(|p| p.completed_at),
                custom_fields,
                created_at: metadata.created_at,
                updated_at: metadata.updated_at,
                version: metadata.version,
            };
            assignment.update_completed_at(links.status, now);
            assignment
        });
        errors.finish(assignment)
    }

    /// Sets `completed_at` if the status is in the group `done`, and clears it otherwise.
    pub(super) fn update_completed_at(&mut self, status: Option<&Status>, now: Timestamp) {
        self.completed_at = match status {
            Some(status) if status.group == StatusGroup::Done => self.completed_at.or(Some(now)),
            _ => None,
        };
    }

    pub(super) fn search_text(&self) -> String {
        search_text([Some(self.reference.as_str()), Some(&self.title), self.description.as_deref()])
    }
}

fn parse_hours(hours: Decimal) -> Result<Amount, Violation> {
    if hours.is_sign_negative() && !hours.is_zero() {
        return Err(Violation::Negative);
    }
    if hours >= Decimal::from(1_000_000) {
        return Err(Violation::TooManyDigits { max: 6 });
    }
    Ok(Amount(hours.normalize()))
}
