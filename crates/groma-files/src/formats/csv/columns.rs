//! Which columns have the geometry, and the types of the others.

use crate::{
    FileError,
    error::Result,
    source::{Field, FieldType},
    value,
};
use groma_geo::message;
use serde::{Deserialize, Serialize};

const WKT: [&str; 8] =
    ["wkt", "geom", "geometry", "the_geom", "wkb", "wkb_geometry", "wkt_geom", "geometry_wkt"];
const LONGITUDE: [&str; 4] = ["lon", "lng", "long", "longitude"];
const LATITUDE: [&str; 2] = ["lat", "latitude"];
const X: [&str; 7] = ["x", "easting", "east", "e", "x_coord", "coord_x", "xcoord"];
const Y: [&str; 7] = ["y", "northing", "north", "n", "y_coord", "coord_y", "ycoord"];
const Z: [&str; 7] = ["z", "elevation", "height", "altitude", "alt", "ele", "h"];

/// The columns of a CSV file that have the geometry, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeometryColumns {
    /// WKT, or WKB in hexadecimal digits.
    Text(String),
    /// Coordinates.
    Position {
        /// The column with x, or the longitude.
        x: String,
        /// The column with y, or the latitude.
        y: String,
    },
}

impl GeometryColumns {
    /// The columns that are known by their names.
    #[must_use]
    pub fn recognize(names: &[String]) -> Option<Self> {
        let find = |known: &[&str]| find(names, known).map(|index| names[index].clone());
        if let Some(text) = find(&WKT) {
            return Some(Self::Text(text));
        }
        [(&LONGITUDE[..], &LATITUDE[..]), (&X[..], &Y[..])]
            .into_iter()
            .find_map(|(x, y)| Some(Self::Position { x: find(x)?, y: find(y)? }))
    }
}

/// The first column that has one of these names, which are sorted by precedence.
fn find(names: &[String], known: &[&str]) -> Option<usize> {
    known.iter().find_map(|one| names.iter().position(|name| name.to_lowercase() == *one))
}

/// Where the geometry of a row is.
#[derive(Clone, Copy)]
pub(super) enum GeometryCells {
    /// WKT, or WKB in hexadecimal digits.
    Text(usize),
    Position {
        x: usize,
        y: usize,
        z: Option<usize>,
        is_wgs84: bool,
    },
}

impl GeometryCells {
    /// The cells of these columns, or of those that are recognized.
    pub(super) fn find(names: &[String], columns: Option<&GeometryColumns>) -> Result<Self> {
        let index = |wanted: &String| {
            let unknown = || {
                FileError::invalid(message!("there is no column `{name}`", name = wanted.as_str()))
            };
            names.iter().position(|name| name == wanted).ok_or_else(unknown)
        };
        match columns.cloned().or_else(|| GeometryColumns::recognize(names)) {
            Some(GeometryColumns::Text(text)) => Ok(Self::Text(index(&text)?)),
            Some(GeometryColumns::Position { x, y }) if x == y => {
                Err(FileError::invalid(message!("x and y must be in different columns")))
            }
            Some(GeometryColumns::Position { x, y }) => {
                let is_one_of = |name: &str, known: &[&str]| known.contains(&&*name.to_lowercase());
                let is_wgs84 = is_one_of(&x, &LONGITUDE) && is_one_of(&y, &LATITUDE);
                let (x, y) = (index(&x)?, index(&y)?);
                let z = find(names, &Z).filter(|z| ![x, y].contains(z));
                Ok(Self::Position { x, y, z, is_wgs84 })
            }
            None => Err(FileError::invalid(message!(
                "no column has a geometry; name the columns lon and lat, x and y, or wkt, or choose them with \
                 --x-column and --y-column, or --wkt-column",
            ))),
        }
    }

    /// Whether a column is part of the geometry.
    pub(super) fn contain(self, index: usize) -> bool {
        match self {
            Self::Text(text) => text == index,
            Self::Position { x, y, z, .. } => x == index || y == index || z == Some(index),
        }
    }
}

