//! The OpenAPI document, generated from the list of routes and completed with what they share.

mod webhooks;

use super::{ApiState, geo_routes, main_routes};
use crate::{
    http::{
        ErrorBody, ErrorDetail, ResponseOptions,
        security_headers::{origin, secure_documentation},
    },
    settings::Settings,
};
use axum::{Router, middleware, response::Response, routing::MethodRouter};
use bytes::Bytes;
use groma_domain::{
    Kind, Person, Reference, Scope,
    list::{DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE, MAX_TERM},
};
use groma_geo::grid::TileId;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ComponentsBuilder, InfoBuilder, OpenApi, Paths},
};

const DESCRIPTION: &str = "Read project records by personal access token. Every request needs \
    `Authorization: Bearer <token>`; a token is made in the web application under Settings > API Tokens, \
    or with `groma token create`. Lists have `page`, `limit` and `term`, and come in an envelope.";

/// The document of the public API with these settings.
pub(crate) fn document(settings: &Settings) -> Value {
    let requests_per_minute = settings.limits.requests_per_minute;
    let description = match requests_per_minute {
        0 => DESCRIPTION.to_owned(),
        limit => format!("{DESCRIPTION} Each token can send {limit} requests per minute."),
    };
    let mut paths = Paths::new();
    let mut schemas = vec![
        (ErrorBody::name().into_owned(), ErrorBody::schema()),
        (ErrorDetail::name().into_owned(), ErrorDetail::schema()),
        (Person::name().into_owned(), Person::schema()),
    ];
    let mut routes = Vec::new();
    let main = main_routes().into_iter().map(|route| (false, route));
    let geo = geo_routes().into_iter().map(|route| (true, route));
    for (is_geo, route) in main.chain(geo) {
        let keys = route.paths.paths.keys();
        routes.extend(keys.map(|path| (path.clone(), route.scope, is_geo)));
        paths.merge(route.paths);
        schemas.extend(route.schemas);
    }
    let info = InfoBuilder::new()
        .title("Groma public API")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(description))
        .build();
    let mut document = OpenApi::new(info, paths);
    document.components = Some(ComponentsBuilder::new().schemas_from_iter(schemas).build());
    // Plain data always serialises.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["servers"] =
        json!([{ "url": settings.server.public_url(), "description": "Main API" }]);
    let components = &mut document["components"];
    components["securitySchemes"] = json!({ "token": {
        "type": "http", "scheme": "bearer", "bearerFormat": format!("{}_ and 48 hexadecimal characters", settings.service.token_prefix.as_str()),
        "description": "A personal access token, made under Settings > API Tokens." } });
    components["schemas"]["GeoJson"] = geojson_schema();
    webhooks::add_schemas(&mut components["schemas"], settings.webhooks.allow_http);
    components["responses"] = shared_responses(requests_per_minute);
    components["headers"] = shared_headers();
    components["parameters"] = shared_parameters();
    for (name, schema) in components["schemas"].as_object_mut().into_iter().flatten() {
        require_all(name, schema);
        if let Some(item) = name.strip_prefix("Envelope_") {
            let item = format!("#/components/schemas/{item}");
            schema["properties"]["content"]["items"] = json!({ "$ref": item });
        }
    }
    for (path, scope, is_geo) in routes {
        let operations = document["paths"][&path].as_object_mut();
        for (method, operation) in operations.into_iter().flatten() {
            complete(operation, method, &path, scope);
        }
        if is_geo {
            document["paths"][&path]["servers"] =
                json!([{ "url": settings.server.geo_public_url(), "description": "Geo API" }]);
        }
    }
    document["webhooks"] = webhooks::section(settings.service.header_name());
    document
}

/// Every field is always present, but for these.
const OPTIONAL: [(&str, &str); 6] = [
    ("Error", "details"),
    ("TileJson", "description"),
    ("TileJson", "bounds"),
    ("NewWebhookEndpoint", "events"),
    ("NewWebhookEndpoint", "description"),
    ("NewWebhookEndpoint", "secret"),
];

fn require_all(name: &str, schema: &mut Value) {
    let Some(fields) = schema["properties"].as_object() else { return };
    let is_required = |field: &&String| !OPTIONAL.contains(&(name, field.as_str()));
    schema["required"] = fields.keys().filter(is_required).cloned().collect();
}

