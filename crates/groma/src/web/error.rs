//! Pages that say what went wrong. What the log is told is another thing.

use super::assets;
use crate::http::{ErrorCause, security_headers};
use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::Refusal;

/// On a page that says what went wrong: the same in a sentence, for scripts.
#[derive(Clone)]
pub(super) struct Said(String);

impl Said {
    /// Turns such a page into JSON.
    pub(super) fn as_json(response: Response) -> Response {
        let Some(Self(message)) = response.extensions().get::<Self>().cloned() else {
            return response;
        };
        let cause = response.extensions().get::<ErrorCause>().map(|cause| cause.0.clone());
        WebError { status: response.status(), message, cause }.json()
    }
}

/// An error on its way to someone who looks at pages.
#[derive(Debug)]
pub(crate) struct WebError {
    status: StatusCode,
    message: String,
    cause: Option<String>,
}

impl WebError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), cause: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "There is nothing at this address. It may have been deleted, or it is in another workspace.",
        )
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn too_many(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, message)
    }

    pub(crate) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "That is more than fits into one request.")
    }

    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let mut error = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong here, not with you. Nothing was changed; try again in a moment.",
        );
        error.cause = Some(cause.into());
        error
    }

    /// What is said to someone whose role is not enough.
    pub(crate) fn needs(refusal: &Refusal) -> Self {
        let message = match refusal {
            Refusal::Forbidden { needs } => format!(
                "This needs the role {needs}. Ask an administrator of the workspace if you should have it."
            ),
            other => other.to_string(),
        };
        Self::forbidden(message)
    }

    /// As JSON, for the scripts of the pages.
    fn json(self) -> Response {
        let body = serde_json::json!({ "message": self.message }).to_string();
        let mut response = (self.status, body).into_response();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(ErrorCause(cause));
        }
        response
    }
}

impl From<groma_store::Error> for WebError {
    fn from(error: groma_store::Error) -> Self {
        match error.refusal() {
            Some(Refusal::NotFound { .. }) => Self::not_found(),
            Some(refusal @ Refusal::Forbidden { .. }) => Self::needs(refusal),
            Some(refusal @ Refusal::Conflict { .. }) => {
                Self::new(StatusCode::CONFLICT, refusal.to_string())
            }
            Some(refusal) => Self::bad(sentence(refusal)),
            None => Self::internal(error.to_string()),
        }
    }
}

impl From<askama::Error> for WebError {
    fn from(error: askama::Error) -> Self {
        Self::internal(error.to_string())
    }
}

/// What a rule says, as a sentence.
fn sentence(refusal: &Refusal) -> String {
    let text = refusal.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    css: String,
    icon: String,
    code: u16,
    title: &'a str,
    message: &'a str,
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let title = match self.status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN => "Not allowed",
            StatusCode::CONFLICT => "Changed meanwhile",
            StatusCode::TOO_MANY_REQUESTS => "Too many attempts",
            status if status.is_server_error() => "Something went wrong",
            _ => "That did not work",
        };
        let page = ErrorPage {
            css: assets::url("app.css"),
            icon: assets::url("icon.svg"),
            code: self.status.as_u16(),
            title,
            message: &self.message,
        };
        let html = page.render().unwrap_or_else(|_| title.to_owned());
        let mut response = (self.status, html).into_response();
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(ErrorCause(cause));
        }
        response.extensions_mut().insert(Said(self.message));
        security_headers::mark(&mut response);
        response
    }
}
