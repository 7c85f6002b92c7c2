//! The shapes of a `.shp` file.

use super::rings::{area, polygons};
use crate::{
    FileError,
    error::Result,
    source::{MAX_RINGS, MAX_VERTICES, too_many_vertices},
};
use groma_geo::{Geometry, Line, Message, Position, message};
use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
};

const HEADER_BYTES: u64 = 100;
const FILE_CODE: u32 = 9994;
const MAX_SHAPE_BYTES: usize = 256 << 20;
/// Heights and measures below this are missing.
const NO_DATA: f64 = -1e38;

/// The type of the shapes as GeoJSON names it; the file is at any position.
pub(super) fn geometry_type(file: &mut File) -> Result<&'static str> {
    file.rewind()?;
    let mut header = [0; HEADER_BYTES as usize];
    let read = file.read_exact(&mut header);
    let code = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    if read.is_err() || code != FILE_CODE {
        return Err(FileError::invalid(message!("the .shp is not valid")));
    }
    Ok(match header[32] % 10 {
        1 => "Point",
        3 => "LineString",
        5 => "Polygon",
        8 => "MultiPoint",
        _ => "",
    })
}

/// Reads shape by shape.
pub(super) struct Shapes {
    file: BufReader<File>,
    count: u64,
}

/// The geometry, `None` if it is null, and whether it has measures; or why it cannot be read.
pub(super) type Shape = std::result::Result<(Option<Geometry>, bool), Message>;

impl Shapes {
    pub(super) fn open(mut file: File) -> Result<Self> {
        file.seek(SeekFrom::Start(HEADER_BYTES))?;
        Ok(Self { file: BufReader::with_capacity(1 << 18, file), count: 0 })
    }

    /// The next shape; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Shape>> {
        let mut header = Vec::new();
        if self.file.by_ref().take(8).read_to_end(&mut header)? == 0 {
            return Ok(None);
        }
        self.count += 1;
        let truncated = || {
            FileError::invalid(message!(
                "the .shp is truncated at shape {number}",
                number = self.count
            ))
        };
        let [_, _, _, _, a, b, c, d] = header.as_slice().try_into().map_err(|_| truncated())?;
        // The length counts words of two bytes.
        let length = u32::from_be_bytes([a, b, c, d]) as usize * 2;
        if length > MAX_SHAPE_BYTES {
            return Err(FileError::invalid(message!(
                "shape {number} exceeds the limit of {limit} bytes",
                number = self.count,
                limit = MAX_SHAPE_BYTES
            )));
        }
        let mut content = Vec::new();
        if self.file.by_ref().take(length as u64).read_to_end(&mut content)? < length {
            return Err(truncated());
        }
        Ok(Some(parse(&content)))
    }
}

fn parse(content: &[u8]) -> Shape {
    let mut bytes = Bytes(content);
    let code = bytes.count()?;
    let layout = match code / 10 {
        0 => Layout { has_z: false, has_m: false },
        1 => Layout { has_z: true, has_m: true },
        2 => Layout { has_z: false, has_m: true },
        _ => return Err(unsupported(code)),
    };
    match code % 10 {
        0 => Ok((None, false)),
        1 => point(&mut bytes, layout),
        8 => {
            bytes.skip(32)?;
            let count = bytes.count()?;
            let (positions, has_measures) = positions(&mut bytes, count, layout)?;
            let geometry = (!positions.is_empty()).then_some(Geometry::MultiPoint(positions));
            Ok((geometry, has_measures))
        }
        3 | 5 => {
            bytes.skip(32)?;
            let (part_count, count) = (bytes.count()?, bytes.count()?);
            let starts = bytes.list(part_count, 4)?;
            if starts.len() / 4 > MAX_RINGS {
                return Err(message!(
                    "exceeds the limit of {limit} rings per feature",
                    limit = MAX_RINGS
                ));
            }
            let starts: Vec<usize> =
                starts.as_chunks().0.iter().map(|it| u32::from_le_bytes(*it) as usize).collect();
            let (positions, has_measures) = positions(&mut bytes, count, layout)?;
            let geometry = lines_or_polygons(&starts, &positions, code % 10 == 5)?;
            Ok((geometry, has_measures))
        }
        _ => Err(unsupported(code)),
    }
}

#[derive(Clone, Copy)]
struct Layout {
    has_z: bool,
    has_m: bool,
}

