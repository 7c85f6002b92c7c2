//! The middleware in front of every handler: it finds the session, checks the form token and the role,
//! and sets the security headers of the response.

use super::{
    Shared, Web, WebError,
    cookies::Cookie,
    error_page::{self, ErrorContext},
    form::{Form, Pairs, local_path},
    i18n::id,
    page::{FlashConsumed, MapOrigins},
    request_context::RequestContext,
    secrets_match,
    session_times::{confirmation_path, is_recent_login, session_end},
};
use crate::{
    http::{
        Encoding,
        body::{self, FormError, Pace},
        client_address::{Client, subnet},
        compress, security_headers,
    },
    metrics,
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use futures_util::FutureExt;
use groma_domain::Permission;
use std::panic::AssertUnwindSafe;

/// The maximum size of a form.
pub(super) const MAX_FORM_BYTES: usize = 1 << 20;
/// The maximum size of a form of a stranger, such as a login.
const STRANGER_MAX_BYTES: usize = 64 << 10;
/// What a request takes beside its body: the buffers of its connection and the state of its handler.
const REQUEST_MEMORY: u64 = 40 << 10;

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Public,
    /// A logged-in user, with or without a workspace.
    LoggedIn,
    /// A user who proved recently who they are.
    RecentlyLoggedIn,
    /// A member of the workspace with this permission.
    Member(Permission),
    /// A member of the workspace with this permission, who proved recently who they are.
    RecentMember(Permission),
}

impl Access {
    /// The permission that a member needs; `None` if the route needs no workspace.
    pub(super) fn permission(self) -> Option<Permission> {
        match self {
            Self::Public | Self::LoggedIn | Self::RecentlyLoggedIn => None,
            Self::Member(permission) | Self::RecentMember(permission) => Some(permission),
        }
    }

    fn requires_recent_login(self) -> bool {
        matches!(self, Self::RecentlyLoggedIn | Self::RecentMember(_))
    }
}

/// The access check of one route.
#[derive(Clone)]
pub(super) struct AccessCheck {
    pub(super) web: Shared,
    pub(super) access: Access,
    pub(super) body: RequestBody,
}

/// Who receives the body of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequestBody {
    /// The access check, as a form of at most this many bytes.
    Form(usize),
    /// The handler, by an extractor that also checks the form token: files are too large for memory.
    Upload,
}

/// How often the last use of a session is recorded.
const TOUCH_INTERVAL_MILLIS: i64 = 5 * 60 * 1_000;

/// Passes an authorized request to its handler and turns errors into pages.
pub(super) async fn authorize(
    State(check): State<AccessCheck>,
    request: Request,
    next: Next,
) -> Response {
    let mut errors = ErrorContext::new(&request);
    let encoding = Encoding::preferred(request.headers());
    let result = AssertUnwindSafe(check.run(request, next, &mut errors)).catch_unwind().await;
    let result = result.unwrap_or_else(|_| Err(WebError::internal("a page panicked")));
    let mut response = result.unwrap_or_else(IntoResponse::into_response);
    let origins = response.extensions_mut().remove::<MapOrigins>();
    let origins = origins.map(|MapOrigins(origins)| origins).unwrap_or_default();
    // Boxed: otherwise its memory would be part of every request, also of those that wait for a client.
    let response = Box::pin(error_page::render(&check.web, response, errors)).await;
    let mut response = compress(encoding, response).await;
    security_headers::secure(&mut response, check.web.is_secure, &origins);
    response
}

impl AccessCheck {
    async fn run(
        &self,
        request: Request,
        next: Next,
        errors: &mut ErrorContext,
    ) -> Result<Response, WebError> {
        let (mut parts, body) = request.into_parts();
        let request = Box::pin(RequestContext::read(&self.web, &parts)).await?;
        errors.request = Some(request.clone());
        self.count_page(&request, parts.uri.path())?;
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        let form_page = referring_path(&self.web, &parts.headers);
        let redirect = Box::pin(self.redirect_to_login(&request, is_read, &form_page)).await?;
        if let Some(redirect) = redirect {
            return Ok(redirect);
        }
        if let (Some(permission), Some(member)) = (self.access.permission(), &request.member) {
            member.role.require(permission).map_err(|error| WebError::from(&error))?;
        }
        let body = match self.body {
            _ if is_read => Body::empty(),
            RequestBody::Form(limit) => self.read_form(&mut parts, body, limit, &request).await?,
            RequestBody::Upload if is_same_origin(&self.web, &parts) => body,
            RequestBody::Upload => return Err(WebError::forbidden(id("error-cross-site"))),
        };
        self.touch_session(&request);
        let sets_cookie = is_read && !request.has_cookie && self.access == Access::Public;
        let secret = request.secret.clone();
        parts.extensions.insert(request);
        let mut response = next.run(Request::from_parts(parts, body)).await;
        let is_flash_consumed = response.extensions_mut().remove::<FlashConsumed>().is_some();
        let headers = response.headers_mut();
        if sets_cookie {
            let cookie = Cookie::Session.set(secret.reveal(), self.web.is_secure);
            headers.append(header::SET_COOKIE, cookie);
        }
        if is_flash_consumed {
            headers.append(header::SET_COOKIE, Cookie::Flash.clear(self.web.is_secure));
        }
        Ok(response)
    }

    /// Counts a page of a user. Tiles are many and cheap, and have a cache of their own.
    fn count_page(&self, request: &RequestContext, path: &str) -> Result<(), WebError> {
        let Some(session) = request.session.as_ref().filter(|_| !path.starts_with("/map/tiles/"))
        else {
            return Ok(());
        };
        match self.web.page_windows.count(session.user) {
            Some(rate) if !rate.accepted => {
                metrics::rate_limit_exceeded();
                Err(WebError::too_many(id("error-too-many-pages")))
            }
            _ => Ok(()),
        }
    }

