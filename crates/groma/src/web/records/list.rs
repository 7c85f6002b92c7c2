//! The lists of records: search, filters, sorting, columns, paging. The address holds all of it.

pub(in crate::web) mod bulk;
pub(in crate::web) mod cells;
mod filters;
mod request;
pub(in crate::web) mod views;

use super::{columns::Column, rows::list_table};
use crate::web::{
    WebError,
    cookies::Cookie,
    export_menu::RecordLinks,
    fields::Choice,
    form::{Form, Pairs, Query, local_path},
    format::Money,
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::{Doc, RecordLink, Statuses, totals_by_currency},
    request_context::MemberContext,
    table::{Heading, Table},
};
use askama::Template;
use axum::{
    extract::Path,
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect, Response},
};
use bulk::BulkForm;
use filters::{ActiveFilter, Filters, active_text, without_filters};
use groma_domain::{Kind, Permission};
use groma_store::{COUNT_LIMIT, RecordCount, RecordPage, RecordQuery, Sort};
use request::{ListRequest, PAGE_SIZE, Tab};
use views::ViewMenu;

#[derive(Template)]
#[template(path = "record_list.html")]
struct ListPage {
    t: Localizer,
    kind: &'static str,
    title: String,
    path: String,
    new: Option<NewLink>,
    tabs: Vec<Choice>,
    term: String,
    /// The parameters that a submitted filter keeps.
    hidden: Vec<(String, String)>,
    filters: Filters,
    folder: Option<RecordLink>,
    results: Results,
}

struct NewLink {
    href: String,
    label: String,
}

/// A column that can be shown or hidden.
struct ColumnChoice {
    key: &'static str,
    label: String,
    is_shown: bool,
}

#[derive(Template)]
#[template(path = "list_results.html")]
struct Results {
    t: Localizer,
    csrf: String,
    /// The plural of the kind, as in addresses.
    plural: &'static str,
    count: String,
    /// Whether only this part of the page is sent.
    is_fragment: bool,
    active: Vec<ActiveFilter>,
    clear: String,
    /// Whether there are too many records for the requested order.
    is_unsorted: bool,
    columns: Vec<ColumnChoice>,
    views: ViewMenu,
    /// The address of this list, to return to.
    here: String,
    export: RecordLinks,
    can_import: bool,
    bulk: Option<BulkForm>,
    table: Table,
    /// Set when the table has no rows.
    empty: Option<EmptyList>,
    range: String,
    previous: Option<String>,
    next: Option<String>,
    totals: Vec<Money>,
    totals_note: String,
}

/// Why a list is empty, and what to do.
struct EmptyList {
    /// HTML.
    text: String,
    /// Another list to go to, and the text of the link.
    link: Option<(String, String)>,
    new: Option<NewLink>,
}

pub(in crate::web) async fn folders(
    ctx: MemberContext,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, &headers, query.0, Kind::Folder).await
}

pub(in crate::web) async fn assignments(
    ctx: MemberContext,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, &headers, query.0, Kind::Assignment).await
}

pub(in crate::web) async fn expenses(
    ctx: MemberContext,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, &headers, query.0, Kind::Expense).await
}

pub(in crate::web) async fn budgets(
    ctx: MemberContext,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, &headers, query.0, Kind::Budget).await
}

async fn show(
    ctx: MemberContext,
    headers: &HeaderMap,
    query: Pairs,
    kind: Kind,
) -> Result<Response, WebError> {
    let t = ctx.t();
    let statuses = Statuses::read(&ctx).await?;
    let list = ListRequest::read(&ctx, &query, kind, &statuses).await?;
    let filters = Filters::new(&ctx, kind, &query, &statuses).await?;
    let results = results(&ctx, headers, &query, &statuses, &list, &filters).await?;
    if ctx.request.is_fragment {
        return ctx.fragment(&results);
    }
    let page = ListPage {
        t,
        kind: kind.name(),
        title: t.kind_title(kind),
        new: new_link(&ctx, &list),
        tabs: list.tabs(t, &query),
        term: query.get("q").trim().to_owned(),
        hidden: ["state", "sort", "columns", "folder", "budget", "assignment"]
            .into_iter()
            .filter(|name| !query.get(name).is_empty())
            .map(|name| (name.to_owned(), query.get(name).to_owned()))
            .collect(),
        filters,
        folder: list.folder.clone(),
        path: format!("/{}", kind.plural()),
        results,
    };
    ctx.page(Meta::new(t.kind_title(kind), Nav::of(kind)), &page).await
}

