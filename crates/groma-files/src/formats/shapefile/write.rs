//! Writes Shapefiles to a zip archive: one for each type of geometry, because a Shapefile has only one.

use super::rings::area;
use crate::{
    FileError, FormatLimit,
    error::Result,
    output::{OutputLayer, Spool},
    prj,
    schema::{Column, ColumnType, shorten},
    source::ID_COLUMN,
    value,
};
use groma_geo::{Geometry, Line, Message, Position};
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::{self, BufWriter, Seek, Write},
};
use zip::{ZipWriter, write::SimpleFileOptions};

const MAX_TEXT: usize = 254;
const MAX_NAME: usize = 10;
const MAX_ROW: usize = 65_000;
/// What readers take as no height or measure: NaN is not allowed, and GDAL would take rings as not closed.
const NO_DATA: f64 = -1e39;
/// The lengths in the files are in words of two bytes, as 32-bit numbers with a sign.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// Writes a layer as a zip archive of Shapefiles.
pub(in crate::formats) fn write(
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    let fields = fields(layer)?;
    let mut sets: Vec<ShapeSet> = Vec::new();
    let (mut collections, mut cut) = (0_u64, 0_u64);
    features.each(layer.schema.count, |id, geometry, properties| {
        let kind = match &geometry {
            None => sets.first().map_or(ShapeType::Point, |set| set.kind),
            Some(geometry) => match ShapeType::of(geometry) {
                Some(kind) => kind,
                None => {
                    collections += 1;
                    return Ok(());
                }
            },
        };
        let index = match sets.iter().position(|set| set.kind == kind) {
            Some(index) => index,
            None => {
                let types = &layer.schema.types_with_heights;
                let has_heights = kind.geometry_types().iter().any(|name| types.contains(name));
                sets.push(ShapeSet::new(kind, has_heights)?);
                sets.len() - 1
            }
        };
        cut += u64::from(sets[index].push(geometry.as_ref(), id, properties, &fields)?);
        Ok(())
    })?;
    if sets.is_empty() {
        sets.push(ShapeSet::new(ShapeType::Point, false)?);
    }
    write_archive(layer, &fields, sets, out)?;
    let mut notices = Vec::new();
    if collections > 0 {
        notices.push(format!("{collections} features with a GeometryCollection were left out"));
    }
    if cut > 0 {
        notices.push(format!("texts of {cut} features were cut to {MAX_TEXT} bytes"));
    }
    Ok(notices)
}

fn write_archive(
    layer: &OutputLayer,
    fields: &[DbfField<'_>],
    sets: Vec<ShapeSet>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut file = tempfile::tempfile()?;
    let mut zip = ZipWriter::new(&mut file);
    let has_one = sets.len() == 1;
    let base = layer.name.replace(['/', '\\'], "_");
    for set in sets {
        let name = if has_one { base.clone() } else { format!("{base}_{}", set.kind.name()) };
        let mut add = |extension: &str, content: &mut dyn io::Read| -> Result<()> {
            let options = SimpleFileOptions::default().large_file(true);
            zip.start_file(format!("{name}.{extension}"), options).map_err(invalid)?;
            io::copy(content, &mut zip)?;
            Ok(())
        };
        let (mut shp, mut shx, mut dbf) = set.finish(fields)?;
        add("shp", &mut shp)?;
        add("shx", &mut shx)?;
        add("dbf", &mut dbf)?;
        add("cpg", &mut &b"UTF-8"[..])?;
        if let Some(text) = prj::write(&layer.crs) {
            add("prj", &mut text.as_bytes())?;
        }
    }
    zip.finish().map_err(invalid)?;
    file.rewind()?;
    io::copy(&mut file, out)?;
    Ok(())
}

fn invalid(error: impl std::fmt::Display) -> FileError {
    FileError::invalid(Message::untranslated(format!("the archive cannot be written: {error}")))
}

#[derive(Clone, Copy, PartialEq)]
enum ShapeType {
    Point = 1,
    Line = 3,
    Polygon = 5,
    MultiPoint = 8,
}

impl ShapeType {
    fn of(geometry: &Geometry) -> Option<Self> {
        Some(match geometry {
            Geometry::Point(_) => Self::Point,
            Geometry::MultiPoint(_) => Self::MultiPoint,
            Geometry::LineString(_) | Geometry::MultiLineString(_) => Self::Line,
            Geometry::Polygon(_) | Geometry::MultiPolygon(_) => Self::Polygon,
            Geometry::Collection(_) => return None,
        })
    }

    /// The GeoJSON names of the geometries that have this type.
    fn geometry_types(self) -> &'static [&'static str] {
        match self {
            Self::Point => &["Point"],
            Self::Line => &["LineString", "MultiLineString"],
            Self::Polygon => &["Polygon", "MultiPolygon"],
            Self::MultiPoint => &["MultiPoint"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Point => "points",
            Self::Line => "lines",
            Self::Polygon => "polygons",
            Self::MultiPoint => "multipoints",
        }
    }
}

/// A field of the `.dbf`; the first one, without a column, is the id.
struct DbfField<'l> {
    name: String,
    column: Option<&'l Column>,
    kind: u8,
    length: usize,
    decimals: u8,
}

