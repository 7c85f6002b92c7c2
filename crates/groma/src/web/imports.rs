//! Imports of files: a file is received, checked and shown as a preview; then a member starts the import, which goes
//! on when the page is closed.

mod check_error;
mod crs_candidates;
mod events;
mod extent_sketch;
mod feature_check;
mod inspection;
mod options;
mod options_form;
mod page;
mod preview;
mod progress;
mod received_file;
mod record_check;
mod record_fields;
mod rejected_file;
mod upload;
mod upload_folder;
mod worker;

pub(super) use events::events;
pub(super) use page::{import_page, list_page};
pub(super) use upload::UploadQuota;
pub(super) use worker::Workers;

use super::{Shared, WebError, form::Form, i18n::id, request_context::MemberContext};
use axum::{
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Redirect, Response},
};
use groma_domain::{ImportJobId, Permission};
use groma_files::LayerFormat;
use groma_store::{ImportJob, ImportJobChange, ImportState};
use options::{ImportOptions, Target};
use preview::Preview;
use received_file::ReceivedFile;
use std::{path::Path as FilePath, time::Duration};
use upload::Upload;

/// How often imports are looked for whose process has ended.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(10);

/// Receives a file.
pub(super) async fn upload(
    State(web): State<Shared>,
    ctx: MemberContext,
    upload: Upload,
) -> Result<Response, WebError> {
    let Upload { fields, name, path, folder } = upload;
    let is_known =
        LayerFormat::of_path(&path).is_some() || crate::cli::RecordFormat::of_path(&path).is_some();
    if !is_known {
        return Err(WebError::invalid(LayerFormat::unknown(FilePath::new(&name), false)));
    }
    let options = ImportOptions::of_file(&path, &name, &fields);
    let options = serde_json::to_string(&options);
    let options = options.map_err(|error| WebError::internal(error.to_string()))?;
    let (store, workspace, actor) = (ctx.store().clone(), ctx.workspace_id(), ctx.actor());
    let created = store.create_import(workspace, actor, name.clone(), options, ctx.now());
    let job = created.await?.id;
    let t = ctx.t();
    let file = ReceivedFile { store, workspace, job, actor, t, path, name };
    web.imports.start(file, folder);
    Ok(Redirect::to(&path_of(job)).into_response())
}

/// Chooses other options, or starts the import if they are those that were checked.
pub(super) async fn save(
    ctx: MemberContext,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, WebError> {
    let job = find(&ctx, &id).await?;
    let current = options_of(&job)?;
    let preview = Preview::of_job(&job).unwrap_or_default();
    let options = ImportOptions::parse(&form, &job.file_name, &current, &preview);
    check_target(&ctx, &options.target)?;
    let starts = form.get("action") == "start" && options == current;
    let change = match starts {
        true => ImportJobChange::Start(job.revision),
        false => {
            let options = serde_json::to_string(&options);
            ImportJobChange::Configure(
                options.map_err(|error| WebError::internal(error.to_string()))?,
            )
        }
    };
    change_job(&ctx, job.id, change).await?;
    if form.get("action") == "start" && !starts {
        return Ok(Redirect::to(&format!("{}?changed=1", path_of(job.id))).into_response());
    }
    Ok(Redirect::to(&path_of(job.id)).into_response())
}

pub(super) async fn cancel(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let job = find(&ctx, &id).await?;
    change_job(&ctx, job.id, ImportJobChange::Cancel).await?;
    Ok(Redirect::to(&path_of(job.id)).into_response())
}

/// All rows or features that were rejected, as CSV.
pub(super) async fn rejected(
    ctx: MemberContext,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let job = find(&ctx, &id).await?;
    let file = ctx.store().rejected_by_import(ctx.workspace_id(), job.id).await?;
    let file = file.filter(|file| !file.is_empty()).ok_or_else(WebError::not_found)?;
    let mut response = file.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    let name = format!("{} {}.csv", ctx.t().msg("import-rejected-file"), job.file_name);
    headers.insert(header::CONTENT_DISPOSITION, super::exports::attachment(&name));
    Ok(response)
}

/// Deletes the files of servers that were killed. Then, until dropped, interrupts the imports whose process has
/// ended, and deletes those that ended long ago. When a server starts that has the database for itself, no import
/// has a process.
pub(crate) async fn run_upkeep(web: &super::Web) {
    let _ = tokio::task::spawn_blocking(upload_folder::delete_abandoned).await;
    let mut is_restart = web.store.is_sqlite();
    loop {
        let is_alive = |job| web.imports.has(job);
        let interrupted = web.store.interrupt_imports(crate::clock::now(), is_restart, is_alive);
        if let Err(error) = interrupted.await {
            tracing::warn!(%error, "cannot look for imports that were interrupted");
        }
        is_restart = false;
        if let Err(error) = web.store.delete_ended_imports(crate::clock::now()).await {
            tracing::warn!(%error, "cannot delete imports that have ended");
        }
        tokio::time::sleep(UPKEEP_INTERVAL).await;
    }
}

fn path_of(job: ImportJobId) -> String {
    format!("/imports/{job}")
}

/// An import of this member; administrators also see those of others.
async fn find(ctx: &MemberContext, id: &str) -> Result<ImportJob, WebError> {
    let id: ImportJobId = id.parse().map_err(|_| WebError::not_found())?;
    let job = ctx.store().import_job(ctx.workspace_id(), id).await?;
    let may_see =
        |job: &ImportJob| job.person == ctx.member.person.id || ctx.can(Permission::Administer);
    job.filter(may_see).ok_or_else(WebError::not_found)
}

fn options_of(job: &ImportJob) -> Result<ImportOptions, WebError> {
    serde_json::from_str(&job.options).map_err(|error| WebError::internal(error.to_string()))
}

/// Only administrators create layers.
fn check_target(ctx: &MemberContext, target: &Target) -> Result<(), WebError> {
    match target {
        Target::NewLayer(_) if !ctx.can(Permission::Administer) => {
            Err(WebError::forbidden(id("error-import-new-layer")))
        }
        _ => Ok(()),
    }
}

async fn change_job(
    ctx: &MemberContext,
    id: ImportJobId,
    change: ImportJobChange,
) -> Result<(), WebError> {
    let now = ctx.now();
    ctx.store().change_import(ctx.workspace_id(), id, ctx.actor(), change, now).await?;
    ctx.web.imports.notify(id);
    Ok(())
}

/// Whether a page of this state changes by itself.
fn is_working(state: ImportState) -> bool {
    matches!(state, ImportState::Checking | ImportState::Running)
}
