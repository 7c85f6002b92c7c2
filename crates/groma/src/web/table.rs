//! Tables of records.

use super::format::{BudgetShare, Money, StatusBadge};
use askama::Template;

#[derive(Template, Default)]
#[template(path = "record_table.html")]
pub(crate) struct Table {
    pub(crate) headings: Vec<Heading>,
    pub(crate) rows: Vec<Row>,
    /// Whether each row takes one line. Otherwise the name has a second line.
    pub(crate) is_one_line: bool,
    /// The text of the checkbox that selects all rows, if rows can be selected.
    pub(crate) select_all: Option<String>,
}

/// The heading of a column.
#[derive(Default)]
pub(crate) struct Heading {
    pub(crate) label: String,
    pub(crate) class: &'static str,
    /// The link that sorts by it.
    pub(crate) href: Option<String>,
    /// `ascending` or `descending` when the list is sorted by it.
    pub(crate) sorted: Option<&'static str>,
}

#[derive(Default)]
pub(crate) struct Row {
    pub(crate) class: &'static str,
    pub(crate) cells: Vec<Cell>,
    /// The id of the record, and the text of the checkbox that selects it.
    pub(crate) select: Option<(String, String)>,
    /// For each cell how to edit its value, if it can be edited in place.
    pub(crate) edits: Vec<Option<CellEdit>>,
}

/// How to edit the value of a cell.
pub(crate) struct CellEdit {
    /// Where the form is.
    pub(crate) href: String,
    /// What the button does, before the value.
    pub(crate) label: String,
}

/// For templates.
impl Row {
    pub(crate) fn edit(&self, index: &usize) -> Option<&CellEdit> {
        self.edits.get(*index)?.as_ref()
    }
}

/// The content of a cell.
pub(crate) enum Cell {
    Reference {
        text: String,
        href: Option<String>,
    },
    Name {
        text: String,
        href: String,
        under: String,
    },
    Status(Option<StatusBadge>),
    Text(String),
    /// A number with its unit, aligned to the right.
    Number(String),
    Day {
        text: String,
        is_late: bool,
    },
    Money(Option<Money>),
    /// Money that phones do not show.
    WideMoney(Option<Money>),
    Share(Option<BudgetShare>),
}
