-- Webhook endpoints, and the deliveries to them.

-- Another value whenever an endpoint of the workspace changes, so that what is remembered of them can
-- be told to be current.
ALTER TABLE workspaces ADD COLUMN webhooks_mark bigint NOT NULL DEFAULT 0;

CREATE TABLE webhook_endpoints (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    no bigint GENERATED ALWAYS AS IDENTITY,
    url text NOT NULL,
    description text,
    -- Names with commas between them.
    events text NOT NULL,
    enabled boolean NOT NULL,
    disabled_reason text,
    failing_since bigint,
    last_success_at bigint,
    -- Sealed when there is a key for it.
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_until bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    -- Set when it is deleted; the row goes when its deliveries are cleared away.
    deleted_at bigint,
    PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_endpoints_enabled ON webhook_endpoints (id) WHERE enabled;

-- One event on its way to one endpoint. What it says is in the line of `changes`. Its id rises with
-- time. `state` is 0 waiting, 1 leased, 2 delivered, 3 failed; `due_at` is when it is to be tried, or
-- when the lease ends, by the clock of the database. `tries` counts along the schedule, `attempts` for
-- life. Rows that are due come and go all the time, so they are vacuumed early.
CREATE TABLE deliveries (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    change_id bigint NOT NULL,
    event smallint NOT NULL,
    is_test boolean NOT NULL,
    state smallint NOT NULL,
    attempts integer NOT NULL,
    tries integer NOT NULL,
    due_at bigint NOT NULL,
    created_at bigint NOT NULL,
    finished_at bigint,
    PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
-- A sweep costs what is due, not what ever was.
CREATE INDEX deliveries_waiting ON deliveries (endpoint_id, due_at) WHERE state = 0;
CREATE INDEX deliveries_leased ON deliveries (due_at) WHERE state = 1;
CREATE INDEX deliveries_failed ON deliveries (endpoint_id, id) WHERE state = 3;
CREATE INDEX deliveries_by_endpoint ON deliveries (workspace_id, endpoint_id, id);

CREATE TABLE attempts (
    workspace_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    no integer NOT NULL,
    at bigint NOT NULL,
    millis bigint NOT NULL,
    status smallint,
    error text,
    answer bytea NOT NULL,
    PRIMARY KEY (workspace_id, delivery_id, no)
);
