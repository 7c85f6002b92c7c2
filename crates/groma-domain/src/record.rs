//! Records: folders, assignments, expenses and budgets.
//!
//! A record's struct has the fields of its public JSON, with person IDs in place of people.
//! [`Record::document`] returns the stored document, and [`render`] completes it. A GET, a list item
//! and the `data` of an event all use these two functions.

mod assignment;
mod budget;
mod document;
mod expense;
mod folder;
mod label;

pub use assignment::{Assignment, AssignmentInput, AssignmentLinks, Priority};
pub use budget::{Budget, BudgetInput, BudgetLinks};
pub use document::{PersonDirectory, StoredDocument, changed_fields, render};
pub use expense::{Expense, ExpenseInput, ExpenseLinks};
pub use folder::{Folder, FolderInput, FolderLinks};
pub use label::LabelField;

use crate::{
    DomainError, FieldErrors, Kind, PersonId, RecordId, Reference, Status, StatusId, Timestamp,
    Violation, WorkspaceId,
    input::{FieldReader, InputFormat, ParsedInput},
    json::to_json,
    time::Date,
};
use serde_json::{Map, Value};

/// Defines a record with the fields that all kinds share and the fields of its own.
macro_rules! record {
    ($(#[$doc:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Identifier.
            pub id: $crate::RecordId,
            /// Short name, unique within the workspace and kind. Can be used as `:key`.
            pub reference: $crate::Reference,
            /// Workspace that the record belongs to.
            pub workspace_key: $crate::WorkspaceId,
            /// Identifier in an external system.
            pub external_id: Option<String>,
            $($fields)*
            /// User-defined fields: strings, numbers, booleans and nulls.
            #[schema(value_type = Object)]
            pub custom_fields: $crate::input::CustomFields,
            /// When it was created.
            pub created_at: $crate::Timestamp,
            /// When it last changed.
            pub updated_at: $crate::Timestamp,
            /// Version, increased by each change, from 1.
            #[schema(minimum = 1)]
            pub version: u64,
        }
    };
}
pub(crate) use record;

/// The fields of a record that no input sets directly.
#[derive(Clone, Debug)]
pub struct RecordMetadata {
    /// Identifier.
    pub id: RecordId,
    /// Reference.
    pub reference: Reference,
    /// Workspace.
    pub workspace: WorkspaceId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Version.
    pub version: u64,
}

/// A record of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A folder.
    Folder(Folder),
    /// An assignment.
    Assignment(Assignment),
    /// An expense.
    Expense(Expense),
    /// A budget.
    Budget(Budget),
}

/// Evaluates an expression for a record of any kind.
macro_rules! each {
    ($record:expr, $bound:ident => $body:expr) => {
        match $record {
            Record::Folder($bound) => $body,
            Record::Assignment($bound) => $body,
            Record::Expense($bound) => $body,
            Record::Budget($bound) => $body,
        }
    };
}

