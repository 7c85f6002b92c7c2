//! The frame of a page: sidebar, search, account menu, flash message.

use super::{
    WebError, assets,
    cookies::Cookie,
    flash::Flash,
    format::{self, Moment},
    i18n::{Localizer, Message},
    record_data::Statuses,
    request_context::{MemberContext, RequestContext},
};
use crate::http::{NO_STORE, security_headers};
use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{Kind, Timestamp};
use groma_store::RecordQuery;

/// Marks a response that shows the flash message, so that its cookie is cleared.
#[derive(Clone)]
pub(super) struct FlashConsumed;

/// The other origins that the map of a page may load from.
#[derive(Clone)]
pub(super) struct MapOrigins(pub(super) Vec<String>);

/// The entry of the sidebar that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nav {
    Dashboard,
    Folders,
    Assignments,
    Expenses,
    Budgets,
    Map,
    Settings,
    None,
}

impl Nav {
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Folder => Self::Folders,
            Kind::Assignment => Self::Assignments,
            Kind::Expense => Self::Expenses,
            Kind::Budget => Self::Budgets,
        }
    }
}

/// The properties of a page.
pub(crate) struct Meta {
    pub(crate) title: String,
    pub(crate) nav: Nav,
    /// The origins that the page's map may load from; `None` if the page has no map.
    pub(crate) map_origins: Option<Vec<String>>,
    pub(crate) is_full_screen: bool,
}

impl Meta {
    pub(crate) fn new(title: impl Into<String>, nav: Nav) -> Self {
        Self { title: title.into(), nav, map_origins: None, is_full_screen: false }
    }

    pub(crate) fn with_map(self, origins: Vec<String>) -> Self {
        Self { map_origins: Some(origins), ..self }
    }

    pub(crate) fn full_screen(self) -> Self {
        Self { is_full_screen: true, ..self }
    }
}

/// A link of the sidebar.
struct NavLink {
    href: &'static str,
    icon: &'static str,
    label: String,
    /// The letter of its keyboard shortcut, after `g`.
    key: &'static str,
    count: String,
    is_current: bool,
    /// Whether the bar at the bottom of a phone leaves it out.
    is_wide: bool,
}

/// A workspace of the user.
pub(super) struct WorkspaceOption {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) role: String,
    pub(super) is_current: bool,
}

impl WorkspaceOption {
    /// The workspaces of a user.
    pub(super) fn list(request: &RequestContext) -> Vec<Self> {
        let memberships = request.session.iter().flat_map(|session| &session.memberships);
        let current = request.member.as_ref().map(|member| member.workspace.id);
        let option = |member: &groma_store::Membership| Self {
            id: member.workspace.id.to_string(),
            name: member.workspace.name.as_str().to_owned(),
            role: request.t.role(member.role),
            is_current: Some(member.workspace.id) == current,
        };
        memberships.map(option).collect()
    }
}

#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    t: Localizer,
    theme: &'a str,
    service: &'a str,
    title: String,
    workspace: &'a str,
    workspaces: Vec<WorkspaceOption>,
    links: Vec<NavLink>,
    is_settings: bool,
    initials: String,
    user: &'a str,
    email: &'a str,
    csrf: String,
    /// The address of this page, where Undo returns to.
    here: &'a str,
    flash: Option<&'a Flash>,
    has_map: bool,
    is_full_screen: bool,
    content: String,
}

/// The frame of the pages before the login.
#[derive(Template)]
#[template(path = "auth_layout.html")]
struct AuthLayout<'a> {
    t: Localizer,
    theme: &'a str,
    service: &'a str,
    title: String,
    csrf: String,
    flash: Option<&'a Flash>,
    content: String,
}

impl MemberContext {
    /// The page with this content.
    pub(crate) async fn page(
        &self,
        meta: Meta,
        content: &impl Template,
    ) -> Result<Response, WebError> {
        self.page_with_status(StatusCode::OK, meta, content).await
    }

    pub(crate) async fn page_with_status(
        &self,
        status: StatusCode,
        meta: Meta,
        content: &impl Template,
    ) -> Result<Response, WebError> {
        let content = content.render()?;
        let layout = Layout {
            t: self.t(),
            theme: self.request.theme(),
            service: &self.web.title,
            title: meta.title,
            workspace: self.workspace().name.as_str(),
            workspaces: WorkspaceOption::list(&self.request),
            links: nav_links(self.t(), meta.nav, self.nav_counts().await?),
            is_settings: meta.nav == Nav::Settings,
            initials: format::initials(&self.member.person.name),
            user: &self.member.person.name,
            email: self.session.email.as_str(),
            csrf: self.request.csrf_token(),
            here: &self.request.path,
            flash: self.request.flash.as_ref(),
            has_map: meta.map_origins.is_some(),
            is_full_screen: meta.is_full_screen,
            content,
        };
        let mut response = html(status, layout.render()?);
        if let Some(flash) = &self.request.flash {
            response.extensions_mut().insert(FlashConsumed);
            if flash.secret.is_some() {
                forbid_storing(&mut response);
            }
        }
        if let Some(origins) = meta.map_origins.filter(|origins| !origins.is_empty()) {
            response.extensions_mut().insert(MapOrigins(origins));
        }
        Ok(response)
    }

