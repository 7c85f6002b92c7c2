//! The account page: name, email address, language, theme, password, sessions, workspaces, and deleting
//! the account. The folder has the pages about second factors.

pub(super) mod authenticator;
pub(super) mod passkeys;
pub(super) mod security;

use super::{
    Shared, WebError,
    fields::{Choice, Field, Input, attach_errors, problems},
    flash::Flash,
    form::{Form, local_path},
    format::Moment,
    i18n::{Localizer, Message},
    login::{check_password, hash_password},
    login_throttle::{Attempt, AttemptKind},
    mail::Notice,
    page::{self, Meta, Nav, WorkspaceOption},
    password_reset::revoke_tokens_field,
    request_context::{MemberContext, RequestContext},
    user_agent::browser_name,
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{DomainError, Email, FieldError, SessionId, WorkspaceId, password::Password};
use groma_store::{
    AccountAuthority, Actor, Membership, NewSecurityEntry, PasswordChange, Preferences, Session,
};
use std::sync::Arc;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    t: Localizer,
    email: String,
    /// Whether the user has proved to receive mail at the address.
    is_verified: bool,
    /// Whether the server sends mail.
    sends_mail: bool,
    csrf: String,
    /// The name in the current workspace.
    name: Option<Field>,
    /// Language and theme.
    preferences: Vec<Field>,
    /// The form that changes the password; empty for users without one.
    fields: Vec<Field>,
    problems: Vec<String>,
    sessions: Vec<SessionView>,
    workspaces: Vec<WorkspaceOption>,
    zone: String,
    /// The address, typed to confirm that the account is deleted.
    confirm: Vec<Field>,
}

struct SessionView {
    id: String,
    browser: String,
    address: String,
    opened: Moment,
    last_used: Moment,
    is_current: bool,
}

fn session_of(request: &RequestContext) -> Result<Arc<Session>, WebError> {
    request.session.clone().ok_or_else(WebError::login_required)
}

pub(super) async fn account_page(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    show(web, request, StatusCode::OK, &[]).await
}

async fn show(
    web: Shared,
    request: RequestContext,
    status: StatusCode,
    errors: &[FieldError],
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let t = request.t;
    let account = web.store.account(&session.email).await?;
    let moment = |at| Moment::new(t, at, request.now, &request.zone);
    let sessions = web.store.sessions(session.user, request.now).await?;
    let sessions = sessions.into_iter().map(|row| SessionView {
        id: row.id.to_string(),
        browser: browser_name(t, &row.user_agent),
        address: row.address,
        opened: moment(row.created_at),
        last_used: moment(row.last_seen_at),
        is_current: row.id == session.id,
    });
    let has_password = account.as_ref().is_some_and(|account| account.password_hash.is_some());
    let mut fields = if has_password { password_fields(t) } else { Vec::new() };
    let mut confirm = vec![confirm_field(t)];
    attach_errors(t, &mut confirm, errors);
    let mut name: Vec<_> = request.member.iter().map(|member| name_field(t, member)).collect();
    attach_errors(t, &mut name, errors);
    let is_elsewhere = |error: &&FieldError| matches!(error.field.as_str(), "name" | "confirm");
    let errors: Vec<_> = errors.iter().filter(|error| !is_elsewhere(error)).cloned().collect();
    let problems = attach_errors(t, &mut fields, &errors);
    let content = AccountPage {
        t,
        email: session.email.to_string(),
        is_verified: account.is_some_and(|account| account.email_verified_at.is_some()),
        sends_mail: web.sends_mail,
        csrf: request.csrf_token(),
        name: name.pop(),
        preferences: preference_fields(t, &session.preferences),
        fields,
        problems,
        sessions: sessions.collect(),
        workspaces: WorkspaceOption::list(&request),
        zone: request.zone.iana_name().unwrap_or("UTC").to_owned(),
        confirm,
    };
    match request.member.clone() {
        Some(member) => {
            let ctx = MemberContext { web, request, session, member };
            let meta = Meta::new(t.msg("account-title"), Nav::None);
            ctx.page_with_status(status, meta, &content).await
        }
        None => page::auth_page(&web, &request, status, t.msg("account-title"), &content),
    }
}

