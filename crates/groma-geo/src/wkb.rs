//! Well-known binary (WKB), the format in which geometries are stored. Written like PostGIS does
//! (little-endian, EWKB flags). Reads EWKB and ISO WKB in either byte order.

use crate::{Geometry, Line, Message, Position, geojson::MAX_COLLECTION_DEPTH, message};
use std::{error::Error, fmt};

/// The EWKB flags in a type code.
const HAS_Z: u32 = 0x8000_0000;
const HAS_M: u32 = 0x4000_0000;
const HAS_SRID: u32 = 0x2000_0000;
/// What ISO WKB adds to the type code of a geometry with heights. It has no bits in common with any code.
const ISO_Z: u32 = 1000;

/// The SRID of WGS 84.
const SRID: u32 = 4326;

/// The geometry as WKB. WKB has heights for all positions or for none: if some position has a height, NaN
/// stands for the missing heights of others.
#[must_use]
pub fn to_wkb(geometry: &Geometry) -> Vec<u8> {
    encode(geometry, None)
}

/// The geometry as EWKB with an SRID, as PostGIS accepts it as a parameter.
#[must_use]
pub fn to_ewkb(geometry: &Geometry) -> Vec<u8> {
    encode(geometry, Some(SRID))
}

/// The geometry as ISO WKB, as GeoPackage requires it.
#[must_use]
pub fn to_iso_wkb(geometry: &Geometry) -> Vec<u8> {
    encode_with(geometry, None, ISO_Z)
}

fn encode(geometry: &Geometry, srid: Option<u32>) -> Vec<u8> {
    encode_with(geometry, srid, HAS_Z)
}

fn encode_with(geometry: &Geometry, srid: Option<u32>, z_flag: u32) -> Vec<u8> {
    let (mut has_z, mut positions) = (false, 0);
    geometry.each_position(&mut |at| {
        has_z |= at.z.is_some();
        positions += 1;
    });
    let mut writer = Writer { out: Vec::with_capacity(64 + positions * 24), has_z, z_flag };
    writer.geometry(geometry, srid);
    writer.out
}

struct Writer {
    out: Vec<u8>,
    has_z: bool,
    /// What marks a type code as one with heights.
    z_flag: u32,
}

impl Writer {
    fn geometry(&mut self, geometry: &Geometry, srid: Option<u32>) {
        let flags = if self.has_z { self.z_flag } else { 0 } | srid.map_or(0, |_| HAS_SRID);
        let code = match geometry {
            Geometry::Point(_) => 1,
            Geometry::LineString(_) => 2,
            Geometry::Polygon(_) => 3,
            Geometry::MultiPoint(_) => 4,
            Geometry::MultiLineString(_) => 5,
            Geometry::MultiPolygon(_) => 6,
            Geometry::Collection(_) => 7,
        };
        self.header(code | flags);
        if let Some(srid) = srid {
            self.out.extend_from_slice(&srid.to_le_bytes());
        }
        let part = if self.has_z { self.z_flag } else { 0 };
        match geometry {
            Geometry::Point(position) => self.position(position),
            Geometry::LineString(line) => self.line(line),
            Geometry::Polygon(rings) => self.list(rings, Self::line),
            Geometry::MultiPoint(positions) => self.list(positions, |writer, position| {
                writer.header(1 | part);
                writer.position(position);
            }),
            Geometry::MultiLineString(lines) => self.list(lines, |writer, line| {
                writer.header(2 | part);
                writer.line(line);
            }),
            Geometry::MultiPolygon(polygons) => self.list(polygons, |writer, rings| {
                writer.header(3 | part);
                writer.list(rings, Self::line);
            }),
            Geometry::Collection(parts) => {
                self.list(parts, |writer, part| writer.geometry(part, None));
            }
        }
    }

    fn header(&mut self, code: u32) {
        self.out.push(1);
        self.out.extend_from_slice(&code.to_le_bytes());
    }

    fn list<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        // The limits of `geojson` keep counts far below this.
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        self.out.extend_from_slice(&count.to_le_bytes());
        items.iter().for_each(|item| write(self, item));
    }

    fn line(&mut self, line: &Line) {
        self.list(line, Self::position);
    }

    fn position(&mut self, at: &Position) {
        self.out.extend_from_slice(&at.x.to_le_bytes());
        self.out.extend_from_slice(&at.y.to_le_bytes());
        if self.has_z {
            self.out.extend_from_slice(&at.z.unwrap_or(f64::NAN).to_le_bytes());
        }
    }
}

/// Why bytes are not a valid geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WkbError {
    /// The bytes end before the geometry does.
    Truncated,
    /// Bytes follow the geometry.
    Trailing,
    /// A geometry type that is unknown, or not allowed in its place.
    Type(u32),
    /// The geometry is not in WGS 84.
    Srid(u32),
    /// A coordinate is infinite or NaN. Empty points are encoded like this.
    NotFinite,
    /// Collections are nested too deeply.
    TooDeep,
}

