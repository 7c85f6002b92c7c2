//! Tokens of users on SQLite.

use super::{UserToken, UserTokenTx};
use crate::{
    Result,
    engine::{sqlite::SqliteTransaction, statements},
};
use groma_domain::{PersonId, TokenId, UserId, WorkspaceId};

statements! {
    TOKENS_OF_USER = "SELECT w.id, t.id, p.id FROM tokens t JOIN people p ON p.ws = t.ws AND p.id = t.person_id
        JOIN workspaces w ON w.no = t.ws WHERE p.user_id = ?1 AND t.revoked_at IS NULL ORDER BY w.id, t.id";
}

impl UserTokenTx for SqliteTransaction<'_> {
    async fn tokens_of_user(&mut self, user: UserId) -> Result<Vec<UserToken>> {
        let mut statement = self.prepare(TOKENS_OF_USER)?;
        let rows = statement.query_map([user.0], |row| {
            Ok(UserToken {
                workspace: WorkspaceId(row.get(0)?),
                token: TokenId(row.get(1)?),
                person: PersonId(row.get(2)?),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
