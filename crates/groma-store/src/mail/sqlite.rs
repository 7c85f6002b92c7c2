//! Mails on SQLite.

use super::{MAIL_LEASE_MILLIS, Mail, MailKind, MailOutcome, MailTx, NewMail, StoredText};
use crate::{
    Result,
    engine::{
        sqlite::{Sqlite, SqliteTransaction},
        statements,
    },
};
use groma_domain::{Email, MailId, Timestamp, UserId};
use rusqlite::{Connection, params};
use std::sync::Arc;

statements! {
    COUNT_MAILS = "SELECT count(*) FROM mails WHERE recipient_key = ?1 AND kind = ?2 AND created_at > ?3";
    INSERT_MAIL = "INSERT INTO mails (id, kind, recipient, recipient_key, user_id, workspace_id, subject, body,
            tries, due_at, created_at, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?9, ?10)";
    HAS_DUE = "SELECT 1 FROM mails WHERE due_at <= ?1 AND expires_at > ?1 LIMIT 1";
    CLAIM_MAILS = "UPDATE mails SET due_at = ?2, tries = tries + 1
        WHERE id IN (SELECT id FROM mails WHERE due_at <= ?1 AND expires_at > ?1 ORDER BY due_at LIMIT ?3)
        RETURNING id, recipient, subject, body, tries, created_at";
    STRIP_MAIL = "UPDATE mails SET due_at = NULL, subject = '', body = '' WHERE id = ?1";
    STRIP_MAILS_TO = "UPDATE mails SET due_at = NULL, subject = '', body = ''
        WHERE user_id = ?1 AND kind = ?2 AND due_at IS NOT NULL";
    RETRY_MAIL = "UPDATE mails SET due_at = ?3 WHERE id = ?1 AND tries = ?2 AND due_at IS NOT NULL";
    STRIP_EXPIRED = "UPDATE mails SET due_at = NULL, subject = '', body = ''
        WHERE due_at IS NOT NULL AND expires_at <= ?1";
    DELETE_OLD_MAILS = "DELETE FROM mails WHERE due_at IS NULL AND created_at <= ?1";
    DELETE_MAILS = "DELETE FROM mails WHERE workspace_id = ?1";
    WAITING_TEXTS = "SELECT id, recipient, body FROM mails WHERE due_at IS NOT NULL";
    SET_TEXT = "UPDATE mails SET body = ?2 WHERE id = ?1 AND due_at IS NOT NULL";
    COUNT_WAITING = "SELECT count(*) FROM mails WHERE due_at IS NOT NULL";
}

impl MailTx for SqliteTransaction<'_> {
    async fn count_mails(
        &mut self,
        recipient: &Email,
        kind: MailKind,
        since: Timestamp,
    ) -> Result<u64> {
        let mut statement = self.prepare(COUNT_MAILS)?;
        let values = params![recipient.key(), kind.name(), since.as_millis()];
        Ok(statement.query_row(values, |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    async fn insert_mail(&mut self, id: MailId, mail: NewMail, now: Timestamp) -> Result<()> {
        insert(self.connection(), id, &mail, now)
    }

    async fn strip_mail(&mut self, id: MailId) -> Result<()> {
        self.execute(STRIP_MAIL, params![id.0])
    }

    async fn strip_mails_to(&mut self, user: UserId, kind: MailKind) -> Result<()> {
        self.execute(STRIP_MAILS_TO, params![user.0, kind.name()])
    }
}

fn insert(connection: &Connection, id: MailId, mail: &NewMail, now: Timestamp) -> Result<()> {
    connection.prepare_cached(INSERT_MAIL)?.execute(params![
        id.0,
        mail.kind.name(),
        mail.recipient.as_str(),
        mail.recipient.key(),
        mail.user.map(|user| user.0),
        mail.workspace.map(|workspace| workspace.0),
        mail.subject,
        mail.body,
        now.as_millis(),
        mail.expires_at.as_millis()
    ])?;
    Ok(())
}

pub(super) async fn claim(engine: &Arc<Sqlite>, limit: u32, now: Timestamp) -> Result<Vec<Mail>> {
    let now = now.as_millis();
    // A write waits for the disk, so most calls only read.
    if !engine.read(|connection| Ok(connection.prepare_cached(HAS_DUE)?.exists([now])?))? {
        return Ok(Vec::new());
    }
    let claim = move |connection: &Connection| {
        let mut statement = connection.prepare_cached(CLAIM_MAILS)?;
        let rows = statement.query_map(params![now, now + MAIL_LEASE_MILLIS, limit], |row| {
            Ok(Mail {
                id: MailId(row.get(0)?),
                recipient: row.get(1)?,
                subject: row.get(2)?,
                body: row.get(3)?,
                tries: row.get(4)?,
                created_at: Timestamp::from_millis(row.get(5)?),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
    };
    engine.write(claim).await
}

pub(super) async fn finish(
    engine: &Arc<Sqlite>,
    mail: &Mail,
    outcome: MailOutcome,
    now: Timestamp,
) -> Result<()> {
    let (id, tries) = (mail.id.0, mail.tries);
    let finish = move |connection: &Connection| {
        match outcome {
            MailOutcome::Done => connection.prepare_cached(STRIP_MAIL)?.execute([id])?,
            MailOutcome::Retry { after_millis } => {
                let due_at = now.as_millis() + after_millis;
                connection.prepare_cached(RETRY_MAIL)?.execute(params![id, tries, due_at])?
            }
        };
        Ok(())
    };
    engine.write(finish).await
}

pub(super) async fn clean_up(
    engine: &Arc<Sqlite>,
    before: Timestamp,
    now: Timestamp,
) -> Result<u64> {
    let clean_up = move |connection: &Connection| {
        let expired = connection.prepare_cached(STRIP_EXPIRED)?.execute([now.as_millis()])?;
        connection.prepare_cached(DELETE_OLD_MAILS)?.execute([before.as_millis()])?;
        Ok(expired as u64)
    };
    engine.write(clean_up).await
}

pub(super) async fn waiting_texts(engine: &Arc<Sqlite>) -> Result<Vec<StoredText>> {
    engine.read(|connection| {
        let mut statement = connection.prepare_cached(WAITING_TEXTS)?;
        let rows = statement.query_map([], |row| {
            Ok(StoredText { id: MailId(row.get(0)?), recipient: row.get(1)?, body: row.get(2)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    })
}

pub(super) async fn set_text(engine: &Arc<Sqlite>, mail: MailId, body: String) -> Result<()> {
    let set = move |connection: &Connection| {
        connection.prepare_cached(SET_TEXT)?.execute(params![mail.0, body])?;
        Ok(())
    };
    engine.write(set).await
}

pub(super) async fn count_waiting(engine: &Arc<Sqlite>) -> Result<u64> {
    let count: i64 = engine.read(|connection| {
        Ok(connection.prepare_cached(COUNT_WAITING)?.query_row([], |row| row.get(0))?)
    })?;
    Ok(count.unsigned_abs())
}
