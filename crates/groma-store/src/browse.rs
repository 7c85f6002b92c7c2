//! Lists as people look at them: filtered, sorted, a page at a time, over millions of records.
//!
//! What costs is what is not shown. So a count stops at [`MANY`], a list with more than that is
//! walked along the index of its order instead of being sorted, and only so far into it as is still
//! quick. The statements are put together here, for both engines, out of a few fixed pieces.

use crate::{Result, Store, store::on_engine};
use groma_domain::{
    Kind, PersonId, RecordId, SearchTerm, StatusId, WorkspaceId, text::FIELD_SEPARATOR, time::Date,
};
use uuid::Uuid;

/// Up to here things are counted and sorted; beyond, there are «more than» so many.
pub const MANY: u64 = 5_000;
/// How many of the newest that a term finds are looked at when something else is asked for too.
const HITS: u64 = 20_000;
/// How far one can page into a list of more than [`MANY`] that is filtered.
const REACH_FILTERED: u64 = 2_000;
/// How far one can page into a list of more than [`MANY`] that is not.
const REACH: u64 = 100_000;

/// Which records, in which order, and which of them.
#[derive(Clone, Debug)]
pub struct Browse {
    /// Their kind.
    pub kind: Kind,
    /// What they contain.
    pub term: Option<SearchTerm>,
    /// Whether they are archived (folders) or completed (assignments).
    pub closed: Option<bool>,
    /// Their status.
    pub status: StatusFilter,
    /// Whose: a folder's owner, an assignment's assignee, who handed in an expense.
    pub person: Option<PersonId>,
    /// The folder they are in.
    pub folder: Option<RecordId>,
    /// The assignment an expense was made for.
    pub assignment: Option<RecordId>,
    /// The budget an expense counts against.
    pub budget: Option<RecordId>,
    /// Due, or incurred, on this day or later.
    pub from: Option<Date>,
    /// Due, or incurred, on this day or earlier.
    pub until: Option<Date>,
    /// Only budgets that are spent beyond their amount.
    pub is_over: bool,
    /// Only folders that have geometries.
    pub is_placed: bool,
    /// The order.
    pub sort: Sort,
    /// How many to pass over.
    pub skip: u64,
    /// How many at most.
    pub limit: u32,
}

impl Browse {
    /// All records of a kind, newest first, a page of 50.
    #[must_use]
    pub fn all(kind: Kind) -> Self {
        Self {
            kind,
            term: None,
            closed: None,
            status: StatusFilter::Any,
            person: None,
            folder: None,
            assignment: None,
            budget: None,
            from: None,
            until: None,
            is_over: false,
            is_placed: false,
            sort: Sort::Newest,
            skip: 0,
            limit: 50,
        }
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The last created first.
    Newest,
    /// The first created first.
    Oldest,
    /// By the day they are due, or were incurred; those without one last.
    Soonest,
    /// The same from its end, without those that have no day.
    Latest,
    /// By name.
    Title,
    /// Budgets by the share that is spent, the largest first.
    Used,
}

impl Sort {
    /// The orders that a list of a kind can have.
    #[must_use]
    pub fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Folder => &[Self::Newest, Self::Oldest, Self::Soonest, Self::Latest, Self::Title],
            Kind::Assignment | Kind::Expense => {
                &[Self::Newest, Self::Oldest, Self::Soonest, Self::Latest]
            }
            Kind::Budget => &[Self::Newest, Self::Oldest, Self::Title, Self::Used],
        }
    }
}

/// Which statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusFilter {
    /// Whatever.
    Any,
    /// This one.
    Is(StatusId),
    /// One of these.
    AnyOf(Vec<StatusId>),
    /// None of these; without one is also none of these.
    NoneOf(Vec<StatusId>),
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Browsed {
    /// The public documents.
    pub documents: Vec<Vec<u8>>,
    /// How many there are in all.
    pub count: Count,
    /// How many of them can be reached by paging.
    pub reach: u64,
}

/// A count that may have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Exactly(u64),
    /// Counting stopped here.
    MoreThan(u64),
}

impl Store {
    /// A page of the records that are asked for.
    pub async fn browse(&self, workspace: WorkspaceId, browse: Browse) -> Result<Browsed> {
        on_engine!(self, engine => engine.browse(workspace, browse).await)
    }
}

/// The two ways to write SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A value to be bound, behind the workspace, which is always the first.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Id(Uuid),
    Ids(Vec<Uuid>),
    Text(String),
}

