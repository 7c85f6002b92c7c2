-- The web application: who is logged in, who is invited, and what its lists are found by.

-- The last characters of a token, by which its owner knows it again.
ALTER TABLE tokens ADD COLUMN hint text;

-- `hash` is that of the cookie's value, which is kept nowhere.
CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    user_id uuid NOT NULL,
    -- The workspace that is looked at.
    workspace_id uuid,
    created_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    user_agent text NOT NULL,
    address text NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_end ON sessions (ends_at);

-- Attempts to log in that have not succeeded, by what they are counted for: an account, an address,
-- both together, or a device that has logged in before.
CREATE TABLE login_attempts (
    bucket text COLLATE "C" NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX login_attempts_by_bucket ON login_attempts (bucket, at);
CREATE INDEX login_attempts_by_age ON login_attempts (at);

-- Browsers that someone has logged in with: strangers' attempts do not count against them.
CREATE TABLE devices (
    hash bytea PRIMARY KEY,
    user_id uuid NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX devices_by_user ON devices (user_id, at);

-- Links that make whoever holds one a member, once.
CREATE TABLE invitations (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    hash bytea NOT NULL UNIQUE,
    role text NOT NULL,
    -- Whom it is for; anyone when null.
    email text,
    invited_by uuid,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- A field of a stored document. It says immutable although `convert_from` does not: documents are
-- UTF-8 and nothing converts them.
CREATE FUNCTION doc_field(doc bytea, field text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN convert_from(doc, 'UTF8')::jsonb ->> field;
END
$$;

-- What lists are filtered and sorted by, taken from the documents. `closed`: archived or completed.
-- `day`: due, or incurred; the end of time where there is none, so that it sorts last on both engines.
ALTER TABLE folders
    ADD COLUMN closed smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'archivedAt') IS NULL THEN 0 ELSE 1 END) STORED,
    ADD COLUMN day text COLLATE "C" GENERATED ALWAYS AS (coalesce(doc_field(doc, 'dueDate'), '9999')) STORED,
    ADD COLUMN person text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'owner')) STORED,
    ADD COLUMN title text COLLATE "C" GENERATED ALWAYS AS (lower(doc_field(doc, 'name') COLLATE "C")) STORED,
    ADD COLUMN placed smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'bbox') IS NULL THEN 0 ELSE 1 END) STORED;
DROP INDEX folders_by_status;
CREATE INDEX folders_by_status ON folders (workspace_id, status_id, closed, seq, person, day);
CREATE INDEX folders_by_person ON folders (workspace_id, person, closed, seq, status_id, day);
CREATE INDEX folders_by_day ON folders (workspace_id, closed, day, seq, status_id, person);
CREATE INDEX folders_by_title ON folders (workspace_id, closed, title, seq, status_id, person, day);
CREATE INDEX folders_by_place ON folders (workspace_id, closed, seq, status_id, person, day);
CREATE INDEX folders_placed ON folders (workspace_id, closed, seq) WHERE placed = 1;

ALTER TABLE assignments
    ADD COLUMN closed smallint GENERATED ALWAYS AS (CASE WHEN doc_field(doc, 'completedAt') IS NULL THEN 0 ELSE 1 END) STORED,
    ADD COLUMN day text COLLATE "C" GENERATED ALWAYS AS (coalesce(doc_field(doc, 'dueDate'), '9999')) STORED;
DROP INDEX assignments_by_status;
CREATE INDEX assignments_by_status ON assignments (workspace_id, status_id, closed, seq, day);
CREATE INDEX assignments_by_day ON assignments (workspace_id, closed, day, seq, status_id);
CREATE INDEX assignments_by_place ON assignments (workspace_id, closed, seq, status_id, day);

-- Who does which assignment.
CREATE TABLE assignment_people (
    workspace_id uuid NOT NULL,
    person text COLLATE "C" NOT NULL,
    closed smallint NOT NULL,
    day text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (workspace_id, person, closed, day, seq)
);
CREATE INDEX assignment_people_by_seq ON assignment_people (workspace_id, seq);
INSERT INTO assignment_people
    SELECT a.workspace_id, p, a.closed, a.day, a.seq
    FROM assignments a, jsonb_array_elements_text(convert_from(a.doc, 'UTF8')::jsonb -> 'assignees') p;
CREATE FUNCTION note_assignment_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM assignment_people WHERE workspace_id = old.workspace_id AND seq = old.seq;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO assignment_people
            SELECT new.workspace_id, p, new.closed, new.day, new.seq
            FROM jsonb_array_elements_text(convert_from(new.doc, 'UTF8')::jsonb -> 'assignees') p;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER assignment_people AFTER INSERT OR DELETE OR UPDATE OF doc ON assignments
    FOR EACH ROW EXECUTE FUNCTION note_assignment_people();

ALTER TABLE expenses
    ADD COLUMN day text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'incurredOn')) STORED,
    ADD COLUMN person text COLLATE "C" GENERATED ALWAYS AS (doc_field(doc, 'submittedBy')) STORED;
DROP INDEX expenses_by_status;
CREATE INDEX expenses_by_status ON expenses (workspace_id, status_id, day, seq, person);
CREATE INDEX expenses_by_person ON expenses (workspace_id, person, day, seq, status_id);
CREATE INDEX expenses_by_day ON expenses (workspace_id, day, seq, status_id, person);

ALTER TABLE budgets
    ADD COLUMN title text COLLATE "C" GENERATED ALWAYS AS (lower(doc_field(doc, 'name') COLLATE "C")) STORED,
    ADD COLUMN used double precision GENERATED ALWAYS AS (coalesce(doc_field(doc, 'percentUsed')::double precision, -1)) STORED;
DROP INDEX budgets_by_status;
CREATE INDEX budgets_by_status ON budgets (workspace_id, status_id, seq, used);
CREATE INDEX budgets_by_title ON budgets (workspace_id, title, seq, status_id, used);
CREATE INDEX budgets_by_used ON budgets (workspace_id, used, seq, status_id);
