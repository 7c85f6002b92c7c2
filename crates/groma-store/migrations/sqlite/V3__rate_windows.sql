-- Where tokens stood in their rate windows when a server ended, for the one that follows.
CREATE TABLE rate_windows (
    token_id BLOB PRIMARY KEY,
    -- The moments of accepted requests: microseconds since 1970, eight bytes each, little end first.
    accepted BLOB NOT NULL
) STRICT, WITHOUT ROWID;
