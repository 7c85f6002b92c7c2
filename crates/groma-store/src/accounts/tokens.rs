//! Personal access tokens.

use super::{AccountTx, Accounts, MembershipWrite, TokenInsert, TokenRow, entry, postgres, sqlite};
use crate::{
    Actor, NewMail, Result,
    engine::{dispatch, impl_work, random},
    mail, workspaces,
};
use groma_domain::{
    DomainError, Email, Permission, Timestamp, TokenId, Violation, WorkspaceId,
    scope::Scopes,
    token::{TokenHash, check_grantable},
};

/// A token to be created.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The id, if the request may arrive twice: only one token with the id is created.
    pub id: Option<TokenId>,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its owner, a member.
    pub owner: Email,
    /// Its name.
    pub name: String,
    /// Its hash.
    pub hash: TokenHash,
    /// Its last characters.
    pub hint: String,
    /// Its scopes.
    pub scopes: Scopes,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// Whether it cannot change anything.
    pub is_read_only: bool,
    /// The mail that tells its owner.
    pub notice: Option<NewMail>,
}

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

impl_work! {
    CreateToken => TokenId;
    RevokeToken => ();
}

impl Accounts {
    /// Creates a token.
    pub(crate) async fn create_token(
        &self,
        token: NewToken,
        actor: Actor,
        now: Timestamp,
    ) -> Result<TokenId> {
        let max_days = self.authentication.max_token_days();
        self.engine.transact(CreateToken { token, max_days, actor, now }).await
    }

    /// The tokens of a workspace, or of all.
    pub(crate) async fn tokens(&self, workspace: Option<WorkspaceId>) -> Result<Vec<TokenRow>> {
        dispatch!(&self.engine, tokens(workspace, self.authentication.max_token_days()))
    }

    /// The workspace of a token.
    pub(crate) async fn workspace_of_token(&self, token: TokenId) -> Result<WorkspaceId> {
        let workspace = dispatch!(&self.engine, workspace_of_token(token))?;
        let not_found = || DomainError::NotFound { resource: "token", key: token.to_string() };
        Ok(workspace.ok_or_else(not_found)?)
    }

    /// Revokes a token, with immediate effect.
    pub(crate) async fn revoke_token(
        &self,
        workspace: WorkspaceId,
        token: TokenId,
        actor: Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.engine.transact(RevokeToken { workspace, token, actor, now }).await?;
        self.authentication.clear_cache();
        Ok(())
    }
}

/// Returns an error unless a token with this end is within the limit.
fn check_lifetime(
    expires_at: Option<Timestamp>,
    max_days: Option<u32>,
    now: Timestamp,
) -> Result<()> {
    let Some(days) = max_days else { return Ok(()) };
    let latest = now.plus_millis(i64::from(days) * DAY_MILLIS);
    if expires_at.is_some_and(|end| end <= latest) {
        return Ok(());
    }
    Err(DomainError::invalid("expiresAt", Violation::TokenTooLong { days }).into())
}

/// Creates a token.
#[derive(Clone)]
struct CreateToken {
    token: NewToken,
    /// How many days tokens of this installation are valid at most.
    max_days: Option<u32>,
    actor: Actor,
    now: Timestamp,
}

impl CreateToken {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<TokenId> {
        let Self { token, max_days, actor, now } = self;
        let (locked, actor) = workspaces::authorize(tx, token.workspace, actor, now).await?;
        let not_found =
            || DomainError::NotFound { resource: "member", key: token.owner.to_string() };
        let owner =
            tx.person_by_email(token.workspace, &token.owner).await?.ok_or_else(not_found)?;
        // Members create tokens for themselves, administrators also for service accounts.
        if actor.person.is_some_and(|person| person != owner.person.id) {
            if !owner.is_service_account() {
                return Err(not_found().into());
            }
            actor.require(Permission::Administer)?;
        }
        let limits = [locked.max_token_days, max_days];
        check_lifetime(token.expires_at, limits.into_iter().flatten().min(), now)?;
        check_grantable(token.scopes, owner.role.ok_or_else(not_found)?)?;
        let id = token.id.unwrap_or_else(|| TokenId::new(now, random()));
        if tx.token_owner(token.workspace, id).await?.is_some() {
            return Err(DomainError::invalid("id", "already exists").into());
        }
        let after = serde_json::json!({
            "name": token.name,
            "scopes": token.scopes.to_string(),
            "readOnly": token.is_read_only,
            "expiresAt": token.expires_at,
        });
        let entry = entry(actor, now, "token.created", id.0, None, Some(after.to_string()));
        let insert = MembershipWrite::InsertToken(TokenInsert {
            id,
            person: owner.person.id,
            name: token.name,
            hash: token.hash,
            hint: token.hint,
            scopes: token.scopes,
            created_at: now,
            expires_at: token.expires_at,
            is_read_only: token.is_read_only,
        });
        tx.write_membership(token.workspace, insert).await?;
        tx.log(token.workspace, entry).await?;
        mail::enqueue_notice(tx, token.notice, now).await?;
        Ok(id)
    }
}

/// Revokes a token.
#[derive(Clone)]
struct RevokeToken {
    workspace: WorkspaceId,
    token: TokenId,
    actor: Actor,
    now: Timestamp,
}

impl RevokeToken {
    async fn run<T: AccountTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, token, actor, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        let owner = tx.token_owner(workspace, token).await?;
        let not_found = || DomainError::NotFound { resource: "token", key: token.to_string() };
        // Members revoke their own tokens, administrators any.
        if Some(owner.ok_or_else(not_found)?) != actor.person {
            actor.require(Permission::Administer)?;
        }
        let revoke = MembershipWrite::RevokeToken { token, at: now };
        tx.write_membership(workspace, revoke).await?;
        let entry = entry(actor, now, "token.revoked", token.0, None, None);
        tx.log(workspace, entry).await
    }
}
