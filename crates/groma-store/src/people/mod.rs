//! The people of a workspace: members, and persons without a login whom records name.

mod cache;
pub(crate) mod postgres;
pub(crate) mod sqlite;

pub(crate) use cache::PeopleCache;

use crate::{Result, workspaces::WorkspaceTx};
use groma_domain::{Email, Person, PersonId, Role, Timestamp, UserId, WorkspaceId};

/// A person, and their membership if they are a member.
#[derive(Clone, Debug)]
pub(crate) struct StoredPerson {
    pub(crate) person: Person,
    pub(crate) user: Option<UserId>,
    pub(crate) role: Option<Role>,
}

impl StoredPerson {
    /// Whether this is a member without a login.
    pub(crate) fn is_service_account(&self) -> bool {
        self.user.is_none() && self.role.is_some()
    }
}

/// A write to the people of a workspace.
pub(crate) enum PeopleWrite {
    Save {
        person: StoredPerson,
        at: Timestamp,
    },
    /// Makes readers of documents load names and addresses again.
    IncrementGeneration,
}

/// Operations of a transaction on people.
pub(crate) trait PeopleTx: WorkspaceTx {
    /// A person by id.
    fn person(
        &mut self,
        workspace: WorkspaceId,
        id: PersonId,
    ) -> impl Future<Output = Result<Option<StoredPerson>>> + Send;

    /// A person by email address.
    fn person_by_email(
        &mut self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> impl Future<Output = Result<Option<StoredPerson>>> + Send;

    /// Whether the workspace has another owner who can log in.
    fn has_other_owner(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> impl Future<Output = Result<bool>> + Send;

    fn write_people(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<PeopleWrite>,
    ) -> impl Future<Output = Result<()>> + Send;
}
