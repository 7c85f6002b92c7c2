//! The OpenAPI document, generated from the list of routes and completed with what they share.

mod examples;
mod lists;
mod webhooks;
mod writes;

use super::{ApiState, changes, features, geo_routes, main_routes};
use crate::{
    http::{ErrorBody, ErrorDetail, ResponseOptions},
    settings::Settings,
};
use axum::routing::MethodRouter;
use bytes::Bytes;
use groma_domain::{
    Kind, Person, Reference, Scope,
    list::{DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE, MAX_TERM},
};
use groma_geo::grid::TileId;
use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ComponentsBuilder, InfoBuilder, OpenApi, Paths},
};

const DESCRIPTION: &str = "Read and write the records of a workspace, post geometries, and manage webhook endpoints. \
    Every request needs a personal access token: `Authorization: Bearer <token>`. To create a token, open \
    Settings > API Tokens in the web application, or run `groma token create`. Lists take `page` or `cursor`, \
    `limit` and `term`, and return an envelope; lists of records also have filters and `sort`.";

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
        routes.extend(keys.map(|path| (path.clone(), route.method, route.scope, is_geo)));
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
    // Plain data always serializes.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["servers"] =
        json!([{ "url": settings.server.public_url(), "description": "Main API" }]);
    let components = &mut document["components"];
    components["securitySchemes"] = json!({ "token": {
        "type": "http", "scheme": "bearer", "bearerFormat": format!("{}_ and 48 hexadecimal characters", settings.service.token_prefix.as_str()),
        "description": "A personal access token, created under Settings > API Tokens." } });
    components["schemas"]["GeoJson"] = geojson_schema();
    webhooks::add_schemas(&mut components["schemas"], settings.webhooks.allow_http);
    components["responses"] = shared_responses(requests_per_minute);
    components["headers"] = shared_headers();
    components["parameters"] = shared_parameters();
    writes::add_parameters(&mut components["parameters"]);
    for (name, schema) in components["schemas"].as_object_mut().into_iter().flatten() {
        require_fields(name, schema);
        if let Some(item) = name.strip_prefix("Envelope_") {
            let item = format!("#/components/schemas/{item}");
            schema["properties"]["content"]["items"] = json!({ "$ref": item });
        }
    }
    writes::add_schemas(&mut components["schemas"]);
    webhooks::add_request_schemas(&mut components["schemas"]);
    let (schemas, responses) =
        (document["components"]["schemas"].clone(), examples::of_responses());
    for (path, method, scope, is_geo) in routes {
        let operation = &mut document["paths"][&path][method];
        complete_operation(operation, method, &path, scope);
        examples::add(operation, (method, &path), &schemas, &responses);
        if is_geo {
            document["paths"][&path]["servers"] =
                json!([{ "url": settings.server.geo_public_url(), "description": "Geo API" }]);
        }
    }
    document["webhooks"] = webhooks::section(settings.service.header_name());
    document
}

/// The fields that may be missing. All others are always present.
const OPTIONAL_FIELDS: [(&str, &str); 12] = [
    ("Error", "details"),
    ("TileJson", "description"),
    ("TileJson", "bounds"),
    ("TileJson", "center"),
    ("LayerStats", "geometry"),
    ("AttributeStats", "values"),
    ("AttributeStats", "min"),
    ("AttributeStats", "max"),
    ("NewWebhookEndpoint", "events"),
    ("NewWebhookEndpoint", "description"),
    ("NewWebhookEndpoint", "secret"),
    ("NewWebhookEndpoint", "filter"),
];

fn require_fields(name: &str, schema: &mut Value) {
    let Some(fields) = schema["properties"].as_object() else { return };
    let is_required = |field: &&String| !OPTIONAL_FIELDS.contains(&(name, field.as_str()));
    schema["required"] = fields.keys().filter(is_required).cloned().collect();
}

