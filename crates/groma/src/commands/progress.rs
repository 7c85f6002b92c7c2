//! Progress bars on a terminal; elsewhere nothing is shown.

use crate::import::{self, Step, Unit};
use groma_store::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::time::Duration;

/// A bar for each step of an import.
#[derive(Default)]
pub(super) struct ProgressBars(Mutex<Option<ProgressBar>>);

impl import::Progress for ProgressBars {
    fn begin(&self, step: Step, total: Option<u64>, unit: Unit) {
        let message = match step {
            Step::Checking => "Checking",
            Step::Comparing => "Comparing",
            Step::Reading => "Reading",
            Step::Writing => "Writing",
            Step::Publishing => "Publishing",
        };
        let bar = match (unit, total) {
            _ if step == Step::Publishing => timer(message),
            (Unit::Bytes, _) => byte_bar(message),
            (Unit::Features, Some(_)) => bar(message, "features"),
            (Unit::Features, None) => counter(message, "features"),
            (Unit::Rows, Some(_)) => bar(message, "rows"),
            (Unit::Rows, None) => counter(message, "rows"),
        };
        if let Some(total) = total {
            bar.set_length(total);
        }
        *self.0.lock() = Some(bar);
    }

    fn advance(&self, amount: u64) {
        if let Some(bar) = &*self.0.lock() {
            bar.inc(amount);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.0.lock().take() {
            bar.finish_and_clear();
        }
    }
}

/// A bar towards a total number of `unit`s.
pub(super) fn bar(message: &'static str, unit: &str) -> ProgressBar {
    let template =
        format!("{{msg}} {{wide_bar}} {{human_pos}} of {{human_len}} {unit}, {{eta}} left");
    styled(message, &template)
}

/// A bar towards a total number of bytes.
fn byte_bar(message: &'static str) -> ProgressBar {
    styled(message, "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left")
}

/// A counter of `unit`s whose total is unknown.
fn counter(message: &'static str, unit: &str) -> ProgressBar {
    styled(message, &format!("{{msg}} {{human_pos}} {unit}, {{per_sec}}"))
}

/// How long something takes whose progress is unknown.
fn timer(message: &'static str) -> ProgressBar {
    let bar = styled(message, "{msg} {elapsed}");
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

fn styled(message: &'static str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(message);
    bar
}

/// Shows the store's progress on a bar.
pub(super) fn update(bar: &ProgressBar, progress: Progress) {
    match progress {
        Progress::Copying { done, total } => {
            bar.set_length(total);
            bar.set_position(done);
        }
        Progress::Checking => bar.set_message("Verifying"),
    }
}
