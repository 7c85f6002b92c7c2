//! Reads CSV. A first pass finds the encoding and the types of the columns.

use super::{
    columns::{GeometryColumns, TypeGuess},
    rows::Rows,
};
use crate::{
    FileError, csv_cell,
    error::Result,
    formats::wkt,
    prj,
    source::{FieldType, OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
    value,
};
use csv::ByteRecord;
use encoding_rs::WINDOWS_1252;
use groma_geo::{Crs, Geometry, Position};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// A table of features.
pub(in crate::formats) struct Table {
    path: PathBuf,
    layers: Vec<SourceLayer>,
    geometry: GeometryColumns,
    /// The column of each field.
    columns: Vec<usize>,
    width: usize,
    is_windows_1252: bool,
}

/// What the first pass finds.
struct Scan {
    guesses: Vec<TypeGuess>,
    count: u64,
    /// Rows that are UTF-8 beyond ASCII, and rows that are not UTF-8.
    utf8_rows: u64,
    other_rows: u64,
    srid: Option<String>,
}

impl Table {
    pub(in crate::formats) fn open(path: &Path) -> Result<Self> {
        let mut rows = Rows::open(path)?;
        let mut header = ByteRecord::new();
        if !rows.next(&mut header)? {
            return Err(FileError::invalid("the file is empty"));
        }
        let names: Vec<String> = header
            .iter()
            .map(|cell| decode(cell, true).unwrap_or_default().trim().to_owned())
            .collect();
        if let Some((_, name)) =
            names.iter().enumerate().find(|(index, name)| names[..*index].contains(name))
        {
            return Err(FileError::invalid(format!("column `{name}` appears twice")));
        }
        let geometry = GeometryColumns::find(&names)?;
        let scan = scan(&mut rows, geometry, names.len())?;
        let columns: Vec<usize> =
            (0..names.len()).filter(|index| !geometry.contain(*index)).collect();
        let fields =
            columns.iter().map(|index| scan.guesses[*index].field(&names[*index])).collect();
        let crs = match (geometry, scan.srid) {
            (GeometryColumns::Position { is_wgs84: true, .. }, _) => SourceCrs::Known(Crs::WGS84),
            (_, Some(code)) => prj::by_code(&code),
            _ => SourceCrs::Missing,
        };
        let layer = SourceLayer {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            fields,
            feature_count: Some(scan.count),
            crs,
            geometry_type: String::new(),
            key: None,
        };
        Ok(Self {
            path: path.to_owned(),
            layers: vec![layer],
            geometry,
            columns,
            width: names.len(),
            is_windows_1252: scan.other_rows > 0 && scan.utf8_rows == 0,
        })
    }
}

fn scan(rows: &mut Rows, geometry: GeometryColumns, width: usize) -> Result<Scan> {
    let guesses = vec![TypeGuess::ANY; width];
    let mut scan = Scan { guesses, count: 0, utf8_rows: 0, other_rows: 0, srid: None };
    let mut row = ByteRecord::new();
    while rows.next(&mut row)? {
        scan.count += 1;
        if !row.as_slice().is_ascii() {
            let is_utf8 = row.iter().all(|cell| std::str::from_utf8(cell).is_ok());
            *(if is_utf8 { &mut scan.utf8_rows } else { &mut scan.other_rows }) += 1;
        }
        for (guess, cell) in scan.guesses.iter_mut().zip(row.iter()) {
            guess.add(&String::from_utf8_lossy(cell));
        }
        if let (GeometryColumns::Text(index), 1) = (geometry, scan.count)
            && let Some(text) = row.get(index).and_then(|cell| std::str::from_utf8(cell).ok())
        {
            scan.srid = wkt::split_srid(text).0.map(str::to_owned);
        }
    }
    Ok(scan)
}

fn decode(cell: &[u8], is_windows_1252: bool) -> Option<Cow<'_, str>> {
    match std::str::from_utf8(cell) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) if is_windows_1252 => Some(WINDOWS_1252.decode_without_bom_handling(cell).0),
        Err(_) => None,
    }
}

impl Source for Table {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, _layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let mut rows = Rows::open(&self.path)?;
        let has_decimal_commas = rows.delimiter != b',';
        let mut row = ByteRecord::new();
        rows.next(&mut row)?;
        let mut number = 0;
        while rows.next(&mut row)? {
            number += 1;
            if !on_feature(number, self.feature(&row, has_decimal_commas)) {
                break;
            }
        }
        Ok(())
    }
}

impl Table {
    fn feature(
        &self,
        row: &ByteRecord,
        has_decimal_commas: bool,
    ) -> std::result::Result<SourceFeature, String> {
        if row.len() != self.width {
            return Err(format!("has {} cells, but the header has {}", row.len(), self.width));
        }
        let cells: Option<Vec<_>> =
            row.iter().map(|cell| decode(cell, self.is_windows_1252)).collect();
        let cells = cells.ok_or("is not UTF-8, as other rows are: the file mixes encodings")?;
        let mut properties = Map::new();
        for (field, index) in self.layers[0].fields.iter().zip(&self.columns) {
            properties.insert(field.name.clone(), parse(&cells[*index], field.kind));
        }
        let (geometry, has_measures) = match self.geometry {
            GeometryColumns::Text(index) => parse_geometry(cells[index].trim())?,
            GeometryColumns::Position { x, y, z, .. } => {
                let number = |index: usize| coordinate(cells[index].trim(), has_decimal_commas);
                let position = match (number(x)?, number(y)?, z.map(number).transpose()?.flatten())
                {
                    (Some(x), Some(y), z) => Some(Geometry::Point(Position { x, y, z })),
                    (None, None, _) => None,
                    _ => return Err("has only one coordinate".to_owned()),
                };
                (position, false)
            }
        };
        Ok(SourceFeature { geometry, properties, has_measures, ..SourceFeature::default() })
    }
}

fn parse(cell: &str, kind: FieldType) -> Value {
    match kind {
        _ if cell.is_empty() => Value::Null,
        FieldType::Integer => cell.parse::<i64>().map_or(Value::Null, Value::from),
        FieldType::Real => cell.parse().map_or(Value::Null, value::real),
        FieldType::Bool => Value::Bool(cell == "true"),
        _ => Value::String(csv_cell::unescape(cell).into_owned()),
    }
}

fn coordinate(cell: &str, has_decimal_commas: bool) -> std::result::Result<Option<f64>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    let number = match has_decimal_commas && !cell.contains('.') {
        true => cell.replace(',', ".").parse(),
        false => cell.parse(),
    };
    number.map(Some).map_err(|_| format!("`{cell:.40}` is not a coordinate"))
}

fn parse_geometry(text: &str) -> std::result::Result<(Option<Geometry>, bool), String> {
    let is_hex = text.len() >= 10 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.is_empty() {
        return Ok((None, false));
    }
    if !is_hex {
        return wkt::from_wkt(text);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default() as u8;
    let bytes: Vec<u8> =
        text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    wkt::from_wkb(&bytes).map(|(geometry, has_measures)| (Some(geometry), has_measures))
}
