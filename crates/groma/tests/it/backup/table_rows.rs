//! All rows of a database, for comparison.

use groma_testkit::{TestServer, postgres};
use rusqlite::Connection;
use std::{collections::BTreeMap, path::Path};

/// What copies and restores write to the security log themselves.
const OWN_ENTRIES: &str = "action IN ('backup.copyStarted', 'backup.restored')";

/// The sorted rows of each table, as text.
pub(crate) type TableRows = BTreeMap<String, Vec<String>>;

/// All rows of a server's database, except for its identity, which no other database has, and the entries
/// that copies and restores write.
pub(crate) fn of(server: &TestServer) -> TableRows {
    match server.database_url().strip_prefix("sqlite:") {
        Some(path) => of_sqlite(Path::new(path)),
        None => of_postgres(server.database_url()),
    }
}

fn condition(table: &str) -> String {
    match table {
        "security_log" => format!(" WHERE NOT {OWN_ENTRIES}"),
        _ => String::new(),
    }
}

/// All rows of a SQLite file, except for the row ids that only SQLite has.
pub(crate) fn of_sqlite(path: &Path) -> TableRows {
    let connection = Connection::open(path).unwrap();
    let texts = |query: &str| -> Vec<String> {
        let mut statement = connection.prepare(query).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = texts(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT IN ('sqlite_schema', 'refinery_schema_history', 'database_identity')",
    );
    let rows = tables.into_iter().map(|table| {
        let columns = texts(&format!("SELECT name FROM pragma_table_xinfo('{table}')"));
        let quoted: Vec<_> = columns
            .iter()
            .filter(|column| (table.as_str(), column.as_str()) != ("tile_blocks", "no"))
            .map(|column| format!("quote(\"{column}\")"))
            .collect();
        let condition = condition(&table);
        let columns = quoted.join(" || ' ' || ");
        let mut rows = texts(&format!("SELECT {columns} FROM \"{table}\"{condition}"));
        rows.sort_unstable();
        (table, rows)
    });
    rows.collect()
}

/// All rows of a PostgreSQL database and the values of its sequences.
pub(crate) fn of_postgres(url: &str) -> TableRows {
    let tables = postgres::query_texts(
        url,
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'
            AND tablename NOT IN ('refinery_schema_history', 'spatial_ref_sys', 'database_identity')",
    )
    .unwrap();
    let mut rows: TableRows = tables
        .into_iter()
        .map(|table| {
            let query = format!("SELECT t::text FROM {table} t{}", condition(&table));
            let mut rows = postgres::query_texts(url, &query).unwrap();
            rows.sort_unstable();
            (table, rows)
        })
        .collect();
    let sequences =
        "SELECT sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences ORDER BY 1";
    rows.insert("sequences".to_owned(), postgres::query_texts(url, sequences).unwrap());
    rows
}

/// Asserts that two databases have equal rows.
#[track_caller]
pub(crate) fn assert_equal_rows(one: &TableRows, other: &TableRows) {
    let tables = |rows: &TableRows| rows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(tables(one), tables(other));
    for (table, rows) in one {
        let others = &other[table];
        let differs = rows.iter().zip(others).find(|(one, other)| one != other);
        assert_eq!((rows.len(), differs), (others.len(), None), "{table}");
    }
}
