//! The settings pages: workspace, members, statuses, layers, base maps, activity, security log, tokens,
//! webhooks.

pub(super) mod activity;
pub(super) mod base_maps;
pub(super) mod layers;
pub(super) mod members;
pub(super) mod security_log;
pub(super) mod statuses;
pub(super) mod tokens;
pub(super) mod webhooks;
pub(super) mod workspace;

use super::{
    WebError,
    fields::Field,
    i18n::{Localizer, Message},
    page::{Meta, Nav},
    request_context::MemberContext,
};
use askama::Template;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::Permission;

/// The list of settings pages beside each of them.
#[derive(Template)]
#[template(path = "settings_nav.html")]
pub(super) struct SettingsNav {
    t: Localizer,
    links: Vec<SettingsLink>,
}

struct SettingsLink {
    href: &'static str,
    icon: &'static str,
    label: String,
    is_current: bool,
}

impl SettingsNav {
    fn new(ctx: &MemberContext, current: &str) -> Self {
        let t = ctx.t();
        let mut links = Vec::new();
        let mut link = |href: &'static str, icon, label: Message, permission| {
            if ctx.can(permission) {
                let is_current = href == current;
                links.push(SettingsLink { href, icon, label: label.into(), is_current });
            }
        };
        let (read, administer) = (Permission::Read, Permission::Administer);
        // What an office manager needs comes first, what programs need last.
        link("/settings/workspace", "workspace", t.msg("workspace-title"), administer);
        link("/settings/members", "members", t.msg("members-title"), read);
        link("/settings/statuses", "status", t.msg("statuses-title"), administer);
        link("/settings/layers", "layers", t.msg("layers-title"), administer);
        link(base_maps::PATH, "map", t.msg("base-maps-title"), administer);
        link("/settings/activity", "activity", t.msg("activity-title"), administer);
        link(security_log::PATH, "lock", t.msg("security-log-title"), Permission::Own);
        link("/settings/tokens", "token", t.msg("tokens-title"), read);
        link("/settings/webhooks", "webhook", t.msg("webhooks-title"), administer);
        Self { t, links }
    }
}

impl SettingsNav {
    /// The addresses and names of the pages that a member may see.
    pub(super) fn pages(ctx: &MemberContext) -> impl Iterator<Item = (String, String)> {
        Self::new(ctx, "").links.into_iter().map(|link| (link.href.to_owned(), link.label))
    }
}

/// A form with one column of fields.
#[derive(Template)]
#[template(path = "settings_form.html")]
struct SettingsForm {
    t: Localizer,
    nav: SettingsNav,
    csrf: String,
    /// The page above this one: path and title.
    parent: (&'static str, String),
    title: String,
    action: String,
    submit: String,
    note: String,
    fields: Vec<Field>,
    problems: Vec<String>,
    is_danger: bool,
}

impl SettingsForm {
    /// Shows the form: with the status of an error if a value was rejected.
    async fn show(&self, ctx: &MemberContext, is_rejected: bool) -> Result<Response, WebError> {
        let status = if is_rejected { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        ctx.page_with_status(status, Meta::new(self.title.clone(), Nav::Settings), self).await
    }
}

/// Asks for confirmation of an action that cannot be undone.
#[derive(Template)]
#[template(path = "settings_confirm.html")]
struct Confirm {
    t: Localizer,
    nav: SettingsNav,
    title: String,
    text: String,
    csrf: String,
    action: String,
    cancel: String,
    button: String,
}

impl Confirm {
    async fn show(&self, ctx: &MemberContext) -> Result<Response, WebError> {
        ctx.page(Meta::new(self.title.clone(), Nav::Settings), self).await
    }
}

/// Opens the first page that the member may see.
pub(super) async fn index(ctx: MemberContext) -> Result<Response, WebError> {
    let first = SettingsNav::new(&ctx, "").links.into_iter().next();
    let first = first.map_or("/settings/members", |link| link.href);
    Ok(Redirect::to(first).into_response())
}
