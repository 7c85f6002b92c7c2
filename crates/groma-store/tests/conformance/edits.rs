//! One geometry at a time: replaced or deleted, everything that is counted and drawn follows.

use crate::{
    Office,
    atlas::{Surveyor, counted, recount, shape},
    mvt,
    office::{Desk, refusal},
    on_both_engines,
};
use groma_domain::{GeometryId, Kind, DomainError, Role};
use groma_geo::{
    geojson::{self, Options},
    grid::TileId,
};
use groma_store::{ExportedFeature, GeometryEdit, LayerChange, FeatureSpool};
use serde_json::{Value, json};

on_both_engines! {
    whatever_is_replaced_or_deleted_the_layer_counts_and_draws_what_is_left
    a_geometry_is_found_by_its_id_and_by_its_number_in_tiles
    a_folders_box_follows_its_geometries
    only_those_who_may_change_geometries_and_layers
}

fn spool(feature: &Value) -> FeatureSpool {
    let mut spool = FeatureSpool::default();
    let take = |feature| spool.push(&feature);
    geojson::read(feature.to_string().as_bytes(), &Options::default(), take).unwrap();
    spool
}

fn edit(desk: &Desk, id: GeometryId, feature: &Value) -> GeometryEdit {
    GeometryEdit {
        workspace: desk.workspace,
        actor: desk.actor,
        now: desk.tick(),
        id,
        folder: None,
        feature: spool(feature),
    }
}

fn written(feature: &ExportedFeature) -> Value {
    let mut text = Vec::new();
    let geometry = shape(feature).map_or(Value::Null, |shape| {
        geojson::write_geometry(&shape, &mut text);
        serde_json::from_slice(&text).unwrap()
    });
    let properties: Value = serde_json::from_str(&feature.properties).unwrap();
    json!({ "type": "Feature", "geometry": geometry, "properties": properties })
}

/// What a tile shows, in some order.
async fn seen(desk: &Desk, tile: TileId) -> Vec<String> {
    let layer = desk.layer("submissions").await.id;
    let bytes = desk.tile(layer, tile).await;
    let features = mvt::read(&bytes).map(|layer| layer.features).unwrap_or_default();
    let mut shown: Vec<_> = features.iter().map(|one| format!("{one:?}")).collect();
    shown.sort();
    shown
}

async fn whatever_is_replaced_or_deleted_the_layer_counts_and_draws_what_is_left(office: Office) {
    for seed in [3, 4] {
        let desk = office.neighbour(&format!("Story {seed}")).await;
        let mut surveyor = Surveyor::new(seed);
        for _ in 0..4 {
            desk.post(&surveyor.collection(40)).await;
        }
        let mut random = fastrand::Rng::with_seed(seed);
        for step in 0..40 {
            let features = desk.features("submissions").await;
            let Some(one) = random.choice(&features) else { break };
            let before = desk.layer("submissions").await.revision;
            if random.bool() {
                let body = surveyor.collection(1);
                let feature = &body["features"][0];
                desk.store.replace_geometry(edit(&desk, one.id, feature)).await.unwrap();
                let (_, now) = desk.store.geometry(desk.workspace, one.id).await.unwrap().unwrap();
                assert_eq!((now.position, &now.external_id), (one.position, &one.external_id));
            } else {
                let gone =
                    desk.store.delete_geometry(desk.workspace, desk.actor, one.id, desk.tick());
                gone.await.unwrap();
                assert!(desk.store.geometry(desk.workspace, one.id).await.unwrap().is_none());
            }
            let (layer, left) =
                (desk.layer("submissions").await, desk.features("submissions").await);
            assert_eq!(counted(&layer), recount(&left), "story {seed}, step {step}");
            assert_eq!(layer.revision, before + 1);
        }
        // A fresh layer with what is left, each under its number, has the same tiles.
        let fresh = office.neighbour(&format!("Afresh {seed}")).await;
        let left = desk.features("submissions").await;
        let last = left.last().expect("something is left").position;
        let nothing = json!({ "type": "Feature", "geometry": null, "properties": null });
        let numbered = (1..=last).map(|seq| {
            left.iter().find(|feature| feature.position == seq).map_or(nothing.clone(), written)
        });
        let numbered: Vec<Value> = numbered.collect();
        fresh.post(&json!({ "type": "FeatureCollection", "features": numbered })).await;
        for (z, x, y) in [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 2, 1), (3, 4, 2), (5, 16, 11)] {
            let tile = TileId::new(z, x, y).unwrap();
            assert_eq!(seen(&desk, tile).await, seen(&fresh, tile).await, "{z}/{x}/{y}");
        }
    }
}

fn point(x: f64) -> Value {
    json!({ "type": "Feature", "id": format!("p{x}"), "properties": { "x": x },
        "geometry": { "type": "Point", "coordinates": [x, 1] } })
}

