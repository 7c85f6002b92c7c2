//! Lists: searched, filtered, sorted, paged. All of it is in the address.

use super::{Doc, Named, Statuses, Sums, by_currency, key_of};
use crate::web::{
    WebError,
    fields::Choice,
    form::{Pairs, Query},
    page::{Meta, Nav},
    shown::{self, Money, Share},
    table::{Cell, Column, Row, Table},
    visit::Desk,
};
use askama::Template;
use axum::response::Response;
use futures_util::future::try_join_all;
use groma_domain::{Kind, Permission, RecordId, Term, time::Date};
use groma_store::{Browse, Count, MANY, Sort, StatusFilter};
use jiff::ToSpan;
use std::collections::HashMap;

/// How many rows a page has.
const SIZE: u32 = 50;

#[derive(Template)]
#[template(path = "list.html")]
struct List {
    title: &'static str,
    path: String,
    count: String,
    new: Option<New>,
    states: Vec<Choice>,
    term: String,
    kept: Vec<(String, String)>,
    filters: Vec<Filter>,
    days: Option<(String, String)>,
    folder: Option<Named>,
    body: Body,
}

struct New {
    href: String,
    label: &'static str,
}

struct Filter {
    name: &'static str,
    label: &'static str,
    choices: Vec<Choice>,
}

#[derive(Template)]
#[template(path = "list_body.html")]
struct Body {
    table: Table,
    empty: Option<Empty>,
    range: String,
    previous: Option<String>,
    next: Option<String>,
    totals: Vec<Money>,
    totals_note: &'static str,
}

struct Empty {
    text: String,
    term: String,
    /// ` in Archived`, after the term.
    place: String,
    /// Where nothing is left out; none when nothing is.
    clear: Option<String>,
    new: Option<New>,
}

pub(in crate::web) async fn folders(desk: Desk, query: Query) -> Result<Response, WebError> {
    show(desk, query.0, Kind::Folder).await
}

pub(in crate::web) async fn assignments(desk: Desk, query: Query) -> Result<Response, WebError> {
    show(desk, query.0, Kind::Assignment).await
}

pub(in crate::web) async fn expenses(desk: Desk, query: Query) -> Result<Response, WebError> {
    show(desk, query.0, Kind::Expense).await
}

pub(in crate::web) async fn budgets(desk: Desk, query: Query) -> Result<Response, WebError> {
    show(desk, query.0, Kind::Budget).await
}

async fn show(desk: Desk, query: Pairs, kind: Kind) -> Result<Response, WebError> {
    let statuses = Statuses::read(&desk).await?;
    let asked = Asked::read(&desk, &query, kind, &statuses).await?;
    let (docs, browsed) = desk.browse(asked.browse.clone()).await?;
    let shown = Shown::new(&desk, kind, &statuses, &docs).await?;
    let mut table = Table { caption: String::new(), columns: columns(kind), rows: Vec::new() };
    for doc in &docs {
        table.rows.push(shown.row(doc));
    }
    let address = format!("/{}", kind.plural());
    sortable(&mut table.columns, kind, &query, &address, asked.browse.sort);
    let (page, reach) = (asked.page, browsed.reach);
    let first = asked.browse.skip + 1;
    let last = asked.browse.skip + docs.len() as u64;
    let count = match browsed.count {
        Count::Exactly(count) => shown::grouped(count),
        Count::MoreThan(0) => "none so far".to_owned(),
        Count::MoreThan(count) => format!("more than {}", shown::grouped(count)),
    };
    let to_page = |page: u64| {
        let page = if page > 1 { page.to_string() } else { String::new() };
        format!("{address}{}", query.with(&[("page", &page)]).query())
    };
    let mut range = String::new();
    if !docs.is_empty() {
        range = format!("{}–{} of {count}", shown::grouped(first), shown::grouped(last));
        if last == reach && matches!(browsed.count, Count::MoreThan(_)) {
            range.push_str(" · narrow the list to see further");
        }
    }
    let may_change = desk.may(Permission::ChangeRecords);
    let new = || may_change.then(|| new_link(kind, &asked));
    let (totals, totals_note) = totals(&desk, kind, &asked, browsed.count, &docs).await?;
    let body = Body {
        empty: table.rows.is_empty().then(|| asked.empty(kind, &address, new(), browsed.count)),
        table,
        range,
        previous: (page > 1).then(|| to_page(page - 1)),
        next: (last < reach && !docs.is_empty()).then(|| to_page(page + 1)),
        totals,
        totals_note,
    };
    if desk.visit.is_piece {
        return desk.piece(&body);
    }
    let title = title(kind);
    let list = List {
        title,
        count,
        new: new(),
        states: asked.states(kind, &query),
        term: query.get("q").trim().to_owned(),
        kept: ["state", "sort", "folder", "budget", "assignment"]
            .into_iter()
            .filter(|name| !query.get(name).is_empty())
            .map(|name| (name.to_owned(), query.get(name).to_owned()))
            .collect(),
        filters: filters(&desk, kind, &query, &statuses).await?,
        days: (kind == Kind::Expense)
            .then(|| (query.get("from").to_owned(), query.get("until").to_owned())),
        folder: asked.folder.clone(),
        path: address,
        body,
    };
    desk.page(Meta::new(title, Nav::of(kind)), &list).await
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Folder => "Folders",
        Kind::Assignment => "Assignments",
        Kind::Expense => "Expenses",
        Kind::Budget => "Budgets",
    }
}

