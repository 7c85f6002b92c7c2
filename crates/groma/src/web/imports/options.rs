//! What a member chooses for an import.

use super::preview::Preview;
use crate::{
    cli::{ImportMode, RecordFileKind, RecordFormat},
    web::form::Pairs,
};
use clap::ValueEnum as _;
use groma_domain::LayerId;
use groma_files::{GeometryColumns, LayerFormat};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The options of an import, as its job keeps them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ImportOptions {
    pub(super) target: Target,
    /// The layer of the file, if it has several.
    pub(super) source_layer: Option<String>,
    /// The sheet of a workbook; `None` for the first one.
    pub(super) sheet: Option<String>,
    /// The columns of a CSV file that have the geometry; `None` for those that are recognized.
    pub(super) geometry: Option<GeometryColumns>,
    /// The reference system of the file, instead of the one that it names.
    pub(super) crs: Option<String>,
    /// Whether a new layer gets the reference system of the file.
    pub(super) keep_crs: bool,
    pub(super) mode: ImportMode,
    /// The field that identifies a feature.
    pub(super) id_field: Option<String>,
    /// The fields of the file that get another name, and those that are left out.
    pub(super) fields: Vec<(String, Option<String>)>,
    /// The key of the folder that features belong to.
    pub(super) folder: Option<String>,
    /// Whether valid rows are imported even if others are rejected.
    pub(super) keep_good: bool,
}

/// Where the content of a file goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Target {
    /// A kind of records, by its plural.
    Records(String),
    Layer(LayerId),
    /// The name of a new layer.
    NewLayer(String),
}

impl Target {
    /// The kind of records of this plural, such as `folders`.
    pub(super) fn record_kind(plural: &str) -> Option<RecordFileKind> {
        Some(match plural {
            "folders" => RecordFileKind::Folders,
            "assignments" => RecordFileKind::Assignments,
            "expenses" => RecordFileKind::Expenses,
            "budgets" => RecordFileKind::Budgets,
            _ => return None,
        })
    }

    /// Its value in the form.
    pub(super) fn value(&self) -> String {
        match self {
            Self::Records(plural) => plural.clone(),
            Self::Layer(id) => id.to_string(),
            Self::NewLayer(_) => "new".to_owned(),
        }
    }

    fn parse(value: &str, name: &str) -> Option<Self> {
        if Self::record_kind(value).is_some() {
            return Some(Self::Records(value.to_owned()));
        }
        match value {
            "new" => Some(Self::NewLayer(name.to_owned())),
            id => id.parse().ok().map(Self::Layer),
        }
    }
}

impl ImportOptions {
    /// The options of a file that was just received: `wanted` is where it was dropped.
    pub(super) fn of_file(path: &Path, name: &str, wanted: &Pairs) -> Self {
        let stem = layer_name(name);
        let is_layer = LayerFormat::of_path(path).is_some();
        let is_records = RecordFormat::of_path(path).is_some();
        let target = match Target::parse(wanted.get("into"), &stem) {
            Some(Target::Records(plural)) if is_records => Target::Records(plural),
            Some(Target::Records(_)) | None if is_layer => Target::NewLayer(stem),
            Some(Target::Layer(id)) if is_layer => Target::Layer(id),
            Some(Target::NewLayer(name)) if is_layer => Target::NewLayer(name),
            _ => Target::Records("folders".to_owned()),
        };
        Self {
            target,
            source_layer: None,
            sheet: None,
            geometry: None,
            crs: None,
            keep_crs: false,
            mode: ImportMode::default(),
            id_field: None,
            fields: Vec::new(),
            folder: wanted.given("folder").map(ToOwned::to_owned),
            keep_good: false,
        }
    }

    /// The options of a form. What it does not send, or what does not apply to the new target, has its default. Columns
    /// and fields that were recognized, and left as the preview shows them, are not chosen.
    pub(super) fn parse(form: &Pairs, file_name: &str, current: &Self, preview: &Preview) -> Self {
        let text = |name: &str| form.given(name).map(|text| text.trim().to_owned());
        let name = text("name").unwrap_or_else(|| layer_name(file_name));
        let target = Target::parse(form.get("into"), &name);
        let target = target.unwrap_or_else(|| current.target.clone());
        let is_new = matches!(target, Target::NewLayer(_));
        let is_same_kind = target.value() == current.target.value()
            || !matches!(
                (&target, &current.target),
                (Target::Records(_), _) | (_, Target::Records(_))
            );
        let sources = form.all("source_field").zip(form.all("field"));
        let field = |field: &str| Some(field.trim().to_owned()).filter(|field| !field.is_empty());
        let sources: Vec<_> =
            sources.map(|(source, name)| (source.to_owned(), field(name))).collect();
        let shown = preview.fields.iter().map(|field| (&field.name, &field.becomes));
        let are_as_shown = shown.eq(sources.iter().map(|(source, name)| (source, name)));
        Self {
            target,
            source_layer: text("source_layer"),
            sheet: Some(form.get("sheet").to_owned()).filter(|sheet| !sheet.is_empty()),
            geometry: geometry(form)
                .filter(|columns| Some(columns) != preview.recognized_geometry.as_ref()),
            crs: text("crs_code").or_else(|| text("crs")),
            keep_crs: form.has("keep_crs"),
            // A new layer has no features yet.
            mode: match is_new {
                true => ImportMode::default(),
                false => ImportMode::from_str(form.get("mode"), false).unwrap_or_default(),
            },
            id_field: text("id_field"),
            fields: match is_same_kind {
                true if are_as_shown => current.fields.clone(),
                true => {
                    let is_renamed =
                        |(source, name): &(String, Option<String>)| Some(source) != name.as_ref();
                    sources.into_iter().filter(is_renamed).collect()
                }
                false => Vec::new(),
            },
            folder: text("folder"),
            keep_good: form.has("keep_good"),
        }
    }
}

/// The name of a new layer for a file.
fn layer_name(file_name: &str) -> String {
    Path::new(file_name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The columns that a form names.
fn geometry(form: &Pairs) -> Option<GeometryColumns> {
    let column = |name: &str| form.given(name).map(ToOwned::to_owned);
    match column("wkt_column") {
        Some(text) => Some(GeometryColumns::Text(text)),
        None => Some(GeometryColumns::Position { x: column("x_column")?, y: column("y_column")? }),
    }
}
