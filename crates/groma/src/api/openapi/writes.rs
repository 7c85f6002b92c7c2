//! The parts of the OpenAPI document about routes that write: the schemas of bodies, their examples, and
//! what the operations share.

use super::{camel_case, reference};
use crate::api::records::{MAX_OPERATIONS, NDJSON};
use groma_domain::Kind;
use serde_json::{Map, Value, json};

/// What a route that writes does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    Create,
    Update,
    Delete,
    Archive,
    Bulk,
}

/// A route that writes records or statuses: what it does, and the schema of the resource.
pub(super) fn route(method: &str, path: &str) -> Option<(Write, &'static str)> {
    let resource = match path.split('/').nth(4)? {
        "folders" => "Folder",
        "assignments" => "Assignment",
        "expenses" => "Expense",
        "budgets" => "Budget",
        "statuses" => "Status",
        "bulk" => return Some((Write::Bulk, "Bulk")),
        _ => return None,
    };
    let write = match method {
        "post" if path.ends_with("archive") => Write::Archive,
        "post" => Write::Create,
        "patch" => Write::Update,
        "delete" => Write::Delete,
        _ => return None,
    };
    Some((write, resource))
}

/// The names of the parameters of a route that writes.
pub(super) fn parameters(write: Write, resource: &str) -> &'static [&'static str] {
    match write {
        Write::Create if resource == "Status" => &["idempotencyKey"],
        Write::Create => &["match", "idempotencyKey"],
        Write::Update => &["ifMatch"],
        Write::Delete if resource == "Status" => &["replacement", "ifMatch"],
        Write::Delete => &["ifMatch"],
        Write::Archive => &["ifMatch", "idempotencyKey"],
        Write::Bulk => &["atomic", "idempotencyKey"],
    }
}

/// The parameters that only routes that write have.
pub(super) fn add_parameters(parameters: &mut Value) {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema });
    parameters["match"] = query(
        "match",
        "Update the record that has the same value in this field, or create one. The field must be in the body",
        json!({ "type": "string", "enum": ["externalId", "reference"] }),
    );
    parameters["replacement"] = query(
        "replacement",
        "Id or name of the status that the records with the deleted one get. Required if there are any, or if the deleted one is the default",
        json!({ "type": "string" }),
    );
    parameters["atomic"] = query(
        "atomic",
        "Whether nothing is written if one operation fails",
        json!({ "type": "boolean", "default": true }),
    );
    parameters["ifMatch"] = json!({ "name": "If-Match", "in": "header", "required": false,
        "description": "An ETag of the resource. If it has changed since, the response is a 412 and nothing is written",
        "schema": { "type": "string" } });
}

/// Completes an operation that writes.
pub(super) fn complete(operation: &mut Value, write: Write, resource: &str) {
    let body = match write {
        Write::Create => Some(format!("New{resource}")),
        Write::Update => Some(format!("{resource}Patch")),
        Write::Bulk => Some("BulkOperations".to_owned()),
        Write::Delete | Write::Archive => None,
    };
    if let Some(body) = body {
        let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for (media_type, content) in content.into_iter().flatten() {
            // Lines of JSON have no schema as a whole.
            *content = match media_type == NDJSON {
                true => json!({}),
                false => json!({ "schema": reference("schemas", &body) }),
            };
        }
        operation["requestBody"]["required"] = json!(true);
    }
    operation["responses"]["409"] = reference("responses", "Conflict");
    if write != Write::Create {
        operation["responses"]["412"] = reference("responses", "PreconditionFailed");
    }
    if write == Write::Bulk {
        operation["description"] = json!(
            "Each operation requires the scope to write its kind. A record that several operations \
             change is written once. With `atomic=false` and `Accept: application/x-ndjson`, and without \
             `Idempotency-Key`, each operation is a change of its own, whose result is sent at once."
        );
    }
    if write == Write::Delete {
        return;
    }
    let success = &mut operation["responses"]["200"];
    match write {
        Write::Bulk => {
            success["content"] = json!({
                "application/json": { "schema": reference("schemas", "BulkResult") },
                NDJSON: {},
            });
        }
        Write::Create if resource != "Status" => {
            success["headers"]["X-Groma-Result"] = reference("headers", "X-Groma-Result");
        }
        _ => {}
    }
    if write != Write::Bulk {
        success["headers"]["ETag"] = reference("headers", "ETag");
    }
}

