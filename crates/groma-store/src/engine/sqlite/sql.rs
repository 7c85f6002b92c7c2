//! SQL of the engine itself.

use crate::engine::statements;

/// What every connection is set to. `FULL`: a commit is on the disk before it is acknowledged.
pub(super) const PRAGMAS: [&str; 7] = [
    // Of a new file. A page of a list then takes three or four pages of the file instead of ten.
    "PRAGMA page_size = 16384",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -8192",
    "PRAGMA mmap_size = 1099511627776",
    "PRAGMA journal_size_limit = 67108864",
];

/// When the token `t` of the workspace `w` ends: by itself, or by the longest lifetime of tokens in the
/// workspace or the installation, whose days are the parameter. Null if it does not.
macro_rules! token_end {
    ($max_days:literal) => {
        concat!(
            "(SELECT min(at) FROM (SELECT t.expires_at AS at
                UNION ALL SELECT t.created_at + 86400000 * w.max_token_days
                UNION ALL SELECT t.created_at + 86400000 * ",
            $max_days,
            "))"
        )
    };
}
pub(crate) use token_end;

statements! {
    BEGIN = "BEGIN";
    BEGIN_IMMEDIATE = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    DATA_VERSION = "PRAGMA data_version";
    PING = "SELECT 1";
    HAS_MIGRATIONS = "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    MIGRATIONS = "SELECT version FROM refinery_schema_history";
    WORKSPACE_NUMBER = "SELECT no FROM workspaces WHERE id = ?1";
}
