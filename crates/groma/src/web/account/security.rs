//! Account > Login and security: the second factors of a user, the accounts of identity providers, and
//! whether there is a password.

use super::session_of;
use crate::web::{
    Shared, Web, WebError,
    fields::{Field, problems},
    flash::Flash,
    form::{Form, Query},
    format::Moment,
    i18n::{Localizer, MessageId, id},
    login::provider,
    mail::{Notice, NoticeRecipient},
    one_time_codes,
    page::{self, Meta, Nav},
    password_reset::revoke_tokens_field,
    request_context::{MemberContext, RequestContext},
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use groma_domain::DomainError;
use groma_store::{FactorChange, IdentityChange, NewMail, OwnFactorChange, Session};

pub(super) const PATH: &str = "/account/security";

#[derive(Template)]
#[template(path = "security.html")]
struct SecurityPage {
    t: Localizer,
    csrf: String,
    /// Whether the workspace that the user wanted requires a second factor.
    is_required: bool,
    /// Removing the password can revoke the tokens too; `None` without a password.
    revoke_tokens: Option<Field>,
    app_since: Option<Moment>,
    /// Whether this browser can be offered passkeys.
    offers_passkeys: bool,
    passkeys: Vec<PasskeyView>,
    /// The number of unused recovery codes; `None` without a second factor.
    recovery_codes: Option<u64>,
    /// New codes, shown once.
    new_codes: Vec<String>,
    providers: Vec<ProviderView>,
}

struct PasskeyView {
    id: String,
    name: String,
    created: Moment,
    last_used: Option<Moment>,
}

struct ProviderView {
    name: String,
    label: String,
    /// The address of the connected account.
    email: Option<String>,
    last_used: Option<Moment>,
}

pub(in crate::web) async fn page(
    State(web): State<Shared>,
    request: RequestContext,
    query: Query,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let t = request.t;
    let moment = |at| Moment::new(t, at, request.now, &request.zone);
    let account = web.store.account_of_user(session.user).await?.ok_or_else(WebError::not_found)?;
    let factors = web.store.second_factors(session.user).await?;
    let codes = request.flash.as_ref().and_then(|flash| flash.secret.as_deref());
    let content = SecurityPage {
        t,
        csrf: request.csrf_token(),
        is_required: query.has("required") && !session.has_second_factor,
        revoke_tokens: account.password_hash.is_some().then(|| revoke_tokens_field(t)),
        app_since: factors.authenticator_app.as_ref().map(|app| moment(app.created_at)),
        offers_passkeys: web.passkeys.is_some(),
        recovery_codes: factors.exist().then_some(factors.recovery_codes),
        new_codes: codes.into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect(),
        providers: providers(&web, &request, &session).await?,
        passkeys: factors
            .passkeys
            .into_iter()
            .map(|passkey| PasskeyView {
                id: passkey.id.to_string(),
                name: passkey.name,
                created: moment(passkey.created_at),
                last_used: passkey.last_used_at.map(moment),
            })
            .collect(),
    };
    show(web, request, StatusCode::OK, t.msg("security-title").into(), &content).await
}

async fn providers(
    web: &Web,
    request: &RequestContext,
    session: &Session,
) -> Result<Vec<ProviderView>, WebError> {
    let identities = web.store.identities(session.user).await?;
    let view = |provider: &crate::oidc::Provider| {
        let connected = identities.iter().find(|own| own.issuer == provider.issuer());
        let moment = |at| Moment::new(request.t, at, request.now, &request.zone);
        ProviderView {
            name: provider.name().to_owned(),
            label: provider.label().to_owned(),
            email: connected.map(|own| own.email.clone()),
            last_used: connected.and_then(|own| own.last_used_at).map(moment),
        }
    };
    Ok(web.providers.iter().map(view).collect())
}

/// Shows a page of the account, with the frame of the workspace if the user is in one.
pub(super) async fn show(
    web: Shared,
    request: RequestContext,
    status: StatusCode,
    title: String,
    content: &impl Template,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    match request.member.clone() {
        Some(member) => {
            let ctx = MemberContext { web, request, session, member };
            ctx.page_with_status(status, Meta::new(title, Nav::None), content).await
        }
        None => page::auth_page(&web, &request, status, title, content),
    }
}

/// The mail about a change of factors, if there is a mail server.
fn notice(web: &Web, request: &RequestContext, session: &Session) -> Option<NewMail> {
    let recipient = NoticeRecipient { user: session.user, email: session.email.clone() };
    let notice = Notice::FactorChanged { at: &request.exact_now() };
    web.sends_mail.then(|| web.mail_writer(request.t).notice(recipient, &notice, request.now))
}

/// Changes the factors of the user. The message for the next page has the new recovery codes, if there are any.
pub(super) async fn change(
    web: &Web,
    request: &RequestContext,
    change: FactorChange,
    message: MessageId,
) -> Result<Flash, WebError> {
    let session = session_of(request)?;
    let codes = one_time_codes::new_recovery_codes()?;
    let change = OwnFactorChange {
        session: session.id,
        change,
        recovery_codes: codes.iter().map(|code| one_time_codes::hash(code)).collect(),
        notice: notice(web, request, &session),
        address: request.address.clone(),
    };
    match web.store.change_factors(change, request.now).await {
        Ok(true) => Ok(Flash::new(request.t.msg(message)).with_secret(&codes.join(" "))),
        Ok(false) => Ok(Flash::new(request.t.msg(message))),
        Err(error) => rejection(request.t, error),
    }
}

/// A message about the rule that rejected a change.
fn rejection(t: Localizer, error: groma_store::Error) -> Result<Flash, WebError> {
    match error.domain_error() {
        Some(error @ DomainError::Invalid(_)) => {
            let texts: Vec<_> = problems(error).iter().map(|problem| t.problem(problem)).collect();
            Ok(Flash::error(texts.join(" ")))
        }
        _ => Err(error.into()),
    }
}

pub(super) fn redirect(web: &Web, request: &RequestContext, flash: &Flash) -> Response {
    page::redirect_with_flash(request, web.is_secure, PATH, flash)
}

pub(in crate::web) async fn replace_recovery_codes(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let flash =
        change(&web, &request, FactorChange::ReplaceRecoveryCodes, id("recovery-codes-replaced"));
    Ok(redirect(&web, &request, &flash.await?))
}

pub(in crate::web) async fn remove_password(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let user = session_of(&request)?.user;
    let removal = FactorChange::RemovePassword { user, revoke_tokens: form.has("revoke_tokens") };
    let flash = change(&web, &request, removal, id("security-password-removed"));
    Ok(redirect(&web, &request, &flash.await?))
}

pub(in crate::web) async fn disconnect(
    State(web): State<Shared>,
    request: RequestContext,
    Path(name): Path<String>,
) -> Result<Response, WebError> {
    let provider = provider::find(&web, &name)?;
    let session = session_of(&request)?;
    let label = provider.label();
    let mut flash = Flash::new(request.t.msg("provider-disconnected").arg("label", label));
    for own in web.store.identities(session.user).await? {
        if own.issuer != provider.issuer() {
            continue;
        }
        let disconnect = IdentityChange::Disconnect { issuer: own.issuer, subject: own.subject };
        let notice = notice(&web, &request, &session);
        let (address, now) = (&request.address, request.now);
        let changed = web.store.change_identity(session.id, disconnect, notice, address, now).await;
        if let Err(error) = changed {
            flash = rejection(request.t, error)?;
        }
    }
    Ok(redirect(&web, &request, &flash))
}
