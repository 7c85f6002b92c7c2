//! Links in mails on PostgreSQL.

use super::{EmailLinkTx, EmailLinkWrite, LinkPurpose};
use crate::{
    Result,
    accounts::{Account, postgres::read_account},
    engine::{
        postgres::{Postgres, PostgresTransaction, params},
        statements,
    },
};
use groma_domain::{Timestamp, secret::SecretHash};
use std::sync::Arc;
use tokio_postgres::types::ToSql;

statements! {
    EMAIL_LINK = "SELECT u.id, u.password_hash, u.email, u.language, u.email_verified_at, u.disabled_at
        FROM email_links l JOIN users u ON u.id = l.user_id
        WHERE l.hash = $1 AND l.purpose = $2 AND l.expires_at > $3
            AND u.disabled_at IS NULL";
    // Locked, so that only the first of two who use a link succeeds.
    LOCK_EMAIL_LINK = "SELECT 1 FROM email_links WHERE hash = $1 FOR UPDATE";
    INSERT_EMAIL_LINK = "INSERT INTO email_links (hash, user_id, purpose, expires_at) VALUES ($1, $2, $3, $4)";
    DELETE_EMAIL_LINKS = "DELETE FROM email_links WHERE user_id = $1 AND purpose = $2";
    DELETE_EXPIRED_LINKS = "DELETE FROM email_links WHERE expires_at <= $1";
    FORGET_DEVICES = "DELETE FROM devices WHERE user_id = $1";
}

pub(crate) async fn email_link(
    engine: &Arc<Postgres>,
    hash: &SecretHash,
    purpose: LinkPurpose,
    now: Timestamp,
) -> Result<Option<Account>> {
    let values: [&(dyn ToSql + Sync); 3] = [&&hash.0[..], &purpose.name(), &now.as_millis()];
    let rows = engine.rows(EMAIL_LINK, &values).await?;
    rows.first().map(read_account).transpose()
}

impl EmailLinkTx for PostgresTransaction<'_> {
    async fn email_link(
        &mut self,
        hash: &SecretHash,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<Option<Account>> {
        self.row(LOCK_EMAIL_LINK, &[&&hash.0[..]]).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&&hash.0[..], &purpose.name(), &now.as_millis()];
        let row = self.row(EMAIL_LINK, &values).await?;
        row.as_ref().map(read_account).transpose()
    }

    async fn write_email_link(&mut self, write: EmailLinkWrite) -> Result<()> {
        let statements = match write {
            EmailLinkWrite::Insert { hash, user, purpose, expires_at, now } => vec![
                (DELETE_EXPIRED_LINKS, params![now.as_millis()]),
                (
                    INSERT_EMAIL_LINK,
                    params![hash.0.to_vec(), user.0, purpose.name(), expires_at.as_millis()],
                ),
            ],
            EmailLinkWrite::Delete { user, purpose } => {
                vec![(DELETE_EMAIL_LINKS, params![user.0, purpose.name()])]
            }
            EmailLinkWrite::ForgetDevices { user } => vec![(FORGET_DEVICES, params![user.0])],
        };
        self.send(statements).await
    }
}
