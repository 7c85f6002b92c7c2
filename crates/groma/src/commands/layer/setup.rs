//! `groma layer show|update`: the fields, the style, the position and the lock of a layer.

use crate::{
    cli::UpdateLayer,
    clock,
    commands::{
        CommandError,
        input::{open_rereadable, with_path},
        print,
    },
};
use groma_domain::{
    Layer, WorkspaceId,
    layer::{LayerKey, LayerSetup, LayerStyle, parse_fields, sort_for_map},
};
use groma_store::{Actor, Store};
use serde_json::{Value, json};
use std::path::Path;

pub(super) async fn show(
    store: &Store,
    workspace: WorkspaceId,
    key: &LayerKey,
) -> Result<(), CommandError> {
    let mut layers = store.all_layers(workspace).await?;
    sort_for_map(&mut layers);
    let is_wanted = |layer: &Layer| match key {
        LayerKey::Id(id) => layer.id == *id,
        LayerKey::Slug(slug) => layer.slug.as_str() == slug,
    };
    let found = layers.iter().zip(1..).find(|(layer, _)| is_wanted(layer));
    let Some((layer, position)) = found else {
        let key = match key {
            LayerKey::Id(id) => id.to_string(),
            LayerKey::Slug(slug) => slug.clone(),
        };
        return Err(CommandError::new(format!("layer `{key}` not found")));
    };
    let mut style = json!({ "color": layer.color });
    if let (Value::Object(style), Value::Object(members)) = (&mut style, json!(layer.style)) {
        style.extend(members);
    }
    let setup = json!({
        "id": layer.id,
        "slug": layer.slug,
        "name": layer.name,
        "position": position,
        "isLocked": layer.is_locked,
        "fields": layer.declared_fields,
        "style": style,
    });
    print(&serde_json::to_string_pretty(&setup).map_err(CommandError::new)?)
}

pub(super) async fn update(
    store: &Store,
    workspace: WorkspaceId,
    update: UpdateLayer,
) -> Result<(), CommandError> {
    let mut setup = LayerSetup {
        is_locked: (update.lock || update.unlock).then_some(update.lock),
        ..LayerSetup::default()
    };
    if let Some(path) = &update.fields {
        let fields = parse_fields(&read_json(path)?).map_err(|error| with_path(path, &error))?;
        setup.declared_fields = Some(fields);
    }
    if let Some(path) = &update.style {
        let mut style = read_json(path)?;
        let color = style.as_object_mut().and_then(|members| members.shift_remove("color"));
        setup.color = color.map(|color| color.as_str().unwrap_or_default().to_owned());
        setup.style = Some(LayerStyle::parse(&style).map_err(|error| with_path(path, &error))?);
    }
    let key = LayerKey::parse(&update.key);
    store.set_up_layer(workspace, Actor::Operator, key.clone(), setup, clock::now()).await?;
    if let Some(position) = update.position {
        let (position, now) = (position as usize - 1, clock::now());
        store.place_layer(workspace, Actor::Operator, key.clone(), position, now).await?;
    }
    if update.fields.is_none() {
        return Ok(());
    }
    match store.count_unfit_features(workspace, &key).await? {
        0 => Ok(()),
        1 => print("1 stored feature does not fit the fields. It is checked when it is changed."),
        count => print(&format!(
            "{count} stored features do not fit the fields. They are checked when they are changed."
        )),
    }
}

fn read_json(path: &Path) -> Result<Value, CommandError> {
    let failed = |error: String| CommandError::new(format!("{}: {error}", path.display()));
    let file = open_rereadable(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_reader(std::io::BufReader::new(rewound(file)?))
        .map_err(|error| failed(error.to_string()))
}

/// A file at its start: that of standard input was written before.
fn rewound(mut file: std::fs::File) -> Result<std::fs::File, CommandError> {
    std::io::Seek::rewind(&mut file).map_err(CommandError::new)?;
    Ok(file)
}