fn new_link(kind: Kind, asked: &Asked) -> New {
    let label = match kind {
        Kind::Folder => "New folder",
        Kind::Assignment => "New assignment",
        Kind::Expense => "New expense",
        Kind::Budget => "New budget",
    };
    let folder = asked.folder.as_ref().map_or("", |folder| folder.reference.as_str());
    let query = Pairs::default().with(&[("folder", folder)]).query();
    New { href: format!("/{}/new{query}", kind.plural()), label }
}

/// What an address asks for.
struct Asked {
    browse: Browse,
    page: u64,
    folder: Option<Named>,
    is_filtered: bool,
    term: String,
    state: &'static str,
}

impl Asked {
    async fn read(
        desk: &Desk,
        query: &Pairs,
        kind: Kind,
        statuses: &Statuses,
    ) -> Result<Self, WebError> {
        let mut browse = Browse::all(kind);
        let sent: String = query.get("q").trim().chars().take(200).collect();
        browse.term = Term::parse(&sent).ok().flatten();
        let mut state = "";
        if let Kind::Folder | Kind::Assignment = kind {
            let is_closed = matches!(query.get("state"), "archived" | "done");
            browse.closed = Some(is_closed);
            state = match (kind, is_closed) {
                (Kind::Folder, true) => "Archived",
                (Kind::Folder, false) => "Active",
                (_, true) => "Done",
                (_, false) => "Open",
            };
        }
        if let Some(status) = statuses.get(query.get("status")) {
            browse.status = StatusFilter::Is(status.id);
        }
        browse.person = match query.get("person") {
            "me" => Some(desk.member.person.id),
            id => id.parse().ok(),
        };
        let today = desk.visit.today();
        match query.get("due") {
            "overdue" => {
                browse.until = today.yesterday().ok();
                if browse.status == StatusFilter::Any {
                    browse.status = StatusFilter::NoneOf(statuses.ended(kind));
                }
            }
            "week" => (browse.from, browse.until) = (Some(today), Some(days_ahead(today, 7))),
            "month" => (browse.from, browse.until) = (Some(today), Some(days_ahead(today, 30))),
            "none" => browse.from = "9999-01-01".parse().ok(),
            _ => {}
        }
        if kind == Kind::Expense {
            browse.from = query.get("from").parse().ok();
            browse.until = query.get("until").parse().ok();
        }
        browse.is_over = kind == Kind::Budget && query.get("over") == "yes";
        let mut folder = None;
        if kind != Kind::Folder
            && let Some(sent) = query.given("folder")
        {
            // A folder that is not there holds nothing.
            let nothing = RecordId(uuid::Uuid::nil());
            browse.folder = Some(nothing);
            if let Some(key) = key_of(sent)
                && let Some(json) = desk.store().get(desk.id(), Kind::Folder, &key).await?
            {
                let doc = Doc::parse(&json.text)?;
                browse.folder = Some(doc.id()?);
                folder = Some(Named {
                    reference: doc.reference().to_owned(),
                    title: doc.title(Kind::Folder),
                    path: doc.path(Kind::Folder),
                });
            }
        }
        if kind == Kind::Expense {
            browse.budget = linked(desk, Kind::Budget, query.get("budget")).await?;
            browse.assignment = linked(desk, Kind::Assignment, query.get("assignment")).await?;
        }
        let is_filtered =
            ["status", "person", "due", "from", "until", "over", "folder", "budget", "assignment"]
                .iter()
                .any(|name| !query.get(name).is_empty());
        browse.sort = sort(kind, query.get("sort"), is_filtered || browse.term.is_some());
        let page = query.get("page").parse().unwrap_or(1_u64).clamp(1, 1_000_000);
        browse.skip = (page - 1) * u64::from(SIZE);
        browse.limit = SIZE;
        Ok(Self { browse, page, folder, is_filtered, term: sent, state })
    }

