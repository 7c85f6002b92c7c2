//! The parameters of lists.

use super::reference;
use crate::api::records::{filters, sort_columns};
use groma_domain::{Kind, Reference, list::MAX_TERM, record::Priority};
use serde_json::{Value, json};

/// The parameters of a list: for records also the order and the filters.
pub(super) fn parameters(path: &str) -> Vec<Value> {
    let shared = ["page", "listCursor", "limit", "term"];
    let mut parameters = shared.map(|name| reference("parameters", name)).to_vec();
    let kind = Kind::ALL.into_iter().find(|kind| path.ends_with(kind.plural()));
    if let Some(kind) = kind {
        parameters.push(sort(kind));
        parameters.extend(filters(kind).iter().map(|name| filter(kind, name)));
    }
    parameters
}

/// The cursor of a list.
pub(super) fn cursor() -> Value {
    parameter(
        "cursor",
        "Where the page begins, instead of `page`: empty at first, then from the `Link` header with `rel=\"next\"`. \
         Records that are deleted or created meanwhile shift nothing",
        &json!({ "type": "string" }),
        &json!(""),
    )
}

fn parameter(name: &str, description: &str, schema: &Value, example: &Value) -> Value {
    json!({
        "name": name, "in": "query", "required": false, "description": description, "schema": schema,
        "example": example,
    })
}

fn sort(kind: Kind) -> Value {
    let names = sort_columns(kind).iter().map(|(name, _)| *name);
    let both: Vec<_> = names.flat_map(|name| [name.to_owned(), format!("-{name}")]).collect();
    parameter(
        "sort",
        "The order; a leading `-` reverses it. Text sorts without regard to case and accents, records without a \
         value come last, and equal ones in the order of creation",
        &json!({ "type": "string", "enum": both, "default": "createdAt" }),
        &json!("-updatedAt"),
    )
}

fn filter(kind: Kind, name: &str) -> Value {
    let text = |description: &str, max: usize, example: &str| {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": max });
        parameter(name, description, &schema, &json!(example))
    };
    let format = |description: &str, format: &str, example: &str| {
        let schema = json!({ "type": "string", "format": format });
        parameter(name, description, &schema, &json!(example))
    };
    let boolean = |description: &str| {
        parameter(name, description, &json!({ "type": "boolean" }), &json!(true))
    };
    let time = "2026-01-31T12:00:00Z";
    let date = "2026-01-31";
    let key = |of: Kind| Reference::generated(of, 123).to_string();
    match name {
        "updatedSince" => format("Changed at this time or later", "date-time", time),
        "createdSince" => format("Created at this time or later", "date-time", time),
        "reference" => text("With this reference", 64, &key(kind)),
        "externalId" => text("With this external id", MAX_TERM, "ERP-4711"),
        "status" => {
            let example = match kind {
                Kind::Folder => "Quoted,Drawing",
                Kind::Assignment => "To do,In progress",
                Kind::Expense => "Submitted,Approved",
                Kind::Budget => "Draft,Approved",
            };
            let description = "With one of these statuses: ids or names, separated by commas";
            parameter(
                name,
                description,
                &json!({ "type": "string", "minLength": 1 }),
                &json!(example),
            )
        }
        "folder" => text("In this folder: its id or reference", 64, &key(Kind::Folder)),
        "assignment" => {
            text("For this assignment: its id or reference", 64, &key(Kind::Assignment))
        }
        "budget" => text("On this budget: its id or reference", 64, &key(Kind::Budget)),
        "owner" | "assignee" | "submittedBy" => {
            let description = match name {
                "owner" => "Owned by this person: the id or email address",
                "assignee" => "Assigned to this person: the id or email address",
                _ => "Submitted by this person: the id or email address",
            };
            let schema = json!({ "type": "string", "minLength": 1 });
            parameter(name, description, &schema, &json!("survey.lead@office.test"))
        }
        "archived" => boolean("Whether they are archived. Default: both"),
        "billable" => boolean("Whether they are billable. Default: both"),
        "tag" => text("With this tag, ignoring case and accents", MAX_TERM, "survey"),
        "clientName" => {
            text("Of this client, ignoring case and accents", MAX_TERM, "Mairie de Chêne")
        }
        "category" => text("Of this category, ignoring case and accents", MAX_TERM, "Travel"),
        "priority" => parameter(
            name,
            "With this priority",
            &json!({ "type": "string", "enum": Priority::NAMES.map(|(name, _)| name) }),
            &json!("urgent"),
        ),
        "dueBefore" => format("Due before this day", "date", date),
        "dueAfter" => format("Due after this day", "date", date),
        "incurredSince" => format("Incurred on this day or later", "date", date),
        "incurredUntil" => format("Incurred on this day or earlier", "date", date),
        _ => parameter(
            name,
            "Whose extent meets this box: west, south, east and north in degrees, separated by commas. West is \
             greater than east if the box crosses the antimeridian",
            &json!({ "type": "string" }),
            &json!("2.08,47.65,2.09,47.66"),
        ),
    }
}
