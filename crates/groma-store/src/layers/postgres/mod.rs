//! Layers on PostgreSQL.

mod read;
pub(crate) mod sql;
mod transaction;

pub(super) use read::{
    count_features_of_folder, delete_features, feature, feature_attributes, feature_chunk,
    feature_chunk_at, features, features_at, features_of_folder, layer, layers, layers_of_folder,
    linked_features, positions_in_area, positions_of_values, revision, staged_layers, tile,
};
