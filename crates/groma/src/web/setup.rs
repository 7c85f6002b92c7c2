//! The first setup: the first workspace and its owner. The server prints the code that it requires.

use super::{
    Shared, Web, WebError,
    fields::{Choice, Field, Input, attach_errors, focus_first, problems},
    form::{Form, Query},
    i18n::{Localizer, Message, id},
    login::{
        complete::{Login, open_session},
        hash_password,
    },
    page::AuthPage,
    password_queue::Turn,
    request_context::RequestContext,
    secrets_match,
};
use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{
    Currency, DomainError, Email, FieldError, password::Password, workspace::WorkspaceName,
};
use groma_store::NewUser;

#[derive(Template)]
#[template(path = "setup.html")]
struct SetupPage<'a> {
    t: Localizer,
    service: &'a str,
    csrf: String,
    has_code: bool,
    code: &'a str,
    /// The beginning of the address that the server prints.
    address: String,
    fields: Vec<Field>,
    problems: Vec<String>,
}

impl<'a> SetupPage<'a> {
    fn new(web: &'a Web, request: &RequestContext, code: &'a str) -> Self {
        let t = request.t;
        let mut fields = vec![
            Field::line("name", t.msg("setup-workspace-name"))
                .required()
                .hint(t.msg("setup-workspace-name-hint")),
            Field::new(
                "currency",
                t.msg("workspace-currency"),
                Input::Select(currency_choices(Currency::EUR)),
            )
            .required(),
        ];
        fields.extend(new_user_fields(t, ""));
        Self {
            t,
            service: &web.title,
            csrf: request.csrf_token(),
            has_code: secrets_match(code, web.setup_code.reveal()),
            code,
            address: format!("{}/setup?code=", web.public_url),
            fields,
            problems: Vec::new(),
        }
    }
}

impl AuthPage for SetupPage<'_> {
    fn title(&self) -> Message {
        self.t.msg("setup-page-title")
    }
}

/// The fields of a new user: `person`, `email`, `password`.
pub(super) fn new_user_fields(t: Localizer, email: &str) -> [Field; 3] {
    [
        Field::line("person", t.msg("account-your-name")).required().autocomplete("name"),
        Field::new("email", t.msg("account-your-email"), Input::Email)
            .value(email)
            .required()
            .autocomplete("username"),
        Field::new("password", t.msg("account-password"), Input::Password)
            .required()
            .autocomplete("new-password")
            .hint(t.msg("account-password-hint")),
    ]
}

/// The most common currencies, and the current one.
pub(super) fn currency_choices(current: Currency) -> Vec<Choice> {
    const COMMON: [&str; 22] = [
        "AUD", "BGN", "BRL", "CAD", "CHF", "CZK", "DKK", "EUR", "GBP", "HUF", "INR", "JPY", "KWD",
        "MAD", "MXN", "NOK", "NZD", "PLN", "RON", "SEK", "TND", "USD",
    ];
    let mut codes: Vec<&str> = COMMON.to_vec();
    if !codes.contains(&current.code()) {
        codes.push(current.code());
        codes.sort_unstable();
    }
    codes.into_iter().map(|code| Choice::new(code, code, code == current.code())).collect()
}

pub(super) async fn setup_page(
    State(web): State<Shared>,
    request: RequestContext,
    query: Query,
) -> Result<Response, WebError> {
    if web.store.has_users().await? {
        return Ok(Redirect::to("/login").into_response());
    }
    SetupPage::new(&web, &request, query.get("code")).show(&web, &request, StatusCode::OK)
}

pub(super) async fn setup(
    State(web): State<Shared>,
    request: RequestContext,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let mut page = SetupPage::new(&web, &request, form.get("code"));
    if !page.has_code {
        return Err(WebError::forbidden(id("setup-code-invalid")));
    }
    let kept = ["name", "person", "email"];
    for field in page.fields.iter_mut().filter(|field| kept.contains(&field.name)) {
        field.value = form.get(field.name).to_owned();
    }
    let mut errors = Vec::new();
    let name = WorkspaceName::parse(form.get("name"));
    let name = name.map_err(|error| errors.extend(problems(&error))).ok();
    let currency: Result<Currency, _> = form.get("currency").parse();
    let currency = currency.map_err(|reason| errors.push(FieldError::new("currency", reason))).ok();
    let owner = read_new_user(&form, &web.title, &mut errors);
    if let (Some(name), Some(currency), Some((owner, password)), true) =
        (name, currency, owner, errors.is_empty())
    {
        let turn = web.passwords.enter(&request.address).await?;
        let owner = with_password_hash(&turn, owner, password).await?;
        let email = owner.email.clone();
        match web.store.set_up(name, currency, owner, request.now).await {
            Ok(_) => {
                web.setup_link_file.remove();
                let account = web.store.account(&email).await?.ok_or_else(WebError::not_found)?;
                let login = Login::of_new_user(account.user);
                return open_session(&web, &request, &headers, login, None, "/").await;
            }
            Err(error) => errors.extend(validation_problems(error)?),
        }
    }
    page.problems = attach_errors(request.t, &mut page.fields, &errors);
    focus_first(&mut page.fields);
    page.show(&web, &request, StatusCode::BAD_REQUEST)
}

/// The problems of a validation error; any other error is returned as such.
pub(super) fn validation_problems(error: groma_store::Error) -> Result<Vec<FieldError>, WebError> {
    match error.domain_error() {
        Some(error @ DomainError::Invalid(_)) => Ok(problems(error)),
        _ => Err(error.into()),
    }
}

/// Reads the fields of a new user of this service.
pub(super) fn read_new_user(
    form: &Form,
    service: &str,
    errors: &mut Vec<FieldError>,
) -> Option<(NewUser, Password)> {
    let name = groma_domain::person::parse_name(form.get("person"));
    let name = name.map_err(|reason| errors.push(FieldError::new("person", reason))).ok();
    let email = Email::parse(form.get("email"));
    let email = email.map_err(|reason| errors.push(FieldError::new("email", reason))).ok();
    let context = [form.get("email"), form.get("person"), service];
    let password = Password::new(form.get("password"), &context);
    let password = password.map_err(|reason| errors.push(FieldError::new("password", reason))).ok();
    let user = NewUser { email: email?, name: Some(name?), password_hash: None };
    Some((user, password?))
}

pub(super) async fn with_password_hash(
    turn: &Turn<'_>,
    user: NewUser,
    password: Password,
) -> Result<NewUser, WebError> {
    let hash = hash_password(turn, password).await?;
    Ok(NewUser { password_hash: Some(hash), ..user })
}
