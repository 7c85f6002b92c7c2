//! Settings > Members: who is in, with which role; invitations by link.

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, problems},
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
use groma_domain::{Email, Permission, PersonId, Refusal, Role, session::Secret};
use groma_store::{KnownPerson, NewInvitation, NewUser};

const HERE: &str = "/settings/members";
/// How long an invitation holds.
const INVITATION_MILLIS: i64 = 7 * 24 * 60 * 60 * 1_000;

#[derive(Template)]
#[template(path = "members.html")]
struct Members {
    nav: SettingsNav,
    csrf: String,
    once: String,
    may_administer: bool,
    link: Option<String>,
    error: String,
    members: Vec<MemberShown>,
    invitations: Vec<InvitationShown>,
    roles: Vec<Choice>,
}

struct MemberShown {
    id: String,
    name: String,
    email: String,
    role: &'static str,
    is_me: bool,
    /// The roles that one may give them; none when theirs is not to be touched.
    roles: Vec<Choice>,
    may_remove: bool,
}

struct InvitationShown {
    id: String,
    whom: String,
    role: &'static str,
    by: String,
    expires: Moment,
}

pub(in crate::web) async fn page(desk: Desk) -> Result<Response, WebError> {
    show(&desk, StatusCode::OK, None, String::new()).await
}

async fn show(
    desk: &Desk,
    status: StatusCode,
    link: Option<String>,
    error: String,
) -> Result<Response, WebError> {
    let may_administer = desk.may(Permission::Administer);
    let may_own = desk.may(Permission::Own);
    let people = desk.people().await?;
    let name_of = |id: Option<PersonId>| {
        let known = people.iter().find(|known| Some(known.person.id) == id);
        known.map(|known| known.person.name.clone()).unwrap_or_default()
    };
    let mut invitations = Vec::new();
    if may_administer {
        for open in desk.store().invitations(desk.id(), desk.now()).await? {
            invitations.push(InvitationShown {
                id: open.id.to_string(),
                whom: open.email.unwrap_or_else(|| "Whoever has the link".to_owned()),
                role: open.role.name(),
                by: name_of(open.invited_by),
                expires: desk.moment(open.expires_at),
            });
        }
    }
    let members = people.iter().filter_map(|KnownPerson { person, role }| {
        let role = (*role)?;
        let is_me = person.id == desk.member.person.id;
        let may_touch = may_administer && (role != Role::Owner || may_own);
        let roles = if may_touch { roles(role, may_own) } else { Vec::new() };
        Some(MemberShown {
            id: person.id.to_string(),
            name: person.name.clone(),
            email: person.email.to_string(),
            role: role.name(),
            is_me,
            roles,
            may_remove: is_me || may_touch,
        })
    });
    let content = Members {
        nav: SettingsNav::new(desk, HERE),
        csrf: desk.visit.form_token(),
        once: uuid::Uuid::now_v7().to_string(),
        may_administer,
        error,
        members: members.collect(),
        invitations,
        roles: roles(Role::Editor, may_own),
        link,
    };
    let meta = Meta::new("Members", Nav::Settings);
    let mut response = desk.page_with(status, meta, &content).await?;
    if content.link.is_some() {
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, never);
    }
    Ok(response)
}

fn roles(chosen: Role, may_own: bool) -> Vec<Choice> {
    let given = Role::ALL.into_iter().filter(|role| may_own || *role != Role::Owner);
    given.map(|role| Choice::new(role.name(), explained(role), role == chosen)).collect()
}

fn explained(role: Role) -> &'static str {
    match role {
        Role::Viewer => "Viewer: reads",
        Role::Editor => "Editor: changes records and shapes",
        Role::Admin => "Admin: also statuses, layers, webhooks, members",
        Role::Owner => "Owner: also the workspace itself",
    }
}

