//! Records: folders, assignments, expenses, budgets; what they share.
//!
//! A record's struct is its public document but for people, which it holds by id: a person's name
//! may change without the record changing. [`Record::document`] gives the stored text with the
//! places where people go, and [`Document::render`] puts them in. GET, list item and event `data`
//! all come from there.

mod assignment;
mod budget;
mod expense;
mod folder;

pub use assignment::{Assignment, AssignmentInput, AssignmentLinks, Priority};
pub use budget::{Budget, BudgetInput, BudgetLinks};
pub use expense::{Expense, ExpenseInput, ExpenseLinks};
pub use folder::{Folder, FolderInput, FolderLinks};

use crate::{
    Person, PersonId, Problem, RecordId, Reference, Refusal, StatusId, Timestamp, WorkspaceId,
};
use rustc_hash::FxHashMap;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};
use std::{borrow::Cow, fmt};
use utoipa::ToSchema;

/// A kind of record.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A project folder.
    Folder,
    /// Work to be done in a folder.
    Assignment,
    /// Money spent in a folder.
    Expense,
    /// Money set aside in a folder.
    Budget,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Folder, Self::Assignment, Self::Expense, Self::Budget];

    /// Every kind with its name.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("folder", Self::Folder),
        ("assignment", Self::Assignment),
        ("expense", Self::Expense),
        ("budget", Self::Budget),
    ];

    /// Its name: `folder`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::WORDS[self as usize].0
    }

    /// Its name for many: `folders`.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Folder => "folders",
            Self::Assignment => "assignments",
            Self::Expense => "expenses",
            Self::Budget => "budgets",
        }
    }

    pub(crate) fn letter(self) -> char {
        match self {
            Self::Folder => 'F',
            Self::Assignment => 'A',
            Self::Expense => 'E',
            Self::Budget => 'B',
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines a record: what all have, with its own fields between.
macro_rules! record {
    ($(#[$doc:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// Identifier.
            pub id: $crate::RecordId,
            /// Short name, unique within the workspace and kind; usable as `:key`.
            pub reference: $crate::Reference,
            /// Workspace it belongs to.
            pub workspace_key: $crate::WorkspaceId,
            /// Identifier in the system it came from.
            pub external_id: Option<String>,
            $($fields)*
            /// Fields that the workspace defines: strings, numbers, booleans, nulls.
            #[schema(value_type = Object)]
            pub custom_fields: $crate::input::CustomFields,
            /// When it was created.
            pub created_at: $crate::Timestamp,
            /// When it last changed.
            pub updated_at: $crate::Timestamp,
            /// Counts its changes, from 1.
            #[schema(minimum = 1)]
            pub version: u64,
        }
    };
}
pub(crate) use record;

/// What a record is born with and keeps.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Identifier.
    pub id: RecordId,
    /// Reference to have now.
    pub reference: Reference,
    /// Workspace.
    pub workspace: WorkspaceId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Its version.
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

/// Does the same to a record of whatever kind.
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
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Folder(_) => Kind::Folder,
            Self::Assignment(_) => Kind::Assignment,
            Self::Expense(_) => Kind::Expense,
            Self::Budget(_) => Kind::Budget,
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> RecordId {
        each!(self, record => record.id)
    }

    /// Its reference.
    #[must_use]
    pub fn reference(&self) -> &Reference {
        each!(self, record => &record.reference)
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> u64 {
        each!(self, record => record.version)
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> Option<StatusId> {
        each!(self, record => record.status_id)
    }

    /// Sets its status, with what follows from it.
    pub fn set_status(&mut self, status: Option<&crate::Status>, now: Timestamp) {
        each!(self, record => record.status_id = status.map(|status| status.id));
        if let Self::Assignment(assignment) = self {
            assignment.settle_completion(status, now);
        }
    }

    /// The folder it belongs to; none for a folder.
    #[must_use]
    pub fn folder(&self) -> Option<RecordId> {
        match self {
            Self::Folder(_) => None,
            Self::Assignment(assignment) => Some(assignment.folder_id),
            Self::Expense(expense) => Some(expense.folder_id),
            Self::Budget(budget) => Some(budget.folder_id),
        }
    }

    /// Marks it as changed once more.
    pub fn bump(&mut self, now: Timestamp) {
        each!(self, record => {
            record.version += 1;
            record.updated_at = now.max(record.updated_at);
        });
    }

    /// The folder that it is.
    #[must_use]
    pub fn into_folder(self) -> Option<Folder> {
        if let Self::Folder(folder) = self { Some(folder) } else { None }
    }

    /// The assignment that it is.
    #[must_use]
    pub fn into_assignment(self) -> Option<Assignment> {
        if let Self::Assignment(assignment) = self { Some(assignment) } else { None }
    }

    /// The expense that it is.
    #[must_use]
    pub fn into_expense(self) -> Option<Expense> {
        if let Self::Expense(expense) = self { Some(expense) } else { None }
    }

    /// The budget that it is.
    #[must_use]
    pub fn into_budget(self) -> Option<Budget> {
        if let Self::Budget(budget) = self { Some(budget) } else { None }
    }

    /// What it keeps through every change.
    #[must_use]
    pub fn identity(&self) -> Identity {
        each!(self, record => Identity {
            id: record.id,
            reference: record.reference.clone(),
            workspace: record.workspace_key,
            created_at: record.created_at,
            updated_at: record.updated_at,
            version: record.version,
        })
    }

    /// What `term` searches: folded, fields kept apart.
    #[must_use]
    pub fn search_text(&self) -> String {
        match self {
            Self::Folder(folder) => folder.search_text(),
            Self::Assignment(assignment) => assignment.search_text(),
            Self::Expense(expense) => expense.search_text(),
            Self::Budget(budget) => budget.search_text(),
        }
    }

    /// The people it names.
    #[must_use]
    pub fn people(&self) -> Vec<PersonId> {
        match self {
            Self::Folder(folder) => folder.owner.into_iter().collect(),
            Self::Assignment(assignment) => assignment.assignees.clone(),
            Self::Expense(expense) => expense.submitted_by.into_iter().collect(),
            Self::Budget(_) => Vec::new(),
        }
    }

    /// Its stored document.
    #[must_use]
    pub fn document(&self) -> Document {
        let json = each!(self, record => to_json(record));
        let people_field = match self.kind() {
            Kind::Folder => "\"owner\":",
            Kind::Assignment => "\"assignees\":",
            Kind::Expense => "\"submittedBy\":",
            Kind::Budget => return Document { json, people: Vec::new() },
        };
        let people = people_places(&json, people_field);
        Document { json, people }
    }

    /// Reads a stored document back.
    pub fn from_document(kind: Kind, json: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::Folder => Self::Folder(serde_json::from_slice(json)?),
            Kind::Assignment => Self::Assignment(serde_json::from_slice(json)?),
            Kind::Expense => Self::Expense(serde_json::from_slice(json)?),
            Kind::Budget => Self::Budget(serde_json::from_slice(json)?),
        })
    }
}

/// The length of a person's id in a stored document, quotes included.
const PLACE_LENGTH: usize = 38;

/// A record's stored document: its public JSON, with people as ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The text.
    pub json: String,
    /// Where in the text people's ids stand, each a little-endian `u32`.
    pub people: Vec<u8>,
}

