//! The operations of the OpenAPI document that change features.

use super::write_body::{FEATURE_TYPES, PATCH_TYPES};
use serde_json::{Map, Value, json};

const ITEMS: &str = "/collections/{collectionId}/items";
const ITEM: &str = "/collections/{collectionId}/items/{featureId}";

/// Adds the operations to the paths.
pub(super) fn add_to(paths: &mut Value) {
    let created = json!({
        "201": {
            "description": "The feature was created",
            "headers": { "Location": { "description": "The feature", "schema": { "type": "string", "format": "uri" } } },
            "content": content(&["application/json"], "WriteResult"),
        },
    });
    paths[ITEMS]["post"] = operation(
        ("createFeature", "Create a feature in a layer"),
        Some(content(&FEATURE_TYPES, "Feature")),
        &["Content-Crs", "Idempotency-Key", "Prefer"],
        (created, &["409", "415"]),
    );
    let conditions = ["If-Match", "If-None-Match"];
    let written = json!({
        "200": {
            "description": "The feature was written",
            "content": content(&["application/json"], "WriteResult"),
        },
    });
    let headers = [&["Content-Crs", "Prefer"][..], &conditions].concat();
    paths[ITEM]["put"] = operation(
        ("replaceFeature", "Replace a feature of a layer"),
        Some(content(&FEATURE_TYPES, "Feature")),
        &headers,
        (written.clone(), &["412", "415", "428"]),
    );
    paths[ITEM]["patch"] = operation(
        ("updateFeature", "Replace the geometry or single properties of a feature"),
        Some(content(&PATCH_TYPES, "FeaturePatch")),
        &headers,
        (written, &["412", "415", "428"]),
    );
    paths[ITEM]["delete"] = operation(
        ("deleteFeature", "Delete a feature of a layer"),
        None,
        &conditions,
        (json!({ "204": { "description": "The feature was deleted" } }), &["412", "428"]),
    );
}

/// The headers of requests, as parameters.
pub(super) fn add_parameters(parameters: &mut Value) {
    for (name, description) in [
        ("Content-Crs", "Reference system of the coordinates in the body; CRS84 if left out"),
        ("Idempotency-Key", "A repeated request with the same key gets the first response"),
        ("If-Match", "Only if the feature has this ETag"),
        ("If-None-Match", "Only if the feature does not have this ETag"),
        ("Prefer", "`return=representation` for a response with the feature"),
    ] {
        parameters[name] = json!({
            "name": name, "in": "header", "required": false, "description": description,
            "schema": { "type": "string" },
        });
    }
}

/// The schemas of bodies.
pub(super) fn add_schemas(schemas: &mut Value) {
    let text = json!({ "type": "string" });
    schemas["FeaturePatch"] = json!({
        "type": "object",
        "properties": {
            "geometry": { "type": "object", "nullable": true },
            "properties": { "type": "object" },
        },
    });
    schemas["WriteResult"] = json!({
        "type": "object",
        "required": ["id", "notices", "noticeCount"],
        "properties": {
            "id": { "type": "string", "format": "uuid" },
            "externalId": { "type": "string", "nullable": true },
            "notices": {
                "type": "array",
                "items": { "type": "object", "properties": { "pointer": text, "message": text } },
            },
            "noticeCount": { "type": "integer", "minimum": 0 },
        },
    });
}

fn content(media_types: &[&str], schema: &str) -> Value {
    let schema = json!({ "schema": { "$ref": format!("#/components/schemas/{schema}") } });
    let content: Map<String, Value> =
        media_types.iter().map(|name| ((*name).to_owned(), schema.clone())).collect();
    content.into()
}

fn operation(
    (id, summary): (&str, &str),
    body: Option<Value>,
    headers: &[&str],
    (mut responses, problems): (Value, &[&str]),
) -> Value {
    let reference = |name: &str| json!({ "$ref": format!("#/components/parameters/{name}") });
    let parameters: Vec<Value> = headers.iter().map(|name| reference(name)).collect();
    for status in ["400", "401", "403", "404", "429", "500"].iter().chain(problems) {
        responses[*status] = json!({ "$ref": "#/components/responses/Problem" });
    }
    let mut operation = json!({
        "operationId": id, "tags": ["Data"], "summary": summary,
        "parameters": parameters, "responses": responses,
    });
    if let Some(content) = body {
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}
