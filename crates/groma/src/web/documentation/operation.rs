//! The operations of the OpenAPI document by group, and the webhook events.

use super::schema::{Document, Field, Limits, kind, plain, prose};
use crate::http::escape_html;
use serde_json::Value;

/// The operations about one kind of resource.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) operations: Vec<Operation>,
}

pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    /// The path below the address of its API.
    pub(super) path: String,
    /// A sentence for the heading, and the text after it.
    pub(super) summary: String,
    pub(super) note: String,
    /// Whether the Geo API serves it.
    pub(super) is_geo: bool,
    pub(super) scope: Option<String>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) replies: Vec<Reply>,
    pub(super) curl: String,
    /// An example of the response.
    pub(super) response: Option<String>,
}

pub(super) struct Parameter {
    /// `path`, `query` or `header`.
    pub(super) location: String,
    pub(super) field: Field,
}

/// The body of a request.
pub(super) struct Body {
    pub(super) media_types: Vec<String>,
    pub(super) kind: String,
    pub(super) fields: Vec<Field>,
}

/// A response. The texts are HTML.
pub(super) struct Reply {
    pub(super) status: String,
    pub(super) description: String,
    /// The type of its body, or its media type if that has none.
    pub(super) kind: String,
    pub(super) headers: Vec<String>,
}

/// The order of the groups; others follow by name.
const ORDER: [&str; 10] = [
    "Folders",
    "Assignments",
    "Expenses",
    "Budgets",
    "Statuses",
    "Bulk",
    "Account",
    "Layers",
    "Geometries",
    "Webhooks",
];

pub(super) fn groups(document: Document<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (path, item) in document.0["paths"].as_object().into_iter().flatten() {
        for method in ["get", "post", "put", "patch", "delete"] {
            let Some(operation) = item.get(method) else { continue };
            let name = operation["tags"][0].as_str().unwrap_or_default();
            let operation = Operation::new(document, path, method, item);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.operations.push(operation),
                None => groups.push(Group { name: name.to_owned(), operations: vec![operation] }),
            }
        }
    }
    let place = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    groups.sort_by(|one, other| {
        (place(&one.name), &one.name).cmp(&(place(&other.name), &other.name))
    });
    groups
}

impl Operation {
    fn new(document: Document<'_>, path: &str, method: &str, item: &Value) -> Self {
        let operation = &item[method];
        let own_server = item["servers"][0]["url"].as_str();
        let server = own_server.or(document.0["servers"][0]["url"].as_str()).unwrap_or_default();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<_> = parameters.map(|one| document.resolve(one)).collect();
        let body = Some(&operation["requestBody"]["content"]).filter(|content| content.is_object());
        let text = prose(&operation["summary"]);
        let (summary, note) = text.split_once(". ").unwrap_or((&text, ""));
        Self {
            id: operation["operationId"].as_str().unwrap_or_default().to_owned(),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: summary.trim_end_matches('.').to_owned(),
            note: note.to_owned(),
            is_geo: own_server.is_some(),
            scope: operation["security"][0]["token"][0].as_str().map(str::to_owned),
            curl: curl(document, operation, method, &example_url(server, path, &parameters)),
            parameters: parameters.into_iter().map(Parameter::new).collect(),
            body: body.map(|content| Body::new(document, content)),
            replies: replies(document, operation),
            response: example_response(operation),
        }
    }
}

impl Parameter {
    fn new(parameter: &Value) -> Self {
        let text = |name: &str| parameter[name].as_str().unwrap_or_default().to_owned();
        let mut limits = Limits::new(&parameter["schema"]);
        limits.example =
            limits.example.or_else(|| parameter["example"].as_str().map(str::to_owned));
        let field = Field {
            name: text("name"),
            kind: kind(&parameter["schema"]),
            is_required: parameter["required"] == true,
            description: prose(&parameter["description"]),
            limits,
        };
        Self { location: text("in"), field }
    }
}

impl Body {
    fn new(document: Document<'_>, content: &Value) -> Self {
        let content = content.as_object().into_iter().flatten();
        let (media_types, schemas): (Vec<_>, Vec<_>) =
            content.map(|(media_type, content)| (media_type.clone(), &content["schema"])).unzip();
        let schema = schemas.first().copied().unwrap_or(&Value::Null);
        let schema_name = schema["$ref"].as_str().and_then(|target| target.rsplit('/').next());
        let fields = schema_name.map(|name| document.schema_fields(name)).unwrap_or_default();
        Self { media_types, kind: kind(schema), fields }
    }
}

fn replies(document: Document<'_>, operation: &Value) -> Vec<Reply> {
    let responses = operation["responses"].as_object().into_iter().flatten();
    let reply = |(status, response): (&String, &Value)| {
        let response = document.resolve(response);
        let content = response["content"].as_object().and_then(|content| content.iter().next());
        let headers = response["headers"].as_object().into_iter().flatten();
        Reply {
            status: status.clone(),
            description: prose(&response["description"]),
            kind: match content {
                Some((_, content)) if content["schema"].is_object() => kind(&content["schema"]),
                Some((media_type, _)) => format!("<code>{}</code>", escape_html(media_type)),
                None => String::new(),
            },
            headers: headers.map(|(name, _)| name.clone()).collect(),
        }
    };
    let mut replies: Vec<_> = responses.map(reply).collect();
    replies.sort_by(|one, other| one.status.cmp(&other.status));
    replies
}

