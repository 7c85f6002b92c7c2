//! The order of a list.

use super::Dialect;
use groma_domain::Kind;

/// The order of a list: by a column, then by creation. Records without a value come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The column.
    pub by: SortColumn,
    /// Whether the largest comes first.
    pub is_descending: bool,
}

impl Sort {
    /// Newest first.
    pub const NEWEST: Self = Self { by: SortColumn::Created, is_descending: true };
    /// Oldest first.
    pub const OLDEST: Self = Self { by: SortColumn::Created, is_descending: false };
    /// By due or incurred date, earliest first.
    pub const SOONEST: Self = Self { by: SortColumn::Date, is_descending: false };
    /// By due or incurred date, latest first.
    pub const LATEST: Self = Self { by: SortColumn::Date, is_descending: true };
    /// Budgets by the share that is spent, largest first.
    pub const MOST_USED: Self = Self { by: SortColumn::Used, is_descending: true };
}

/// A column that a list can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortColumn {
    /// When the record was created.
    Created,
    /// When it last changed.
    Updated,
    /// Reference.
    Reference,
    /// Name, title or description, folded.
    Title,
    /// The order of the statuses.
    Status,
    /// The name of the owner, of the first assignee, of the submitter.
    Person,
    /// The name of the record's folder.
    Folder,
    /// Due or incurred date.
    Date,
    /// Start date.
    StartDate,
    /// Client.
    Client,
    /// Category.
    Category,
    /// Vendor.
    Vendor,
    /// Priority.
    Priority,
    /// Estimated hours.
    EstimatedHours,
    /// Hours spent.
    SpentHours,
    /// Whether an expense is billable.
    Billable,
    /// Amount of an expense or budget; of a folder's budgets.
    Amount,
    /// Amount spent of a budget.
    Spent,
    /// Share spent of a budget, or of a folder's budgets.
    Used,
}

impl SortColumn {
    /// The columns available for a kind.
    #[must_use]
    pub fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Folder => &[
                Self::Created,
                Self::Updated,
                Self::Reference,
                Self::Title,
                Self::Status,
                Self::Person,
                Self::Date,
                Self::StartDate,
                Self::Client,
                Self::Amount,
                Self::Used,
            ],
            Kind::Assignment => &[
                Self::Created,
                Self::Updated,
                Self::Reference,
                Self::Title,
                Self::Status,
                Self::Person,
                Self::Folder,
                Self::Date,
                Self::StartDate,
                Self::Priority,
                Self::EstimatedHours,
                Self::SpentHours,
            ],
            Kind::Expense => &[
                Self::Created,
                Self::Updated,
                Self::Reference,
                Self::Title,
                Self::Status,
                Self::Person,
                Self::Folder,
                Self::Date,
                Self::Category,
                Self::Vendor,
                Self::Billable,
                Self::Amount,
            ],
            Kind::Budget => &[
                Self::Created,
                Self::Updated,
                Self::Reference,
                Self::Title,
                Self::Status,
                Self::Folder,
                Self::StartDate,
                Self::Category,
                Self::Amount,
                Self::Spent,
                Self::Used,
            ],
        }
    }
}

impl Sort {
    /// Whether an index has this order, so that a page can be read without sorting all records.
    pub(super) fn has_index(self, kind: Kind) -> bool {
        match self.by {
            SortColumn::Created | SortColumn::Reference => true,
            SortColumn::Date => kind != Kind::Budget,
            SortColumn::Title => kind != Kind::Expense,
            SortColumn::Amount => matches!(kind, Kind::Expense | Kind::Budget),
            SortColumn::Used => kind == Kind::Budget,
            _ => false,
        }
    }

    /// The terms of an `ORDER BY` along an index, and a condition on the rows. `day_of` is the table with
    /// the date. Records without a date have the last one, so a descending list leaves them out.
    pub(super) fn index_order(self, kind: Kind, day_of: &str) -> (String, String) {
        let direction = self.direction();
        let column = match self.by {
            SortColumn::Date => format!("{day_of}.day"),
            SortColumn::Title => "r.title".to_owned(),
            SortColumn::Amount => "r.amount".to_owned(),
            SortColumn::Used => "r.used".to_owned(),
            SortColumn::Reference => "r.reference".to_owned(),
            _ => return (format!("{day_of}.position{direction}"), String::new()),
        };
        let is_cut = self.by == SortColumn::Date && self.is_descending && kind != Kind::Expense;
        let dated = if is_cut { format!(" AND {column} < '9999'") } else { String::new() };
        (format!("{column}{direction}, {day_of}.position{direction}"), dated)
    }

