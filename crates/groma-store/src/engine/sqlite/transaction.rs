//! A transaction of the writer. Topics implement their own traits on it, beside their SQL.

use super::{full_text::FullTextEntry, workspace_number};
use crate::Result;
use groma_domain::WorkspaceId;
use rusqlite::{CachedStatement, Connection, ToSql};

/// An open transaction. Every operation completes at once.
pub(crate) struct SqliteTransaction<'c> {
    /// Exclusive, because a shared connection cannot be sent to another thread.
    connection: &'c mut Connection,
    workspace: Option<(WorkspaceId, i64)>,
    full_text: Vec<FullTextEntry>,
    after_commit: Vec<AfterCommit>,
}

/// Work that runs in a transaction. It is cloned because it may run again: when one change of a group
/// fails, the transaction is rolled back and each change runs by itself.
pub(crate) trait SqliteWork: Clone + Send + 'static {
    /// The result of the work.
    type Output: Send + 'static;
    /// Runs it. An error rolls the transaction back.
    fn run_on_sqlite(self, tx: &mut SqliteTransaction<'_>) -> Result<Self::Output>;
}

/// What runs as soon as the transaction is committed, even if the caller has gone away.
pub(super) type AfterCommit = Box<dyn FnOnce() + Send>;

impl<'c> SqliteTransaction<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        Self { connection, workspace: None, full_text: Vec::new(), after_commit: Vec::new() }
    }

    /// What is left to do before and after the commit.
    pub(super) fn finish(self) -> (Vec<FullTextEntry>, Vec<AfterCommit>) {
        (self.full_text, self.after_commit)
    }

    pub(crate) fn connection(&self) -> &Connection {
        self.connection
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    pub(crate) fn execute(&self, sql: &str, params: &[&dyn ToSql]) -> Result<()> {
        self.prepare(sql)?.execute(params)?;
        Ok(())
    }

    /// The number of a workspace; -1 when there is none, which matches no row.
    pub(crate) fn workspace_number(&mut self, workspace: WorkspaceId) -> Result<i64> {
        if let Some((known, number)) = self.workspace
            && known == workspace
        {
            return Ok(number);
        }
        let number = workspace_number(self.connection, workspace)?.unwrap_or(-1);
        if number >= 0 {
            self.workspace = Some((workspace, number));
        }
        Ok(number)
    }

    /// Updates a full-text index before the commit.
    pub(crate) fn index_text(&mut self, entry: FullTextEntry) {
        self.full_text.push(entry);
    }

    /// Runs `hook` once the transaction is committed.
    pub(crate) fn after_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(hook));
    }
}
