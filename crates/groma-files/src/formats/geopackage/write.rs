//! Writes GeoPackages.

use super::{PROPERTY, quoted};
use crate::{
    FileError,
    error::Result,
    output::{OutputLayer, Spool},
    prj,
    schema::{Column, ColumnType},
    source::ID_COLUMN,
    value,
};
use groma_geo::{Geometry, wkb};
use rusqlite::{Connection, params_from_iter, types::Value as Cell};
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

/// `GPKG`, and version 1.3.
const APPLICATION_ID: i32 = 0x4750_4B47;
const VERSION: i32 = 10_300;

const WGS84: &str = r#"GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AUTHORITY["EPSG","4326"]]"#;

const TABLES: &str = "
    CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY,
        organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL,
        description TEXT);
    CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL,
        identifier TEXT UNIQUE, description TEXT DEFAULT '',
        last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
        CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
    CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL,
        geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
        CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
        CONSTRAINT uk_gc_table_name UNIQUE (table_name),
        CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents (table_name),
        CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
    CREATE TABLE gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL,
        definition TEXT NOT NULL, scope TEXT NOT NULL,
        CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
    CREATE TABLE gpkg_data_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL, name TEXT, title TEXT,
        description TEXT, mime_type TEXT, constraint_name TEXT,
        CONSTRAINT pk_gdc PRIMARY KEY (table_name, column_name),
        CONSTRAINT gdc_tn UNIQUE (table_name, name));
    INSERT INTO gpkg_extensions VALUES ('gpkg_data_columns', NULL, 'gpkg_schema',
        'http://www.geopackage.org/spec121/#extension_schema', 'read-write');
    INSERT INTO gpkg_spatial_ref_sys VALUES
        ('Undefined Cartesian SRS', -1, 'NONE', -1, 'undefined', 'undefined Cartesian coordinate reference system'),
        ('Undefined geographic SRS', 0, 'NONE', 0, 'undefined', 'undefined geographic coordinate reference system');";

const INSERT_CRS: &str =
    "INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES (?1, ?2, 'EPSG', ?2, ?3, NULL)";

/// The column of the properties that have no column of their own, as JSON.
const SURPLUS_COLUMN: &str = "more_properties";

/// Writes a layer as a GeoPackage.
pub(in crate::formats) fn write(
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("layer.gpkg");
    let connection = begin(&path)?;
    write_layer(&connection, &layer.name, layer, features)?;
    finish(connection)?;
    io::copy(&mut File::open(&path)?, out)?;
    Ok(Vec::new())
}

/// Opens a new file, and begins the one transaction that writes it.
pub(crate) fn begin(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    connection.execute_batch(TABLES)?;
    connection.execute(INSERT_CRS, ("WGS 84", 4326, WGS84))?;
    Ok(connection)
}

pub(crate) fn finish(connection: Connection) -> Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| FileError::from(error))
}

/// Writes a layer into a table of this name.
pub(crate) fn write_layer(
    connection: &Connection,
    name: &str,
    layer: &OutputLayer,
    features: Spool,
) -> Result<()> {
    let schema = &layer.schema;
    let surplus = schema.has_surplus.then_some(SURPLUS_COLUMN);
    let mut reserved = vec!["fid", "geom", ID_COLUMN];
    reserved.extend(surplus);
    reserved.extend(layer.links.iter().map(|link| link.column));
    let names = schema.names(&reserved, usize::MAX);
    let table = quoted(name);
    let srs_id = write_crs(connection, layer)?;
    let columns = names.iter().zip(&schema.columns);
    let links = layer
        .links
        .iter()
        .map(|link| format!(", {} TEXT REFERENCES {} (id)", link.column, quoted(link.table)));
    let definitions: String = links
        .chain(
            columns.map(|(name, column)| format!(", {} {}", quoted(name), sql_type(column.kind()))),
        )
        .chain(surplus.map(|name| format!(", {name} TEXT")))
        .collect();
    let geometry_type = geometry_type(layer);
    connection.execute_batch(&format!(
        "CREATE TABLE {table} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom {geometry_type},
            {ID_COLUMN} TEXT{definitions})"
    ))?;
    let [min_x, min_y, max_x, max_y] = schema.bbox.map_or([None; 4], |bbox| bbox.0.map(Some));
    connection.execute(
        "INSERT INTO gpkg_contents (table_name, data_type, identifier, min_x, min_y, max_x, max_y, srs_id)
        VALUES (?1, 'features', ?7, ?2, ?3, ?4, ?5, ?6)",
        (name, min_x, min_y, max_x, max_y, srs_id, &layer.name),
    )?;
    // 0: no heights, 2: heights are optional.
    let z = if schema.has_heights { 2 } else { 0 };
    connection.execute(
        "INSERT INTO gpkg_geometry_columns VALUES (?1, 'geom', ?2, ?3, ?4, 0)",
        (name, geometry_type, srs_id, z),
    )?;
    for (column_name, column) in names.iter().zip(&schema.columns) {
        write_alias(connection, name, column_name, column)?;
    }
    if let Some(column) = surplus {
        connection.execute(
            "INSERT INTO gpkg_data_columns VALUES (?1, ?2, NULL, NULL, NULL, 'application/json', NULL)",
            (name, column),
        )?;
    }
    let cells = 2 + layer.links.len() + names.len() + usize::from(schema.has_surplus);
    let mut insert =
        connection.prepare(&format!("INSERT INTO {table} VALUES (NULL{})", ", ?".repeat(cells)))?;
    features.each_linked(schema.count, layer.links.len(), |id, geometry, mut properties, links| {
        let geometry = geometry.map_or(Cell::Null, |geometry| Cell::Blob(blob(&geometry, srs_id)));
        let mut cells = vec![geometry, Cell::Text(id.to_owned())];
        cells.extend(links.into_iter().map(|id| id.map_or(Cell::Null, Cell::Text)));
        for column in &schema.columns {
            let value = properties.remove(&column.property).unwrap_or(Value::Null);
            cells.push(cell(column, value));
        }
        if schema.has_surplus {
            let is_empty = properties.is_empty();
            let surplus = (!is_empty).then(|| Cell::Text(Value::Object(properties).to_string()));
            cells.push(surplus.unwrap_or(Cell::Null));
        }
        insert.execute(params_from_iter(cells))?;
        Ok(())
    })
}