    /// Where a user goes who is not logged in, or not as the route requires.
    async fn redirect_to_login(
        &self,
        request: &RequestContext,
        is_read: bool,
        form_page: &str,
    ) -> Result<Option<Response>, WebError> {
        if self.access == Access::Public {
            return Ok(None);
        }
        let Some(session) = &request.session else {
            let to = if !self.web.store.has_users().await? {
                "/setup".to_owned()
            } else {
                let path = if is_read && !request.is_fragment { &request.path } else { form_page };
                let next = Pairs::default().with(&[("next", if path == "/" { "" } else { path })]);
                format!("/login{}", next.query())
            };
            return Ok(Some(redirect(request, &to)));
        };
        if self.access.permission().is_some() && request.member.is_none() {
            let needs_factor = !session.memberships.is_empty();
            let to = if needs_factor { "/account/security?required=1" } else { "/account" };
            return Ok(Some(redirect(request, to)));
        }
        let is_recent = is_recent_login(session, request.now, !is_read);
        if self.access.requires_recent_login() && !is_recent {
            let path = if is_read && !request.is_fragment { &request.path } else { form_page };
            return Ok(Some(redirect(request, &confirmation_path(path))));
        }
        Ok(None)
    }

    /// Reads the body of a change, after checking that one of our own pages sent it.
    async fn read_form(
        &self,
        parts: &mut Parts,
        body: Body,
        limit: usize,
        request: &RequestContext,
    ) -> Result<Body, WebError> {
        if !is_same_origin(&self.web, parts) {
            return Err(WebError::forbidden(id("error-cross-site")));
        }
        let bytes = self.receive_form(parts, body, limit, request).await?;
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_form =
            kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
        let form = if is_form { Pairs::parse(&bytes) } else { Pairs::default() };
        let header = parts.headers.get("x-csrf-token").and_then(|token| token.to_str().ok());
        let token = header.unwrap_or_else(|| form.get("_csrf"));
        if !request.has_cookie || !secrets_match(token, &request.csrf_token()) {
            return Err(WebError::forbidden(id("error-form-expired")));
        }
        parts.extensions.insert(Form(form));
        Ok(Body::from(bytes))
    }

    /// Receives the body. Strangers share little memory, and none of them can use all of it.
    async fn receive_form(
        &self,
        parts: &Parts,
        body: Body,
        max_body: usize,
        request: &RequestContext,
    ) -> Result<Vec<u8>, WebError> {
        let limits = &self.web.limits;
        let pace = if max_body > MAX_FORM_BYTES {
            Pace::Steady(limits.body_timeout, limits.min_upload_rate)
        } else {
            Pace::Within(limits.body_timeout)
        };
        let form = match &request.session {
            Some(session) => {
                let place = || self.web.uploads.take(Some(session.user), 1);
                body::read_form(body, max_body, pace, place).await
            }
            None => {
                let limit = max_body.min(STRANGER_MAX_BYTES);
                let client = parts.extensions.get::<Client>();
                let client = client.map(|client| subnet(client.address));
                let memory = || self.web.form_memory.take(client, REQUEST_MEMORY);
                body::read_stranger_form(body, limit, pace, memory).await
            }
        };
        form.map_err(|error| match error {
            FormError::TooLarge => WebError::too_large(),
            FormError::TooSlow => WebError::too_slow(),
            FormError::Busy => WebError::too_many(id("error-busy")),
            FormError::Incomplete => WebError::bad_request(id("error-form-incomplete")),
        })
    }

    /// Records the use of a session, in the background and not at every request.
    fn touch_session(&self, request: &RequestContext) {
        let Some(session) = &request.session else { return };
        if request.now.as_millis() - session.last_seen_at.as_millis() < TOUCH_INTERVAL_MILLIS {
            return;
        }
        let (store, id, now) = (self.web.store.clone(), session.id, request.now);
        let ends_at = session_end(session.created_at, now);
        tokio::spawn(async move {
            if let Err(error) = store.touch_session(id, now, ends_at).await {
                tracing::warn!(%error, "could not record the use of a session");
            }
        });
    }
}

/// Whether a page of this application sent the request. Browsers send the origin with every form; a
/// trusted proxy may forward the host and scheme that the browser used.
fn is_same_origin(web: &Web, parts: &Parts) -> bool {
    let text = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return false };
    if origin == web.origin {
        return true;
    }
    let client = parts.extensions.get::<Client>();
    let requested = client.and_then(|client| client.host.as_deref()).or_else(|| text(header::HOST));
    let (Some((scheme, host)), Some(requested)) = (origin.split_once("://"), requested) else {
        return false;
    };
    let forwarded = client.and_then(|client| client.scheme);
    let is_same_scheme =
        forwarded.map_or(matches!(scheme, "http" | "https"), |forwarded| forwarded == scheme);
    is_same_scheme && host == requested
}

/// The path of the page that a form or a fragment was requested from; empty if it is another site's.
fn referring_path(web: &Web, headers: &HeaderMap) -> String {
    let referrer = headers.get(header::REFERER).and_then(|referrer| referrer.to_str().ok());
    let path = referrer.and_then(|referrer| referrer.strip_prefix(&web.origin));
    let path = path.filter(|path| local_path(path) == *path);
    path.unwrap_or_default().to_owned()
}

/// Redirects; a request for a fragment makes the browser load the whole page.
fn redirect(request: &RequestContext, to: &str) -> Response {
    if !request.is_fragment {
        return Redirect::to(to).into_response();
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert("hx-redirect", to);
    response
}
