//! Copies a whole database into another one, of either engine: ids, times and secrets stay the same.
//!
//! The source is read in one snapshot. The target is written completely or not at all: in a transaction on
//! PostgreSQL, to a temporary file on SQLite. A short queue of batches connects the two, so memory does not
//! grow with the database. [`tables`] lists what is copied.

pub(crate) mod postgres;
pub(crate) mod sqlite;
mod tables;

use crate::{
    DatabaseUrl, Error, Result,
    backup::{Progress, spawn_blocking},
    security_log::NewSecurityEntry,
};
use groma_domain::Timestamp;
use serde_json::json;
use tables::{TABLES, Table};
use tokio::sync::mpsc;
use uuid::Uuid;

/// The size of a batch.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 4 << 20;
/// How many batches may wait to be written.
const QUEUE: usize = 2;

/// Why the endpoints of a rehearsal are disabled.
pub const REHEARSED: &str = "This database is a copy, made while the original was in use";

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Id(Uuid),
    Times(Vec<i64>),
}

impl Cell {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Times(times) => times.len() * 8,
            _ => 16,
        }
    }
}

pub(crate) type Cells = Vec<Cell>;

/// What the reader sends to the writer.
pub(crate) enum Message {
    /// Rows of the table with this index.
    Rows(usize, Vec<Cells>),
    /// All rows were sent. Without it, the copy is discarded.
    End,
}

/// The contents of a database, for verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The number of rows of each table.
    pub(crate) rows: Vec<u64>,
    /// The last values of the sequences, which must not repeat.
    pub(crate) numbers: [Option<i64>; 4],
}

/// The tables whose rows are numbered, with PostgreSQL's sequences.
pub(crate) const NUMBERED: [(&str, &str); 4] = [
    ("workspaces", "workspaces_no_seq"),
    ("audit_log", "audit_log_id_seq"),
    ("layers", "layer_numbers"),
    ("webhook_endpoints", "webhook_endpoints_no_seq"),
];

/// The result of a copy.
#[derive(Clone, Debug)]
pub struct CopyReport {
    /// Tables with the number of their rows.
    pub tables: Vec<(&'static str, u64)>,
}

/// Collects rows into batches.
pub(crate) struct BatchBuilder {
    table: usize,
    rows: Vec<Cells>,
    bytes: usize,
}

impl BatchBuilder {
    pub(crate) fn of(table: usize) -> Self {
        Self { table, rows: Vec::new(), bytes: 0 }
    }

    /// Adds a row. Returns the batch when it is full.
    pub(crate) fn add(&mut self, row: Cells) -> Option<Message> {
        self.bytes += row.iter().map(Cell::size).sum::<usize>();
        self.rows.push(row);
        let is_full = self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES;
        is_full.then(|| self.close()).flatten()
    }

    /// The rows since the last full batch.
    pub(crate) fn close(&mut self) -> Option<Message> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        (!rows.is_empty()).then_some(Message::Rows(self.table, rows))
    }
}

/// Counts written rows, reports progress and verifies the result.
pub(crate) struct Verifier<'t> {
    pub(crate) expected: Manifest,
    written: Vec<u64>,
    progress: &'t (dyn Fn(Progress) + Send + Sync),
}

impl<'t> Verifier<'t> {
    fn new(expected: Manifest, progress: &'t (dyn Fn(Progress) + Send + Sync)) -> Self {
        let written = vec![0; expected.rows.len()];
        Self { expected, written, progress }
    }

    pub(crate) fn add(&mut self, table: usize, rows: usize) {
        self.written[table] += rows as u64;
        let (done, total) = (self.written.iter().sum(), self.expected.rows.iter().sum());
        (self.progress)(Progress::Copying { done, total });
    }

    /// Compares the written database with the source.
    pub(crate) fn verify(&self, found: &Manifest) -> Result<()> {
        (self.progress)(Progress::Checking);
        for (index, table) in TABLES.iter().enumerate() {
            let (had, sent, has) =
                (self.expected.rows[index], self.written[index], found.rows[index]);
            if had != sent || sent != has {
                return Err(Error::Maintenance(format!(
                    "{} came out wrong: {had} rows were there, {sent} read, {has} written",
                    table.name
                )));
            }
        }
        if self.expected.numbers != found.numbers {
            return Err(Error::Maintenance("the numbers given last came out wrong".to_owned()));
        }
        Ok(())
    }
}

