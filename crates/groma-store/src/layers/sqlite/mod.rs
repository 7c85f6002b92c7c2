//! Layers on SQLite.

mod read;
pub(crate) mod sql;
mod transaction;

pub(super) use read::{
    count_features_of_folder, delete_features, feature, features, features_of_folder, layer,
    layers, revision, tile,
};
