//! Every SQLite statement of the program, so that a test can prepare them all.

use crate::tx::Link;
use groma_domain::Kind;
use std::sync::LazyLock;

macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        $(pub(crate) const $name: &str = $sql;)*
        /// All of the above.
        #[cfg(test)]
        pub(crate) const FIXED: &[&str] = &[$($name),*];
    };
}

/// What is read of an endpoint `e`.
macro_rules! endpoint_columns {
    () => {
        "e.no, e.id, e.url, e.description, e.events, e.enabled, e.disabled_reason, e.failing_since,
            e.last_success_at, e.secret, e.previous_secret, e.previous_until, e.created_at, e.updated_at"
    };
}

/// What is listed of a delivery `d` with its last attempt, of an endpoint `e`.
macro_rules! delivery_columns {
    () => {
        "d.id, e.id, d.event, d.is_test, d.state, d.attempts, d.created_at, d.due_at, d.finished_at, a.status, a.error
            FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no
            LEFT JOIN attempts a ON a.delivery = d.id AND a.no = d.attempts"
    };
}

/// What every connection is told. `FULL`: a commit is on the disk before it is acknowledged.
pub(crate) const PRAGMAS: [&str; 8] = [
    "PRAGMA busy_timeout = 10000",
    // Of a new file. A page of a list is then three or four pages of the file instead of ten.
    "PRAGMA page_size = 16384",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -8192",
    "PRAGMA mmap_size = 1099511627776",
    "PRAGMA journal_size_limit = 67108864",
];

/// What a connection is told that fills a file nobody knows yet: should it fail, the file goes.
pub(crate) const FILLING: [&str; 6] = [
    "PRAGMA page_size = 16384",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
];

/// How many rows a table has; its name is the database's own.
pub(crate) fn count(table: &str) -> String {
    format!("SELECT count(*) FROM \"{table}\"")
}

