//! Logins that wait for their next step. The browser holds their secret in a cookie.

use crate::web::{
    Web, WebError, cookies::Cookie, i18n::id, new_secret, request_context::RequestContext,
};
use axum::{
    http::{HeaderMap, header},
    response::Response,
};
use groma_domain::{UserId, secret::Secret};
use groma_store::{LoginStep, PendingLogin};
use serde::{Serialize, de::DeserializeOwned};

/// How long a user has for the next step.
const PENDING_MILLIS: i64 = 10 * 60 * 1_000;

/// The cookie of a step. A request for a passkey does not end the login that it belongs to.
fn cookie(step: LoginStep) -> Cookie {
    match step {
        LoginStep::SecondFactor | LoginStep::Provider => Cookie::PendingLogin,
        LoginStep::Passkey | LoginStep::Registration => Cookie::PasskeyRequest,
    }
}

/// Saves what the next step needs, and adds its cookie to a response.
pub(in crate::web) async fn save(
    web: &Web,
    request: &RequestContext,
    step: LoginStep,
    user: Option<UserId>,
    data: &impl Serialize,
    response: &mut Response,
) -> Result<(), WebError> {
    let internal = |error: &dyn std::fmt::Display| WebError::internal(error.to_string());
    let secret = new_secret().map_err(|error| internal(&error))?;
    let data = serde_json::to_string(data).map_err(|error| internal(&error))?;
    let expires_at = request.now.plus_millis(PENDING_MILLIS);
    let pending = PendingLogin { step, user, data, expires_at };
    if !web.store.save_pending_login(&secret.hash(), pending, request.now).await? {
        return Err(WebError::too_many(id("error-busy")));
    }
    let header = cookie(step).set(secret.reveal(), web.is_secure);
    response.headers_mut().append(header::SET_COOKIE, header);
    Ok(())
}

fn secret(web: &Web, headers: &HeaderMap, step: LoginStep) -> Option<Secret> {
    cookie(step).read(headers, web.is_secure).and_then(Secret::parse)
}

/// What a step needs, and whose login it is.
pub(in crate::web) struct Pending<D> {
    pub(in crate::web) user: Option<UserId>,
    pub(in crate::web) data: D,
}

/// The step that this browser waits for; it stays pending.
pub(in crate::web) async fn find<D: DeserializeOwned>(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    step: LoginStep,
) -> Result<Option<Pending<D>>, WebError> {
    let Some(secret) = secret(web, headers, step) else { return Ok(None) };
    Ok(parse(web.store.pending_login(&secret.hash(), step, request.now).await?))
}

/// The step that this browser waited for; it is used up.
pub(in crate::web) async fn take<D: DeserializeOwned>(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    step: LoginStep,
) -> Result<Option<Pending<D>>, WebError> {
    let Some(secret) = secret(web, headers, step) else { return Ok(None) };
    Ok(parse(web.store.take_pending_login(&secret.hash(), step, request.now).await?))
}

fn parse<D: DeserializeOwned>(pending: Option<PendingLogin>) -> Option<Pending<D>> {
    let PendingLogin { user, data, .. } = pending?;
    Some(Pending { user, data: serde_json::from_str(&data).ok()? })
}
