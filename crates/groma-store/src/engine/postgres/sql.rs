//! SQL of the engine itself.

use crate::engine::statements;

/// What every connection is set to. Each statement has an index made for it; while a table is small and
/// its statistics do not show that, the planner would choose a sequential scan and keep that plan.
pub(super) const SESSION: &str = "SET enable_seqscan = off; SET jit = off";

statements! {
    LOCK_MIGRATIONS = "SELECT pg_advisory_lock(7203010)";
    UNLOCK_MIGRATIONS = "SELECT pg_advisory_unlock(7203010)";
    PING = "SELECT 1";
    SET_TIMEOUT = "SELECT set_config('statement_timeout', $1, false)";
    RESET_TIMEOUT = "RESET statement_timeout";
    SERVER_SETUP = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
        current_database()::text";
    HAS_MIGRATIONS = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    MIGRATIONS = "SELECT version FROM refinery_schema_history";
}

/// Milliseconds since 1970 by the clock of the database, which all replicas share.
macro_rules! now_millis {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(crate) use now_millis;

/// When the token `t` of the workspace `w` ends: by itself, or by the longest lifetime of tokens in the
/// workspace or the installation, whose days are the parameter. Null if it does not.
macro_rules! token_end {
    ($max_days:literal) => {
        concat!(
            "least(t.expires_at, t.created_at + 86400000 * least(w.max_token_days, ",
            $max_days,
            "::bigint))"
        )
    };
}
pub(crate) use token_end;