statements! {
    BEGIN = "BEGIN";
    BEGIN_IMMEDIATE = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    DATA_VERSION = "PRAGMA data_version";
    PING = "SELECT 1";
    HAS_MIGRATIONS = "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    MIGRATIONS = "SELECT version FROM refinery_schema_history";
    NAMED_MIGRATIONS = "SELECT version, name FROM refinery_schema_history ORDER BY version";
    TABLES = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite_%' AND name <> 'refinery_schema_history' ORDER BY name";
    INTEGRITY = "PRAGMA integrity_check(1)";
    ALONE = "PRAGMA locking_mode = EXCLUSIVE";
    JOURNAL_ALONE = "PRAGMA journal_mode = DELETE";
    LAST_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
    SET_LAST_NUMBER = "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1";
    ADD_LAST_NUMBER = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
    FILL_FEATURE_KEYS = "INSERT INTO feature_keys (layer, external_id, seq)
        SELECT place >> 40, external_id, place & 1099511627775 FROM features WHERE external_id IS NOT NULL";
    HOLD_ENDPOINTS = "UPDATE webhook_endpoints SET enabled = 0, disabled_reason = ?1 WHERE enabled = 1";

    WORKSPACE_NUMBER = "SELECT no FROM workspaces WHERE id = ?1";
    WORKSPACE = "SELECT id, name, currency, created_at, webhooks_mark FROM workspaces WHERE id = ?1";
    WORKSPACES = "SELECT id, name, currency, created_at FROM workspaces ORDER BY no";
    WORKSPACE_NAMED = "SELECT 1 FROM workspaces WHERE name_key = ?1";
    INSERT_WORKSPACE = "INSERT INTO workspaces (id, name, name_key, currency, people_generation, created_at)
        VALUES (?1, ?2, ?3, ?4, 1, ?5)";
    DELETE_WORKSPACE = "DELETE FROM workspaces WHERE no = ?1";
    DELETE_TOKENS = "DELETE FROM tokens WHERE ws = ?1";
    DELETE_PEOPLE = "DELETE FROM people WHERE ws = ?1";
    DELETE_STATUSES = "DELETE FROM statuses WHERE ws = ?1";
    DELETE_COLLECTIONS = "DELETE FROM collections WHERE ws = ?1";
    DELETE_SOME_BLOCKS = "DELETE FROM blocks WHERE (ws, kind, block) IN
        (SELECT ws, kind, block FROM blocks WHERE ws = ?1 LIMIT ?2)";
    DELETE_SOME_CHANGES = "DELETE FROM changes WHERE id IN
        (SELECT id FROM changes INDEXED BY changes_by_subject WHERE ws = ?1 LIMIT ?2)";

    USER_BY_EMAIL = "SELECT id, email, name FROM users WHERE email_key = ?1";
    SAVE_USER = "INSERT INTO users (id, email, email_key, name, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key, name = excluded.name";
    SET_PASSWORD = "UPDATE users SET password_hash = ?2 WHERE id = ?1";

    HAS_USERS = "SELECT 1 FROM users LIMIT 1";
    ACCOUNT = "SELECT id, password_hash FROM users WHERE email_key = ?1";
    SAVE_WORKSPACE = "UPDATE workspaces SET name = ?2, name_key = ?3, currency = ?4 WHERE id = ?1";

    OPEN_SESSION = "SELECT s.id, s.user_id, u.email, u.name, s.workspace_id, s.created_at, s.last_seen_at, s.ends_at
        FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = ?1 AND s.ends_at > ?2";
    MEMBERSHIPS = "SELECT w.id, w.name, w.currency, w.created_at, p.id, p.name, p.email, p.role
        FROM people p JOIN workspaces w ON w.no = p.ws
        WHERE p.user_id = ?1 AND p.role IS NOT NULL ORDER BY w.name_key";
    INSERT_SESSION = "INSERT INTO sessions
        (id, hash, user_id, workspace_id, created_at, last_seen_at, ends_at, user_agent, address)
        VALUES (?1, ?2, ?3, (SELECT workspace_id FROM sessions WHERE user_id = ?3 ORDER BY id DESC LIMIT 1),
            ?4, ?4, ?5, ?6, ?7)";
    TOUCH_SESSION = "UPDATE sessions SET last_seen_at = ?2, ends_at = ?3 WHERE id = ?1";
    ENTER_WORKSPACE = "UPDATE sessions SET workspace_id = ?3 WHERE id = ?1 AND user_id = ?2";
    SESSIONS = "SELECT id, created_at, last_seen_at, ends_at, user_agent, address FROM sessions
        WHERE user_id = ?1 AND ends_at > ?2 ORDER BY last_seen_at DESC, id DESC";
    END_SESSION = "DELETE FROM sessions WHERE user_id = ?1 AND id = ?2";
    END_SESSIONS = "DELETE FROM sessions WHERE user_id = ?1 AND (?2 IS NULL OR id <> ?2)";
    COUNT_SESSIONS = "SELECT count(*) FROM sessions WHERE ends_at > ?1";
    FORGET_SESSIONS = "DELETE FROM sessions WHERE ends_at <= ?1";
    LOGIN_ATTEMPTS = "SELECT count(*) FROM login_attempts WHERE bucket = ?1 AND at > ?2";
    NOTE_ATTEMPT = "INSERT INTO login_attempts (bucket, at) VALUES (?1, ?2)";
    FORGET_ATTEMPT = "DELETE FROM login_attempts WHERE bucket = ?1 AND at >= ?2 AND at <= ?3";
    FORGET_OLD_ATTEMPTS = "DELETE FROM login_attempts WHERE at <= ?1";
    DEVICE = "SELECT 1 FROM devices WHERE hash = ?1 AND user_id = ?2";
    SAVE_DEVICE = "INSERT INTO devices (hash, user_id, at) VALUES (?1, ?2, ?3)
        ON CONFLICT (hash) DO UPDATE SET user_id = excluded.user_id, at = excluded.at";
    FORGET_DEVICES = "DELETE FROM devices WHERE user_id = ?1 AND at <= ?2";

    INVITATIONS = "SELECT id, role, email, invited_by, created_at, expires_at FROM invitations
        WHERE ws = ?1 AND expires_at > ?2 ORDER BY id";
    INVITATION = "SELECT i.id, w.id, i.role, i.email, i.invited_by, i.created_at, i.expires_at
        FROM invitations i JOIN workspaces w ON w.no = i.ws WHERE i.hash = ?1";
    INSERT_INVITATION = "INSERT INTO invitations (id, ws, hash, role, email, invited_by, created_at, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    REMOVE_INVITATION = "DELETE FROM invitations WHERE ws = ?1 AND id = ?2";
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE ws = ?1";

    PERSON = "SELECT id, name, email, user_id, role FROM people WHERE ws = ?1 AND id = ?2";
    PERSON_BY_EMAIL = "SELECT id, name, email, user_id, role FROM people WHERE ws = ?1 AND email_key = ?2";
    PEOPLE = "SELECT id, name, email, user_id, role FROM people WHERE ws = ?1";
    OWNERS = "SELECT count(*) FROM people WHERE ws = ?1 AND role = 'owner'";
    SAVE_PERSON = "INSERT INTO people (ws, id, email, email_key, name, user_id, role, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (ws, id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key,
            name = excluded.name, user_id = excluded.user_id, role = excluded.role";
    PEOPLE_CHANGED = "UPDATE workspaces SET people_generation = people_generation + 1 WHERE no = ?1";
    PEOPLE_GENERATION = "SELECT people_generation FROM workspaces WHERE no = ?1";

    TOKEN_BY_HASH = "SELECT t.id, w.id, t.person_id, p.role, t.scopes, t.expires_at
        FROM tokens t JOIN people p ON p.ws = t.ws AND p.id = t.person_id JOIN workspaces w ON w.no = t.ws
        WHERE t.hash = ?1 AND t.revoked_at IS NULL AND p.role IS NOT NULL";
    TOKENS = "SELECT t.id, w.name, t.name, p.email, t.scopes, t.created_at, t.expires_at, t.revoked_at, t.last_used_at,
            p.id, p.name, t.hint
        FROM tokens t JOIN people p ON p.ws = t.ws AND p.id = t.person_id JOIN workspaces w ON w.no = t.ws
        WHERE ?1 IS NULL OR w.id = ?1 ORDER BY t.id";
    TOKEN_WORKSPACE = "SELECT w.id FROM tokens t JOIN workspaces w ON w.no = t.ws WHERE t.id = ?1";
    TOKEN_OWNER = "SELECT person_id FROM tokens WHERE ws = ?1 AND id = ?2";
    REVOKE_TOKENS_OF = "UPDATE tokens SET revoked_at = ?3
        WHERE ws = ?1 AND person_id = ?2 AND revoked_at IS NULL";
    INSERT_TOKEN = "INSERT INTO tokens (id, ws, person_id, name, hash, scopes, created_at, expires_at, hint)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    REVOKE_TOKEN = "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?3) WHERE ws = ?1 AND id = ?2";
    TOKEN_USED = "UPDATE tokens SET last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE id = ?1";

    RATE_WINDOWS = "SELECT token_id, accepted FROM rate_windows";
    SAVE_RATE_WINDOW = "INSERT INTO rate_windows (token_id, accepted) VALUES (?1, ?2)";
    FORGET_RATE_WINDOWS = "DELETE FROM rate_windows";

    COLLECTION = "SELECT last_seq, last_reference, total, generation FROM collections WHERE ws = ?1 AND kind = ?2";
    COLLECTION_NOW = "SELECT total, generation FROM collections WHERE ws = ?1 AND kind = ?2";
    SAVE_COLLECTION = "INSERT INTO collections (ws, kind, last_seq, last_reference, total, generation)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (ws, kind) DO UPDATE SET last_seq = excluded.last_seq,
            last_reference = excluded.last_reference, total = excluded.total, generation = excluded.generation";
    ADJUST_BLOCK = "INSERT INTO blocks (ws, kind, block, live, generation) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (ws, kind, block) DO UPDATE SET live = live + excluded.live, generation = excluded.generation";
    BLOCKS_SINCE = "SELECT block, live FROM blocks WHERE ws = ?1 AND kind = ?2 AND generation > ?3";

    STATUSES = "SELECT doc FROM statuses WHERE ws = ?1 ORDER BY seq";
    SAVE_STATUS = "INSERT INTO statuses (ws, id, seq, kind, name_key, doc)
        VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM statuses WHERE ws = ?1), ?3, ?4, ?5)
        ON CONFLICT (ws, id) DO UPDATE SET name_key = excluded.name_key, doc = excluded.doc";
    FREE_STATUS_NAME = "UPDATE statuses SET name_key = ?3 WHERE ws = ?1 AND id = ?2";
    REMOVE_STATUS = "DELETE FROM statuses WHERE ws = ?1 AND id = ?2";

    LAYER_BY_ID = "SELECT no, state FROM layers WHERE ws = ?1 AND id = ?2";
    LAYER_BY_SLUG = "SELECT no, state FROM layers WHERE ws = ?1 AND slug = ?2";
    LAYERS = "SELECT no, state FROM layers WHERE ws = ?1 ORDER BY no";
    LAYER_REVISION = "SELECT revision FROM layers WHERE ws = ?1 AND id = ?2";
    INSERT_LAYER = "INSERT INTO layers (ws, id, slug, revision, state) VALUES (?1, ?2, ?3, ?4, ?5)";
    SAVE_LAYER = "UPDATE layers SET slug = ?3, revision = ?4, state = ?5 WHERE ws = ?1 AND id = ?2";
    DELETE_LAYER = "DELETE FROM layers WHERE ws = ?1 AND no = ?2";
    FEATURE_KEY = "SELECT seq FROM feature_keys WHERE layer = ?1 AND external_id = ?2";
    SAVE_FEATURE_KEY = "INSERT OR IGNORE INTO feature_keys (layer, external_id, seq) VALUES (?1, ?2, ?3)";
    FEATURES_BETWEEN = "SELECT place, id, external_id, folder_id, assignment_id, geometry, properties, created_at, updated_at
        FROM features WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3";
    INSERT_FEATURE = "INSERT INTO features
        (place, id, external_id, folder_id, assignment_id, geometry, properties, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    UPDATE_FEATURE = "UPDATE features SET folder_id = ?2, assignment_id = ?3, geometry = ?4, properties = ?5,
        updated_at = ?6 WHERE place = ?1";
    REMOVE_FEATURE = "DELETE FROM features WHERE place = ?1";
    REMOVE_FEATURE_KEY = "DELETE FROM feature_keys WHERE layer = ?1 AND external_id = ?2";
    FEATURE = "SELECT place, id, external_id, folder_id, assignment_id, geometry, properties, created_at, updated_at
        FROM features WHERE id = ?1";
    LAYER_BY_NUMBER = "SELECT no, state FROM layers WHERE ws = ?1 AND no = ?2";
    FEATURES_OF_FOLDER = "SELECT f.place, f.id, f.external_id, f.folder_id, f.assignment_id, f.geometry, f.properties,
            f.created_at, f.updated_at, l.id FROM features f JOIN layers l ON l.no = f.place >> 40
        WHERE f.folder_id = ?2 AND l.ws = ?1 ORDER BY f.place LIMIT ?3";
    COUNT_FEATURES_OF_FOLDER = "SELECT count(*) FROM features f JOIN layers l ON l.no = f.place >> 40
        WHERE f.folder_id = ?2 AND l.ws = ?1";
    SHAPES_OF_FOLDER = "SELECT geometry FROM features WHERE folder_id = ?1 AND geometry IS NOT NULL
        AND place >> 40 IN (SELECT no FROM layers)";
    FOLDERS_OF_LAYER = "SELECT DISTINCT folder_id FROM features
        WHERE folder_id IS NOT NULL AND place BETWEEN ?1 AND ?2";
    UNLINK_FOLDER = "UPDATE features SET folder_id = NULL, assignment_id = NULL WHERE folder_id = ?1";
    UNLINK_ASSIGNMENT = "UPDATE features SET assignment_id = NULL WHERE assignment_id = ?1";
    EXTENTS = "SELECT part, west, south, east, north FROM extents WHERE layer = ?1";
    EXTENT = "SELECT part, west, south, east, north FROM extents WHERE layer = ?1 AND part = ?2";
    GROW_EXTENT = "INSERT INTO extents (layer, part, west, south, east, north) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (layer, part) DO UPDATE SET west = min(west, excluded.west), south = min(south, excluded.south),
            east = max(east, excluded.east), north = max(north, excluded.north)";
    SET_EXTENT = "INSERT INTO extents (layer, part, west, south, east, north) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (layer, part) DO UPDATE SET west = excluded.west, south = excluded.south,
            east = excluded.east, north = excluded.north";
    REMOVE_EXTENT = "DELETE FROM extents WHERE layer = ?1 AND part = ?2";
    // All but the block is in the index: the row is looked up only for the blocks that meet the box.
    // Those that meet an area, and any before `?8`, where who reads them stops.
    DRAWINGS_UP_TO = "SELECT centre, seq,
            CASE WHEN west <= ?6 AND north <= ?7 AND east >= ?4 AND south >= ?5 THEN block END
        FROM drawings WHERE layer = ?1 AND shelf = ?2 AND centre <= ?3
            AND (centre < ?8 OR west <= ?6 AND north <= ?7 AND east >= ?4 AND south >= ?5)
        ORDER BY centre DESC, seq DESC";
    INSERT_DRAWINGS = "INSERT INTO drawings (layer, shelf, centre, seq, west, north, east, south, block)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    UPDATE_DRAWINGS = "UPDATE drawings SET west = ?5, north = ?6, east = ?7, south = ?8, block = ?9
        WHERE layer = ?1 AND shelf = ?2 AND centre = ?3 AND seq = ?4";
    REMOVE_DRAWINGS = "DELETE FROM drawings WHERE layer = ?1 AND shelf = ?2 AND centre = ?3 AND seq = ?4";
    LONG_DRAWING = "SELECT shape FROM long_drawings WHERE layer = ?1 AND seq = ?2 AND zoom >= ?3
        ORDER BY zoom LIMIT 1";
    SAVE_LONG_DRAWING = "INSERT INTO long_drawings (layer, seq, zoom, shape) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (layer, seq, zoom) DO UPDATE SET shape = excluded.shape";
    REMOVE_LONG_DRAWINGS = "DELETE FROM long_drawings WHERE layer = ?1 AND seq = ?2";
    DELETE_SOME_FEATURES = "DELETE FROM features WHERE place IN
        (SELECT place FROM features WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3)";
    DELETE_SOME_FEATURE_KEYS = "DELETE FROM feature_keys WHERE (layer, external_id) IN
        (SELECT layer, external_id FROM feature_keys WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_EXTENTS = "DELETE FROM extents WHERE (layer, part) IN
        (SELECT layer, part FROM extents WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_DRAWINGS = "DELETE FROM drawings WHERE no IN
        (SELECT no FROM drawings WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_LONG_DRAWINGS = "DELETE FROM long_drawings WHERE rowid IN
        (SELECT rowid FROM long_drawings WHERE layer = ?1 LIMIT ?2)";

    REPLAY = "SELECT body_hash, answer, at FROM replays WHERE token_id = ?1 AND path = ?2 AND key = ?3";
    SAVE_REPLAY = "INSERT INTO replays (token_id, path, key, body_hash, answer, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (token_id, path, key) DO UPDATE SET body_hash = excluded.body_hash, answer = excluded.answer,
            at = excluded.at";
    HAS_OLD_REPLAYS = "SELECT 1 FROM replays WHERE at < ?1";
    FORGET_REPLAYS = "DELETE FROM replays WHERE rowid IN (SELECT rowid FROM replays WHERE at < ?1 ORDER BY at LIMIT 100)";

    LOG_CHANGE = "INSERT INTO changes (ws, at, actor, action, subject, before, after)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    ENDPOINTS = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints e
        WHERE e.ws = ?1 AND e.deleted_at IS NULL ORDER BY e.no");
    ENABLED_ENDPOINT = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints e
        WHERE e.ws = ?1 AND e.id = ?2 AND e.enabled = 1 AND e.deleted_at IS NULL");
    ALL_SECRETS = "SELECT no, id, secret, previous_secret FROM webhook_endpoints WHERE deleted_at IS NULL";
    SET_SECRETS = "UPDATE webhook_endpoints SET secret = ?2, previous_secret = ?3 WHERE no = ?1";
    WEBHOOK_REPLAYS = "SELECT rowid, token_id, path, key, answer FROM replays WHERE path LIKE '%/webhooks/endpoints%'";
    SET_REPLAY_ANSWER = "UPDATE replays SET answer = ?2 WHERE rowid = ?1";
    INSERT_ENDPOINT = "INSERT INTO webhook_endpoints (ws, id, url, description, events, enabled, disabled_reason,
            failing_since, last_success_at, secret, previous_secret, previous_until, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    SAVE_ENDPOINT = "UPDATE webhook_endpoints SET url = ?3, description = ?4, events = ?5, enabled = ?6,
            disabled_reason = ?7, failing_since = ?8, last_success_at = ?9, secret = ?10, previous_secret = ?11,
            previous_until = ?12, created_at = ?13, updated_at = ?14 WHERE ws = ?1 AND id = ?2";
    REMOVE_ENDPOINT = "UPDATE webhook_endpoints SET deleted_at = ?3, enabled = 0, secret = x'', previous_secret = NULL
        WHERE ws = ?1 AND id = ?2";
    REMOVE_ENDPOINTS = "UPDATE webhook_endpoints SET deleted_at = 0, enabled = 0 WHERE ws = ?1";
    DELETED_ENDPOINT = "SELECT no FROM webhook_endpoints WHERE deleted_at IS NOT NULL LIMIT 1";
    FORGET_ENDPOINT = "DELETE FROM webhook_endpoints WHERE no = ?1";
    SOME_OF_ENDPOINT = "SELECT id FROM deliveries WHERE endpoint = ?1 LIMIT ?2";
    WEBHOOKS_CHANGED = "UPDATE workspaces SET webhooks_mark = ?2 WHERE no = ?1";
    ENDPOINT_SUCCEEDED = "UPDATE webhook_endpoints SET last_success_at = ?2, failing_since = NULL WHERE no = ?1
        AND (failing_since IS NOT NULL OR last_success_at IS NULL OR last_success_at < ?2 - 5000)";
    ENDPOINT_FAILED = "UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, ?2) WHERE no = ?1
        AND enabled = 1 RETURNING failing_since";

    INSERT_DELIVERY = "INSERT INTO deliveries (id, ws, endpoint, change_id, event, is_test, state, attempts, tries,
            due_at, created_at, finished_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11)";
    FREE_ALL_LEASES = "UPDATE deliveries SET state = 0, due_at = min(due_at, ?1) WHERE state = 1";
    HAS_ENDED_LEASES = "SELECT 1 FROM deliveries WHERE state = 1 AND due_at <= ?1";
    FREE_ENDED_LEASES = "UPDATE deliveries SET state = 0 WHERE state = 1 AND due_at <= ?1";
    BRING_FORWARD = "UPDATE deliveries SET due_at = due_at - ?1 WHERE state = 0 OR state = 1 AND due_at > ?2";
    DUE_ENDPOINTS = "SELECT w.id, e.id, (SELECT min(d.due_at) FROM deliveries d WHERE d.endpoint = e.no AND d.state = 0)
        FROM webhook_endpoints e JOIN workspaces w ON w.no = e.ws WHERE e.enabled = 1";
    CLAIM = "UPDATE deliveries SET state = 1, due_at = ?4 WHERE id IN
        (SELECT id FROM deliveries WHERE endpoint = ?1 AND state = 0 AND due_at <= ?2 ORDER BY due_at LIMIT ?3)
        RETURNING id, change_id, event, is_test, tries";
    TOLD = "SELECT at, coalesce(after, before) FROM changes WHERE id = ?1";
    RELEASE_LEASE = "UPDATE deliveries SET state = 0, due_at = ?2 WHERE id = ?1 AND state = 1";
    ATTEMPTED = "UPDATE deliveries SET state = ?2, due_at = ?3, finished_at = ?4, attempts = attempts + 1, tries = tries + 1
        WHERE id = ?1 AND (?2 = 2 OR state IN (0, 1)) RETURNING attempts";
    INSERT_ATTEMPT = "INSERT INTO attempts (delivery, no, at, millis, status, error, answer)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    COUNT_DUE = "SELECT count(*), min(d.due_at) FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no
        AND d.state = 0 AND d.due_at <= ?1 WHERE e.enabled = 1";
    COUNT_WAITING = "SELECT count(*) FROM deliveries WHERE state = 0";
    COUNT_LEASED = "SELECT count(*) FROM deliveries WHERE state = 1";
    OLD_DELIVERIES = "SELECT id, state >= 2 AND finished_at < ?3 FROM deliveries WHERE id > ?1 AND id < ?2
        ORDER BY id LIMIT ?4";
    FORGET_DELIVERY = "DELETE FROM deliveries WHERE id = ?1";
    FORGET_ATTEMPTS = "DELETE FROM attempts WHERE delivery = ?1";
    DELIVERIES = concat!("SELECT ", delivery_columns!(), " WHERE e.ws = ?1 AND e.id = ?2 AND d.id BETWEEN ?3 AND ?4
        AND (?5 IS NULL OR d.state = ?5) AND (?6 IS NULL OR d.event = ?6) ORDER BY d.id DESC LIMIT ?7");
    FAILED_DELIVERIES = concat!("SELECT ", delivery_columns!(), " WHERE e.ws = ?1 AND e.id = ?2 AND d.id BETWEEN ?3 AND ?4
        AND d.state = 3 AND ?5 = 3 AND (?6 IS NULL OR d.event = ?6) ORDER BY d.id DESC LIMIT ?7");
    DELIVERY = concat!("SELECT ", delivery_columns!(), " WHERE e.ws = ?1 AND d.id = ?2");
    DELIVERY_TOLD = "SELECT c.at, coalesce(c.after, c.before) FROM deliveries d JOIN changes c ON c.id = d.change_id
        WHERE d.id = ?1";
    ATTEMPTS = "SELECT no, at, millis, status, error, answer FROM attempts WHERE delivery = ?1 ORDER BY no";
    REDELIVER = "UPDATE deliveries SET tries = CASE WHEN state = 0 THEN tries ELSE 0 END, state = 0, due_at = ?3,
        finished_at = NULL WHERE ws = ?1 AND id = ?2 AND state <> 1";
    REDELIVER_FAILED = "UPDATE deliveries SET tries = 0, state = 0, due_at = ?4, finished_at = NULL WHERE id IN
        (SELECT d.id FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no AND d.state = 3
            WHERE e.ws = ?1 AND e.id = ?2 AND d.id >= ?3 LIMIT 500)";

    TOTALS = "SELECT kind, total FROM collections WHERE ws = ?1";
    ACTIVITY = "SELECT id, at, actor, action, subject, before, after FROM changes NOT INDEXED
        WHERE ws = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
    ACTIVITY_OF = "SELECT id, at, actor, action, subject, before, after FROM changes
        WHERE ws = ?1 AND subject IN (SELECT unhex(value) FROM json_each(?2)) AND id < ?3 ORDER BY id DESC LIMIT ?4";
    CHANGES = "SELECT id, at, actor, action, subject, before, after FROM changes
        WHERE ws = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
}

/// The statements of one kind of record.
pub(crate) struct KindSql {
    pub(crate) insert: String,
    pub(crate) update: String,
    pub(crate) remove: String,
    pub(crate) free_reference: String,
    pub(crate) index: String,
    pub(crate) unindex: String,
    pub(crate) by_id: String,
    pub(crate) by_reference: String,
    pub(crate) shown_by_id: String,
    pub(crate) shown_by_reference: String,
    /// Writes a bundle anew, unless nothing is left of it.
    pub(crate) bundle: String,
    pub(crate) bundle_all: String,
    pub(crate) bundles: String,
    pub(crate) remove_bundles: String,
    pub(crate) hits: String,
    pub(crate) hits_page: String,
    pub(crate) grams: String,
    pub(crate) some_places: String,
    linked: Vec<(Link, String)>,
    is_linked: Vec<(Link, String)>,
}

/// The documents of one bundle in the order of their places, which is that of the table;
/// [`bundles`](super::bundles) reads them.
const BUNDLED: &str = "CAST(group_concat(
    unhex(printf('%02x%08x%08x', place & 7, length(people), octet_length(doc))) || people || doc, '') AS BLOB)";

/// The statements of each kind.
static KINDS: LazyLock<[KindSql; 4]> = LazyLock::new(|| Kind::ALL.map(KindSql::new));

impl KindSql {
    pub(crate) fn of(kind: Kind) -> &'static Self {
        &KINDS[usize::try_from(crate::tx::kind_number(kind)).unwrap_or_default()]
    }

    fn new(kind: Kind) -> Self {
        let t = kind.plural();
        let links: Vec<_> = Link::of(kind).iter().map(|link| link.column()).collect();
        let columns = links.join(", ");
        let slots: Vec<_> = (7..7 + links.len()).map(|n| format!("?{n}")).collect();
        let slots = slots.join(", ");
        let sets: Vec<_> =
            links.iter().zip(7..).map(|(link, n)| format!("{link} = ?{n}")).collect();
        let sets = sets.join(", ");
        let by_link = |select: &str, order: &str| -> Vec<(Link, String)> {
            let links = Link::of(kind).iter();
            links
                .map(|link| {
                    (
                        *link,
                        format!(
                            "SELECT {select} FROM {t} WHERE ws = ?1 AND {} = ?2 {order}",
                            link.column()
                        ),
                    )
                })
                .collect()
        };
        Self {
            insert: format!(
                "INSERT INTO {t} (place, ws, id, reference, doc, people, {columns})
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, {slots})"
            ),
            update: format!(
                "UPDATE {t} SET reference = ?4, doc = ?5, people = ?6, {sets} WHERE place = ?1 AND ws = ?2 AND id = ?3"
            ),
            remove: format!("DELETE FROM {t} WHERE place = ?1"),
            free_reference: format!("UPDATE {t} SET reference = ?2 WHERE place = ?1"),
            index: format!("INSERT INTO {t}_search (rowid, text) VALUES (?1, ?2)"),
            unindex: format!("DELETE FROM {t}_search WHERE rowid = ?1"),
            by_id: format!("SELECT place, doc FROM {t} WHERE ws = ?1 AND id = ?2"),
            by_reference: format!("SELECT place, doc FROM {t} WHERE ws = ?1 AND reference = ?2"),
            shown_by_id: format!("SELECT doc, people FROM {t} WHERE ws = ?1 AND id = ?2"),
            shown_by_reference: format!("SELECT doc, people FROM {t} WHERE ws = ?1 AND reference = ?2"),
            bundle: format!(
                "INSERT OR REPLACE INTO {t}_bundles SELECT ?1, {BUNDLED} FROM {t}
                 WHERE place BETWEEN ?1 << 3 AND ?1 << 3 | 7 HAVING count(*) > 0"
            ),
            bundle_all: format!(
                "INSERT INTO {t}_bundles
                 SELECT bundle, (SELECT {BUNDLED} FROM {t} WHERE place BETWEEN bundle << 3 AND bundle << 3 | 7)
                 FROM (SELECT DISTINCT place >> 3 AS bundle FROM {t})"
            ),
            bundles: format!(
                "SELECT bundle, documents FROM {t}_bundles WHERE bundle BETWEEN ?1 AND ?2 ORDER BY bundle"
            ),
            remove_bundles: format!("DELETE FROM {t}_bundles WHERE bundle BETWEEN ?1 AND ?2"),
            hits: format!("SELECT count(*) FROM {t}_search WHERE {t}_search MATCH ?1 AND rowid BETWEEN ?2 AND ?3"),
            hits_page: format!(
                "SELECT r.doc, r.people FROM
                    (SELECT rowid FROM {t}_search WHERE {t}_search MATCH ?1 AND rowid BETWEEN ?2 AND ?3
                     ORDER BY rowid LIMIT ?4 OFFSET ?5) s
                 JOIN {t} r ON r.place = s.rowid ORDER BY r.place"
            ),
            grams: format!("SELECT term FROM {t}_grams WHERE term >= ?1 AND term <= ?2"),
            some_places: format!("SELECT place FROM {t} WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3"),
            linked: by_link("place, doc", "ORDER BY place"),
            is_linked: by_link("1", "LIMIT 1"),
        }
    }

    pub(crate) fn linked(&self, link: Link) -> Option<&str> {
        find(&self.linked, link)
    }

    pub(crate) fn is_linked(&self, link: Link) -> Option<&str> {
        find(&self.is_linked, link)
    }

    /// All of them; a new field that is forgotten here does not compile.
    #[cfg(test)]
    pub(crate) fn all(&self) -> Vec<&str> {
        let Self {
            insert,
            update,
            remove,
            free_reference,
            index,
            unindex,
            by_id,
            by_reference,
            shown_by_id,
            shown_by_reference,
            bundle,
            bundle_all,
            bundles,
            remove_bundles,
            hits,
            hits_page,
            grams,
            some_places,
            linked,
            is_linked,
        } = self;
        let mut all: Vec<&str> = vec![
            insert,
            update,
            remove,
            free_reference,
            index,
            unindex,
            by_id,
            by_reference,
            shown_by_id,
            shown_by_reference,
            bundle,
            bundle_all,
            bundles,
            remove_bundles,
            hits,
            hits_page,
            grams,
            some_places,
        ];
        all.extend(linked.iter().chain(is_linked).map(|(_, sql)| sql.as_str()));
        all
    }
}

fn find(statements: &[(Link, String)], link: Link) -> Option<&str> {
    statements.iter().find(|(of, _)| *of == link).map(|(_, sql)| sql.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_can_be_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("groma.db");
        drop(crate::sqlite::Sqlite::open(&path).unwrap());
        let connection = crate::sqlite::connect(&path).unwrap();
        let browsing = crate::browse::every_statement(crate::browse::Dialect::Sqlite);
        let of_kinds = Kind::ALL.iter().flat_map(|kind| KindSql::of(*kind).all());
        let copying = crate::copy::every_statement(crate::browse::Dialect::Sqlite);
        let made = browsing.iter().chain(&copying).map(String::as_str);
        for sql in FIXED.iter().copied().chain(of_kinds).chain(made) {
            connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}