/// The table and what belongs to it.
async fn results(
    ctx: &MemberContext,
    headers: &HeaderMap,
    query: &Pairs,
    statuses: &Statuses,
    list: &ListRequest,
    filters: &Filters,
) -> Result<Results, WebError> {
    let (t, kind) = (ctx.t(), list.records.kind);
    let (docs, page) = ctx.query_records(list.records.clone()).await?;
    let path = format!("/{}", kind.plural());
    let columns = shown_columns(ctx, headers, query, kind);
    let mut table = list_table(ctx, kind, statuses, &docs, &columns).await?;
    link_headings(&mut table.headings, &columns, query, &path, list.records.sort);
    let last = list.records.skip + docs.len() as u64;
    let page_href = |page: u64| {
        let page = if page > 1 { page.to_string() } else { String::new() };
        format!("{path}{}", query.with(&[("page", &page)]).query())
    };
    let (totals, totals_note) = totals(ctx, statuses, list, page.count, &docs).await?;
    let active = filters.active(t, query, list);
    let here = format!("{path}{}", query.query());
    let choice = |column: &Column| ColumnChoice {
        key: column.key(),
        label: column.label(t, kind),
        is_shown: columns.contains(column),
    };
    let choices = Column::of(kind).iter().filter(|column| **column != Column::Name).map(choice);
    let bulk = match ctx.can(Permission::ChangeRecords) && !docs.is_empty() {
        true => Some(BulkForm::new(ctx, kind, statuses).await?),
        false => None,
    };
    Ok(Results {
        t,
        csrf: ctx.request.csrf_token(),
        plural: kind.plural(),
        count: count_text(t, page.count),
        is_fragment: ctx.request.is_fragment,
        empty: docs.is_empty().then(|| empty(ctx, list, query, &active, page.count)),
        clear: without_filters(kind, query),
        active,
        is_unsorted: !page.is_sorted,
        columns: choices.collect(),
        views: ViewMenu::new(ctx, kind, query, &columns).await?,
        here,
        export: RecordLinks::new(&format!("/lists/{}/export", kind.plural()), query),
        can_import: ctx.can(Permission::ChangeRecords),
        bulk,
        table,
        range: range(t, list, &docs, &page),
        previous: (list.page > 1).then(|| page_href(list.page - 1)),
        next: (last < page.reachable && !docs.is_empty()).then(|| page_href(list.page + 1)),
        totals,
        totals_note,
    })
}

/// The columns in the address, else those that the member chose, else the defaults.
fn shown_columns(
    ctx: &MemberContext,
    headers: &HeaderMap,
    query: &Pairs,
    kind: Kind,
) -> Vec<Column> {
    let chosen = chosen_columns(ctx, headers);
    let keys = query.given("columns").unwrap_or_else(|| chosen.get(kind.plural()));
    Column::parse(kind, keys)
}

/// The columns of each kind that the member chose in this browser.
fn chosen_columns(ctx: &MemberContext, headers: &HeaderMap) -> Pairs {
    let cookie = Cookie::Columns.read(headers, ctx.web.is_secure).unwrap_or_default();
    Pairs::parse(cookie.as_bytes())
}

