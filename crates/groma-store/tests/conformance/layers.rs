//! Layers: creating, naming, listing, deleting.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error, wait_for_other_connections},
    on_both_engines,
};
use groma_domain::{DomainError, ListParams, Role, layer::LayerKey};
use groma_geo::grid::TileId;
use groma_store::{Actor, Error, NewLayer};
use serde_json::{Value, json};

on_both_engines! {
    layers_are_listed_in_creation_order
    slug_is_unique
    name_without_a_slug_is_rejected
    only_admins_can_change_layers
    layer_is_found_by_id_and_slug_in_its_workspace_only
    deleting_a_layer_deletes_its_features
    deleting_a_workspace_deletes_its_layers
    layer_changes_are_in_the_audit_log
    another_connection_sees_a_new_layer_and_its_features
}

async fn create(workspace: &TestWorkspace, name: &str) -> Result<groma_domain::Layer, Error> {
    workspace
        .store
        .create_layer(
            workspace.workspace_id,
            workspace.actor,
            NewLayer::named(name),
            workspace.tick(),
        )
        .await
}

async fn remove(workspace: &TestWorkspace, key: &str) -> Result<groma_domain::Layer, Error> {
    workspace
        .store
        .delete_layer(
            workspace.workspace_id,
            workspace.actor,
            LayerKey::parse(key),
            workspace.tick(),
        )
        .await
}

async fn names(workspace: &TestWorkspace, query: &[(&str, &str)]) -> (Vec<String>, u64) {
    let params = ListParams::parse(query.iter().copied()).unwrap();
    let render = |layer: &groma_domain::Layer| layer.name.clone().into_bytes();
    let page = workspace.store.layers(workspace.workspace_id, &params, render).await.unwrap();
    let names = page.documents.into_iter().map(|name| String::from_utf8(name).unwrap());
    (names.collect(), page.total)
}

fn point(id: u32) -> Value {
    json!({ "type": "Feature", "id": id, "properties": {}, "geometry": { "type": "Point", "coordinates": [1, 2] } })
}

async fn layers_are_listed_in_creation_order(fixture: Fixture) {
    let created = ["Zones", "Égouts", "Points", "egout nord"];
    for name in created {
        create(&fixture, name).await.unwrap();
    }
    assert_eq!(names(&fixture, &[]).await, (created.map(str::to_owned).to_vec(), 4));
    assert_eq!(names(&fixture, &[("limit", "2"), ("page", "2")]).await.0, created[2..]);
    assert_eq!(
        names(&fixture, &[("limit", "3"), ("page", "2")]).await,
        (vec![created[3].to_owned()], 4)
    );
    assert_eq!(names(&fixture, &[("page", "9")]).await, (vec![], 4));
    assert_eq!(names(&fixture, &[("term", "EGOUT")]).await.0, [created[1], created[3]]);
    assert_eq!(
        names(&fixture, &[("term", "egout"), ("limit", "1")]).await,
        (vec![created[1].to_owned()], 2)
    );
    let colors: Vec<_> = fixture.store.all_layers(fixture.workspace_id).await.unwrap();
    assert_ne!(colors[0].color, colors[1].color);
}

async fn slug_is_unique(fixture: Fixture) {
    create(&fixture, "Chêne vert").await.unwrap();
    for name in ["Chêne vert", "chene VERT", "Chene-vert"] {
        let message = domain_error(create(&fixture, name).await).0.to_string();
        assert_eq!(message, "name gives the slug `chene-vert`, which is already in use");
    }
    // It is free in another workspace, and here after the layer is deleted.
    let neighbour = fixture.new_workspace("Next door").await;
    create(&neighbour, "Chêne vert").await.unwrap();
    remove(&fixture, "chene-vert").await.unwrap();
    create(&fixture, "Chêne vert").await.unwrap();
}

async fn name_without_a_slug_is_rejected(fixture: Fixture) {
    for (name, slug) in [
        ("Parcelles – Chêne, 2e tranche", "parcelles-chene-2e-tranche"),
        ("  a  ", "a"),
        ("Straße", "strasse"),
        ("Nº 1", "no-1"),
    ] {
        let layer = create(&fixture, name).await.unwrap();
        assert_eq!((layer.slug.as_str(), layer.name.as_str()), (slug, name.trim()));
    }
    let long = "x".repeat(201);
    for name in ["", "  ", "!!", "漢字", "a\nb", "0190e5a0-0000-7000-8000-000000000000", &long] {
        match domain_error(create(&fixture, name).await).0 {
            DomainError::Invalid(problems) => assert_eq!(problems[0].field, "name", "{name}"),
            other => panic!("{name}: {other}"),
        }
    }
    assert_eq!(names(&fixture, &[]).await.1, 4);
}

async fn only_admins_can_change_layers(fixture: Fixture) {
    create(&fixture, "Parcels").await.unwrap();
    for role in [Role::Viewer, Role::Editor] {
        let workspace = fixture.member(role).await;
        let needs = DomainError::Forbidden { required_role: Role::Admin };
        assert_eq!(domain_error(create(&workspace, "Other").await).0, needs);
        assert_eq!(domain_error(remove(&workspace, "parcels").await).0, needs);
    }
    let admin = fixture.member(Role::Admin).await;
    create(&admin, "Other").await.unwrap();
    remove(&admin, "parcels").await.unwrap();
    assert_eq!(names(&fixture, &[]).await.0, ["Other"]);
}

