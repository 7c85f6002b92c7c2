//! Tables of records: columns, rows, cells.

use super::shown::{Money, Share, StatusShown};
use askama::Template;

/// A list with its heading.
#[derive(Template, Default)]
#[template(path = "table.html")]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

/// The heading of a column.
pub(crate) struct Column {
    pub(crate) label: &'static str,
    pub(crate) class: &'static str,
    /// Where a click sorts by it.
    pub(crate) href: Option<String>,
    /// `ascending` or `descending` when the list is sorted by it.
    pub(crate) sorted: Option<&'static str>,
}

impl Column {
    pub(crate) fn new(label: &'static str, class: &'static str) -> Self {
        Self { label, class, href: None, sorted: None }
    }
}

#[derive(Default)]
pub(crate) struct Row {
    pub(crate) class: &'static str,
    pub(crate) cells: Vec<Cell>,
}

/// What stands in a cell.
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
    Status(Option<StatusShown>),
    Text(String),
    Day {
        text: String,
        is_late: bool,
    },
    Money(Option<Money>),
    /// Money that phones leave out.
    Aside(Option<Money>),
    Share(Option<Share>),
}
