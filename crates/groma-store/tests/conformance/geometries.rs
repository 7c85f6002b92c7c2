//! Geometries: kept exact with all that is counted from them, whatever comes and in whatever order.

use crate::{
    Office,
    atlas::{Surveyor, counted, recount, shape},
    office::{Desk, delete, new, refusal},
    on_both_engines,
};
use groma_domain::{Kind, Refusal, Role, TokenId, geometry::Posted, layer::LayerKey};
use groma_geo::{Geometry, Position};
use groma_store::{NewGeometries, Outcome, ReplayKey, Replayable};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

on_both_engines! {
    what_a_layer_counts_is_what_its_features_say
    features_are_kept_as_they_came_in_the_order_they_came
    a_replaced_feature_keeps_its_place_and_its_id
    a_folder_is_updated_once_when_its_box_changes_and_else_not
    a_folder_that_goes_leaves_its_geometries
    a_refused_post_leaves_nothing
    viewers_do_not_post
    many_posts_at_once_all_land
    posts_and_changes_of_records_do_not_stand_in_each_others_way
    an_answer_is_given_again_for_a_day
    posts_are_on_the_audit_trail
}

fn point(id: u32, x: f64, y: f64) -> Value {
    json!({ "type": "Feature", "id": id, "properties": { "id": id },
        "geometry": { "type": "Point", "coordinates": [x, y] } })
}

fn collection(features: &[Value]) -> Value {
    json!({ "type": "FeatureCollection", "features": features })
}

/// Received, created, updated, unchanged.
fn counts(posted: &Posted) -> [u64; 4] {
    [posted.received, posted.created, posted.updated, posted.unchanged]
}

async fn what_a_layer_counts_is_what_its_features_say(office: Office) {
    for seed in [1, 2, 102] {
        let desk = office.neighbour(&format!("Story {seed}")).await;
        let mut surveyor = Surveyor::new(seed);
        let mut revision = 1;
        for step in 0..30 {
            let body = surveyor.collection(if step % 10 == 9 { 120 } else { 12 });
            let posted = desk.post(&body).await;
            let received = body["features"].as_array().unwrap().len() as u64;
            assert_eq!(posted.received, received);
            assert_eq!(posted.created + posted.updated + posted.unchanged, received);
            revision += u64::from(posted.created + posted.updated > 0);
            let (layer, features) =
                (desk.layer("submissions").await, desk.features("submissions").await);
            assert_eq!(counted(&layer), recount(&features), "story {seed}, step {step}");
            assert_eq!(layer.revision, revision);
            // The same again changes nothing.
            if step % 5 == 0 {
                let ids = |body: &Value| {
                    let features = body["features"].as_array().unwrap().clone();
                    collection(
                        &features.into_iter().filter(|f| f.get("id").is_some()).collect::<Vec<_>>(),
                    )
                };
                let again = desk.post(&ids(&body)).await;
                assert_eq!(counts(&again), [again.received, 0, 0, again.received]);
                assert_eq!(desk.layer("submissions").await, layer);
            }
        }
    }
}

async fn features_are_kept_as_they_came_in_the_order_they_came(office: Office) {
    let line = json!({ "type": "LineString", "coordinates": [[1.123456789, 2.0, 3.5], [-4.25, 5.0, 6.0]] });
    let body = collection(&[
        json!({ "type": "Feature", "id": "b", "geometry": line, "properties": { "z": 1.50, "a": [1e5, "é", null], "n": null } }),
        json!({ "type": "Feature", "geometry": null, "properties": null }),
        json!({ "type": "Feature", "id": 7, "geometry": { "type": "Point", "coordinates": [1, 2] }, "properties": {} }),
    ]);
    let posted = office.post(&body).await;
    let features = office.features("submissions").await;
    let ids: Vec<_> = features.iter().map(|feature| feature.id).collect();
    assert_eq!(ids, posted.geometries.iter().map(|one| one.id).collect::<Vec<_>>());
    assert_eq!(features.iter().map(|f| f.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let names: Vec<_> = features.iter().map(|feature| feature.external_id.as_deref()).collect();
    assert_eq!(names, [Some("b"), None, Some("7")]);
    let at = |x, y, z| Position { x, y, z };
    let kept =
        Geometry::LineString(vec![at(1.123456789, 2.0, Some(3.5)), at(-4.25, 5.0, Some(6.0))]);
    assert_eq!(shape(&features[0]), Some(kept));
    assert_eq!(
        (shape(&features[1]), shape(&features[2])),
        (None, Some(Geometry::Point(at(1.0, 2.0, None))))
    );
    // Numbers and the order of keys are as they were written.
    assert_eq!(features[0].properties, body["features"][0]["properties"].to_string());
    assert_eq!(features[1].properties, "{}");
}

async fn a_replaced_feature_keeps_its_place_and_its_id(office: Office) {
    office.post(&collection(&[point(1, 1.0, 1.0), point(2, 2.0, 2.0), point(3, 3.0, 3.0)])).await;
    let before = office.features("submissions").await;
    let posted = office.post(&collection(&[point(4, 4.0, 4.0), point(2, 9.0, 9.0)])).await;
    assert_eq!(counts(&posted), [2, 1, 1, 0]);
    let after = office.features("submissions").await;
    assert_eq!(after.len(), 4);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.seq, before.id), (after.seq, after.id));
    }
    assert_eq!(posted.geometries[1].id, before[1].id);
    assert_eq!(shape(&after[1]).unwrap().bbox().unwrap().0, [9.0; 4]);
}

