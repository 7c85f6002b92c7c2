//! The conditions of list queries, for both engines.

use super::{RecordQuery, StatusFilter, dialect::Dialect};
use groma_domain::{Kind, PersonId, RecordId, Timestamp, record::Priority, text::fold};
use groma_geo::Bbox;
use rust_decimal::prelude::ToPrimitive;
use uuid::Uuid;

/// A parameter. The workspace is always the first one.
#[derive(Clone, Debug)]
pub(in crate::records) enum Parameter {
    Id(Uuid),
    Ids(Vec<Uuid>),
    Text(String),
    Integer(i64),
    Number(f64),
    /// Texts in an order, to sort by.
    Ranking(Vec<String>),
}

/// A filter of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::records) enum Filter {
    Reference,
    ExternalId,
    Budget,
    Assignment,
    Folder,
    Term,
    Bbox,
    Tag,
    Client,
    Category,
    Person,
    UpdatedSince,
    CreatedSince,
    Status,
    Day,
    Priority,
    Billable,
    Closed,
}

/// Collects the conditions and parameters of a statement about one kind of record.
pub(super) struct Builder {
    pub(super) dialect: Dialect,
    pub(super) table: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) conditions: Vec<String>,
    /// The filter by whose matches the records are found. If it is in another table, the statement looks up
    /// all matches there; with other filters it looks there for each record.
    pub(super) driver: Option<Filter>,
}

impl Builder {
    pub(super) fn new(kind: Kind, dialect: Dialect, driver: Option<Filter>) -> Self {
        let table = kind.plural();
        Self { dialect, table, parameters: Vec::new(), conditions: Vec::new(), driver }
    }

