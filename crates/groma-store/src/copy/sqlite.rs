//! SQLite as either end of a copy.

use super::{
    Cell, Cells, Ledger, Manifest, NUMBERED, Packing, Parcel, REHEARSED,
    tables::{Column, Holds, TABLES, Table},
};
use crate::{
    Error, Result,
    backup::sqlite::{FILL_PRAGMAS, Part, Place, check, count_rows},
    engine::{
        sqlite::{OPEN_FLAGS, canonical_path, known_migrations, migrate, serving_lock},
        statements,
    },
    records::sqlite::sql::KindSql,
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
    DISABLE_ENDPOINTS = "UPDATE webhook_endpoints SET enabled = 0, disabled_reason = ?1 WHERE enabled = 1";
}

/// A file to be read, in one state.
pub(crate) struct Source {
    connection: Connection,
    /// Nobody serves it meanwhile.
    _serving: Option<File>,
}

impl Source {
    pub(crate) fn open(path: &Path, rehearsal: bool) -> Result<(Self, Manifest)> {
        let path = canonical_path(path)?;
        let serving = if rehearsal { None } else { Some(serving_lock(&path)?) };
        let connection = migrate(&path)?;
        connection.execute_batch(BEGIN)?;
        let manifest = manifest(&connection)?;
        Ok((Self { connection, _serving: serving }, manifest))
    }

    pub(crate) fn read(self, parcels: &mpsc::Sender<Parcel>) -> Result<()> {
        let send = |parcel| parcels.blocking_send(parcel).map_err(|_| Error::Closed);
        for (index, table) in TABLES.iter().enumerate() {
            let mut packing = Packing::of(index);
            let mut statement = self.connection.prepare(&table.sqlite_read)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                packing.add(read_row(table, row)?).map_or(Ok(()), send)?;
            }
            packing.close().map_or(Ok(()), send)?;
        }
        send(Parcel::End)
    }
}

/// A file to be written. It has no name until it is whole.
pub(crate) struct Target {
    place: Place,
    part: Part,
    connection: Connection,
}

impl Target {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let place = Place::claim(path)?;
        if place.has_rows()? {
            let reason = "is not empty; a copy goes into an empty database";
            return Err(Error::Maintenance(format!("{} {reason}", place.path.display())));
        }
        let part = Part::beside(&place.path)?;
        let mut connection = Connection::open_with_flags(part.path(), OPEN_FLAGS)?;
        connection.set_prepared_statement_cache_capacity(64);
        for pragma in FILL_PRAGMAS {
            connection.prepare(pragma)?.query([])?.next()?;
        }
        known_migrations().run(&mut connection)?;
        Ok(Self { place, part, connection })
    }

    pub(crate) fn write(
        self,
        mut parcels: mpsc::Receiver<Parcel>,
        mut ledger: Ledger<'_>,
        rehearsal: bool,
    ) -> Result<()> {
        let Self { place, part, connection } = self;
        loop {
            match parcels.blocking_recv() {
                Some(Parcel::Rows(index, rows)) => {
                    connection.execute_batch(BEGIN)?;
                    write_rows(&connection, &TABLES[index], &rows)?;
                    connection.execute_batch(COMMIT)?;
                    ledger.note(index, rows.len());
                }
                Some(Parcel::End) => break,
                None => return Err(Error::Closed),
            }
        }
        connection.execute(FILL_FEATURE_KEYS, [])?;
        for ((table, _), number) in NUMBERED.iter().zip(ledger.expected.numbers) {
            if let Some(number) = number
                && connection.execute(SET_LAST_NUMBER, (table, number))? == 0
            {
                connection.execute(ADD_LAST_NUMBER, (table, number))?;
            }
        }
        if rehearsal {
            connection.execute(DISABLE_ENDPOINTS, [REHEARSED])?;
        }
        ledger.close(&manifest(&connection)?)?;
        let counts = count_rows(&connection)?;
        drop(connection);
        check(part.path(), &counts, &|_| ())?;
        place.take(part, None)?;
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
        cells.push(match (column.holds, table.kind) {
            (Holds::Search, Some(kind)) => {
                let document = table.columns.iter().position(is_document).unwrap_or_default();
                let document = row.get_ref(document)?.as_str().map_err(rusqlite::Error::from)?;
                Cell::Text(Record::from_document(kind, document.as_bytes())?.search_text())
            }
            (holds, _) => read_cell(holds, row.get_ref(index)?)?,
        });
    }
    Ok(cells)
}

fn is_document(column: &Column) -> bool {
    column.holds == Holds::Document
}

fn read_cell(holds: Holds, value: ValueRef<'_>) -> Result<Cell> {
    Ok(match (holds, value) {
        (_, ValueRef::Null) => Cell::Null,
        (Holds::Id, ValueRef::Blob(bytes)) => {
            Cell::Id(Uuid::from_slice(bytes).map_err(|error| Error::Damaged(error.to_string()))?)
        }
        (Holds::Moments, ValueRef::Blob(bytes)) => {
            let moments = bytes.as_chunks().0.iter().map(|moment| i64::from_le_bytes(*moment));
            Cell::Moments(moments.collect())
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
            // The same text that a change would index.
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
            Self::Moments(moments) => {
                let bytes = moments.iter().flat_map(|moment| moment.to_le_bytes());
                ToSqlOutput::Owned(Value::Blob(bytes.collect()))
            }
        })
    }
}
