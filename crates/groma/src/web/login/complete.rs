//! The end of every login: a second factor if the user has one, then the session.

use super::pending;
use crate::{
    metrics::{self, LoginOutcome},
    web::{
        Web, WebError, cookies::Cookie, form::local_path, i18n::id, mail::Notice, new_secret,
        request_context::RequestContext, session_times::session_end, user_agent::browser_family,
    },
};
use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{UserId, secret::Secret};
use groma_store::{Account, LoginStep, NewSecurityEntry, NewSession};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the second step of a login needs.
#[derive(Serialize, Deserialize)]
pub(in crate::web) struct SecondFactorStep {
    pub(in crate::web) next: String,
    /// The identity provider of the first step.
    pub(in crate::web) provider: Option<String>,
    /// Whether the user of a session proves again who they are.
    pub(in crate::web) is_confirmation: bool,
}

/// What a user has proved.
pub(in crate::web) struct Proof {
    pub(in crate::web) account: Account,
    pub(in crate::web) has_second_factor: bool,
    /// The identity provider that logged the user in.
    pub(in crate::web) provider: Option<String>,
}

/// Completes a login, or asks for the second factor.
pub(in crate::web) async fn complete(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    proof: Proof,
    next: &str,
) -> Result<Response, WebError> {
    let Proof { account, has_second_factor, provider } = proof;
    if account.disabled_at.is_some() {
        metrics::login(LoginOutcome::Failed);
        let entry = NewSecurityEntry::new("login.failed", request.now).about(account.user);
        let entry = entry.with_details(json!({ "reason": "disabled" }));
        web.store.log_security(entry.from_address(&request.address)).await?;
        return Err(WebError::forbidden(id("login-disabled")));
    }
    let next = local_path(next).to_owned();
    if !has_second_factor && web.store.second_factors(account.user).await?.exist() {
        let mut response = Redirect::to("/login/second-factor").into_response();
        let data = SecondFactorStep { next, provider, is_confirmation: false };
        let (step, user) = (LoginStep::SecondFactor, Some(account.user));
        pending::save(web, request, step, user, &data, &mut response).await?;
        return Ok(response);
    }
    metrics::login(LoginOutcome::Succeeded);
    // The new session replaces an earlier one of this browser.
    if let Some(session) = &request.session {
        web.store.end_session(session.user, session.id).await?;
    }
    let device = known_device(web, headers, account.user).await?;
    if device.is_none() {
        // Queued before the session exists: no login goes without its notice.
        let t = request.t.or_chosen(account.language.as_deref());
        let (at, browser) = (request.exact_now(), browser_family(t, user_agent(headers)));
        let notice = Notice::NewSignIn { browser: &browser, address: &request.address, at: &at };
        web.send_notice(account.user, &account.email, t, &notice).await?;
    }
    let login = Login { user: account.user, has_second_factor, provider };
    open_session(web, request, headers, login, device, &next).await
}

/// The secret of this browser, if the user has logged in with it before.
pub(in crate::web) async fn known_device(
    web: &Web,
    headers: &HeaderMap,
    user: UserId,
) -> Result<Option<Secret>, WebError> {
    let Some(device) = device_cookie(web, headers) else { return Ok(None) };
    let is_known = web.store.is_known_device(user, &device.hash()).await?;
    Ok(is_known.then_some(device))
}

/// Whether the browser has a cookie of a device, known or not.
pub(in crate::web) fn has_device_cookie(web: &Web, headers: &HeaderMap) -> bool {
    device_cookie(web, headers).is_some()
}

fn device_cookie(web: &Web, headers: &HeaderMap) -> Option<Secret> {
    Cookie::Device.read(headers, web.is_secure).and_then(Secret::parse)
}

fn user_agent(headers: &HeaderMap) -> &str {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.unwrap_or_default()
}

/// Who logs in, and how.
pub(in crate::web) struct Login {
    user: UserId,
    has_second_factor: bool,
    provider: Option<String>,
}

impl Login {
    /// The first login of a new user, who has only a password.
    pub(in crate::web) fn of_new_user(user: UserId) -> Self {
        Self { user, has_second_factor: false, provider: None }
    }
}

/// Opens a session with a new secret, remembers the device, and redirects.
pub(in crate::web) async fn open_session(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    login: Login,
    device: Option<Secret>,
    to: &str,
) -> Result<Response, WebError> {
    let random = || new_secret().map_err(|error| WebError::internal(error.to_string()));
    let secret = random()?;
    let device = match device {
        Some(device) => device,
        None => random()?,
    };
    let session = NewSession {
        hash: secret.hash(),
        user: login.user,
        user_agent: user_agent(headers).chars().take(300).collect(),
        address: request.address.clone(),
        has_second_factor: login.has_second_factor,
        provider: login.provider,
        now: request.now,
        ends_at: session_end(request.now, request.now),
    };
    let id = web.store.create_session(session, Some(device.hash())).await?;
    let entry = NewSecurityEntry::new("login.succeeded", request.now).by(login.user);
    let entry = NewSecurityEntry { subject: Some(id.0), ..entry };
    web.store.log_security(entry.from_address(&request.address)).await?;
    let mut response = Redirect::to(to).into_response();
    let cookies = response.headers_mut();
    cookies.append(header::SET_COOKIE, Cookie::Session.set(secret.reveal(), web.is_secure));
    cookies.append(header::SET_COOKIE, Cookie::Device.set(device.reveal(), web.is_secure));
    Ok(response)
}
