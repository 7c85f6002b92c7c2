//! Settings > Members: members with their roles, and invitations by mail or by link.

pub(in crate::web) mod erasure;
pub(in crate::web) mod member;

use super::{Confirm, SettingsNav};
use crate::web::{
    WebError,
    fields::{Choice, problems},
    flash::Flash,
    form::{Form, Query},
    format::Moment,
    i18n::{Localizer, id},
    mail::InvitationMail,
    new_secret,
    page::{Meta, Nav, forbid_storing},
    request_context::MemberContext,
    session_times::{confirmation_path, is_recent_login},
};
use askama::Template;
use axum::{
    extract::Path,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{
    DomainError, Email, InvitationId, Permission, PersonId, Role, Timestamp, Violation,
    secret::Secret,
};
use groma_geo::Message;
use groma_store::{KnownPerson, NewInvitation, NewMail, NewUser, UserFilter};

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
    sends_mail: bool,
    /// The link of a new invitation.
    link: Option<String>,
    error: String,
    members: Vec<MemberView>,
    invitations: Vec<InvitationView>,
    roles: Vec<Choice>,
    /// The roles of a new service account.
    service_roles: Vec<Choice>,
    /// Former members and people without login, for owners, who can erase them.
    others: Vec<OtherView>,
}

struct OtherView {
    id: String,
    name: String,
    email: String,
    is_former: bool,
}

struct MemberView {
    id: String,
    name: String,
    email: String,
    role: String,
    is_me: bool,
    is_service_account: bool,
    is_disabled: bool,
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
                recipient: open.email,
                role: t.role(open.role),
                inviter: name_of(open.invited_by),
                expires: ctx.moment(open.expires_at),
            });
        }
    }
    let users = ctx.store().users(UserFilter::Workspace(ctx.workspace_id())).await?;
    let is_disabled = |known: &KnownPerson| {
        users.iter().any(|user| Some(user.id) == known.user && user.disabled_at.is_some())
    };
    let others = people.iter().filter(|known| can_own && erasure::can_be_erased(known));
    let others = others.map(|known| OtherView {
        id: known.person.id.to_string(),
        name: known.person.name.clone(),
        email: known.person.email.to_string(),
        is_former: known.is_removed,
    });
    let others = others.collect();
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
            is_disabled: is_disabled(known),
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
        sends_mail: ctx.web.sends_mail,
        error,
        members: members.collect(),
        invitations,
        roles: role_choices(t, Role::Editor, can_own),
        service_roles: role_choices(t, Role::Viewer, false),
        others,
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

fn unknown_role(error: String) -> WebError {
    WebError::invalid(Message::untranslated(error))
}

/// Invites an address. With a mail server, the link is only in the mail, so that whoever uses it receives mail
/// at the address; unless the inviter asks for a link to pass on.
pub(in crate::web) async fn invite(ctx: MemberContext, form: Form) -> Result<Response, WebError> {
    let role: Role = form.get("role").parse().map_err(unknown_role)?;
    if let Some(confirm) = confirm_owner(&ctx, role) {
        return Ok(confirm);
    }
    let email = match Email::parse(form.get("email")) {
        Ok(email) => email,
        Err(reason) => return show_invalid_email(&ctx, &reason).await,
    };
    let once = form.get("once").parse::<InvitationId>().ok();
    let id = once.ok_or_else(|| WebError::bad_request(id("error-form-incomplete")))?;
    let is_mailed = ctx.web.sends_mail && form.get("delivery") != "link";
    let secret = if is_mailed {
        // The inviter could compute a secret that depends on their session.
        new_secret().map_err(|error| WebError::internal(error.to_string()))?
    } else {
        link_secret(&ctx, id)?
    };
    let link = format!("{}/join/{}", ctx.web.public_url, secret.reveal());
    let expires_at = ctx.now().plus_millis(INVITATION_MILLIS);
    let mail = match is_mailed {
        true => Some(invitation_mail(&ctx, &email, role, &link, expires_at).await?),
        false => None,
    };
    let recipient = email.to_string();
    let invitation =
        NewInvitation { id: Some(id), hash: secret.hash(), role, email, expires_at, mail };
    let invited = ctx.store().invite(ctx.workspace_id(), ctx.actor(), invitation, ctx.now()).await;
    if let Err(error) = invited {
        return match error.domain_error() {
            Some(DomainError::Invalid(_)) => {
                let error = ctx.t().msg("account-verification-too-many");
                show(&ctx, StatusCode::BAD_REQUEST, None, error.into()).await
            }
            _ => Err(error.into()),
        };
    }
    if is_mailed {
        let message = ctx.t().msg("members-invitation-sent").arg("email", recipient);
        return Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)));
    }
    show(&ctx, StatusCode::OK, Some(link), String::new()).await
}

