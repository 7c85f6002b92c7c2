//! What `groma import layer` prints.

use crate::{
    cli::ImportLayer,
    commands::{CommandError, print},
};
use groma_domain::{LayerId, geometry::UploadResult};
use groma_geo::{Notice, geojson::DocumentError};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

#[derive(Default)]
pub(super) struct Report {
    /// Whether places in the file are features instead of lines.
    pub(super) counts_features: bool,
    pub(super) layer: Option<LayerId>,
    pub(super) created: u64,
    pub(super) updated: u64,
    pub(super) unchanged: u64,
    pub(super) deleted: u64,
    /// How long the last step took, which makes everything visible; `None` in a dry run.
    pub(super) publish_millis: Option<u64>,
    pub(super) rejected: Vec<DocumentError>,
    pub(super) notices: Vec<(u64, Notice)>,
    pub(super) notice_count: u64,
}

impl Report {
    pub(super) fn count(&mut self, posted: &UploadResult) {
        self.created += posted.created;
        self.updated += posted.updated;
        self.unchanged += posted.unchanged;
    }

    /// Notes that everything became visible, in a step of this length.
    pub(super) fn published(&mut self, layer: LayerId, time: Duration) {
        self.layer = Some(layer);
        self.publish_millis = u64::try_from(time.as_millis()).ok();
    }

    pub(super) fn print(&self, import: &ImportLayer, total: u64) -> Result<(), CommandError> {
        for DocumentError { pointer, line, message, .. } in &self.rejected {
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            eprintln!("{}{at}{message}", self.place(&import.file, *line));
        }
        self.print_notices(&import.file);
        if import.json {
            print(&self.to_json().to_string())
        } else if import.dry_run {
            let Self { created, updated, unchanged, deleted, rejected, .. } = self;
            let rejected = rejected.len();
            print(&format!(
                "{total} features checked, {rejected} rejected. The import would create {created}, update \
                 {updated} and delete {deleted}; {unchanged} are unchanged."
            ))
        } else {
            print(&self.summary())?;
            match self.publish_millis {
                Some(millis) => print(&format!("Published in {millis} ms.")),
                None => Ok(()),
            }
        }
    }

    /// Where in the file something is, before a message.
    fn place(&self, file: &Path, line: u64) -> String {
        match self.counts_features {
            true => format!("{}: feature {line}: ", file.display()),
            false => format!("{}:{line}: ", file.display()),
        }
    }

    /// Prints what was accepted but looks wrong.
    fn print_notices(&self, file: &Path) {
        for (line, Notice { pointer, message }) in &self.notices {
            let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
            eprintln!("{}notice: {at}{message}", self.place(file, *line));
        }
        let unlisted = self.notice_count - self.notices.len() as u64;
        if unlisted > 0 {
            eprintln!("{}: {unlisted} more notices", file.display());
        }
    }

    fn summary(&self) -> String {
        let Self { created, updated, unchanged, deleted, rejected, .. } = self;
        let deleted = if *deleted == 0 { String::new() } else { format!("{deleted} deleted, ") };
        format!(
            "{created} created, {updated} updated, {unchanged} unchanged, {deleted}{} rejected",
            rejected.len()
        )
    }

    fn to_json(&self) -> Value {
        let rejected = self.rejected.iter().map(
            |spot| json!({ "line": spot.line, "pointer": spot.pointer, "message": spot.message }),
        );
        let notices = self.notices.iter().map(|(line, notice)| {
            json!({ "line": line, "pointer": notice.pointer, "message": notice.message })
        });
        json!({
            "layerId": self.layer,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "deleted": self.deleted,
            "publishMillis": self.publish_millis,
            "rejected": Vec::from_iter(rejected),
            "notices": Vec::from_iter(notices),
            "noticeCount": self.notice_count,
        })
    }
}