pub(in crate::web) async fn invite(desk: Desk, form: Form) -> Result<Response, WebError> {
    let role: Role = form.get("role").parse().map_err(WebError::bad)?;
    let email = match form.given("email").map(Email::parse).transpose() {
        Ok(email) => email,
        Err(reason) => {
            let error = format!("The address {reason}.");
            return show(&desk, StatusCode::BAD_REQUEST, None, error).await;
        }
    };
    // The same form sent again, by a reload, gives the same link.
    let once = form.get("once");
    let secret = Secret::parse(&desk.visit.secret.mark("invitation", once.as_bytes()));
    let secret = secret.filter(|_| !once.is_empty());
    let secret = secret.ok_or_else(|| WebError::bad("This form was not made here."))?;
    let invitation = NewInvitation {
        hash: secret.hash(),
        role,
        email,
        expires_at: desk.now().plus_millis(INVITATION_MILLIS),
    };
    desk.store().invite(desk.id(), desk.actor(), invitation, desk.now()).await?;
    let link = format!("{}/join/{}", desk.web.public_url, secret.reveal());
    show(&desk, StatusCode::OK, Some(link), String::new()).await
}

pub(in crate::web) async fn cancel_invitation(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = id.parse().map_err(|_| WebError::not_found())?;
    desk.store().cancel_invitation(desk.id(), desk.actor(), id, desk.now()).await?;
    Ok(desk.go(HERE, &Flash::new("The invitation is taken back.")))
}

async fn member(desk: &Desk, id: &str) -> Result<KnownPerson, WebError> {
    let id: PersonId = id.parse().map_err(|_| WebError::not_found())?;
    let mut people = desk.people().await?.into_iter();
    let found = people.find(|known| known.person.id == id && known.role.is_some());
    found.ok_or_else(WebError::not_found)
}

pub(in crate::web) async fn set_role(
    desk: Desk,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let known = member(&desk, &id).await?;
    let role: Role = form.get("role").parse().map_err(WebError::bad)?;
    let user = NewUser { email: known.person.email.clone(), name: None, password_hash: None };
    match desk.store().add_member(desk.id(), desk.actor(), user, role, desk.now()).await {
        Ok(_) => {
            let flash = Flash::new(format!("{} is {role} now.", known.person.name));
            Ok(desk.go(HERE, &flash))
        }
        Err(error) => refused(&desk, error).await,
    }
}

pub(in crate::web) async fn remove_page(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let known = member(&desk, &id).await?;
    let is_me = known.person.id == desk.member.person.id;
    let (title, button) = match is_me {
        true => ("Leave this workspace".to_owned(), "Leave"),
        false => (format!("Remove {}", known.person.name), "Remove"),
    };
    let who = if is_me { "You lose" } else { "They lose" };
    let content = Confirm {
        nav: SettingsNav::new(&desk, HERE),
        title,
        text: format!(
            "{who} access at once, and the API tokens made here end for good. Records keep the name."
        ),
        csrf: desk.visit.form_token(),
        action: format!("{HERE}/{}/remove", known.person.id),
        cancel: HERE,
        button,
    };
    desk.page(Meta::new("Remove a member", Nav::Settings), &content).await
}

pub(in crate::web) async fn remove(
    desk: Desk,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let known = member(&desk, &id).await?;
    let removed =
        desk.store().remove_member(desk.id(), desk.actor(), known.person.id, desk.now()).await;
    match removed {
        Ok(person) if person.id == desk.member.person.id => {
            Ok(desk.go("/account", &Flash::new("You have left the workspace.")))
        }
        Ok(person) => Ok(desk.go(HERE, &Flash::new(format!("{} is removed.", person.name)))),
        Err(error) => refused(&desk, error).await,
    }
}

/// A rule said no: the page says which.
async fn refused(desk: &Desk, error: groma_store::Error) -> Result<Response, WebError> {
    match error.refusal() {
        Some(refusal @ Refusal::Invalid(_)) => {
            let problems = problems(refusal);
            let text = problems.iter().map(|problem| format!("The {problem}.")).collect();
            show(desk, StatusCode::BAD_REQUEST, None, text).await
        }
        _ => Err(error.into()),
    }
}
