//! Logging in with an account of an identity provider (OpenID Connect).

use super::{
    LoginPage,
    complete::{Proof, SecondFactorStep, complete},
    pending::{self, Pending},
};
use crate::{
    metrics::{self, LoginOutcome},
    oidc::{Authorization, OidcError, Provider, ProviderIdentity},
    web::{
        Shared, Web, WebError,
        flash::Flash,
        form::{Form, Query, local_path},
        i18n::{Localizer, id},
        login_throttle::{Attempt, AttemptKind},
        mail::{Notice, NoticeRecipient},
        page::{self, AuthPage},
        request_context::RequestContext,
    },
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{DomainError, UserId, secret::Secret};
use groma_store::{IdentityChange, LoginStep, NewSecurityEntry, ProviderLogin, ProviderOutcome};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A provider as a button shows it.
pub(in crate::web) struct ProviderLink {
    pub(in crate::web) label: String,
    pub(in crate::web) href: String,
}

impl ProviderLink {
    /// The providers of the installation; `query` is appended to their links.
    pub(in crate::web) fn all(web: &Web, query: &str) -> Vec<Self> {
        let link = |provider: &Provider| Self {
            label: provider.label().to_owned(),
            href: format!("/login/with/{}{query}", provider.name()),
        };
        web.providers.iter().map(link).collect()
    }
}

/// What a login with a provider is for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Purpose {
    Login,
    /// The user of a session connects an account.
    Connect,
    /// The user of a session proves again who they are.
    Confirm,
}

/// What the answer of a provider is checked against.
#[derive(Serialize, Deserialize)]
struct ProviderStep {
    provider: String,
    purpose: Purpose,
    state: String,
    nonce: String,
    verifier: String,
    next: String,
    /// The secret of the invitation whose link the user opened.
    invitation: Option<String>,
}

pub(in crate::web) fn find<'w>(web: &'w Web, name: &str) -> Result<&'w Provider, WebError> {
    let found = web.providers.iter().find(|provider| provider.name() == name);
    found.ok_or_else(WebError::not_found)
}

/// Sends the browser to a provider.
pub(in crate::web) async fn start(
    State(web): State<Shared>,
    request: RequestContext,
    Path(name): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let provider = find(&web, &name)?;
    let is_confirmation = query.has("confirm") && request.session.is_some();
    let purpose = if is_confirmation { Purpose::Confirm } else { Purpose::Login };
    let authorization = match begin(&web, &request, provider, is_confirmation).await? {
        Ok(authorization) => authorization,
        Err(failed) => return Ok(failed),
    };
    let mut response = Redirect::to(&authorization.url).into_response();
    let invitation = query.given("invitation").map(str::to_owned);
    let step = step(provider, purpose, authorization, query.get("next"), invitation);
    let user = request.session.as_ref().map(|session| session.user);
    let user = user.filter(|_| purpose == Purpose::Confirm);
    pending::save(&web, &request, LoginStep::Provider, user, &step, &mut response).await?;
    Ok(response)
}

#[derive(Template)]
#[template(path = "continue.html")]
struct ContinuePage {
    t: Localizer,
    label: String,
    href: String,
}

/// Sends the browser of a logged-in user to a provider, to connect an account there.
pub(in crate::web) async fn connect(
    State(web): State<Shared>,
    request: RequestContext,
    Path(name): Path<String>,
    _: Form,
) -> Result<Response, WebError> {
    let provider = find(&web, &name)?;
    let session = request.session.clone().ok_or_else(WebError::login_required)?;
    let authorization = match begin(&web, &request, provider, false).await? {
        Ok(authorization) => authorization,
        Err(failed) => return Ok(failed),
    };
    // Browsers follow no redirect of a form to another site, so a page leads there.
    let content = ContinuePage {
        t: request.t,
        label: provider.label().to_owned(),
        href: authorization.url.clone(),
    };
    let title = request.t.msg("provider-continue").arg("label", provider.label());
    let mut response = page::auth_page(&web, &request, StatusCode::OK, title, &content)?;
    if let Ok(refresh) = format!("0; url={}", content.href).parse() {
        response.headers_mut().insert("refresh", refresh);
    }
    let step = step(provider, Purpose::Connect, authorization, "/account/security", None);
    let user = Some(session.user);
    pending::save(&web, &request, LoginStep::Provider, user, &step, &mut response).await?;
    Ok(response)
}

