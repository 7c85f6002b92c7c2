//! One record: its facts, what belongs to it, its place on the map, what happened to it.

use super::{
    Doc, Statuses, Sums,
    list::{Shown, columns},
};
use crate::web::{
    WebError,
    budget_chart::Chart,
    fields::Choice,
    form::Pairs,
    history::{self, Line, words},
    map,
    page::{Meta, Nav},
    shown::{self, Money, Share, StatusShown},
    table::Table,
    visit::Desk,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{Kind, Permission};
use groma_store::{Browse, Browsed, Count, Sort};
use serde_json::Value;

#[derive(Template)]
#[template(path = "record.html")]
struct RecordPage {
    crumbs: Vec<(String, String)>,
    reference: String,
    title: String,
    status: Option<StatusShown>,
    /// The statuses it may be put into.
    statuses: Vec<Choice>,
    version: u64,
    path: String,
    csrf: String,
    may_change: bool,
    /// Archived or not; none where that is no question.
    is_archived: Option<bool>,
    archived_since: String,
    facts: Vec<Fact>,
    description: String,
    tags: Vec<String>,
    custom: Vec<(String, String)>,
    sections: Vec<Section>,
    map: Option<MapPart>,
    lines: Vec<Line>,
    external_id: String,
}

struct Fact {
    label: &'static str,
    text: String,
    href: Option<String>,
    class: &'static str,
}

struct Section {
    title: &'static str,
    note: String,
    links: Vec<(String, &'static str)>,
    chart: Option<Chart>,
    table: Table,
    empty: String,
}

struct MapPart {
    config: String,
    coord: String,
    href: String,
}

fn fact(label: &'static str, text: impl Into<String>) -> Fact {
    Fact { label, text: text.into(), href: None, class: "" }
}

macro_rules! handlers {
    ($($name:ident => $kind:expr;)*) => {$(
        pub(in crate::web) async fn $name(
            desk: Desk,
            Path(key): Path<String>,
        ) -> Result<Response, WebError> {
            show(desk, &key, $kind).await
        }
    )*};
}

handlers! {
    folder => Kind::Folder;
    assignment => Kind::Assignment;
    expense => Kind::Expense;
    budget => Kind::Budget;
}

async fn show(desk: Desk, key: &str, kind: Kind) -> Result<Response, WebError> {
    let doc = desk.record(kind, key).await?;
    let statuses = Statuses::read(&desk).await?;
    let may_change = desk.may(Permission::ChangeRecords);
    let mut crumbs = vec![(format!("/{}", kind.plural()), words(kind.plural()))];
    let folder = desk.named(Kind::Folder, std::slice::from_ref(&doc), "folderId").await?;
    let folder = folder.into_values().next();
    if let Some(folder) = &folder {
        crumbs = vec![
            ("/folders".to_owned(), "Folders".to_owned()),
            (folder.path.clone(), format!("{} {}", folder.reference, folder.title)),
        ];
    }
    let mut subjects = vec![doc.id()?.0];
    let mut page = RecordPage {
        crumbs,
        reference: doc.reference().to_owned(),
        title: doc.title(kind),
        status: statuses.shown(&doc),
        statuses: choices(&statuses, kind, &doc),
        version: doc.version(),
        path: doc.path(kind),
        csrf: desk.visit.form_token(),
        may_change,
        is_archived: (kind == Kind::Folder).then(|| doc.is_archived()),
        archived_since: doc
            .text("archivedAt")
            .get(..10)
            .and_then(|day| day.parse().ok())
            .map(shown::full_day)
            .unwrap_or_default(),
        facts: Vec::new(),
        description: doc.text("description").to_owned(),
        tags: doc.0["tags"]
            .as_array()
            .map(|tags| tags.iter().map(shown::plain).collect())
            .unwrap_or_default(),
        custom: doc.0["customFields"]
            .as_object()
            .map(|fields| {
                fields.iter().map(|(name, value)| (name.clone(), shown::plain(value))).collect()
            })
            .unwrap_or_default(),
        sections: Vec::new(),
        map: None,
        lines: Vec::new(),
        external_id: doc.text("externalId").to_owned(),
    };
    match kind {
        Kind::Folder => folder_parts(&desk, &statuses, &doc, &mut page, &mut subjects).await?,
        Kind::Assignment => assignment_parts(&desk, &statuses, &doc, &mut page).await?,
        Kind::Expense => expense_parts(&desk, &doc, &mut page).await?,
        Kind::Budget => budget_parts(&desk, &statuses, &doc, &mut page).await?,
    }
    page.lines = history::lines(&desk, &statuses, Some(&subjects), None, 12).await?;
    let title = format!("{} {}", doc.reference(), page.title);
    let mut meta = Meta::new(&title, Nav::of(kind));
    if page.map.is_some() {
        meta = meta.with_map();
    }
    desk.page(meta, &page).await
}

/// The statuses of a kind, to choose from.
fn choices(statuses: &Statuses, kind: Kind, doc: &Doc) -> Vec<Choice> {
    let chosen = doc.text("statusId");
    let none = chosen.is_empty().then(|| Choice::new("", "No status", true));
    let all = statuses.of(kind).map(|status| {
        let id = status.id.to_string();
        let is_on = id == chosen;
        Choice::new(id, status.name.clone(), is_on)
    });
    none.into_iter().chain(all).collect()
}

fn day(desk: &Desk, doc: &Doc, label: &'static str, field: &str, is_late: bool) -> Fact {
    let today = desk.visit.today();
    let date = doc.date(field);
    let late = is_late && date.is_some_and(|date| date < today);
    let text = date.map(shown::full_day).unwrap_or_default();
    Fact { class: if late { "num late" } else { "num" }, ..fact(label, text) }
}

fn money_text(money: &Money) -> String {
    format!("{} {}", money.amount, money.currency)
}

/// How many of a list are shown, when that is not all.
fn counted(browsed: &Browsed) -> String {
    match browsed.count {
        Count::Exactly(count) => shown::grouped(count),
        Count::MoreThan(count) => format!("more than {}", shown::grouped(count)),
    }
}

async fn table(
    desk: &Desk,
    statuses: &Statuses,
    kind: Kind,
    docs: &[Doc],
) -> Result<Table, WebError> {
    let rows = Shown::new(desk, kind, statuses, docs).await?.without_folders();
    Ok(Table {
        caption: String::new(),
        columns: columns(kind),
        rows: docs.iter().map(|doc| rows.row(doc)).collect(),
    })
}

async fn folder_parts(
    desk: &Desk,
    statuses: &Statuses,
    doc: &Doc,
    page: &mut RecordPage,
    subjects: &mut Vec<uuid::Uuid>,
) -> Result<(), WebError> {
    let id = doc.id()?;
    let currency = doc.text("currency");
    let within = Pairs::default().with(&[("folder", doc.reference())]).query();
    let in_folder =
        |kind, limit, sort| Browse { folder: Some(id), limit, sort, ..Browse::all(kind) };
    let (assignments, assigned) =
        desk.browse(in_folder(Kind::Assignment, 20, Sort::Soonest)).await?;
    let (budgets, _) = desk.browse(in_folder(Kind::Budget, 100, Sort::Newest)).await?;
    let (expenses, spent) = desk.browse(in_folder(Kind::Expense, 10, Sort::Latest)).await?;
    for other in assignments.iter().chain(&budgets).chain(&expenses) {
        subjects.push(other.id()?.0);
    }
    let sums = Sums::of(&budgets, currency);
    let is_open = statuses.is_open(doc);
    page.facts = vec![
        fact("Client", doc.text("clientName")),
        fact("Owner", doc.person("owner")),
        day(desk, doc, "Started", "startDate", false),
        day(desk, doc, "Due", "dueDate", is_open),
    ];
    if !budgets.is_empty() {
        let left = sums.amount - sums.spent;
        let class = if left.is_sign_negative() && !left.is_zero() { "num late" } else { "num" };
        let left = money_text(&Money::new(&left.to_string(), currency));
        page.facts.push(Fact { class, ..fact("Budget left", left) });
    }
    let done = assignments.iter().filter(|one| !statuses.is_open(one)).count();
    let add = |kind: Kind, label| {
        let mut links = vec![(format!("/{}{within}", kind.plural()), "All")];
        if page.may_change {
            links.push((format!("/{}/new{within}", kind.plural()), label));
        }
        links
    };
    let note = match assigned.count {
        Count::Exactly(count) if count > 0 && count <= 20 => format!("{done} of {count} done"),
        _ => counted(&assigned),
    };
    let chart = if budgets.is_empty() {
        None
    } else {
        let all = Browse { limit: 5_000, ..in_folder(Kind::Expense, 0, Sort::Soonest) };
        let (all, _) = desk.browse(all).await?;
        let of_budgets: Vec<Doc> = all
            .into_iter()
            .filter(|expense| {
                let budget = expense.text("budgetId");
                budgets.iter().any(|b| b.text("id") == budget && b.text("currency") == currency)
            })
            .collect();
        let span = (doc.date("startDate"), doc.date("dueDate"));
        Chart::new(&of_budgets, sums.amount, currency, span, desk.visit.today())
    };
    let share = sums.share().map(|share| {
        let of = money_text(&Money::new(&sums.amount.to_string(), currency));
        format!("{} of {of}", share.percent)
    });
    page.sections = vec![
        Section {
            title: "Assignments",
            note,
            links: add(Kind::Assignment, "Add"),
            chart: None,
            table: table(desk, statuses, Kind::Assignment, &assignments).await?,
            empty: "Nothing to do yet.".to_owned(),
        },
        Section {
            title: "Budget",
            note: share.unwrap_or_default(),
            links: add(Kind::Budget, "Add"),
            chart,
            table: table(desk, statuses, Kind::Budget, &budgets).await?,
            empty: "No money is set aside.".to_owned(),
        },
        Section {
            title: "Expenses",
            note: counted(&spent),
            links: add(Kind::Expense, "Add"),
            chart: None,
            table: table(desk, statuses, Kind::Expense, &expenses).await?,
            empty: "Nothing is spent.".to_owned(),
        },
    ];
    page.map = Some(MapPart {
        config: map::folder_config(desk, doc).await?,
        coord: coordinates(&doc.0["bbox"]),
        href: map::address_of(doc.reference()),
    });
    Ok(())
}

/// The middle of a box, as surveyors write it.
fn coordinates(bbox: &Value) -> String {
    let at = |index: usize| bbox[index].as_f64();
    let (Some(w), Some(s), Some(e), Some(n)) = (at(0), at(1), at(2), at(3)) else {
        return "Nothing is drawn yet".to_owned();
    };
    let (lon, lat) = (f64::midpoint(w, e), f64::midpoint(s, n));
    let side = |value: f64, plus: char, minus: char| {
        format!("{:.4} {}", value.abs(), if value < 0.0 { minus } else { plus })
    };
    format!("{}  {}", side(lat, 'N', 'S'), side(lon, 'E', 'W'))
}

async fn assignment_parts(
    desk: &Desk,
    statuses: &Statuses,
    doc: &Doc,
    page: &mut RecordPage,
) -> Result<(), WebError> {
    let hours = |field: &str| match doc.text(field) {
        "" => String::new(),
        hours => format!("{hours} h"),
    };
    page.facts = vec![
        fact("Assigned to", doc.people("assignees")),
        fact("Priority", words(doc.text("priority"))),
        day(desk, doc, "Starts", "startDate", false),
        day(desk, doc, "Due", "dueDate", statuses.is_open(doc)),
        Fact { class: "num", ..fact("Hours estimated", hours("estimatedHours")) },
        Fact { class: "num", ..fact("Hours spent", hours("spentHours")) },
    ];
    let spent = Browse {
        assignment: Some(doc.id()?),
        sort: Sort::Latest,
        limit: 20,
        ..Browse::all(Kind::Expense)
    };
    let (expenses, browsed) = desk.browse(spent).await?;
    let query = Pairs::default().with(&[("assignment", doc.reference())]).query();
    page.sections = vec![Section {
        title: "Expenses",
        note: counted(&browsed),
        links: vec![(format!("/expenses{query}"), "All")],
        chart: None,
        table: table(desk, statuses, Kind::Expense, &expenses).await?,
        empty: "Nothing is spent on it.".to_owned(),
    }];
    Ok(())
}

async fn expense_parts(desk: &Desk, doc: &Doc, page: &mut RecordPage) -> Result<(), WebError> {
    let one = std::slice::from_ref(doc);
    let named = async |kind, field| -> Result<Option<super::Named>, WebError> {
        Ok(desk.named(kind, one, field).await?.into_values().next())
    };
    let linked = |label, named: Option<super::Named>| match named {
        Some(named) => Fact {
            href: Some(named.path),
            ..fact(label, format!("{} {}", named.reference, named.title))
        },
        None => fact(label, ""),
    };
    let quantity = doc.text("quantity");
    let unit = money_text(&doc.money("unitAmount"));
    page.facts = vec![
        Fact { class: "num", ..fact("Amount", money_text(&doc.money("amount"))) },
        Fact { class: "num", ..fact("Of", format!("{quantity} × {unit}")) },
        day(desk, doc, "Date", "incurredOn", false),
        fact("Category", doc.text("category")),
        fact("Paid to", doc.text("vendor")),
        fact("Handed in by", doc.person("submittedBy")),
        fact("The client pays", shown::plain(&doc.0["billable"])),
        linked("Budget", named(Kind::Budget, "budgetId").await?),
        linked("Assignment", named(Kind::Assignment, "assignmentId").await?),
    ];
    Ok(())
}

async fn budget_parts(
    desk: &Desk,
    statuses: &Statuses,
    doc: &Doc,
    page: &mut RecordPage,
) -> Result<(), WebError> {
    let remaining = doc.money("remaining");
    let is_over =
        doc.decimal("remaining").is_sign_negative() && !doc.decimal("remaining").is_zero();
    let share = Share::of(doc.0["percentUsed"].as_str());
    page.facts = vec![
        Fact { class: "num", ..fact("Amount", money_text(&doc.money("amount"))) },
        Fact { class: "num", ..fact("Spent", money_text(&doc.money("spent"))) },
        Fact {
            class: if is_over { "num late" } else { "num" },
            ..fact(if is_over { "Over" } else { "Left" }, money_text(&remaining))
        },
        fact("Category", doc.text("category")),
        day(desk, doc, "Starts", "startDate", false),
        day(desk, doc, "Ends", "endDate", false),
    ];
    let of_budget = Browse {
        budget: Some(doc.id()?),
        sort: Sort::Soonest,
        limit: 5_000,
        ..Browse::all(Kind::Expense)
    };
    let (expenses, browsed) = desk.browse(of_budget).await?;
    let span = (doc.date("startDate"), doc.date("endDate"));
    let chart = Chart::new(
        &expenses,
        doc.decimal("amount"),
        doc.text("currency"),
        span,
        desk.visit.today(),
    );
    let latest: Vec<Doc> = expenses.iter().rev().take(20).cloned().collect();
    let query = Pairs::default().with(&[("budget", doc.reference())]).query();
    page.sections = vec![
        Section {
            title: "Spent",
            note: share.map(|share| format!("{} used", share.percent)).unwrap_or_default(),
            links: Vec::new(),
            chart,
            table: Table::default(),
            empty: "Nothing counts against it yet.".to_owned(),
        },
        Section {
            title: "Expenses",
            note: counted(&browsed),
            links: vec![(format!("/expenses{query}"), "All")],
            chart: None,
            table: table(desk, statuses, Kind::Expense, &latest).await?,
            empty: "No expense names it.".to_owned(),
        },
    ];
    Ok(())
}