/// Adds what follows from the route of an operation.
fn complete_operation(operation: &mut Value, method: &str, path: &str, scope: Option<Scope>) {
    let name = operation["operationId"].as_str().map(camel_case).unwrap_or_default();
    operation["operationId"] = json!(name);
    operation["parameters"] = parameters(method, path);
    operation["security"] =
        json!([{ "token": scope.iter().map(|scope| scope.name()).collect::<Vec<_>>() }]);
    if path.contains("/changes") {
        operation["description"] = json!(
            "Requires the scope to read one of the kinds; kinds that the token \
            may not read are left out. Geometries and layers need no scope."
        );
    }
    if let Some(scope) = scope {
        operation["description"] = json!(format!("Requires the scope `{scope}`."));
    }
    let write = writes::route(method, path);
    let is_webhook = path.contains("/webhooks/");
    if method == "post" && write.is_none() && !is_webhook {
        let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for (_, content) in content.into_iter().flatten() {
            *content = json!({ "schema": reference("schemas", "GeoJson") });
        }
        operation["requestBody"]["required"] = json!(true);
    }
    complete_success(operation, method, path);
    if let Some((write, resource)) = write {
        writes::complete(operation, write, resource);
    }
    webhooks::complete(operation, method, path);
    let mut add =
        |status: &str, name: &str| operation["responses"][status] = reference("responses", name);
    if method == "get" && !path.ends_with("/stream") {
        add("304", "NotModified");
    }
    add("400", "BadRequest");
    add("401", "Unauthorized");
    let is_feed = path.contains("/changes");
    if scope.is_some() || method != "get" || is_feed {
        add("403", "Forbidden");
    }
    if path.contains('{') || path.ends_with("/bulk") {
        add("404", "NotFound");
    }
    if method == "delete" && path.contains("/geometries/") {
        add("409", "LayerLocked");
        add("412", "PreconditionFailed");
    }
    add("429", "TooManyRequests");
    add("500", "InternalServerError");
}

fn reference(group: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{group}/{name}") })
}

fn parameters(method: &str, path: &str) -> Value {
    if let Some(parameters) = webhooks::parameters(method, path) {
        return parameters;
    }
    let write = writes::route(method, path);
    let names: &[&str] = if path.contains("{key}") {
        let shared = match write {
            Some((write, resource)) => writes::parameters(write, resource),
            None if method == "delete" => &["ifMatch"],
            None => &[],
        };
        let shared = shared.iter().map(|name| reference("parameters", name));
        return std::iter::once(key_parameter(path)).chain(shared).collect();
    } else if let Some((write, resource)) = write {
        writes::parameters(write, resource)
    } else if path.ends_with("/me") {
        &[]
    } else if path.ends_with("/changes") {
        &["after", "kinds", "changeLimit", "wait"]
    } else if path.ends_with("/changes/stream") {
        &["after", "kinds", "lastEventId"]
    } else if path.contains("/mvt/") {
        &["layer", "z", "x", "y"]
    } else if path.ends_with("/features") {
        &["layer", "featureLimit", "cursor", "bbox", "folder", "assignment", "updatedSince"]
    } else if path.ends_with("{feature}") {
        &["layer", "feature"]
    } else if path.contains("{id}") {
        &["layer"]
    } else if method == "post" {
        &["intoLayer", "folder", "assignment", "idempotencyKey"]
    } else {
        return lists::parameters(path).into();
    };
    names.iter().map(|name| reference("parameters", name)).collect()
}

