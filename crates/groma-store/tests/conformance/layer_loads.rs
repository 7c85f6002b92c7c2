//! New layers that are loaded in several transactions: nothing finds them before they are published.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error, text},
    on_both_engines,
    sample_geometries::{FeatureGenerator, expected_stats, reported_stats, tile_at},
};
use groma_domain::{DomainError, Kind, Layer, RecordId, Role, layer::LayerKey};
use groma_geo::grid::TileId;
use groma_store::{AuditEntry, Error, FeatureQuery, LayerLoad, NewLayer, NewLayerLoad};
use groma_testkit::mvt;
use serde_json::{Value, json};
use std::{collections::HashSet, ops::RangeInclusive};

on_both_engines! {
    nothing_finds_a_layer_before_it_is_published
    published_layer_is_like_any_other
    id_that_comes_again_is_rejected
    events_of_a_published_layer_come_once
    layer_with_many_features_is_one_event
    dead_load_is_deleted_and_cannot_go_on
    slug_that_was_taken_during_the_load_is_rejected
    deleted_folder_fails_the_load
    only_admins_can_load_layers
    deleting_a_workspace_deletes_its_loads
}

/// Longer than a load may add nothing.
const TOO_LONG: i64 = 11 * 60 * 1_000;

async fn begin(workspace: &TestWorkspace, name: &str) -> Result<LayerLoad, Error> {
    begin_in(workspace, name, None).await
}

async fn begin_in(
    workspace: &TestWorkspace,
    name: &str,
    folder: Option<&str>,
) -> Result<LayerLoad, Error> {
    let new = NewLayerLoad {
        job: None,
        workspace: workspace.workspace_id,
        actor: workspace.actor,
        layer: NewLayer::named(name),
        folder: folder.map(str::to_owned),
        assignment: None,
    };
    workspace.store.begin_layer_load(new, workspace.tick()).await
}

async fn add(
    workspace: &TestWorkspace,
    load: &LayerLoad,
    body: &Value,
) -> Result<groma_domain::geometry::UploadResult, Error> {
    let features = workspace.geometries(None, body).features;
    workspace.store.load_features(load, features, workspace.tick()).await
}

async fn publish(workspace: &TestWorkspace, load: &LayerLoad) -> Result<Layer, Error> {
    workspace.store.publish_layer(load, workspace.tick()).await
}

fn points(count: u32) -> Value {
    numbered(1..=count)
}

fn numbered(numbers: RangeInclusive<u32>) -> Value {
    let point = |n: u32| {
        json!({ "type": "Feature", "id": n, "properties": { "n": n },
            "geometry": { "type": "Point", "coordinates": [f64::from(n) / 1000.0, 48.0] } })
    };
    json!({ "type": "FeatureCollection", "features": numbers.map(point).collect::<Vec<_>>() })
}

/// The entries of the audit log after a position: the action, and whether it has a document before and after.
async fn actions(workspace: &TestWorkspace, position: i64) -> Vec<AuditEntry> {
    workspace.audit_log(position).await
}

fn names(entries: &[AuditEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.action.as_str()).collect()
}

async fn nothing_finds_a_layer_before_it_is_published(fixture: Fixture) {
    fixture.seed_folder().await;
    let folder = text(&fixture.find(Kind::Folder, "in").await, "id");
    let folder = RecordId(folder.parse().unwrap());
    let mark = fixture.audit_position().await;
    let load = begin_in(&fixture, "Lots", Some("in")).await.unwrap();
    let added = add(&fixture, &load, &points(50)).await.unwrap();
    assert_eq!((added.created, added.layer_id), (50, load.layer()));
    let (store, workspace) = (&fixture.store, fixture.workspace_id);
    assert_eq!(store.all_layers(workspace).await.unwrap(), []);
    for key in [LayerKey::Id(load.layer()), LayerKey::parse("lots")] {
        assert_eq!(store.layer(workspace, &key).await.unwrap(), None);
        assert_eq!(store.features(workspace, &key, 0, 10).await.unwrap().len(), 0);
        let query = FeatureQuery { limit: 10, ..FeatureQuery::default() };
        assert!(store.find_features(workspace, &key, &query).await.unwrap().is_none());
        let geometries = fixture.geometries(Some("lots"), &points(1));
        let geometries = groma_store::NewGeometries { layer: Some(key), ..geometries };
        let rejected = domain_error(fixture.try_post(geometries).await).0;
        assert_eq!(rejected.to_string(), "layer does not exist in this workspace");
    }
    assert_eq!(store.layer_revision(workspace, load.layer()).await.unwrap(), None);
    let tile = TileId::new(0, 0, 0).unwrap();
    assert!(store.tile(workspace, load.layer(), tile).await.unwrap().is_none());
    assert!(store.geometry(workspace, added.geometries[0].id).await.unwrap().is_none());
    assert_eq!(store.geometries_of_folder(workspace, folder, 10).await.unwrap().len(), 0);
    assert_eq!(store.count_geometries_of_folder(workspace, folder).await.unwrap(), 0);
    assert_eq!(fixture.find(Kind::Folder, "in").await["bbox"], Value::Null);
    assert_eq!(actions(&fixture, mark).await, []);
    // Another layer of the folder does not bring in its features either.
    fixture.post_into("in", &points(1)).await;
    assert_eq!(store.geometries_of_folder(workspace, folder, 10).await.unwrap().len(), 1);
    let deleted = fixture.features("submissions").await[0].id;
    store.delete_geometry(workspace, fixture.actor, deleted, fixture.tick()).await.unwrap();
    assert_eq!(fixture.find(Kind::Folder, "in").await["bbox"], Value::Null);
    publish(&fixture, &load).await.unwrap();
    assert_eq!(fixture.features("lots").await.len(), 50);
    assert_eq!(store.count_geometries_of_folder(workspace, folder).await.unwrap(), 50);
    assert_eq!(fixture.find(Kind::Folder, "in").await["bbox"], json!([0.001, 48.0, 0.05, 48.0]));
    assert!(store.tile(workspace, load.layer(), tile).await.unwrap().is_some());
}

