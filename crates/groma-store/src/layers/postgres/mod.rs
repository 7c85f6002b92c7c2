//! Layers on PostgreSQL.

mod read;
pub(crate) mod sql;
mod transaction;

pub(super) use read::{
    count_features_of_folder, delete_features, feature, feature_attributes, features, features_at,
    features_of_folder, layer, layers, linked_features, positions_in_area, revision, tile,
};
