//! The task that works on an import: it has the file, follows what members change in the row of the job, and writes
//! there what it found.

use super::{
    check_error::CheckError,
    feature_check::{check_features, import_features},
    options::{ImportOptions, Target},
    preview::{Preview, PreviewProblem},
    progress::JobProgress,
    received_file::ReceivedFile,
    record_check::{check_records, import_records},
    upload_folder::UploadFolder,
};
use crate::{
    clock,
    import::{ImportError, Progress},
    member_slots::{MemberSlot, MemberSlots},
    web::WebError,
};
use groma_domain::{ImportJobId, PersonId, WorkspaceId};
use groma_store::{Actor, ImportJob, ImportJobChange, ImportState};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// How often the row of a job is read. A change that this process makes is noticed at once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often a job that waits for a member shows that it is alive.
const IDLE_HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a checked file waits to be imported.
const MAX_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// How many files are checked or imported at once, of a workspace and in all. Others wait.
const FILES_PER_WORKSPACE: u32 = 2;
const FILES: usize = 4;

/// The imports that this process works on.
#[derive(Default)]
pub(in crate::web) struct Workers {
    running: Mutex<HashMap<ImportJobId, Weak<Notify>>>,
    slots: WorkSlots,
}

impl Workers {
    /// Makes the worker of a job look at its row now, if this process has it.
    pub(super) fn notify(&self, job: ImportJobId) {
        if let Some(worker) = self.running.lock().get(&job).and_then(Weak::upgrade) {
            worker.notify_one();
        }
    }

    /// Whether this process works on a job.
    pub(super) fn has(&self, job: ImportJobId) -> bool {
        self.running.lock().get(&job).is_some_and(|worker| worker.strong_count() > 0)
    }

    /// Starts to work on a job.
    pub(super) fn start(&self, file: ReceivedFile, folder: UploadFolder) {
        let changed = Arc::default();
        let mut running = self.running.lock();
        running.retain(|_, worker| worker.strong_count() > 0);
        running.insert(file.job, Arc::downgrade(&changed));
        let worker = Worker { file, changed, slots: self.slots.clone(), _folder: folder };
        tokio::spawn(worker.run());
    }
}

/// Limits how many files are checked or imported at once. A job that was cancelled has its slot until its work has
/// ended.
#[derive(Clone)]
struct WorkSlots {
    workspaces: MemberSlots,
    all: Arc<Semaphore>,
}

impl Default for WorkSlots {
    fn default() -> Self {
        let workspaces = MemberSlots::new(0, FILES_PER_WORKSPACE);
        Self { workspaces, all: Arc::new(Semaphore::new(FILES)) }
    }
}

impl WorkSlots {
    /// Waits for a slot, for any time.
    async fn acquire(
        &self,
        workspace: WorkspaceId,
        person: PersonId,
    ) -> (Option<MemberSlot>, Option<OwnedSemaphorePermit>) {
        // The workspace first: one that waits must not take the slots of others.
        let workspace = self.workspaces.wait(workspace, person).await;
        (workspace, self.all.clone().acquire_owned().await.ok())
    }
}

struct Worker {
    file: ReceivedFile,
    changed: Arc<Notify>,
    slots: WorkSlots,
    /// Deleted when the worker ends.
    _folder: UploadFolder,
}

