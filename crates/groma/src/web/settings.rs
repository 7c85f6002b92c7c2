//! Settings: tokens, webhooks, members, the workspace itself, statuses, layers, the audit trail.

pub(super) mod activity;
pub(super) mod layers;
pub(super) mod members;
pub(super) mod statuses;
pub(super) mod tokens;
pub(super) mod webhooks;
pub(super) mod workspace;

use super::{WebError, visit::Desk};
use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use groma_domain::Permission;

/// The list of settings, beside each of their pages.
#[derive(Template)]
#[template(path = "settings_nav.html")]
struct SettingsNav {
    links: Vec<(&'static str, &'static str, &'static str, bool)>,
}

/// Every page of the settings: address, icon, name, and what it takes to see it.
const PAGES: [(&str, &str, &str, Permission); 7] = [
    ("/settings/tokens", "token", "API Tokens", Permission::Read),
    ("/settings/webhooks", "webhook", "Webhooks", Permission::Administer),
    ("/settings/members", "members", "Members", Permission::Read),
    ("/settings/workspace", "workspace", "Workspace", Permission::Administer),
    ("/settings/statuses", "status", "Statuses", Permission::Administer),
    ("/settings/layers", "layers", "Layers", Permission::Administer),
    ("/settings/activity", "activity", "Activity", Permission::Administer),
];

impl SettingsNav {
    fn new(desk: &Desk, here: &str) -> Self {
        let seen = PAGES.iter().filter(|page| desk.may(page.3));
        let link =
            |(href, icon, label, _): &(&'static str, &'static str, &'static str, Permission)| {
                (*href, *icon, *label, *href == here)
            };
        Self { links: seen.map(link).collect() }
    }
}

/// Asks once more before something that cannot be undone, and is not worth typing for.
#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm {
    nav: SettingsNav,
    title: String,
    text: String,
    csrf: String,
    action: String,
    cancel: &'static str,
    button: &'static str,
}

pub(super) async fn index(_: Desk) -> Result<Response, WebError> {
    Ok(Redirect::to("/settings/tokens").into_response())
}
