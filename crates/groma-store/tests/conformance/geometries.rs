//! Geometries: they are stored exactly, and the statistics of their layer follow every change.

use crate::{
    Fixture,
    fixture::{TestWorkspace, delete, domain_error, new},
    on_both_engines,
    sample_geometries::{FeatureGenerator, expected_stats, reported_stats, shape},
};
use groma_domain::{DomainError, Kind, Role, TokenId, geometry::UploadResult, layer::LayerKey};
use groma_geo::{Geometry, Position};
use groma_store::{IdempotencyKey, IdempotentRequest, NewGeometries, PostOutcome};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

on_both_engines! {
    layer_statistics_match_its_features
    features_are_stored_exactly_and_in_order
    replaced_feature_keeps_its_position_and_id
    folder_is_updated_once_and_only_if_its_box_changes
    deleting_a_folder_keeps_its_geometries
    rejected_post_stores_nothing
    viewers_cannot_post
    concurrent_posts_are_all_stored
    concurrent_posts_and_changes_do_not_deadlock
    idempotent_response_is_kept_for_a_day
    posts_are_in_the_audit_log
}

fn point(id: u32, x: f64, y: f64) -> Value {
    json!({ "type": "Feature", "id": id, "properties": { "id": id },
        "geometry": { "type": "Point", "coordinates": [x, y] } })
}

fn collection(features: &[Value]) -> Value {
    json!({ "type": "FeatureCollection", "features": features })
}

/// The numbers of received, created, updated and unchanged features.
fn counts(posted: &UploadResult) -> [u64; 4] {
    [posted.received, posted.created, posted.updated, posted.unchanged]
}

async fn layer_statistics_match_its_features(fixture: Fixture) {
    for seed in [1, 2, 102] {
        let workspace = fixture.new_workspace(&format!("Story {seed}")).await;
        let mut generator = FeatureGenerator::new(seed);
        let mut revision = 1;
        for step in 0..30 {
            let body = generator.collection(if step % 10 == 9 { 120 } else { 12 });
            let posted = workspace.post(&body).await;
            let received = body["features"].as_array().unwrap().len() as u64;
            assert_eq!(posted.received, received);
            assert_eq!(posted.created + posted.updated + posted.unchanged, received);
            revision += u64::from(posted.created + posted.updated > 0);
            let (layer, features) =
                (workspace.layer("submissions").await, workspace.features("submissions").await);
            assert_eq!(
                reported_stats(&layer),
                expected_stats(&features),
                "story {seed}, step {step}"
            );
            assert_eq!(layer.revision, revision);
            // Posting the same again changes nothing.
            if step % 5 == 0 {
                let ids = |body: &Value| {
                    let features = body["features"].as_array().unwrap().clone();
                    collection(
                        &features.into_iter().filter(|f| f.get("id").is_some()).collect::<Vec<_>>(),
                    )
                };
                let again = workspace.post(&ids(&body)).await;
                assert_eq!(counts(&again), [again.received, 0, 0, again.received]);
                assert_eq!(workspace.layer("submissions").await, layer);
            }
        }
    }
}

async fn features_are_stored_exactly_and_in_order(fixture: Fixture) {
    let line = json!({ "type": "LineString", "coordinates": [[1.123456789, 2.0, 3.5], [-4.25, 5.0, 6.0]] });
    let body = collection(&[
        json!({ "type": "Feature", "id": "b", "geometry": line, "properties": { "z": 1.50, "a": [1e5, "é", null], "n": null } }),
        json!({ "type": "Feature", "geometry": null, "properties": null }),
        json!({ "type": "Feature", "id": 7, "geometry": { "type": "Point", "coordinates": [1, 2] }, "properties": {} }),
    ]);
    let posted = fixture.post(&body).await;
    let features = fixture.features("submissions").await;
    let ids: Vec<_> = features.iter().map(|feature| feature.id).collect();
    assert_eq!(ids, posted.geometries.iter().map(|one| one.id).collect::<Vec<_>>());
    assert_eq!(features.iter().map(|f| f.position).collect::<Vec<_>>(), [1, 2, 3]);
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
    // Numbers and the order of keys are kept.
    assert_eq!(features[0].properties, body["features"][0]["properties"].to_string());
    assert_eq!(features[1].properties, "{}");
}

async fn replaced_feature_keeps_its_position_and_id(fixture: Fixture) {
    fixture.post(&collection(&[point(1, 1.0, 1.0), point(2, 2.0, 2.0), point(3, 3.0, 3.0)])).await;
    let before = fixture.features("submissions").await;
    let posted = fixture.post(&collection(&[point(4, 4.0, 4.0), point(2, 9.0, 9.0)])).await;
    assert_eq!(counts(&posted), [2, 1, 1, 0]);
    let after = fixture.features("submissions").await;
    assert_eq!(after.len(), 4);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.position, before.id), (after.position, after.id));
    }
    assert_eq!(posted.geometries[1].id, before[1].id);
    assert_eq!(shape(&after[1]).unwrap().bbox().unwrap().0, [9.0; 4]);
}

