//! Revoking all access tokens of a user, in every workspace.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{AccountTx, MembershipWrite};
use crate::{Result, audit_log::NewAuditEntry, workspaces};
use groma_domain::{PersonId, Timestamp, TokenId, UserId, WorkspaceId};

/// A token of a user.
pub(crate) struct UserToken {
    pub(super) workspace: WorkspaceId,
    pub(super) token: TokenId,
    pub(super) person: PersonId,
}

/// Who revokes the tokens of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RevokedBy {
    /// The user, or whoever holds a link to the user's mail.
    User,
    Operator,
}

/// Operations of a transaction on the tokens of users.
pub(crate) trait UserTokenTx: AccountTx {
    /// The tokens of a user that are not revoked, in the order of their workspaces.
    fn tokens_of_user(
        &mut self,
        user: UserId,
    ) -> impl Future<Output = Result<Vec<UserToken>>> + Send;
}

/// Revokes the tokens of a user; returns how many. Locks their workspaces, so a transaction calls it before
/// it reads sessions.
pub(super) async fn revoke<T: UserTokenTx>(
    tx: &mut T,
    user: UserId,
    by: RevokedBy,
    now: Timestamp,
) -> Result<u64> {
    let tokens = tx.tokens_of_user(user).await?;
    let count = tokens.len() as u64;
    for UserToken { workspace, token, person } in tokens {
        workspaces::lock(tx, workspace).await?;
        let actor = (by == RevokedBy::User).then_some(person);
        revoke_one(tx, workspace, token, actor, now).await?;
    }
    Ok(count)
}

/// Revokes a token of a locked workspace.
pub(super) async fn revoke_one<T: AccountTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    token: TokenId,
    actor: Option<PersonId>,
    now: Timestamp,
) -> Result<()> {
    let revoke = MembershipWrite::RevokeToken { token, at: now };
    tx.write_membership(workspace, revoke).await?;
    let (action, subject) = ("token.revoked", token.0);
    let actor = actor.into();
    let entry = NewAuditEntry { at: now, actor, action, subject, before: None, after: None };
    tx.log(workspace, entry).await
}
