//! Filtered and sorted lists, a page at a time, over millions of records.
//!
//! Counting stops at [`COUNT_LIMIT`]. A list with more records than that is read along the index of its
//! order instead of being sorted, and paging into it is limited. [`plan`] writes the statements for both
//! engines. [`exact`] writes those of the API, whose pages, order and counts are always exact.

mod conditions;
mod dialect;
#[cfg(test)]
mod every_statement;
mod exact;
mod exact_page;
mod plan;
mod sort;

pub(super) use conditions::{Filter, Parameter};
pub(crate) use dialect::Dialect;
#[cfg(test)]
pub(crate) use every_statement::every_statement;
pub(super) use exact::{ExactOrder, ExactPlan, FEW, Reading, candidates};
pub(super) use exact_page::{ExactPage, FoundRecord};
pub(super) use plan::{COMMON_TAG, Plan, has_filters};
pub use sort::{Sort, SortColumn};

use groma_domain::{
    Kind, PersonId, RecordId, SearchTerm, StatusId, Timestamp, record::Priority,
    text::FIELD_SEPARATOR, time::Date,
};
use groma_geo::Bbox;
use rust_decimal::Decimal;

/// Up to this number records are counted and sorted; beyond it there are "more than" this many.
pub const COUNT_LIMIT: u64 = 5_000;

/// A query for a page of records. Filters combine by AND.
#[derive(Clone, Debug)]
pub struct RecordQuery {
    /// Their kind.
    pub kind: Kind,
    /// The text they contain.
    pub term: Option<SearchTerm>,
    /// Their reference.
    pub reference: Option<String>,
    /// Their external id.
    pub external_id: Option<String>,
    /// Created at this time or later.
    pub created_since: Option<Timestamp>,
    /// Changed at this time or later.
    pub updated_since: Option<Timestamp>,
    /// Whether they are archived (folders) or completed (assignments).
    pub closed: Option<bool>,
    /// Their status.
    pub status: StatusFilter,
    /// The owner of a folder, an assignee of an assignment, the submitter of an expense.
    pub person: Option<PersonId>,
    /// Their folder.
    pub folder: Option<RecordId>,
    /// The assignment of an expense.
    pub assignment: Option<RecordId>,
    /// The budget of an expense.
    pub budget: Option<RecordId>,
    /// Due or incurred on this day or later.
    pub from: Option<Date>,
    /// Due or incurred on this day or earlier.
    pub until: Option<Date>,
    /// Only folders and assignments that are due on no day.
    pub is_undated: bool,
    /// A tag of a folder.
    pub tag: Option<String>,
    /// The client of a folder, in any spelling that folds to the same text.
    pub client: Option<String>,
    /// The category of an expense or budget, in any spelling that folds to the same text.
    pub category: Option<String>,
    /// The priority of an assignment.
    pub priority: Option<Priority>,
    /// Whether an expense is billable.
    pub billable: Option<bool>,
    /// The smallest amount of an expense or budget.
    pub min_amount: Option<Decimal>,
    /// The largest amount of an expense or budget.
    pub max_amount: Option<Decimal>,
    /// Only budgets that are overspent.
    pub is_overspent: bool,
    /// Only folders that have geometries.
    pub has_bbox: bool,
    /// Only folders whose bounding box meets this one. It can cross the antimeridian: west is then greater
    /// than east.
    pub bbox: Option<Bbox>,
    /// The order.
    pub sort: Sort,
    /// How many to skip.
    pub skip: u64,
    /// How many at most.
    pub limit: u32,
}

impl RecordQuery {
    /// All records of a kind, newest first, a page of 50.
    #[must_use]
    pub fn all(kind: Kind) -> Self {
        Self {
            kind,
            term: None,
            reference: None,
            external_id: None,
            created_since: None,
            updated_since: None,
            closed: None,
            status: StatusFilter::Any,
            person: None,
            folder: None,
            assignment: None,
            budget: None,
            from: None,
            until: None,
            is_undated: false,
            tag: None,
            client: None,
            category: None,
            priority: None,
            billable: None,
            min_amount: None,
            max_amount: None,
            is_overspent: false,
            has_bbox: false,
            bbox: None,
            sort: Sort::NEWEST,
            skip: 0,
            limit: 50,
        }
    }
}

/// A filter by status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// Any status or none.
    Any,
    /// This status.
    Is(StatusId),
    /// One of these statuses.
    AnyOf(Vec<StatusId>),
    /// No status, or one that is not listed.
    NoneOf(Vec<StatusId>),
}

/// A page of records.
#[derive(Clone, Debug)]
pub struct RecordPage {
    /// The public documents.
    pub documents: Vec<Vec<u8>>,
    /// How many records match.
    pub count: RecordCount,
    /// How many of them can be reached by paging.
    pub reachable: u64,
    /// Whether they are in the requested order: more than [`COUNT_LIMIT`] records are sorted only by
    /// columns that have an index, otherwise the newest come first.
    pub is_sorted: bool,
}

impl RecordPage {
    pub(super) fn empty() -> Self {
        let count = RecordCount::Exactly(0);
        Self { documents: Vec::new(), count, reachable: 0, is_sorted: true }
    }
}

/// A count that may have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordCount {
    /// The exact count.
    Exactly(u64),
    /// Counting stopped here.
    MoreThan(u64),
}

/// The count of records, from what was counted.
pub(super) fn record_count(counted: u64, is_cut: bool) -> RecordCount {
    if is_cut || counted > COUNT_LIMIT {
        RecordCount::MoreThan(counted.min(COUNT_LIMIT))
    } else {
        RecordCount::Exactly(counted)
    }
}

/// Whether a term can match anything.
pub(super) fn can_match(term: &SearchTerm) -> bool {
    term.can_match() && !term.as_str().contains(FIELD_SEPARATOR)
}