    fn states(&self, kind: Kind, query: &Pairs) -> Vec<Choice> {
        let (open, closed) = match kind {
            Kind::Folder => (("", "Active"), ("archived", "Archived")),
            Kind::Assignment => (("", "Open"), ("done", "Done")),
            Kind::Expense | Kind::Budget => return Vec::new(),
        };
        let is_closed = self.browse.closed == Some(true);
        let choice = |(value, label): (&str, &str), is_on| {
            let query = query.with(&[("state", value), ("page", "")]).query();
            Choice::new(format!("/{}{query}", kind.plural()), label, is_on)
        };
        vec![choice(open, !is_closed), choice(closed, is_closed)]
    }

    /// Why nothing is shown, and what to do.
    fn empty(&self, kind: Kind, address: &str, new: Option<New>, count: Count) -> Empty {
        let narrowed = self.is_filtered || !self.term.is_empty();
        let place =
            if self.state.is_empty() { String::new() } else { format!(" in {}", self.state) };
        let text = match (narrowed, self.term.is_empty()) {
            (true, false) if matches!(count, Count::MoreThan(_)) => {
                format!("No {kind} fits among the newest thousands that match; say more of")
            }
            (true, false) => format!("No {kind} matches"),
            (true, true) => format!("No {kind} fits these filters{place}."),
            (false, _) if self.browse.closed == Some(true) => match kind {
                Kind::Folder => "Nothing is archived.".to_owned(),
                _ => "Nothing is done yet.".to_owned(),
            },
            (false, _) => match kind {
                Kind::Folder => "There are no folders yet. A folder is a project: everything else is in one.".to_owned(),
                Kind::Assignment => "There is nothing to do. Assignments are the work in a folder.".to_owned(),
                Kind::Expense => "No expenses yet. Enter the first one: it takes a folder, a day and an amount.".to_owned(),
                Kind::Budget => "No budgets yet. A budget sets money aside in a folder, and expenses count against it.".to_owned(),
            },
        };
        let clear = narrowed.then(|| address.to_owned());
        Empty { text, term: self.term.clone(), place, clear, new: new.filter(|_| !narrowed) }
    }
}

async fn linked(desk: &Desk, kind: Kind, sent: &str) -> Result<Option<RecordId>, WebError> {
    let Some(key) = key_of(sent) else { return Ok(None) };
    let found = desk.store().get(desk.id(), kind, &key).await?;
    found.map(|document| Doc::parse(&document.text)?.id()).transpose()
}

fn days_ahead(today: Date, days: i64) -> Date {
    today.checked_add(days.days()).unwrap_or(today)
}

/// The order that is asked for, or the one that is usual for a kind.
fn sort(kind: Kind, sent: &str, is_narrowed: bool) -> Sort {
    let wanted = match sent {
        "newest" => Sort::Newest,
        "oldest" => Sort::Oldest,
        "due" | "date" => Sort::Soonest,
        "-due" | "-date" => Sort::Latest,
        "name" => Sort::Title,
        "used" => Sort::Used,
        _ => match kind {
            Kind::Folder | Kind::Budget => Sort::Newest,
            Kind::Assignment => Sort::Soonest,
            Kind::Expense => Sort::Latest,
        },
    };
    // Expenses that are narrowed down have an index by their day, and none by when they were entered.
    match wanted {
        Sort::Newest if kind == Kind::Expense && is_narrowed => Sort::Latest,
        Sort::Oldest if kind == Kind::Expense && is_narrowed => Sort::Soonest,
        wanted if Sort::of(kind).contains(&wanted) => wanted,
        _ => Sort::Newest,
    }
}

/// The columns of a kind's rows.
pub(in crate::web) fn columns(kind: Kind) -> Vec<Column> {
    let column = Column::new;
    match kind {
        Kind::Folder => vec![
            column("Reference", "hide"),
            column("Folder", ""),
            column("Status", "status-column"),
            column("Owner", "hide"),
            column("Due", ""),
            column("Budget used", "hide"),
            column("Budget", "money hide"),
        ],
        Kind::Assignment => vec![
            column("Reference", "hide"),
            column("Assignment", ""),
            column("Status", "status-column"),
            column("Assigned to", "hide"),
            column("Priority", "hide"),
            column("Due", ""),
        ],
        Kind::Expense => vec![
            column("Reference", "hide"),
            column("Expense", ""),
            column("Status", "status-column"),
            column("Handed in by", "hide"),
            column("Date", ""),
            column("Amount", "money"),
        ],
        Kind::Budget => vec![
            column("Reference", "hide"),
            column("Budget", ""),
            column("Status", "status-column"),
            column("Used", "hide"),
            column("Spent", "money"),
            column("Amount", "money"),
        ],
    }
}

