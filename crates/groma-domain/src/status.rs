//! Statuses: the words a workspace uses for where its records stand.

use crate::{
    Kind, Refusal, StatusId, Timestamp,
    input::{Field, Fields, StatusRef, Text},
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
    /// Name, unique among the statuses of its kind.
    #[schema(example = "Field work")]
    pub name: String,
    /// The kind of record it is for.
    pub applies_to: Kind,
    /// What it means to the program.
    pub group: Group,
    /// Colour of its dot.
    #[schema(pattern = "^#[0-9a-f]{6}$", example = "#2b6cb0")]
    pub color: String,
    /// Place among the statuses of its kind.
    pub position: u32,
    /// Whether new records of its kind start with it.
    pub is_default: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a status means to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Group {
    /// Not begun.
    Todo,
    /// Under way.
    InProgress,
    /// Finished.
    Done,
    /// Given up.
    Cancelled,
}

impl Group {
    /// Every group with its name.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("todo", Self::Todo),
        ("inProgress", Self::InProgress),
        ("done", Self::Done),
        ("cancelled", Self::Cancelled),
    ];
}

/// What someone wants a status to be.
#[derive(Clone, Debug, Default)]
pub struct StatusInput {
    /// Name.
    pub name: Field<String>,
    /// The kind of record; cannot change later.
    pub applies_to: Field<Kind>,
    /// Meaning.
    pub group: Field<Group>,
    /// Colour.
    pub color: Field<String>,
    /// Place.
    pub position: Field<u32>,
    /// Default of its kind.
    pub is_default: Field<bool>,
}

impl StatusInput {
    const READ_ONLY: [&'static str; 3] = ["id", "createdAt", "updatedAt"];

    /// Reads the input.
    pub fn read(values: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut fields = Fields::new(values, &Self::READ_ONLY);
        let applies_to = fields.word("appliesTo", &Kind::WORDS);
        let group = fields.word("group", &Group::WORDS);
        let color = fields.text("color", Text::Short);
        let position = fields.whole("position", 10_000);
        let is_default = fields.boolean("isDefault");
        let input = Self {
            name: fields.needed_text("name", Text::Short),
            applies_to: fields.needed("appliesTo", applies_to),
            group: fields.needed("group", group),
            color: fields.needed("color", color),
            position: fields.needed("position", position),
            is_default: fields.needed("isDefault", is_default),
        };
        fields.finish(input)
    }
}

impl Status {
    /// The status that `input` makes of `prior`, or anew with the id `id`.
    pub fn write(
        prior: Option<&Self>,
        id: StatusId,
        input: StatusInput,
        next_position: u32,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let applies_to = match (prior, input.applies_to.given()) {
            (Some(prior), Some(kind)) if kind != prior.applies_to => {
                return Err(Refusal::invalid("appliesTo", "cannot change"));
            }
            (Some(prior), _) => prior.applies_to,
            (None, Some(kind)) => kind,
            (None, None) => return Err(Refusal::invalid("appliesTo", "is needed")),
        };
        let name = match (input.name.given(), prior) {
            (Some(name), _) => name,
            (None, Some(prior)) => prior.name.clone(),
            (None, None) => return Err(Refusal::invalid("name", "is needed")),
        };
        let color = input
            .color
            .or(prior.map_or("#87909d".into(), |prior| prior.color.clone()))
            .to_lowercase();
        if !is_color(&color) {
            return Err(Refusal::invalid("color", "must be a colour such as #2b6cb0"));
        }
        let status = Self {
            id,
            name,
            applies_to,
            group: input.group.or(prior.map_or(Group::Todo, |prior| prior.group)),
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

    /// Whether `named` means this status.
    #[must_use]
    pub fn is_named(&self, named: &StatusRef) -> bool {
        match named {
            StatusRef::Id(id) => self.id == *id,
            StatusRef::Name(name) => fold(&self.name) == fold(name),
        }
    }

    /// Its public document.
    #[must_use]
    pub fn document(&self) -> String {
        crate::record::to_json(self)
    }
}

pub(crate) fn is_color(text: &str) -> bool {
    text.strip_prefix('#')
        .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The statuses of a new workspace: kind, name, group, colour; the first of a kind is its default.
pub const INITIAL: [(Kind, &str, Group, &str); 18] = [
    (Kind::Folder, "Quoted", Group::Todo, "#87909d"),
    (Kind::Folder, "Field work", Group::InProgress, "#2b6cb0"),
    (Kind::Folder, "Drawing", Group::InProgress, "#7c4dbe"),
    (Kind::Folder, "Review", Group::InProgress, "#b7791f"),
    (Kind::Folder, "Delivered", Group::Done, "#27724f"),
    (Kind::Folder, "Cancelled", Group::Cancelled, "#a3acb8"),
    (Kind::Assignment, "To do", Group::Todo, "#87909d"),
    (Kind::Assignment, "In progress", Group::InProgress, "#2b6cb0"),
    (Kind::Assignment, "Review", Group::InProgress, "#b7791f"),
    (Kind::Assignment, "Done", Group::Done, "#27724f"),
    (Kind::Assignment, "Cancelled", Group::Cancelled, "#a3acb8"),
    (Kind::Expense, "Submitted", Group::Todo, "#87909d"),
    (Kind::Expense, "Approved", Group::InProgress, "#2b6cb0"),
    (Kind::Expense, "Reimbursed", Group::Done, "#27724f"),
    (Kind::Expense, "Rejected", Group::Cancelled, "#a3acb8"),
    (Kind::Budget, "Draft", Group::Todo, "#87909d"),
    (Kind::Budget, "Approved", Group::InProgress, "#2b6cb0"),
    (Kind::Budget, "Closed", Group::Done, "#27724f"),
];
