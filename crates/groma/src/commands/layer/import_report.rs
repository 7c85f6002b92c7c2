//! What `groma import layer` prints.

use crate::{
    cli::ImportLayer,
    commands::{CommandError, print, rejected_rows},
    import::{CheckedFile, ImportedLayer, LayerCounts, RejectedFeature},
};
use groma_domain::LayerId;
use groma_geo::Notice;
use serde_json::{Value, json};
use std::path::Path;

pub(super) struct Report<'c> {
    checked: &'c CheckedFile,
    layer: Option<LayerId>,
    pub(super) counts: LayerCounts,
    /// How long the last step took, which makes everything visible; `None` in a dry run.
    publish_millis: Option<u64>,
}

impl<'c> Report<'c> {
    pub(super) fn new(checked: &'c CheckedFile, layer: Option<LayerId>) -> Self {
        Self { checked, layer, counts: LayerCounts::default(), publish_millis: None }
    }

    /// Notes that everything became visible.
    pub(super) fn published(&mut self, imported: &ImportedLayer) {
        self.layer = Some(imported.layer);
        self.counts = imported.counts;
        self.publish_millis = u64::try_from(imported.published_in.as_millis()).ok();
    }

    pub(super) fn print(&self, import: &ImportLayer) -> Result<(), CommandError> {
        self.print_rejected(&import.file);
        self.print_notices(&import.file);
        let LayerCounts { created, updated, unchanged, deleted } = self.counts;
        let rejected = self.checked.rejected.len();
        if import.json {
            print(&self.to_json().to_string())
        } else if import.dry_run {
            print(&format!(
                "{} features checked, {rejected} rejected. The import would create {created}, update {updated} and \
                 delete {deleted}; {unchanged} are unchanged.",
                self.checked.total
            ))
        } else {
            let deleted = if deleted == 0 { String::new() } else { format!("{deleted} deleted, ") };
            print(&format!(
                "{created} created, {updated} updated, {unchanged} unchanged, {deleted}{rejected} rejected"
            ))?;
            match self.publish_millis {
                Some(millis) => print(&format!("Published in {millis} ms.")),
                None => Ok(()),
            }
        }
    }

    /// What a place in the file is called: GeoJSON has lines, other formats have features.
    fn place(&self, file: &Path) -> String {
        match self.checked.file.layer() {
            Some(_) => format!("{}: feature ", file.display()),
            None => format!("{}:", file.display()),
        }
    }

    fn print_rejected(&self, file: &Path) {
        let messages = self.checked.rejected.iter().map(|spot| {
            let RejectedFeature { pointer, line, reason } = spot;
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            (*line, format!("{at}{reason}"))
        });
        for line in rejected_rows::lines(&self.place(file), messages) {
            eprintln!("{line}");
        }
    }

    /// Prints what was accepted but looks wrong.
    fn print_notices(&self, file: &Path) {
        for (line, Notice { pointer, message }) in &self.checked.notices {
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            eprintln!("{}{line}: notice: {at}{message}", self.place(file));
        }
        let unlisted = self.checked.notice_count - self.checked.notices.len() as u64;
        if unlisted > 0 {
            eprintln!("{}: {unlisted} more notices", file.display());
        }
    }

    fn to_json(&self) -> Value {
        let rejected = self.checked.rejected.iter().map(|spot| {
            let message = spot.reason.to_string();
            json!({ "line": spot.line, "pointer": spot.pointer, "message": message })
        });
        let notices = self.checked.notices.iter().map(|(line, notice)| {
            json!({ "line": line, "pointer": notice.pointer, "message": notice.message })
        });
        json!({
            "layerId": self.layer,
            "created": self.counts.created,
            "updated": self.counts.updated,
            "unchanged": self.counts.unchanged,
            "deleted": self.counts.deleted,
            "publishMillis": self.publish_millis,
            "rejected": Vec::from_iter(rejected),
            "notices": Vec::from_iter(notices),
            "noticeCount": self.checked.notice_count,
        })
    }
}
