//! What the check of a file found, as its job keeps it.

use groma_files::GeometryColumns;
use groma_store::ImportJob;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How many rejected rows or features a page shows; the download has all.
pub(super) const LISTED_REJECTIONS: usize = 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Preview {
    /// Why the file cannot be imported with these options.
    pub(super) problem: Option<PreviewProblem>,
    /// The layers of the file, if it has several.
    pub(super) layers: Vec<FileLayer>,
    /// The sheets of a workbook, if it has several.
    pub(super) sheets: Vec<String>,
    /// The columns of a CSV file for a layer.
    pub(super) columns: Vec<String>,
    /// Those of them that are recognized as the geometry.
    pub(super) recognized_geometry: Option<GeometryColumns>,
    pub(super) fields: Vec<FileField>,
    /// The fields that features can be recognised by, besides those.
    pub(super) key: Option<String>,
    /// The reference system that was used, and its name.
    pub(super) crs: Option<(String, String)>,
    /// Where the features are, in WGS 84.
    pub(super) bounds: Option<[f64; 4]>,
    /// The number of rows or features.
    pub(super) total: u64,
    pub(super) created: u64,
    pub(super) updated: u64,
    pub(super) unchanged: u64,
    pub(super) deleted: u64,
    pub(super) rejected_count: u64,
    /// The first rejected rows or features.
    pub(super) rejected: Vec<Finding>,
    pub(super) notice_count: u64,
    /// The first features that look wrong.
    pub(super) notices: Vec<Finding>,
    /// The number of problems of each kind that the check of a layer finds.
    pub(super) quality: Vec<(String, u64)>,
    /// The first of each kind.
    pub(super) quality_problems: Vec<QualityProblem>,
    /// Whether there are too many features for that check.
    pub(super) is_quality_unknown: bool,
    /// Whether that check did not look for overlaps and gaps everywhere.
    pub(super) is_quality_partial: bool,
    /// Whether the file was read to the end.
    pub(super) is_complete: bool,
}

/// What must be chosen, or cannot be helped.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum PreviewProblem {
    /// The file has several layers.
    ChooseLayer,
    /// No column of a CSV file is recognized as a geometry.
    ChooseGeometry,
    /// The file names no reference system, or one that is not supported, with the reason. The extent of each
    /// candidate is in WGS 84.
    ChooseCrs { reason: Option<String>, candidates: Vec<CrsCandidate> },
    /// Columns that must get the name of a field, or be left out.
    ChooseColumns(Vec<String>),
    /// Several fields get this name.
    RepeatedField(String),
    /// The file cannot be read with these options, or not be imported there.
    Unusable(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CrsCandidate {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) bounds: [f64; 4],
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileLayer {
    pub(super) name: String,
    pub(super) count: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileField {
    pub(super) name: String,
    /// The field or property that it becomes; `None` if it is left out.
    pub(super) becomes: Option<String>,
    /// The first different values.
    pub(super) samples: Vec<String>,
}

/// A problem that the check of a layer finds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QualityProblem {
    pub(super) kind: String,
    /// The numbers of the features.
    pub(super) features: Vec<u64>,
    /// Longitude and latitude.
    pub(super) position: Option<[f64; 2]>,
}

/// Something about a row or feature.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Finding {
    /// The number of the feature.
    pub(super) feature: Option<u64>,
    /// The line of the row or feature, in a file of text.
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

impl Preview {
    /// What the last check of a job found.
    pub(super) fn of_job(job: &ImportJob) -> Option<Self> {
        serde_json::from_str(job.preview.as_deref()?).ok()
    }

    /// A name that several fields get.
    pub(super) fn repeated_field(&self) -> Option<&String> {
        let mut names = HashSet::new();
        self.fields
            .iter()
            .filter_map(|field| field.becomes.as_ref())
            .find(|name| !names.insert(*name))
    }

    /// The reference system that was used, for people.
    pub(super) fn crs_label(&self) -> String {
        match &self.crs {
            Some((code, name)) if code == name => code.clone(),
            Some((code, name)) => format!("{code} · {name}"),
            None => String::new(),
        }
    }

    /// Whether the import can start.
    pub(super) fn can_start(&self, keep_good: bool) -> bool {
        let is_valid = self.rejected_count == 0 || (keep_good && self.rejected_count < self.total);
        self.problem.is_none() && self.is_complete && self.total > 0 && is_valid
    }
}

/// Collects fields and their first values.
#[derive(Default)]
pub(super) struct Samples(Vec<FileField>);

/// The most fields that are shown. The rows of some formats can all have different ones.
const MAX_FIELDS: usize = 1_000;
/// How many values of a field are shown, and their length.
const VALUES: usize = 3;
const MAX_VALUE: usize = 60;

impl Samples {
    /// Adds a field, or finds it; `None` if there are too many.
    pub(super) fn add_field(&mut self, name: &str) -> Option<&mut FileField> {
        let found = self.0.iter().position(|field| field.name == name);
        let index = found.unwrap_or(self.0.len());
        if index == self.0.len() && index < MAX_FIELDS {
            self.0.push(FileField {
                name: name.to_owned(),
                becomes: Some(name.to_owned()),
                samples: Vec::new(),
            });
        }
        self.0.get_mut(index)
    }

    pub(super) fn add(&mut self, values: &serde_json::Map<String, serde_json::Value>) {
        for (name, value) in values {
            let Some(field) = self.add_field(name) else { continue };
            let text = match value {
                serde_json::Value::Null => continue,
                serde_json::Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let mut short: String = text.chars().take(MAX_VALUE).collect();
            if short.len() < text.len() {
                short.push('…');
            }
            if field.samples.len() < VALUES && !short.is_empty() && !field.samples.contains(&short)
            {
                field.samples.push(short);
            }
        }
    }

    pub(super) fn into_fields(self) -> Vec<FileField> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_differ_from_row_to_row_are_limited() {
        let mut samples = Samples::default();
        for row in 0..200 {
            let values = (0..1_000).map(|n| (format!("field {row} {n}"), n.into()));
            samples.add(&values.collect());
        }
        samples.add(&[("field 0 7".to_owned(), "again".into())].into_iter().collect());
        let fields = samples.into_fields();
        assert_eq!(fields.len(), MAX_FIELDS);
        assert_eq!(fields[7].samples, ["7", "again"]);
    }
}
