//! The tables that are copied, and how the engines differ in storing them.
//!
//! A copied row has the columns of PostgreSQL. SQLite stores the number of a workspace instead of its id,
//! packs two numbers into a position, and leaves out columns that a join can find. Rows of deleted
//! workspaces and layers that wait for cleanup are not copied, nor is what the databases derive themselves
//! (the people of assignments, the tags and extents of folders, features by external id).

use crate::records::Link;
use groma_domain::Kind;
use std::sync::LazyLock;

/// The type of a column, where the engines differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// The same on both engines.
    Plain,
    /// An id: 16 bytes on SQLite.
    Id,
    /// A document: text on SQLite, bytes on PostgreSQL.
    Document,
    /// Times: bytes on SQLite, an array on PostgreSQL.
    Times,
    /// A geometry: WKB on SQLite; on PostgreSQL a geometry, and WKB if it has heights.
    Shape,
    /// The search text of a record: on SQLite in a full-text index that does not return it.
    Search,
}

pub(crate) struct Column {
    pub(crate) column_type: ColumnType,
    /// The name on PostgreSQL.
    name: &'static str,
    /// The SQLite expression that reads it from a row `t`.
    read: String,
    /// The SQLite column, and the expression to write; `{}` is the value.
    write: Option<(&'static str, &'static str)>,
}

pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The kind of its records.
    pub(crate) kind: Option<Kind>,
    pub(crate) columns: Vec<Column>,
    pub(crate) sqlite_read: String,
    pub(crate) sqlite_write: String,
    pub(crate) sqlite_count: String,
    pub(crate) postgres_read: String,
    /// Selects no rows, but has the types that `postgres_write` takes.
    pub(crate) postgres_types: String,
    pub(crate) postgres_write: String,
    pub(crate) postgres_count: String,
    pub(crate) postgres_any: String,
}

/// All tables, in an order in which referenced rows come first.
pub(crate) static TABLES: LazyLock<Vec<Table>> = LazyLock::new(all);

