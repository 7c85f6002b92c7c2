//! Joining a workspace by the link of an invitation.

use super::{
    Shared, Web, WebError,
    fields::{Field, attach_errors, focus_first},
    flash::Flash,
    form::Form,
    i18n::{Localizer, Message},
    login::{
        complete::{Login, open_session},
        provider::ProviderLink,
    },
    page::{self, AuthPage},
    request_context::RequestContext,
    setup::{new_user_fields, read_new_user, validation_problems, with_password_hash},
};
use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use groma_domain::{Email, secret::Secret};
use groma_store::{Invitation, NewUser, Session};

#[derive(Template)]
#[template(path = "invitation.html")]
struct InvitationPage {
    t: Localizer,
    csrf: String,
    secret: String,
    /// `None` when the invitation is not valid.
    invitation: Option<InvitationView>,
    /// The providers that a new user can log in with.
    providers: Vec<ProviderLink>,
    fields: Vec<Field>,
    problems: Vec<String>,
}

struct InvitationView {
    workspace: String,
    /// Who sent it; empty when unknown.
    inviter: String,
    role: String,
    expires: String,
    /// The address that it is for.
    email: String,
    /// The email of the logged-in user.
    user: Option<String>,
    /// Whether the logged-in user has another address.
    is_for_other: bool,
}

impl InvitationPage {
    async fn read(web: &Web, request: &RequestContext, sent: &str) -> Result<Self, WebError> {
        let t = request.t;
        let mut page = Self {
            t,
            csrf: request.csrf_token(),
            secret: String::new(),
            invitation: None,
            providers: Vec::new(),
            fields: Vec::new(),
            problems: Vec::new(),
        };
        let Some(secret) = Secret::parse(sent) else { return Ok(page) };
        let found = web.store.invitation(&secret.hash(), request.now).await?;
        let Some((workspace, invitation)) = found else { return Ok(page) };
        let Invitation { role, email, invited_by, expires_at, .. } = invitation;
        let people = web.store.people(workspace.id).await?;
        let inviter = people.into_iter().find(|known| Some(known.person.id) == invited_by);
        page.secret = secret.reveal().to_owned();
        page.providers = ProviderLink::all(web, &format!("?invitation={}", page.secret));
        page.invitation = Some(InvitationView {
            workspace: workspace.name.as_str().to_owned(),
            inviter: inviter.map(|inviter| inviter.person.name).unwrap_or_default(),
            role: t.role(role),
            expires: t.full_day(expires_at.date()),
            user: request.session.as_ref().map(|session| session.email.to_string()),
            is_for_other: request.session.as_ref().is_some_and(|session| is_other(session, &email)),
            email: email.clone(),
        });
        page.fields = new_user_fields(t, &email).into();
        Ok(page)
    }
}

impl AuthPage for InvitationPage {
    fn title(&self) -> Message {
        self.t.msg("invitation-page-title")
    }
}

/// Whether an invitation is for another address than that of the logged-in user.
fn is_other(session: &Session, invited: &str) -> bool {
    Email::parse(invited).is_ok_and(|invited| invited != session.email)
}

pub(super) async fn invitation_page(
    State(web): State<Shared>,
    request: RequestContext,
    Path(sent): Path<String>,
) -> Result<Response, WebError> {
    let page = InvitationPage::read(&web, &request, &sent).await?;
    let status = if page.invitation.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    page.show(&web, &request, status)
}

pub(super) async fn join(
    State(web): State<Shared>,
    request: RequestContext,
    Path(sent): Path<String>,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, WebError> {
    let mut page = InvitationPage::read(&web, &request, &sent).await?;
    let secret = Secret::parse(&sent).filter(|_| page.invitation.is_some());
    let Some(secret) = secret else {
        return page.show(&web, &request, StatusCode::NOT_FOUND);
    };
    if page.invitation.as_ref().is_some_and(|invitation| invitation.is_for_other) {
        return page.show(&web, &request, StatusCode::BAD_REQUEST);
    }
    let mut errors = Vec::new();
    let user = match &request.session {
        Some(session) => {
            Some(NewUser { email: session.email.clone(), name: None, password_hash: None })
        }
        None => {
            for field in page.fields.iter_mut().filter(|field| field.name != "password") {
                field.value = form.get(field.name).to_owned();
            }
            match read_new_user(&form, &web.title, &mut errors) {
                Some((user, password)) => {
                    let turn = web.passwords.enter(&request.address).await?;
                    Some(with_password_hash(&turn, user, password).await?)
                }
                None => None,
            }
        }
    };
    if let Some(user) = user {
        let (is_new_user, email) = (request.session.is_none(), user.email.clone());
        let accepted =
            web.store.accept_invitation(secret.hash(), user, is_new_user, request.now).await;
        match (accepted, &request.session) {
            (Ok((workspace, _)), Some(session)) => {
                web.store.select_workspace(session.id, session.user, workspace).await?;
                let flash = Flash::new(request.t.msg("invitation-joined"));
                return Ok(page::redirect_with_flash(&request, web.is_secure, "/", &flash));
            }
            (Ok(_), None) => {
                let account = web.store.account(&email).await?.ok_or_else(WebError::not_found)?;
                let login = Login::of_new_user(account.user);
                return open_session(&web, &request, &headers, login, None, "/").await;
            }
            (Err(error), _) => errors.extend(validation_problems(error)?),
        }
    }
    if request.session.is_some() {
        page.fields.clear();
    }
    page.problems = attach_errors(request.t, &mut page.fields, &errors);
    focus_first(&mut page.fields);
    page.show(&web, &request, StatusCode::BAD_REQUEST)
}