impl Record {
    /// The kind of the record.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Folder(_) => Kind::Folder,
            Self::Assignment(_) => Kind::Assignment,
            Self::Expense(_) => Kind::Expense,
            Self::Budget(_) => Kind::Budget,
        }
    }

    /// The ID.
    #[must_use]
    pub fn id(&self) -> RecordId {
        each!(self, record => record.id)
    }

    /// The reference.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        each!(self, record => &record.reference)
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> u64 {
        each!(self, record => record.version)
    }

    /// The identifier in an external system.
    #[must_use]
    pub fn external_id(&self) -> Option<&str> {
        each!(self, record => record.external_id.as_deref())
    }

    /// When it last changed.
    #[must_use]
    pub fn updated_at(&self) -> Timestamp {
        each!(self, record => record.updated_at)
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> Option<StatusId> {
        each!(self, record => record.status_id)
    }

    /// Sets the status, and the fields that depend on it.
    pub fn set_status(&mut self, status: Option<&Status>, now: Timestamp) {
        each!(self, record => record.status_id = status.map(|status| status.id));
        if let Self::Assignment(assignment) = self {
            assignment.update_completed_at(status, now);
        }
    }

    /// The folder that the record belongs to; `None` for a folder.
    #[must_use]
    pub fn folder(&self) -> Option<RecordId> {
        match self {
            Self::Folder(_) => None,
            Self::Assignment(assignment) => Some(assignment.folder_id),
            Self::Expense(expense) => Some(expense.folder_id),
            Self::Budget(budget) => Some(budget.folder_id),
        }
    }

    /// The folder that filters of endpoints find it by: its folder, or the record itself if it is one.
    #[must_use]
    pub fn scope_folder(&self) -> Option<RecordId> {
        match self {
            Self::Folder(folder) => Some(folder.id),
            _ => self.folder(),
        }
    }

    /// Increments the version and sets the time of the change.
    pub fn increment_version(&mut self, now: Timestamp) {
        each!(self, record => {
            record.version += 1;
            record.updated_at = now.max(record.updated_at);
        });
    }

    /// The folder, if the record is one.
    #[must_use]
    pub fn into_folder(self) -> Option<Folder> {
        if let Self::Folder(folder) = self { Some(folder) } else { None }
    }

    /// The assignment, if the record is one.
    #[must_use]
    pub fn into_assignment(self) -> Option<Assignment> {
        if let Self::Assignment(assignment) = self { Some(assignment) } else { None }
    }

    /// The expense, if the record is one.
    #[must_use]
    pub fn into_expense(self) -> Option<Expense> {
        if let Self::Expense(expense) = self { Some(expense) } else { None }
    }

    /// The budget, if the record is one.
    #[must_use]
    pub fn into_budget(self) -> Option<Budget> {
        if let Self::Budget(budget) = self { Some(budget) } else { None }
    }

    /// The fields that no input sets directly.
    #[must_use]
    pub fn metadata(&self) -> RecordMetadata {
        each!(self, record => RecordMetadata {
            id: record.id,
            reference: record.reference.clone(),
            workspace: record.workspace_key,
            created_at: record.created_at,
            updated_at: record.updated_at,
            version: record.version,
        })
    }

    /// The text that lists are sorted by: the name or title; of an expense the description, else the
    /// category, else the reference.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Folder(folder) => &folder.name,
            Self::Assignment(assignment) => &assignment.title,
            Self::Expense(expense) => {
                let texts = [expense.description.as_deref(), expense.category.as_deref()];
                texts.into_iter().flatten().next().unwrap_or_else(|| expense.reference.as_str())
            }
            Self::Budget(budget) => &budget.name,
        }
    }

    /// The text that `term` searches: folded, with separated fields.
    #[must_use]
    pub fn search_text(&self) -> String {
        match self {
            Self::Folder(folder) => folder.search_text(),
            Self::Assignment(assignment) => assignment.search_text(),
            Self::Expense(expense) => expense.search_text(),
            Self::Budget(budget) => budget.search_text(),
        }
    }

    /// The people in the record.
    #[must_use]
    pub fn people(&self) -> Vec<PersonId> {
        match self {
            Self::Folder(folder) => folder.owner.into_iter().collect(),
            Self::Assignment(assignment) => assignment.assignees.clone(),
            Self::Expense(expense) => expense.submitted_by.into_iter().collect(),
            Self::Budget(_) => Vec::new(),
        }
    }

    /// The document to store.
    #[must_use]
    pub fn document(&self) -> StoredDocument {
        let json = each!(self, record => to_json(record));
        let people_field = match self.kind() {
            Kind::Folder => Some("\"owner\":"),
            Kind::Assignment => Some("\"assignees\":"),
            Kind::Expense => Some("\"submittedBy\":"),
            Kind::Budget => None,
        };
        StoredDocument::new(json, people_field)
    }

    /// Parses a stored document.
    pub fn from_document(kind: Kind, json: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::Folder => Self::Folder(serde_json::from_slice(json)?),
            Kind::Assignment => Self::Assignment(serde_json::from_slice(json)?),
            Kind::Expense => Self::Expense(serde_json::from_slice(json)?),
            Kind::Budget => Self::Budget(serde_json::from_slice(json)?),
        })
    }
}

/// The requested values of a record of any kind.
#[derive(Clone, Debug)]
pub enum RecordInput {
    /// A folder.
    Folder(FolderInput),
    /// An assignment.
    Assignment(AssignmentInput),
    /// An expense.
    Expense(ExpenseInput),
    /// A budget.
    Budget(BudgetInput),
}

impl RecordInput {
    /// Parses the input for a record of this kind from a form or a row of a file.
    pub fn read(kind: Kind, values: &Map<String, Value>) -> Result<Self, DomainError> {
        Self::parse(kind, FieldReader::new(values, InputFormat::Text)).into_result()
    }

    /// Parses a JSON body of the API.
    #[must_use]
    pub fn read_json(kind: Kind, values: &Map<String, Value>) -> ParsedInput<Self> {
        Self::parse(kind, FieldReader::new(values, InputFormat::Json))
    }

    fn parse(kind: Kind, fields: FieldReader<'_>) -> ParsedInput<Self> {
        match kind {
            Kind::Folder => FolderInput::read(fields).map(Self::Folder),
            Kind::Assignment => AssignmentInput::read(fields).map(Self::Assignment),
            Kind::Expense => ExpenseInput::read(fields).map(Self::Expense),
            Kind::Budget => BudgetInput::read(fields).map(Self::Budget),
        }
    }

    /// The kind of record.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Folder(_) => Kind::Folder,
            Self::Assignment(_) => Kind::Assignment,
            Self::Expense(_) => Kind::Expense,
            Self::Budget(_) => Kind::Budget,
        }
    }

    /// The requested external ID.
    #[must_use]
    pub fn external_id(&self) -> Option<&str> {
        let field = match self {
            Self::Folder(input) => &input.external_id,
            Self::Assignment(input) => &input.external_id,
            Self::Expense(input) => &input.external_id,
            Self::Budget(input) => &input.external_id,
        };
        field.as_ref().into_option()?.as_deref()
    }

    /// The requested reference.
    #[must_use]
    pub fn reference(&self) -> Option<&Reference> {
        let field = match self {
            Self::Folder(input) => &input.reference,
            Self::Assignment(input) => &input.reference,
            Self::Expense(input) => &input.reference,
            Self::Budget(input) => &input.reference,
        };
        field.as_ref().into_option()?.as_ref()
    }
}

/// The read-only fields of every kind.
pub(crate) const READ_ONLY: [&str; 5] = ["id", "workspaceKey", "createdAt", "updatedAt", "version"];

/// Adds an error if the end date is before the start date.
pub(crate) fn check_date_range(
    errors: &mut FieldErrors,
    (start, start_name): (Option<Date>, &str),
    (end, end_name): (Option<Date>, &str),
) {
    if let (Some(start), Some(end)) = (start, end)
        && end < start
    {
        errors.add(end_name, Violation::EndBeforeStart { start: start_name.to_owned() });
    }
}
