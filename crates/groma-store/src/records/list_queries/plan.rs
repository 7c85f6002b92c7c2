//! The statements of a list query for both engines, assembled from a few fixed parts.

use super::{
    COUNT_LIMIT, RecordCount, RecordQuery, Sort, SortColumn, StatusFilter,
    conditions::{Builder, Filter, Parameter},
    dialect::Dialect,
};
use groma_domain::{Kind, SearchTerm};

/// A tag is common if more folders than this have it.
pub(in crate::records) const COMMON_TAG: u64 = 20_000;
/// The number of the newest matches of a term that other filters apply to.
const MATCH_LIMIT: u64 = 20_000;
/// How far one can page into a filtered list of more than [`COUNT_LIMIT`].
const FILTERED_PAGING_LIMIT: u64 = 2_000;
/// How far one can page into an unfiltered list of more than [`COUNT_LIMIT`].
const PAGING_LIMIT: u64 = 100_000;

/// The statements of a query.
pub(in crate::records) struct Plan {
    /// Counts the matches of the term, up to one more than the limit; its parameters and the limit.
    pub(in crate::records) matches: Option<(String, Vec<Parameter>, u64)>,
    /// Counts the records, up to one more than [`COUNT_LIMIT`].
    pub(in crate::records) count: String,
    /// Counts the records with the opposite of `closed`, if that is the only filter.
    pub(in crate::records) complement: Option<String>,
    /// Whether there is no filter at all.
    pub(in crate::records) is_unfiltered: bool,
    /// The page when there are few records, which may be sorted. Limit and offset follow the parameters,
    /// then the ranking.
    pub(in crate::records) few: String,
    /// The people in the order of their names, if the list is sorted by person.
    pub(in crate::records) ranking: Option<Parameter>,
    /// The page when there are many records, read along the index of the order.
    pub(in crate::records) many: String,
    /// Whether `many` has the requested order.
    pub(in crate::records) is_many_sorted: bool,
    pub(in crate::records) parameters: Vec<Parameter>,
}

impl Plan {
    /// `pattern` is what the engine's search takes for the term. `people` has the ids of people in the
    /// order of their names, if the query sorts by person. `is_tag_common` tells whether more folders than
    /// [`COMMON_TAG`] have the tag of the query.
    pub(in crate::records) fn new(
        query: &RecordQuery,
        dialect: Dialect,
        pattern: Option<String>,
        people: Vec<String>,
        is_tag_common: bool,
    ) -> Self {
        let driver = (!is_tag_common).then_some(Filter::Tag);
        Builder::new(query.kind, dialect, driver).plan(query, pattern, people)
    }

    /// How far one can page.
    pub(in crate::records) fn reachable(&self, count: RecordCount) -> u64 {
        match count {
            RecordCount::Exactly(count) if count <= COUNT_LIMIT => count,
            RecordCount::Exactly(count) if self.is_unfiltered || self.complement.is_some() => {
                count.min(PAGING_LIMIT)
            }
            RecordCount::MoreThan(_) if self.complement.is_some() => PAGING_LIMIT,
            RecordCount::MoreThan(_) if self.matches.is_some() => COUNT_LIMIT,
            RecordCount::Exactly(_) | RecordCount::MoreThan(_) => FILTERED_PAGING_LIMIT,
        }
    }
}

impl Builder {
    fn plan(mut self, query: &RecordQuery, pattern: Option<String>, people: Vec<String>) -> Plan {
        let (ws, one) = (self.ws(), self.placeholder(1));
        let t = self.table;
        // Assignees are in a table of their own, which has the date and `closed` too.
        let joins_people = query.kind == Kind::Assignment
            && query.person.is_some()
            && pattern.is_none()
            && query.folder.is_none();
        let from_people = if joins_people { "p" } else { "r" };
        let (mut source, mut matches) = (format!("{t} r"), None);
        if let Some(pattern) = pattern {
            let term = self.bind(Parameter::Text(pattern));
            let limit = if is_narrowed(query) { MATCH_LIMIT } else { COUNT_LIMIT };
            let found = self.matches(&term, query.term.as_ref(), limit + 1);
            let count = format!("SELECT count(*) FROM ({found}) h");
            matches = Some((count, self.parameters.clone(), limit));
            source = match self.dialect {
                Dialect::Sqlite => {
                    format!("({found}) h CROSS JOIN {t} r ON r.position = h.position")
                }
                Dialect::Postgres => {
                    format!(
                        "({found}) h JOIN {t} r ON r.workspace_id = $1 AND r.position = h.position"
                    )
                }
            };
        } else if joins_people {
            source = match self.dialect {
                Dialect::Sqlite => {
                    format!("assignment_people p CROSS JOIN {t} r ON r.position = p.position")
                }
                Dialect::Postgres => format!(
                    "assignment_people p JOIN {t} r ON r.workspace_id = p.workspace_id AND r.position = p.position"
                ),
            };
        }
        self.conditions.push(format!("{from_people}.{ws} = {one}"));
        let before = self.conditions.len();
        self.filter(query, from_people);
        let is_unfiltered = self.conditions.len() == before && matches.is_none();
        let is_only_closed =
            query.closed.is_some() && self.conditions.len() == before + 1 && matches.is_none();
        let conditions = self.conditions.join(" AND ");
        let count = |conditions: &str| {
            format!(
                "SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {conditions} LIMIT {}) c",
                COUNT_LIMIT + 1
            )
        };
        let complement = is_only_closed.then(|| {
            let (is, other) = (".closed = 0", ".closed = 1");
            let flipped = if conditions.contains(is) {
                conditions.replace(is, other)
            } else {
                conditions.replace(other, is)
            };
            count(&flipped)
        });
        let (limit, offset) = (
            self.placeholder(self.parameters.len() + 2),
            self.placeholder(self.parameters.len() + 3),
        );
        let page = |source: &str, conditions: &str, order: &str| {
            format!(
                "SELECT r.doc, r.people FROM {source} WHERE {conditions} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
            )
        };
        // The ranking of people comes after the limit and the offset.
        let ranking = self.placeholder(self.parameters.len() + 4);
        let few_order = query.sort.order(query.kind, self.dialect, from_people, &ranking);
        let few = page(&source, &conditions, &few_order);
        let many_sort = if query.sort.has_index(query.kind) { query.sort } else { Sort::NEWEST };
        let (many_order, dated) = many_sort.index_order(query.kind, from_people);
        let conditions_of_many = format!("{conditions}{dated}");
        let index = self.ordered_index(query, many_sort);
        let many = match index.filter(|_| matches.is_none() && !joins_people) {
            Some((index, within)) => page(
                &format!("{t} r {index}"),
                &format!("{conditions_of_many}{within}"),
                &many_order,
            ),
            None => page(&source, &conditions_of_many, &many_order),
        };
        let count = count(&conditions);
        let is_many_sorted = many_sort == query.sort;
        let parameters = self.parameters;
        let ranking = (query.sort.by == SortColumn::Person).then_some(Parameter::Ranking(people));
        Plan {
            matches,
            count,
            complement,
            is_unfiltered,
            few,
            ranking,
            many,
            is_many_sorted,
            parameters,
        }
    }

