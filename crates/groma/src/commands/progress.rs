//! Progress bars on a terminal; elsewhere nothing is shown.

use groma_store::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar towards a total number of `unit`s.
pub(super) fn bar(message: &'static str, unit: &str) -> ProgressBar {
    let template =
        format!("{{msg}} {{wide_bar}} {{human_pos}} of {{human_len}} {unit}, {{eta}} left");
    styled(message, &template)
}

/// A bar towards a total number of bytes.
pub(super) fn byte_bar(message: &'static str) -> ProgressBar {
    styled(message, "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left")
}

/// A counter of `unit`s whose total is unknown.
pub(super) fn counter(message: &'static str, unit: &str) -> ProgressBar {
    styled(message, &format!("{{msg}} {{human_pos}} {unit}, {{per_sec}}"))
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