enum Source {
    Sqlite(sqlite::Source),
    Postgres(postgres::Source),
}

enum Target {
    Sqlite(sqlite::Target),
    Postgres(postgres::Target),
}

/// Copies a database into an empty one. Neither may be in use, or both would send deliveries. In a
/// rehearsal the source may be in use, and the endpoints of the copy are disabled.
pub(crate) async fn copy(
    from: &DatabaseUrl,
    to: &DatabaseUrl,
    rehearsal: bool,
    now: Timestamp,
    progress: impl Fn(Progress) + Send + Sync + 'static,
) -> Result<CopyReport> {
    let target = match to.clone() {
        DatabaseUrl::Sqlite(path) => {
            Target::Sqlite(spawn_blocking(move || sqlite::Target::open(&path)).await?)
        }
        DatabaseUrl::Postgres(url) => Target::Postgres(postgres::Target::open(&url).await?),
    };
    let entry = started(to, rehearsal, now);
    let (source, manifest) = match from.clone() {
        DatabaseUrl::Sqlite(path) => {
            let open = move || sqlite::Source::open(&path, rehearsal, entry);
            let (source, manifest) = spawn_blocking(open).await?;
            (Source::Sqlite(source), manifest)
        }
        DatabaseUrl::Postgres(url) => {
            let (source, manifest) = postgres::Source::open(&url, rehearsal, entry).await?;
            (Source::Postgres(source), manifest)
        }
    };
    let report = report(&manifest);
    let (sender, receiver) = mpsc::channel(QUEUE);
    let reading = async {
        match source {
            Source::Sqlite(source) => spawn_blocking(move || source.read(&sender)).await,
            Source::Postgres(source) => source.read(sender).await,
        }
    };
    let writing = async {
        match target {
            Target::Sqlite(target) => {
                spawn_blocking(move || {
                    target.write(receiver, Verifier::new(manifest, &progress), rehearsal)
                })
                .await
            }
            Target::Postgres(target) => {
                target.write(receiver, Verifier::new(manifest, &progress), rehearsal).await
            }
        }
    };
    match tokio::join!(reading, writing) {
        (Ok(()), Ok(())) => Ok(report),
        // When one side fails, the queue closes for the other.
        (Err(Error::Closed) | Ok(()), Err(error)) | (Err(error), _) => Err(error),
    }
}

/// The entry in the security logs of both databases: it is written to the source before its snapshot.
fn started(to: &DatabaseUrl, rehearsal: bool, now: Timestamp) -> NewSecurityEntry {
    let engine = match to {
        DatabaseUrl::Sqlite(_) => "sqlite",
        DatabaseUrl::Postgres(_) => "postgres",
    };
    let details = json!({ "to": engine, "rehearsal": rehearsal });
    NewSecurityEntry::new("backup.copyStarted", now).with_details(details)
}

/// Reports an entry that could not be written. The copy goes on: the disk may be full.
fn warn_unlogged(written: Result<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, "could not write the copy to the security log");
    }
}

fn report(manifest: &Manifest) -> CopyReport {
    let name = |table: &Table| table.name;
    CopyReport { tables: TABLES.iter().map(name).zip(manifest.rows.iter().copied()).collect() }
}

/// All statements of this module, for the test that prepares them.
#[cfg(test)]
pub(crate) fn every_statement(dialect: crate::records::Dialect) -> Vec<String> {
    use crate::records::Dialect;
    let of = |table: &Table| match dialect {
        Dialect::Sqlite => {
            vec![table.sqlite_read.clone(), table.sqlite_write.clone(), table.sqlite_count.clone()]
        }
        Dialect::Postgres => vec![
            table.postgres_read.clone(),
            table.postgres_types.clone(),
            table.postgres_count.clone(),
            table.postgres_any.clone(),
        ],
    };
    TABLES.iter().flat_map(of).collect()
}
