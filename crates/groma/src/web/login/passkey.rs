//! Logging in with a passkey, in place of a password, as the second step, or to confirm who is logged in.
//! The script of the page asks the browser for the passkey.

use super::{
    complete::{Proof, SecondFactorStep, complete},
    pending::{self, Pending},
    second_factor,
};
use crate::{
    metrics::{self, LoginOutcome},
    web::{
        Shared, Web, WebError,
        form::Query,
        i18n::id,
        login_throttle::{Attempt, AttemptKind},
        passkeys::{PasskeyRequest, Passkeys},
        request_context::RequestContext,
    },
};
use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use groma_domain::UserId;
use groma_store::{LoginStep, NewSecurityEntry, SecondFactors};
use serde::{Deserialize, Serialize};
use serde_json::json;
use webauthn_rs::prelude::PublicKeyCredential;

/// What a passkey is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Purpose {
    /// To log in without a password.
    Login,
    /// As the second step of a login.
    SecondFactor,
    /// To prove again who is logged in.
    Confirm,
}

#[derive(Serialize, Deserialize)]
struct PasskeyStep {
    purpose: Purpose,
    request: PasskeyRequest,
    next: String,
}

/// The answer of a script: where the browser goes.
pub(in crate::web) fn location(to: &str) -> Response {
    Json(json!({ "location": to })).into_response()
}

pub(in crate::web) fn passkeys(web: &Web) -> Result<&Passkeys, WebError> {
    web.passkeys.as_ref().ok_or_else(WebError::not_found)
}

/// Begins to ask for a passkey.
pub(in crate::web) async fn start(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, WebError> {
    let passkeys = passkeys(&web)?;
    let (purpose, user) = match query.get("for") {
        "second-factor" => {
            let step = LoginStep::SecondFactor;
            let pending = pending::find::<SecondFactorStep>(&web, &request, &headers, step).await?;
            (Purpose::SecondFactor, pending.and_then(|pending| pending.user))
        }
        "confirm" => (Purpose::Confirm, request.session.as_ref().map(|session| session.user)),
        _ => (Purpose::Login, None),
    };
    if purpose != Purpose::Login && user.is_none() {
        return Ok(location("/login"));
    }
    if user.is_none() {
        let _counted = Attempt::begin(&web, &request, AttemptKind::Stranger).await??;
    }
    let known = match user {
        Some(user) => Some(web.store.second_factors(user).await?.passkeys),
        None => None,
    };
    let (challenge, passkey_request) = passkeys.begin(known.as_deref())?;
    let data =
        PasskeyStep { purpose, request: passkey_request, next: query.get("next").to_owned() };
    let mut response = Json(challenge).into_response();
    pending::save(&web, &request, LoginStep::Passkey, user, &data, &mut response).await?;
    Ok(response)
}

/// Checks the answer of a passkey.
pub(in crate::web) async fn finish(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, WebError> {
    let passkeys = passkeys(&web)?;
    let rejected = || WebError::bad_request(id("passkey-rejected"));
    let answer: PublicKeyCredential = serde_json::from_slice(&body).map_err(|_| rejected())?;
    let taken = pending::take::<PasskeyStep>(&web, &request, &headers, LoginStep::Passkey).await?;
    let Some(Pending { user, data: PasskeyStep { purpose, request: asked, next } }) = taken else {
        return Err(rejected());
    };
    let user = user.or_else(|| passkeys.named_user(&answer)).ok_or_else(rejected)?;
    let SecondFactors { passkeys: known, .. } = web.store.second_factors(user).await?;
    let Some((passkey, credential)) = passkeys.finish(&answer, asked, &known) else {
        metrics::login(LoginOutcome::Failed);
        let entry = NewSecurityEntry::new("login.failed", request.now).about(user);
        web.store.log_security(entry.from_address(&request.address)).await?;
        return Err(rejected());
    };
    web.store.use_passkey(passkey.id, &credential, request.now).await?;
    let response = match purpose {
        Purpose::Confirm => {
            let session = request.session.as_ref().filter(|session| session.user == user);
            let session = session.ok_or_else(rejected)?;
            web.store.confirm_session(session.id, true, request.now).await?;
            return Ok(location(crate::web::form::local_path(&next)));
        }
        Purpose::SecondFactor => second_factor::finish(&web, &request, &headers).await?,
        Purpose::Login => log_in(&web, &request, &headers, user, &next).await?,
    };
    Ok(redirect_by_script(response))
}

async fn log_in(
    web: &Web,
    request: &RequestContext,
    headers: &HeaderMap,
    user: UserId,
    next: &str,
) -> Result<Response, WebError> {
    let account = web.store.account_of_user(user).await?.ok_or_else(WebError::not_found)?;
    // The passkey verified its owner, by a fingerprint or a PIN, so it counts as two factors.
    let proof = Proof { account, has_second_factor: true, provider: None };
    complete(web, request, headers, proof, next).await
}

/// Turns a redirect into an answer for a script, which cannot see where a redirect goes.
fn redirect_by_script(response: Response) -> Response {
    if response.status() != StatusCode::SEE_OTHER {
        return response;
    }
    let (parts, _) = response.into_parts();
    let to = parts.headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
    let mut answer = location(to.unwrap_or("/"));
    for cookie in parts.headers.get_all(header::SET_COOKIE) {
        answer.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    answer
}
