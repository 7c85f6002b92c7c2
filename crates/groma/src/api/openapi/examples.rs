//! The examples of bodies: those of requests are in their schemas, those of responses in `examples.json`. A test
//! sends the requests to a server and compares the responses.

use crate::api::records::NDJSON;
use serde_json::{Value, json};

const RESPONSES: &str = include_str!("examples.json");

/// The examples of responses by the names of their schemas.
pub(super) fn of_responses() -> Value {
    // A test reads every example.
    serde_json::from_str(RESPONSES).unwrap_or_default()
}

/// Adds examples to the bodies of an operation.
pub(super) fn add(
    operation: &mut Value,
    (method, path): (&str, &str),
    schemas: &Value,
    responses: &Value,
) {
    let request = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
    for (media_type, content) in request.into_iter().flatten() {
        content["example"] = match media_type == NDJSON {
            true => lines(&schemas["BulkOperations"]["example"]),
            false => schemas[schema_name(content)]["example"].clone(),
        };
    }
    let response = operation.pointer_mut("/responses/200/content").and_then(Value::as_object_mut);
    for (media_type, content) in response.into_iter().flatten() {
        let example = match media_type.as_str() {
            "text/event-stream" => event(&responses["Changes"]["content"][0]),
            media_type if media_type == NDJSON => lines(&responses["BulkResult"]["results"]),
            _ => of_response(schema_name(content), (method, path), responses),
        };
        if !example.is_null() {
            content["example"] = example;
        }
    }
}

fn schema_name(content: &Value) -> &str {
    let target = content["schema"]["$ref"].as_str().unwrap_or_default();
    target.rsplit('/').next().unwrap_or_default()
}

fn of_response(schema: &str, (method, path): (&str, &str), responses: &Value) -> Value {
    let changes = match method {
        "patch" => &responses["Changed"][schema],
        _ if path.ends_with("/archive") => &responses["Archived"][schema],
        _ => &Value::Null,
    };
    let feature = || responses["Feature"].clone();
    match schema.strip_prefix("Envelope_") {
        Some(item) => {
            json!({ "content": [responses[item]], "total": 1, "page": 1, "size": 50, "pages": 1 })
        }
        None if schema == "GeoJson" && path.ends_with("/features") => {
            json!({ "type": "FeatureCollection", "features": [feature()] })
        }
        None if schema == "GeoJson" => feature(),
        None => with_changes(responses[schema].clone(), changes),
    }
}

/// An example after a change of some fields.
fn with_changes(mut example: Value, changes: &Value) -> Value {
    if let (Some(fields), Some(changes)) = (example.as_object_mut(), changes.as_object()) {
        fields.extend(changes.clone());
    }
    example
}

/// The items of a list as lines of JSON.
fn lines(items: &Value) -> Value {
    items
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| format!("{item}\n"))
        .collect::<String>()
        .into()
}

/// A change as a server-sent event.
fn event(change: &Value) -> Value {
    format!("id: {}\ndata: {change}\n\n", change["cursor"].as_str().unwrap_or_default()).into()
}
