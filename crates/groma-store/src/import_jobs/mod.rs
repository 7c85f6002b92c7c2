//! Imports of files in the web application. The process that received a file does the work; what the import is to
//! do, how far it is and how it ended are in its row, which every replica reads.
//!
//! A live job renews its heartbeat. One whose heartbeat is old is interrupted: the transaction that would have
//! written its rows or published its features fails, because it ends the job, too, and only a running one can end.

/// The columns of a job, in the order in which both engines read and write them.
macro_rules! job_columns {
    () => {
        "id, person_id, file_name, state, revision, options, preview, progress, failure, result, created_at,
            heartbeat_at"
    };
}

pub(crate) mod postgres;
pub(crate) mod sqlite;

use crate::{
    Actor, Result,
    actor::AuthorizedActor,
    engine::{Engine, dispatch, impl_work, random},
    workspaces::{self, WorkspaceTx},
};
use groma_domain::{
    DomainError, ImportJobId, LayerId, Permission, PersonId, Timestamp, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A job whose heartbeat is older is interrupted.
const HEARTBEAT_TIMEOUT_MILLIS: i64 = 30_000;
/// Jobs that ended are deleted after this time.
const RETENTION_MILLIS: i64 = 7 * 24 * 3_600 * 1_000;
/// The number of live jobs of a member. Each keeps a file.
const MAX_LIVE_JOBS: i64 = 5;

/// The state of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// The file is being checked, with the current options.
    Checking,
    /// The file is checked: somebody can start the import, or choose other options.
    Ready,
    /// The import runs.
    Running,
    /// Everything was imported.
    Done,
    /// The import failed, and nothing was imported.
    Failed,
    /// Somebody cancelled the import, and nothing was imported.
    Cancelled,
    /// The process that had the file has ended, and nothing was imported.
    Interrupted,
}

impl ImportState {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Checking, "checking"),
        (Self::Ready, "ready"),
        (Self::Running, "running"),
        (Self::Done, "done"),
        (Self::Failed, "failed"),
        (Self::Cancelled, "cancelled"),
        (Self::Interrupted, "interrupted"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    fn of_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|(_, other)| *other == name);
        found.map_or(Self::Interrupted, |(state, _)| state)
    }

    /// Whether the job has not ended.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Checking | Self::Ready | Self::Running)
    }
}

/// An import of a file.
#[derive(Clone, Debug)]
pub struct ImportJob {
    /// Identifier.
    pub id: ImportJobId,
    /// Who imports the file.
    pub person: PersonId,
    /// The name of the file.
    pub file_name: String,
    /// What the job does.
    pub state: ImportState,
    /// Counts the changes of the options.
    pub revision: u64,
    /// What to import and where, as JSON of the program.
    pub options: String,
    /// What the check found, as JSON of the program.
    pub preview: Option<String>,
    /// How far the current step is, as JSON of the program.
    pub progress: Option<String>,
    /// Why the import failed.
    pub failure: Option<String>,
    /// What was imported.
    pub result: Option<ImportResult>,
    /// When the file was received.
    pub created_at: Timestamp,
    /// When the job was last known to be alive, or ended.
    pub heartbeat_at: Timestamp,
}

/// An import in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedImport {
    /// Identifier.
    pub id: ImportJobId,
    /// Who imports the file.
    pub person: PersonId,
    /// The name of the file.
    pub file_name: String,
    /// What the job does.
    pub state: ImportState,
    /// When the file was received.
    pub created_at: Timestamp,
}

/// Which imports a list has.
#[derive(Clone, Copy, Debug)]
pub struct ImportList {
    /// Only those of this person.
    pub person: Option<PersonId>,
    /// The most imports.
    pub limit: u32,
    /// The current time: imports that ended long before are left out.
    pub now: Timestamp,
}

