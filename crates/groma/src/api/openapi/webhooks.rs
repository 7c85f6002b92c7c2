//! The webhook parts of the OpenAPI document: endpoints, and the deliveries sent to them.

use super::reference;
use crate::api::webhooks::{deliveries::REDELIVERABLE, manage::MAX_OVERLAP_HOURS};
use groma_domain::{
    Event, Kind,
    event::Topic,
    webhook::{MAX_DESCRIPTION, MAX_FILTER_IDS, MAX_URL, SECRET_LENGTHS, event_names_and_patterns},
};
use serde_json::{Map, Value, json};

/// Adds the schemas that no route refers to.
pub(super) fn add_schemas(schemas: &mut Value, allow_http: bool) {
    let scheme = if allow_http { "https?" } else { "https" };
    let words: Vec<_> = event_names_and_patterns().collect();
    schemas["NewWebhookEndpoint"] = json!({
        "type": "object",
        "description": "A webhook endpoint to create",
        "required": ["url"],
        "properties": {
            "url": { "type": "string", "format": "uri", "maxLength": MAX_URL, "pattern": format!("^{scheme}://[^#]+$"),
                "description": "Where deliveries are sent, without credentials and fragment" },
            "events": { "type": ["array", "null"], "minItems": 1, "uniqueItems": true,
                "items": { "type": "string", "enum": words },
                "description": "Event names, patterns such as `folder.*`, or `*`, which stands for all events about records. Default: `*`" },
            "description": { "type": ["string", "null"], "maxLength": MAX_DESCRIPTION, "description": "Purpose of the endpoint" },
            "secret": { "type": ["string", "null"], "minLength": SECRET_LENGTHS.start(), "maxLength": SECRET_LENGTHS.end(),
                "pattern": "^[!-~]([ -~]*[!-~])?$",
                "description": "Key that signs deliveries: printable ASCII, no spaces at the start or end. Default: a generated secret" },
        },
        "example": { "url": "https://hooks.example.org/groma", "events": ["folder.*", "expense.created"],
            "description": "Ledger" },
    });
    let filter = json!({ "type": ["object", "null"], "additionalProperties": false,
        "description": "Which of the events are delivered: those that meet every condition. Null for all",
        "properties": {
            "folderIds": id_list("Ids of folders. Only events about them, their records and their features, before or after the change"),
            "layerIds": id_list("Ids of layers. Only events about their features and themselves; events about records always pass"),
            "bbox": { "type": ["array", "null"], "items": { "type": "number" }, "minItems": 4, "maxItems": 4,
                "description": "West, south, east, north in degrees. Only features whose bounding box meets this box before or after the change. West can be greater than east, across the antimeridian" },
        } });
    schemas["NewWebhookEndpoint"]["properties"]["filter"] = filter;
    schemas["RedeliveryResult"] = json!({ "type": "object",
        "description": "How many deliveries are sent again",
        "properties": { "redelivered": { "type": "integer", "minimum": 0, "description": "Number of deliveries" } },
        "required": ["redelivered"],
        "example": { "redelivered": 12 } });
    add_delivery_schema(schemas);
    schemas["LayerChange"] = json!({
        "type": "object",
        "description": "A change of a layer, or of many of its features at once: read the layer again",
        "properties": {
            "id": { "type": "string", "format": "uuid", "description": "Identifier of the layer" },
            "revision": { "type": "integer", "minimum": 0, "description": "The layer's revision after the change" },
            "created": { "type": "integer", "minimum": 0, "description": "Number of features that were created" },
            "updated": { "type": "integer", "minimum": 0, "description": "Number of features that have changed" },
            "deleted": { "type": "integer", "minimum": 0, "description": "Number of features that were deleted" },
            "bbox": { "type": ["array", "null"], "items": { "type": "number" }, "minItems": 4, "maxItems": 4,
                "description": "Box around the changed features, before and after: west, south, east, north" },
        },
    });
    let mut created = schemas["WebhookEndpoint"].clone();
    created["description"] = json!("A webhook endpoint as returned when it is created");
    created["properties"]["secret"] = json!({ "type": "string",
        "description": "Key that signs deliveries. Only this response contains it" });
    schemas["CreatedWebhookEndpoint"] = created;
    for topic in Topic::ALL {
        let names: Vec<_> = topic.events().map(Event::name).collect();
        schemas[format!("{}Event", schema_name(topic))] = json!({
            "type": "object",
            "description": format!("The body of a delivery about one {}", topic.name()),
            "properties": {
                "id": { "type": "string", "format": "uuid",
                    "description": "Identifier of the delivery, the same in every attempt" },
                "event": { "type": "string", "enum": names, "description": "What happened" },
                "workspaceKey": { "type": "string", "format": "uuid",
                    "description": "Workspace the event belongs to" },
                "occurredAt": { "type": "string", "format": "date-time", "description": "When the event occurred" },
                "data": event_data(topic),
            },
        });
    }
}

