//! The first page: what is due, what is late, what is over budget, what happened.

use super::{
    WebError,
    history::{self, Line},
    page::{Meta, Nav},
    records::{
        Doc, Statuses,
        list::{Shown, columns},
    },
    shown,
    table::Table,
    visit::Desk,
};
use askama::Template;
use axum::response::Response;
use groma_domain::{Kind, Permission};
use groma_store::{Browse, Browsed, Count, Sort, StatusFilter};
use jiff::ToSpan;

#[derive(Template)]
#[template(path = "dashboard.html")]
struct Dashboard {
    name: String,
    may_change: bool,
    may_administer: bool,
    is_empty: bool,
    figures: Vec<Figure>,
    sections: Vec<Section>,
    lines: Vec<Line>,
}

struct Figure {
    label: &'static str,
    value: String,
    href: &'static str,
    is_late: bool,
}

struct Section {
    title: &'static str,
    note: String,
    href: &'static str,
    table: Table,
    empty: &'static str,
}

pub(super) async fn page(desk: Desk) -> Result<Response, WebError> {
    let statuses = Statuses::read(&desk).await?;
    let today = desk.visit.today();
    let yesterday = today.yesterday().ok();
    let soon = today.checked_add(14.days()).ok();
    let open = |kind: Kind| Browse {
        closed: Some(false),
        status: StatusFilter::NoneOf(statuses.ended(kind)),
        limit: 8,
        ..Browse::all(kind)
    };
    let late = |kind: Kind| Browse { until: yesterday, sort: Sort::Latest, ..open(kind) };
    let (late_work, work) = desk.browse(late(Kind::Assignment)).await?;
    let (late_folders, folders) = desk.browse(late(Kind::Folder)).await?;
    let mine = Browse {
        person: Some(desk.member.person.id),
        sort: Sort::Soonest,
        ..open(Kind::Assignment)
    };
    let (mine, of_me) = desk.browse(mine).await?;
    let due = Browse { from: Some(today), until: soon, sort: Sort::Soonest, ..open(Kind::Folder) };
    let (due, due_soon) = desk.browse(due).await?;
    let over = Browse { is_over: true, sort: Sort::Used, limit: 8, ..Browse::all(Kind::Budget) };
    let (over, overspent) = desk.browse(over).await?;
    let figure = |label, browsed: &Browsed, href, is_bad: bool| Figure {
        label,
        value: counted(browsed),
        href,
        is_late: is_bad && browsed.count != Count::Exactly(0),
    };
    let totals = desk.store().totals(desk.id()).await?;
    let content = Dashboard {
        name: desk.workspace().name.as_str().to_owned(),
        may_change: desk.may(Permission::ChangeRecords),
        may_administer: desk.may(Permission::Administer),
        is_empty: totals == [0; 4],
        figures: vec![
            figure("Assignments overdue", &work, "/assignments?due=overdue", true),
            figure("Folders overdue", &folders, "/folders?due=overdue", true),
            figure("Budgets overspent", &overspent, "/budgets?over=yes&sort=used", true),
            figure("For me to do", &of_me, "/assignments?person=me", false),
        ],
        sections: vec![
            section(
                &desk,
                &statuses,
                Kind::Assignment,
                "For me to do",
                &of_me,
                "/assignments?person=me",
                &mine,
                "Nothing is assigned to you.",
            )
            .await?,
            section(
                &desk,
                &statuses,
                Kind::Assignment,
                "Overdue assignments",
                &work,
                "/assignments?due=overdue",
                &late_work,
                "Nothing is late.",
            )
            .await?,
            section(
                &desk,
                &statuses,
                Kind::Folder,
                "Overdue folders",
                &folders,
                "/folders?due=overdue",
                &late_folders,
                "No folder is late.",
            )
            .await?,
            section(
                &desk,
                &statuses,
                Kind::Folder,
                "Folders due in 14 days",
                &due_soon,
                "/folders?due=month&sort=due",
                &due,
                "No folder is due in the next 14 days.",
            )
            .await?,
            section(
                &desk,
                &statuses,
                Kind::Budget,
                "Over budget",
                &overspent,
                "/budgets?over=yes&sort=used",
                &over,
                "No budget is overspent.",
            )
            .await?,
        ],
        lines: history::lines_of_work(&desk, &statuses, 15).await?,
    };
    desk.page(Meta::new("Dashboard", Nav::Dashboard), &content).await
}

fn counted(browsed: &Browsed) -> String {
    match browsed.count {
        Count::Exactly(count) => shown::grouped(count),
        Count::MoreThan(count) => format!("{}+", shown::grouped(count)),
    }
}

#[expect(clippy::too_many_arguments, reason = "one line of a list of sections")]
async fn section(
    desk: &Desk,
    statuses: &Statuses,
    kind: Kind,
    title: &'static str,
    browsed: &Browsed,
    href: &'static str,
    docs: &[Doc],
    empty: &'static str,
) -> Result<Section, WebError> {
    let rows = Shown::new(desk, kind, statuses, docs).await?;
    let rows = docs.iter().map(|doc| rows.row(doc)).collect();
    let table = Table { caption: String::new(), columns: columns(kind), rows };
    Ok(Section { title, note: counted(browsed), href, table, empty })
}
