//! Authentication of requests with a token: token, rate limit and scope, in this order, before the handler.

use crate::{
    clock,
    http::{HttpError, client_address::Client},
    metrics,
    rate_windows::RateWindows,
    settings::Settings,
};
use axum::{
    extract::Request,
    handler::Handler,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::future::BoxFuture;
use groma_domain::{
    DomainError, Scope, TokenId,
    rate_limit::RateLimitStatus,
    token::{PresentedToken, TokenPrefix},
};
use groma_store::{Actor, AuthOutcome, AuthenticatedToken, Store};
use std::{net::IpAddr, sync::Arc};

/// A handler that requires a token, and the scope if its route has one.
#[derive(Clone)]
pub(crate) struct Authenticated<H> {
    pub(crate) scope: Option<Scope>,
    pub(crate) access: Access,
    pub(crate) handler: H,
}

/// How a route is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// With a bearer token, within the rate limit.
    Api,
    /// Also with HTTP Basic authentication, where the token is the password: many map clients have
    /// nothing else. Within a rate limit of its own.
    Map,
    /// As for maps, but within the rate limit of the API.
    MapRecords,
}

impl Access {
    fn allows_basic(self) -> bool {
        self != Self::Api
    }
}

/// What the authentication of requests needs.
pub(crate) struct TokenAuth {
    store: Store,
    token_prefix: TokenPrefix,
    requests_per_minute: u32,
    rate_limit_headers: RateLimitHeaders,
    map_windows: RateWindows<TokenId>,
    map_rate_limit_headers: RateLimitHeaders,
}

impl TokenAuth {
    pub(crate) fn new(settings: &Settings, store: Store) -> Self {
        let limits = &settings.limits;
        Self {
            store,
            token_prefix: settings.service.token_prefix.clone(),
            requests_per_minute: limits.requests_per_minute,
            rate_limit_headers: RateLimitHeaders::new(limits.requests_per_minute),
            map_windows: RateWindows::new(limits.map_requests_per_minute),
            map_rate_limit_headers: RateLimitHeaders::new(limits.map_requests_per_minute),
        }
    }
}

/// The state of a router whose handlers require a token.
pub(crate) trait TokenAuthState: Clone + Send + Sync + 'static {
    fn token_auth(&self) -> &TokenAuth;
}

/// The token of a request, and the scope of its route.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) token: Arc<AuthenticatedToken>,
    /// The state of its rate limit; `None` if there is no limit.
    pub(crate) rate: Option<RateLimitStatus>,
    scope: Option<Scope>,
}

impl Caller {
    pub(crate) fn actor(&self) -> Actor {
        let AuthenticatedToken { token, expires_at: ends_at, .. } = *self.token;
        Actor::Token { token, ends_at, scope: self.scope }
    }
}

impl<T, S: TokenAuthState, H: Handler<T, S>> Handler<T, S> for Authenticated<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, mut request: Request, state: S) -> Self::Future {
        Box::pin(async move {
            let auth = state.token_auth();
            if self.access.allows_basic() && is_cross_site_write(&request) {
                let message = "Requests of other sites must send the token as bearer token";
                return HttpError::forbidden(message).into_response();
            }
            let client = request.extensions().get::<Client>().map(|client| client.address);
            let authenticated = authenticate(auth, self.access, request.headers(), client).await;
            let (token, mut rate) = match authenticated {
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
                    let id = token.token;
                    request.extensions_mut().insert(Caller { token, rate, scope: self.scope });
                    let response = self.handler.call(request, state.clone()).await;
                    if response.status() == StatusCode::TOO_MANY_REQUESTS {
                        rate = release(auth, self.access, id, rate).await;
                    }
                    response
                }
            };
            if let Some(rate) = rate {
                let headers = match self.access {
                    Access::Api | Access::MapRecords => &auth.rate_limit_headers,
                    Access::Map => &auth.map_rate_limit_headers,
                };
                headers.write(response.headers_mut(), rate);
            }
            response
        })
    }
}

/// Authenticates the token of a request again, which took long. This does not count against the rate limit.
pub(crate) async fn reauthenticate(
    auth: &TokenAuth,
    headers: &HeaderMap,
) -> Result<Arc<AuthenticatedToken>, HttpError> {
    let token = parse_token(headers, Access::Api)?;
    let presented = PresentedToken::parse(&auth.token_prefix, &token).ok_or_else(malformed)?;
    let outcome = auth.store.authenticate(presented, 0, None, clock::now()).await?;
    valid_token(outcome).map(|(token, _)| token)
}

/// The token and the state of its rate limit, or why it is rejected.
fn valid_token(
    outcome: AuthOutcome,
) -> Result<(Arc<AuthenticatedToken>, Option<RateLimitStatus>), HttpError> {
    match outcome {
        AuthOutcome::Valid { token, rate } => Ok((token, rate)),
        AuthOutcome::Unknown => Err(HttpError::unauthorized("Unknown or revoked token")),
        AuthOutcome::Expired => Err(HttpError::unauthorized("Token has expired")),
    }
}