/// Adds the schemas of bodies whose fields can be left out.
pub(super) fn add_request_schemas(schemas: &mut Value) {
    let mut patch = schemas["NewWebhookEndpoint"].clone();
    patch["description"] =
        json!("The fields of a webhook endpoint that change, as a JSON merge patch (RFC 7396)");
    if let Some(patch) = patch.as_object_mut() {
        patch.remove("required");
    }
    if let Some(properties) = patch["properties"].as_object_mut() {
        properties.remove("secret");
        properties["url"]["type"] = json!("string");
        properties.insert(
            "enabled".to_owned(),
            json!({ "type": "boolean", "description": "Whether events are delivered" }),
        );
        for name in ["id", "disabledReason", "createdAt", "updatedAt"] {
            let ignored = json!({ "readOnly": true, "description": "Ignored" });
            properties.insert(name.to_owned(), ignored);
        }
    }
    patch["additionalProperties"] = json!(false);
    patch["example"] =
        json!({ "events": ["geometry.*"], "filter": { "bbox": [2.08, 47.65, 2.09, 47.66] } });
    schemas["WebhookEndpointPatch"] = patch;
    schemas["SecretRotation"] = json!({ "type": "object", "additionalProperties": false,
        "description": "How to replace a secret",
        "required": ["overlapHours"],
        "properties": { "overlapHours": { "type": "integer", "minimum": 0, "maximum": MAX_OVERLAP_HOURS,
            "description": "How many hours deliveries are also signed with the previous secret" } },
        "example": { "overlapHours": 24 } });
    schemas["Redelivery"] = json!({ "type": "object", "additionalProperties": false,
        "description": "Which deliveries to send again",
        "required": ["since"],
        "properties": {
            "since": { "type": "string", "format": "date-time", "description": "Only deliveries created at this time or later" },
            "status": { "type": ["string", "null"],
                "enum": REDELIVERABLE.iter().map(|status| Some(status.name())).chain([None]).collect::<Vec<_>>(),
                "description": "Only deliveries with this status. Default: `failed`" },
        },
        "example": { "since": "2026-11-18T00:00:00Z", "status": "failed" } });
}

fn id_list(description: &str) -> Value {
    json!({ "type": ["array", "null"], "minItems": 1, "maxItems": MAX_FILTER_IDS,
        "items": { "type": "string", "format": "uuid" }, "description": description })
}

/// The schema of a delivery that is read alone.
fn add_delivery_schema(schemas: &mut Value) {
    let mut alone = schemas["WebhookDelivery"].clone();
    alone["description"] = json!("A delivery with its attempts and its body");
    alone["properties"]["attemptLog"] = json!({ "type": "array", "description": "Attempts, oldest first",
        "items": { "type": "object",
            "required": ["at", "status", "durationMs", "error", "response"],
            "properties": {
                "at": { "type": "string", "format": "date-time", "description": "When it began" },
                "status": { "type": ["integer", "null"], "description": "Status of the response" },
                "durationMs": { "type": "integer", "minimum": 0, "description": "Milliseconds until the response" },
                "error": { "type": ["string", "null"], "description": "What went wrong" },
                "response": { "type": "string", "description": "Beginning of the response body, up to 16 KiB" },
            } } });
    alone["properties"]["body"] =
        json!({ "type": "object", "description": "The body that is sent" });
    schemas["WebhookDeliveryWithAttempts"] = alone;
}

/// What the routes of endpoints and deliveries receive and return.
struct RouteSchemas {
    request: Option<&'static str>,
    response: Option<&'static str>,
    /// The parameters besides those in the path.
    parameters: &'static [&'static str],
    /// Whether the state can forbid the request.
    has_conflicts: bool,
}

/// The path of endpoints.
const ENDPOINTS: &str = "/api/public/v1/webhooks/endpoints";

impl RouteSchemas {
    fn of(method: &str, path: &str) -> Option<Self> {
        let route = path.strip_prefix(ENDPOINTS)?;
        let (none, post): (&[&str], &[&str]) = (&[], &["idempotencyKey"]);
        let (request, response, parameters) = match (method, route) {
            ("get", "") => (None, None, &["page", "listCursor", "limit", "term"][..]),
            ("get", "/{key}/deliveries") => {
                (None, None, &["page", "listCursor", "limit", "deliveryStatus", "event"][..])
            }
            ("get", "/{key}/deliveries/{id}") => (None, Some("WebhookDeliveryWithAttempts"), none),
            ("post", "") => (Some("NewWebhookEndpoint"), Some("CreatedWebhookEndpoint"), post),
            ("patch", _) => (Some("WebhookEndpointPatch"), None, &["ifMatch"][..]),
            ("post", "/{key}/rotate") => {
                (Some("SecretRotation"), Some("CreatedWebhookEndpoint"), post)
            }
            ("post", "/{key}/redeliver") => (Some("Redelivery"), Some("RedeliveryResult"), post),
            ("post", _) => (None, None, post),
            _ => (None, None, none),
        };
        let has_conflicts =
            method == "patch" || path.ends_with("/test") || path.ends_with("/{id}/redeliver");
        Some(Self { request, response, parameters, has_conflicts })
    }
}

