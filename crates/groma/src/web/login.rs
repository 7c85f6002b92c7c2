//! Login and logout.

use super::{
    Shared, Web, WebError,
    authorize::session_end,
    cookies::Cookie,
    fields::{Field, Input},
    form::{Form, Query, local_path},
    i18n::Localizer,
    mail::Notice,
    new_secret, page,
    password_queue::Turn,
    request_context::RequestContext,
    user_agent::browser_family,
};
use crate::{
    metrics::{self, LoginOutcome},
    password,
};
use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{Email, UserId, password::Password, secret::Secret};
use groma_store::{NewSecurityEntry, NewSession, ThrottleBucket};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    t: Localizer,
    csrf: String,
    next: String,
    /// Whether a new password can be requested by mail.
    sends_mail: bool,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl LoginPage {
    fn new(web: &Web, request: &RequestContext, next: &str, email: &str) -> Self {
        let t = request.t;
        Self {
            t,
            csrf: request.csrf_token(),
            next: local_path(next).to_owned(),
            sends_mail: web.sends_mail,
            fields: vec![
                Field::new("email", t.msg("account-email"), Input::Email)
                    .value(email)
                    .required()
                    .autocomplete("username"),
                Field::new("password", t.msg("account-password"), Input::Password)
                    .required()
                    .autocomplete("current-password"),
            ],
            problems: Vec::new(),
        }
    }

    fn show(
        &self,
        web: &Web,
        request: &RequestContext,
        status: StatusCode,
    ) -> Result<Response, WebError> {
        page::auth_page(web, request, status, self.t.msg("login-title"), self)
    }
}

pub(super) async fn login_page(
    State(web): State<Shared>,
    request: RequestContext,
    query: Query,
) -> Result<Response, WebError> {
    if request.session.is_some() {
        return Ok(Redirect::to(local_path(query.get("next"))).into_response());
    }
    if !web.store.has_users().await? {
        return Ok(Redirect::to("/setup").into_response());
    }
    let page = LoginPage::new(&web, &request, query.get("next"), "");
    page.show(&web, &request, StatusCode::OK)
}

/// How many logins may fail within 15 minutes. A known device is counted on its own, so that strangers
/// cannot lock its owner out.
const MAX_PER_DEVICE: u32 = 10;
const MAX_PER_ACCOUNT_AND_ADDRESS: u32 = 10;
const MAX_PER_ADDRESS: u32 = 100;
const MAX_PER_ACCOUNT: u32 = 100;

pub(super) async fn login(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let t = request.t;
    let mut page = LoginPage::new(&web, &request, form.get("next"), form.get("email"));
    let Ok(email) = Email::parse(form.get("email")) else {
        page.problems.push(t.msg("login-failed").into());
        return page.show(&web, &request, StatusCode::BAD_REQUEST);
    };
    let turn = web.passwords.enter(&request.address).await.inspect_err(|_| {
        metrics::login(LoginOutcome::Throttled);
    })?;
    let account = web.store.account(&email).await?;
    let device = Cookie::Device.read(&headers, web.is_secure).and_then(Secret::parse);
    let is_known_device = match (&account, &device) {
        (Some(account), Some(device)) => {
            web.store.is_known_device(account.user, &device.hash()).await?
        }
        _ => false,
    };
    let device = device.filter(|_| is_known_device);
    let buckets = buckets(&email, &request.address, device.as_ref());
    if !web.store.begin_login_attempt(buckets.clone(), request.now).await? {
        metrics::login(LoginOutcome::Throttled);
        tracing::warn!(client = request.address, "login rejected: too many failed attempts");
        page.problems.push(t.msg("login-too-many").into());
        return page.show(&web, &request, StatusCode::TOO_MANY_REQUESTS);
    }
    let hash = account.as_ref().and_then(|account| account.password_hash.clone());
    let is_correct = check_password(&turn, hash, form.get("password")).await?;
    let known = account.as_ref().map(|account| account.user);
    let Some(account) = account.filter(|_| is_correct) else {
        metrics::login(LoginOutcome::Failed);
        let entry = NewSecurityEntry::new("login.failed", request.now);
        let entry = NewSecurityEntry { subject_user: known, ..entry };
        web.store.log_security(entry.from_address(&request.address)).await?;
        page.problems.push(t.msg("login-failed").into());
        return page.show(&web, &request, StatusCode::BAD_REQUEST);
    };
    metrics::login(LoginOutcome::Succeeded);
    web.store.clear_login_attempt(buckets, request.now).await?;
    // The new session replaces an earlier one of this browser.
    if let Some(session) = &request.session {
        web.store.end_session(session.user, session.id).await?;
    }
    if device.is_none() {
        // Queued before the session exists: no login goes without its notice.
        let t = t.or_chosen(account.language.as_deref());
        let (at, browser) = (request.exact_now(), browser_family(t, user_agent(&headers)));
        let notice = Notice::NewSignIn { browser: &browser, address: &request.address, at: &at };
        web.send_notice(account.user, &account.email, t, &notice).await?;
    }
    let to = local_path(form.get("next"));
    open_session(&web, &request, &headers, account.user, device, to).await
}

