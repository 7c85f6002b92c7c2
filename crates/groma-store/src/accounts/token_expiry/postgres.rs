//! Notices of tokens on PostgreSQL.

use super::{ExpiringToken, NOTICE_MILLIS, SHORT_LIFETIME_MILLIS, TokenExpiryTx, TokenRecipient};
use crate::{
    Result,
    engine::{
        postgres::{Postgres, PostgresTransaction, params, token_end},
        statements,
    },
    people::postgres::read_email,
};
use groma_domain::{Timestamp, TokenId, UserId, WorkspaceId};
use std::sync::Arc;
use tokio_postgres::{Row, types::ToSql};

statements! {
    // A row for each recipient: the owner of the token or, for a service account, the owners of the workspace.
    EXPIRING_TOKENS = concat!("SELECT t.id, w.id, w.name, t.name, ", token_end!("$4"), ", u.id, u.email, u.language
        FROM tokens t JOIN workspaces w ON w.id = t.workspace_id
        JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
        JOIN people r ON r.workspace_id = t.workspace_id AND r.role IS NOT NULL
            AND (r.id = p.id OR p.user_id IS NULL AND r.role = 'owner')
        JOIN users u ON u.id = r.user_id AND u.disabled_at IS NULL
        WHERE p.role IS NOT NULL AND t.revoked_at IS NULL AND coalesce(t.expires_at - t.created_at > $3, TRUE)
            AND ", token_end!("$4"), " > $1 AND ", token_end!("$4"), " <= $1 + $2
            AND coalesce(t.expiry_notified_at < ", token_end!("$4"), " - $2, TRUE)
        ORDER BY t.id, u.id");
    AWAITS_EXPIRY_NOTICE = "SELECT 1 FROM tokens
        WHERE id = $1 AND revoked_at IS NULL AND coalesce(expiry_notified_at < $2, TRUE)";
    MARK_EXPIRY_NOTIFIED = "UPDATE tokens SET expiry_notified_at = $2 WHERE id = $1";
}

pub(super) async fn expiring_tokens(
    engine: &Arc<Postgres>,
    now: Timestamp,
    max_days: Option<u32>,
) -> Result<Vec<ExpiringToken>> {
    let (now, max_days) = (now.as_millis(), max_days.map(i64::from));
    let values: [&(dyn ToSql + Sync); 4] =
        [&now, &NOTICE_MILLIS, &SHORT_LIFETIME_MILLIS, &max_days];
    let rows = engine.rows(EXPIRING_TOKENS, &values).await?;
    let read = |row: &Row| {
        Ok(ExpiringToken {
            id: TokenId(row.try_get(0)?),
            workspace: WorkspaceId(row.try_get(1)?),
            workspace_name: row.try_get(2)?,
            name: row.try_get(3)?,
            expires_at: Timestamp::from_millis(row.try_get(4)?),
            recipients: vec![TokenRecipient {
                user: UserId(row.try_get(5)?),
                email: read_email(row, 6)?,
                language: row.try_get(7)?,
            }],
        })
    };
    rows.iter().map(read).collect()
}

impl TokenExpiryTx for PostgresTransaction<'_> {
    async fn awaits_expiry_notice(&mut self, token: TokenId, since: Timestamp) -> Result<bool> {
        Ok(self.row(AWAITS_EXPIRY_NOTICE, &[&token.0, &since.as_millis()]).await?.is_some())
    }

    async fn mark_expiry_notified(&mut self, token: TokenId, at: Timestamp) -> Result<()> {
        self.send(vec![(MARK_EXPIRY_NOTIFIED, params![token.0, at.as_millis()])]).await
    }
}
