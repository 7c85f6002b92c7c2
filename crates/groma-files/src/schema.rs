//! The columns that the features of a layer need in formats in which all features have the same fields.

use crate::{FormatLimit, error::Result, format_limits::MAX_COLUMNS};
use groma_geo::{Bbox, Geometry};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Integer,
    Real,
    Bool,
    Text,
    /// Lists and objects, and values of different types.
    Json,
}

/// A property and its type.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) property: String,
    kind: Option<ColumnType>,
    /// The length of its longest text in bytes.
    pub(crate) width: usize,
}

impl Column {
    /// The type that fits all values; text if there is none.
    pub(crate) fn kind(&self) -> ColumnType {
        self.kind.unwrap_or(ColumnType::Text)
    }
}

/// What a layer contains.
#[derive(Default)]
pub(crate) struct Schema {
    pub(crate) columns: Vec<Column>,
    numbers: FxHashMap<String, usize>,
    /// The GeoJSON names of the types of its geometries.
    pub(crate) geometry_types: BTreeSet<&'static str>,
    pub(crate) has_heights: bool,
    pub(crate) bbox: Option<Bbox>,
    /// The length of the longest id in bytes.
    pub(crate) id_width: usize,
    pub(crate) count: u64,
}

impl Schema {
    pub(crate) fn add(
        &mut self,
        id: &str,
        geometry: Option<&Geometry>,
        properties: &Map<String, Value>,
    ) -> Result<()> {
        self.count += 1;
        self.id_width = self.id_width.max(id.len());
        if let Some(geometry) = geometry {
            self.geometry_types.insert(geometry.type_name());
            geometry.each_position(&mut |at| self.has_heights |= at.z.is_some());
            self.bbox = match (self.bbox, geometry.bbox()) {
                (Some(all), Some(one)) => Some(all.union(one)),
                (all, one) => all.or(one),
            };
        }
        for (name, value) in properties {
            let index = match self.numbers.get(name) {
                Some(index) => *index,
                None => self.add_column(name)?,
            };
            let column = &mut self.columns[index];
            let Some(kind) = kind_of(value) else { continue };
            column.kind = Some(column.kind.map_or(kind, |known| merge(known, kind)));
            let width = value.as_str().map_or_else(|| value.to_string().len() + 2, str::len);
            column.width = column.width.max(width);
        }
        Ok(())
    }

    fn add_column(&mut self, name: &str) -> Result<usize> {
        if self.columns.len() == MAX_COLUMNS {
            return Err(FormatLimit::Columns.into());
        }
        self.columns.push(Column { property: name.to_owned(), kind: None, width: 0 });
        self.numbers.insert(name.to_owned(), self.columns.len() - 1);
        Ok(self.columns.len() - 1)
    }

    /// A name for each column: its property, shortened and numbered where the format requires it. Names differ in
    /// more than case.
    pub(crate) fn names(&self, reserved: &[&str], max_bytes: usize) -> Vec<String> {
        let mut taken: FxHashSet<String> =
            reserved.iter().map(|name| name.to_lowercase()).collect();
        let unique = |column: &Column| {
            let base: String = column.property.chars().filter(|c| !c.is_control()).collect();
            let base = if base.trim().is_empty() { "unnamed".to_owned() } else { base };
            let candidates = (1_u32..).map(|number| match number {
                1 => shorten(&base, max_bytes).to_owned(),
                _ => {
                    let suffix = format!("_{number}");
                    format!("{}{suffix}", shorten(&base, max_bytes.saturating_sub(suffix.len())))
                }
            });
            let mut free = candidates.filter(|name| taken.insert(name.to_lowercase()));
            free.next().unwrap_or_default()
        };
        self.columns.iter().map(unique).collect()
    }
}

/// The start of a text, up to a number of bytes.
pub(crate) fn shorten(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn kind_of(value: &Value) -> Option<ColumnType> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => ColumnType::Bool,
        Value::String(_) => ColumnType::Text,
        Value::Number(number) if number.as_i64().is_some() => ColumnType::Integer,
        Value::Number(number) if number.as_f64().is_some_and(f64::is_finite) => ColumnType::Real,
        Value::Number(_) | Value::Array(_) | Value::Object(_) => ColumnType::Json,
    })
}

fn merge(a: ColumnType, b: ColumnType) -> ColumnType {
    use ColumnType::{Integer, Json, Real};
    match (a, b) {
        (a, b) if a == b => a,
        (Integer, Real) | (Real, Integer) => Real,
        _ => Json,
    }
}