/// Describes the reference system of the layer; returns its number.
fn write_crs(connection: &Connection, layer: &OutputLayer) -> Result<i64> {
    let Some(code) = layer.crs.code() else { return Ok(4326) };
    let definition = prj::write(&layer.crs).unwrap_or_else(|| "undefined".to_owned());
    connection.execute(INSERT_CRS, (layer.crs.info().name, code, definition))?;
    Ok(code.into())
}

/// Names the property of a column that is named differently or contains JSON.
fn write_alias(connection: &Connection, table: &str, name: &str, column: &Column) -> Result<()> {
    let is_json = column.kind() == ColumnType::Json;
    if name == column.property && !is_json {
        return Ok(());
    }
    let mime_type = is_json.then_some("application/json");
    connection.execute(
        "INSERT INTO gpkg_data_columns VALUES (?1, ?2, ?3, NULL, ?4, ?5, NULL)",
        (table, name, &column.property, PROPERTY, mime_type),
    )?;
    Ok(())
}

fn sql_type(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Integer => "INTEGER",
        ColumnType::Real => "REAL",
        ColumnType::Bool => "BOOLEAN",
        ColumnType::Text | ColumnType::Json => "TEXT",
    }
}

fn geometry_type(layer: &OutputLayer) -> String {
    let types = &layer.schema.geometry_types;
    match (types.len(), types.first()) {
        (1, Some(name)) => name.to_ascii_uppercase(),
        _ => "GEOMETRY".to_owned(),
    }
}

fn cell(column: &Column, value: Value) -> Cell {
    match (column.kind(), value) {
        (_, Value::Null) => Cell::Null,
        (ColumnType::Json, value) => Cell::Text(value.to_string()),
        (_, Value::Bool(value)) => Cell::Integer(value.into()),
        (ColumnType::Integer, Value::Number(number)) => {
            number.as_i64().map_or(Cell::Null, Cell::Integer)
        }
        (_, Value::Number(number)) => number.as_f64().map_or(Cell::Null, Cell::Real),
        (_, value) => value::text(&value).map_or(Cell::Null, Cell::Text),
    }
}

/// A geometry in the binary format of GeoPackage, with its box unless it is a point.
fn blob(geometry: &Geometry, srs_id: i64) -> Vec<u8> {
    let bbox = match geometry {
        Geometry::Point(_) => None,
        _ => geometry.bbox(),
    };
    // Bit 0: little-endian. Bit 1: box of x and y. Bit 4: empty.
    let flags = 1 | u8::from(bbox.is_some()) << 1 | u8::from(geometry.bbox().is_none()) << 4;
    let mut blob = vec![b'G', b'P', 0, flags];
    blob.extend_from_slice(&(srs_id as i32).to_le_bytes());
    if let Some(bbox) = bbox {
        let [min_x, min_y, max_x, max_y] = bbox.0;
        for number in [min_x, max_x, min_y, max_y] {
            blob.extend_from_slice(&number.to_le_bytes());
        }
    }
    blob.extend_from_slice(&wkb::to_iso_wkb(geometry));
    blob
}