    /// The positions of the newest matches of a term.
    fn matches(&self, term: &str, sought: Option<&SearchTerm>, limit: u64) -> String {
        let t = self.table;
        match self.dialect {
            // The number of the workspace is in the upper bits of a position.
            Dialect::Sqlite => format!(
                "SELECT rowid AS position FROM {t}_search WHERE {t}_search MATCH {term}
                 AND rowid BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1 ORDER BY rowid DESC LIMIT {limit}"
            ),
            Dialect::Postgres => {
                // Below three characters there is no whole trigram: a scan beats the index.
                let is_short = sought.is_some_and(|term| term.as_str().chars().count() < 3);
                let matches = if is_short {
                    format!("strpos(search, {term}) > 0")
                } else {
                    format!("search LIKE {term}")
                };
                format!(
                    "SELECT position FROM {t} WHERE workspace_id = $1 AND {matches} ORDER BY position DESC LIMIT {limit}"
                )
            }
        }
    }

    /// The index in the order of the list, and a condition that it needs. Only for SQLite: PostgreSQL
    /// chooses by its statistics.
    fn ordered_index(&self, query: &RecordQuery, sort: Sort) -> Option<(String, &'static str)> {
        let is_linked =
            query.folder.is_some() || query.assignment.is_some() || query.budget.is_some();
        if self.dialect == Dialect::Postgres || is_linked {
            return None;
        }
        let has_state = query.closed.is_some();
        let by = match (query.kind, sort.by) {
            (Kind::Folder, _) if query.has_bbox => {
                return Some(("INDEXED BY folders_with_bbox".to_owned(), ""));
            }
            (Kind::Folder | Kind::Assignment, SortColumn::Created) if has_state => "position",
            (Kind::Folder | Kind::Assignment, SortColumn::Date) if has_state => "day",
            (Kind::Folder | Kind::Assignment, SortColumn::Title) if has_state => "title",
            (_, SortColumn::Reference) => "reference",
            (Kind::Expense, SortColumn::Date) => "day",
            (Kind::Budget, SortColumn::Title) => "title",
            (Kind::Budget, SortColumn::Used) => "used",
            (Kind::Expense | Kind::Budget, SortColumn::Amount) => "amount",
            // The table itself is in the order of creation, one workspace after another.
            (_, SortColumn::Created) => {
                let within = " AND r.position BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1";
                return Some(("NOT INDEXED".to_owned(), within));
            }
            _ => return None,
        };
        Some((format!("INDEXED BY {}_by_{by}", self.table), ""))
    }
}

/// Whether a query has any filter.
pub(in crate::records) fn has_filters(query: &RecordQuery) -> bool {
    query.term.is_some() || query.closed.is_some() || is_narrowed(query)
}

/// Whether there are filters besides a term and `closed`.
fn is_narrowed(query: &RecordQuery) -> bool {
    query.status != StatusFilter::Any
        || query.person.is_some()
        || query.folder.is_some()
        || query.assignment.is_some()
        || query.budget.is_some()
        || query.from.is_some()
        || query.until.is_some()
        || query.is_undated
        || query.tag.is_some()
        || query.client.is_some()
        || query.category.is_some()
        || query.priority.is_some()
        || query.billable.is_some()
        || query.min_amount.is_some()
        || query.max_amount.is_some()
        || query.is_overspent
        || query.has_bbox
        || query.bbox.is_some()
        || query.reference.is_some()
        || query.external_id.is_some()
        || query.created_since.is_some()
        || query.updated_since.is_some()
}
