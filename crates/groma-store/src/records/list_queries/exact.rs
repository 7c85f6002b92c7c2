//! Lists whose pages, order and counts are exact, for the API.
//!
//! Up to [`FEW`] matches are collected and sorted. More are counted, and read along the index of the order if
//! there is one. A statement reads one snapshot, so that the total and the page agree.

use super::{
    RecordQuery, Sort, SortColumn, StatusFilter,
    conditions::{Builder, Filter, Parameter},
    dialect::Dialect,
};
use crate::{
    engine::kind_number,
    list_pages::{Cursor, SortKey, SortValue},
};
use groma_domain::{Kind, record::Priority};

/// Up to this many matches are collected and sorted.
pub(in crate::records) const FEW: u64 = 10_000;

/// A filter of a query that could find the records.
pub(in crate::records) struct Candidate {
    pub(in crate::records) filter: Filter,
    /// The query with only this filter.
    pub(in crate::records) query: RecordQuery,
}

/// The filters by which the records of a query could be found.
pub(in crate::records) fn candidates(query: &RecordQuery) -> Vec<Candidate> {
    let all = || RecordQuery::all(query.kind);
    let q = query.clone();
    let only = [
        (Filter::Reference, RecordQuery { reference: q.reference, ..all() }),
        (Filter::ExternalId, RecordQuery { external_id: q.external_id, ..all() }),
        (Filter::Assignment, RecordQuery { assignment: q.assignment, ..all() }),
        (Filter::Budget, RecordQuery { budget: q.budget, ..all() }),
        (Filter::Folder, RecordQuery { folder: q.folder, ..all() }),
        (Filter::Term, RecordQuery { term: q.term, ..all() }),
        (Filter::Bbox, RecordQuery { bbox: q.bbox, ..all() }),
        (Filter::Tag, RecordQuery { tag: q.tag, ..all() }),
        (Filter::Client, RecordQuery { client: q.client, ..all() }),
        (Filter::Category, RecordQuery { category: q.category, ..all() }),
        (Filter::Person, RecordQuery { person: q.person, ..all() }),
        (Filter::UpdatedSince, RecordQuery { updated_since: q.updated_since, ..all() }),
        (Filter::CreatedSince, RecordQuery { created_since: q.created_since, ..all() }),
        (Filter::Status, RecordQuery { status: q.status, ..all() }),
        (Filter::Day, RecordQuery { from: q.from, until: q.until, ..all() }),
        (Filter::Priority, RecordQuery { priority: q.priority, ..all() }),
        (Filter::Billable, RecordQuery { billable: q.billable, ..all() }),
        (Filter::Closed, RecordQuery { closed: q.closed, ..all() }),
    ];
    let is_given = |(filter, only): &(Filter, RecordQuery)| match filter {
        Filter::Reference => only.reference.is_some(),
        Filter::ExternalId => only.external_id.is_some(),
        Filter::Assignment => only.assignment.is_some(),
        Filter::Budget => only.budget.is_some(),
        Filter::Folder => only.folder.is_some(),
        Filter::Term => only.term.is_some(),
        Filter::Bbox => only.bbox.is_some(),
        Filter::Tag => only.tag.is_some(),
        Filter::Client => only.client.is_some(),
        Filter::Category => only.category.is_some(),
        Filter::Person => only.person.is_some(),
        Filter::UpdatedSince => only.updated_since.is_some(),
        Filter::CreatedSince => only.created_since.is_some(),
        Filter::Status => only.status != StatusFilter::Any,
        Filter::Day => only.from.is_some() || only.until.is_some(),
        Filter::Priority => only.priority.is_some(),
        Filter::Billable => only.billable.is_some(),
        Filter::Closed => only.closed.is_some(),
    };
    let given = only.into_iter().filter(is_given);
    given.map(|(filter, query)| Candidate { filter, query }).collect()
}

/// A statement with its parameters.
pub(in crate::records) struct ExactPlan {
    pub(in crate::records) sql: String,
    pub(in crate::records) parameters: Vec<Parameter>,
}

/// How a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::records) enum Reading {
    /// All matches are collected and sorted.
    Collected,
    /// The matches are counted, and the page is read along the index of the order.
    Ordered,
}

