//! Declared fields, styles, order and lock of layers.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error},
    on_both_engines,
};
use groma_domain::{
    DomainError, Layer, Role,
    layer::{LayerKey, LayerSetup, LayerStyle, parse_fields, sort_for_map},
};
use groma_geo::{
    geojson::{self, Options},
    grid::TileId,
};
use groma_store::{Error, FeatureSpool, GeometryEdit, NewLayer};
use groma_testkit::mvt;
use serde_json::{Map, Value, json};

on_both_engines! {
    properties_that_do_not_fit_are_rejected_with_their_pointers
    defaults_fill_new_features_and_posting_twice_changes_nothing
    old_features_can_be_moved_but_changed_properties_must_fit
    locked_layer_rejects_every_change_of_its_features
    fields_and_style_are_saved_with_the_layer
    layers_are_ordered_for_maps
}

async fn set_up(workspace: &TestWorkspace, setup: LayerSetup) -> Result<Layer, Error> {
    let key = LayerKey::parse("submissions");
    let (id, actor) = (workspace.workspace_id, workspace.actor);
    workspace.store.set_up_layer(id, actor, key, setup, workspace.tick()).await
}

async fn declare(workspace: &TestWorkspace, fields: &Value) {
    let fields = parse_fields(fields).unwrap();
    let setup = LayerSetup { declared_fields: Some(fields), ..LayerSetup::default() };
    set_up(workspace, setup).await.unwrap();
}

async fn set_locked(workspace: &TestWorkspace, is_locked: bool) -> Result<Layer, Error> {
    set_up(workspace, LayerSetup { is_locked: Some(is_locked), ..LayerSetup::default() }).await
}

fn land_use() -> Value {
    json!([
        { "name": "use", "type": "text", "required": true, "choices": ["meadow", "wood"] },
        { "name": "floors", "type": "integer", "default": 1, "required": true },
    ])
}

fn point(id: u32, properties: impl Into<Value>) -> Value {
    let properties: Value = properties.into();
    json!({ "type": "Feature", "id": id, "properties": properties,
        "geometry": { "type": "Point", "coordinates": [1, 2] } })
}

fn collection(features: &[Value]) -> Value {
    json!({ "type": "FeatureCollection", "features": features })
}

async fn post_error(workspace: &TestWorkspace, body: &Value) -> DomainError {
    domain_error(workspace.try_post(workspace.geometries(None, body)).await).0
}

async fn properties(workspace: &TestWorkspace) -> Vec<Map<String, Value>> {
    let features = workspace.features("submissions").await;
    features.iter().map(|feature| serde_json::from_str(&feature.properties).unwrap()).collect()
}

async fn properties_that_do_not_fit_are_rejected_with_their_pointers(fixture: Fixture) {
    fixture.post(&collection(&[])).await;
    declare(&fixture, &land_use()).await;
    let body = collection(&[
        point(1, json!({ "use": "wood", "free": [1] })),
        point(2, json!({ "use": "lake", "floors": "two" })),
        point(3, json!({ "use": null })),
    ]);
    let DomainError::InvalidProperties(problems) = post_error(&fixture, &body).await else {
        panic!("rejected for another reason");
    };
    let pointers: Vec<_> = problems.iter().map(groma_domain::PropertyError::pointer).collect();
    assert_eq!(
        pointers,
        [
            "/features/1/properties/use",
            "/features/1/properties/floors",
            "/features/2/properties/use"
        ]
    );
    assert_eq!(fixture.features("submissions").await.len(), 0);
    let alone = json!({ "type": "Point", "coordinates": [1, 2] });
    let error = post_error(&fixture, &alone).await;
    assert_eq!(error.to_string(), "/properties/use is required");
    let many: Vec<_> = (0..50).map(|id| point(id, json!({}))).collect();
    let DomainError::InvalidProperties(problems) = post_error(&fixture, &collection(&many)).await
    else {
        panic!("rejected for another reason");
    };
    assert_eq!(problems.len(), 20);
}

async fn defaults_fill_new_features_and_posting_twice_changes_nothing(fixture: Fixture) {
    fixture.post(&collection(&[])).await;
    declare(&fixture, &land_use()).await;
    let body = collection(&[point(1, json!({ "use": "wood" }))]);
    assert_eq!(fixture.post(&body).await.created, 1);
    assert_eq!(properties(&fixture).await[0]["floors"], 1);
    assert_eq!(fixture.post(&body).await.unchanged, 1);
    let layer = fixture.layer("submissions").await;
    let tile = fixture.tile(layer.id, TileId::new(0, 0, 0).unwrap()).await;
    let drawn = format!("{:?}", mvt::decode(&tile).unwrap().features);
    assert!(drawn.contains("floors"), "{drawn}");
    assert!(layer.field_types().contains_key("floors"));
}

