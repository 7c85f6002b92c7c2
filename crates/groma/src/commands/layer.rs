//! `groma layer create|list|delete`, and what `import` and `export` do with layers.

mod export;
mod import;
mod source;

pub(super) use export::run as export;
pub(super) use import::run as import;

use super::{Failure, print, print_table, workspace_of};
use crate::{
    cli::{LayerCommand, LayerFormat},
    clock::now,
    settings::Settings,
};
use groma_domain::{
    Layer,
    layer::{GeometryType, LayerKey},
};
use groma_store::{Actor, Store};
use serde_json::json;
use std::path::Path;

pub(super) async fn run(
    settings: &Settings,
    store: &Store,
    command: LayerCommand,
) -> Result<(), Failure> {
    let geo_url = settings.server.geo_public_url();
    match command {
        LayerCommand::Create { name, at, json } => {
            let workspace = workspace_of(store, &at).await?.id;
            let layer = store.create_layer(workspace, Actor::Operator, name, now()).await?;
            if json {
                print(&json!(layer.document(&geo_url)).to_string())
            } else {
                print(&layer.id.to_string())
            }
        }
        LayerCommand::List { at, json } => {
            let workspace = workspace_of(store, &at).await?.id;
            let layers = store.all_layers(workspace).await?;
            if json {
                let documents: Vec<_> =
                    layers.iter().map(|layer| layer.document(&geo_url)).collect();
                return print(&json!(documents).to_string());
            }
            let rows: Vec<_> = layers.iter().map(|layer| row(layer, &geo_url)).collect();
            print_table(&["ID", "SLUG", "NAME", "TYPE", "FEATURES", "UPDATED"], &rows)
        }
        LayerCommand::Delete { key, at } => {
            let workspace = workspace_of(store, &at).await?.id;
            let key = LayerKey::parse(&key);
            store.delete_layer(workspace, Actor::Operator, key, now()).await?;
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

/// The format of a file of features, by its ending unless it is given.
fn format_of(path: &Path, given: Option<LayerFormat>) -> Result<LayerFormat, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    match (given, ending.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("geojson" | "json")) => Ok(LayerFormat::GeoJson),
        (None, Some("geojsonl" | "geojsons" | "geojsonseq" | "ndjson" | "jsonl")) => {
            Ok(LayerFormat::GeoJsonSeq)
        }
        _ => Err(Failure::new(format!(
            "{}: name the format with --format geojson|geojsonseq",
            path.display()
        ))),
    }
}
