//! The dashboard: overdue work, work due soon, overspent budgets, charts, recent activity.

use super::{
    WebError,
    activity_feed::{self, ActivityGroup},
    dashboard_charts::Charts,
    i18n::{Localizer, Message},
    page::{Meta, Nav},
    record_data::{Doc, Statuses},
    records::rows::record_table,
    request_context::MemberContext,
    table::Table,
};
use askama::Template;
use axum::response::Response;
use groma_domain::{Kind, Permission};
use groma_store::{RecordCount, RecordQuery, Sort};
use jiff::ToSpan;

#[derive(Template)]
#[template(path = "dashboard.html")]
struct Dashboard {
    t: Localizer,
    name: String,
    can_change: bool,
    can_administer: bool,
    is_empty: bool,
    figures: Vec<Figure>,
    sections: Vec<Section>,
    charts: Charts,
    activity: Vec<ActivityGroup>,
}

struct Figure {
    label: String,
    value: String,
    href: &'static str,
    is_alarming: bool,
}

struct Section {
    title: String,
    count: String,
    href: &'static str,
    table: Table,
}

pub(super) async fn page(ctx: MemberContext) -> Result<Response, WebError> {
    let t = ctx.t();
    let statuses = Statuses::read(&ctx).await?;
    let today = ctx.request.today();
    let in_14_days = today.checked_add(14.days()).ok();
    let unfinished = |kind: Kind| RecordQuery { limit: 8, ..statuses.unfinished(kind) };
    let overdue = |kind: Kind| RecordQuery {
        until: today.yesterday().ok(),
        sort: Sort::SOONEST,
        ..unfinished(kind)
    };
    let mine = RecordQuery {
        person: Some(ctx.member.person.id),
        sort: Sort::SOONEST,
        ..unfinished(Kind::Assignment)
    };
    let due_soon = RecordQuery {
        from: Some(today),
        until: in_14_days,
        sort: Sort::SOONEST,
        ..unfinished(Kind::Folder)
    };
    let overspent =
        RecordQuery { is_overspent: true, sort: Sort::MOST_USED, ..unfinished(Kind::Budget) };

    let mine = Found::read(&ctx, mine, "/assignments?person=me").await?;
    let overdue_assignments =
        Found::read(&ctx, overdue(Kind::Assignment), "/assignments?due=overdue&sort=due").await?;
    let overdue_folders =
        Found::read(&ctx, overdue(Kind::Folder), "/folders?due=overdue&sort=due").await?;
    let due_soon = Found::read(&ctx, due_soon, "/folders?due=fortnight&sort=due").await?;
    let overspent = Found::read(&ctx, overspent, "/budgets?over=open&sort=-used").await?;

    let totals = ctx.store().totals(ctx.workspace_id()).await?;
    let content = Dashboard {
        t,
        name: ctx.workspace().name.as_str().to_owned(),
        can_change: ctx.can(Permission::ChangeRecords),
        can_administer: ctx.can(Permission::Administer),
        is_empty: totals == [0; 4],
        figures: vec![
            overdue_assignments.figure(t, t.msg("dashboard-overdue-assignments"), true),
            overdue_folders.figure(t, t.msg("dashboard-overdue-folders"), true),
            overspent.figure(t, t.msg("dashboard-overspent-budgets"), true),
            mine.figure(t, t.msg("dashboard-mine"), false),
        ],
        sections: vec![
            mine.section(&ctx, &statuses, t.msg("dashboard-mine")).await?,
            overdue_assignments
                .section(&ctx, &statuses, t.msg("dashboard-overdue-assignments"))
                .await?,
            overdue_folders.section(&ctx, &statuses, t.msg("dashboard-overdue-folders")).await?,
            due_soon.section(&ctx, &statuses, t.msg("dashboard-due-soon")).await?,
            overspent.section(&ctx, &statuses, t.msg("dashboard-overspent")).await?,
        ],
        charts: Charts::read(&ctx, &statuses).await?,
        activity: activity_feed::latest_work(&ctx, &statuses, 15).await?,
    };
    ctx.page(Meta::new(t.msg("nav-dashboard"), Nav::Dashboard), &content).await
}

/// The first records of a query, and the list that shows all of them.
struct Found {
    kind: Kind,
    docs: Vec<Doc>,
    count: RecordCount,
    href: &'static str,
}

impl Found {
    async fn read(
        ctx: &MemberContext,
        query: RecordQuery,
        href: &'static str,
    ) -> Result<Self, WebError> {
        let kind = query.kind;
        let (docs, page) = ctx.query_records(query).await?;
        Ok(Self { kind, docs, count: page.count, href })
    }

    fn figure(&self, t: Localizer, label: Message, is_bad: bool) -> Figure {
        Figure {
            label: label.into(),
            value: t.short_count(self.count),
            href: self.href,
            is_alarming: is_bad && self.count != RecordCount::Exactly(0),
        }
    }

    async fn section(
        &self,
        ctx: &MemberContext,
        statuses: &Statuses,
        title: Message,
    ) -> Result<Section, WebError> {
        Ok(Section {
            title: title.into(),
            count: ctx.t().short_count(self.count),
            href: self.href,
            table: record_table(ctx, self.kind, statuses, &self.docs).await?,
        })
    }
}
