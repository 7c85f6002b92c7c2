//! SQLite as source or target of a copy.

use super::{
    BatchBuilder, Cell, Cells, Manifest, Message, NUMBERED, REHEARSED, Verifier,
    tables::{Column, ColumnType, TABLES, Table},
    warn_unlogged,
};
use crate::{
    Error, Result,
    backup::sqlite::{FILL_PRAGMAS, LockedFile, PartialFile, check, count_rows},
    engine::{
        sqlite::{OPEN_FLAGS, canonical_path, known_migrations, migrate, serving_lock},
        statements,
    },
    records::sqlite::sql::KindSql,
    security_log::{self, NewSecurityEntry},
};
use groma_domain::{Record, text::FIELD_SEPARATOR};
use rusqlite::{
    Connection, OptionalExtension, Row,
    types::{ToSql, ToSqlOutput, Value, ValueRef},
};
use std::{fs::File, path::Path};
use tokio::sync::mpsc;
use uuid::Uuid;

statements! {
    BEGIN = "BEGIN";
    COMMIT = "COMMIT";
    LAST_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
    SET_LAST_NUMBER = "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1";
    ADD_LAST_NUMBER = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
    FILL_FEATURE_KEYS = "INSERT INTO feature_keys (layer, external_id, position)
        SELECT position >> 40, external_id, position & 1099511627775 FROM features WHERE external_id IS NOT NULL";
    FILL_FOLDER_BOXES = "INSERT INTO folder_boxes (position, west, east, south, north)
        SELECT position, doc ->> '$.bbox[0]', doc ->> '$.bbox[2]', doc ->> '$.bbox[1]', doc ->> '$.bbox[3]'
        FROM folders WHERE has_bbox";
    DROP_MAILS = "UPDATE mails SET due_at = NULL, subject = '', body = ''";
    DISABLE_ENDPOINTS = "UPDATE webhook_endpoints SET enabled = 0, disabled_reason = ?1 WHERE enabled = 1";
}

/// The source: one snapshot of a file.
pub(crate) struct Source {
    connection: Connection,
    /// Keeps servers away.
    _serving: Option<File>,
}

impl Source {
    pub(crate) fn open(
        path: &Path,
        rehearsal: bool,
        entry: NewSecurityEntry,
    ) -> Result<(Self, Manifest)> {
        let path = canonical_path(path)?;
        let serving = if rehearsal { None } else { Some(serving_lock(&path)?) };
        let connection = migrate(&path)?;
        warn_unlogged(security_log::sqlite::write_to(&connection, entry));
        connection.execute_batch(BEGIN)?;
        let manifest = manifest(&connection)?;
        Ok((Self { connection, _serving: serving }, manifest))
    }

    pub(crate) fn read(self, queue: &mpsc::Sender<Message>) -> Result<()> {
        let send = |message| queue.blocking_send(message).map_err(|_| Error::Closed);
        for (index, table) in TABLES.iter().enumerate() {
            let mut batch = BatchBuilder::of(index);
            let mut statement = self.connection.prepare(&table.sqlite_read)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                batch.add(read_row(table, row)?).map_or(Ok(()), send)?;
            }
            batch.close().map_or(Ok(()), send)?;
        }
        send(Message::End)
    }
}

/// The target: a temporary file until it is complete.
pub(crate) struct Target {
    locked: LockedFile,
    part: PartialFile,
    connection: Connection,
}

impl Target {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let locked = LockedFile::claim(path)?;
        if locked.has_rows()? {
            let reason = "is not empty; a copy goes into an empty database";
            return Err(Error::Maintenance(format!("{} {reason}", locked.path.display())));
        }
        let part = PartialFile::beside(&locked.path)?;
        let mut connection = Connection::open_with_flags(part.path(), OPEN_FLAGS)?;
        connection.set_prepared_statement_cache_capacity(64);
        for pragma in FILL_PRAGMAS {
            connection.prepare(pragma)?.query([])?.next()?;
        }
        known_migrations().run(&mut connection)?;
        Ok(Self { locked, part, connection })
    }

    pub(crate) fn write(
        self,
        mut queue: mpsc::Receiver<Message>,
        mut verifier: Verifier<'_>,
        rehearsal: bool,
    ) -> Result<()> {
        let Self { locked, part, connection } = self;
        loop {
            match queue.blocking_recv() {
                Some(Message::Rows(index, rows)) => {
                    connection.execute_batch(BEGIN)?;
                    write_rows(&connection, &TABLES[index], &rows)?;
                    connection.execute_batch(COMMIT)?;
                    verifier.add(index, rows.len());
                }
                Some(Message::End) => break,
                None => return Err(Error::Closed),
            }
        }
        connection.execute(FILL_FEATURE_KEYS, [])?;
        connection.execute(FILL_FOLDER_BOXES, [])?;
        for ((table, _), number) in NUMBERED.iter().zip(verifier.expected.numbers) {
            if let Some(number) = number
                && connection.execute(SET_LAST_NUMBER, (table, number))? == 0
            {
                connection.execute(ADD_LAST_NUMBER, (table, number))?;
            }
        }
        if rehearsal {
            connection.execute(DISABLE_ENDPOINTS, [REHEARSED])?;
            connection.execute(DROP_MAILS, [])?;
        }
        verifier.verify(&manifest(&connection)?)?;
        let counts = count_rows(&connection)?;
        drop(connection);
        check(part.path(), &counts, &|_| ())?;
        locked.replace(part, None)?;
        Ok(())
    }
}