impl ExactPlan {
    /// Counts the matches of a query, up to one more than [`FEW`].
    pub(in crate::records) fn count(
        query: &RecordQuery,
        dialect: Dialect,
        pattern: Option<&str>,
        driver: Option<Filter>,
    ) -> Self {
        let mut builder = Builder::new(query.kind, dialect, driver);
        let source = builder.matches_of(query, pattern);
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT {}) c", FEW + 1);
        Self { sql, parameters: builder.parameters }
    }

    /// The total and a page: rows of total, position, sort value, document and people. Only the total if the
    /// page is empty. Limit and offset follow the parameters. The positions of a cursor are those of rows.
    pub(in crate::records) fn page(
        query: &RecordQuery,
        dialect: Dialect,
        pattern: Option<&str>,
        driver: Option<Filter>,
        reading: Reading,
        cursor: Option<&Cursor>,
    ) -> Self {
        let (kind, sort) = (query.kind, query.sort);
        let mut builder = Builder::new(kind, dialect, driver);
        let order = ExactOrder { kind, sort, is_backward: cursor.is_some_and(|c| c.is_backward) };
        let value = order.value();
        let beside = cursor.and_then(|cursor| cursor.beside.as_ref());
        let (prelude, total, page) = match reading {
            Reading::Collected => {
                let source = builder.matches_of(query, pattern);
                let prelude = format!(
                    "WITH matches AS MATERIALIZED (SELECT r.position AS position, {value} AS value FROM {source}) "
                );
                let after = order.condition(&mut builder, beside, "value", "position");
                let total = "SELECT count(*) AS total FROM matches".to_owned();
                (prelude, total, format!("SELECT position, value FROM matches WHERE {after}"))
            }
            Reading::Ordered => {
                let total = builder.total_of(query, pattern);
                builder.driver = None;
                let index = order.index(dialect, query).unwrap_or_default();
                builder.conditions_of(query, pattern);
                let conditions = builder.conditions.join(" AND ");
                let after = order.condition(&mut builder, beside, &value, "r.position");
                let source = format!("{} r {index} WHERE {conditions} AND {after}", builder.table);
                let page = format!("SELECT r.position AS position, {value} AS value FROM {source}");
                (String::new(), total, page)
            }
        };
        let inner = match reading {
            Reading::Collected => order.terms("value", "position"),
            Reading::Ordered => order.terms(&value, "r.position"),
        };
        let (limit, offset) = (
            builder.placeholder(builder.parameters.len() + 2),
            builder.placeholder(builder.parameters.len() + 3),
        );
        let (table, ws, one) = (builder.table, builder.ws(), builder.placeholder(1));
        let sql = format!(
            "{prelude}SELECT c.total, m.position, m.value, d.doc, d.people FROM ({total}) c
             LEFT JOIN ({page} ORDER BY {inner} LIMIT {limit} OFFSET {offset}) m ON true
             LEFT JOIN {table} d ON d.{ws} = {one} AND d.position = m.position ORDER BY {}",
            order.terms("m.value", "m.position")
        );
        Self { sql, parameters: builder.parameters }
    }
}

impl ExactPlan {
    /// The positions of all matches of a query, in any order that a list can have. `people` has the ids of
    /// people in the order of their names, if the query sorts by person.
    pub(in crate::records) fn positions(
        query: &RecordQuery,
        dialect: Dialect,
        pattern: Option<&str>,
        driver: Option<Filter>,
        people: Vec<String>,
    ) -> Self {
        let mut builder = Builder::new(query.kind, dialect, driver);
        let source = builder.matches_of(query, pattern);
        let ranking = match query.sort.by {
            SortColumn::Person => builder.bind(Parameter::Ranking(people)),
            _ => String::new(),
        };
        let order = query.sort.order(query.kind, dialect, "r", &ranking);
        let rows = format!("SELECT r.position FROM {source} ORDER BY {order}");
        let sql = match dialect {
            Dialect::Sqlite => rows,
            // One array takes much less memory than a row for each record.
            Dialect::Postgres => format!("SELECT ARRAY({rows})"),
        };
        Self { sql, parameters: builder.parameters }
    }
}

impl Builder {
    /// The table and the conditions of the matches.
    fn matches_of(&mut self, query: &RecordQuery, pattern: Option<&str>) -> String {
        let index = self.driving_index(query);
        self.conditions_of(query, pattern);
        format!("{} r {index} WHERE {}", self.table, self.conditions.join(" AND "))
    }

