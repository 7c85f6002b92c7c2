//! The web application: server-rendered pages and forms that work without scripts.
//!
//! [`routes`] lists every route with the access that it requires. A request passes [`authorize`] (session,
//! origin, form token, role, headers) before its handler. Handlers call the store and fill a template;
//! the texts come from [`i18n`].

mod account;
mod activity_feed;
pub(crate) mod assets;
mod authorize;
mod base_maps;
mod budget_chart;
mod cookies;
mod dashboard;
mod dashboard_charts;
mod decimal;
pub(crate) mod documentation;
mod error;
mod error_page;
mod export_menu;
mod exports;
mod feature_table;
mod fields;
mod flash;
mod form;
mod format;
pub(crate) mod i18n;
pub(crate) mod imports;
mod invitation;
mod login;
mod login_throttle;
pub(crate) mod mail;
mod map;
pub(crate) mod ogc_pages;
mod one_time_codes;
mod page;
mod passkeys;
mod password_queue;
mod password_reset;
mod record_data;
mod records;
mod request_context;
mod routes;
mod search;
mod session_times;
mod settings;
mod setup;
mod suggestions;
mod table;
mod user_agent;
mod verification;

pub(crate) use error::WebError;
use i18n::Localizer;
use mail::{MailWriter, Notice, NoticeRecipient};
use passkeys::Passkeys;
use password_queue::PasswordQueue;
use request_context::RequestContext;

use crate::{
    http::{HttpError, security_headers},
    member_slots::MemberSlots,
    oidc::Provider,
    quota::Quota,
    rate_windows::RateWindows,
    settings::{Limits, OidcProvider, Settings},
    setup_link::SetupLinkFile,
    tiles::TileCache,
};
use axum::{
    Router,
    extract::Request,
    http::header,
    response::{IntoResponse, Response},
};
use groma_domain::{Email, UserId, secret::Secret, token::TokenPrefix};
use groma_store::Store;
use groma_webhooks::EndpointPolicy;
use ipnet::IpNet;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use thiserror::Error;
use tokio::sync::watch;

/// The state that the handlers share.
pub(crate) struct Web {
    pub(crate) store: Store,
    pub(crate) tiles: Arc<TileCache>,
    /// The name in the title and the sidebar.
    pub(crate) title: String,
    /// The name in the headers of webhooks.
    pub(crate) header_name: String,
    /// The public address of this application.
    pub(crate) public_url: String,
    /// The public address of the Geo API.
    pub(crate) geo_url: String,
    pub(crate) endpoint_policy: EndpointPolicy,
    pub(crate) search_slots: MemberSlots,
    export_slots: MemberSlots,
    check_slots: MemberSlots,
    /// The pages that each user has requested in the last minute.
    page_windows: RateWindows<UserId>,
    /// Whether there is a mail server.
    pub(crate) sends_mail: bool,
    /// The scheme, host and port of the public address.
    origin: String,
    /// Whether browsers use https.
    is_secure: bool,
    pub(crate) token_prefix: TokenPrefix,
    /// The identity providers.
    providers: Vec<Provider>,
    /// `None` where browsers offer no passkeys.
    passkeys: Option<Passkeys>,
    /// The code that the first setup requires. The server prints it when it starts.
    setup_code: Secret,
    /// Where the server wrote the address with the code.
    setup_link_file: SetupLinkFile,
    /// The URL of the map style, and the hosts that it loads from.
    pub(crate) map_style: Option<String>,
    pub(crate) map_hosts: Vec<String>,
    /// Passwords of strangers.
    passwords: PasswordQueue,
    /// Passwords of users with a session or a known device.
    member_passwords: PasswordQueue,
    limits: Limits,
    /// The memory for forms of strangers that are on their way.
    form_memory: Arc<Quota<IpNet>>,
    /// The files that are on their way.
    uploads: imports::UploadQuota,
    /// The imports that this process works on.
    imports: imports::Workers,
    /// Whether the server is stopping.
    stopping: watch::Receiver<bool>,
}

