//! Replacing and deleting single geometries: statistics and tiles follow.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error},
    on_both_engines,
    sample_geometries::{FeatureGenerator, expected_stats, reported_stats, shape},
};
use groma_domain::{
    DomainError, GeometryId, Kind, Role,
    layer::{LayerCrs, LayerEdit, LayerKey},
};
use groma_geo::{
    geojson::{self, Options},
    grid::TileId,
};
use groma_store::{AuditEntry, FeatureSpool, GeometryEdit, LayerFeature, NewGeometries};
use groma_testkit::mvt;
use serde_json::{Value, json};

on_both_engines! {
    layer_statistics_and_tiles_follow_random_edits
    geometry_is_found_by_its_id_and_by_its_tile_feature_id
    folder_box_follows_its_geometries
    split_and_join_are_one_change
    only_authorized_roles_can_change_geometries_and_layers
}

fn spool(feature: &Value) -> FeatureSpool {
    let mut spool = FeatureSpool::default();
    let take = |feature| spool.push(&feature);
    geojson::read(feature.to_string().as_bytes(), &Options::default(), take).unwrap();
    spool
}

fn edit(workspace: &TestWorkspace, id: GeometryId, feature: &Value) -> GeometryEdit {
    GeometryEdit {
        workspace: workspace.workspace_id,
        actor: workspace.actor,
        now: workspace.tick(),
        id,
        folder: None,
        feature: spool(feature),
        parts: FeatureSpool::default(),
        joined: None,
    }
}

fn written(feature: &LayerFeature) -> Value {
    let mut text = Vec::new();
    let geometry = shape(feature).map_or(Value::Null, |shape| {
        geojson::write_geometry(&shape, &mut text);
        serde_json::from_slice(&text).unwrap()
    });
    let properties: Value = serde_json::from_str(&feature.properties).unwrap();
    json!({ "type": "Feature", "geometry": geometry, "properties": properties })
}

/// The properties of the features in a tile, sorted.
async fn features_in(workspace: &TestWorkspace, tile: TileId) -> Vec<String> {
    let layer = workspace.layer("submissions").await.id;
    let bytes = workspace.tile(layer, tile).await;
    let features = mvt::decode(&bytes).map(|layer| layer.features).unwrap_or_default();
    let mut features: Vec<_> = features.iter().map(|one| format!("{one:?}")).collect();
    features.sort();
    features
}

async fn layer_statistics_and_tiles_follow_random_edits(fixture: Fixture) {
    for seed in [3, 4] {
        let workspace = fixture.new_workspace(&format!("Story {seed}")).await;
        let mut generator = FeatureGenerator::new(seed);
        for _ in 0..4 {
            workspace.post(&generator.collection(40)).await;
        }
        let mut random = fastrand::Rng::with_seed(seed);
        for step in 0..40 {
            let features = workspace.features("submissions").await;
            let Some(one) = random.choice(&features) else { break };
            let before = workspace.layer("submissions").await.revision;
            if random.bool() {
                let body = generator.collection(1);
                let feature = &body["features"][0];
                workspace.store.replace_geometry(edit(&workspace, one.id, feature)).await.unwrap();
                let (_, now) = workspace
                    .store
                    .geometry(workspace.workspace_id, one.id)
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!((now.position, &now.external_id), (one.position, &one.external_id));
            } else {
                let deleted = workspace.store.delete_geometry(
                    workspace.workspace_id,
                    workspace.actor,
                    one.id,
                    workspace.tick(),
                );
                deleted.await.unwrap();
                assert!(
                    workspace
                        .store
                        .geometry(workspace.workspace_id, one.id)
                        .await
                        .unwrap()
                        .is_none()
                );
            }
            let (layer, left) =
                (workspace.layer("submissions").await, workspace.features("submissions").await);
            assert_eq!(reported_stats(&layer), expected_stats(&left), "story {seed}, step {step}");
            assert_eq!(layer.revision, before + 1);
        }
        // A new layer with the remaining features has the same tiles.
        let fresh = fixture.new_workspace(&format!("Afresh {seed}")).await;
        let left = workspace.features("submissions").await;
        let last = left.last().expect("a remaining feature").position;
        let nothing = json!({ "type": "Feature", "geometry": null, "properties": null });
        let numbered = (1..=last).map(|seq| {
            left.iter().find(|feature| feature.position == seq).map_or(nothing.clone(), written)
        });
        let numbered: Vec<Value> = numbered.collect();
        fresh.post(&json!({ "type": "FeatureCollection", "features": numbered })).await;
        for (z, x, y) in [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 2, 1), (3, 4, 2), (5, 16, 11)] {
            let tile = TileId::new(z, x, y).unwrap();
            assert_eq!(
                features_in(&workspace, tile).await,
                features_in(&fresh, tile).await,
                "{z}/{x}/{y}"
            );
        }
    }
}