/// Makes headings into links that sort.
fn sortable(columns: &mut [Column], kind: Kind, query: &Pairs, address: &str, sort: Sort) {
    for column in columns {
        let (up, down): ((&str, Sort), Option<(&str, Sort)>) = match (kind, column.label) {
            (_, "Reference") => (("oldest", Sort::Oldest), Some(("newest", Sort::Newest))),
            (Kind::Folder, "Folder") | (Kind::Budget, "Budget") => (("name", Sort::Title), None),
            (_, "Due") => (("due", Sort::Soonest), Some(("-due", Sort::Latest))),
            (_, "Date") => (("date", Sort::Soonest), Some(("-date", Sort::Latest))),
            (_, "Used") => (("used", Sort::Used), None),
            _ => continue,
        };
        column.sorted = match (sort == up.1, down.is_some_and(|down| down.1 == sort)) {
            (true, _) if up.1 == Sort::Used => Some("descending"),
            (true, _) => Some("ascending"),
            (_, true) => Some("descending"),
            _ => None,
        };
        let next = match (column.sorted, down) {
            (Some("ascending"), Some(down)) => down.0,
            _ => up.0,
        };
        column.href =
            Some(format!("{address}{}", query.with(&[("sort", next), ("page", "")]).query()));
    }
}

async fn filters(
    desk: &Desk,
    kind: Kind,
    query: &Pairs,
    statuses: &Statuses,
) -> Result<Vec<Filter>, WebError> {
    let chosen = query.get("status");
    let any = |label: &str| Choice::new("", label, false);
    let mut all = vec![any("Status")];
    all.extend(statuses.of(kind).map(|status| {
        let id = status.id.to_string();
        Choice::new(id.clone(), status.name.clone(), id == chosen)
    }));
    let mut filters = vec![Filter { name: "status", label: "Status", choices: all }];
    let label = match kind {
        Kind::Folder => Some("Owner"),
        Kind::Assignment => Some("Assigned to"),
        Kind::Expense => Some("Handed in by"),
        Kind::Budget => None,
    };
    if let Some(label) = label {
        let chosen = query.get("person");
        let mut people = vec![any(label), Choice::new("me", "Me", chosen == "me")];
        people.extend(desk.people().await?.into_iter().map(|known| {
            let id = known.person.id.to_string();
            Choice::new(id.clone(), known.person.name, id == chosen)
        }));
        filters.push(Filter { name: "person", label, choices: people });
    }
    let choices = |name: &str, choices: &[(&str, &str)]| {
        let chosen = query.get(name);
        let choice = |(value, label): &(&str, &str)| {
            Choice::new(*value, *label, !value.is_empty() && *value == chosen)
        };
        choices.iter().map(choice).collect::<Vec<_>>()
    };
    if let Kind::Folder | Kind::Assignment = kind {
        let due = [
            ("", "Due"),
            ("overdue", "Overdue"),
            ("week", "In 7 days"),
            ("month", "In 30 days"),
            ("none", "No date"),
        ];
        filters.push(Filter { name: "due", label: "Due", choices: choices("due", &due) });
    }
    if kind == Kind::Budget {
        let over = [("", "Spent"), ("yes", "Over budget")];
        filters.push(Filter { name: "over", label: "Spent", choices: choices("over", &over) });
    }
    Ok(filters)
}

/// What rows need besides the records.
pub(in crate::web) struct Shown<'a> {
    kind: Kind,
    statuses: &'a Statuses,
    folders: HashMap<RecordId, Named>,
    budgets: HashMap<RecordId, (Option<Share>, Option<Money>)>,
    today: Date,
}