async fn folder_is_updated_once_and_only_if_its_box_changes(fixture: Fixture) {
    fixture.seed_folder().await;
    fixture.create(Kind::Folder, json!({ "reference": "other", "name": "Other" })).await;
    let events = async |position: i64| fixture.events(position).await;
    let bbox = async |folder: &str| fixture.find(Kind::Folder, folder).await["bbox"].clone();

    let position = fixture.audit_position().await;
    fixture.post_into("in", &collection(&[point(1, 1.0, 1.0), point(2, 2.0, 2.0)])).await;
    assert_eq!(events(position).await, ["folder.updated in"]);
    assert_eq!(bbox("in").await, json!([1.0, 1.0, 2.0, 2.0]));
    let updated = fixture.audit_log(position).await;
    let updated = updated.iter().find(|row| row.action == "folder.updated").unwrap();
    let data: Value = serde_json::from_str(updated.after.as_ref().unwrap()).unwrap();
    assert_eq!(data, fixture.find(Kind::Folder, "in").await, "the event has the current document");

    let position = fixture.audit_position().await;
    fixture.post_into("in", &point(3, 1.5, 1.5)).await;
    fixture.post_into("in", &point(1, 1.0, 1.0)).await;
    fixture.post(&collection(&[])).await;
    assert_eq!(events(position).await, [] as [&str; 0]);

    let position = fixture.audit_position().await;
    fixture.post_into("other", &point(2, 2.0, 2.0)).await;
    let mut both = events(position).await;
    both.sort();
    assert_eq!(both, ["folder.updated in", "folder.updated other"]);
    assert_eq!(
        (bbox("in").await, bbox("other").await),
        (json!([1.0, 1.0, 1.5, 1.5]), json!([2.0, 2.0, 2.0, 2.0]))
    );

    // A geometry that leaves and returns in one body changes nothing.
    let position = fixture.audit_position().await;
    fixture.post(&json!({ "type": "Feature", "id": 2, "geometry": null, "properties": {} })).await;
    assert_eq!(
        (events(position).await, bbox("other").await),
        (vec!["folder.updated other".to_owned()], Value::Null)
    );
}

async fn deleting_a_folder_keeps_its_geometries(fixture: Fixture) {
    fixture.seed_folder().await;
    let mut geometries = fixture.geometries(None, &point(1, 1.0, 1.0));
    geometries.assignment = Some("in".to_owned());
    fixture.try_post(geometries).await.unwrap();
    let linked = fixture.features("submissions").await.remove(0);
    assert!(linked.folder.is_some() && linked.assignment.is_some());
    let layer = fixture.layer("submissions").await;
    let position = fixture.audit_position().await;
    fixture.delete(Kind::Folder, "in").await;
    assert!(fixture.events(position).await.iter().all(|event| event.contains(".deleted ")));
    let left = fixture.features("submissions").await.remove(0);
    assert_eq!((left.id, left.folder, left.assignment), (linked.id, None, None));
    assert_eq!(left.geometry, linked.geometry);
    assert_eq!(reported_stats(&fixture.layer("submissions").await), reported_stats(&layer));
}

async fn rejected_post_stores_nothing(fixture: Fixture) {
    fixture.seed_folder().await;
    let position = fixture.audit_position().await;
    let body = collection(&[point(1, 1.0, 1.0)]);
    let with = |change: fn(&mut NewGeometries)| {
        let mut geometries = fixture.geometries(None, &body);
        change(&mut geometries);
        geometries
    };
    for (geometries, field) in [
        (with(|new| new.layer = Some(LayerKey::parse("nowhere"))), "layer"),
        (with(|new| new.folder = Some("nowhere".into())), "folder"),
        (with(|new| new.assignment = Some("nowhere".into())), "assignment"),
    ] {
        match domain_error(fixture.try_post(geometries).await).0 {
            DomainError::Invalid(problems) => assert_eq!(problems[0].field, field),
            other => panic!("{field}: {other}"),
        }
    }
    assert_eq!(fixture.audit_log(position).await, []);
    assert_eq!(fixture.store.all_layers(fixture.workspace_id).await.unwrap(), []);
}

async fn viewers_cannot_post(fixture: Fixture) {
    for (role, may) in
        [(Role::Viewer, false), (Role::Editor, true), (Role::Admin, true), (Role::Owner, true)]
    {
        let workspace = fixture.member(role).await;
        let outcome = workspace.try_post(workspace.geometries(None, &point(1, 1.0, 1.0))).await;
        match outcome {
            Ok(_) => assert!(may, "{role}"),
            Err(_) if may => panic!("{role} was rejected"),
            Err(error) => {
                assert_eq!(
                    domain_error(Err::<(), _>(error)).0,
                    DomainError::Forbidden { required_role: Role::Editor }
                );
            }
        }
    }
}

