//! Writes CSV with the geometry as WKT.

use crate::{
    FileError, csv_cell,
    error::Result,
    formats::wkt,
    output::{OutputLayer, Spool},
    source::ID_COLUMN,
    value,
};
use groma_geo::Message;
use std::io::Write;

/// Writes a layer as CSV.
pub(in crate::formats) fn write(
    layer: &OutputLayer,
    features: Spool,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    let schema = &layer.schema;
    let mut writer = csv::Writer::from_writer(out);
    let mut header = vec!["wkt".to_owned(), ID_COLUMN.to_owned()];
    let names = schema.names(&["wkt", ID_COLUMN], usize::MAX);
    header.extend(names.into_iter().map(csv_cell::escape));
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => FileError::Io(error),
        other => FileError::invalid(Message::untranslated(format!("{other:?}"))),
    };
    writer.write_record(header).map_err(failed)?;
    features.each(schema.count, |id, geometry, properties| {
        let geometry = geometry.as_ref().map(wkt::to_wkt).unwrap_or_default();
        let mut row = vec![geometry, csv_cell::escape(id.to_owned())];
        for column in &schema.columns {
            let cell = properties.get(&column.property).and_then(value::text).unwrap_or_default();
            row.push(csv_cell::escape(cell));
        }
        writer.write_record(row).map_err(failed)
    })?;
    writer.flush()?;
    Ok(Vec::new())
}
