//! Writes GeoPackages with several tables: layers, and tables without geometries that refer to one another.

use crate::{
    LayerWriter,
    error::Result,
    formats::geopackage::{begin, finish, quoted, write_layer},
};
use rusqlite::{Connection, params_from_iter, types::Value as Cell};
use serde_json::Value;
use std::path::Path;

/// A GeoPackage that is being written. The file is complete after [`Self::finish`].
pub struct GeoPackageWriter {
    connection: Connection,
    /// Each column that refers to a table: its table, its name, and that table.
    references: Vec<(String, String, String)>,
}

/// A column of a table without geometries.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: TableColumnType,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableColumnType {
    /// The id of the row, a text.
    Id,
    /// The id of a row of another table.
    Reference(&'static str),
    /// Text; lists and objects as JSON.
    Text,
    /// A whole number.
    Integer,
    /// A number, or a text that contains one.
    Real,
    /// A boolean.
    Boolean,
    /// A date such as 2026-01-31.
    Date,
    /// A time such as 2026-01-31T12:00:00.000Z.
    Time,
}

impl GeoPackageWriter {
    /// Begins a GeoPackage in an empty file.
    pub fn create(path: &Path) -> Result<Self> {
        Ok(Self { connection: begin(path)?, references: Vec::new() })
    }

    /// Adds a table.
    pub fn add_table(&mut self, name: &str, columns: &[TableColumn]) -> Result<()> {
        let definition = |column: &TableColumn| {
            let kind = match column.kind {
                TableColumnType::Id => "TEXT NOT NULL UNIQUE".to_owned(),
                TableColumnType::Reference(table) => {
                    format!("TEXT REFERENCES {} (id)", quoted(table))
                }
                TableColumnType::Text => "TEXT".to_owned(),
                TableColumnType::Integer => "INTEGER".to_owned(),
                TableColumnType::Real => "REAL".to_owned(),
                TableColumnType::Boolean => "BOOLEAN".to_owned(),
                TableColumnType::Date => "DATE".to_owned(),
                TableColumnType::Time => "DATETIME".to_owned(),
            };
            format!(", {} {kind}", quoted(column.name))
        };
        let definitions: String = columns.iter().map(definition).collect();
        self.connection.execute_batch(&format!(
            "CREATE TABLE {} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL{definitions})",
            quoted(name)
        ))?;
        self.connection.execute(
            "INSERT INTO gpkg_contents (table_name, data_type, identifier) VALUES (?1, 'attributes', ?1)",
            [name],
        )?;
        for column in columns {
            if let TableColumnType::Reference(table) = column.kind {
                let (column, table) = (column.name.to_owned(), table.to_owned());
                self.references.push((name.to_owned(), column, table));
            }
        }
        Ok(())
    }

    /// Adds a row to a table with these columns.
    pub fn insert(&self, table: &str, columns: &[TableColumn], row: &[&Value]) -> Result<()> {
        let sql =
            format!("INSERT INTO {} VALUES (NULL{})", quoted(table), ", ?".repeat(columns.len()));
        let cells = columns.iter().zip(row).map(|(column, value)| cell(column.kind, value));
        self.connection.prepare_cached(&sql)?.execute(params_from_iter(cells))?;
        Ok(())
    }

    /// Adds a layer in a table of this name.
    pub fn add_layer(&mut self, table: &str, layer: LayerWriter) -> Result<()> {
        let (layer, features) = layer.into_parts()?;
        write_layer(&self.connection, table, &layer, features)?;
        let links = layer.links.iter();
        let links =
            links.map(|link| (table.to_owned(), link.column.to_owned(), link.table.to_owned()));
        self.references.extend(links);
        Ok(())
    }

    /// Completes the file. References to rows that are not in it become empty.
    pub fn finish(self) -> Result<()> {
        for (table, column, target) in &self.references {
            let [table, column, target] = [table, column, target].map(|name| quoted(name));
            self.connection.execute_batch(&format!(
                "UPDATE {table} SET {column} = NULL
                 WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {target})"
            ))?;
        }
        finish(self.connection)
    }
}

fn cell(kind: TableColumnType, value: &Value) -> Cell {
    match (kind, value) {
        (_, Value::Null) => Cell::Null,
        (_, Value::Bool(value)) => Cell::Integer((*value).into()),
        (TableColumnType::Integer, Value::Number(number)) => {
            number.as_i64().map_or(Cell::Null, Cell::Integer)
        }
        (TableColumnType::Real, Value::Number(number)) => {
            number.as_f64().map_or(Cell::Null, Cell::Real)
        }
        (TableColumnType::Real, Value::String(text)) => {
            text.parse().map_or_else(|_| Cell::Text(text.clone()), Cell::Real)
        }
        (_, Value::String(text)) => Cell::Text(text.clone()),
        (_, value) => Cell::Text(value.to_string()),
    }
}
