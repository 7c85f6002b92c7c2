//! Erasing people: their name and address are replaced everywhere, and the records stay.
//!
//! Records refer to people by id. Names and addresses are also in the documents of the audit log, from which
//! the bodies of deliveries are made, in responses that are kept for requests sent again, in mails, invitations
//! and login attempts.

mod documents;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{
    Accounts, MembershipWrite,
    users::{
        AccountAuthority, LockedPerson, UserTx, check_other_owners, lock_user, revoke_tokens,
        security_entry,
    },
};
use crate::{
    Actor, Result,
    audit_log::NewAuditEntry,
    engine::impl_work,
    idempotency::IdempotencyKey,
    people::{PeopleWrite, StoredPerson},
    workspaces,
};
use documents::{ErasedPart, erase_invitation, erase_person, erase_response};
use groma_domain::{
    DomainError, Email, InvitationId, Permission, Person, PersonId, Timestamp, UserId, Violation,
    WorkspaceId,
};

/// How many entries of the audit log are read at once.
const BATCH: u32 = 500;

/// An entry of the audit log that may contain a name or an address.
pub(crate) struct EntryDocuments {
    id: i64,
    /// `member.renamed` has names without the person around them.
    is_renaming: bool,
    before: Option<String>,
    after: Option<String>,
}

/// A response that is kept with an idempotency key and may contain a name or an address.
pub(crate) struct KeptResponse {
    key: IdempotencyKey,
    response: Vec<u8>,
}

/// A write that erases something.
pub(crate) enum ErasureWrite {
    /// Replaces the documents of an entry of the audit log.
    Documents(EntryDocuments),
    /// Replaces the response that an idempotency key keeps.
    Response(KeptResponse),
    /// Cancels what is not delivered of the events of these entries, and marks all their deliveries.
    CancelDeliveries { entries: Vec<i64>, at: Timestamp },
    /// Deletes the invitations from a person, which are void, with their mails, and private views.
    DeleteBelongings { person: PersonId },
    /// Deletes the mails to an address in the workspace.
    DeleteMails { email: Email },
}