/// The type that fits all cells of a column.
#[derive(Clone, Copy)]
pub(super) struct TypeGuess {
    is_integer: bool,
    is_real: bool,
    is_bool: bool,
    is_empty: bool,
}

impl TypeGuess {
    pub(super) const ANY: Self =
        Self { is_integer: true, is_real: true, is_bool: true, is_empty: true };

    pub(super) fn add(&mut self, cell: &str) {
        if cell.is_empty() {
            return;
        }
        self.is_empty = false;
        self.is_integer &= is_integer(cell);
        self.is_real &= is_real(cell);
        self.is_bool &= matches!(cell, "true" | "false");
    }

    pub(super) fn field(self, name: &str) -> Field {
        let kind = match self {
            Self { is_empty: true, .. } => FieldType::Text,
            Self { is_bool: true, .. } => FieldType::Bool,
            Self { is_integer: true, .. } => FieldType::Integer,
            Self { is_real: true, .. } => FieldType::Real,
            _ => FieldType::Text,
        };
        Field { name: name.to_owned(), kind }
    }
}

/// Whether a text is a whole number as a program would write it. Leading zeros, as in postal codes, are text.
fn is_integer(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'))
        && cell != "-0"
        && cell.parse::<i64>().is_ok()
}

/// Whether a text is a number. Whole numbers that lose digits as floating-point numbers are codes, of which different
/// ones would become equal.
fn is_real(cell: &str) -> bool {
    let number = cell.strip_prefix('-').unwrap_or(cell);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits(number) && (cell.parse::<i64>().is_err() || !value::is_exact_as_real(cell)) {
        return false;
    }
    let (fraction, exponent) = fraction.split_once(['e', 'E']).unwrap_or((fraction, "0"));
    let exponent = exponent.trim_start_matches(['-', '+']);
    are_digits(whole)
        && are_digits(fraction)
        && are_digits(exponent)
        && (whole == "0" || !whole.starts_with('0'))
        && cell.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_the_geometry_are_recognized_by_their_names() {
        let recognize = |names: &str| {
            let names: Vec<String> = names.split(',').map(ToOwned::to_owned).collect();
            GeometryColumns::recognize(&names)
        };
        let position =
            |x: &str, y: &str| Some(GeometryColumns::Position { x: x.to_owned(), y: y.to_owned() });
        assert_eq!(recognize("x,y,Latitude,LON"), position("LON", "Latitude"));
        assert_eq!(recognize("Northing,Easting,z"), position("Easting", "Northing"));
        assert_eq!(recognize("x,y,WKT"), Some(GeometryColumns::Text("WKT".to_owned())));
        assert_eq!(recognize("x,lat,name"), None);
    }

    #[test]
    fn types_are_guessed_from_all_cells() {
        for (cells, kind) in [
            (&["1", "", "-20"][..], FieldType::Integer),
            (&["1", "2.5", "1.5e3"], FieldType::Real),
            (&["true", "false", ""], FieldType::Bool),
            (&["01234", "1"], FieldType::Text),
            (&["1", "x"], FieldType::Text),
            (&["9223372036854775807", "-9223372036854775808"], FieldType::Integer),
            (&["9223372036854775808", "9223372036854775809"], FieldType::Text),
            (&["12345678901234567890123"], FieldType::Text),
            (&["9007199254740992", "0.5"], FieldType::Real),
            (&["9007199254740993", "0.5"], FieldType::Text),
            (&["0.10000000000000001", "0.50000000000000000000", "-0"], FieldType::Real),
            // A measurement, as databases write it, and no code.
            (&["0.33333333333333333333"], FieldType::Real),
            (&["-"], FieldType::Text),
            (&["1,5"], FieldType::Text),
            (&["", ""], FieldType::Text),
        ] {
            let mut guess = TypeGuess::ANY;
            cells.iter().for_each(|cell| guess.add(cell));
            assert_eq!(guess.field("a").kind, kind, "{cells:?}");
        }
    }
}
