//! The download of all rows or features that an import rejects.

use super::preview::Finding;
use crate::web::i18n::Localizer;
use groma_files::csv_cell;

/// A CSV file.
pub(super) struct RejectedFile {
    file: csv::Writer<Vec<u8>>,
    columns: Columns,
}

/// How rows or features are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    Line,
    FeatureAndLine,
}

impl RejectedFile {
    pub(super) fn new(t: Localizer, columns: Columns) -> Self {
        let mut file = Self { file: csv::Writer::from_writer(Vec::new()), columns };
        let [feature, line, reason] = [
            t.msg("import-rejected-feature"),
            t.msg("import-rejected-line"),
            t.msg("import-rejected-reason"),
        ];
        file.write([&feature.to_string(), &line.to_string(), &reason.to_string()]);
        file
    }

    pub(super) fn add(&mut self, finding: &Finding) {
        let text = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
        let reason = csv_cell::escape(finding.message.clone());
        self.write([&text(finding.feature), &text(finding.line), &reason]);
    }

    fn write(&mut self, cells: [&str; 3]) {
        let first = if self.columns == Columns::FeatureAndLine { 0 } else { 1 };
        // Writing to a vector cannot fail.
        let _ = self.file.write_record(&cells[first..]);
    }

    /// The file; empty if nothing was rejected.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.file.into_inner().unwrap_or_default()
    }
}