    /// The number of the matches.
    fn total_of(&mut self, query: &RecordQuery, pattern: Option<&str>) -> String {
        if candidates(query).is_empty() {
            let (ws, one, kind) = (self.ws(), self.placeholder(1), kind_number(query.kind));
            return format!(
                "SELECT coalesce((SELECT total FROM record_counters WHERE {ws} = {one} AND kind = {kind}), 0) AS total"
            );
        }
        format!("SELECT count(*) AS total FROM {}", self.matches_of(query, pattern))
    }

    /// All conditions, with parameters of their own.
    fn conditions_of(&mut self, query: &RecordQuery, pattern: Option<&str>) {
        self.conditions = vec![format!("r.{} = {}", self.ws(), self.placeholder(1))];
        if self.dialect == Dialect::Sqlite && self.driver.is_none() {
            self.conditions.push(IN_WORKSPACE.to_owned());
        }
        if let (Some(term), Some(pattern)) = (&query.term, pattern) {
            self.filter_term(term.as_str(), pattern);
        }
        self.filter(query, "r");
        if query.kind != Kind::Expense && (query.from.is_some() || query.until.is_some()) {
            // A record without a date has the last one.
            self.conditions.push("r.day <> '9999'".to_owned());
            if query.closed.is_none() {
                // The column before the date in the index.
                self.conditions.push("r.closed IN (0, 1)".to_owned());
            }
        }
    }

    fn filter_term(&mut self, term: &str, pattern: &str) {
        let (t, pattern) = (self.table, self.bind(Parameter::Text(pattern.to_owned())));
        let found = format!("FROM {t}_search WHERE {t}_search MATCH {pattern}");
        self.conditions.push(match self.dialect {
            Dialect::Sqlite if self.driver == Some(Filter::Term) => format!(
                "r.position IN (SELECT rowid {found} AND rowid BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1)"
            ),
            Dialect::Sqlite => format!("EXISTS (SELECT 1 {found} AND rowid = r.position)"),
            // Below three characters there is no whole trigram: a scan beats the index.
            Dialect::Postgres if term.chars().count() < 3 => format!("strpos(r.search, {pattern}) > 0"),
            Dialect::Postgres => format!("r.search LIKE {pattern}"),
        });
    }

    /// The index by which SQLite, which has no statistics, finds the matches.
    fn driving_index(&self, query: &RecordQuery) -> String {
        let t = self.table;
        if self.dialect == Dialect::Postgres {
            return String::new();
        }
        let Some(driver) = self.driver else {
            // An index that has the column of the order is smaller than the table.
            return match (query.kind, query.sort.by) {
                (Kind::Folder | Kind::Assignment, SortColumn::Title) => {
                    format!("INDEXED BY {t}_by_title")
                }
                (Kind::Folder | Kind::Assignment, SortColumn::Date) => {
                    format!("INDEXED BY {t}_by_day")
                }
                _ => String::new(),
            };
        };
        let index = match (driver, query.kind) {
            (Filter::Term | Filter::Bbox | Filter::Tag, _) | (Filter::Person, Kind::Assignment) => {
                return "NOT INDEXED".to_owned();
            }
            (Filter::Category, Kind::Budget) => return String::new(),
            (Filter::Priority, _) if query.priority == Some(Priority::Normal) => {
                return String::new();
            }
            (Filter::Billable, _) if query.billable == Some(false) => return String::new(),
            (Filter::Billable, _) => return format!("INDEXED BY {t}_billable"),
            (Filter::Reference, _) => "reference",
            (Filter::ExternalId, _) => "external_id",
            (Filter::Folder, _) => "folder",
            (Filter::Assignment, _) => "assignment",
            (Filter::Budget, _) => "budget",
            (Filter::Client, _) => "client",
            (Filter::Category, _) => "category",
            (Filter::Person, _) => "person",
            (Filter::UpdatedSince, _) => "update",
            (Filter::CreatedSince, _) => "id",
            (Filter::Status, _) => "status",
            (Filter::Day, _) => "day",
            (Filter::Priority, _) => "priority",
            (Filter::Closed, _) => "position",
        };
        format!("INDEXED BY {t}_by_{index}")
    }
}

/// On SQLite the table itself is in the order of creation, one workspace after another.
const IN_WORKSPACE: &str = "r.position BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1";

/// An order by a column, then by creation, the oldest first. Records without a value come last.
#[derive(Clone, Copy)]
pub(in crate::records) struct ExactOrder {
    kind: Kind,
    sort: Sort,
    is_backward: bool,
}

