//! A page around its content: rail, top line, the message about what was done.

use super::{
    WebError, assets,
    cookies::Cookie,
    flash::Flash,
    shown::{self, Moment},
    visit::{Desk, Visit},
};
use crate::http::security_headers;
use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::Kind;
use groma_store::{Browse, Count};

/// On an answer that has told the message.
#[derive(Clone)]
pub(super) struct FlashShown;

/// Where in the rail a page is.
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

/// What a page is.
pub(crate) struct Meta<'a> {
    pub(crate) title: &'a str,
    pub(crate) nav: Nav,
    /// Whether it has a map.
    pub(crate) has_map: bool,
    /// Whether its content takes the whole screen.
    pub(crate) is_whole: bool,
}

impl<'a> Meta<'a> {
    pub(crate) fn new(title: &'a str, nav: Nav) -> Self {
        Self { title, nav, has_map: false, is_whole: false }
    }

    pub(crate) fn with_map(self) -> Self {
        Self { has_map: true, ..self }
    }
}

/// A link of the rail.
struct Link {
    href: &'static str,
    icon: &'static str,
    label: &'static str,
    key: &'static str,
    count: String,
    is_here: bool,
    /// Whether phones leave it out of the bar at the bottom.
    is_wide: bool,
}

/// A workspace that one can go to.
struct Place {
    id: String,
    name: String,
    role: &'static str,
    is_here: bool,
}

#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    service: &'a str,
    title: &'a str,
    workspace: &'a str,
    places: Vec<Place>,
    links: Vec<Link>,
    settings_here: bool,
    initials: String,
    user: &'a str,
    email: &'a str,
    csrf: String,
    back: &'a str,
    flash: Option<&'a Flash>,
    has_map: bool,
    is_whole: bool,
    content: String,
}

#[derive(Template)]
#[template(path = "entry.html")]
struct Entry<'a> {
    service: &'a str,
    title: &'a str,
    csrf: String,
    flash: Option<&'a Flash>,
    content: String,
}

impl Desk {
    /// The whole page around this content; only the content where only that is asked for.
    pub(crate) async fn page(
        &self,
        meta: Meta<'_>,
        content: &impl Template,
    ) -> Result<Response, WebError> {
        self.page_with(StatusCode::OK, meta, content).await
    }

    /// The same with another status.
    pub(crate) async fn page_with(
        &self,
        status: StatusCode,
        meta: Meta<'_>,
        content: &impl Template,
    ) -> Result<Response, WebError> {
        let content = content.render()?;
        let counts = self.counts().await?;
        let session = &self.session;
        let place = |member: &groma_store::Membership| Place {
            id: member.workspace.id.to_string(),
            name: member.workspace.name.as_str().to_owned(),
            role: member.role.name(),
            is_here: member.workspace.id == self.id(),
        };
        let layout = Layout {
            service: &self.web.title,
            title: meta.title,
            workspace: self.workspace().name.as_str(),
            places: session.memberships.iter().map(place).collect(),
            links: links(meta.nav, counts),
            settings_here: meta.nav == Nav::Settings,
            initials: shown::initials(&self.member.person.name),
            user: &self.member.person.name,
            email: session.email.as_str(),
            csrf: self.visit.form_token(),
            back: &self.visit.path,
            flash: self.visit.flash.as_ref(),
            has_map: meta.has_map,
            is_whole: meta.is_whole,
            content,
        };
        let mut response = html(status, layout.render()?);
        if self.visit.flash.is_some() {
            response.extensions_mut().insert(FlashShown);
        }
        Ok(response)
    }

    /// How many records of each kind its list opens with.
    async fn counts(&self) -> Result<[String; 4], WebError> {
        let open = async |kind| {
            let open = Browse { closed: Some(false), limit: 0, ..Browse::all(kind) };
            let browsed = self.store().browse(self.id(), open).await?;
            Ok::<_, WebError>(match browsed.count {
                Count::Exactly(count) => shown::grouped(count),
                Count::MoreThan(count) => format!("{}+", shown::grouped(count)),
            })
        };
        let totals = async { Ok(self.store().totals(self.id()).await?) };
        let (folders, assignments, totals) =
            futures_util::try_join!(open(Kind::Folder), open(Kind::Assignment), totals)?;
        Ok([folders, assignments, shown::grouped(totals[2]), shown::grouped(totals[3])])
    }

    /// A piece of a page, for the script that asked for it.
    pub(crate) fn piece(&self, content: &impl Template) -> Result<Response, WebError> {
        let mut response = html(StatusCode::OK, content.render()?);
        let vary = HeaderValue::from_static("HX-Request");
        response.headers_mut().insert(header::VARY, vary);
        Ok(response)
    }

    /// On to another page, which tells what was done.
    pub(crate) fn go(&self, to: &str, flash: &Flash) -> Response {
        go(&self.visit, self.web.is_secure, to, flash)
    }

    /// A moment as it is shown.
    pub(crate) fn moment(&self, moment: groma_domain::Timestamp) -> Moment {
        Moment::new(moment, self.now(), &self.visit.zone)
    }
}

/// On to another page, which tells what was done.
pub(crate) fn go(visit: &Visit, is_secure: bool, to: &str, flash: &Flash) -> Response {
    let mut response = Redirect::to(to).into_response();
    let cookie = Cookie::Flash.set(&flash.sealed(&visit.secret), is_secure);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

/// A page for someone who is not in yet.
pub(crate) fn entry(
    web: &super::Web,
    visit: &Visit,
    status: StatusCode,
    title: &str,
    content: &impl Template,
) -> Result<Response, WebError> {
    let content = content.render()?;
    let flash = visit.flash.as_ref();
    let csrf = visit.form_token();
    let entry = Entry { service: &web.title, title, csrf, flash, content };
    let mut response = html(status, entry.render()?);
    // What is typed here is nobody's to find afterwards.
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
    if visit.flash.is_some() {
        response.extensions_mut().insert(FlashShown);
    }
    Ok(response)
}

fn html(status: StatusCode, body: String) -> Response {
    let mut response = (status, body).into_response();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    security_headers::mark(&mut response);
    response
}

fn links(here: Nav, [folders, assignments, expenses, budgets]: [String; 4]) -> Vec<Link> {
    let link = |href, icon, label, key, nav, count, is_wide| Link {
        href,
        icon,
        label,
        key,
        count,
        is_here: here == nav,
        is_wide,
    };
    vec![
        link("/", "dashboard", "Dashboard", "d", Nav::Dashboard, String::new(), false),
        link("/folders", "folders", "Folders", "f", Nav::Folders, folders, false),
        link(
            "/assignments",
            "assignments",
            "Assignments",
            "a",
            Nav::Assignments,
            assignments,
            false,
        ),
        link("/expenses", "expenses", "Expenses", "e", Nav::Expenses, expenses, false),
        link("/budgets", "budgets", "Budgets", "b", Nav::Budgets, budgets, true),
        link("/map", "map", "Map", "m", Nav::Map, String::new(), false),
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
