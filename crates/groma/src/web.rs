//! The web application: pages made here, forms that work without script.
//!
//! [`routes`] is the one list of what there is, with the role that each takes. A request passes
//! [`guard`] (session, origin, form token, role, headers) before its handler; handlers ask the store
//! and fill a template.

mod account;
pub(crate) mod assets;
mod budget_chart;
mod cookies;
mod dashboard;
mod entry;
mod error;
mod fields;
mod flash;
mod form;
mod guard;
mod history;
mod map;
mod page;
mod records;
mod routes;
mod search;
mod settings;
mod shown;
mod table;
mod visit;

pub(crate) use error::WebError;

use crate::{
    http::{HttpError, security_headers},
    settings::Settings,
    tiles::TileCache,
};
use axum::{
    Router,
    http::{HeaderMap, Uri, header},
    response::{IntoResponse, Response},
};
use groma_domain::{session::Secret, token::TokenPrefix};
use groma_store::Store;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What the handlers share.
pub(crate) struct Web {
    pub(crate) store: Store,
    pub(crate) tiles: Arc<TileCache>,
    /// The service's name.
    pub(crate) title: String,
    /// The address of the main API as clients see it.
    pub(crate) public_url: String,
    /// The address of the Geo API as clients see it.
    pub(crate) geo_url: String,
    pub(crate) allow_http_webhooks: bool,
    /// Its scheme, host and port.
    origin: String,
    /// Whether browsers reach it over https.
    is_secure: bool,
    pub(crate) token_prefix: TokenPrefix,
    /// What whoever sets the service up must know: it is printed where it was started.
    setup_code: Secret,
    /// The map's own style, and the hosts it loads from.
    pub(crate) map_style: Option<String>,
    pub(crate) map_hosts: Vec<String>,
    /// Checking a password takes memory and time: only so many at once.
    password_checks: Semaphore,
}

pub(crate) type Shared = Arc<Web>;

impl Web {
    pub(crate) fn new(
        settings: &Settings,
        store: Store,
        tiles: Arc<TileCache>,
    ) -> Result<Self, getrandom::Error> {
        let public_url = settings.server.public_url();
        Ok(Self {
            store,
            tiles,
            title: settings.service.display_name().to_owned(),
            origin: security_headers::origin(&public_url).to_owned(),
            is_secure: public_url.starts_with("https://"),
            public_url,
            geo_url: settings.server.geo_public_url(),
            allow_http_webhooks: settings.webhooks.allow_http,
            token_prefix: settings.service.token_prefix.clone(),
            setup_code: new_secret()?,
            map_style: settings.map.style.clone(),
            map_hosts: settings.map.hosts.clone(),
            password_checks: Semaphore::new(2),
        })
    }

    /// Where the service is set up, for whoever started it; `None` once somebody has.
    pub(crate) async fn setup_address(&self) -> groma_store::Result<Option<String>> {
        let is_new = !self.store.has_users().await?;
        Ok(is_new.then(|| format!("{}/setup?code={}", self.public_url, self.setup_code.reveal())))
    }
}

/// The routes of the web application.
pub(crate) fn router(web: &Shared) -> Router {
    routes::router(web).merge(assets::router())
}

/// The answer to an address that nobody knows: a page for people, JSON for programs.
pub(crate) async fn no_such_page(web: Shared, uri: Uri, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_page = accepted.is_some_and(|accept| accept.contains("text/html"));
    if uri.path().starts_with("/api/") {
        return HttpError::route_not_found().into_response();
    }
    let mut response = match wants_page {
        true => WebError::not_found().into_response(),
        false => HttpError::route_not_found().into_response(),
    };
    security_headers::secure(&mut response, web.is_secure, &[]);
    response
}

/// A secret nobody knows yet.
fn new_secret() -> Result<Secret, getrandom::Error> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    Ok(Secret::new(random))
}
