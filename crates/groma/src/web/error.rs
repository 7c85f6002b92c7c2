//! Error pages. What the user reads and what the log says are separate.
//!
//! A [`WebError`] becomes a response in two steps: the handler's response only carries it, and [`render`]
//! writes the page or the JSON, because only the middleware knows the language and the request.

use super::{
    assets,
    i18n::{Localizer, MessageId, id},
};
use crate::http::{ErrorCause, RequestId, security_headers};
use askama::Template;
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::DomainError;

/// An error on its way to a user of the pages.
#[derive(Clone, Debug)]
pub(crate) struct WebError {
    status: StatusCode,
    text: Text,
    cause: Option<String>,
}

#[derive(Clone, Debug)]
enum Text {
    Message(MessageId),
    /// The user's role does not suffice; the role that would.
    MissingRole(String),
    /// A sentence of the domain, in English.
    Sentence(String),
    /// The server failed: what to say depends on the request.
    Internal,
}

impl WebError {
    fn new(status: StatusCode, message: MessageId) -> Self {
        Self { status, text: Text::Message(message), cause: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, id("error-not-found"))
    }

    pub(crate) fn bad_request(message: MessageId) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// A bad request, explained by a sentence of the domain.
    pub(crate) fn invalid(sentence: impl Into<String>) -> Self {
        let text = Text::Sentence(sentence.into());
        Self { status: StatusCode::BAD_REQUEST, text, cause: None }
    }

    pub(crate) fn forbidden(message: MessageId) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn login_required() -> Self {
        Self::forbidden(id("error-login-required"))
    }

    pub(crate) fn too_many(message: MessageId) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, message)
    }

    pub(crate) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, id("error-too-large"))
    }

    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let (status, cause) = (StatusCode::INTERNAL_SERVER_ERROR, Some(cause.into()));
        Self { status, text: Text::Internal, cause }
    }

    /// The user's role does not suffice.
    pub(crate) fn missing_role(error: &DomainError) -> Self {
        let text = match error {
            DomainError::Forbidden { required_role } => {
                Text::MissingRole(required_role.to_string())
            }
            other => Text::Sentence(sentence(other)),
        };
        Self { status: StatusCode::FORBIDDEN, text, cause: None }
    }
}

impl From<groma_store::Error> for WebError {
    fn from(error: groma_store::Error) -> Self {
        match error.domain_error() {
            Some(DomainError::NotFound { .. }) => Self::not_found(),
            Some(error @ DomainError::Forbidden { .. }) => Self::missing_role(error),
            Some(error @ DomainError::Conflict { .. }) => {
                let text = Text::Sentence(sentence(error));
                Self { status: StatusCode::CONFLICT, text, cause: None }
            }
            Some(error) => Self::invalid(sentence(error)),
            None => Self::internal(error.to_string()),
        }
    }
}

impl From<askama::Error> for WebError {
    fn from(error: askama::Error) -> Self {
        Self::internal(error.to_string())
    }
}

/// A domain error as a sentence.
fn sentence(error: &DomainError) -> String {
    let text = super::fields::capitalize(&error.to_string());
    if text.ends_with('.') { text } else { format!("{text}.") }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// What an error page needs to know of the request.
pub(super) struct ErrorContext {
    t: Localizer,
    is_read: bool,
    wants_json: bool,
    request_id: Option<String>,
}

impl ErrorContext {
    pub(super) fn new(request: &Request) -> Self {
        let request_id = request.extensions().get::<RequestId>();
        Self {
            t: Localizer::for_request(request.headers()),
            is_read: matches!(*request.method(), Method::GET | Method::HEAD),
            wants_json: wants_json(request.headers()),
            request_id: request_id.and_then(|id| id.0.to_str().ok()).map(str::to_owned),
        }
    }

    fn message(&self, text: &Text) -> String {
        let t = self.t;
        match text {
            Text::Message(id) => t.msg(*id).into(),
            Text::MissingRole(role) => t.msg("error-missing-role").arg("role", role).into(),
            Text::Sentence(sentence) => sentence.clone(),
            Text::Internal if self.is_read => t.msg("error-internal-read").into(),
            // The commit may have succeeded before the error.
            Text::Internal => t.msg("error-internal-change").into(),
        }
    }
}

/// Whether a script made the request: it cannot show a page.
fn wants_json(headers: &HeaderMap) -> bool {
    let is_json = |name| {
        let value: Option<&HeaderValue> = headers.get(name);
        value.and_then(|value| value.to_str().ok()).is_some_and(|text| text.contains("json"))
    };
    is_json(header::ACCEPT) || is_json(header::CONTENT_TYPE)
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    t: Localizer,
    css: String,
    icon: String,
    code: u16,
    title: String,
    message: String,
    /// For the report of an internal error.
    request_id: Option<String>,
}

/// Turns a response that carries a [`WebError`] into a page, or into JSON for scripts. Others stay as
/// they are.
pub(super) fn render(mut response: Response, context: &ErrorContext) -> Response {
    let Some(WebError { status, text, cause }) = response.extensions_mut().remove::<WebError>()
    else {
        return response;
    };
    let message = context.message(&text);
    let (content_type, body) = if context.wants_json {
        ("application/json", serde_json::json!({ "message": message }).to_string())
    } else {
        ("text/html; charset=utf-8", page(context, status, message))
    };
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(cause) = cause {
        response.extensions_mut().insert(ErrorCause(cause));
    }
    security_headers::mark(&mut response);
    response
}

fn page(context: &ErrorContext, status: StatusCode, message: String) -> String {
    let t = context.t;
    let title = match status {
        StatusCode::NOT_FOUND => t.msg("error-title-not-found"),
        StatusCode::FORBIDDEN => t.msg("error-title-forbidden"),
        StatusCode::CONFLICT => t.msg("error-title-conflict"),
        StatusCode::TOO_MANY_REQUESTS => t.msg("error-title-too-many"),
        status if status.is_server_error() => t.msg("error-title-internal"),
        _ => t.msg("error-title-bad-request"),
    };
    let page = ErrorPage {
        t,
        css: assets::url("app.css"),
        icon: assets::url("icon.svg"),
        code: status.as_u16(),
        title: title.to_string(),
        message,
        request_id: context.request_id.clone().filter(|_| status.is_server_error()),
    };
    page.render().unwrap_or_else(|_| title.to_string())
}
