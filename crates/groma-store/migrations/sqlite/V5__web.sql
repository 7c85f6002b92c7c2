-- The web application: who is logged in, who is invited, and what its lists are found by.

-- The last characters of a token, by which its owner knows it again.
ALTER TABLE tokens ADD COLUMN hint TEXT;

-- `hash` is that of the cookie's value, which is kept nowhere.
CREATE TABLE sessions (
    id BLOB PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    user_id BLOB NOT NULL,
    -- The workspace that is looked at.
    workspace_id BLOB,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    user_agent TEXT NOT NULL,
    address TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id, id);
CREATE INDEX sessions_by_end ON sessions (ends_at);

-- Attempts to log in that have not succeeded, by what they are counted for: an account, an address,
-- both together, or a device that has logged in before.
CREATE TABLE login_attempts (
    bucket TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX login_attempts_by_bucket ON login_attempts (bucket, at);
CREATE INDEX login_attempts_by_age ON login_attempts (at);

-- Browsers that someone has logged in with: strangers' attempts do not count against them.
CREATE TABLE devices (
    hash BLOB PRIMARY KEY,
    user_id BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_by_user ON devices (user_id, at);

-- Links that make whoever holds one a member, once.
CREATE TABLE invitations (
    id BLOB PRIMARY KEY,
    ws INTEGER NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    -- Whom it is for; anyone when null.
    email TEXT,
    invited_by BLOB,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_workspace ON invitations (ws, id);

-- What lists are filtered and sorted by, taken from the documents. `closed`: archived or completed.
-- `day`: due, or incurred; the end of time where there is none, so that it sorts last on both engines.
ALTER TABLE folders ADD COLUMN closed INTEGER GENERATED ALWAYS AS (doc ->> '$.archivedAt' IS NOT NULL) VIRTUAL;
ALTER TABLE folders ADD COLUMN day TEXT GENERATED ALWAYS AS (coalesce(doc ->> '$.dueDate', '9999')) VIRTUAL;
ALTER TABLE folders ADD COLUMN person TEXT GENERATED ALWAYS AS (doc ->> '$.owner') VIRTUAL;
ALTER TABLE folders ADD COLUMN title TEXT GENERATED ALWAYS AS (lower(doc ->> '$.name')) VIRTUAL;
ALTER TABLE folders ADD COLUMN placed INTEGER GENERATED ALWAYS AS (doc ->> '$.bbox' IS NOT NULL) VIRTUAL;
DROP INDEX folders_by_status;
CREATE INDEX folders_by_status ON folders (ws, status_id, closed, place, person, day);
CREATE INDEX folders_by_person ON folders (ws, person, closed, place, status_id, day);
CREATE INDEX folders_by_day ON folders (ws, closed, day, place, status_id, person);
CREATE INDEX folders_by_title ON folders (ws, closed, title, place, status_id, person, day);
CREATE INDEX folders_by_place ON folders (ws, closed, place, status_id, person, day);
CREATE INDEX folders_placed ON folders (ws, closed, place) WHERE placed;

ALTER TABLE assignments ADD COLUMN closed INTEGER GENERATED ALWAYS AS (doc ->> '$.completedAt' IS NOT NULL) VIRTUAL;
ALTER TABLE assignments ADD COLUMN day TEXT GENERATED ALWAYS AS (coalesce(doc ->> '$.dueDate', '9999')) VIRTUAL;
DROP INDEX assignments_by_status;
CREATE INDEX assignments_by_status ON assignments (ws, status_id, closed, place, day);
CREATE INDEX assignments_by_day ON assignments (ws, closed, day, place, status_id);
CREATE INDEX assignments_by_place ON assignments (ws, closed, place, status_id, day);

-- Who does which assignment.
CREATE TABLE assignment_people (
    ws INTEGER NOT NULL,
    person TEXT NOT NULL,
    closed INTEGER NOT NULL,
    day TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (ws, person, closed, day, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX assignment_people_by_place ON assignment_people (place);
INSERT INTO assignment_people
    SELECT a.ws, p.value, a.closed, a.day, a.place FROM assignments a, json_each(a.doc, '$.assignees') p;
CREATE TRIGGER assignment_people_insert AFTER INSERT ON assignments BEGIN
    INSERT INTO assignment_people
        SELECT new.ws, p.value, new.closed, new.day, new.place FROM json_each(new.doc, '$.assignees') p;
END;
CREATE TRIGGER assignment_people_update AFTER UPDATE OF doc ON assignments BEGIN
    DELETE FROM assignment_people WHERE place = old.place;
    INSERT INTO assignment_people
        SELECT new.ws, p.value, new.closed, new.day, new.place FROM json_each(new.doc, '$.assignees') p;
END;
CREATE TRIGGER assignment_people_delete AFTER DELETE ON assignments BEGIN
    DELETE FROM assignment_people WHERE place = old.place;
END;

ALTER TABLE expenses ADD COLUMN day TEXT GENERATED ALWAYS AS (doc ->> '$.incurredOn') VIRTUAL;
ALTER TABLE expenses ADD COLUMN person TEXT GENERATED ALWAYS AS (doc ->> '$.submittedBy') VIRTUAL;
DROP INDEX expenses_by_status;
CREATE INDEX expenses_by_status ON expenses (ws, status_id, day, place, person);
CREATE INDEX expenses_by_person ON expenses (ws, person, day, place, status_id);
CREATE INDEX expenses_by_day ON expenses (ws, day, place, status_id, person);

ALTER TABLE budgets ADD COLUMN title TEXT GENERATED ALWAYS AS (lower(doc ->> '$.name')) VIRTUAL;
ALTER TABLE budgets ADD COLUMN used REAL GENERATED ALWAYS AS (coalesce(CAST(doc ->> '$.percentUsed' AS REAL), -1.0)) VIRTUAL;
DROP INDEX budgets_by_status;
CREATE INDEX budgets_by_status ON budgets (ws, status_id, place, used);
CREATE INDEX budgets_by_title ON budgets (ws, title, place, status_id, used);
CREATE INDEX budgets_by_used ON budgets (ws, used, place, status_id);
