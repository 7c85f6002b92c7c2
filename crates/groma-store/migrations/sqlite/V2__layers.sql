-- Layers, their features, and what tiles are drawn from.

CREATE TABLE layers (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    ws INTEGER NOT NULL,
    id BLOB NOT NULL,
    slug TEXT NOT NULL,
    -- Counts the layer's changes; also part of `state`.
    revision INTEGER NOT NULL,
    -- The layer and all that is counted for it, as JSON.
    state TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX layers_by_id ON layers (ws, id);
CREATE UNIQUE INDEX layers_by_slug ON layers (ws, slug);

-- A feature's `place` is its layer's number and its own, packed like a record's. `geometry` is WKB.
CREATE TABLE features (
    place INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    external_id TEXT,
    folder_id BLOB,
    assignment_id BLOB,
    geometry BLOB,
    properties TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX features_by_id ON features (id);
CREATE INDEX features_by_folder ON features (folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX features_by_assignment ON features (assignment_id) WHERE assignment_id IS NOT NULL;

-- Features by the id they came with.
CREATE TABLE feature_keys (
    layer INTEGER NOT NULL,
    external_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (layer, external_id)
) STRICT, WITHOUT ROWID;

-- The box around each run of 1,024 features, from which a layer's bounds shrink when one goes.
CREATE TABLE extents (
    layer INTEGER NOT NULL,
    part INTEGER NOT NULL,
    west REAL NOT NULL,
    south REAL NOT NULL,
    east REAL NOT NULL,
    north REAL NOT NULL,
    PRIMARY KEY (layer, part)
) STRICT, WITHOUT ROWID;

-- What tiles are drawn from: blocks of features on shelves along the Morton curve. `centre` is a
-- Morton code with its first bit turned, so that it sorts as a signed integer. The sides of the box
-- around a block's features, on the grid, are in the index, so that only blocks that a tile meets are
-- read.
CREATE TABLE drawings (
    no INTEGER PRIMARY KEY,
    layer INTEGER NOT NULL,
    shelf INTEGER NOT NULL,
    centre INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    west INTEGER NOT NULL,
    north INTEGER NOT NULL,
    east INTEGER NOT NULL,
    south INTEGER NOT NULL,
    block BLOB NOT NULL
) STRICT;
CREATE INDEX drawings_in_order ON drawings (layer, shelf, centre, seq, west, north, east, south);

-- Shapes too long for a block, simplified for the zooms up to `zoom`.
CREATE TABLE long_drawings (
    layer INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    zoom INTEGER NOT NULL,
    shape BLOB NOT NULL,
    PRIMARY KEY (layer, seq, zoom)
) STRICT;

-- Answers to POSTs that came with an `Idempotency-Key`, kept for a day.
CREATE TABLE replays (
    token_id BLOB NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    answer BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (token_id, path, key)
) STRICT;
CREATE INDEX replays_by_age ON replays (at);
