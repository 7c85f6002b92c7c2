//! Errors of the pages. What the user reads and what the log says are separate.
//!
//! A [`WebError`] becomes a response in two steps: the handler's response only carries it, and
//! `error_page` writes the page or the JSON, because only the middleware knows the language and the
//! request.

use super::i18n::{MessageId, id};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use groma_domain::{DomainError, FieldError, PropertyError};

/// An error on its way to a user of the pages.
#[derive(Clone, Debug)]
pub(crate) struct WebError {
    pub(super) status: StatusCode,
    pub(super) text: Text,
    pub(super) cause: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Text {
    Message(MessageId),
    /// The user's role does not suffice; the role that would.
    MissingRole(&'static str),
    /// What is wrong with each field.
    Problems(Vec<FieldError>),
    /// What is wrong with each property of a shape.
    Properties(Vec<PropertyError>),
    /// A reason of another crate.
    Reason(groma_geo::Message),
    /// Too many attempts to log in have failed.
    TooManyAttempts {
        retry_after_seconds: u64,
    },
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

    /// A bad request, explained by a reason of another crate.
    pub(crate) fn invalid(reason: groma_geo::Message) -> Self {
        let text = Text::Reason(reason);
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

    pub(crate) fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, id("error-too-slow"))
    }

    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let (status, cause) = (StatusCode::INTERNAL_SERVER_ERROR, Some(cause.into()));
        Self { status, text: Text::Internal, cause }
    }
}

impl From<&DomainError> for WebError {
    fn from(error: &DomainError) -> Self {
        let (status, text) = match error {
            DomainError::NotFound { .. } => return Self::not_found(),
            DomainError::Conflict { .. } | DomainError::PreconditionFailed { .. } => {
                (StatusCode::CONFLICT, Text::Message(id("error-conflict")))
            }
            DomainError::Forbidden { required_role } => {
                (StatusCode::FORBIDDEN, Text::MissingRole(required_role.name()))
            }
            // Pages are used with sessions, not with tokens.
            DomainError::AccessEnded
            | DomainError::MissingScope(_)
            | DomainError::ReadOnlyToken => {
                (StatusCode::UNAUTHORIZED, Text::Message(id("error-session-ended")))
            }
            DomainError::AccountDisabled => {
                (StatusCode::FORBIDDEN, Text::Message(id("login-disabled")))
            }
            DomainError::Invalid(problems) => {
                (StatusCode::BAD_REQUEST, Text::Problems(problems.clone()))
            }
            DomainError::InvalidProperties(problems) => {
                (StatusCode::BAD_REQUEST, Text::Properties(problems.clone()))
            }
            DomainError::ImportEnded => {
                (StatusCode::CONFLICT, Text::Message(id("error-import-ended")))
            }
            DomainError::TooManyImports => {
                (StatusCode::TOO_MANY_REQUESTS, Text::Message(id("error-too-many-imports")))
            }
            DomainError::Locked { .. } => {
                (StatusCode::CONFLICT, Text::Message(id("error-layer-locked")))
            }
        };
        Self { status, text, cause: None }
    }
}

impl From<groma_store::Error> for WebError {
    fn from(error: groma_store::Error) -> Self {
        match error.domain_error() {
            Some(error) => error.into(),
            None if matches!(error, groma_store::Error::SearchTimeout) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, id("error-search-timeout"))
            }
            None => Self::internal(error.to_string()),
        }
    }
}

impl From<askama::Error> for WebError {
    fn from(error: askama::Error) -> Self {
        Self::internal(error.to_string())
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