impl Worker {
    async fn run(self) {
        let mut idle_since = None;
        let mut last_heartbeat = Instant::now();
        loop {
            let job = match self.file.store.import_job(self.file.workspace, self.file.job).await {
                Ok(Some(job)) => job,
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot read an import");
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                }
            };
            match job.state {
                ImportState::Checking => {
                    idle_since = None;
                    self.work_on(&job).await;
                }
                ImportState::Running => self.work_on(&job).await,
                ImportState::Ready => {
                    let since = *idle_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > MAX_IDLE {
                        self.fail(self.file.t.msg("import-expired").into()).await;
                        return;
                    }
                    if last_heartbeat.elapsed() > IDLE_HEARTBEAT {
                        self.heartbeat(&JobProgress::new()).await;
                        last_heartbeat = Instant::now();
                    }
                    let _ = timeout(POLL_INTERVAL, self.changed.notified()).await;
                }
                ImportState::Done
                | ImportState::Failed
                | ImportState::Cancelled
                | ImportState::Interrupted => return,
            }
        }
    }

    /// Checks or imports the file, until it is done or the row of the job says something else.
    async fn work_on(&self, job: &ImportJob) {
        let progress = Arc::new(JobProgress::new());
        let _slot = tokio::select! {
            slot = self.slots.acquire(self.file.workspace, job.person) => slot,
            () = self.until_changed(job, &progress) => return,
        };
        let work = async {
            match job.state {
                ImportState::Checking => self.check(job, &progress).await,
                _ => self.import(job, &progress).await,
            }
        };
        self.supervise(job, &progress, work).await;
    }

    /// Shows that the job is alive while it is worked on, and cancels the work if its row says something else.
    async fn supervise(&self, job: &ImportJob, progress: &JobProgress, work: impl Future) {
        let _cancel = progress.cancel_on_drop();
        let watch = async {
            self.until_changed(job, progress).await;
            progress.cancel();
            // The work ends by itself: a transaction that has begun cannot be left. Meanwhile the job, which may
            // have other options now, is alive.
            loop {
                self.heartbeat(progress).await;
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            _ = work => {}
            () = watch => {}
        }
        // Work without a result is not repeated for ever.
        if !progress.is_cancelled() && self.is_changed(job).await == Some(false) {
            self.fail(self.file.t.msg("import-failed").into()).await;
        }
    }

    /// Shows that the job is alive until its row says something else.
    async fn until_changed(&self, job: &ImportJob, progress: &JobProgress) {
        loop {
            self.heartbeat(progress).await;
            let _ = timeout(POLL_INTERVAL, self.changed.notified()).await;
            if self.is_changed(job).await == Some(true) {
                return;
            }
        }
    }

    /// Whether the row of the job says something else now; `None` if it cannot be read.
    async fn is_changed(&self, job: &ImportJob) -> Option<bool> {
        let current = self.file.store.import_job(self.file.workspace, self.file.job).await.ok()?;
        Some(current.is_none_or(|now| now.state != job.state || now.revision != job.revision))
    }

    async fn check(&self, job: &ImportJob, progress: &Arc<JobProgress>) {
        let Ok(options) = serde_json::from_str::<ImportOptions>(&job.options) else {
            return self.fail(self.file.t.msg("import-failed").into()).await;
        };
        let mut preview = Preview::default();
        let checked = match &options.target {
            Target::Records(_) => check_records(&self.file, &options, progress, &mut preview).await,
            Target::Layer(_) | Target::NewLayer(_) => {
                check_features(&self.file, &options, progress, &mut preview).await
            }
        };
        let rejected = match checked {
            Ok(rejected) => rejected,
            // With other options, the file is checked again.
            Err(_) if progress.is_cancelled() => return,
            Err(CheckError::Other(ImportError::Cancelled)) => return,
            Err(CheckError::Unreadable(error)) => return self.fail(self.reason(error)).await,
            Err(CheckError::Other(error)) => {
                preview.problem = Some(PreviewProblem::Unusable(self.reason(error)));
                Vec::new()
            }
        };
        if preview.problem.is_none() {
            preview.problem = preview.repeated_field().cloned().map(PreviewProblem::RepeatedField);
        }
        let Ok(preview) = serde_json::to_string(&preview) else { return };
        let checked = ImportJobChange::Checked { revision: job.revision, preview, rejected };
        // If the database fails, the job is failed once it can be written again.
        let _ = self.change(checked).await;
    }

    /// Imports the file. The transaction that does so ends the job.
    async fn import(&self, job: &ImportJob, progress: &Arc<JobProgress>) {
        let Ok(options) = serde_json::from_str::<ImportOptions>(&job.options) else {
            return self.fail(self.file.t.msg("import-failed").into()).await;
        };
        let imported = match &options.target {
            Target::Records(_) => import_records(&self.file, &options, progress, job).await,
            Target::Layer(_) | Target::NewLayer(_) => {
                import_features(&self.file, &options, progress).await
            }
        };
        match imported {
            Ok(()) | Err(ImportError::Cancelled) => {}
            Err(error) => self.fail(self.reason(error)).await,
        }
    }

    /// Why an import failed, in the language of the member.
    pub(super) fn reason(&self, error: ImportError) -> String {
        match error {
            ImportError::File(reason) => self.file.t.translate(&reason),
            ImportError::Store(error @ groma_store::Error::Domain { .. }) => {
                WebError::from(error).text.show(self.file.t, false)
            }
            ImportError::FileChanged => self.file.t.msg("import-data-changed").into(),
            ImportError::DataChanged { line, reason, .. } => {
                let message = self.file.t.msg("import-row-changed");
                message.arg("line", line).arg("reason", reason).into()
            }
            ImportError::Cancelled => self.file.t.msg("import-state-cancelled").into(),
            error @ (ImportError::Panicked | ImportError::Store(_)) => {
                tracing::error!(%error, "an import failed");
                self.file.t.msg("import-failed").into()
            }
        }
    }

    async fn heartbeat(&self, progress: &JobProgress) {
        let progress = serde_json::to_string(&progress.state()).unwrap_or_default();
        let ReceivedFile { store, workspace, job, .. } = &self.file;
        let beat = store.import_heartbeat(*workspace, *job, progress, clock::now);
        if let Err(error) = beat.await {
            tracing::warn!(%error, "cannot note that an import is alive");
        }
    }

    /// Ends the job, once the database can be written again.
    async fn fail(&self, reason: String) {
        while self.change(ImportJobChange::Fail(reason.clone())).await.is_err() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Changes the row of the job. If somebody has ended it meanwhile, it stays as it is.
    async fn change(&self, change: ImportJobChange) -> groma_store::Result<()> {
        let changed = self.file.store.change_import(
            self.file.workspace,
            self.file.job,
            Actor::Operator,
            change,
            clock::now(),
        );
        match changed.await {
            Ok(_) => Ok(()),
            Err(error @ groma_store::Error::Domain { .. }) => {
                tracing::info!(%error, "an import has ended");
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "cannot change an import");
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::i18n::Localizer;
    use futures_util::{
        FutureExt,
        future::{Either, select},
    };
    use groma_domain::{Currency, Email, workspace::WorkspaceName};
    use groma_store::{NewUser, Store};

    /// A worker whose job is to check a file.
    async fn worker() -> (Worker, ImportJob) {
        let folder = UploadFolder::new().unwrap();
        let url = format!("sqlite:{}", folder.files().join("groma.db").display());
        let store = Store::open(&url.parse().unwrap()).await.unwrap();
        let name = WorkspaceName::parse("Office").unwrap();
        let email = Email::parse("owner@office.test").unwrap();
        let owner = NewUser { email, name: None, password_hash: None };
        let created = store.create_workspace(name, Currency::EUR, owner, clock::now()).await;
        let workspace = created.unwrap().id;
        let actor = Actor::Member(store.people(workspace).await.unwrap()[0].person.id);
        let (name, options) = ("a.csv".to_owned(), "{}".to_owned());
        let job = store.create_import(workspace, actor, name.clone(), options, clock::now()).await;
        let job = job.unwrap();
        let path = folder.files().join(&name);
        let t = Localizer::for_language("en");
        let file = ReceivedFile { store, workspace, job: job.id, actor, t, path, name };
        let slots = WorkSlots::default();
        (Worker { file, changed: Arc::default(), slots, _folder: folder }, job)
    }

    async fn row(worker: &Worker) -> ImportJob {
        let job = worker.file.store.import_job(worker.file.workspace, worker.file.job).await;
        job.unwrap().unwrap()
    }

    /// Waits until the row of the job is like this.
    async fn until(worker: &Worker, is_reached: impl Fn(&ImportJob) -> bool) {
        while !is_reached(&row(worker).await) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn change(worker: &Worker, change: ImportJobChange) {
        worker.change(change).await.unwrap();
        worker.changed.notify_one();
    }

    #[tokio::test]
    async fn work_without_a_result_fails_the_job() {
        let (worker, job) = worker().await;
        worker.supervise(&job, &JobProgress::new(), async {}).await;
        assert_eq!(row(&worker).await.state, ImportState::Failed);
    }

    #[tokio::test]
    async fn work_is_cancelled_when_the_server_stops() {
        let (worker, job) = worker().await;
        let progress = JobProgress::new();
        let work = Box::pin(worker.supervise(&job, &progress, std::future::pending::<()>()));
        let is_alive = until(&worker, |row| row.progress.is_some());
        assert!(matches!(select(work, Box::pin(is_alive)).await, Either::Right(_)));
        assert!(progress.is_cancelled());
    }

    #[tokio::test]
    async fn files_wait_for_others_of_their_workspace_and_of_the_process() {
        let workspaces = [1, 2, 3].map(|number| WorkspaceId(uuid::Uuid::from_u128(number)));
        let (slots, person) = (WorkSlots::default(), PersonId(uuid::Uuid::nil()));
        let mut held = Vec::new();
        for workspace in [0, 0, 1, 1].map(|index| workspaces[index]) {
            held.push(slots.acquire(workspace, person).now_or_never().unwrap());
            let is_full = held.len() % 2 == 0;
            let next = slots.workspaces.wait(workspace, person).now_or_never();
            assert_eq!(next.is_none(), is_full, "{}", held.len());
        }
        assert!(slots.acquire(workspaces[2], person).now_or_never().is_none());
        held.pop();
        assert!(slots.acquire(workspaces[2], person).now_or_never().is_some());
    }

    #[tokio::test]
    async fn job_that_waits_for_others_is_alive_and_can_be_cancelled() {
        let (worker, job) = worker().await;
        let _all = worker.slots.all.acquire_many(u32::try_from(FILES).unwrap()).await.unwrap();
        let cancel = async {
            until(&worker, |row| row.progress.is_some()).await;
            change(&worker, ImportJobChange::Cancel).await;
        };
        tokio::join!(worker.work_on(&job), cancel);
        let row = row(&worker).await;
        assert_eq!((row.state, row.preview), (ImportState::Cancelled, None));
    }

    #[tokio::test]
    async fn job_with_other_options_is_alive_while_the_old_work_ends() {
        let (worker, job) = worker().await;
        let progress = JobProgress::new();
        let work = async {
            change(&worker, ImportJobChange::Configure("{}".to_owned())).await;
            while !progress.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let last = clock::now();
            until(&worker, |row| row.heartbeat_at > last).await;
        };
        worker.supervise(&job, &progress, work).await;
        assert_eq!(row(&worker).await.state, ImportState::Checking);
    }
}
