//! KML, and KMZ, which is a zip archive with a KML document.

mod read;
mod write;

pub(super) use read::Kml;
pub(super) use write::write;