async fn layer_is_found_by_id_and_slug_in_its_workspace_only(fixture: Fixture) {
    let neighbour = fixture.new_workspace("Next door").await;
    let layer = create(&fixture, "Parcels").await.unwrap();
    fixture.post(&point(1)).await;
    let tile = TileId::new(0, 0, 0).unwrap();
    for key in [layer.id.to_string(), "parcels".to_owned()] {
        let key = LayerKey::parse(&key);
        let found = fixture.store.layer(fixture.workspace_id, &key).await.unwrap();
        assert_eq!(found.as_ref(), Some(&layer));
        assert_eq!(fixture.store.layer(neighbour.workspace_id, &key).await.unwrap(), None);
    }
    let revision = async |workspace: &TestWorkspace| {
        workspace.store.layer_revision(workspace.workspace_id, layer.id).await.unwrap()
    };
    assert_eq!((revision(&fixture).await, revision(&neighbour).await), (Some(1), None));
    assert!(fixture.store.tile(fixture.workspace_id, layer.id, tile).await.unwrap().is_some());
    assert!(neighbour.store.tile(neighbour.workspace_id, layer.id, tile).await.unwrap().is_none());
    let message = domain_error(remove(&neighbour, &layer.id.to_string()).await).0.to_string();
    assert_eq!(message, format!("layer `{}` not found", layer.id));
}

async fn deleting_a_layer_deletes_its_features(fixture: Fixture) {
    let kept = create(&fixture, "Kept").await.unwrap();
    let deleted = create(&fixture, "Gone").await.unwrap();
    let features: Vec<_> = (0..2500).map(point).collect();
    let body = json!({ "type": "FeatureCollection", "features": features });
    for layer in ["kept", "gone"] {
        fixture.try_post(fixture.geometries(Some(layer), &body)).await.unwrap();
    }
    let tile = TileId::new(0, 0, 0).unwrap();
    assert!(!fixture.tile(deleted.id, tile).await.is_empty());
    remove(&fixture, "gone").await.unwrap();
    assert_eq!(names(&fixture, &[]).await.0, ["Kept"]);
    assert_eq!(fixture.store.layer_revision(fixture.workspace_id, deleted.id).await.unwrap(), None);
    assert!(fixture.store.tile(fixture.workspace_id, deleted.id, tile).await.unwrap().is_none());
    assert_eq!(fixture.features("gone").await.len(), 0);
    assert!(matches!(domain_error(remove(&fixture, "gone").await).0, DomainError::NotFound { .. }));
    // A new layer with the same name is empty, and other layers are unchanged.
    let again = create(&fixture, "Gone").await.unwrap();
    assert_ne!(again.id, deleted.id);
    let posted = fixture.try_post(fixture.geometries(Some("gone"), &point(7))).await.unwrap();
    assert_eq!((posted.created, fixture.features("gone").await.len()), (1, 1));
    assert_eq!(fixture.features("kept").await.len(), 2500);
    assert!(!fixture.tile(kept.id, tile).await.is_empty());
}

async fn deleting_a_workspace_deletes_its_layers(fixture: Fixture) {
    let neighbour = fixture.new_workspace("Next door").await;
    let layer = neighbour.post(&point(1)).await.layer_id;
    fixture.post(&point(1)).await;
    fixture
        .store
        .delete_workspace(neighbour.workspace_id, Actor::Operator, fixture.now())
        .await
        .unwrap();
    assert_eq!(neighbour.store.layer_revision(neighbour.workspace_id, layer).await.unwrap(), None);
    assert_eq!(neighbour.features("submissions").await.len(), 0);
    assert_eq!(fixture.features("submissions").await.len(), 1);
}

async fn layer_changes_are_in_the_audit_log(fixture: Fixture) {
    let mark = fixture.audit_position().await;
    let layer = create(&fixture, "Parcels").await.unwrap();
    remove(&fixture, "parcels").await.unwrap();
    let entries = fixture.audit_log(mark).await;
    let lines: Vec<_> = entries.iter().map(|row| (row.action.as_str(), row.subject)).collect();
    let (created, deleted) = (("layer.created", layer.id.0), ("layer.deleted", layer.id.0));
    // Each is an entry for members, and an event.
    assert_eq!(lines, [created, created, deleted, deleted]);
    assert!(entries[..2].iter().all(|row| row.before.is_none() && row.after.is_some()));
    assert!(entries[2..].iter().all(|row| row.before.is_some() && row.after.is_none()));
}

async fn another_connection_sees_a_new_layer_and_its_features(fixture: Fixture) {
    let other = fixture.reopen().await;
    let tile = TileId::new(0, 0, 0).unwrap();
    for number in 1..=5_u64 {
        let (writer, reader): (&TestWorkspace, &TestWorkspace) =
            if number % 2 == 0 { (&fixture, &other) } else { (&other, &fixture) };
        let layer = writer.post(&point(number as u32)).await.layer_id;
        wait_for_other_connections().await;
        assert_eq!(reader.layer("submissions").await.counts.total(), number);
        assert_eq!(reader.features("submissions").await.len() as u64, number);
        assert_eq!(reader.tile(layer, tile).await, writer.tile(layer, tile).await);
    }
}