fn point(bytes: &mut Bytes<'_>, layout: Layout) -> Shape {
    let (x, y) = (bytes.number()?, bytes.number()?);
    let z = if layout.has_z { Some(bytes.number()?) } else { None };
    let measure = if layout.has_m { bytes.number().unwrap_or(NO_DATA) } else { NO_DATA };
    // Empty points are written so.
    if x.is_nan() && y.is_nan() {
        return Ok((None, false));
    }
    let position = Position { x, y, z: z.filter(|z| is_data(*z)) };
    Ok((Some(Geometry::Point(position)), is_data(measure)))
}

/// Positions with their heights, which follow them, and measures, which can be left out.
fn positions(
    bytes: &mut Bytes<'_>,
    count: u32,
    layout: Layout,
) -> std::result::Result<(Line, bool), Message> {
    let read = |bytes: &[u8]| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
    let xy = bytes.list(count, 16)?;
    if xy.len() / 16 > MAX_VERTICES {
        return Err(too_many_vertices());
    }
    let z = match layout.has_z {
        true => {
            bytes.skip(16)?;
            Some(bytes.list(count, 8)?)
        }
        false => None,
    };
    let mut has_measures = false;
    if layout.has_m && bytes.skip(16).is_ok() {
        let measures = bytes.list(count, 8).unwrap_or_default();
        // Some programs write zeros for measures that do not exist.
        has_measures = measures.chunks_exact(8).map(read).any(|m| is_data(m) && m != 0.0);
    }
    let position = |(index, xy): (usize, &[u8])| Position {
        x: read(&xy[..8]),
        y: read(&xy[8..]),
        z: z.map(|z| read(&z[index * 8..][..8])).filter(|z| is_data(*z)),
    };
    Ok((xy.chunks_exact(16).enumerate().map(position).collect(), has_measures))
}

/// Whether a height or a measure exists. NaN is none, either.
fn is_data(number: f64) -> bool {
    number > NO_DATA
}

fn lines_or_polygons(
    starts: &[usize],
    positions: &[Position],
    are_rings: bool,
) -> std::result::Result<Option<Geometry>, Message> {
    let mut lines = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(positions.len());
        let line = positions.get(*start..end).ok_or_else(not_valid)?;
        if !line.is_empty() {
            lines.push(line.to_vec());
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    if !are_rings {
        return Ok(Some(match lines.len() {
            1 => Geometry::LineString(lines.remove(0)),
            _ => Geometry::MultiLineString(lines),
        }));
    }
    for ring in &mut lines {
        if let (Some(first), Some(last)) = (ring.first().copied(), ring.last())
            && (first.x, first.y) != (last.x, last.y)
        {
            ring.push(first);
        }
    }
    // Rings without an area are left out, as other programs do.
    if lines.iter().any(|ring| area(ring) != 0.0) {
        lines.retain(|ring| area(ring) != 0.0);
    }
    let mut polygons = polygons(lines)?;
    Ok(Some(match polygons.len() {
        1 => Geometry::Polygon(polygons.remove(0)),
        _ => Geometry::MultiPolygon(polygons),
    }))
}

fn not_valid() -> Message {
    message!("the shape is not valid")
}

fn unsupported(code: u32) -> Message {
    message!("shapes of the type {code} are not supported", code = code.to_string())
}

/// Bytes that are left of a shape.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> std::result::Result<&'a [u8], Message> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(not_valid)?;
        self.0 = rest;
        Ok(taken)
    }

    /// As many items, if the shape has so many bytes.
    fn list(&mut self, count: u32, size: usize) -> std::result::Result<&'a [u8], Message> {
        self.take(
            usize::try_from(count)
                .ok()
                .and_then(|count| count.checked_mul(size))
                .unwrap_or(usize::MAX),
        )
    }

    fn skip(&mut self, count: usize) -> std::result::Result<(), Message> {
        self.take(count).map(|_| ())
    }

    fn count(&mut self) -> std::result::Result<u32, Message> {
        Ok(self.take(4)?.try_into().map_or(0, u32::from_le_bytes))
    }

    fn number(&mut self) -> std::result::Result<f64, Message> {
        Ok(self.take(8)?.try_into().map_or(f64::NAN, f64::from_le_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_shapes_are_rejected_without_allocating() {
        let mut huge = vec![5, 0, 0, 0];
        huge.extend([0; 32]);
        huge.extend([255; 8]);
        assert!(parse(&huge).is_err());
        let mut bad_part = vec![3, 0, 0, 0];
        bad_part.extend([0; 32]);
        bad_part.extend([1, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0]);
        bad_part.extend([0; 32]);
        assert!(parse(&bad_part).is_err());
        assert!(parse(&[31, 0, 0, 0]).is_err(), "MultiPatch");
        assert_eq!(parse(&[0, 0, 0, 0]), Ok((None, false)));
    }
}
