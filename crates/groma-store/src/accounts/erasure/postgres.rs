//! Erasing people on PostgreSQL.

use super::{EntryDocuments, ErasureTx, ErasureWrite, KeptResponse};
use crate::{
    Result,
    accounts::pending_logins::postgres::DELETE_LOGINS_OF_USER,
    engine::{
        postgres::{PostgresTransaction, params},
        statements,
    },
    idempotency::IdempotencyKey,
    import_jobs,
};
use groma_domain::{Email, InvitationId, PersonId, TokenId, UserId, WorkspaceId};
use tokio_postgres::{Row, types::ToSql};

statements! {
    ENTRIES_ABOUT = "SELECT id, action = 'member.renamed' AND subject = $3, before, after FROM audit_log
        WHERE workspace_id = $1 AND id > $2
            AND (strpos(before, $4) > 0 OR strpos(after, $4) > 0 OR action = 'member.renamed' AND subject = $3)
        ORDER BY id LIMIT $5";
    KEPT_RESPONSES_ABOUT = "SELECT token_id, path, key, response FROM idempotency_keys
        WHERE workspace_id = $1 AND position($2::bytea IN response) > 0";
    SET_KEPT_RESPONSE = "UPDATE idempotency_keys SET response = $5
        WHERE workspace_id = $1 AND token_id = $2 AND path = $3 AND key = $4";
    INVITATION_ENTRIES = "SELECT id, FALSE, before, after, workspace_id FROM audit_log
        WHERE action = 'invitation.created' AND ($1::uuid IS NULL OR workspace_id = $1)";
    INVITED_ADDRESSES = "SELECT workspace_id, id, email FROM invitations
        WHERE $1::uuid IS NULL OR workspace_id = $1";
    SET_DOCUMENTS = "UPDATE audit_log SET before = $3, after = $4 WHERE workspace_id = $1 AND id = $2";
    CANCEL_DELIVERIES = "UPDATE deliveries SET state = CASE state WHEN 2 THEN 2 ELSE 4 END,
            finished_at = coalesce(finished_at, $3), erased_at = $3
        WHERE workspace_id = $1 AND audit_entry_id = ANY ($2)";
    // Receivers may return what they received.
    CLEAR_RESPONSES = "UPDATE attempts a SET response = '' FROM deliveries d
        WHERE d.workspace_id = $1 AND d.audit_entry_id = ANY ($2)
            AND a.workspace_id = d.workspace_id AND a.delivery_id = d.id";
    DELETE_MAILS_OF_INVITATIONS = "DELETE FROM mails WHERE id IN
        (SELECT id FROM invitations WHERE workspace_id = $1 AND invited_by = $2)";
    DELETE_INVITATIONS_FROM = "DELETE FROM invitations WHERE workspace_id = $1 AND invited_by = $2";
    DELETE_PRIVATE_VIEWS = "DELETE FROM saved_views WHERE workspace_id = $1 AND person_id = $2 AND NOT is_shared";
    DELETE_MAILS_TO = "DELETE FROM mails WHERE workspace_id = $1 AND recipient_key = $2";
    DELETE_LOGIN_ATTEMPTS = "DELETE FROM login_attempts WHERE right(bucket, length($1)) = $1";
    DELETE_ALL_MAILS = "DELETE FROM mails WHERE user_id = $1 OR recipient_key = $2";
    DELETE_SESSIONS = "DELETE FROM sessions WHERE user_id = $1";
    DELETE_DEVICES = "DELETE FROM devices WHERE user_id = $1";
    DELETE_LINKS = "DELETE FROM email_links WHERE user_id = $1";
    DELETE_IDENTITIES = "DELETE FROM identities WHERE user_id = $1";
    DELETE_APP = "DELETE FROM authenticator_apps WHERE user_id = $1";
    DELETE_PASSKEYS = "DELETE FROM passkeys WHERE user_id = $1";
    DELETE_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
    DELETE_USER = "DELETE FROM users WHERE id = $1";
}

fn read_documents(row: &Row) -> Result<EntryDocuments> {
    Ok(EntryDocuments {
        id: row.try_get(0)?,
        is_renaming: row.try_get(1)?,
        before: row.try_get(2)?,
        after: row.try_get(3)?,
    })
}

