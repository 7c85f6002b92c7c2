//! The pages of imports.

use super::{
    extent_sketch::ExtentSketch,
    find, is_working,
    options::{ImportOptions, Target},
    options_form::{OptionsForm, targets},
    options_of,
    preview::{Finding, Preview, PreviewProblem, QualityProblem},
    progress::ProgressState,
};
use crate::web::{
    WebError,
    fields::Choice,
    form::Query,
    format::Moment,
    i18n::Localizer,
    page::{Meta, Nav},
    records,
    request_context::MemberContext,
};
use askama::Template;
use axum::{extract::Path, response::Response};
use groma_domain::{ImportJobId, Permission};
use groma_store::{ImportJob, ImportList, ImportState, ListedImport};

/// The zoom of the map for a problem.
const PROBLEM_ZOOM: u8 = 19;
/// How many imports the list shows.
const LISTED: u32 = 50;

#[derive(Template)]
#[template(path = "imports.html")]
struct ListPage {
    t: Localizer,
    csrf: String,
    targets: Vec<Choice>,
    /// The reference of the folder that features will belong to.
    folder: String,
    extensions: String,
    rows: Vec<Row>,
}

struct Row {
    href: String,
    file: String,
    state: String,
    class: &'static str,
    who: String,
    created: Moment,
}

/// The form that sends a file, and the imports of the last days.
pub(crate) async fn list_page(ctx: MemberContext, query: Query) -> Result<Response, WebError> {
    let t = ctx.t();
    let own = Some(ctx.member.person.id).filter(|_| !ctx.can(Permission::Administer));
    let list = ImportList { person: own, limit: LISTED, now: ctx.now() };
    let jobs = ctx.store().imports(ctx.workspace_id(), list).await?;
    let people = ctx.store().people(ctx.workspace_id()).await?;
    let row = |job: &ListedImport, can_start| Row {
        href: super::path_of(job.id),
        file: job.file_name.clone(),
        state: state_label(t, job.state, can_start),
        class: state_class(job.state),
        who: people
            .iter()
            .find(|one| one.person.id == job.person)
            .map_or_else(String::new, |one| one.person.name.clone()),
        created: ctx.moment(job.created_at),
    };
    let mut rows = Vec::with_capacity(jobs.len());
    for job in &jobs {
        rows.push(row(job, job.state != ImportState::Ready || can_start(&ctx, job.id).await?));
    }
    let page = ListPage {
        t,
        csrf: ctx.request.csrf_token(),
        targets: targets(&ctx, query.get("into"), |_| true).await?,
        folder: query.get("folder").to_owned(),
        extensions: ".geojson,.json,.geojsonl,.geojsons,.ndjson,.jsonl,.gpkg,.zip,.shp,.shx,.dbf,.prj,.cpg,.shz,.fgb,.csv,\
                     .tsv,.kml,.kmz,.gpx,.dxf,.xlsx"
            .to_owned(),
        rows,
    };
    ctx.page(Meta::new(t.msg("imports-title"), Nav::None), &page).await
}

/// Whether an import that waits for its member can start with the options that were checked.
async fn can_start(ctx: &MemberContext, id: ImportJobId) -> Result<bool, WebError> {
    let job = ctx.store().import_job(ctx.workspace_id(), id).await?;
    let Some(job) = job else { return Ok(true) };
    let options = options_of(&job)?;
    Ok(Preview::of_job(&job).is_none_or(|preview| preview.can_start(options.keep_good)))
}

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage {
    t: Localizer,
    csrf: String,
    path: String,
    file: String,
    state: &'static str,
    state_label: String,
    class: &'static str,
    revision: u64,
    is_live: bool,
    is_working: bool,
    is_owner: bool,
    progress: String,
    percent: Option<u64>,
    /// Whether somebody wanted to start the import with options that were not checked.
    is_changed: bool,
    /// How it ended.
    outcome: Vec<String>,
    /// Where the result is.
    result: Option<(String, String)>,
    has_rejected: bool,
    options: Option<OptionsForm>,
    preview: Option<PreviewView>,
}

