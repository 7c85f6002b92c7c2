//! Erasing people on SQLite.

use super::{EntryDocuments, ErasureTx, ErasureWrite, KeptResponse};
use crate::{
    Result,
    accounts::pending_logins::sqlite::DELETE_LOGINS_OF_USER,
    engine::{sqlite::SqliteTransaction, statements},
    idempotency::IdempotencyKey,
    import_jobs,
};
use groma_domain::{Email, InvitationId, PersonId, TokenId, UserId, WorkspaceId};
use rusqlite::{Row, params};

statements! {
    ENTRIES_ABOUT = "SELECT id, action = 'member.renamed' AND subject = ?3, before, after FROM audit_log
        WHERE ws = ?1 AND id > ?2
            AND (instr(before, ?4) OR instr(after, ?4) OR action = 'member.renamed' AND subject = ?3)
        ORDER BY id LIMIT ?5";
    KEPT_RESPONSES_ABOUT = "SELECT i.token_id, i.path, i.key, i.response
        FROM idempotency_keys i JOIN tokens t ON t.id = i.token_id WHERE t.ws = ?1 AND instr(i.response, ?2)";
    SET_KEPT_RESPONSE = "UPDATE idempotency_keys SET response = ?4 WHERE token_id = ?1 AND path = ?2 AND key = ?3";
    INVITATION_ENTRIES = "SELECT a.id, 0, a.before, a.after, w.id FROM audit_log a JOIN workspaces w ON w.no = a.ws
        WHERE a.action = 'invitation.created' AND (?1 IS NULL OR w.id = ?1)";
    INVITED_ADDRESSES = "SELECT w.id, i.id, i.email FROM invitations i JOIN workspaces w ON w.no = i.ws
        WHERE ?1 IS NULL OR w.id = ?1";
    SET_DOCUMENTS = "UPDATE audit_log SET before = ?2, after = ?3 WHERE id = ?1";
    CANCEL_DELIVERIES = "UPDATE deliveries SET state = CASE state WHEN 2 THEN 2 ELSE 4 END,
            finished_at = coalesce(finished_at, ?3), erased_at = ?3
        WHERE ws = ?1 AND audit_entry_id IN (SELECT value FROM json_each(?2))";
    // Receivers may return what they received.
    CLEAR_RESPONSES = "UPDATE attempts SET response = x'' WHERE delivery IN
        (SELECT id FROM deliveries WHERE ws = ?1 AND audit_entry_id IN (SELECT value FROM json_each(?2)))";
    DELETE_MAILS_OF_INVITATIONS = "DELETE FROM mails WHERE id IN
        (SELECT id FROM invitations WHERE ws = ?1 AND invited_by = ?2)";
    DELETE_INVITATIONS_FROM = "DELETE FROM invitations WHERE ws = ?1 AND invited_by = ?2";
    DELETE_PRIVATE_VIEWS = "DELETE FROM saved_views WHERE ws = ?1 AND person_id = ?2 AND NOT is_shared";
    DELETE_MAILS_TO = "DELETE FROM mails WHERE workspace_id = ?1 AND recipient_key = ?2";
    DELETE_LOGIN_ATTEMPTS = "DELETE FROM login_attempts WHERE substr(bucket, -length(?1)) = ?1";
    DELETE_ALL_MAILS = "DELETE FROM mails WHERE user_id = ?1 OR recipient_key = ?2";
    DELETE_SESSIONS = "DELETE FROM sessions WHERE user_id = ?1";
    DELETE_DEVICES = "DELETE FROM devices WHERE user_id = ?1";
    DELETE_LINKS = "DELETE FROM email_links WHERE user_id = ?1";
    DELETE_IDENTITIES = "DELETE FROM identities WHERE user_id = ?1";
    DELETE_APP = "DELETE FROM authenticator_apps WHERE user_id = ?1";
    DELETE_PASSKEYS = "DELETE FROM passkeys WHERE user_id = ?1";
    DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = ?1";
    DELETE_USER = "DELETE FROM users WHERE id = ?1";
}

