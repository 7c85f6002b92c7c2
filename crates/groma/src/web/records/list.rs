//! The lists of records: search, filters, sorting, paging. The address holds all of it.

use super::rows::record_table;
use crate::web::{
    WebError,
    fields::Choice,
    form::{Pairs, Query},
    format::Money,
    i18n::Localizer,
    page::{Meta, Nav},
    record_data::{Doc, RecordLink, Statuses, parse_key, totals_by_currency},
    request_context::MemberContext,
    table::{Column, SortKey, Table},
};
use askama::Template;
use axum::response::Response;
use groma_domain::{Kind, Permission, RecordId, SearchTerm, time::Date};
use groma_store::{COUNT_LIMIT, RecordCount, RecordPage, RecordQuery, SortOrder, StatusFilter};
use jiff::ToSpan;

const PAGE_SIZE: u32 = 50;

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
    filters: Vec<Filter>,
    /// The first and the last day of a list of expenses.
    days: Option<(String, String)>,
    folder: Option<RecordLink>,
    results: Results,
}

struct NewLink {
    href: String,
    label: String,
}

struct Filter {
    name: &'static str,
    label: String,
    choices: Vec<Choice>,
}

#[derive(Template)]
#[template(path = "list_results.html")]
struct Results {
    t: Localizer,
    count: String,
    /// Whether only this part of the page is sent.
    is_fragment: bool,
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
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, query.0, Kind::Folder).await
}

pub(in crate::web) async fn assignments(
    ctx: MemberContext,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, query.0, Kind::Assignment).await
}

pub(in crate::web) async fn expenses(
    ctx: MemberContext,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, query.0, Kind::Expense).await
}

pub(in crate::web) async fn budgets(
    ctx: MemberContext,
    query: Query,
) -> Result<Response, WebError> {
    show(ctx, query.0, Kind::Budget).await
}

async fn show(ctx: MemberContext, query: Pairs, kind: Kind) -> Result<Response, WebError> {
    let t = ctx.t();
    let statuses = Statuses::read(&ctx).await?;
    let list = ListRequest::read(&ctx, &query, kind, &statuses).await?;
    let (docs, page) = ctx.query_records(list.records.clone()).await?;
    let path = format!("/{}", kind.plural());
    let mut table = record_table(&ctx, kind, &statuses, &docs).await?;
    link_headings(&mut table.columns, &query, &path, list.records.sort);
    let can_change = ctx.can(Permission::ChangeRecords);
    let new = || can_change.then(|| new_link(t, kind, &list));
    let last = list.records.skip + docs.len() as u64;
    let page_href = |page: u64| {
        let page = if page > 1 { page.to_string() } else { String::new() };
        format!("{path}{}", query.with(&[("page", &page)]).query())
    };
    let filters = filters(&ctx, kind, &query, &statuses).await?;
    let (totals, totals_note) = totals(&ctx, &statuses, &list, page.count, &docs).await?;
    let results = Results {
        t,
        count: count_text(t, page.count),
        is_fragment: ctx.request.is_fragment,
        empty: docs.is_empty().then(|| list.empty(t, &query, &filters, new(), page.count)),
        table,
        range: range(t, &list, &docs, &page),
        previous: (list.page > 1).then(|| page_href(list.page - 1)),
        next: (last < page.reachable && !docs.is_empty()).then(|| page_href(list.page + 1)),
        totals,
        totals_note,
    };
    if ctx.request.is_fragment {
        return ctx.fragment(&results);
    }
    let page = ListPage {
        t,
        kind: kind.name(),
        title: t.kind_title(kind),
        new: new(),
        tabs: list.tabs(t, &query),
        term: query.get("q").trim().to_owned(),
        hidden: ["state", "sort", "folder", "budget", "assignment"]
            .into_iter()
            .filter(|name| !query.get(name).is_empty())
            .map(|name| (name.to_owned(), query.get(name).to_owned()))
            .collect(),
        filters,
        days: (kind == Kind::Expense)
            .then(|| (query.get("from").to_owned(), query.get("until").to_owned())),
        folder: list.folder.clone(),
        path,
        results,
    };
    ctx.page(Meta::new(t.kind_title(kind), Nav::of(kind)), &page).await
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

fn new_link(t: Localizer, kind: Kind, list: &ListRequest) -> NewLink {
    let folder = list.folder.as_ref().map_or("", |folder| folder.reference.as_str());
    let query = Pairs::default().with(&[("folder", folder)]).query();
    NewLink {
        href: format!("/{}/new{query}", kind.plural()),
        label: t.msg("record-new").arg("kind", kind.name()).into(),
    }
}

/// The tab of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Active,
    Archived,
    Open,
    Done,
    Cancelled,
}

