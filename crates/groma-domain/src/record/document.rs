//! Stored documents: the public JSON of a record, with person IDs in place of people.
//!
//! A person's name can change without a change of the records, so the store keeps documents with IDs
//! and [`render`] inserts the people when a document is read.

use crate::{Person, json::RawFields, text::fold};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, value::RawValue};

/// The length of a person's ID in a stored document, including quotes.
const ID_LENGTH: usize = 38;

/// The stored document of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// The JSON text.
    pub json: String,
    /// The offsets of person IDs in the text, each a little-endian `u32`.
    pub person_offsets: Vec<u8>,
}

impl StoredDocument {
    /// A document whose people are in the field `people_field`, given as `"name":`.
    pub(super) fn new(json: String, people_field: Option<&str>) -> Self {
        let person_offsets =
            people_field.map_or_else(Vec::new, |field| find_person_offsets(&json, field));
        Self { json, person_offsets }
    }
}

/// Finds the offsets of the IDs in `field`. The first match of `field` is the field itself: it comes
/// before `customFields`, and inside a string its quotes would be escaped.
fn find_person_offsets(json: &str, field: &str) -> Vec<u8> {
    let Some(found) = json.find(field) else { return Vec::new() };
    let mut at = found + field.len();
    let bytes = json.as_bytes();
    let mut offsets = Vec::new();
    let mut push =
        |at: usize| offsets.extend_from_slice(&u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes());
    if bytes[at] == b'"' {
        push(at);
    } else if bytes[at] == b'[' {
        // A comma or the end of the array follows each ID.
        at += 1;
        while bytes[at] == b'"' {
            push(at);
            at += ID_LENGTH + 1;
        }
    }
    offsets
}

/// The people of a workspace as JSON, by the text of their ID.
#[derive(Debug, Default)]
pub struct PersonDirectory {
    json_by_id: FxHashMap<[u8; 36], Box<[u8]>>,
}

impl PersonDirectory {
    fn get(&self, id: &[u8]) -> Option<&[u8]> {
        let id: &[u8; 36] = id.try_into().ok()?;
        self.json_by_id.get(id).map(|json| &**json)
    }

    /// Adds a person, or replaces their name.
    pub fn insert(&mut self, person: &Person) {
        let mut id = [0; 36];
        person.id.0.hyphenated().encode_lower(&mut id);
        self.json_by_id.insert(id, crate::json::to_json(person).into_bytes().into());
    }
}

impl PersonDirectory {
    /// The IDs of the people, in the order of their folded names.
    #[must_use]
    pub fn ids_by_name(&self) -> Vec<String> {
        let name = |json: &[u8]| {
            let person: Value = serde_json::from_slice(json).unwrap_or_default();
            fold(person["name"].as_str().unwrap_or_default())
        };
        let mut people: Vec<(String, String)> = self
            .json_by_id
            .iter()
            .map(|(id, json)| (name(json), String::from_utf8_lossy(id).into_owned()))
            .collect();
        people.sort_unstable();
        people.into_iter().map(|(_, id)| id).collect()
    }
}

impl FromIterator<Person> for PersonDirectory {
    fn from_iter<I: IntoIterator<Item = Person>>(people: I) -> Self {
        let mut directory = Self::default();
        people.into_iter().for_each(|person| directory.insert(&person));
        directory
    }
}

/// Appends the public document to `out`: the stored JSON with people in place of their IDs.
pub fn render(json: &[u8], person_offsets: &[u8], people: &PersonDirectory, out: &mut Vec<u8>) {
    let mut from = 0;
    for offset in person_offsets.as_chunks::<4>().0 {
        let at = u32::from_le_bytes(*offset) as usize;
        let Some(id) = json.get(at + 1..at + ID_LENGTH - 1) else { break };
        out.extend_from_slice(&json[from..at]);
        // People are never removed from a workspace. If one is missing all the same, null keeps the
        // document valid.
        out.extend_from_slice(people.get(id).unwrap_or(b"null"));
        from = at + ID_LENGTH;
    }
    out.extend_from_slice(&json[from..]);
}

/// The fields in which two documents differ, with their values in `before`.
#[must_use]
pub fn changed_fields(before: &[u8], after: &[u8]) -> Map<String, Value> {
    let parse = |json| serde_json::from_slice::<RawFields<'_>>(json).unwrap_or_default().0;
    let (before, after) = (parse(before), parse(after));
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
    let mut changed = Map::new();
    for (name, old) in before {
        let new = after.iter().find(|(other, _)| *other == name).map(|(_, new)| *new);
        // Most values have the same text, and need not be parsed.
        if new.is_none_or(|new| new.get() != old.get() && value(new) != value(old)) {
            changed.insert(name.into_owned(), value(old));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Currency, Email, Kind, PersonId, Record, RecordId, Reference, Timestamp, WorkspaceId,
        record::Folder,
    };

    fn folder(owner: Option<PersonId>) -> Record {
        Record::Folder(Folder {
            id: RecordId(uuid::Uuid::from_u128(1)),
            reference: Reference::generated(Kind::Folder, 7),
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

    fn rendered(record: &Record, people: &PersonDirectory) -> Value {
        let document = record.document();
        let mut out = Vec::new();
        render(document.json.as_bytes(), &document.person_offsets, people, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn render_inserts_people_only_in_their_field() {
        let id = PersonId(uuid::Uuid::from_u128(3));
        let email = Email::parse("survey.lead@example.test").unwrap();
        let person = Person { id, name: "Survey lead".to_owned(), email };
        let people: PersonDirectory = [person.clone()].into_iter().collect();
        let with_owner = rendered(&folder(Some(id)), &people);
        assert_eq!(with_owner["owner"], serde_json::to_value(&person).unwrap());
        assert_eq!(with_owner["startDate"], "2026-01-02");
        assert_eq!(with_owner["customFields"]["owner"], "someone else");
        assert_eq!(rendered(&folder(None), &people)["owner"], Value::Null);
    }

    #[test]
    fn stored_document_round_trips() {
        let record = folder(Some(PersonId(uuid::Uuid::from_u128(3))));
        let document = record.document();
        assert_eq!(Record::from_document(Kind::Folder, document.json.as_bytes()).unwrap(), record);
    }

    #[test]
    fn changed_fields_have_old_values_in_document_order() {
        let before = br#"{"b":1.0,"a":"x","gone":[1],"same":{"k":null},"t\u00e9":"\u0041"}"#;
        let after = br#"{"a":"y","b":1.0,"same":{"k":null},"new":2,"t\u00e9":"A"}"#;
        let changed = changed_fields(before, after);
        assert_eq!(Value::Object(changed.clone()), serde_json::json!({ "a": "x", "gone": [1] }));
        assert_eq!(changed.keys().collect::<Vec<_>>(), ["a", "gone"]);
        assert_eq!(changed_fields(br#"{"a":1}"#, br#"{"a":2}"#)["a"], 1);
        assert!(changed_fields(before, before).is_empty());
    }
}
