//! Error responses: the one place where an error becomes HTTP.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::{DomainError, FieldError, PropertyError};
use serde::Serialize;
use utoipa::ToSchema;

/// The body of every error of the API. The response also has it as an extension.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    /// HTTP status code.
    #[schema(example = 404)]
    pub(super) status_code: u16,
    /// Human-readable message.
    pub(super) message: String,
    /// Reason phrase of the status.
    #[schema(example = "Not Found")]
    pub(super) error: &'static str,
    /// The errors in the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<ErrorDetail>,
}

/// An error in the body.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ErrorDetail)]
pub(crate) struct ErrorDetail {
    /// JSON pointer to the invalid value.
    #[schema(example = "/features/3/geometry")]
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) message: String,
}

/// An error with the JSON body of the API.
#[derive(Clone, Debug)]
pub(crate) struct HttpError {
    status: StatusCode,
    message: String,
    details: Vec<ErrorDetail>,
    header: Option<Box<(HeaderName, HeaderValue)>>,
    cause: Option<String>,
}

/// The cause of an internal error. It is logged and never sent to the client.
#[derive(Clone)]
pub(crate) struct ErrorCause(pub(crate) String);

/// The number of problems that a response lists.
const MAX_DETAILS: usize = 100;

impl HttpError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), details: Vec::new(), header: None, cause: None }
    }

    pub(crate) fn route_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "No such route")
    }

    /// A route of the OGC API without this method.
    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "The method is not allowed here")
    }

    /// The error for a status set by the framework. A status that the API does not use becomes the
    /// nearest one that it uses.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Self::route_not_found(),
            status if status.is_server_error() => Self::internal(status.to_string()),
            status => Self::bad_request(status.canonical_reason().unwrap_or("Bad request")),
        }
    }

    pub(crate) fn not_found(kind: &str, key: &str) -> Self {
        let key: String = key.chars().filter(|c| !c.is_control()).take(80).collect();
        Self::new(StatusCode::NOT_FOUND, format!("{kind} `{key}` not found"))
    }

    pub(crate) fn bad_parameter(problem: &FieldError) -> Self {
        Self::bad_request(problem.to_string())
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// An invalid body.
    pub(crate) fn bad_body(details: Vec<ErrorDetail>) -> Self {
        Self::with_details(StatusCode::BAD_REQUEST, details)
    }

    /// A valid body that contradicts other data.
    pub(crate) fn conflict_in_body(details: Vec<ErrorDetail>) -> Self {
        Self::with_details(StatusCode::CONFLICT, details)
    }

    /// An error with details. The message repeats the first one.
    fn with_details(status: StatusCode, mut details: Vec<ErrorDetail>) -> Self {
        let message = summary(&details);
        details.truncate(MAX_DETAILS);
        Self { details, ..Self::new(status, message) }
    }

    /// The same error about a part of the body.
    pub(crate) fn within(mut self, pointer: &str) -> Self {
        if self.details.is_empty() {
            let message = self.message.clone();
            self.details = vec![ErrorDetail { pointer: pointer.to_owned(), message }];
            return self;
        }
        for detail in &mut self.details {
            detail.pointer.insert_str(0, pointer);
        }
        self.message = summary(&self.details);
        self
    }

    /// This error with the details of another. The status is that of the first.
    pub(crate) fn and(mut self, other: Self) -> Self {
        // The message for a missing scope or role stands alone.
        if self.status != StatusCode::FORBIDDEN {
            self.details.extend(other.details);
            self.message = summary(&self.details);
            self.details.truncate(MAX_DETAILS);
        }
        self
    }

    /// This error with those details of another whose places have none yet.
    pub(crate) fn and_new(self, mut other: Self) -> Self {
        let is_new =
            |detail: &ErrorDetail| self.details.iter().all(|known| known.pointer != detail.pointer);
        other.details.retain(is_new);
        self.and(other)
    }

    /// The body of the response.
    pub(crate) fn into_body(self) -> ErrorBody {
        ErrorBody {
            status_code: self.status.as_u16(),
            message: self.message,
            error: self.status.canonical_reason().unwrap_or_default(),
            details: self.details,
        }
    }

    /// A body of a media type that the route does not accept. The header names those that it accepts.
    pub(crate) fn unsupported_media_type(header: HeaderName, allowed: &[&str]) -> Self {
        let message = format!("Content-Type must be {}", allowed.join(" or "));
        let types = HeaderValue::try_from(allowed.join(", "));
        let header = types.ok().map(|types| Box::new((header, types)));
        Self { header, ..Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message) }
    }

    /// A change without the condition that the operator demands.
    pub(crate) fn precondition_required() -> Self {
        let message = "If-Match is required: send the ETag of the feature that you read";
        Self::new(StatusCode::PRECONDITION_REQUIRED, message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        let header = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Self { header: Some(Box::new(header)), ..Self::new(StatusCode::UNAUTHORIZED, message) }
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// Properties that do not fit the declared fields of a layer.
    fn bad_properties(problems: &[PropertyError]) -> Self {
        let detail = |problem: &PropertyError| ErrorDetail {
            pointer: problem.pointer(),
            message: problem.violation.to_string(),
        };
        Self::bad_body(problems.iter().map(detail).collect())
    }

    /// Other searches of the same member or workspace are running.
    pub(crate) fn too_many_searches() -> Self {
        let message = "Too many searches at once; wait for the others to end";
        let header = (header::RETRY_AFTER, HeaderValue::from(1));
        Self { header: Some(Box::new(header)), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    /// The token has as many change streams as it may.
    pub(crate) fn too_many_streams() -> Self {
        let message = "Too many change streams of this token; close one of them";
        let header = (header::RETRY_AFTER, HeaderValue::from(1));
        Self { header: Some(Box::new(header)), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    pub(crate) fn too_many_requests(limit: u32, retry_after: u64) -> Self {
        let message = format!("Rate limit exceeded: {limit} requests per minute");
        let header = (header::RETRY_AFTER, HeaderValue::from(retry_after));
        Self { header: Some(Box::new(header)), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    pub(crate) fn too_many_uploads() -> Self {
        let message = "Too many uploads at the same time; wait until one of them is complete";
        let header = (header::RETRY_AFTER, HeaderValue::from_static("1"));
        Self { header: Some(Box::new(header)), ..Self::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let message = "Internal server error";
        Self { cause: Some(cause.into()), ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, message) }
    }
}

/// A message that repeats the first detail.
fn summary(details: &[ErrorDetail]) -> String {
    let first = details.first().map_or_else(String::new, |ErrorDetail { pointer, message }| {
        if pointer.is_empty() { message.clone() } else { format!("{pointer}: {message}") }
    });
    match details.len() {
        0 | 1 => first,
        count => format!("{first} (and {} more, see details)", count - 1),
    }
}

impl From<groma_store::Error> for HttpError {
    fn from(error: groma_store::Error) -> Self {
        match error.domain_error() {
            Some(DomainError::NotFound { resource: what, key }) => Self::not_found(what, key),
            Some(DomainError::InvalidProperties(problems)) => Self::bad_properties(problems),
            Some(error @ DomainError::Locked { .. }) => Self::conflict(error.to_string()),
            Some(
                error @ (DomainError::PreconditionFailed { .. } | DomainError::Conflict { .. }),
            ) => Self::new(StatusCode::PRECONDITION_FAILED, error.to_string()),
            Some(
                error @ (DomainError::Forbidden { .. }
                | DomainError::AccountDisabled
                | DomainError::MissingScope(_)
                | DomainError::ReadOnlyToken),
            ) => Self::forbidden(error.to_string()),
            Some(error @ DomainError::AccessEnded) => Self::unauthorized(error.to_string()),
            Some(error) => Self::bad_request(error.to_string()),
            // Not 429 or 500, after which clients repeat the same request.
            None if matches!(error, groma_store::Error::SearchTimeout) => Self::bad_request(
                "The search took too long; use a longer term or a narrower filter",
            ),
            None => Self::internal(error.to_string()),
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let (status, header, cause) = (self.status, self.header.clone(), self.cause.clone());
        let document = self.into_body();
        // A struct of a number and strings always serializes.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        response.extensions_mut().insert(document);
        *response.status_mut() = status;
        if let Some(header) = header {
            response.headers_mut().insert(header.0, header.1);
        }
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(cause) = cause {
            response.extensions_mut().insert(ErrorCause(cause));
        }
        response
    }
}
