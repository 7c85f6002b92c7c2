//! SQL of layers on PostgreSQL.

use crate::engine::statements;

/// The blocks in some ranges whose boxes meet an area, each with the revision of its layer; only the revision
/// when there is no block. The parameters are a row that `OFFSET` keeps the planner from taking apart, so
/// PostgreSQL plans once, whatever the first values were: planning takes longer than reading a tile.
macro_rules! blocks_of_area {
    () => {
        "SELECT l.revision, b.tier, b.centre, b.position, b.block
        FROM (SELECT $1::uuid AS ws, $2::bigint AS layer, $3::smallint[] AS tiers, $4::bigint[] AS firsts,
            $5::bigint[] AS lasts, $6::bigint AS west, $7::bigint AS north, $8::bigint AS east,
            $9::bigint AS south OFFSET 0) q
        JOIN layers l ON l.workspace_id = $1 AND l.no = $2
        LEFT JOIN LATERAL (SELECT r.tier, d.centre, d.position, d.block
            FROM unnest(q.tiers, q.firsts, q.lasts) AS r (tier, first, last)
            CROSS JOIN LATERAL (SELECT d.centre, d.position, d.block FROM tile_blocks d
                WHERE d.workspace_id = q.ws AND d.layer = q.layer AND d.tier = r.tier AND d.centre <= r.last
                AND d.centre >= coalesce((SELECT p.centre FROM tile_blocks p
                    WHERE p.workspace_id = q.ws AND p.layer = q.layer AND p.tier = r.tier
                    AND p.centre < r.first ORDER BY p.centre DESC LIMIT 1), r.first)
                AND d.west <= q.east AND d.north <= q.south AND d.east >= q.west AND d.south >= q.north) d) b
            ON true"
    };
}