impl ErasureTx for PostgresTransaction<'_> {
    async fn entries_about(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<EntryDocuments>> {
        let (text, limit) = (person.to_string(), i64::from(limit));
        let values: [&(dyn ToSql + Sync); 5] = [&workspace.0, &after, &person.0, &text, &limit];
        self.rows(ENTRIES_ABOUT, &values).await?.iter().map(read_documents).collect()
    }

    async fn kept_responses_about(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> Result<Vec<KeptResponse>> {
        let id = person.to_string().into_bytes();
        let rows = self.rows(KEPT_RESPONSES_ABOUT, &[&workspace.0, &id]).await?;
        let read = |row: &Row| {
            let (token, path, key) = (TokenId(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?);
            let key = IdempotencyKey { token, path, key };
            Ok(KeptResponse { key, response: row.try_get(3)? })
        };
        rows.iter().map(read).collect()
    }

    async fn invitation_entries(
        &mut self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<(WorkspaceId, EntryDocuments)>> {
        let rows = self.rows(INVITATION_ENTRIES, &[&workspace.map(|ws| ws.0)]).await?;
        let read = |row: &Row| Ok((WorkspaceId(row.try_get(4)?), read_documents(row)?));
        rows.iter().map(read).collect()
    }

    async fn invited_addresses(
        &mut self,
        workspace: Option<WorkspaceId>,
    ) -> Result<Vec<(WorkspaceId, InvitationId, String)>> {
        let rows = self.rows(INVITED_ADDRESSES, &[&workspace.map(|ws| ws.0)]).await?;
        let read = |row: &Row| {
            Ok((WorkspaceId(row.try_get(0)?), InvitationId(row.try_get(1)?), row.try_get(2)?))
        };
        rows.iter().map(read).collect()
    }

    async fn write_erasure(&mut self, workspace: WorkspaceId, write: ErasureWrite) -> Result<()> {
        let ws = workspace.0;
        let statements = match write {
            ErasureWrite::Documents(EntryDocuments { id, before, after, .. }) => {
                vec![(SET_DOCUMENTS, params![ws, id, before, after])]
            }
            ErasureWrite::Response(KeptResponse { key, response }) => {
                let IdempotencyKey { token, path, key } = key;
                vec![(SET_KEPT_RESPONSE, params![ws, token.0, path, key, response])]
            }
            ErasureWrite::CancelDeliveries { entries, at } => vec![
                (CLEAR_RESPONSES, params![ws, entries.clone()]),
                (CANCEL_DELIVERIES, params![ws, entries, at.as_millis()]),
            ],
            ErasureWrite::DeleteBelongings { person } => vec![
                (DELETE_MAILS_OF_INVITATIONS, params![ws, person.0]),
                (DELETE_INVITATIONS_FROM, params![ws, person.0]),
                (DELETE_PRIVATE_VIEWS, params![ws, person.0]),
                (import_jobs::postgres::DELETE_JOBS_OF_PERSON, params![ws, person.0]),
            ],
            ErasureWrite::DeleteMails { email } => {
                vec![(DELETE_MAILS_TO, params![ws, email.key()])]
            }
        };
        self.send(statements).await
    }

    async fn delete_login_attempts(&mut self, email: &Email) -> Result<()> {
        let suffix = format!(" {}", email.key());
        self.send(vec![(DELETE_LOGIN_ATTEMPTS, params![suffix])]).await
    }

    async fn delete_user(&mut self, user: UserId, email: &Email) -> Result<()> {
        let id = user.0;
        self.send(vec![
            (DELETE_ALL_MAILS, params![id, email.key()]),
            // Other transactions lock a session before its user.
            (DELETE_SESSIONS, params![id]),
            (DELETE_DEVICES, params![id]),
            (DELETE_LINKS, params![id]),
            (DELETE_IDENTITIES, params![id]),
            (DELETE_APP, params![id]),
            (DELETE_PASSKEYS, params![id]),
            (DELETE_CODES, params![id]),
            (DELETE_LOGINS_OF_USER, params![id]),
            (DELETE_USER, params![id]),
            // A session that began before the user was locked.
            (DELETE_SESSIONS, params![id]),
        ])
        .await
    }
}