/// Keeps the columns that a member chooses for the lists of a kind.
pub(in crate::web) async fn choose_columns(
    ctx: MemberContext,
    headers: HeaderMap,
    Path(plural): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let kind = parse_plural(&plural)?;
    let keys = form.all("column").collect::<Vec<_>>().join(",");
    let keys: Vec<_> = Column::parse(kind, &keys).iter().map(|column| column.key()).collect();
    let chosen = chosen_columns(&ctx, &headers).with(&[(kind.plural(), &keys.join(","))]);
    let (path, query) = form.get("next").split_once('?').unwrap_or((form.get("next"), ""));
    let query = Pairs::parse(query.as_bytes()).with(&[("columns", "")]).query();
    let mut response = Redirect::to(local_path(&format!("{path}{query}"))).into_response();
    let cookie = Cookie::Columns.set(chosen.query().trim_start_matches('?'), ctx.web.is_secure);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

/// The query of a list for all of its records.
pub(in crate::web) async fn all_records(
    ctx: &MemberContext,
    query: &Pairs,
    kind: Kind,
) -> Result<RecordQuery, WebError> {
    let statuses = Statuses::read(ctx).await?;
    Ok(ListRequest::read(ctx, query, kind, &statuses).await?.records)
}

pub(in crate::web) fn parse_plural(plural: &str) -> Result<Kind, WebError> {
    Kind::ALL.into_iter().find(|kind| kind.plural() == plural).ok_or_else(WebError::not_found)
}

fn count_text(t: Localizer, count: RecordCount) -> String {
    match count {
        RecordCount::MoreThan(0) => t.msg("list-none-so-far").into(),
        count => t.count(count),
    }
}

/// The rows of this page and their number: `1–50 of 1,204`.
fn range(t: Localizer, list: &ListRequest, docs: &[Doc], page: &RecordPage) -> String {
    if docs.is_empty() {
        return String::new();
    }
    let last = list.records.skip + docs.len() as u64;
    let is_cut = last == page.reachable && matches!(page.count, RecordCount::MoreThan(_));
    let message = if is_cut { t.msg("list-range-cut") } else { t.msg("list-range") };
    message
        .arg("first", list.records.skip + 1)
        .arg("last", last)
        .arg("total", count_text(t, page.count))
        .into()
}

fn new_link(ctx: &MemberContext, list: &ListRequest) -> Option<NewLink> {
    let kind = list.records.kind;
    let folder = list.folder.as_ref().map_or("", |folder| folder.reference.as_str());
    let query = Pairs::default().with(&[("folder", folder)]).query();
    ctx.can(Permission::ChangeRecords).then(|| NewLink {
        href: format!("/{}/new{query}", kind.plural()),
        label: ctx.t().msg("record-new").arg("kind", kind.name()).into(),
    })
}

/// Makes headings into links that sort.
fn link_headings(
    headings: &mut [Heading],
    columns: &[Column],
    query: &Pairs,
    path: &str,
    sort: Sort,
) {
    for (heading, column) in headings.iter_mut().zip(columns) {
        let Some(by) = column.sort_column() else { continue };
        let is_sorted = sort.by == by;
        heading.sorted = is_sorted.then_some(match sort.is_descending {
            true => "descending",
            false => "ascending",
        });
        let is_descending = if is_sorted { !sort.is_descending } else { column.is_largest_first() };
        let next = format!("{}{}", if is_descending { "-" } else { "" }, column.key());
        heading.href =
            Some(format!("{path}{}", query.with(&[("sort", &next), ("page", "")]).query()));
    }
}

/// Why the list is empty.
fn empty(
    ctx: &MemberContext,
    list: &ListRequest,
    query: &Pairs,
    active: &[ActiveFilter],
    count: RecordCount,
) -> EmptyList {
    let (t, kind) = (ctx.t(), list.records.kind);
    if count != RecordCount::Exactly(0) && list.page > 1 {
        let first_page = format!("/{}{}", kind.plural(), query.with(&[("page", "")]).query());
        let link = (first_page, t.msg("list-first-page").into());
        let text = t.html("list-empty-page").arg("page", list.page).to_string();
        return EmptyList { text, link: Some(link), new: None };
    }
    let message = match list.is_filtered {
        true if matches!(count, RecordCount::MoreThan(_)) => t.html("list-empty-too-many-matches"),
        true => t.html("list-empty-filters"),
        false => t.html("list-empty"),
    };
    let message = message.arg("kind", kind.name()).arg("filters", active_text(t, list.tab, active));
    EmptyList {
        text: message.arg("tab", list.tab.map_or("none", Tab::name)).to_string(),
        link: list
            .is_filtered
            .then(|| (without_filters(kind, query), t.msg("clear-filters").into())),
        new: new_link(ctx, list).filter(|_| !list.is_filtered),
    }
}

/// The total of the listed expenses: of all pages, or of this page when there are too many.
async fn totals(
    ctx: &MemberContext,
    statuses: &Statuses,
    list: &ListRequest,
    count: RecordCount,
    docs: &[Doc],
) -> Result<(Vec<Money>, String), WebError> {
    let t = ctx.t();
    match count {
        _ if list.records.kind != Kind::Expense || docs.is_empty() => {
            Ok((Vec::new(), String::new()))
        }
        RecordCount::Exactly(count) if count <= u64::from(PAGE_SIZE) => {
            Ok((totals_by_currency(t, statuses, docs), String::new()))
        }
        RecordCount::Exactly(count) if count <= COUNT_LIMIT => {
            let limit = u32::try_from(COUNT_LIMIT).unwrap_or(PAGE_SIZE);
            let all = RecordQuery { skip: 0, limit, ..list.records.clone() };
            let (all, _) = ctx.query_records(all).await?;
            Ok((totals_by_currency(t, statuses, &all), String::new()))
        }
        _ => Ok((totals_by_currency(t, statuses, docs), t.msg("list-totals-on-page").into())),
    }
}
