//! Identities on SQLite.

use super::{Identity, IdentityTx, IdentityWrite};
use crate::{
    Result,
    accounts::{Account, sqlite::read_account},
    engine::{
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::{Timestamp, UserId};
use rusqlite::{OptionalExtension, Row, params};
use std::sync::Arc;

statements! {
    ACCOUNT_OF_USER = "SELECT id, password_hash, email, language, email_verified_at, disabled_at FROM users
        WHERE id = ?1";
    USER_OF_IDENTITY = "SELECT user_id FROM identities WHERE issuer = ?1 AND subject = ?2";
    IDENTITIES = "SELECT issuer, subject, email, last_used_at FROM identities
        WHERE user_id = ?1 ORDER BY created_at, issuer, subject";
    INSERT_IDENTITY = "INSERT INTO identities (issuer, subject, user_id, email, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    TOUCH_IDENTITY = "UPDATE identities SET last_used_at = ?3, email = ?4 WHERE issuer = ?1 AND subject = ?2";
    DELETE_IDENTITY = "DELETE FROM identities WHERE user_id = ?1 AND issuer = ?2 AND subject = ?3";
}

pub(crate) async fn account_of_user(engine: &Arc<Sqlite>, user: UserId) -> Result<Option<Account>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(ACCOUNT_OF_USER)?;
        Ok(statement.query_row([user.0], read_account).optional()?)
    })
}

pub(crate) async fn identities(engine: &Arc<Sqlite>, user: UserId) -> Result<Vec<Identity>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(IDENTITIES)?;
        let read = |row: &Row<'_>| {
            Ok(Identity {
                issuer: row.get(0)?,
                subject: row.get(1)?,
                email: row.get(2)?,
                last_used_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
            })
        };
        Ok(statement.query_map([user.0], read)?.collect::<rusqlite::Result<_>>()?)
    })
}

impl IdentityTx for SqliteTransaction<'_> {
    async fn user_of_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<UserId>> {
        let mut statement = self.prepare(USER_OF_IDENTITY)?;
        let found = statement.query_row([issuer, subject], |row| row.get(0).map(UserId));
        Ok(found.optional()?)
    }

    async fn account_of_user(&mut self, user: UserId) -> Result<Option<Account>> {
        let mut statement = self.prepare(ACCOUNT_OF_USER)?;
        Ok(statement.query_row([user.0], read_account).optional()?)
    }

    async fn write_identity(&mut self, write: IdentityWrite) -> Result<()> {
        match write {
            IdentityWrite::Insert { user, account, at } => {
                let email = account.email.as_ref().map_or("", |email| email.as_str());
                let values =
                    params![account.issuer, account.subject, user.0, email, at.as_millis()];
                self.execute(INSERT_IDENTITY, values)
            }
            IdentityWrite::Touch { account, at } => {
                let email = account.email.as_ref().map_or("", |email| email.as_str());
                let values = params![account.issuer, account.subject, at.as_millis(), email];
                self.execute(TOUCH_IDENTITY, values)
            }
            IdentityWrite::Delete { user, issuer, subject } => {
                self.execute(DELETE_IDENTITY, params![user.0, issuer, subject])
            }
        }
    }
}