/// Writes into an operation what follows from its route.
fn complete(operation: &mut Value, method: &str, path: &str, scope: Option<Scope>) {
    let name = operation["operationId"].as_str().map(camel_case).unwrap_or_default();
    operation["operationId"] = json!(name);
    let reference =
        |group: &str, name: &str| json!({ "$ref": format!("#/components/{group}/{name}") });
    operation["parameters"] = if path.ends_with("{key}") {
        json!([key_parameter(path)])
    } else if path.contains("{id}") {
        let tile = ["z", "x", "y"].iter().filter(|_| path.contains("/mvt/")).copied();
        let names = std::iter::once("layer").chain(tile);
        names.map(|name| reference("parameters", name)).collect()
    } else if path.contains("/webhooks/") {
        json!([reference("parameters", "idempotencyKey")])
    } else if method == "post" {
        ["intoLayer", "folder", "assignment", "idempotencyKey"]
            .map(|name| reference("parameters", name))
            .to_vec()
            .into()
    } else {
        ["page", "limit", "term"].map(|name| reference("parameters", name)).to_vec().into()
    };
    operation["security"] =
        json!([{ "token": scope.iter().map(|scope| scope.name()).collect::<Vec<_>>() }]);
    if let Some(scope) = scope {
        operation["description"] = json!(format!("Needs the scope `{scope}`."));
    }
    let (gets, posts) = (method == "get", method == "post");
    let body = if path.contains("/webhooks/") { "NewWebhookEndpoint" } else { "GeoJson" };
    let sent = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
    for (_, sent) in sent.into_iter().flatten() {
        *sent = json!({ "schema": reference("schemas", body) });
    }
    if posts {
        operation["requestBody"]["required"] = json!(true);
    }
    let own: &[&str] = match method {
        "get" => &["ETag"],
        "post" => &["Idempotent-Replayed"],
        _ => &[],
    };
    let status = if method == "delete" { "204" } else { "200" };
    let success = &mut operation["responses"][status];
    if posts && path.contains("/webhooks/") {
        success["content"]["application/json"] =
            json!({ "schema": reference("schemas", "CreatedWebhookEndpoint") });
    }
    for (kind, answered) in
        success.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten()
    {
        if kind != "application/json" {
            *answered = json!({}); // bytes have no schema
        }
    }
    let shared =
        ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    success["headers"] = own
        .iter()
        .chain(&shared)
        .map(|name| ((*name).to_owned(), reference("headers", name)))
        .collect::<Map<_, _>>()
        .into();
    let mut add =
        |status: &str, name: &str| operation["responses"][status] = reference("responses", name);
    if gets {
        add("304", "NotModified");
    }
    add("400", "BadRequest");
    add("401", "Unauthorized");
    if scope.is_some() || posts {
        add("403", "Forbidden");
    }
    if path.contains('{') {
        add("404", "NotFound");
    }
    add("429", "TooManyRequests");
    add("500", "InternalServerError");
}

/// What may be posted, as far as a schema says it; the rest is in RFC 7946.
fn geojson_schema() -> Value {
    let types = [
        "Point",
        "MultiPoint",
        "LineString",
        "MultiLineString",
        "Polygon",
        "MultiPolygon",
        "GeometryCollection",
        "Feature",
        "FeatureCollection",
    ];
    json!({
        "type": "object",
        "description": "Any object of GeoJSON (RFC 7946)",
        "required": ["type"],
        "properties": { "type": { "type": "string", "enum": types } },
        "example": { "type": "Feature", "id": "AB-12", "properties": { "owner": "Mairie de Chêne" },
            "geometry": { "type": "Point", "coordinates": [2.0824, 47.6528] } },
    })
}

fn shared_responses(limit: u32) -> Value {
    let error = |description: &str, status: u16, reason: &str, message: &str| {
        json!({ "description": description, "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/Error" },
            "example": { "statusCode": status, "message": message, "error": reason } } } })
    };
    let mut unauthorized = error(
        "The token is missing, malformed, unknown, revoked or expired",
        401,
        "Unauthorized",
        "Unknown or revoked token",
    );
    unauthorized["headers"] =
        json!({ "WWW-Authenticate": { "schema": { "type": "string", "const": "Bearer" } } });
    let mut too_many = error(
        "The rate is used up",
        429,
        "Too Many Requests",
        &format!("Rate limit exceeded: {limit} requests per minute"),
    );
    too_many["headers"] = json!({ "Retry-After": {
        "description": "Seconds until one more request is accepted", "schema": { "type": "integer", "minimum": 1 } } });
    json!({
        "NotModified": { "description": "The client has it: `If-None-Match` named the current ETag" },
        "BadRequest": error("A parameter is out of bounds", 400, "Bad Request", "limit must be a whole number from 1 to 100"),
        "Unauthorized": unauthorized,
        "Forbidden": error("The token lacks the scope", 403, "Forbidden", "Token missing required scope: READ_FOLDER"),
        "NotFound": error("There is no such record in this workspace", 404, "Not Found", "folder `F-000123` not found"),
        "TooManyRequests": too_many,
        "InternalServerError": error("Something failed inside", 500, "Internal Server Error", "Internal server error"),
    })
}