fn point(x: f64) -> Value {
    json!({ "type": "Feature", "id": format!("p{x}"), "properties": { "x": x },
        "geometry": { "type": "Point", "coordinates": [x, 1] } })
}

async fn geometry_is_found_by_its_id_and_by_its_tile_feature_id(fixture: Fixture) {
    let posted = fixture.post(&point(5.0)).await;
    let id = posted.geometries[0].id;
    let (layer, feature) = fixture.store.geometry(fixture.workspace_id, id).await.unwrap().unwrap();
    assert_eq!((layer.id, feature.id), (posted.layer_id, id));
    let tile = TileId::new(0, 0, 0).unwrap();
    let drawn = mvt::decode(&fixture.tile(posted.layer_id, tile).await).unwrap();
    let number = drawn.features[0].id.unwrap();
    let found = fixture
        .store
        .geometry_by_tile_id(fixture.workspace_id, posted.layer_id, number)
        .await
        .unwrap();
    assert_eq!(found.unwrap().1.id, id);
    for (layer, number) in [(posted.layer_id, 0), (posted.layer_id, number + 400)] {
        assert!(
            fixture
                .store
                .geometry_by_tile_id(fixture.workspace_id, layer, number)
                .await
                .unwrap()
                .is_none()
        );
    }
    let branch = fixture.new_workspace("Branch").await;
    assert!(fixture.store.geometry(branch.workspace_id, id).await.unwrap().is_none());
    let elsewhere =
        fixture.store.geometry_by_tile_id(branch.workspace_id, posted.layer_id, number).await;
    assert!(elsewhere.unwrap().is_none());
    // It is deleted with its layer, also while the layer is still being cleaned up.
    let key = groma_domain::layer::LayerKey::Id(posted.layer_id);
    fixture
        .store
        .delete_layer(fixture.workspace_id, fixture.actor, key, fixture.tick())
        .await
        .unwrap();
    assert!(fixture.store.geometry(fixture.workspace_id, id).await.unwrap().is_none());
    // A geometry that is deleted and posted again is a new one.
    let again = fixture.post(&point(5.0)).await.geometries[0].id;
    fixture
        .store
        .delete_geometry(fixture.workspace_id, fixture.actor, again, fixture.tick())
        .await
        .unwrap();
    let new = fixture.post(&point(5.0)).await;
    assert_eq!(new.created, 1);
    assert_ne!(new.geometries[0].id, again);
}

async fn folder_box_follows_its_geometries(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "reference": "f" , "name": "x" })).await;
    let one = fixture.post_into("f", &point(1.0)).await.geometries[0].id;
    let two = fixture.post_into("f", &point(9.0)).await.geometries[0].id;
    let bbox = async || fixture.find(Kind::Folder, "f").await["bbox"].clone();
    assert_eq!(bbox().await, json!([1.0, 1.0, 9.0, 1.0]));
    let position = fixture.audit_position().await;
    fixture.store.replace_geometry(edit(&fixture, two, &point(4.0))).await.unwrap();
    assert_eq!(bbox().await, json!([1.0, 1.0, 4.0, 1.0]));
    let id = crate::fixture::text(&fixture.find(Kind::Folder, "f").await, "id").parse().unwrap();
    let held = fixture.store.geometries_of_folder(fixture.workspace_id, id, 10).await.unwrap();
    assert_eq!(held.iter().map(|(_, feature)| feature.id).collect::<Vec<_>>(), [one, two]);
    for (deleted, left) in [(one, json!([4.0, 1.0, 4.0, 1.0])), (two, Value::Null)] {
        fixture
            .store
            .delete_geometry(fixture.workspace_id, fixture.actor, deleted, fixture.tick())
            .await
            .unwrap();
        assert_eq!(bbox().await, left);
    }
    assert_eq!(fixture.events(position).await, ["folder.updated f"; 3]);
    let actions: Vec<_> =
        fixture.audit_log(position).await.into_iter().map(|row| row.action).collect();
    assert_eq!(actions.iter().filter(|action| *action == "geometry.deleted").count(), 2);
}

