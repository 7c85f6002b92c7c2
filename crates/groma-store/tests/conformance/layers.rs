//! Layers: made, named, listed, deleted.

use crate::{
    Office,
    office::{Desk, a_moment, refusal},
    on_both_engines,
};
use groma_domain::{ListParams, Refusal, Role, layer::LayerKey};
use groma_geo::grid::TileId;
use groma_store::{Actor, Error};
use serde_json::{Value, json};

on_both_engines! {
    layers_are_listed_in_the_order_they_were_made
    a_slug_belongs_to_one_layer
    a_name_gives_a_slug_or_is_refused
    layers_are_for_admins
    a_layer_is_found_by_id_and_by_slug_in_its_workspace_only
    a_deleted_layer_is_gone_with_all_it_held
    a_deleted_workspace_takes_its_layers_with_it
    what_happens_to_layers_is_on_the_audit_trail
    another_opening_sees_a_layer_and_its_features_after_a_moment
}

async fn create(desk: &Desk, name: &str) -> Result<groma_domain::Layer, Error> {
    desk.store.create_layer(desk.workspace, desk.actor, name.to_owned(), desk.tick()).await
}

async fn remove(desk: &Desk, key: &str) -> Result<groma_domain::Layer, Error> {
    desk.store.delete_layer(desk.workspace, desk.actor, LayerKey::parse(key), desk.tick()).await
}

async fn names(desk: &Desk, query: &[(&str, &str)]) -> (Vec<String>, u64) {
    let params = ListParams::parse(query.iter().copied()).unwrap();
    let render = |layer: &groma_domain::Layer, body: &mut Vec<u8>| {
        serde_json::to_writer(body, &layer.name).unwrap();
    };
    let page = desk.store.layers(desk.workspace, &params, b"[".to_vec(), render).await.unwrap();
    let mut body = page.body;
    body.push(b']');
    (serde_json::from_slice(&body).unwrap(), page.total)
}

fn point(id: u32) -> Value {
    json!({ "type": "Feature", "id": id, "properties": {}, "geometry": { "type": "Point", "coordinates": [1, 2] } })
}

async fn layers_are_listed_in_the_order_they_were_made(office: Office) {
    let made = ["Zones", "Égouts", "Points", "egout nord"];
    for name in made {
        create(&office, name).await.unwrap();
    }
    assert_eq!(names(&office, &[]).await, (made.map(str::to_owned).to_vec(), 4));
    assert_eq!(names(&office, &[("limit", "2"), ("page", "2")]).await.0, made[2..]);
    assert_eq!(
        names(&office, &[("limit", "3"), ("page", "2")]).await,
        (vec![made[3].to_owned()], 4)
    );
    assert_eq!(names(&office, &[("page", "9")]).await, (vec![], 4));
    assert_eq!(names(&office, &[("term", "EGOUT")]).await.0, [made[1], made[3]]);
    assert_eq!(
        names(&office, &[("term", "egout"), ("limit", "1")]).await,
        (vec![made[1].to_owned()], 2)
    );
    let colors: Vec<_> = office.store.all_layers(office.workspace).await.unwrap();
    assert_ne!(colors[0].color, colors[1].color);
}

async fn a_slug_belongs_to_one_layer(office: Office) {
    create(&office, "Chêne vert").await.unwrap();
    for name in ["Chêne vert", "chene VERT", "Chene-vert"] {
        let message = refusal(create(&office, name).await).0.to_string();
        assert_eq!(message, "name gives the slug `chene-vert`, which is taken");
    }
    // Next door it is free, and here too once it is gone.
    let neighbour = office.neighbour("Next door").await;
    create(&neighbour, "Chêne vert").await.unwrap();
    remove(&office, "chene-vert").await.unwrap();
    create(&office, "Chêne vert").await.unwrap();
}

async fn a_name_gives_a_slug_or_is_refused(office: Office) {
    for (name, slug) in [
        ("Parcelles – Chêne, 2e tranche", "parcelles-chene-2e-tranche"),
        ("  a  ", "a"),
        ("Straße", "strasse"),
        ("Nº 1", "no-1"),
    ] {
        let layer = create(&office, name).await.unwrap();
        assert_eq!((layer.slug.as_str(), layer.name.as_str()), (slug, name.trim()));
    }
    let long = "x".repeat(201);
    for name in ["", "  ", "!!", "漢字", "a\nb", "0190e5a0-0000-7000-8000-000000000000", &long] {
        match refusal(create(&office, name).await).0 {
            Refusal::Invalid(problems) => assert_eq!(problems[0].field, "name", "{name}"),
            other => panic!("{name}: {other}"),
        }
    }
    assert_eq!(names(&office, &[]).await.1, 4);
}

