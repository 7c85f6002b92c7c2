//! Identities on PostgreSQL.

use super::{Identity, IdentityTx, IdentityWrite, ProviderAccount};
use crate::{
    Result,
    accounts::{Account, postgres::read_account},
    engine::{
        postgres::{Postgres, PostgresTransaction, params},
        statements,
    },
    workspaces,
};
use groma_domain::{Timestamp, UserId};
use std::sync::Arc;
use tokio_postgres::Row;

statements! {
    ACCOUNT_OF_USER = "SELECT id, password_hash, email, language, email_verified_at, disabled_at FROM users
        WHERE id = $1";
    USER_OF_IDENTITY = "SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2";
    IDENTITIES = "SELECT issuer, subject, email, last_used_at FROM identities
        WHERE user_id = $1 ORDER BY created_at, issuer, subject";
    INSERT_IDENTITY = "INSERT INTO identities (issuer, subject, user_id, email, created_at)
        VALUES ($1, $2, $3, $4, $5)";
    TOUCH_IDENTITY = "UPDATE identities SET last_used_at = $3, email = $4 WHERE issuer = $1 AND subject = $2";
    DELETE_IDENTITY = "DELETE FROM identities WHERE user_id = $1 AND issuer = $2 AND subject = $3";
}

pub(crate) async fn account_of_user(
    engine: &Arc<Postgres>,
    user: UserId,
) -> Result<Option<Account>> {
    let rows = engine.rows(ACCOUNT_OF_USER, &[&user.0]).await?;
    rows.first().map(read_account).transpose()
}

pub(crate) async fn identities(engine: &Arc<Postgres>, user: UserId) -> Result<Vec<Identity>> {
    let rows = engine.rows(IDENTITIES, &[&user.0]).await?;
    let read = |row: &Row| {
        Ok(Identity {
            issuer: row.try_get(0)?,
            subject: row.try_get(1)?,
            email: row.try_get(2)?,
            last_used_at: row.try_get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
        })
    };
    rows.iter().map(read).collect()
}

impl IdentityTx for PostgresTransaction<'_> {
    async fn user_of_identity(&mut self, issuer: &str, subject: &str) -> Result<Option<UserId>> {
        self.row(workspaces::postgres::LOCK_NAMES, &[]).await?;
        let row = self.row(USER_OF_IDENTITY, &[&issuer, &subject]).await?;
        row.map(|row| Ok(UserId(row.try_get(0)?))).transpose()
    }

    async fn account_of_user(&mut self, user: UserId) -> Result<Option<Account>> {
        let row = self.row(ACCOUNT_OF_USER, &[&user.0]).await?;
        row.as_ref().map(read_account).transpose()
    }

    async fn write_identity(&mut self, write: IdentityWrite) -> Result<()> {
        let email = |account: &ProviderAccount| {
            account.email.as_ref().map(|email| email.as_str().to_owned()).unwrap_or_default()
        };
        let statement = match write {
            IdentityWrite::Insert { user, account, at } => {
                let email = email(&account);
                let values =
                    params![account.issuer, account.subject, user.0, email, at.as_millis()];
                (INSERT_IDENTITY, values)
            }
            IdentityWrite::Touch { account, at } => {
                let email = email(&account);
                (TOUCH_IDENTITY, params![account.issuer, account.subject, at.as_millis(), email])
            }
            IdentityWrite::Delete { user, issuer, subject } => {
                (DELETE_IDENTITY, params![user.0, issuer, subject])
            }
        };
        self.send(vec![statement]).await
    }
}
