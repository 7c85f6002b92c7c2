//! Errors at the edge: the one place where something that went wrong becomes an HTTP answer.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::{Problem, Refusal};
use serde::Serialize;
use utoipa::ToSchema;

/// What every error of the API looks like.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    /// HTTP status code.
    #[schema(example = 404)]
    pub(crate) status_code: u16,
    /// Human-readable text.
    pub(crate) message: String,
    /// Reason phrase of the status.
    #[schema(example = "Not Found")]
    pub(crate) error: &'static str,
    /// Where in the body something is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) details: Vec<Detail>,
}

/// A spot in the body and what is wrong there.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErrorDetail)]
pub(crate) struct Detail {
    /// JSON pointer to the spot.
    #[schema(example = "/features/3/geometry")]
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) message: String,
}

/// An error on its way to the client.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    details: Vec<Detail>,
    header: Option<Box<(HeaderName, HeaderValue)>>,
    cause: Option<String>,
}

/// What the log is told of an error, and the client is not.
#[derive(Clone)]
pub(crate) struct Cause(pub(crate) String);

impl ApiError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), details: Vec::new(), header: None, cause: None }
    }

    pub(crate) fn no_such_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "No such route")
    }

    /// The error for a status that the framework chose; one that the API does not have becomes the
    /// nearest that it has.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Self::no_such_route(),
            status if status.is_server_error() => Self::internal(status.to_string()),
            _ => Self::new(
                StatusCode::BAD_REQUEST,
                status.canonical_reason().unwrap_or("Bad request"),
            ),
        }
    }

    pub(crate) fn not_found(what: &str, key: &str) -> Self {
        let key: String = key.chars().filter(|c| !c.is_control()).take(80).collect();
        Self::new(StatusCode::NOT_FOUND, format!("{what} `{key}` not found"))
    }

    pub(crate) fn bad_parameter(problem: &Problem) -> Self {
        Self::new(StatusCode::BAD_REQUEST, problem.to_string())
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// A body with something wrong at these spots.
    pub(crate) fn bad_body(details: Vec<Detail>) -> Self {
        let first = details.first().map_or_else(String::new, |Detail { pointer, message }| {
            if pointer.is_empty() { message.clone() } else { format!("{pointer}: {message}") }
        });
        let message = match details.len() {
            0 | 1 => first,
            count => format!("{first} (and {} more, see details)", count - 1),
        };
        Self { details, ..Self::bad_request(message) }
    }

    pub(crate) fn unauthorized(message: &'static str) -> Self {
        let mut error = Self::new(StatusCode::UNAUTHORIZED, message);
        error.header =
            Some(Box::new((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))));
        error
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn too_many_requests(limit: u32, retry_after: u64) -> Self {
        let message = format!("Rate limit exceeded: {limit} requests per minute");
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, message);
        error.header = Some(Box::new((header::RETRY_AFTER, HeaderValue::from(retry_after))));
        error
    }

    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error");
        error.cause = Some(cause.into());
        error
    }
}

impl From<groma_store::Error> for ApiError {
    fn from(error: groma_store::Error) -> Self {
        match error.refusal() {
            Some(Refusal::NotFound { what, key }) => Self::not_found(what, key),
            Some(refusal @ Refusal::Forbidden { .. }) => Self::forbidden(refusal.to_string()),
            Some(refusal) => Self::new(StatusCode::BAD_REQUEST, refusal.to_string()),
            None => Self::internal(error.to_string()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            status_code: self.status.as_u16(),
            message: self.message,
            error: self.status.canonical_reason().unwrap_or_default(),
            details: self.details,
        };
        // A struct of a number and texts always serialises.
        let mut response = Response::new(Body::from(serde_json::to_vec(&body).unwrap_or_default()));
        *response.status_mut() = self.status;
        if let Some(header) = self.header {
            response.headers_mut().insert(header.0, header.1);
        }
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}
