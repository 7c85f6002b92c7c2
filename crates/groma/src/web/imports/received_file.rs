//! A file that a member has sent, and whose it is.

use crate::{
    import::RowError,
    web::{WebError, i18n::Localizer},
};
use groma_domain::{ImportJobId, WorkspaceId};
use groma_store::{Actor, Store};
use std::path::PathBuf;

pub(super) struct ReceivedFile {
    pub(super) store: Store,
    pub(super) workspace: WorkspaceId,
    pub(super) job: ImportJobId,
    /// Whose rights the import needs, also at its end.
    pub(super) actor: Actor,
    /// The language of what the import reports.
    pub(super) t: Localizer,
    /// The file, or the folder with the files of a Shapefile.
    pub(super) path: PathBuf,
    /// The name to show.
    pub(super) name: String,
}

impl ReceivedFile {
    /// Says why a row is rejected, in the language of the member.
    pub(super) fn row_message(&self) -> impl Fn(&RowError) -> String + Send + Sync + 'static {
        let t = self.t;
        move |error| match error {
            RowError::Domain(error) => WebError::from(error).text.show(t, false),
            RowError::Row(message) => t.translate(message),
        }
    }
}