struct PreviewView {
    problem: String,
    /// The reference system that was used.
    crs: String,
    counts: Vec<(&'static str, String, String)>,
    rejected: Vec<(String, String)>,
    more_rejected: u64,
    notices: Vec<(String, String)>,
    notice_count: u64,
    /// The number of problems of each kind.
    quality: Vec<(String, String)>,
    problems: Vec<ProblemRow>,
    is_quality_unknown: bool,
    is_quality_partial: bool,
    extent: Option<ExtentSketch>,
    warns_of_deletion: bool,
}

struct ProblemRow {
    kind: String,
    features: String,
    /// Its place on the map.
    link: Option<String>,
}

/// An import: its progress, its preview and options, or its result.
pub(crate) async fn import_page(
    ctx: MemberContext,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, WebError> {
    let job = find(&ctx, &id).await?;
    let (t, options) = (ctx.t(), options_of(&job)?);
    let preview = Preview::of_job(&job);
    let progress: Option<ProgressState> =
        job.progress.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let is_ready = job.state == ImportState::Ready;
    let form = match &preview {
        Some(preview) if is_ready => Some(OptionsForm::new(&ctx, &job, &options, preview).await?),
        _ => None,
    };
    let can_start = form.as_ref().is_none_or(|form| form.can_start);
    let rejected = preview.as_ref().map_or(0, |preview| preview.rejected_count);
    let (outcome, result) = outcome(&ctx, &job, &options, rejected).await?;
    let page = ImportPage {
        t,
        csrf: ctx.request.csrf_token(),
        path: super::path_of(job.id),
        file: job.file_name.clone(),
        state: job.state.name(),
        state_label: state_label(t, job.state, can_start),
        class: state_class(job.state),
        revision: job.revision,
        is_live: job.state.is_live(),
        is_working: is_working(job.state),
        is_owner: job.person == ctx.member.person.id,
        progress: progress.map(|progress| progress.text(t)).unwrap_or_default(),
        percent: progress.and_then(ProgressState::percent),
        is_changed: is_ready && query.has("changed"),
        outcome,
        result,
        has_rejected: rejected > 0,
        options: form,
        preview: preview
            .as_ref()
            .filter(|_| is_ready)
            .map(|preview| preview_view(t, &options, preview)),
    };
    ctx.page(Meta::new(t.msg("import-title").arg("file", &job.file_name), Nav::None), &page).await
}

/// What became of an import that has ended, and where to see it.
async fn outcome(
    ctx: &MemberContext,
    job: &ImportJob,
    options: &ImportOptions,
    rejected: u64,
) -> Result<(Vec<String>, Option<(String, String)>), WebError> {
    let t = ctx.t();
    let lines = match job.state {
        ImportState::Done => {
            let result = job.result.unwrap_or_default();
            let is_layer = !matches!(options.target, Target::Records(_));
            let mut lines = vec![
                t.msg("import-created").arg("count", result.created).into(),
                t.msg("import-updated").arg("count", result.updated).into(),
                t.msg("import-unchanged").arg("count", result.unchanged).into(),
            ];
            if is_layer {
                lines.push(t.msg("import-deleted").arg("count", result.deleted).into());
            }
            if rejected > 0 {
                lines.push(t.msg("import-left-out").arg("count", rejected).into());
            }
            lines
        }
        ImportState::Failed => {
            let reason = job.failure.clone().unwrap_or_default();
            vec![reason, t.msg("import-nothing").into()]
        }
        ImportState::Cancelled => vec![t.msg("import-nothing").into()],
        ImportState::Interrupted => vec![t.msg("import-interrupted-text").into()],
        ImportState::Checking | ImportState::Ready | ImportState::Running => Vec::new(),
    };
    let link = match (&options.target, job.result) {
        (Target::Records(plural), Some(_)) => {
            let kind = records::list::parse_plural(plural)?;
            Some((
                format!("/{plural}"),
                t.msg("import-show-list").arg("kind", t.kind_title(kind)).into(),
            ))
        }
        (_, Some(result)) => {
            let layers = ctx.store().all_layers(ctx.workspace_id()).await?;
            let layer = layers.into_iter().find(|layer| Some(layer.id) == result.layer);
            let bounds = layer.and_then(|layer| layer.bounds);
            let place = bounds.map(map_link).unwrap_or_else(|| "/map".to_owned());
            Some((place, t.msg("import-show-map").into()))
        }
        (_, None) => None,
    };
    Ok((lines, link))
}

/// The map at a place.
fn map_link(groma_geo::Bbox([west, south, east, north]): groma_geo::Bbox) -> String {
    let size = (east - west).max(north - south).max(1e-5);
    let zoom = (360.0 / size).log2().clamp(0.0, 18.0);
    let (longitude, latitude) = (f64::midpoint(west, east), f64::midpoint(south, north));
    format!("/map#map={zoom:.1}/{latitude:.5}/{longitude:.5}")
}

fn state_label(t: Localizer, state: ImportState, can_start: bool) -> String {
    match state {
        ImportState::Checking => t.msg("import-state-checking"),
        ImportState::Ready if !can_start => t.msg("import-state-incomplete"),
        ImportState::Ready => t.msg("import-state-ready"),
        ImportState::Running => t.msg("import-state-running"),
        ImportState::Done => t.msg("import-state-done"),
        ImportState::Failed => t.msg("import-state-failed"),
        ImportState::Cancelled => t.msg("import-state-cancelled"),
        ImportState::Interrupted => t.msg("import-state-interrupted"),
    }
    .into()
}

fn state_class(state: ImportState) -> &'static str {
    match state {
        ImportState::Done => "ok",
        ImportState::Failed | ImportState::Interrupted => "bad",
        _ => "",
    }
}

fn problem_kind(t: Localizer, kind: &str) -> String {
    t.msg("layer-check-kind").arg("kind", kind).into()
}

fn problem_row(t: Localizer, problem: &QualityProblem) -> ProblemRow {
    let features: Vec<_> = problem.features.iter().map(ToString::to_string).collect();
    let link = problem.position.map(|[longitude, latitude]| {
        format!("/map#map={PROBLEM_ZOOM}/{latitude:.7}/{longitude:.7}")
    });
    let features = t
        .msg("import-place-features")
        .arg("count", features.len())
        .arg("numbers", features.join(", "))
        .into();
    ProblemRow { kind: problem_kind(t, &problem.kind), features, link }
}

fn preview_view(t: Localizer, options: &ImportOptions, preview: &Preview) -> PreviewView {
    let is_layer = !matches!(options.target, Target::Records(_));
    let problem = match &preview.problem {
        None if preview.total == 0 => t.msg("import-empty").into(),
        None => String::new(),
        Some(PreviewProblem::ChooseLayer) => t.msg("import-choose-layer").into(),
        Some(PreviewProblem::ChooseGeometry) => t.msg("import-choose-geometry").into(),
        Some(PreviewProblem::ChooseCrs { reason: None, .. }) => t.msg("import-choose-crs").into(),
        Some(PreviewProblem::ChooseCrs { reason: Some(reason), .. }) => {
            t.msg("import-unknown-crs").arg("reason", reason).into()
        }
        Some(PreviewProblem::ChooseColumns(columns)) => {
            t.msg("import-choose-columns").arg("columns", columns.join(", ")).into()
        }
        Some(PreviewProblem::RepeatedField(name)) => {
            t.msg("import-repeated-field").arg("name", name).into()
        }
        Some(PreviewProblem::Unusable(reason)) => reason.clone(),
    };
    let mut counts = Vec::new();
    if preview.problem.is_none() {
        counts = vec![
            ("created", t.number(preview.created), t.msg("import-count-created").to_string()),
            ("updated", t.number(preview.updated), t.msg("import-count-updated").to_string()),
            ("unchanged", t.number(preview.unchanged), t.msg("import-count-unchanged").to_string()),
        ];
        if is_layer {
            counts.push((
                "deleted",
                t.number(preview.deleted),
                t.msg("import-count-deleted").into(),
            ));
        }
        let rejected = t.msg("import-count-rejected").to_string();
        counts.push(("rejected", t.number(preview.rejected_count), rejected));
    }
    let place = |finding: &Finding| {
        let place = match (finding.feature, finding.line) {
            (Some(feature), Some(line)) => {
                t.msg("import-place-feature-line").arg("number", feature).arg("line", line)
            }
            (Some(feature), None) => t.msg("import-place-feature").arg("number", feature),
            (None, line) => t.msg("import-place-line").arg("number", line.unwrap_or_default()),
        };
        (place.into(), finding.message.clone())
    };
    PreviewView {
        problem,
        crs: preview.crs_label(),
        counts,
        rejected: preview.rejected.iter().map(place).collect(),
        more_rejected: preview.rejected_count - preview.rejected.len() as u64,
        notices: preview.notices.iter().map(place).collect(),
        notice_count: preview.notice_count,
        quality: preview
            .quality
            .iter()
            .map(|(kind, count)| (problem_kind(t, kind), t.number(*count)))
            .collect(),
        problems: preview.quality_problems.iter().map(|problem| problem_row(t, problem)).collect(),
        is_quality_unknown: preview.is_quality_unknown,
        is_quality_partial: preview.is_quality_partial,
        extent: preview.bounds.map(|bounds| ExtentSketch::new(t, bounds)),
        warns_of_deletion: preview.deleted > 0,
    }
}