pub(in crate::web) async fn add_service_account(
    ctx: MemberContext,
    form: Form,
) -> Result<Response, WebError> {
    let role: Role = form.get("role").parse().map_err(unknown_role)?;
    let (id, actor, now) = (ctx.workspace_id(), ctx.actor(), ctx.now());
    match ctx.store().add_service_account(id, actor, form.get("name"), role, now).await {
        Ok(person) => {
            let message = ctx.t().msg("members-service-added").arg("name", person.name);
            Ok(ctx.redirect_with_flash(PATH, &Flash::new(message)))
        }
        Err(error) => show_rejection(&ctx, error).await,
    }
}

async fn show_invalid_email(ctx: &MemberContext, reason: &Violation) -> Result<Response, WebError> {
    let t = ctx.t();
    let error = t.msg("members-email-invalid").arg("reason", t.violation(reason));
    show(ctx, StatusCode::BAD_REQUEST, None, error.into()).await
}

/// The secret of a link that the page shows. Submitting the same form again, by a reload, gives the same link.
fn link_secret(ctx: &MemberContext, invitation: InvitationId) -> Result<Secret, WebError> {
    let mac = ctx.request.secret.mac("invitation", invitation.to_string().as_bytes());
    Secret::parse(&mac).ok_or_else(|| WebError::internal("the link has no valid secret"))
}

async fn invitation_mail(
    ctx: &MemberContext,
    email: &Email,
    role: Role,
    link: &str,
    expires_at: Timestamp,
) -> Result<NewMail, WebError> {
    let account = ctx.store().account(email).await?;
    let t = ctx.t().or_chosen(account.and_then(|account| account.language).as_deref());
    Ok(ctx.web.mail_writer(t).invitation(InvitationMail {
        recipient: email.clone(),
        workspace: ctx.workspace_id(),
        workspace_name: ctx.workspace().name.as_str(),
        inviter: &ctx.member.person.name,
        role,
        link,
        expires_at,
    }))
}

pub(in crate::web) async fn cancel_invitation(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let id = id.parse().map_err(|_| WebError::not_found())?;
    ctx.store().cancel_invitation(ctx.workspace_id(), ctx.actor(), id, ctx.now()).await?;
    Ok(ctx.redirect_with_flash(PATH, &Flash::new(ctx.t().msg("members-invitation-revoked"))))
}

/// Naming an owner requires a recent login.
fn confirm_owner(ctx: &MemberContext, role: Role) -> Option<Response> {
    let is_recent = is_recent_login(&ctx.session, ctx.now(), true);
    let needs_login = role == Role::Owner && !is_recent;
    needs_login.then(|| Redirect::to(&confirmation_path(PATH)).into_response())
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
    let role: Role = sent.parse().map_err(unknown_role)?;
    if let Some(confirm) = confirm_owner(&ctx, role) {
        return Ok(confirm);
    }
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
        cancel: PATH.to_owned(),
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
            let text = problems(error).iter().map(|problem| ctx.t().problem(problem)).collect();
            show(ctx, StatusCode::BAD_REQUEST, None, text).await
        }
        _ => Err(error.into()),
    }
}
