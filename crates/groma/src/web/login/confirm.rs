//! Confirming who is logged in, before a sensitive action: a session that was left open, or whose cookie was
//! stolen, is not enough to create tokens or to change factors.

use super::{provider::ProviderLink, second_factor::code_field};
use crate::web::{
    Shared, Web, WebError,
    fields::{Field, Input},
    form::{Form, Query, encode, local_path},
    i18n::{Localizer, Message},
    login::check_password,
    login_throttle::{Attempt, AttemptKind},
    one_time_codes,
    page::AuthPage,
    request_context::RequestContext,
};
use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use groma_store::{Account, NewSecurityEntry, SecondFactors, Session};
use std::sync::Arc;

#[derive(Template)]
#[template(path = "confirm_login.html")]
struct ConfirmPage {
    t: Localizer,
    csrf: String,
    email: String,
    next: String,
    has_passkeys: bool,
    providers: Vec<ProviderLink>,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl ConfirmPage {
    async fn read(
        web: &Web,
        request: &RequestContext,
        next: &str,
    ) -> Result<(Self, Arc<Session>, Account, SecondFactors), WebError> {
        let session = request.session.clone().ok_or_else(WebError::login_required)?;
        let account = web.store.account_of_user(session.user).await?;
        let account = account.ok_or_else(WebError::not_found)?;
        let factors = web.store.second_factors(session.user).await?;
        let identities = web.store.identities(session.user).await?;
        let t = request.t;
        let mut fields = Vec::new();
        if account.password_hash.is_some() {
            fields.push(
                Field::new("password", t.msg("account-password"), Input::Password)
                    .required()
                    .autocomplete("current-password"),
            );
            if factors.exist() {
                fields.push(code_field(t, &factors));
            }
        }
        let next = local_path(next).to_owned();
        let query = format!("?confirm=1&next={}", encode(&next));
        let connected = web.providers.iter().filter(|provider| {
            identities.iter().any(|identity| identity.issuer == provider.issuer())
        });
        let providers = connected.map(|provider| ProviderLink {
            label: provider.label().to_owned(),
            href: format!("/login/with/{}{query}", provider.name()),
        });
        let page = Self {
            t,
            csrf: request.csrf_token(),
            email: session.email.to_string(),
            next,
            has_passkeys: !factors.passkeys.is_empty() && web.passkeys.is_some(),
            providers: providers.collect(),
            fields,
            problems: Vec::new(),
        };
        Ok((page, session, account, factors))
    }
}

impl AuthPage for ConfirmPage {
    fn title(&self) -> Message {
        self.t.msg("confirm-title")
    }
}

pub(in crate::web) async fn confirm_page(
    State(web): State<Shared>,
    request: RequestContext,
    query: Query,
) -> Result<Response, WebError> {
    let (page, ..) = ConfirmPage::read(&web, &request, query.get("next")).await?;
    page.show(&web, &request, StatusCode::OK)
}

pub(in crate::web) async fn confirm(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let (mut page, session, account, factors) =
        ConfirmPage::read(&web, &request, form.get("next")).await?;
    let turn = web.member_passwords.enter(&request.address).await?;
    let attempt = AttemptKind::CurrentPassword(session.user);
    let attempt = Attempt::begin(&web, &request, attempt).await??;
    let is_correct = check_password(&turn, account.password_hash, form.get("password")).await?;
    drop(turn);
    let needs_code = factors.exist();
    let (code, now) = (form.get("code"), request.now);
    let has_code = is_correct
        && needs_code
        && one_time_codes::accept(&web.store, session.user, &factors, code, now).await?.is_some();
    if !is_correct || needs_code != has_code {
        let entry = NewSecurityEntry::new("login.failed", now).about(session.user);
        web.store.log_security(entry.from_address(&request.address)).await?;
        page.problems.push(request.t.msg("confirm-failed").into());
        return page.show(&web, &request, StatusCode::BAD_REQUEST);
    }
    attempt.succeeded(&web).await?;
    web.store.confirm_session(session.id, has_code, now).await?;
    Ok(Redirect::to(&page.next).into_response())
}
