//! Records (folders, assignments, expenses, budgets) and their statuses: the one way to change them, and
//! the ways to read them.

mod apply;
mod change;
mod change_set;
mod commands;
mod dashboard_queries;
mod list_queries;
mod operations;
mod page_index;
pub(crate) mod postgres;
mod record_reader;
pub(crate) mod sqlite;
mod status_commands;
mod unlinked_features;

pub(crate) use apply::ApplyChange;
pub use change::{Change, Command, CommandOutcome, ReservedReferences, SaveTarget, StatusTarget};
pub use dashboard_queries::{MonthHours, PersonWorkload, WORK_LIMIT, Workload};
pub use list_queries::{
    COUNT_LIMIT, RecordCount, RecordPage, RecordQuery, Sort, SortColumn, StatusFilter,
};
#[cfg(test)]
pub(crate) use list_queries::{Dialect, every_statement};
pub use operations::{
    BatchOutcome, Operation, OperationBatch, OperationEffect, OperationOutcome, OperationResult,
    Responder,
};
pub use record_reader::RecordReader;
pub(crate) use unlinked_features::{DeletedLinks, UnlinkedFeatures};

use crate::{
    Result,
    engine::{Engine, dispatch},
    import_jobs::ImportJobTx,
    list_pages::Page,
    people::PeopleCache,
    webhooks::{WebhookContext, WebhookTx},
};
use apply::CheckChange;
use bytes::Bytes;
use groma_domain::{
    DomainError, ImportJobId, Kind, ListParams, Record, RecordId, Status, StatusId, Timestamp,
    WorkspaceId,
    record::{LabelField, StoredDocument},
    reference::Key,
    time::Date,
};
use list_queries::ExactPage;
use operations::ExecuteBatch;
use page_index::PageIndexCache;
use std::sync::Arc;
use uuid::Uuid;

/// A value that records share, such as a client or a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The value.
    pub value: String,
    /// How many records have it.
    pub records: u64,
}

/// A record in an export.
pub struct ExportedRecord {
    /// Its position in the order of creation, to continue after.
    pub position: u64,
    /// Its public document.
    pub document: Vec<u8>,
}

/// Records and statuses of a database.
#[derive(Clone)]
pub(crate) struct Records {
    engine: Engine,
    caches: Arc<RecordCaches>,
    webhooks: Arc<WebhookContext>,
}

#[derive(Default)]
struct RecordCaches {
    people: PeopleCache,
    page_index: PageIndexCache,
}

impl Records {
    pub(crate) fn new(engine: &Engine, webhooks: &Arc<WebhookContext>) -> Self {
        Self { engine: engine.clone(), caches: Arc::default(), webhooks: webhooks.clone() }
    }

    /// A page of the records of a kind, in the order of creation.
    pub(crate) async fn list(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        params: &ListParams,
    ) -> Result<Page> {
        // A read on the calling thread never waits: a task that only reads must still let others run.
        tokio::task::consume_budget().await;
        dispatch!(&self.engine, list(&self.caches, workspace, kind, params))
    }