/// The example of the body of a successful response.
fn example_response(operation: &Value) -> Option<String> {
    let content = operation["responses"]["200"]["content"].as_object()?;
    Some(match content.values().find_map(|content| content.get("example"))? {
        Value::String(text) => text.trim_end().to_owned(),
        example => serde_json::to_string_pretty(example).unwrap_or_default(),
    })
}

/// The address of an operation with examples for the parameters of its path.
fn example_url(server: &str, path: &str, parameters: &[&Value]) -> String {
    let mut url = format!("{server}{path}");
    for parameter in parameters.iter().filter(|parameter| parameter["in"] == "path") {
        let name = parameter["name"].as_str().unwrap_or_default();
        let example = match (&parameter["example"], &parameter["schema"]["minimum"]) {
            (Value::Null, Value::Null) => name.to_uppercase(),
            (Value::Null, least) => plain(least),
            (example, _) => plain(example),
        };
        url = url.replace(&format!("{{{name}}}"), &example);
    }
    url
}

/// A command that calls an operation, for a shell with the token in the variable `TOKEN`.
fn curl(document: Document<'_>, operation: &Value, method: &str, url: &str) -> String {
    let mut lines = vec!["-H \"Authorization: Bearer $TOKEN\"".to_owned()];
    let content = operation["requestBody"]["content"].as_object();
    // With a body, curl sends a POST by itself.
    let implied = if content.is_some() { "post" } else { "get" };
    if method != implied {
        lines.insert(0, format!("-X {}", method.to_uppercase()));
    }
    if let Some((media_type, content)) = content.and_then(|content| content.iter().next()) {
        let example = &document.resolve(&content["schema"])["example"];
        lines.push(format!("-H \"Content-Type: {media_type}\""));
        lines.push(format!("-d '{}'", example.to_string().replace('\'', "'\\''")));
    }
    let reply = operation["responses"]["200"]["content"].as_object();
    if reply.is_some_and(|content| content.keys().any(|kind| kind.contains("vector-tile"))) {
        lines.push("-o tile.mvt".to_owned());
    }
    lines.push(format!("\"{url}\""));
    format!("curl {}", lines.join(" \\\n     "))
}

/// A scope with the operations that require it.
pub(super) struct Scope {
    pub(super) name: String,
    /// The ids and the summaries of the operations.
    pub(super) operations: Vec<(String, String)>,
}

impl Scope {
    pub(super) fn list(groups: &[Group]) -> Vec<Self> {
        let mut scopes: Vec<Self> = Vec::new();
        for operation in groups.iter().flat_map(|group| &group.operations) {
            let Some(name) = &operation.scope else { continue };
            let link = (operation.id.clone(), operation.summary.clone());
            match scopes.iter_mut().find(|scope| scope.name == *name) {
                Some(scope) => scope.operations.push(link),
                None => scopes.push(Self { name: name.clone(), operations: vec![link] }),
            }
        }
        scopes
    }
}

/// An error that operations share.
pub(super) struct ErrorResponse {
    pub(super) status: String,
    pub(super) description: String,
    pub(super) example: String,
}

impl ErrorResponse {
    pub(super) fn list(document: Document<'_>) -> Vec<Self> {
        let responses = document.0["components"]["responses"].as_object().into_iter().flatten();
        let error = |(_, response): (&String, &Value)| {
            let example = &response["content"]["application/json"]["example"];
            let example = Some(example).filter(|example| example.is_object())?;
            Some(Self {
                status: plain(&example["statusCode"]),
                description: prose(&response["description"]),
                example: serde_json::to_string_pretty(example).unwrap_or_default(),
            })
        };
        let mut errors: Vec<_> = responses.filter_map(error).collect();
        errors.sort_by(|one, other| one.status.cmp(&other.status));
        errors
    }
}

/// What a webhook endpoint receives.
pub(super) struct Webhooks {
    /// The names of the events, and the types of their bodies.
    pub(super) events: Vec<(String, String)>,
    pub(super) headers: Vec<Field>,
    pub(super) replies: Vec<Reply>,
}

impl Webhooks {
    pub(super) fn new(document: Document<'_>) -> Self {
        let webhooks = document.0["webhooks"].as_object().into_iter().flatten();
        let mut section = Self { events: Vec::new(), headers: Vec::new(), replies: Vec::new() };
        for (event, item) in webhooks {
            let operation = &item["post"];
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            section.events.push((event.clone(), kind(schema)));
            // All events have the same headers and responses.
            if section.headers.is_empty() {
                let headers = operation["parameters"].as_array().into_iter().flatten();
                section.headers = headers.map(|header| Parameter::new(header).field).collect();
                section.replies = replies(document, operation);
            }
        }
        section
    }
}