    pub(super) fn ws(&self) -> &'static str {
        self.dialect.ws()
    }

    pub(super) fn placeholder(&self, number: usize) -> String {
        if self.dialect == Dialect::Sqlite { format!("?{number}") } else { format!("${number}") }
    }

    /// Adds a parameter; returns its placeholder.
    pub(super) fn bind(&mut self, parameter: Parameter) -> String {
        self.parameters.push(parameter);
        self.placeholder(self.parameters.len() + 1)
    }

    /// Adds the conditions of all filters but the term. `day_of` is the table with the date.
    pub(super) fn filter(&mut self, query: &RecordQuery, day_of: &str) {
        if let Some(closed) = query.closed {
            self.conditions.push(format!("{day_of}.closed = {}", i32::from(closed)));
        }
        match &query.status {
            StatusFilter::Any => {}
            StatusFilter::Is(status) => self.equals("r.status_id", Parameter::Id(status.0)),
            StatusFilter::AnyOf(any) => {
                let any = any.iter().map(|status| status.0).collect();
                let placeholder = self.bind(Parameter::Ids(any));
                self.conditions.push(match self.dialect {
                    Dialect::Sqlite => {
                        format!(
                            "r.status_id IN (SELECT unhex(value) FROM json_each({placeholder}))"
                        )
                    }
                    Dialect::Postgres => format!("r.status_id = ANY ({placeholder})"),
                });
            }
            StatusFilter::NoneOf(none) => {
                let none = none.iter().map(|status| status.0).collect();
                let placeholder = self.bind(Parameter::Ids(none));
                self.conditions.push(match self.dialect {
                    Dialect::Sqlite => format!(
                        "(r.status_id IS NULL OR r.status_id NOT IN (SELECT unhex(value) FROM json_each({placeholder})))"
                    ),
                    Dialect::Postgres => {
                        format!("(r.status_id IS NULL OR r.status_id <> ALL ({placeholder}))")
                    }
                });
            }
        }
        if let Some(person) = query.person {
            self.filter_person(query.kind, person, day_of);
        }
        for (column, link) in [
            ("r.folder_id", query.folder),
            ("r.assignment_id", query.assignment),
            ("r.budget_id", query.budget),
        ] {
            if let Some(id) = link {
                self.equals(column, Parameter::Id(id.0));
            }
        }
        for (operator, day) in [(">=", query.from), ("<=", query.until)] {
            if let Some(day) = day {
                let placeholder = self.bind(Parameter::Text(day.to_string()));
                self.conditions.push(format!("{day_of}.day {operator} {placeholder}"));
            }
        }
        if query.is_undated {
            self.conditions.push(format!("{day_of}.day = '9999'"));
        }
        self.filter_identity(query);
        self.filter_labels(query);
        self.filter_values(query);
        if query.is_overspent {
            self.conditions.push("r.used > 100".to_owned());
        }
        if query.has_bbox {
            let is_true = if self.dialect == Dialect::Sqlite { "" } else { " = 1" };
            self.conditions.push(format!("r.has_bbox{is_true}"));
        }
        if let Some(bbox) = query.bbox {
            self.filter_bbox(bbox);
        }
    }

    fn filter_person(&mut self, kind: Kind, person: PersonId, day_of: &str) {
        let person = Parameter::Text(person.to_string());
        if kind != Kind::Assignment || day_of != "r" {
            return self.equals(&format!("{day_of}.person"), person);
        }
        let (ws, one, person) = (self.ws(), self.placeholder(1), self.bind(person));
        let assigned =
            format!("FROM assignment_people p WHERE p.{ws} = {one} AND p.person = {person}");
        self.conditions.push(match self.driver == Some(Filter::Person) {
            true => format!("r.position IN (SELECT p.position {assigned})"),
            false => format!("EXISTS (SELECT 1 {assigned} AND p.position = r.position)"),
        });
    }

    /// Filters by reference, external id and times.
    fn filter_identity(&mut self, query: &RecordQuery) {
        for (column, text) in
            [("r.reference", &query.reference), ("r.external_id", &query.external_id)]
        {
            if let Some(text) = text {
                self.equals(column, Parameter::Text(text.clone()));
            }
        }
        if let Some(since) = query.updated_since {
            let since = self.bind(Parameter::Integer(since.as_millis()));
            self.conditions.push(format!("r.updated_at >= {since}"));
        }
        if let Some(since) = query.created_since {
            // The id of a record begins with the time of its creation.
            let first = RecordId::new(since.max(Timestamp::from_millis(0)), [0; 10]);
            let first = self.bind(Parameter::Id(first.0));
            self.conditions.push(format!("r.id >= {first}"));
        }
    }

    /// Filters folders by the boxes that they meet.
    fn filter_bbox(&mut self, Bbox([west, south, east, north]): Bbox) {
        // A box across the antimeridian is two.
        let boxes = match west <= east {
            true => vec![[west, south, east, north]],
            false => vec![[west, south, 180.0, north], [-180.0, south, east, north]],
        };
        let meets: Vec<String> = boxes.into_iter().map(|sides| self.meets(sides)).collect();
        self.conditions.push(format!("({})", meets.join(" OR ")));
    }

    fn meets(&mut self, sides: [f64; 4]) -> String {
        let [west, south, east, north] = sides.map(|side| self.bind(Parameter::Number(side)));
        let meets = |[w, s, e, n]: [&str; 4]| {
            format!("{w} <= {east} AND {e} >= {west} AND {s} <= {north} AND {n} >= {south}")
        };
        // The indexes are not exact.
        match self.dialect {
            Dialect::Sqlite => {
                let exact = meets(
                    [0, 1, 2, 3]
                        .map(|n| format!("(r.doc ->> '$.bbox[{n}]')"))
                        .each_ref()
                        .map(String::as_str),
                );
                if self.driver != Some(Filter::Bbox) {
                    return format!("(r.has_bbox AND {exact})");
                }
                let indexed = meets(["west", "south", "east", "north"]);
                format!(
                    "(r.position IN (SELECT position FROM folder_boxes WHERE {indexed}) AND {exact})"
                )
            }
            Dialect::Postgres => {
                let exact = meets([
                    "((r.extent)[1])[0]",
                    "((r.extent)[1])[1]",
                    "((r.extent)[0])[0]",
                    "((r.extent)[0])[1]",
                ]);
                format!(
                    "(r.extent && box(point({west}, {south}), point({east}, {north})) AND {exact})"
                )
            }
        }
    }

    fn equals(&mut self, column: &str, value: Parameter) {
        let placeholder = self.bind(value);
        self.conditions.push(format!("{column} = {placeholder}"));
    }

    /// Filters by tag, client and category.
    fn filter_labels(&mut self, query: &RecordQuery) {
        let (ws, one) = (self.ws(), self.placeholder(1));
        if let Some(tag) = &query.tag {
            let tag = self.bind(Parameter::Text(fold(tag)));
            let tagged = format!(
                "SELECT t.position FROM labels l JOIN folder_tags t ON t.{ws} = l.{ws} AND t.tag = l.value
                 WHERE l.{ws} = {one} AND l.field = 'tag' AND l.folded = {tag}"
            );
            // SQLite would collect all positions first. If most folders match, it is faster to read them
            // in the order of the list and to look for the tag of each.
            self.conditions.push(match self.driver == Some(Filter::Tag) {
                true => format!("r.position IN ({tagged})"),
                false => format!("EXISTS ({tagged} AND t.position = r.position)"),
            });
        }
        for (field, value) in [("client", &query.client), ("category", &query.category)] {
            if let Some(value) = value {
                let value = self.bind(Parameter::Text(fold(value)));
                self.conditions.push(format!(
                    "r.{field} IN (SELECT l.value FROM labels l
                     WHERE l.{ws} = {one} AND l.field = '{field}' AND l.folded = {value})"
                ));
            }
        }
    }

    /// Filters by priority, billing and amount.
    fn filter_values(&mut self, query: &RecordQuery) {
        if let Some(priority) = query.priority {
            self.conditions.push(format!("r.priority = '{}'", priority.as_str()));
            if priority != Priority::Normal {
                // SQLite needs the condition of the index.
                self.conditions.push("r.priority <> 'normal'".to_owned());
            }
        }
        if let Some(billable) = query.billable {
            self.conditions.push(format!("r.billable = {}", i32::from(billable)));
        }
        for (operator, amount) in [(">=", query.min_amount), ("<=", query.max_amount)] {
            if let Some(amount) = amount.and_then(|amount| amount.to_f64()) {
                let amount = self.bind(Parameter::Number(amount));
                self.conditions.push(format!("r.amount {operator} {amount}"));
            }
        }
    }
}
