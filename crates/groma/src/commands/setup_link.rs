//! `groma setup-link`

use super::{CommandError, print};
use crate::{settings::Settings, setup_link::SetupLinkFile};
use groma_store::Store;

pub(super) async fn run(settings: &Settings, store: &Store) -> Result<(), CommandError> {
    if store.has_users().await? {
        return Err(CommandError::new("Groma is set up: there are users"));
    }
    let file = SetupLinkFile::of(&settings.database);
    let path = file.path().display();
    let link = file.read().map_err(|error| CommandError::new(format!("{path}: {error}")))?;
    let link = link.ok_or_else(|| {
        CommandError::new(format!(
            "there is no setup link in {path}; a server that was started on a terminal has printed it \
             there, any other names the file when it starts"
        ))
    })?;
    print(&link)
}