impl Tab {
    /// The tabs of a kind; the list opens with the first.
    fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Folder => &[Self::Active, Self::Archived],
            Kind::Assignment => &[Self::Open, Self::Done, Self::Cancelled],
            Kind::Expense | Kind::Budget => &[],
        }
    }

    /// The parameter `state`; the first tab has none.
    fn state(self) -> &'static str {
        match self {
            Self::Active | Self::Open => "",
            Self::Archived => "archived",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Open => "open",
            other => other.state(),
        }
    }

    fn record_query(self, kind: Kind, statuses: &Statuses) -> RecordQuery {
        match self {
            Self::Active | Self::Open => statuses.open(kind),
            Self::Archived | Self::Done => {
                RecordQuery { closed: Some(true), ..RecordQuery::all(kind) }
            }
            Self::Cancelled => statuses.cancelled(),
        }
    }
}

/// The query of a list, read from its address.
struct ListRequest {
    records: RecordQuery,
    page: u64,
    folder: Option<RecordLink>,
    is_filtered: bool,
    term: String,
    tab: Option<Tab>,
}

impl ListRequest {
    async fn read(
        ctx: &MemberContext,
        query: &Pairs,
        kind: Kind,
        statuses: &Statuses,
    ) -> Result<Self, WebError> {
        let tabs = Tab::of(kind);
        let tab = tabs.iter().find(|tab| tab.state() == query.get("state")).or(tabs.first());
        let mut records =
            tab.map_or(RecordQuery::all(kind), |tab| tab.record_query(kind, statuses));
        let typed: String = query.get("q").trim().chars().take(200).collect();
        records.term = SearchTerm::parse(&typed).ok().flatten();
        if let Some(status) = statuses.get(query.get("status")) {
            records.status = StatusFilter::Is(status.id);
        }
        records.person = match query.get("person") {
            "me" => Some(ctx.member.person.id),
            id => id.parse().ok(),
        };
        let today = ctx.request.today();
        let due = query.get("due");
        match (due, due_days(due)) {
            ("overdue", _) => records.until = today.yesterday().ok(),
            (_, Some(days)) => {
                (records.from, records.until) = (Some(today), Some(days_after(today, days)));
            }
            ("none", _) => records.from = "9999-01-01".parse().ok(),
            _ => {}
        }
        // Finished records are no longer due.
        let is_open_only =
            due == "overdue" || due_days(due).is_some() || query.get("over") == "open";
        if is_open_only && records.status == StatusFilter::Any {
            records.status = statuses.unfinished(kind).status;
        }
        if kind == Kind::Expense {
            records.from = query.get("from").parse().ok();
            records.until = query.get("until").parse().ok();
            records.budget = linked_id(ctx, Kind::Budget, query.get("budget")).await?;
            records.assignment = linked_id(ctx, Kind::Assignment, query.get("assignment")).await?;
        }
        records.is_overspent = kind == Kind::Budget && matches!(query.get("over"), "open" | "all");
        let mut folder = None;
        if kind != Kind::Folder
            && let Some(sent) = query.given("folder")
        {
            // An unknown folder has no records.
            records.folder = Some(RecordId(uuid::Uuid::nil()));
            if let Some(key) = parse_key(sent)
                && let Some(json) = ctx.store().get(ctx.workspace_id(), Kind::Folder, &key).await?
            {
                let doc = Doc::parse(&json)?;
                records.folder = Some(doc.id()?);
                folder = Some(doc.record_link(Kind::Folder));
            }
        }
        let is_filtered =
            ["status", "person", "due", "from", "until", "over", "folder", "budget", "assignment"]
                .iter()
                .any(|name| !query.get(name).is_empty());
        records.sort = sort(kind, query.get("sort"), is_filtered || records.term.is_some());
        let page = query.get("page").parse().unwrap_or(1_u64).clamp(1, 1_000_000);
        records.skip = (page - 1) * u64::from(PAGE_SIZE);
        records.limit = PAGE_SIZE;
        Ok(Self { records, page, folder, is_filtered, term: typed, tab: tab.copied() })
    }