async fn a_folder_is_updated_once_when_its_box_changes_and_else_not(office: Office) {
    office.furnish().await;
    office.create(Kind::Folder, json!({ "reference": "other", "name": "Other" })).await;
    let events = async |mark: i64| office.events(mark).await;
    let bbox = async |folder: &str| office.shown(Kind::Folder, folder).await["bbox"].clone();

    let mark = office.mark().await;
    office.post_into("in", &collection(&[point(1, 1.0, 1.0), point(2, 2.0, 2.0)])).await;
    assert_eq!(events(mark).await, ["folder.updated in"]);
    assert_eq!(bbox("in").await, json!([1.0, 1.0, 2.0, 2.0]));
    let updated = office.trail(mark).await;
    let updated = updated.iter().find(|row| row.action == "folder.updated").unwrap();
    let data: Value = serde_json::from_str(updated.after.as_ref().unwrap()).unwrap();
    assert_eq!(data, office.shown(Kind::Folder, "in").await, "the event is what a reader gets");

    let mark = office.mark().await;
    office.post_into("in", &point(3, 1.5, 1.5)).await;
    office.post_into("in", &point(1, 1.0, 1.0)).await;
    office.post(&collection(&[])).await;
    assert_eq!(events(mark).await, [] as [&str; 0]);

    let mark = office.mark().await;
    office.post_into("other", &point(2, 2.0, 2.0)).await;
    let mut both = events(mark).await;
    both.sort();
    assert_eq!(both, ["folder.updated in", "folder.updated other"]);
    assert_eq!(
        (bbox("in").await, bbox("other").await),
        (json!([1.0, 1.0, 1.5, 1.5]), json!([2.0, 2.0, 2.0, 2.0]))
    );

    // Leaving and coming back in one body is no change.
    let mark = office.mark().await;
    office.post(&json!({ "type": "Feature", "id": 2, "geometry": null, "properties": {} })).await;
    assert_eq!(
        (events(mark).await, bbox("other").await),
        (vec!["folder.updated other".to_owned()], Value::Null)
    );
}

async fn a_folder_that_goes_leaves_its_geometries(office: Office) {
    office.furnish().await;
    let mut geometries = office.geometries(None, &point(1, 1.0, 1.0));
    geometries.assignment = Some("in".to_owned());
    office.try_post(geometries).await.unwrap();
    let linked = office.features("submissions").await.remove(0);
    assert!(linked.folder.is_some() && linked.assignment.is_some());
    let layer = office.layer("submissions").await;
    let mark = office.mark().await;
    office.delete(Kind::Folder, "in").await;
    assert!(office.events(mark).await.iter().all(|event| event.contains(".deleted ")));
    let left = office.features("submissions").await.remove(0);
    assert_eq!((left.id, left.folder, left.assignment), (linked.id, None, None));
    assert_eq!(left.geometry, linked.geometry);
    assert_eq!(counted(&office.layer("submissions").await), counted(&layer));
}

async fn a_refused_post_leaves_nothing(office: Office) {
    office.furnish().await;
    let mark = office.mark().await;
    let body = collection(&[point(1, 1.0, 1.0)]);
    let with = |change: fn(&mut NewGeometries)| {
        let mut geometries = office.geometries(None, &body);
        change(&mut geometries);
        geometries
    };
    for (geometries, field) in [
        (with(|new| new.layer = Some(LayerKey::parse("nowhere"))), "layer"),
        (with(|new| new.folder = Some("nowhere".into())), "folder"),
        (with(|new| new.assignment = Some("nowhere".into())), "assignment"),
    ] {
        match refusal(office.try_post(geometries).await).0 {
            Refusal::Invalid(problems) => assert_eq!(problems[0].field, field),
            other => panic!("{field}: {other}"),
        }
    }
    assert_eq!(office.trail(mark).await, []);
    assert_eq!(office.store.all_layers(office.workspace).await.unwrap(), []);
}