fn all() -> Vec<Table> {
    let mut tables = vec![
        Table::whole(
            "users",
            ids(&["id"])
                + plain(
                    "email email_key name password_hash created_at language theme email_verified_at",
                )
                + plain("last_login_at disabled_at"),
        ),
        Table::whole(
            "sessions",
            ids(&["id"])
                + plain("hash")
                + ids(&["user_id", "workspace_id"])
                + plain("created_at last_seen_at ends_at user_agent address authenticated_at")
                + plain("has_second_factor provider"),
        ),
        Table::whole("login_attempts", plain("bucket at expires_at")),
        Table::whole("devices", plain("hash") + ids(&["user_id"]) + plain("at")),
        Table::whole(
            "identities",
            plain("issuer subject") + ids(&["user_id"]) + plain("email created_at last_used_at"),
        ),
        Table::whole(
            "authenticator_apps",
            ids(&["user_id"]) + plain("secret last_step created_at"),
        ),
        Table::whole(
            "passkeys",
            ids(&["id", "user_id"])
                + plain("credential_id credential name created_at last_used_at"),
        ),
        Table::whole("recovery_codes", ids(&["user_id"]) + plain("hash")),
        Table::whole(
            "pending_logins",
            plain("hash step") + ids(&["user_id"]) + plain("data expires_at"),
        ),
        Table::whole(
            "email_links",
            plain("hash") + ids(&["user_id"]) + plain("purpose expires_at"),
        ),
        Table::whole(
            "mails",
            ids(&["id"])
                + plain("kind recipient recipient_key")
                + ids(&["user_id", "workspace_id"])
                + plain("subject body tries due_at created_at expires_at"),
        ),
        Table::whole("rate_windows", ids(&["token_id"]) + one("accepted", ColumnType::Times)),
        Table::whole(
            "workspaces",
            ids(&["id"])
                + plain("no name name_key currency people_generation created_at endpoints_version")
                + plain("offered_crs base_maps max_token_days requires_second_factor"),
        ),
        Table::whole(
            "security_log",
            ids(&["id"])
                + plain("at action")
                + ids(&["user_id", "person_id", "workspace_id", "subject", "subject_user_id"])
                + plain("address details"),
        ),
        Table::of_workspace(
            "people",
            ids(&["id"])
                + plain("email email_key name")
                + ids(&["user_id"])
                + plain("role created_at"),
        ),
        Table::of_workspace(
            "tokens",
            ids(&["id", "person_id"])
                + plain(
                    "name hash scopes created_at expires_at revoked_at last_used_at hint read_only",
                )
                + plain("last_used_from expiry_notified_at"),
        ),
        Table::of_workspace(
            "record_counters",
            plain("kind last_position last_reference total generation"),
        ),
        Table::of_workspace("page_counts", plain("kind bucket records generation")),
        Table::of_workspace("labels", plain("field value folded records")),
        Table::of_workspace(
            "statuses",
            ids(&["id"]) + plain("seq kind name_key") + one("doc", ColumnType::Document),
        ),
    ];
    tables.extend(Kind::ALL.map(records));
    tables.extend([
        Table::of_workspace(
            "audit_log",
            plain("id at")
                + ids(&["actor", "token"])
                + plain("action event")
                + ids(&["subject"])
                + plain("before after"),
        ),
        Table::of_workspace(
            "invitations",
            ids(&["id"])
                + plain("hash role email is_mailed")
                + ids(&["invited_by"])
                + plain("created_at expires_at"),
        ),
        Table::of_workspace(
            "saved_views",
            ids(&["id"])
                + plain("kind")
                + ids(&["person_id"])
                + plain("is_shared name query created_at"),
        ),
        Table::new(
            "idempotency_keys",
            Columns(vec![unsaid_workspace()])
                + ids(&["token_id"])
                + plain("path key body_hash response at"),
            "CROSS JOIN tokens k ON k.id = t.token_id CROSS JOIN workspaces w ON w.no = k.ws",
            "JOIN tokens k ON k.id = t.token_id JOIN workspaces w ON w.id = t.workspace_id",
        ),
        Table::of_workspace("layers", plain("no") + ids(&["id"]) + plain("slug revision state")),
        features(),
        Table::of_layer("feature_values", plain("field value position")),
        Table::of_layer("extents", plain("run west south east north")),
        Table::of_layer("tile_blocks", plain("tier centre position west north east south block")),
        Table::of_layer("large_tile_features", plain("position max_zoom shape")),
        Table::of_workspace(
            "webhook_endpoints",
            ids(&["id"])
                + plain("no url description events filter enabled disabled_reason failing_since")
                + plain("last_success_at secret previous_secret previous_until created_at")
                + plain("updated_at deleted_at"),
        ),
        deliveries(),
        attempts(),
    ]);
    tables
}

/// A record's position on SQLite, which contains the number of its workspace.
fn records(kind: Kind) -> Table {
    let links = Link::columns(kind);
    let links = Columns(links.map(|name| column(name, ColumnType::Id)).collect());
    let position = Column {
        read: "t.position & 1099511627775".to_owned(),
        write: Some(("position", "(SELECT no FROM workspaces WHERE id = ?1) << 40 | {}")),
        ..column("position", ColumnType::Plain)
    };
    let search =
        Column { read: "NULL".to_owned(), write: None, ..column("search", ColumnType::Search) };
    let columns = Columns(vec![position])
        + ids(&["id"])
        + plain("reference reference_key")
        + links
        + one("doc", ColumnType::Document)
        + plain("people title external_id updated_at")
        + Columns(vec![search]);
    Table { kind: Some(kind), ..Table::of_workspace(kind.plural(), columns) }
}

/// A feature's position on SQLite contains the number of its layer.
fn features() -> Table {
    let layer =
        Column { read: "l.no".to_owned(), write: None, ..column("layer", ColumnType::Plain) };
    let position = Column {
        read: "t.position & 1099511627775".to_owned(),
        write: Some(("position", "?2 << 40 | {}")),
        ..column("position", ColumnType::Plain)
    };
    let columns = Columns(vec![unsaid_workspace(), layer, position])
        + ids(&["id"])
        + plain("external_id")
        + ids(&["folder_id", "assignment_id"])
        + one("geometry", ColumnType::Shape)
        + plain("original properties created_at updated_at");
    Table::new(
        "features",
        columns,
        "CROSS JOIN layers l ON l.no = t.position >> 40 CROSS JOIN workspaces w ON w.no = l.ws",
        LAYER_ON_POSTGRES,
    )
}

