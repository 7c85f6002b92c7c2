//! "Forgot password": a link by mail that sets a new password.
//!
//! The link sets a cookie and redirects, so that its secret is not in the address of a page.

use super::{
    Shared, Web, WebError,
    cookies::Cookie,
    fields::{Field, Input, attach_errors, focus_first},
    flash::Flash,
    form::Form,
    i18n::{Localizer, Message},
    login::hash_password,
    login_throttle::{Attempt, AttemptKind},
    mail::{Notice, NoticeRecipient},
    new_secret,
    page::{self, AuthPage},
    request_context::RequestContext,
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{DomainError, Email, FieldError, Timestamp, password::Password, secret::Secret};
use groma_store::{Account, LinkPurpose, NewEmailLink, PasswordReset};

/// How long a link is valid.
const LINK_MILLIS: i64 = 60 * 60 * 1_000;

#[derive(Template)]
#[template(path = "forgot_password.html")]
struct RequestPage {
    t: Localizer,
    csrf: String,
    /// The address that a link was requested for.
    sent_to: Option<String>,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl RequestPage {
    fn new(request: &RequestContext, email: &str) -> Self {
        let t = request.t;
        let field = Field::new("email", t.msg("account-email"), Input::Email);
        Self {
            t,
            csrf: request.csrf_token(),
            sent_to: None,
            fields: vec![field.value(email).required().autocomplete("username")],
            problems: Vec::new(),
        }
    }
}

impl AuthPage for RequestPage {
    fn title(&self) -> Message {
        self.t.msg("reset-request-title")
    }
}

pub(super) async fn request_page(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    require_mail(&web)?;
    RequestPage::new(&request, "").show(&web, &request, StatusCode::OK)
}

/// Sends a link. The response is the same whether the account exists or not, and does not wait for it.
pub(super) async fn request(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    require_mail(&web)?;
    let mut page = RequestPage::new(&request, form.get("email"));
    let email = match Email::parse(form.get("email")) {
        Ok(email) => email,
        Err(reason) => {
            let errors = [FieldError::new("email", reason)];
            page.problems = attach_errors(request.t, &mut page.fields, &errors);
            focus_first(&mut page.fields);
            return page.show(&web, &request, StatusCode::BAD_REQUEST);
        }
    };
    let attempt = Attempt::begin(&web, &request, AttemptKind::PasswordReset(&email)).await?;
    if let Err(throttled) = attempt {
        tracing::warn!(client = request.address, "password reset rejected: too many requests");
        page.problems.push(request.t.too_many_attempts(throttled.retry_after_seconds));
        let response = page.show(&web, &request, StatusCode::TOO_MANY_REQUESTS)?;
        return Ok(throttled.add_header(response));
    }
    page.sent_to = Some(email.to_string());
    let (sender, t, now) = (web.clone(), request.t, request.now);
    tokio::spawn(async move {
        if let Err(error) = send_link(&sender, &email, t, now).await {
            tracing::warn!(%error, "failed to queue a mail with a link for a new password");
        }
    });
    page.show(&web, &request, StatusCode::OK)
}

fn require_mail(web: &Web) -> Result<(), WebError> {
    if web.sends_mail { Ok(()) } else { Err(WebError::not_found()) }
}

async fn send_link(
    web: &Web,
    email: &Email,
    t: Localizer,
    now: Timestamp,
) -> groma_store::Result<()> {
    let account = web.store.account(email).await?;
    let account = account.filter(|account| account.disabled_at.is_none());
    let Some(Account { user, email, language, password_hash, .. }) = account else {
        return Ok(());
    };
    // Whoever logs in at an identity provider only must not get around it with a password.
    if password_hash.is_none() && !web.store.identities(user).await?.is_empty() {
        return Ok(());
    }
    let Ok(secret) = new_secret() else {
        tracing::error!("the system provides no random numbers");
        return Ok(());
    };
    let expires_at = now.plus_millis(LINK_MILLIS);
    let link = format!("{}/reset-password/{}", web.public_url, secret.reveal());
    let writer = web.mail_writer(t.or_chosen(language.as_deref()));
    let link = NewEmailLink {
        hash: secret.hash(),
        user,
        purpose: LinkPurpose::ResetPassword,
        expires_at,
        mail: writer.password_reset(user, email, &link, expires_at),
    };
    web.store.send_email_link(link, now).await.map(drop)
}

/// Moves the secret of a link into a cookie.
pub(super) async fn open_link(
    State(web): State<Shared>,
    Path(sent): Path<String>,
) -> Result<Response, WebError> {
    let mut response = Redirect::to("/reset-password").into_response();
    let headers = response.headers_mut();
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let cookie = match Secret::parse(&sent) {
        Some(secret) => Cookie::Reset.set(secret.reveal(), web.is_secure),
        None => Cookie::Reset.clear(web.is_secure),
    };
    headers.append(header::SET_COOKIE, cookie);
    Ok(response)
}

#[derive(Template)]
#[template(path = "reset_password.html")]
struct ResetPage {
    t: Localizer,
    csrf: String,
    /// The address of the account; `None` when the link is not valid.
    email: Option<String>,
    sends_mail: bool,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl ResetPage {
    fn new(web: &Web, request: &RequestContext, account: Option<&Account>) -> Self {
        let t = request.t;
        let fields = vec![
            Field::new("password", t.msg("account-new-password"), Input::Password)
                .required()
                .autocomplete("new-password")
                .hint(t.msg("account-password-hint")),
            revoke_tokens_field(t),
        ];
        Self {
            t,
            csrf: request.csrf_token(),
            email: account.map(|account| account.email.to_string()),
            sends_mail: web.sends_mail,
            fields,
            problems: Vec::new(),
        }
    }
}

impl AuthPage for ResetPage {
    fn title(&self) -> Message {
        self.t.msg("reset-title")
    }
}

/// Whether to revoke the tokens of the user with the old password.
pub(super) fn revoke_tokens_field(t: Localizer) -> Field {
    Field::new("revoke_tokens", t.msg("reset-revoke-tokens"), Input::Checkbox)
        .hint(t.msg("reset-revoke-tokens-hint"))
}

/// The link that the browser opened, and its account.
async fn opened_link(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
) -> Result<Option<(Secret, Account)>, WebError> {
    let secret = Cookie::Reset.read(headers, web.is_secure).and_then(Secret::parse);
    let Some(secret) = secret else { return Ok(None) };
    let purpose = LinkPurpose::ResetPassword;
    let account = web.store.email_link(&secret.hash(), purpose, request.now).await?;
    Ok(account.map(|account| (secret, account)))
}

pub(super) async fn reset_page(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let found = opened_link(&web, &request, &headers).await?;
    let status = if found.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let account = found.as_ref().map(|(_, account)| account);
    ResetPage::new(&web, &request, account).show(&web, &request, status)
}

pub(super) async fn reset(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let Some((secret, account)) = opened_link(&web, &request, &headers).await? else {
        let page = ResetPage::new(&web, &request, None);
        return page.show(&web, &request, StatusCode::NOT_FOUND);
    };
    let new = match Password::new(form.get("password"), &[account.email.as_str(), &web.title]) {
        Ok(new) => new,
        Err(reason) => {
            let mut page = ResetPage::new(&web, &request, Some(&account));
            let errors = [FieldError::new("password", reason)];
            page.problems = attach_errors(request.t, &mut page.fields, &errors);
            focus_first(&mut page.fields);
            return page.show(&web, &request, StatusCode::BAD_REQUEST);
        }
    };
    let turn = web.passwords.enter(&request.address).await?;
    let hash = hash_password(&turn, new).await?;
    drop(turn);
    let t = request.t.or_chosen(account.language.as_deref());
    let recipient = NoticeRecipient { user: account.user, email: account.email };
    let notice = Notice::PasswordChanged { at: &request.exact_now() };
    let reset = PasswordReset {
        link: secret.hash(),
        password_hash: hash,
        revoke_tokens: form.has("revoke_tokens"),
        notice: web.mail_writer(t).notice(recipient, &notice, request.now),
        address: request.address.clone(),
    };
    if let Err(error) = web.store.reset_password(reset, request.now).await {
        let Some(DomainError::NotFound { .. }) = error.domain_error() else {
            return Err(error.into());
        };
        let page = ResetPage::new(&web, &request, None);
        return page.show(&web, &request, StatusCode::NOT_FOUND);
    }
    tracing::info!(client = request.address, "a password was set by a link");
    let flash = Flash::new(request.t.msg("reset-done"));
    let mut response = page::redirect_with_flash(&request, web.is_secure, "/login", &flash);
    response.headers_mut().append(header::SET_COOKIE, Cookie::Reset.clear(web.is_secure));
    Ok(response)
}
