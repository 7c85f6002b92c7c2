//! The page of a record: its fields, the records that belong to it, its map, its activity.

use super::{quick_add::QuickAdd, rows::record_table_in_folder};
use crate::web::{
    WebError,
    activity_feed::{self, ActivityGroup},
    budget_chart::Chart,
    export_menu::{LayerMenu, RecordMenu},
    fields::Choice,
    form::Pairs,
    format::{self, BudgetShare, Money, StatusBadge},
    i18n::Localizer,
    map,
    page::{Meta, Nav},
    record_data::{BudgetTotals, Doc, RecordLink, Statuses},
    request_context::MemberContext,
    table::Table,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{Kind, Permission};
use groma_store::{RecordCount, RecordQuery, Sort};
use serde_json::Value;

#[derive(Template)]
#[template(path = "record.html")]
struct RecordPage {
    t: Localizer,
    /// The pages above this one: path and label.
    breadcrumbs: Vec<(String, String)>,
    reference: String,
    title: String,
    status: Option<StatusBadge>,
    /// The statuses to choose from.
    statuses: Vec<Choice>,
    version: u64,
    path: String,
    csrf: String,
    can_change: bool,
    /// `None` for records that cannot be archived.
    is_archived: Option<bool>,
    archived_since: String,
    facts: Vec<Fact>,
    description: String,
    tags: Vec<String>,
    custom_fields: Vec<(String, String)>,
    sections: Vec<Section>,
    map: Option<MapPart>,
    /// Exports of a folder: its records and its features.
    export: Option<FolderExport>,
    activity: Vec<ActivityGroup>,
    external_id: String,
}

/// A field in the header of the page.
struct Fact {
    label: String,
    text: String,
    href: Option<String>,
    class: &'static str,
}

/// A list of records that belong to this one.
struct Section {
    title: String,
    note: String,
    links: Vec<SectionLink>,
    chart: Option<Chart>,
    table: Table,
    /// The text of an empty table.
    empty: String,
    quick_add: Option<QuickAdd>,
}

struct SectionLink {
    href: String,
    label: String,
    /// The label with its subject, for screen readers.
    description: String,
}

struct FolderExport {
    records: RecordMenu,
    features: Option<LayerMenu>,
}

struct MapPart {
    config: String,
    /// The origins that the map may load from.
    origins: Vec<String>,
    coordinates: String,
    href: String,
}

fn fact(label: impl Into<String>, text: impl Into<String>) -> Fact {
    Fact { label: label.into(), text: text.into(), href: None, class: "" }
}

fn numeric_fact(label: impl Into<String>, text: impl Into<String>) -> Fact {
    Fact { class: "num", ..fact(label, text) }
}

macro_rules! handlers {
    ($($name:ident => $kind:expr;)*) => {$(
        pub(in crate::web) async fn $name(
            ctx: MemberContext,
            Path(key): Path<String>,
        ) -> Result<Response, WebError> {
            show(ctx, &key, $kind).await
        }
    )*};
}

handlers! {
    folder => Kind::Folder;
    assignment => Kind::Assignment;
    expense => Kind::Expense;
    budget => Kind::Budget;
}

async fn show(ctx: MemberContext, key: &str, kind: Kind) -> Result<Response, WebError> {
    let t = ctx.t();
    let doc = ctx.record(kind, key).await?;
    let statuses = Statuses::read(&ctx).await?;
    let mut page = RecordPage {
        t,
        breadcrumbs: breadcrumbs(&ctx, kind, &doc).await?,
        reference: doc.reference().to_owned(),
        title: doc.title(kind),
        status: statuses.badge(&doc),
        statuses: status_choices(t, &statuses, kind, &doc),
        version: doc.version(),
        path: doc.path(kind),
        csrf: ctx.request.csrf_token(),
        can_change: ctx.can(Permission::ChangeRecords),
        is_archived: (kind == Kind::Folder).then(|| doc.is_archived()),
        archived_since: doc
            .text("archivedAt")
            .get(..10)
            .and_then(|day| day.parse().ok())
            .map(|day| t.full_day(day))
            .unwrap_or_default(),
        facts: Vec::new(),
        description: doc.text("description").to_owned(),
        tags: doc.0["tags"]
            .as_array()
            .map(|tags| tags.iter().map(|tag| format::plain_text(t, tag)).collect())
            .unwrap_or_default(),
        custom_fields: doc.0["customFields"]
            .as_object()
            .map(|fields| {
                let text =
                    |(name, value): (&String, &Value)| (name.clone(), format::plain_text(t, value));
                fields.iter().map(text).collect()
            })
            .unwrap_or_default(),
        sections: Vec::new(),
        map: None,
        export: None,
        activity: Vec::new(),
        external_id: doc.text("externalId").to_owned(),
    };
    let mut subjects = vec![doc.id()?.0];
    match kind {
        Kind::Folder => add_folder_parts(&ctx, &statuses, &doc, &mut page, &mut subjects).await?,
        Kind::Assignment => add_assignment_parts(&ctx, &statuses, &doc, &mut page).await?,
        Kind::Expense => add_expense_parts(&ctx, &doc, &mut page).await?,
        Kind::Budget => add_budget_parts(&ctx, &statuses, &doc, &mut page).await?,
    }
    page.activity = activity_feed::latest(&ctx, &statuses, Some(&subjects), None, 12).await?;
    let title = format!("{} {}", doc.reference(), page.title);
    let mut meta = Meta::new(title, Nav::of(kind));
    if let Some(map) = &page.map {
        meta = meta.with_map(map.origins.clone());
    }
    ctx.page(meta, &page).await
}

/// The folder of the record, or the list of its kind.
async fn breadcrumbs(
    ctx: &MemberContext,
    kind: Kind,
    doc: &Doc,
) -> Result<Vec<(String, String)>, WebError> {
    let t = ctx.t();
    let folder = ctx.linked_records(Kind::Folder, std::slice::from_ref(doc), "folderId").await?;
    Ok(match folder.into_values().next() {
        Some(folder) => vec![
            ("/folders".to_owned(), t.kind_title(Kind::Folder)),
            (folder.path.clone(), format!("{} {}", folder.reference, folder.title)),
        ],
        None => vec![(format!("/{}", kind.plural()), t.kind_title(kind))],
    })
}

fn status_choices(t: Localizer, statuses: &Statuses, kind: Kind, doc: &Doc) -> Vec<Choice> {
    let chosen = doc.text("statusId");
    let none = chosen.is_empty().then(|| Choice::new("", t.msg("status-none"), true));
    let all = statuses.of(kind).map(|status| {
        let id = status.id.to_string();
        let is_selected = id == chosen;
        Choice::new(id, status.name.clone(), is_selected)
    });
    none.into_iter().chain(all).collect()
}

/// The client of a folder, with a link to all folders of this client.
fn client_fact(t: Localizer, client: &str) -> Fact {
    let query = Pairs::default().with(&[("client", client)]).query();
    let href = (!client.is_empty()).then(|| format!("/folders{query}"));
    Fact { href, ..fact(t.msg("field-client"), client) }
}

fn date_fact(t: Localizer, label: impl Into<String>, doc: &Doc, field: &str) -> Fact {
    let text = doc.date(field).map(|date| t.full_day(date)).unwrap_or_default();
    numeric_fact(label, text)
}

/// The due date, in red when it has passed.
fn due_fact(ctx: &MemberContext, statuses: &Statuses, doc: &Doc) -> Fact {
    let t = ctx.t();
    let is_past = doc.date("dueDate").is_some_and(|date| date < ctx.request.today());
    let is_late = is_past && statuses.is_unfinished(doc);
    let class = if is_late { "num warning" } else { "num" };
    Fact { class, ..date_fact(t, t.msg("field-due"), doc, "dueDate") }
}

fn money_text(money: &Money) -> String {
    format!("{} {}", money.amount, money.currency)
}

/// Links to the list of records of a kind, and to the form for a new one.
fn section_links(t: Localizer, kind: Kind, query: &str, can_add: bool) -> Vec<SectionLink> {
    let mut links = vec![SectionLink {
        href: format!("/{}{query}", kind.plural()),
        label: t.msg("section-all").into(),
        description: t.msg("section-all-description").arg("kind", kind.name()).into(),
    }];
    if can_add {
        links.push(SectionLink {
            href: format!("/{}/new{query}", kind.plural()),
            label: t.msg("section-add").into(),
            description: t.msg("section-add-description").arg("kind", kind.name()).into(),
        });
    }
    links
}

async fn add_folder_parts(
    ctx: &MemberContext,
    statuses: &Statuses,
    doc: &Doc,
    page: &mut RecordPage,
    subjects: &mut Vec<uuid::Uuid>,
) -> Result<(), WebError> {
    let t = ctx.t();
    let id = doc.id()?;
    let currency = doc.text("currency");
    let query = Pairs::default().with(&[("folder", doc.reference())]).query();
    let in_folder =
        |kind, limit, sort| RecordQuery { folder: Some(id), limit, sort, ..RecordQuery::all(kind) };
    let (assignments, found) =
        ctx.query_records(in_folder(Kind::Assignment, 20, Sort::SOONEST)).await?;
    let assignment_count = found.count;
    let (budgets, _) = ctx.query_records(in_folder(Kind::Budget, 100, Sort::NEWEST)).await?;
    let (expenses, found) = ctx.query_records(in_folder(Kind::Expense, 10, Sort::LATEST)).await?;
    let expense_count = found.count;
    for record in assignments.iter().chain(&budgets).chain(&expenses) {
        subjects.push(record.id()?.0);
    }
    let totals = BudgetTotals::of(&budgets, currency);
    page.facts = vec![
        client_fact(t, doc.text("clientName")),
        fact(t.msg("field-owner"), doc.person("owner")),
        date_fact(t, t.msg("field-start"), doc, "startDate"),
        due_fact(ctx, statuses, doc),
    ];
    if !budgets.is_empty() {
        let left = totals.amount - totals.spent;
        let is_negative = left.is_sign_negative() && !left.is_zero();
        let left = money_text(&Money::new(t, &left.to_string(), currency));
        let class = if is_negative { "num warning" } else { "num" };
        page.facts.push(Fact { class, ..fact(t.msg("field-budget-left"), left) });
    }
    let done = assignments.iter().filter(|doc| !doc.0["completedAt"].is_null()).count();
    let progress = match assignment_count {
        RecordCount::Exactly(count) if count > 0 && count <= 20 => {
            t.msg("folder-assignments-done").arg("done", done).arg("count", count).into()
        }
        count => t.count(count),
    };
    let share = totals.share(t).map(|share| {
        let amount = money_text(&Money::new(t, &totals.amount.to_string(), currency));
        t.msg("folder-budget-used").arg("percent", share.percent).arg("amount", amount).to_string()
    });
    let can_change = page.can_change;
    let links = |kind| section_links(t, kind, &query, false);
    let quick_add = async |kind| -> Result<Option<QuickAdd>, WebError> {
        if !can_change {
            return Ok(None);
        }
        let default = statuses.of(kind).find(|status| status.is_default);
        let default = default.map(|status| status.id.to_string());
        Ok(Some(QuickAdd::new(ctx, kind, doc, default, &budgets).await?))
    };
    page.sections = vec![
        Section {
            title: t.kind_title(Kind::Assignment),
            note: progress,
            links: links(Kind::Assignment),
            chart: None,
            table: record_table_in_folder(ctx, Kind::Assignment, statuses, &assignments).await?,
            empty: t.msg("folder-no-assignments").into(),
            quick_add: quick_add(Kind::Assignment).await?,
        },
        Section {
            title: t.msg("field-budget").into(),
            note: share.unwrap_or_default(),
            links: links(Kind::Budget),
            chart: folder_chart(ctx, statuses, doc, &budgets, &totals).await?,
            table: record_table_in_folder(ctx, Kind::Budget, statuses, &budgets).await?,
            empty: t.msg("folder-no-budgets").into(),
            quick_add: quick_add(Kind::Budget).await?,
        },
        Section {
            title: t.kind_title(Kind::Expense),
            note: t.count(expense_count),
            links: links(Kind::Expense),
            chart: None,
            table: record_table_in_folder(ctx, Kind::Expense, statuses, &expenses).await?,
            empty: t.msg("folder-no-expenses").into(),
            quick_add: quick_add(Kind::Expense).await?,
        },
    ];
    let (config, origins) = map::folder_config(ctx, doc).await?;
    page.map = Some(MapPart {
        config,
        origins,
        coordinates: coordinates(t, &doc.0["bbox"]),
        href: map::folder_path(doc.reference()),
    });
    let path = format!("{}/export", page.path);
    page.export = Some(FolderExport {
        records: RecordMenu::new(t, format!("{path}/records"), &Kind::ALL),
        features: LayerMenu::of_folder(ctx, id, format!("{path}/features")).await?,
    });
    Ok(())
}

/// The chart of the expenses that count against the folder's budgets.
async fn folder_chart(
    ctx: &MemberContext,
    statuses: &Statuses,
    doc: &Doc,
    budgets: &[Doc],
    totals: &BudgetTotals,
) -> Result<Option<Chart>, WebError> {
    if budgets.is_empty() {
        return Ok(None);
    }
    let currency = doc.text("currency");
    let all = RecordQuery {
        folder: Some(doc.id()?),
        sort: Sort::SOONEST,
        limit: 5_000,
        ..RecordQuery::all(Kind::Expense)
    };
    let (mut expenses, _) = ctx.query_records(all).await?;
    expenses.retain(|expense| {
        let id = expense.text("budgetId");
        statuses.counts(expense)
            && budgets.iter().any(|b| b.text("id") == id && b.text("currency") == currency)
    });
    let span = (doc.date("startDate"), doc.date("dueDate"));
    Ok(Chart::new(ctx.t(), expenses.iter(), totals.amount, currency, span, ctx.request.today()))
}

/// The centre of a bounding box in degrees.
fn coordinates(t: Localizer, bbox: &Value) -> String {
    let at = |index: usize| bbox[index].as_f64();
    let (Some(w), Some(s), Some(e), Some(n)) = (at(0), at(1), at(2), at(3)) else {
        return t.msg("folder-no-shapes").into();
    };
    let (lon, lat) = (f64::midpoint(w, e), f64::midpoint(s, n));
    let degrees = |value: f64, positive: &str, negative: &str| {
        let direction = if value < 0.0 { negative } else { positive };
        let number = t.amount(&format!("{:.4}", value.abs()));
        t.msg("degrees").arg("degrees", number).arg("direction", direction)
    };
    format!("{}  {}", degrees(lat, "north", "south"), degrees(lon, "east", "west"))
}

async fn add_assignment_parts(
    ctx: &MemberContext,
    statuses: &Statuses,
    doc: &Doc,
    page: &mut RecordPage,
) -> Result<(), WebError> {
    let t = ctx.t();
    let hours = |field: &str| match doc.text(field) {
        "" => String::new(),
        hours => t.msg("hours").arg("hours", t.amount(hours)).into(),
    };
    let priority = t.msg("priority-name").arg("priority", doc.text("priority"));
    page.facts = vec![
        fact(t.msg("field-assigned-to"), doc.people("assignees")),
        fact(t.msg("field-priority"), priority),
        date_fact(t, t.msg("field-start"), doc, "startDate"),
        due_fact(ctx, statuses, doc),
        numeric_fact(t.msg("field-estimated-hours"), hours("estimatedHours")),
        numeric_fact(t.msg("field-spent-hours"), hours("spentHours")),
    ];
    let query = RecordQuery {
        assignment: Some(doc.id()?),
        sort: Sort::LATEST,
        limit: 20,
        ..RecordQuery::all(Kind::Expense)
    };
    let (expenses, found) = ctx.query_records(query).await?;
    let query = Pairs::default().with(&[("assignment", doc.reference())]).query();
    page.sections = vec![Section {
        title: t.kind_title(Kind::Expense),
        note: t.count(found.count),
        links: section_links(t, Kind::Expense, &query, false),
        chart: None,
        table: record_table_in_folder(ctx, Kind::Expense, statuses, &expenses).await?,
        empty: t.msg("assignment-no-expenses").into(),
        quick_add: None,
    }];
    Ok(())
}

async fn add_expense_parts(
    ctx: &MemberContext,
    doc: &Doc,
    page: &mut RecordPage,
) -> Result<(), WebError> {
    let t = ctx.t();
    let linked = async |kind, field| -> Result<Option<RecordLink>, WebError> {
        let found = ctx.linked_records(kind, std::slice::from_ref(doc), field).await?;
        Ok(found.into_values().next())
    };
    let link_fact = |label, link: Option<RecordLink>| match link {
        Some(link) => {
            let text = format!("{} {}", link.reference, link.title);
            Fact { href: Some(link.path), ..fact(label, text) }
        }
        None => fact(label, ""),
    };
    let quantity = t.amount(doc.text("quantity"));
    let unit_price = money_text(&doc.money(t, "unitAmount"));
    page.facts = vec![
        numeric_fact(t.msg("field-amount"), money_text(&doc.money(t, "amount"))),
        numeric_fact(t.msg("field-quantity"), format!("{quantity} × {unit_price}")),
        date_fact(t, t.msg("field-date"), doc, "incurredOn"),
        fact(t.msg("field-category"), doc.text("category")),
        fact(t.msg("field-vendor"), doc.text("vendor")),
        fact(t.msg("field-submitted-by"), doc.person("submittedBy")),
        fact(t.msg("field-billable"), format::plain_text(t, &doc.0["billable"])),
        link_fact(t.msg("field-budget"), linked(Kind::Budget, "budgetId").await?),
        link_fact(t.msg("field-assignment"), linked(Kind::Assignment, "assignmentId").await?),
    ];
    Ok(())
}

async fn add_budget_parts(
    ctx: &MemberContext,
    statuses: &Statuses,
    doc: &Doc,
    page: &mut RecordPage,
) -> Result<(), WebError> {
    let t = ctx.t();
    let remaining = doc.decimal("remaining");
    let is_over = remaining.is_sign_negative() && !remaining.is_zero();
    let (label, class) = match is_over {
        true => (t.msg("budget-over"), "num warning"),
        false => (t.msg("budget-left"), "num"),
    };
    let share = BudgetShare::of(t, doc.0["percentUsed"].as_str());
    page.facts = vec![
        numeric_fact(t.msg("field-amount"), money_text(&doc.money(t, "amount"))),
        numeric_fact(t.msg("field-spent"), money_text(&doc.money(t, "spent"))),
        Fact { class, ..fact(label, money_text(&doc.money(t, "remaining"))) },
        fact(t.msg("field-category"), doc.text("category")),
        date_fact(t, t.msg("field-start"), doc, "startDate"),
        date_fact(t, t.msg("field-end"), doc, "endDate"),
    ];
    let query = RecordQuery {
        budget: Some(doc.id()?),
        sort: Sort::SOONEST,
        limit: 5_000,
        ..RecordQuery::all(Kind::Expense)
    };
    let (expenses, found) = ctx.query_records(query).await?;
    let (amount, currency) = (doc.decimal("amount"), doc.text("currency"));
    let span = (doc.date("startDate"), doc.date("endDate"));
    let counted = expenses.iter().filter(|expense| statuses.counts(expense));
    let chart = Chart::new(t, counted, amount, currency, span, ctx.request.today());
    let latest: Vec<Doc> = expenses.iter().rev().take(20).cloned().collect();
    let query = Pairs::default().with(&[("budget", doc.reference())]).query();
    let used = share.map(|share| t.msg("budget-used").arg("percent", share.percent).to_string());
    page.sections = vec![
        Section {
            title: t.msg("field-spent").into(),
            note: used.unwrap_or_default(),
            links: Vec::new(),
            chart,
            table: Table::default(),
            empty: t.msg("budget-nothing-spent").into(),
            quick_add: None,
        },
        Section {
            title: t.kind_title(Kind::Expense),
            note: t.count(found.count),
            links: section_links(t, Kind::Expense, &query, false),
            chart: None,
            table: record_table_in_folder(ctx, Kind::Expense, statuses, &latest).await?,
            empty: t.msg("budget-no-expenses").into(),
            quick_add: None,
        },
    ];
    Ok(())
}