/// Why the web application cannot start.
#[derive(Debug, Error)]
pub(crate) enum WebSetupError {
    /// The operating system provides no random numbers.
    #[error("cannot generate secrets: {0}")]
    Random(#[from] getrandom::Error),
    /// The settings of an identity provider cannot be used.
    #[error("{0}")]
    Provider(String),
}

/// The memory for forms of strangers in all, and for those from one address, or /64
/// network of IPv6.
const FORM_MEMORY: u64 = 16 << 20;
const FORM_MEMORY_PER_ADDRESS: u64 = 1 << 20;

/// How many exports run at once. Each keeps a temporary file until it is downloaded.
const EXPORTS_PER_MEMBER: u32 = 2;
const EXPORTS_PER_WORKSPACE: u32 = 8;

/// How many checks and repairs of layers run at once. Each keeps the polygons of its layer in memory.
const CHECKS_PER_MEMBER: u32 = 1;
const CHECKS_PER_WORKSPACE: u32 = 2;

pub(crate) type Shared = Arc<Web>;

impl Web {
    pub(crate) fn new(
        settings: &Settings,
        store: Store,
        tiles: Arc<TileCache>,
        search_slots: MemberSlots,
        stopping: watch::Receiver<bool>,
    ) -> Result<Self, WebSetupError> {
        let public_url = settings.server.public_url();
        let provider = |provider: &OidcProvider| Provider::new(provider.clone(), &public_url);
        let providers = settings.oidc.iter().map(provider).collect::<Result<_, _>>();
        Ok(Self {
            store,
            tiles,
            title: settings.service.display_name().to_owned(),
            header_name: settings.service.header_name().to_owned(),
            origin: security_headers::origin(&public_url).to_owned(),
            is_secure: public_url.starts_with("https://"),
            passkeys: Passkeys::new(&public_url, settings.service.display_name()),
            providers: providers.map_err(WebSetupError::Provider)?,
            public_url,
            geo_url: settings.server.geo_public_url(),
            endpoint_policy: settings.webhooks.endpoint_policy(),
            search_slots,
            export_slots: MemberSlots::new(EXPORTS_PER_MEMBER, EXPORTS_PER_WORKSPACE),
            check_slots: MemberSlots::new(CHECKS_PER_MEMBER, CHECKS_PER_WORKSPACE),
            page_windows: RateWindows::new(settings.limits.pages_per_minute),
            sends_mail: settings.smtp.is_some(),
            token_prefix: settings.service.token_prefix.clone(),
            setup_code: new_secret()?,
            setup_link_file: SetupLinkFile::of(&settings.database),
            map_style: settings.map.style.clone(),
            map_hosts: settings.map.hosts.clone(),
            passwords: PasswordQueue::new(),
            member_passwords: PasswordQueue::new(),
            limits: settings.limits.clone(),
            form_memory: Quota::new(FORM_MEMORY, FORM_MEMORY_PER_ADDRESS),
            uploads: Quota::new(settings.limits.uploads, settings.limits.uploads_per_token),
            imports: imports::Workers::default(),
            stopping,
        })
    }

    /// Writes mails in a language.
    pub(crate) fn mail_writer(&self, t: Localizer) -> MailWriter<'_> {
        MailWriter { t, service: &self.title, public_url: &self.public_url }
    }

    /// Queues a notice to a user, if there is a mail server. `t` is the language that they read.
    pub(crate) async fn send_notice(
        &self,
        user: UserId,
        email: &Email,
        t: Localizer,
        notice: &Notice<'_>,
    ) -> groma_store::Result<()> {
        if self.sends_mail {
            let now = crate::clock::now();
            let recipient = NoticeRecipient { user, email: email.clone() };
            self.store.queue_mail(self.mail_writer(t).notice(recipient, notice, now), now).await?;
        }
        Ok(())
    }

    /// The address of the first setup; `None` once there is a user.
    pub(crate) async fn setup_address(&self) -> groma_store::Result<Option<String>> {
        let is_new = !self.store.has_users().await?;
        Ok(is_new.then(|| format!("{}/setup?code={}", self.public_url, self.setup_code.reveal())))
    }
}

/// The routes of the web application.
pub(crate) fn router(web: &Shared) -> Router {
    routes::router(web).merge(assets::router())
}

/// The response for an unknown address: a page for browsers, JSON for programs.
pub(crate) async fn no_such_page(web: Shared, request: Request) -> Response {
    let accepted = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_page = accepted.is_some_and(|accept| accept.contains("text/html"));
    if request.uri().path().starts_with("/api/") {
        return HttpError::route_not_found().into_response();
    }
    if wants_page {
        return not_found_page(&web, request).await;
    }
    let mut response = HttpError::route_not_found().into_response();
    security_headers::secure(&mut response, web.is_secure, &[]);
    response
}

async fn not_found_page(web: &Shared, request: Request) -> Response {
    let response = WebError::not_found().into_response();
    let mut errors = error_page::ErrorContext::new(&request);
    let (parts, _) = request.into_parts();
    errors.request = RequestContext::read(web, &parts).await.ok();
    let mut response = error_page::render(web, response, errors).await;
    security_headers::secure(&mut response, web.is_secure, &[]);
    response
}

/// A new random secret.
fn new_secret() -> Result<Secret, getrandom::Error> {
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    Ok(Secret::new(random))
}

/// Compares secrets in constant time.
fn secrets_match(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}