fn manifest(connection: &Connection) -> Result<Manifest> {
    let mut rows = Vec::with_capacity(TABLES.len());
    for table in TABLES.iter() {
        let count: i64 = connection.query_row(&table.sqlite_count, [], |row| row.get(0))?;
        rows.push(count.unsigned_abs());
    }
    let mut numbers = [None; 4];
    for ((table, _), number) in NUMBERED.iter().zip(&mut numbers) {
        let last = connection.query_row(LAST_NUMBER, [table], |row| row.get(0));
        *number = last.optional()?.filter(|last| *last > 0);
    }
    Ok(Manifest { rows, numbers })
}

fn read_row(table: &Table, row: &Row<'_>) -> Result<Cells> {
    let mut cells = Vec::with_capacity(table.columns.len());
    for (index, column) in table.columns.iter().enumerate() {
        cells.push(match (column.column_type, table.kind) {
            (ColumnType::Search, Some(kind)) => {
                let document = table.columns.iter().position(is_document).unwrap_or_default();
                let document = row.get_ref(document)?.as_str().map_err(rusqlite::Error::from)?;
                Cell::Text(Record::from_document(kind, document.as_bytes())?.search_text())
            }
            (column_type, _) => read_cell(column_type, row.get_ref(index)?)?,
        });
    }
    Ok(cells)
}

fn is_document(column: &Column) -> bool {
    column.column_type == ColumnType::Document
}

fn read_cell(column_type: ColumnType, value: ValueRef<'_>) -> Result<Cell> {
    Ok(match (column_type, value) {
        (_, ValueRef::Null) => Cell::Null,
        (ColumnType::Id, ValueRef::Blob(bytes)) => {
            Cell::Id(Uuid::from_slice(bytes).map_err(|error| Error::Damaged(error.to_string()))?)
        }
        (ColumnType::Times, ValueRef::Blob(bytes)) => {
            let times = bytes.as_chunks().0.iter().map(|time| i64::from_le_bytes(*time));
            Cell::Times(times.collect())
        }
        (_, ValueRef::Blob(bytes)) => Cell::Bytes(bytes.to_vec()),
        (_, ValueRef::Integer(number)) => Cell::Int(number),
        (_, ValueRef::Real(number)) => Cell::Real(number),
        (_, ValueRef::Text(text)) => Cell::Text(
            String::from_utf8(text.to_vec()).map_err(|error| Error::Damaged(error.to_string()))?,
        ),
    })
}

fn write_rows(connection: &Connection, table: &Table, rows: &[Cells]) -> Result<()> {
    let mut statement = connection.prepare_cached(&table.sqlite_write)?;
    for row in rows {
        for slot in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(slot, &row[slot - 1])?;
        }
        statement.raw_execute()?;
        if let (Some(kind), Some(Cell::Text(text))) = (table.kind, row.last()) {
            // The text that a change would index.
            let text = format!("{text}{FIELD_SEPARATOR}{FIELD_SEPARATOR}");
            let row_id = connection.last_insert_rowid();
            connection.prepare_cached(&KindSql::of(kind).insert_text)?.execute((row_id, text))?;
        }
    }
    Ok(())
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Owned(Value::Real(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Id(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Self::Times(times) => {
                let bytes = times.iter().flat_map(|time| time.to_le_bytes());
                ToSqlOutput::Owned(Value::Blob(bytes.collect()))
            }
        })
    }
}
