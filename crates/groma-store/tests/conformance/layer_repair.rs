//! Repair of the features of a layer: what is safe is repaired through the path of every change, the rest stays.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error},
    on_both_engines,
    sample_geometries::{expected_stats, reported_stats, shape},
};
use groma_domain::{
    DomainError, Role,
    layer::{LayerCrs, LayerKey, LayerSetup},
};
use groma_geo::{
    Crs, Geometry,
    geojson::{self, Options},
    wkb,
};
use groma_store::{
    FeatureSpool, LayerFeature, LayerRepair, NewGeometries, NewLayer, PostMode, RepairOutcome,
};
use serde_json::{Value, json};

on_both_engines! {
    safe_problems_are_repaired_and_nothing_else_changes
    untouched_positions_keep_their_exact_coordinates
    copies_with_other_properties_or_an_external_id_stay
    repair_requires_the_right_and_an_unlocked_layer
}

fn polygon(id: impl Into<Value>, ring: &Value) -> Value {
    let id: Value = id.into();
    let mut feature = json!({ "type": "Feature", "properties": { "use": "wood" },
        "geometry": { "type": "Polygon", "coordinates": [ring] } });
    if !id.is_null() {
        feature["id"] = id;
    }
    feature
}

fn collection(features: &[Value]) -> Value {
    json!({ "type": "FeatureCollection", "features": features })
}

fn repair(workspace: &TestWorkspace, layer: &str) -> LayerRepair {
    LayerRepair {
        workspace: workspace.workspace_id,
        actor: workspace.actor,
        layer: LayerKey::Slug(layer.to_owned()),
        tolerance: 0.05,
        is_dry_run: false,
        now: workspace.tick(),
    }
}

async fn run(workspace: &TestWorkspace, layer: &str) -> RepairOutcome {
    let repair = repair(workspace, layer);
    let planned = workspace.store.repair_layer(LayerRepair { is_dry_run: true, ..repair.clone() });
    let planned = planned.await.unwrap();
    let outcome = workspace.store.repair_layer(repair).await.unwrap();
    assert_eq!(planned, outcome);
    outcome
}

const SQUARE: [[f64; 2]; 5] = [[0.0, 0.0], [0.001, 0.0], [0.001, 0.001], [0.0, 0.001], [0.0, 0.0]];

async fn safe_problems_are_repaired_and_nothing_else_changes(fixture: Fixture) {
    let bow_tie = json!([[1.0, 0.0], [1.001, 0.001], [1.001, 0.0], [1.0, 0.001], [1.0, 0.0]]);
    let repeated = json!([[2.0, 0.0], [2.001, 0.0], [2.001, 0.0], [2.001, 0.001], [2.0, 0.0]]);
    let overlapping = json!([[0.0, 0.0], [0.0005, 0.0], [0.0005, 0.0005], [0.0, 0.0]]);
    fixture
        .post(&collection(&[
            polygon("square", &json!(SQUARE)),
            polygon("bow tie", &bow_tie),
            polygon("repeated", &repeated),
            polygon("overlapping", &overlapping),
            polygon(Value::Null, &json!(SQUARE)),
        ]))
        .await;
    let before = fixture.features("submissions").await;
    let position = fixture.audit_position().await;
    let revision = fixture.layer("submissions").await.revision;
    assert_eq!(run(&fixture, "submissions").await, RepairOutcome { repaired: 2, deleted: 1 });
    let after = fixture.features("submissions").await;
    let names = |features: &[LayerFeature]| -> Vec<_> {
        features
            .iter()
            .map(|one| (one.id, one.external_id.clone(), one.properties.clone()))
            .collect()
    };
    assert_eq!(names(&after), names(&before)[..4]);
    assert_eq!(shape(&after[0]), shape(&before[0]));
    assert_eq!(shape(&after[3]), shape(&before[3]));
    assert!(matches!(shape(&after[1]), Some(Geometry::MultiPolygon(parts)) if parts.len() == 2));
    assert!(matches!(shape(&after[2]), Some(Geometry::Polygon(rings)) if rings[0].len() == 4));
    let layer = fixture.layer("submissions").await;
    assert_eq!(reported_stats(&layer), expected_stats(&after));
    assert_eq!(layer.revision, revision + 1);
    let entries = fixture.audit_log(position).await;
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert!(
        actions.contains(&"geometries.posted") && actions.contains(&"geometry.deleted"),
        "{actions:?}"
    );
    // Nothing is left to do.
    assert_eq!(run(&fixture, "submissions").await, RepairOutcome::default());
    assert_eq!(fixture.layer("submissions").await, layer);
}

