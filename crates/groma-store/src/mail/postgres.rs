//! Mails on PostgreSQL.

use super::{MAIL_LEASE_MILLIS, Mail, MailKind, MailOutcome, MailTx, NewMail, StoredText};
use crate::{
    Result,
    engine::{
        postgres::{Postgres, PostgresTransaction, now_millis, params, unsigned},
        statements,
    },
};
use groma_domain::{Email, MailId, Timestamp, UserId};
use std::sync::Arc;
use tokio_postgres::Row;

statements! {
    LOCK_RECIPIENT = "SELECT pg_advisory_xact_lock(7203014, hashtext($1))";
    COUNT_MAILS = "SELECT count(*) FROM mails WHERE recipient_key = $1 AND kind = $2 AND created_at > $3";
    INSERT_MAIL = concat!("INSERT INTO mails (id, kind, recipient, recipient_key, user_id, workspace_id, subject,
            body, tries, due_at, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, ", now_millis!(), ", $9, $10)");
    CLAIM_MAILS = concat!("UPDATE mails SET due_at = ", now_millis!(), " + $1, tries = tries + 1
        WHERE id IN (SELECT id FROM mails WHERE due_at <= ", now_millis!(), " AND expires_at > ", now_millis!(), "
            ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING id, recipient, subject, body, tries, created_at");
    STRIP_MAIL = "UPDATE mails SET due_at = NULL, subject = '', body = '' WHERE id = $1";
    STRIP_MAILS_TO = "UPDATE mails SET due_at = NULL, subject = '', body = ''
        WHERE user_id = $1 AND kind = $2 AND due_at IS NOT NULL";
    RETRY_MAIL = concat!("UPDATE mails SET due_at = ", now_millis!(), " + $3
        WHERE id = $1 AND tries = $2 AND due_at IS NOT NULL");
    STRIP_EXPIRED = "UPDATE mails SET due_at = NULL, subject = '', body = ''
        WHERE due_at IS NOT NULL AND expires_at <= $1";
    DELETE_OLD_MAILS = "DELETE FROM mails WHERE due_at IS NULL AND created_at <= $1";
    DELETE_MAILS = "DELETE FROM mails WHERE workspace_id = $1";
    WAITING_TEXTS = "SELECT id, recipient, body FROM mails WHERE due_at IS NOT NULL";
    SET_TEXT = "UPDATE mails SET body = $2 WHERE id = $1 AND due_at IS NOT NULL";
    COUNT_WAITING = "SELECT count(*) FROM mails WHERE due_at IS NOT NULL";
}

impl MailTx for PostgresTransaction<'_> {
    async fn count_mails(
        &mut self,
        recipient: &Email,
        kind: MailKind,
        since: Timestamp,
    ) -> Result<u64> {
        let key = recipient.key();
        // One at a time: concurrent transactions would all find room.
        self.row(LOCK_RECIPIENT, &[&key]).await?;
        let row = self.row(COUNT_MAILS, &[&key, &kind.name(), &since.as_millis()]).await?;
        row.map_or(Ok(0), |row| unsigned(&row, 0))
    }

    async fn insert_mail(&mut self, id: MailId, mail: NewMail, now: Timestamp) -> Result<()> {
        let values = params![
            id.0,
            mail.kind.name(),
            mail.recipient.as_str().to_owned(),
            mail.recipient.key(),
            mail.user.map(|user| user.0),
            mail.workspace.map(|workspace| workspace.0),
            mail.subject,
            mail.body,
            now.as_millis(),
            mail.expires_at.as_millis()
        ];
        self.send(vec![(INSERT_MAIL, values)]).await
    }

    async fn strip_mail(&mut self, id: MailId) -> Result<()> {
        self.send(vec![(STRIP_MAIL, params![id.0])]).await
    }

    async fn strip_mails_to(&mut self, user: UserId, kind: MailKind) -> Result<()> {
        self.send(vec![(STRIP_MAILS_TO, params![user.0, kind.name()])]).await
    }
}

pub(super) async fn claim(engine: &Arc<Postgres>, limit: u32, _: Timestamp) -> Result<Vec<Mail>> {
    let rows = engine.rows(CLAIM_MAILS, &[&MAIL_LEASE_MILLIS, &i64::from(limit)]).await?;
    let read = |row: &Row| {
        Ok(Mail {
            id: MailId(row.try_get(0)?),
            recipient: row.try_get(1)?,
            subject: row.try_get(2)?,
            body: row.try_get(3)?,
            tries: u32::try_from(unsigned(row, 4)?).unwrap_or(u32::MAX),
            created_at: Timestamp::from_millis(row.try_get(5)?),
        })
    };
    rows.iter().map(read).collect()
}

pub(super) async fn finish(
    engine: &Arc<Postgres>,
    mail: &Mail,
    outcome: MailOutcome,
    _: Timestamp,
) -> Result<()> {
    let finished = match outcome {
        MailOutcome::Done => engine.execute(STRIP_MAIL, &[&mail.id.0]).await,
        MailOutcome::Retry { after_millis } => {
            let tries = i64::from(mail.tries);
            engine.execute(RETRY_MAIL, &[&mail.id.0, &tries, &after_millis]).await
        }
    };
    finished.map(drop)
}

pub(super) async fn clean_up(
    engine: &Arc<Postgres>,
    before: Timestamp,
    now: Timestamp,
) -> Result<u64> {
    let expired = engine.execute(STRIP_EXPIRED, &[&now.as_millis()]).await?;
    engine.execute(DELETE_OLD_MAILS, &[&before.as_millis()]).await?;
    Ok(expired)
}

pub(super) async fn waiting_texts(engine: &Arc<Postgres>) -> Result<Vec<StoredText>> {
    let rows = engine.rows(WAITING_TEXTS, &[]).await?;
    let read = |row: &Row| {
        let (id, recipient, body) = (MailId(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?);
        Ok(StoredText { id, recipient, body })
    };
    rows.iter().map(read).collect()
}

pub(super) async fn set_text(engine: &Arc<Postgres>, mail: MailId, body: String) -> Result<()> {
    engine.execute(SET_TEXT, &[&mail.0, &body]).await.map(drop)
}

pub(super) async fn count_waiting(engine: &Arc<Postgres>) -> Result<u64> {
    let rows = engine.rows(COUNT_WAITING, &[]).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row, 0))
}
