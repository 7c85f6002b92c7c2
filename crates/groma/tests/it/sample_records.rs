//! Sample records, and a comparison of responses that contain ids and times.

use groma_testkit::{Response, TestServer};
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

/// The references of the sample records with all fields.
pub(crate) const FOLDER: &str = "CHENE-1";
pub(crate) const ASSIGNMENT: &str = "STAKE-1";
pub(crate) const BUDGET: &str = "FIELD-2026";
pub(crate) const EXPENSE: &str = "FUEL-1";

/// Imports one record of each kind with all fields, and one with the required fields only.
pub(crate) fn fill(server: &TestServer) {
    for (kind, rows) in records() {
        server.import(kind, &rows);
    }
}

/// The records that [`fill`] imports, in an order that resolves their links.
pub(crate) fn records() -> [(&'static str, Vec<Value>); 4] {
    [
        ("folders", folders()),
        ("assignments", assignments()),
        ("budgets", budgets()),
        ("expenses", expenses()),
    ]
}

fn folders() -> Vec<Value> {
    vec![
        json!({
            "reference": FOLDER,
            "externalId": "erp-77",
            "name": "Chêne, boundary survey",
            "description": "North of the river.\nTwo parcels.",
            "clientName": "Mairie de Chêne",
            "status": "Field work",
            "owner": "survey.lead@example.test",
            "startDate": "2026-01-02",
            "dueDate": "2026-03-04",
            "currency": "EUR",
            "tags": ["cadastre", "north"],
            "customFields": { "parcel": "AB 12", "area": 12.5, "fenced": true, "note": null },
        }),
        json!({ "name": "Bare" }),
    ]
}

fn assignments() -> Vec<Value> {
    vec![
        json!({
            "reference": ASSIGNMENT,
            "externalId": "task-9",
            "folder": FOLDER,
            "title": "Stake out north line",
            "description": "With the total station",
            "status": "Done",
            "priority": "urgent",
            "assignees": ["field.crew@example.test", "survey.lead@example.test"],
            "startDate": "2026-01-05",
            "dueDate": "2026-01-06",
            "estimatedHours": "7.50",
            "spentHours": 8,
            "customFields": { "crew": 2 },
        }),
        json!({ "folder": "F-000001", "title": "Bare" }),
    ]
}

fn budgets() -> Vec<Value> {
    vec![
        json!({
            "reference": BUDGET,
            "externalId": "b-1",
            "folder": FOLDER,
            "name": "Field work 2026",
            "description": "Travel and fuel",
            "status": "Approved",
            "category": "Travel",
            "amount": "1250",
            "currency": "EUR",
            "startDate": "2026-01-01",
            "endDate": "2026-12-31",
            "customFields": { "cc": "4711" },
        }),
        json!({ "folder": "F-000001", "name": "Bare", "amount": 0 }),
    ]
}

fn expenses() -> Vec<Value> {
    vec![
        json!({
            "reference": EXPENSE,
            "externalId": "receipt-3",
            "folder": FOLDER,
            "assignment": ASSIGNMENT,
            "budget": BUDGET,
            "status": "Reimbursed",
            "category": "Fuel",
            "description": "Diesel for the van",
            "vendor": "Station Léman",
            "quantity": "42.5",
            "unitAmount": "1.79",
            "currency": "EUR",
            "incurredOn": "2026-01-05",
            "submittedBy": "Field.Crew@example.test",
            "billable": true,
            "customFields": { "receipt": "R-3" },
        }),
        json!({ "folder": "F-000001", "unitAmount": "-5", "incurredOn": "2026-02-01" }),
    ]
}

/// The path, scope and sample reference of each kind of record.
pub(crate) const KINDS: [(&str, &str, &str); 4] = [
    ("/folders", "READ_FOLDER", FOLDER),
    ("/assignments", "READ_ASSIGNMENT", ASSIGNMENT),
    ("/expenses", "READ_EXPENSE", EXPENSE),
    ("/budgets", "READ_BUDGET", BUDGET),
];

/// Folders named `Folder 1` to `Folder n`, with generated references.
pub(crate) fn many_folders(count: usize) -> Vec<Value> {
    (1..=count).map(|number| json!({ "name": format!("Folder {number}") })).collect()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string"))
}

pub(crate) fn is_uuid_v7(value: &Value) -> bool {
    let id = text(value);
    Uuid::try_parse(id).is_ok_and(|uuid| uuid.get_version_num() == 7)
        && id.len() == 36
        && id == id.to_lowercase()
}

/// Whether a value is a time as the contract formats it: `2026-11-15T05:01:10.123Z`.
pub(crate) fn is_time(value: &Value) -> bool {
    time_length(text(value).as_bytes()) == Some(text(value).len())
}

/// Replaces ids by the order of their first appearance, and times by a placeholder.
#[derive(Default)]
pub(crate) struct Placeholders(HashMap<String, usize>);

impl Placeholders {
    pub(crate) fn replace_ids(&mut self, text: &str) -> String {
        let mut short = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let id = rest.get(..36).filter(|id| Uuid::try_parse(id).is_ok());
            if let Some(id) = id {
                let next = self.0.len() + 1;
                let number = self.0.entry(id.to_lowercase()).or_insert(next);
                short += &format!("<id {number}>");
                rest = &rest[36..];
            } else if let Some(length) = time_length(rest.as_bytes()) {
                short += "<time>";
                rest = &rest[length..];
            } else {
                short.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        short
    }

    pub(crate) fn json(&mut self, response: &Response) -> Value {
        let short = self.replace_ids(&response.text());
        serde_json::from_str(&short).unwrap_or_else(|error| panic!("{error}: {short}"))
    }
}

fn time_length(text: &[u8]) -> Option<usize> {
    const FORMAT: &[u8] = b"0000-00-00T00:00:00.000Z";
    let text = text.get(..FORMAT.len())?;
    let fits = |(byte, format): (&u8, &u8)| {
        if *format == b'0' { byte.is_ascii_digit() } else { byte == format }
    };
    text.iter().zip(FORMAT).all(fits).then_some(FORMAT.len())
}
