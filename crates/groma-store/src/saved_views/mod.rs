//! Saved views: a list with its filters, order and columns, under a name. A view belongs to the member who
//! saved it; a shared one can be opened by every member.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Actor, Result,
    engine::{Engine, dispatch, impl_work, random},
    workspaces::{self, WorkspaceTx},
};
use groma_domain::{
    DomainError, Kind, Permission, PersonId, SavedViewId, Timestamp, Violation, WorkspaceId,
    text::parse_line,
};

/// The number of views that a member can save, and the length of their names and queries.
const MAX_VIEWS: usize = 100;
const MAX_NAME: usize = 80;
const MAX_QUERY: usize = 4_000;

/// A saved view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedView {
    /// Identifier.
    pub id: SavedViewId,
    /// The kind of the records it lists.
    pub kind: Kind,
    /// The member who saved it.
    pub owner: PersonId,
    /// Whether every member sees it.
    pub is_shared: bool,
    /// Name.
    pub name: String,
    /// The query string of the list's address.
    pub query: String,
}

/// A view to be saved.
#[derive(Clone, Debug)]
pub struct NewSavedView {
    /// The kind of the records it lists.
    pub kind: Kind,
    /// Whether every member sees it.
    pub is_shared: bool,
    /// Name.
    pub name: String,
    /// The query string of the list's address.
    pub query: String,
}

/// Operations of a transaction on saved views.
pub(crate) trait SavedViewTx: WorkspaceTx {
    /// The views that a member sees: their own and the shared ones, by name.
    fn saved_views(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> impl Future<Output = Result<Vec<SavedView>>> + Send;

    fn save_view(
        &mut self,
        workspace: WorkspaceId,
        view: SavedView,
        now: Timestamp,
    ) -> impl Future<Output = Result<()>> + Send;

    fn delete_view(
        &mut self,
        workspace: WorkspaceId,
        view: SavedViewId,
    ) -> impl Future<Output = Result<()>> + Send;
}

impl_work! {
    SaveView => SavedView;
    DeleteView => SavedView;
}

/// Saved views of a database.
#[derive(Clone)]
pub(crate) struct SavedViews {
    engine: Engine,
}

impl SavedViews {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// The views that a member sees: their own and the shared ones, by name.
    pub(crate) async fn list(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Result<Vec<SavedView>> {
        dispatch!(&self.engine, list(workspace, person))
    }

    /// Saves a view. A view of the member with the same kind and name is replaced.
    pub(crate) async fn save(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        view: NewSavedView,
        now: Timestamp,
    ) -> Result<SavedView> {
        self.engine.transact(SaveView { workspace, actor, view, now }).await
    }

    /// Deletes a view. Administrators can delete the shared views of others.
    pub(crate) async fn delete(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        view: SavedViewId,
        now: Timestamp,
    ) -> Result<SavedView> {
        self.engine.transact(DeleteView { workspace, actor, view, now }).await
    }
}

#[derive(Clone)]
struct SaveView {
    workspace: WorkspaceId,
    actor: Actor,
    view: NewSavedView,
    now: Timestamp,
}

impl SaveView {
    async fn run<T: SavedViewTx>(self, tx: &mut T) -> Result<SavedView> {
        let Self { workspace, actor, view, now } = self;
        let name = parse_line(&view.name, MAX_NAME);
        let name = name.map_err(|violation| DomainError::invalid("name", violation))?;
        if view.query.len() > MAX_QUERY {
            let violation = Violation::TooLong { max: MAX_QUERY };
            return Err(DomainError::invalid("query", violation).into());
        }
        let person = workspaces::authorize(tx, workspace, actor, now).await?.1.member()?;
        let mut own = tx.saved_views(workspace, person).await?;
        own.retain(|view| view.owner == person);
        let existing = own.iter().find(|old| old.kind == view.kind && old.name == name);
        if existing.is_none() && own.len() >= MAX_VIEWS {
            let problem = Violation::TooManyViews { max: MAX_VIEWS };
            return Err(DomainError::invalid("name", problem).into());
        }
        let saved = SavedView {
            id: existing.map_or_else(|| SavedViewId::new(now, random()), |view| view.id),
            kind: view.kind,
            owner: person,
            is_shared: view.is_shared,
            name,
            query: view.query,
        };
        tx.save_view(workspace, saved.clone(), now).await?;
        Ok(saved)
    }
}

#[derive(Clone)]
struct DeleteView {
    workspace: WorkspaceId,
    actor: Actor,
    view: SavedViewId,
    now: Timestamp,
}

impl DeleteView {
    async fn run<T: SavedViewTx>(self, tx: &mut T) -> Result<SavedView> {
        let Self { workspace, actor, view, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        let person = actor.member()?;
        let can_delete_shared = actor.require(Permission::Administer).is_ok();
        let visible = tx.saved_views(workspace, person).await?;
        let found = visible.into_iter().find(|found| found.id == view);
        let found = found.filter(|found| found.owner == person || can_delete_shared);
        let not_found = || DomainError::NotFound { resource: "view", key: view.to_string() };
        let found = found.ok_or_else(not_found)?;
        tx.delete_view(workspace, view).await?;
        Ok(found)
    }
}