    /// The numbers in the sidebar: open folders and assignments, all expenses and budgets.
    async fn nav_counts(&self) -> Result<[String; 4], WebError> {
        let t = self.t();
        let statuses = Statuses::read(self).await?;
        let open = async |kind| {
            let open = RecordQuery { limit: 0, ..statuses.open(kind) };
            let page = self.store().query_records(self.workspace_id(), open).await?;
            Ok::<_, WebError>(t.short_count(page.count))
        };
        let totals = async { Ok(self.store().totals(self.workspace_id()).await?) };
        let (folders, assignments, totals) =
            futures_util::try_join!(open(Kind::Folder), open(Kind::Assignment), totals)?;
        Ok([folders, assignments, t.number(totals[2]), t.number(totals[3])])
    }

    /// A part of a page, for the script that requested it.
    pub(crate) fn fragment(&self, content: &impl Template) -> Result<Response, WebError> {
        let mut response = html(StatusCode::OK, content.render()?);
        let vary = HeaderValue::from_static("HX-Request");
        response.headers_mut().insert(header::VARY, vary);
        Ok(response)
    }

    /// Redirects to a page that shows a message.
    pub(crate) fn redirect_with_flash(&self, to: &str, flash: &Flash) -> Response {
        redirect_with_flash(&self.request, self.web.is_secure, to, flash)
    }

    /// A point in time, relative to this request.
    pub(crate) fn moment(&self, moment: Timestamp) -> Moment {
        Moment::new(self.t(), moment, self.now(), &self.request.zone)
    }
}

/// Redirects to a page that shows a message.
pub(crate) fn redirect_with_flash(
    request: &RequestContext,
    is_secure: bool,
    to: &str,
    flash: &Flash,
) -> Response {
    let mut response = Redirect::to(to).into_response();
    let cookie = Cookie::Flash.set(&flash.sign(&request.secret), is_secure);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    if flash.secret.is_some() {
        forbid_storing(&mut response);
    }
    response
}

/// Keeps a response that contains a secret out of every cache.
pub(super) fn forbid_storing(response: &mut Response) {
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
}

/// A page of a login, or of a step before it.
pub(super) trait AuthPage: Template + Sized {
    fn title(&self) -> Message;

    fn show(
        &self,
        web: &super::Web,
        request: &RequestContext,
        status: StatusCode,
    ) -> Result<Response, WebError> {
        auth_page(web, request, status, self.title(), self)
    }
}

/// A page for a user who is not logged in.
pub(crate) fn auth_page(
    web: &super::Web,
    request: &RequestContext,
    status: StatusCode,
    title: impl Into<String>,
    content: &impl Template,
) -> Result<Response, WebError> {
    let layout = AuthLayout {
        t: request.t,
        theme: request.theme(),
        service: &web.title,
        title: title.into(),
        csrf: request.csrf_token(),
        flash: request.flash.as_ref(),
        content: content.render()?,
    };
    let mut response = html(status, layout.render()?);
    // These pages hold passwords, the setup code and invitation secrets.
    forbid_storing(&mut response);
    if request.flash.is_some() {
        response.extensions_mut().insert(FlashConsumed);
    }
    Ok(response)
}

/// A response with a document.
pub(super) fn html(status: StatusCode, body: String) -> Response {
    let mut response = (status, body).into_response();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    security_headers::mark(&mut response);
    response
}

fn nav_links(
    t: Localizer,
    current: Nav,
    [folders, assignments, expenses, budgets]: [String; 4],
) -> Vec<NavLink> {
    let link = |nav, href, icon, key, label: Message, count| NavLink {
        href,
        icon,
        label: label.into(),
        key,
        count,
        is_current: current == nav,
        is_wide: nav == Nav::Budgets,
    };
    let none = String::new;
    vec![
        link(Nav::Dashboard, "/", "dashboard", "d", t.msg("nav-dashboard"), none()),
        link(Nav::Folders, "/folders", "folders", "f", t.msg("nav-folders"), folders),
        link(
            Nav::Assignments,
            "/assignments",
            "assignments",
            "a",
            t.msg("nav-assignments"),
            assignments,
        ),
        link(Nav::Expenses, "/expenses", "expenses", "e", t.msg("nav-expenses"), expenses),
        link(Nav::Budgets, "/budgets", "budgets", "b", t.msg("nav-budgets"), budgets),
        link(Nav::Map, "/map", "map", "m", t.msg("nav-map"), none()),
    ]
}

/// The address of an icon, for `<use>`.
pub(crate) fn icon(name: &str) -> String {
    format!("{}#{name}", assets::url("icons.svg"))
}

/// The address of an asset, for templates.
pub(crate) fn asset(name: &str) -> String {
    assets::url(name)
}
