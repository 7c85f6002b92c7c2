//! Error pages: what a user sees of a [`WebError`].

use super::{
    Shared,
    error::{Text, WebError},
    fields::capitalize,
    i18n::Localizer,
    page::{Meta, Nav, auth_page},
    request_context::{MemberContext, RequestContext},
};
use crate::http::{ErrorCause, RequestId, security_headers};
use askama::Template;
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};

use groma_domain::PropertyError;
use serde_json::{Map, Value};

/// What an error page needs to know of the request.
pub(super) struct ErrorContext {
    t: Localizer,
    is_read: bool,
    wants_json: bool,
    request_id: Option<String>,
    /// The session behind the request, once it is known.
    pub(super) request: Option<RequestContext>,
}

impl ErrorContext {
    pub(super) fn new(request: &Request) -> Self {
        let request_id = request.extensions().get::<RequestId>();
        Self {
            t: Localizer::for_request(request.headers()),
            is_read: matches!(*request.method(), Method::GET | Method::HEAD),
            wants_json: wants_json(request.headers()),
            request_id: request_id.and_then(|id| id.0.to_str().ok()).map(str::to_owned),
            request: None,
        }
    }
}

impl Text {
    /// What the user reads about a request that was only to read something, or to change it.
    pub(super) fn show(&self, t: Localizer, is_read: bool) -> String {
        match self {
            Self::Message(id) => t.msg(*id).into(),
            Self::MissingRole(role) => t.msg("error-missing-role").arg("role", *role).into(),
            Self::Problems(problems) => {
                let sentences: Vec<_> = problems.iter().map(|problem| t.problem(problem)).collect();
                sentences.join(" ")
            }
            Self::Properties(problems) => {
                let sentence = |problem: &PropertyError| {
                    format!("{} {}.", problem.property, t.violation(&problem.violation))
                };
                problems.iter().map(sentence).collect::<Vec<_>>().join(" ")
            }
            Self::Reason(reason) => t.msg("error-reason").arg("reason", t.translate(reason)).into(),
            Self::TooManyAttempts { retry_after_seconds } => {
                t.too_many_attempts(*retry_after_seconds)
            }
            Self::Internal if is_read => t.msg("error-internal-read").into(),
            // The commit may have succeeded before the error.
            Self::Internal => t.msg("error-internal-change").into(),
        }
    }
}

/// The body for a script: the message, and what is wrong with each property of a shape.
fn json_body(t: Localizer, text: &Text, message: &str) -> String {
    let mut body = serde_json::json!({ "message": message });
    if let Text::Properties(problems) = text {
        let entry = |problem: &PropertyError| {
            (problem.property.clone(), capitalize(&t.violation(&problem.violation)).into())
        };
        body["problems"] = problems.iter().map(entry).collect::<Map<String, Value>>().into();
    }
    body.to_string()
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
    code: u16,
    title: String,
    message: String,
    /// For the report of an internal error.
    request_id: Option<String>,
}

/// Turns a response that carries a [`WebError`] into a page, or into JSON for scripts. Others stay as
/// they are.
pub(super) async fn render(
    web: &Shared,
    mut response: Response,
    mut context: ErrorContext,
) -> Response {
    let Some(WebError { status, text, cause }) = response.extensions_mut().remove::<WebError>()
    else {
        return response;
    };
    if let Some(request) = &context.request {
        context.t = request.t;
    }
    let message = text.show(context.t, context.is_read);
    let mut response = if context.wants_json {
        let body = json_body(context.t, &text, &message);
        let mut response = (status, body).into_response();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    } else {
        page(web, context, status, message).await
    };
    if let Text::TooManyAttempts { retry_after_seconds } = text {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after_seconds.into());
    }
    if let Some(cause) = cause {
        response.extensions_mut().insert(ErrorCause(cause));
    }
    security_headers::mark(&mut response);
    response
}

/// The error in the frame of the application; without navigation for a user who is not logged in, or if
/// the store fails.
async fn page(
    web: &Shared,
    context: ErrorContext,
    status: StatusCode,
    message: String,
) -> Response {
    let t = context.t;
    let title = match status {
        StatusCode::NOT_FOUND => t.msg("error-title-not-found"),
        StatusCode::FORBIDDEN => t.msg("error-title-forbidden"),
        StatusCode::CONFLICT => t.msg("error-title-conflict"),
        StatusCode::TOO_MANY_REQUESTS => t.msg("error-title-too-many"),
        status if status.is_server_error() => t.msg("error-title-internal"),
        _ => t.msg("error-title-bad-request"),
    };
    let title = title.to_string();
    let content = ErrorPage {
        t,
        code: status.as_u16(),
        title: title.clone(),
        message,
        request_id: context.request_id.filter(|_| status.is_server_error()),
    };
    let Some(request) = context.request else { return bare_page(status, &content) };
    if let (Some(session), Some(member)) = (request.session.clone(), request.member.clone())
        && !status.is_server_error()
        // The frame needs searches; a request that exceeds a limit must be cheap.
        && status != StatusCode::TOO_MANY_REQUESTS
    {
        let ctx = MemberContext { web: web.clone(), request, session, member };
        let page = ctx.page_with_status(status, Meta::new(title, Nav::None), &content).await;
        return page.unwrap_or_else(|_| bare_page(status, &content));
    }
    auth_page(web, &request, status, title, &content)
        .unwrap_or_else(|_| bare_page(status, &content))
}

/// The error without a frame.
fn bare_page(status: StatusCode, content: &ErrorPage) -> Response {
    let body = content.render().unwrap_or_else(|_| content.title.clone());
    let mut response = (status, body).into_response();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response
}