fn fields(layer: &OutputLayer) -> Result<Vec<DbfField<'_>>> {
    let schema = &layer.schema;
    let id =
        DbfField { name: ID_COLUMN.to_owned(), column: None, kind: b'C', length: 36, decimals: 0 };
    let mut fields = vec![DbfField { length: schema.id_width.clamp(1, MAX_TEXT), ..id }];
    for (name, column) in schema.names(&[ID_COLUMN], MAX_NAME).into_iter().zip(&schema.columns) {
        let (kind, length, decimals) = match column.kind() {
            ColumnType::Integer => (b'N', column.width.clamp(1, 20), 0),
            ColumnType::Real => (b'N', 24, 15),
            ColumnType::Bool => (b'L', 1, 0),
            ColumnType::Text | ColumnType::Json => (b'C', column.width.clamp(1, MAX_TEXT), 0),
        };
        fields.push(DbfField { name, column: Some(column), kind, length, decimals });
    }
    let row: usize = fields.iter().map(|field| field.length).sum();
    if row > MAX_ROW {
        return Err(FormatLimit::ShapefileRow.into());
    }
    Ok(fields)
}

impl DbfField<'_> {
    /// The bytes of a value, and whether text was cut off.
    fn bytes(&self, value: &Value) -> (Vec<u8>, bool) {
        let text = match (self.kind, value) {
            (b'L', Value::Null) => "?".to_owned(),
            (_, Value::Null) => String::new(),
            (b'L', value) => if value == &Value::Bool(true) { "T" } else { "F" }.to_owned(),
            (b'N', value) if self.decimals > 0 => {
                real(value.as_f64().unwrap_or_default(), self.length)
            }
            (_, value) => value::text(value).unwrap_or_default(),
        };
        let kept = shorten(&text, self.length);
        let mut bytes = kept.as_bytes().to_vec();
        let padding = vec![b' '; self.length - bytes.len()];
        if self.kind == b'N' {
            bytes.splice(..0, padding);
        } else {
            bytes.extend(padding);
        }
        (bytes, kept.len() < text.len())
    }
}

/// A number with all its digits, if there is room for them.
fn real(number: f64, length: usize) -> String {
    let exact = number.to_string();
    if exact.len() <= length { exact } else { format!("{number:e}") }
}

/// A Shapefile that is being written.
struct ShapeSet {
    kind: ShapeType,
    has_heights: bool,
    count: u32,
    shp: BufWriter<File>,
    shx: BufWriter<File>,
    dbf: BufWriter<File>,
    /// The length of the `.shp` in bytes.
    length: u64,
    bounds: [f64; 6],
}

impl ShapeSet {
    fn new(kind: ShapeType, has_heights: bool) -> io::Result<Self> {
        let file = || tempfile::tempfile().map(BufWriter::new);
        let (shp, shx, dbf) = (file()?, file()?, file()?);
        let empty = [
            f64::INFINITY,
            f64::INFINITY,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
        ];
        Ok(Self { kind, has_heights, count: 0, shp, shx, dbf, length: 100, bounds: empty })
    }