/// Where the ids behind `field` stand. The first match of `field` is the field itself: it comes
/// before `customFields`, and inside a string its closing quote would be escaped.
fn people_places(json: &str, field: &str) -> Vec<u8> {
    let Some(found) = json.find(field) else { return Vec::new() };
    let mut at = found + field.len();
    let bytes = json.as_bytes();
    let mut places = Vec::new();
    let mut note =
        |at: usize| places.extend_from_slice(&u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes());
    if bytes[at] == b'"' {
        note(at);
    } else if bytes[at] == b'[' {
        // Each id is followed by a comma or by the end of the list.
        at += 1;
        while bytes[at] == b'"' {
            note(at);
            at += PLACE_LENGTH + 1;
        }
    }
    places
}

/// The people of a workspace as documents show them, by the text of their id.
#[derive(Debug, Default)]
pub struct PeopleBook {
    shown: FxHashMap<[u8; 36], Box<[u8]>>,
}

impl PeopleBook {
    /// A person's JSON for the id that stands at a place.
    fn shown(&self, id: &[u8]) -> Option<&[u8]> {
        let id: &[u8; 36] = id.try_into().ok()?;
        self.shown.get(id).map(|json| &**json)
    }

    /// Adds a person, or their new name.
    pub fn insert(&mut self, person: &Person) {
        let mut id = [0; 36];
        person.id.0.hyphenated().encode_lower(&mut id);
        self.shown.insert(id, to_json(person).into_bytes().into());
    }
}

