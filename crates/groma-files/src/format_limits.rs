//! Limits of formats that errors name.

/// The most columns. SQLite has a limit of 2,000.
pub(crate) const MAX_COLUMNS: usize = 1_900;

/// The most rows and the longest text that Excel reads.
pub(crate) const MAX_ROWS: u32 = 1_048_576;
pub(crate) const MAX_TEXT: usize = 32_767;
