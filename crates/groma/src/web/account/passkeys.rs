//! Registering and removing passkeys.

use super::{
    security::{self, change, redirect},
    session_of,
};
use crate::web::{
    Shared, WebError,
    i18n::id,
    login::{
        passkey::{location, passkeys},
        pending::{self, Pending},
    },
    page,
    request_context::RequestContext,
    user_agent::browser_family,
};
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use groma_store::{FactorChange, LoginStep, StoredPasskey, new_passkey_id};
use serde::Deserialize;
use webauthn_rs::prelude::{PasskeyRegistration, RegisterPublicKeyCredential};

/// The longest name of a passkey.
const MAX_NAME: usize = 60;

/// Begins to register a passkey.
pub(in crate::web) async fn start(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let known = web.store.second_factors(session.user).await?.passkeys;
    let (user, email) = (session.user, session.email.as_str());
    let (challenge, registration) =
        passkeys(&web)?.begin_registration(user, email, &session.name, &known)?;
    let mut response = Json(challenge).into_response();
    let step = LoginStep::Registration;
    pending::save(&web, &request, step, Some(user), &registration, &mut response).await?;
    Ok(response)
}

/// What the script of the page sends.
#[derive(Deserialize)]
struct NewPasskey {
    name: String,
    credential: RegisterPublicKeyCredential,
}

/// Checks the answer of a new passkey, and stores it.
pub(in crate::web) async fn finish(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, WebError> {
    let session = session_of(&request)?;
    let rejected = || WebError::bad_request(id("passkey-rejected"));
    let NewPasskey { name, credential } = serde_json::from_slice(&body).map_err(|_| rejected())?;
    let step = LoginStep::Registration;
    let taken = pending::take::<PasskeyRegistration>(&web, &request, &headers, step).await?;
    let Some(Pending { data, .. }) = taken.filter(|taken| taken.user == Some(session.user)) else {
        return Err(rejected());
    };
    let passkey = passkeys(&web)?.finish_registration(&credential, &data).ok_or_else(rejected)?;
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let default = || browser_family(request.t, agent.unwrap_or_default());
    let stored = StoredPasskey {
        id: new_passkey_id(request.now),
        credential_id: passkey.cred_id().to_vec(),
        credential: serde_json::to_string(&passkey)
            .map_err(|error| WebError::internal(error.to_string()))?,
        name: if name.is_empty() { default() } else { name },
        created_at: request.now,
        last_used_at: None,
    };
    let flash =
        change(&web, &request, FactorChange::AddPasskey(stored), id("passkey-added")).await?;
    let redirect = page::redirect_with_flash(&request, web.is_secure, security::PATH, &flash);
    let mut response = location(security::PATH);
    for cookie in redirect.headers().get_all(header::SET_COOKIE) {
        response.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    Ok(response)
}

pub(in crate::web) async fn remove(
    State(web): State<Shared>,
    request: RequestContext,
    Path(path): Path<String>,
) -> Result<Response, WebError> {
    let passkey = path.parse().map_err(|_| WebError::not_found())?;
    let removal = FactorChange::RemovePasskey(passkey);
    let flash = change(&web, &request, removal, id("passkey-removed")).await?;
    Ok(redirect(&web, &request, &flash))
}