/// The fields of a resource that clients cannot write. They are accepted and ignored.
fn is_read_only(resource: &str, name: &str) -> bool {
    let own: &[&str] = match resource {
        "Folder" => &["bbox", "archivedAt"],
        "Assignment" => &["completedAt"],
        "Expense" => &["amount"],
        "Budget" => &["spent", "remaining", "percentUsed"],
        _ => &[],
    };
    ["id", "workspaceKey", "createdAt", "updatedAt", "version"].contains(&name)
        || own.contains(&name)
}

/// Adds the schemas of bodies.
pub(super) fn add_schemas(schemas: &mut Value) {
    for kind in Kind::ALL {
        let resource = camel_case(&format!("_{kind}"));
        let properties = record_properties(&schemas[&resource]["properties"], &resource);
        add_inputs(schemas, &resource, &properties);
    }
    let mut properties = schemas["Status"]["properties"].as_object().cloned().unwrap_or_default();
    for name in ["id", "createdAt", "updatedAt"] {
        properties[name] = json!({ "readOnly": true, "description": "Ignored" });
    }
    properties["position"] = json!({ "type": "integer", "minimum": 0, "maximum": 10_000,
        "description": properties["position"]["description"] });
    properties["color"] = json!({ "type": "string", "pattern": "^#[0-9a-fA-F]{6}$",
        "description": properties["color"]["description"] });
    add_inputs(schemas, "Status", &properties);
    let operation = json!({
        "type": "object",
        "required": ["op", "kind"],
        "properties": {
            "op": { "type": "string", "enum": ["create", "update", "upsert", "delete", "archive", "unarchive"] },
            "kind": reference("schemas", "Kind"),
            "key": { "type": ["string", "null"], "description": "Id or reference; for all but `create` and `upsert`" },
            "match": { "type": ["string", "null"], "enum": ["externalId", "reference", null], "description": "For `upsert`" },
            "ifVersion": { "type": ["integer", "null"], "minimum": 1,
                "description": "The version that the record must have before the request" },
            "data": { "type": ["object", "null"], "description": "The fields; for `create`, `update` and `upsert`" },
        },
    });
    schemas["BulkOperations"] = json!({ "type": "array", "maxItems": MAX_OPERATIONS, "items": operation,
        "description": "Operations, executed in this order", "example": bulk_example() });
    let result = json!({
        "type": "object",
        "required": ["index", "status", "id", "reference", "version"],
        "properties": {
            "index": { "type": "integer", "minimum": 0 },
            "status": { "type": "string", "enum": ["created", "updated", "unchanged", "deleted", "failed"] },
            "id": { "type": ["string", "null"], "format": "uuid" },
            "reference": { "type": ["string", "null"] },
            "version": { "type": ["integer", "null"], "minimum": 1 },
            "error": reference("schemas", "Error"),
        },
    });
    schemas["BulkResult"] = json!({
        "type": "object",
        "description": "The result of each operation",
        "required": ["applied", "failed", "results"],
        "properties": {
            "applied": { "type": "integer", "minimum": 0, "description": "How many operations succeeded" },
            "failed": { "type": "integer", "minimum": 0, "description": "How many failed" },
            "results": { "type": "array", "items": result },
        },
    });
}

