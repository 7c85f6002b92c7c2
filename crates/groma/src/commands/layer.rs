//! `groma layer create|list|show|update|check|delete`, and the import and export of layers.

mod check;
mod export;
mod import;
mod import_report;
mod setup;

pub(super) use export::run as export;
pub(super) use import::run as import;

use super::{CommandError, find_workspace, print, print_table};
use crate::{cli::LayerCommand, clock, settings::Settings};
use groma_domain::{
    Layer,
    layer::{GeometryType, LayerCrs, LayerKey},
};
use groma_files::LayerFormat;
use groma_store::{Actor, NewLayer, Store};
use serde_json::json;
use std::path::Path;

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: LayerCommand,
) -> Result<(), CommandError> {
    let geo_url = settings.server.geo_public_url();
    match command {
        LayerCommand::Create { name, crs, workspace, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let crs = crs.map_or(LayerCrs::CRS84, LayerCrs::from);
            let layer = NewLayer { name, crs };
            let layer = store.create_layer(workspace, Actor::Operator, layer, clock::now()).await?;
            if json {
                print(&json!(layer.document(&geo_url)).to_string())
            } else {
                print(&layer.id.to_string())
            }
        }
        LayerCommand::List { workspace, json } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let layers = store.all_layers(workspace).await?;
            if json {
                let documents: Vec<_> =
                    layers.iter().map(|layer| layer.document(&geo_url)).collect();
                return print(&json!(documents).to_string());
            }
            let rows: Vec<_> = layers.iter().map(|layer| row(layer, &geo_url)).collect();
            print_table(&["ID", "SLUG", "NAME", "TYPE", "FEATURES", "UPDATED"], &rows)
        }
        LayerCommand::Show { key, workspace } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            setup::show(store, workspace, &LayerKey::parse(&key)).await
        }
        LayerCommand::Update(update) => {
            let workspace = find_workspace(store, &update.workspace).await?.id;
            setup::update(store, workspace, update).await
        }
        LayerCommand::Check(check) => {
            let workspace = find_workspace(store, &check.workspace).await?.id;
            check::run(store, workspace, check).await
        }
        LayerCommand::Delete { key, workspace } => {
            let workspace = find_workspace(store, &workspace).await?.id;
            let key = LayerKey::parse(&key);
            store.delete_layer(workspace, Actor::Operator, key, clock::now()).await?;
            Ok(())
        }
    }
}

fn row(layer: &Layer, geo_url: &str) -> Vec<String> {
    let document = layer.document(geo_url);
    let kind = match document.geometry_type {
        None => "-",
        Some(GeometryType::Point) => "Point",
        Some(GeometryType::LineString) => "LineString",
        Some(GeometryType::Polygon) => "Polygon",
        Some(GeometryType::Mixed) => "Mixed",
    };
    vec![
        document.id.to_string(),
        document.slug,
        document.name,
        kind.to_owned(),
        document.feature_count.to_string(),
        document.updated_at.to_string(),
    ]
}

/// The format of a file: the given one, or else that of its extension.
fn file_format(
    path: &Path,
    format: Option<LayerFormat>,
    to_write: bool,
) -> Result<LayerFormat, CommandError> {
    let format = format.or_else(|| LayerFormat::of_path(path));
    match format.filter(|format| !to_write || format.can_be_written()) {
        Some(format) => Ok(format),
        None => Err(CommandError::new(format!(
            "{}: {}",
            path.display(),
            LayerFormat::unknown(path, to_write)
        ))),
    }
}
