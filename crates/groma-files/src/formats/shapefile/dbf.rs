//! dBASE tables: the attributes of a Shapefile.

use super::code_page::CodePage;
use crate::{
    FileError,
    error::Result,
    format_limits::MAX_COLUMNS,
    source::{Field, FieldType},
    value,
};
use groma_geo::{Message, message};
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
};

const HEADER_BYTES: usize = 32;

/// The fields and rows of a table.
pub(super) struct Dbf {
    pub(super) fields: Vec<Field>,
    columns: Vec<Column>,
    code_page: CodePage,
    pub(super) count: u64,
    header_length: u64,
    record_length: usize,
}

struct Column {
    kind: u8,
    start: usize,
    length: usize,
}

impl Dbf {
    pub(super) fn open(file: &mut File, cpg: Option<&str>) -> Result<Self> {
        let not_valid = || FileError::invalid(message!("the .dbf is not valid"));
        file.rewind()?;
        let length = file.metadata()?.len();
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| not_valid())?;
        let [_, _, _, _, n0, n1, n2, n3, h0, h1, r0, r1, ..] = header;
        let count = u64::from(u32::from_le_bytes([n0, n1, n2, n3]));
        let header_length = u64::from(u16::from_le_bytes([h0, h1]));
        let record_length = usize::from(u16::from_le_bytes([r0, r1]));
        let mut descriptors = Vec::new();
        let rest = header_length.saturating_sub(HEADER_BYTES as u64);
        Read::by_ref(file).take(rest).read_to_end(&mut descriptors)?;
        let code_page = CodePage::find(cpg, header[29]);
        let (fields, columns) = columns(&descriptors, code_page)?;
        let end = columns.last().map_or(1, |column: &Column| column.start + column.length);
        if descriptors.len() as u64 != rest || end > record_length {
            return Err(not_valid());
        }
        let available = length.saturating_sub(header_length) / record_length as u64;
        if available < count {
            return Err(FileError::invalid(message!(
                "the .dbf announces {count} rows, but contains {available}",
                count = count,
                available = available
            )));
        }
        if fields.len() > MAX_COLUMNS {
            return Err(FileError::invalid(message!(
                "the .dbf has more than {limit} fields",
                limit = MAX_COLUMNS
            )));
        }
        Ok(Self { fields, columns, code_page, count, header_length, record_length })
    }

    /// The rows, from the first.
    pub(super) fn rows(&self, mut file: File) -> Result<Rows<'_>> {
        file.seek(SeekFrom::Start(self.header_length))?;
        let file = BufReader::with_capacity(1 << 16, file);
        Ok(Rows { table: self, file, left: self.count, buffer: vec![0; self.record_length] })
    }
}

fn columns(descriptors: &[u8], code_page: CodePage) -> Result<(Vec<Field>, Vec<Column>)> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    // The first byte of a row tells whether it is deleted.
    let mut start = 1;
    for descriptor in descriptors.chunks_exact(HEADER_BYTES) {
        if descriptor[0] == 0x0D {
            break;
        }
        let name = descriptor[..11].split(|byte| *byte == 0).next().unwrap_or_default();
        let name = code_page.decode(name).unwrap_or_else(|| format!("field_{}", fields.len() + 1));
        let (kind, mut length, decimals) =
            (descriptor[11], usize::from(descriptor[16]), descriptor[17]);
        if kind == b'C' {
            // Long texts use the second byte, too.
            length += usize::from(decimals) << 8;
        }
        let field_type = match kind {
            b'N' if decimals == 0 => FieldType::Integer,
            b'I' | b'+' => FieldType::Integer,
            b'N' | b'F' | b'O' | b'B' => FieldType::Real,
            b'L' => FieldType::Bool,
            b'D' => FieldType::Date,
            b'M' | b'G' | b'P' | b'@' | b'T' => FieldType::Binary,
            _ => FieldType::Text,
        };
        fields.push(Field { name: name.trim().to_owned(), kind: field_type });
        columns.push(Column { kind, start, length });
        start += length;
    }
    Ok((fields, columns))
}

/// Reads row by row.
pub(super) struct Rows<'t> {
    table: &'t Dbf,
    file: BufReader<File>,
    left: u64,
    buffer: Vec<u8>,
}

