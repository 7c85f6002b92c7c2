//! Verifying the email address of a user by a link.

use super::{
    Shared, Web, WebError, flash::Flash, i18n::Localizer, new_secret, page,
    request_context::RequestContext,
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use groma_domain::{DomainError, secret::Secret};
use groma_store::{LinkPurpose, NewEmailLink};

/// How long a link is valid.
const LINK_MILLIS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Template)]
#[template(path = "verify_email.html")]
struct VerificationPage {
    t: Localizer,
    csrf: String,
    secret: String,
    /// The address; `None` when the link is not valid.
    email: Option<String>,
}

impl VerificationPage {
    async fn read(web: &Web, request: &RequestContext, sent: &str) -> Result<Self, WebError> {
        let secret = Secret::parse(sent);
        let account = match &secret {
            Some(secret) => {
                let purpose = LinkPurpose::VerifyEmail;
                web.store.email_link(&secret.hash(), purpose, request.now).await?
            }
            None => None,
        };
        Ok(Self {
            t: request.t,
            csrf: request.csrf_token(),
            secret: secret.map(|secret| secret.reveal().to_owned()).unwrap_or_default(),
            email: account.map(|account| account.email.to_string()),
        })
    }

    fn show(&self, web: &Web, request: &RequestContext) -> Result<Response, WebError> {
        let status = if self.email.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
        page::auth_page(web, request, status, self.t.msg("verify-title"), self)
    }
}

/// Shows a button: programs that scan mails open links, and must not verify an address.
pub(super) async fn page(
    State(web): State<Shared>,
    request: RequestContext,
    Path(sent): Path<String>,
) -> Result<Response, WebError> {
    VerificationPage::read(&web, &request, &sent).await?.show(&web, &request)
}

pub(super) async fn verify(
    State(web): State<Shared>,
    request: RequestContext,
    Path(sent): Path<String>,
) -> Result<Response, WebError> {
    let mut page = VerificationPage::read(&web, &request, &sent).await?;
    let Some(secret) = Secret::parse(&sent).filter(|_| page.email.is_some()) else {
        return page.show(&web, &request);
    };
    match web.store.verify_email(secret.hash(), request.now).await {
        Ok(_) => {
            let to = if request.session.is_some() { "/account" } else { "/login" };
            let flash = Flash::new(request.t.msg("verify-done"));
            Ok(page::redirect_with_flash(&request, web.is_secure, to, &flash))
        }
        Err(error) => match error.domain_error() {
            Some(DomainError::NotFound { .. }) => {
                page.email = None;
                page.show(&web, &request)
            }
            _ => Err(error.into()),
        },
    }
}

/// Sends a link to the address of the logged-in user.
pub(super) async fn send(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let session = request.session.clone().ok_or_else(WebError::login_required)?;
    if !web.sends_mail {
        return Err(WebError::not_found());
    }
    let secret = new_secret().map_err(|error| WebError::internal(error.to_string()))?;
    let expires_at = request.now.plus_millis(LINK_MILLIS);
    let link = format!("{}/verify-email/{}", web.public_url, secret.reveal());
    let writer = web.mail_writer(request.t);
    let link = NewEmailLink {
        hash: secret.hash(),
        user: session.user,
        purpose: LinkPurpose::VerifyEmail,
        expires_at,
        mail: writer.verification(session.user, session.email.clone(), &link, expires_at),
    };
    let message = match web.store.send_email_link(link, request.now).await? {
        true => request.t.msg("account-verification-sent").arg("email", session.email.as_str()),
        false => request.t.msg("account-verification-too-many"),
    };
    Ok(page::redirect_with_flash(&request, web.is_secure, "/account", &Flash::new(message)))
}
