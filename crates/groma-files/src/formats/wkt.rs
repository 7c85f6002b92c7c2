//! Geometries as WKT and WKB, in the dialects that files use.

use groma_geo::{Geometry, Line, Message, Position, Rings, message, wkb};
use std::fmt::Write as _;

/// The flags of EWKB.
const EWKB_M: u32 = 0x4000_0000;
const EWKB_SRID: u32 = 0x2000_0000;
/// How deep collections can be nested.
const MAX_DEPTH: usize = 8;

/// A geometry in ISO WKB or EWKB, and whether it has measures.
pub(crate) fn from_wkb(bytes: &[u8]) -> Result<(Geometry, bool), Message> {
    let [order, a, b, c, d, rest @ ..] = bytes else {
        return Err(message!("the geometry is not valid WKB"));
    };
    let code = [*a, *b, *c, *d];
    let code = if *order == 0 { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) };
    let plain = code & 0x0FFF_FFFF;
    let has_measures = code & EWKB_M != 0 || matches!(plain / 1000, 2 | 3);
    if (8..18).contains(&(plain % 1000)) {
        return Err(message!(
            "the geometry has curves; convert the file with `ogr2ogr -nlt CONVERT_TO_LINEAR`"
        ));
    }
    let geometry = if code & EWKB_SRID != 0 {
        // The reference system is chosen for the whole file.
        let code = code & !EWKB_SRID;
        let code = if *order == 0 { code.to_be_bytes() } else { code.to_le_bytes() };
        let without = [&[*order][..], &code, rest.get(4..).unwrap_or_default()].concat();
        wkb::from_wkb(&without)
    } else {
        wkb::from_wkb(bytes)
    };
    geometry.map(|geometry| (geometry, has_measures)).map_err(|error| {
        message!("the geometry is not valid WKB: {error}", error = error.message())
    })
}

/// The SRID and the rest of an EWKT text.
pub(crate) fn split_srid(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let Some((start, rest)) = text.split_once(';') else { return (None, text) };
    match start.split_at_checked(5) {
        Some((prefix, code)) if prefix.eq_ignore_ascii_case("SRID=") => (Some(code), rest),
        _ => (None, text),
    }
}

/// A geometry in WKT or EWKT, and whether it has measures. `None` if it is empty.
pub(crate) fn from_wkt(text: &str) -> Result<(Option<Geometry>, bool), Message> {
    let (_, text) = split_srid(text);
    let mut parser = Parser { rest: text, has_measures: false };
    let geometry = parser.geometry(0);
    match geometry {
        Some(geometry) if parser.rest.trim().is_empty() => Ok((geometry, parser.has_measures)),
        _ => Err(message!("the geometry is not valid WKT")),
    }
}

/// What the numbers of a position mean.
#[derive(Clone, Copy, Default)]
struct Layout {
    has_z: bool,
    has_m: bool,
}

struct Parser<'a> {
    rest: &'a str,
    has_measures: bool,
}

