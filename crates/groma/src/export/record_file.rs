//! Writes rows of records in one of the formats.

use super::ExportError;
use crate::cli::RecordFormat;
use groma_files::{csv_cell, xlsx::SheetWriter};
use serde_json::{Map, Value};
use std::io::Write;

/// Writes rows in one of the formats.
pub(super) enum RecordFileWriter<W: Write> {
    Csv {
        writer: Box<csv::Writer<W>>,
        has_header: bool,
    },
    Json {
        writer: W,
        rows: u64,
    },
    Ndjson {
        writer: W,
    },
    /// The sheet is created with the first row, which has the names of the columns.
    Xlsx {
        writer: W,
        name: &'static str,
        sheet: Option<Box<SheetWriter>>,
    },
}

impl<W: Write> RecordFileWriter<W> {
    pub(super) fn new(format: RecordFormat, name: &'static str, writer: W) -> Self {
        match format {
            RecordFormat::Csv => {
                Self::Csv { writer: Box::new(csv::Writer::from_writer(writer)), has_header: false }
            }
            RecordFormat::Json => Self::Json { writer, rows: 0 },
            RecordFormat::Ndjson => Self::Ndjson { writer },
            RecordFormat::Xlsx => Self::Xlsx { writer, name, sheet: None },
        }
    }

    pub(super) fn write_row(&mut self, mut fields: Map<String, Value>) -> Result<(), ExportError> {
        match self {
            Self::Csv { writer, has_header } => {
                remove_ids(&mut fields);
                if !*has_header {
                    writer.write_record(fields.keys())?;
                    *has_header = true;
                }
                let cells = fields.iter().map(|(name, value)| csv_cell::escape(cell(name, value)));
                Ok(writer.write_record(cells)?)
            }
            Self::Json { writer, rows } => {
                write!(
                    writer,
                    "{}{}",
                    if *rows == 0 { "[\n" } else { ",\n" },
                    Value::Object(fields)
                )?;
                *rows += 1;
                Ok(())
            }
            Self::Ndjson { writer } => Ok(writeln!(writer, "{}", Value::Object(fields))?),
            Self::Xlsx { name, sheet, .. } => {
                remove_ids(&mut fields);
                let sheet = match sheet {
                    Some(sheet) => sheet,
                    None => {
                        let columns: Vec<_> = fields.keys().map(String::as_str).collect();
                        let new = SheetWriter::new(name, &columns)?;
                        sheet.insert(Box::new(new))
                    }
                };
                let cells: Vec<Value> =
                    fields.iter().map(|(name, value)| sheet_cell(name, value)).collect();
                Ok(sheet.write(&cells)?)
            }
        }
    }

    pub(super) fn finish(self) -> Result<(), ExportError> {
        match self {
            Self::Csv { mut writer, .. } => Ok(writer.flush()?),
            Self::Json { mut writer, rows } => {
                writeln!(writer, "{}", if rows == 0 { "[]" } else { "\n]" })?;
                Ok(writer.flush()?)
            }
            Self::Ndjson { mut writer } => Ok(writer.flush()?),
            Self::Xlsx { mut writer, name, sheet } => {
                let sheet = match sheet {
                    Some(sheet) => sheet,
                    None => Box::new(SheetWriter::new(name, &[])?),
                };
                sheet.finish(&mut writer)?;
                Ok(writer.flush()?)
            }
        }
    }
}

/// A table names linked records and statuses by their reference and name only.
fn remove_ids(fields: &mut Map<String, Value>) {
    for id in ["statusId", "folderId", "assignmentId", "budgetId"] {
        fields.shift_remove(id);
    }
}

/// A value as a cell of a workbook: numbers stay numbers.
fn sheet_cell(name: &str, value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        other => match cell(name, other) {
            text if text.is_empty() => Value::Null,
            text => Value::String(text),
        },
    }
}

/// A value as a table cell.
fn cell(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // A person is identified by email address.
        Value::Object(person) if name != "customFields" => {
            person.get("email").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Array(items) if name == "assignees" => {
            items.iter().map(|person| cell("person", person)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) if items.is_empty() => String::new(),
        other => other.to_string(),
    }
}