/// A browse as statements.
pub(crate) struct Plan {
    /// Counts what the term finds, up to one more than are looked at; and how many that are.
    pub(crate) hits: Option<(String, Vec<Bound>, u64)>,
    /// Counts the records, up to one more than [`MANY`].
    pub(crate) count: String,
    /// Counts those on the other side of `closed`, when nothing else is asked for.
    pub(crate) complement: Option<String>,
    /// Whether nothing is asked for, so that all of the kind are meant.
    pub(crate) is_all: bool,
    /// The page when there are few: they may be sorted. Limit and offset are the last two values.
    pub(crate) few: String,
    /// The page when there are many: the index of the order is walked.
    pub(crate) many: String,
    pub(crate) values: Vec<Bound>,
}

impl Plan {
    /// `wanted` is what the engine's search takes for the term.
    pub(crate) fn new(browse: &Browse, dialect: Dialect, wanted: Option<String>) -> Self {
        Writer::new(browse, dialect).plan(browse, wanted)
    }

    /// How far one can page.
    pub(crate) fn reach(&self, count: Count) -> u64 {
        match count {
            Count::Exactly(count) if count <= MANY => count,
            Count::Exactly(count) if self.is_all || self.complement.is_some() => count.min(REACH),
            Count::MoreThan(_) if self.complement.is_some() => REACH,
            Count::MoreThan(_) if self.hits.is_some() => MANY,
            Count::Exactly(_) | Count::MoreThan(_) => REACH_FILTERED,
        }
    }
}

struct Writer {
    dialect: Dialect,
    table: &'static str,
    values: Vec<Bound>,
    conditions: Vec<String>,
}

impl Writer {
    fn new(browse: &Browse, dialect: Dialect) -> Self {
        let table = browse.kind.plural();
        Self { dialect, table, values: Vec::new(), conditions: Vec::new() }
    }

