//! Checks and imports files of features.

use super::{
    check_error::CheckError,
    crs_candidates::candidates,
    inspection::Inspection,
    options::{ImportOptions, Target},
    preview::{
        FileField, FileLayer, Finding, LISTED_REJECTIONS, Preview, PreviewProblem, QualityProblem,
        Samples,
    },
    progress::JobProgress,
    received_file::ReceivedFile,
    rejected_file::{Columns, RejectedFile},
};
use crate::{
    cli::RecordFormat,
    clock,
    import::{
        CheckedFile, FeatureError, ImportError, LayerImport, LayerTarget, MAX_ERRORS, Progress,
        RejectedFeature, run_blocking, shortened,
    },
    web::{error::Text, i18n::Localizer},
};
use groma_domain::{
    ImportJobId, Layer, LayerId,
    layer::{LayerCrs, LayerKey},
};
use groma_files::{
    FileError, GeometryColumns, LayerFile, LayerFormat, OpenOptions, SourceCrs, SourceLayer,
};
use groma_geo::{
    Bbox, Crs, Message, ProblemKind, geojson::DocumentError, layer_check::LayerReport, message,
};
use std::{path::Path, sync::Arc};

/// How many features are read for the samples of fields.
const SAMPLED_FEATURES: usize = 200;

/// Checks a file of features and describes it. Returns the file of those that were rejected.
pub(super) async fn check_features(
    received: &ReceivedFile,
    options: &ImportOptions,
    progress: &Arc<JobProgress>,
    preview: &mut Preview,
) -> Result<Vec<u8>, CheckError> {
    let format = format(received)?;
    let path = received.path.clone();
    let columns = run_blocking(move || LayerFile::columns(&path, format)).await?;
    // A header that cannot be read is no header of records, either.
    preview.columns = columns.map_err(|error| CheckError::of_file(error, false))?;
    preview.recognized_geometry = GeometryColumns::recognize(&preview.columns);
    let has_geometry = options.geometry.is_some() || preview.recognized_geometry.is_some();
    if !preview.columns.is_empty() && !has_geometry {
        preview.problem = Some(PreviewProblem::ChooseGeometry);
        return Ok(Vec::new());
    }
    let can_be_records = RecordFormat::of_path(&received.path).is_some();
    let layers = layers(received, format, options).await;
    let layers = layers.map_err(|error| CheckError::of_file(error, can_be_records))?;
    let has_choice = can_be_records || layers.len() > 1 || options.crs.is_some();
    let chosen = chosen_layer(&layers, options);
    if layers.len() > 1 {
        let file_layer = |layer: &SourceLayer| FileLayer {
            name: layer.name.clone(),
            count: layer.feature_count,
        };
        preview.layers = layers.iter().map(file_layer).collect();
    }
    preview.key = chosen.and_then(|layer| layer.key.clone());
    if chosen.is_none() && !layers.is_empty() {
        preview.problem = Some(PreviewProblem::ChooseLayer);
        return Ok(Vec::new());
    }
    if let Some(layer) = chosen
        && options.crs.is_none()
        && !matches!(layer.crs, SourceCrs::Known(_))
    {
        let problem = choose_crs(received, options, format, layer, progress).await;
        preview.problem = Some(problem.map_err(|error| CheckError::of_file(error, has_choice))?);
        return Ok(Vec::new());
    }
    let file_options = open_options(options, chosen)?;
    let path = received.path.clone();
    let sampled = OpenOptions { fields: Vec::new(), ..file_options.clone() };
    let file_for_samples = run_blocking(move || LayerFile::open(&path, format, sampled)).await??;
    preview.fields = samples(file_for_samples, options).await?;
    let import = layer_import(received, options, progress, None).await?;
    import.check_target().await?;
    let path = received.path.clone();
    let file = run_blocking(move || LayerFile::open(&path, format, file_options)).await??;
    let inspection = Inspection::default();
    let checked = import.check(file, || inspection.begin()).await?;
    if let Some(error) = checked.fatal_error()
        && !error.suggests_other_crs
        && !has_choice
    {
        return Err(CheckError::Unreadable(ImportError::File(reason(&checked, error))));
    }
    let mut rejected = RejectedFile::new(received.t, Columns::FeatureAndLine);
    describe(received.t, &checked, preview, &mut rejected);
    preview.bounds = inspection.bounds();
    let watched = progress.clone();
    let report = run_blocking(move || inspection.report(&watched)).await?;
    if progress.is_cancelled() {
        return Err(ImportError::Cancelled.into());
    }
    match report {
        Some(report) => describe_quality(&report, preview),
        None => preview.is_quality_unknown = preview.bounds.is_some(),
    }
    if checked.is_complete {
        let counts = import.expect(&checked).await?;
        (preview.created, preview.updated) = (counts.created, counts.updated);
        (preview.unchanged, preview.deleted) = (counts.unchanged, counts.deleted);
    }
    Ok(rejected.into_bytes())
}

