//! Links in mails on SQLite.

use super::{EmailLinkTx, EmailLinkWrite, LinkPurpose};
use crate::{
    Result,
    accounts::{Account, sqlite::read_account},
    engine::{
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::{Timestamp, secret::SecretHash};
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;

statements! {
    EMAIL_LINK = "SELECT u.id, u.password_hash, u.email, u.language, u.email_verified_at, u.disabled_at
        FROM email_links l JOIN users u ON u.id = l.user_id
        WHERE l.hash = ?1 AND l.purpose = ?2 AND l.expires_at > ?3
            AND u.disabled_at IS NULL";
    INSERT_EMAIL_LINK = "INSERT INTO email_links (hash, user_id, purpose, expires_at) VALUES (?1, ?2, ?3, ?4)";
    DELETE_EMAIL_LINKS = "DELETE FROM email_links WHERE user_id = ?1 AND purpose = ?2";
    DELETE_EXPIRED_LINKS = "DELETE FROM email_links WHERE expires_at <= ?1";
    FORGET_DEVICES = "DELETE FROM devices WHERE user_id = ?1";
}

pub(crate) async fn email_link(
    engine: &Arc<Sqlite>,
    hash: &SecretHash,
    purpose: LinkPurpose,
    now: Timestamp,
) -> Result<Option<Account>> {
    engine.read(|connection| read_link(connection, hash, purpose, now))
}

fn read_link(
    connection: &Connection,
    hash: &SecretHash,
    purpose: LinkPurpose,
    now: Timestamp,
) -> Result<Option<Account>> {
    let mut statement = connection.prepare_cached(EMAIL_LINK)?;
    let values = params![hash.0, purpose.name(), now.as_millis()];
    Ok(statement.query_row(values, read_account).optional()?)
}

impl EmailLinkTx for SqliteTransaction<'_> {
    async fn email_link(
        &mut self,
        hash: &SecretHash,
        purpose: LinkPurpose,
        now: Timestamp,
    ) -> Result<Option<Account>> {
        read_link(self.connection(), hash, purpose, now)
    }

    async fn write_email_link(&mut self, write: EmailLinkWrite) -> Result<()> {
        match write {
            EmailLinkWrite::Insert { hash, user, purpose, expires_at, now } => {
                self.execute(DELETE_EXPIRED_LINKS, params![now.as_millis()])?;
                let values = params![hash.0, user.0, purpose.name(), expires_at.as_millis()];
                self.execute(INSERT_EMAIL_LINK, values)
            }
            EmailLinkWrite::Delete { user, purpose } => {
                self.execute(DELETE_EMAIL_LINKS, params![user.0, purpose.name()])
            }
            EmailLinkWrite::ForgetDevices { user } => self.execute(FORGET_DEVICES, params![user.0]),
        }
    }
}