/// SQLite refers to an endpoint by its number.
fn deliveries() -> Table {
    let endpoint = Column {
        read: "e.id".to_owned(),
        write: Some((
            "endpoint",
            "(SELECT no FROM webhook_endpoints WHERE id = {}
                AND ws = (SELECT no FROM workspaces WHERE id = ?1))",
        )),
        ..column("endpoint_id", ColumnType::Id)
    };
    let columns = Columns(vec![workspace()])
        + ids(&["id"])
        + Columns(vec![endpoint])
        + plain("audit_entry_id event is_test state attempts tries due_at created_at finished_at")
        + plain("erased_at");
    Table::new(
        "deliveries",
        columns,
        "CROSS JOIN webhook_endpoints e ON e.no = t.endpoint CROSS JOIN workspaces w ON w.no = t.ws",
        "JOIN webhook_endpoints e ON e.workspace_id = t.workspace_id AND e.id = t.endpoint_id
            JOIN workspaces w ON w.id = t.workspace_id",
    )
}

fn attempts() -> Table {
    let delivery = Column {
        read: "t.delivery".to_owned(),
        write: Some(("delivery", "{}")),
        ..column("delivery_id", ColumnType::Id)
    };
    Table::new(
        "attempts",
        Columns(vec![unsaid_workspace(), delivery]) + plain("no at millis status error response"),
        "CROSS JOIN deliveries d ON d.id = t.delivery CROSS JOIN webhook_endpoints e ON e.no = d.endpoint
            CROSS JOIN workspaces w ON w.no = d.ws",
        "JOIN deliveries d ON d.workspace_id = t.workspace_id AND d.id = t.delivery_id
            JOIN webhook_endpoints e ON e.workspace_id = d.workspace_id AND e.id = d.endpoint_id
            JOIN workspaces w ON w.id = t.workspace_id",
    )
}

const LAYER_ON_POSTGRES: &str =
    "JOIN layers l ON l.workspace_id = t.workspace_id AND l.no = t.layer
    JOIN workspaces w ON w.id = t.workspace_id";

struct Columns(Vec<Column>);