/// The properties of a record as a client can write them.
fn record_properties(fields: &Value, resource: &str) -> Map<String, Value> {
    let mut properties = Map::new();
    for (name, field) in fields.as_object().into_iter().flatten() {
        let described = |mut schema: Value| {
            if field["description"].is_string() {
                schema["description"] = field["description"].clone();
            }
            schema
        };
        let line = |max: u32| json!({ "type": ["string", "null"], "maxLength": max });
        let schema = match name.as_str() {
            name if is_read_only(resource, name) => {
                json!({ "readOnly": true, "description": "Ignored" })
            }
            "owner" | "submittedBy" => {
                described(json!({ "oneOf": [person(), { "type": "null" }] }))
            }
            "assignees" => {
                described(json!({ "type": ["array", "null"], "maxItems": 100, "items": person() }))
            }
            "folderId" | "assignmentId" | "budgetId" | "statusId" => described(line(64)),
            "estimatedHours" | "spentHours" | "quantity" | "unitAmount" | "amount" => {
                described(json!({ "type": ["string", "number", "null"] }))
            }
            "externalId" | "category" | "vendor" => described(line(200)),
            "clientName" | "name" | "title" => described(line(300)),
            "description" => described(line(20_000)),
            "reference" => described(line(64)),
            "currency" => described(json!({ "type": ["string", "null"], "pattern": "^[A-Z]{3}$" })),
            "priority" => described(
                json!({ "type": ["string", "null"], "enum": ["low", "normal", "high", "urgent", null] }),
            ),
            "billable" => described(json!({ "type": ["boolean", "null"] })),
            "tags" => described(json!({ "type": ["array", "null"], "maxItems": 50,
                "items": { "type": "string", "minLength": 1, "maxLength": 64 } })),
            "customFields" => json!({ "type": ["object", "null"],
                "additionalProperties": { "type": ["string", "number", "boolean", "null"] },
                "description": "User-defined fields. Fields that are left out stay; null removes one" }),
            _ => field.clone(),
        };
        properties.insert(name.clone(), schema);
    }
    let key = |text: &str| json!({ "type": ["string", "null"], "description": text });
    properties.insert("status".to_owned(), key("Name or id of the status"));
    let links: &[&str] = match resource {
        "Folder" => &[],
        "Expense" => &["folder", "assignment", "budget"],
        _ => &["folder"],
    };
    for link in links {
        let text = format!("Id or reference of the {link}, instead of `{link}Id`");
        properties.insert((*link).to_owned(), key(&text));
    }
    properties
}

fn person() -> Value {
    json!({ "oneOf": [
        { "type": "string", "format": "email" },
        { "type": "object", "properties": {
            "id": { "type": ["string", "null"], "format": "uuid" },
            "email": { "type": ["string", "null"], "format": "email" } } },
    ] })
}

fn add_inputs(schemas: &mut Value, resource: &str, properties: &Map<String, Value>) {
    let required: &[&str] = match resource {
        "Folder" => &["name"],
        "Assignment" => &["title"],
        "Expense" => &["unitAmount", "incurredOn"],
        "Budget" => &["name", "amount"],
        _ => &["name", "appliesTo"],
    };
    let noun = resource.to_lowercase();
    let (new, patch) = examples(resource);
    schemas[format!("New{resource}")] = json!({ "type": "object", "required": required,
        "description": format!("The fields of a new {noun}"),
        "properties": properties, "additionalProperties": false, "example": new });
    schemas[format!("{resource}Patch")] = json!({ "type": "object",
        "description": format!("The fields of a {noun} that change, as a JSON merge patch (RFC 7396)"),
        "properties": properties, "additionalProperties": false, "example": patch });
}

/// The examples of a new resource and of a patch. A test sends them to a server.
fn examples(resource: &str) -> (Value, Value) {
    match resource {
        "Folder" => (
            json!({ "name": "Chêne, boundary survey", "externalId": "crm-4711", "clientName": "Mairie de Chêne",
                "owner": { "email": "survey.lead@example.test" }, "dueDate": "2026-12-18",
                "tags": ["cadastre"], "customFields": { "parcel": "AB 12" } }),
            json!({ "status": "Field work", "dueDate": null, "customFields": { "parcel": null, "area": 12.5 } }),
        ),
        "Assignment" => (
            json!({ "folder": "F-000123", "title": "Stake out north line", "priority": "high",
                "assignees": ["field.crew@example.test"], "estimatedHours": "7.5" }),
            json!({ "status": "Done", "spentHours": 8 }),
        ),
        "Expense" => (
            json!({ "folder": "F-000123", "budget": "B-000123", "category": "Fuel", "quantity": "42.5",
                "unitAmount": "1.79", "incurredOn": "2026-11-18", "submittedBy": "field.crew@example.test" }),
            json!({ "status": "Approved", "billable": true }),
        ),
        "Budget" => (
            json!({ "folder": "F-000123", "name": "Field work 2026", "amount": "1250.00" }),
            json!({ "amount": "1500.00", "endDate": "2026-12-31" }),
        ),
        _ => (
            json!({ "name": "On hold", "appliesTo": "folder", "group": "todo", "color": "#87909d" }),
            json!({ "name": "Waiting for client" }),
        ),
    }
}

fn bulk_example() -> Value {
    json!([
        { "op": "upsert", "kind": "folder", "match": "externalId",
            "data": { "externalId": "erp-77", "name": "Harbour survey" } },
        { "op": "create", "kind": "assignment", "data": { "folder": "F-000123", "title": "Soundings" } },
        { "op": "archive", "kind": "folder", "key": "F-000123" },
    ])
}