fn step(
    provider: &Provider,
    purpose: Purpose,
    authorization: Authorization,
    next: &str,
    invitation: Option<String>,
) -> ProviderStep {
    let Authorization { state, nonce, verifier, .. } = authorization;
    ProviderStep {
        provider: provider.name().to_owned(),
        purpose,
        state,
        nonce,
        verifier,
        next: local_path(next).to_owned(),
        invitation,
    }
}

/// Begins a login with a provider; the second error is a page that says that it failed.
async fn begin(
    web: &Web,
    request: &RequestContext,
    provider: &Provider,
    again: bool,
) -> Result<Result<Authorization, Response>, WebError> {
    let _counted = Attempt::begin(web, request, AttemptKind::Stranger).await??;
    match provider.begin(again).await {
        Ok(authorization) => Ok(Ok(authorization)),
        Err(error) => Ok(Err(show_failure(web, request, provider, &error)?)),
    }
}

/// The answer of a provider.
pub(in crate::web) async fn callback(
    State(web): State<Shared>,
    request: RequestContext,
    Path(name): Path<String>,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, WebError> {
    let provider = find(&web, &name)?;
    let t = request.t;
    let taken = pending::take::<ProviderStep>(&web, &request, &headers, LoginStep::Provider);
    let is_answer = |step: &ProviderStep| {
        step.provider == name && crate::web::secrets_match(query.get("state"), &step.state)
    };
    let Some(Pending { user, data: step }) = taken.await?.filter(|found| is_answer(&found.data))
    else {
        return reject(&web, &request, t.msg("provider-expired").into());
    };
    if query.has("error") {
        tracing::warn!(provider = name, error = query.get("error"), "login with a provider ended");
        return reject(
            &web,
            &request,
            t.msg("provider-ended").arg("label", provider.label()).into(),
        );
    }
    match provider.finish(query.get("code"), &step.nonce, &step.verifier).await {
        Ok(identity) => finish(&web, &request, &headers, provider, user, step, identity).await,
        Err(error) => {
            log_failure(&web, &request, provider, "providerFailed", None).await?;
            show_failure(&web, &request, provider, &error)
        }
    }
}

async fn finish(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    provider: &Provider,
    user: Option<UserId>,
    step: ProviderStep,
    identity: ProviderIdentity,
) -> Result<Response, WebError> {
    match step.purpose {
        Purpose::Login => log_in(web, request, headers, provider, step, identity).await,
        Purpose::Connect => add_identity(web, request, provider, user, identity).await,
        Purpose::Confirm => confirm(web, request, provider, user, &step.next, identity).await,
    }
}

async fn log_in(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    provider: &Provider,
    step: ProviderStep,
    identity: ProviderIdentity,
) -> Result<Response, WebError> {
    let t = request.t;
    let access = provider.access(&web.store, &identity).await;
    let invitation = step.invitation.as_deref().and_then(Secret::parse);
    let login = ProviderLogin {
        account: identity.account,
        invitation: invitation.map(|secret| secret.hash()),
        access,
        address: request.address.clone(),
    };
    let outcome = match web.store.log_in_with_provider(login, request.now).await {
        Ok(outcome) => outcome,
        // The invitation is no longer valid, or for another address.
        Err(error) => match error.domain_error() {
            Some(DomainError::Invalid(_) | DomainError::NotFound { .. }) => {
                log_failure(web, request, provider, "invitationInvalid", None).await?;
                return reject(web, request, t.msg("provider-invitation-invalid").into());
            }
            _ => return Err(error.into()),
        },
    };
    let user = match outcome {
        ProviderOutcome::Accepted(user) => user,
        refused => {
            metrics::login(LoginOutcome::Failed);
            let (reason, message, user) = match refused {
                ProviderOutcome::OwnLoginRequired(user) => {
                    ("notConnected", id("provider-own-login"), Some(user))
                }
                ProviderOutcome::EmailNotVerified => {
                    ("emailNotVerified", id("provider-email-not-verified"), None)
                }
                _ => ("notInvited", id("provider-not-invited"), None),
            };
            log_failure(web, request, provider, reason, user).await?;
            let message = t.msg(message);
            return reject(web, request, message.arg("label", provider.label()).into());
        }
    };
    let account = web.store.account_of_user(user).await?.ok_or_else(WebError::not_found)?;
    let proof = Proof {
        account,
        has_second_factor: identity.has_second_factor,
        provider: Some(provider.name().to_owned()),
    };
    complete(web, request, headers, proof, &step.next).await
}

async fn add_identity(
    web: &Web,
    request: &RequestContext,
    provider: &Provider,
    user: Option<UserId>,
    identity: ProviderIdentity,
) -> Result<Response, WebError> {
    let session = request.session.as_ref().filter(|session| Some(session.user) == user);
    let session = session.ok_or_else(WebError::login_required)?;
    let notice = Notice::FactorChanged { at: &request.exact_now() };
    let recipient = NoticeRecipient { user: session.user, email: session.email.clone() };
    let notice = web.mail_writer(request.t).notice(recipient, &notice, request.now);
    let notice = web.sends_mail.then_some(notice);
    let change = IdentityChange::Connect(identity.account);
    let (address, now) = (&request.address, request.now);
    let changed = web.store.change_identity(session.id, change, notice, address, now).await;
    let flash = match changed {
        Ok(()) => Flash::new(request.t.msg("provider-connected").arg("label", provider.label())),
        Err(error) => match error.domain_error() {
            Some(DomainError::Invalid(_)) => {
                Flash::error(request.t.msg("provider-taken").arg("label", provider.label()))
            }
            _ => return Err(error.into()),
        },
    };
    Ok(page::redirect_with_flash(request, web.is_secure, "/account/security", &flash))
}

/// How far the clocks of a provider and of this server may differ, in seconds.
const CLOCK_SKEW: i64 = 60;

async fn confirm(
    web: &Web,
    request: &RequestContext,
    provider: &Provider,
    user: Option<UserId>,
    next: &str,
    identity: ProviderIdentity,
) -> Result<Response, WebError> {
    let session = request.session.as_ref().filter(|session| Some(session.user) == user);
    let session = session.ok_or_else(WebError::login_required)?;
    let account = &identity.account;
    let mut own = web.store.identities(session.user).await?.into_iter();
    let is_own = own.any(|own| own.issuer == account.issuer && own.subject == account.subject);
    let began = request.now.as_millis() / 1_000 - 10 * 60 - CLOCK_SKEW;
    let is_recent = identity.authenticated_at.is_some_and(|at| at >= began);
    if !is_own || !is_recent {
        let message = request.t.msg("provider-not-confirmed").arg("label", provider.label());
        let to = format!("/login/confirm?next={}", crate::web::form::encode(next));
        return Ok(page::redirect_with_flash(request, web.is_secure, &to, &Flash::error(message)));
    }
    let has_second_factor = identity.has_second_factor;
    if !has_second_factor && web.store.second_factors(session.user).await?.exist() {
        let mut response = Redirect::to("/login/second-factor").into_response();
        let data =
            SecondFactorStep { next: next.to_owned(), provider: None, is_confirmation: true };
        let (step, user) = (LoginStep::SecondFactor, Some(session.user));
        pending::save(web, request, step, user, &data, &mut response).await?;
        return Ok(response);
    }
    web.store.confirm_session(session.id, has_second_factor, request.now).await?;
    Ok(Redirect::to(local_path(next)).into_response())
}

/// Writes to the security log why a login with a provider failed, and to which account if that is known.
async fn log_failure(
    web: &Web,
    request: &RequestContext,
    provider: &Provider,
    reason: &str,
    user: Option<UserId>,
) -> Result<(), WebError> {
    let details = json!({ "provider": provider.name(), "reason": reason });
    let entry = NewSecurityEntry::new("login.failed", request.now).with_details(details);
    let entry = NewSecurityEntry { subject_user: user, ..entry };
    Ok(web.store.log_security(entry.from_address(&request.address)).await?)
}

fn show_failure(
    web: &Web,
    request: &RequestContext,
    provider: &Provider,
    error: &OidcError,
) -> Result<Response, WebError> {
    metrics::login(LoginOutcome::Failed);
    tracing::warn!(provider = provider.name(), %error, "a login with a provider failed");
    let message = request.t.msg("provider-failed").arg("label", provider.label());
    reject(web, request, message.into())
}

/// Shows the login page, where the user can choose another way.
fn reject(web: &Web, request: &RequestContext, problem: String) -> Result<Response, WebError> {
    let mut page = LoginPage::new(web, request, "", "");
    page.problems.push(problem);
    page.show(web, request, StatusCode::BAD_REQUEST)
}
