//! Reads GeoPackages. The database comes from a stranger: it is opened read-only and without trust in its schema,
//! and only plain tables are read, so that no view, trigger or function of it runs.

use super::{PROPERTY, quoted};
use crate::{
    FileError,
    error::Result,
    format_limits::MAX_COLUMNS,
    prj,
    source::{
        Field, FieldType, ID_COLUMN, ID_PROPERTY, OnFeature, Source, SourceCrs, SourceFeature,
        SourceLayer,
    },
    value,
};
use groma_geo::{Geometry, Message, message};
use rusqlite::{
    Connection, OpenFlags, Row,
    config::DbConfig,
    limits::Limit,
    types::{Value as Cell, ValueRef},
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The longest value and row, in bytes.
const MAX_LENGTH: i32 = 256 << 20;
/// The most layers, and the most columns that Groma describes in a file.
const MAX_LAYERS: usize = 1_000;
const MAX_ALIASES: usize = MAX_LAYERS * MAX_COLUMNS / 10;
/// A row takes at least as many bytes. The pages of a hostile file can refer to each other, so that it has more rows
/// than bytes.
const MIN_ROW_BYTES: u64 = 4;

/// An open GeoPackage.
pub(in crate::formats) struct GeoPackage {
    path: PathBuf,
    layers: Vec<SourceLayer>,
    tables: Vec<Table>,
}

struct Table {
    name: String,
    geometry: Option<String>,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    property: String,
    kind: FieldType,
}

impl GeoPackage {
    pub(in crate::formats) fn open(path: &Path) -> Result<Self> {
        let mut start = [0; 16];
        let length = File::open(path)?.read(&mut start)?;
        if length < 16 || &start != b"SQLite format 3\0" {
            return Err(FileError::invalid(message!("the file is not a GeoPackage")));
        }
        let connection = connect(path)?;
        let max_rows = path.metadata()?.len() / MIN_ROW_BYTES;
        let mut found = Self { path: path.to_owned(), layers: Vec::new(), tables: Vec::new() };
        check_tables(&connection)?;
        let aliases = aliases(&connection)?;
        for (table, layer) in list_tables(&connection)? {
            let (table, layer) = describe(&connection, max_rows, table, layer, &aliases)?;
            found.tables.push(table);
            found.layers.push(layer);
        }
        Ok(found)
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_LENGTH)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.execute_batch(
        "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0",
    )?;
    Ok(connection)
}

/// Rejects a file whose own tables are anything but tables.
fn check_tables(connection: &Connection) -> Result<()> {
    if !is_table(connection, "gpkg_contents")? {
        return Err(FileError::invalid(message!(
            "the file is not a GeoPackage: it has no table gpkg_contents"
        )));
    }
    for name in ["gpkg_spatial_ref_sys", "gpkg_geometry_columns", "gpkg_data_columns"] {
        if exists(connection, name)? && !is_table(connection, name)? {
            return Err(FileError::invalid(message!("`{name}` must be a table", name = name)));
        }
    }
    Ok(())
}

fn exists(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE";
    Ok(connection.query_row(sql, [name], |row| row.get::<_, i64>(0))? > 0)
}

/// Whether this is an ordinary table: neither a view nor a virtual table.
fn is_table(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_master
        WHERE type = 'table' AND rootpage > 0 AND name = ?1 COLLATE NOCASE";
    Ok(connection.query_row(sql, [name], |row| row.get::<_, i64>(0))? > 0)
}

/// The properties that columns stand for, by table and column, in files written by Groma.
fn aliases(connection: &Connection) -> Result<FxHashMap<(String, String), (String, bool)>> {
    let mut found = FxHashMap::default();
    if !exists(connection, "gpkg_data_columns")? {
        return Ok(found);
    }
    let mut statement = connection.prepare(
        "SELECT table_name, column_name, name, description, mime_type FROM gpkg_data_columns",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if found.len() == MAX_ALIASES {
            return Err(FileError::invalid(message!(
                "the table gpkg_data_columns has too many rows"
            )));
        }
        let text = |index| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
        let (table, column): (String, String) = (text(0)?, text(1)?);
        let alias = if text(3)? == PROPERTY { text(2)? } else { column.clone() };
        found.insert((table, column), (alias, text(4)? == "application/json"));
    }
    Ok(found)
}

/// The tables of features and attributes, with what `gpkg_contents` tells about them.
fn list_tables(connection: &Connection) -> Result<Vec<(Table, SourceLayer)>> {
    let has_geometries = exists(connection, "gpkg_geometry_columns")?;
    let sql = match has_geometries {
        true => {
            "SELECT c.table_name, g.column_name, g.geometry_type_name, s.organization,
                s.organization_coordsys_id, s.definition
            FROM gpkg_contents c
            LEFT JOIN gpkg_geometry_columns g ON g.table_name = c.table_name COLLATE NOCASE
            LEFT JOIN gpkg_spatial_ref_sys s ON s.srs_id = g.srs_id
            WHERE c.data_type IN ('features', 'attributes') ORDER BY c.rowid"
        }
        false => {
            "SELECT table_name, NULL, NULL, NULL, NULL, NULL FROM gpkg_contents
            WHERE data_type = 'attributes' ORDER BY rowid"
        }
    };
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let name: String = row.get(0)?;
        let geometry: Option<String> = row.get(1)?;
        let crs = match &geometry {
            None => SourceCrs::Known(groma_geo::Crs::WGS84),
            Some(_) => declared_crs(row.get(3)?, row.get(4)?, row.get(5)?),
        };
        let layer = SourceLayer {
            name: name.clone(),
            fields: Vec::new(),
            feature_count: None,
            crs,
            geometry_type: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
            key: None,
        };
        Ok((Table { name, geometry, columns: Vec::new() }, layer))
    })?;
    let layers: Vec<_> = rows.take(MAX_LAYERS + 1).collect::<rusqlite::Result<_>>()?;
    if layers.len() > MAX_LAYERS {
        return Err(FileError::invalid(message!(
            "the file has more than {limit} layers",
            limit = MAX_LAYERS
        )));
    }
    let mut names = FxHashSet::default();
    match layers.iter().find(|(table, _)| !names.insert(table.name.to_lowercase())) {
        Some((table, _)) => Err(FileError::invalid(message!(
            "layer `{name}` has several geometry columns; a GeoPackage can have one in each layer",
            name = table.name.as_str()
        ))),
        None => Ok(layers),
    }
}