    fn tabs(&self, t: Localizer, query: &Pairs) -> Vec<Choice> {
        let kind = self.records.kind;
        let choice = |tab: &Tab| {
            let query = query.with(&[("state", tab.state()), ("page", "")]).query();
            let label = t.msg("list-tab").arg("tab", tab.name());
            Choice::new(format!("/{}{query}", kind.plural()), label, Some(*tab) == self.tab)
        };
        Tab::of(kind).iter().map(choice).collect()
    }

    fn empty(
        &self,
        t: Localizer,
        query: &Pairs,
        filters: &[Filter],
        new: Option<NewLink>,
        count: RecordCount,
    ) -> EmptyList {
        let kind = self.records.kind;
        let path = format!("/{}", kind.plural());
        if count != RecordCount::Exactly(0) && self.page > 1 {
            let first_page = format!("{path}{}", query.with(&[("page", "")]).query());
            let link = (first_page, t.msg("list-first-page").into());
            let text = t.html("list-empty-page").arg("page", self.page).to_string();
            return EmptyList { text, link: Some(link), new: None };
        }
        let is_narrowed = self.is_filtered || !self.term.is_empty();
        let message = match is_narrowed {
            true if matches!(count, RecordCount::MoreThan(_)) => {
                t.html("list-empty-too-many-matches")
            }
            true => t.html("list-empty-filters"),
            false => t.html("list-empty"),
        };
        let message = message.arg("kind", kind.name());
        let message = message.arg("filters", self.active_filters(t, query, filters));
        EmptyList {
            text: message.arg("tab", self.tab.map_or("none", Tab::name)).to_string(),
            link: is_narrowed.then(|| (path, t.msg("clear-filters").into())),
            new: new.filter(|_| !is_narrowed),
        }
    }

