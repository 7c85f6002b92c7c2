//! SQL of layers on SQLite.

use crate::engine::statements;

statements! {
    LAYER_BY_ID = "SELECT no, state FROM layers WHERE ws = ?1 AND id = ?2";
    LAYER_BY_SLUG = "SELECT no, state FROM layers WHERE ws = ?1 AND slug = ?2";
    LAYER_BY_NUMBER = "SELECT no, state FROM layers WHERE ws = ?1 AND no = ?2";
    LAYERS = "SELECT no, state FROM layers WHERE ws = ?1 ORDER BY no";
    LAYER_REVISION = "SELECT revision FROM layers WHERE ws = ?1 AND id = ?2";
    INSERT_LAYER = "INSERT INTO layers (ws, id, slug, revision, state) VALUES (?1, ?2, ?3, ?4, ?5)";
    UPDATE_LAYER = "UPDATE layers SET slug = ?3, revision = ?4, state = ?5 WHERE ws = ?1 AND id = ?2";
    DELETE_LAYER = "DELETE FROM layers WHERE ws = ?1 AND no = ?2";
    // The number comes from the table of layers, so that it is never used twice.
    STAGE_LAYER = "INSERT INTO staged_layers (no, ws, id, state, lease_until) VALUES (?1, ?2, ?3, ?4, ?5)";
    STAGED_LAYER = "SELECT no, state, lease_until FROM staged_layers WHERE ws = ?1 AND id = ?2";
    SAVE_STAGED_LAYER = "UPDATE staged_layers SET state = ?3, lease_until = ?4 WHERE ws = ?1 AND id = ?2";
    DELETE_STAGED_LAYER = "DELETE FROM staged_layers WHERE ws = ?1 AND no = ?2";
    PUBLISH_LAYER = "INSERT INTO layers (ws, id, slug, revision, state, no) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    STAGED_LAYERS = "SELECT w.id, s.id FROM staged_layers s JOIN workspaces w ON w.no = s.ws
        WHERE s.lease_until < ?1 ORDER BY s.no";
    FEATURE = "SELECT position, id, external_id, folder_id, assignment_id, geometry, original, properties, created_at, updated_at
        FROM features WHERE id = ?1";
    FEATURE_KEY = "SELECT position FROM feature_keys WHERE layer = ?1 AND external_id = ?2";
    SAVE_FEATURE_KEY = "INSERT OR IGNORE INTO feature_keys (layer, external_id, position) VALUES (?1, ?2, ?3)";
    FEATURES_BETWEEN = "SELECT position, id, external_id, folder_id, assignment_id, geometry, original, properties, created_at, updated_at
        FROM features WHERE position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3";
    FEATURE_ATTRIBUTES = "SELECT position, id, external_id, properties, updated_at
        FROM features WHERE position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3";
    FEATURES_BY_FOLDER = "SELECT position, id, external_id, folder_id, assignment_id, geometry, original, properties, created_at, updated_at
        FROM features WHERE folder_id = ?4 AND position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3";
    FEATURES_BY_ASSIGNMENT = "SELECT position, id, external_id, folder_id, assignment_id, geometry, original, properties, created_at, updated_at
        FROM features WHERE assignment_id = ?4 AND position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3";
    FEATURE_AT = "SELECT geometry, properties FROM features WHERE position = ?1 AND geometry IS NOT NULL";
    INSERT_FEATURE = "INSERT INTO features
        (position, id, external_id, folder_id, assignment_id, geometry, original, properties, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    UPDATE_FEATURE = "UPDATE features SET folder_id = ?2, assignment_id = ?3, geometry = ?4, original = ?5,
        properties = ?6, updated_at = ?7 WHERE position = ?1";
    DELETE_FEATURE = "DELETE FROM features WHERE position = ?1";
    DELETE_FEATURE_KEY = "DELETE FROM feature_keys WHERE layer = ?1 AND external_id = ?2";
    FEATURES_OF_FOLDER = "SELECT f.position, f.id, f.external_id, f.folder_id, f.assignment_id, f.geometry, f.original, f.properties,
            f.created_at, f.updated_at, l.id FROM features f JOIN layers l ON l.no = f.position >> 40
        WHERE f.folder_id = ?2 AND l.ws = ?1 ORDER BY f.position LIMIT ?3";
    COUNT_FEATURES_OF_FOLDER = "SELECT count(*) FROM features f JOIN layers l ON l.no = f.position >> 40
        WHERE f.folder_id = ?2 AND l.ws = ?1";
    LAYERS_OF_FOLDER = "SELECT l.id FROM layers l WHERE l.ws = ?1 AND l.no IN
        (SELECT position >> 40 FROM features WHERE folder_id = ?2) ORDER BY l.no";
    GEOMETRIES_OF_FOLDER = "SELECT geometry FROM features WHERE folder_id = ?1 AND geometry IS NOT NULL
        AND position >> 40 IN (SELECT no FROM layers)";
    FOLDERS_OF_LAYER = "SELECT DISTINCT folder_id FROM features
        WHERE folder_id IS NOT NULL AND position BETWEEN ?1 AND ?2";
    EXTENTS = "SELECT run, west, south, east, north FROM extents WHERE layer = ?1";
    EXTENT = "SELECT run, west, south, east, north FROM extents WHERE layer = ?1 AND run = ?2";
    GROW_EXTENT = "INSERT INTO extents (layer, run, west, south, east, north) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (layer, run) DO UPDATE SET west = min(west, excluded.west), south = min(south, excluded.south),
            east = max(east, excluded.east), north = max(north, excluded.north)";
    SET_EXTENT = "INSERT INTO extents (layer, run, west, south, east, north) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (layer, run) DO UPDATE SET west = excluded.west, south = excluded.south,
            east = excluded.east, north = excluded.north";
    DELETE_EXTENT = "DELETE FROM extents WHERE layer = ?1 AND run = ?2";
    // Everything but the block is in the index, so the row is read only for blocks that meet the box. Returns
    // those that meet the box, and any before `?8`, where the reader stops.
    TILE_BLOCKS_UP_TO = "SELECT centre, position,
            CASE WHEN west <= ?6 AND north <= ?7 AND east >= ?4 AND south >= ?5 THEN block END
        FROM tile_blocks WHERE layer = ?1 AND tier = ?2 AND centre <= ?3
            AND (centre < ?8 OR west <= ?6 AND north <= ?7 AND east >= ?4 AND south >= ?5)
        ORDER BY centre DESC, position DESC";
    INSERT_TILE_BLOCK = "INSERT INTO tile_blocks (layer, tier, centre, position, west, north, east, south, block)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    UPDATE_TILE_BLOCK = "UPDATE tile_blocks SET west = ?5, north = ?6, east = ?7, south = ?8, block = ?9
        WHERE layer = ?1 AND tier = ?2 AND centre = ?3 AND position = ?4";
    DELETE_TILE_BLOCK = "DELETE FROM tile_blocks WHERE layer = ?1 AND tier = ?2 AND centre = ?3 AND position = ?4";
    LARGE_FEATURE = "SELECT shape FROM large_tile_features WHERE layer = ?1 AND position = ?2 AND max_zoom >= ?3
        ORDER BY max_zoom LIMIT 1";
    SAVE_LARGE_FEATURE = "INSERT INTO large_tile_features (layer, position, max_zoom, shape) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (layer, position, max_zoom) DO UPDATE SET shape = excluded.shape";
    DELETE_LARGE_FEATURE = "DELETE FROM large_tile_features WHERE layer = ?1 AND position = ?2";
    SAVE_VALUE = "INSERT INTO feature_values (layer, field, value, position) VALUES (?1, ?2, ?3, ?4)";
    DELETE_VALUE = "DELETE FROM feature_values WHERE layer = ?1 AND field = ?2 AND value = ?3 AND position = ?4";
    DELETE_FIELD_VALUES = "DELETE FROM feature_values WHERE layer = ?1 AND field = ?2";
    POSITIONS_OF_VALUES = "SELECT position FROM feature_values
        WHERE layer = ?1 AND field = ?2 AND value BETWEEN ?3 AND ?4 LIMIT ?5";
    DELETE_SOME_VALUES = "DELETE FROM feature_values WHERE (layer, field, value, position) IN
        (SELECT layer, field, value, position FROM feature_values WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_FEATURES = "DELETE FROM features WHERE position IN
        (SELECT position FROM features WHERE position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3)";
    DELETE_SOME_FEATURE_KEYS = "DELETE FROM feature_keys WHERE (layer, external_id) IN
        (SELECT layer, external_id FROM feature_keys WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_EXTENTS = "DELETE FROM extents WHERE (layer, run) IN
        (SELECT layer, run FROM extents WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_TILE_BLOCKS = "DELETE FROM tile_blocks WHERE no IN
        (SELECT no FROM tile_blocks WHERE layer = ?1 LIMIT ?2)";
    DELETE_SOME_LARGE_FEATURES = "DELETE FROM large_tile_features WHERE rowid IN
        (SELECT rowid FROM large_tile_features WHERE layer = ?1 LIMIT ?2)";
}