    /// The public document of a record.
    pub(crate) async fn get(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> Result<Option<Bytes>> {
        tokio::task::consume_budget().await;
        dispatch!(&self.engine, get(&self.caches, workspace, kind, key))
    }

    /// A filtered and sorted page of records.
    pub(crate) async fn query(
        &self,
        workspace: WorkspaceId,
        query: RecordQuery,
    ) -> Result<RecordPage> {
        dispatch!(&self.engine, query(&self.caches, workspace, query))
    }

    /// A page of the records that match a query, with the exact number of them: at the cursor, or after those
    /// that the query skips.
    pub(crate) async fn find(
        &self,
        workspace: WorkspaceId,
        query: RecordQuery,
        cursor: Option<&str>,
    ) -> Result<Page> {
        let page = ExactPage::new(workspace, query, cursor)?;
        dispatch!(&self.engine, find(&self.caches, workspace, page))
    }

    /// The number of records of each kind, in the order of [`Kind::ALL`].
    pub(crate) async fn totals(&self, workspace: WorkspaceId) -> Result<[u64; Kind::ALL.len()]> {
        dispatch!(&self.engine, totals(workspace))
    }

    /// Up to `limit` labels of a field that contain a text, those that begin with it first.
    pub(crate) async fn labels(
        &self,
        workspace: WorkspaceId,
        field: LabelField,
        text: &str,
        limit: u32,
    ) -> Result<Vec<Label>> {
        let folded = groma_domain::text::fold(text.trim());
        dispatch!(&self.engine, labels(workspace, field, folded, limit))
    }

    /// The assignments with work left by person. `finished` are the statuses without.
    pub(crate) async fn workload(
        &self,
        workspace: WorkspaceId,
        finished: &[StatusId],
        today: Date,
    ) -> Result<Workload> {
        dispatch!(&self.engine, workload(workspace, finished, today))
    }

    /// The hours of completed assignments by the month in which they were due.
    pub(crate) async fn hours_by_due_month(
        &self,
        workspace: WorkspaceId,
        from: Date,
        until: Date,
    ) -> Result<Vec<MonthHours>> {
        dispatch!(&self.engine, hours_by_due_month(workspace, from, until))
    }

    /// A page of the statuses.
    pub(crate) async fn statuses(
        &self,
        workspace: WorkspaceId,
        params: &ListParams,
    ) -> Result<Page> {
        // There are few: they are read whole, and searched and paged here for both engines.
        let documents = dispatch!(&self.engine, statuses(workspace))?;
        let mut matching = Vec::with_capacity(documents.len());
        for (number, document) in documents {
            let status: Status = serde_json::from_slice(&document)?;
            let name = groma_domain::text::fold(&status.name);
            if params.term.as_ref().is_none_or(|term| name.contains(term.as_str())) {
                matching.push((number, document));
            }
        }
        Page::of(workspace, "statuses", &matching, params, Clone::clone)
    }

    /// Up to `limit` records of a kind after a position, in the order of creation.
    pub(crate) async fn export(
        &self,
        workspace: WorkspaceId,
        kind: Kind,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ExportedRecord>> {
        dispatch!(&self.engine, export(&self.caches, workspace, kind, after, limit))
    }

    /// Executes a change: all of it, with its events, or nothing.
    pub(crate) async fn apply(&self, change: Change) -> Result<Vec<CommandOutcome>> {
        let workspace = change.workspace;
        let work = self.work(change, ReservedReferences::default());
        match &self.engine {
            Engine::Sqlite(engine) => engine.transact(work).await,
            Engine::Postgres(engine) => engine.transact_grouped(workspace, work).await,
        }
    }

    /// Executes the operations of a request.
    pub(crate) async fn execute(&self, batch: OperationBatch) -> Result<BatchOutcome> {
        let (workspace, is_small) = (batch.workspace, batch.operations.len() == 1);
        let work = ExecuteBatch { batch, webhooks: self.webhooks.clone() };
        match &self.engine {
            // Large batches do not share their transaction: the others would wait for them.
            Engine::Postgres(engine) if is_small => engine.transact_grouped(workspace, work).await,
            engine => engine.transact(work).await,
        }
    }

    /// Executes the change of an import, or a part of it. None of the `reserved` references is generated. A job
    /// ends with the change.
    pub(crate) async fn apply_import(
        &self,
        change: Change,
        reserved: ReservedReferences,
        job: Option<ImportJobId>,
    ) -> Result<Vec<CommandOutcome>> {
        self.engine.transact(ApplyChange { job, ..self.work(change, reserved) }).await
    }

    /// The outcome that each command of a change would have, after those before it.
    pub(crate) async fn check(
        &self,
        change: Change,
    ) -> Result<Vec<Result<CommandOutcome, DomainError>>> {
        self.engine.dry_run(CheckChange(change)).await
    }

    fn work(&self, change: Change, reserved: ReservedReferences) -> ApplyChange {
        ApplyChange { change, reserved, job: None, webhooks: self.webhooks.clone() }
    }
}

/// Operations of a transaction on records.
pub(crate) trait RecordTx: WebhookTx + ImportJobTx {
    /// A record by its key.
    fn find(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        key: &Key,
    ) -> impl Future<Output = Result<Option<StoredRecord>>> + Send;

    /// Up to `limit` records of a kind with an external ID, in the order of creation.
    fn by_external_id(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        external_id: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredRecord>>> + Send;

    /// The records of a kind that refer to `id`, in the order of creation.
    fn linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> impl Future<Output = Result<Vec<StoredRecord>>> + Send;

    /// Whether a record of a kind refers to `id`.
    fn is_linked(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
        link: Link,
        id: Uuid,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// The statuses of the workspace, in the order of creation.
    fn statuses(
        &mut self,
        workspace: WorkspaceId,
    ) -> impl Future<Output = Result<Vec<Status>>> + Send;

    fn record_counters(
        &mut self,
        workspace: WorkspaceId,
        kind: Kind,
    ) -> impl Future<Output = Result<RecordCounters>> + Send;

    /// Removes the links of features to deleted folders and assignments.
    fn unlink_features(
        &mut self,
        workspace: WorkspaceId,
        deleted: &DeletedLinks,
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<UnlinkedFeatures>>> + Send;

    /// Executes writes in their order.
    fn write_records(
        &mut self,
        workspace: WorkspaceId,
        writes: Vec<RecordWrite>,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// What a record can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Folder,
    Assignment,
    Budget,
    Status,
}

impl Link {
    fn column(self) -> &'static str {
        match self {
            Self::Folder => "folder_id",
            Self::Assignment => "assignment_id",
            Self::Budget => "budget_id",
            Self::Status => "status_id",
        }
    }

    /// The columns of the links that records of a kind have.
    pub(crate) fn columns(kind: Kind) -> impl Iterator<Item = &'static str> {
        Self::of(kind).iter().map(|link| link.column())
    }

    /// The links that records of a kind have.
    fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Folder => &[Self::Status],
            Kind::Assignment | Kind::Budget => &[Self::Status, Self::Folder],
            Kind::Expense => &[Self::Status, Self::Folder, Self::Assignment, Self::Budget],
        }
    }

    /// The id that `record` refers to.
    fn target(self, record: &Record) -> Option<Uuid> {
        let id = match (self, record) {
            (Self::Status, record) => return record.status().map(|id| id.0),
            (Self::Folder, record) => record.folder(),
            (Self::Assignment, Record::Expense(expense)) => expense.assignment_id,
            (Self::Budget, Record::Expense(expense)) => expense.budget_id,
            _ => None,
        };
        id.map(|id| id.0)
    }
}

/// A record as it is stored.
pub(crate) struct StoredRecord {
    /// Its position in the order of creation.
    pub(crate) position: u64,
    pub(crate) record: Record,
}

/// What is counted for one kind of record in a workspace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordCounters {
    last_position: u64,
    last_reference: u64,
    total: u64,
    /// Counts the changes to the set of records.
    generation: u64,
}

/// A record to be written.
pub(crate) struct RecordRow {
    position: u64,
    record: Record,
    document: StoredDocument,
    /// The folded texts that lists are sorted by.
    title: String,
    reference_key: String,
    search_text: String,
}

/// A write to records or statuses.
pub(crate) enum RecordWrite {
    Insert(RecordRow),
    Update {
        row: RecordRow,
        search_changed: bool,
    },
    Delete {
        kind: Kind,
        position: u64,
    },
    /// Sets the reference to the record's id, which no record can have, until the record is written.
    ReleaseReference {
        kind: Kind,
        position: u64,
        id: RecordId,
    },
    /// Sets the name of a status to its id until the status is written.
    ReleaseStatusName(StatusId),
    /// A new status goes after the others.
    SaveStatus(Status),
    DeleteStatus(StatusId),
    SaveCounters {
        kind: Kind,
        counters: RecordCounters,
    },
    /// Adds to the number of records in a bucket of the page index.
    AdjustBucket {
        kind: Kind,
        bucket: u64,
        difference: i64,
        generation: u64,
    },
    /// Adds to the number of records that have a label. A label without records is deleted.
    AdjustLabel {
        field: LabelField,
        value: String,
        difference: i64,
    },
}
