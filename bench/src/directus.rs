//! Directus: its published package on SQLite and PostgreSQL, with a collection of the same fields that is
//! created over its API and filled by SQL. Requests use the static token of an administrator, which needs
//! no permission lookups.

use crate::{
    Result, datasette,
    folders::{self, COLUMNS, Peer, SEARCHED},
    machine::first_line,
    process::{self, Process, installed},
    profile::{Profile, psql},
};
use groma_domain::WorkspaceId;
use groma_store::Store;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{
    io::Write as _,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
};

const TOKEN: &str = "bench-static-token";

pub(crate) const SETTINGS: &str = "`NODE_ENV=production`, static token of an administrator, no limiters, no \
    cache, no telemetry, key as primary key, only the searched fields `searchable`";

/// The database of Directus.
pub(crate) enum Home {
    Sqlite(String),
    Postgres(String),
}

pub(crate) async fn start(
    profile: &Profile,
    home: &Home,
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Peer> {
    let (name, folders) = match home {
        Home::Sqlite(_) => ("Directus on SQLite", profile.sizes.folders),
        Home::Postgres(_) => ("Directus on PostgreSQL", profile.postgres_folders),
    };
    let program = installed("directus/node_modules/directus/cli.js")?;
    let ready = directus(&program, home, "bootstrap")?.output()?;
    if !ready.status.success() {
        return Err(format!("Directus: {}", String::from_utf8_lossy(&ready.stdout)).into());
    }
    let mut command = directus(&program, home, "start")?;
    let process = Process::start("directus", "/server/ping", |port| {
        command.env("PORT", port.to_string());
        command
    })?;
    if count(home) != Some(folders) {
        println!("Filling {name}, once");
        create_collection(process.address)?;
        fill(home, store, workspace).await?;
    }
    Ok(Peer {
        name,
        process,
        token: TOKEN,
        detail: |reference| format!("/items/folders/{reference}"),
        page: |page| format!("/items/folders?limit=50&page={page}&meta=filter_count"),
        term: |term| format!("/items/folders?limit=50&search={term}&meta=filter_count"),
        folder_at: "/data",
        folders_at: "/data",
        total_at: "/meta/filter_count",
    })
}

pub(crate) fn version() -> Result<String> {
    let package = std::fs::read(installed("directus/node_modules/directus/package.json")?)?;
    let package: Value = serde_json::from_slice(&package)?;
    let node =
        first_line(&installed("node/node_modules/.bin/node")?.to_string_lossy(), &["--version"])?;
    Ok(format!("{} on Node {node}", package["version"].as_str().unwrap_or_default()))
}

fn directus(program: &Path, home: &Home, verb: &str) -> Result<Command> {
    let mut command = Command::new(installed("node/node_modules/.bin/node")?);
    command.arg(program).arg(verb).current_dir(installed("directus")?);
    match home {
        Home::Sqlite(file) => {
            command.env("DB_CLIENT", "sqlite3").env("DB_FILENAME", std::path::absolute(file)?)
        }
        Home::Postgres(database) => {
            command.env("DB_CLIENT", "pg").env("DB_CONNECTION_STRING", database)
        }
    };
    command.envs([
        ("NODE_ENV", "production"),
        ("HOST", "127.0.0.1"),
        ("SECRET", "a secret of the bench, nobody else's"),
        ("ADMIN_EMAIL", "owner@example.com"),
        ("ADMIN_PASSWORD", "a password for the bench"),
        ("ADMIN_TOKEN", TOKEN),
        ("LOG_LEVEL", "warn"),
        ("TELEMETRY", "false"),
        ("CACHE_ENABLED", "false"),
        ("RATE_LIMITER_ENABLED", "false"),
        ("PRESSURE_LIMITER_ENABLED", "false"),
        ("WEBSOCKETS_ENABLED", "false"),
    ]);
    Ok(command)
}

/// The number of folders; `None` without the table.
fn count(home: &Home) -> Option<u64> {
    let sql = "SELECT count(*) FROM folders";
    match home {
        Home::Sqlite(file) => {
            let count = Connection::open(file).ok()?.query_row(sql, [], |row| row.get::<_, i64>(0));
            u64::try_from(count.ok()?).ok()
        }
        Home::Postgres(database) => psql(database, sql).ok()?.parse().ok(),
    }
}

/// Creates the collection again.
fn create_collection(address: SocketAddr) -> Result {
    let fields: Vec<Value> = COLUMNS
        .iter()
        .map(|column| {
            let kind = match *column {
                "version" => "integer",
                "reference" => "string",
                _ => "text",
            };
            let schema = json!({ "is_primary_key": *column == "reference" });
            let meta = json!({ "searchable": SEARCHED.contains(column) });
            json!({ "field": column, "type": kind, "schema": schema, "meta": meta })
        })
        .collect();
    let collection = json!({ "collection": "folders", "schema": {}, "meta": {}, "fields": fields });
    let curl = |method: &str, path: &str, body: &str| {
        Command::new("curl")
            .args(["-s", "-X", method, "-H", "Content-Type: application/json"])
            .args(["-H", &format!("Authorization: Bearer {TOKEN}"), "--data-binary", body])
            .arg(format!("http://{address}{path}"))
            .output()
    };
    curl("DELETE", "/collections/folders", "")?;
    let made = curl("POST", "/collections", &collection.to_string())?;
    let text = String::from_utf8_lossy(&made.stdout);
    if text.contains("\"errors\"") {
        return Err(format!("Directus made no collection: {text}").into());
    }
    process::get(address, "/items/folders?limit=1", TOKEN).map(drop)
}

async fn fill(home: &Home, store: &Store, workspace: WorkspaceId) -> Result {
    match home {
        Home::Sqlite(file) => {
            let database = Connection::open(file)?;
            database.execute_batch("BEGIN")?;
            datasette::insert(&database, store, workspace).await?;
            Ok(database.execute_batch("COMMIT; ANALYZE")?)
        }
        Home::Postgres(database) => {
            let columns = COLUMNS.map(|column| format!("\"{column}\"")).join(", ");
            let mut copy = Command::new("psql")
                .args([database, "-qc", &format!("COPY folders ({columns}) FROM STDIN")])
                .stdin(Stdio::piped())
                .spawn()?;
            let mut input = std::io::BufWriter::new(copy.stdin.take().ok_or("no input")?);
            folders::each(store, workspace, |values| {
                let values: Vec<String> = values.into_iter().map(copy_value).collect();
                Ok(writeln!(input, "{}", values.join("\t"))?)
            })
            .await?;
            drop(input);
            if !copy.wait()?.success() {
                return Err("COPY failed".into());
            }
            psql(database, "VACUUM ANALYZE folders").map(drop)
        }
    }
}

/// A value in the format of COPY.
fn copy_value(value: Option<String>) -> String {
    let Some(value) = value else { return "\\N".to_owned() };
    value.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}