impl<'a> Parser<'a> {
    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
        self.rest = &text[end..];
        &text[..end]
    }

    fn take(&mut self, symbol: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(symbol)?;
        Some(())
    }

    fn is_empty(&mut self) -> bool {
        let before = self.rest;
        let is_empty = self.word().eq_ignore_ascii_case("EMPTY");
        if !is_empty {
            self.rest = before;
        }
        is_empty
    }

    /// The outer `None` is an error, the inner one an empty geometry.
    fn geometry(&mut self, depth: usize) -> Option<Option<Geometry>> {
        let name = self.word().to_ascii_uppercase();
        let (name, mut layout) = dimensions(&name);
        let before = self.rest;
        match self.word().to_ascii_uppercase().as_str() {
            "Z" => layout.has_z = true,
            "M" => layout.has_m = true,
            "ZM" => (layout.has_z, layout.has_m) = (true, true),
            _ => self.rest = before,
        }
        if self.is_empty() {
            return Some(None);
        }
        Some(Some(match name {
            "POINT" => {
                self.take('(')?;
                let position = self.position(layout)?;
                self.take(')')?;
                Geometry::Point(position)
            }
            "LINESTRING" => Geometry::LineString(self.line(layout)?),
            "POLYGON" => Geometry::Polygon(self.list(|parser| parser.line(layout))?),
            "MULTIPOINT" => Geometry::MultiPoint(self.list(|parser| parser.point(layout))?),
            "MULTILINESTRING" => {
                Geometry::MultiLineString(self.list(|parser| parser.line(layout))?)
            }
            "MULTIPOLYGON" => {
                let rings = |parser: &mut Self| parser.list(|parser| parser.line(layout));
                Geometry::MultiPolygon(self.list(rings)?)
            }
            "GEOMETRYCOLLECTION" if depth < MAX_DEPTH => {
                let parts = self.list(|parser| parser.geometry(depth + 1))?;
                Geometry::Collection(parts.into_iter().flatten().collect())
            }
            _ => return None,
        }))
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.take('(')?;
        let mut items = vec![item(self)?];
        while self.take(',').is_some() {
            items.push(item(self)?);
        }
        self.take(')')?;
        Some(items)
    }

    fn line(&mut self, layout: Layout) -> Option<Line> {
        self.list(|parser| parser.position(layout))
    }

    /// A point of a MULTIPOINT, with or without parentheses.
    fn point(&mut self, layout: Layout) -> Option<Position> {
        let is_nested = self.take('(').is_some();
        let position = self.position(layout)?;
        if is_nested {
            self.take(')')?;
        }
        Some(position)
    }

    fn position(&mut self, layout: Layout) -> Option<Position> {
        let mut numbers = Vec::with_capacity(4);
        while numbers.len() < 4 {
            match self.number() {
                Some(number) => numbers.push(number),
                None => break,
            }
        }
        // Without a letter, the third number is a height and the fourth a measure.
        let has_z = layout.has_z || !layout.has_m;
        let z = numbers.get(2).copied().filter(|z| has_z && !z.is_nan());
        self.has_measures |= numbers.len() > if has_z { 3 } else { 2 };
        match numbers.as_slice() {
            [x, y, ..] => Some(Position { x: *x, y: *y, z }),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<f64> {
        let text = self.rest.trim_start();
        let end = text.find([' ', ',', ')', '(', '\t', '\n', '\r']).unwrap_or(text.len());
        let number = text[..end].parse().ok()?;
        self.rest = &text[end..];
        Some(number)
    }
}

/// `POINTZ` is written without a space, too.
fn dimensions(name: &str) -> (&str, Layout) {
    for (suffix, has_z, has_m) in [("ZM", true, true), ("Z", true, false), ("M", false, true)] {
        if let Some(name) = name.strip_suffix(suffix).filter(|name| name.len() >= 5) {
            return (name, Layout { has_z, has_m });
        }
    }
    (name, Layout::default())
}

/// A geometry as ISO WKT.
pub(crate) fn to_wkt(geometry: &Geometry) -> String {
    let mut has_z = false;
    geometry.each_position(&mut |at| has_z |= at.z.is_some());
    let mut text = String::new();
    write_geometry(geometry, has_z, &mut text);
    text
}

fn write_geometry(geometry: &Geometry, has_z: bool, text: &mut String) {
    text.push_str(&geometry.type_name().to_ascii_uppercase());
    text.push_str(if has_z { " Z " } else { " " });
    if geometry.bbox().is_none() {
        text.push_str("EMPTY");
        return;
    }
    match geometry {
        Geometry::Point(position) => write_line(std::slice::from_ref(position), has_z, text),
        Geometry::LineString(line) => write_line(line, has_z, text),
        Geometry::MultiPoint(points) => write_list(points, text, |point, text| {
            write_line(std::slice::from_ref(point), has_z, text);
        }),
        Geometry::Polygon(lines) | Geometry::MultiLineString(lines) => {
            write_lines(lines, has_z, text);
        }
        Geometry::MultiPolygon(polygons) => {
            write_list(polygons, text, |rings: &Rings, text| write_lines(rings, has_z, text));
        }
        Geometry::Collection(parts) => {
            write_list(parts, text, |part, text| write_geometry(part, has_z, text));
        }
    }
}

fn write_list<T>(items: &[T], text: &mut String, write: impl Fn(&T, &mut String)) {
    for (index, item) in items.iter().enumerate() {
        text.push(if index == 0 { '(' } else { ',' });
        write(item, text);
    }
    text.push(')');
}

fn write_lines(lines: &[Line], has_z: bool, text: &mut String) {
    write_list(lines, text, |line, text| write_line(line, has_z, text));
}

fn write_line(line: &[Position], has_z: bool, text: &mut String) {
    write_list(line, text, |at, text| {
        // Writing to a String cannot fail.
        _ = write!(text, "{} {}", at.x, at.y);
        if has_z {
            _ = match at.z {
                Some(z) => write!(text, " {z}"),
                None => write!(text, " nan"),
            };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_written_and_read_back() {
        for text in [
            "POINT (1 2)",
            "POINT Z (1.5 -2 3)",
            "LINESTRING Z (0 0 1,1 1 nan)",
            "MULTIPOINT ((1 2),(3 4))",
            "POLYGON ((0 0,1 0,1 1,0 0),(0.1 0.1,0.2 0.1,0.2 0.2,0.1 0.1))",
            "MULTILINESTRING ((0 0,1 1),(2 2,3 3))",
            "MULTIPOLYGON (((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))",
            "GEOMETRYCOLLECTION (POINT (1 2),LINESTRING (0 0,1 1))",
        ] {
            let (geometry, has_measures) = from_wkt(text).unwrap();
            assert_eq!((to_wkt(&geometry.unwrap()).as_str(), has_measures), (text, false));
        }
    }

    #[test]
    fn dialects_are_accepted() {
        let point = |z| Some(Geometry::Point(Position { x: 1.0, y: 2.0, z }));
        for (text, expected) in [
            ("point(1 2)", (point(None), false)),
            ("POINTZ(1 2 3)", (point(Some(3.0)), false)),
            ("POINT (1 2 3)", (point(Some(3.0)), false)),
            ("POINT M (1 2 3)", (point(None), true)),
            ("POINT ZM (1 2 3 4)", (point(Some(3.0)), true)),
            ("SRID=2154;POINT(1 2)", (point(None), false)),
            ("POINT EMPTY", (None, false)),
        ] {
            assert_eq!(from_wkt(text), Ok(expected), "{text}");
        }
        assert!(from_wkt("MULTIPOINT (1 2, 3 4)").is_ok());
    }

    #[test]
    fn broken_wkt_is_rejected() {
        for text in [
            "",
            "POINT",
            "POINT (1)",
            "POINT (1 2",
            "POINT (1 2) x",
            "CIRCULARSTRING (0 0,1 1,2 0)",
        ] {
            assert!(from_wkt(text).is_err(), "{text}");
        }
        assert!(from_wkt(&"GEOMETRYCOLLECTION (".repeat(100_000)).is_err());
    }
}
