//! Well-known binary: how shapes are kept. Written as PostGIS writes it (little-endian, its flag for
//! heights); read in that form, in ISO's and in either byte order.

use crate::{Geometry, Line, Position, geojson::MAX_COLLECTIONS};
use thiserror::Error;

/// The flags of PostGIS in a type code.
const HAS_Z: u32 = 0x8000_0000;
const HAS_M: u32 = 0x4000_0000;
const HAS_SRID: u32 = 0x2000_0000;

/// WGS 84 in PostGIS.
const SRID: u32 = 4326;

/// The geometry as WKB. Where some position has a height, those without get 0: the format has heights
/// for all or for none.
#[must_use]
pub fn to_wkb(geometry: &Geometry) -> Vec<u8> {
    encode(geometry, None)
}

/// The geometry as WKB that names its reference system, as PostGIS takes it for a parameter.
#[must_use]
pub fn to_ewkb(geometry: &Geometry) -> Vec<u8> {
    encode(geometry, Some(SRID))
}

fn encode(geometry: &Geometry, srid: Option<u32>) -> Vec<u8> {
    let (mut has_z, mut positions) = (false, 0);
    geometry.each_position(&mut |at| {
        has_z |= at.z.is_some();
        positions += 1;
    });
    let mut writer = Writer { out: Vec::with_capacity(64 + positions * 24), has_z };
    writer.geometry(geometry, srid);
    writer.out
}

struct Writer {
    out: Vec<u8>,
    has_z: bool,
}

impl Writer {
    fn geometry(&mut self, geometry: &Geometry, srid: Option<u32>) {
        let flags = if self.has_z { HAS_Z } else { 0 } | srid.map_or(0, |_| HAS_SRID);
        let code = match geometry {
            Geometry::Point(_) => 1,
            Geometry::LineString(_) => 2,
            Geometry::Polygon(_) => 3,
            Geometry::MultiPoint(_) => 4,
            Geometry::MultiLineString(_) => 5,
            Geometry::MultiPolygon(_) => 6,
            Geometry::Collection(_) => 7,
        };
        self.head(code | flags);
        if let Some(srid) = srid {
            self.out.extend_from_slice(&srid.to_le_bytes());
        }
        let part = if self.has_z { HAS_Z } else { 0 };
        match geometry {
            Geometry::Point(position) => self.position(position),
            Geometry::LineString(line) => self.line(line),
            Geometry::Polygon(rings) => self.each(rings, Self::line),
            Geometry::MultiPoint(positions) => self.each(positions, |writer, position| {
                writer.head(1 | part);
                writer.position(position);
            }),
            Geometry::MultiLineString(lines) => self.each(lines, |writer, line| {
                writer.head(2 | part);
                writer.line(line);
            }),
            Geometry::MultiPolygon(polygons) => self.each(polygons, |writer, rings| {
                writer.head(3 | part);
                writer.each(rings, Self::line);
            }),
            Geometry::Collection(parts) => {
                self.each(parts, |writer, part| writer.geometry(part, None));
            }
        }
    }

    fn head(&mut self, code: u32) {
        self.out.push(1);
        self.out.extend_from_slice(&code.to_le_bytes());
    }

    fn each<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T)) {
        // What is read has far fewer parts than this; more memory than there is would be needed.
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        self.out.extend_from_slice(&count.to_le_bytes());
        items.iter().for_each(|item| write(self, item));
    }

    fn line(&mut self, line: &Line) {
        self.each(line, Self::position);
    }

    fn position(&mut self, at: &Position) {
        self.out.extend_from_slice(&at.x.to_le_bytes());
        self.out.extend_from_slice(&at.y.to_le_bytes());
        if self.has_z {
            self.out.extend_from_slice(&at.z.unwrap_or(0.0).to_le_bytes());
        }
    }
}

/// Why bytes are no geometry.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WkbError {
    /// They end before the geometry does.
    #[error("the geometry is cut off")]
    CutOff,
    /// They go on after it.
    #[error("there are bytes after the geometry")]
    Trailing,
    /// A geometry of a kind that is not known, or not allowed where it is.
    #[error("the geometry has a part of the unexpected type {0}")]
    Type(u32),
    /// It is not in WGS 84.
    #[error("the geometry is in the reference system {0}")]
    Srid(u32),
    /// It has an ordinate that is no number; so an empty point is written.
    #[error("the geometry has an ordinate that is not finite")]
    NotFinite,
    /// Collections in collections in collections.
    #[error("the geometry is nested too deep")]
    TooDeep,
}