    fn ws(&self) -> &'static str {
        if self.dialect == Dialect::Sqlite { "ws" } else { "workspace_id" }
    }

    fn place(&self) -> &'static str {
        if self.dialect == Dialect::Sqlite { "place" } else { "seq" }
    }

    fn slot(&self, number: usize) -> String {
        if self.dialect == Dialect::Sqlite { format!("?{number}") } else { format!("${number}") }
    }

    /// Takes a value; gives its name in the statement.
    fn bind(&mut self, value: Bound) -> String {
        self.values.push(value);
        self.slot(self.values.len() + 1)
    }

    fn plan(mut self, browse: &Browse, wanted: Option<String>) -> Plan {
        let (ws, place, one) = (self.ws(), self.place(), self.slot(1));
        let t = self.table;
        // Who does an assignment is in a table of its own, which has the day and the state too.
        let joins_people = browse.kind == Kind::Assignment
            && browse.person.is_some()
            && wanted.is_none()
            && browse.folder.is_none();
        let from_people = if joins_people { "p" } else { "r" };
        let (mut source, mut hits) = (format!("{t} r"), None);
        if let Some(wanted) = wanted {
            let term = self.bind(Bound::Text(wanted));
            let looked_at = if is_narrowed(browse) { HITS } else { MANY };
            let found = self.hits(&term, browse.term.as_ref(), looked_at + 1);
            let count = format!("SELECT count(*) FROM ({found}) h");
            hits = Some((count, self.values.clone(), looked_at));
            source = match self.dialect {
                Dialect::Sqlite => format!("({found}) h CROSS JOIN {t} r ON r.place = h.place"),
                Dialect::Postgres => {
                    format!("({found}) h JOIN {t} r ON r.workspace_id = $1 AND r.seq = h.seq")
                }
            };
        } else if joins_people {
            source = match self.dialect {
                Dialect::Sqlite => {
                    format!("assignment_people p CROSS JOIN {t} r ON r.place = p.place")
                }
                Dialect::Postgres => format!(
                    "assignment_people p JOIN {t} r ON r.workspace_id = p.workspace_id AND r.seq = p.seq"
                ),
            };
        }
        self.conditions.push(format!("{from_people}.{ws} = {one}"));
        let before = self.conditions.len();
        self.filter(browse, from_people);
        if browse.sort == Sort::Latest && browse.kind != Kind::Expense {
            self.conditions.push(format!("{from_people}.day < '9999'"));
        }
        let is_all = self.conditions.len() == before && hits.is_none();
        let is_half =
            browse.closed.is_some() && self.conditions.len() == before + 1 && hits.is_none();
        let conditions = self.conditions.join(" AND ");
        let order = self.order(browse.sort, from_people, place);
        let count = |conditions: &str| {
            format!(
                "SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {conditions} LIMIT {}) c",
                MANY + 1
            )
        };
        let complement = is_half.then(|| {
            let (is, other) = (".closed = 0", ".closed = 1");
            let flipped = if conditions.contains(is) {
                conditions.replace(is, other)
            } else {
                conditions.replace(other, is)
            };
            count(&flipped)
        });
        let (limit, offset) = (self.slot(self.values.len() + 2), self.slot(self.values.len() + 3));
        let page = |source: &str, conditions: &str, order: &str| {
            format!(
                "SELECT r.doc, r.people FROM {source} WHERE {conditions} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
            )
        };
        // Few are found by what narrows them down, and sorted. SQLite, which knows nothing of how many
        // there are, would rather walk all in their order, unless the order is no column's.
        let few = match self.dialect {
            Dialect::Sqlite => {
                let plain = order.split(", ").map(|term| format!("+{term}"));
                page(&source, &conditions, &plain.collect::<Vec<_>>().join(", "))
            }
            Dialect::Postgres => page(&source, &conditions, &order),
        };
        let many = match self.walk(browse).filter(|_| hits.is_none() && !joins_people) {
            Some((index, within)) => {
                page(&format!("{t} r {index}"), &format!("{conditions}{within}"), &order)
            }
            None => page(&source, &conditions, &order),
        };
        let count = count(&conditions);
        Plan { hits, count, complement, is_all, few, many, values: self.values }
    }

    /// The places of the newest that a term finds.
    fn hits(&self, term: &str, sought: Option<&SearchTerm>, many: u64) -> String {
        let t = self.table;
        match self.dialect {
            // A workspace's number is above the place in its order.
            Dialect::Sqlite => format!(
                "SELECT rowid AS place FROM {t}_search WHERE {t}_search MATCH {term}
                 AND rowid BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1 ORDER BY rowid DESC LIMIT {many}"
            ),
            Dialect::Postgres => {
                // Under three characters there is no whole trigram: a walk beats the index.
                let is_short = sought.is_some_and(|term| term.as_str().chars().count() < 3);
                let matches = if is_short {
                    format!("strpos(search, {term}) > 0")
                } else {
                    format!("search LIKE {term}")
                };
                format!(
                    "SELECT seq FROM {t} WHERE workspace_id = $1 AND {matches} ORDER BY seq DESC LIMIT {many}"
                )
            }
        }
    }

    fn filter(&mut self, browse: &Browse, day_of: &str) {
        if let Some(closed) = browse.closed {
            self.conditions.push(format!("{day_of}.closed = {}", i32::from(closed)));
        }
        match &browse.status {
            StatusFilter::Any => {}
            StatusFilter::Is(status) => self.equals("r.status_id", Bound::Id(status.0)),
            StatusFilter::AnyOf(any) => {
                let any = any.iter().map(|status| status.0).collect();
                let slot = self.bind(Bound::Ids(any));
                self.conditions.push(match self.dialect {
                    Dialect::Sqlite => {
                        format!("r.status_id IN (SELECT unhex(value) FROM json_each({slot}))")
                    }
                    Dialect::Postgres => format!("r.status_id = ANY ({slot})"),
                });
            }
            StatusFilter::NoneOf(none) => {
                let none = none.iter().map(|status| status.0).collect();
                let slot = self.bind(Bound::Ids(none));
                self.conditions.push(match self.dialect {
                    Dialect::Sqlite => format!(
                        "(r.status_id IS NULL OR r.status_id NOT IN (SELECT unhex(value) FROM json_each({slot})))"
                    ),
                    Dialect::Postgres => {
                        format!("(r.status_id IS NULL OR r.status_id <> ALL ({slot}))")
                    }
                });
            }
        }
        if let Some(person) = browse.person {
            let person = Bound::Text(person.to_string());
            if browse.kind == Kind::Assignment && day_of == "r" {
                let slot = self.bind(person);
                let (ws, place) = (self.ws(), self.place());
                self.conditions.push(format!(
                    "EXISTS (SELECT 1 FROM assignment_people p WHERE p.{ws} = r.{ws} AND p.{place} = r.{place} AND p.person = {slot})"
                ));
            } else {
                self.equals(&format!("{day_of}.person"), person);
            }
        }
        for (column, link) in [
            ("r.folder_id", browse.folder),
            ("r.assignment_id", browse.assignment),
            ("r.budget_id", browse.budget),
        ] {
            if let Some(id) = link {
                self.equals(column, Bound::Id(id.0));
            }
        }
        for (operator, day) in [(">=", browse.from), ("<=", browse.until)] {
            if let Some(day) = day {
                let slot = self.bind(Bound::Text(day.to_string()));
                self.conditions.push(format!("{day_of}.day {operator} {slot}"));
            }
        }
        if browse.is_over {
            self.conditions.push("r.used > 100".to_owned());
        }
        if browse.is_placed {
            let is_true = if self.dialect == Dialect::Sqlite { "" } else { " = 1" };
            self.conditions.push(format!("r.placed{is_true}"));
        }
    }

    fn equals(&mut self, column: &str, value: Bound) {
        let slot = self.bind(value);
        self.conditions.push(format!("{column} = {slot}"));
    }

    fn order(&self, sort: Sort, day_of: &str, place: &str) -> String {
        match sort {
            Sort::Newest => format!("{day_of}.{place} DESC"),
            Sort::Oldest => format!("{day_of}.{place}"),
            Sort::Soonest => format!("{day_of}.day, {day_of}.{place}"),
            Sort::Latest => format!("{day_of}.day DESC, {day_of}.{place} DESC"),
            Sort::Title => format!("r.title, r.{place}"),
            Sort::Used => format!("r.used DESC, r.{place} DESC"),
        }
    }

    /// The index along which an order is walked, and what else that takes. Only SQLite is told:
    /// PostgreSQL knows by its statistics.
    fn walk(&self, browse: &Browse) -> Option<(String, &'static str)> {
        let is_linked =
            browse.folder.is_some() || browse.assignment.is_some() || browse.budget.is_some();
        if self.dialect == Dialect::Postgres || is_linked {
            return None;
        }
        let has_state = browse.closed.is_some();
        let by = match (browse.kind, browse.sort) {
            (Kind::Folder, _) if browse.is_placed => {
                return Some(("INDEXED BY folders_placed".to_owned(), ""));
            }
            (Kind::Folder | Kind::Assignment, Sort::Newest | Sort::Oldest) if has_state => "place",
            (Kind::Folder | Kind::Assignment, Sort::Soonest | Sort::Latest) if has_state => "day",
            (Kind::Folder, Sort::Title) if has_state => "title",
            (Kind::Expense, Sort::Soonest | Sort::Latest) => "day",
            (Kind::Budget, Sort::Title) => "title",
            (Kind::Budget, Sort::Used) => "used",
            // The table itself is in the order of creation, one workspace behind the other.
            (_, Sort::Newest | Sort::Oldest) => {
                let within = " AND r.place BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1";
                return Some(("NOT INDEXED".to_owned(), within));
            }
            _ => return None,
        };
        Some((format!("INDEXED BY {}_by_{by}", self.table), ""))
    }
}