/// The parameters of a route of endpoints and deliveries; `None` for other routes.
pub(super) fn parameters(method: &str, path: &str) -> Option<Value> {
    let id = |name: &str, of: &str| {
        json!({ "name": name, "in": "path", "required": true,
        "description": format!("Id of the {of}"), "schema": { "type": "string", "format": "uuid" } })
    };
    let route = RouteSchemas::of(method, path)?;
    let endpoint = path.contains("{key}").then(|| id("key", "endpoint"));
    let delivery = path.contains("{id}").then(|| id("id", "delivery"));
    let shared = route.parameters.iter().map(|name| reference("parameters", name));
    Some(endpoint.into_iter().chain(delivery).chain(shared).collect())
}

/// Completes an operation on endpoints and deliveries.
pub(super) fn complete(operation: &mut Value, method: &str, path: &str) {
    let Some(route) = RouteSchemas::of(method, path) else { return };
    if let Some(body) = route.request {
        let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for (_, content) in content.into_iter().flatten() {
            *content = json!({ "schema": reference("schemas", body) });
        }
        operation["requestBody"]["required"] = json!(true);
    }
    if let Some(body) = route.response {
        operation["responses"]["200"]["content"]["application/json"] =
            json!({ "schema": reference("schemas", body) });
    }
    if method == "patch" {
        operation["responses"]["200"]["headers"]["ETag"] = reference("headers", "ETag");
        operation["responses"]["412"] = reference("responses", "PreconditionFailed");
    }
    if route.has_conflicts {
        operation["responses"]["409"] = reference("responses", "WebhookConflict");
    }
}

/// The schema of the `data` of events.
fn event_data(topic: Topic) -> Value {
    match topic {
        Topic::Record(_) => {
            json!({ "$ref": format!("#/components/schemas/{}", schema_name(topic)) })
        }
        Topic::Geometry => json!({ "type": "object",
            "description": "The feature as a GeoJSON Feature in WGS 84; of a deleted one as it was before" }),
        Topic::Layer => json!({
            "anyOf": [
                { "$ref": "#/components/schemas/Layer" },
                { "$ref": "#/components/schemas/LayerChange" },
            ],
            "description": "The layer; for `layer.updated` what has changed" }),
    }
}

fn schema_name(topic: Topic) -> &'static str {
    match topic {
        Topic::Record(Kind::Folder) => "Folder",
        Topic::Record(Kind::Assignment) => "Assignment",
        Topic::Record(Kind::Expense) => "Expense",
        Topic::Record(Kind::Budget) => "Budget",
        Topic::Geometry => "Geometry",
        Topic::Layer => "Layer",
    }
}

/// The `webhooks` section: one operation for each event.
pub(super) fn section(service: &str) -> Value {
    let header = |name: String, required: bool, description: &str| {
        json!({ "name": name, "in": "header", "required": required, "description": description,
            "schema": { "type": "string" } })
    };
    let headers = json!([
        header(
            format!("X-{service}-Signature"),
            true,
            "`sha256=` followed by the HMAC-SHA256 of the raw body in lowercase hexadecimal. The key is the endpoint's secret as shown"
        ),
        header(format!("X-{service}-Event"), true, "Name of the event"),
        header(format!("X-{service}-Delivery"), true, "Id of the delivery"),
        header(format!("X-{service}-Test"), false, "`true` for a test delivery"),
        header(
            "webhook-id".to_owned(),
            false,
            "Id of the delivery by Standard Webhooks, if the secret starts with `whsec_`"
        ),
        header("webhook-timestamp".to_owned(), false, "Unix time of this attempt in seconds"),
        header(
            "webhook-signature".to_owned(),
            false,
            "`v1,` followed by the signature in base64; two of them while a secret is being replaced"
        ),
    ]);
    let operation = |event: Event| {
        let body = format!("#/components/schemas/{}Event", schema_name(event.topic));
        json!({ "post": {
            "operationId": event.name(),
            "tags": ["Webhooks"],
            "summary": event.name(),
            "parameters": headers,
            "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": body } } } },
            "responses": {
                "2XX": { "description": "Delivered; the response body is ignored" },
                "410": { "description": "The endpoint is gone: it is disabled and receives no more deliveries" },
                "default": { "description": "Retried up to ten times over three days; `Retry-After` is respected" },
            },
        } })
    };
    let events = Event::all().map(|event| (event.name().to_owned(), operation(event)));
    events.collect::<Map<_, _>>().into()
}