/// Why the rest of a file cannot be read.
fn reason(checked: &CheckedFile, error: &DocumentError) -> Message {
    let reason = error.message.clone();
    match checked.file.layer() {
        None => message!("line {line}: {reason}", line = error.line, reason = reason),
        Some(_) => reason,
    }
}

/// Imports a checked file.
pub(super) async fn import_features(
    received: &ReceivedFile,
    options: &ImportOptions,
    progress: &Arc<JobProgress>,
) -> Result<(), ImportError> {
    let format = format(received)?;
    let layers = layers(received, format, options).await?;
    let file_options = open_options(options, chosen_layer(&layers, options))?;
    let import = layer_import(received, options, progress, Some(received.job)).await?;
    import.check_target().await?;
    let path = received.path.clone();
    let file = run_blocking(move || LayerFile::open(&path, format, file_options)).await??;
    let checked = import.check(file, || |_: &_| ()).await?;
    if !checked.can_be_imported(options.keep_good) {
        return Err(ImportError::FileChanged);
    }
    import.write(&checked).await.map(drop)
}

fn format(received: &ReceivedFile) -> Result<LayerFormat, ImportError> {
    let format = LayerFormat::of_path(&received.path);
    format.ok_or_else(|| ImportError::File(LayerFormat::unknown(Path::new(&received.name), false)))
}

async fn layers(
    received: &ReceivedFile,
    format: LayerFormat,
    options: &ImportOptions,
) -> Result<Vec<SourceLayer>, ImportError> {
    let (path, geometry) = (received.path.clone(), options.geometry.clone());
    Ok(run_blocking(move || LayerFile::list_layers(&path, format, geometry.as_ref())).await??)
}

/// The layer of the file that is imported; `None` if somebody must choose it, or if it is GeoJSON.
fn chosen_layer<'l>(layers: &'l [SourceLayer], options: &ImportOptions) -> Option<&'l SourceLayer> {
    let named = options.source_layer.as_deref();
    let named = named.and_then(|name| layers.iter().find(|layer| layer.name == name));
    named.or(match layers {
        [only] => Some(only),
        _ => None,
    })
}

fn open_options(
    options: &ImportOptions,
    layer: Option<&SourceLayer>,
) -> Result<OpenOptions, ImportError> {
    let crs = options.crs.as_deref().map(Crs::parse).transpose();
    Ok(OpenOptions {
        crs: crs.map_err(|error| ImportError::File(error.message()))?,
        layer: layer.map(|layer| layer.name.clone()),
        geometry: options.geometry.clone(),
        id_field: options.id_field.clone(),
        fields: options.fields.clone(),
        max_errors: MAX_ERRORS,
    })
}

/// What a file says that names no reference system, or one that is not supported.
async fn choose_crs(
    received: &ReceivedFile,
    options: &ImportOptions,
    format: LayerFormat,
    layer: &SourceLayer,
    progress: &Arc<JobProgress>,
) -> Result<PreviewProblem, ImportError> {
    let all = received.store.all_layers(received.workspace).await?;
    let near = all.iter().filter_map(|layer| layer.bounds).reduce(Bbox::union);
    let offered = received.store.offered_crs(received.workspace).await?;
    let own = all.iter().filter_map(|layer| layer.crs.code());
    let codes = own.chain(offered.iter());
    let mut used: Vec<Crs> =
        codes.filter_map(|code| Crs::parse(&format!("EPSG:{code}")).ok()).collect();
    used.push(Crs::WGS84);
    let (path, name) = (received.path.clone(), layer.name.clone());
    let (geometry, progress) = (options.geometry.clone(), progress.clone());
    let candidates = run_blocking(move || {
        let is_cancelled = || progress.is_cancelled();
        let extent = LayerFile::extent(&path, format, &name, geometry.as_ref(), is_cancelled)?;
        Ok::<_, FileError>(extent.map_or_else(Vec::new, |extent| candidates(extent, &used, near)))
    });
    let reason = match &layer.crs {
        SourceCrs::Unsupported(reason) => Some(received.t.translate(reason)),
        SourceCrs::Missing | SourceCrs::Known(_) => None,
    };
    Ok(PreviewProblem::ChooseCrs { reason, candidates: candidates.await?? })
}

