//! The form in which a member chooses the options of an import.

use super::{
    extent_sketch::ExtentSketch,
    options::{ImportOptions, Target},
    preview::{CrsCandidate, FileField, FileLayer, Preview, PreviewProblem},
    record_fields::fields_of,
};
use crate::{
    cli::{ImportMode, RecordFormat},
    web::{WebError, fields::Choice, i18n::Localizer, records, request_context::MemberContext},
};
use clap::ValueEnum as _;
use groma_domain::{Kind, Permission};
use groma_files::{GeometryColumns, LayerFormat};
use groma_store::ImportJob;
use std::path::Path;

/// The form of the options.
pub(super) struct OptionsForm {
    pub(super) is_layer: bool,
    pub(super) is_new: bool,
    pub(super) name: String,
    /// An empty one is selected if the file cannot go where it was dropped.
    pub(super) targets: Vec<Choice>,
    pub(super) needs_target: bool,
    pub(super) layers: Vec<Choice>,
    pub(super) sheets: Vec<Choice>,
    /// The columns of a CSV file that can have the geometry.
    pub(super) geometry: Option<GeometryForm>,
    pub(super) crs: String,
    pub(super) crs_label: String,
    pub(super) keep_crs: bool,
    pub(super) modes: Vec<Choice>,
    pub(super) id_fields: Vec<Choice>,
    pub(super) folder: String,
    pub(super) keep_good: bool,
    pub(super) can_start: bool,
    /// Whether only rejected features or rows prevent the import.
    pub(super) is_blocked: bool,
    pub(super) fields: Vec<FieldRow>,
    pub(super) candidates: Vec<Candidate>,
}

/// Where the geometry of a row is.
pub(super) struct GeometryForm {
    pub(super) x: Vec<Choice>,
    pub(super) y: Vec<Choice>,
    pub(super) wkt: Vec<Choice>,
}

pub(super) struct FieldRow {
    pub(super) name: String,
    pub(super) samples: String,
    /// The property, or the field of records that is chosen from `choices`.
    pub(super) becomes: String,
    pub(super) choices: Vec<Choice>,
}

pub(super) struct Candidate {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) is_chosen: bool,
    pub(super) sketch: ExtentSketch,
}

impl OptionsForm {
    pub(super) async fn new(
        ctx: &MemberContext,
        job: &ImportJob,
        options: &ImportOptions,
        preview: &Preview,
    ) -> Result<Self, WebError> {
        let t = ctx.t();
        let name = Path::new(&job.file_name);
        let (is_layer_file, is_record_file) =
            (LayerFormat::of_path(name).is_some(), RecordFormat::of_path(name).is_some());
        let is_possible = |target: &Target| match target {
            Target::Records(_) => is_record_file,
            Target::Layer(_) | Target::NewLayer(_) => is_layer_file,
        };
        let is_layer = !matches!(options.target, Target::Records(_));
        let kind = match &options.target {
            Target::Records(plural) => Some(records::list::parse_plural(plural)?),
            Target::Layer(_) | Target::NewLayer(_) => None,
        };
        let mode = |mode: &ImportMode| {
            let label = match mode {
                ImportMode::AddAndUpdate => t.msg("import-mode-add-and-update"),
                ImportMode::Replace => t.msg("import-mode-replace"),
                ImportMode::AddOnly => t.msg("import-mode-add-only"),
            };
            let value = mode.to_possible_value().map(|value| value.get_name().to_owned());
            Choice::new(value.unwrap_or_default(), label, options.mode == *mode)
        };
        let chosen_id = options.id_field.as_deref().unwrap_or_default();
        let is_new = matches!(options.target, Target::NewLayer(_));
        let own_id = if is_new { t.msg("import-id-of-file") } else { t.msg("import-id-own") };
        let own_id = Choice::new("", own_id, chosen_id.is_empty());
        let names = preview.key.iter().chain(preview.fields.iter().map(|field| &field.name));
        let id_field = |name: &String| Choice::new(name.as_str(), name.as_str(), name == chosen_id);
        let crs = options.crs.clone().unwrap_or_default();
        let layer = |layer: &FileLayer| {
            let label = match layer.count {
                Some(count) => {
                    format!("{} ({})", layer.name, t.msg("import-features").arg("count", count))
                }
                None => layer.name.clone(),
            };
            let is_selected = options.source_layer.as_ref() == Some(&layer.name);
            Choice::new(layer.name.as_str(), label, is_selected)
        };
        let mut targets = targets(ctx, &options.target.value(), is_possible).await?;
        let needs_target = !targets.iter().any(|target| target.is_selected);
        if needs_target {
            targets.insert(0, Choice::new("", t.msg("import-choose"), true));
        }
        let candidates = match &preview.problem {
            Some(PreviewProblem::ChooseCrs { candidates, .. }) => candidates.as_slice(),
            _ => &[],
        };
        Ok(Self {
            is_layer,
            is_new,
            name: match &options.target {
                Target::NewLayer(name) => name.clone(),
                _ => String::new(),
            },
            targets,
            needs_target,
            layers: preview.layers.iter().map(layer).collect(),
            sheets: sheet_choices(options, preview),
            geometry: GeometryForm::new(t, options, preview),
            crs_label: preview.crs_label(),
            candidates: candidates.iter().map(|one| candidate(t, one, &crs)).collect(),
            crs,
            keep_crs: options.keep_crs,
            modes: ImportMode::value_variants().iter().map(mode).collect(),
            id_fields: [own_id].into_iter().chain(names.map(id_field)).collect(),
            folder: options.folder.clone().unwrap_or_default(),
            keep_good: options.keep_good,
            can_start: !needs_target && preview.can_start(options.keep_good),
            is_blocked: !preview.can_start(options.keep_good) && preview.can_start(true),
            fields: preview.fields.iter().map(|field| field_row(t, kind, field)).collect(),
        })
    }
}

