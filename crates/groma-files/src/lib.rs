//! File formats: opens a file of features and passes on its features, writes features to a file, and the same
//! for tables of records.
//!
//! Files come from strangers. Memory depends on the largest feature, not on the file; what a file says about its
//! own size is never believed. This crate knows nothing of the database, projects or HTTP.

mod archive;
pub mod csv_cell;
pub mod csv_encoding;
pub mod csv_rows;
mod error;
mod format;
mod format_limits;
mod formats;
mod geopackage_writer;
mod id_field;
mod layer_file;
mod layer_writer;
mod output;
mod prj;
mod schema;
mod source;
#[cfg(test)]
mod tests;
mod value;
pub mod xlsx;

pub use error::{FileError, FormatLimit};
pub use format::LayerFormat;
pub use formats::csv::GeometryColumns;
pub use geopackage_writer::{GeoPackageWriter, TableColumn, TableColumnType};
pub use layer_file::{LayerFile, OpenOptions};
pub use layer_writer::{LayerWriter, OutputFeature};
pub use output::Link;
pub use source::{Field, FieldType, SourceCrs, SourceLayer};
