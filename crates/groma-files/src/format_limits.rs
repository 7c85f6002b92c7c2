//! Limits of formats that errors name.

/// The most columns of a file that is read. SQLite has a limit of 2,000.
pub(crate) const MAX_COLUMNS: usize = 1_950;

/// The most properties of a layer that is written in columns. Its geometry, ids and links have columns of their own,
/// and the file must be readable again.
pub(crate) const MAX_PROPERTIES: usize = 1_900;

/// The most rows and the longest text that Excel reads.
pub(crate) const MAX_ROWS: u32 = 1_048_576;
pub(crate) const MAX_TEXT: usize = 32_767;
