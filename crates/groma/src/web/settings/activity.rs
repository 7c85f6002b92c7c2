//! Settings > Activity: the audit log, newest first.

use super::SettingsNav;
use crate::web::{
    WebError,
    activity_feed::{self, ActivityGroup},
    form::Query,
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::Statuses,
    request_context::MemberContext,
};
use askama::Template;
use axum::response::Response;

const PATH: &str = "/settings/activity";
const PAGE_SIZE: u32 = 50;

#[derive(Template)]
#[template(path = "activity.html")]
struct ActivityPage {
    t: Localizer,
    nav: SettingsNav,
    groups: Vec<ActivityGroup>,
    is_first: bool,
    older: Option<String>,
}

pub(in crate::web) async fn page(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let statuses = Statuses::read(&ctx).await?;
    let before = query.get("before").parse().ok();
    let groups = activity_feed::latest(&ctx, &statuses, None, before, PAGE_SIZE).await?;
    let count: usize = groups.iter().map(|group| group.entries.len()).sum();
    let is_full = count == usize::try_from(PAGE_SIZE).unwrap_or_default();
    let last = groups.last().and_then(|group| group.entries.last()).filter(|_| is_full);
    let older = last.map(|entry| format!("{PATH}?before={}", entry.id));
    let (t, nav) = (ctx.t(), SettingsNav::new(&ctx, PATH));
    let content = ActivityPage { t, nav, groups, is_first: before.is_none(), older };
    ctx.page(Meta::new(t.msg("activity-title"), Nav::Settings), &content).await
}
