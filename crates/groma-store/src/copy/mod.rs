//! Everything from one database into another, of either engine: ids, times and secrets as they are.
//!
//! One side reads out of a single state of its database, the other writes what must become whole or
//! nothing: a transaction on PostgreSQL, a file without a name yet on SQLite. Between them goes a
//! short queue of rows, so memory does not grow with the database. What goes over is in [`tables`].

pub(crate) mod postgres;
pub(crate) mod sqlite;
mod tables;

use crate::{
    DatabaseUrl, Error, Result,
    backup::{Progress, spawn_blocking},
};
use tables::{TABLES, Table};
use tokio::sync::mpsc;
use uuid::Uuid;

/// How much is on its way in one piece.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 4 << 20;
/// How many pieces wait to be written.
const QUEUE: usize = 2;

/// Why endpoints are disabled in a rehearsal.
pub(crate) const REHEARSED: &str = "This database is a copy, made while the original was in use";

/// A value on its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Id(Uuid),
    Moments(Vec<i64>),
}

impl Cell {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Moments(moments) => moments.len() * 8,
            _ => 16,
        }
    }
}

pub(crate) type Cells = Vec<Cell>;

/// What goes from the reading to the writing side.
pub(crate) enum Parcel {
    /// Rows of the table of this number.
    Rows(usize, Vec<Cells>),
    /// That was all. Without it nothing is kept.
    End,
}

/// What a database holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The rows of each table.
    pub(crate) rows: Vec<u64>,
    /// The last numbers that were given, which are never given again.
    pub(crate) numbers: [Option<i64>; 4],
}

/// The tables whose rows are numbered, with PostgreSQL's sequences.
pub(crate) const NUMBERED: [(&str, &str); 4] = [
    ("workspaces", "workspaces_no_seq"),
    ("audit_log", "audit_log_id_seq"),
    ("layers", "layer_numbers"),
    ("webhook_endpoints", "webhook_endpoints_no_seq"),
];

/// A copy that was made.
#[derive(Clone, Debug)]
pub struct CopyReport {
    /// Tables with their rows.
    pub tables: Vec<(&'static str, u64)>,
}

/// Gathers rows into parcels.
pub(crate) struct Packing {
    table: usize,
    rows: Vec<Cells>,
    bytes: usize,
}

impl Packing {
    pub(crate) fn of(table: usize) -> Self {
        Self { table, rows: Vec::new(), bytes: 0 }
    }

    /// Takes a row; gives a parcel when that is full.
    pub(crate) fn add(&mut self, row: Cells) -> Option<Parcel> {
        self.bytes += row.iter().map(Cell::size).sum::<usize>();
        self.rows.push(row);
        let is_full = self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES;
        is_full.then(|| self.close()).flatten()
    }

    /// What was gathered since.
    pub(crate) fn close(&mut self) -> Option<Parcel> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        (!rows.is_empty()).then_some(Parcel::Rows(self.table, rows))
    }
}

/// Counts what was written, and tells.
pub(crate) struct Ledger<'t> {
    pub(crate) expected: Manifest,
    written: Vec<u64>,
    tell: &'t (dyn Fn(Progress) + Send + Sync),
}

impl<'t> Ledger<'t> {
    fn new(expected: Manifest, tell: &'t (dyn Fn(Progress) + Send + Sync)) -> Self {
        let written = vec![0; expected.rows.len()];
        Self { expected, written, tell }
    }

    pub(crate) fn note(&mut self, table: usize, rows: usize) {
        self.written[table] += rows as u64;
        let (done, total) = (self.written.iter().sum(), self.expected.rows.iter().sum());
        (self.tell)(Progress::Copying { done, total });
    }

    /// Compares what the written database says with what the other had.
    pub(crate) fn close(&self, found: &Manifest) -> Result<()> {
        (self.tell)(Progress::Checking);
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

/// Copies a database into an empty one. Neither may be in use, or deliveries would leave from
/// both; in a rehearsal the first one may, and the endpoints of the copy are disabled.
pub(crate) async fn copy(
    from: &DatabaseUrl,
    to: &DatabaseUrl,
    rehearsal: bool,
    tell: impl Fn(Progress) + Send + Sync + 'static,
) -> Result<CopyReport> {
    let target = match to.clone() {
        DatabaseUrl::Sqlite(path) => {
            Target::Sqlite(spawn_blocking(move || sqlite::Target::open(&path)).await?)
        }
        DatabaseUrl::Postgres(url) => Target::Postgres(postgres::Target::open(&url).await?),
    };
    let (source, manifest) = match from.clone() {
        DatabaseUrl::Sqlite(path) => {
            let open = move || sqlite::Source::open(&path, rehearsal);
            let (source, manifest) = spawn_blocking(open).await?;
            (Source::Sqlite(source), manifest)
        }
        DatabaseUrl::Postgres(url) => {
            let (source, manifest) = postgres::Source::open(&url, rehearsal).await?;
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
                    target.write(receiver, Ledger::new(manifest, &tell), rehearsal)
                })
                .await
            }
            Target::Postgres(target) => {
                target.write(receiver, Ledger::new(manifest, &tell), rehearsal).await
            }
        }
    };
    match tokio::join!(reading, writing) {
        (Ok(()), Ok(())) => Ok(report),
        // One side that fails closes the queue on the other.
        (Err(Error::Closed) | Ok(()), Err(error)) | (Err(error), _) => Err(error),
    }
}

fn report(manifest: &Manifest) -> CopyReport {
    let name = |table: &Table| table.name;
    CopyReport { tables: TABLES.iter().map(name).zip(manifest.rows.iter().copied()).collect() }
}

/// Every statement that this makes, for the tests that prepare them.
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
