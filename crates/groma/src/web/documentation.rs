//! The API documentation at `/docs/`: a page drawn from the OpenAPI document, in the look of the
//! application. It needs neither a session nor scripts.

mod operation;
mod schema;

use super::{Shared, i18n::Localizer, page::html, request_context::RequestContext};
use crate::http::{Encoding, HttpError, compress, security_headers};
use askama::Template;
use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use operation::{ErrorResponse, Group, Scope, Webhooks};
use schema::{Document, Field, Schema};
use serde_json::Value;
use std::sync::Arc;

/// The content of the page, which is the same in every language.
struct Reference {
    version: String,
    description: String,
    authentication: String,
    groups: Vec<Group>,
    scopes: Vec<Scope>,
    error_fields: Vec<Field>,
    errors: Vec<ErrorResponse>,
    webhooks: Webhooks,
    schemas: Vec<Schema>,
}

impl Reference {
    fn new(openapi: &Value) -> Self {
        let document = Document(openapi);
        let groups = operation::groups(document);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            version: text(&openapi["info"]["version"]),
            description: schema::prose(&openapi["info"]["description"]),
            authentication: schema::prose(
                &openapi["components"]["securitySchemes"]["token"]["description"],
            ),
            scopes: Scope::list(&groups),
            groups,
            error_fields: document.schema_fields("Error"),
            errors: ErrorResponse::list(document),
            webhooks: Webhooks::new(document),
            schemas: document.schemas(),
        }
    }
}

#[derive(Template)]
#[template(path = "documentation.html")]
struct Page<'a> {
    t: Localizer,
    theme: &'a str,
    service: &'a str,
    /// Whether this server has the web application.
    has_application: bool,
    openapi_path: &'a str,
    reference: &'a Reference,
}

struct Documentation {
    web: Shared,
    has_application: bool,
    openapi_path: String,
    reference: Reference,
}

/// The route of the documentation of this OpenAPI document, which is served at `openapi_path`.
pub(crate) fn router(
    web: &Shared,
    openapi: &Value,
    openapi_path: String,
    has_application: bool,
) -> Router {
    let documentation = Arc::new(Documentation {
        web: web.clone(),
        has_application,
        openapi_path,
        reference: Reference::new(openapi),
    });
    let page = async move |request: Request| documentation.respond(request).await;
    Router::new()
        .route("/docs", get(async || Redirect::permanent("/docs/")))
        .route("/docs/", get(page))
}

impl Documentation {
    async fn respond(&self, request: Request) -> Response {
        let encoding = Encoding::preferred(request.headers());
        let (parts, _) = request.into_parts();
        // The page works without the database, which only knows the preferences of the user.
        let context = RequestContext::read(&self.web, &parts).await.ok();
        let page = Page {
            t: context.as_ref().map_or_else(|| Localizer::for_request(&parts.headers), |c| c.t),
            theme: context.as_ref().map_or("", RequestContext::theme),
            service: &self.web.title,
            has_application: self.has_application,
            openapi_path: &self.openapi_path,
            reference: &self.reference,
        };
        let Ok(content) = page.render() else {
            return HttpError::internal("the documentation cannot be rendered").into_response();
        };
        let mut response = html(StatusCode::OK, content);
        let vary = HeaderValue::from_static("Accept-Language, Cookie");
        response.headers_mut().insert(header::VARY, vary);
        let mut response = compress(encoding, response).await;
        security_headers::secure(&mut response, self.web.is_secure, &[]);
        response
    }
}
