//! SQL of webhooks on SQLite.

use crate::engine::statements;

/// The columns of an endpoint `e`.
macro_rules! endpoint_columns {
    () => {
        "e.no, e.id, e.url, e.description, e.events, e.enabled, e.disabled_reason, e.failing_since,
            e.last_success_at, e.secret, e.previous_secret, e.previous_until, e.created_at, e.updated_at, e.filter"
    };
}

/// The columns of a delivery `d` in a list, with its last attempt and its endpoint `e`.
macro_rules! delivery_columns {
    () => {
        "d.id, e.id, d.event, d.is_test, d.state, d.attempts, d.created_at, d.due_at, d.finished_at, a.status, a.error,
            d.erased_at, (SELECT c.subject FROM audit_log c WHERE c.id = d.audit_entry_id)
            FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no
            LEFT JOIN attempts a ON a.delivery = d.id AND a.no = d.attempts"
    };
}

/// The condition of a filtered list of deliveries. A state in plain numbers lets SQLite use the index of that
/// state.
macro_rules! delivery_filter {
    ($states:literal) => {
        concat!(
            " WHERE e.ws = ?1 AND e.id = ?2 AND d.id BETWEEN ?3 AND ?4 AND ",
            $states,
            " AND (?7 IS NULL OR d.event = ?7)"
        )
    };
}

/// Sends some deliveries in a state again, from the first id on.
macro_rules! redeliver {
    ($state:literal) => {
        concat!(
            "UPDATE deliveries SET tries = CASE WHEN state = 0 THEN tries ELSE 0 END, state = 0, due_at = ?5,
            finished_at = NULL WHERE id IN
                (SELECT d.id FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no AND d.state = ",
            $state,
            " WHERE e.ws = ?1 AND e.id = ?2 AND d.id BETWEEN ?3 AND ?4 AND d.erased_at IS NULL
                ORDER BY d.id LIMIT 500)
            RETURNING id"
        )
    };
}