async fn a_geometry_is_found_by_its_id_and_by_its_number_in_tiles(office: Office) {
    let posted = office.post(&point(5.0)).await;
    let id = posted.geometries[0].id;
    let (layer, feature) = office.store.geometry(office.workspace, id).await.unwrap().unwrap();
    assert_eq!((layer.id, feature.id), (posted.layer_id, id));
    let tile = TileId::new(0, 0, 0).unwrap();
    let drawn = mvt::read(&office.tile(posted.layer_id, tile).await).unwrap();
    let number = drawn.features[0].id;
    let found =
        office.store.geometry_by_tile_id(office.workspace, posted.layer_id, number).await.unwrap();
    assert_eq!(found.unwrap().1.id, id);
    for (layer, number) in [(posted.layer_id, 0), (posted.layer_id, number + 400)] {
        assert!(
            office.store.geometry_by_tile_id(office.workspace, layer, number).await.unwrap().is_none()
        );
    }
    let branch = office.neighbour("Branch").await;
    assert!(office.store.geometry(branch.workspace, id).await.unwrap().is_none());
    let elsewhere = office.store.geometry_by_tile_id(branch.workspace, posted.layer_id, number).await;
    assert!(elsewhere.unwrap().is_none());
    // Gone with its layer, also while the rest of it is being cleared away.
    let key = groma_domain::layer::LayerKey::Id(posted.layer_id);
    office.store.delete_layer(office.workspace, office.actor, key, office.tick()).await.unwrap();
    assert!(office.store.geometry(office.workspace, id).await.unwrap().is_none());
    // Deleted and posted again with its own id, it is a new one.
    let again = office.post(&point(5.0)).await.geometries[0].id;
    office
        .store
        .delete_geometry(office.workspace, office.actor, again, office.tick())
        .await
        .unwrap();
    let new = office.post(&point(5.0)).await;
    assert_eq!(new.created, 1);
    assert_ne!(new.geometries[0].id, again);
}

async fn a_folders_box_follows_its_geometries(office: Office) {
    office.create(Kind::Folder, json!({ "reference": "f" , "name": "x" })).await;
    let one = office.post_into("f", &point(1.0)).await.geometries[0].id;
    let two = office.post_into("f", &point(9.0)).await.geometries[0].id;
    let bbox = async || office.shown(Kind::Folder, "f").await["bbox"].clone();
    assert_eq!(bbox().await, json!([1.0, 1.0, 9.0, 1.0]));
    let mark = office.mark().await;
    office.store.replace_geometry(edit(&office, two, &point(4.0))).await.unwrap();
    assert_eq!(bbox().await, json!([1.0, 1.0, 4.0, 1.0]));
    let id = crate::office::text(&office.shown(Kind::Folder, "f").await, "id").parse().unwrap();
    let held = office.store.geometries_of_folder(office.workspace, id, 10).await.unwrap();
    assert_eq!(held.iter().map(|(_, feature)| feature.id).collect::<Vec<_>>(), [one, two]);
    let count =
        async || office.store.count_geometries_of_folder(office.workspace, id).await.unwrap();
    assert_eq!(count().await, 2);
    for (gone, left) in [(one, json!([4.0, 1.0, 4.0, 1.0])), (two, Value::Null)] {
        office
            .store
            .delete_geometry(office.workspace, office.actor, gone, office.tick())
            .await
            .unwrap();
        assert_eq!(bbox().await, left);
    }
    assert_eq!(office.events(mark).await, ["folder.updated f"; 3]);
    let actions: Vec<_> = office.trail(mark).await.into_iter().map(|row| row.action).collect();
    assert_eq!(actions.iter().filter(|action| *action == "geometry.deleted").count(), 2);
}

async fn only_those_who_may_change_geometries_and_layers(office: Office) {
    let id = office.post(&point(1.0)).await.geometries[0].id;
    let (viewer, editor) = (office.member(Role::Viewer).await, office.member(Role::Editor).await);
    let refused = refusal(office.store.replace_geometry(edit(&viewer, id, &point(2.0))).await).0;
    assert_eq!(refused, DomainError::Forbidden { required_role: Role::Editor });
    let deleted =
        office.store.delete_geometry(office.workspace, viewer.actor, id, office.tick()).await;
    assert_eq!(refusal(deleted).0, DomainError::Forbidden { required_role: Role::Editor });
    let change = |name: &str, color: &str| LayerChange {
        layer: groma_domain::layer::LayerKey::Slug("submissions".to_owned()),
        name: name.to_owned(),
        description: Some(" about ".to_owned()),
        color: color.to_owned(),
    };
    let rename = async |actor, change| {
        office.store.change_layer(office.workspace, actor, change, office.tick()).await
    };
    assert_eq!(
        refusal(rename(editor.actor, change("Plots", "#010203")).await).0,
        DomainError::Forbidden { required_role: Role::Admin }
    );
    assert!(
        matches!(refusal(rename(office.actor, change(" ", "red")).await).0, DomainError::Invalid(p) if p.len() == 2)
    );
    let before = office.layer("submissions").await;
    let layer = rename(office.actor, change("Plots", "#AABBCC")).await.unwrap();
    assert_eq!(
        (layer.name.as_str(), layer.slug.as_str(), layer.color.as_str()),
        ("Plots", "submissions", "#aabbcc")
    );
    assert_eq!(
        (layer.description.as_deref(), layer.revision),
        (Some("about"), before.revision + 1)
    );
    let again = rename(office.actor, change("Plots", "#aabbcc")).await.unwrap();
    assert_eq!(again.revision, layer.revision, "nothing changed");
}