/// Operations of a transaction that erases people.
pub(crate) trait ErasureTx: UserTx {
    /// Up to `limit` entries of the audit log after `after` that mention a person, oldest first.
    fn entries_about(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
        after: i64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<EntryDocuments>>> + Send;

    /// The responses to requests with an idempotency key that mention a person.
    fn kept_responses_about(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> impl Future<Output = Result<Vec<KeptResponse>>> + Send;

    /// The entries of the audit log about invitations: of a workspace, or of all.
    fn invitation_entries(
        &mut self,
        workspace: Option<WorkspaceId>,
    ) -> impl Future<Output = Result<Vec<(WorkspaceId, EntryDocuments)>>> + Send;

    /// The invitations of a workspace, or of all, with their addresses.
    fn invited_addresses(
        &mut self,
        workspace: Option<WorkspaceId>,
    ) -> impl Future<Output = Result<Vec<(WorkspaceId, InvitationId, String)>>> + Send;

    fn write_erasure(
        &mut self,
        workspace: WorkspaceId,
        write: ErasureWrite,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Deletes what counts login attempts of an address.
    fn delete_login_attempts(&mut self, email: &Email) -> impl Future<Output = Result<()>> + Send;

    /// Deletes a user with their sessions, devices, links and mails.
    fn delete_user(
        &mut self,
        user: UserId,
        email: &Email,
    ) -> impl Future<Output = Result<()>> + Send;
}

impl_work! {
    DeleteUser => ();
    ErasePerson => ();
}

impl Accounts {
    /// Deletes an account and erases the person in all workspaces. The records stay.
    pub(crate) async fn delete_user(
        &self,
        user: UserId,
        authority: AccountAuthority,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(DeleteUser { user, authority, now }).await?;
        self.authentication.clear_cache();
        Ok(())
    }

    /// Erases a former member, or a person without login, in a workspace. An account stays.
    pub(crate) async fn erase_person(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(ErasePerson { workspace, person, actor, now }).await
    }
}

#[derive(Clone)]
struct DeleteUser {
    user: UserId,
    authority: AccountAuthority,
    now: Timestamp,
}

impl DeleteUser {
    async fn run<T: ErasureTx>(self, tx: &mut T) -> Result<()> {
        let Self { user, authority, now } = self;
        let locked = lock_user(tx, user, authority, now).await?;
        check_other_owners(tx, &locked).await?;
        let email = locked.user.email.clone();
        revoke_tokens(tx, &locked, now).await?;
        tx.log_security(security_entry("user.deleted", &locked, now)).await?;
        for LockedPerson { workspace, person, actor, .. } in &locked.people {
            let erasure = Erasure { workspace: *workspace, actor: *actor, now };
            erasure.run(tx, person.clone()).await?;
        }
        erase_invitations(tx, None, &email).await?;
        tx.delete_login_attempts(&email).await?;
        tx.delete_user(user, &email).await
    }
}

#[derive(Clone)]
struct ErasePerson {
    workspace: WorkspaceId,
    person: PersonId,
    actor: Actor,
    now: Timestamp,
}

impl ErasePerson {
    async fn run<T: ErasureTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, person, actor, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Own)?;
        let not_found = || DomainError::NotFound { resource: "person", key: person.to_string() };
        let known = tx.person(workspace, person).await?.ok_or_else(not_found)?;
        if known.role.is_some() {
            return Err(DomainError::invalid("person", Violation::IsMember).into());
        }
        if known.person.is_erased() {
            return Ok(());
        }
        let email = known.person.email.clone();
        Erasure { workspace, actor: actor.person, now }.run(tx, known).await?;
        erase_invitations(tx, Some(workspace), &email).await?;
        if tx.user_by_email(&email).await?.is_none() {
            tx.delete_login_attempts(&email).await?;
        }
        Ok(())
    }
}

/// Erases a person in a locked workspace.
struct Erasure {
    workspace: WorkspaceId,
    actor: Option<PersonId>,
    now: Timestamp,
}

impl Erasure {
    async fn run<T: ErasureTx>(self, tx: &mut T, known: StoredPerson) -> Result<()> {
        let Self { workspace, actor, now } = self;
        let actor = actor.into();
        let StoredPerson { person: Person { id, email, .. }, role, .. } = known;
        // While the person still has the user whom the security log notes.
        if let Some(role) = role {
            let before = Some(format!(r#"{{"role":"{role}"}}"#));
            let (action, subject) = ("member.removed", id.0);
            let entry = NewAuditEntry { at: now, actor, action, subject, before, after: None };
            tx.log(workspace, entry).await?;
        }
        let (action, subject) = ("member.erased", id.0);
        let entry = NewAuditEntry { at: now, actor, action, subject, before: None, after: None };
        tx.log(workspace, entry).await?;
        let erased = Person::erased(id).map_err(|wrong| DomainError::invalid("email", wrong))?;
        let person = StoredPerson { person: erased.clone(), user: None, role: None };
        let save = PeopleWrite::Save { person, at: now };
        tx.write_people(workspace, vec![save, PeopleWrite::IncrementGeneration]).await?;
        tx.write_erasure(workspace, ErasureWrite::DeleteBelongings { person: id }).await?;
        tx.write_erasure(workspace, ErasureWrite::DeleteMails { email }).await?;
        for mut kept in tx.kept_responses_about(workspace, id).await? {
            if erase_response(&mut kept.response, &erased) {
                tx.write_erasure(workspace, ErasureWrite::Response(kept)).await?;
            }
        }
        erase_documents(tx, workspace, &erased, now).await
    }
}

/// Erases a person in the audit log, and cancels the deliveries of the events that change by it.
async fn erase_documents<T: ErasureTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    erased: &Person,
    now: Timestamp,
) -> Result<()> {
    let (mut after, mut changed) = (0, Vec::new());
    loop {
        let entries = tx.entries_about(workspace, erased.id, after, BATCH).await?;
        let Some(last) = entries.last().map(|entry| entry.id) else { break };
        after = last;
        for mut entry in entries {
            let part = erase_person(&mut entry, erased);
            if part == ErasedPart::Event {
                changed.push(entry.id);
            }
            if part != ErasedPart::Nothing {
                tx.write_erasure(workspace, ErasureWrite::Documents(entry)).await?;
            }
        }
    }
    let cancel = ErasureWrite::CancelDeliveries { entries: changed, at: now };
    tx.write_erasure(workspace, cancel).await
}

/// Deletes the invitations for an address, and erases the address in the audit log.
async fn erase_invitations<T: ErasureTx>(
    tx: &mut T,
    workspace: Option<WorkspaceId>,
    email: &Email,
) -> Result<()> {
    let key = email.key();
    for (workspace, invitation, address) in tx.invited_addresses(workspace).await? {
        if address.to_lowercase() == key {
            let delete = MembershipWrite::DeleteInvitation(invitation);
            tx.write_membership(workspace, delete).await?;
            tx.write_erasure(workspace, ErasureWrite::DeleteMails { email: email.clone() }).await?;
        }
    }
    for (workspace, mut entry) in tx.invitation_entries(workspace).await? {
        if erase_invitation(&mut entry, &key) {
            tx.write_erasure(workspace, ErasureWrite::Documents(entry)).await?;
        }
    }
    Ok(())
}