impl std::ops::Add for Columns {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

fn column(name: &'static str, column_type: ColumnType) -> Column {
    Column { column_type, name, read: format!("t.{name}"), write: Some((name, "{}")) }
}

fn one(name: &'static str, column_type: ColumnType) -> Columns {
    Columns(vec![column(name, column_type)])
}

/// Columns by name, separated by spaces.
fn plain(names: &'static str) -> Columns {
    Columns(names.split(' ').map(|name| column(name, ColumnType::Plain)).collect())
}

fn ids(names: &[&'static str]) -> Columns {
    Columns(names.iter().map(|name| column(name, ColumnType::Id)).collect())
}

fn workspace() -> Column {
    Column {
        read: "w.id".to_owned(),
        write: Some(("ws", "(SELECT no FROM workspaces WHERE id = {})")),
        ..column("workspace_id", ColumnType::Id)
    }
}

/// The workspace of a row that has no such column on SQLite.
fn unsaid_workspace() -> Column {
    Column { write: None, ..workspace() }
}

impl Table {
    /// A table that belongs to no workspace.
    fn whole(name: &'static str, columns: Columns) -> Self {
        Self::new(name, columns, "", "")
    }

    fn of_workspace(name: &'static str, columns: Columns) -> Self {
        Self::new(
            name,
            Columns(vec![workspace()]) + columns,
            "CROSS JOIN workspaces w ON w.no = t.ws",
            "JOIN workspaces w ON w.id = t.workspace_id",
        )
    }

    fn of_layer(name: &'static str, columns: Columns) -> Self {
        Self::new(
            name,
            Columns(vec![unsaid_workspace()]) + plain("layer") + columns,
            "CROSS JOIN layers l ON l.no = t.layer CROSS JOIN workspaces w ON w.no = l.ws",
            LAYER_ON_POSTGRES,
        )
    }

    fn new(name: &'static str, columns: Columns, on_sqlite: &str, on_postgres: &str) -> Self {
        let Columns(columns) = columns;
        let read: Vec<_> = columns.iter().map(|column| column.read.as_str()).collect();
        let (mut into, mut values) = (Vec::new(), Vec::new());
        for (slot, column) in (1..).zip(&columns) {
            if let Some((name, value)) = column.write {
                into.push(name);
                values.push(value.replace("{}", &format!("?{slot}")));
            }
        }
        let shown = |column: &Column| match column.column_type {
            ColumnType::Document => format!("convert_from(t.{}, 'UTF8')", column.name),
            ColumnType::Shape => "coalesce(t.heights, ST_AsBinary(t.geom, 'NDR'))".to_owned(),
            _ => format!("t.{}", column.name),
        };
        let shown: Vec<_> = columns.iter().map(shown).collect();
        let taken: Vec<_> = columns
            .iter()
            .map(|column| {
                if column.column_type == ColumnType::Shape { "geom, heights" } else { column.name }
            })
            .collect();
        let taken = taken.join(", ");
        let order = if columns.len() > 3 { "1, 2, 3" } else { "1, 2" };
        Self {
            name,
            kind: None,
            sqlite_read: format!("SELECT {} FROM {name} t {on_sqlite}", read.join(", ")),
            sqlite_write: format!(
                "INSERT INTO {name} ({}) VALUES ({})",
                into.join(", "),
                values.join(", ")
            ),
            sqlite_count: format!("SELECT count(*) FROM {name} t {on_sqlite}"),
            postgres_read: format!(
                "SELECT {} FROM {name} t {on_postgres} ORDER BY {order}",
                shown.join(", ")
            ),
            postgres_types: format!("SELECT {taken} FROM {name} WHERE false"),
            postgres_write: format!("COPY {name} ({taken}) FROM STDIN (FORMAT binary)"),
            postgres_count: format!("SELECT count(*) FROM {name} t {on_postgres}"),
            postgres_any: format!("SELECT EXISTS (SELECT 1 FROM {name})"),
            columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Tables that the databases fill themselves. A copy has an identity of its own, and no layers that are
    /// being loaded.
    const DERIVED: [&str; 6] = [
        "assignment_people",
        "database_identity",
        "feature_keys",
        "folder_tags",
        "import_jobs",
        "staged_layers",
    ];

    #[test]
    fn every_table_and_column_of_sqlite_is_carried_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("groma.db");
        drop(crate::engine::Sqlite::open(&path).unwrap());
        let connection = rusqlite::Connection::open(&path).unwrap();
        let columns =
            "SELECT l.name || '.' || c.name FROM pragma_table_list l, pragma_table_xinfo(l.name) c
            WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite_%'
            AND l.name <> 'refinery_schema_history' AND c.hidden = 0";
        let mut statement = connection.prepare(columns).unwrap();
        let there = statement.query_map([], |row| row.get(0)).unwrap();
        let there: BTreeSet<String> = there.map(Result::unwrap).collect();
        let mut carried: BTreeSet<String> = TABLES
            .iter()
            .flat_map(|table| {
                let written = table.columns.iter().filter_map(|column| column.write);
                written.map(|(name, _)| format!("{}.{name}", table.name))
            })
            .collect();
        // A record's position contains its workspace; a block's number exists on SQLite only.
        carried.insert("tile_blocks.no".to_owned());
        let lacking: Vec<_> = there
            .iter()
            .filter(|name| !DERIVED.contains(&name.split('.').next().unwrap()))
            .filter(|name| !carried.contains(*name))
            .collect();
        assert!(lacking.is_empty(), "a copy would lose {lacking:?}");
    }

    #[tokio::test]
    async fn every_table_and_column_of_postgresql_is_carried_over() {
        let database = groma_testkit::postgres::PostgresDatabase::create().unwrap();
        drop(crate::engine::Postgres::open(&database.url()).await.unwrap());
        let client = groma_testkit::postgres::connect(&database.url()).await.unwrap();
        let columns = "SELECT table_name || '.' || column_name FROM information_schema.columns
            WHERE table_schema = 'public' AND is_generated = 'NEVER' AND table_name <> 'refinery_schema_history'
            AND table_name IN (SELECT tablename FROM pg_tables WHERE tablename <> 'spatial_ref_sys')";
        let rows = client.query(columns, &[]).await.unwrap();
        let there: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        let carried: BTreeSet<String> = TABLES
            .iter()
            .flat_map(|table| {
                let (_, list) = table.postgres_write.split_once('(').unwrap();
                let (list, _) = list.split_once(')').unwrap();
                list.split(", ").map(|name| format!("{}.{name}", table.name))
            })
            .collect();
        let lacking: Vec<_> = there
            .iter()
            .filter(|name| !DERIVED.contains(&name.split('.').next().unwrap()))
            .filter(|name| !carried.contains(*name))
            .collect();
        assert!(lacking.is_empty(), "a copy would lose {lacking:?}");
    }
}
