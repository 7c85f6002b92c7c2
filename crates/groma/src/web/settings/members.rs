//! Settings > Members: members with their roles, and invitations by link.

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, problems},
    flash::Flash,
    form::{Form, Query},
    format::Moment,
    i18n::{Localizer, id},
    page::{Meta, Nav, forbid_storing},
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, http::StatusCode, response::Response};
use groma_domain::{DomainError, Email, Permission, PersonId, Role, secret::Secret};
use groma_store::{KnownPerson, NewInvitation, NewUser};

const PATH: &str = "/settings/members";
/// How long an invitation is valid.
const INVITATION_MILLIS: i64 = 7 * 24 * 60 * 60 * 1_000;

#[derive(Template)]
#[template(path = "members.html")]
struct MembersPage {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    /// The id of the next invitation: submitting the form twice creates one.
    once: String,
    can_administer: bool,
    /// The link of a new invitation.
    link: Option<String>,
    error: String,
    members: Vec<MemberView>,
    invitations: Vec<InvitationView>,
    roles: Vec<Choice>,
    /// The roles of a new service account.
    service_roles: Vec<Choice>,
}

struct MemberView {
    id: String,
    name: String,
    email: String,
    role: String,
    is_me: bool,
    is_service_account: bool,
    /// The roles to choose from; empty when the user may not change this member's role.
    roles: Vec<Choice>,
    can_remove: bool,
}

struct InvitationView {
    id: String,
    recipient: String,
    role: String,
    inviter: String,
    expires: Moment,
}

pub(in crate::web) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    show(&ctx, StatusCode::OK, None, String::new()).await
}

async fn show(
    ctx: &MemberContext,
    status: StatusCode,
    link: Option<String>,
    error: String,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let can_administer = ctx.can(Permission::Administer);
    let can_own = ctx.can(Permission::Own);
    let people = ctx.people().await?;
    let name_of = |id: Option<PersonId>| {
        let known = people.iter().find(|known| Some(known.person.id) == id);
        known.map(|known| known.person.name.clone()).unwrap_or_default()
    };
    let mut invitations = Vec::new();
    if can_administer {
        for open in ctx.store().invitations(ctx.workspace_id(), ctx.now()).await? {
            invitations.push(InvitationView {
                id: open.id.to_string(),
                recipient: open.email.unwrap_or_else(|| t.msg("members-anyone-with-link").into()),
                role: t.role(open.role),
                inviter: name_of(open.invited_by),
                expires: ctx.moment(open.expires_at),
            });
        }
    }
    let members = people.iter().filter_map(|known| {
        let KnownPerson { person, role, is_service_account, .. } = known;
        let role = (*role)?;
        let is_me = person.id == ctx.member.person.id;
        let can_edit = can_administer && (role != Role::Owner || can_own);
        let can_own = can_own && !is_service_account;
        let roles = if can_edit { role_choices(t, role, can_own) } else { Vec::new() };
        Some(MemberView {
            id: person.id.to_string(),
            name: person.name.clone(),
            email: person.email.to_string(),
            role: t.role(role),
            is_me,
            is_service_account: *is_service_account,
            roles,
            can_remove: is_me || can_edit,
        })
    });
    let content = MembersPage {
        t,
        nav: SettingsNav::new(ctx, PATH),
        csrf: ctx.request.csrf_token(),
        once: uuid::Uuid::now_v7().to_string(),
        can_administer,
        error,
        members: members.collect(),
        invitations,
        roles: role_choices(t, Role::Editor, can_own),
        service_roles: role_choices(t, Role::Viewer, false),
        link,
    };
    let meta = Meta::new(t.msg("members-title"), Nav::Settings);
    let mut response = ctx.page_with_status(status, meta, &content).await?;
    if content.link.is_some() {
        forbid_storing(&mut response);
    }
    Ok(response)
}

/// The roles with their rights. Only owners can make others owners.
fn role_choices(t: Localizer, chosen: Role, can_own: bool) -> Vec<Choice> {
    let roles = Role::ALL.into_iter().filter(|role| can_own || *role != Role::Owner);
    let choice = |role: Role| {
        let label = t.msg("role-description").arg("role", role.name());
        Choice::new(role.name(), label, role == chosen)
    };
    roles.map(choice).collect()
}

pub(in crate::web) async fn invite(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let role: Role = form.get("role").parse().map_err(WebError::invalid)?;
    let email = match form.given("email").map(Email::parse).transpose() {
        Ok(email) => email,
        Err(reason) => {
            let error = ctx.t().msg("members-email-invalid").arg("reason", reason.to_string());
            return show(&ctx, StatusCode::BAD_REQUEST, None, error.into()).await;
        }
    };
    // Submitting the same form again, by a reload, gives the same link.
    let once = form.get("once");
    let secret = Secret::parse(&ctx.request.secret.mac("invitation", once.as_bytes()));
    let secret = secret.filter(|_| !once.is_empty());
    let secret = secret.ok_or_else(|| WebError::bad_request(id("error-form-incomplete")))?;
    let invitation = NewInvitation {
        hash: secret.hash(),
        role,
        email,
        expires_at: ctx.now().plus_millis(INVITATION_MILLIS),
    };
    ctx.store().invite(ctx.workspace_id(), ctx.actor(), invitation, ctx.now()).await?;
    let link = format!("{}/join/{}", ctx.web.public_url, secret.reveal());
    show(&ctx, StatusCode::OK, Some(link), String::new()).await
}