/// Whether anything but a term and the state is asked for.
fn is_narrowed(browse: &Browse) -> bool {
    browse.status != StatusFilter::Any
        || browse.person.is_some()
        || browse.folder.is_some()
        || browse.assignment.is_some()
        || browse.budget.is_some()
        || browse.from.is_some()
        || browse.until.is_some()
        || browse.is_over
        || browse.is_placed
}

/// The count, from what was counted.
pub(crate) fn counted(counted: u64, is_cut: bool) -> Count {
    if is_cut || counted > MANY {
        Count::MoreThan(counted.min(MANY))
    } else {
        Count::Exactly(counted)
    }
}

/// Whether a term can find anything.
pub(crate) fn can_match(term: &SearchTerm) -> bool {
    term.can_match() && !term.as_str().contains(FIELD_SEPARATOR)
}

/// Every statement that browsing can make, for a test to prepare.
#[cfg(test)]
pub(crate) fn every_statement(dialect: Dialect) -> std::collections::BTreeSet<String> {
    use groma_domain::time::Date;
    let mut all = std::collections::BTreeSet::new();
    let day = Date::constant(2026, 1, 1);
    let id = Uuid::nil();
    for kind in Kind::ALL {
        let has_day = kind != Kind::Budget;
        for sort in Sort::of(kind) {
            for bits in 0_u32..512 {
                let bit = |n: u32| bits & (1 << n) != 0;
                let browse = Browse {
                    term: bit(0).then(|| SearchTerm::parse("abc").unwrap().unwrap()),
                    closed: (bit(1) && matches!(kind, Kind::Folder | Kind::Assignment))
                        .then_some(bit(2)),
                    status: match (bit(3), bit(4)) {
                        (false, true) => StatusFilter::AnyOf(vec![StatusId(id)]),
                        (true, true) => StatusFilter::NoneOf(vec![StatusId(id)]),
                        (true, false) => StatusFilter::Is(StatusId(id)),
                        _ => StatusFilter::Any,
                    },
                    person: (bit(5) && has_day).then_some(PersonId(id)),
                    folder: (bit(6) && kind != Kind::Folder).then_some(RecordId(id)),
                    assignment: (bit(7) && kind == Kind::Expense).then_some(RecordId(id)),
                    budget: (bit(8) && kind == Kind::Expense).then_some(RecordId(id)),
                    from: (bit(7) && has_day).then_some(day),
                    until: (bit(8) && has_day).then_some(day),
                    is_over: bit(7) && kind == Kind::Budget,
                    is_placed: bit(2) && kind == Kind::Folder,
                    sort: *sort,
                    ..Browse::all(kind)
                };
                let plan = Plan::new(&browse, dialect, bit(0).then(|| "abc".to_owned()));
                let Plan { hits, count, complement, few, many, .. } = plan;
                all.extend([count, few, many]);
                all.extend(hits.map(|(sql, ..)| sql).into_iter().chain(complement));
            }
        }
    }
    all
}
