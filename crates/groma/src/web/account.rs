//! One's own account: password, sessions, workspaces.

use super::{
    Shared, WebError,
    entry::check_password,
    fields::{Field, Input, tell},
    flash::Flash,
    form::{Form, local_path},
    page::{self, Meta, Nav},
    shown::Moment,
    visit::{Desk, Visit},
};
use crate::password;
use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{Problem, WorkspaceId, password::Password};
use groma_store::Session;
use std::sync::Arc;

#[derive(Template)]
#[template(path = "account.html")]
struct Account {
    email: String,
    csrf: String,
    fields: Vec<Field>,
    problems: Vec<String>,
    sessions: Vec<SessionShown>,
    places: Vec<Place>,
    zone: String,
}

struct SessionShown {
    id: String,
    browser: String,
    address: String,
    since: Moment,
    used: Moment,
    is_this: bool,
}

struct Place {
    id: String,
    name: String,
    role: &'static str,
    is_here: bool,
}

fn session_of(visit: &Visit) -> Result<Arc<Session>, WebError> {
    visit.session.clone().ok_or_else(|| WebError::forbidden("This needs someone who is logged in."))
}

pub(super) async fn account_page(
    State(web): State<Shared>,
    visit: Visit,
) -> Result<Response, WebError> {
    show(web, visit, StatusCode::OK, &[]).await
}

async fn show(
    web: Shared,
    visit: Visit,
    status: StatusCode,
    wrong: &[Problem],
) -> Result<Response, WebError> {
    let session = session_of(&visit)?;
    let moment = |at| Moment::new(at, visit.now, &visit.zone);
    let sessions = web.store.sessions(session.user, visit.now).await?;
    let sessions = sessions.into_iter().map(|row| SessionShown {
        id: row.id.to_string(),
        browser: browser(&row.user_agent),
        address: row.address,
        since: moment(row.created_at),
        used: moment(row.last_seen_at),
        is_this: row.id == session.id,
    });
    let here = visit.member.as_ref().map(|member| member.workspace.id);
    let place = |member: &groma_store::Membership| Place {
        id: member.workspace.id.to_string(),
        name: member.workspace.name.as_str().to_owned(),
        role: member.role.name(),
        is_here: Some(member.workspace.id) == here,
    };
    let mut fields = vec![
        Field::new("current", "Password now", Input::Password)
            .needed()
            .autocomplete("current-password"),
        Field::new("password", "New password", Input::Password)
            .needed()
            .autocomplete("new-password")
            .hint("At least 8 characters"),
    ];
    let problems = tell(&mut fields, wrong);
    let content = Account {
        email: session.email.to_string(),
        csrf: visit.form_token(),
        fields,
        problems,
        sessions: sessions.collect(),
        places: session.memberships.iter().map(place).collect(),
        zone: visit.zone.iana_name().unwrap_or("UTC").to_owned(),
    };
    match visit.member.clone() {
        Some(member) => {
            let desk = Desk { web, visit, session, member };
            desk.page_with(status, Meta::new("Account", Nav::None), &content).await
        }
        None => page::entry(&web, &visit, status, "Account", &content),
    }
}

pub(super) async fn change_password(
    State(web): State<Shared>,
    visit: Visit,
    form: Form,
) -> Result<Response, WebError> {
    let session = session_of(&visit)?;
    let account = web.store.account(&session.email).await?.ok_or_else(WebError::not_found)?;
    let bucket = groma_store::Bucket { name: format!("password {}", session.user), limit: 10 };
    if !web.store.begin_attempt(vec![bucket.clone()], visit.now).await? {
        return Err(WebError::too_many(
            "Too many attempts have failed. Try again in a quarter of an hour.",
        ));
    }
    let mut wrong = Vec::new();
    if !check_password(&web, account.password_hash, form.get("current")).await? {
        wrong.push(Problem::new("current", "is not right"));
    } else {
        web.store.forget_attempt(vec![bucket], visit.now).await?;
    }
    let new = Password::new(form.get("password"));
    let new = new.map_err(|reason| wrong.push(Problem::new("password", reason))).ok();
    let Some(new) = new.filter(|_| wrong.is_empty()) else {
        return show(web, visit, StatusCode::BAD_REQUEST, &wrong).await;
    };
    let hash = password::hash(new).await;
    let hash = hash.map_err(|error| WebError::internal(error.to_string()))?;
    web.store.change_password(session.user, hash, session.id).await?;
    let flash = Flash::new("The password is changed; other sessions have ended.");
    Ok(page::go(&visit, web.is_secure, "/account", &flash))
}

pub(super) async fn end_session(
    State(web): State<Shared>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let session = session_of(&visit)?;
    let id = id.parse().map_err(|_| WebError::not_found())?;
    web.store.end_session(session.user, id).await?;
    let flash = Flash::new("The session has ended.");
    Ok(page::go(&visit, web.is_secure, "/account", &flash))
}

pub(super) async fn end_others(
    State(web): State<Shared>,
    visit: Visit,
) -> Result<Response, WebError> {
    let session = session_of(&visit)?;
    for other in web.store.sessions(session.user, visit.now).await? {
        if other.id != session.id {
            web.store.end_session(session.user, other.id).await?;
        }
    }
    let flash = Flash::new("All other sessions have ended.");
    Ok(page::go(&visit, web.is_secure, "/account", &flash))
}

pub(super) async fn enter_workspace(
    State(web): State<Shared>,
    visit: Visit,
    form: Form,
) -> Result<Response, WebError> {
    let session = session_of(&visit)?;
    let wanted: WorkspaceId = form.get("workspace").parse().map_err(|_| WebError::not_found())?;
    if !session.memberships.iter().any(|member| member.workspace.id == wanted) {
        return Err(WebError::not_found());
    }
    web.store.enter_workspace(session.id, session.user, wanted).await?;
    Ok(Redirect::to(local_path(form.get("next"))).into_response())
}

/// What a browser calls itself, in two words.
fn browser(user_agent: &str) -> String {
    let names = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    let systems = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    match (find(&names), find(&systems)) {
        (Some(name), Some(system)) => format!("{name} on {system}"),
        (Some(name), None) => name.to_owned(),
        (None, Some(system)) => format!("Browser on {system}"),
        (None, None) if user_agent.is_empty() => "Unknown browser".to_owned(),
        (None, None) => user_agent.chars().take(40).collect(),
    }
}
