//! `groma import layer`.

use super::{file_format, import_report::Report};
use crate::{
    cli::ImportLayer,
    clock,
    commands::{
        CommandError, find_workspace,
        input::{StoredInput, import_error, with_path},
        progress::ProgressBars,
    },
    import::{ImportError, LayerImport, LayerTarget, MAX_ERRORS, run_blocking},
};
use groma_domain::{
    Layer, LayerId, WorkspaceId,
    layer::{LayerCrs, LayerKey},
};
use groma_files::{LayerFile, OpenOptions};
use groma_store::{Actor, Store};
use std::sync::Arc;

pub(in crate::commands) async fn run(
    store: &Store,
    import: ImportLayer,
) -> Result<(), CommandError> {
    let format = file_format(&import.file, import.format, false)?;
    let workspace = find_workspace(store, &import.workspace).await?.id;
    let job = LayerImport {
        store: store.clone(),
        workspace,
        actor: Actor::Operator,
        target: target(store, workspace, &import).await?,
        mode: import.mode,
        keep_crs: import.keep_crs,
        folder: import.folder.clone(),
        assignment: import.assignment.clone(),
        job: None,
        progress: Arc::new(ProgressBars::default()),
    };
    job.check_target().await.map_err(CommandError::new)?;
    let failed = |error: ImportError| import_error(&import.file, &error);
    let path = import.file.clone();
    let input = run_blocking(move || StoredInput::read(&path)).await.map_err(failed)?;
    let input = input.map_err(|error| with_path(&import.file, &error))?;
    let (path, options) = (input.path().to_owned(), open_options(&import));
    let opened = run_blocking(move || LayerFile::open(&path, format, options)).await;
    let opened = opened.map_err(failed)?.map_err(|error| with_path(&import.file, &error))?;
    let checked = job.check(opened, || |_: &_| ()).await.map_err(failed)?;
    let mut report = Report::new(&checked, job.target.id());
    if import.dry_run && checked.is_complete {
        report.counts = job.expect(&checked).await.map_err(failed)?;
    } else if !import.dry_run && checked.can_be_imported(import.keep_good) {
        report.published(&job.write(&checked).await.map_err(failed)?);
    }
    report.print(&import)?;
    match checked.rejected.len() {
        0 => Ok(()),
        _ if import.keep_good && !checked.is_complete => Err(CommandError::new(format!(
            "{}: the file could not be read to the end; nothing was imported",
            import.file.display()
        ))),
        _ if import.keep_good && !import.dry_run => Ok(()),
        1 => Err(CommandError::new("1 feature was rejected; nothing was imported")),
        count => {
            Err(CommandError::new(format!("{count} features were rejected; nothing was imported")))
        }
    }
}

fn open_options(import: &ImportLayer) -> OpenOptions {
    OpenOptions {
        crs: import.crs.clone(),
        layer: import.source_layer.clone(),
        geometry: import.geometry.clone(),
        id_field: import.id_field.clone(),
        fields: Vec::new(),
        max_errors: MAX_ERRORS,
    }
}

/// Finds the layer by ID, slug or name; the default name is that of the file.
async fn target(
    store: &Store,
    workspace: WorkspaceId,
    import: &ImportLayer,
) -> Result<LayerTarget, CommandError> {
    let name = match &import.layer {
        Some(key) => {
            let key = LayerKey::parse(key);
            if let Some(layer) = store.layer(workspace, &key).await? {
                return Ok(LayerTarget::Existing(Box::new(layer)));
            }
            match key {
                LayerKey::Id(id) => {
                    return Err(CommandError::new(format!("layer `{id}` not found")));
                }
                LayerKey::Slug(name) => name,
            }
        }
        None => match &import.source_layer {
            Some(name) => name.clone(),
            None => import.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        },
    };
    let now = clock::now();
    let new = Layer::new(LayerId::new(now, [0; 10]), &name, LayerCrs::CRS84, 0, now)
        .map_err(|error| CommandError::new(format!("layer `{name}`: {error}")))?;
    let slug = LayerKey::Slug(new.slug.as_str().to_owned());
    Ok(match store.layer(workspace, &slug).await? {
        Some(layer) => LayerTarget::Existing(Box::new(layer)),
        None => LayerTarget::New(new.name),
    })
}
