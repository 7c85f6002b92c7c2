-- The schema on SQLite.
--
-- Ids are 16-byte blobs, times are milliseconds since 1970. `ws` is the number of the workspace. The
-- `position` of a record has the number of its workspace in the bits above 40 and its position in the order
-- of creation below, so that a page of a list is a range of the rowid.

CREATE TABLE workspaces (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    currency TEXT NOT NULL,
    -- Counts changes of names and addresses of people, which documents show.
    people_generation INTEGER NOT NULL,
    -- A new random value whenever a webhook endpoint of the workspace changes.
    endpoints_version INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    -- The EPSG codes of reference systems that the OGC API offers, separated by commas.
    offered_crs TEXT NOT NULL DEFAULT '',
    -- A JSON list.
    base_maps TEXT NOT NULL DEFAULT '[]',
    -- How many days tokens are valid at most; null for no limit.
    max_token_days INTEGER,
    -- Whether only sessions with a second factor may use the workspace.
    requires_second_factor INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE users (
    id BLOB PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    password_hash TEXT,
    created_at INTEGER NOT NULL,
    -- Null: as the browser asks for it.
    language TEXT,
    theme TEXT,
    -- When the user proved to receive mail at the address.
    email_verified_at INTEGER,
    last_login_at INTEGER,
    -- Since when the user can no longer log in.
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;

-- A person belongs to one workspace; a person with a role is a member.
CREATE TABLE people (
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL,
    name TEXT NOT NULL,
    user_id BLOB,
    role TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (ws, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX people_by_email ON people (ws, email_key);
CREATE INDEX people_by_user ON people (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE tokens (
    id BLOB PRIMARY KEY,
    ws INTEGER NOT NULL,
    person_id BLOB NOT NULL,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    -- The last characters of the token, by which its owner recognises it.
    hint TEXT,
    -- Whether it cannot change anything.
    read_only INTEGER NOT NULL DEFAULT 0,
    -- The address of the client that used it last.
    last_used_from TEXT,
    -- When its owner was told that it expires.
    expiry_notified_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_workspace ON tokens (ws, id);

-- Counters for each kind of record (0 folder, 1 assignment, 2 expense, 3 budget).
CREATE TABLE record_counters (
    ws INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    last_reference INTEGER NOT NULL,
    total INTEGER NOT NULL,
    -- Counts the changes to the set of records.
    generation INTEGER NOT NULL,
    PRIMARY KEY (ws, kind)
) STRICT, WITHOUT ROWID;

-- The page index: the number of records in each bucket of 64 positions, and the generation it last changed.
CREATE TABLE page_counts (
    ws INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    records INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (ws, kind, bucket)
) STRICT, WITHOUT ROWID;
CREATE INDEX page_counts_by_generation ON page_counts (ws, kind, generation);

CREATE TABLE statuses (
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    name_key TEXT NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (ws, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX statuses_by_name ON statuses (ws, kind, name_key);
CREATE INDEX statuses_in_order ON statuses (ws, seq);

-- Records. `doc` is the public document without names of people; `people` lists where they belong. `title` and
-- `reference_key` are folded texts that lists are sorted by.
CREATE TABLE folders (
    position INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    reference_key TEXT NOT NULL,
    status_id BLOB,
    doc TEXT NOT NULL,
    people BLOB NOT NULL,
    title TEXT NOT NULL,
    external_id TEXT,
    updated_at INTEGER NOT NULL,
    closed INTEGER GENERATED ALWAYS AS (doc ->> '$.archivedAt' IS NOT NULL) VIRTUAL,
    day TEXT GENERATED ALWAYS AS (coalesce(doc ->> '$.dueDate', '9999')) VIRTUAL,
    person TEXT GENERATED ALWAYS AS (doc ->> '$.owner') VIRTUAL,
    client TEXT GENERATED ALWAYS AS (doc ->> '$.clientName') VIRTUAL,
    has_bbox INTEGER GENERATED ALWAYS AS (doc ->> '$.bbox' IS NOT NULL) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX folders_by_id ON folders (ws, id);
-- The reference comes first: nearly all rows are of one workspace, and SQLite compares an index that begins
-- with text at a fraction of the cost of one whose second column is text.
CREATE UNIQUE INDEX folders_by_reference ON folders (reference, ws);
CREATE INDEX folders_by_external_id ON folders (external_id, ws) WHERE external_id IS NOT NULL;
CREATE INDEX folders_by_update ON folders (ws, updated_at, position);

CREATE TABLE assignments (
    position INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    reference_key TEXT NOT NULL,
    status_id BLOB,
    folder_id BLOB NOT NULL,
    doc TEXT NOT NULL,
    people BLOB NOT NULL,
    title TEXT NOT NULL,
    external_id TEXT,
    updated_at INTEGER NOT NULL,
    closed INTEGER GENERATED ALWAYS AS (doc ->> '$.completedAt' IS NOT NULL) VIRTUAL,
    day TEXT GENERATED ALWAYS AS (coalesce(doc ->> '$.dueDate', '9999')) VIRTUAL,
    priority TEXT GENERATED ALWAYS AS (doc ->> '$.priority') VIRTUAL
) STRICT;
CREATE UNIQUE INDEX assignments_by_id ON assignments (ws, id);
CREATE UNIQUE INDEX assignments_by_reference ON assignments (reference, ws);
CREATE INDEX assignments_by_external_id ON assignments (external_id, ws) WHERE external_id IS NOT NULL;
CREATE INDEX assignments_by_update ON assignments (ws, updated_at, position);
CREATE INDEX assignments_by_folder ON assignments (ws, folder_id);

CREATE TABLE expenses (
    position INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    reference_key TEXT NOT NULL,
    status_id BLOB,
    folder_id BLOB NOT NULL,
    assignment_id BLOB,
    budget_id BLOB,
    doc TEXT NOT NULL,
    people BLOB NOT NULL,
    title TEXT NOT NULL,
    external_id TEXT,
    updated_at INTEGER NOT NULL,
    day TEXT GENERATED ALWAYS AS (doc ->> '$.incurredOn') VIRTUAL,
    amount REAL GENERATED ALWAYS AS (CAST(doc ->> '$.amount' AS REAL)) VIRTUAL,
    category TEXT GENERATED ALWAYS AS (doc ->> '$.category') VIRTUAL,
    person TEXT GENERATED ALWAYS AS (doc ->> '$.submittedBy') VIRTUAL,
    billable INTEGER GENERATED ALWAYS AS (doc ->> '$.billable') VIRTUAL
) STRICT;
CREATE UNIQUE INDEX expenses_by_id ON expenses (ws, id);
CREATE UNIQUE INDEX expenses_by_reference ON expenses (reference, ws);
CREATE INDEX expenses_by_external_id ON expenses (external_id, ws) WHERE external_id IS NOT NULL;
CREATE INDEX expenses_by_update ON expenses (ws, updated_at, position);
CREATE INDEX expenses_by_folder ON expenses (ws, folder_id);
CREATE INDEX expenses_by_assignment ON expenses (ws, assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX expenses_by_budget ON expenses (ws, budget_id) WHERE budget_id IS NOT NULL;

CREATE TABLE budgets (
    position INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    reference_key TEXT NOT NULL,
    status_id BLOB,
    folder_id BLOB NOT NULL,
    doc TEXT NOT NULL,
    people BLOB NOT NULL,
    title TEXT NOT NULL,
    external_id TEXT,
    updated_at INTEGER NOT NULL,
    amount REAL GENERATED ALWAYS AS (CAST(doc ->> '$.amount' AS REAL)) VIRTUAL,
    category TEXT GENERATED ALWAYS AS (doc ->> '$.category') VIRTUAL,
    used REAL GENERATED ALWAYS AS (coalesce(CAST(doc ->> '$.percentUsed' AS REAL), -1.0)) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX budgets_by_id ON budgets (ws, id);
CREATE UNIQUE INDEX budgets_by_reference ON budgets (reference, ws);
CREATE INDEX budgets_by_external_id ON budgets (external_id, ws) WHERE external_id IS NOT NULL;
CREATE INDEX budgets_by_update ON budgets (ws, updated_at, position);
CREATE INDEX budgets_by_folder ON budgets (ws, folder_id);

-- Folded text by trigrams; the rowid is the position of the record, so matches are in the order of creation.
CREATE VIRTUAL TABLE folders_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE assignments_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE expenses_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE budgets_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE folders_trigrams USING fts5vocab(folders_search, 'row');
CREATE VIRTUAL TABLE assignments_trigrams USING fts5vocab(assignments_search, 'row');
CREATE VIRTUAL TABLE expenses_trigrams USING fts5vocab(expenses_search, 'row');
CREATE VIRTUAL TABLE budgets_trigrams USING fts5vocab(budgets_search, 'row');

-- Who changed what, and the events that webhooks deliver and the change feed lists. The entries of a workspace are
-- numbered in the order of their commits. `after` is the public document; `before` has the fields that changed, or
-- the whole document of a deleted record.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ws INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor BLOB,
    -- The token that the actor used.
    token BLOB,
    action TEXT NOT NULL,
    -- The number of the event: 0 to 12 are about records. Null for an entry that is no event.
    event INTEGER,
    subject BLOB NOT NULL,
    before TEXT,
    after TEXT
) STRICT;
CREATE INDEX audit_log_by_subject ON audit_log (ws, subject, id);
CREATE INDEX audit_log_in_order ON audit_log (ws, id, event);
-- Without events about features and layers, which other entries report to members.
CREATE INDEX audit_log_of_activity ON audit_log (ws, id) WHERE event IS NULL OR event < 13;

-- Identifies the database to consumers of the change feed. A copy and a restored backup have another id.
CREATE TABLE database_identity (
    id BLOB NOT NULL
) STRICT;
INSERT INTO database_identity (id) VALUES (randomblob(16));

-- What concerns the security of the installation. Entries hold ids and outlive users and workspaces; nothing
-- but their age deletes them.
CREATE TABLE security_log (
    id BLOB PRIMARY KEY,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    -- Who did it: a user, or a member without a login. Null for the operator and for strangers.
    user_id BLOB,
    person_id BLOB,
    workspace_id BLOB,
    -- What it was done to, and the user behind it if it is a person.
    subject BLOB,
    subject_user_id BLOB,
    -- The address of the client.
    address TEXT,
    -- A JSON object without personal data.
    details TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX security_log_by_workspace ON security_log (workspace_id, id);
CREATE INDEX security_log_by_user ON security_log (user_id, id);

-- Layers, their features, and the tile index.

CREATE TABLE layers (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    slug TEXT NOT NULL,
    -- Counts the changes of the layer; also part of `state`.
    revision INTEGER NOT NULL,
    -- The layer and its statistics as JSON.
    state TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX layers_by_id ON layers (ws, id);
CREATE UNIQUE INDEX layers_by_slug ON layers (ws, slug);

-- New layers that an import is loading. The row moves to `layers` when all features are in `features`: until
-- then nothing finds them. The import has died when `lease_until` has passed; 0 means that its features are
-- being deleted.
CREATE TABLE staged_layers (
    no INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    state TEXT NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT;

-- The `position` of a feature has the number of its layer in the bits above 40. `geometry` is WKB in WGS 84.
-- `original` is WKB in the reference system of the layer, if it has one of its own.
CREATE TABLE features (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    external_id TEXT,
    folder_id BLOB,
    assignment_id BLOB,
    geometry BLOB,
    original BLOB,
    properties TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX features_by_id ON features (id);
CREATE INDEX features_by_folder ON features (folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX features_by_assignment ON features (assignment_id) WHERE assignment_id IS NOT NULL;

-- Features by external id.
CREATE TABLE feature_keys (
    layer INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (layer, external_id)
) STRICT, WITHOUT ROWID;

-- The values of declared fields, by keys that sort like the values. `field` is the number of the field in the
-- state of the layer.
CREATE TABLE feature_values (
    layer INTEGER NOT NULL,
    field INTEGER NOT NULL,
    value BLOB NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (layer, field, value, position)
) STRICT, WITHOUT ROWID;

-- The bounding box of each run of 1,024 features, from which a layer's bounds are recomputed when a feature
-- is removed.
CREATE TABLE extents (
    layer INTEGER NOT NULL,
    run INTEGER NOT NULL,
    west REAL NOT NULL,
    south REAL NOT NULL,
    east REAL NOT NULL,
    north REAL NOT NULL,
    PRIMARY KEY (layer, run)
) STRICT, WITHOUT ROWID;

-- The tile index: blocks of features in zoom tiers along the Morton curve. `centre` is a Morton code with its
-- first bit flipped, so that it sorts as a signed integer. The index includes the bounding box of the
-- features, so that only blocks that a tile meets are read.
CREATE TABLE tile_blocks (
    no INTEGER PRIMARY KEY,
    layer INTEGER NOT NULL,
    tier INTEGER NOT NULL,
    centre INTEGER NOT NULL,
    position INTEGER NOT NULL,
    west INTEGER NOT NULL,
    north INTEGER NOT NULL,
    east INTEGER NOT NULL,
    south INTEGER NOT NULL,
    block BLOB NOT NULL
) STRICT;
CREATE INDEX tile_blocks_in_order ON tile_blocks (layer, tier, centre, position, west, north, east, south);

-- Shapes too large for a block, simplified for the zooms up to `max_zoom`.
CREATE TABLE large_tile_features (
    layer INTEGER NOT NULL,
    position INTEGER NOT NULL,
    max_zoom INTEGER NOT NULL,
    shape BLOB NOT NULL,
    PRIMARY KEY (layer, position, max_zoom)
) STRICT;

-- Responses to POST requests with an `Idempotency-Key`, kept for a day.
CREATE TABLE idempotency_keys (
    token_id BLOB NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    response BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (token_id, path, key)
) STRICT;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (at);

-- The rate windows of tokens, saved by a server that stops for the next one.
CREATE TABLE rate_windows (
    token_id BLOB PRIMARY KEY,
    -- The times of accepted requests: microseconds since 1970, eight bytes each, little-endian.
    accepted BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Webhook endpoints and deliveries.

CREATE TABLE webhook_endpoints (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    url TEXT NOT NULL,
    description TEXT,
    -- Names separated by commas.
    events TEXT NOT NULL,
    -- Which of these events are delivered, as JSON; null for all.
    filter TEXT,
    enabled INTEGER NOT NULL,
    disabled_reason TEXT,
    failing_since INTEGER,
    last_success_at INTEGER,
    -- Encrypted if there is a key.
    secret BLOB NOT NULL,
    previous_secret BLOB,
    previous_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Set when it is deleted; the row is removed after its deliveries.
    deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX webhook_endpoints_by_id ON webhook_endpoints (ws, id);
CREATE INDEX webhook_endpoints_enabled ON webhook_endpoints (no) WHERE enabled = 1;

-- An event for an endpoint. Its data is in `audit_log`. Ids rise with time. `state` is 0 waiting, 1 leased, 2
-- delivered, 3 failed, 4 cancelled; `due_at` is when the next attempt is due, or when the lease ends. `tries`
-- counts the attempts of the current retry schedule, `attempts` all of them.
CREATE TABLE deliveries (
    id BLOB PRIMARY KEY,
    ws INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    audit_entry_id INTEGER NOT NULL,
    event INTEGER NOT NULL,
    is_test INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    -- When personal data was erased from the event. It is not sent again: its body has changed.
    erased_at INTEGER
) STRICT, WITHOUT ROWID;
-- A sweep reads only what is due.
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
    response BLOB NOT NULL,
    PRIMARY KEY (delivery, no)
) STRICT, WITHOUT ROWID;

-- `hash` is the hash of the cookie, which is not stored.
CREATE TABLE sessions (
    id BLOB PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    user_id BLOB NOT NULL,
    -- The selected workspace.
    workspace_id BLOB,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    user_agent TEXT NOT NULL,
    address TEXT NOT NULL,
    -- When the user last proved who they are, and whether ever with a second factor.
    authenticated_at INTEGER NOT NULL,
    has_second_factor INTEGER NOT NULL,
    -- The identity provider of the login, if there was one.
    provider TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_end ON sessions (ends_at);

-- Failed login attempts, by what they count against, such as an account, a network or a known device.
CREATE TABLE login_attempts (
    bucket TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX login_attempts_by_bucket ON login_attempts (bucket, at);
CREATE INDEX login_attempts_by_expiry ON login_attempts (expires_at);

-- Browsers that a user has logged in with. Attempts from elsewhere do not count against them.
CREATE TABLE devices (
    hash BLOB PRIMARY KEY,
    user_id BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_by_user ON devices (user_id, at);

-- Accounts of identity providers (OpenID Connect) that log a user in.
CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id BLOB NOT NULL,
    -- The address that the provider reported last.
    email TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id);

-- Apps that generate one-time codes (TOTP). The secret is encrypted if the program has a key.
CREATE TABLE authenticator_apps (
    user_id BLOB PRIMARY KEY,
    secret BLOB NOT NULL,
    -- The time step of the last accepted code: no code is accepted twice.
    last_step INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE passkeys (
    id BLOB PRIMARY KEY,
    user_id BLOB NOT NULL,
    credential_id BLOB NOT NULL UNIQUE,
    -- The public key and its counter as JSON.
    credential TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_by_user ON passkeys (user_id, id);

-- Codes that stand in for a lost second factor. Each works once; only its hash is stored.
CREATE TABLE recovery_codes (
    user_id BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Logins and registrations of passkeys that wait for their next step, such as the answer of an identity
-- provider. `hash` is the hash of a cookie.
CREATE TABLE pending_logins (
    hash BLOB PRIMARY KEY,
    step TEXT NOT NULL,
    user_id BLOB,
    -- What the next step needs, as JSON.
    data TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_logins_by_end ON pending_logins (expires_at);

-- Links that make their holder a member, once.
CREATE TABLE invitations (
    id BLOB PRIMARY KEY,
    ws INTEGER NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    -- The address it is for.
    email TEXT NOT NULL,
    -- Whether only a mail to that address contains the link.
    is_mailed INTEGER NOT NULL,
    invited_by BLOB,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_workspace ON invitations (ws, id);

-- Links in mails to users, for one use: `reset` sets a new password, `verify` verifies the address.
CREATE TABLE email_links (
    hash BLOB PRIMARY KEY,
    user_id BLOB NOT NULL,
    purpose TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX email_links_by_user ON email_links (user_id, purpose);

-- Mails to be sent. A mail that was sent keeps its row for an hour without its text, so that the number of
-- mails to an address is limited.
CREATE TABLE mails (
    id BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    recipient_key TEXT NOT NULL,
    -- What the mail is about; it is deleted with them.
    user_id BLOB,
    workspace_id BLOB,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    tries INTEGER NOT NULL,
    -- When it is sent. While a program sends it: when another program may do so. Null: no more.
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    -- When it is no longer worth sending.
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mails_waiting ON mails (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mails_by_recipient ON mails (recipient_key, kind, created_at);

-- Lists with their filters, order and columns, saved under a name. `query` is the query string of the page.
CREATE TABLE saved_views (
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    kind INTEGER NOT NULL,
    person_id BLOB NOT NULL,
    is_shared INTEGER NOT NULL,
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (ws, id)
) STRICT, WITHOUT ROWID;

-- Imports of files in the web application. `rejected` is a file with the rows or features that were rejected.
CREATE TABLE import_jobs (
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    person_id BLOB NOT NULL,
    file_name TEXT NOT NULL,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    options TEXT NOT NULL,
    preview TEXT,
    progress TEXT,
    failure TEXT,
    result TEXT,
    created_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    rejected BLOB NOT NULL,
    PRIMARY KEY (ws, id)
) STRICT;

-- Generated columns that lists filter and sort by. `closed`: archived or completed. `day`: due or incurred
-- date; '9999' when there is none, so that it sorts last on both engines.
CREATE INDEX folders_by_status ON folders (ws, status_id, closed, position, person, day);
CREATE INDEX folders_by_person ON folders (ws, person, closed, position, status_id, day);
CREATE INDEX folders_by_day ON folders (ws, closed, day, position, status_id, person);
CREATE INDEX folders_by_title ON folders (ws, closed, title, position, status_id, person, day);
CREATE INDEX folders_by_position ON folders (ws, closed, position, status_id, person, day);
CREATE INDEX folders_with_bbox ON folders (ws, closed, position) WHERE has_bbox;
CREATE INDEX folders_by_client ON folders (ws, client, closed, position, status_id, person, day) WHERE client IS NOT NULL;

-- Tags of folders.
CREATE TABLE folder_tags (
    ws INTEGER NOT NULL,
    tag TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (ws, tag, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX folder_tags_by_position ON folder_tags (position);
CREATE TRIGGER folder_tags_insert AFTER INSERT ON folders BEGIN
    INSERT INTO folder_tags
        SELECT new.ws, t.value, new.position FROM json_each(new.doc, '$.tags') t;
END;
CREATE TRIGGER folder_tags_update AFTER UPDATE OF doc ON folders BEGIN
    DELETE FROM folder_tags WHERE position = old.position;
    INSERT INTO folder_tags
        SELECT new.ws, t.value, new.position FROM json_each(new.doc, '$.tags') t;
END;
CREATE TRIGGER folder_tags_delete AFTER DELETE ON folders BEGIN
    DELETE FROM folder_tags WHERE position = old.position;
END;

-- The extents of folders, for filters by a bounding box. The index rounds outwards to 32 bits; queries compare
-- the exact values too. The program writes it: with a trigger that writes a virtual table, SQLite would copy every
-- page that it changes for a folder, in case that the statement fails.
CREATE VIRTUAL TABLE folder_boxes USING rtree(position, west, east, south, north);
CREATE TRIGGER folder_boxes_delete AFTER DELETE ON folders WHEN old.has_bbox BEGIN
    DELETE FROM folder_boxes WHERE position = old.position;
END;

-- Values that records share: `field` is `client`, `category`, `vendor` or `tag`. `records` counts the records
-- that have the value.
CREATE TABLE labels (
    ws INTEGER NOT NULL,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    folded TEXT NOT NULL,
    records INTEGER NOT NULL,
    PRIMARY KEY (ws, field, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_text ON labels (ws, field, folded);

CREATE INDEX assignments_by_status ON assignments (ws, status_id, closed, position, day);
CREATE INDEX assignments_by_day ON assignments (ws, closed, day, position, status_id);
CREATE INDEX assignments_by_position ON assignments (ws, closed, position, status_id, day);
CREATE INDEX assignments_by_title ON assignments (ws, closed, title, position, status_id, day);
-- Most assignments have the priority `normal`, and most expenses are not billable.
CREATE INDEX assignments_by_priority ON assignments (ws, priority, position) WHERE priority <> 'normal';

-- Assignees of assignments.
CREATE TABLE assignment_people (
    ws INTEGER NOT NULL,
    person TEXT NOT NULL,
    closed INTEGER NOT NULL,
    day TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (ws, person, closed, day, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX assignment_people_by_position ON assignment_people (position);
CREATE TRIGGER assignment_people_insert AFTER INSERT ON assignments BEGIN
    INSERT INTO assignment_people
        SELECT new.ws, p.value, new.closed, new.day, new.position FROM json_each(new.doc, '$.assignees') p;
END;
CREATE TRIGGER assignment_people_update AFTER UPDATE OF doc ON assignments BEGIN
    DELETE FROM assignment_people WHERE position = old.position;
    INSERT INTO assignment_people
        SELECT new.ws, p.value, new.closed, new.day, new.position FROM json_each(new.doc, '$.assignees') p;
END;
CREATE TRIGGER assignment_people_delete AFTER DELETE ON assignments BEGIN
    DELETE FROM assignment_people WHERE position = old.position;
END;

CREATE INDEX expenses_by_status ON expenses (ws, status_id, day, position, person);
CREATE INDEX expenses_by_person ON expenses (ws, person, day, position, status_id);
CREATE INDEX expenses_by_day ON expenses (ws, day, position, status_id, person);
CREATE INDEX expenses_by_amount ON expenses (ws, amount, position, status_id, person, day);
CREATE INDEX expenses_billable ON expenses (ws, position) WHERE billable = 1;
CREATE INDEX expenses_by_category ON expenses (ws, category, day, position) WHERE category IS NOT NULL;

CREATE INDEX budgets_by_status ON budgets (ws, status_id, position, used);
CREATE INDEX budgets_by_title ON budgets (ws, title, position, status_id, used);
CREATE INDEX budgets_by_used ON budgets (ws, used, position, status_id);
CREATE INDEX budgets_by_amount ON budgets (ws, amount, position, status_id);