/// What an import changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportResult {
    /// The layer, if features were imported.
    pub layer: Option<LayerId>,
    /// The number of new records or features.
    pub created: u64,
    /// The number of changed ones.
    pub updated: u64,
    /// The number of those that were as in the file before.
    pub unchanged: u64,
    /// The number of deleted ones.
    pub deleted: u64,
}

/// What happens to a job.
#[derive(Clone, Debug)]
pub enum ImportJobChange {
    /// A member chooses other options; the file is checked again.
    Configure(String),
    /// A member starts the import that was checked with the options of this revision.
    Start(u64),
    /// A member cancels it.
    Cancel,
    /// The check with the options of a revision is complete.
    Checked {
        /// The revision.
        revision: u64,
        /// What it found.
        preview: String,
        /// The rows or features that were rejected, as a file.
        rejected: Vec<u8>,
    },
    /// The file cannot be checked or imported.
    Fail(String),
}

/// Operations of a transaction on import jobs.
pub(crate) trait ImportJobTx: WorkspaceTx {
    /// A job, locked.
    fn import_job(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> impl Future<Output = Result<Option<ImportJob>>> + Send;

    /// The same, unless another transaction has locked it.
    fn unlocked_import_job(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> impl Future<Output = Result<Option<ImportJob>>> + Send;

    /// The number of live jobs of a member.
    fn live_import_jobs(
        &mut self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> impl Future<Output = Result<i64>> + Send;

    fn save_import_job(
        &mut self,
        workspace: WorkspaceId,
        job: ImportJob,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Saves when a live job was known to be alive and how far it is, unless another transaction has locked it.
    fn save_heartbeat(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
        progress: String,
        now: Timestamp,
    ) -> impl Future<Output = Result<()>> + Send;

    fn save_rejected(
        &mut self,
        workspace: WorkspaceId,
        id: ImportJobId,
        rejected: Vec<u8>,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Deletes the jobs of all workspaces that ended before.
    fn delete_ended_import_jobs(
        &mut self,
        before: Timestamp,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Locks a job that runs, in the transaction that imports its file. As everywhere, the workspace is locked before.
pub(crate) async fn lock_running<T: ImportJobTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    job: Option<ImportJobId>,
) -> Result<Option<ImportJob>> {
    let Some(id) = job else { return Ok(None) };
    let running = tx.import_job(workspace, id).await?;
    let running = running.filter(|job| job.state == ImportState::Running);
    Ok(Some(running.ok_or(DomainError::ImportEnded)?))
}

/// Ends a locked job in that transaction.
pub(crate) async fn finish<T: ImportJobTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    job: Option<ImportJob>,
    result: ImportResult,
    now: Timestamp,
) -> Result<()> {
    let Some(mut job) = job else { return Ok(()) };
    job.end(ImportState::Done, now);
    job.result = Some(result);
    tx.save_import_job(workspace, job).await
}

impl ImportJob {
    fn end(&mut self, state: ImportState, now: Timestamp) {
        self.state = state;
        self.progress = None;
        self.heartbeat_at = now;
    }

    /// Applies a change, unless the state forbids it. Returns the file of rejected rows, if it changes.
    fn apply(&mut self, change: ImportJobChange, now: Timestamp) -> Result<Option<Vec<u8>>> {
        use ImportJobChange::{Cancel, Checked, Configure, Fail, Start};
        use ImportState::{Cancelled, Checking, Failed, Ready, Running};
        match (self.state, change) {
            (Checking | Ready, Configure(options)) => {
                self.options = options;
                self.revision += 1;
                self.state = Checking;
                (self.preview, self.progress) = (None, None);
                return Ok(Some(Vec::new()));
            }
            (Checking, Checked { revision, preview, rejected }) if revision == self.revision => {
                self.state = Ready;
                (self.preview, self.progress) = (Some(preview), None);
                return Ok(Some(rejected));
            }
            // The options have changed meanwhile.
            (Checking, Checked { .. }) => {}
            (Ready, Start(revision)) if revision == self.revision => self.state = Running,
            // It runs already.
            (Running, Start(revision)) if revision == self.revision => {}
            (state, Cancel) if state.is_live() => self.end(Cancelled, now),
            (state, Fail(reason)) if state.is_live() => {
                self.end(Failed, now);
                self.failure = Some(reason);
            }
            _ => return Err(DomainError::ImportEnded.into()),
        }
        Ok(None)
    }
}

impl_work! {
    CreateJob => ImportJob;
    ChangeJob => ImportJob;
    Heartbeat => ();
    Interrupt => ();
    DeleteEnded => ();
}

/// Imports of a database.
#[derive(Clone)]
pub(crate) struct ImportJobs {
    engine: Engine,
}

impl ImportJobs {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone() }
    }

    /// Creates a job for a file that was received.
    pub(crate) async fn create(
        &self,
        workspace: WorkspaceId,
        actor: Actor,
        file_name: String,
        options: String,
        now: Timestamp,
    ) -> Result<ImportJob> {
        self.engine.transact(CreateJob { workspace, actor, file_name, options, now }).await
    }

    /// Rejects a further job of a member who has too many already.
    pub(crate) async fn check_limit(&self, workspace: WorkspaceId, person: PersonId) -> Result<()> {
        require_room(dispatch!(&self.engine, live_jobs(workspace, person))?)
    }

    /// One job.
    pub(crate) async fn get(
        &self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> Result<Option<ImportJob>> {
        dispatch!(&self.engine, job(workspace, id))
    }

    /// The jobs of a workspace, newest first.
    pub(crate) async fn list(
        &self,
        workspace: WorkspaceId,
        list: ImportList,
    ) -> Result<Vec<ListedImport>> {
        dispatch!(&self.engine, jobs(workspace, list))
    }

    /// The rows or features that were rejected, as a file.
    pub(crate) async fn rejected(
        &self,
        workspace: WorkspaceId,
        id: ImportJobId,
    ) -> Result<Option<Vec<u8>>> {
        dispatch!(&self.engine, rejected(workspace, id))
    }

    /// Changes a job. An `actor` must be its owner, or an administrator who cancels it.
    pub(crate) async fn change(
        &self,
        workspace: WorkspaceId,
        id: ImportJobId,
        actor: Actor,
        change: ImportJobChange,
        now: Timestamp,
    ) -> Result<ImportJob> {
        self.engine.transact(ChangeJob { workspace, id, actor, change, now }).await
    }

    /// Notes that a job is alive, and how far it is. The time is that of the transaction, which can have waited for
    /// a long one.
    pub(crate) async fn heartbeat(
        &self,
        workspace: WorkspaceId,
        id: ImportJobId,
        progress: String,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<()> {
        let clock = Arc::new(clock);
        self.engine.transact(Heartbeat { workspace, id, progress, clock }).await
    }

    /// Interrupts the jobs whose process has ended, except those that this process works on; when the only server
    /// starts, these are all.
    pub(crate) async fn interrupt(
        &self,
        now: Timestamp,
        is_restart: bool,
        is_alive: impl Fn(ImportJobId) -> bool,
    ) -> Result<()> {
        let timeout = if is_restart { 0 } else { HEARTBEAT_TIMEOUT_MILLIS };
        let before = Timestamp::from_millis(now.as_millis() - timeout);
        let dead: Vec<_> = dispatch!(&self.engine, dead_jobs(before))?;
        for (workspace, id) in dead.into_iter().filter(|(_, id)| !is_alive(*id)) {
            self.engine.transact(Interrupt { workspace, id, before, now }).await?;
        }
        Ok(())
    }

    /// Deletes the jobs that ended a week ago.
    pub(crate) async fn delete_ended(&self, now: Timestamp) -> Result<()> {
        let before = retention_start(now);
        if dispatch!(&self.engine, has_ended_jobs(before))? {
            self.engine.transact(DeleteEnded { before }).await?;
        }
        Ok(())
    }
}

fn require_room(live: i64) -> Result<()> {
    if live < MAX_LIVE_JOBS { Ok(()) } else { Err(DomainError::TooManyImports.into()) }
}

/// Jobs that ended before this time are deleted.
fn retention_start(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.as_millis() - RETENTION_MILLIS)
}

#[derive(Clone)]
struct CreateJob {
    workspace: WorkspaceId,
    actor: Actor,
    file_name: String,
    options: String,
    now: Timestamp,
}

impl CreateJob {
    async fn run<T: ImportJobTx>(self, tx: &mut T) -> Result<ImportJob> {
        let Self { workspace, actor, file_name, options, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        actor.require(Permission::ChangeRecords)?;
        let person = actor.member()?;
        require_room(tx.live_import_jobs(workspace, person).await?)?;
        let job = ImportJob {
            id: ImportJobId::new(now, random()),
            person,
            file_name,
            state: ImportState::Checking,
            revision: 1,
            options,
            preview: None,
            progress: None,
            failure: None,
            result: None,
            created_at: now,
            heartbeat_at: now,
        };
        tx.save_import_job(workspace, job.clone()).await?;
        Ok(job)
    }
}

#[derive(Clone)]
struct ChangeJob {
    workspace: WorkspaceId,
    id: ImportJobId,
    actor: Actor,
    change: ImportJobChange,
    now: Timestamp,
}

impl ChangeJob {
    async fn run<T: ImportJobTx>(self, tx: &mut T) -> Result<ImportJob> {
        let Self { workspace, id, actor, change, now } = self;
        let (_, actor) = workspaces::authorize(tx, workspace, actor, now).await?;
        let job = tx.import_job(workspace, id).await?;
        let not_found = || DomainError::NotFound { resource: "import", key: id.to_string() };
        let mut job = job.filter(|job| may_change(actor, job, &change)).ok_or_else(not_found)?;
        if let Some(rejected) = job.apply(change, now)? {
            tx.save_rejected(workspace, id, rejected).await?;
        }
        tx.save_import_job(workspace, job.clone()).await?;
        Ok(job)
    }
}

/// Whether this is the member who imports the file, an administrator who cancels the import, or the program.
fn may_change(actor: AuthorizedActor, job: &ImportJob, change: &ImportJobChange) -> bool {
    match actor.person {
        None => true,
        Some(person) if person == job.person => actor.require(Permission::ChangeRecords).is_ok(),
        Some(_) => {
            matches!(change, ImportJobChange::Cancel)
                && actor.require(Permission::Administer).is_ok()
        }
    }
}

#[derive(Clone)]
struct Heartbeat {
    workspace: WorkspaceId,
    id: ImportJobId,
    progress: String,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Heartbeat {
    async fn run<T: ImportJobTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, id, progress, clock } = self;
        // A locked job is being changed, so it is alive.
        tx.save_heartbeat(workspace, id, progress, clock()).await
    }
}

#[derive(Clone)]
struct Interrupt {
    workspace: WorkspaceId,
    id: ImportJobId,
    before: Timestamp,
    now: Timestamp,
}

impl Interrupt {
    async fn run<T: ImportJobTx>(self, tx: &mut T) -> Result<()> {
        let Self { workspace, id, before, now } = self;
        let job = tx.unlocked_import_job(workspace, id).await?;
        let dead = job.filter(|job| job.state.is_live() && job.heartbeat_at <= before);
        let Some(mut job) = dead else { return Ok(()) };
        job.end(ImportState::Interrupted, now);
        tx.save_import_job(workspace, job).await
    }
}

#[derive(Clone)]
struct DeleteEnded {
    before: Timestamp,
}

impl DeleteEnded {
    async fn run<T: ImportJobTx>(self, tx: &mut T) -> Result<()> {
        tx.delete_ended_import_jobs(self.before).await
    }
}