/// Where a file can go: kinds of records, layers, and a new layer.
pub(super) async fn targets(
    ctx: &MemberContext,
    chosen: &str,
    is_possible: impl Fn(&Target) -> bool,
) -> Result<Vec<Choice>, WebError> {
    let t = ctx.t();
    let mut all = Vec::new();
    if ctx.can(Permission::Administer) {
        all.push((Target::NewLayer(String::new()), t.msg("import-into-new-layer").to_string()));
    }
    for layer in ctx.store().all_layers(ctx.workspace_id()).await? {
        if !layer.is_locked {
            let label = t.msg("import-into-layer").arg("name", &layer.name);
            all.push((Target::Layer(layer.id), label.into()));
        }
    }
    for kind in Kind::ALL {
        all.push((Target::Records(kind.plural().to_owned()), t.kind_title(kind)));
    }
    let possible = all.into_iter().filter(|(target, _)| is_possible(target));
    Ok(possible
        .map(|(target, label)| {
            let value = target.value();
            let is_selected = value == chosen;
            Choice::new(value, label, is_selected)
        })
        .collect())
}

/// The sheets of a workbook. The first one is the default.
fn sheet_choices(options: &ImportOptions, preview: &Preview) -> Vec<Choice> {
    let choice = |(index, name): (usize, &String)| {
        let value = if index == 0 { "" } else { name.as_str() };
        Choice::new(value, name.as_str(), options.sheet.as_deref().unwrap_or_default() == value)
    };
    preview.sheets.iter().enumerate().map(choice).collect()
}

impl GeometryForm {
    /// `None` if the file has no columns to choose from.
    fn new(t: Localizer, options: &ImportOptions, preview: &Preview) -> Option<Self> {
        let is_layer = !matches!(options.target, Target::Records(_));
        if preview.columns.is_empty() || !is_layer {
            return None;
        }
        let (x, y, wkt) = match options.geometry.as_ref().or(preview.recognized_geometry.as_ref()) {
            Some(GeometryColumns::Position { x, y }) => (x.as_str(), y.as_str(), ""),
            Some(GeometryColumns::Text(text)) => ("", "", text.as_str()),
            None => ("", "", ""),
        };
        let choices = |chosen: &str| {
            let none = Choice::new("", t.msg("import-column-none"), chosen.is_empty());
            let column = |name: &String| Choice::new(name.as_str(), name.as_str(), name == chosen);
            // A column without a name cannot be chosen.
            let columns = preview.columns.iter().filter(|name| !name.is_empty());
            [none].into_iter().chain(columns.map(column)).collect()
        };
        Some(Self { x: choices(x), y: choices(y), wkt: choices(wkt) })
    }
}

fn field_row(t: Localizer, kind: Option<Kind>, field: &FileField) -> FieldRow {
    let becomes = field.becomes.clone().unwrap_or_default();
    let choices = match kind {
        None => Vec::new(),
        Some(kind) => {
            let left_out = Choice::new("", t.msg("import-field-left-out"), becomes.is_empty());
            // A field that imports ignore, such as a time, stays what it is.
            let known = fields_of(kind).contains(&becomes.as_str()) || becomes.is_empty();
            let ignored = (!known).then(|| Choice::new(becomes.as_str(), becomes.as_str(), true));
            let known = fields_of(kind)
                .iter()
                .map(|name| Choice::new(*name, t.field_name(name), *name == becomes));
            [left_out].into_iter().chain(ignored).chain(known).collect()
        }
    };
    FieldRow { name: field.name.clone(), samples: field.samples.join(" · "), becomes, choices }
}

fn candidate(t: Localizer, candidate: &CrsCandidate, chosen: &str) -> Candidate {
    Candidate {
        code: candidate.code.clone(),
        name: candidate.name.clone(),
        is_chosen: candidate.code == chosen,
        sketch: ExtentSketch::new(t, candidate.bounds),
    }
}