/// A row: `None` if it is deleted. Its values and whether some were dropped, or why it cannot be read.
pub(super) type DbfRow = Option<std::result::Result<(Map<String, Value>, bool), Message>>;

impl Rows<'_> {
    /// The next row.
    pub(super) fn next(&mut self) -> Result<DbfRow> {
        if self.left == 0 {
            return Err(FileError::invalid(message!(
                "the .dbf has fewer rows than the .shp has shapes"
            )));
        }
        self.left -= 1;
        self.file.read_exact(&mut self.buffer)?;
        if self.buffer[0] == b'*' {
            return Ok(None);
        }
        Ok(Some(self.values()))
    }

    /// How many rows are left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    fn values(&self) -> std::result::Result<(Map<String, Value>, bool), Message> {
        let mut values = Map::new();
        let mut has_binary = false;
        for (field, column) in self.table.fields.iter().zip(&self.table.columns) {
            if field.kind == FieldType::Binary {
                has_binary = true;
                continue;
            }
            let bytes = &self.buffer[column.start..column.start + column.length];
            let value = match column.kind {
                b'I' | b'+' => {
                    bytes.try_into().map_or(Value::Null, |it| Value::from(i32::from_le_bytes(it)))
                }
                b'O' | b'B' => {
                    bytes.try_into().map_or(Value::Null, |it| value::real(f64::from_le_bytes(it)))
                }
                kind => {
                    let text = self.table.code_page.decode(bytes);
                    let text = text.ok_or_else(|| {
                        message!(
                            "`{name}` is not in the encoding of the .dbf; correct the .cpg file",
                            name = field.name.as_str()
                        )
                    })?;
                    parse(kind, text.trim_end_matches([' ', '\0']), &field.name)?
                }
            };
            values.insert(field.name.clone(), value);
        }
        Ok((values, has_binary))
    }
}

fn parse(kind: u8, text: &str, name: &str) -> std::result::Result<Value, Message> {
    let trimmed = text.trim_start();
    let is_missing = trimmed.is_empty() || trimmed.bytes().all(|byte| byte == b'*');
    Ok(match kind {
        _ if text.is_empty() => Value::Null,
        b'N' | b'F' if is_missing => Value::Null,
        b'N' | b'F' => {
            number(trimmed).ok_or_else(|| message!("`{name}` is not a number", name = name))?
        }
        b'L' => match trimmed {
            "T" | "t" | "Y" | "y" | "1" => Value::Bool(true),
            "F" | "f" | "N" | "n" | "0" => Value::Bool(false),
            _ => Value::Null,
        },
        b'D' => match trimmed.as_bytes() {
            b"00000000" => Value::Null,
            [y @ .., _, _, _, _]
                if y.len() == 4 && trimmed.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Value::String(format!("{}-{}-{}", &trimmed[..4], &trimmed[4..6], &trimmed[6..]))
            }
            _ if is_missing => Value::Null,
            _ => Value::String(trimmed.to_owned()),
        },
        _ => Value::String(text.to_owned()),
    })
}

/// A number. A whole number that neither an integer nor a floating-point number holds exactly stays text.
fn number(text: &str) -> Option<Value> {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some(match (whole.parse::<i64>(), text.parse::<f64>().ok()?) {
        (Ok(number), _) => Value::from(number),
        (Err(_), _) if is_whole && !value::is_exact_as_real(whole) => {
            Value::String(whole.to_owned())
        }
        (Err(_), number) => value::real(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_keep_their_digits() {
        for (text, value) in [
            ("-20", json!(-20)),
            ("2.50", json!(2.5)),
            ("3.000", json!(3)),
            ("9223372036854775807", json!(i64::MAX)),
            ("9007199254740993.000", json!(9_007_199_254_740_993_i64)),
            ("9223372036854775809", json!("9223372036854775809")),
            ("12345678901234567890.0", json!("12345678901234567890")),
            ("1.5e+300", json!(1.5e300)),
            (".0", json!(0)),
            ("***", Value::Null),
        ] {
            assert_eq!(parse(b'N', text, "n"), Ok(value), "{text}");
        }
        assert!(parse(b'N', ".", "n").is_err());
        assert!(parse(b'N', "12a.0", "n").is_err());
    }
}