    /// Adds a feature; returns whether one of its texts was cut off.
    fn push(
        &mut self,
        geometry: Option<&Geometry>,
        id: &str,
        mut properties: Map<String, Value>,
        fields: &[DbfField<'_>],
    ) -> Result<bool> {
        let content = match geometry {
            Some(geometry) => self.shape(geometry),
            None => vec![0; 4],
        };
        self.count += 1;
        let words = (content.len() / 2) as u32;
        self.shx.write_all(&((self.length / 2) as u32).to_be_bytes())?;
        self.shx.write_all(&words.to_be_bytes())?;
        self.shp.write_all(&self.count.to_be_bytes())?;
        self.shp.write_all(&words.to_be_bytes())?;
        self.shp.write_all(&content)?;
        self.length += 8 + content.len() as u64;
        if self.length > MAX_FILE_BYTES {
            return Err(FormatLimit::ShapefileSize.into());
        }
        self.dbf.write_all(b" ")?;
        let mut is_cut = false;
        for field in fields {
            let value = match field.column {
                None => Value::String(id.to_owned()),
                Some(column) => properties.remove(&column.property).unwrap_or(Value::Null),
            };
            let (bytes, cut) = field.bytes(&value);
            is_cut |= cut;
            self.dbf.write_all(&bytes)?;
        }
        Ok(is_cut)
    }

    fn code(&self) -> u32 {
        self.kind as u32 + if self.has_heights { 10 } else { 0 }
    }

    fn shape(&mut self, geometry: &Geometry) -> Vec<u8> {
        geometry.each_position(&mut |at| {
            // NaN changes no bound.
            for (axis, number) in [at.x, at.y, at.z.unwrap_or(f64::NAN)].into_iter().enumerate() {
                self.bounds[axis] = self.bounds[axis].min(number);
                self.bounds[axis + 3] = self.bounds[axis + 3].max(number);
            }
        });
        let mut out = self.code().to_le_bytes().to_vec();
        if let Geometry::Point(at) = geometry {
            put(&mut out, [at.x, at.y]);
            if self.has_heights {
                put(&mut out, [at.z.unwrap_or(NO_DATA), NO_DATA]);
            }
            return out;
        }
        let Some(bbox) = geometry.bbox() else { return vec![0; 4] };
        put(&mut out, bbox.0);
        let parts: Vec<Line> = match geometry {
            Geometry::MultiPoint(line) | Geometry::LineString(line) => vec![line.clone()],
            Geometry::MultiLineString(lines) => lines.clone(),
            Geometry::Polygon(rings) => oriented(rings),
            Geometry::MultiPolygon(polygons) => {
                polygons.iter().flat_map(|rings| oriented(rings)).collect()
            }
            Geometry::Point(_) | Geometry::Collection(_) => Vec::new(),
        };
        let positions: Vec<Position> = parts.concat();
        if self.kind != ShapeType::MultiPoint {
            out.extend((parts.len() as u32).to_le_bytes());
        }
        out.extend((positions.len() as u32).to_le_bytes());
        if self.kind != ShapeType::MultiPoint {
            let mut start = 0_u32;
            for part in &parts {
                out.extend(start.to_le_bytes());
                start += part.len() as u32;
            }
        }
        positions.iter().for_each(|at| put(&mut out, [at.x, at.y]));
        if self.has_heights {
            let heights = || positions.iter().filter_map(|at| at.z);
            let range = [heights().reduce(f64::min), heights().reduce(f64::max)];
            put(&mut out, range.map(|bound| bound.unwrap_or(NO_DATA)));
            positions.iter().for_each(|at| put(&mut out, [at.z.unwrap_or(NO_DATA)]));
        }
        out
    }

    /// The `.shp`, `.shx` and `.dbf` with their headers.
    fn finish(
        self,
        fields: &[DbfField<'_>],
    ) -> Result<(impl io::Read, impl io::Read, impl io::Read)> {
        let shx_length = 100 + 8 * u64::from(self.count);
        let headers = [self.header(self.length), self.header(shx_length)];
        let dbf_header = dbf_header(self.count, fields);
        let rewound = |file: BufWriter<File>| -> Result<File> {
            let mut file = file.into_inner().map_err(|error| FileError::Io(error.into_error()))?;
            file.rewind()?;
            Ok(file)
        };
        use io::{Cursor, Read};
        let [shp_header, shx_header] = headers;
        Ok((
            Cursor::new(shp_header).chain(rewound(self.shp)?),
            Cursor::new(shx_header).chain(rewound(self.shx)?),
            Cursor::new(dbf_header).chain(rewound(self.dbf)?).chain(&b"\x1A"[..]),
        ))
    }

    fn header(&self, length: u64) -> Vec<u8> {
        let mut header = 9994_u32.to_be_bytes().to_vec();
        header.resize(24, 0);
        header.extend(((length / 2) as u32).to_be_bytes());
        header.extend(1000_u32.to_le_bytes());
        header.extend(self.code().to_le_bytes());
        let [min_x, min_y, min_z, max_x, max_y, max_z] =
            self.bounds.map(|bound| if bound.is_finite() { bound } else { 0.0 });
        put(&mut header, [min_x, min_y, max_x, max_y]);
        put(&mut header, if self.has_heights { [min_z, max_z] } else { [0.0; 2] });
        put(&mut header, [0.0; 2]);
        header
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, numbers: [f64; N]) {
    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
}

/// Rings in the order of Shapefiles: the outer one clockwise, the holes counter-clockwise.
fn oriented(rings: &[Line]) -> Vec<Line> {
    let turn = |(index, ring): (usize, &Line)| {
        let mut ring = ring.clone();
        if (area(&ring) > 0.0) == (index == 0) {
            ring.reverse();
        }
        ring
    };
    rings.iter().enumerate().map(turn).collect()
}

fn dbf_header(count: u32, fields: &[DbfField<'_>]) -> Vec<u8> {
    // dBASE III without memos; the date of the last change is fixed.
    let mut header = vec![3, 126, 1, 1];
    header.extend(count.to_le_bytes());
    header.extend((33 + 32 * fields.len() as u16).to_le_bytes());
    let row: usize = fields.iter().map(|field| field.length).sum();
    header.extend((row as u16 + 1).to_le_bytes());
    header.resize(32, 0);
    for field in fields {
        let mut descriptor = field.name.as_bytes().to_vec();
        descriptor.resize(11, 0);
        descriptor.push(field.kind);
        descriptor.resize(16, 0);
        descriptor.extend([field.length as u8, field.decimals]);
        descriptor.resize(32, 0);
        header.extend(descriptor);
    }
    header.push(0x0D);
    header
}