async fn concurrent_posts_are_all_stored(fixture: Fixture) {
    let post = |number: u32| {
        let workspace: TestWorkspace = (*fixture).clone();
        tokio::spawn(async move {
            let x = f64::from(number);
            // Each post adds a feature and moves a shared one.
            let body = collection(&[point(1000 + number, x, 1.0), point(1, x, 2.0)]);
            workspace.post(&body).await
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
    assert_eq!((layers.len(), created), (1, 41), "one layer, and one shared feature");
    let (layer, features) =
        (fixture.layer("submissions").await, fixture.features("submissions").await);
    assert_eq!(features.len(), 41);
    assert_eq!(reported_stats(&layer), expected_stats(&features));
    assert_eq!(layer.revision, 41);
}

async fn concurrent_posts_and_changes_do_not_deadlock(fixture: Fixture) {
    fixture.seed_folder().await;
    let work = |number: u32| {
        let workspace: TestWorkspace = (*fixture).clone();
        tokio::spawn(async move {
            if number.is_multiple_of(2) {
                workspace.post_into("in", &point(number, f64::from(number), 0.0)).await;
            } else {
                let name = format!("Folder {number}");
                workspace.run(new(Kind::Folder, json!({ "name": name }))).await;
                workspace.update(Kind::Folder, "in", json!({ "description": name })).await;
            }
        })
    };
    let tasks: Vec<_> = (0..30).map(work).collect();
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(30), task).await.expect("no deadlock").unwrap();
    }
    assert_eq!(fixture.find(Kind::Folder, "in").await["bbox"], json!([0.0, 0.0, 28.0, 0.0]));
    assert_eq!(fixture.list(Kind::Folder, &[]).await.1, 16);
    fixture.run(delete(Kind::Folder, "in")).await;
    assert_eq!(fixture.layer("submissions").await.counts.total(), 15);
}

async fn idempotent_response_is_kept_for_a_day(fixture: Fixture) {
    let body = point(1, 1.0, 1.0);
    let request = |path: &str, token: u128, hash: u8, hours: i64| {
        let mut geometries = fixture.geometries(None, &body);
        let token = TokenId(uuid::Uuid::from_u128(token));
        let key = IdempotencyKey { token, path: path.to_owned(), key: "key".to_owned() };
        geometries.request = Some(IdempotentRequest { key, body_hash: [hash; 16] });
        let later = geometries.now.as_millis() + hours * 3_600_000;
        geometries.now = groma_domain::Timestamp::from_millis(later);
        fixture.store.post_geometries(geometries)
    };
    let is_done = |outcome: PostOutcome| match outcome {
        PostOutcome::Posted(posted) => Some(serde_json::to_vec(&posted).unwrap()),
        PostOutcome::Replayed(_) => None,
    };
    let first = is_done(request("/p", 1, 1, 0).await.unwrap()).expect("the first request");
    for hours in [0, 1, 23] {
        match request("/p", 1, 1, hours).await.unwrap() {
            PostOutcome::Replayed(answer) => assert_eq!(answer, first),
            PostOutcome::Posted(_) => panic!("executed again after {hours} hours"),
        }
        match domain_error(request("/p", 1, 2, hours).await).0 {
            DomainError::Invalid(problems) => assert_eq!(problems[0].field, "Idempotency-Key"),
            other => panic!("{other}"),
        }
    }
    assert!(is_done(request("/other", 1, 1, 1).await.unwrap()).is_some(), "another path");
    assert!(is_done(request("/p", 2, 1, 1).await.unwrap()).is_some(), "another token");
    // After a day the key can be used again, with any body.
    assert!(is_done(request("/p", 1, 2, 25).await.unwrap()).is_some());
    assert!(is_done(request("/p", 1, 2, 26).await.unwrap()).is_none());
}

async fn posts_are_in_the_audit_log(fixture: Fixture) {
    let position = fixture.audit_position().await;
    let posted = fixture.post(&collection(&[point(1, 1.0, 1.0), point(2, 1.0, 1.0)])).await;
    let trail = fixture.audit_log(position).await;
    let row = trail.iter().find(|row| row.action == "geometries.posted").expect("a line");
    assert_eq!((row.subject, row.at), (posted.layer_id.0, fixture.now()));
    let position = fixture.audit_position().await;
    fixture.post(&collection(&[point(1, 1.0, 1.0)])).await;
    assert_eq!(fixture.audit_log(position).await, [], "nothing changed");
}
