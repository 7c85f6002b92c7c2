//! The columns and rows of tables of records.

use super::{
    columns::Column,
    edit_path::{cell_path, person_field},
};
use crate::web::{
    WebError,
    format::{BudgetShare, Money},
    i18n::Localizer,
    record_data::{BudgetTotals, Doc, RecordLink, Statuses},
    request_context::MemberContext,
    table::{Cell, CellEdit, Heading, Row, Table},
};
use futures_util::future::try_join_all;
use groma_domain::{Kind, Permission, RecordId, time::Date};
use groma_store::RecordQuery;
use rust_decimal::Decimal;
use std::collections::HashMap;

/// A small table of records.
pub(in crate::web) async fn record_table(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    docs: &[Doc],
) -> Result<Table, WebError> {
    let rows = RowBuilder::new(ctx, kind, statuses, docs).await?;
    Ok(rows.table(docs, &Column::of_small_table(kind)))
}

/// A small table of records of one folder, which their rows do not repeat.
pub(in crate::web) async fn record_table_in_folder(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    docs: &[Doc],
) -> Result<Table, WebError> {
    let mut rows = RowBuilder::new(ctx, kind, statuses, docs).await?;
    rows.folders.clear();
    Ok(rows.table(docs, &Column::of_small_table(kind)))
}

/// A table with these columns, one line a row. Members who can change records can select rows.
pub(in crate::web) async fn list_table(
    ctx: &MemberContext,
    kind: Kind,
    statuses: &Statuses,
    docs: &[Doc],
    columns: &[Column],
) -> Result<Table, WebError> {
    let t = ctx.t();
    let rows = RowBuilder::new(ctx, kind, statuses, docs).await?;
    let mut table = Table { is_one_line: true, ..rows.table(docs, columns) };
    if ctx.can(Permission::ChangeRecords) {
        table.select_all = Some(t.msg("list-select-all").into());
        for (row, doc) in table.rows.iter_mut().zip(docs) {
            let label = t.msg("list-select").arg("reference", doc.reference());
            row.select = Some((doc.text("id").to_owned(), label.into()));
            row.edits = columns.iter().map(|column| cell_edit(t, kind, doc, *column)).collect();
        }
    }
    Ok(table)
}

/// How to edit the value of a cell in place.
fn cell_edit(t: Localizer, kind: Kind, doc: &Doc, column: Column) -> Option<CellEdit> {
    let field = match (column, kind) {
        (Column::Status, _) => "status",
        (Column::Person, kind) => person_field(kind)?,
        (Column::Start, _) => "startDate",
        (Column::Due, _) => "dueDate",
        (Column::Date, _) => "incurredOn",
        (Column::Amount, Kind::Budget) => "amount",
        // The amount of an expense is the unit price times the quantity.
        (Column::Amount, Kind::Expense) if doc.decimal("quantity") == Decimal::ONE => "unitAmount",
        _ => return None,
    };
    let label = t.msg("cell-edit").arg("field", column.label(t, kind)).into();
    Some(CellEdit { href: cell_path(kind, doc, field), label })
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

    fn table(&self, docs: &[Doc], columns: &[Column]) -> Table {
        let (t, kind) = (self.t, self.kind);
        let heading = |column: &Column| Heading {
            label: column.label(t, kind),
            class: column.class(kind),
            ..Heading::default()
        };
        Table {
            headings: columns.iter().map(heading).collect(),
            rows: docs.iter().map(|doc| self.row(doc, columns)).collect(),
            ..Table::default()
        }
    }

    fn row(&self, doc: &Doc, columns: &[Column]) -> Row {
        let cells: Vec<Cell> = columns.iter().map(|column| self.cell(doc, *column)).collect();
        let has_two_lines =
            cells.iter().any(|cell| matches!(cell, Cell::Name { under, .. } if !under.is_empty()));
        Row { class: if has_two_lines { "two-line" } else { "" }, cells, ..Row::default() }
    }

    fn cell(&self, doc: &Doc, column: Column) -> Cell {
        let (t, kind) = (self.t, self.kind);
        let text = |field: &str| Cell::Text(doc.text(field).to_owned());
        let budgets = || doc.link("id").and_then(|id| self.budgets.get(&id).cloned());
        match column {
            Column::Reference => Cell::Reference { text: doc.reference().to_owned(), href: None },
            Column::Name => {
                Cell::Name { text: doc.title(kind), href: doc.path(kind), under: self.under(doc) }
            }
            Column::Client => text("clientName"),
            Column::Folder => Cell::Text(self.folder(doc).unwrap_or_default()),
            Column::Status => Cell::Status(self.statuses.badge(doc)),
            Column::Person => Cell::Text(match kind {
                Kind::Assignment => doc.people("assignees"),
                Kind::Folder => doc.person("owner").to_owned(),
                _ => doc.person("submittedBy").to_owned(),
            }),
            Column::Priority => Cell::Text(match doc.text("priority") {
                "normal" => String::new(),
                priority => t.msg("priority-name").arg("priority", priority).into(),
            }),
            Column::Start => Cell::Text(self.day(doc, "startDate")),
            Column::Due => self.due(doc),
            Column::Date => Cell::Day { text: self.day(doc, "incurredOn"), is_late: false },
            Column::Category => text("category"),
            Column::Vendor => text("vendor"),
            Column::Billable => Cell::Text(match doc.0["billable"].as_bool() {
                Some(true) => t.msg("yes").into(),
                _ => String::new(),
            }),
            Column::EstimatedHours => Cell::Number(self.hours(doc, "estimatedHours")),
            Column::SpentHours => Cell::Number(self.hours(doc, "spentHours")),
            Column::Tags => {
                let tags = doc.0["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
                let tags = tags.iter().filter_map(|tag| tag.as_str());
                Cell::Text(tags.collect::<Vec<_>>().join(", "))
            }
            Column::ExternalId => text("externalId"),
            Column::Updated => {
                let updated = doc.text("updatedAt").get(..10).and_then(|day| day.parse().ok());
                Cell::Text(updated.map(|day| t.day(day, self.today)).unwrap_or_default())
            }
            Column::Used if kind == Kind::Folder => Cell::Share(budgets().and_then(|b| b.0)),
            Column::Used => Cell::Share(BudgetShare::of(t, doc.0["percentUsed"].as_str())),
            Column::Spent => Cell::Money(Some(doc.money(t, "spent"))),
            Column::Amount if kind == Kind::Folder => Cell::WideMoney(budgets().and_then(|b| b.1)),
            Column::Amount => Cell::Money(Some(doc.money(t, "amount"))),
        }
    }

    /// The folder of a record, as text.
    fn folder(&self, doc: &Doc) -> Option<String> {
        let folder = doc.link("folderId").and_then(|id| self.folders.get(&id))?;
        Some(format!("{} {}", folder.reference, folder.title))
    }

    /// The second line of a name: the client of a folder, the folder of another record.
    fn under(&self, doc: &Doc) -> String {
        let texts = match self.kind {
            Kind::Folder => [Some(doc.text("clientName").to_owned()), None],
            Kind::Expense => [Some(doc.text("vendor").to_owned()), self.folder(doc)],
            Kind::Assignment | Kind::Budget => [self.folder(doc), None],
        };
        let texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(" · ")
    }

    fn hours(&self, doc: &Doc, field: &str) -> String {
        match doc.text(field) {
            "" => String::new(),
            hours => self.t.amount(hours),
        }
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