fn read_documents(row: &Row<'_>) -> rusqlite::Result<EntryDocuments> {
    Ok(EntryDocuments {
        id: row.get(0)?,
        is_renaming: row.get(1)?,
        before: row.get(2)?,
        after: row.get(3)?,
    })
}

impl ErasureTx for SqliteTransaction<'_> {
    async fn entries_about(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<EntryDocuments>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(ENTRIES_ABOUT)?;
        let values = params![ws, after, person.0, person.to_string(), limit];
        let rows = statement.query_map(values, read_documents)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn kept_responses_about(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Result<Vec<KeptResponse>> {
        let ws = self.workspace_number(workspace)?;
        let mut statement = self.prepare(KEPT_RESPONSES_ABOUT)?;
        let rows = statement.query_map(params![ws, person.to_string().into_bytes()], |row| {
            let (token, path, key) = (TokenId(row.get(0)?), row.get(1)?, row.get(2)?);
            Ok(KeptResponse { key: IdempotencyKey { token, path, key }, response: row.get(3)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn invitation_entries(
        &mut self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<(WorkspaceId, EntryDocuments)>> {
        let mut statement = self.prepare(INVITATION_ENTRIES)?;
        let rows = statement.query_map([workspace.map(|workspace| workspace.0)], |row| {
            Ok((WorkspaceId(row.get(4)?), read_documents(row)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn invited_addresses(
        &mut self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<(WorkspaceId, InvitationId, String)>> {
        let mut statement = self.prepare(INVITED_ADDRESSES)?;
        let rows = statement.query_map([workspace.map(|workspace| workspace.0)], |row| {
            Ok((WorkspaceId(row.get(0)?), InvitationId(row.get(1)?), row.get(2)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn write_erasure(&mut self, workspace: WorkspaceId, write: ErasureWrite) -> Result<()> {
        let ws = self.workspace_number(workspace)?;
        match write {
            ErasureWrite::Documents(EntryDocuments { id, before, after, .. }) => {
                self.execute(SET_DOCUMENTS, params![id, before, after])
            }
            ErasureWrite::Response(KeptResponse { key, response }) => {
                let IdempotencyKey { token, path, key } = key;
                self.execute(SET_KEPT_RESPONSE, params![token.0, path, key, response])
            }
            ErasureWrite::CancelDeliveries { entries, at } => {
                let entries = serde_json::Value::from(entries).to_string();
                self.execute(CLEAR_RESPONSES, params![ws, entries])?;
                self.execute(CANCEL_DELIVERIES, params![ws, entries, at.as_millis()])
            }
            ErasureWrite::DeleteBelongings { person } => {
                self.execute(DELETE_MAILS_OF_INVITATIONS, params![ws, person.0])?;
                self.execute(DELETE_INVITATIONS_FROM, params![ws, person.0])?;
                self.execute(DELETE_PRIVATE_VIEWS, params![ws, person.0])?;
                self.execute(import_jobs::sqlite::DELETE_JOBS_OF_PERSON, params![ws, person.0])
            }
            ErasureWrite::DeleteMails { email } => {
                self.execute(DELETE_MAILS_TO, params![workspace.0, email.key()])
            }
        }
    }

    async fn delete_login_attempts(&mut self, email: &Email) -> Result<()> {
        self.execute(DELETE_LOGIN_ATTEMPTS, params![format!(" {}", email.key())])
    }

    async fn delete_user(&mut self, user: UserId, email: &Email) -> Result<()> {
        self.execute(DELETE_ALL_MAILS, params![user.0, email.key()])?;
        for sql in [
            DELETE_SESSIONS,
            DELETE_DEVICES,
            DELETE_LINKS,
            DELETE_IDENTITIES,
            DELETE_APP,
            DELETE_PASSKEYS,
            DELETE_CODES,
            DELETE_LOGINS_OF_USER,
            DELETE_USER,
        ] {
            self.execute(sql, params![user.0])?;
        }
        Ok(())
    }
}
