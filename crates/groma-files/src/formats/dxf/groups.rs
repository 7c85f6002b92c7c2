//! The pairs of lines that a DXF file consists of: a code, and a value.

use crate::{FileError, error::Result};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use groma_geo::message;
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

/// The longest line.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// A code and its value.
pub(super) struct Group {
    pub(super) code: i32,
    pub(super) value: String,
}

impl Group {
    pub(super) fn is(&self, code: i32, value: &str) -> bool {
        self.code == code && self.value.trim() == value
    }

    pub(super) fn number(&self) -> Option<f64> {
        self.value.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// Reads the pairs of a file.
pub(super) struct Groups {
    file: BufReader<File>,
    line: u64,
    encoding: &'static Encoding,
}

impl Groups {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        if file.fill_buf()?.starts_with(b"AutoCAD Binary DXF") {
            return Err(FileError::invalid(message!(
                "binary DXF is not supported; save the drawing as DXF in text form (ASCII)"
            )));
        }
        if file.fill_buf()?.starts_with(b"\xEF\xBB\xBF") {
            file.consume(3);
        }
        Ok(Self { file, line: 0, encoding: UTF_8 })
    }

    /// Sets the code page that the header names.
    pub(super) fn set_code_page(&mut self, name: &str) {
        let label = name.to_ascii_lowercase().replace("ansi_", "windows-");
        self.encoding = Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252);
    }

    /// The next pair; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Group>> {
        let Some(code) = self.read_line()? else { return Ok(None) };
        let invalid =
            |line: u64| FileError::invalid(message!("line {line} is not valid DXF", line = line));
        let code = match code.trim() {
            "" => {
                return if self.read_line()?.is_none() {
                    Ok(None)
                } else {
                    Err(invalid(self.line))
                };
            }
            code => code.parse().map_err(|_| invalid(self.line))?,
        };
        let value = self
            .read_line()?
            .ok_or_else(|| FileError::invalid(message!("the file is truncated")))?;
        Ok(Some(Group { code, value }))
    }

    fn read_line(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let mut limited = Read::by_ref(&mut self.file).take(MAX_LINE_BYTES);
        if limited.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        if bytes.len() as u64 == MAX_LINE_BYTES {
            return Err(FileError::invalid(message!("line {line} is too long", line = self.line)));
        }
        while bytes.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
        // Programs also write the code page of their system without naming it.
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if self.encoding == UTF_8 => {
                WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned()
            }
            Err(_) => self.encoding.decode_without_bom_handling(&bytes).0.into_owned(),
        };
        Ok(Some(text))
    }
}

/// Text with the escapes `\U+00E9` as characters.
pub(super) fn unescape(text: &str) -> String {
    let mut parts = text.split("\\U+");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let letter = part.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match letter.and_then(char::from_u32) {
            Some(letter) => {
                result.push(letter);
                result.push_str(&part[4..]);
            }
            None => {
                result.push_str("\\U+");
                result.push_str(part);
            }
        }
    }
    result
}

/// The codes of symbols, which GDAL reads as the same characters.
const SYMBOLS: [(&str, &str); 6] =
    [("%%d", "°"), ("%%D", "°"), ("%%p", "±"), ("%%P", "±"), ("%%c", "⌀"), ("%%C", "⌀")];

/// Text with the codes of symbols as symbols.
pub(super) fn with_symbols(text: String) -> String {
    SYMBOLS.iter().fold(text, |text, &(code, symbol)| match text.contains("%%") {
        true => text.replace(code, symbol),
        false => text,
    })
}

/// Text with characters beyond ASCII as escapes, and without line breaks.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            ' '..='~' => escaped.push(letter),
            letter if letter.is_control() => escaped.push(' '),
            letter => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\U+{unit:04X}"));
                }
            }
        }
    }
    escaped
}