statements! {
    LAYER_BY_ID = "SELECT no, state FROM layers WHERE workspace_id = $1 AND id = $2";
    LAYER_BY_SLUG = "SELECT no, state FROM layers WHERE workspace_id = $1 AND slug = $2";
    LAYERS = "SELECT no, state FROM layers WHERE workspace_id = $1 ORDER BY no";
    LAYER_REVISION = "SELECT no, revision FROM layers WHERE workspace_id = $1 AND id = $2";
    INSERT_LAYER = "INSERT INTO layers (workspace_id, no, id, slug, revision, state)
        VALUES ($1, nextval('layer_numbers'), $2, $3, $4, $5)";
    UPDATE_LAYER = "UPDATE layers SET slug = $3, revision = $4, state = $5 WHERE workspace_id = $1 AND id = $2";
    DELETE_LAYER = "DELETE FROM layers WHERE workspace_id = $1 AND no = $2";
    STAGE_LAYER = "INSERT INTO staged_layers (workspace_id, no, id, state, lease_until)
        VALUES ($1, nextval('layer_numbers'), $2, $3, $4)";
    STAGED_LAYER = "SELECT no, state, lease_until FROM staged_layers WHERE workspace_id = $1 AND id = $2";
    SAVE_STAGED_LAYER = "UPDATE staged_layers SET state = $3, lease_until = $4 WHERE workspace_id = $1 AND id = $2";
    DELETE_STAGED_LAYER = "DELETE FROM staged_layers WHERE workspace_id = $1 AND no = $2";
    PUBLISH_LAYER = "INSERT INTO layers (workspace_id, id, slug, revision, state, no) VALUES ($1, $2, $3, $4, $5, $6)";
    STAGED_LAYERS = "SELECT workspace_id, id FROM staged_layers WHERE lease_until < $1 ORDER BY no";
    FEATURES_BY_EXTERNAL_ID = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND external_id = ANY ($3)";
    FEATURES_BY_ID = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND id = ANY ($3)";
    FEATURES_BY_POSITION = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND position = ANY ($3) ORDER BY position";
    FEATURES_BY_FOLDER = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND position > $3 AND folder_id = $5
        ORDER BY position LIMIT $4";
    FEATURES_BY_ASSIGNMENT = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND position > $3 AND assignment_id = $5
        ORDER BY position LIMIT $4";
    FEATURES_BETWEEN = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND position BETWEEN $3 AND $4 ORDER BY position LIMIT $5";
    FEATURE_ATTRIBUTES = "SELECT position, id, external_id, properties, updated_at
        FROM features WHERE workspace_id = $1 AND layer = $2 AND position > $3 ORDER BY position LIMIT $4";
    FEATURES_AT = "SELECT l.revision, f.position, f.geometry, f.properties FROM layers l
        LEFT JOIN LATERAL (SELECT f.position, coalesce(f.heights, ST_AsBinary(f.geom, 'NDR')) AS geometry, f.properties
            FROM features f WHERE f.workspace_id = $1 AND f.layer = $2 AND f.position = ANY ($3)
            AND f.geom IS NOT NULL ORDER BY f.position) f ON true
        WHERE l.workspace_id = $1 AND l.no = $2";
    // All lists have one entry per feature.
    INSERT_FEATURES = "INSERT INTO features (workspace_id, layer, position, id, external_id, folder_id, assignment_id,
            geom, heights, original, properties, created_at, updated_at)
        SELECT $1::uuid, $2::bigint, f.position, f.id, f.external_id, f.folder_id, f.assignment_id,
            ST_Force2D(ST_GeomFromEWKB(f.geom)), f.heights, f.original, f.properties, f.created_at, f.updated_at
        FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::uuid[], $7::uuid[], $8::bytea[], $9::bytea[],
            $10::bytea[], $11::text[], $12::bigint[], $13::bigint[]) AS f (position, id, external_id, folder_id,
            assignment_id, geom, heights, original, properties, created_at, updated_at)";
    UPDATE_FEATURE = "UPDATE features SET folder_id = $4, assignment_id = $5, geom = ST_Force2D($6::geometry),
        heights = $7, original = $8, properties = $9, updated_at = $10 WHERE workspace_id = $1 AND layer = $2 AND position = $3";
    DELETE_FEATURE = "DELETE FROM features WHERE workspace_id = $1 AND layer = $2 AND position = $3";
    FEATURE = "SELECT f.position, f.id, f.external_id, f.folder_id, f.assignment_id,
            coalesce(f.heights, ST_AsBinary(f.geom, 'NDR')), f.original, f.properties, f.created_at, f.updated_at, l.no, l.state
        FROM features f JOIN layers l ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND f.id = $2";
    FEATURES_OF_FOLDER = "SELECT f.position, f.id, f.external_id, f.folder_id, f.assignment_id,
            coalesce(f.heights, ST_AsBinary(f.geom, 'NDR')), f.original, f.properties, f.created_at, f.updated_at, l.id
        FROM features f JOIN layers l ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND f.folder_id = $2 ORDER BY f.layer, f.position LIMIT $3";
    COUNT_FEATURES_OF_FOLDER = "SELECT count(*) FROM features f JOIN layers l
            ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND f.folder_id = $2";
    LAYERS_OF_FOLDER = "SELECT l.id FROM layers l WHERE l.workspace_id = $1 AND l.no IN
        (SELECT layer FROM features WHERE workspace_id = $1 AND folder_id = $2) ORDER BY l.no";
    GEOMETRIES_OF_FOLDER = "SELECT coalesce(heights, ST_AsBinary(geom, 'NDR')) FROM features f
        WHERE f.workspace_id = $1 AND f.folder_id = $2 AND f.geom IS NOT NULL
        AND EXISTS (SELECT 1 FROM layers l WHERE l.workspace_id = $1 AND l.no = f.layer)";
    FOLDERS_OF_LAYER = "SELECT DISTINCT folder_id FROM features
        WHERE workspace_id = $1 AND layer = $2 AND folder_id IS NOT NULL";
    EXTENTS = "SELECT run, west, south, east, north FROM extents
        WHERE workspace_id = $1 AND layer = $2 AND ($3::bigint[] IS NULL OR run = ANY ($3))";
    GROW_EXTENT = "INSERT INTO extents AS old (workspace_id, layer, run, west, south, east, north)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, layer, run) DO UPDATE SET west = least(old.west, excluded.west),
            south = least(old.south, excluded.south), east = greatest(old.east, excluded.east),
            north = greatest(old.north, excluded.north)";
    SET_EXTENT = "INSERT INTO extents (workspace_id, layer, run, west, south, east, north)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, layer, run) DO UPDATE SET west = excluded.west, south = excluded.south,
            east = excluded.east, north = excluded.north";
    DELETE_EXTENT = "DELETE FROM extents WHERE workspace_id = $1 AND layer = $2 AND run = $3";
    // The blocks that begin in one of the ranges, and the one before each range; first the distinct keys.
    TILE_BLOCKS = "SELECT k.tier, k.centre, k.position, d.block FROM (
            SELECT DISTINCT r.tier, k.centre, k.position
            FROM unnest($3::smallint[], $4::bigint[], $5::bigint[]) AS r (tier, first, last)
            CROSS JOIN LATERAL (
                (SELECT p.centre, p.position FROM tile_blocks p
                    WHERE p.workspace_id = $1 AND p.layer = $2 AND p.tier = r.tier AND p.centre < r.first
                    ORDER BY p.centre DESC, p.position DESC LIMIT 1)
                UNION ALL
                (SELECT d.centre, d.position FROM tile_blocks d
                    WHERE d.workspace_id = $1 AND d.layer = $2 AND d.tier = r.tier
                    AND d.centre BETWEEN r.first AND r.last)) k) k
        CROSS JOIN LATERAL (SELECT d.block FROM tile_blocks d
            WHERE d.workspace_id = $1 AND d.layer = $2 AND d.tier = k.tier AND d.centre = k.centre
            AND d.position = k.position OFFSET 0) d";
    // For the few ranges of a tile, only the blocks that meet it; a block may be returned twice.
    TILE = blocks_of_area!();
    TILE_UP_TO = concat!(blocks_of_area!(), " LIMIT $10");
    INSERT_TILE_BLOCK = "INSERT INTO tile_blocks
        (workspace_id, layer, tier, centre, position, west, north, east, south, block)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    UPDATE_TILE_BLOCK = "UPDATE tile_blocks SET west = $6, north = $7, east = $8, south = $9, block = $10
        WHERE workspace_id = $1 AND layer = $2 AND tier = $3 AND centre = $4 AND position = $5";
    DELETE_TILE_BLOCK = "DELETE FROM tile_blocks
        WHERE workspace_id = $1 AND layer = $2 AND tier = $3 AND centre = $4 AND position = $5";
    LARGE_FEATURES = "SELECT l.revision, s.position, s.shape FROM layers l
        LEFT JOIN LATERAL (SELECT DISTINCT ON (d.position) d.position, d.shape FROM large_tile_features d
            WHERE d.workspace_id = $1 AND d.layer = $2 AND d.position = ANY ($3) AND d.max_zoom >= $4
            ORDER BY d.position, d.max_zoom) s ON true
        WHERE l.workspace_id = $1 AND l.no = $2";
    SAVE_LARGE_FEATURE = "INSERT INTO large_tile_features (workspace_id, layer, position, max_zoom, shape)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (workspace_id, layer, position, max_zoom) DO UPDATE SET shape = excluded.shape";
    DELETE_LARGE_FEATURE = "DELETE FROM large_tile_features WHERE workspace_id = $1 AND layer = $2 AND position = $3";
    // Both lists have one entry per value.
    SAVE_VALUES = "INSERT INTO feature_values (workspace_id, layer, field, value, position)
        SELECT $1::uuid, $2::bigint, v.field, v.value, $3::bigint FROM unnest($4::bigint[], $5::bytea[]) AS v (field, value)";
    DELETE_VALUES = "DELETE FROM feature_values d USING unnest($4::bigint[], $5::bytea[]) AS v (field, value)
        WHERE d.workspace_id = $1 AND d.layer = $2 AND d.field = v.field AND d.value = v.value AND d.position = $3";
    DELETE_FIELD_VALUES = "DELETE FROM feature_values WHERE workspace_id = $1 AND layer = $2 AND field = $3";
    POSITIONS_OF_VALUES = "SELECT d.position FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) AS r (field, first, last)
        CROSS JOIN LATERAL (SELECT d.position FROM feature_values d
            WHERE d.workspace_id = $1 AND d.layer = $2 AND d.field = r.field
            AND d.value BETWEEN r.first AND r.last LIMIT $6) d LIMIT $6";
    DELETE_SOME_VALUES = "DELETE FROM feature_values WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM feature_values WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    // Leaves out what goes beyond a number of bytes, except for the first feature.
    FEATURE_CHUNK = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM (SELECT f.*, sum(coalesce(pg_column_size(geom), 0) + coalesce(pg_column_size(heights), 0)
                + coalesce(pg_column_size(original), 0) + pg_column_size(properties))
                OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) AS bytes, row_number() OVER (ORDER BY position) AS nth
            FROM (SELECT * FROM features WHERE workspace_id = $1 AND layer = $2 AND position > $3
                ORDER BY position LIMIT $4) f) f
        WHERE bytes <= $5 OR nth = 1 ORDER BY position";
    FEATURE_CHUNK_AT = "SELECT position, id, external_id, folder_id, assignment_id,
            coalesce(heights, ST_AsBinary(geom, 'NDR')), original, properties, created_at, updated_at
        FROM (SELECT f.*, sum(coalesce(pg_column_size(geom), 0) + coalesce(pg_column_size(heights), 0)
                + coalesce(pg_column_size(original), 0) + pg_column_size(properties))
                OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) AS bytes, row_number() OVER (ORDER BY position) AS nth
            FROM features f WHERE workspace_id = $1 AND layer = $2 AND position = ANY ($3)) f
        WHERE bytes <= $4 OR nth = 1 ORDER BY position";
    DELETE_SOME_FEATURES = "DELETE FROM features WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM features WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    DELETE_SOME_EXTENTS = "DELETE FROM extents WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM extents WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    DELETE_SOME_TILE_BLOCKS = "DELETE FROM tile_blocks WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM tile_blocks WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
    DELETE_SOME_LARGE_FEATURES = "DELETE FROM large_tile_features WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM large_tile_features WHERE workspace_id = $1 AND layer = $2 LIMIT $3))";
}
