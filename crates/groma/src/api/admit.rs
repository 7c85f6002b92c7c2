//! Token, rate, scope: in this order, before a handler sees the request.

use super::{Shared, error::ApiError};
use axum::{
    extract::Request,
    handler::Handler,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use groma_domain::{
    Scope, Timestamp,
    rate::RateState,
    token::{SentToken, missing_scope},
};
use groma_store::{Admission, Bearer};
use std::{io::Write, sync::Arc};

/// A handler behind its guard: the token, the rate, and the scope that the route asks for.
#[derive(Clone)]
pub(super) struct Guarded<H> {
    pub(super) scope: Option<Scope>,
    pub(super) handler: H,
}

/// The one whose token the request carries, for handlers.
#[derive(Clone)]
pub(super) struct Caller(pub(super) Arc<Bearer>);

impl<T, H: Handler<T, Shared>> Handler<T, Shared> for Guarded<H> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, mut request: Request, api: Shared) -> Self::Future {
        Box::pin(async move {
            let (bearer, rate) = match admit(&api, request.headers()).await {
                Ok(admitted) => admitted,
                Err(error) => return error.into_response(),
            };
            let mut response = match (rate, self.scope) {
                (Some(rate), _) if !rate.accepted => {
                    api.tally.rate_refused();
                    ApiError::too_many_requests(rate.limit, seconds(rate).max(1)).into_response()
                }
                (_, Some(scope)) if !bearer.scopes.contains(scope) => {
                    ApiError::forbidden(missing_scope(scope)).into_response()
                }
                _ => {
                    request.extensions_mut().insert(Caller(bearer));
                    self.handler.call(request, api.clone()).await
                }
            };
            if let Some(rate) = rate {
                api.rate_headers.write(response.headers_mut(), rate);
            }
            response
        })
    }
}

/// Whose token it is, and where it stands in its window.
async fn admit(
    api: &Shared,
    headers: &HeaderMap,
) -> Result<(Arc<Bearer>, Option<RateState>), ApiError> {
    let token = sent_token(headers, api)?;
    let now = Timestamp::from(jiff::Timestamp::now());
    match api.store.admit(token, api.requests_per_minute, now).await? {
        Admission::Known { bearer, rate } => Ok((bearer, rate)),
        Admission::Unknown => Err(ApiError::unauthorized("Unknown or revoked token")),
        Admission::Expired => Err(ApiError::unauthorized("Token has expired")),
    }
}

fn sent_token<'h>(headers: &'h HeaderMap, api: &Shared) -> Result<SentToken<'h>, ApiError> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else {
        return Err(ApiError::unauthorized("Missing Authorization header"));
    };
    let malformed = || ApiError::unauthorized("Malformed token");
    let text = value.to_str().ok().filter(|_| sent.next().is_none()).ok_or_else(malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    SentToken::parse(&api.token_prefix, token.trim()).ok_or_else(malformed)
}

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// What tells where a token stands, in the customary headers and in those of the IETF draft: here those
/// that say the same to everybody.
pub(super) struct RateHeaders {
    limit: HeaderValue,
    policy: HeaderValue,
}

impl RateHeaders {
    pub(super) fn new(limit: u32) -> Self {
        let policy = numbers([("\"default\";q=", u64::from(limit)), (";w=", 60)]);
        Self { limit: limit.into(), policy }
    }

    /// The clock is read later than the window was: who comes at a moment that was told too early is
    /// refused.
    fn write(&self, headers: &mut HeaderMap, rate: RateState) {
        let now = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
        let reset = (now + rate.reset_micros).div_ceil(1_000_000);
        let stand = [("\"default\";r=", u64::from(rate.remaining)), (";t=", seconds(rate))];
        headers.insert(LIMIT, self.limit.clone());
        headers.insert(REMAINING, rate.remaining.into());
        headers.insert(RESET, reset.into());
        headers.insert(RATE_LIMIT_POLICY, self.policy.clone());
        headers.insert(RATE_LIMIT, numbers(stand));
    }
}

/// Numbers, each after its words.
fn numbers(parts: [(&str, u64); 2]) -> HeaderValue {
    let mut text = [0; 64];
    let mut rest = &mut text[..];
    for (words, number) in parts {
        // There is room for both: words of this file, and 20 digits.
        let _ = rest.write_all(words.as_bytes());
        let _ = rest.write_all(itoa::Buffer::new().format(number).as_bytes());
    }
    let left = rest.len();
    // Letters, digits, quotes and signs are a header value.
    HeaderValue::from_bytes(&text[..text.len() - left]).unwrap_or(HeaderValue::from_static(""))
}

/// Seconds until one more is allowed, rounded up.
fn seconds(rate: RateState) -> u64 {
    rate.reset_micros.div_ceil(1_000_000)
}