/// Completes the response of a successful request.
fn complete_success(operation: &mut Value, method: &str, path: &str) {
    let status = if method == "delete" { "204" } else { "200" };
    let success = &mut operation["responses"][status];
    let content = success.get_mut("content").and_then(Value::as_object_mut);
    for (media_type, content) in content.into_iter().flatten() {
        *content = match media_type.as_str() {
            "application/json" => continue,
            "application/geo+json" => json!({ "schema": reference("schemas", "GeoJson") }),
            // Binary data has no schema.
            _ => json!({}),
        };
    }
    let own: &[&str] = match method {
        "get" if path.ends_with("/features") => &["ETag", "NextLink"],
        "get" if is_list(path) => &["ETag", "Link"],
        "get" if path.ends_with("/stream") => &[],
        "get" => &["ETag"],
        "post" => &["Idempotent-Replayed"],
        "patch" => &[],
        _ => &[],
    };
    let shared =
        ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    success["headers"] = own
        .iter()
        .chain(&shared)
        .map(|name| (name.replace("NextLink", "Link"), reference("headers", name)))
        .collect::<Map<_, _>>()
        .into();
}

/// Whether a route returns an envelope.
fn is_list(path: &str) -> bool {
    let lists = [
        "folders",
        "assignments",
        "expenses",
        "budgets",
        "statuses",
        "layers",
        "members",
        "endpoints",
        "deliveries",
    ];
    path.rsplit('/').next().is_some_and(|name| lists.contains(&name))
}

/// The outline of a GeoJSON body; RFC 7946 has the rest.
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
        "description": "Any GeoJSON object (RFC 7946)",
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
        "The rate limit is exceeded",
        429,
        "Too Many Requests",
        &format!("Rate limit exceeded: {limit} requests per minute"),
    );
    too_many["headers"] = json!({ "Retry-After": {
        "description": "Seconds until the next request is accepted", "schema": { "type": "integer", "minimum": 1 } } });
    json!({
        "NotModified": { "description": "`If-None-Match` contains the current ETag" },
        "BadRequest": error("A parameter or the body is invalid", 400, "Bad Request", "limit must be a whole number from 1 to 100"),
        "Unauthorized": unauthorized,
        "Forbidden": error("The token does not have the required scope, or its owner does not have the required role", 403, "Forbidden", "Token missing required scope: READ_FOLDER"),
        "NotFound": error("Not found in this workspace", 404, "Not Found", "folder `F-000123` not found"),
        "Conflict": error("A unique value is taken, several records match, or the state of other records forbids the change", 409, "Conflict", "/reference: `F-000123` is already in use"),
        "PreconditionFailed": error("`If-Match` does not match, or `ifVersion` is another version", 412, "Precondition Failed", "folder `F-000123` has changed since it was read"),
        "WebhookConflict": error("The state of the endpoint or delivery forbids the request", 409, "Conflict", "webhook endpoint is disabled; enable it first"),
        "LayerLocked": error("The layer is locked", 409, "Conflict", "layer `parcels` is locked; unlock it to change its features"),
        "TooManyRequests": too_many,
        "InternalServerError": error("An internal error; the log has its cause under the request id", 500, "Internal Server Error", "Internal server error"),
    })
}

fn shared_headers() -> Value {
    let header = |description: &str, kind: &str| json!({ "description": description, "schema": { "type": kind } });
    json!({
        "Idempotent-Replayed": header("`true` if this is the stored response to an earlier request with the same key", "string"),
        "Link": header("The first, previous, next and last page, with `rel=\"first\"`, `prev`, `next` and `last`", "string"),
        "NextLink": header("The next page, with `rel=\"next\"`; missing on the last page", "string"),
        "X-Groma-Result": header("`created`, `updated` or `unchanged`; only with `match`", "string"),
        "ETag": header("Hash of the response; send it in `If-None-Match`", "string"),
        "X-Request-Id": header("Identifies this request in the log", "string"),
        "X-RateLimit-Limit": header("Requests accepted in any 60 seconds", "integer"),
        "X-RateLimit-Remaining": header("Requests left in the current window", "integer"),
        "X-RateLimit-Reset": header("Unix time in seconds when the next request is accepted", "integer"),
    })
}

