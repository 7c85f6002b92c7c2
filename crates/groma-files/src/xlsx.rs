//! Excel workbooks (XLSX) as tables: the first row has the names of the columns. Formulas count by the result that
//! the file keeps; without one, the row is rejected. Links to other files are never followed.

mod check;

use crate::{
    FileError, FormatLimit,
    csv_rows::MAX_COLUMNS,
    error::Result,
    format_limits::{MAX_ROWS, MAX_TEXT},
};
use calamine::{Data, DataRef, Reader, SheetType, Xlsx};
use groma_geo::{Message, message};
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet, utility::row_col_to_cell};
use serde_json::Value;
use std::{
    fs::File,
    io::{BufReader, Write},
};

/// The most bytes of a row. Many cells can have the same long text.
const MAX_ROW_BYTES: usize = 1 << 20;

/// A row: the cells as text, `None` where they are empty; or why it cannot be read.
pub type SheetRow = std::result::Result<Vec<Option<String>>, Message>;

/// The names of the sheets with cells.
pub fn sheet_names(file: &File) -> Result<Vec<String>> {
    open(file).map(|(_, names)| names)
}

fn open(file: &File) -> Result<(Xlsx<BufReader<File>>, Vec<String>)> {
    check::check_parts(file.try_clone()?)?;
    let workbook: Xlsx<_> = Xlsx::new(BufReader::new(file.try_clone()?)).map_err(invalid)?;
    let sheets = workbook.sheets_metadata().iter();
    let sheets = sheets.filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let names = sheets.map(|sheet| sheet.name.clone()).collect();
    Ok((workbook, names))
}

/// Passes on the rows of a sheet, by default the first one, with their numbers, from 1, until `on_row` returns
/// false. Empty rows are left out.
pub fn read(
    file: &File,
    sheet: Option<&str>,
    mut on_row: impl FnMut(u64, SheetRow) -> bool,
) -> Result<()> {
    let (mut workbook, names) = open(file)?;
    let name = match sheet {
        None => names
            .first()
            .ok_or_else(|| FileError::invalid(message!("the workbook has no sheet")))?,
        Some(sheet) => names.iter().find(|name| *name == sheet).ok_or_else(|| {
            let names = names.join(", ");
            FileError::invalid(message!(
                "sheet `{sheet}` is not in the workbook; it has {names}",
                sheet = sheet,
                names = names
            ))
        })?,
    };
    let mut cells = workbook.worksheet_cells_reader(name).map_err(invalid)?;
    let mut current: Option<(u32, SheetRow)> = None;
    let mut row_bytes = 0;
    while let Some(cell) = cells.next_cell_with_formula_metadata().map_err(invalid)? {
        let row = cell.pos.0;
        let column = cell.pos.1 as usize;
        let text = match (&cell.value, &cell.formula) {
            (DataRef::Empty, Some(_)) => Err(no_result(row, column)),
            (value, _) => text(value),
        };
        if matches!(text, Ok(None)) {
            continue;
        }
        if column >= MAX_COLUMNS {
            return Err(FileError::invalid(message!(
                "row {number} has more than {limit} cells",
                number = row + 1,
                limit = MAX_COLUMNS
            )));
        }
        match &mut current {
            Some((number, _)) if *number == row => {}
            _ => {
                row_bytes = 0;
                if let Some((number, values)) = current.replace((row, Ok(Vec::new())))
                    && !on_row(u64::from(number) + 1, values)
                {
                    return Ok(());
                }
            }
        }
        if let Ok(Some(text)) = &text {
            row_bytes += text.len();
        }
        if row_bytes > MAX_ROW_BYTES {
            return Err(FileError::invalid(message!(
                "row {number} has more than {limit} MiB",
                number = row + 1,
                limit = MAX_ROW_BYTES >> 20
            )));
        }
        if let Some((_, values)) = &mut current {
            set(values, column, text);
        }
    }
    if let Some((number, values)) = current {
        on_row(u64::from(number) + 1, values);
    }
    Ok(())
}

fn set(row: &mut SheetRow, column: usize, text: std::result::Result<Option<String>, Message>) {
    match (row.as_mut(), text) {
        (Ok(cells), Ok(text)) => {
            if cells.len() <= column {
                cells.resize(column + 1, None);
            }
            cells[column] = text;
        }
        (Ok(_), Err(message)) => *row = Err(message),
        (Err(_), _) => {}
    }
}

fn unreadable(problem: Message) -> FileError {
    FileError::invalid(message!("the workbook cannot be read: {problem}", problem = problem))
}

fn invalid(error: impl std::fmt::Display) -> FileError {
    unreadable(Message::untranslated(error))
}

