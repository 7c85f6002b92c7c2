//! The demonstration office.

use crate::{commands::Failure, settings::Settings};
use groma_store::Store;

pub(crate) async fn fill_when_empty(_: &Settings, _: &Store) -> Result<(), Failure> {
    Ok(())
}