fn password_fields(t: Localizer) -> Vec<Field> {
    vec![
        Field::new("current", t.msg("account-current-password"), Input::Password)
            .required()
            .autocomplete("current-password"),
        Field::new("password", t.msg("account-new-password"), Input::Password)
            .required()
            .autocomplete("new-password")
            .hint(t.msg("account-password-hint")),
        revoke_tokens_field(t),
    ]
}

fn confirm_field(t: Localizer) -> Field {
    Field::new("confirm", t.msg("account-delete-confirm"), Input::Email)
        .required()
        .autocomplete("off")
}

fn name_field(t: Localizer, member: &Membership) -> Field {
    let workspace = member.workspace.name.as_str();
    Field::new("name", t.msg("account-name"), Input::Line)
        .value(&member.person.name)
        .required()
        .autocomplete("name")
        .hint(t.msg("account-name-hint").arg("workspace", workspace))
}

fn preference_fields(t: Localizer, chosen: &Preferences) -> Vec<Field> {
    let select = |name, label: Message, chosen: Option<&str>, options: Vec<(String, String)>| {
        let automatic = (String::new(), t.msg("account-automatic").to_string());
        let choices = std::iter::once(automatic).chain(options).map(|(value, label)| {
            let is_selected = value == chosen.unwrap_or_default();
            Choice::new(value, label, is_selected)
        });
        Field::new(name, label, Input::Select(choices.collect())).required()
    };
    let theme =
        |name: &str| (name.to_owned(), t.msg("account-theme-name").arg("theme", name).into());
    let languages = Localizer::languages().collect();
    let themes = THEMES.map(theme).into();
    vec![
        select("language", t.msg("account-language"), chosen.language.as_deref(), languages),
        select("theme", t.msg("account-theme"), chosen.theme.as_deref(), themes),
    ]
}

const THEMES: [&str; 2] = ["light", "dark"];

pub(super) async fn change_name(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let member = request.member.clone().ok_or_else(WebError::not_found)?;
    let (workspace, actor) = (member.workspace.id, Actor::Session(session_of(&request)?.id));
    let renamed = web.store.rename_member(workspace, actor, form.get("name"), request.now).await;
    if let Err(error) = renamed {
        let Some(error @ DomainError::Invalid(_)) = error.domain_error() else {
            return Err(error.into());
        };
        let errors = problems(error);
        return show(web, request, StatusCode::BAD_REQUEST, &errors).await;
    }
    let flash = Flash::new(request.t.msg("account-name-saved"));
    Ok(page::redirect_with_flash(&request, web.is_secure, "/account", &flash))
}

pub(super) async fn save_preferences(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let is_language = |tag: &&str| Localizer::languages().any(|(known, _)| known == **tag);
    let language = form.given("language").filter(is_language);
    let theme = form.given("theme").filter(|theme| THEMES.contains(theme));
    let preferences =
        Preferences { language: language.map(str::to_owned), theme: theme.map(str::to_owned) };
    // The message is in the new language.
    let t = Localizer::for_user(language, &headers);
    web.store.set_preferences(session.id, preferences, request.now).await?;
    let flash = Flash::new(t.msg("account-preferences-saved"));
    Ok(page::redirect_with_flash(&request, web.is_secure, "/account", &flash))
}

