//! Tables of records.

use super::format::{BudgetShare, Money, StatusBadge};
use askama::Template;

#[derive(Template, Default)]
#[template(path = "record_table.html")]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

/// The heading of a column.
pub(crate) struct Column {
    pub(crate) label: String,
    pub(crate) class: &'static str,
    /// The order that a click on the heading sorts by.
    pub(crate) sort_key: Option<SortKey>,
    /// The link that sorts by it.
    pub(crate) href: Option<String>,
    /// `ascending` or `descending` when the list is sorted by it.
    pub(crate) sorted: Option<&'static str>,
}

/// A column that a list can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortKey {
    Created,
    Name,
    Due,
    Date,
    Used,
}

impl Column {
    pub(crate) fn new(label: impl Into<String>, class: &'static str) -> Self {
        Self { label: label.into(), class, sort_key: None, href: None, sorted: None }
    }

    pub(crate) fn sorted_by(self, key: SortKey) -> Self {
        Self { sort_key: Some(key), ..self }
    }
}

#[derive(Default)]
pub(crate) struct Row {
    pub(crate) class: &'static str,
    pub(crate) cells: Vec<Cell>,
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
    Day {
        text: String,
        is_late: bool,
    },
    Money(Option<Money>),
    /// Money that phones do not show.
    WideMoney(Option<Money>),
    Share(Option<BudgetShare>),
}
