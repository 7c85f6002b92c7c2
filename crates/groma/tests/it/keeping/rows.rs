//! Every row of a database, to be compared.

use crate::{database, office::Office};
use rusqlite::Connection;
use std::{collections::BTreeMap, path::Path};

/// The rows of each table, as text, sorted.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// Every row of an office's database.
pub(crate) fn of(office: &Office) -> Rows {
    match office.database().strip_prefix("sqlite:") {
        Some(path) => of_sqlite(Path::new(path)),
        None => of_postgres(office.database()),
    }
}

/// Every row of a SQLite file. The numbers of drawings are SQLite's own.
pub(crate) fn of_sqlite(path: &Path) -> Rows {
    let connection = Connection::open(path).unwrap();
    let texts = |query: &str| -> Vec<String> {
        let mut statement = connection.prepare(query).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = texts(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT IN ('sqlite_schema', 'refinery_schema_history')",
    );
    let rows = tables.into_iter().map(|table| {
        let columns = texts(&format!("SELECT name FROM pragma_table_xinfo('{table}')"));
        let quoted: Vec<_> = columns
            .iter()
            .filter(|column| (table.as_str(), column.as_str()) != ("drawings", "no"))
            .map(|column| format!("quote(\"{column}\")"))
            .collect();
        let mut rows = texts(&format!("SELECT {} FROM \"{table}\"", quoted.join(" || ' ' || ")));
        rows.sort_unstable();
        (table, rows)
    });
    rows.collect()
}

/// Every row of a PostgreSQL database, and where its sequences stand.
pub(crate) fn of_postgres(url: &str) -> Rows {
    let tables = database::column(
        url,
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'
            AND tablename NOT IN ('refinery_schema_history', 'spatial_ref_sys')",
    );
    let mut rows: Rows = tables
        .into_iter()
        .map(|table| {
            let mut rows = database::column(url, &format!("SELECT t::text FROM {table} t"));
            rows.sort_unstable();
            (table, rows)
        })
        .collect();
    let sequences =
        "SELECT sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences ORDER BY 1";
    rows.insert("sequences".to_owned(), database::column(url, sequences));
    rows
}

/// Checks that two databases hold the same, row by row.
#[track_caller]
pub(crate) fn are_equal(one: &Rows, other: &Rows) {
    let tables = |rows: &Rows| rows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(tables(one), tables(other));
    for (table, rows) in one {
        let others = &other[table];
        let differs = rows.iter().zip(others).find(|(one, other)| one != other);
        assert_eq!((rows.len(), differs), (others.len(), None), "{table}");
    }
}
