-- The schema on PostgreSQL.
--
-- `workspace_id` leads every key, so that the tables can be partitioned by workspace. Times are milliseconds
-- since 1970. `position` is the position of a record in the order of creation; it is assigned under the lock of
-- the workspace's row, which is held until the commit, so the order is that of the commits.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS postgis;

CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    no bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    name_key text COLLATE "C" NOT NULL UNIQUE,
    currency text NOT NULL,
    -- Counts changes of names and addresses of people, which documents show.
    people_generation bigint NOT NULL,
    -- A new random value whenever a webhook endpoint of the workspace changes.
    endpoints_version bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    -- The EPSG codes of reference systems that the OGC API offers, separated by commas.
    offered_crs text NOT NULL DEFAULT '',
    -- A JSON list.
    base_maps text NOT NULL DEFAULT '[]',
    -- How many days tokens are valid at most; null for no limit.
    max_token_days integer,
    -- Whether only sessions with a second factor may use the workspace.
    requires_second_factor boolean NOT NULL DEFAULT FALSE
);

CREATE TABLE users (
    id uuid PRIMARY KEY,
    email text NOT NULL,
    email_key text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    password_hash text,
    created_at bigint NOT NULL,
    -- Null: as the browser asks for it.
    language text,
    theme text,
    -- When the user proved to receive mail at the address.
    email_verified_at bigint,
    last_login_at bigint,
    -- Since when the user can no longer log in.
    disabled_at bigint
);