/// The fields of a file, with the first values.
async fn samples(file: LayerFile, options: &ImportOptions) -> Result<Vec<FileField>, ImportError> {
    let fields = run_blocking(move || {
        let mut samples = Samples::default();
        for field in file.layer().map_or(&[][..], |layer| &layer.fields) {
            samples.add_field(&field.name);
        }
        let mut left = SAMPLED_FEATURES;
        // What is wrong with the file, its check finds.
        let _ = file.read(
            |_| (),
            |feature| {
                samples.add(&feature.properties);
                left -= 1;
                if left == 0 { Err(()) } else { Ok(()) }
            },
        );
        samples.into_fields()
    });
    let mut fields = fields.await?;
    for field in &mut fields {
        if let Some((_, name)) = options.fields.iter().find(|(name, _)| *name == field.name) {
            field.becomes.clone_from(name);
        }
    }
    Ok(fields)
}

fn describe_quality(report: &LayerReport, preview: &mut Preview) {
    let count = |(kind, count): &(ProblemKind, u64)| (kind.name().to_owned(), *count);
    preview.quality = report.counts.iter().map(count).collect();
    let problem = |problem: &groma_geo::layer_check::Problem| QualityProblem {
        kind: problem.kind.name().to_owned(),
        features: problem.features.clone(),
        position: problem.position,
    };
    preview.quality_problems = report.problems.iter().map(problem).collect();
    preview.is_quality_partial = !report.is_complete;
}

fn describe(
    t: Localizer,
    checked: &CheckedFile,
    preview: &mut Preview,
    rejected: &mut RejectedFile,
) {
    preview.total = checked.total;
    preview.is_complete = checked.is_complete;
    preview.crs =
        checked.crs.system().ok().map(|crs| (crs.to_string(), crs.info().name.to_owned()));
    preview.rejected_count = checked.rejected.len() as u64;
    let is_geojson = checked.file.layer().is_none();
    for RejectedFeature { pointer, line, reason } in &checked.rejected {
        let (feature, line, part) = place(is_geojson, *line, pointer);
        let message = match reason {
            FeatureError::Unreadable(message) if part.is_empty() => t.translate(message),
            FeatureError::Unreadable(message) => format!("{part}: {}", t.translate(message)),
            // Their text names the properties.
            FeatureError::Properties(problems) => Text::Properties(problems.clone()).show(t, false),
        };
        let finding = Finding { feature, line, message: shortened(message) };
        rejected.add(&finding);
        if preview.rejected.len() < LISTED_REJECTIONS {
            preview.rejected.push(finding);
        }
    }
    preview.notice_count = checked.notice_count;
    preview.notices = checked
        .notices
        .iter()
        .map(|(line, notice)| {
            let (feature, line, _) = place(is_geojson, *line, &notice.pointer);
            Finding { feature, line, message: t.translate(&notice.message) }
        })
        .collect();
}

/// Where a feature is in the file: its number and its line, as far as they are known, and the pointer to a part
/// of it.
fn place(is_geojson: bool, line: u64, pointer: &str) -> (Option<u64>, Option<u64>, &str) {
    if !is_geojson {
        return (Some(line), None, pointer);
    }
    let Some(rest) = pointer.strip_prefix("/features/") else { return (None, Some(line), pointer) };
    let (index, part) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let number = index.parse().ok().map(|index: u64| index + 1);
    (number, Some(line), part)
}

async fn layer_import(
    received: &ReceivedFile,
    options: &ImportOptions,
    progress: &Arc<JobProgress>,
    job: Option<ImportJobId>,
) -> Result<LayerImport, ImportError> {
    let target = match &options.target {
        Target::Layer(id) => {
            let found = received.store.layer(received.workspace, &LayerKey::Id(*id)).await?;
            let gone = || ImportError::File(message!("The layer was deleted. Choose another one."));
            LayerTarget::Existing(Box::new(found.ok_or_else(gone)?))
        }
        Target::NewLayer(name) => LayerTarget::New(name.clone()),
        Target::Records(_) => LayerTarget::New(String::new()),
    };
    if let LayerTarget::New(name) = &target {
        let now = clock::now();
        let layer = Layer::new(LayerId::new(now, [0; 10]), name, LayerCrs::CRS84, 0, now)
            .map_err(|error| ImportError::Store(error.into()))?;
        let slug = layer.slug.as_str();
        let key = LayerKey::Slug(slug.to_owned());
        if let Some(other) = received.store.layer(received.workspace, &key).await? {
            return Err(ImportError::File(message!(
                "Layer “{layer}” already has the short name “{slug}”, which is derived from the name. Choose another \
                 name, or import into that layer.",
                layer = other.name,
                slug = slug
            )));
        }
    }
    Ok(LayerImport {
        store: received.store.clone(),
        workspace: received.workspace,
        actor: received.actor,
        target,
        mode: options.mode,
        keep_crs: options.keep_crs,
        folder: options.folder.clone(),
        assignment: None,
        job,
        progress: progress.clone(),
    })
}
