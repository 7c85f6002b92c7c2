//! Base maps of a workspace.

use crate::{Fixture, fixture::domain_error, on_both_engines};
use groma_domain::{BaseMap, DomainError, Role, base_map::BaseMapInput};
use groma_store::{Actor, BaseMapChange, SecurityLogFilter};

on_both_engines! {
    base_maps_are_added_changed_moved_and_removed
    changes_of_base_maps_are_in_the_audit_log_without_keys
    base_maps_require_an_administrator
    invalid_base_map_changes_nothing
    concurrent_base_maps_are_all_kept
}

pub(crate) fn input(name: &str) -> BaseMapInput {
    BaseMapInput {
        name: name.into(),
        kind: "xyz".into(),
        url: "https://tiles.test/{z}/{x}/{y}.png?k={key}".into(),
        key: "tile-key".into(),
        ..BaseMapInput::default()
    }
}

async fn change(fixture: &Fixture, change: BaseMapChange) -> groma_store::Result<BaseMap> {
    let (workspace, now) = (fixture.workspace_id, fixture.tick());
    fixture.store.change_base_maps(workspace, Actor::Operator, change, now).await
}

async fn names(fixture: &Fixture) -> Vec<String> {
    let maps = fixture.store.base_maps(fixture.workspace_id).await.unwrap();
    let name = |map: &BaseMap| match map.is_default {
        true => format!("{} (default)", map.name),
        false => map.name.clone(),
    };
    maps.as_slice().iter().map(name).collect()
}

async fn base_maps_are_added_changed_moved_and_removed(fixture: Fixture) {
    assert!(names(&fixture).await.is_empty());
    let other = fixture.new_workspace("Other").await;
    let plan = change(&fixture, BaseMapChange::Add(input("Plan"))).await.unwrap();
    let aerial = change(&fixture, BaseMapChange::Add(input("Aerial"))).await.unwrap();
    assert_eq!(names(&fixture).await, ["Plan", "Aerial"]);
    let default = BaseMapInput { is_default: true, ..input("Aerial images") };
    change(&fixture, BaseMapChange::Replace(aerial.id, default)).await.unwrap();
    change(&fixture, BaseMapChange::Move { id: aerial.id, up: true }).await.unwrap();
    assert_eq!(names(&fixture).await, ["Aerial images (default)", "Plan"]);
    let stored = fixture.store.base_maps(fixture.workspace_id).await.unwrap();
    assert_eq!(stored.get(plan.id).unwrap(), &plan, "with its key");
    assert!(fixture.store.base_maps(other.workspace_id).await.unwrap().as_slice().is_empty());
    change(&fixture, BaseMapChange::Remove(aerial.id)).await.unwrap();
    assert_eq!(names(&fixture).await, ["Plan"]);
    let (error, _) = domain_error(change(&fixture, BaseMapChange::Remove(aerial.id)).await);
    assert!(matches!(error, DomainError::NotFound { resource: "base map", .. }));
}

async fn changes_of_base_maps_are_in_the_audit_log_without_keys(fixture: Fixture) {
    let start = fixture.audit_log(0).await.last().map_or(0, |entry| entry.id);
    let map = change(&fixture, BaseMapChange::Add(input("Plan"))).await.unwrap();
    let max_zoom = BaseMapInput { max_zoom: "17".into(), ..input("Plan") };
    change(&fixture, BaseMapChange::Replace(map.id, max_zoom.clone())).await.unwrap();
    // Nothing changes, so nothing is logged.
    change(&fixture, BaseMapChange::Replace(map.id, max_zoom)).await.unwrap();
    change(&fixture, BaseMapChange::Move { id: map.id, up: false }).await.unwrap();
    change(&fixture, BaseMapChange::Remove(map.id)).await.unwrap();
    let log = fixture.audit_log(start).await;
    let actions: Vec<_> = log.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["baseMap.created", "baseMap.updated", "baseMap.deleted"]);
    assert!(log.iter().all(|entry| entry.subject == map.id.0));
    assert!(log[1].before.as_ref().unwrap().contains(r#""maxZoom":19"#));
    assert!(log[1].after.as_ref().unwrap().contains(r#""maxZoom":17"#));
    assert!(!format!("{log:?}").contains("tile-key"));
    // Maps of all members load from their servers, so they are in the security log, too.
    let action = Some("baseMap.".to_owned());
    let filter = SecurityLogFilter { action, ..SecurityLogFilter::default() };
    let entries = fixture.store.security_entries(filter, 10).await.unwrap();
    let found: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(found, ["baseMap.deleted", "baseMap.updated", "baseMap.created"]);
    let details = entries[2].details.as_deref();
    assert_eq!(details, Some(r#"{"after":{"url":"https://tiles.test","hosts":[]}}"#));
}

async fn base_maps_require_an_administrator(fixture: Fixture) {
    let actor = fixture.member(Role::Editor).await.actor;
    let (workspace, now) = (fixture.workspace_id, fixture.tick());
    let add = BaseMapChange::Add(input("Plan"));
    let refused = fixture.store.change_base_maps(workspace, actor, add, now).await;
    assert!(matches!(domain_error(refused).0, DomainError::Forbidden { .. }));
}

async fn invalid_base_map_changes_nothing(fixture: Fixture) {
    change(&fixture, BaseMapChange::Add(input("Plan"))).await.unwrap();
    for wrong in [input("PLAN"), BaseMapInput { url: "ftp://x".into(), ..input("Other") }] {
        let (error, _) = domain_error(change(&fixture, BaseMapChange::Add(wrong)).await);
        assert!(matches!(error, DomainError::Invalid(_)), "{error}");
    }
    assert_eq!(names(&fixture).await, ["Plan"]);
}

async fn concurrent_base_maps_are_all_kept(fixture: Fixture) {
    let tasks = (0..8).map(|number| {
        let workspace = (*fixture).clone();
        tokio::spawn(async move {
            let add = BaseMapChange::Add(input(&format!("Map {number}")));
            let (id, now) = (workspace.workspace_id, workspace.tick());
            workspace.store.change_base_maps(id, Actor::Operator, add, now).await.unwrap();
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(names(&fixture).await.len(), 8);
}
