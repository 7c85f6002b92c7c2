//! Coming in: the first set-up, logging in and out, invitations.

use super::{
    Shared, Web, WebError,
    cookies::Cookie,
    fields::{Choice, Field, Input, focus, problems, tell},
    flash::Flash,
    form::{Form, Query, local_path},
    guard::session_end,
    new_secret, page, shown,
    visit::Visit,
};
use crate::{
    metrics::{self, LoginOutcome},
    password,
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{
    Currency, Email, Problem, Refusal, UserId,
    password::Password,
    session::{Secret, same},
    workspace::WorkspaceName,
};
use groma_store::{Bucket, Invitation, NewSession, NewUser};

#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    csrf: String,
    next: String,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl Login {
    fn new(visit: &Visit, next: &str, email: &str) -> Self {
        Self {
            csrf: visit.form_token(),
            next: local_path(next).to_owned(),
            fields: vec![
                Field::new("email", "E-mail address", Input::Email)
                    .value(email)
                    .needed()
                    .autocomplete("username"),
                Field::new("password", "Password", Input::Password)
                    .needed()
                    .autocomplete("current-password"),
            ],
            problems: Vec::new(),
        }
    }
}

pub(super) async fn login_page(
    State(web): State<Shared>,
    visit: Visit,
    query: Query,
) -> Result<Response, WebError> {
    if visit.session.is_some() {
        return Ok(Redirect::to(local_path(query.get("next"))).into_response());
    }
    if !web.store.has_users().await? {
        return Ok(Redirect::to("/setup").into_response());
    }
    let login = Login::new(&visit, query.get("next"), "");
    page::entry(&web, &visit, StatusCode::OK, "Log in", &login)
}

/// How many attempts may fail within a quarter of an hour. A device that has logged in before counts
/// for itself, so that strangers cannot lock its owner out.
const PER_DEVICE: u32 = 10;
const PER_ACCOUNT_AND_ADDRESS: u32 = 10;
const PER_ADDRESS: u32 = 100;
const PER_ACCOUNT: u32 = 100;

pub(super) async fn login(
    State(web): State<Shared>,
    visit: Visit,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let mut again = Login::new(&visit, form.get("next"), form.get("email"));
    let Ok(email) = Email::parse(form.get("email")) else {
        again.problems.push("The address or the password is not right.".to_owned());
        return page::entry(&web, &visit, StatusCode::BAD_REQUEST, "Log in", &again);
    };
    let account = web.store.account(&email).await?;
    let device = Cookie::Device.read(&headers, web.is_secure).and_then(Secret::parse);
    let is_known = match (&account, &device) {
        (Some(account), Some(device)) => {
            web.store.knows_device(account.user, &device.hash()).await?
        }
        _ => false,
    };
    let device = device.filter(|_| is_known);
    let buckets = buckets(&email, &visit.address, device.as_ref());
    if !web.store.begin_attempt(buckets.clone(), visit.now).await? {
        metrics::login(LoginOutcome::Throttled);
        tracing::warn!(client = visit.address, "a login was refused: too many have failed");
        let message = "Too many attempts have failed. Try again in a quarter of an hour.";
        again.problems.push(message.to_owned());
        return page::entry(&web, &visit, StatusCode::TOO_MANY_REQUESTS, "Log in", &again);
    }
    let hash = account.as_ref().and_then(|account| account.password_hash.clone());
    let is_right = check_password(&web, hash, form.get("password")).await?;
    let Some(account) = account.filter(|_| is_right) else {
        metrics::login(LoginOutcome::Failed);
        tracing::info!(client = visit.address, "a login failed");
        again.problems.push("The address or the password is not right.".to_owned());
        return page::entry(&web, &visit, StatusCode::BAD_REQUEST, "Log in", &again);
    };
    metrics::login(LoginOutcome::Succeeded);
    web.store.forget_attempt(buckets, visit.now).await?;
    // An earlier session of this browser ends with the new one.
    if let Some(session) = &visit.session {
        web.store.end_session(session.user, session.id).await?;
    }
    let to = local_path(form.get("next"));
    come_in(&web, &visit, &headers, account.user, device, to).await
}

/// What an attempt counts for, the one first that is forgiven as a whole when it succeeds.
fn buckets(email: &Email, address: &str, device: Option<&Secret>) -> Vec<Bucket> {
    let bucket = |name: String, limit| Bucket { name, limit };
    let account = email.key();
    match device {
        Some(device) => {
            let mark = device.mark("attempts", account.as_bytes());
            vec![bucket(format!("device {mark}"), PER_DEVICE)]
        }
        None => vec![
            bucket(format!("both {address} {account}"), PER_ACCOUNT_AND_ADDRESS),
            bucket(format!("address {address}"), PER_ADDRESS),
            bucket(format!("account {account}"), PER_ACCOUNT),
        ],
    }
}

/// Checks a password in the time that it takes whether or not there is one to compare with.
pub(super) async fn check_password(
    web: &Web,
    hash: Option<String>,
    typed: &str,
) -> Result<bool, WebError> {
    let failed = |error: String| WebError::internal(error);
    let _permit = web.password_checks.acquire().await.map_err(|error| failed(error.to_string()))?;
    password::verify(hash, typed.to_owned()).await.map_err(|error| failed(error.to_string()))
}

/// Opens a session under a new secret, remembers the device, and goes on.
async fn come_in(
    web: &Web,
    visit: &Visit,
    headers: &HeaderMap,
    user: UserId,
    device: Option<Secret>,
    to: &str,
) -> Result<Response, WebError> {
    let fresh = || new_secret().map_err(|error| WebError::internal(error.to_string()));
    let secret = fresh()?;
    let device = match device {
        Some(device) => device,
        None => fresh()?,
    };
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let session = NewSession {
        hash: secret.hash(),
        user,
        user_agent: agent.unwrap_or_default().chars().take(300).collect(),
        address: visit.address.clone(),
        now: visit.now,
        ends_at: session_end(visit.now, visit.now),
    };
    web.store.open_session(session, Some(device.hash())).await?;
    let mut response = Redirect::to(to).into_response();
    let cookies = response.headers_mut();
    cookies.append(header::SET_COOKIE, Cookie::Session.set(secret.reveal(), web.is_secure));
    cookies.append(header::SET_COOKIE, Cookie::Device.set(device.reveal(), web.is_secure));
    Ok(response)
}

pub(super) async fn logout(State(web): State<Shared>, visit: Visit) -> Result<Response, WebError> {
    if let Some(session) = &visit.session {
        web.store.end_session(session.user, session.id).await?;
    }
    let mut response = Redirect::to("/login").into_response();
    let cookie = Cookie::Session.clear(web.is_secure);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

#[derive(Template)]
#[template(path = "setup.html")]
struct SetUp<'a> {
    service: &'a str,
    csrf: String,
    has_code: bool,
    code: &'a str,
    address: String,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl<'a> SetUp<'a> {
    fn new(web: &'a Web, visit: &Visit, code: &'a str) -> Self {
        Self {
            service: &web.title,
            csrf: visit.form_token(),
            has_code: same(code, web.setup_code.reveal()),
            code,
            address: format!("{}/setup?code=", web.public_url),
            fields: vec![
                Field::line("name", "Name of the workspace")
                    .needed()
                    .hint("Your office, for example"),
                Field::new("currency", "Currency", Input::Choice(currencies(Currency::EUR)))
                    .needed(),
                Field::line("person", "Your name").needed().autocomplete("name"),
                Field::new("email", "Your e-mail address", Input::Email)
                    .needed()
                    .autocomplete("username"),
                Field::new("password", "Password", Input::Password)
                    .needed()
                    .autocomplete("new-password")
                    .hint("At least 8 characters"),
            ],
            problems: Vec::new(),
        }
    }
}

/// The currencies that an office is likely to want, and the one it has.
pub(super) fn currencies(current: Currency) -> Vec<Choice> {
    const USUAL: [&str; 22] = [
        "AUD", "BGN", "BRL", "CAD", "CHF", "CZK", "DKK", "EUR", "GBP", "HUF", "INR", "JPY", "KWD",
        "MAD", "MXN", "NOK", "NZD", "PLN", "RON", "SEK", "TND", "USD",
    ];
    let mut codes: Vec<&str> = USUAL.to_vec();
    if !codes.contains(&current.code()) {
        codes.push(current.code());
        codes.sort_unstable();
    }
    codes.into_iter().map(|code| Choice::new(code, code, code == current.code())).collect()
}

pub(super) async fn setup_page(
    State(web): State<Shared>,
    visit: Visit,
    query: Query,
) -> Result<Response, WebError> {
    if web.store.has_users().await? {
        return Ok(Redirect::to("/login").into_response());
    }
    let content = SetUp::new(&web, &visit, query.get("code"));
    page::entry(&web, &visit, StatusCode::OK, "Set up", &content)
}

pub(super) async fn setup(
    State(web): State<Shared>,
    visit: Visit,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let mut again = SetUp::new(&web, &visit, form.get("code"));
    if !again.has_code {
        return Err(WebError::forbidden("The code of this page does not hold (any more)."));
    }
    let typed = ["name", "person", "email"];
    for field in again.fields.iter_mut().filter(|field| typed.contains(&field.name)) {
        field.value = form.get(field.name).to_owned();
    }
    let mut wrong = Vec::new();
    let name = WorkspaceName::parse(form.get("name"));
    let name = name.map_err(|refusal| wrong.extend(problems(&refusal))).ok();
    let currency: Result<Currency, _> = form.get("currency").parse();
    let currency = currency.map_err(|reason| wrong.push(Problem::new("currency", reason))).ok();
    let owner = new_user(&form, &mut wrong);
    if let (Some(name), Some(currency), Some((owner, password)), true) =
        (name, currency, owner, wrong.is_empty())
    {
        let owner = hashed(owner, password).await?;
        let email = owner.email.clone();
        match web.store.set_up(name, currency, owner, visit.now).await {
            Ok(_) => {
                let account = web.store.account(&email).await?.ok_or_else(WebError::not_found)?;
                return come_in(&web, &visit, &headers, account.user, None, "/").await;
            }
            Err(error) => wrong.extend(refused(error)?),
        }
    }
    again.problems = tell(&mut again.fields, &wrong);
    focus(&mut again.fields);
    page::entry(&web, &visit, StatusCode::BAD_REQUEST, "Set up", &again)
}

/// What a rule refused; anything else is an error.
fn refused(error: groma_store::Error) -> Result<Vec<Problem>, WebError> {
    match error.refusal() {
        Some(refusal @ Refusal::Invalid(_)) => Ok(problems(refusal)),
        _ => Err(error.into()),
    }
}

/// Reads someone new: `person`, `email`, `password`.
fn new_user(form: &Form, wrong: &mut Vec<Problem>) -> Option<(NewUser, Password)> {
    let name = groma_domain::person::parse_name(form.get("person"));
    let name = name.map_err(|reason| wrong.push(Problem::new("person", reason))).ok();
    let email = Email::parse(form.get("email"));
    let email = email.map_err(|reason| wrong.push(Problem::new("email", reason))).ok();
    let password = Password::new(form.get("password"));
    let password = password.map_err(|reason| wrong.push(Problem::new("password", reason))).ok();
    let user = NewUser { email: email?, name: Some(name?), password_hash: None };
    Some((user, password?))
}

async fn hashed(user: NewUser, password: Password) -> Result<NewUser, WebError> {
    let hash = password::hash(password).await;
    let hash = hash.map_err(|error| WebError::internal(error.to_string()))?;
    Ok(NewUser { password_hash: Some(hash), ..user })
}

#[derive(Template)]
#[template(path = "join.html")]
struct Join {
    csrf: String,
    secret: String,
    invited: Option<Invited>,
    fields: Vec<Field>,
    problems: Vec<String>,
}

struct Invited {
    workspace: String,
    by: String,
    role: &'static str,
    until: String,
    /// Who is logged in.
    user: Option<String>,
}

impl Join {
    async fn new(web: &Web, visit: &Visit, sent: &str) -> Result<Self, WebError> {
        let mut join = Self {
            csrf: visit.form_token(),
            secret: String::new(),
            invited: None,
            fields: Vec::new(),
            problems: Vec::new(),
        };
        let Some(secret) = Secret::parse(sent) else { return Ok(join) };
        let found = web.store.invitation(&secret.hash(), visit.now).await?;
        let Some((workspace, invitation)) = found else { return Ok(join) };
        let Invitation { role, email, invited_by, expires_at, .. } = invitation;
        let people = web.store.people(workspace.id).await?;
        let by = people.into_iter().find(|known| Some(known.person.id) == invited_by);
        join.secret = secret.reveal().to_owned();
        join.invited = Some(Invited {
            workspace: workspace.name.as_str().to_owned(),
            by: by.map(|by| by.person.name).unwrap_or_default(),
            role: role.name(),
            until: shown::full_day(expires_at.date()),
            user: visit.session.as_ref().map(|session| session.email.to_string()),
        });
        join.fields = vec![
            Field::line("person", "Your name").needed().autocomplete("name"),
            Field::new("email", "Your e-mail address", Input::Email)
                .value(email.unwrap_or_default())
                .needed()
                .autocomplete("username"),
            Field::new("password", "Password", Input::Password)
                .needed()
                .autocomplete("new-password")
                .hint("At least 8 characters"),
        ];
        Ok(join)
    }
}

pub(super) async fn join_page(
    State(web): State<Shared>,
    visit: Visit,
    Path(sent): Path<String>,
) -> Result<Response, WebError> {
    let join = Join::new(&web, &visit, &sent).await?;
    let status = if join.invited.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    page::entry(&web, &visit, status, "Invitation", &join)
}

pub(super) async fn join(
    State(web): State<Shared>,
    visit: Visit,
    Path(sent): Path<String>,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let mut again = Join::new(&web, &visit, &sent).await?;
    let secret = Secret::parse(&sent).filter(|_| again.invited.is_some());
    let Some(secret) = secret else {
        return page::entry(&web, &visit, StatusCode::NOT_FOUND, "Invitation", &again);
    };
    let mut wrong = Vec::new();
    let user = match &visit.session {
        Some(session) => {
            Some(NewUser { email: session.email.clone(), name: None, password_hash: None })
        }
        None => {
            for field in again.fields.iter_mut().filter(|field| field.name != "password") {
                field.value = form.get(field.name).to_owned();
            }
            match new_user(&form, &mut wrong) {
                Some((user, password)) => Some(hashed(user, password).await?),
                None => None,
            }
        }
    };
    if let Some(user) = user {
        let (is_stranger, email) = (visit.session.is_none(), user.email.clone());
        let accepted =
            web.store.accept_invitation(secret.hash(), user, is_stranger, visit.now).await;
        match (accepted, &visit.session) {
            (Ok((workspace, _)), Some(session)) => {
                web.store.enter_workspace(session.id, session.user, workspace).await?;
                let flash = Flash::new("Welcome. This is the workspace that you have joined.");
                return Ok(page::go(&visit, web.is_secure, "/", &flash));
            }
            (Ok(_), None) => {
                let account = web.store.account(&email).await?.ok_or_else(WebError::not_found)?;
                return come_in(&web, &visit, &headers, account.user, None, "/").await;
            }
            (Err(error), _) => wrong.extend(refused(error)?),
        }
    }
    if visit.session.is_some() {
        again.fields.clear();
    }
    again.problems = tell(&mut again.fields, &wrong);
    focus(&mut again.fields);
    page::entry(&web, &visit, StatusCode::BAD_REQUEST, "Invitation", &again)
}