    /// Everything that narrows the list, as text: `Active, “chene”, Status: Review`.
    fn active_filters(&self, t: Localizer, query: &Pairs, filters: &[Filter]) -> String {
        let labelled = |label: String, value: String| {
            t.msg("list-active-filter").arg("label", label).arg("value", value).to_string()
        };
        let tab = self.tab.map(|tab| t.msg("list-tab").arg("tab", tab.name()).to_string());
        let term = (!self.term.is_empty())
            .then(|| t.msg("list-active-term").arg("term", &self.term).to_string());
        let chosen = filters.iter().filter_map(|filter| {
            let choice = filter.choices.iter().find(|choice| choice.is_selected)?;
            Some(labelled(filter.label.clone(), choice.label.clone()))
        });
        let days = [("from", t.msg("list-from")), ("until", t.msg("list-until"))];
        let days = days.into_iter().filter_map(|(name, label)| {
            let day = query.get(name).parse().ok()?;
            (self.records.kind == Kind::Expense).then(|| labelled(label.into(), t.full_day(day)))
        });
        let links = ["folder", "budget", "assignment"].into_iter().filter_map(|name| {
            let key = query.given(name)?.to_owned();
            Some(labelled(t.field_name(name), key))
        });
        tab.into_iter()
            .chain(term)
            .chain(chosen)
            .chain(days)
            .chain(links)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

async fn linked_id(
    ctx: &MemberContext,
    kind: Kind,
    sent: &str,
) -> Result<Option<RecordId>, WebError> {
    let Some(key) = parse_key(sent) else { return Ok(None) };
    let found = ctx.store().get(ctx.workspace_id(), kind, &key).await?;
    found.map(|document| Doc::parse(&document)?.id()).transpose()
}

/// The days of a filter by due date.
fn due_days(due: &str) -> Option<i64> {
    match due {
        "week" => Some(7),
        "fortnight" => Some(14),
        "month" => Some(30),
        _ => None,
    }
}

fn days_after(today: Date, days: i64) -> Date {
    today.checked_add(days.days()).unwrap_or(today)
}

/// The requested order, or the default of a kind.
fn sort(kind: Kind, sent: &str, is_narrowed: bool) -> SortOrder {
    let wanted = match sent {
        "newest" => SortOrder::Newest,
        "oldest" => SortOrder::Oldest,
        "due" | "date" => SortOrder::Soonest,
        "-due" | "-date" => SortOrder::Latest,
        "name" => SortOrder::Title,
        "used" => SortOrder::Used,
        _ => match kind {
            Kind::Folder | Kind::Budget => SortOrder::Newest,
            Kind::Assignment => SortOrder::Soonest,
            Kind::Expense => SortOrder::Latest,
        },
    };
    // Filtered expenses have an index by date, but none by creation.
    match wanted {
        SortOrder::Newest if kind == Kind::Expense && is_narrowed => SortOrder::Latest,
        SortOrder::Oldest if kind == Kind::Expense && is_narrowed => SortOrder::Soonest,
        wanted if SortOrder::of(kind).contains(&wanted) => wanted,
        _ => SortOrder::Newest,
    }
}

/// Makes headings into links that sort.
fn link_headings(columns: &mut [Column], query: &Pairs, path: &str, sort: SortOrder) {
    for column in columns {
        let (up, down) = match column.sort_key {
            Some(SortKey::Created) => {
                (("oldest", SortOrder::Oldest), Some(("newest", SortOrder::Newest)))
            }
            Some(SortKey::Name) => (("name", SortOrder::Title), None),
            Some(SortKey::Due) => (("due", SortOrder::Soonest), Some(("-due", SortOrder::Latest))),
            Some(SortKey::Date) => {
                (("date", SortOrder::Soonest), Some(("-date", SortOrder::Latest)))
            }
            Some(SortKey::Used) => (("used", SortOrder::Used), None),
            None => continue,
        };
        column.sorted = match (sort == up.1, down.is_some_and(|down| down.1 == sort)) {
            (true, _) if up.1 == SortOrder::Used => Some("descending"),
            (true, _) => Some("ascending"),
            (_, true) => Some("descending"),
            _ => None,
        };
        let next = match (column.sorted, down) {
            (Some("ascending"), Some(down)) => down.0,
            _ => up.0,
        };
        column.href =
            Some(format!("{path}{}", query.with(&[("sort", next), ("page", "")]).query()));
    }
}

async fn filters(
    ctx: &MemberContext,
    kind: Kind,
    query: &Pairs,
    statuses: &Statuses,
) -> Result<Vec<Filter>, WebError> {
    let t = ctx.t();
    let filter = |name, label: String, options: Vec<(String, String)>| {
        let chosen = query.get(name);
        let mut choices = vec![Choice::new("", label.clone(), false)];
        choices.extend(options.into_iter().map(|(value, label)| {
            let is_selected = value == chosen;
            Choice::new(value, label, is_selected)
        }));
        Filter { name, label, choices }
    };
    let option = |value: &str, label: String| (value.to_owned(), label);
    let options = statuses.of(kind).map(|status| (status.id.to_string(), status.name.clone()));
    let mut filters = vec![filter("status", t.msg("column-status").into(), options.collect())];
    let person = match kind {
        Kind::Folder => Some(t.msg("column-owner")),
        Kind::Assignment => Some(t.msg("column-assigned-to")),
        Kind::Expense => Some(t.msg("column-submitted-by")),
        Kind::Budget => None,
    };
    if let Some(label) = person {
        let mut options = vec![option("me", t.msg("filter-me").into())];
        let people = ctx.people().await?.into_iter();
        options.extend(people.map(|known| (known.person.id.to_string(), known.person.name)));
        filters.push(filter("person", label.into(), options));
    }
    if let Kind::Folder | Kind::Assignment = kind {
        let options = vec![
            option("overdue", t.msg("filter-overdue").into()),
            option("week", t.msg("filter-due-days").arg("days", 7_u64).into()),
            option("fortnight", t.msg("filter-due-days").arg("days", 14_u64).into()),
            option("month", t.msg("filter-due-days").arg("days", 30_u64).into()),
            option("none", t.msg("filter-no-date").into()),
        ];
        filters.push(filter("due", t.msg("column-due").into(), options));
    }
    if kind == Kind::Budget {
        let options = vec![
            option("open", t.msg("filter-over-budget-open").into()),
            option("all", t.msg("filter-over-budget").into()),
        ];
        filters.push(filter("over", t.msg("column-spent").into(), options));
    }
    Ok(filters)
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
