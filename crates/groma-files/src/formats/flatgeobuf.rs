//! FlatGeobuf: features as FlatBuffers, after an index of their boxes. The crate `flatgeobuf` provides the
//! generated tables and the index; its own reader trusts the sizes in a file, and its writer cannot write every
//! geometry.

mod read;
mod write;

pub(super) use read::FlatGeobuf;
pub(super) use write::write;

/// The first bytes; the fourth is the version, the eighth that of the patch.
const MAGIC: [u8; 8] = *b"fgb\x03fgb\x00";

/// Marks a column whose title is the name of its property.
const PROPERTY: &str = "Property of the Groma layer";
