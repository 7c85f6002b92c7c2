//! Filters of webhook endpoints: an endpoint receives exactly the events that meet every condition.

use crate::{
    Fixture,
    fixture::{TestWorkspace, domain_error, text},
    on_both_engines,
};
use groma_domain::{
    DomainError, EndpointId, GeometryId, Kind, LayerId, RecordId, Timestamp, Violation,
    input::Field,
    webhook::{EndpointFilter, EndpointInput, EndpointUrl, EventFilter},
};
use groma_geo::Bbox;
use groma_store::{
    Actor, DeliveryFilter, EndpointChange, EndpointOutcome, Error, NewEndpoint, NewLayer,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

on_both_engines! {
    random_edits_are_delivered_to_the_endpoints_whose_filters_they_meet
    many_changed_features_are_filtered_by_their_folders_and_their_common_box
    unlinked_features_are_filtered_by_their_former_folder
    records_are_filtered_by_their_folder_before_and_after_a_change
    folders_and_layers_of_a_filter_must_exist_when_it_is_set
}

/// A new endpoint with these conditions.
async fn try_create(
    workspace: &TestWorkspace,
    events: &[&str],
    filter: &EndpointFilter,
) -> Result<EndpointId, Error> {
    let values = json!({ "url": "https://a.test", "filter": filter });
    let parse_url = |url: &str| EndpointUrl::parse(url, false);
    let mut draft = EndpointInput::read(values.as_object().unwrap(), parse_url).unwrap();
    draft.events = Some(EventFilter::parse(events).unwrap());
    let new = NewEndpoint {
        workspace: workspace.workspace_id,
        actor: Actor::Operator,
        now: workspace.tick(),
        draft,
        request: None,
    };
    match workspace.store.create_endpoint(new).await? {
        EndpointOutcome::Created(endpoint, _) => Ok(endpoint.id),
        EndpointOutcome::Replayed(_) => panic!("the request has no key"),
    }
}

async fn create(workspace: &TestWorkspace, events: &[&str], filter: &EndpointFilter) -> EndpointId {
    try_create(workspace, events, filter).await.unwrap()
}

/// An event: when, what, about which feature or record.
type Sent = (Timestamp, String, Uuid);

/// What is delivered to an endpoint, sorted.
async fn sent(workspace: &TestWorkspace, endpoint: EndpointId) -> Vec<Sent> {
    let filter = DeliveryFilter { limit: 100_000, ..DeliveryFilter::of(endpoint) };
    let rows = workspace.store.deliveries(workspace.workspace_id, filter).await.unwrap();
    let mut sent: Vec<Sent> = rows
        .into_iter()
        .map(|row| (row.created_at, row.event.name().to_owned(), row.subject))
        .collect();
    sent.sort();
    sent
}

async fn names(workspace: &TestWorkspace, endpoint: EndpointId) -> Vec<String> {
    sent(workspace, endpoint).await.into_iter().map(|(_, name, _)| name).collect()
}

async fn folder(workspace: &TestWorkspace, reference: &str) -> RecordId {
    let values = json!({ "reference": reference, "name": reference });
    let folder = workspace.create(Kind::Folder, values).await;
    RecordId(text(&folder, "id").parse().unwrap())
}

/// Where a feature is.
#[derive(Clone, Copy)]
struct Place {
    folder: Option<RecordId>,
    /// West, south, east, north; `None` without a geometry.
    bbox: Option<[f64; 4]>,
}

/// The features as they should be, and the events about them.
#[derive(Default)]
struct Model {
    features: HashMap<(LayerId, String), (GeometryId, Place)>,
    events: Vec<(Sent, LayerId, Vec<Place>)>,
}

impl Model {
    /// The events that a filter should pass.
    fn passed(&self, filter: &EndpointFilter) -> Vec<Sent> {
        let passes = |layer: &LayerId, places: &[Place]| {
            let in_folder = |place: &Place| match (&filter.folder_ids, place.folder) {
                (None, _) => true,
                (Some(folders), Some(folder)) => folders.contains(&folder),
                (Some(_), None) => false,
            };
            let in_box = |place: &Place| match (filter.bbox, place.bbox) {
                (None, _) => true,
                (Some(Bbox([w, s, e, n])), Some([west, south, east, north])) => {
                    let beside = if w > e { east < w && west > e } else { east < w || west > e };
                    !beside && south <= n && north >= s
                }
                (Some(_), None) => false,
            };
            filter.layer_ids.as_ref().is_none_or(|layers| layers.contains(layer))
                && places.iter().any(in_folder)
                && places.iter().any(in_box)
        };
        let passed = self.events.iter().filter(|(_, layer, places)| passes(layer, places));
        let mut passed: Vec<Sent> = passed.map(|(sent, ..)| sent.clone()).collect();
        passed.sort();
        passed
    }
}

/// A random geometry with its box: nothing, a point, or a line.
fn shape(random: &mut fastrand::Rng) -> (Value, Option<[f64; 4]>) {
    let mut degrees = |max: i32| f64::from(random.i32(-max..=max)) / 10.0;
    let (west, south) = (degrees(1_790), degrees(800));
    match random.u8(0..8) {
        0 => (Value::Null, None),
        1..=4 => {
            let point = json!({ "type": "Point", "coordinates": [west, south] });
            (point, Some([west, south, west, south]))
        }
        _ => {
            let (east, north) = (west + 1.0, south + 5.0);
            let line =
                json!({ "type": "LineString", "coordinates": [[west, north], [east, south]] });
            (line, Some([west, south, east, north]))
        }
    }
}

/// Posts features into a layer and perhaps a folder, which moves those that exist.
async fn post(
    workspace: &TestWorkspace,
    model: &mut Model,
    layer: LayerId,
    folder: Option<(&str, RecordId)>,
    random: &mut fastrand::Rng,
    count: usize,
) {
    let mut numbers: Vec<usize> = (0..1_500).collect();
    random.shuffle(&mut numbers);
    numbers.truncate(count);
    let ids: Vec<String> = numbers.into_iter().map(|number| format!("f{number}")).collect();
    let (mut features, mut boxes) = (Vec::new(), Vec::new());
    for id in &ids {
        let (geometry, bbox) = shape(random);
        features.push(json!({ "type": "Feature", "id": id, "geometry": geometry,
            "properties": { "edit": random.u32(..) } }));
        boxes.push(bbox);
    }
    let body = json!({ "type": "FeatureCollection", "features": features });
    let mut new = workspace.geometries(Some(&layer.to_string()), &body);
    new.folder = folder.map(|(reference, _)| reference.to_owned());
    let at = new.now;
    let posted = workspace.try_post(new).await.unwrap();
    assert_eq!((posted.geometries.len(), posted.unchanged), (count, 0));
    for ((id, bbox), posted) in ids.into_iter().zip(boxes).zip(posted.geometries) {
        let before = model.features.get(&(layer, id.clone())).map(|(_, place)| *place);
        let kept = before.and_then(|before| before.folder);
        let after = Place { folder: folder.map(|(_, id)| id).or(kept), bbox };
        let name = if before.is_some() { "geometry.updated" } else { "geometry.created" };
        let places: Vec<Place> = before.into_iter().chain([after]).collect();
        model.events.push(((at, name.to_owned(), posted.id.0), layer, places));
        model.features.insert((layer, id), (posted.id, after));
    }
}

async fn delete_some(
    workspace: &TestWorkspace,
    model: &mut Model,
    random: &mut fastrand::Rng,
    count: usize,
) {
    let mut keys: Vec<_> = model.features.keys().cloned().collect();
    keys.sort();
    random.shuffle(&mut keys);
    for key in keys.into_iter().take(count) {
        let (id, place) = model.features.remove(&key).unwrap();
        let (actor, at) = (workspace.actor, workspace.tick());
        let deleted = workspace.store.delete_geometry(workspace.workspace_id, actor, id, at);
        deleted.await.unwrap();
        model.events.push(((at, "geometry.deleted".to_owned(), id.0), key.0, vec![place]));
    }
}

async fn random_edits_are_delivered_to_the_endpoints_whose_filters_they_meet(fixture: Fixture) {
    let mut random = fastrand::Rng::with_seed(7);
    let folders = [("A", folder(&fixture, "A").await), ("B", folder(&fixture, "B").await)];
    let mut layers = Vec::new();
    for name in ["One", "Two", "Three"] {
        let new = NewLayer::named(name);
        let (workspace, actor) = (fixture.workspace_id, fixture.actor);
        let layer = fixture.store.create_layer(workspace, actor, new, fixture.tick()).await;
        layers.push(layer.unwrap().id);
    }
    let area = |bbox| Some(Bbox(bbox));
    let filters = [
        EndpointFilter::default(),
        EndpointFilter { bbox: area([-20.0, -10.0, 60.0, 40.0]), ..Default::default() },
        EndpointFilter { bbox: area([150.0, -80.0, -160.5, 10.0]), ..Default::default() },
        EndpointFilter { layer_ids: Some(layers[1..].to_vec()), ..Default::default() },
        EndpointFilter { folder_ids: Some(vec![folders[0].1]), ..Default::default() },
        EndpointFilter {
            folder_ids: Some(vec![folders[1].1]),
            layer_ids: Some(vec![layers[0]]),
            bbox: area([-90.0, 0.0, 0.0, 90.0]),
        },
    ];
    let mut endpoints = Vec::new();
    for filter in &filters {
        endpoints.push(create(&fixture, &["geometry.*"], filter).await);
    }
    let all_records = create(&fixture, &["*"], &filters[0]).await;
    let elsewhere = EndpointFilter {
        layer_ids: Some(vec![layers[2]]),
        bbox: area([0.0, 0.0, 0.1, 0.1]),
        folder_ids: None,
    };
    let records = create(&fixture, &["*"], &elsewhere).await;
    let mut model = Model::default();
    for step in 0..10 {
        let layer = layers[step % layers.len()];
        let folder = [None, Some(folders[0]), Some(folders[1])][random.usize(0..3)];
        post(&fixture, &mut model, layer, folder, &mut random, 980).await;
        delete_some(&fixture, &mut model, &mut random, 20).await;
    }
    assert_eq!(model.events.len(), 10_000);
    for (filter, endpoint) in filters.iter().zip(endpoints) {
        let expected = model.passed(filter);
        assert!(expected.len() > 100, "{filter:?}");
        assert!(sent(&fixture, endpoint).await == expected, "{filter:?}");
    }
    let sent_records = sent(&fixture, records).await;
    assert!(sent_records.len() > 10, "{sent_records:?}");
    assert_eq!(sent_records, sent(&fixture, all_records).await);
}

async fn many_changed_features_are_filtered_by_their_folders_and_their_common_box(
    fixture: Fixture,
) {
    let (near, far) = (folder(&fixture, "near").await, folder(&fixture, "far").await);
    let of_folder = |id| EndpointFilter { folder_ids: Some(vec![id]), ..Default::default() };
    let of_area = |bbox| EndpointFilter { bbox: Some(Bbox(bbox)), ..Default::default() };
    let mut endpoints = Vec::new();
    for filter in [
        of_folder(near),
        of_folder(far),
        of_area([9.0, 9.0, 10.5, 10.5]),
        of_area([12.0, 9.0, 13.0, 10.5]),
    ] {
        endpoints.push(create(&fixture, &["geometry.*"], &filter).await);
    }
    let point = |number: u32| {
        let x = 10.0 + f64::from(number) / 1_000.0;
        json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": [x, 10] },
            "properties": {} })
    };
    let features: Vec<Value> = (0..=1_000).map(point).collect();
    fixture.post_into("near", &json!({ "type": "FeatureCollection", "features": features })).await;
    let changed = vec!["layer.updated".to_owned()];
    assert_eq!(names(&fixture, endpoints[0]).await, changed);
    assert_eq!(names(&fixture, endpoints[1]).await, [""; 0]);
    assert_eq!(names(&fixture, endpoints[2]).await, changed);
    assert_eq!(names(&fixture, endpoints[3]).await, [""; 0]);
    // Deleting the folder unlinks all of them.
    fixture.delete(Kind::Folder, "near").await;
    assert_eq!(names(&fixture, endpoints[0]).await.len(), 2);
    assert_eq!(names(&fixture, endpoints[1]).await, [""; 0]);
    assert_eq!(names(&fixture, endpoints[2]).await.len(), 2);
    assert_eq!(names(&fixture, endpoints[3]).await, [""; 0]);
}