impl FromIterator<Person> for PeopleBook {
    fn from_iter<I: IntoIterator<Item = Person>>(people: I) -> Self {
        let mut book = Self::default();
        people.into_iter().for_each(|person| book.insert(&person));
        book
    }
}

/// Appends the public document to `out`: the stored text with people in their places.
pub fn render(json: &[u8], people: &[u8], book: &PeopleBook, out: &mut Vec<u8>) {
    let mut from = 0;
    for place in people.as_chunks::<4>().0 {
        let at = u32::from_le_bytes(*place) as usize;
        let Some(id) = json.get(at + 1..at + PLACE_LENGTH - 1) else { break };
        out.extend_from_slice(&json[from..at]);
        // A person is never removed from the book of their workspace; null is what a reader
        // could still make sense of.
        out.extend_from_slice(book.shown(id).unwrap_or(b"null"));
        from = at + PLACE_LENGTH;
    }
    out.extend_from_slice(&json[from..]);
}

/// The names of the public fields in which two documents differ, with what stood there before.
#[must_use]
pub fn changed_fields(before: &[u8], after: &[u8]) -> Map<String, Value> {
    let read = |json| serde_json::from_slice::<Fields<'_>>(json).unwrap_or_default().0;
    let (before, after) = (read(before), read(after));
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
    let mut changed = Map::new();
    for (name, was) in before {
        let is = after.iter().find(|(other, _)| *other == name).map(|(_, is)| *is);
        // Most are the same letter for letter, and need not be read.
        if is.is_none_or(|is| is.get() != was.get() && value(is) != value(was)) {
            changed.insert(name.into_owned(), value(was));
        }
    }
    changed
}

/// The fields of a document, unread.
#[derive(Default)]
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(24);
                while let Some((Name(name), raw)) = map.next_entry()? {
                    fields.push((name, raw));
                }
                Ok(Fields(fields))
            }
        }

        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        deserializer.deserialize_map(InOrder)
    }
}

/// What someone wants a record to be.
#[derive(Clone, Debug)]
pub enum Draft {
    /// A folder.
    Folder(FolderInput),
    /// An assignment.
    Assignment(AssignmentInput),
    /// An expense.
    Expense(ExpenseInput),
    /// A budget.
    Budget(BudgetInput),
}

impl Draft {
    /// Reads the draft of a record of this kind.
    pub fn read(kind: Kind, values: &Map<String, Value>) -> Result<Self, Refusal> {
        Ok(match kind {
            Kind::Folder => Self::Folder(FolderInput::read(values)?),
            Kind::Assignment => Self::Assignment(AssignmentInput::read(values)?),
            Kind::Expense => Self::Expense(ExpenseInput::read(values)?),
            Kind::Budget => Self::Budget(BudgetInput::read(values)?),
        })
    }

    /// The kind it is of.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Folder(_) => Kind::Folder,
            Self::Assignment(_) => Kind::Assignment,
            Self::Expense(_) => Kind::Expense,
            Self::Budget(_) => Kind::Budget,
        }
    }

    /// The reference it asks for.
    #[must_use]
    pub fn reference(&self) -> Option<&Reference> {
        let field = match self {
            Self::Folder(input) => &input.reference,
            Self::Assignment(input) => &input.reference,
            Self::Expense(input) => &input.reference,
            Self::Budget(input) => &input.reference,
        };
        field.as_ref().given()?.as_ref()
    }
}