async fn only_authorized_roles_can_change_geometries_and_layers(fixture: Fixture) {
    let id = fixture.post(&point(1.0)).await.geometries[0].id;
    let (viewer, editor) = (fixture.member(Role::Viewer).await, fixture.member(Role::Editor).await);
    let error =
        domain_error(fixture.store.replace_geometry(edit(&viewer, id, &point(2.0))).await).0;
    assert_eq!(error, DomainError::Forbidden { required_role: Role::Editor });
    let deleted =
        fixture.store.delete_geometry(fixture.workspace_id, viewer.actor, id, fixture.tick()).await;
    assert_eq!(domain_error(deleted).0, DomainError::Forbidden { required_role: Role::Editor });
    let change = |name: &str, color: &str| LayerEdit {
        name: name.to_owned(),
        description: Some(" about ".to_owned()),
        attribution: None,
        crs: LayerCrs::CRS84,
        color: color.to_owned(),
    };
    let rename = async |actor, edit| {
        let key = LayerKey::Slug("submissions".to_owned());
        fixture.store.change_layer(fixture.workspace_id, actor, key, edit, fixture.tick()).await
    };
    assert_eq!(
        domain_error(rename(editor.actor, change("Plots", "#010203")).await).0,
        DomainError::Forbidden { required_role: Role::Admin }
    );
    assert!(
        matches!(domain_error(rename(fixture.actor, change(" ", "red")).await).0, DomainError::Invalid(p) if p.len() == 2)
    );
    let before = fixture.layer("submissions").await;
    let layer = rename(fixture.actor, change("Plots", "#AABBCC")).await.unwrap();
    assert_eq!(
        (layer.name.as_str(), layer.slug.as_str(), layer.color.as_str()),
        ("Plots", "submissions", "#aabbcc")
    );
    assert_eq!(
        (layer.description.as_deref(), layer.revision),
        (Some("about"), before.revision + 1)
    );
    let again = rename(fixture.actor, change("Plots", "#aabbcc")).await.unwrap();
    assert_eq!(again.revision, layer.revision, "nothing changed");
}

async fn split_and_join_are_one_change(fixture: Fixture) {
    let square = |x: f64, width: f64| {
        let ring = [[x, 47.0], [x + width, 47.0], [x + width, 48.0], [x, 48.0], [x, 47.0]];
        json!({
            "type": "Feature", "properties": { "name": "Plot" },
            "geometry": { "type": "Polygon", "coordinates": [ring] },
        })
    };
    fixture.seed_folder().await;
    let post = NewGeometries {
        mode: groma_store::PostMode::default(),
        workspace: fixture.workspace_id,
        actor: fixture.actor,
        now: fixture.tick(),
        layer: None,
        folder: None,
        assignment: Some("in".to_owned()),
        features: spool(&square(2.0, 2.0)),
        request: None,
    };
    fixture.store.post_geometries(post).await.unwrap();
    let whole = fixture.features("submissions").await.remove(0);
    let revision = fixture.layer("submissions").await.revision;
    let position = fixture.audit_position().await;

    let split = GeometryEdit {
        parts: spool(&square(3.0, 1.0)),
        ..edit(&fixture, whole.id, &square(2.0, 1.0))
    };
    let result = fixture.store.replace_geometry(split.clone()).await.unwrap();
    assert_eq!((result.received, result.updated, result.created), (2, 1, 1));
    assert_eq!(result.geometries[0].id, whole.id);
    let parts = fixture.features("submissions").await;
    assert_eq!(parts.len(), 2);
    for part in &parts {
        assert_eq!((part.folder, part.assignment), (whole.folder, whole.assignment));
    }
    assert_eq!(fixture.layer("submissions").await.revision, revision + 1);
    let actions = |entries: Vec<AuditEntry>| -> Vec<String> {
        let entries = entries.into_iter().map(|entry| entry.action.to_string());
        entries.filter(|action| action.starts_with("geometries.")).collect()
    };
    assert_eq!(actions(fixture.audit_log(position).await), ["geometries.posted"]);
    assert_eq!(reported_stats(&fixture.layer("submissions").await), expected_stats(&parts));

    // A join that is rejected changes nothing.
    let [first, second] = [parts[0].id, parts[1].id];
    let join =
        |joined| GeometryEdit { joined: Some(joined), ..edit(&fixture, first, &square(2.0, 2.0)) };
    let unknown = GeometryId::new(fixture.now(), [7; 10]);
    for wrong in [first, unknown] {
        domain_error(fixture.store.replace_geometry(join(wrong)).await);
    }
    assert_eq!(written(&fixture.features("submissions").await[0]), written(&parts[0]));
    let viewer = fixture.member(Role::Viewer).await;
    let forbidden = GeometryEdit { actor: viewer.actor, ..join(second) };
    domain_error(fixture.store.replace_geometry(forbidden).await);

    let position = fixture.audit_position().await;
    fixture.store.replace_geometry(join(second)).await.unwrap();
    let joined = fixture.features("submissions").await;
    assert_eq!(joined.len(), 1);
    assert_eq!(shape(&joined[0]).unwrap().bbox(), shape(&whole).unwrap().bbox());
    assert_eq!(fixture.layer("submissions").await.revision, revision + 2);
    assert_eq!(reported_stats(&fixture.layer("submissions").await), expected_stats(&joined));
    let logged = actions(fixture.audit_log(position).await);
    assert_eq!(logged, ["geometries.deleted", "geometries.posted"]);
}
