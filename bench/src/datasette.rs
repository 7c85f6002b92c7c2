//! Datasette: its published package with an immutable SQLite file, precomputed counts and full-text
//! search, as its documentation recommends for speed.

use crate::{
    Result,
    folders::{self, COLUMNS, Peer, SEARCHED},
    machine::first_line,
    process::{Process, installed},
    profile::Profile,
};
use groma_domain::WorkspaceId;
use groma_store::Store;
use rusqlite::{Connection, params_from_iter};
use std::process::Command;

pub(crate) const SETTINGS: &str = "`-i` (immutable, counts from `inspect`), facets off, no threads for SQL (its fastest here), key as \
    primary key, FTS5 over the searched fields; a page by its `_next`";

pub(crate) async fn start(
    profile: &Profile,
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Peer> {
    let file = format!("{}/datasette.db", profile.directory()?);
    fill(&file, profile.sizes.folders, store, workspace).await?;
    let program = installed("python/bin/datasette")?;
    let counts = format!("{file}.json");
    let inspected =
        Command::new(&program).args(["inspect", &file, "--inspect-file", &counts]).status()?;
    if !inspected.success() {
        return Err("Datasette could not inspect its file".into());
    }
    let process = Process::start("datasette", "/-/versions.json", |port| {
        let mut command = Command::new(program);
        command.args(["serve", "-i", &file, "--inspect-file", &counts, "-p", &port.to_string()]);
        let settings =
            [("suggest_facets", "off"), ("allow_facet", "off"), ("num_sql_threads", "0")];
        for (setting, value) in settings {
            command.args(["--setting", setting, value]);
        }
        command
    })?;
    Ok(Peer {
        name: "Datasette",
        process,
        token: "",
        detail: |reference| format!("/datasette/folders/{reference}.json?_shape=objects"),
        page: |page| match page {
            0 | 1 => "/datasette/folders.json?_shape=objects&_size=50".to_owned(),
            page => format!(
                "/datasette/folders.json?_shape=objects&_size=50&_next=F-{:06}",
                (page - 1) * 50
            ),
        },
        term: |term| format!("/datasette/folders.json?_shape=objects&_size=50&_search={term}"),
        folder_at: "/rows/0",
        folders_at: "/rows",
        total_at: "/filtered_table_rows_count",
    })
}

pub(crate) fn version() -> Result<String> {
    let output = first_line(&installed("python/bin/datasette")?.to_string_lossy(), &["--version"])?;
    Ok(output.rsplit(' ').next().unwrap_or_default().to_owned())
}

/// Creates a table with the folders unless it exists.
async fn fill(file: &str, folders: u64, store: &Store, workspace: WorkspaceId) -> Result {
    let database = Connection::open(file)?;
    let count = "SELECT count(*) FROM folders";
    if database.query_row(count, [], |row| row.get::<_, i64>(0)).is_ok_and(|n| n as u64 == folders)
    {
        return Ok(());
    }
    println!("Filling Datasette, once");
    let columns = COLUMNS.map(|column| match column {
        "reference" => "\"reference\" TEXT PRIMARY KEY".to_owned(),
        "version" => "\"version\" INTEGER".to_owned(),
        column => format!("\"{column}\" TEXT"),
    });
    database.execute_batch(&format!(
        "DROP TABLE IF EXISTS folders_fts; DROP TABLE IF EXISTS folders;
         CREATE TABLE folders ({}); BEGIN",
        columns.join(", ")
    ))?;
    insert(&database, store, workspace).await?;
    let searched = SEARCHED.join(", ");
    database.execute_batch(&format!(
        "CREATE VIRTUAL TABLE folders_fts USING fts5({searched}, content=\"folders\");
         INSERT INTO folders_fts (rowid, {searched}) SELECT rowid, {searched} FROM folders;
         COMMIT; ANALYZE; VACUUM"
    ))?;
    Ok(())
}

/// Inserts the folders into a table with their columns.
pub(crate) async fn insert(database: &Connection, store: &Store, workspace: WorkspaceId) -> Result {
    let places = vec!["?"; COLUMNS.len()].join(", ");
    let columns = COLUMNS.map(|column| format!("\"{column}\"")).join(", ");
    let mut insert =
        database.prepare(&format!("INSERT INTO folders ({columns}) VALUES ({places})"))?;
    folders::each(store, workspace, |values| {
        insert.execute(params_from_iter(values))?;
        Ok(())
    })
    .await
}