async fn old_features_can_be_moved_but_changed_properties_must_fit(fixture: Fixture) {
    fixture.post(&collection(&[point(1, json!({ "use": "lake" })), point(2, json!({}))])).await;
    declare(&fixture, &land_use()).await;
    let key = LayerKey::parse("submissions");
    let store = &fixture.store;
    assert_eq!(store.count_unfit_features(fixture.workspace_id, &key).await.unwrap(), 2);
    let ids = vec!["2".to_owned(), "3".to_owned()];
    let stored = store.stored_properties(fixture.workspace_id, key, ids).await.unwrap();
    assert_eq!(stored, [Some(Map::new()), None]);

    let old = fixture.features("submissions").await.remove(0);
    let replace = |properties: Value| {
        let moved = json!({ "type": "Feature", "properties": properties,
            "geometry": { "type": "Point", "coordinates": [3, 4] } });
        let mut feature = FeatureSpool::default();
        let push = |parsed| feature.push(&parsed);
        geojson::read(moved.to_string().as_bytes(), &Options::default(), push).unwrap();
        let (workspace, actor, now) = (fixture.workspace_id, fixture.actor, fixture.tick());
        let edit = GeometryEdit {
            workspace,
            actor,
            now,
            id: old.id,
            folder: None,
            feature,
            parts: FeatureSpool::default(),
            joined: None,
        };
        store.replace_geometry(edit)
    };
    let error = domain_error(replace(json!({ "use": "pond" })).await).0;
    assert!(matches!(error, DomainError::InvalidProperties(_)), "{error}");
    assert_eq!(replace(json!({ "use": "lake" })).await.unwrap().updated, 1);
    assert_eq!(replace(json!({ "use": "wood", "floors": 2 })).await.unwrap().updated, 1);
    let error = domain_error(replace(json!({ "floors": 2 })).await).0;
    assert_eq!(error.to_string(), "/properties/use is required");
}

async fn locked_layer_rejects_every_change_of_its_features(fixture: Fixture) {
    fixture.post(&collection(&[point(1, json!({}))])).await;
    let editor = fixture.member(Role::Editor).await;
    assert!(matches!(
        domain_error(set_locked(&editor, true).await).0,
        DomainError::Forbidden { .. }
    ));
    assert!(set_locked(&fixture, true).await.unwrap().is_locked);
    let is_locked = |error: DomainError| matches!(error, DomainError::Locked { .. });
    assert!(is_locked(post_error(&fixture, &point(2, json!({}))).await));
    let (store, workspace, actor) = (&fixture.store, fixture.workspace_id, fixture.actor);
    let old = fixture.features("submissions").await.remove(0);
    let delete = || store.delete_geometry(workspace, actor, old.id, fixture.tick());
    assert!(is_locked(domain_error(delete().await).0));
    let key = LayerKey::parse("submissions");
    let delete_layer = store.delete_layer(workspace, actor, key, fixture.tick());
    assert!(is_locked(domain_error(delete_layer.await).0));
    set_locked(&fixture, false).await.unwrap();
    delete().await.unwrap();
}

async fn fields_and_style_are_saved_with_the_layer(fixture: Fixture) {
    fixture.post(&collection(&[])).await;
    let style = json!({ "label": "use", "lineWidth": 3.5, "colorBy": { "property": "area",
        "ranges": [{ "color": "#ffffff" }, { "from": 0.1, "color": "#000000" }], "other": "#cccccc" } });
    let style = LayerStyle::parse(&style).unwrap();
    let setup = LayerSetup {
        declared_fields: Some(parse_fields(&land_use()).unwrap()),
        style: Some(style.clone()),
        color: Some("#AABBCC".to_owned()),
        is_locked: None,
    };
    let before = fixture.layer("submissions").await;
    set_up(&fixture, setup).await.unwrap();
    let layer = fixture.layer("submissions").await;
    assert_eq!(layer.style, style);
    assert_eq!(layer.declared_fields, parse_fields(&land_use()).unwrap());
    assert_eq!((layer.color.as_str(), layer.revision), ("#aabbcc", before.revision + 1));
    let unchanged = set_up(&fixture, LayerSetup::default()).await.unwrap();
    assert_eq!(unchanged, layer);
}

async fn layers_are_ordered_for_maps(fixture: Fixture) {
    let (store, workspace, actor) = (&fixture.store, fixture.workspace_id, fixture.actor);
    let create = async |name| {
        store.create_layer(workspace, actor, NewLayer::named(name), fixture.tick()).await.unwrap()
    };
    let order = async || {
        let mut layers = store.all_layers(workspace).await.unwrap();
        sort_for_map(&mut layers);
        layers.into_iter().map(|layer| layer.name).collect::<Vec<_>>()
    };
    for name in ["a", "b", "c"] {
        create(name).await;
    }
    assert_eq!(order().await, ["a", "b", "c"]);
    let place = |key: &str, position| {
        store.place_layer(workspace, actor, LayerKey::parse(key), position, fixture.tick())
    };
    place("c", 0).await.unwrap();
    assert_eq!(order().await, ["c", "a", "b"]);
    place("c", 9).await.unwrap();
    assert_eq!(order().await, ["a", "b", "c"]);
    create("d").await;
    assert_eq!(order().await, ["a", "b", "c", "d"]);
    assert!(matches!(domain_error(place("x", 0).await).0, DomainError::NotFound { .. }));
}