impl WkbError {
    /// Why the bytes are not valid.
    #[must_use]
    pub fn message(self) -> Message {
        match self {
            Self::Truncated => message!("the geometry is truncated"),
            Self::Trailing => message!("the geometry is followed by unexpected bytes"),
            Self::Type(code) => {
                message!(
                    "the geometry contains the unexpected type {code}",
                    code = code.to_string()
                )
            }
            Self::Srid(code) => {
                message!(
                    "the geometry has the SRID {code} instead of 4326",
                    code = code.to_string()
                )
            }
            Self::NotFinite => message!("the geometry has a coordinate that is not finite"),
            Self::TooDeep => message!("the geometry has collections nested too deeply"),
        }
    }
}

impl fmt::Display for WkbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl Error for WkbError {}

/// Reads WKB or EWKB in WGS 84. Measures (M) are dropped.
pub fn from_wkb(bytes: &[u8]) -> Result<Geometry, WkbError> {
    let mut reader = Reader { bytes };
    let geometry = reader.geometry(0)?;
    if reader.bytes.is_empty() { Ok(geometry) } else { Err(WkbError::Trailing) }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

/// Byte order and dimensions of one geometry.
#[derive(Clone, Copy)]
struct Layout {
    little_endian: bool,
    has_z: bool,
    has_m: bool,
}

impl Layout {
    fn position_size(self) -> usize {
        8 * (2 + usize::from(self.has_z) + usize::from(self.has_m))
    }
}

/// The fewest bytes that a nested geometry takes: its header and a count.
const MIN_PART_SIZE: usize = 9;

impl Reader<'_> {
    fn geometry(&mut self, depth: usize) -> Result<Geometry, WkbError> {
        let (code, layout) = self.header()?;
        Ok(match code {
            1 => Geometry::Point(self.position(layout)?),
            2 => Geometry::LineString(self.line(layout)?),
            3 => Geometry::Polygon(self.rings(layout)?),
            4 => Geometry::MultiPoint(self.parts(layout, 1, Self::position)?),
            5 => Geometry::MultiLineString(self.parts(layout, 2, Self::line)?),
            6 => Geometry::MultiPolygon(self.parts(layout, 3, Self::rings)?),
            7 if depth == MAX_COLLECTION_DEPTH => return Err(WkbError::TooDeep),
            7 => Geometry::Collection(
                self.list(layout, MIN_PART_SIZE, |reader| reader.geometry(depth + 1))?,
            ),
            other => return Err(WkbError::Type(other)),
        })
    }

    fn header(&mut self) -> Result<(u32, Layout), WkbError> {
        let little_endian = match self.take::<1>()? {
            [0] => false,
            [1] => true,
            [other] => return Err(WkbError::Type(u32::from(other))),
        };
        let mut layout = Layout { little_endian, has_z: false, has_m: false };
        let code = self.count(layout)?;
        let plain = code & !(HAS_Z | HAS_M | HAS_SRID);
        // ISO WKB: 1001 has heights, 2001 measures, 3001 both.
        layout.has_z = code & HAS_Z != 0 || matches!(plain / 1000, 1 | 3);
        layout.has_m = code & HAS_M != 0 || matches!(plain / 1000, 2 | 3);
        if code & HAS_SRID != 0 {
            match self.count(layout)? {
                0 | SRID => {}
                other => return Err(WkbError::Srid(other)),
            }
        }
        match plain {
            0..4000 => Ok((plain % 1000, layout)),
            _ => Err(WkbError::Type(plain)),
        }
    }

    /// The parts of a Multi geometry. Each is a complete geometry of the type `code`.
    fn parts<T>(
        &mut self,
        layout: Layout,
        code: u32,
        read: fn(&mut Self, Layout) -> Result<T, WkbError>,
    ) -> Result<Vec<T>, WkbError> {
        self.list(layout, MIN_PART_SIZE, |reader| match reader.header()? {
            (found, layout) if found == code => read(reader, layout),
            (other, _) => Err(WkbError::Type(other)),
        })
    }

    fn rings(&mut self, layout: Layout) -> Result<Vec<Line>, WkbError> {
        self.list(layout, 4, |reader| reader.line(layout))
    }

    fn line(&mut self, layout: Layout) -> Result<Line, WkbError> {
        self.list(layout, layout.position_size(), |reader| reader.position(layout))
    }

    /// Reads a count and that many items. Rejects a count for which the remaining bytes cannot
    /// suffice before it allocates any memory: an item takes at least `min_size` bytes.
    fn list<T>(
        &mut self,
        layout: Layout,
        min_size: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, WkbError>,
    ) -> Result<Vec<T>, WkbError> {
        let count = usize::try_from(self.count(layout)?).map_err(|_| WkbError::Truncated)?;
        if count > self.bytes.len() / min_size {
            return Err(WkbError::Truncated);
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn position(&mut self, layout: Layout) -> Result<Position, WkbError> {
        let (x, y) = (self.ordinate(layout)?, self.ordinate(layout)?);
        let z = if layout.has_z { self.height(layout)? } else { None };
        if layout.has_m {
            self.take::<8>()?;
        }
        Ok(Position { x, y, z })
    }

    fn ordinate(&mut self, layout: Layout) -> Result<f64, WkbError> {
        let ordinate = self.number(layout)?;
        if ordinate.is_finite() { Ok(ordinate) } else { Err(WkbError::NotFinite) }
    }

    /// A height, or NaN for a position without one.
    fn height(&mut self, layout: Layout) -> Result<Option<f64>, WkbError> {
        match self.number(layout)? {
            height if height.is_finite() => Ok(Some(height)),
            height if height.is_nan() => Ok(None),
            _ => Err(WkbError::NotFinite),
        }
    }

    fn number(&mut self, layout: Layout) -> Result<f64, WkbError> {
        let bytes = self.take()?;
        Ok(if layout.little_endian { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) })
    }

    fn count(&mut self, layout: Layout) -> Result<u32, WkbError> {
        let bytes = self.take()?;
        Ok(if layout.little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], WkbError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(WkbError::Truncated)?;
        self.bytes = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(x: f64, y: f64, z: Option<f64>) -> Position {
        Position { x, y, z }
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
        digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
    }

    #[test]
    fn geometry_is_written_like_postgis() {
        let point = Geometry::Point(at(1.0, 2.0, None));
        assert_eq!(to_wkb(&point), bytes("0101000000000000000000F03F0000000000000040"));
        assert_eq!(to_ewkb(&point), bytes("0101000020E6100000000000000000F03F0000000000000040"));
        // ST_AsEWKB('SRID=4326;MULTIPOINT Z ((1 2 3))')
        let points = Geometry::MultiPoint(vec![at(1.0, 2.0, Some(3.0))]);
        let expected =
            "01040000A0E6100000010000000101000080000000000000F03F00000000000000400000000000000840";
        assert_eq!(to_ewkb(&points), bytes(expected));
    }

    #[test]
    fn missing_height_among_others_stays_missing() {
        let line = Geometry::LineString(vec![at(1.0, 2.0, Some(3.0)), at(4.0, 5.0, None)]);
        assert_eq!(from_wkb(&to_wkb(&line)), Ok(line));
    }

    #[test]
    fn iso_codes_big_endian_and_measures_are_accepted() {
        let point = Ok(Geometry::Point(at(1.0, 2.0, None)));
        let high = Ok(Geometry::Point(at(1.0, 2.0, Some(3.0))));
        let (x, y, z) = ("3FF0000000000000", "4000000000000000", "4008000000000000");
        assert_eq!(from_wkb(&bytes(&format!("0000000001{x}{y}"))), point);
        assert_eq!(from_wkb(&bytes(&format!("00000003E9{x}{y}{z}"))), high);
        assert_eq!(from_wkb(&bytes(&format!("00000007D1{x}{y}{z}"))), point);
        assert_eq!(from_wkb(&bytes(&format!("0000000BB9{x}{y}{z}{z}"))), high);
        assert_eq!(from_wkb(&bytes(&format!("00C0000001{x}{y}{z}{z}"))), high);
    }

    #[test]
    fn invalid_bytes_are_rejected() {
        let square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)];
        let ring: Line = square.iter().map(|(x, y)| at(*x, *y, Some(1.0))).collect();
        let geometry = Geometry::Collection(vec![
            Geometry::MultiPolygon(vec![vec![ring.clone()]]),
            Geometry::MultiLineString(vec![ring]),
        ]);
        let whole = to_ewkb(&geometry);
        for end in 0..whole.len() {
            assert_eq!(from_wkb(&whole[..end]), Err(WkbError::Truncated), "{end}");
        }
        let more = [&whole[..], &[0]].concat();
        assert_eq!(from_wkb(&more), Err(WkbError::Trailing));
        for (hex, error) in [
            ("02", WkbError::Type(2)),
            ("0108000000", WkbError::Type(8)),
            ("01A10F0000", WkbError::Type(4001)),
            ("01040000000100000001020000000000000000", WkbError::Type(2)),
            ("01010000206A080000", WkbError::Srid(2154)),
            ("0101000000000000000000F87F000000000000F87F", WkbError::NotFinite),
            ("0102000000FFFFFFFF", WkbError::Truncated),
            ("0106000000FFFFFFFF", WkbError::Truncated),
        ] {
            assert_eq!(from_wkb(&bytes(hex)), Err(error), "{hex}");
        }
        let deep = bytes(&"010700000001000000".repeat(100_000));
        assert_eq!(from_wkb(&deep), Err(WkbError::TooDeep));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(type_code in 0_u32..8, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_wkb(&bytes);
            let _ = from_wkb(&[&[1], &type_code.to_le_bytes()[..], &bytes].concat());
        }
    }
}