CREATE TABLE people (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    email text NOT NULL,
    email_key text COLLATE "C" NOT NULL,
    name text NOT NULL,
    user_id uuid,
    role text,
    created_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX people_by_email ON people (workspace_id, email_key);
CREATE INDEX people_by_user ON people (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE tokens (
    id uuid NOT NULL PRIMARY KEY,
    workspace_id uuid NOT NULL,
    person_id uuid NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    -- The last characters of the token, by which its owner recognises it.
    hint text,
    -- Whether it cannot change anything.
    read_only boolean NOT NULL DEFAULT FALSE,
    -- The address of the client that used it last.
    last_used_from text,
    -- When its owner was told that it expires.
    expiry_notified_at bigint
);
CREATE INDEX tokens_by_workspace ON tokens (workspace_id, id);

CREATE TABLE record_counters (
    workspace_id uuid NOT NULL,
    kind smallint NOT NULL,
    last_position bigint NOT NULL,
    last_reference bigint NOT NULL,
    total bigint NOT NULL,
    generation bigint NOT NULL,
    PRIMARY KEY (workspace_id, kind)
) WITH (fillfactor = 50);

CREATE TABLE page_counts (
    workspace_id uuid NOT NULL,
    kind smallint NOT NULL,
    bucket bigint NOT NULL,
    records bigint NOT NULL,
    generation bigint NOT NULL,
    PRIMARY KEY (workspace_id, kind, bucket)
);
CREATE INDEX page_counts_by_generation ON page_counts (workspace_id, kind, generation);

CREATE TABLE statuses (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL,
    kind smallint NOT NULL,
    name_key text COLLATE "C" NOT NULL,
    doc bytea NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX statuses_by_name ON statuses (workspace_id, kind, name_key);

-- A field of a stored document. Declared immutable although `convert_from` is not: documents are UTF-8 and are
-- not converted.
CREATE FUNCTION doc_field(doc bytea, field text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN convert_from(doc, 'UTF8')::jsonb ->> field;
END
$$;

-- The bounding box of a stored document.
CREATE FUNCTION doc_box(doc bytea) RETURNS box
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    bbox jsonb := convert_from(doc, 'UTF8')::jsonb -> 'bbox';
BEGIN
    RETURN CASE WHEN jsonb_typeof(bbox) = 'array' THEN
        box(point((bbox ->> 0)::double precision, (bbox ->> 1)::double precision),
            point((bbox ->> 2)::double precision, (bbox ->> 3)::double precision)) END;
END
$$;

-- Records. `doc` is the public document without names of people; `people` lists where they belong. `title` and
-- `reference_key` are folded texts that lists are sorted by.
CREATE TABLE folders (
    workspace_id uuid NOT NULL,
    position bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    reference_key text COLLATE "C" NOT NULL,
    status_id uuid,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    updated_at bigint NOT NULL,
    closed smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'archivedAt') IS NULL THEN 0 ELSE 1 END) STORED,
    day text COLLATE "C" GENERATED ALWAYS AS (coalesce(doc_field(doc, 'dueDate'), '9999')) STORED,
    person text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'owner')) STORED,
    client text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'clientName')) STORED,
    has_bbox smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'bbox') IS NULL THEN 0 ELSE 1 END) STORED,
    extent box GENERATED ALWAYS AS (doc_box(doc)) STORED,
    PRIMARY KEY (workspace_id, position)
);
CREATE UNIQUE INDEX folders_by_id ON folders (workspace_id, id);
CREATE UNIQUE INDEX folders_by_reference ON folders (workspace_id, reference);
CREATE INDEX folders_by_external_id ON folders (workspace_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX folders_by_update ON folders (workspace_id, updated_at, position);
CREATE INDEX folders_search ON folders USING gin (workspace_id, search gin_trgm_ops);

CREATE TABLE assignments (
    workspace_id uuid NOT NULL,
    position bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    reference_key text COLLATE "C" NOT NULL,
    status_id uuid,
    folder_id uuid NOT NULL,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    updated_at bigint NOT NULL,
    closed smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'completedAt') IS NULL THEN 0 ELSE 1 END) STORED,
    day text COLLATE "C" GENERATED ALWAYS AS (coalesce(doc_field(doc, 'dueDate'), '9999')) STORED,
    priority text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'priority')) STORED,
    PRIMARY KEY (workspace_id, position)
);
CREATE UNIQUE INDEX assignments_by_id ON assignments (workspace_id, id);
CREATE UNIQUE INDEX assignments_by_reference ON assignments (workspace_id, reference);
CREATE INDEX assignments_by_external_id ON assignments (workspace_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX assignments_by_update ON assignments (workspace_id, updated_at, position);
CREATE INDEX assignments_by_folder ON assignments (workspace_id, folder_id);
CREATE INDEX assignments_search ON assignments USING gin (workspace_id, search gin_trgm_ops);

CREATE TABLE expenses (
    workspace_id uuid NOT NULL,
    position bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    reference_key text COLLATE "C" NOT NULL,
    status_id uuid,
    folder_id uuid NOT NULL,
    assignment_id uuid,
    budget_id uuid,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    updated_at bigint NOT NULL,
    day text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'incurredOn')) STORED,
    amount double precision GENERATED ALWAYS AS (doc_field(doc, 'amount')::double precision) STORED,
    category text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'category')) STORED,
    person text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'submittedBy')) STORED,
    billable smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'billable') = 'true' THEN 1 ELSE 0 END) STORED,
    PRIMARY KEY (workspace_id, position)
);
CREATE UNIQUE INDEX expenses_by_id ON expenses (workspace_id, id);
CREATE UNIQUE INDEX expenses_by_reference ON expenses (workspace_id, reference);
CREATE INDEX expenses_by_external_id ON expenses (workspace_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX expenses_by_update ON expenses (workspace_id, updated_at, position);
CREATE INDEX expenses_by_folder ON expenses (workspace_id, folder_id);
CREATE INDEX expenses_by_assignment ON expenses (workspace_id, assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX expenses_by_budget ON expenses (workspace_id, budget_id) WHERE budget_id IS NOT NULL;
CREATE INDEX expenses_search ON expenses USING gin (workspace_id, search gin_trgm_ops);

CREATE TABLE budgets (
    workspace_id uuid NOT NULL,
    position bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    reference_key text COLLATE "C" NOT NULL,
    status_id uuid,
    folder_id uuid NOT NULL,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    updated_at bigint NOT NULL,
    amount double precision GENERATED ALWAYS AS (doc_field(doc, 'amount')::double precision) STORED,
    category text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'category')) STORED,
    used double precision GENERATED ALWAYS AS (coalesce(doc_field(doc, 'percentUsed')::double precision, -1)) STORED,
    PRIMARY KEY (workspace_id, position)
);
CREATE UNIQUE INDEX budgets_by_id ON budgets (workspace_id, id);
CREATE UNIQUE INDEX budgets_by_reference ON budgets (workspace_id, reference);
CREATE INDEX budgets_by_external_id ON budgets (workspace_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX budgets_by_update ON budgets (workspace_id, updated_at, position);
CREATE INDEX budgets_by_folder ON budgets (workspace_id, folder_id);
CREATE INDEX budgets_search ON budgets USING gin (workspace_id, search gin_trgm_ops);

-- Who changed what, and the events that webhooks deliver and the change feed lists. The entries of a workspace are
-- numbered in the order of their commits. `after` is the public document; `before` has the fields that changed, or
-- the whole document of a deleted record.
CREATE TABLE audit_log (
    workspace_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    actor uuid,
    -- The token that the actor used.
    token uuid,
    action text NOT NULL,
    -- The number of the event: 0 to 12 are about records. Null for an entry that is no event.
    event smallint,
    subject uuid NOT NULL,
    before text,
    after text,
    PRIMARY KEY (workspace_id, id) INCLUDE (event)
);
CREATE INDEX audit_log_by_subject ON audit_log (workspace_id, subject, id);
-- Without events about features and layers, which other entries report to members.
CREATE INDEX audit_log_of_activity ON audit_log (workspace_id, id) WHERE event IS NULL OR event < 13;

-- Identifies the database to consumers of the change feed. A copy and a restored backup have another id.
CREATE TABLE database_identity (
    id uuid NOT NULL
);
INSERT INTO database_identity (id) VALUES (gen_random_uuid());

-- The accepted requests of each token within the last minute, shared by all replicas. They may be lost in a
-- crash of the database, so the table is unlogged.
CREATE UNLOGGED TABLE rate_windows (
    token_id uuid PRIMARY KEY,
    accepted bigint[] NOT NULL
) WITH (fillfactor = 40);

-- Looks up a token and counts `requests` requests against its window (`allowed` in 60 seconds, 0 for no limit);
-- `accepted` of them pass. The window is trimmed and counted under the lock of its row, by the clock of the
-- database, so it is exact over all replicas.
CREATE FUNCTION authenticate(
    token_hash bytea, requests integer, allowed integer, now_millis bigint, max_days bigint,
    OUT token_id uuid, OUT workspace_id uuid, OUT person_id uuid, OUT role text, OUT scopes text,
    OUT expires_at bigint, OUT read_only boolean, OUT accepted integer, OUT used integer,
    OUT reset_micros bigint, OUT counted_at bigint
) LANGUAGE plpgsql AS $$
DECLARE
    span CONSTANT bigint := 60000000;
    now_micros bigint;
    times bigint[];
BEGIN
    SELECT t.id, t.workspace_id, t.person_id, p.role, t.scopes,
           least(t.expires_at, t.created_at + 86400000 * least(w.max_token_days, max_days)), t.read_only
      INTO token_id, workspace_id, person_id, role, scopes, expires_at, read_only
      FROM tokens t JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
      JOIN workspaces w ON w.id = t.workspace_id
     WHERE t.hash = token_hash AND t.revoked_at IS NULL AND p.role IS NOT NULL;
    IF token_id IS NULL OR expires_at <= now_millis OR allowed = 0 THEN
        RETURN;
    END IF;
    SELECT w.accepted INTO times FROM rate_windows w WHERE w.token_id = authenticate.token_id FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO rate_windows AS w VALUES (authenticate.token_id, '{}')
            ON CONFLICT ON CONSTRAINT rate_windows_pkey DO UPDATE SET accepted = w.accepted
            RETURNING w.accepted INTO times;
    END IF;
    now_micros := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    -- A time in the future means that the clock was set back: it counts as now.
    IF times[1] + span <= now_micros OR times[cardinality(times)] > now_micros THEN
        SELECT coalesce(array_agg(least(s, now_micros) ORDER BY s), '{}') INTO times
          FROM unnest(times) s WHERE s + span > now_micros;
    END IF;
    used := cardinality(times);
    accepted := greatest(least(requests, allowed - used), 0);
    IF accepted > 0 THEN
        used := used + accepted;
        times := times || array_fill(now_micros, ARRAY[accepted]);
        UPDATE rate_windows w SET accepted = times WHERE w.token_id = authenticate.token_id;
    END IF;
    reset_micros := times[1] + span - now_micros;
    counted_at := now_micros;
END
$$;

-- What concerns the security of the installation. Entries hold ids and outlive users and workspaces; nothing
-- but their age deletes them.
CREATE TABLE security_log (
    id uuid PRIMARY KEY,
    at bigint NOT NULL,
    action text NOT NULL,
    -- Who did it: a user, or a member without a login. Null for the operator and for strangers.
    user_id uuid,
    person_id uuid,
    workspace_id uuid,
    -- What it was done to, and the user behind it if it is a person.
    subject uuid,
    subject_user_id uuid,
    -- The address of the client.
    address text,
    -- A JSON object without personal data.
    details text
);
CREATE INDEX security_log_by_workspace ON security_log (workspace_id, id);
CREATE INDEX security_log_by_user ON security_log (user_id, id);

-- Layers, their features, and the tile index.

-- A number is never used twice, so that the remains of a deleted layer belong to no other.
CREATE SEQUENCE layer_numbers;

CREATE TABLE layers (
    workspace_id uuid NOT NULL,
    no bigint NOT NULL,
    id uuid NOT NULL,
    slug text COLLATE "C" NOT NULL,
    -- Counts the changes of the layer; also part of `state`.
    revision bigint NOT NULL,
    -- The layer and its statistics as JSON.
    state text NOT NULL,
    PRIMARY KEY (workspace_id, no)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX layers_by_id ON layers (workspace_id, id);
CREATE UNIQUE INDEX layers_by_slug ON layers (workspace_id, slug);

-- New layers that an import is loading. The row moves to `layers` when all features are in `features`: until
-- then nothing finds them. The import has died when `lease_until` has passed; 0 means that its features are
-- being deleted.
CREATE TABLE staged_layers (
    workspace_id uuid NOT NULL,
    no bigint NOT NULL,
    id uuid NOT NULL,
    state text NOT NULL,
    lease_until bigint NOT NULL,
    PRIMARY KEY (workspace_id, no)
);

-- `geom` is the exact geometry, for SQL and QGIS too. If it has heights, which the type of the column does not
-- allow, `heights` has the whole geometry as WKB. `original` is WKB in the reference system of the layer, if it
-- has one of its own.
CREATE TABLE features (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    position bigint NOT NULL,
    id uuid NOT NULL,
    external_id text COLLATE "C",
    folder_id uuid,
    assignment_id uuid,
    geom geometry(Geometry, 4326),
    heights bytea,
    original bytea,
    properties text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, layer, position)
);
CREATE UNIQUE INDEX features_by_id ON features (workspace_id, id);
CREATE UNIQUE INDEX features_by_external_id ON features (workspace_id, layer, external_id)
    WHERE external_id IS NOT NULL;
CREATE INDEX features_by_folder ON features (workspace_id, folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX features_by_assignment ON features (workspace_id, assignment_id)
    WHERE assignment_id IS NOT NULL;
CREATE INDEX features_geom ON features USING gist (geom);

-- The values of declared fields, by keys that sort like the values. `field` is the number of the field in the
-- state of the layer.
CREATE TABLE feature_values (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    field bigint NOT NULL,
    value bytea NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (workspace_id, layer, field, value, position)
);

-- The bounding box of each run of 1,024 features, from which a layer's bounds are recomputed when a feature
-- is removed.
CREATE TABLE extents (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    run bigint NOT NULL,
    west double precision NOT NULL,
    south double precision NOT NULL,
    east double precision NOT NULL,
    north double precision NOT NULL,
    PRIMARY KEY (workspace_id, layer, run)
);

-- The tile index: blocks of features in zoom tiers along the Morton curve. `centre` is a Morton code with its
-- first bit flipped, so that it sorts as a signed integer. The key includes the bounding box of the features,
-- so that only blocks that a tile meets are read. Blocks stay inside the row up to the size of a page.
CREATE TABLE tile_blocks (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    tier smallint NOT NULL,
    centre bigint NOT NULL,
    position bigint NOT NULL,
    west bigint NOT NULL,
    north bigint NOT NULL,
    east bigint NOT NULL,
    south bigint NOT NULL,
    block bytea NOT NULL,
    PRIMARY KEY (workspace_id, layer, tier, centre, position, west, north, east, south)
) WITH (toast_tuple_target = 8160);
ALTER TABLE tile_blocks ALTER COLUMN block SET STORAGE EXTERNAL;

-- Shapes too large for a block, simplified for the zooms up to `max_zoom`.
CREATE TABLE large_tile_features (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    position bigint NOT NULL,
    max_zoom smallint NOT NULL,
    shape bytea NOT NULL,
    PRIMARY KEY (workspace_id, layer, position, max_zoom)
);
ALTER TABLE large_tile_features ALTER COLUMN shape SET STORAGE EXTERNAL;

-- Responses to POST requests with an `Idempotency-Key`, kept for a day.
CREATE TABLE idempotency_keys (
    workspace_id uuid NOT NULL,
    token_id uuid NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    response bytea NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (workspace_id, token_id, path, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);

-- Webhook endpoints and deliveries.

CREATE TABLE webhook_endpoints (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    no bigint GENERATED ALWAYS AS IDENTITY,
    url text NOT NULL,
    description text,
    -- Names separated by commas.
    events text NOT NULL,
    -- Which of these events are delivered, as JSON; null for all.
    filter text,
    enabled boolean NOT NULL,
    disabled_reason text,
    failing_since bigint,
    last_success_at bigint,
    -- Encrypted if there is a key.
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_until bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    -- Set when it is deleted; the row is removed after its deliveries.
    deleted_at bigint,
    PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_endpoints_enabled ON webhook_endpoints (id) WHERE enabled;

-- An event for an endpoint. Its data is in `audit_log`. Ids rise with time. `state` is 0 waiting, 1 leased, 2
-- delivered, 3 failed, 4 cancelled; `due_at` is when the next attempt is due, or when the lease ends, by the
-- clock of the database. `tries` counts the attempts of the current retry schedule, `attempts` all of them.
-- Waiting rows change all the time, so they are vacuumed early.
CREATE TABLE deliveries (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    audit_entry_id bigint NOT NULL,
    event smallint NOT NULL,
    is_test boolean NOT NULL,
    state smallint NOT NULL,
    attempts integer NOT NULL,
    tries integer NOT NULL,
    due_at bigint NOT NULL,
    created_at bigint NOT NULL,
    finished_at bigint,
    -- When personal data was erased from the event. It is not sent again: its body has changed.
    erased_at bigint,
    PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
-- A sweep reads only what is due.
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
    response bytea NOT NULL,
    PRIMARY KEY (workspace_id, delivery_id, no)
);

-- `hash` is the hash of the cookie, which is not stored.
CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    user_id uuid NOT NULL,
    -- The selected workspace.
    workspace_id uuid,
    created_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL,
    -- When the user last proved who they are, and whether ever with a second factor.
    authenticated_at bigint NOT NULL,
    has_second_factor boolean NOT NULL,
    -- The identity provider of the login, if there was one.
    provider text
);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_end ON sessions (ends_at);

-- Failed login attempts, by what they count against, such as an account, a network or a known device.
CREATE TABLE login_attempts (
    bucket text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX login_attempts_by_bucket ON login_attempts (bucket, at);
CREATE INDEX login_attempts_by_expiry ON login_attempts (expires_at);

-- Browsers that a user has logged in with. Attempts from elsewhere do not count against them.
CREATE TABLE devices (
    hash bytea PRIMARY KEY,
    user_id uuid NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX devices_by_user ON devices (user_id, at);

-- Accounts of identity providers (OpenID Connect) that log a user in.
CREATE TABLE identities (
    issuer text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    -- The address that the provider reported last.
    email text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Apps that generate one-time codes (TOTP). The secret is encrypted if the program has a key.
CREATE TABLE authenticator_apps (
    user_id uuid PRIMARY KEY,
    secret bytea NOT NULL,
    -- The time step of the last accepted code: no code is accepted twice.
    last_step bigint NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE passkeys (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL,
    credential_id bytea NOT NULL UNIQUE,
    -- The public key and its counter as JSON.
    credential text NOT NULL,
    name text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint
);
CREATE INDEX passkeys_by_user ON passkeys (user_id, id);

-- Codes that stand in for a lost second factor. Each works once; only its hash is stored.
CREATE TABLE recovery_codes (
    user_id uuid NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Logins and registrations of passkeys that wait for their next step, such as the answer of an identity
-- provider. `hash` is the hash of a cookie.
CREATE TABLE pending_logins (
    hash bytea PRIMARY KEY,
    step text NOT NULL,
    user_id uuid,
    -- What the next step needs, as JSON.
    data text NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX pending_logins_by_end ON pending_logins (expires_at);

-- Links that make their holder a member, once.
CREATE TABLE invitations (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    hash bytea NOT NULL UNIQUE,
    role text NOT NULL,
    -- The address it is for.
    email text NOT NULL,
    -- Whether only a mail to that address contains the link.
    is_mailed boolean NOT NULL,
    invited_by uuid,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- Links in mails to users, for one use: `reset` sets a new password, `verify` verifies the address.
CREATE TABLE email_links (
    hash bytea PRIMARY KEY,
    user_id uuid NOT NULL,
    purpose text NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX email_links_by_user ON email_links (user_id, purpose);

-- Mails to be sent. A mail that was sent keeps its row for an hour without its text, so that the number of
-- mails to an address is limited.
CREATE TABLE mails (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    recipient text NOT NULL,
    recipient_key text COLLATE "C" NOT NULL,
    -- What the mail is about; it is deleted with them.
    user_id uuid,
    workspace_id uuid,
    subject text NOT NULL,
    body text NOT NULL,
    tries bigint NOT NULL,
    -- When it is sent. While a program sends it: when another program may do so. Null: no more.
    due_at bigint,
    created_at bigint NOT NULL,
    -- When it is no longer worth sending.
    expires_at bigint NOT NULL
);
CREATE INDEX mails_waiting ON mails (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mails_by_recipient ON mails (recipient_key, kind, created_at);

-- Lists with their filters, order and columns, saved under a name. `query` is the query string of the page.
CREATE TABLE saved_views (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    kind smallint NOT NULL,
    person_id uuid NOT NULL,
    is_shared boolean NOT NULL,
    name text COLLATE "C" NOT NULL,
    query text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- Imports of files in the web application. `rejected` is a file with the rows or features that were rejected.
CREATE TABLE import_jobs (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    person_id uuid NOT NULL,
    file_name text NOT NULL,
    state text NOT NULL,
    revision bigint NOT NULL,
    options text NOT NULL,
    preview text,
    progress text,
    failure text,
    result text,
    created_at bigint NOT NULL,
    heartbeat_at bigint NOT NULL,
    rejected bytea NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- Generated columns that lists filter and sort by. `closed`: archived or completed. `day`: due or incurred
-- date; '9999' when there is none, so that it sorts last on both engines.
CREATE INDEX folders_by_status ON folders (workspace_id, status_id, closed, position, person, day);
CREATE INDEX folders_by_person ON folders (workspace_id, person, closed, position, status_id, day);
CREATE INDEX folders_by_day ON folders (workspace_id, closed, day, position, status_id, person);
CREATE INDEX folders_by_title ON folders (workspace_id, closed, title, position, status_id, person, day);
CREATE INDEX folders_by_position ON folders (workspace_id, closed, position, status_id, person, day);
CREATE INDEX folders_with_bbox ON folders (workspace_id, closed, position) WHERE has_bbox = 1;
CREATE INDEX folders_by_extent ON folders USING gist (extent) WHERE extent IS NOT NULL;
CREATE INDEX folders_by_client ON folders (workspace_id, client, closed, position, status_id, person, day)
    WHERE client IS NOT NULL;

-- Tags of folders.
CREATE TABLE folder_tags (
    workspace_id uuid NOT NULL,
    tag text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (workspace_id, tag, position)
);
CREATE INDEX folder_tags_by_position ON folder_tags (workspace_id, position);
CREATE FUNCTION update_folder_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM folder_tags WHERE workspace_id = old.workspace_id AND position = old.position;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO folder_tags
            SELECT DISTINCT new.workspace_id, t, new.position
            FROM jsonb_array_elements_text(convert_from(new.doc, 'UTF8')::jsonb -> 'tags') t;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER folder_tags AFTER INSERT OR DELETE OR UPDATE OF doc ON folders
    FOR EACH ROW EXECUTE FUNCTION update_folder_tags();

-- Values that records share: `field` is `client`, `category`, `vendor` or `tag`. `records` counts the records
-- that have the value.
CREATE TABLE labels (
    workspace_id uuid NOT NULL,
    field text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    folded text COLLATE "C" NOT NULL,
    records bigint NOT NULL,
    PRIMARY KEY (workspace_id, field, value)
);
CREATE INDEX labels_by_text ON labels (workspace_id, field, folded);

CREATE INDEX assignments_by_status ON assignments (workspace_id, status_id, closed, position, day);
CREATE INDEX assignments_by_day ON assignments (workspace_id, closed, day, position, status_id);
CREATE INDEX assignments_by_position ON assignments (workspace_id, closed, position, status_id, day);
CREATE INDEX assignments_by_title ON assignments (workspace_id, closed, title, position, status_id, day);
-- Most assignments have the priority `normal`, and most expenses are not billable.
CREATE INDEX assignments_by_priority ON assignments (workspace_id, priority, position) WHERE priority <> 'normal';

-- Assignees of assignments.
CREATE TABLE assignment_people (
    workspace_id uuid NOT NULL,
    person text COLLATE "C" NOT NULL,
    closed smallint NOT NULL,
    day text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (workspace_id, person, closed, day, position)
);
CREATE INDEX assignment_people_by_position ON assignment_people (workspace_id, position);
CREATE FUNCTION update_assignment_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM assignment_people WHERE workspace_id = old.workspace_id AND position = old.position;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO assignment_people
            SELECT new.workspace_id, p, new.closed, new.day, new.position
            FROM jsonb_array_elements_text(convert_from(new.doc, 'UTF8')::jsonb -> 'assignees') p;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER assignment_people AFTER INSERT OR DELETE OR UPDATE OF doc ON assignments
    FOR EACH ROW EXECUTE FUNCTION update_assignment_people();

CREATE INDEX expenses_by_status ON expenses (workspace_id, status_id, day, position, person);
CREATE INDEX expenses_by_person ON expenses (workspace_id, person, day, position, status_id);
CREATE INDEX expenses_by_day ON expenses (workspace_id, day, position, status_id, person);
CREATE INDEX expenses_by_amount ON expenses (workspace_id, amount, position, status_id, person, day);
CREATE INDEX expenses_billable ON expenses (workspace_id, position) WHERE billable = 1;
CREATE INDEX expenses_by_category ON expenses (workspace_id, category, day, position) WHERE category IS NOT NULL;

CREATE INDEX budgets_by_status ON budgets (workspace_id, status_id, position, used);
CREATE INDEX budgets_by_title ON budgets (workspace_id, title, position, status_id, used);
CREATE INDEX budgets_by_used ON budgets (workspace_id, used, position, status_id);
CREATE INDEX budgets_by_amount ON budgets (workspace_id, amount, position, status_id);
