-- Layers, their features, and what tiles are drawn from.

CREATE EXTENSION IF NOT EXISTS postgis;

-- A number is never given twice, so that what is left of a deleted layer is nobody's.
CREATE SEQUENCE layer_numbers;

CREATE TABLE layers (
    workspace_id uuid NOT NULL,
    no bigint NOT NULL,
    id uuid NOT NULL,
    slug text COLLATE "C" NOT NULL,
    -- Counts the layer's changes; also part of `state`.
    revision bigint NOT NULL,
    -- The layer and all that is counted for it, as JSON.
    state text NOT NULL,
    PRIMARY KEY (workspace_id, no)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX layers_by_id ON layers (workspace_id, id);
CREATE UNIQUE INDEX layers_by_slug ON layers (workspace_id, slug);

-- `geom` is the exact shape, for SQL and QGIS too. Where there are heights, which the column's type
-- does not take, `heights` has the whole shape as WKB.
CREATE TABLE features (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    external_id text COLLATE "C",
    folder_id uuid,
    assignment_id uuid,
    geom geometry(Geometry, 4326),
    heights bytea,
    properties text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, layer, seq)
);
CREATE UNIQUE INDEX features_by_id ON features (workspace_id, id);
CREATE UNIQUE INDEX features_by_external_id ON features (workspace_id, layer, external_id)
    WHERE external_id IS NOT NULL;
CREATE INDEX features_by_folder ON features (workspace_id, folder_id) WHERE folder_id IS NOT NULL;
CREATE INDEX features_by_assignment ON features (workspace_id, assignment_id)
    WHERE assignment_id IS NOT NULL;
CREATE INDEX features_geom ON features USING gist (geom);

-- The box around each run of 1,024 features, from which a layer's bounds shrink when one goes.
CREATE TABLE extents (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    part bigint NOT NULL,
    west double precision NOT NULL,
    south double precision NOT NULL,
    east double precision NOT NULL,
    north double precision NOT NULL,
    PRIMARY KEY (workspace_id, layer, part)
);

-- What tiles are drawn from: blocks of features on shelves along the Morton curve. `centre` is a
-- Morton code with its first bit turned, so that it sorts as a signed integer. The sides of the box
-- around a block's features, on the grid, are in the key, so that only blocks that a tile meets are
-- read. Blocks stay inside the row up to the size of a page.
CREATE TABLE drawings (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    shelf smallint NOT NULL,
    centre bigint NOT NULL,
    seq bigint NOT NULL,
    west bigint NOT NULL,
    north bigint NOT NULL,
    east bigint NOT NULL,
    south bigint NOT NULL,
    block bytea NOT NULL,
    PRIMARY KEY (workspace_id, layer, shelf, centre, seq, west, north, east, south)
) WITH (toast_tuple_target = 8160);
ALTER TABLE drawings ALTER COLUMN block SET STORAGE EXTERNAL;

-- Shapes too long for a block, simplified for the zooms up to `zoom`.
CREATE TABLE long_drawings (
    workspace_id uuid NOT NULL,
    layer bigint NOT NULL,
    seq bigint NOT NULL,
    zoom smallint NOT NULL,
    shape bytea NOT NULL,
    PRIMARY KEY (workspace_id, layer, seq, zoom)
);
ALTER TABLE long_drawings ALTER COLUMN shape SET STORAGE EXTERNAL;

-- Answers to POSTs that came with an `Idempotency-Key`, kept for a day.
CREATE TABLE replays (
    workspace_id uuid NOT NULL,
    token_id uuid NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    answer bytea NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (workspace_id, token_id, path, key)
);
CREATE INDEX replays_by_age ON replays (at);
