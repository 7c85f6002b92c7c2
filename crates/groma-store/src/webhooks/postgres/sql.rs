//! SQL of webhooks on PostgreSQL.

use crate::engine::{postgres::now_millis, statements};

/// The columns of an endpoint `e`.
macro_rules! endpoint_columns {
    () => {
        "e.id, e.url, e.description, e.events, e.enabled, e.disabled_reason, e.failing_since, e.last_success_at,
            e.secret, e.previous_secret, e.previous_until, e.created_at, e.updated_at, e.filter"
    };
}

/// The columns of a delivery `d` in a list, with its last attempt.
macro_rules! delivery_columns {
    () => {
        "d.id, d.endpoint_id, d.event, d.is_test, d.state, d.attempts, d.created_at, d.due_at, d.finished_at,
            a.status, a.error, d.erased_at,
            (SELECT c.subject FROM audit_log c WHERE c.workspace_id = d.workspace_id AND c.id = d.audit_entry_id)
            FROM deliveries d LEFT JOIN attempts a ON a.workspace_id = d.workspace_id AND a.delivery_id = d.id AND a.no = d.attempts"
    };
}

/// The condition of a filtered list of deliveries. A state in plain numbers lets PostgreSQL use the index of
/// that state.
macro_rules! delivery_filter {
    ($states:literal) => {
        concat!(
            " WHERE d.workspace_id = $1 AND d.endpoint_id = $2 AND d.id BETWEEN $3 AND $4 AND ",
            $states,
            " AND ($7::smallint IS NULL OR d.event = $7)"
        )
    };
}

/// Sends some deliveries in a state again, from the first id on.
macro_rules! redeliver {
    ($state:literal) => {
        concat!(
            "UPDATE deliveries SET tries = CASE WHEN state = 0 THEN tries ELSE 0 END, state = 0, due_at = ",
            now_millis!(),
            ", finished_at = NULL WHERE workspace_id = $1 AND state = ",
            $state,
            " AND id = ANY (ARRAY (SELECT d.id FROM deliveries d WHERE d.workspace_id = $1 AND d.endpoint_id = $2
                AND d.state = ",
            $state,
            " AND d.id BETWEEN $3 AND $4 AND d.erased_at IS NULL ORDER BY d.id LIMIT 500)) RETURNING id"
        )
    };
}

