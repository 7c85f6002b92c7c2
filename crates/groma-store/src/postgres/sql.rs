//! Every PostgreSQL statement of the program, so that a test can prepare them all.

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

/// Milliseconds since 1970 by the clock of the database, the one that all replicas share.
macro_rules! now_millis {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// What is read of an endpoint `e`.
macro_rules! endpoint_columns {
    () => {
        "e.id, e.url, e.description, e.events, e.enabled, e.disabled_reason, e.failing_since, e.last_success_at,
            e.secret, e.previous_secret, e.previous_until, e.created_at, e.updated_at"
    };
}

/// What is listed of a delivery `d` with its last attempt.
macro_rules! delivery_columns {
    () => {
        "d.id, d.endpoint_id, d.event, d.is_test, d.state, d.attempts, d.created_at, d.due_at, d.finished_at,
            a.status, a.error FROM deliveries d
            LEFT JOIN attempts a ON a.workspace_id = d.workspace_id AND a.delivery_id = d.id AND a.no = d.attempts"
    };
}

/// The blocks in some ranges whose boxes meet an area, each with the revision of its layer, and that
/// revision alone where there is none. What is asked for is a row (that `OFFSET` keeps from being taken
/// apart): PostgreSQL cannot see it when it makes a plan, and so keeps one plan whatever it was asked for
/// first. Making one takes longer than reading a tile.
macro_rules! blocks_of_area {
    () => {
        "SELECT l.revision, b.shelf, b.centre, b.seq, b.block
        FROM (SELECT $1::uuid AS ws, $2::bigint AS layer, $3::smallint[] AS shelves, $4::bigint[] AS firsts,
            $5::bigint[] AS lasts, $6::bigint AS west, $7::bigint AS north, $8::bigint AS east,
            $9::bigint AS south OFFSET 0) q
        JOIN layers l ON l.workspace_id = $1 AND l.no = $2
        LEFT JOIN LATERAL (SELECT r.shelf, d.centre, d.seq, d.block
            FROM unnest(q.shelves, q.firsts, q.lasts) AS r (shelf, first, last)
            CROSS JOIN LATERAL (SELECT d.centre, d.seq, d.block FROM drawings d
                WHERE d.workspace_id = q.ws AND d.layer = q.layer AND d.shelf = r.shelf AND d.centre <= r.last
                AND d.centre >= coalesce((SELECT p.centre FROM drawings p
                    WHERE p.workspace_id = q.ws AND p.layer = q.layer AND p.shelf = r.shelf
                    AND p.centre < r.first ORDER BY p.centre DESC LIMIT 1), r.first)
                AND d.west <= q.east AND d.north <= q.south AND d.east >= q.west AND d.south >= q.north) d) b
            ON true"
    };
}

/// What every connection is told. Each statement has an index made for it; while a table is young and
/// its statistics do not show that, the planner would read it whole, and keep to that plan.
pub(crate) const SESSION: &str = "SET enable_seqscan = off; SET jit = off";

statements! {
    LOCK_MIGRATIONS = "SELECT pg_advisory_lock(7203010)";
    LOCK_NAMES = "SELECT pg_advisory_xact_lock(7203012)";
    UNLOCK_MIGRATIONS = "SELECT pg_advisory_unlock(7203010)";
    PING = "SELECT 1";
    HAS_MIGRATIONS = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    MIGRATIONS = "SELECT version FROM refinery_schema_history";
    BEGIN_COPYING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    HOLD_STILL = "LOCK TABLE workspaces, users IN SHARE ROW EXCLUSIVE MODE";
    IN_USE = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'groma'";
    LAST_NUMBER = "SELECT pg_sequence_last_value($1::text::regclass)";
    SET_LAST_NUMBER = "SELECT setval($1::text::regclass, $2)";
    HOLD_ENDPOINTS = "UPDATE webhook_endpoints SET enabled = false, disabled_reason = $1 WHERE enabled";
    ANALYZE = "ANALYZE";
    SERVER_FACTS = concat!("SELECT current_setting('server_version_num')::int, current_setting('max_connections')::int,
        current_setting('fsync')::boolean, current_setting('synchronous_commit') <> 'off',
        current_setting('is_superuser')::boolean, ", now_millis!());
    SERVER_SETUP = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
        current_database()::text";
    EXTENSIONS = "SELECT n.name, e.extversion, a.default_version
        FROM unnest(ARRAY['postgis', 'pg_trgm', 'btree_gin']) n (name)
        LEFT JOIN pg_extension e ON e.extname = n.name
        LEFT JOIN pg_available_extensions a ON a.name = n.name";

    LOCK_WORKSPACE = "SELECT id, name, currency, created_at, webhooks_mark FROM workspaces WHERE id = $1 FOR UPDATE";
    WORKSPACE = "SELECT id, name, currency, created_at, webhooks_mark FROM workspaces WHERE id = $1";
    WORKSPACES = "SELECT id, name, currency, created_at FROM workspaces ORDER BY no";
    WORKSPACE_NAMED = "SELECT 1 FROM workspaces WHERE name_key = $1";
    INSERT_WORKSPACE = "INSERT INTO workspaces (id, name, name_key, currency, people_generation, created_at)
        VALUES ($1, $2, $3, $4, 1, $5)";
    DELETE_WORKSPACE = "DELETE FROM workspaces WHERE id = $1";
    DELETE_RATES = "DELETE FROM rate_windows WHERE token_id IN (SELECT id FROM tokens WHERE workspace_id = $1)";
    DELETE_TOKENS = "DELETE FROM tokens WHERE workspace_id = $1";
    DELETE_PEOPLE = "DELETE FROM people WHERE workspace_id = $1";
    DELETE_STATUSES = "DELETE FROM statuses WHERE workspace_id = $1";
    DELETE_COLLECTIONS = "DELETE FROM collections WHERE workspace_id = $1";
    DELETE_SOME_BLOCKS = "DELETE FROM blocks WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM blocks WHERE workspace_id = $1 LIMIT $2))";
    DELETE_SOME_CHANGES = "DELETE FROM changes WHERE workspace_id = $1 AND id IN
        (SELECT id FROM changes WHERE workspace_id = $1 LIMIT $2)";

    USER_BY_EMAIL = "SELECT id, email, name FROM users WHERE email_key = $1";
    SAVE_USER = "INSERT INTO users (id, email, email_key, name, created_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key, name = excluded.name";
    SET_PASSWORD = "UPDATE users SET password_hash = $2 WHERE id = $1";

    HAS_USERS = "SELECT 1 FROM users LIMIT 1";
    ACCOUNT = "SELECT id, password_hash FROM users WHERE email_key = $1";
    SAVE_WORKSPACE = "UPDATE workspaces SET name = $2, name_key = $3, currency = $4 WHERE id = $1";

    OPEN_SESSION = "SELECT s.id, s.user_id, u.email, u.name, s.workspace_id, s.created_at, s.last_seen_at, s.ends_at
        FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = $1 AND s.ends_at > $2";
    MEMBERSHIPS = "SELECT w.id, w.name, w.currency, w.created_at, p.id, p.name, p.email, p.role
        FROM people p JOIN workspaces w ON w.id = p.workspace_id
        WHERE p.user_id = $1 AND p.role IS NOT NULL ORDER BY w.name_key";
    INSERT_SESSION = "INSERT INTO sessions
        (id, hash, user_id, workspace_id, created_at, last_seen_at, ends_at, user_agent, address)
        VALUES ($1, $2, $3, (SELECT workspace_id FROM sessions WHERE user_id = $3 ORDER BY id DESC LIMIT 1),
            $4, $4, $5, $6, $7)";
    TOUCH_SESSION = "UPDATE sessions SET last_seen_at = $2, ends_at = $3 WHERE id = $1";
    ENTER_WORKSPACE = "UPDATE sessions SET workspace_id = $3 WHERE id = $1 AND user_id = $2";
    SESSIONS = "SELECT id, created_at, last_seen_at, ends_at, user_agent, address FROM sessions
        WHERE user_id = $1 AND ends_at > $2 ORDER BY last_seen_at DESC, id DESC";
    END_SESSION = "DELETE FROM sessions WHERE user_id = $1 AND id = $2";
    END_SESSIONS = "DELETE FROM sessions WHERE user_id = $1 AND ($2::uuid IS NULL OR id <> $2)";
    COUNT_SESSIONS = "SELECT count(*) FROM sessions WHERE ends_at > $1";
    FORGET_SESSIONS = "DELETE FROM sessions WHERE ends_at <= $1";
    LOCK_ATTEMPTS = "SELECT pg_advisory_xact_lock(7203013)";
    LOGIN_ATTEMPTS = "SELECT count(*) FROM login_attempts WHERE bucket = $1 AND at > $2";
    NOTE_ATTEMPT = "INSERT INTO login_attempts (bucket, at) VALUES ($1, $2)";
    FORGET_ATTEMPT = "DELETE FROM login_attempts WHERE bucket = $1 AND at >= $2 AND at <= $3";
    FORGET_OLD_ATTEMPTS = "DELETE FROM login_attempts WHERE at <= $1";
    DEVICE = "SELECT 1 FROM devices WHERE hash = $1 AND user_id = $2";
    SAVE_DEVICE = "INSERT INTO devices (hash, user_id, at) VALUES ($1, $2, $3)
        ON CONFLICT (hash) DO UPDATE SET user_id = excluded.user_id, at = excluded.at";
    FORGET_DEVICES = "DELETE FROM devices WHERE user_id = $1 AND at <= $2";

    INVITATIONS = "SELECT id, role, email, invited_by, created_at, expires_at FROM invitations
        WHERE workspace_id = $1 AND expires_at > $2 ORDER BY id";
    INVITATION = "SELECT id, workspace_id, role, email, invited_by, created_at, expires_at
        FROM invitations WHERE hash = $1";
    INSERT_INVITATION = "INSERT INTO invitations
        (id, workspace_id, hash, role, email, invited_by, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    REMOVE_INVITATION = "DELETE FROM invitations WHERE workspace_id = $1 AND id = $2";
    DELETE_INVITATIONS = "DELETE FROM invitations WHERE workspace_id = $1";

    PERSON = "SELECT id, name, email, user_id, role FROM people WHERE workspace_id = $1 AND id = $2";
    PERSON_BY_EMAIL = "SELECT id, name, email, user_id, role FROM people WHERE workspace_id = $1 AND email_key = $2";
    PEOPLE = "SELECT p.id, p.name, p.email, p.user_id, p.role, w.people_generation
        FROM people p JOIN workspaces w ON w.id = p.workspace_id WHERE p.workspace_id = $1";
    OWNERS = "SELECT count(*) FROM people WHERE workspace_id = $1 AND role = 'owner'";
    SAVE_PERSON = "INSERT INTO people (workspace_id, id, email, email_key, name, user_id, role, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (workspace_id, id) DO UPDATE SET email = excluded.email, email_key = excluded.email_key,
            name = excluded.name, user_id = excluded.user_id, role = excluded.role";
    PEOPLE_CHANGED = "UPDATE workspaces SET people_generation = people_generation + 1 WHERE id = $1";
    PEOPLE_GENERATION = "SELECT people_generation FROM workspaces WHERE id = $1";

    ADMIT = "SELECT a.token_id, a.workspace_id, a.person_id, a.role, a.scopes, a.expires_at,
            a.accepted, a.used, a.reset_micros
        FROM unnest($1::bytea[], $2::integer[], $3::integer[], $4::bigint[])
            WITH ORDINALITY AS r (sent, wanted, allowed, moment, no)
        CROSS JOIN LATERAL admit(r.sent, r.wanted, r.allowed, r.moment) a ORDER BY r.no";
    TOKENS = "SELECT t.id, w.name, t.name, p.email, t.scopes, t.created_at, t.expires_at, t.revoked_at, t.last_used_at,
            p.id, p.name, t.hint
        FROM tokens t JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
        JOIN workspaces w ON w.id = t.workspace_id
        WHERE $1::uuid IS NULL OR t.workspace_id = $1 ORDER BY t.id";
    TOKEN_WORKSPACE = "SELECT workspace_id FROM tokens WHERE id = $1";
    TOKEN_OWNER = "SELECT person_id FROM tokens WHERE workspace_id = $1 AND id = $2";
    REVOKE_TOKENS_OF = "UPDATE tokens SET revoked_at = $3
        WHERE workspace_id = $1 AND person_id = $2 AND revoked_at IS NULL";
    INSERT_TOKEN = "INSERT INTO tokens
        (id, workspace_id, person_id, name, hash, scopes, created_at, expires_at, hint)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    REVOKE_TOKEN = "UPDATE tokens SET revoked_at = coalesce(revoked_at, $3) WHERE workspace_id = $1 AND id = $2";
    TOKENS_USED = "UPDATE tokens t SET last_used_at = greatest(t.last_used_at, u.at)
        FROM unnest($1::uuid[], $2::bigint[]) AS u (id, at) WHERE t.id = u.id";
    PRUNE_RATES = "DELETE FROM rate_windows
        WHERE accepted[cardinality(accepted)] < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 3600000000";

    COLLECTION = "SELECT last_seq, last_reference, total, generation FROM collections
        WHERE workspace_id = $1 AND kind = $2";
    SAVE_COLLECTION = "INSERT INTO collections (workspace_id, kind, last_seq, last_reference, total, generation)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (workspace_id, kind) DO UPDATE SET last_seq = excluded.last_seq,
            last_reference = excluded.last_reference, total = excluded.total, generation = excluded.generation";
    ADJUST_BLOCKS = "INSERT INTO blocks AS b (workspace_id, kind, block, live, generation)
        SELECT $1, $2, a.block, a.live, a.generation
        FROM unnest($3::bigint[], $4::bigint[], $5::bigint[]) AS a (block, live, generation)
        ON CONFLICT (workspace_id, kind, block)
        DO UPDATE SET live = b.live + excluded.live, generation = excluded.generation";
    BLOCKS_SINCE = "SELECT c.generation, b.block, b.live FROM collections c
        LEFT JOIN blocks b ON b.workspace_id = c.workspace_id AND b.kind = c.kind AND b.generation > $3
        WHERE c.workspace_id = $1 AND c.kind = $2";

    STATUSES = "SELECT doc FROM statuses WHERE workspace_id = $1 ORDER BY seq";
    SAVE_STATUS = "INSERT INTO statuses (workspace_id, id, seq, kind, name_key, doc)
        VALUES ($1, $2, (SELECT coalesce(max(seq), 0) + 1 FROM statuses WHERE workspace_id = $1), $3, $4, $5)
        ON CONFLICT (workspace_id, id) DO UPDATE SET name_key = excluded.name_key, doc = excluded.doc";
    FREE_STATUS_NAME = "UPDATE statuses SET name_key = $3 WHERE workspace_id = $1 AND id = $2";
    REMOVE_STATUS = "DELETE FROM statuses WHERE workspace_id = $1 AND id = $2";

    LAYER_BY_ID = "SELECT no, state FROM layers WHERE workspace_id = $1 AND id = $2";
    LAYER_BY_SLUG = "SELECT no, state FROM layers WHERE workspace_id = $1 AND slug = $2";
    LAYERS = "SELECT no, state FROM layers WHERE workspace_id = $1 ORDER BY no";
    LAYER_NOW = "SELECT no, revision FROM layers WHERE workspace_id = $1 AND id = $2";
    INSERT_LAYER = "INSERT INTO layers (workspace_id, no, id, slug, revision, state)
        VALUES ($1, nextval('layer_numbers'), $2, $3, $4, $5)";
    SAVE_LAYER = "UPDATE layers SET slug = $3, revision = $4, state = $5 WHERE workspace_id = $1 AND id = $2";
    DELETE_LAYER = "DELETE FROM layers WHERE workspace_id = $1 AND no = $2";
    FEATURES_BY_EXTERNAL_ID = "SELECT seq, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND external_id = ANY ($3)";
    FEATURES_BETWEEN = "SELECT seq, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND seq BETWEEN $3 AND $4 ORDER BY seq LIMIT $5";
    INSERT_FEATURE = "INSERT INTO features (workspace_id, layer, seq, id, external_id, folder_id, assignment_id,
            geom, heights, properties, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, ST_Force2D($8::geometry), $9, $10, $11, $12)";
    UPDATE_FEATURE = "UPDATE features SET folder_id = $4, assignment_id = $5, geom = ST_Force2D($6::geometry),
        heights = $7, properties = $8, updated_at = $9 WHERE workspace_id = $1 AND layer = $2 AND seq = $3";
    REMOVE_FEATURE = "DELETE FROM features WHERE workspace_id = $1 AND layer = $2 AND seq = $3";
    FEATURE = "SELECT f.seq, f.id, f.external_id, f.folder_id, f.assignment_id,
            coalesce(f.heights, ST_AsBinary(f.geom, 'NDR')), f.properties, f.created_at, f.updated_at, l.no, l.state
        FROM features f JOIN layers l ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND f.id = $2";
    FEATURES_OF_FOLDER = "SELECT f.seq, f.id, f.external_id, f.folder_id, f.assignment_id,
            coalesce(f.heights, ST_AsBinary(f.geom, 'NDR')), f.properties, f.created_at, f.updated_at, l.id
        FROM features f JOIN layers l ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND f.folder_id = $2 ORDER BY f.layer, f.seq LIMIT $3";
    COUNT_FEATURES_OF_FOLDER = "SELECT count(*) FROM features f JOIN layers l
            ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND f.folder_id = $2";
    SHAPES_OF_FOLDER = "SELECT coalesce(heights, ST_AsBinary(geom, 'NDR')) FROM features f
        WHERE f.workspace_id = $1 AND f.folder_id = $2 AND f.geom IS NOT NULL
        AND EXISTS (SELECT 1 FROM layers l WHERE l.workspace_id = $1 AND l.no = f.layer)";
    FOLDERS_OF_LAYER = "SELECT DISTINCT folder_id FROM features
        WHERE workspace_id = $1 AND layer = $2 AND folder_id IS NOT NULL";
    UNLINK_FOLDER = "UPDATE features SET folder_id = NULL, assignment_id = NULL
        WHERE workspace_id = $1 AND folder_id = $2";
    UNLINK_ASSIGNMENT = "UPDATE features SET assignment_id = NULL WHERE workspace_id = $1 AND assignment_id = $2";
    EXTENTS = "SELECT part, west, south, east, north FROM extents
        WHERE workspace_id = $1 AND layer = $2 AND ($3::bigint[] IS NULL OR part = ANY ($3))";
    GROW_EXTENT = "INSERT INTO extents AS old (workspace_id, layer, part, west, south, east, north)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, layer, part) DO UPDATE SET west = least(old.west, excluded.west),
            south = least(old.south, excluded.south), east = greatest(old.east, excluded.east),
            north = greatest(old.north, excluded.north)";
    SET_EXTENT = "INSERT INTO extents (workspace_id, layer, part, west, south, east, north)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, layer, part) DO UPDATE SET west = excluded.west, south = excluded.south,
            east = excluded.east, north = excluded.north";
    REMOVE_EXTENT = "DELETE FROM extents WHERE workspace_id = $1 AND layer = $2 AND part = $3";
    // The blocks that begin in one of the ranges, and the one before each; first the keys, each once.
    DRAWINGS = "SELECT k.shelf, k.centre, k.seq, d.block FROM (
            SELECT DISTINCT r.shelf, k.centre, k.seq
            FROM unnest($3::smallint[], $4::bigint[], $5::bigint[]) AS r (shelf, first, last)
            CROSS JOIN LATERAL (
                (SELECT p.centre, p.seq FROM drawings p
                    WHERE p.workspace_id = $1 AND p.layer = $2 AND p.shelf = r.shelf AND p.centre < r.first
                    ORDER BY p.centre DESC, p.seq DESC LIMIT 1)
                UNION ALL
                (SELECT d.centre, d.seq FROM drawings d
                    WHERE d.workspace_id = $1 AND d.layer = $2 AND d.shelf = r.shelf
                    AND d.centre BETWEEN r.first AND r.last)) k) k
        CROSS JOIN LATERAL (SELECT d.block FROM drawings d
            WHERE d.workspace_id = $1 AND d.layer = $2 AND d.shelf = k.shelf AND d.centre = k.centre
            AND d.seq = k.seq OFFSET 0) d";
    // The same for the few ranges of a tile, less the blocks that do not meet it; one may come twice.
    TILE = blocks_of_area!();
    TILE_UP_TO = concat!(blocks_of_area!(), " LIMIT $10");
    INSERT_DRAWINGS = "INSERT INTO drawings
        (workspace_id, layer, shelf, centre, seq, west, north, east, south, block)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    UPDATE_DRAWINGS = "UPDATE drawings SET west = $6, north = $7, east = $8, south = $9, block = $10
        WHERE workspace_id = $1 AND layer = $2 AND shelf = $3 AND centre = $4 AND seq = $5";
    REMOVE_DRAWINGS = "DELETE FROM drawings
        WHERE workspace_id = $1 AND layer = $2 AND shelf = $3 AND centre = $4 AND seq = $5";
    LONG_DRAWINGS = "SELECT l.revision, s.seq, s.shape FROM layers l
        LEFT JOIN LATERAL (SELECT DISTINCT ON (d.seq) d.seq, d.shape FROM long_drawings d
            WHERE d.workspace_id = $1 AND d.layer = $2 AND d.seq = ANY ($3) AND d.zoom >= $4
            ORDER BY d.seq, d.zoom) s ON true
        WHERE l.workspace_id = $1 AND l.no = $2";
    SAVE_LONG_DRAWING = "INSERT INTO long_drawings (workspace_id, layer, seq, zoom, shape)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (workspace_id, layer, seq, zoom) DO UPDATE SET shape = excluded.shape";
    REMOVE_LONG_DRAWINGS = "DELETE FROM long_drawings WHERE workspace_id = $1 AND layer = $2 AND seq = $3";
    DELETE_SOME_FEATURES = "DELETE FROM features WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM features WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    DELETE_SOME_EXTENTS = "DELETE FROM extents WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM extents WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    DELETE_SOME_DRAWINGS = "DELETE FROM drawings WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM drawings WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    DELETE_SOME_LONG_DRAWINGS = "DELETE FROM long_drawings WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM long_drawings WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";

    REPLAY = "SELECT body_hash, answer, at FROM replays
        WHERE workspace_id = $1 AND token_id = $2 AND path = $3 AND key = $4";
    SAVE_REPLAY = "INSERT INTO replays (workspace_id, token_id, path, key, body_hash, answer, at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, token_id, path, key) DO UPDATE SET body_hash = excluded.body_hash,
            answer = excluded.answer, at = excluded.at";
    FORGET_REPLAYS = "DELETE FROM replays WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM replays WHERE at < $1 ORDER BY at LIMIT 100))";

    LOG_CHANGE = "INSERT INTO changes (workspace_id, at, actor, action, subject, before, after)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    LOG_EVENT = concat!("WITH c AS (INSERT INTO changes (workspace_id, at, actor, action, subject, before, after)
            VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id)
        INSERT INTO deliveries (workspace_id, id, endpoint_id, change_id, event, is_test, state, attempts, tries,
            due_at, created_at)
        SELECT $1, d.id, d.endpoint, c.id, $8, $9, d.state, 0, 0, ", now_millis!(), " + d.state * 20000, $2
        FROM c CROSS JOIN unnest($10::uuid[], $11::uuid[], $12::smallint[]) AS d (id, endpoint, state)");
    LISTEN = "LISTEN groma_webhooks";
    NOTIFY = "SELECT pg_notify('groma_webhooks', '')";
    ENDPOINTS = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints e
        WHERE e.workspace_id = $1 AND e.deleted_at IS NULL ORDER BY e.no");
    ENABLED_ENDPOINTS = concat!("SELECT ", endpoint_columns!(), ", e.workspace_id
        FROM unnest($1::uuid[], $2::uuid[]) AS a (workspace_id, id)
        JOIN webhook_endpoints e ON e.workspace_id = a.workspace_id AND e.id = a.id
        WHERE e.enabled AND e.deleted_at IS NULL");
    ALL_SECRETS = "SELECT workspace_id, id, secret, previous_secret FROM webhook_endpoints
        WHERE deleted_at IS NULL FOR UPDATE";
    SECRETS = "SELECT id, secret FROM webhook_endpoints WHERE deleted_at IS NULL";
    SET_SECRETS = "UPDATE webhook_endpoints SET secret = $3, previous_secret = $4
        WHERE workspace_id = $1 AND id = $2";
    WEBHOOK_REPLAYS = "SELECT workspace_id, token_id, path, key, answer FROM replays
        WHERE path LIKE '%/webhooks/endpoints%'";
    SET_REPLAY_ANSWER = "UPDATE replays SET answer = $5
        WHERE workspace_id = $1 AND token_id = $2 AND path = $3 AND key = $4";
    INSERT_ENDPOINT = "INSERT INTO webhook_endpoints (workspace_id, id, url, description, events, enabled,
            disabled_reason, failing_since, last_success_at, secret, previous_secret, previous_until, created_at,
            updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    SAVE_ENDPOINT = "UPDATE webhook_endpoints SET url = $3, description = $4, events = $5, enabled = $6,
            disabled_reason = $7, failing_since = $8, last_success_at = $9, secret = $10, previous_secret = $11,
            previous_until = $12, created_at = $13, updated_at = $14 WHERE workspace_id = $1 AND id = $2";
    REMOVE_ENDPOINT = "UPDATE webhook_endpoints SET deleted_at = $3, enabled = false, secret = '',
        previous_secret = NULL WHERE workspace_id = $1 AND id = $2";
    REMOVE_ENDPOINTS = "UPDATE webhook_endpoints SET deleted_at = 0, enabled = false WHERE workspace_id = $1";
    DELETED_ENDPOINT = "SELECT workspace_id, id FROM webhook_endpoints WHERE deleted_at IS NOT NULL LIMIT 1";
    FORGET_ENDPOINT = "DELETE FROM webhook_endpoints WHERE workspace_id = $1 AND id = $2";
    PURGE_ENDPOINT = "WITH few AS (SELECT id FROM deliveries WHERE workspace_id = $1 AND endpoint_id = $2
            LIMIT 500 FOR UPDATE SKIP LOCKED),
        tried AS (DELETE FROM attempts a USING few WHERE a.workspace_id = $1 AND a.delivery_id = few.id)
        DELETE FROM deliveries d USING few WHERE d.workspace_id = $1 AND d.id = few.id";
    WEBHOOKS_CHANGED = "UPDATE workspaces SET webhooks_mark = $2 WHERE id = $1";
    ENDPOINTS_SUCCEEDED = "UPDATE webhook_endpoints e SET last_success_at = s.at, failing_since = NULL
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS s (workspace_id, id, at)
        WHERE e.workspace_id = s.workspace_id AND e.id = s.id
        AND (e.failing_since IS NOT NULL OR e.last_success_at IS NULL OR e.last_success_at < s.at - 5000)";
    ENDPOINTS_FAILED = "UPDATE webhook_endpoints e SET failing_since = coalesce(e.failing_since, f.at)
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS f (workspace_id, id, at)
        WHERE e.workspace_id = f.workspace_id AND e.id = f.id AND e.enabled RETURNING e.id, e.failing_since";
    FREE_ENDED_LEASES = concat!("UPDATE deliveries d SET state = 0 FROM
            (SELECT workspace_id, id FROM deliveries WHERE state = 1 AND due_at <= ", now_millis!(), "
                ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED) ended
        WHERE d.workspace_id = ended.workspace_id AND d.id = ended.id");
    DUE_ENDPOINTS = concat!("SELECT e.workspace_id, e.id, d.due_at - ", now_millis!(), " FROM webhook_endpoints e
        CROSS JOIN LATERAL (SELECT d.due_at FROM deliveries d WHERE d.endpoint_id = e.id AND d.state = 0
            ORDER BY d.due_at LIMIT 1) d
        WHERE e.enabled");
    LEASE = concat!("WITH picked AS MATERIALIZED (SELECT d.workspace_id, d.id
            FROM unnest($1::uuid[], $2::bigint[]) AS a (endpoint_id, most)
            CROSS JOIN LATERAL (SELECT d.workspace_id, d.id FROM deliveries d
                WHERE d.endpoint_id = a.endpoint_id AND d.state = 0 AND d.due_at <= ", now_millis!(), "
                ORDER BY d.due_at LIMIT a.most FOR UPDATE SKIP LOCKED) d),
        leased AS (UPDATE deliveries d SET state = 1, due_at = ", now_millis!(), " + 20000 FROM picked p
            WHERE d.workspace_id = p.workspace_id AND d.id = p.id
            RETURNING d.workspace_id, d.id, d.endpoint_id, d.change_id, d.event, d.is_test, d.tries)
        SELECT l.id, l.endpoint_id, l.event, l.is_test, l.tries, c.at, coalesce(c.after, c.before)
        FROM leased l JOIN changes c ON c.workspace_id = l.workspace_id AND c.id = l.change_id");
    RELEASE_LEASES = concat!("UPDATE deliveries d SET state = 0, due_at = ", now_millis!(), "
        FROM unnest($1::uuid[], $2::uuid[]) AS r (workspace_id, id)
        WHERE d.workspace_id = r.workspace_id AND d.id = r.id AND d.state = 1");
    RECORD_ATTEMPTS = concat!("WITH r AS MATERIALIZED (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[],
            $4::bigint[], $5::bigint[], $6::bigint[], $7::smallint[], $8::text[], $9::bytea[])
            AS r (workspace_id, id, state, after, at, millis, status, error, answer)),
        u AS (UPDATE deliveries d SET state = r.state, due_at = ", now_millis!(), " + r.after,
                finished_at = CASE WHEN r.state >= 2 THEN r.at END, attempts = d.attempts + 1, tries = d.tries + 1
            FROM r WHERE d.workspace_id = r.workspace_id AND d.id = r.id AND (r.state = 2 OR d.state IN (0, 1))
            RETURNING d.workspace_id, d.id, d.attempts)
        INSERT INTO attempts (workspace_id, delivery_id, no, at, millis, status, error, answer)
        SELECT u.workspace_id, u.id, u.attempts, r.at, r.millis, r.status, r.error, r.answer
        FROM u JOIN r ON r.id = u.id");
    COUNT_DELIVERIES = concat!("WITH now AS (SELECT ", now_millis!(), " AS at),
        due AS (SELECT count(*) AS number, min(d.due_at) AS first FROM webhook_endpoints e
            CROSS JOIN now JOIN deliveries d ON d.endpoint_id = e.id AND d.state = 0 AND d.due_at <= now.at
            WHERE e.enabled)
        SELECT due.number, (SELECT count(*) FROM deliveries WHERE state = 1),
            (SELECT count(*) FROM deliveries WHERE state = 0) - due.number, coalesce(now.at - due.first, 0)
        FROM due CROSS JOIN now");
    OLD_DELIVERIES = "SELECT id, state >= 2 AND finished_at < $4 FROM deliveries
        WHERE workspace_id = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT 500";
    NEXT_WORKSPACE = "SELECT workspace_id FROM deliveries WHERE workspace_id > $1 ORDER BY workspace_id LIMIT 1";
    FORGET_DELIVERIES = "WITH tried AS (DELETE FROM attempts WHERE workspace_id = $1 AND delivery_id = ANY ($2))
        DELETE FROM deliveries WHERE workspace_id = $1 AND id = ANY ($2)";
    DELIVERIES = concat!("SELECT ", delivery_columns!(), " WHERE d.workspace_id = $1 AND d.endpoint_id = $2
        AND d.id BETWEEN $3 AND $4 AND ($5::smallint IS NULL OR d.state = $5)
        AND ($6::smallint IS NULL OR d.event = $6) ORDER BY d.id DESC LIMIT $7");
    FAILED_DELIVERIES = concat!("SELECT ", delivery_columns!(), " WHERE d.workspace_id = $1 AND d.endpoint_id = $2
        AND d.id BETWEEN $3 AND $4 AND d.state = 3 AND $5::smallint = 3
        AND ($6::smallint IS NULL OR d.event = $6) ORDER BY d.id DESC LIMIT $7");
    DELIVERY = concat!("SELECT ", delivery_columns!(), " WHERE d.workspace_id = $1 AND d.id = $2");
    DELIVERY_TOLD = "SELECT c.at, coalesce(c.after, c.before) FROM deliveries d
        JOIN changes c ON c.workspace_id = d.workspace_id AND c.id = d.change_id
        WHERE d.workspace_id = $1 AND d.id = $2";
    ATTEMPTS = "SELECT no, at, millis, status, error, answer FROM attempts
        WHERE workspace_id = $1 AND delivery_id = $2 ORDER BY no";
    REDELIVER = concat!("UPDATE deliveries SET tries = CASE WHEN state = 0 THEN tries ELSE 0 END, state = 0,
        due_at = ", now_millis!(), ", finished_at = NULL WHERE workspace_id = $1 AND id = $2 AND state <> 1");
    REDELIVER_FAILED = concat!("UPDATE deliveries SET tries = 0, state = 0, due_at = ", now_millis!(), ",
        finished_at = NULL WHERE workspace_id = $1 AND id = ANY (ARRAY
        (SELECT d.id FROM deliveries d WHERE d.workspace_id = $1 AND d.endpoint_id = $2 AND d.state = 3 AND d.id >= $3
            ORDER BY d.id LIMIT 500))");
    REMEMBER_DELIVERY = "INSERT INTO deliveries (workspace_id, id, endpoint_id, change_id, event, is_test, state,
            attempts, tries, due_at, created_at, finished_at)
        VALUES ($1, $2, $3, $4, $5, false, $6, $7, 0, $8, $8, $9)";
    REMEMBER_ATTEMPT = "INSERT INTO attempts (workspace_id, delivery_id, no, at, millis, status, error, answer)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

    TOTALS = "SELECT kind, total FROM collections WHERE workspace_id = $1";
    ACTIVITY = "SELECT id, at, actor, action, subject, before, after FROM changes
        WHERE workspace_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    ACTIVITY_OF = "SELECT id, at, actor, action, subject, before, after FROM changes
        WHERE workspace_id = $1 AND subject = ANY ($2) AND id < $3 ORDER BY id DESC LIMIT $4";
    CHANGES = "SELECT id, at, actor, action, subject, before, after FROM changes
        WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3";
}

/// The statements that reading folders takes, for those who measure the database alone.
pub struct HotReads {
    /// Token and rate: hash, limit, milliseconds.
    pub admit: &'static str,
    /// One folder: workspace, reference.
    pub detail: &'static str,
    /// A page: workspace, first place, limit, offset.
    pub page: &'static str,
}

impl HotReads {
    /// As the program sends them.
    #[must_use]
    pub fn of_folders() -> Self {
        let folders = KindSql::of(Kind::Folder);
        Self { admit: ADMIT, detail: &folders.shown_by_reference, page: &folders.page }
    }
}

/// The statements of one kind of record.
pub(crate) struct KindSql {
    pub(crate) insert: String,
    pub(crate) update: String,
    pub(crate) remove: String,
    pub(crate) free_reference: String,
    pub(crate) by_id: String,
    pub(crate) by_reference: String,
    pub(crate) shown_by_id: String,
    pub(crate) shown_by_reference: String,
    pub(crate) page: String,
    pub(crate) hits: String,
    pub(crate) short_hits: String,
    pub(crate) export: String,
    pub(crate) remove_some: String,
    pub(crate) known_size: String,
    pub(crate) analyze: String,
    linked: Vec<(Link, String)>,
    is_linked: Vec<(Link, String)>,
}

/// The statements of each kind.
static KINDS: LazyLock<[KindSql; 4]> = LazyLock::new(|| Kind::ALL.map(KindSql::new));

impl KindSql {
    pub(crate) fn of(kind: Kind) -> &'static Self {
        &KINDS[usize::try_from(crate::tx::kind_number(kind)).unwrap_or_default()]
    }

    fn new(kind: Kind) -> Self {
        let t = kind.plural();
        let number = crate::tx::kind_number(kind);
        let links: Vec<_> = Link::of(kind).iter().map(|link| link.column()).collect();
        let columns = links.join(", ");
        let slots: Vec<_> = (8..8 + links.len()).map(|n| format!("${n}")).collect();
        let slots = slots.join(", ");
        let sets: Vec<_> =
            links.iter().zip(8..).map(|(link, n)| format!("{link} = ${n}")).collect();
        let sets = sets.join(", ");
        let by_link = |select: &str, tail: &str| -> Vec<(Link, String)> {
            let sql = |link: &Link| {
                format!(
                    "SELECT {select} FROM {t} WHERE workspace_id = $1 AND {} = $2 {tail}",
                    link.column()
                )
            };
            Link::of(kind).iter().map(|link| (*link, sql(link))).collect()
        };
        let shown = |by: &str| {
            format!(
                "SELECT r.doc, r.people, w.people_generation FROM {t} r JOIN workspaces w ON w.id = r.workspace_id
                 WHERE r.workspace_id = $1 AND r.{by} = $2"
            )
        };
        let hits = |condition: &str| {
            format!(
                "WITH hits AS MATERIALIZED (SELECT seq FROM {t} WHERE workspace_id = $1 AND {condition})
                 SELECT (SELECT count(*) FROM hits), w.people_generation, r.doc, r.people
                 FROM workspaces w LEFT JOIN LATERAL
                    (SELECT r.seq, r.doc, r.people FROM (SELECT seq FROM hits ORDER BY seq LIMIT $3 OFFSET $4) h
                     JOIN {t} r ON r.workspace_id = $1 AND r.seq = h.seq) r ON true
                 WHERE w.id = $1 ORDER BY r.seq"
            )
        };
        Self {
            insert: format!(
                "INSERT INTO {t} (workspace_id, seq, id, reference, doc, people, search, {columns})
                 VALUES ($1, $2, $3, $4, $5, $6, $7, {slots})"
            ),
            update: format!(
                "UPDATE {t} SET reference = $4, doc = $5, people = $6, search = $7, {sets}
                 WHERE workspace_id = $1 AND seq = $2 AND id = $3"
            ),
            remove: format!("DELETE FROM {t} WHERE workspace_id = $1 AND seq = $2"),
            free_reference: format!(
                "UPDATE {t} SET reference = $3 WHERE workspace_id = $1 AND seq = $2"
            ),
            by_id: format!("SELECT seq, doc FROM {t} WHERE workspace_id = $1 AND id = $2"),
            by_reference: format!(
                "SELECT seq, doc FROM {t} WHERE workspace_id = $1 AND reference = $2"
            ),
            shown_by_id: shown("id"),
            shown_by_reference: shown("reference"),
            // One statement is one state of the database: total, generation and rows agree. How many
            // rows is hidden from the planner, which would else make a plan for each number.
            page: format!(
                "SELECT c.total, c.generation, w.people_generation, r.doc, r.people
                 FROM collections c JOIN workspaces w ON w.id = c.workspace_id LEFT JOIN LATERAL
                    (SELECT seq, doc, people FROM {t} WHERE workspace_id = $1 AND seq >= (SELECT $2::bigint)
                     ORDER BY seq LIMIT (SELECT $3::bigint) OFFSET (SELECT $4::bigint)) r ON true
                 WHERE c.workspace_id = $1 AND c.kind = {number} ORDER BY r.seq"
            ),
            hits: hits("search LIKE $2"),
            // Under three characters there is no whole trigram: a walk beats the index.
            short_hits: hits("strpos(search, $2) > 0"),
            export: format!(
                "SELECT r.seq, r.doc, r.people, w.people_generation FROM {t} r
                 JOIN workspaces w ON w.id = r.workspace_id
                 WHERE r.workspace_id = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3"
            ),
            remove_some: format!(
                "DELETE FROM {t} WHERE workspace_id = $1 AND seq IN
                    (SELECT seq FROM {t} WHERE workspace_id = $1 ORDER BY seq LIMIT $2)"
            ),
            known_size: format!(
                "SELECT reltuples::bigint FROM pg_class WHERE oid = '{t}'::regclass"
            ),
            analyze: format!("ANALYZE {t}"),
            linked: by_link("seq, doc", "ORDER BY seq"),
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
            by_id,
            by_reference,
            shown_by_id,
            shown_by_reference,
            page,
            hits,
            short_hits,
            export,
            remove_some,
            known_size,
            analyze,
            linked,
            is_linked,
        } = self;
        let mut all: Vec<&str> = vec![
            insert,
            update,
            remove,
            free_reference,
            by_id,
            by_reference,
            shown_by_id,
            shown_by_reference,
            page,
            hits,
            short_hits,
            export,
            remove_some,
            known_size,
            analyze,
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
    use groma_testkit::postgres::{PostgresDatabase, connect};

    #[tokio::test]
    async fn every_statement_can_be_prepared() {
        let database = PostgresDatabase::create().unwrap();
        drop(crate::postgres::Postgres::open(&database.url()).await.unwrap());
        let client = connect(&database.url()).await.unwrap();
        let browsing = crate::browse::every_statement(crate::browse::Dialect::Postgres);
        let of_kinds = Kind::ALL.iter().flat_map(|kind| KindSql::of(*kind).all());
        let copying = crate::copy::every_statement(crate::browse::Dialect::Postgres);
        let made = browsing.iter().chain(&copying).map(String::as_str);
        for sql in FIXED.iter().copied().chain(of_kinds).chain(made) {
            client.prepare(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
    }
}
