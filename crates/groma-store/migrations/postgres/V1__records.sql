-- Workspaces, people, tokens, records, and what keeps their lists cheap.
--
-- `workspace_id` leads every key, so that the tables can be spread by workspace. Moments are
-- milliseconds since 1970. `seq` is a record's place in the order of creation; it is taken under the
-- lock of the workspace's row, which is held to the commit, so the order is that of the commits.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    no bigint GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    name_key text COLLATE "C" NOT NULL UNIQUE,
    currency text NOT NULL,
    people_generation bigint NOT NULL,
    created_at bigint NOT NULL
);

CREATE TABLE users (
    id uuid PRIMARY KEY,
    email text NOT NULL,
    email_key text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    password_hash text,
    created_at bigint NOT NULL
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
    last_used_at bigint
);
CREATE INDEX tokens_by_workspace ON tokens (workspace_id, id);

CREATE TABLE collections (
    workspace_id uuid NOT NULL,
    kind smallint NOT NULL,
    last_seq bigint NOT NULL,
    last_reference bigint NOT NULL,
    total bigint NOT NULL,
    generation bigint NOT NULL,
    PRIMARY KEY (workspace_id, kind)
) WITH (fillfactor = 50);

CREATE TABLE blocks (
    workspace_id uuid NOT NULL,
    kind smallint NOT NULL,
    block bigint NOT NULL,
    live bigint NOT NULL,
    generation bigint NOT NULL,
    PRIMARY KEY (workspace_id, kind, block)
);
CREATE INDEX blocks_by_generation ON blocks (workspace_id, kind, generation);

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

-- Records. `doc` is the public document but for people, whose places in it `people` lists.
CREATE TABLE folders (
    workspace_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    status_id uuid,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE UNIQUE INDEX folders_by_id ON folders (workspace_id, id);
CREATE UNIQUE INDEX folders_by_reference ON folders (workspace_id, reference);
CREATE INDEX folders_by_status ON folders (workspace_id, status_id);
CREATE INDEX folders_search ON folders USING gin (workspace_id, search gin_trgm_ops);

CREATE TABLE assignments (
    workspace_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    status_id uuid,
    folder_id uuid NOT NULL,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE UNIQUE INDEX assignments_by_id ON assignments (workspace_id, id);
CREATE UNIQUE INDEX assignments_by_reference ON assignments (workspace_id, reference);
CREATE INDEX assignments_by_status ON assignments (workspace_id, status_id);
CREATE INDEX assignments_by_folder ON assignments (workspace_id, folder_id);
CREATE INDEX assignments_search ON assignments USING gin (workspace_id, search gin_trgm_ops);

CREATE TABLE expenses (
    workspace_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    status_id uuid,
    folder_id uuid NOT NULL,
    assignment_id uuid,
    budget_id uuid,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE UNIQUE INDEX expenses_by_id ON expenses (workspace_id, id);
CREATE UNIQUE INDEX expenses_by_reference ON expenses (workspace_id, reference);
CREATE INDEX expenses_by_status ON expenses (workspace_id, status_id);
CREATE INDEX expenses_by_folder ON expenses (workspace_id, folder_id);
CREATE INDEX expenses_by_assignment ON expenses (workspace_id, assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX expenses_by_budget ON expenses (workspace_id, budget_id) WHERE budget_id IS NOT NULL;
CREATE INDEX expenses_search ON expenses USING gin (workspace_id, search gin_trgm_ops);

CREATE TABLE budgets (
    workspace_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE "C" NOT NULL,
    status_id uuid,
    folder_id uuid NOT NULL,
    doc bytea NOT NULL,
    people bytea NOT NULL,
    search text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE UNIQUE INDEX budgets_by_id ON budgets (workspace_id, id);
CREATE UNIQUE INDEX budgets_by_reference ON budgets (workspace_id, reference);
CREATE INDEX budgets_by_status ON budgets (workspace_id, status_id);
CREATE INDEX budgets_by_folder ON budgets (workspace_id, folder_id);
CREATE INDEX budgets_search ON budgets USING gin (workspace_id, search gin_trgm_ops);

-- Who changed what: the audit trail, and the events that webhooks announce. `after` is the public
-- document; `before` holds the fields that changed, or the whole document of what was deleted.
CREATE TABLE changes (
    workspace_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    actor uuid,
    action text NOT NULL,
    subject uuid NOT NULL,
    before text,
    after text,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX changes_by_subject ON changes (workspace_id, subject, id);

-- The accepted requests of each token within the last minute, shared by all replicas. Losing them
-- with a crash of the database is no harm, so they are not logged.
CREATE UNLOGGED TABLE rate_windows (
    token_id uuid PRIMARY KEY,
    accepted bigint[] NOT NULL
) WITH (fillfactor = 40);

-- Looks a token up and counts `wanted` requests against its window (`allowed` in 60 seconds, 0 for no
-- limit), in one call: `accepted` of them pass. The window is trimmed and judged under the lock of its
-- row, by the clock of the database, so it is exact over all replicas.
CREATE FUNCTION admit(
    sent bytea, wanted integer, allowed integer, now_millis bigint,
    OUT token_id uuid, OUT workspace_id uuid, OUT person_id uuid, OUT role text, OUT scopes text,
    OUT expires_at bigint, OUT accepted integer, OUT used integer, OUT reset_micros bigint
) LANGUAGE plpgsql AS $$
DECLARE
    span CONSTANT bigint := 60000000;
    moment bigint;
    stamps bigint[];
BEGIN
    SELECT t.id, t.workspace_id, t.person_id, p.role, t.scopes, t.expires_at
      INTO token_id, workspace_id, person_id, role, scopes, expires_at
      FROM tokens t JOIN people p ON p.workspace_id = t.workspace_id AND p.id = t.person_id
     WHERE t.hash = sent AND t.revoked_at IS NULL AND p.role IS NOT NULL;
    IF token_id IS NULL OR expires_at <= now_millis OR allowed = 0 THEN
        RETURN;
    END IF;
    SELECT w.accepted INTO stamps FROM rate_windows w WHERE w.token_id = admit.token_id FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO rate_windows AS w VALUES (admit.token_id, '{}')
            ON CONFLICT ON CONSTRAINT rate_windows_pkey DO UPDATE SET accepted = w.accepted
            RETURNING w.accepted INTO stamps;
    END IF;
    moment := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    -- A stamp from the future means that the clock was set back: it counts as of now.
    IF stamps[1] + span <= moment OR stamps[cardinality(stamps)] > moment THEN
        SELECT coalesce(array_agg(least(s, moment) ORDER BY s), '{}') INTO stamps
          FROM unnest(stamps) s WHERE s + span > moment;
    END IF;
    used := cardinality(stamps);
    accepted := greatest(least(wanted, allowed - used), 0);
    IF accepted > 0 THEN
        used := used + accepted;
        stamps := stamps || array_fill(moment, ARRAY[accepted]);
        UPDATE rate_windows w SET accepted = stamps WHERE w.token_id = admit.token_id;
    END IF;
    reset_micros := stamps[1] + span - moment;
END
$$;
