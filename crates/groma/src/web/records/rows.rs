//! The columns and rows of tables of records.

use crate::web::{
    WebError,
    format::{BudgetShare, Money},
    i18n::Localizer,
    record_data::{BudgetTotals, Doc, RecordLink, Statuses},
    request_context::MemberContext,
    table::{Cell, Column, Row, SortKey, Table},
};
use futures_util::future::try_join_all;
use groma_domain::{Kind, RecordId, time::Date};
use groma_store::RecordQuery;
use std::collections::HashMap;

/// A table of records.
pub(in crate::web) async fn record_table(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    docs: &[Doc],
) -> Result<Table, WebError> {
    let rows = RowBuilder::new(ctx, kind, statuses, docs).await?;
    Ok(rows.table(docs))
}

/// A table of records of one folder, which their rows do not repeat.
pub(in crate::web) async fn record_table_in_folder(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    docs: &[Doc],
) -> Result<Table, WebError> {
    let mut rows = RowBuilder::new(ctx, kind, statuses, docs).await?;
    rows.folders.clear();
    Ok(rows.table(docs))
}

fn columns(t: Localizer, kind: Kind) -> Vec<Column> {
    let column = Column::new;
    let reference = column(t.msg("column-reference"), "hide-on-phone").sorted_by(SortKey::Created);
    let status = column(t.msg("column-status"), "status-column");
    let due = column(t.msg("column-due"), "").sorted_by(SortKey::Due);
    match kind {
        Kind::Folder => vec![
            reference,
            column(t.msg("column-folder"), "").sorted_by(SortKey::Name),
            status,
            column(t.msg("column-owner"), "hide-on-phone"),
            due,
            column(t.msg("column-budget-used"), "hide-on-phone"),
            column(t.msg("column-budget"), "money hide-on-phone"),
        ],
        Kind::Assignment => vec![
            reference,
            column(t.msg("column-assignment"), ""),
            status,
            column(t.msg("column-assigned-to"), "hide-on-phone"),
            column(t.msg("column-priority"), "hide-on-phone"),
            due,
        ],
        Kind::Expense => vec![
            reference,
            column(t.msg("column-expense"), ""),
            status,
            column(t.msg("column-submitted-by"), "hide-on-phone"),
            column(t.msg("column-date"), "").sorted_by(SortKey::Date),
            column(t.msg("column-amount"), "money"),
        ],
        Kind::Budget => vec![
            reference,
            column(t.msg("column-budget"), "").sorted_by(SortKey::Name),
            status,
            column(t.msg("column-used"), "hide-on-phone").sorted_by(SortKey::Used),
            column(t.msg("column-spent"), "money"),
            column(t.msg("column-amount"), "money"),
        ],
    }
}

/// Builds the rows of records, with the data that their documents lack.
struct RowBuilder<'a> {
    t: Localizer,
    kind: Kind,
    statuses: &'a Statuses,
    /// The folders of the records.
    folders: HashMap<RecordId, RecordLink>,
    /// The budgets of the folders.
    budgets: HashMap<RecordId, (Option<BudgetShare>, Option<Money>)>,
    today: Date,
}

impl<'a> RowBuilder<'a> {
    async fn new(
        ctx: &MemberContext,
        kind: Kind,
        statuses: &'a Statuses,
        docs: &[Doc],
    ) -> Result<Self, WebError> {
        let t = ctx.t();
        let mut rows = Self {
            t,
            kind,
            statuses,
            folders: HashMap::new(),
            budgets: HashMap::new(),
            today: ctx.request.today(),
        };
        if kind == Kind::Folder {
            let totals = docs.iter().map(async |doc| {
                let id = doc.id()?;
                let of_folder =
                    RecordQuery { folder: Some(id), limit: 100, ..RecordQuery::all(Kind::Budget) };
                let (budgets, _) = ctx.query_records(of_folder).await?;
                let totals = BudgetTotals::of(&budgets, doc.text("currency"));
                let money = (!budgets.is_empty())
                    .then(|| Money::new(t, &totals.amount.to_string(), doc.text("currency")));
                Ok::<_, WebError>((id, (totals.share(t), money)))
            });
            rows.budgets = try_join_all(totals).await?.into_iter().collect();
        } else {
            rows.folders = ctx.linked_records(Kind::Folder, docs, "folderId").await?;
        }
        Ok(rows)
    }

    fn table(&self, docs: &[Doc]) -> Table {
        Table {
            columns: columns(self.t, self.kind),
            rows: docs.iter().map(|doc| self.row(doc)).collect(),
        }
    }

    fn row(&self, doc: &Doc) -> Row {
        let kind = self.kind;
        let folder = doc.link("folderId").and_then(|id| self.folders.get(&id));
        let folder = folder.map(|folder| format!("{} {}", folder.reference, folder.title));
        let reference = Cell::Reference { text: doc.reference().to_owned(), href: None };
        let name =
            |under: String| Cell::Name { text: doc.title(kind), href: doc.path(kind), under };
        let status = Cell::Status(self.statuses.badge(doc));
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
                    Cell::WideMoney(money),
                ]
            }
            Kind::Assignment => vec![
                reference,
                name(folder.unwrap_or_default()),
                status,
                Cell::Text(doc.people("assignees")),
                Cell::Text(match doc.text("priority") {
                    "normal" => String::new(),
                    priority => self.t.msg("priority-name").arg("priority", priority).into(),
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
                    Cell::Money(Some(doc.money(self.t, "amount"))),
                ]
            }
            Kind::Budget => vec![
                reference,
                name(folder.unwrap_or_default()),
                status,
                Cell::Share(BudgetShare::of(self.t, doc.0["percentUsed"].as_str())),
                Cell::Money(Some(doc.money(self.t, "spent"))),
                Cell::Money(Some(doc.money(self.t, "amount"))),
            ],
        };
        let has_two_lines =
            cells.iter().any(|cell| matches!(cell, Cell::Name { under, .. } if !under.is_empty()));
        Row { class: if has_two_lines { "two-line" } else { "" }, cells }
    }

    fn day(&self, doc: &Doc, field: &str) -> String {
        doc.date(field).map(|date| self.t.day(date, self.today)).unwrap_or_default()
    }

    fn due(&self, doc: &Doc) -> Cell {
        let due = doc.date("dueDate");
        let is_late = due.is_some_and(|due| due < self.today) && self.statuses.is_unfinished(doc);
        Cell::Day { text: self.day(doc, "dueDate"), is_late }
    }
}
