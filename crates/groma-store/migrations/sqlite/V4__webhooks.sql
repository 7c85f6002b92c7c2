-- Webhook endpoints, and the deliveries to them.

-- Another value whenever an endpoint of the workspace changes, so that what is remembered of them can
-- be told to be current.
ALTER TABLE workspaces ADD COLUMN webhooks_mark INTEGER NOT NULL DEFAULT 0;

CREATE TABLE webhook_endpoints (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    url TEXT NOT NULL,
    description TEXT,
    -- Names with commas between them.
    events TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    disabled_reason TEXT,
    failing_since INTEGER,
    last_success_at INTEGER,
    -- Sealed when there is a key for it.
    secret BLOB NOT NULL,
    previous_secret BLOB,
    previous_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Set when it is deleted; the row goes when its deliveries are cleared away.
    deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX webhook_endpoints_by_id ON webhook_endpoints (ws, id);
CREATE INDEX webhook_endpoints_enabled ON webhook_endpoints (no) WHERE enabled = 1;

-- One event on its way to one endpoint. What it says is in the line of `changes`. Its id rises with
-- time. `state` is 0 waiting, 1 leased, 2 delivered, 3 failed; `due_at` is when it is to be tried, or
-- when the lease ends. `tries` counts along the schedule, `attempts` for life.
CREATE TABLE deliveries (
    id BLOB PRIMARY KEY,
    ws INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    change_id INTEGER NOT NULL,
    event INTEGER NOT NULL,
    is_test INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT, WITHOUT ROWID;
-- A sweep costs what is due, not what ever was.
CREATE INDEX deliveries_waiting ON deliveries (endpoint, due_at) WHERE state = 0;
CREATE INDEX deliveries_leased ON deliveries (due_at) WHERE state = 1;
CREATE INDEX deliveries_failed ON deliveries (endpoint, id) WHERE state = 3;
CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint, id);

CREATE TABLE attempts (
    delivery BLOB NOT NULL,
    no INTEGER NOT NULL,
    at INTEGER NOT NULL,
    millis INTEGER NOT NULL,
    status INTEGER,
    error TEXT,
    answer BLOB NOT NULL,
    PRIMARY KEY (delivery, no)
) STRICT, WITHOUT ROWID;
