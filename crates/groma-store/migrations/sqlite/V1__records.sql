-- Workspaces, people, tokens, records, and what keeps their lists cheap.
--
-- Ids are 16-byte blobs, moments are milliseconds since 1970. `ws` is the workspace's number, the
-- short form of its id. A record's `place` is its workspace's number and its place in the order of
-- creation packed into one integer, so that a page of a list is a walk along the rowid.

CREATE TABLE workspaces (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    currency TEXT NOT NULL,
    -- Counts changes to people's names and addresses, which documents show.
    people_generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id BLOB PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    password_hash TEXT,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A person is known to one workspace. With a role they are its member.
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
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_workspace ON tokens (ws, id);

-- What is counted for each kind of record (0 folder, 1 assignment, 2 expense, 3 budget).
CREATE TABLE collections (
    ws INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_reference INTEGER NOT NULL,
    total INTEGER NOT NULL,
    -- Counts the changes of which records there are.
    generation INTEGER NOT NULL,
    PRIMARY KEY (ws, kind)
) STRICT, WITHOUT ROWID;

-- How many records of each run of 64 places are left, and when that last changed.
CREATE TABLE blocks (
    ws INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    block INTEGER NOT NULL,
    live INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (ws, kind, block)
) STRICT, WITHOUT ROWID;
CREATE INDEX blocks_by_generation ON blocks (ws, kind, generation);

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

-- Records. `doc` is the public document but for people, whose places in it `people` lists.
CREATE TABLE folders (
    place INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    status_id BLOB,
    doc TEXT NOT NULL,
    people BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX folders_by_id ON folders (ws, id);
CREATE UNIQUE INDEX folders_by_reference ON folders (ws, reference);
CREATE INDEX folders_by_status ON folders (ws, status_id);

CREATE TABLE assignments (
    place INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    status_id BLOB,
    folder_id BLOB NOT NULL,
    doc TEXT NOT NULL,
    people BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX assignments_by_id ON assignments (ws, id);
CREATE UNIQUE INDEX assignments_by_reference ON assignments (ws, reference);
CREATE INDEX assignments_by_status ON assignments (ws, status_id);
CREATE INDEX assignments_by_folder ON assignments (ws, folder_id);

CREATE TABLE expenses (
    place INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    status_id BLOB,
    folder_id BLOB NOT NULL,
    assignment_id BLOB,
    budget_id BLOB,
    doc TEXT NOT NULL,
    people BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX expenses_by_id ON expenses (ws, id);
CREATE UNIQUE INDEX expenses_by_reference ON expenses (ws, reference);
CREATE INDEX expenses_by_status ON expenses (ws, status_id);
CREATE INDEX expenses_by_folder ON expenses (ws, folder_id);
CREATE INDEX expenses_by_assignment ON expenses (ws, assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX expenses_by_budget ON expenses (ws, budget_id) WHERE budget_id IS NOT NULL;

CREATE TABLE budgets (
    place INTEGER PRIMARY KEY,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    reference TEXT NOT NULL,
    status_id BLOB,
    folder_id BLOB NOT NULL,
    doc TEXT NOT NULL,
    people BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX budgets_by_id ON budgets (ws, id);
CREATE UNIQUE INDEX budgets_by_reference ON budgets (ws, reference);
CREATE INDEX budgets_by_status ON budgets (ws, status_id);
CREATE INDEX budgets_by_folder ON budgets (ws, folder_id);

-- Folded text by trigrams; the rowid is the record's place, so hits come in the order of creation.
CREATE VIRTUAL TABLE folders_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE assignments_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE expenses_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE budgets_search USING fts5(
    text, content='', contentless_delete=1, tokenize='trigram case_sensitive 1');
CREATE VIRTUAL TABLE folders_grams USING fts5vocab(folders_search, 'row');
CREATE VIRTUAL TABLE assignments_grams USING fts5vocab(assignments_search, 'row');
CREATE VIRTUAL TABLE expenses_grams USING fts5vocab(expenses_search, 'row');
CREATE VIRTUAL TABLE budgets_grams USING fts5vocab(budgets_search, 'row');

-- Who changed what: the audit trail, and the events that webhooks announce. `after` is the public
-- document; `before` holds the fields that changed, or the whole document of what was deleted.
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ws INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor BLOB,
    action TEXT NOT NULL,
    subject BLOB NOT NULL,
    before TEXT,
    after TEXT
) STRICT;
CREATE INDEX changes_by_subject ON changes (ws, subject, id);
