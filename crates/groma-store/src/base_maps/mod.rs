//! Base maps: a JSON list in the row of each workspace. There are few, and they are read together.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Actor, Error, Result,
    audit_log::{AuditLogTx, NewAuditEntry},
    engine::{Engine, dispatch, impl_work, random},
    workspaces,
};
use groma_domain::{
    BaseMap, BaseMapId, BaseMaps, DomainError, Permission, Timestamp, WorkspaceId,
    base_map::BaseMapInput,
};

/// A change of the base maps of a workspace.
#[derive(Clone, Debug)]
pub enum BaseMapChange {
    /// Adds a base map.
    Add(BaseMapInput),
    /// Replaces the values of a base map.
    Replace(BaseMapId, BaseMapInput),
    /// Removes a base map.
    Remove(BaseMapId),
    /// Moves a base map up or down in the list.
    Move {
        /// The base map.
        id: BaseMapId,
        /// Whether it moves up.
        up: bool,
    },
}

/// Operations of a transaction on base maps.
pub(crate) trait BaseMapTx: AuditLogTx {
    /// The stored list.
    fn base_maps(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Option<String>>> + Send;

    fn write_base_maps(
        &mut self,
        workspace: WorkspaceId,
        list: String,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Base maps of a database.
#[derive(Clone)]
pub(crate) struct BaseMapStore {
    engine: Engine,
}

impl BaseMapStore {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// The base maps of a workspace.
    pub(crate) async fn all(&self, workspace: WorkspaceId) -> Result<BaseMaps> {
        parse(dispatch!(&self.engine, list(workspace))?)
    }

    /// Changes the base maps, and returns the one that was changed or removed.
    pub(crate) async fn change(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        change: BaseMapChange,
        now: Timestamp,
    ) -> Result<BaseMap> {
        self.engine.transact(ChangeBaseMaps { workspace, actor, change, now }).await
    }
}

fn parse(list: Option<String>) -> Result<BaseMaps> {
    match list {
        Some(list) => {
            serde_json::from_str(&list).map_err(|error| Error::Damaged(error.to_string()))
        }
        None => Ok(BaseMaps::default()),
    }
}

impl_work! {
    ChangeBaseMaps => BaseMap;
}

#[derive(Clone)]
struct ChangeBaseMaps {
    workspace: WorkspaceId,
    actor: Actor,
    change: BaseMapChange,
    now: Timestamp,
}

impl ChangeBaseMaps {
    async fn run<T: BaseMapTx>(self, tx: &mut T) -> Result<BaseMap> {
        let Self { workspace, actor, change, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Administer)?;
        let old = parse(tx.base_maps(workspace).await?)?;
        let mut maps = old.clone();
        let (action, id) = apply(&mut maps, change, now)?;
        let before = old.get(id).ok();
        let after = maps.get(id).ok();
        let subject = after.or(before).cloned();
        let subject = subject.ok_or_else(|| Error::Damaged("base map is missing".to_owned()))?;
        if maps == old {
            return Ok(subject);
        }
        let json = |map: Option<&BaseMap>| {
            map.map(|map| serde_json::to_string(&map.without_key())).transpose()
        };
        let damaged = |error: serde_json::Error| Error::Damaged(error.to_string());
        let entry = NewAuditEntry {
            at: now,
            actor: actor.into(),
            action,
            subject: id.0,
            before: json(before).map_err(damaged)?,
            after: json(after).map_err(damaged)?,
        };
        tx.write_base_maps(workspace, serde_json::to_string(&maps).map_err(damaged)?).await?;
        tx.log(workspace, entry).await?;
        Ok(subject)
    }
}

/// Applies a change to the list; returns the action for the audit log and the base map it is about.
fn apply(
    maps: &mut BaseMaps,
    change: BaseMapChange,
    now: Timestamp,
) -> Result<(&'static str, BaseMapId), DomainError> {
    match change {
        BaseMapChange::Add(input) => {
            let id = BaseMapId::new(now, random());
            maps.add(BaseMap::parse(id, &input)?)?;
            Ok(("baseMap.created", id))
        }
        BaseMapChange::Replace(id, input) => {
            maps.get(id)?;
            maps.replace(BaseMap::parse(id, &input)?)?;
            Ok(("baseMap.updated", id))
        }
        BaseMapChange::Remove(id) => {
            maps.remove(id)?;
            Ok(("baseMap.deleted", id))
        }
        BaseMapChange::Move { id, up } => {
            maps.shift(id, up)?;
            Ok(("baseMap.updated", id))
        }
    }
}