/// Reads what [`to_wkb`] and [`to_ewkb`] write, and any other WKB in WGS 84. Measures are dropped.
pub fn from_wkb(bytes: &[u8]) -> Result<Geometry, WkbError> {
    let mut reader = Reader { bytes };
    let geometry = reader.geometry(0)?;
    if reader.bytes.is_empty() { Ok(geometry) } else { Err(WkbError::Trailing) }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

/// How the numbers of one geometry are written.
#[derive(Clone, Copy)]
struct Form {
    little_endian: bool,
    has_z: bool,
    has_m: bool,
}

impl Form {
    /// How many bytes a position takes.
    fn position(self) -> usize {
        8 * (2 + usize::from(self.has_z) + usize::from(self.has_m))
    }
}

/// The fewest bytes that a geometry within another takes: its head and a count.
const SMALLEST_PART: usize = 9;

impl Reader<'_> {
    fn geometry(&mut self, depth: usize) -> Result<Geometry, WkbError> {
        let (code, form) = self.head()?;
        Ok(match code {
            1 => Geometry::Point(self.position(form)?),
            2 => Geometry::LineString(self.line(form)?),
            3 => Geometry::Polygon(self.rings(form)?),
            4 => Geometry::MultiPoint(self.parts(form, 1, Self::position)?),
            5 => Geometry::MultiLineString(self.parts(form, 2, Self::line)?),
            6 => Geometry::MultiPolygon(self.parts(form, 3, Self::rings)?),
            7 if depth == MAX_COLLECTIONS => return Err(WkbError::TooDeep),
            7 => Geometry::Collection(
                self.each(form, SMALLEST_PART, |reader| reader.geometry(depth + 1))?,
            ),
            other => return Err(WkbError::Type(other)),
        })
    }

    fn head(&mut self) -> Result<(u32, Form), WkbError> {
        let little_endian = match self.take::<1>()? {
            [0] => false,
            [1] => true,
            [other] => return Err(WkbError::Type(u32::from(other))),
        };
        let mut form = Form { little_endian, has_z: false, has_m: false };
        let code = self.count(form)?;
        let plain = code & !(HAS_Z | HAS_M | HAS_SRID);
        // ISO: 1001 has heights, 2001 measures, 3001 both.
        form.has_z = code & HAS_Z != 0 || matches!(plain / 1000, 1 | 3);
        form.has_m = code & HAS_M != 0 || matches!(plain / 1000, 2 | 3);
        if code & HAS_SRID != 0 {
            match self.count(form)? {
                0 | SRID => {}
                other => return Err(WkbError::Srid(other)),
            }
        }
        match plain {
            0..4000 => Ok((plain % 1000, form)),
            _ => Err(WkbError::Type(plain)),
        }
    }

    /// The parts of a Multi geometry: each is a geometry of its own, of one type.
    fn parts<T>(
        &mut self,
        form: Form,
        code: u32,
        read: fn(&mut Self, Form) -> Result<T, WkbError>,
    ) -> Result<Vec<T>, WkbError> {
        self.each(form, SMALLEST_PART, |reader| match reader.head()? {
            (found, form) if found == code => read(reader, form),
            (other, _) => Err(WkbError::Type(other)),
        })
    }

    fn rings(&mut self, form: Form) -> Result<Vec<Line>, WkbError> {
        self.each(form, 4, |reader| reader.line(form))
    }

    fn line(&mut self, form: Form) -> Result<Line, WkbError> {
        self.each(form, form.position(), |reader| reader.position(form))
    }

    /// Reads as many items as the count before them says, if so many of at least `smallest` bytes
    /// can follow: a count alone takes no memory.
    fn each<T>(
        &mut self,
        form: Form,
        smallest: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, WkbError>,
    ) -> Result<Vec<T>, WkbError> {
        let count = usize::try_from(self.count(form)?).map_err(|_| WkbError::CutOff)?;
        if count > self.bytes.len() / smallest {
            return Err(WkbError::CutOff);
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn position(&mut self, form: Form) -> Result<Position, WkbError> {
        let (x, y) = (self.ordinate(form)?, self.ordinate(form)?);
        let z = if form.has_z { Some(self.ordinate(form)?) } else { None };
        if form.has_m {
            self.take::<8>()?;
        }
        Ok(Position { x, y, z })
    }

    fn ordinate(&mut self, form: Form) -> Result<f64, WkbError> {
        let bytes = self.take()?;
        let ordinate =
            if form.little_endian { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) };
        if ordinate.is_finite() { Ok(ordinate) } else { Err(WkbError::NotFinite) }
    }

    fn count(&mut self, form: Form) -> Result<u32, WkbError> {
        let bytes = self.take()?;
        Ok(if form.little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], WkbError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(WkbError::CutOff)?;
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
    fn a_geometry_is_written_as_postgis_does() {
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
    fn a_height_that_is_missing_among_others_is_nought() {
        let line = Geometry::LineString(vec![at(1.0, 2.0, Some(3.0)), at(4.0, 5.0, None)]);
        let read = Geometry::LineString(vec![at(1.0, 2.0, Some(3.0)), at(4.0, 5.0, Some(0.0))]);
        assert_eq!(from_wkb(&to_wkb(&line)), Ok(read));
    }

    #[test]
    fn iso_codes_big_endian_and_measures_are_read() {
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
    fn bytes_that_are_no_geometry_are_refused() {
        let square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)];
        let ring: Line = square.iter().map(|(x, y)| at(*x, *y, Some(1.0))).collect();
        let geometry = Geometry::Collection(vec![
            Geometry::MultiPolygon(vec![vec![ring.clone()]]),
            Geometry::MultiLineString(vec![ring]),
        ]);
        let whole = to_ewkb(&geometry);
        for end in 0..whole.len() {
            assert_eq!(from_wkb(&whole[..end]), Err(WkbError::CutOff), "{end}");
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
            ("0102000000FFFFFFFF", WkbError::CutOff),
            ("0106000000FFFFFFFF", WkbError::CutOff),
        ] {
            assert_eq!(from_wkb(&bytes(hex)), Err(error), "{hex}");
        }
        let deep = bytes(&"010700000001000000".repeat(100_000));
        assert_eq!(from_wkb(&deep), Err(WkbError::TooDeep));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(head in 0_u32..8, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_wkb(&bytes);
            let _ = from_wkb(&[&[1], &head.to_le_bytes()[..], &bytes].concat());
        }
    }
}
