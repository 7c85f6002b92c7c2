//! Authentication of API requests: token, rate limit and scope, in this order, before the handler.

use super::ApiState;
use crate::{clock, http::HttpError, metrics};
use axum::{
    extract::Request,
    handler::Handler,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use groma_domain::{
    Scope,
    rate_limit::RateLimitStatus,
    token::{PresentedToken, missing_scope},
};
use groma_store::{AuthOutcome, AuthenticatedToken};
use std::sync::Arc;

/// A handler that requires a token, and the scope if its route has one.
#[derive(Clone)]
pub(super) struct Authenticated<H> {
    pub(super) scope: Option<Scope>,
    pub(super) handler: H,
}

/// The owner of the request's token.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Arc<AuthenticatedToken>);

impl<T, H: Handler<T, ApiState>> Handler<T, ApiState> for Authenticated<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, mut request: Request, api: ApiState) -> Self::Future {
        Box::pin(async move {
            let (token, rate) = match authenticate(&api, request.headers()).await {
                Ok(authenticated) => authenticated,
                Err(error) => return error.into_response(),
            };
            let mut response = match (rate, self.scope) {
                (Some(rate), _) if !rate.accepted => {
                    metrics::rate_limit_exceeded();
                    let retry_after = seconds_until_reset(rate).max(1);
                    HttpError::too_many_requests(rate.limit, retry_after).into_response()
                }
                (_, Some(scope)) if !token.scopes.contains(scope) => {
                    HttpError::forbidden(missing_scope(scope)).into_response()
                }
                _ => {
                    request.extensions_mut().insert(Caller(token));
                    self.handler.call(request, api.clone()).await
                }
            };
            if let Some(rate) = rate {
                api.rate_limit_headers.write(response.headers_mut(), rate);
            }
            response
        })
    }
}

/// The token of a request and the state of its rate limit; `None` if there is no limit.
async fn authenticate(
    api: &ApiState,
    headers: &HeaderMap,
) -> Result<(Arc<AuthenticatedToken>, Option<RateLimitStatus>), HttpError> {
    let token = parse_token(headers, api)?;
    match api.store.authenticate(token, api.requests_per_minute, clock::now()).await? {
        AuthOutcome::Valid { token, rate } => Ok((token, rate)),
        AuthOutcome::Unknown => Err(HttpError::unauthorized("Unknown or revoked token")),
        AuthOutcome::Expired => Err(HttpError::unauthorized("Token has expired")),
    }
}

fn parse_token<'h>(
    headers: &'h HeaderMap,
    api: &ApiState,
) -> Result<PresentedToken<'h>, HttpError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(HttpError::unauthorized("Missing Authorization header"));
    };
    let malformed = || HttpError::unauthorized("Malformed token");
    let text = value.to_str().ok().filter(|_| values.next().is_none()).ok_or_else(malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    PresentedToken::parse(&api.token_prefix, token.trim()).ok_or_else(malformed)
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
