//! Reads CSV. A first pass finds the encoding and the types of the columns.

use super::{
    columns::{GeometryCells, GeometryColumns, TypeGuess},
    rows::Rows,
};
use crate::{
    FileError, csv_cell,
    csv_encoding::{CsvEncoding, EncodingScan},
    csv_rows::{CsvRow, unique_names},
    error::Result,
    formats::wkt,
    prj,
    source::{FieldType, OnFeature, Source, SourceCrs, SourceFeature, SourceLayer},
    value,
};
use groma_geo::{Crs, Geometry, Message, Position, message};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The most bytes of the names of columns, which are repeated in every feature.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// A table of features.
pub(in crate::formats) struct Table {
    path: PathBuf,
    layers: Vec<SourceLayer>,
    geometry: GeometryCells,
    /// The column of each field.
    columns: Vec<usize>,
    width: usize,
    encoding: CsvEncoding,
}

/// What the first pass finds.
struct Scan {
    guesses: Vec<TypeGuess>,
    count: u64,
    encoding: EncodingScan,
    srid: Option<String>,
}

impl Table {
    /// Opens a file. Without `columns`, those with the geometry are recognized.
    pub(in crate::formats) fn open(path: &Path, columns: Option<&GeometryColumns>) -> Result<Self> {
        let mut rows = Rows::open(path)?;
        let names = header(&mut rows)?;
        let geometry = GeometryCells::find(&names, columns)?;
        let scan = scan(&mut rows, geometry, names.len())?;
        let columns: Vec<usize> =
            (0..names.len()).filter(|index| !geometry.contain(*index)).collect();
        let fields =
            columns.iter().map(|index| scan.guesses[*index].field(&names[*index])).collect();
        let crs = match (geometry, scan.srid) {
            (GeometryCells::Position { is_wgs84: true, .. }, _) => SourceCrs::Known(Crs::WGS84),
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
            encoding: scan.encoding.encoding(),
        })
    }
}

/// The names of the columns of a file.
pub(crate) fn columns(path: &Path) -> Result<Vec<String>> {
    header(&mut Rows::open(path)?)
}

fn header(rows: &mut Rows) -> Result<Vec<String>> {
    match rows.rows.next_row()? {
        Some(header) if header.content().len() > MAX_HEADER_BYTES => {
            Err(FileError::invalid(message!(
                "the names of the columns have more than {limit} MiB",
                limit = MAX_HEADER_BYTES >> 20
            )))
        }
        Some(header) => {
            let encoding = CsvEncoding::Windows1252;
            let names = header.cells().filter_map(|cell| encoding.decode(cell).ok());
            unique_names(names.map(|name| csv_cell::unescape(&name).into_owned()))
        }
        None => Err(FileError::invalid(message!("the file is empty"))),
    }
}

fn scan(rows: &mut Rows, geometry: GeometryCells, width: usize) -> Result<Scan> {
    let guesses = vec![TypeGuess::ANY; width];
    let mut scan = Scan { guesses, count: 0, encoding: EncodingScan::default(), srid: None };
    while let Some(row) = rows.rows.next_row()? {
        scan.count += 1;
        scan.encoding.add(row);
        for (guess, cell) in scan.guesses.iter_mut().zip(row.cells()) {
            guess.add(&String::from_utf8_lossy(cell));
        }
        if let (GeometryCells::Text(index), 1) = (geometry, scan.count)
            && let Some(text) = row.get(index).and_then(|cell| std::str::from_utf8(cell).ok())
        {
            scan.srid = wkt::split_srid(text).0.map(str::to_owned);
        }
    }
    Ok(scan)
}

impl Source for Table {
    fn layers(&self) -> &[SourceLayer] {
        &self.layers
    }

    fn read(&self, _layer: usize, on_feature: &mut OnFeature<'_>) -> Result<()> {
        let mut rows = Rows::open(&self.path)?;
        let has_decimal_commas = rows.delimiter != b',';
        header(&mut rows)?;
        let mut number = 0;
        while let Some(row) = rows.rows.next_row()? {
            number += 1;
            if !on_feature(number, self.feature(row, has_decimal_commas)) {
                break;
            }
        }
        Ok(())
    }
}

impl Table {
    fn feature(
        &self,
        row: CsvRow<'_>,
        has_decimal_commas: bool,
    ) -> std::result::Result<SourceFeature, Message> {
        if row.len() != self.width {
            return Err(message!(
                "has {count} cells, but the header has {expected}",
                count = row.len(),
                expected = self.width
            ));
        }
        let cells = row.cells().map(|cell| self.encoding.decode(cell));
        let cells: Vec<_> = cells.collect::<std::result::Result<_, _>>()?;
        let mut properties = Map::new();
        for (field, index) in self.layers[0].fields.iter().zip(&self.columns) {
            properties.insert(field.name.clone(), parse(&cells[*index], field.kind));
        }
        let (geometry, has_measures) = match self.geometry {
            GeometryCells::Text(index) => parse_geometry(cells[index].trim())?,
            GeometryCells::Position { x, y, z, .. } => {
                let number = |index: usize| coordinate(cells[index].trim(), has_decimal_commas);
                let position = match (number(x)?, number(y)?, z.map(number).transpose()?.flatten())
                {
                    (Some(x), Some(y), z) => Some(Geometry::Point(Position { x, y, z })),
                    (None, None, _) => None,
                    _ => return Err(message!("has only one coordinate")),
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

fn coordinate(cell: &str, has_decimal_commas: bool) -> std::result::Result<Option<f64>, Message> {
    if cell.is_empty() {
        return Ok(None);
    }
    let number = match has_decimal_commas && !cell.contains('.') {
        true => cell.replace(',', ".").parse(),
        false => cell.parse(),
    };
    number
        .map(Some)
        .map_err(|_| message!("`{cell}` is not a coordinate", cell = format!("{cell:.40}")))
}

fn parse_geometry(text: &str) -> std::result::Result<(Option<Geometry>, bool), Message> {
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