impl<'a> Shown<'a> {
    pub(in crate::web) async fn new(
        desk: &Desk,
        kind: Kind,
        statuses: &'a Statuses,
        docs: &[Doc],
    ) -> Result<Self, WebError> {
        let mut shown = Self {
            kind,
            statuses,
            folders: HashMap::new(),
            budgets: HashMap::new(),
            today: desk.visit.today(),
        };
        if kind == Kind::Folder {
            let sums = docs.iter().map(async |doc| {
                let id = doc.id()?;
                let of_folder =
                    Browse { folder: Some(id), limit: 100, ..Browse::all(Kind::Budget) };
                let (budgets, _) = desk.browse(of_folder).await?;
                let sums = Sums::of(&budgets, doc.text("currency"));
                let money = (!budgets.is_empty())
                    .then(|| Money::new(&sums.amount.to_string(), doc.text("currency")));
                Ok::<_, WebError>((id, (sums.share(), money)))
            });
            shown.budgets = try_join_all(sums).await?.into_iter().collect();
        } else {
            shown.folders = desk.named(Kind::Folder, docs, "folderId").await?;
        }
        Ok(shown)
    }

    /// The same records without the column of their folder's name under them.
    pub(in crate::web) fn without_folders(mut self) -> Self {
        self.folders.clear();
        self
    }

    pub(in crate::web) fn row(&self, doc: &Doc) -> Row {
        let kind = self.kind;
        let folder = doc.link("folderId").and_then(|id| self.folders.get(&id));
        let folder = folder.map(|folder| format!("{} {}", folder.reference, folder.title));
        let reference = Cell::Reference { text: doc.reference().to_owned(), href: None };
        let name =
            |under: String| Cell::Name { text: doc.title(kind), href: doc.path(kind), under };
        let status = Cell::Status(self.statuses.shown(doc));
        let cells = match kind {
            Kind::Folder => {
                let id = doc.link("id");
                let (share, money) =
                    id.and_then(|id| self.budgets.get(&id).cloned()).unwrap_or_default();
                vec![
                    reference,
                    name(doc.text("clientName").to_owned()),
                    status,
                    Cell::Text(doc.person("owner").to_owned()),
                    self.due(doc),
                    Cell::Share(share),
                    Cell::Aside(money),
                ]
            }
            Kind::Assignment => vec![
                reference,
                name(folder.unwrap_or_default()),
                status,
                Cell::Text(doc.people("assignees")),
                Cell::Text(match doc.text("priority") {
                    "normal" => String::new(),
                    priority => priority.to_owned(),
                }),
                self.due(doc),
            ],
            Kind::Expense => {
                let vendor = Some(doc.text("vendor")).filter(|vendor| !vendor.is_empty());
                let under: Vec<&str> = vendor.into_iter().chain(folder.as_deref()).collect();
                vec![
                    reference,
                    name(under.join(" · ")),
                    status,
                    Cell::Text(doc.person("submittedBy").to_owned()),
                    Cell::Day { text: self.day(doc, "incurredOn"), is_late: false },
                    Cell::Money(Some(doc.money("amount"))),
                ]
            }
            Kind::Budget => vec![
                reference,
                name(folder.unwrap_or_default()),
                status,
                Cell::Share(Share::of(doc.0["percentUsed"].as_str())),
                Cell::Money(Some(doc.money("spent"))),
                Cell::Money(Some(doc.money("amount"))),
            ],
        };
        let has_two =
            cells.iter().any(|cell| matches!(cell, Cell::Name { under, .. } if !under.is_empty()));
        Row { class: if has_two { "two" } else { "" }, cells }
    }

    fn day(&self, doc: &Doc, field: &str) -> String {
        doc.date(field).map(|date| shown::day(date, self.today)).unwrap_or_default()
    }

    fn due(&self, doc: &Doc) -> Cell {
        let due = doc.date("dueDate");
        let is_late = due.is_some_and(|due| due < self.today) && self.statuses.is_open(doc);
        Cell::Day { text: self.day(doc, "dueDate"), is_late }
    }
}

/// The sums of the expenses that are listed, all pages together.
async fn totals(
    desk: &Desk,
    kind: Kind,
    asked: &Asked,
    count: Count,
    docs: &[Doc],
) -> Result<(Vec<Money>, &'static str), WebError> {
    match count {
        _ if kind != Kind::Expense || docs.is_empty() => Ok((Vec::new(), "")),
        Count::Exactly(count) if count <= u64::from(SIZE) => Ok((by_currency(docs), "")),
        Count::Exactly(count) if count <= MANY => {
            let whole = Browse {
                skip: 0,
                limit: u32::try_from(MANY).unwrap_or(SIZE),
                ..asked.browse.clone()
            };
            let (all, _) = desk.browse(whole).await?;
            Ok((by_currency(&all), ""))
        }
        _ => Ok((by_currency(docs), "on this page")),
    }
}