statements! {
    EXISTING_IDS = "SELECT id FROM folders WHERE workspace_id = $1 AND id = ANY ($2)
        UNION ALL SELECT id FROM layers WHERE workspace_id = $1 AND id = ANY ($3)";
    LOG_EVENT = concat!("WITH c AS (
            INSERT INTO audit_log (workspace_id, at, actor, token, action, event, subject, before, after)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id)
        INSERT INTO deliveries (workspace_id, id, endpoint_id, audit_entry_id, event, is_test, state, attempts, tries,
            due_at, created_at)
        SELECT $1, d.id, d.endpoint, c.id, $10, $11, d.state, 0, 0, ", now_millis!(), " + d.state * 20000, $2
        FROM c CROSS JOIN unnest($12::uuid[], $13::uuid[], $14::smallint[]) AS d (id, endpoint, state)");
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
    INSERT_ENDPOINT = "INSERT INTO webhook_endpoints (workspace_id, id, url, description, events, enabled,
            disabled_reason, failing_since, last_success_at, secret, previous_secret, previous_until, created_at,
            updated_at, filter)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    UPDATE_ENDPOINT = "UPDATE webhook_endpoints SET url = $3, description = $4, events = $5, enabled = $6,
            disabled_reason = $7, failing_since = $8, last_success_at = $9, secret = $10, previous_secret = $11,
            previous_until = $12, created_at = $13, updated_at = $14, filter = $15 WHERE workspace_id = $1 AND id = $2";
    MARK_ENDPOINT_DELETED = "UPDATE webhook_endpoints SET deleted_at = $3, enabled = false, secret = '',
        previous_secret = NULL WHERE workspace_id = $1 AND id = $2";
    MARK_ENDPOINTS_DELETED = "UPDATE webhook_endpoints SET deleted_at = 0, enabled = false WHERE workspace_id = $1";
    DELETED_ENDPOINT = "SELECT workspace_id, id FROM webhook_endpoints WHERE deleted_at IS NOT NULL LIMIT 1";
    DELETE_ENDPOINT = "DELETE FROM webhook_endpoints WHERE workspace_id = $1 AND id = $2";
    PURGE_ENDPOINT = "WITH few AS (SELECT id FROM deliveries WHERE workspace_id = $1 AND endpoint_id = $2
            LIMIT 500 FOR UPDATE SKIP LOCKED),
        tried AS (DELETE FROM attempts a USING few WHERE a.workspace_id = $1 AND a.delivery_id = few.id)
        DELETE FROM deliveries d USING few WHERE d.workspace_id = $1 AND d.id = few.id";
    SET_ENDPOINTS_VERSION = "UPDATE workspaces SET endpoints_version = $2 WHERE id = $1";
    ENDPOINTS_SUCCEEDED = "UPDATE webhook_endpoints e SET last_success_at = s.at, failing_since = NULL
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS s (workspace_id, id, at)
        WHERE e.workspace_id = s.workspace_id AND e.id = s.id
        AND (e.failing_since IS NOT NULL OR e.last_success_at IS NULL OR e.last_success_at < s.at - 5000)";
    ENDPOINTS_FAILED = "UPDATE webhook_endpoints e SET failing_since = coalesce(e.failing_since, f.at)
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS f (workspace_id, id, at)
        WHERE e.workspace_id = f.workspace_id AND e.id = f.id AND e.enabled RETURNING e.id, e.failing_since";
    RELEASE_EXPIRED_LEASES = concat!("UPDATE deliveries d SET state = 0 FROM
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
            RETURNING d.workspace_id, d.id, d.endpoint_id, d.audit_entry_id, d.event, d.is_test, d.tries)
        SELECT l.id, l.endpoint_id, l.event, l.is_test, l.tries, c.at, coalesce(c.after, c.before)
        FROM leased l JOIN audit_log c ON c.workspace_id = l.workspace_id AND c.id = l.audit_entry_id");
    RELEASE_LEASES = concat!("UPDATE deliveries d SET state = 0, due_at = ", now_millis!(), "
        FROM unnest($1::uuid[], $2::uuid[]) AS r (workspace_id, id)
        WHERE d.workspace_id = r.workspace_id AND d.id = r.id AND d.state = 1");
    RECORD_ATTEMPTS = concat!("WITH r AS MATERIALIZED (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[],
            $4::bigint[], $5::bigint[], $6::bigint[], $7::smallint[], $8::text[], $9::bytea[])
            AS r (workspace_id, id, state, after, at, millis, status, error, response)),
        u AS (UPDATE deliveries d SET state = r.state, due_at = ", now_millis!(), " + r.after,
                finished_at = CASE WHEN r.state >= 2 THEN r.at END, attempts = d.attempts + 1, tries = d.tries + 1
            FROM r WHERE d.workspace_id = r.workspace_id AND d.id = r.id AND (r.state = 2 OR d.state IN (0, 1))
            RETURNING d.workspace_id, d.id, d.attempts, d.erased_at)
        INSERT INTO attempts (workspace_id, delivery_id, no, at, millis, status, error, response)
        SELECT u.workspace_id, u.id, u.attempts, r.at, r.millis, r.status, r.error,
            -- It may repeat what was erased.
            CASE WHEN u.erased_at IS NULL THEN r.response ELSE '' END
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
    DELETE_DELIVERIES = "WITH tried AS (DELETE FROM attempts WHERE workspace_id = $1 AND delivery_id = ANY ($2))
        DELETE FROM deliveries WHERE workspace_id = $1 AND id = ANY ($2)";
    DELIVERIES = concat!("SELECT ", delivery_columns!(), delivery_filter!("d.state BETWEEN $5 AND $6"),
        " ORDER BY d.id DESC LIMIT $8 OFFSET $9");
    FAILED_DELIVERIES = concat!("SELECT ", delivery_columns!(),
        delivery_filter!("d.state = 3 AND 3 BETWEEN $5::smallint AND $6::smallint"),
        " ORDER BY d.id DESC LIMIT $8 OFFSET $9");
    COUNT_FILTERED_DELIVERIES = concat!("SELECT count(*) FROM deliveries d",
        delivery_filter!("d.state BETWEEN $5 AND $6"));
    COUNT_FAILED_DELIVERIES = concat!("SELECT count(*) FROM deliveries d",
        delivery_filter!("d.state = 3 AND 3 BETWEEN $5::smallint AND $6::smallint"));
    DELIVERY = concat!("SELECT ", delivery_columns!(), " WHERE d.workspace_id = $1 AND d.id = $2");
    DELIVERY_EVENT = "SELECT c.at, coalesce(c.after, c.before) FROM deliveries d
        JOIN audit_log c ON c.workspace_id = d.workspace_id AND c.id = d.audit_entry_id
        WHERE d.workspace_id = $1 AND d.id = $2";
    ATTEMPTS = "SELECT no, at, millis, status, error, response FROM attempts
        WHERE workspace_id = $1 AND delivery_id = $2 ORDER BY no";
    REDELIVER = concat!("UPDATE deliveries SET tries = CASE WHEN state = 0 THEN tries ELSE 0 END, state = 0,
        due_at = ", now_millis!(), ", finished_at = NULL WHERE workspace_id = $1 AND id = $2 AND state <> 1
        AND erased_at IS NULL");
    REDELIVER_WAITING = redeliver!("0");
    REDELIVER_DELIVERED = redeliver!("2");
    REDELIVER_FAILED = redeliver!("3");
    INSERT_PAST_DELIVERY = "INSERT INTO deliveries (workspace_id, id, endpoint_id, audit_entry_id, event, is_test, state,
            attempts, tries, due_at, created_at, finished_at)
        VALUES ($1, $2, $3, $4, $5, false, $6, $7, 0, $8, $8, $9)";
    INSERT_PAST_ATTEMPT = "INSERT INTO attempts (workspace_id, delivery_id, no, at, millis, status, error, response)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
}
