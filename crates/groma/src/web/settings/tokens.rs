//! Settings > API Tokens: made, shown once, listed, revoked.

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, Field, Input, focus, tell},
    flash::Flash,
    form::Form,
    page::{Meta, Nav},
    shown::Moment,
    visit::Desk,
};
use askama::Template;
use axum::{
    extract::Path,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use groma_domain::{
    Permission, Problem, Refusal, Scope, Timestamp, TokenId,
    scope::Scopes,
    token::{self, Token},
};
use groma_store::{NewToken, TokenRow};

const HERE: &str = "/settings/tokens";
const TITLE: &str = "API Tokens";
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Template)]
#[template(path = "tokens.html")]
struct Tokens {
    nav: SettingsNav,
    made: Option<Made>,
    prefix: String,
    rows: Vec<TokenShown>,
    sees_all: bool,
}

/// A token that was just made. It is in this one answer and nowhere after.
struct Made {
    name: String,
    secret: String,
    curl: String,
}

struct TokenShown {
    id: String,
    name: String,
    owner: String,
    made: Moment,
    hint: String,
    scopes: Vec<&'static str>,
    used: Option<Moment>,
    expires: Option<Moment>,
    ends_soon: bool,
    /// Why it does not hold any more.
    ended: &'static str,
    may_revoke: bool,
}

pub(in crate::web) async fn page(desk: Desk) -> Result<Response, WebError> {
    show(&desk, None).await
}

async fn show(desk: &Desk, made: Option<Made>) -> Result<Response, WebError> {
    // What was used a moment ago is not written down yet.
    desk.store().settle(desk.now()).await?;
    let sees_all = desk.may(Permission::Administer);
    let me = desk.member.person.id;
    let mut tokens = desk.store().tokens(Some(desk.id())).await?;
    tokens.retain(|token| sees_all || token.person == me);
    tokens.sort_by_key(|token| {
        (ended(token, desk.now()).is_some(), std::cmp::Reverse(token.created_at))
    });
    let content = Tokens {
        nav: SettingsNav::new(desk, HERE),
        prefix: desk.web.token_prefix.as_str().to_owned(),
        rows: tokens.into_iter().map(|token| shown(desk, token)).collect(),
        sees_all,
        made,
    };
    let mut response = desk.page(Meta::new(TITLE, Nav::Settings), &content).await?;
    if content.made.is_some() {
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, never);
    }
    Ok(response)
}

fn ended(token: &TokenRow, now: Timestamp) -> Option<&'static str> {
    match token {
        TokenRow { revoked_at: Some(_), .. } => Some("revoked"),
        TokenRow { expires_at: Some(end), .. } if *end <= now => Some("expired"),
        _ => None,
    }
}

fn shown(desk: &Desk, token: TokenRow) -> TokenShown {
    let ended = ended(&token, desk.now()).unwrap_or_default();
    let soon = desk.now().plus_millis(14 * DAY_MILLIS);
    TokenShown {
        id: token.id.to_string(),
        made: desk.moment(token.created_at),
        hint: token.hint.unwrap_or_default(),
        scopes: token.scopes.iter().map(Scope::name).collect(),
        used: token.last_used_at.map(|at| desk.moment(at)),
        expires: token.expires_at.map(|at| desk.moment(at)),
        ends_soon: token.expires_at.is_some_and(|end| end < soon) && ended.is_empty(),
        may_revoke: ended.is_empty()
            && (token.person == desk.member.person.id || desk.may(Permission::Administer)),
        ended,
        name: token.name,
        owner: token.owner_name,
    }
}

#[derive(Template)]
#[template(path = "token_new.html")]
struct NewPage {
    nav: SettingsNav,
    csrf: String,
    /// The id that the token will have: sent twice, one is made.
    once: String,
    name: Field,
    expiry: Field,
    scopes: Vec<ScopeChoice>,
    scopes_error: String,
    problems: Vec<String>,
}

struct ScopeChoice {
    name: &'static str,
    grants: &'static str,
    is_on: bool,
    /// Why it cannot be chosen.
    hint: &'static str,
}

fn form_page(desk: &Desk, typed: &str, chosen: &[&str], expiry: &str) -> NewPage {
    let expiries = [("30", "30 days"), ("90", "90 days"), ("365", "365 days"), ("none", "Never")];
    let expiries = expiries.map(|(value, label)| Choice::new(value, label, value == expiry));
    NewPage {
        nav: SettingsNav::new(desk, HERE),
        csrf: desk.visit.form_token(),
        once: uuid::Uuid::now_v7().to_string(),
        name: Field::line("name", "Name")
            .value(typed)
            .needed()
            .hint("What will use it: «QGIS office», «Nightly export»"),
        expiry: Field::new("expires", "Expires after", Input::Choice(expiries.to_vec())).needed(),
        scopes: Scope::ALL
            .into_iter()
            .map(|scope| ScopeChoice {
                name: scope.name(),
                grants: scope.grants(),
                is_on: chosen.contains(&scope.name()),
                hint: match token::grantable([scope].into_iter().collect(), desk.member.role) {
                    Ok(()) => "",
                    Err(_) => "Only administrators and owners can grant this.",
                },
            })
            .collect(),
        scopes_error: String::new(),
        problems: Vec::new(),
    }
}