/// The counters that an attempt adds to. A successful login resets the first one.
fn buckets(email: &Email, address: &str, device: Option<&Secret>) -> Vec<ThrottleBucket> {
    let bucket = |name: String, limit| ThrottleBucket { name, limit };
    let account = email.key();
    match device {
        Some(device) => {
            let mark = device.mac("attempts", account.as_bytes());
            vec![bucket(format!("device {mark}"), MAX_PER_DEVICE)]
        }
        None => vec![
            bucket(format!("both {address} {account}"), MAX_PER_ACCOUNT_AND_ADDRESS),
            bucket(format!("address {address}"), MAX_PER_ADDRESS),
            bucket(format!("account {account}"), MAX_PER_ACCOUNT),
        ],
    }
}

/// Checks a password. It takes as long when there is no hash to compare with.
pub(super) async fn check_password(
    _: &Turn<'_>,
    hash: Option<String>,
    typed: &str,
) -> Result<bool, WebError> {
    let verified = password::verify(hash, typed.to_owned()).await;
    verified.map_err(|error| WebError::internal(error.to_string()))
}

/// Hashes a new password.
pub(super) async fn hash_password(_: &Turn<'_>, new: Password) -> Result<String, WebError> {
    password::hash(new).await.map_err(|error| WebError::internal(error.to_string()))
}

fn user_agent(headers: &HeaderMap) -> &str {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.unwrap_or_default()
}

/// Opens a session with a new secret, remembers the device, and redirects.
pub(super) async fn open_session(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    user: UserId,
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
        user,
        user_agent: user_agent(headers).chars().take(300).collect(),
        address: request.address.clone(),
        now: request.now,
        ends_at: session_end(request.now, request.now),
    };
    let id = web.store.create_session(session, Some(device.hash())).await?;
    let entry = NewSecurityEntry::new("login.succeeded", request.now).by(user);
    let entry = NewSecurityEntry { subject: Some(id.0), ..entry };
    web.store.log_security(entry.from_address(&request.address)).await?;
    let mut response = Redirect::to(to).into_response();
    let cookies = response.headers_mut();
    cookies.append(header::SET_COOKIE, Cookie::Session.set(secret.reveal(), web.is_secure));
    cookies.append(header::SET_COOKIE, Cookie::Device.set(device.reveal(), web.is_secure));
    Ok(response)
}

pub(super) async fn logout(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    if let Some(session) = &request.session {
        web.store.end_session(session.user, session.id).await?;
        web.store.log_security(request.security_entry("logout")).await?;
    }
    let mut response = Redirect::to("/login").into_response();
    let cookie = Cookie::Session.clear(web.is_secure);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}
