//! The session behind a request, its workspace, and the rights of its user.

use super::{
    Shared, Web, WebError, cookies,
    cookies::Cookie,
    flash::Flash,
    format::Moment,
    i18n::{Localizer, id},
    new_secret,
};
use crate::{
    http::client_address::Client,
    member_slots::{MemberSlot, SteppedSearch},
};
use axum::{extract::FromRequestParts, http::request::Parts};
use groma_domain::{Permission, Timestamp, WorkspaceId, secret::Secret, workspace::Workspace};
use groma_store::{Actor, Membership, NewSecurityEntry, Session, Store};
use jiff::tz::TimeZone;
use std::sync::Arc;

/// A request, with or without a session.
#[derive(Clone)]
pub(crate) struct RequestContext {
    /// The session's secret, from the cookie or new.
    pub(crate) secret: Secret,
    /// Whether the browser sent a session cookie.
    pub(crate) has_cookie: bool,
    pub(crate) session: Option<Arc<Session>>,
    /// The user's membership in the current workspace.
    pub(crate) member: Option<Arc<Membership>>,
    pub(crate) zone: TimeZone,
    pub(crate) now: Timestamp,
    /// The client's address.
    pub(crate) address: String,
    pub(crate) flash: Option<Flash>,
    /// The path with its query.
    pub(crate) path: String,
    /// Whether a script wants only a part of the page.
    pub(crate) is_fragment: bool,
    /// The language of the page.
    pub(crate) t: Localizer,
}

impl RequestContext {
    pub(crate) async fn read(web: &Web, parts: &Parts) -> Result<Self, WebError> {
        let headers = &parts.headers;
        let now = crate::clock::now();
        let sent = Cookie::Session.read(headers, web.is_secure).and_then(Secret::parse);
        let session = match &sent {
            Some(secret) => web.store.session(&secret.hash(), now).await?.map(Arc::new),
            None => None,
        };
        let member = session.as_deref().and_then(current_membership).cloned().map(Arc::new);
        let has_cookie = sent.is_some();
        let secret = match sent {
            Some(secret) => secret,
            None => new_secret().map_err(|error| WebError::internal(error.to_string()))?,
        };
        let preferences = session.as_ref().map(|session| &session.preferences);
        let language = preferences.and_then(|preferences| preferences.language.as_deref());
        let t = Localizer::for_user(language, headers);
        let flash = Cookie::Flash.read(headers, web.is_secure);
        let client = parts.extensions.get::<Client>();
        Ok(Self {
            flash: flash.and_then(|signed| Flash::verify(signed, &secret)),
            secret,
            has_cookie,
            session,
            member,
            zone: cookies::zone(headers),
            now,
            address: client
                .map_or_else(|| "unknown".to_owned(), |client| client.address.to_string()),
            path: parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            is_fragment: headers.contains_key("hx-request")
                && !headers.contains_key("hx-history-restore-request")
                && !headers.contains_key("hx-boosted"),
            t,
        })
    }

    /// An entry of the security log about what the user of this request does.
    pub(crate) fn security_entry(&self, action: &'static str) -> NewSecurityEntry {
        let entry = NewSecurityEntry::new(action, self.now).from_address(&self.address);
        match &self.session {
            Some(session) => entry.by(session.user),
            None => entry,
        }
    }

    /// The token that every form must send back.
    pub(crate) fn csrf_token(&self) -> String {
        self.secret.csrf_token(self.member.as_ref().map(|member| member.workspace.id))
    }

    /// The theme that the user chose: `light`, `dark`, or empty for the theme of the system.
    pub(crate) fn theme(&self) -> &str {
        let session = self.session.as_ref();
        session.and_then(|session| session.preferences.theme.as_deref()).unwrap_or_default()
    }

    /// The time of the request in full, in the user's time zone.
    pub(crate) fn exact_now(&self) -> String {
        Moment::new(self.t, self.now, self.now, &self.zone).exact
    }

    /// Today's date in the user's time zone.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        let now = jiff::Timestamp::from_millisecond(self.now.as_millis()).unwrap_or_default();
        now.to_zoned(self.zone.clone()).date()
    }
}

/// The workspace that the user chose last, or the first one. A workspace that requires a second factor is left
/// out unless the user logged in with one.
fn current_membership(session: &Session) -> Option<&Membership> {
    let is_open =
        |member: &&Membership| session.has_second_factor || !member.requires_second_factor;
    let chosen = |member: &&Membership| Some(member.workspace.id) == session.workspace;
    let chosen = session.memberships.iter().find(chosen);
    chosen.or_else(|| session.memberships.first()).filter(is_open)
}

/// A request of a member of a workspace.
#[derive(Clone)]
pub(crate) struct MemberContext {
    pub(crate) web: Shared,
    pub(crate) request: RequestContext,
    pub(crate) session: Arc<Session>,
    pub(crate) member: Arc<Membership>,
}

impl MemberContext {
    pub(crate) fn store(&self) -> &Store {
        &self.web.store
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.member.workspace
    }

    pub(crate) fn workspace_id(&self) -> WorkspaceId {
        self.member.workspace.id
    }

    /// Waits until the member may run another search.
    pub(crate) async fn search_slot(&self) -> Result<MemberSlot, WebError> {
        let person = self.member.person.id;
        let slot = self.web.search_slots.acquire(self.workspace_id(), person).await;
        slot.ok_or_else(|| WebError::too_many(id("error-too-many-searches")))
    }

    /// Begins a search that reads in steps, when the member may run another search.
    pub(crate) async fn begin_search(&self) -> Result<SteppedSearch, WebError> {
        let person = self.member.person.id;
        let search = self.web.search_slots.begin_search(self.workspace_id(), person).await;
        search.ok_or_else(|| WebError::too_many(id("error-too-many-searches")))
    }

    /// Waits until the member may run another export.
    pub(crate) async fn export_slot(&self) -> Result<MemberSlot, WebError> {
        let person = self.member.person.id;
        let slot = self.web.export_slots.acquire(self.workspace_id(), person).await;
        slot.ok_or_else(|| WebError::too_many(id("error-too-many-exports")))
    }

    /// Waits until the member may run another check of a layer.
    pub(crate) async fn check_slot(&self) -> Result<MemberSlot, WebError> {
        let person = self.member.person.id;
        let slot = self.web.check_slots.acquire(self.workspace_id(), person).await;
        slot.ok_or_else(|| WebError::too_many(id("error-too-many-checks")))
    }

    /// The language of the page.
    pub(crate) fn t(&self) -> Localizer {
        self.request.t
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.request.now
    }

    pub(crate) fn actor(&self) -> Actor {
        Actor::Session(self.session.id)
    }

    pub(crate) fn can(&self, permission: Permission) -> bool {
        self.member.role.can(permission)
    }
}

impl FromRequestParts<Shared> for MemberContext {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, web: &Shared) -> Result<Self, WebError> {
        let request = RequestContext::from_request_parts(parts, web).await?;
        let (Some(session), Some(member)) = (request.session.clone(), request.member.clone())
        else {
            return Err(WebError::login_required());
        };
        Ok(Self { web: web.clone(), request, session, member })
    }
}

impl FromRequestParts<Shared> for RequestContext {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, WebError> {
        let request = parts.extensions.get::<Self>().cloned();
        request.ok_or_else(|| WebError::internal("a route without its access check"))
    }
}