fn shared_parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "required": false, "description": description, "schema": schema });
    let path = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema });
    json!({
        "layer": path("id", "Id or slug of the layer", json!({ "type": "string", "minLength": 1 })),
        "feature": path("feature", "Id of the feature, or its integer id in tiles", json!({ "type": "string", "minLength": 1 })),
        "featureLimit": query("limit", "Features per page",
            json!({ "type": "integer", "minimum": 1, "maximum": features::MAX_LIMIT, "default": features::DEFAULT_LIMIT })),
        "cursor": query("cursor", "From the link to the next page", json!({ "type": "string" })),
        "bbox": query("bbox", "West, south, east and north in degrees, separated by commas. Only features that meet this box",
            json!({ "type": "string", "example": "2.08,47.65,2.09,47.66" })),
        "updatedSince": query("updatedSince", "Only features that changed at this time or later",
            json!({ "type": "string", "format": "date-time" })),
        "deliveryStatus": query("status", "Only deliveries with this status",
            json!({ "type": "string", "enum": groma_domain::webhook::DeliveryStatus::ALL })),
        "event": query("event", "Only deliveries of this event", json!({ "type": "string", "example": "folder.updated" })),
        "after": query("after", "Cursor to continue after, or `now`. Default: from the oldest change",
            json!({ "type": "string" })),
        "kinds": query("kinds", "What to read, separated by commas: `folder`, `assignment`, `expense`, `budget`, `geometry`, `layer`. Default: the first four",
            json!({ "type": "string", "example": "folder,geometry" })),
        "changeLimit": query("limit", "Changes per page",
            json!({ "type": "integer", "minimum": 1, "maximum": changes::MAX_LIMIT, "default": changes::DEFAULT_LIMIT })),
        "wait": query("wait", "Seconds to wait for a change if there is none",
            json!({ "type": "integer", "minimum": 0, "maximum": changes::MAX_WAIT, "default": 0 })),
        "lastEventId": { "name": "Last-Event-ID", "in": "header", "required": false,
            "description": "Cursor to continue after, as browsers send it when they connect again. Replaces `after`",
            "schema": { "type": "string" } },
        "z": path("z", "Zoom level", json!({ "type": "integer", "minimum": 0, "maximum": TileId::MAX_ZOOM })),
        "x": path("x", "Tile column, 0 to 2^z − 1", json!({ "type": "integer", "minimum": 0 })),
        "y": path("y", "Tile row, 0 to 2^z − 1, from north to south", json!({ "type": "integer", "minimum": 0 })),
        "intoLayer": query("layer", "Id or slug of the layer. Default: the layer `submissions`, which is created if necessary",
            json!({ "type": "string" })),
        "folder": query("folder", "Id or reference of the folder of the geometries", json!({ "type": "string" })),
        "assignment": query("assignment", "Id or reference of the assignment of the geometries",
            json!({ "type": "string" })),
        "idempotencyKey": { "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Makes a retry safe: a request with the same key and body within 24 hours returns the first response again",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" } },
        "listCursor": lists::cursor(),
        "page": query("page", "Page number",
            json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1 })),
        "limit": query("limit", "Items per page",
            json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT })),
        "term": query("term", "Text that the items must contain, ignoring case and accents",
            json!({ "type": "string", "maxLength": MAX_TERM })),
    })
}

/// The `{key}` of a route, with a reference of the right kind as the example.
fn key_parameter(path: &str) -> Value {
    let of = match path.split('/').nth(4) {
        Some("statuses") => "status",
        _ => "geometry",
    };
    if path.contains("/geometries/") || path.contains("/statuses/") {
        return json!({ "name": "key", "in": "path", "required": true,
            "description": format!("Id of the {of}"), "schema": { "type": "string", "format": "uuid" } });
    }
    let kind = Kind::ALL.into_iter().find(|kind| path.contains(kind.plural()));
    json!({
        "name": "key",
        "in": "path",
        "required": true,
        "description": "Id or reference of the record",
        "schema": { "type": "string", "minLength": 1 },
        "example": kind.map(|kind| Reference::generated(kind, 123)),
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
