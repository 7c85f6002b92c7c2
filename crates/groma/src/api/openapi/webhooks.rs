//! The webhook parts of the OpenAPI document: endpoints, and the deliveries sent to them.

use groma_domain::{
    Event, Kind,
    webhook::{MAX_DESCRIPTION, MAX_URL, SECRET_LENGTHS, event_names_and_patterns},
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
                "description": "Event names, patterns such as `folder.*`, or `*`. Default: all events" },
            "description": { "type": ["string", "null"], "maxLength": MAX_DESCRIPTION, "description": "Purpose of the endpoint" },
            "secret": { "type": ["string", "null"], "minLength": SECRET_LENGTHS.start(), "maxLength": SECRET_LENGTHS.end(),
                "pattern": "^[!-~]([ -~]*[!-~])?$",
                "description": "Key that signs deliveries: printable ASCII, no spaces at the start or end. Default: a generated secret" },
        },
        "example": { "url": "https://hooks.example.org/groma", "events": ["folder.*", "expense.created"],
            "description": "Ledger" },
    });
    let mut created = schemas["WebhookEndpoint"].clone();
    created["description"] = json!("A webhook endpoint as returned when it is created");
    created["properties"]["secret"] = json!({ "type": "string",
        "description": "Key that signs deliveries. Only this response contains it" });
    schemas["CreatedWebhookEndpoint"] = created;
    for kind in Kind::ALL {
        let record = record_name(kind);
        let names: Vec<_> =
            Event::all().filter(|event| event.kind == kind).map(Event::name).collect();
        schemas[format!("{record}Event")] = json!({
            "type": "object",
            "description": format!("The body of a delivery about one {kind}"),
            "properties": {
                "id": { "type": "string", "format": "uuid",
                    "description": "Identifier of the delivery, the same in every attempt" },
                "event": { "type": "string", "enum": names, "description": "What happened" },
                "workspaceKey": { "type": "string", "format": "uuid",
                    "description": "Workspace the event belongs to" },
                "occurredAt": { "type": "string", "format": "date-time", "description": "When the event occurred" },
                "data": { "$ref": format!("#/components/schemas/{record}") },
            },
        });
    }
}

fn record_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Folder => "Folder",
        Kind::Assignment => "Assignment",
        Kind::Expense => "Expense",
        Kind::Budget => "Budget",
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
        let body = format!("#/components/schemas/{}Event", record_name(event.kind));
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