fn shared_headers() -> Value {
    let header = |description: &str, kind: &str| json!({ "description": description, "schema": { "type": kind } });
    json!({
        "Idempotent-Replayed": header("`true` when an earlier answer is given again", "string"),
        "ETag": header("Hash of the answer; send it back in `If-None-Match`", "string"),
        "X-Request-Id": header("Names this request in the log", "string"),
        "X-RateLimit-Limit": header("Requests accepted in any 60 seconds", "integer"),
        "X-RateLimit-Remaining": header("Requests left now", "integer"),
        "X-RateLimit-Reset": header("Epoch seconds when one more is accepted", "integer"),
    })
}

fn shared_parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema });
    let path = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema });
    json!({
        "layer": path("id", "The layer's id", json!({ "type": "string", "format": "uuid" })),
        "z": path("z", "Zoom", json!({ "type": "integer", "minimum": 0, "maximum": TileId::MAX_ZOOM })),
        "x": path("x", "Column, from 0 to 2^z − 1", json!({ "type": "integer", "minimum": 0 })),
        "y": path("y", "Row, from 0 to 2^z − 1, from the north", json!({ "type": "integer", "minimum": 0 })),
        "intoLayer": query("layer", "The layer's id or slug; left out: the layer `submissions`, made when first needed",
            json!({ "type": "string" })),
        "folder": query("folder", "The folder that the geometries belong to, by id or reference", json!({ "type": "string" })),
        "assignment": query("assignment", "The assignment that the geometries belong to, by id or reference",
            json!({ "type": "string" })),
        "idempotencyKey": { "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "With the same key and body within 24 hours the first answer is given again",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" } },
        "page": query("page", "Page number",
            json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1 })),
        "limit": query("limit", "Items per page",
            json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT })),
        "term": query("term", "What the items must contain, without regard to case or accents",
            json!({ "type": "string", "maxLength": MAX_TERM })),
    })
}

/// The `:key` of a route, with a reference of its kind as the example.
fn key_parameter(path: &str) -> Value {
    if path.contains("/webhooks/") {
        return json!({ "name": "key", "in": "path", "required": true,
            "description": "The endpoint's id", "schema": { "type": "string", "format": "uuid" } });
    }
    let kind = Kind::ALL.into_iter().find(|kind| path.contains(kind.plural()));
    json!({
        "name": "key",
        "in": "path",
        "required": true,
        "description": "The record's id or its reference",
        "schema": { "type": "string", "minLength": 1 },
        "example": kind.map(|kind| Reference::made(kind, 123)),
    })
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1.min(word.len()));
        name + &head.to_uppercase() + tail
    })
}

/// The route of the document. It needs no token and does not count against the rate limit.
pub(super) fn document_route(document: &Value) -> MethodRouter<ApiState> {
    let body = Bytes::from(document.to_string());
    axum::routing::get(async move |options: ResponseOptions| options.json(body.clone()))
}

/// The documentation page at `/docs`. Its files are part of the program, so it works offline.
pub(super) fn documentation_page(document: &str, public_url: &str, geo_url: &str) -> Router {
    let config = utoipa_swagger_ui::Config::from(document.to_owned()).try_it_out_enabled(true);
    let page = Router::from(utoipa_swagger_ui::SwaggerUi::new("/docs").config(config));
    let is_https = public_url.starts_with("https://");
    let origins = [public_url, geo_url].map(|url| Arc::<str>::from(origin(url)));
    page.layer(middleware::map_response(move |mut response: Response| {
        let [main, geo] = origins.clone();
        async move {
            secure_documentation(&mut response, is_https, &[&main, &geo]);
            response
        }
    }))
}
