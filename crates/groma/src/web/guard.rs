//! What stands before every handler: who it is, whether the request comes from one of our own pages,
//! whether the role is enough; and on the way out the headers.

use super::{
    Shared, Web, WebError,
    cookies::Cookie,
    error::Said,
    form::{Form, Pairs, encode},
    page::FlashShown,
    visit::Visit,
};
use crate::http::{Encoding, client_address::Client, compress, security_headers};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use futures_util::FutureExt;
use groma_domain::{Permission, session::same};
use std::panic::AssertUnwindSafe;

/// What a route asks of whoever comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// Someone who is logged in, a member of a workspace or not.
    Login,
    /// A member who may this.
    Member(Permission),
}

/// The guard of one route.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) web: Shared,
    pub(super) needs: Needs,
    /// The most bytes that a body may have.
    pub(super) body: usize,
}

/// How long after its last use a session ends, and how old it may grow.
const IDLE_MILLIS: i64 = 14 * 24 * 60 * 60 * 1_000;
const OLDEST_MILLIS: i64 = 90 * 24 * 60 * 60 * 1_000;
/// How often its use is written down.
const TOUCH_MILLIS: i64 = 5 * 60 * 1_000;

/// When a session that was opened at one moment and used at another ends.
pub(super) fn session_end(
    opened: groma_domain::Timestamp,
    used: groma_domain::Timestamp,
) -> groma_domain::Timestamp {
    used.plus_millis(IDLE_MILLIS).min(opened.plus_millis(OLDEST_MILLIS))
}

/// Lets a request through to its handler, or says why not.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let is_script = wants_json(request.headers());
    let encoding = Encoding::preferred(request.headers());
    let answer = AssertUnwindSafe(guard.admit(request, next)).catch_unwind().await;
    let answer = answer.unwrap_or_else(|_| Err(WebError::internal("a page panicked")));
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    if is_script {
        response = Said::as_json(response);
    }
    let mut response = compress(encoding, response).await;
    security_headers::secure(&mut response, guard.web.is_secure, &guard.web.map_hosts);
    response
}

/// Whether a script asks, which would make nothing of a page.
fn wants_json(headers: &HeaderMap) -> bool {
    let is_json = |name| {
        let value: Option<&HeaderValue> = headers.get(name);
        value.and_then(|value| value.to_str().ok()).is_some_and(|text| text.contains("json"))
    };
    is_json(header::ACCEPT) || is_json(header::CONTENT_TYPE)
}

impl Guard {
    async fn admit(&self, request: Request, next: Next) -> Result<Response, WebError> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::of(&self.web, &parts).await?;
        let is_safe = matches!(parts.method, Method::GET | Method::HEAD);
        if let Some(elsewhere) = self.turned_away(&visit, is_safe).await? {
            return Ok(elsewhere);
        }
        let body = if is_safe {
            Body::empty()
        } else {
            self.checked_body(&mut parts, body, &visit).await?
        };
        if let (Needs::Member(permission), Some(member)) = (self.needs, &visit.member) {
            member.role.require(permission).map_err(|refusal| WebError::needs(&refusal))?;
        }
        self.touch(&visit);
        let sets_cookie = is_safe && !visit.has_cookie && self.needs == Needs::Nothing;
        let secret = visit.secret.clone();
        parts.extensions.insert(visit);
        let mut response = next.run(Request::from_parts(parts, body)).await;
        let is_flash_shown = response.extensions_mut().remove::<FlashShown>().is_some();
        let cookies = response.headers_mut();
        if sets_cookie {
            let cookie = Cookie::Session.set(secret.reveal(), self.web.is_secure);
            cookies.append(header::SET_COOKIE, cookie);
        }
        if is_flash_shown {
            cookies.append(header::SET_COOKIE, Cookie::Flash.clear(self.web.is_secure));
        }
        Ok(response)
    }

    /// Where someone is sent who cannot be here yet.
    async fn turned_away(
        &self,
        visit: &Visit,
        is_safe: bool,
    ) -> Result<Option<Response>, WebError> {
        if self.needs == Needs::Nothing {
            return Ok(None);
        }
        let Some(session) = &visit.session else {
            let to = if !self.web.store.has_users().await? {
                "/setup".to_owned()
            } else if is_safe && visit.path != "/" && !visit.is_piece {
                format!("/login?next={}", encode(&visit.path))
            } else {
                "/login".to_owned()
            };
            return Ok(Some(redirect(visit, &to)));
        };
        if matches!(self.needs, Needs::Member(_)) && session.memberships.is_empty() {
            return Ok(Some(redirect(visit, "/account")));
        }
        Ok(None)
    }

    /// The body of a request that changes something, when it comes from one of our own pages.
    async fn checked_body(
        &self,
        parts: &mut Parts,
        body: Body,
        visit: &Visit,
    ) -> Result<Body, WebError> {
        if !is_ours(&self.web, parts) {
            return Err(WebError::forbidden(
                "This request did not come from one of this application's pages, so nothing was done.",
            ));
        }
        let bytes = axum::body::to_bytes(body, self.body).await;
        let bytes = bytes.map_err(|_| WebError::too_large())?;
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_form =
            kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
        let form = if is_form { Pairs::parse(&bytes) } else { Pairs::default() };
        let header = parts.headers.get("x-csrf-token").and_then(|token| token.to_str().ok());
        let token = header.unwrap_or_else(|| form.get("_csrf"));
        if !visit.has_cookie || !same(token, &visit.form_token()) {
            return Err(WebError::forbidden(
                "This page was too old, or of another workspace, so nothing was done. Go back, reload it, and try again.",
            ));
        }
        parts.extensions.insert(Form(form));
        Ok(Body::from(bytes))
    }

    /// Writes down, now and then, that a session is used.
    fn touch(&self, visit: &Visit) {
        let Some(session) = &visit.session else { return };
        if visit.now.as_millis() - session.last_seen_at.as_millis() < TOUCH_MILLIS {
            return;
        }
        let (store, id, now) = (self.web.store.clone(), session.id, visit.now);
        let ends_at = session_end(session.created_at, now);
        tokio::spawn(async move {
            if let Err(error) = store.touch_session(id, now, ends_at).await {
                tracing::warn!(%error, "the use of a session was not written down");
            }
        });
    }
}

/// Whether a page of this application sent a request. Browsers say where from with every form; a
/// trusted proxy may say under which host and scheme it was asked.
fn is_ours(web: &Web, parts: &Parts) -> bool {
    let text = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return false };
    if origin == web.origin {
        return true;
    }
    let client = parts.extensions.get::<Client>();
    let asked = client.and_then(|client| client.host.as_deref()).or_else(|| text(header::HOST));
    let (Some((scheme, host)), Some(asked)) = (origin.split_once("://"), asked) else {
        return false;
    };
    let told = client.and_then(|client| client.scheme);
    let is_scheme = told.map_or(matches!(scheme, "http" | "https"), |told| told == scheme);
    is_scheme && host == asked
}

/// Sends someone elsewhere; a piece of a page is replaced as a whole.
pub(super) fn redirect(visit: &Visit, to: &str) -> Response {
    if !visit.is_piece {
        return Redirect::to(to).into_response();
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert("hx-redirect", to);
    response
}