async fn published_layer_is_like_any_other(fixture: Fixture) {
    let mut generator = FeatureGenerator::new(11);
    let mut bodies: Vec<Value> = (0..5).map(|_| generator.collection(60)).collect();
    // A file has each id once.
    let mut ids = HashSet::new();
    for feature in bodies.iter_mut().flat_map(|body| body["features"].as_array_mut().unwrap()) {
        if let Some(id) = feature.get("id").map(Value::to_string)
            && !ids.insert(id)
        {
            feature.as_object_mut().unwrap().remove("id");
        }
    }
    let load = begin(&fixture, "Loaded").await.unwrap();
    fixture
        .store
        .create_layer(
            fixture.workspace_id,
            fixture.actor,
            NewLayer::named("Posted"),
            fixture.tick(),
        )
        .await
        .unwrap();
    for body in &bodies {
        let loaded = add(&fixture, &load, body).await.unwrap();
        let posted = fixture.try_post(fixture.geometries(Some("posted"), body)).await.unwrap();
        assert_eq!((loaded.created, loaded.updated), (posted.created, posted.updated));
    }
    let layer = publish(&fixture, &load).await.unwrap();
    assert_eq!((layer.order, layer.created_at), (0, fixture.now()));
    let (loaded, posted) = (fixture.layer("loaded").await, fixture.layer("posted").await);
    assert_eq!(loaded, layer);
    assert_eq!(reported_stats(&loaded), reported_stats(&posted));
    assert_eq!(reported_stats(&loaded), expected_stats(&fixture.features("loaded").await));
    for zoom in [0, 6, 12] {
        let tile = tile_at((2.35, 48.85), zoom);
        let features = async |layer: &Layer| {
            let tile = mvt::decode(&fixture.tile(layer.id, tile).await).unwrap();
            format!("{:?}", tile.features)
        };
        assert_eq!(features(&loaded).await, features(&posted).await);
    }
    let more = fixture.try_post(fixture.geometries(Some("loaded"), &bodies[0])).await.unwrap();
    assert!(more.unchanged > 0, "{more:?}");
}

async fn id_that_comes_again_is_rejected(fixture: Fixture) {
    let load = begin(&fixture, "Lots").await.unwrap();
    add(&fixture, &load, &points(3)).await.unwrap();
    let rejected = domain_error(add(&fixture, &load, &numbered(3..=5)).await).0.to_string();
    assert!(rejected.contains("for a second time"), "{rejected}");
    add(&fixture, &load, &numbered(4..=5)).await.unwrap();
    assert_eq!(publish(&fixture, &load).await.unwrap().counts.total(), 5);
}

async fn events_of_a_published_layer_come_once(fixture: Fixture) {
    let mark = fixture.audit_position().await;
    let load = begin(&fixture, "Lots").await.unwrap();
    add(&fixture, &load, &points(3)).await.unwrap();
    add(&fixture, &load, &numbered(4..=4)).await.unwrap();
    publish(&fixture, &load).await.unwrap();
    let entries = actions(&fixture, mark).await;
    let mut expected = vec!["layer.created", "geometries.posted", "layer.created"];
    expected.extend(["geometry.created"; 4]);
    assert_eq!(names(&entries), expected);
    let document: Value = serde_json::from_str(entries[2].after.as_ref().unwrap()).unwrap();
    assert_eq!(document["featureCount"], 4);
    assert!(domain_error(publish(&fixture, &load).await).0.to_string().contains("was deleted"));
    assert_eq!(actions(&fixture, mark).await.len(), entries.len());
}

