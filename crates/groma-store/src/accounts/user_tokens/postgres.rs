//! Tokens of users on PostgreSQL.

use super::{UserToken, UserTokenTx};
use crate::{
    Result,
    engine::{postgres::PostgresTransaction, statements},
};
use groma_domain::{PersonId, TokenId, UserId, WorkspaceId};
use tokio_postgres::Row;

statements! {
    TOKENS_OF_USER = "SELECT t.workspace_id, t.id, p.id FROM tokens t
        JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
        WHERE p.user_id = $1 AND t.revoked_at IS NULL ORDER BY t.workspace_id, t.id";
}

impl UserTokenTx for PostgresTransaction<'_> {
    async fn tokens_of_user(&mut self, user: UserId) -> Result<Vec<UserToken>> {
        let rows = self.rows(TOKENS_OF_USER, &[&user.0]).await?;
        let read = |row: &Row| {
            Ok(UserToken {
                workspace: WorkspaceId(row.try_get(0)?),
                token: TokenId(row.try_get(1)?),
                person: PersonId(row.try_get(2)?),
            })
        };
        rows.iter().map(read).collect()
    }
}