fn declared_crs(organization: Option<String>, code: Option<i64>, wkt: Option<String>) -> SourceCrs {
    match (organization, code) {
        (Some(name), Some(code)) if name.eq_ignore_ascii_case("EPSG") => {
            prj::by_code(&code.to_string())
        }
        (Some(name), Some(_)) if name.eq_ignore_ascii_case("NONE") => SourceCrs::Missing,
        _ => wkt.map_or(SourceCrs::Missing, |wkt| prj::read(&wkt)),
    }
}

/// Adds the columns and the number of features.
fn describe(
    connection: &Connection,
    max_rows: u64,
    mut table: Table,
    mut layer: SourceLayer,
    aliases: &FxHashMap<(String, String), (String, bool)>,
) -> Result<(Table, SourceLayer)> {
    if !is_table(connection, &table.name)? {
        // Listed, but it cannot be read.
        return Ok((Table { columns: Vec::new(), ..table }, layer));
    }
    let mut statement =
        connection.prepare(&format!("PRAGMA table_xinfo({})", quoted(&table.name)))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, declared): (String, String) = (row.get(1)?, row.get(2)?);
        let (key, hidden): (i64, i64) = (row.get(5)?, row.get(6)?);
        // Generated columns are computed by expressions of the file.
        let is_geometry =
            table.geometry.as_ref().is_some_and(|one| one.eq_ignore_ascii_case(&name));
        if hidden != 0 || is_geometry {
            continue;
        }
        if key > 0 && declared.eq_ignore_ascii_case("INTEGER") {
            layer.key = Some(name);
            continue;
        }
        let alias = aliases.get(&(table.name.clone(), name.clone()));
        let kind = match alias {
            Some((_, true)) => FieldType::Json,
            _ => field_type(&declared),
        };
        let property = alias.map_or_else(|| name.clone(), |(property, _)| property.clone());
        layer.fields.push(Field { name: property.clone(), kind });
        let property = if name == ID_COLUMN { ID_PROPERTY.to_owned() } else { property };
        table.columns.push(Column { name, property, kind });
    }
    if table.columns.len() > MAX_COLUMNS {
        return Err(FileError::invalid(message!(
            "layer `{name}` has more than {limit} columns",
            name = table.name,
            limit = MAX_COLUMNS
        )));
    }
    // A limited select counts row by row; counting all of them could take forever.
    let limit = max_rows.saturating_add(1);
    let count =
        format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {limit})", quoted(&table.name));
    let count = connection.query_row(&count, [], |row| row.get::<_, i64>(0));
    layer.feature_count = count.ok().map(i64::unsigned_abs);
    match layer.feature_count {
        Some(count) if count > max_rows => Err(damaged()),
        _ => Ok((table, layer)),
    }
}

fn damaged() -> FileError {
    FileError::invalid(message!("the GeoPackage is damaged: it has more rows than it can contain"))
}

