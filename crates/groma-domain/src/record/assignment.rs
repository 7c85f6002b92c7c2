//! Assignments: work to be done in a folder.

use super::{Folder, Identity, check_span, record, settled};
use crate::{
    Amount, Key, PersonId, Problem, RecordId, Reference, Refusal, Status, StatusId, Timestamp,
    input::{CustomFieldsInput, Field, Fields, StatusRef, Text},
    person::PersonRef,
    status::Group,
    text::search_text,
    time::Date,
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

record! {
    /// Work to be done in a folder.
    pub struct Assignment {
        /// Folder it belongs to.
        pub folder_id: RecordId,
        /// Title.
        #[schema(example = "Stake out north line")]
        pub title: String,
        /// Description.
        pub description: Option<String>,
        /// Status; see the statuses list.
        pub status_id: Option<StatusId>,
        /// How pressing it is.
        pub priority: Priority,
        /// Who does it.
        #[schema(value_type = Vec<crate::Person>)]
        pub assignees: Vec<PersonId>,
        /// First day.
        #[schema(value_type = Option<String>, format = "date")]
        pub start_date: Option<Date>,
        /// Last day.
        #[schema(value_type = Option<String>, format = "date")]
        pub due_date: Option<Date>,
        /// Hours it should take, a decimal.
        pub estimated_hours: Option<Amount>,
        /// Hours it has taken, a decimal.
        pub spent_hours: Option<Amount>,
        /// When it entered a status of group `done`.
        pub completed_at: Option<Timestamp>,
    }
}

/// How pressing an assignment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Priority {
    /// It can wait.
    Low,
    /// As usual.
    Normal,
    /// Before others.
    High,
    /// Now.
    Urgent,
}

impl Priority {
    /// Every priority with its name.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("low", Self::Low),
        ("normal", Self::Normal),
        ("high", Self::High),
        ("urgent", Self::Urgent),
    ];
}

/// What someone wants an assignment to be.
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
    /// Reads the input.
    pub fn read(values: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut fields = Fields::new(values, &[&super::READ_ONLY[..], &["completedAt"]].concat());
        let folder = fields.link("folder", "folderId");
        let input = Self {
            reference: fields.reference("reference"),
            external_id: fields.text("externalId", Text::Short),
            folder: fields.needed("folder", folder),
            title: fields.needed_text("title", Text::Line),
            description: fields.text("description", Text::Long),
            status: fields.status(),
            priority: fields.word("priority", &Priority::WORDS),
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

/// What an assignment is to be linked with, looked up.
pub struct AssignmentLinks<'a> {
    /// Its folder.
    pub folder: Option<&'a Folder>,
    /// Its status.
    pub status: Option<&'a Status>,
    /// Who does it.
    pub assignees: Vec<PersonId>,
}

impl Assignment {
    /// The assignment that `input` makes of `prior`, or anew.
    pub fn write(
        prior: Option<&Self>,
        identity: Identity,
        input: AssignmentInput,
        links: AssignmentLinks<'_>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let mut problems = Vec::new();
        let title = input.title.given().or_else(|| prior.map(|prior| prior.title.clone()));
        if title.is_none() {
            problems.push(Problem::new("title", "is needed"));
        }
        if links.folder.is_none() {
            problems.push(Problem::new("folder", "is needed"));
        }
        let custom_fields =
            input.custom_fields.apply(&prior.map(|p| p.custom_fields.clone()).unwrap_or_default());
        let custom_fields =
            custom_fields.map_err(|problem| problems.push(problem)).unwrap_or_default();
        let start_date = input.start_date.or(prior.and_then(|prior| prior.start_date));
        let due_date = input.due_date.or(prior.and_then(|prior| prior.due_date));
        check_span(&mut problems, (start_date, "startDate"), (due_date, "dueDate"));
        let mut hours = |name, given: Field<Option<Decimal>>, current: Option<Amount>| match given {
            Field::Keep => current,
            Field::Set(None) => None,
            Field::Set(Some(hours))
                if hours.is_sign_negative() && !hours.is_zero()
                    || hours >= Decimal::from(1_000_000) =>
            {
                problems.push(Problem::new(name, "must be from 0 to under 1,000,000"));
                None
            }
            Field::Set(Some(hours)) => Some(Amount(hours.normalize())),
        };
        let estimated_hours =
            hours("estimatedHours", input.estimated_hours, prior.and_then(|p| p.estimated_hours));
        let spent_hours = hours("spentHours", input.spent_hours, prior.and_then(|p| p.spent_hours));
        let assignment = title.zip(links.folder).map(|(title, folder)| {
            let mut assignment = Self {
                id: identity.id,
                reference: identity.reference,
                workspace_key: identity.workspace,
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
                created_at: identity.created_at,
                updated_at: identity.updated_at,
                version: identity.version,
            };
            assignment.settle_completion(links.status, now);
            assignment
        });
        settled(assignment, problems)
    }

    /// Sets `completed_at` on entering a status of group `done`, clears it on leaving.
    pub(super) fn settle_completion(&mut self, status: Option<&Status>, now: Timestamp) {
        self.completed_at = match status {
            Some(status) if status.group == Group::Done => self.completed_at.or(Some(now)),
            _ => None,
        };
    }

    pub(super) fn search_text(&self) -> String {
        search_text([Some(self.reference.as_str()), Some(&self.title), self.description.as_deref()])
    }
}