/// The names that every kind passes over in an input.
pub(crate) const READ_ONLY: [&str; 5] = ["id", "workspaceKey", "createdAt", "updatedAt", "version"];

/// Collects the problems of one record.
pub(crate) fn settled<T>(value: Option<T>, problems: Vec<Problem>) -> Result<T, Refusal> {
    match value {
        Some(value) if problems.is_empty() => Ok(value),
        _ => Err(Refusal::Invalid(problems)),
    }
}

/// Refuses an end before its start.
pub(crate) fn check_span(
    problems: &mut Vec<Problem>,
    (start, start_name): (Option<crate::time::Date>, &str),
    (end, end_name): (Option<crate::time::Date>, &str),
) {
    if let (Some(start), Some(end)) = (start, end)
        && end < start
    {
        problems.push(Problem::new(end_name, format!("must not be before {start_name}")));
    }
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    // Plain structs with text keys always serialise.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Currency, Email};

    fn folder(owner: Option<PersonId>) -> Record {
        Record::Folder(Folder {
            id: RecordId(uuid::Uuid::from_u128(1)),
            reference: Reference::made(Kind::Folder, 7),
            workspace_key: WorkspaceId(uuid::Uuid::from_u128(2)),
            external_id: None,
            name: r#"A "quoted" "owner":"x" name"#.to_owned(),
            description: None,
            client_name: None,
            status_id: None,
            owner,
            start_date: Some("2026-01-02".parse().unwrap()),
            due_date: None,
            currency: Currency::EUR,
            tags: vec!["owner".to_owned()],
            bbox: None,
            archived_at: None,
            custom_fields: serde_json::from_str(r#"{"owner":"someone else"}"#).unwrap(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            version: 1,
        })
    }

    fn shown(record: &Record, book: &PeopleBook) -> Value {
        let document = record.document();
        let mut out = Vec::new();
        render(document.json.as_bytes(), &document.people, book, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn people_are_shown_in_their_places_and_nowhere_else() {
        let id = PersonId(uuid::Uuid::from_u128(3));
        let email = Email::parse("survey.lead@example.test").unwrap();
        let person = Person { id, name: "Survey lead".to_owned(), email };
        let book: PeopleBook = [person.clone()].into_iter().collect();
        let shown_folder = shown(&folder(Some(id)), &book);
        assert_eq!(shown_folder["owner"], serde_json::to_value(&person).unwrap());
        assert_eq!(shown_folder["startDate"], "2026-01-02");
        assert_eq!(shown_folder["customFields"]["owner"], "someone else");
        assert_eq!(shown(&folder(None), &book)["owner"], Value::Null);
    }

    #[test]
    fn a_document_is_read_back_as_it_was() {
        let record = folder(Some(PersonId(uuid::Uuid::from_u128(3))));
        let document = record.document();
        assert_eq!(Record::from_document(Kind::Folder, document.json.as_bytes()).unwrap(), record);
    }

    #[test]
    fn what_changed_is_told_in_the_order_of_the_document_with_what_was_there() {
        let before = br#"{"b":1.0,"a":"x","gone":[1],"same":{"k":null},"t\u00e9":"\u0041"}"#;
        let after = br#"{"a":"y","b":1.0,"same":{"k":null},"new":2,"t\u00e9":"A"}"#;
        let changed = changed_fields(before, after);
        assert_eq!(Value::Object(changed.clone()), serde_json::json!({ "a": "x", "gone": [1] }));
        assert_eq!(changed.keys().collect::<Vec<_>>(), ["a", "gone"]);
        assert_eq!(changed_fields(br#"{"a":1}"#, br#"{"a":2}"#)["a"], 1);
        assert!(changed_fields(before, before).is_empty());
    }
}
