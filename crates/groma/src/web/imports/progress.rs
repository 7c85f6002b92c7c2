//! How far an import is, for its page.

use crate::{
    import::{Progress, Step, Unit},
    web::i18n::Localizer,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// A step of an import that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProgressState {
    step: Step,
    unit: Unit,
    done: u64,
    total: Option<u64>,
}

impl ProgressState {
    const START: Self = Self { step: Step::Checking, unit: Unit::Rows, done: 0, total: None };

    /// The share that is done, in percent, if the total is known.
    pub(super) fn percent(self) -> Option<u64> {
        let total = self.total.filter(|total| *total > 0)?;
        Some((self.done.min(total) * 100) / total)
    }

    pub(super) fn text(self, t: Localizer) -> String {
        let step = match self.step {
            Step::Checking => t.msg("import-step-checking"),
            Step::Comparing => t.msg("import-step-comparing"),
            Step::Reading => t.msg("import-step-reading"),
            Step::Writing => t.msg("import-step-writing"),
            Step::Publishing => return t.msg("import-step-publishing").into(),
        };
        let percent = self.percent().map(|percent| t.msg("percent").arg("number", percent));
        let amount = match (self.unit, percent) {
            (_, Some(percent)) => percent.into(),
            (Unit::Features, None) => t.msg("import-features").arg("count", self.done).into(),
            (Unit::Bytes | Unit::Rows, None) => {
                String::from(t.msg("import-rows").arg("count", self.done))
            }
        };
        format!("{step} {amount}")
    }
}

/// The progress of the import that a process works on.
pub(super) struct JobProgress {
    state: Mutex<ProgressState>,
    is_cancelled: AtomicBool,
}

impl JobProgress {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(ProgressState::START), is_cancelled: AtomicBool::new(false) }
    }

    pub(super) fn state(&self) -> ProgressState {
        *self.state.lock()
    }

    /// Ends the work soon.
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Ends the work at the latest when this is dropped, so that a server that stops does not wait for threads that
    /// read a file.
    pub(super) fn cancel_on_drop(&self) -> CancelOnDrop<'_> {
        CancelOnDrop(self)
    }
}

pub(super) struct CancelOnDrop<'p>(&'p JobProgress);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Progress for JobProgress {
    fn begin(&self, step: Step, total: Option<u64>, unit: Unit) {
        *self.state.lock() = ProgressState { step, unit, done: 0, total };
    }

    fn advance(&self, amount: u64) {
        self.state.lock().done += amount;
    }

    /// The page shows a step until the next one begins.
    fn end(&self) {}

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}
