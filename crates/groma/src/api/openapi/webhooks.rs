//! What the document says of webhooks: what an endpoint is made of, and what is sent to it.

use groma_domain::{
    Event, Kind,
    webhook::{MAX_DESCRIPTION, MAX_URL, SECRET_LENGTHS, event_words},
};
use serde_json::{Map, Value, json};

/// The schemas that no route gives by itself.
pub(super) fn add_schemas(schemas: &mut Value, allow_http: bool) {
    let scheme = if allow_http { "https?" } else { "https" };
    let words: Vec<_> = event_words().collect();
    schemas["NewWebhookEndpoint"] = json!({
        "type": "object",
        "description": "A webhook endpoint to be made",
        "required": ["url"],
        "properties": {
            "url": { "type": "string", "format": "uri", "maxLength": MAX_URL, "pattern": format!("^{scheme}://[^#]+$"),
                "description": "Where deliveries go; without credentials and without a fragment" },
            "events": { "type": ["array", "null"], "minItems": 1, "uniqueItems": true,
                "items": { "type": "string", "enum": words },
                "description": "Names of events, `folder.*` and the like, or `*`; left out: all" },
            "description": { "type": ["string", "null"], "maxLength": MAX_DESCRIPTION, "description": "What it is for" },
            "secret": { "type": ["string", "null"], "minLength": SECRET_LENGTHS.start(), "maxLength": SECRET_LENGTHS.end(),
                "pattern": "^[!-~]([ -~]*[!-~])?$",
                "description": "What deliveries are signed with: printable ASCII, no space at either end; left out: one is made" },
        },
        "example": { "url": "https://hooks.example.org/groma", "events": ["folder.*", "expense.created"],
            "description": "Ledger" },
    });
    let mut created = schemas["WebhookEndpoint"].clone();
    created["description"] = json!("A webhook endpoint, in the answer that creates it");
    created["properties"]["secret"] = json!({ "type": "string",
        "description": "What deliveries are signed with. It is shown here and nowhere after" });
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

/// The events that are sent to endpoints, one by one.
pub(super) fn section(service: &str) -> Value {
    let header = |name: String, required: bool, description: &str| {
        json!({ "name": name, "in": "header", "required": required, "description": description,
            "schema": { "type": "string" } })
    };
    let headers = json!([
        header(
            format!("X-{service}-Signature"),
            true,
            "`sha256=` and the HMAC-SHA256 of the raw body in lowercase hexadecimal, keyed with the endpoint's secret as shown"
        ),
        header(format!("X-{service}-Event"), true, "The event's name"),
        header(format!("X-{service}-Delivery"), true, "The delivery's id"),
        header(
            format!("X-{service}-Test"),
            false,
            "`true` when someone only tries the endpoint out"
        ),
        header(
            "webhook-id".to_owned(),
            false,
            "Standard Webhooks, for a secret that begins with `whsec_`"
        ),
        header("webhook-timestamp".to_owned(), false, "Seconds since 1970 of this attempt"),
        header(
            "webhook-signature".to_owned(),
            false,
            "`v1,` and base64; two of them while a secret is replaced"
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
                "2XX": { "description": "Delivered, whatever the body then is" },
                "410": { "description": "The endpoint is disabled, and nothing more is sent" },
                "default": { "description": "Tried again, up to ten times over three days; `Retry-After` is honoured" },
            },
        } })
    };
    let events = Event::all().map(|event| (event.name().to_owned(), operation(event)));
    events.collect::<Map<_, _>>().into()
}