async fn layer_with_many_features_is_one_event(fixture: Fixture) {
    for (count, event) in [(1_000, "geometry.created"), (1_001, "layer.updated")] {
        let mark = fixture.audit_position().await;
        let load = begin(&fixture, &format!("Lots {count}")).await.unwrap();
        add(&fixture, &load, &points(600)).await.unwrap();
        add(&fixture, &load, &numbered(601..=count)).await.unwrap();
        let layer = publish(&fixture, &load).await.unwrap();
        let entries = actions(&fixture, mark).await;
        let last = entries.last().unwrap();
        assert_eq!(last.action, event);
        if event == "layer.updated" {
            let change: Value = serde_json::from_str(last.after.as_ref().unwrap()).unwrap();
            let expected = json!({ "id": layer.id, "revision": layer.revision, "created": 1_001,
                "updated": 0, "deleted": 0, "bbox": [0.001, 48.0, 1.001, 48.0] });
            assert_eq!((change, entries.len()), (expected, 4));
        } else {
            assert_eq!(entries.len(), 1_003);
        }
    }
}

async fn dead_load_is_deleted_and_cannot_go_on(fixture: Fixture) {
    let dead = begin(&fixture, "Lots").await.unwrap();
    add(&fixture, &dead, &points(50)).await.unwrap();
    fixture.advance(TOO_LONG);
    let alive = begin(&fixture, "Lots").await.unwrap();
    add(&fixture, &alive, &points(60)).await.unwrap();
    fixture.store.delete_dead_layer_loads(fixture.tick()).await.unwrap();
    let message =
        "layer was deleted, because the import had paused for more than ten minutes".to_owned();
    let added = domain_error(add(&fixture, &dead, &points(1)).await).0;
    assert_eq!(added.to_string(), message);
    assert_eq!(domain_error(publish(&fixture, &dead).await).0.to_string(), message);
    // The other import of the same name goes on; each batch renews its lease.
    fixture.advance(TOO_LONG / 2);
    add(&fixture, &alive, &numbered(61..=70)).await.unwrap();
    fixture.advance(TOO_LONG / 2);
    fixture.store.delete_dead_layer_loads(fixture.tick()).await.unwrap();
    publish(&fixture, &alive).await.unwrap();
    assert_eq!(fixture.features("lots").await.len(), 70);
    // What is published stays.
    fixture.advance(TOO_LONG);
    fixture.store.delete_dead_layer_loads(fixture.tick()).await.unwrap();
    fixture.store.discard_layer_load(&alive).await.unwrap();
    assert_eq!(fixture.features("lots").await.len(), 70);
}

async fn slug_that_was_taken_during_the_load_is_rejected(fixture: Fixture) {
    let [first, second] =
        [begin(&fixture, "Lots").await.unwrap(), begin(&fixture, "Lots").await.unwrap()];
    add(&fixture, &first, &points(3)).await.unwrap();
    add(&fixture, &second, &points(5)).await.unwrap();
    publish(&fixture, &second).await.unwrap();
    let mark = fixture.audit_position().await;
    let taken = domain_error(publish(&fixture, &first).await).0;
    assert_eq!(taken.to_string(), "name gives the slug `lots`, which is already in use");
    fixture.store.discard_layer_load(&first).await.unwrap();
    assert_eq!(fixture.features("lots").await.len(), 5);
    assert_eq!(actions(&fixture, mark).await, []);
}

async fn deleted_folder_fails_the_load(fixture: Fixture) {
    fixture.seed_folder().await;
    let load = begin_in(&fixture, "Lots", Some("in")).await.unwrap();
    add(&fixture, &load, &points(3)).await.unwrap();
    fixture.delete(Kind::Folder, "in").await;
    let gone = domain_error(publish(&fixture, &load).await).0;
    assert_eq!(gone.to_string(), "folder does not exist in this workspace");
    assert_eq!(fixture.store.all_layers(fixture.workspace_id).await.unwrap(), []);
}

async fn only_admins_can_load_layers(fixture: Fixture) {
    let editor = fixture.member(Role::Editor).await;
    let needs = DomainError::Forbidden { required_role: Role::Admin };
    assert_eq!(domain_error(begin(&editor, "Lots").await).0, needs);
    let admin = fixture.member(Role::Admin).await;
    let load = begin(&admin, "Lots").await.unwrap();
    add(&admin, &load, &points(1)).await.unwrap();
    publish(&admin, &load).await.unwrap();
}

async fn deleting_a_workspace_deletes_its_loads(fixture: Fixture) {
    let neighbour = fixture.new_workspace("Next door").await;
    let load = begin(&neighbour, "Lots").await.unwrap();
    add(&neighbour, &load, &points(3)).await.unwrap();
    let deleted = fixture.store.delete_workspace(
        neighbour.workspace_id,
        groma_store::Actor::Operator,
        fixture.tick(),
    );
    deleted.await.unwrap();
    assert!(publish(&neighbour, &load).await.is_err());
}