pub(in crate::web) async fn add_service_account(
    ctx: MemberContext,
    form: Form,
) -> Result<Response, WebError> {
    let role: Role = form.get("role").parse().map_err(WebError::invalid)?;
    let (id, actor, now) = (ctx.workspace_id(), ctx.actor(), ctx.now());
    match ctx.store().add_service_account(id, actor, form.get("name"), role, now).await {
        Ok(person) => {
            let message = ctx.t().msg("members-service-added").arg("name", person.name);
            Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
        }
        Err(error) => show_rejection(&ctx, error).await,
    }
}

pub(in crate::web) async fn cancel_invitation(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = id.parse().map_err(|_| WebError::not_found())?;
    ctx.store().cancel_invitation(ctx.workspace_id(), ctx.actor(), id, ctx.now()).await?;
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(ctx.t().msg("members-invitation-revoked"))))
}

async fn member(ctx: &MemberContext, id: &str) -> Result<KnownPerson, WebError> {
    let id: PersonId = id.parse().map_err(|_| WebError::not_found())?;
    let mut people = ctx.people().await?.into_iter();
    let found = people.find(|known| known.person.id == id && known.role.is_some());
    found.ok_or_else(WebError::not_found)
}

pub(in crate::web) async fn set_role(
    ctx: MemberContext,
    Path(id): Path<String>,
    query: Query,
    form: Form,
) -> Result<Response, WebError> {
    let known = member(&ctx, &id).await?;
    // Undo has the earlier role in its address.
    let is_undo = query.has("role");
    let sent = if is_undo { query.get("role") } else { form.get("role") };
    let role: Role = sent.parse().map_err(WebError::invalid)?;
    let user = NewUser { email: known.person.email.clone(), name: None, password_hash: None };
    match ctx.store().add_member(ctx.workspace_id(), ctx.actor(), user, role, ctx.now()).await {
        Ok(_) => {
            let t = ctx.t();
            let message = t.msg("members-role-changed").arg("name", known.person.name);
            let mut flash = Flash::new(message.arg("role", t.role(role)));
            if let Some(earlier) = known.role.filter(|earlier| *earlier != role && !is_undo) {
                flash = flash.with_undo(format!("{PATH}/{id}/role?role={}", earlier.name()));
            }
            Ok(ctx.redirect_with_flash(PATH, &flash))
        }
        Err(error) => show_rejection(&ctx, error).await,
    }
}

pub(in crate::web) async fn remove_page(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let known = member(&ctx, &id).await?;
    let is_me = known.person.id == ctx.member.person.id;
    let t = ctx.t();
    let (title, text, button) = match is_me {
        true => (t.msg("members-leave-title"), t.msg("members-leave-text"), t.msg("members-leave")),
        false => (
            t.msg("members-remove-title").arg("name", &known.person.name),
            t.msg("members-remove-text").arg("name", &known.person.name),
            t.msg("members-remove"),
        ),
    };
    let content = Confirm {
        t,
        nav: SettingsNav::new(&ctx, PATH),
        title: title.into(),
        text: text.into(),
        csrf: ctx.request.csrf_token(),
        action: format!("{PATH}/{}/remove", known.person.id),
        cancel: PATH,
        button: button.into(),
    };
    content.show(&ctx).await
}

pub(in crate::web) async fn remove(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let known = member(&ctx, &id).await?;
    let removed = ctx
        .store()
        .remove_member(ctx.workspace_id(), ctx.actor(), known.person.id, ctx.now())
        .await;
    match removed {
        Ok(person) if person.id == ctx.member.person.id => {
            Ok(ctx.redirect_with_flash("/account", &Flash::new(ctx.t().msg("members-left"))))
        }
        Ok(person) => {
            let message = ctx.t().msg("members-removed").arg("name", person.name);
            Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
        }
        Err(error) => show_rejection(&ctx, error).await,
    }
}

/// Shows the page with the rule that rejected a change.
async fn show_rejection(
    ctx: &MemberContext,
    error: groma_store::Error,
) -> Result<Response, WebError> {
    match error.domain_error() {
        Some(error @ DomainError::Invalid(_)) => {
            let problems = problems(error);
            let text = problems.iter().map(|problem| format!("The {problem}.")).collect();
            show(ctx, StatusCode::BAD_REQUEST, None, text).await
        }
        _ => Err(error.into()),
    }
}