/// Programs that write formulas without calculating them leave out the result. An empty text as a result is a value.
fn no_result(row: u32, column: usize) -> Message {
    let column = u16::try_from(column.min(MAX_COLUMNS)).unwrap_or_default();
    message!(
        "cell {cell} has a formula without a result; open the file in a spreadsheet program and \
         save it",
        cell = row_col_to_cell(row, column)
    )
}

/// A cell as text, as it would be in a CSV file.
fn text(cell: &DataRef<'_>) -> std::result::Result<Option<String>, Message> {
    Ok(Some(match cell {
        DataRef::Empty => return Ok(None),
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(value) => value.to_string(),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::Error(error) => {
            return Err(message!(
                "a cell contains the error {error}",
                error = Data::Error(error.clone()).to_string()
            ));
        }
        DataRef::DateTime(value) if value.is_duration() => value.as_f64().to_string(),
        DataRef::DateTime(value) => {
            let (year, month, day, hour, minute, second, milli) = value.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            match (hour, minute, second, milli) {
                (0, 0, 0, 0) => date,
                (_, _, _, 0) => format!("{date}T{hour:02}:{minute:02}:{second:02}Z"),
                _ => format!("{date}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"),
            }
        }
    })
    .filter(|text: &String| !text.is_empty()))
}

/// Writes a workbook with one sheet, row by row.
pub struct SheetWriter {
    workbook: Workbook,
    rows: u32,
    date_format: Format,
}

impl SheetWriter {
    /// A sheet with this name and these columns.
    pub fn new(name: &str, columns: &[&str]) -> Result<Self> {
        let mut workbook = Workbook::new();
        let sheet = workbook.add_worksheet_with_constant_memory().map_err(not_written)?;
        sheet.set_name(name).map_err(not_written)?;
        sheet.set_freeze_panes(1, 0).map_err(not_written)?;
        let bold = Format::new().set_bold();
        for (index, column) in (0..).zip(columns) {
            sheet.write_with_format(0, index, *column, &bold).map_err(not_written)?;
        }
        Ok(Self { workbook, rows: 1, date_format: Format::new().set_num_format("yyyy-mm-dd") })
    }

    /// Adds a row. Numbers and dates become cells that Excel calculates with.
    pub fn write(&mut self, cells: &[Value]) -> Result<()> {
        let Self { workbook, rows, date_format } = self;
        if *rows == MAX_ROWS {
            return Err(FormatLimit::SheetRows.into());
        }
        let sheet = workbook.worksheet_from_index(0).map_err(not_written)?;
        for (column, cell) in (0..).zip(cells) {
            write_cell(sheet, *rows, column, cell, date_format)?;
        }
        *rows += 1;
        Ok(())
    }

    /// Writes the file.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<()> {
        let mut file = tempfile::tempfile()?;
        self.workbook.save_to_writer(&mut file).map_err(not_written)?;
        std::io::Seek::rewind(&mut file)?;
        std::io::copy(&mut file, out)?;
        Ok(())
    }
}

fn write_cell(
    sheet: &mut Worksheet,
    row: u32,
    column: u16,
    cell: &Value,
    date_format: &Format,
) -> Result<()> {
    let written = match cell {
        Value::Null => return Ok(()),
        Value::Bool(value) => sheet.write_boolean(row, column, *value),
        // Excel has 15 digits.
        Value::Number(number) if is_exact(&number.to_string()) => {
            sheet.write_number(row, column, number.as_f64().unwrap_or_default())
        }
        Value::String(text) => match date(text) {
            Some(date) => sheet.write_datetime_with_format(row, column, &date, date_format),
            None if text.chars().count() > MAX_TEXT => {
                return Err(FormatLimit::SheetText { row: row + 1 }.into());
            }
            None => sheet.write_string(row, column, text),
        },
        other => sheet.write_string(row, column, other.to_string()),
    };
    written.map(|_| ()).map_err(not_written)
}

/// Whether a number has so few digits that Excel keeps all of them.
fn is_exact(number: &str) -> bool {
    number.bytes().filter(u8::is_ascii_digit).count() <= 15 && !number.contains(['e', 'E'])
}

/// A date such as 2026-01-31. Excel counts the days before March 1900 wrongly.
fn date(text: &str) -> Option<ExcelDateTime> {
    let [y @ .., b'-', _, _, b'-', _, _] = text.as_bytes() else { return None };
    if y.len() != 4 || y < b"1901".as_slice() {
        return None;
    }
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let (month, day) = (number(&text[5..7])?, number(&text[8..])?);
    ExcelDateTime::from_ymd(number(&text[..4])?, u8::try_from(month).ok()?, u8::try_from(day).ok()?)
        .ok()
}

fn not_written(error: impl std::fmt::Display) -> FileError {
    FileError::invalid(Message::untranslated(format!("the workbook cannot be written: {error}")))
}