fn field_type(declared: &str) -> FieldType {
    let declared = declared.to_ascii_uppercase();
    match declared.split('(').next().unwrap_or_default().trim() {
        "BOOLEAN" | "BOOL" => FieldType::Bool,
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "INTEGER" | "BIGINT" => FieldType::Integer,
        "FLOAT" | "DOUBLE" | "REAL" => FieldType::Real,
        "DATE" => FieldType::Date,
        "DATETIME" => FieldType::DateTime,
        "BLOB" => FieldType::Binary,
        _ => FieldType::Text,
    }
}

impl Source for GeoPackage {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let (table, layer) = (&self.tables[layer], &self.layers[layer]);
        let connection = connect(&self.path)?;
        if !is_table(&connection, &table.name)? {
            return Err(FileError::invalid(message!(
                "`{name}` is not a table; views are not read: save `{name}` as a layer of its own",
                name = table.name.as_str()
            )));
        }
        let key = layer.key.as_deref().map_or_else(|| "NULL".to_owned(), quoted);
        let geometry = table.geometry.as_deref().map_or_else(|| "NULL".to_owned(), quoted);
        let columns = table.columns.iter().map(|column| format!(", {}", quoted(&column.name)));
        let columns: String = columns.collect();
        let sql = format!("SELECT {key}, {geometry}{columns} FROM {}", quoted(&table.name));
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut numbers = 1..;
        while let Some(row) = rows.next()? {
            let number = numbers.next().unwrap_or(u64::MAX);
            if !on_feature(number, feature(row, &table.columns)) {
                break;
            }
        }
        Ok(())
    }
}

fn feature(row: &Row<'_>, columns: &[Column]) -> std::result::Result<SourceFeature, Message> {
    let failed = |error: rusqlite::Error| Message::untranslated(error);
    let mut feature = SourceFeature { properties: Map::new(), ..SourceFeature::default() };
    feature.key = match row.get(0).map_err(failed)? {
        Cell::Integer(key) => Some(key.to_string()),
        _ => None,
    };
    match row.get_ref(1).map_err(failed)? {
        ValueRef::Null => {}
        ValueRef::Blob(blob) => (feature.geometry, feature.has_measures) = geometry(blob)?,
        _ => return Err(message!("the geometry is not a GeoPackage geometry")),
    }
    for (index, column) in columns.iter().enumerate() {
        let value = match row.get_ref(index + 2).map_err(failed)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) if column.kind == FieldType::Bool => Value::Bool(number != 0),
            ValueRef::Integer(number) => Value::from(number),
            ValueRef::Real(number) => value::real(number),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text)
                    .map_err(|_| {
                        message!("`{name}` is not UTF-8", name = column.property.as_str())
                    })?
                    .to_owned();
                if column.kind == FieldType::Json { value::json(text) } else { Value::String(text) }
            }
            ValueRef::Blob(_) => {
                feature.has_binary = true;
                continue;
            }
        };
        feature.properties.insert(column.property.clone(), value);
    }
    Ok(feature)
}

/// The geometry in a GeoPackage blob, and whether it has measures.
fn geometry(blob: &[u8]) -> std::result::Result<(Option<Geometry>, bool), Message> {
    const HEADER: usize = 8;
    let not_valid = || message!("the geometry is not a GeoPackage geometry");
    let [b'G', b'P', 0, flags, ..] = blob else { return Err(not_valid()) };
    if flags & 0x20 != 0 {
        return Err(message!("the geometry is in an extended format"));
    }
    let envelope = match flags >> 1 & 7 {
        0 => 0,
        1 => 32,
        2 | 3 => 48,
        4 => 64,
        _ => return Err(not_valid()),
    };
    let bytes = blob.get(HEADER + envelope..).ok_or_else(not_valid)?;
    if flags & 0x10 != 0 {
        return Ok((None, false));
    }
    crate::formats::wkt::from_wkb(bytes)
        .map(|(geometry, has_measures)| (Some(geometry), has_measures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_geo::wkb;

    #[test]
    fn broken_geometries_are_rejected() {
        let point =
            wkb::to_iso_wkb(&Geometry::Point(groma_geo::Position { x: 1.0, y: 2.0, z: None }));
        let blob = [&b"GP\0\x01\0\0\0\0"[..], &point].concat();
        assert!(matches!(geometry(&blob), Ok((Some(Geometry::Point(_)), false))));
        for end in 0..blob.len() {
            assert!(geometry(&blob[..end]).is_err(), "{end}");
        }
        assert!(geometry(b"GP\0\x0f\0\0\0\0").is_err(), "unknown envelope");
        assert!(geometry(b"GP\0\x21\0\0\0\0").is_err(), "extended");
        assert!(matches!(geometry(b"GP\0\x11\0\0\0\0"), Ok((None, false))), "empty");
    }
}
