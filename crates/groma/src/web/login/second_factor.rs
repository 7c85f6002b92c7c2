//! The second step of a login: a code of the authenticator app, a recovery code or a passkey.

use super::{
    complete::{Proof, SecondFactorStep, complete, known_device},
    pending::{self, Pending},
};
use crate::{
    metrics::{self, LoginOutcome},
    web::{
        Shared, Web, WebError,
        fields::{Field, Input},
        form::{Form, local_path},
        i18n::{Localizer, Message},
        login_throttle::{Attempt, AttemptKind},
        one_time_codes::{self, AcceptedCode},
        page::AuthPage,
        request_context::RequestContext,
    },
};
use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::UserId;
use groma_store::{LoginStep, NewSecurityEntry, SecondFactors};

#[derive(Template)]
#[template(path = "second_factor.html")]
struct SecondFactorPage {
    t: Localizer,
    csrf: String,
    /// Whether codes of an app are accepted, and not only recovery codes.
    has_app: bool,
    has_passkeys: bool,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl SecondFactorPage {
    fn new(web: &Web, request: &RequestContext, factors: &SecondFactors) -> Self {
        let t = request.t;
        let has_app = factors.authenticator_app.is_some();
        let mut code = code_field(t, factors);
        code.is_focused = has_app;
        Self {
            t,
            csrf: request.csrf_token(),
            has_app,
            has_passkeys: !factors.passkeys.is_empty() && web.passkeys.is_some(),
            fields: vec![code],
            problems: Vec::new(),
        }
    }
}

impl AuthPage for SecondFactorPage {
    fn title(&self) -> Message {
        self.t.msg("second-factor-title")
    }
}

/// The field of a code of the app, or of a recovery code for those who have only passkeys.
pub(super) fn code_field(t: Localizer, factors: &SecondFactors) -> Field {
    let (label, hint) = match factors.authenticator_app.is_some() {
        true => (t.msg("second-factor-code"), t.msg("second-factor-code-hint")),
        false => (t.msg("second-factor-recovery-code"), t.msg("second-factor-recovery-hint")),
    };
    Field::new("code", label, Input::Line).required().autocomplete("one-time-code").hint(hint)
}

/// The login that waits in this browser, and its user.
async fn find(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
) -> Result<Option<UserId>, WebError> {
    let step = LoginStep::SecondFactor;
    let found = pending::find::<SecondFactorStep>(web, request, headers, step).await?;
    Ok(found.and_then(|pending| pending.user))
}

pub(in crate::web) async fn second_factor_page(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let Some(user) = find(&web, &request, &headers).await? else {
        return Ok(Redirect::to("/login").into_response());
    };
    let factors = web.store.second_factors(user).await?;
    SecondFactorPage::new(&web, &request, &factors).show(&web, &request, StatusCode::OK)
}

pub(in crate::web) async fn check_code(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let Some(user) = find(&web, &request, &headers).await? else {
        return Ok(Redirect::to("/login").into_response());
    };
    let factors = web.store.second_factors(user).await?;
    let mut page = SecondFactorPage::new(&web, &request, &factors);
    let device = known_device(&web, &headers, user).await?;
    let kind = AttemptKind::SecondFactor { user, device: device.as_ref() };
    let attempt = Attempt::begin(&web, &request, kind).await?;
    let attempt = attempt.inspect_err(|_| metrics::login(LoginOutcome::Throttled))?;
    let (typed, now) = (form.get("code"), request.now);
    let accepted = one_time_codes::accept(&web.store, user, &factors, typed, now).await?;
    let Some(accepted) = accepted else {
        metrics::login(LoginOutcome::Failed);
        let entry = NewSecurityEntry::new("login.secondFactorFailed", now).about(user);
        web.store.log_security(entry.from_address(&request.address)).await?;
        page.problems.push(request.t.msg("second-factor-wrong").into());
        return page.show(&web, &request, StatusCode::BAD_REQUEST);
    };
    attempt.succeeded(&web).await?;
    if accepted == AcceptedCode::Recovery {
        let entry = NewSecurityEntry::new("login.recoveryCodeUsed", now).by(user);
        web.store.log_security(entry.from_address(&request.address)).await?;
    }
    finish(&web, &request, &headers).await
}

/// Completes the login that waits in this browser, after its second factor was right.
pub(in crate::web) async fn finish(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
) -> Result<Response, WebError> {
    let taken = pending::take::<SecondFactorStep>(web, request, headers, LoginStep::SecondFactor);
    let Some(Pending { user: Some(user), data }) = taken.await? else {
        return Ok(Redirect::to("/login").into_response());
    };
    if data.is_confirmation {
        let session = request.session.as_ref().filter(|session| session.user == user);
        let session = session.ok_or_else(WebError::login_required)?;
        web.store.confirm_session(session.id, true, request.now).await?;
        return Ok(Redirect::to(local_path(&data.next)).into_response());
    }
    let account = web.store.account_of_user(user).await?.ok_or_else(WebError::not_found)?;
    let proof = Proof { account, has_second_factor: true, provider: data.provider };
    complete(web, request, headers, proof, &data.next).await
}
