//! Replacing a name and an address in documents of the audit log.

use super::EntryDocuments;
use groma_domain::Person;
use serde_json::{Map, Value};

/// The fields of records that contain people.
const PEOPLE_FIELDS: [&str; 3] = ["owner", "assignees", "submittedBy"];

/// What has changed in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErasedPart {
    Nothing,
    /// Earlier values, which no event contains.
    History,
    /// The document of the event.
    Event,
}

/// Replaces a person in the documents of an entry.
pub(super) fn erase_person(entry: &mut EntryDocuments, erased: &Person) -> ErasedPart {
    let is_renaming = entry.is_renaming;
    let erase = |document: &mut Map<String, Value>| {
        if is_renaming {
            document.insert("name".to_owned(), erased.name.clone().into());
            return true;
        }
        erase_in_record(document, erased)
    };
    let (before, after) = (edit(&mut entry.before, erase), edit(&mut entry.after, erase));
    match (before, after) {
        (false, false) => ErasedPart::Nothing,
        (true, false) if entry.after.is_some() => ErasedPart::History,
        _ => ErasedPart::Event,
    }
}

/// Replaces a person in a kept response, whose last line is the document of a record; returns whether it has
/// changed.
pub(super) fn erase_response(response: &mut Vec<u8>, erased: &Person) -> bool {
    let start = response.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let Ok(text) = std::str::from_utf8(&response[start..]) else { return false };
    let mut document = Some(text.to_owned());
    let has_changed = edit(&mut document, |document| erase_in_record(document, erased));
    if has_changed {
        response.truncate(start);
        response.extend_from_slice(document.unwrap_or_default().as_bytes());
    }
    has_changed
}

/// Replaces a person in the document of a record; returns whether it has changed.
fn erase_in_record(document: &mut Map<String, Value>, erased: &Person) -> bool {
    let mut has_changed = false;
    for field in PEOPLE_FIELDS {
        match document.get_mut(field) {
            Some(Value::Array(people)) => {
                people.iter_mut().for_each(|person| has_changed |= erase_value(person, erased));
            }
            Some(person) => has_changed |= erase_value(person, erased),
            None => {}
        }
    }
    has_changed
}

/// Replaces the address of an invitation; returns whether it is this one.
pub(super) fn erase_invitation(entry: &mut EntryDocuments, email_key: &str) -> bool {
    edit(&mut entry.after, |document| {
        let address = document.get("email").and_then(Value::as_str);
        let is_it = address.is_some_and(|address| address.to_lowercase() == email_key);
        if is_it {
            document.insert("email".to_owned(), "Former member".into());
        }
        is_it
    })
}

/// Changes a document; returns whether `change` did.
fn edit(document: &mut Option<String>, change: impl Fn(&mut Map<String, Value>) -> bool) -> bool {
    let Some(text) = document else { return false };
    let Ok(mut fields) = serde_json::from_str(text) else { return false };
    let has_changed = change(&mut fields);
    if has_changed {
        *text = Value::Object(fields).to_string();
    }
    has_changed
}

fn erase_value(value: &mut Value, erased: &Person) -> bool {
    let id = erased.id.to_string();
    let Value::Object(person) = value else { return false };
    if person.get("id").and_then(Value::as_str) != Some(&id) {
        return false;
    }
    person.insert("name".to_owned(), erased.name.clone().into());
    person.insert("email".to_owned(), erased.email.as_str().into());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_domain::{PersonId, Timestamp};
    use serde_json::json;

    fn erased() -> Person {
        Person::erased(PersonId::new(Timestamp::from_millis(0), [1; 10])).unwrap()
    }

    fn entry(after: &Value) -> EntryDocuments {
        EntryDocuments { id: 1, is_renaming: false, before: None, after: Some(after.to_string()) }
    }

    fn after(entry: &EntryDocuments) -> Value {
        serde_json::from_str(entry.after.as_deref().unwrap()).unwrap()
    }

    #[test]
    fn person_is_replaced_in_fields_of_people_only() {
        let person = erased();
        let old = json!({ "id": person.id, "name": "Old", "email": "old@office.test" });
        let new = serde_json::to_value(&person).unwrap();
        let other = json!({ "id": "x", "name": "Other", "email": "other@office.test" });
        let mut changed = entry(
            &json!({ "customFields": old, "owner": old, "assignees": [other, old], "submittedBy": null }),
        );
        assert_eq!(erase_person(&mut changed, &person), ErasedPart::Event);
        assert_eq!(
            after(&changed),
            json!({ "customFields": old, "owner": new, "assignees": [other, new], "submittedBy": null })
        );
        let mut other = entry(&json!({ "description": person.id }));
        assert_eq!(erase_person(&mut other, &person), ErasedPart::Nothing);
        other.before = Some(json!({ "owner": old }).to_string());
        assert_eq!(erase_person(&mut other, &person), ErasedPart::History);
        other.after = None;
        other.before = Some(json!({ "owner": old }).to_string());
        assert_eq!(erase_person(&mut other, &person), ErasedPart::Event);
    }

    #[test]
    fn person_is_replaced_in_a_kept_response() {
        let person = erased();
        let old = json!({ "id": person.id, "name": "Old", "email": "old@office.test" });
        let mut response = format!("created\n{}", json!({ "owner": old })).into_bytes();
        assert!(erase_response(&mut response, &person));
        let expected = json!({ "owner": serde_json::to_value(&person).unwrap() });
        assert_eq!(String::from_utf8(response).unwrap(), format!("created\n{expected}"));
        let mut other = b"created\n{\"description\":\"Old\"}".to_vec();
        assert!(!erase_response(&mut other, &person));
        assert!(!erase_response(&mut vec![1, 255, b'\n', 254], &person));
    }

    #[test]
    fn address_of_an_invitation_is_replaced_whatever_its_case() {
        let mut changed = entry(&json!({ "role": "viewer", "email": "Old@Office.test" }));
        assert!(!erase_invitation(&mut changed, "other@office.test"));
        assert!(erase_invitation(&mut changed, "old@office.test"));
        assert_eq!(after(&changed), json!({ "role": "viewer", "email": "Former member" }));
    }
}
