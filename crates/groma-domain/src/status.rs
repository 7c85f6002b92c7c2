//! Statuses: the stages of work that a workspace defines for its records.

use crate::{
    DomainError, FieldErrors, Kind, StatusId, Timestamp, Violation,
    input::{Field, FieldReader, InputFormat, ParsedInput, StatusRef, TextLimit},
    text::fold,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A status of one kind of record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Identifier.
    pub id: StatusId,
    /// Name, unique among the statuses of the same kind.
    #[schema(example = "Field work")]
    pub name: String,
    /// Kind of record that the status applies to.
    pub applies_to: Kind,
    /// Group that gives the status its meaning.
    pub group: StatusGroup,
    /// Colour of the status in the web application.
    #[schema(pattern = "^#[0-9a-f]{6}$", example = "#2b6cb0")]
    pub color: String,
    /// Position among the statuses of the same kind.
    pub position: u32,
    /// Whether new records start with this status.
    pub is_default: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The meaning of a status: only open statuses count as open, only `Done` completes an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Group)]
pub enum StatusGroup {
    /// Not started.
    Todo,
    /// In progress.
    InProgress,
    /// Completed.
    Done,
    /// Cancelled.
    Cancelled,
}

impl StatusGroup {
    /// The groups with their names in the API.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("todo", Self::Todo),
        ("inProgress", Self::InProgress),
        ("done", Self::Done),
        ("cancelled", Self::Cancelled),
    ];
}

/// The requested values of a status.
#[derive(Clone, Debug, Default)]
pub struct StatusInput {
    /// Name.
    pub name: Field<String>,
    /// Kind of record; cannot be changed later.
    pub applies_to: Field<Kind>,
    /// Group.
    pub group: Field<StatusGroup>,
    /// Colour.
    pub color: Field<String>,
    /// Position.
    pub position: Field<u32>,
    /// Whether it becomes the default.
    pub is_default: Field<bool>,
}

impl StatusInput {
    const READ_ONLY: [&'static str; 3] = ["id", "createdAt", "updatedAt"];

    /// Parses a row of a file.
    pub fn read(values: &Map<String, Value>) -> Result<Self, DomainError> {
        Self::parse(FieldReader::new(values, InputFormat::Text)).into_result()
    }

    /// Parses a JSON body of the API.
    #[must_use]
    pub fn read_json(values: &Map<String, Value>) -> ParsedInput<Self> {
        Self::parse(FieldReader::new(values, InputFormat::Json))
    }

    fn parse(fields: FieldReader<'_>) -> ParsedInput<Self> {
        let mut fields = fields.read_only(&Self::READ_ONLY);
        let applies_to = fields.one_of("appliesTo", &Kind::NAMES);
        let group = fields.one_of("group", &StatusGroup::NAMES);
        let color = fields.text("color", TextLimit::Short);
        let position = fields.integer("position", 10_000);
        let is_default = fields.boolean("isDefault");
        let input = Self {
            name: fields.required_text("name", TextLimit::Short),
            applies_to: fields.required("appliesTo", applies_to),
            group: fields.required("group", group),
            color: fields.required("color", color),
            position: fields.required("position", position),
            is_default: fields.required("isDefault", is_default),
        };
        fields.finish(input)
    }
}

impl Status {
    /// Applies `input` to `prior`, or creates a status with this ID.
    pub fn from_input(
        prior: Option<&Self>,
        id: StatusId,
        input: StatusInput,
        next_position: u32,
        now: Timestamp,
    ) -> Result<Self, DomainError> {
        let mut errors = FieldErrors::default();
        let applies_to = match (prior, input.applies_to.into_option()) {
            (Some(prior), Some(kind)) if kind != prior.applies_to => {
                errors.add("appliesTo", Violation::ReadOnly);
                None
            }
            (prior, kind) => prior.map(|prior| prior.applies_to).or(kind),
        };
        let name = input.name.into_option().or_else(|| prior.map(|prior| prior.name.clone()));
        for (is_missing, name) in [(applies_to.is_none(), "appliesTo"), (name.is_none(), "name")] {
            if is_missing && prior.is_none() {
                errors.add(name, Violation::Required);
            }
        }
        let color = input
            .color
            .or(prior.map_or("#87909d".into(), |prior| prior.color.clone()))
            .to_lowercase();
        if !is_color(&color) {
            errors.add("color", Violation::NotColor);
        }
        let (applies_to, name) = errors.finish(applies_to.zip(name))?;
        let status = Self {
            id,
            name,
            applies_to,
            group: input.group.or(prior.map_or(StatusGroup::Todo, |prior| prior.group)),
            color,
            position: input.position.or(prior.map_or(next_position, |prior| prior.position)),
            is_default: input.is_default.or(prior.is_some_and(|prior| prior.is_default)),
            created_at: prior.map_or(now, |prior| prior.created_at),
            updated_at: prior.map_or(now, |prior| prior.updated_at),
        };
        match prior {
            Some(prior) if *prior != status => Ok(Self { updated_at: now, ..status }),
            _ => Ok(status),
        }
    }

    /// Whether `reference` refers to this status.
    #[must_use]
    pub fn matches(&self, reference: &StatusRef) -> bool {
        match reference {
            StatusRef::Id(id) => self.id == *id,
            StatusRef::Name(name) => fold(&self.name) == fold(name),
        }
    }

    /// The JSON document of the API.
    #[must_use]
    pub fn document(&self) -> String {
        crate::json::to_json(self)
    }
}

pub(crate) fn is_color(text: &str) -> bool {
    text.strip_prefix('#')
        .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The statuses of a new workspace: kind, name, group and colour. The first of each kind is the
/// default.
pub const INITIAL_STATUSES: [(Kind, &str, StatusGroup, &str); 18] = [
    (Kind::Folder, "Quoted", StatusGroup::Todo, "#87909d"),
    (Kind::Folder, "Field work", StatusGroup::InProgress, "#2b6cb0"),
    (Kind::Folder, "Drawing", StatusGroup::InProgress, "#7c4dbe"),
    (Kind::Folder, "Review", StatusGroup::InProgress, "#b7791f"),
    (Kind::Folder, "Delivered", StatusGroup::Done, "#27724f"),
    (Kind::Folder, "Cancelled", StatusGroup::Cancelled, "#a3acb8"),
    (Kind::Assignment, "To do", StatusGroup::Todo, "#87909d"),
    (Kind::Assignment, "In progress", StatusGroup::InProgress, "#2b6cb0"),
    (Kind::Assignment, "Review", StatusGroup::InProgress, "#b7791f"),
    (Kind::Assignment, "Done", StatusGroup::Done, "#27724f"),
    (Kind::Assignment, "Cancelled", StatusGroup::Cancelled, "#a3acb8"),
    (Kind::Expense, "Submitted", StatusGroup::Todo, "#87909d"),
    (Kind::Expense, "Approved", StatusGroup::InProgress, "#2b6cb0"),
    (Kind::Expense, "Reimbursed", StatusGroup::Done, "#27724f"),
    (Kind::Expense, "Rejected", StatusGroup::Cancelled, "#a3acb8"),
    (Kind::Budget, "Draft", StatusGroup::Todo, "#87909d"),
    (Kind::Budget, "Approved", StatusGroup::InProgress, "#2b6cb0"),
    (Kind::Budget, "Closed", StatusGroup::Done, "#27724f"),
];