async fn unlinked_features_are_filtered_by_their_former_folder(fixture: Fixture) {
    let (one, two) = (folder(&fixture, "one").await, folder(&fixture, "two").await);
    let of_folder = |id| EndpointFilter { folder_ids: Some(vec![id]), ..Default::default() };
    let of_one = create(&fixture, &["geometry.*"], &of_folder(one)).await;
    let of_two = create(&fixture, &["geometry.*"], &of_folder(two)).await;
    let feature = json!({ "type": "Feature", "id": "x", "properties": {},
        "geometry": { "type": "Point", "coordinates": [1, 1] } });
    fixture.post_into("one", &feature).await;
    fixture.post_into("two", &feature).await;
    fixture.delete(Kind::Folder, "two").await;
    assert_eq!(names(&fixture, of_one).await, ["geometry.created", "geometry.updated"]);
    assert_eq!(names(&fixture, of_two).await, ["geometry.updated", "geometry.updated"]);
}

async fn records_are_filtered_by_their_folder_before_and_after_a_change(fixture: Fixture) {
    let (here, there) = (folder(&fixture, "here").await, folder(&fixture, "there").await);
    let filter = EndpointFilter {
        folder_ids: Some(vec![here]),
        bbox: Some(Bbox([0.0, 0.0, 1.0, 1.0])),
        layer_ids: None,
    };
    let endpoint = create(&fixture, &["*"], &filter).await;
    for reference in ["here", "there"] {
        let values = json!({ "folder": reference, "reference": reference, "title": "x" });
        fixture.create(Kind::Assignment, values).await;
    }
    // Out of the folder, elsewhere, and back.
    fixture.update(Kind::Assignment, "here", json!({ "folder": "there" })).await;
    fixture.update(Kind::Assignment, "here", json!({ "title": "y" })).await;
    fixture.update(Kind::Assignment, "here", json!({ "folder": "here" })).await;
    fixture.update(Kind::Folder, "there", json!({ "name": "y" })).await;
    fixture.update(Kind::Folder, "here", json!({ "name": "y" })).await;
    fixture.delete(Kind::Folder, "here").await;
    let mut names = names(&fixture, endpoint).await;
    names.sort();
    assert_eq!(
        names,
        [
            "assignment.created",
            "assignment.deleted",
            "assignment.updated",
            "assignment.updated",
            "folder.deleted",
            "folder.updated",
        ]
    );
    assert_ne!(here, there);
}

