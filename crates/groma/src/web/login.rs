//! Logging in with a password, and logging out. The folder has the other ways to log in, and the steps that
//! follow.

pub(super) mod complete;
pub(super) mod confirm;
pub(super) mod passkey;
pub(super) mod pending;
pub(super) mod provider;
pub(super) mod second_factor;

use super::{
    Shared, Web, WebError,
    cookies::Cookie,
    fields::{Field, Input},
    form::{Form, Pairs, Query, encode, local_path},
    i18n::{Localizer, Message},
    login_throttle::{Attempt, AttemptKind},
    page::AuthPage,
    password_queue::Turn,
    request_context::RequestContext,
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
use complete::{Proof, complete, has_device_cookie, known_device};
use groma_domain::{Email, password::Password, secret::Secret};
use groma_store::{Account, NewSecurityEntry};
use provider::ProviderLink;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    t: Localizer,
    csrf: String,
    next: String,
    /// Whether a new password can be requested by mail.
    sends_mail: bool,
    has_passkeys: bool,
    providers: Vec<ProviderLink>,
    /// The provider that the user logged out from, with the page that ends the session there.
    ended: Option<ProviderLink>,
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
            has_passkeys: web.passkeys.is_some(),
            providers: ProviderLink::all(web, &next_query(next)),
            ended: None,
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
}

impl AuthPage for LoginPage {
    fn title(&self) -> Message {
        self.t.msg("login-title")
    }
}

/// The query of links that lead to `next` after the login.
fn next_query(next: &str) -> String {
    Pairs::default().with(&[("next", if next.is_empty() { "" } else { local_path(next) })]).query()
}

/// The page of a provider that ends the session there.
async fn ended_session(web: &Web, name: &str) -> Option<ProviderLink> {
    let provider = provider::find(web, name).ok()?;
    let href = provider.logout_url(&format!("{}/login", web.public_url)).await?;
    Some(ProviderLink { label: provider.label().to_owned(), href })
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
    let mut page = LoginPage::new(&web, &request, query.get("next"), "");
    if let Some(name) = query.given("from") {
        page.ended = ended_session(&web, name).await;
    }
    page.show(&web, &request, StatusCode::OK)
}

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
    let Visitor { turn, account, device } = enter_queue(&web, &request, &headers, &email).await?;
    let known = account.as_ref().map(|account| account.user);
    let attempt = AttemptKind::Login { email: &email, user: known, device: device.as_ref() };
    let attempt = match Attempt::begin(&web, &request, attempt).await? {
        Ok(attempt) => attempt,
        Err(throttled) => {
            metrics::login(LoginOutcome::Throttled);
            tracing::warn!(client = request.address, "login rejected: too many failed attempts");
            page.problems.push(t.too_many_attempts(throttled.retry_after_seconds));
            let response = page.show(&web, &request, StatusCode::TOO_MANY_REQUESTS)?;
            return Ok(throttled.add_header(response));
        }
    };
    let hash = account.as_ref().and_then(|account| account.password_hash.clone());
    let is_correct = check_password(&turn, hash, form.get("password")).await?;
    let Some(account) = account.filter(|_| is_correct) else {
        metrics::login(LoginOutcome::Failed);
        let entry = NewSecurityEntry::new("login.failed", request.now);
        let entry = NewSecurityEntry { subject_user: known, ..entry };
        web.store.log_security(entry.from_address(&request.address)).await?;
        page.problems.push(t.msg("login-failed").into());
        return page.show(&web, &request, StatusCode::BAD_REQUEST);
    };
    attempt.succeeded(&web).await?;
    let proof = Proof { account, has_second_factor: false, provider: None };
    complete(&web, &request, &headers, proof, form.get("next")).await
}

/// Who waited for a turn to log in.
struct Visitor<'w> {
    turn: Turn<'w>,
    account: Option<Account>,
    /// The device, if the account has logged in with it before.
    device: Option<Secret>,
}

/// Waits for a turn. Known devices do not wait with strangers, so that a flood of logins does not keep members
/// out. A cookie alone does not make a device known: what is not in the database joins the strangers.
async fn enter_queue<'w>(
    web: &'w Web,
    request: &RequestContext,
    headers: &HeaderMap,
    email: &Email,
) -> Result<Visitor<'w>, WebError> {
    let throttled = |_: &WebError| metrics::login(LoginOutcome::Throttled);
    if has_device_cookie(web, headers) {
        let turn = web.member_passwords.enter(&request.address).await.inspect_err(throttled)?;
        let account = web.store.account(email).await?;
        let device = match &account {
            Some(account) => known_device(web, headers, account.user).await?,
            None => None,
        };
        if device.is_some() {
            return Ok(Visitor { turn, account, device });
        }
    }
    let turn = web.passwords.enter(&request.address).await.inspect_err(throttled)?;
    let account = web.store.account(email).await?;
    Ok(Visitor { turn, account, device: None })
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

pub(super) async fn logout(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let mut to = "/login".to_owned();
    if let Some(session) = &request.session {
        web.store.end_session(session.user, session.id).await?;
        web.store.log_security(request.security_entry("logout")).await?;
        if let Some(provider) = &session.provider {
            to = format!("/login?from={}", encode(provider));
        }
    }
    let mut response = Redirect::to(&to).into_response();
    let cookie = Cookie::Session.clear(web.is_secure);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}
