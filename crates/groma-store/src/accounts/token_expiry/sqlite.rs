//! Notices of tokens on SQLite.

use super::{ExpiringToken, NOTICE_MILLIS, SHORT_LIFETIME_MILLIS, TokenExpiryTx, TokenRecipient};
use crate::{
    Result,
    engine::{
        sqlite::{Sqlite, SqliteTransaction, token_end},
        statements,
    },
    people::sqlite::read_email,
};
use groma_domain::{Timestamp, TokenId, UserId, WorkspaceId};
use rusqlite::params;
use std::sync::Arc;

statements! {
    // A row for each recipient: the owner of the token or, for a service account, the owners of the workspace.
    EXPIRING_TOKENS = concat!("SELECT t.id, w.id, w.name, t.name, ", token_end!("?4"), ", u.id, u.email, u.language
        FROM tokens t JOIN workspaces w ON w.no = t.ws JOIN people p ON p.ws = t.ws AND p.id = t.person_id
        JOIN people r ON r.ws = t.ws AND r.role IS NOT NULL
            AND (r.id = p.id OR p.user_id IS NULL AND r.role = 'owner')
        JOIN users u ON u.id = r.user_id AND u.disabled_at IS NULL
        WHERE p.role IS NOT NULL AND t.revoked_at IS NULL AND coalesce(t.expires_at - t.created_at > ?3, TRUE)
            AND ", token_end!("?4"), " > ?1 AND ", token_end!("?4"), " <= ?1 + ?2
            AND coalesce(t.expiry_notified_at < ", token_end!("?4"), " - ?2, TRUE)
        ORDER BY t.id, u.id");
    AWAITS_EXPIRY_NOTICE = "SELECT 1 FROM tokens
        WHERE id = ?1 AND revoked_at IS NULL AND coalesce(expiry_notified_at < ?2, TRUE)";
    MARK_EXPIRY_NOTIFIED = "UPDATE tokens SET expiry_notified_at = ?2 WHERE id = ?1";
}

pub(super) async fn expiring_tokens(
    engine: &Arc<Sqlite>,
    now: Timestamp,
    max_days: Option<u32>,
) -> Result<Vec<ExpiringToken>> {
    engine
        .read_blocking(move |snapshot| {
            let mut statement = snapshot.prepare_cached(EXPIRING_TOKENS)?;
            let values = params![now.as_millis(), NOTICE_MILLIS, SHORT_LIFETIME_MILLIS, max_days];
            let rows = statement.query_map(values, |row| {
                Ok(ExpiringToken {
                    id: TokenId(row.get(0)?),
                    workspace: WorkspaceId(row.get(1)?),
                    workspace_name: row.get(2)?,
                    name: row.get(3)?,
                    expires_at: Timestamp::from_millis(row.get(4)?),
                    recipients: vec![TokenRecipient {
                        user: UserId(row.get(5)?),
                        email: read_email(row, 6)?,
                        language: row.get(7)?,
                    }],
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
        .await
}

impl TokenExpiryTx for SqliteTransaction<'_> {
    async fn awaits_expiry_notice(&mut self, token: TokenId, since: Timestamp) -> Result<bool> {
        Ok(self.prepare(AWAITS_EXPIRY_NOTICE)?.exists(params![token.0, since.as_millis()])?)
    }

    async fn mark_expiry_notified(&mut self, token: TokenId, at: Timestamp) -> Result<()> {
        self.execute(MARK_EXPIRY_NOTIFIED, params![token.0, at.as_millis()])
    }
}
