//! Which columns have the geometry, and the types of the others.

use crate::{
    FileError,
    error::Result,
    source::{Field, FieldType},
};

const WKT: [&str; 8] =
    ["wkt", "geom", "geometry", "the_geom", "wkb", "wkb_geometry", "wkt_geom", "geometry_wkt"];
const LONGITUDE: [&str; 4] = ["lon", "lng", "long", "longitude"];
const LATITUDE: [&str; 2] = ["lat", "latitude"];
const X: [&str; 7] = ["x", "easting", "east", "e", "x_coord", "coord_x", "xcoord"];
const Y: [&str; 7] = ["y", "northing", "north", "n", "y_coord", "coord_y", "ycoord"];
const Z: [&str; 7] = ["z", "elevation", "height", "altitude", "alt", "ele", "h"];

/// Where the geometry of a row is.
#[derive(Clone, Copy)]
pub(super) enum GeometryColumns {
    /// WKT, or WKB in hexadecimal digits.
    Text(usize),
    Position {
        x: usize,
        y: usize,
        z: Option<usize>,
        is_wgs84: bool,
    },
}

impl GeometryColumns {
    pub(super) fn find(names: &[String]) -> Result<Self> {
        let folded: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let find = |known: &[&str]| {
            known.iter().find_map(|one| folded.iter().position(|name| name == one))
        };
        if let Some(index) = find(&WKT) {
            return Ok(Self::Text(index));
        }
        let z = find(&Z);
        for (x, y, is_wgs84) in [(&LONGITUDE[..], &LATITUDE[..], true), (&X[..], &Y[..], false)] {
            if let (Some(x), Some(y)) = (find(x), find(y)) {
                return Ok(Self::Position { x, y, z, is_wgs84 });
            }
        }
        Err(FileError::invalid(
            "no column has a geometry; name the columns lon and lat, x and y, or wkt",
        ))
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

fn is_real(cell: &str) -> bool {
    let number = cell.strip_prefix('-').unwrap_or(cell);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
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
    fn types_are_guessed_from_all_cells() {
        for (cells, kind) in [
            (&["1", "", "-20"][..], FieldType::Integer),
            (&["1", "2.5", "1.5e3"], FieldType::Real),
            (&["true", "false", ""], FieldType::Bool),
            (&["01234", "1"], FieldType::Text),
            (&["1", "x"], FieldType::Text),
            (&["12345678901234567890123"], FieldType::Real),
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