pub(super) async fn change_password(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let turn = web.member_passwords.enter(&request.address).await?;
    let account = web.store.account(&session.email).await?.ok_or_else(WebError::not_found)?;
    let attempt = AttemptKind::CurrentPassword(session.user);
    let attempt = Attempt::begin(&web, &request, attempt).await??;
    let mut errors = Vec::new();
    if !check_password(&turn, account.password_hash.clone(), form.get("current")).await? {
        web.store.log_security(request.security_entry("password.changeFailed")).await?;
        errors
            .push(FieldError::new("current", request.t.msg("account-password-wrong").to_string()));
    } else {
        attempt.succeeded(&web).await?;
    }
    let new = Password::new(form.get("password"), &[session.email.as_str(), &web.title]);
    let new = new.map_err(|reason| errors.push(FieldError::new("password", reason))).ok();
    let Some(new) = new.filter(|_| errors.is_empty()) else {
        drop(turn);
        return show(web, request, StatusCode::BAD_REQUEST, &errors).await;
    };
    let hash = hash_password(&turn, new).await?;
    let change = PasswordChange {
        session: session.id,
        user: session.user,
        hash,
        revoke_tokens: form.has("revoke_tokens"),
        address: request.address.clone(),
        now: request.now,
    };
    web.store.change_password(change).await?;
    drop(turn);
    let at = request.exact_now();
    web.send_notice(account.user, &session.email, request.t, &Notice::PasswordChanged { at: &at })
        .await?;
    let flash = Flash::new(request.t.msg("account-password-changed"));
    Ok(page::redirect_with_flash(&request, web.is_secure, "/account", &flash))
}

pub(super) async fn end_session(
    State(web): State<Shared>,
    request: RequestContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let id: SessionId = id.parse().map_err(|_| WebError::not_found())?;
    web.store.end_session(session.user, id).await?;
    let entry = request.security_entry("session.ended");
    web.store.log_security(NewSecurityEntry { subject: Some(id.0), ..entry }).await?;
    let flash = Flash::new(request.t.msg("account-session-ended"));
    Ok(page::redirect_with_flash(&request, web.is_secure, "/account", &flash))
}

pub(super) async fn end_others(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    web.store.end_sessions(session.id, true, request.address.clone(), request.now).await?;
    let flash = Flash::new(request.t.msg("account-other-sessions-ended"));
    Ok(page::redirect_with_flash(&request, web.is_secure, "/account", &flash))
}

/// Ends all sessions of the user, also this one.
pub(super) async fn end_all(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    web.store.end_sessions(session.id, false, request.address.clone(), request.now).await?;
    let flash = Flash::new(request.t.msg("account-all-sessions-ended"));
    Ok(page::redirect_with_flash(&request, web.is_secure, "/login", &flash))
}

/// Deletes the account of the user, who typed its address to confirm.
pub(super) async fn delete(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    if Email::parse(form.get("confirm")).ok().as_ref() != Some(&session.email) {
        let wrong = request.t.msg("account-delete-wrong").to_string();
        let errors = [FieldError::new("confirm", wrong)];
        return show(web, request, StatusCode::BAD_REQUEST, &errors).await;
    }
    let authority = AccountAuthority::Own(session.id);
    match web.store.delete_user(session.user, authority, request.now).await {
        Ok(()) => {
            let flash = Flash::new(request.t.msg("account-deleted"));
            Ok(page::redirect_with_flash(&request, web.is_secure, "/login", &flash))
        }
        Err(error) => {
            let Some(rule @ DomainError::Invalid(_)) = error.domain_error() else {
                return Err(error.into());
            };
            let rules = problems(rule).into_iter();
            let errors: Vec<_> =
                rules.map(|problem| FieldError::new("confirm", problem.violation)).collect();
            show(web, request, StatusCode::BAD_REQUEST, &errors).await
        }
    }
}

pub(super) async fn enter_workspace(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let wanted: WorkspaceId = form.get("workspace").parse().map_err(|_| WebError::not_found())?;
    if !session.memberships.iter().any(|member| member.workspace.id == wanted) {
        return Err(WebError::not_found());
    }
    web.store.select_workspace(session.id, session.user, wanted).await?;
    Ok(Redirect::to(local_path(form.get("next"))).into_response())
}
