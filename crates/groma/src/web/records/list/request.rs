//! The query of a list, read from its address.

use super::super::columns::Column;
use crate::web::{
    WebError,
    fields::Choice,
    form::Pairs,
    i18n::Localizer,
    record_data::{Doc, RecordLink, Statuses, parse_key},
    request_context::MemberContext,
};
use groma_domain::{Kind, RecordId, SearchTerm, record::Priority, time::Date};
use groma_store::{RecordQuery, Sort, SortColumn, StatusFilter};
use jiff::ToSpan;
use rust_decimal::Decimal;

pub(super) const PAGE_SIZE: u32 = 50;

/// The parameters that filter a list, besides its tab.
pub(super) const FILTERS: [&str; 17] = [
    "q",
    "status",
    "person",
    "due",
    "from",
    "until",
    "over",
    "folder",
    "budget",
    "assignment",
    "client",
    "tag",
    "category",
    "priority",
    "billable",
    "min",
    "max",
];

/// The tab of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
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

    pub(super) fn name(self) -> &'static str {
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
pub(super) struct ListRequest {
    pub(super) records: RecordQuery,
    pub(super) page: u64,
    pub(super) folder: Option<RecordLink>,
    pub(super) is_filtered: bool,
    pub(super) term: String,
    pub(super) tab: Option<Tab>,
}

impl ListRequest {
    pub(super) async fn read(
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
        read_dates(&mut records, query, ctx.request.today());
        // Finished records are no longer due.
        let due = query.get("due");
        let is_open_only =
            due == "overdue" || due_days(due).is_some() || query.get("over") == "open";
        if is_open_only && records.status == StatusFilter::Any {
            records.status = statuses.unfinished(kind).status;
        }
        read_values(&mut records, query, ctx.t());
        if kind == Kind::Expense {
            records.budget = linked_id(ctx, Kind::Budget, query.get("budget")).await?;
            records.assignment = linked_id(ctx, Kind::Assignment, query.get("assignment")).await?;
        }
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
        let is_filtered = FILTERS.iter().any(|name| query.given(name).is_some());
        records.sort = sort(kind, query.get("sort"));
        let page = query.get("page").parse().unwrap_or(1_u64).clamp(1, 1_000_000);
        records.skip = (page - 1) * u64::from(PAGE_SIZE);
        records.limit = PAGE_SIZE;
        Ok(Self { records, page, folder, is_filtered, term: typed, tab: tab.copied() })
    }

    pub(super) fn tabs(&self, t: Localizer, query: &Pairs) -> Vec<Choice> {
        let kind = self.records.kind;
        let choice = |tab: &Tab| {
            let query = query.with(&[("state", tab.state()), ("page", "")]).query();
            let label = t.msg("list-tab").arg("tab", tab.name());
            Choice::new(format!("/{}{query}", kind.plural()), label, Some(*tab) == self.tab)
        };
        Tab::of(kind).iter().map(choice).collect()
    }
}

/// The filters by due or incurred date.
fn read_dates(records: &mut RecordQuery, query: &Pairs, today: Date) {
    if records.kind == Kind::Budget {
        return;
    }
    records.from = query.get("from").parse().ok();
    records.until = query.get("until").parse().ok();
    let due = query.get("due");
    match (due, due_days(due)) {
        ("overdue", _) => records.until = today.yesterday().ok(),
        (_, Some(days)) => {
            (records.from, records.until) = (Some(today), Some(days_after(today, days)));
        }
        ("none", _) => records.is_undated = true,
        _ => {}
    }
    // A record without a date has the last one.
    if records.kind != Kind::Expense && records.from.is_some() && records.until.is_none() {
        records.until = "9998-12-31".parse().ok();
    }
}

/// The filters by the values of fields.
fn read_values(records: &mut RecordQuery, query: &Pairs, t: Localizer) {
    let kind = records.kind;
    let text = |name| query.given(name).map(|text| text.chars().take(200).collect());
    if kind == Kind::Folder {
        (records.client, records.tag) = (text("client"), text("tag"));
    }
    if kind == Kind::Assignment {
        let named = Priority::NAMES.iter().find(|(name, _)| *name == query.get("priority"));
        records.priority = named.map(|(_, priority)| *priority);
    }
    if let Kind::Expense | Kind::Budget = kind {
        let amount =
            |name| -> Option<Decimal> { t.parse_decimal(query.given(name)?)?.parse().ok() };
        records.category = text("category");
        (records.min_amount, records.max_amount) = (amount("min"), amount("max"));
    }
    if kind == Kind::Expense {
        records.billable = match query.get("billable") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
    }
    records.is_overspent = kind == Kind::Budget && matches!(query.get("over"), "open" | "all");
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

/// The requested order, or the default of a kind. `-` before the key of a column reverses it.
fn sort(kind: Kind, sent: &str) -> Sort {
    let (key, is_descending) = match sent.strip_prefix('-') {
        Some(key) => (key, true),
        None => (sent, false),
    };
    let columns = Column::of(kind).iter();
    let by = columns.filter(|column| column.key() == key).find_map(|column| column.sort_column());
    match (by, key) {
        (Some(by), _) => Sort { by, is_descending },
        (None, "created") => Sort { by: SortColumn::Created, is_descending },
        _ => match kind {
            Kind::Folder | Kind::Budget => Sort::NEWEST,
            Kind::Assignment => Sort::SOONEST,
            Kind::Expense => Sort::LATEST,
        },
    }
}