pub(in crate::web) async fn new_page(desk: Desk) -> Result<Response, WebError> {
    let mut content = form_page(&desk, "", &["READ_FOLDER"], "90");
    focus(std::slice::from_mut(&mut content.name));
    desk.page(Meta::new("New token", Nav::Settings), &content).await
}

pub(in crate::web) async fn create(desk: Desk, form: Form) -> Result<Response, WebError> {
    let chosen: Vec<&str> = form.all("scope").collect();
    let mut again = form_page(&desk, form.get("name"), &chosen, form.get("expires"));
    let mut wrong = Vec::new();
    let name = token::parse_name(form.get("name"));
    let name = name.map_err(|reason| wrong.push(Problem::new("name", reason))).ok();
    let scopes = Scopes::parse(&chosen.join(","));
    let scopes = scopes.map_err(|reason| wrong.push(Problem::new("scope", reason))).ok();
    let days: Option<i64> = match form.get("expires") {
        "none" => None,
        days => {
            let days = days.parse().ok().filter(|days| [30, 90, 365].contains(days));
            if days.is_none() {
                wrong.push(Problem::new("expires", "must be 30, 90 or 365 days, or never"));
            }
            days
        }
    };
    if let (Some(name), Some(scopes), true) = (name, scopes, wrong.is_empty()) {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|error| WebError::internal(error.to_string()))?;
        let token = Token::new(&desk.web.token_prefix, random);
        let new = NewToken {
            id: form.get("once").parse().ok(),
            workspace: desk.id(),
            owner: desk.session.email.clone(),
            name: name.clone(),
            hash: token.hash(),
            hint: token.hint(),
            scopes,
            expires_at: days.map(|days| desk.now().plus_millis(days * DAY_MILLIS)),
        };
        match desk.store().create_token(new, desk.actor(), desk.now()).await {
            Ok(_) => {
                let curl = curl(&desk.web.public_url, token.reveal(), scopes);
                let made = Made { name, secret: token.reveal().to_owned(), curl };
                return show(&desk, Some(made)).await;
            }
            Err(error) => match error.refusal() {
                Some(Refusal::Invalid(_)) => {
                    let flash = Flash::new(
                        "This token has been made already. If you did not copy it, revoke it and make another.",
                    );
                    return Ok(desk.go(HERE, &flash));
                }
                Some(Refusal::Forbidden { .. }) => {
                    again.scopes_error =
                        "MANAGE_WEBHOOK can be granted by administrators and owners only."
                            .to_owned();
                }
                _ => return Err(error.into()),
            },
        }
    }
    let mut fields = [again.name, again.expiry];
    again.problems = tell(&mut fields, &wrong);
    focus(&mut fields);
    [again.name, again.expiry] = fields;
    desk.page_with(StatusCode::BAD_REQUEST, Meta::new("New token", Nav::Settings), &again).await
}

/// A line to paste that works as it is.
fn curl(address: &str, token: &str, scopes: Scopes) -> String {
    let path = match scopes.iter().find(|scope| *scope != Scope::ManageWebhook) {
        Some(Scope::ReadFolder) => "folders",
        Some(Scope::ReadAssignment) => "assignments",
        Some(Scope::ReadExpense) => "expenses",
        Some(Scope::ReadBudget) => "budgets",
        _ => "statuses",
    };
    format!(
        "curl -H \"Authorization: Bearer {token}\" \\\n     \"{address}/api/public/v1/{path}?limit=5\""
    )
}

/// The token of an address, if this member may revoke it.
async fn found(desk: &Desk, id: &str) -> Result<(TokenId, TokenRow), WebError> {
    let id: TokenId = id.parse().map_err(|_| WebError::not_found())?;
    let tokens = desk.store().tokens(Some(desk.id())).await?;
    let found = tokens.into_iter().find(|token| token.id == id);
    let sees = |token: &TokenRow| {
        token.person == desk.member.person.id || desk.may(Permission::Administer)
    };
    Ok((id, found.filter(sees).ok_or_else(WebError::not_found)?))
}

pub(in crate::web) async fn revoke_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (id, token) = found(&desk, &id).await?;
    let content = Confirm {
        nav: SettingsNav::new(&desk, HERE),
        title: format!("Revoke «{}»", token.name),
        text: "Whatever uses it is refused from the next request on. A revoked token does not come back; make a new one instead.".to_owned(),
        csrf: desk.visit.form_token(),
        action: format!("{HERE}/{id}/revoke"),
        cancel: HERE,
        button: "Revoke",
    };
    desk.page(Meta::new("Revoke a token", Nav::Settings), &content).await
}

pub(in crate::web) async fn revoke(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let (id, token) = found(&desk, &id).await?;
    desk.store().revoke_token(desk.id(), id, desk.actor(), desk.now()).await?;
    Ok(desk.go(HERE, &Flash::new(format!("«{}» is revoked.", token.name))))
}