async fn untouched_positions_keep_their_exact_coordinates(fixture: Fixture) {
    let (workspace, now) = (fixture.workspace_id, fixture.tick());
    let crs = LayerCrs::parse("EPSG:2154").unwrap();
    let layer = NewLayer { name: "Lots".to_owned(), crs };
    fixture.store.create_layer(workspace, fixture.actor, layer, now).await.unwrap();
    // Digits that a transformation there and back would not give.
    let ring = json!([
        [652381.3271234, 6862047.6111111, 12.5],
        [652400.1234567, 6862047.7654321, 12.5],
        [652400.1234567, 6862050.1, 12.5],
        [652406.1234567, 6862050.105, 12.5],
        [652400.1234567, 6862050.11, 12.5],
        [652400.9876543, 6862080.1234567, 12.5],
        [652381.3271234, 6862047.6111111, 12.5],
    ]);
    let mut features = FeatureSpool::default();
    let options = Options { crs: Crs::parse("EPSG:2154").unwrap(), ..Options::default() };
    let take = |feature| features.push(&feature);
    geojson::read(polygon("lot", &ring).to_string().as_bytes(), &options, take).unwrap();
    let post = NewGeometries {
        workspace,
        actor: fixture.actor,
        now: fixture.tick(),
        layer: Some(LayerKey::Slug("lots".to_owned())),
        folder: None,
        assignment: None,
        features,
        request: None,
        mode: PostMode::default(),
    };
    fixture.store.post_geometries(post).await.unwrap();
    assert_eq!(run(&fixture, "lots").await, RepairOutcome { repaired: 1, deleted: 0 });
    let features = fixture.features("lots").await;
    let exact = wkb::from_wkb(features[0].original.as_ref().unwrap()).unwrap();
    let mut expected = ring.as_array().unwrap().clone();
    // The tip of the spike.
    expected.remove(3);
    let mut positions = Vec::new();
    exact.each_position(&mut |at| positions.push(json!([at.x, at.y, at.z])));
    assert_eq!(positions, expected);
}

async fn copies_with_other_properties_or_an_external_id_stay(fixture: Fixture) {
    let mut other = polygon(Value::Null, &json!(SQUARE));
    other["properties"]["use"] = json!("meadow");
    let mut reversed = SQUARE.to_vec();
    reversed.reverse();
    fixture
        .post(&collection(&[
            polygon(Value::Null, &json!(SQUARE)),
            other,
            polygon("known elsewhere", &json!(SQUARE)),
            polygon(Value::Null, &json!(reversed)),
        ]))
        .await;
    assert_eq!(run(&fixture, "submissions").await, RepairOutcome { repaired: 0, deleted: 1 });
    let left: Vec<_> = fixture.features("submissions").await;
    assert_eq!(left.iter().map(|feature| feature.position).collect::<Vec<_>>(), [1, 2, 3]);
}

async fn repair_requires_the_right_and_an_unlocked_layer(fixture: Fixture) {
    let square = json!(SQUARE);
    fixture
        .post(&collection(&[polygon(Value::Null, &square), polygon(Value::Null, &square)]))
        .await;
    let viewer = fixture.member(Role::Viewer).await;
    let rejected = fixture.store.repair_layer(repair(&viewer, "submissions")).await;
    assert!(matches!(domain_error(rejected).0, DomainError::Forbidden { .. }));
    let setup = LayerSetup { is_locked: Some(true), ..LayerSetup::default() };
    let key = LayerKey::Slug("submissions".to_owned());
    let (workspace, now) = (fixture.workspace_id, fixture.tick());
    fixture.store.set_up_layer(workspace, fixture.actor, key, setup, now).await.unwrap();
    assert!(fixture.store.repair_layer(repair(&fixture, "submissions")).await.is_err());
    assert_eq!(fixture.features("submissions").await.len(), 2);
    let nothing = fixture.store.repair_layer(repair(&fixture, "nothing")).await;
    assert!(matches!(domain_error(nothing).0, DomainError::Invalid(_)));
}