statements! {
    EXISTING_IDS = "SELECT id FROM folders WHERE ws = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))
        UNION ALL SELECT id FROM layers WHERE ws = ?1 AND id IN (SELECT unhex(value) FROM json_each(?3))";
    ENDPOINTS = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints e
        WHERE e.ws = ?1 AND e.deleted_at IS NULL ORDER BY e.no");
    ENABLED_ENDPOINT = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints e
        WHERE e.ws = ?1 AND e.id = ?2 AND e.enabled = 1 AND e.deleted_at IS NULL");
    ALL_SECRETS = "SELECT no, id, secret, previous_secret FROM webhook_endpoints WHERE deleted_at IS NULL";
    SET_SECRETS = "UPDATE webhook_endpoints SET secret = ?2, previous_secret = ?3 WHERE no = ?1";
    INSERT_ENDPOINT = "INSERT INTO webhook_endpoints (ws, id, url, description, events, enabled, disabled_reason,
            failing_since, last_success_at, secret, previous_secret, previous_until, created_at, updated_at, filter)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    UPDATE_ENDPOINT = "UPDATE webhook_endpoints SET url = ?3, description = ?4, events = ?5, enabled = ?6,
            disabled_reason = ?7, failing_since = ?8, last_success_at = ?9, secret = ?10, previous_secret = ?11,
            previous_until = ?12, created_at = ?13, updated_at = ?14, filter = ?15 WHERE ws = ?1 AND id = ?2";
    MARK_ENDPOINT_DELETED = "UPDATE webhook_endpoints SET deleted_at = ?3, enabled = 0, secret = x'', previous_secret = NULL
        WHERE ws = ?1 AND id = ?2";
    MARK_ENDPOINTS_DELETED = "UPDATE webhook_endpoints SET deleted_at = 0, enabled = 0 WHERE ws = ?1";
    DELETED_ENDPOINT = "SELECT no FROM webhook_endpoints WHERE deleted_at IS NOT NULL LIMIT 1";
    DELETE_ENDPOINT = "DELETE FROM webhook_endpoints WHERE no = ?1";
    SOME_DELIVERIES_OF_ENDPOINT = "SELECT id FROM deliveries WHERE endpoint = ?1 LIMIT ?2";
    SET_ENDPOINTS_VERSION = "UPDATE workspaces SET endpoints_version = ?2 WHERE no = ?1";
    ENDPOINT_SUCCEEDED = "UPDATE webhook_endpoints SET last_success_at = ?2, failing_since = NULL WHERE no = ?1
        AND (failing_since IS NOT NULL OR last_success_at IS NULL OR last_success_at < ?2 - 5000)";
    ENDPOINT_FAILED = "UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, ?2) WHERE no = ?1
        AND enabled = 1 RETURNING failing_since";
    INSERT_DELIVERY = "INSERT INTO deliveries (id, ws, endpoint, audit_entry_id, event, is_test, state, attempts, tries,
            due_at, created_at, finished_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11)";
    RELEASE_ALL_LEASES = "UPDATE deliveries SET state = 0, due_at = min(due_at, ?1) WHERE state = 1";
    HAS_EXPIRED_LEASES = "SELECT 1 FROM deliveries WHERE state = 1 AND due_at <= ?1";
    RELEASE_EXPIRED_LEASES = "UPDATE deliveries SET state = 0 WHERE state = 1 AND due_at <= ?1";
    BRING_FORWARD = "UPDATE deliveries SET due_at = due_at - ?1 WHERE state = 0 OR state = 1 AND due_at > ?2";
    DUE_ENDPOINTS = "SELECT w.id, e.id, (SELECT min(d.due_at) FROM deliveries d WHERE d.endpoint = e.no AND d.state = 0)
        FROM webhook_endpoints e JOIN workspaces w ON w.no = e.ws WHERE e.enabled = 1";
    LEASE = "UPDATE deliveries SET state = 1, due_at = ?4 WHERE id IN
        (SELECT id FROM deliveries WHERE endpoint = ?1 AND state = 0 AND due_at <= ?2 ORDER BY due_at LIMIT ?3)
        RETURNING id, audit_entry_id, event, is_test, tries";
    EVENT = "SELECT at, coalesce(after, before) FROM audit_log WHERE id = ?1";
    RELEASE_LEASE = "UPDATE deliveries SET state = 0, due_at = ?2 WHERE id = ?1 AND state = 1";
    UPDATE_AFTER_ATTEMPT = "UPDATE deliveries SET state = ?2, due_at = ?3, finished_at = ?4, attempts = attempts + 1, tries = tries + 1
        WHERE id = ?1 AND (?2 = 2 OR state IN (0, 1)) RETURNING attempts, erased_at IS NOT NULL";
    INSERT_ATTEMPT = "INSERT INTO attempts (delivery, no, at, millis, status, error, response)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    COUNT_DUE = "SELECT count(*), min(d.due_at) FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no
        AND d.state = 0 AND d.due_at <= ?1 WHERE e.enabled = 1";
    COUNT_WAITING = "SELECT count(*) FROM deliveries WHERE state = 0";
    COUNT_LEASED = "SELECT count(*) FROM deliveries WHERE state = 1";
    OLD_DELIVERIES = "SELECT id, state >= 2 AND finished_at < ?3 FROM deliveries WHERE id > ?1 AND id < ?2
        ORDER BY id LIMIT ?4";
    DELETE_DELIVERY = "DELETE FROM deliveries WHERE id = ?1";
    DELETE_ATTEMPTS = "DELETE FROM attempts WHERE delivery = ?1";
    DELIVERIES = concat!("SELECT ", delivery_columns!(), delivery_filter!("d.state BETWEEN ?5 AND ?6"),
        " ORDER BY d.id DESC LIMIT ?8 OFFSET ?9");
    FAILED_DELIVERIES = concat!("SELECT ", delivery_columns!(), delivery_filter!("d.state = 3 AND 3 BETWEEN ?5 AND ?6"),
        " ORDER BY d.id DESC LIMIT ?8 OFFSET ?9");
    COUNT_DELIVERIES = concat!("SELECT count(*) FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no",
        delivery_filter!("d.state BETWEEN ?5 AND ?6"));
    COUNT_FAILED_DELIVERIES = concat!("SELECT count(*) FROM webhook_endpoints e JOIN deliveries d ON d.endpoint = e.no",
        delivery_filter!("d.state = 3 AND 3 BETWEEN ?5 AND ?6"));
    DELIVERY = concat!("SELECT ", delivery_columns!(), " WHERE e.ws = ?1 AND d.id = ?2");
    DELIVERY_EVENT = "SELECT c.at, coalesce(c.after, c.before) FROM deliveries d JOIN audit_log c ON c.id = d.audit_entry_id
        WHERE d.id = ?1";
    ATTEMPTS = "SELECT no, at, millis, status, error, response FROM attempts WHERE delivery = ?1 ORDER BY no";
    REDELIVER = "UPDATE deliveries SET tries = CASE WHEN state = 0 THEN tries ELSE 0 END, state = 0, due_at = ?3,
        finished_at = NULL WHERE ws = ?1 AND id = ?2 AND state <> 1
        AND erased_at IS NULL";
    REDELIVER_WAITING = redeliver!("0");
    REDELIVER_DELIVERED = redeliver!("2");
    REDELIVER_FAILED = redeliver!("3");
}