    /// The terms of an `ORDER BY` that sorts the records found. `ranking` is the placeholder of the
    /// people in the order of their names. On SQLite, which has no statistics, an expression keeps the
    /// planner from reading all records in their order instead.
    pub(super) fn order(self, kind: Kind, dialect: Dialect, day_of: &str, ranking: &str) -> String {
        let direction = self.direction();
        let plain = if dialect == Dialect::Sqlite { "+" } else { "" };
        let position = format!("{plain}{day_of}.position{direction}");
        if self.by == SortColumn::Created {
            return position;
        }
        let value = self.value(kind, dialect, day_of, ranking);
        format!("{value} IS NULL, {plain}{value}{direction}, {position}")
    }

    fn direction(self) -> &'static str {
        if self.is_descending { " DESC" } else { "" }
    }

    /// The SQL expression of the column.
    fn value(self, kind: Kind, dialect: Dialect, day_of: &str, ranking: &str) -> String {
        let ws = dialect.ws();
        let field = |name| dialect.field("r", name);
        let number = |name| dialect.number("r", name);
        let label = |label: &str, name| {
            let value = field(name);
            format!(
                "(SELECT l.folded FROM labels l WHERE l.{ws} = r.{ws} AND l.field = '{label}' AND l.value = {value})"
            )
        };
        // The budgets of a folder in its own currency.
        let of_budgets = |sum: &str| {
            let (budget, folder) = (dialect.field("b", "currency"), field("currency"));
            format!(
                "(SELECT {sum} FROM budgets b WHERE b.{ws} = r.{ws} AND b.folder_id = r.id AND {budget} = {folder})"
            )
        };
        match self.by {
            SortColumn::Created => format!("{day_of}.position"),
            SortColumn::Updated => field("updatedAt"),
            SortColumn::Reference => "r.reference".to_owned(),
            SortColumn::Title => "r.title".to_owned(),
            SortColumn::Status => {
                let position = dialect.number("s", "position");
                format!(
                    "(SELECT {position} * 1000000 + s.seq FROM statuses s WHERE s.{ws} = r.{ws} AND s.id = r.status_id)"
                )
            }
            SortColumn::Person if kind == Kind::Assignment => {
                let rank = dialect.rank(ranking, "p.person");
                format!(
                    "(SELECT min({rank}) FROM assignment_people p WHERE p.{ws} = r.{ws} AND p.position = r.position)"
                )
            }
            SortColumn::Person => dialect.rank(ranking, "r.person"),
            SortColumn::Folder => {
                format!(
                    "(SELECT f.title FROM folders f WHERE f.{ws} = r.{ws} AND f.id = r.folder_id)"
                )
            }
            SortColumn::Date => format!("nullif({day_of}.day, '9999')"),
            SortColumn::StartDate => field("startDate"),
            SortColumn::Client => label("client", "clientName"),
            SortColumn::Category => label("category", "category"),
            SortColumn::Vendor => label("vendor", "vendor"),
            SortColumn::Priority => {
                let field = field("priority");
                format!(
                    "(CASE {field} WHEN 'low' THEN 0 WHEN 'normal' THEN 1 WHEN 'high' THEN 2 ELSE 3 END)"
                )
            }
            SortColumn::EstimatedHours => number("estimatedHours"),
            SortColumn::SpentHours => number("spentHours"),
            SortColumn::Billable => field("billable"),
            SortColumn::Amount if kind == Kind::Folder => of_budgets("sum(b.amount)"),
            SortColumn::Amount => "r.amount".to_owned(),
            SortColumn::Spent => number("spent"),
            SortColumn::Used if kind == Kind::Folder => {
                let spent = dialect.number("b", "spent");
                of_budgets(&format!("sum({spent}) / nullif(sum(b.amount), 0)"))
            }
            SortColumn::Used => "nullif(r.used, -1)".to_owned(),
        }
    }
}

impl Dialect {
    /// A field of the document of a row, as a number.
    fn number(self, row: &str, name: &str) -> String {
        let field = self.field(row, name);
        match self {
            Self::Sqlite => format!("CAST({field} AS REAL)"),
            Self::Postgres => format!("{field}::double precision"),
        }
    }

    /// The place of a value in a ranking.
    fn rank(self, ranking: &str, value: &str) -> String {
        match self {
            // The ranking is an object from values to ranks.
            Self::Sqlite => format!("({ranking} ->> {value})"),
            Self::Postgres => format!("array_position({ranking}, {value})"),
        }
    }
}