async fn folders_and_layers_of_a_filter_must_exist_when_it_is_set(fixture: Fixture) {
    let mine = folder(&fixture, "mine").await;
    let other = fixture.new_workspace("Other").await;
    let theirs = folder(&other, "theirs").await;
    let layer = LayerId(Uuid::from_u128(5));
    let filter = EndpointFilter {
        folder_ids: Some(vec![mine, theirs]),
        layer_ids: Some(vec![layer]),
        bbox: None,
    };
    let (error, _) = domain_error(try_create(&fixture, &["*"], &filter).await);
    let DomainError::Invalid(problems) = error else { panic!("{error}") };
    let paths: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(paths, ["filter/folderIds/1", "filter/layerIds/0"]);
    let key = theirs.to_string();
    assert_eq!(problems[0].violation, Violation::NotFound { key });
    // A filter outlives its folder, and can be sent back as it was read.
    let filter = EndpointFilter { folder_ids: Some(vec![mine]), ..Default::default() };
    let endpoint = create(&fixture, &["*"], &filter).await;
    fixture.delete(Kind::Folder, "mine").await;
    let patch = json!({ "filter": filter, "description": "x" });
    let parse_url = |url: &str| EndpointUrl::parse(url, false);
    let input = EndpointInput::read_patch(patch.as_object().unwrap(), parse_url).unwrap();
    let edit = async |input: EndpointInput| {
        let change = EndpointChange::Edit { input: Box::new(input), precondition: None };
        let (workspace, now) = (fixture.workspace_id, fixture.tick());
        fixture.store.change_endpoint(workspace, Actor::Operator, endpoint, change, now).await
    };
    assert_eq!(edit(input).await.unwrap().filter, Some(filter));
    let cleared = EndpointInput { filter: Field::Set(None), ..EndpointInput::default() };
    assert_eq!(edit(cleared).await.unwrap().filter, None);
}
