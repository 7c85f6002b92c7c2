//! Who is there: the session behind a request, the workspace it looks at, and what its user may.

use super::{Shared, Web, WebError, cookies, cookies::Cookie, flash::Flash, new_secret};
use crate::http::client_address::Client;
use axum::{extract::FromRequestParts, http::request::Parts};
use groma_domain::{Permission, Timestamp, WorkspaceId, session::Secret, workspace::Workspace};
use groma_store::{Actor, Membership, Session, Store};
use jiff::tz::TimeZone;
use std::sync::Arc;

/// One request of someone, logged in or not.
#[derive(Clone)]
pub(crate) struct Visit {
    /// What the cookie holds, or will hold.
    pub(crate) secret: Secret,
    /// Whether the browser has that cookie already.
    pub(crate) has_cookie: bool,
    pub(crate) session: Option<Arc<Session>>,
    /// What the user is in the workspace that is looked at.
    pub(crate) member: Option<Arc<Membership>>,
    pub(crate) zone: TimeZone,
    pub(crate) now: Timestamp,
    /// Where the request came from.
    pub(crate) address: String,
    /// What to tell about what was done before.
    pub(crate) flash: Option<Flash>,
    /// The path that was asked for, with its query.
    pub(crate) path: String,
    /// Whether only a piece of a page is wanted.
    pub(crate) is_piece: bool,
}

impl Visit {
    pub(crate) async fn of(web: &Web, parts: &Parts) -> Result<Self, WebError> {
        let headers = &parts.headers;
        let now = crate::clock::now();
        let sent = Cookie::Session.read(headers, web.is_secure).and_then(Secret::parse);
        let session = match &sent {
            Some(secret) => web.store.session(&secret.hash(), now).await?.map(Arc::new),
            None => None,
        };
        let member = session.as_deref().and_then(current).cloned().map(Arc::new);
        let has_cookie = sent.is_some();
        let secret = match sent {
            Some(secret) => secret,
            None => new_secret().map_err(|error| WebError::internal(error.to_string()))?,
        };
        let flash = Cookie::Flash.read(headers, web.is_secure);
        let client = parts.extensions.get::<Client>();
        Ok(Self {
            flash: flash.and_then(|sealed| Flash::opened(sealed, &secret)),
            secret,
            has_cookie,
            session,
            member,
            zone: cookies::zone(headers),
            now,
            address: client
                .map_or_else(|| "unknown".to_owned(), |client| client.address.to_string()),
            path: parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            is_piece: headers.contains_key("hx-request")
                && !headers.contains_key("hx-history-restore-request")
                && !headers.contains_key("hx-boosted"),
        })
    }

    /// What forms must carry.
    pub(crate) fn form_token(&self) -> String {
        self.secret.form_token(self.member.as_ref().map(|member| member.workspace.id))
    }

    /// Today, where the user is.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        let now = jiff::Timestamp::from_millisecond(self.now.as_millis()).unwrap_or_default();
        now.to_zoned(self.zone.clone()).date()
    }
}

/// The workspace that was chosen last; the first one when that is gone.
fn current(session: &Session) -> Option<&Membership> {
    let chosen = |member: &&Membership| Some(member.workspace.id) == session.workspace;
    session.memberships.iter().find(chosen).or_else(|| session.memberships.first())
}

/// Someone who is logged in and looks at a workspace.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) web: Shared,
    pub(crate) visit: Visit,
    pub(crate) session: Arc<Session>,
    pub(crate) member: Arc<Membership>,
}

impl Desk {
    pub(crate) fn store(&self) -> &Store {
        &self.web.store
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.member.workspace
    }

    pub(crate) fn id(&self) -> WorkspaceId {
        self.member.workspace.id
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.visit.now
    }

    pub(crate) fn actor(&self) -> Actor {
        Actor::Member { person: self.member.person.id, role: self.member.role }
    }

    pub(crate) fn may(&self, permission: Permission) -> bool {
        self.member.role.may(permission)
    }
}

impl FromRequestParts<Shared> for Desk {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, web: &Shared) -> Result<Self, WebError> {
        let visit = Visit::from_request_parts(parts, web).await?;
        let (Some(session), Some(member)) = (visit.session.clone(), visit.member.clone()) else {
            return Err(WebError::forbidden("This needs someone who is logged in."));
        };
        Ok(Self { web: web.clone(), visit, session, member })
    }
}

impl FromRequestParts<Shared> for Visit {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, WebError> {
        let visit = parts.extensions.get::<Self>().cloned();
        visit.ok_or_else(|| WebError::internal("a route without its guard"))
    }
}
