//! Telling people that a token expires soon.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use super::{AccountTx, Accounts};
use crate::{
    NewMail, Result,
    engine::{dispatch, impl_work, random},
    mail, workspaces,
};
use groma_domain::{Email, MailId, Timestamp, TokenId, UserId, WorkspaceId};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;
/// How long before a token expires the mail about it is sent.
const NOTICE_MILLIS: i64 = 7 * DAY_MILLIS;
/// Tokens that are created for this long or less end without a notice.
const SHORT_LIFETIME_MILLIS: i64 = 14 * DAY_MILLIS;

/// A token that expires soon, and whom to tell.
#[derive(Clone, Debug)]
pub struct ExpiringToken {
    /// The token.
    pub id: TokenId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The name of the workspace.
    pub workspace_name: String,
    /// Its name.
    pub name: String,
    /// When it expires, by itself or by the longest lifetime of tokens.
    pub expires_at: Timestamp,
    /// Its owner; for a service account, the owners of the workspace.
    pub recipients: Vec<TokenRecipient>,
}

/// Someone to tell of a token.
#[derive(Clone, Debug)]
pub struct TokenRecipient {
    /// The user.
    pub user: UserId,
    /// The email address.
    pub email: Email,
    /// The language that the user chose, if any.
    pub language: Option<String>,
}

/// Operations of a transaction on notices of tokens.
pub(crate) trait TokenExpiryTx: AccountTx {
    /// Whether the token is valid and people were not told since `since` that it expires.
    fn awaits_expiry_notice(
        &mut self,
        token: TokenId,
        since: Timestamp,
    ) -> impl Future<Output = Result<bool>> + Send;

    fn mark_expiry_notified(
        &mut self,
        token: TokenId,
        at: Timestamp,
    ) -> impl Future<Output = Result<()>> + Send;
}

impl_work! {
    NotifyExpiry => bool;
}

impl Accounts {
    /// The tokens that expire within a week and whose notice is not queued yet.
    pub(crate) async fn expiring_tokens(&self, now: Timestamp) -> Result<Vec<ExpiringToken>> {
        let rows =
            dispatch!(&self.engine, expiring_tokens(now, self.authentication.max_token_days()))?;
        let mut tokens: Vec<ExpiringToken> = Vec::new();
        for row in rows {
            match tokens.last_mut().filter(|last| last.id == row.id) {
                Some(last) => last.recipients.extend(row.recipients),
                None => tokens.push(row),
            }
        }
        Ok(tokens)
    }

    /// Queues the notices of a token, once over all replicas; `false` when they were queued before or their
    /// recipients have received too many mails.
    pub(crate) async fn notify_token_expiry(
        &self,
        token: &ExpiringToken,
        mails: Vec<NewMail>,
        now: Timestamp,
    ) -> Result<bool> {
        let (workspace, id) = (token.workspace, token.id);
        let since = token.expires_at.plus_millis(-NOTICE_MILLIS);
        self.engine.transact(NotifyExpiry { workspace, token: id, since, mails, now }).await
    }
}

#[derive(Clone)]
struct NotifyExpiry {
    workspace: WorkspaceId,
    token: TokenId,
    /// A notice before this was about an earlier end.
    since: Timestamp,
    mails: Vec<NewMail>,
    now: Timestamp,
}

impl NotifyExpiry {
    async fn run<T: TokenExpiryTx>(self, tx: &mut T) -> Result<bool> {
        let Self { workspace, token, since, mails, now } = self;
        // Only one of several replicas finds that the notice is still to be sent.
        workspaces::lock(tx, workspace).await?;
        if !tx.awaits_expiry_notice(token, since).await? {
            return Ok(false);
        }
        let mut is_queued = false;
        for mail in mails {
            is_queued |= mail::enqueue(tx, MailId::new(now, random()), mail, now).await?;
        }
        if is_queued {
            tx.mark_expiry_notified(token, now).await?;
        }
        Ok(is_queued)
    }
}