async fn layers_are_for_admins(office: Office) {
    create(&office, "Parcels").await.unwrap();
    for role in [Role::Viewer, Role::Editor] {
        let desk = office.member(role).await;
        let needs = Refusal::Forbidden { needs: Role::Admin };
        assert_eq!(refusal(create(&desk, "Other").await).0, needs);
        assert_eq!(refusal(remove(&desk, "parcels").await).0, needs);
    }
    let admin = office.member(Role::Admin).await;
    create(&admin, "Other").await.unwrap();
    remove(&admin, "parcels").await.unwrap();
    assert_eq!(names(&office, &[]).await.0, ["Other"]);
}

async fn a_layer_is_found_by_id_and_by_slug_in_its_workspace_only(office: Office) {
    let neighbour = office.neighbour("Next door").await;
    let layer = create(&office, "Parcels").await.unwrap();
    office.post(&point(1)).await;
    let tile = TileId::new(0, 0, 0).unwrap();
    for key in [layer.id.to_string(), "parcels".to_owned()] {
        let key = LayerKey::parse(&key);
        let found = office.store.layer(office.workspace, &key).await.unwrap();
        assert_eq!(found.as_ref(), Some(&layer));
        assert_eq!(office.store.layer(neighbour.workspace, &key).await.unwrap(), None);
    }
    let revision =
        async |desk: &Desk| desk.store.layer_revision(desk.workspace, layer.id).await.unwrap();
    assert_eq!((revision(&office).await, revision(&neighbour).await), (Some(1), None));
    assert!(office.store.tile(office.workspace, layer.id, tile).await.unwrap().is_some());
    assert!(neighbour.store.tile(neighbour.workspace, layer.id, tile).await.unwrap().is_none());
    let message = refusal(remove(&neighbour, &layer.id.to_string()).await).0.to_string();
    assert_eq!(message, format!("layer `{}` not found", layer.id));
}

async fn a_deleted_layer_is_gone_with_all_it_held(office: Office) {
    let kept = create(&office, "Kept").await.unwrap();
    let gone = create(&office, "Gone").await.unwrap();
    let features: Vec<_> = (0..2500).map(point).collect();
    let body = json!({ "type": "FeatureCollection", "features": features });
    for layer in ["kept", "gone"] {
        office.try_post(office.geometries(Some(layer), &body)).await.unwrap();
    }
    let tile = TileId::new(0, 0, 0).unwrap();
    assert!(!office.tile(gone.id, tile).await.is_empty());
    remove(&office, "gone").await.unwrap();
    assert_eq!(names(&office, &[]).await.0, ["Kept"]);
    assert_eq!(office.store.layer_revision(office.workspace, gone.id).await.unwrap(), None);
    assert!(office.store.tile(office.workspace, gone.id, tile).await.unwrap().is_none());
    assert_eq!(office.features("gone").await.len(), 0);
    assert!(matches!(refusal(remove(&office, "gone").await).0, Refusal::NotFound { .. }));
    // One of the same name starts from nothing, and the other is as it was.
    let again = create(&office, "Gone").await.unwrap();
    assert_ne!(again.id, gone.id);
    let posted = office.try_post(office.geometries(Some("gone"), &point(7))).await.unwrap();
    assert_eq!((posted.created, office.features("gone").await.len()), (1, 1));
    assert_eq!(office.features("kept").await.len(), 2500);
    assert!(!office.tile(kept.id, tile).await.is_empty());
}

async fn a_deleted_workspace_takes_its_layers_with_it(office: Office) {
    let neighbour = office.neighbour("Next door").await;
    let layer = neighbour.post(&point(1)).await.layer_id;
    office.post(&point(1)).await;
    office.store.delete_workspace(neighbour.workspace, Actor::Operator).await.unwrap();
    assert_eq!(neighbour.store.layer_revision(neighbour.workspace, layer).await.unwrap(), None);
    assert_eq!(neighbour.features("submissions").await.len(), 0);
    assert_eq!(office.features("submissions").await.len(), 1);
}

async fn what_happens_to_layers_is_on_the_audit_trail(office: Office) {
    let mark = office.mark().await;
    let layer = create(&office, "Parcels").await.unwrap();
    remove(&office, "parcels").await.unwrap();
    let trail = office.trail(mark).await;
    let lines: Vec<_> = trail.iter().map(|row| (row.action.as_str(), row.subject)).collect();
    assert_eq!(lines, [("layer.created", layer.id.0), ("layer.deleted", layer.id.0)]);
    assert!(trail[0].before.is_none() && trail[0].after.is_some());
    assert!(trail[1].before.is_some() && trail[1].after.is_none());
}

async fn another_opening_sees_a_layer_and_its_features_after_a_moment(office: Office) {
    let other = office.reopened().await;
    let tile = TileId::new(0, 0, 0).unwrap();
    for number in 1..=5_u64 {
        let (writer, reader): (&Desk, &Desk) =
            if number % 2 == 0 { (&office, &other) } else { (&other, &office) };
        let layer = writer.post(&point(number as u32)).await.layer_id;
        a_moment().await;
        assert_eq!(reader.layer("submissions").await.counts.total(), number);
        assert_eq!(reader.features("submissions").await.len() as u64, number);
        assert_eq!(reader.tile(layer, tile).await, writer.tile(layer, tile).await);
    }
}