async fn viewers_do_not_post(office: Office) {
    for (role, may) in
        [(Role::Viewer, false), (Role::Editor, true), (Role::Admin, true), (Role::Owner, true)]
    {
        let desk = office.member(role).await;
        let outcome = desk.try_post(desk.geometries(None, &point(1, 1.0, 1.0))).await;
        match outcome {
            Ok(_) => assert!(may, "{role}"),
            Err(_) if may => panic!("{role} is refused"),
            Err(error) => {
                assert_eq!(
                    refusal(Err::<(), _>(error)).0,
                    Refusal::Forbidden { needs: Role::Editor }
                );
            }
        }
    }
}

async fn many_posts_at_once_all_land(office: Office) {
    let post = |number: u32| {
        let desk: Desk = (*office).clone();
        tokio::spawn(async move {
            let x = f64::from(number);
            // Everyone adds one of their own and moves the one that all share.
            let body = collection(&[point(1000 + number, x, 1.0), point(1, x, 2.0)]);
            desk.post(&body).await
        })
    };
    let tasks: Vec<_> = (0..40).map(post).collect();
    let mut layers = BTreeSet::new();
    let mut created = 0;
    for task in tasks {
        let posted = task.await.unwrap();
        layers.insert(posted.layer_id);
        created += posted.created;
    }
    assert_eq!((layers.len(), created), (1, 41), "one layer, and the shared one made once");
    let (layer, features) =
        (office.layer("submissions").await, office.features("submissions").await);
    assert_eq!(features.len(), 41);
    assert_eq!(counted(&layer), recount(&features));
    assert_eq!(layer.revision, 41);
}

async fn posts_and_changes_of_records_do_not_stand_in_each_others_way(office: Office) {
    office.furnish().await;
    let work = |number: u32| {
        let desk: Desk = (*office).clone();
        tokio::spawn(async move {
            if number.is_multiple_of(2) {
                desk.post_into("in", &point(number, f64::from(number), 0.0)).await;
            } else {
                let name = format!("Folder {number}");
                desk.done(new(Kind::Folder, json!({ "name": name }))).await;
                desk.update(Kind::Folder, "in", json!({ "description": name })).await;
            }
        })
    };
    let tasks: Vec<_> = (0..30).map(work).collect();
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(30), task).await.expect("no deadlock").unwrap();
    }
    assert_eq!(office.shown(Kind::Folder, "in").await["bbox"], json!([0.0, 0.0, 28.0, 0.0]));
    assert_eq!(office.list(Kind::Folder, &[]).await.1, 16);
    office.done(delete(Kind::Folder, "in")).await;
    assert_eq!(office.layer("submissions").await.counts.total(), 15);
}

async fn an_answer_is_given_again_for_a_day(office: Office) {
    let body = point(1, 1.0, 1.0);
    let request = |path: &str, token: u128, hash: u8, hours: i64| {
        let mut geometries = office.geometries(None, &body);
        let token = TokenId(uuid::Uuid::from_u128(token));
        let key = ReplayKey { token, path: path.to_owned(), key: "key".to_owned() };
        geometries.request = Some(Replayable { key, body_hash: [hash; 16] });
        let later = geometries.now.as_millis() + hours * 3_600_000;
        geometries.now = groma_domain::Timestamp::from_millis(later);
        office.store.post_geometries(geometries)
    };
    let is_done = |outcome: Outcome| match outcome {
        Outcome::Posted(posted) => Some(serde_json::to_vec(&posted).unwrap()),
        Outcome::Replayed(_) => None,
    };
    let first = is_done(request("/p", 1, 1, 0).await.unwrap()).expect("the first of all");
    for hours in [0, 1, 23] {
        match request("/p", 1, 1, hours).await.unwrap() {
            Outcome::Replayed(answer) => assert_eq!(answer, first),
            Outcome::Posted(_) => panic!("done again after {hours} hours"),
        }
        match refusal(request("/p", 1, 2, hours).await).0 {
            Refusal::Invalid(problems) => assert_eq!(problems[0].field, "Idempotency-Key"),
            other => panic!("{other}"),
        }
    }
    assert!(is_done(request("/other", 1, 1, 1).await.unwrap()).is_some(), "another path");
    assert!(is_done(request("/p", 2, 1, 1).await.unwrap()).is_some(), "another token");
    // A day later the key is free, for this body and for another.
    assert!(is_done(request("/p", 1, 2, 25).await.unwrap()).is_some());
    assert!(is_done(request("/p", 1, 2, 26).await.unwrap()).is_none());
}

async fn posts_are_on_the_audit_trail(office: Office) {
    let mark = office.mark().await;
    let posted = office.post(&collection(&[point(1, 1.0, 1.0), point(2, 1.0, 1.0)])).await;
    let trail = office.trail(mark).await;
    let row = trail.iter().find(|row| row.action == "geometries.posted").expect("a line");
    assert_eq!((row.subject, row.at), (posted.layer_id.0, office.now()));
    let mark = office.mark().await;
    office.post(&collection(&[point(1, 1.0, 1.0)])).await;
    assert_eq!(office.trail(mark).await, [], "nothing changed");
}
