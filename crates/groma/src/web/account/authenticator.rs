//! Setting up an authenticator app.

use super::{
    security::{change, redirect, show},
    session_of,
};
use crate::web::{
    Shared, Web, WebError,
    fields::{Field, Input},
    form::Form,
    i18n::{Localizer, id},
    one_time_codes::{AppSecret, qr_path},
    request_context::RequestContext,
};
use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use groma_geo::message;
use groma_store::FactorChange;

#[derive(Template)]
#[template(path = "authenticator.html")]
struct AuthenticatorPage {
    t: Localizer,
    csrf: String,
    secret: String,
    /// The secret in groups, for typing.
    groups: String,
    url: String,
    qr_path: String,
    qr_size: i32,
    fields: Vec<Field>,
}

impl AuthenticatorPage {
    fn new(web: &Web, request: &RequestContext, secret: &AppSecret) -> Result<Self, WebError> {
        let (t, session) = (request.t, session_of(request)?);
        let url = secret.url(&web.title, session.email.as_str());
        let url = url.ok_or_else(|| WebError::internal("the secret has no address"))?;
        let code = qr_path(&url).ok_or_else(|| WebError::internal("no QR code"))?;
        let text = secret.to_base32();
        let groups: Vec<_> = text.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
        let mut field = Field::new("code", t.msg("second-factor-code"), Input::Line)
            .required()
            .autocomplete("one-time-code")
            .hint(t.msg("authenticator-code-hint"));
        field.is_focused = true;
        Ok(Self {
            t,
            csrf: request.csrf_token(),
            groups: groups.join(" "),
            secret: text,
            url,
            qr_path: code.0,
            qr_size: code.1,
            fields: vec![field],
        })
    }
}

pub(in crate::web) async fn page(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let content = AuthenticatorPage::new(&web, &request, &AppSecret::generate()?)?;
    show_secret(web, request, StatusCode::OK, &content).await
}

async fn show_secret(
    web: Shared,
    request: RequestContext,
    status: StatusCode,
    content: &AuthenticatorPage,
) -> Result<Response, WebError> {
    let title = request.t.msg("authenticator-title").into();
    let mut response = show(web, request, status, title, content).await?;
    crate::web::page::forbid_storing(&mut response);
    Ok(response)
}

/// Accepts the app when its first code is right.
pub(in crate::web) async fn add(
    State(web): State<Shared>,
    request: RequestContext,
    form: Form,
) -> Result<Response, WebError> {
    let secret = AppSecret::parse(form.get("secret"));
    let secret = secret.ok_or_else(|| WebError::invalid(message!("The secret is malformed")))?;
    let code: String = form.get("code").chars().filter(char::is_ascii_digit).collect();
    let Some(step) = secret.step(&code, request.now) else {
        let mut content = AuthenticatorPage::new(&web, &request, &secret)?;
        let wrong = request.t.msg("second-factor-wrong").to_string();
        content.fields.iter_mut().for_each(|field| field.error = Some(wrong.clone()));
        return show_secret(web, request, StatusCode::BAD_REQUEST, &content).await;
    };
    let app = FactorChange::AddAuthenticatorApp { secret: secret.bytes().to_vec(), step };
    let flash = change(&web, &request, app, id("authenticator-added")).await?;
    Ok(redirect(&web, &request, &flash))
}

pub(in crate::web) async fn remove(
    State(web): State<Shared>,
    request: RequestContext,
) -> Result<Response, WebError> {
    let removal = FactorChange::RemoveAuthenticatorApp;
    let flash = change(&web, &request, removal, id("authenticator-removed")).await?;
    Ok(redirect(&web, &request, &flash))
}
