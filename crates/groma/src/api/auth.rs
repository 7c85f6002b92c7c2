//! Authentication of API requests: token, rate limit and scope, in this order, before the handler.

use super::ApiState;
use crate::{
    clock,
    http::{HttpError, client_address::Client},
    metrics,
};
use axum::{
    extract::Request,
    handler::Handler,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::BoxFuture;
use groma_domain::{DomainError, Scope, rate_limit::RateLimitStatus, token::PresentedToken};
use groma_store::{Actor, AuthOutcome, AuthenticatedToken};
use std::{net::IpAddr, sync::Arc};

/// A handler that requires a token, and the scope if its route has one.
#[derive(Clone)]
pub(super) struct Authenticated<H> {
    pub(super) scope: Option<Scope>,
    pub(super) access: Access,
    pub(super) handler: H,
}

/// How a route is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// With a bearer token, within the rate limit.
    Api,
    /// Also with HTTP Basic authentication, where the token is the password: many map clients have
    /// nothing else. Within a rate limit of its own.
    Map,
}

/// The token of a request, and the scope of its route.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) token: Arc<AuthenticatedToken>,
    scope: Option<Scope>,
}

impl Caller {
    pub(super) fn actor(&self) -> Actor {
        Actor::Token { token: self.token.token, scope: self.scope }
    }
}

impl<T, H: Handler<T, ApiState>> Handler<T, ApiState> for Authenticated<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, mut request: Request, api: ApiState) -> Self::Future {
        Box::pin(async move {
            let client = request.extensions().get::<Client>().map(|client| client.address);
            let authenticated = authenticate(&api, self.access, request.headers(), client).await;
            let (token, rate) = match authenticated {
                Ok(authenticated) => authenticated,
                Err(error) => return rejected(error, self.access, request.headers()),
            };
            let mut response = match (rate, self.scope) {
                (Some(rate), _) if !rate.accepted => {
                    metrics::rate_limit_exceeded();
                    let retry_after = seconds_until_reset(rate).max(1);
                    HttpError::too_many_requests(rate.limit, retry_after).into_response()
                }
                (_, Some(scope)) if !token.scopes.contains(scope) => {
                    HttpError::forbidden(DomainError::MissingScope(scope).to_string())
                        .into_response()
                }
                _ if token.is_read_only && !request.method().is_safe() => {
                    HttpError::forbidden(DomainError::ReadOnlyToken.to_string()).into_response()
                }
                _ => {
                    request.extensions_mut().insert(Caller { token, scope: self.scope });
                    self.handler.call(request, api.clone()).await
                }
            };
            if let Some(rate) = rate {
                let headers = match self.access {
                    Access::Api => &api.rate_limit_headers,
                    Access::Map => &api.map_rate_limit_headers,
                };
                headers.write(response.headers_mut(), rate);
            }
            response
        })
    }
}

/// The token of a request and the state of its rate limit; `None` if there is no limit.
async fn authenticate(
    api: &ApiState,
    access: Access,
    headers: &HeaderMap,
    client: Option<IpAddr>,
) -> Result<(Arc<AuthenticatedToken>, Option<RateLimitStatus>), HttpError> {
    let token = parse_token(headers, access)?;
    let presented = PresentedToken::parse(&api.token_prefix, &token).ok_or_else(malformed)?;
    let limit = if access == Access::Api { api.requests_per_minute } else { 0 };
    match api.store.authenticate(presented, limit, client, clock::now()).await? {
        AuthOutcome::Valid { token, .. } if access == Access::Map => {
            let rate = api.map_windows.count(token.token);
            Ok((token, rate))
        }
        AuthOutcome::Valid { token, rate } => Ok((token, rate)),
        AuthOutcome::Unknown => Err(HttpError::unauthorized("Unknown or revoked token")),
        AuthOutcome::Expired => Err(HttpError::unauthorized("Token has expired")),
    }
}

/// The response to a request without a valid token. On map routes it also offers Basic authentication,
/// but not to scripts of other sites: their browser would open a login dialog.
fn rejected(error: HttpError, access: Access, headers: &HeaderMap) -> Response {
    let mut response = error.into_response();
    let is_script = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "cors");
    if access == Access::Map && response.status() == StatusCode::UNAUTHORIZED && !is_script {
        let basic = HeaderValue::from_static("Basic realm=\"Groma\", charset=\"UTF-8\"");
        response.headers_mut().append(header::WWW_AUTHENTICATE, basic);
    }
    response
}

fn malformed() -> HttpError {
    HttpError::unauthorized("Malformed token")
}

/// The token in the `Authorization` header.
fn parse_token(headers: &HeaderMap, access: Access) -> Result<String, HttpError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(HttpError::unauthorized("Missing Authorization header"));
    };
    let text = value.to_str().ok().filter(|_| values.next().is_none()).ok_or_else(malformed)?;
    let (scheme, credentials) = text.split_once(' ').ok_or_else(malformed)?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Ok(credentials.trim().to_owned());
    }
    if access == Access::Map && scheme.eq_ignore_ascii_case("basic") {
        let decoded = BASE64_STANDARD.decode(credentials.trim()).map_err(|_| malformed())?;
        let decoded = String::from_utf8(decoded).map_err(|_| malformed())?;
        // Any user name will do.
        let (_, password) = decoded.split_once(':').ok_or_else(malformed)?;
        return Ok(password.to_owned());
    }
    Err(malformed())
}

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The rate limit headers: the conventional `X-RateLimit-*` and those of the IETF draft. The values that
/// are the same for every token are kept here.
pub(super) struct RateLimitHeaders {
    limit: HeaderValue,
    policy: HeaderValue,
}

impl RateLimitHeaders {
    pub(super) fn new(limit: u32) -> Self {
        let policy = header_value(format!("\"default\";q={limit};w=60"));
        Self { limit: limit.into(), policy }
    }

    fn write(&self, headers: &mut HeaderMap, rate: RateLimitStatus) {
        // The clock is read after the rate was checked: a reset time in the past would make a client
        // come back too early and be rejected.
        let now = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
        let reset = (now + rate.reset_micros).div_ceil(1_000_000);
        let (remaining, seconds) = (rate.remaining, seconds_until_reset(rate));
        headers.insert(LIMIT, self.limit.clone());
        headers.insert(REMAINING, remaining.into());
        headers.insert(RESET, reset.into());
        headers.insert(RATE_LIMIT_POLICY, self.policy.clone());
        headers.insert(RATE_LIMIT, header_value(format!("\"default\";r={remaining};t={seconds}")));
    }
}

/// A header value from ASCII text.
fn header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Seconds until one more request is accepted, rounded up.
fn seconds_until_reset(rate: RateLimitStatus) -> u64 {
    rate.reset_micros.div_ceil(1_000_000)
}
