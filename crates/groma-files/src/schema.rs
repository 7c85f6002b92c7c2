//! The columns that the features of a layer need in formats in which all features have the same fields.

use crate::{FormatLimit, error::Result, format_limits::MAX_PROPERTIES, value};
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
    /// Whether a whole number would lose digits as a floating-point number.
    has_large_integers: bool,
    /// The length of its longest text in bytes.
    pub(crate) width: usize,
}

impl Column {
    /// The type that fits all values; text if there is none.
    pub(crate) fn kind(&self) -> ColumnType {
        match self.kind {
            Some(ColumnType::Real) if self.has_large_integers => ColumnType::Json,
            kind => kind.unwrap_or(ColumnType::Text),
        }
    }
}

/// What a layer contains.
#[derive(Default)]
pub(crate) struct Schema {
    pub(crate) columns: Vec<Column>,
    numbers: FxHashMap<String, usize>,
    /// Whether the properties beyond the limit share a column, which is otherwise an error.
    pub(crate) allows_surplus: bool,
    /// Whether there are such properties.
    pub(crate) has_surplus: bool,
    /// The GeoJSON names of the types of its geometries.
    pub(crate) geometry_types: BTreeSet<&'static str>,
    pub(crate) has_heights: bool,
    /// The types of those that have heights.
    pub(crate) types_with_heights: BTreeSet<&'static str>,
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
            let mut has_heights = false;
            geometry.each_position(&mut |at| has_heights |= at.z.is_some());
            if has_heights {
                self.has_heights = true;
                self.types_with_heights.insert(geometry.type_name());
            }
            self.bbox = match (self.bbox, geometry.bbox()) {
                (Some(all), Some(one)) => Some(all.union(one)),
                (all, one) => all.or(one),
            };
        }
        for (name, value) in properties {
            let index = match self.numbers.get(name) {
                Some(index) => *index,
                None if self.columns.len() < MAX_PROPERTIES => self.add_column(name),
                None if self.allows_surplus => {
                    self.has_surplus = true;
                    continue;
                }
                None => return Err(FormatLimit::Columns.into()),
            };
            let column = &mut self.columns[index];
            let Some(kind) = kind_of(value) else { continue };
            column.kind = Some(column.kind.map_or(kind, |known| merge(known, kind)));
            let width = match value {
                Value::String(text) => text.len(),
                other => {
                    let text = other.to_string();
                    column.has_large_integers |= is_large_integer(&text);
                    text.len() + 2
                }
            };
            column.width = column.width.max(width);
        }
        Ok(())
    }

    fn add_column(&mut self, name: &str) -> usize {
        let property = name.to_owned();
        self.columns.push(Column { property, kind: None, has_large_integers: false, width: 0 });
        self.numbers.insert(name.to_owned(), self.columns.len() - 1);
        self.columns.len() - 1
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

/// Whether a text is a whole number that would lose digits as a floating-point number.
fn is_large_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Fifteen digits always fit.
    digits.len() > 15
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !value::is_exact_as_real(text)
}

fn merge(a: ColumnType, b: ColumnType) -> ColumnType {
    use ColumnType::{Integer, Json, Real};
    match (a, b) {
        (a, b) if a == b => a,
        (Integer, Real) | (Real, Integer) => Real,
        _ => Json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_of_numbers_that_would_lose_digits_is_json() {
        for (values, kind) in [
            (&["1", "9007199254740993", "-9223372036854775808"][..], ColumnType::Integer),
            (&["1", "2.5", "9007199254740992", "1e300"], ColumnType::Real),
            (&["100000000000000000000"], ColumnType::Real),
            (&["18446744073709551615"], ColumnType::Json),
            (&["1", "-9223372036854775809"], ColumnType::Json),
            (&["9007199254740993", "0.5"], ColumnType::Json),
            (&["0.5", "9007199254740993"], ColumnType::Json),
        ] {
            let mut schema = Schema::default();
            for value in values {
                let value = serde_json::from_str(value).unwrap();
                let properties = Map::from_iter([("n".to_owned(), value)]);
                schema.add("1", None, &properties).unwrap();
            }
            assert_eq!(schema.columns[0].kind(), kind, "{values:?}");
        }
    }
}
