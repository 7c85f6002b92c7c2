//! Invitations: links that make their holder a member.

use super::{
    AccountTx, Accounts, Invitation, MembershipWrite, StoredInvitation, UserWrite, entry,
    members::{AddMember, Member, NewUser},
    permission_to_grant, postgres, sqlite,
};
use crate::{
    Actor, NewMail, Result,
    engine::{dispatch, impl_work, random},
    mail, workspaces,
};
use groma_domain::{
    DomainError, Email, InvitationId, MailId, Permission, Role, Timestamp, Violation, WorkspaceId,
    secret::SecretHash, workspace::Workspace,
};

/// An invitation to be created.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    /// The id, if the request may arrive twice: only one invitation with the id is created.
    pub id: Option<InvitationId>,
    /// The hash of its link's secret.
    pub hash: SecretHash,
    /// The role of the new member.
    pub role: Role,
    /// The email address it is for.
    pub email: Email,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The mail with its link, if nothing else contains the link: then whoever uses it receives mail at the
    /// address.
    pub mail: Option<NewMail>,
}

impl_work! {
    Invite => InvitationId;
    CancelInvitation => ();
    AcceptInvitation => (WorkspaceId, Member);
}

impl Accounts {
    /// Creates an invitation.
    pub(crate) async fn invite(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        invitation: NewInvitation,
        now: Timestamp,
    ) -> Result<InvitationId> {
        let NewInvitation { mail, .. } = invitation;
        let mail = mail.map(|mail| mail.encrypt(self.webhooks.cipher())).transpose()?;
        let invitation = NewInvitation { mail, ..invitation };
        self.engine.transact(Invite { workspace, actor, invitation, now }).await
    }

    /// The open invitations of a workspace, oldest first.
    pub(crate) async fn invitations(
        &self,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Invitation>> {
        dispatch!(&self.engine, invitations(workspace, now))
    }

    /// Cancels an invitation.
    pub(crate) async fn cancel_invitation(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        invitation: InvitationId,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(CancelInvitation { workspace, actor, invitation, now }).await
    }

    /// The open invitation of a link, and its workspace.
    pub(crate) async fn invitation(
        &self,
        hash: &SecretHash,
        now: Timestamp,
    ) -> Result<Option<(Workspace, Invitation)>> {
        dispatch!(&self.engine, invitation(hash, now))
    }

    /// Makes the holder of a link a member. A new user must not have an account: the owner of an account
    /// proves it by logging in.
    pub(crate) async fn accept_invitation(
        &self,
        hash: SecretHash,
        user: NewUser,
        is_new_user: bool,
        now: Timestamp,
    ) -> Result<(WorkspaceId, Member)> {
        let accept = AcceptInvitation { hash, user, is_new_user, now };
        let accepted = self.engine.transact(accept).await?;
        self.authentication.clear_cache();
        Ok(accepted)
    }
}

#[derive(Clone)]
struct Invite {
    workspace: WorkspaceId,
    actor: Actor,
    invitation: NewInvitation,
    now: Timestamp,
}

impl Invite {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<InvitationId> {
        let Self { workspace, actor, invitation, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(permission_to_grant(invitation.role))?;
        // The same request may arrive twice.
        if let Some(existing) = tx.invitation(&invitation.hash).await? {
            return Ok(existing.id);
        }
        let id = invitation.id.unwrap_or_else(|| InvitationId::new(now, random()));
        if tx.has_invitation(workspace, id).await? {
            return Ok(id);
        }
        let email = invitation.email.as_str().to_owned();
        let after = serde_json::json!({ "role": invitation.role.name(), "email": email });
        let row = StoredInvitation {
            id,
            workspace,
            hash: invitation.hash,
            role: invitation.role,
            email,
            is_mailed: invitation.mail.is_some(),
            invited_by: actor.person,
            created_at: now,
            expires_at: invitation.expires_at,
        };
        let entry = entry(actor, now, "invitation.created", id.0, None, Some(after.to_string()));
        tx.write_membership(workspace, MembershipWrite::InsertInvitation(row)).await?;
        tx.log(workspace, entry).await?;
        if let Some(mail) = invitation.mail
            && !mail::enqueue(tx, MailId(id.0), mail, now).await?
        {
            return Err(DomainError::invalid("email", Violation::TooManyMails).into());
        }
        Ok(id)
    }
}

#[derive(Clone)]
struct CancelInvitation {
    workspace: WorkspaceId,
    actor: Actor,
    invitation: InvitationId,
    now: Timestamp,
}

impl CancelInvitation {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, actor, invitation, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::Administer)?;
        let entry = entry(actor, now, "invitation.cancelled", invitation.0, None, None);
        tx.write_membership(workspace, MembershipWrite::DeleteInvitation(invitation)).await?;
        tx.strip_mail(MailId(invitation.0)).await?;
        tx.log(workspace, entry).await
    }
}

/// Makes the holder of a link a member.
#[derive(Clone)]
pub(super) struct AcceptInvitation {
    pub(super) hash: SecretHash,
    pub(super) user: NewUser,
    pub(super) is_new_user: bool,
    pub(super) now: Timestamp,
}

impl AcceptInvitation {
    pub(super) async fn run<T: AccountTx>(self, tx: &mut T) -> Result<(WorkspaceId, Member)> {
        let Self { hash, user, is_new_user, now } = self;
        let invalid =
            || DomainError::NotFound { resource: "invitation", key: "of this link".to_owned() };
        let found = tx.invitation(&hash).await?.ok_or_else(invalid)?;
        let workspace = found.workspace;
        workspaces::lock(tx, workspace).await?;
        // Again under the lock: only the first of two who use the link succeeds.
        let open = tx.invitation(&hash).await?.filter(|open| open.expires_at > now);
        let open = open.ok_or_else(invalid)?;
        let StoredInvitation { id, role, email, is_mailed, invited_by, .. } = open;
        if let Ok(wanted) = Email::parse(&email)
            && wanted != user.email
        {
            let message = format!("must be {wanted}, the address that the invitation is for");
            return Err(DomainError::invalid("email", message).into());
        }
        let account = tx.user_by_email(&user.email).await?;
        if account.as_ref().is_some_and(|account| account.disabled_at.is_some()) {
            return Err(DomainError::AccountDisabled.into());
        }
        if is_new_user && account.is_some() {
            let message = "belongs to an existing account: log in, then open the link again";
            return Err(DomainError::invalid("email", message).into());
        }
        let known = tx.person_by_email(workspace, &user.email).await?;
        if known.is_some_and(|known| known.role.is_some()) {
            return Err(DomainError::invalid("email", "is already a member").into());
        }
        // The inviter must still have the permission.
        let actor = match invited_by {
            None => Actor::Operator,
            Some(person) => {
                let inviter = tx.person(workspace, person).await?;
                let inviter_role = inviter.and_then(|inviter| inviter.role).ok_or_else(invalid)?;
                inviter_role.require(permission_to_grant(role)).map_err(|_| invalid())?;
                Actor::Member(person)
            }
        };
        let member = AddMember { workspace, actor, user, role, now }.run(tx).await?;
        if is_mailed {
            let verify = UserWrite::VerifyEmail { email: member.person.email.clone(), at: now };
            tx.write_user(verify).await?;
        }
        tx.write_membership(workspace, MembershipWrite::DeleteInvitation(id)).await?;
        Ok((workspace, member))
    }
}
