//! Settings > Activity: the audit trail, newest first.

use super::SettingsNav;
use crate::web::{
    WebError,
    form::Query,
    history::{self, Line},
    page::{Meta, Nav},
    records::Statuses,
    visit::Desk,
};
use askama::Template;
use axum::response::Response;

const HERE: &str = "/settings/activity";
const SIZE: u32 = 50;

#[derive(Template)]
#[template(path = "activity.html")]
struct Activity {
    nav: SettingsNav,
    lines: Vec<Line>,
    is_first: bool,
    older: Option<String>,
}

pub(in crate::web) async fn page(desk: Desk, query: Query) -> Result<Response, WebError> {
    let statuses = Statuses::read(&desk).await?;
    let before = query.get("before").parse().ok();
    let lines = history::lines(&desk, &statuses, None, before, SIZE).await?;
    let is_full = lines.len() == usize::try_from(SIZE).unwrap_or_default();
    let older = lines.last().filter(|_| is_full).map(|line| format!("{HERE}?before={}", line.id));
    let content =
        Activity { nav: SettingsNav::new(&desk, HERE), lines, is_first: before.is_none(), older };
    desk.page(Meta::new("Activity", Nav::Settings), &content).await
}