/// Takes back a request that another limit rejected: the client has to send it again.
async fn release(
    auth: &TokenAuth,
    access: Access,
    token: TokenId,
    rate: Option<RateLimitStatus>,
) -> Option<RateLimitStatus> {
    let rate = rate?;
    let released = match access {
        Access::Api | Access::MapRecords => auth.store.release_request(token, rate).await,
        Access::Map => {
            auth.map_windows.release(&token, rate);
            Ok(())
        }
    };
    match released {
        Ok(()) => Some(rate.released()),
        Err(error) => {
            tracing::warn!(%error, "a rejected request counts against the rate limit");
            Some(rate)
        }
    }
}

/// The token of a request and the state of its rate limit; `None` if there is no limit.
async fn authenticate(
    auth: &TokenAuth,
    access: Access,
    headers: &HeaderMap,
    client: Option<IpAddr>,
) -> Result<(Arc<AuthenticatedToken>, Option<RateLimitStatus>), HttpError> {
    let token = parse_token(headers, access)?;
    let presented = PresentedToken::parse(&auth.token_prefix, &token).ok_or_else(malformed)?;
    let limit = if access == Access::Map { 0 } else { auth.requests_per_minute };
    let outcome = auth.store.authenticate(presented, limit, client, clock::now()).await?;
    let (token, rate) = valid_token(outcome)?;
    let rate = if access == Access::Map { auth.map_windows.count(token.token) } else { rate };
    Ok((token, rate))
}

/// The response to a request without a valid token. On map routes it also offers Basic authentication,
/// but not to scripts of other sites: their browser would open a login dialog.
fn rejected(error: HttpError, access: Access, headers: &HeaderMap) -> Response {
    let mut response = error.into_response();
    let is_script = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "cors");
    if access.allows_basic() && response.status() == StatusCode::UNAUTHORIZED && !is_script {
        let basic = HeaderValue::from_static("Basic realm=\"Groma\", charset=\"UTF-8\"");
        response.headers_mut().append(header::WWW_AUTHENTICATE, basic);
    }
    response
}

/// Whether a page of another site sends a change with Basic authentication. Browsers add the credentials of an
/// earlier login by themselves.
fn is_cross_site_write(request: &Request) -> bool {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_basic = text("authorization")
        .and_then(|value| value.get(..6))
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic "));
    if request.method().is_safe() || !is_basic {
        return false;
    }
    match (headers.get("sec-fetch-site"), headers.get(header::ORIGIN)) {
        (Some(site), _) => site != "same-origin" && site != "none",
        // Browsers without Sec-Fetch-Site.
        (None, Some(_)) => {
            let origin = text("origin").and_then(|origin| origin.split_once("://"));
            origin.map(|(_, host)| host) != text("host")
        }
        (None, None) => false,
    }
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
    if access.allows_basic() && scheme.eq_ignore_ascii_case("basic") {
        let decoded = BASE64_STANDARD.decode(credentials.trim()).map_err(|_| malformed())?;
        // Any user name will do. Some clients send it in Latin-1.
        let colon = decoded.iter().position(|byte| *byte == b':').ok_or_else(malformed)?;
        return String::from_utf8(decoded[colon + 1..].to_vec()).map_err(|_| malformed());
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
struct RateLimitHeaders {
    limit: HeaderValue,
    policy: HeaderValue,
}

impl RateLimitHeaders {
    fn new(limit: u32) -> Self {
        let policy = header_value(format!("\"default\";q={limit};w=60"));
        Self { limit: limit.into(), policy }
    }

    fn write(&self, headers: &mut HeaderMap, rate: RateLimitStatus) {
        let reset = reset_seconds(rate);
        let (remaining, seconds) = (rate.remaining, seconds_until_reset(rate));
        headers.insert(LIMIT, self.limit.clone());
        headers.insert(REMAINING, remaining.into());
        headers.insert(RESET, reset.into());
        headers.insert(RATE_LIMIT_POLICY, self.policy.clone());
        headers.insert(RATE_LIMIT, header_value(format!("\"default\";r={remaining};t={seconds}")));
    }
}

/// Unix time in seconds when one more request is accepted.
pub(crate) fn reset_seconds(rate: RateLimitStatus) -> u64 {
    // The clock is read after the rate was checked: a reset time in the past would make a client come
    // back too early and be rejected.
    let now = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
    (now + rate.reset_micros).div_ceil(1_000_000)
}

/// A header value from ASCII text.
fn header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Seconds until one more request is accepted, rounded up.
fn seconds_until_reset(rate: RateLimitStatus) -> u64 {
    rate.reset_micros.div_ceil(1_000_000)
}