impl ExactOrder {
    /// The SQL expression of the column.
    fn value(self) -> String {
        let column = match self.sort.by {
            SortColumn::Updated => "r.updated_at",
            SortColumn::Reference => "r.reference_key",
            SortColumn::Title => "r.title",
            SortColumn::Date if self.kind == Kind::Expense => "r.day",
            SortColumn::Date => "nullif(r.day, '9999')",
            SortColumn::Amount => "r.amount",
            // The position decides alone.
            _ => "NULL",
        };
        column.to_owned()
    }

    fn is_nullable(self) -> bool {
        self.sort.by == SortColumn::Date && self.kind != Kind::Expense
    }

    /// Whether the values of the page fall.
    fn is_descending(self) -> bool {
        self.sort.is_descending != self.is_backward
    }

    /// The terms of an `ORDER BY`.
    fn terms(self, value: &str, position: &str) -> String {
        let direction = |is_descending| if is_descending { " DESC" } else { "" };
        let by_value = direction(self.is_descending());
        if self.sort.by == SortColumn::Created {
            return format!("{position}{by_value}");
        }
        let by_position = direction(self.is_backward);
        let nulls = match self.is_nullable() {
            true => format!("{value} IS NULL{by_position}, "),
            false => String::new(),
        };
        format!("{nulls}{value}{by_value}, {position}{by_position}")
    }

    /// The condition that a record is beyond another.
    fn condition(
        self,
        builder: &mut Builder,
        beside: Option<&SortKey>,
        value: &str,
        position: &str,
    ) -> String {
        let Some(SortKey { value: key, position: number }) = beside else {
            return "true".to_owned();
        };
        let number = i64::try_from(*number).unwrap_or(i64::MAX);
        let number = builder.bind(Parameter::Integer(number));
        let (by_value, by_position) = (
            if self.is_descending() { "<" } else { ">" },
            if self.is_backward { "<" } else { ">" },
        );
        if self.sort.by == SortColumn::Created {
            return format!("{position} {by_value} {number}");
        }
        let Some(key) = key else {
            return match self.is_backward {
                true => format!("({value} IS NOT NULL OR {position} < {number})"),
                false => format!("({value} IS NULL AND {position} > {number})"),
            };
        };
        let key = builder.bind(match key {
            SortValue::Integer(value) => Parameter::Integer(*value),
            SortValue::Number(value) => Parameter::Number(*value),
            SortValue::Text(value) => Parameter::Text(value.clone()),
        });
        let beyond = format!(
            "{value} {by_value}= {key} AND ({value} {by_value} {key} OR {position} {by_position} {number})"
        );
        match self.is_nullable() && !self.is_backward {
            true => format!("({beyond} OR {value} IS NULL)"),
            false => beyond,
        }
    }

    /// The index in this order, for SQLite; empty on PostgreSQL, which chooses by its statistics. `None` if
    /// there is none.
    pub(in crate::records) fn index(self, dialect: Dialect, query: &RecordQuery) -> Option<String> {
        let t = self.kind.plural();
        let index = match (self.kind, self.sort.by) {
            (_, SortColumn::Created) => "NOT INDEXED".to_owned(),
            (_, SortColumn::Updated) => format!("INDEXED BY {t}_by_update"),
            (Kind::Expense, SortColumn::Date) => format!("INDEXED BY {t}_by_day"),
            (Kind::Expense | Kind::Budget, SortColumn::Amount) => {
                format!("INDEXED BY {t}_by_amount")
            }
            (Kind::Budget, SortColumn::Title) => format!("INDEXED BY {t}_by_title"),
            (Kind::Folder | Kind::Assignment, SortColumn::Title) if query.closed.is_some() => {
                format!("INDEXED BY {t}_by_title")
            }
            _ => return None,
        };
        Some(if dialect == Dialect::Sqlite { index } else { String::new() })
    }

    /// The order of a query.
    pub(in crate::records) fn of(query: &RecordQuery) -> Self {
        Self { kind: query.kind, sort: query.sort, is_backward: false }
    }

    /// Whether the column can have a value.
    pub(in crate::records) fn has_value(self, value: Option<&SortValue>) -> bool {
        match self.sort.by {
            SortColumn::Created => value.is_none(),
            SortColumn::Updated => matches!(value, Some(SortValue::Integer(_))),
            SortColumn::Amount => matches!(value, Some(SortValue::Number(_))),
            _ => match value {
                None => self.is_nullable(),
                Some(value) => matches!(value, SortValue::Text(_)),
            },
        }
    }
}
